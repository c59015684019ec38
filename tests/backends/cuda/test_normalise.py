"""The CUDA kernels of layer, RMS, group and batch norm against the ops' references."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import normalise
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    exact,
    reference,
    rounding,
    run,
    same_in_every_order,
    smallest,
    unit,
    without_clusters,
)

BATCH = (0, 2, 3)
# dtype, shape, dims, what must be launched forward and backward
CASES = [("f32", (9, 100), (1,), "normalise_rows", "normalise_rows_backward"),
         ("f32", (30, 2, 50), (1, 2), "normalise_rows", "normalise_rows_backward"),
         ("f32", (20, 4096), (1,), "normalise_rows", "normalise_rows_backward"),
         ("f32", (3, 9000), (1,), "normalise_rows", "normalise_rows_backward"),
         ("f32", (1, 33001), (1,), "normalise_long_rows", "normalise_long_rows_backward"),
         ("f16", (9, 64), (1,), "normalise_rows", "normalise_rows_backward"),
         ("f32", (70, 5), (0,), "sum_columns", "scale_channels_backward"),
         ("f64", (5, 3, 9, 9), BATCH, "sum_planes", "scale_planes_backward"),
         ("f32", (30, 2, 20, 20), BATCH, "sum_planes", "scale_planes_backward"),
         ("f32", (5, 3, 3, 3), BATCH, "sum_columns", "scale_channels_backward")]
IDS = [f"{c[0]}-{'x'.join(map(str, c[1]))}" for c in CASES]


def case(d, dtype, shape, dims, offset=3.0):
    """Inputs of a norm with weights, whose values are of size 1 about a mean of up to `offset`."""
    size = [shape[k] for k in dims] if dims == tuple(range(len(shape) - len(dims), len(shape))) else [shape[1]]
    x = d.array(shape, -1, 1) + d.choice([0.0, offset])
    weights = [d.array(size, 0.5, 1.5), d.array(size)] if d.bool() else [None, None]
    return [cast(v, dtype) for v in (x, *weights)], dict(dims=dims, eps=1e-3, centred=True)


def error_of(x, dims, eps, centred):
    """How many roundings a normalised value has in it: of size 1 / deviation, times how far the mean is from 0."""
    n = np.prod([x.shape[k] for k in dims])
    deviation = np.sqrt(x.var(dims, keepdims=True) + eps) if centred else 1
    return (20 + n / 256 + np.log2(n)) * (1 + (abs(x) / deviation).max())


def check_forward(name, arrays, attrs, dtype):
    wanted = reference(name, arrays, attrs)
    got, launched = run(name, arrays, attrs)
    x, weight = exact(arrays[0]), exact(arrays[1])
    error = unit(dtype) * error_of(x, attrs["dims"], attrs["eps"], attrs["centred"])
    scale = 3 if weight is None else 3 * abs(weight).max()
    close(got[0], wanted[0], error * scale * (1 + abs(wanted[0])) + rounding(dtype) * abs(wanted[0]) + smallest(dtype))
    return got, launched, error


def check_backward(d, arrays, attrs, dtype):
    x, weight, _ = arrays
    g = cast(d.array(x.shape), dtype)
    inputs = [g, x, weight, None, None]
    wanted = reference("affine_norm_backward", inputs, attrs)
    got, launched = run("affine_norm_backward", inputs, attrs)
    error = unit(dtype) * error_of(exact(x), attrs["dims"], attrs["eps"], attrs["centred"])
    y = reference("standardize", [x], attrs)[0]
    inverse = reference("rstd", [x], attrs)[0].max()
    largest = abs(wanted[0]).max() + 2 * inverse * 1.5     # of each of the three terms of the gradient
    close(got[0], wanted[0], 8 * error * largest * (1 + abs(y).max()) + rounding(dtype) * abs(wanted[0]))
    rows = x.size // wanted[1].size
    for a, b in zip(got[1:], wanted[1:], strict=True):
        close(a, b, 8 * error * np.sqrt(rows) * (1 + abs(y).max()) * 2 + rounding(dtype) * abs(b))
    return inputs, got, launched


@pytest.mark.parametrize(("dtype", "shape", "dims", "forward", "backward"), CASES, ids=IDS)
def test_every_way_to_normalise(dtype, shape, dims, forward, backward, monkeypatch):
    if forward == "normalise_long_rows":
        without_clusters(monkeypatch, normalise)
    d, dtype = Draw(random.Random(str(shape))), DTYPES[dtype]
    name = "batch_norm" if dims[0] == 0 else "layer_norm"
    for _ in range(1 if np.prod(shape) > 20_000 else 2):
        arrays, attrs = case(d, dtype, shape, dims)
        got, launched, error = check_forward(name, arrays, attrs, dtype)
        assert forward in launched
        if name == "batch_norm":                           # mean and variance are results as well
            for a, b in zip(got[1:3], reference(name, arrays, attrs)[1:3], strict=True):
                close(a, b, error * (1 + abs(b)) * 4)
        inputs, gradients, launched = check_backward(d, arrays, attrs, dtype)
        assert backward in launched
    if np.prod(shape) < 30_000:
        same_in_every_order(lambda: run(name, arrays, attrs)[0], got)
        same_in_every_order(lambda: run("affine_norm_backward", inputs, attrs)[0], gradients)


@settings(max_examples=25, deadline=None)
@given(draws())
def test_small_shapes(d):
    shape, dims = d.choice([((9, 13), (1,)), ((4, 3, 5), (1, 2)), ((7, 5), (0,)), ((3, 4, 3), (0, 2)),
                            ((3, 4, 3, 1), BATCH)])
    name = "batch_norm" if dims[0] == 0 else "layer_norm"
    arrays, attrs = case(d, DTYPES["f32"], shape, dims, offset=d.choice([3.0, 1000.0]))
    attrs["centred"] = name == "batch_norm" or d.bool()
    check_forward(name, arrays, attrs, DTYPES["f32"])
    check_backward(d, arrays, attrs, DTYPES["f32"])


@pytest.mark.parametrize(("shape", "groups"), [((3, 6, 5), 2), ((2, 4, 3, 5), 1), ((2, 4, 3, 5), 4), ((4, 6), 3)])
def test_group_norm(shape, groups):
    d = Draw(random.Random(0))
    x, w, b = (cast(d.array(s), DTYPES["f32"]) for s in (shape, shape[1:2], shape[1:2]))
    attrs = dict(groups=groups, eps=1e-3)
    wanted = reference("group_norm", [x, w, b], attrs)[0]
    got, launched = run("group_norm", [x, w, b], attrs)
    assert launched == ["normalise_rows"]
    close(got[0], wanted, unit(x.dtype) * 400 * (1 + abs(wanted)))


@pytest.mark.parametrize("with_weights", [False, True])
@pytest.mark.parametrize(("dtype", "shape", "forward"), [
    ("f16", (9, 64), "normalise_rows"), ("bf16", (2, 3, 100), "normalise_rows"), ("f32", (9, 13), "normalise_rows"),
    ("f32", (3, 4096), "normalise_rows"), ("f32", (1, 33001), "normalise_long_rows"),
    ("f16", (1, 32776), "normalise_long_rows"), ("f64", (5, 30), "normalise_rows")])
def test_a_residual_is_added_first(dtype, shape, forward, with_weights, monkeypatch):
    if forward == "normalise_long_rows":
        without_clusters(monkeypatch, normalise)
    d, dtype = Draw(random.Random(str(shape))), DTYPES[dtype]
    x, residual = (cast(d.array(shape, -1, 1) + 1.5, dtype) for _ in range(2))
    weights = [cast(d.array(shape[-1:], 0.5, 1.5), dtype), cast(d.array(shape[-1:]), dtype)] if with_weights else []
    attrs = dict(eps=1e-3, centred=with_weights)
    wanted = reference("add_layer_norm", [x, residual, *weights], attrs)[:2]
    got, launched = run("add_layer_norm", [x, residual, *weights], attrs)
    assert launched == [forward] and got[0].dtype == got[1].dtype == dtype
    total = exact(x) + exact(residual)
    error = unit(dtype) * error_of(total, (len(shape) - 1,), **attrs)
    close(got[0], wanted[0], 5 * error * (1 + abs(wanted[0])) + rounding(dtype) * abs(wanted[0]) + smallest(dtype))
    close(got[1], wanted[1], (rounding(dtype) or unit(dtype)) * abs(total))      # one sum, rounded once
    if total.size < 10_000:
        same_in_every_order(lambda: run("add_layer_norm", [x, residual, *weights], attrs)[0], got)
        same_sum(x, residual, got[1])


def same_sum(x, residual, total):
    """The sum does not depend on how the arrays lie."""
    for layout in ("offset", "transposed", "gaps"):
        found, launched = run("add_layer_norm", [x, residual], dict(eps=1e-3, centred=True), layout)
        assert "normalise_rows" in launched and found[1].tobytes() == total.tobytes()


def through(compute, shape, *sizes):
    """A function of x and weights, and all gradients, on the CPU in float64 and on the device in float32."""
    rng = np.random.default_rng(0)
    values, seed = [rng.normal(size=s) for s in (shape, *sizes)], None
    found = []
    for where, dtype in (("cpu", minitorch.float64), (device.device, minitorch.float32)):
        tensors = [minitorch.tensor(v, dtype=dtype, device=where, requires_grad=True) for v in values]
        out = compute(*tensors)
        seed = rng.normal(size=out.shape) if seed is None else seed
        out.backward(minitorch.tensor(seed, dtype=dtype, device=where))
        found.append([t.detach().cpu().double().numpy() for t in (out, *(t.grad for t in tensors))])
    for a, b in zip(*found, strict=True):
        close(b, a, 2.0**-24 * 1000 * (1 + abs(a)))        # fewer than 1000 roundings, of numbers below 10


def test_through_autograd():
    through(lambda x, w, b: F.layer_norm(x, (13,), w, b), (8, 13), (13,), (13,))
    through(lambda x, w: F.rms_norm(x, (13,), w, 1e-5), (8, 13), (13,))
    through(lambda x: F.layer_norm(x, (13,)), (8, 13))
    through(lambda x, w, b: F.group_norm(x, 2, w, b), (3, 4, 5), (4,), (4,))
    through(lambda x: F.instance_norm(x), (3, 4, 5))
    through(lambda x, r, w, b: minitorch.cat(F.add_layer_norm(x, r, w, b)), (8, 13), (8, 13), (13,), (13,))
    through(lambda x, r, w: F.add_rms_norm(x, r, w, 1e-5)[0], (8, 13), (8, 13), (13,))
    through(lambda x, r: F.add_layer_norm(x, r)[1], (8, 13), (8, 13))
    through(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (7, 5), (5,), (5,))

    def fixed(x, w, b):
        mean, var = (f((4,), dtype=x.dtype, device=x.device) for f in (minitorch.zeros, minitorch.ones))
        return F.batch_norm(x, mean, var, w, b)
    through(fixed, (3, 4, 5), (4,), (4,))


def test_halves_keep_statistics_in_float32():
    x = np.random.default_rng(0).normal(size=(4, 64)) + 100
    got, _ = run("layer_norm", [cast(x, DTYPES["f16"])], dict(dims=(1,)))
    assert [a.dtype for a in got] == ["float16", "float32", "float32"]


def test_resources():
    check_resources(normalise.ROWS, [DTYPES["f32"]] * 2, ITEMS=16, THREADS=1024, VECTOR=4, CHANNELS=0, RESIDUAL=1)
    check_resources(normalise.ROWS_BACK, [DTYPES["f32"]] * 2, ITEMS=8, WEIGHTS=1, THREADS=1024, VECTOR=4, CHANNELS=0)
