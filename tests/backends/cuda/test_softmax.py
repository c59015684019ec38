"""The CUDA kernels of softmax and cross entropy against the ops' references."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import cross_entropy, softmax
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    exact,
    put,
    reference,
    rounding,
    run,
    same_in_every_order,
    smallest,
    unit,
    without_clusters,
)

INF = float("inf")
KERNELS = ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"]
SMALL = [((5, 7), 1, "dense"), ((3, 4, 7), -1, "gaps"), ((2, 6, 5), 1, "dense"), ((5,), 0, "offset")]
# One shape for each way to deal with rows: in the registers of a warp, of a block, in loops, by planes.
CASES = [("f32", (3, 1000), 1, "dense", "softmax_{}"), ("f32", (3, 1000), 1, "offset", "softmax_{}"),
         ("f32", (2, 2050), 1, "dense", "softmax_{}"), ("f32", (2, 33000), 1, "dense", "softmax_{}_long"),
         ("f32", (2, 9, 40), 1, "transposed", "softmax_{}_planes"), ("f16", (5, 64), 1, "dense", "softmax_{}"),
         ("f64", (3, 40), 1, "dense", "softmax_{}")]


def depth(columns):
    """How many roundings the sum of a row goes through at most, and what exp and log add."""
    return 60 + columns / 256


def bounds(name, arrays, attrs, dtype):
    """How far the kernel may be from the reference: rounding errors of its steps, to first order."""
    u, n = unit(dtype), arrays[0].shape[attrs["dim"]]
    a, dim = [exact(x) for x in arrays], attrs["dim"]
    out = reference(name, arrays, attrs)[0]
    with np.errstate(all="ignore"):
        stored = rounding(dtype) * abs(out) + 2 * smallest(dtype)
        if not name.endswith("backward"):
            reach = abs(a[0] - a[0].max(dim, keepdims=True))
            reach = np.where(np.isfinite(reach), reach, 0).max(dim, keepdims=True)
            error = u * (2 * reach + depth(n))
            return error * abs(out) + stored if name == "softmax" else 2 * error + 2 * u * abs(out) + stored
        g, y = a
        terms = g * y if name == "softmax_backward" else g
        size = abs(terms).sum(dim, keepdims=True)
        y = abs(y) if name == "softmax_backward" else np.exp(y)
        exponent = 0 if name == "softmax_backward" else abs(a[1])
        return u * (y * (depth(n) + exponent) * size + 4 * y * (abs(g) + size) + 2 * abs(g)) + stored


def inputs(d, name, shape, dim, dtype):
    """Inputs of one op; for a backward pass the result of a forward pass is one of them."""
    x = d.array(shape, -1, 1) * d.choice([1, 10, 80])
    if name.endswith("backward"):
        forward = "softmax" if name == "softmax_backward" else "log_softmax"
        return [cast(d.array(shape), dtype), cast(reference(forward, [x], dict(dim=dim))[0], dtype)]
    return [cast(x, dtype)]


def check(name, arrays, dim, dtype, layout="dense"):
    wanted = reference(name, arrays, dict(dim=dim))
    got, launched = run(name, arrays, dict(dim=dim), layout)
    assert got[0].dtype == dtype and launched
    close(got[0], wanted[0], bounds(name, arrays, dict(dim=dim), dtype))
    return got, launched


@pytest.mark.parametrize(("name", "dtype", "shape", "dim", "layout", "kernel"),
                         [("softmax", *case) for case in CASES] +
                         [("softmax_backward", *CASES[i]) for i in (1, 3, 4)] +
                         [("log_softmax", *CASES[i]) for i in (2, 4)] +
                         [("log_softmax_backward", *CASES[i]) for i in (2, 4, 5)])
def test_every_way_to_deal_with_rows(name, dtype, shape, dim, layout, kernel, monkeypatch):
    if kernel.endswith("_long"):
        without_clusters(monkeypatch, softmax)
    arrays = inputs(Draw(random.Random(str((name, shape)))), name, shape, dim, DTYPES[dtype])
    got, launched = check(name, arrays, dim, DTYPES[dtype], layout)
    assert launched[-1] == kernel.format("backward" if name.endswith("backward") else "forward")
    if got[0].size < 10_000:
        same_in_every_order(lambda: run(name, arrays, dict(dim=dim), layout)[0], got)


@settings(max_examples=40, deadline=None)
@given(draws())
def test_small_shapes_of_any_layout_with_extremes(d):
    name, (shape, dim, layout) = d.choice(KERNELS), d.choice(SMALL)
    arrays = inputs(d, name, shape, dim, DTYPES["f32"])
    if not name.endswith("backward"):
        x = arrays[0]
        for _ in range(d.int(0, 3)):
            x[tuple(d.int(0, n - 1) for n in shape)] = d.choice([-INF, INF, np.nan, 0.0])
        if d.bool():
            x[0] = d.choice([-INF, 3e38, -3e38])
    check(name, arrays, dim, DTYPES["f32"], layout)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), ()])
def test_empty_arrays_and_numbers(shape):
    for name in ("softmax", "log_softmax"):
        got, _ = run(name, [np.ones(shape, "f")], dict(dim=0))
        assert (got[0] == reference(name, [np.ones(shape, "f")], dict(dim=0))[0]).all() and got[0].shape == shape


# ---- cross entropy -----------------------------------------------------------------------------------------
ROWS = [("f32", (5, 7)), ("bf16", (6, 32)), ("f32", (2, 5003)), ("f32", (3, 5, 7)), ("f32", (2, 4, 3, 3)),
        ("f32", (9,))]


def losses(d, shape, dtype):
    """Logits, targets, weights and attributes."""
    c = shape[1] if len(shape) > 1 else shape[0]
    target = d.integers(shape[:1] + shape[2:] if len(shape) > 1 else (), 0, c - 1)
    attrs = dict(ignore_index=d.choice([-100, int(target.reshape(-1)[0])]),
                 reduction=d.choice(["mean", "sum", "none"]))
    target = target.astype("uint8" if dtype.itemsize == 2 else "int64")
    return cast(d.array(shape) * d.choice([1, 20]), dtype), target, d.choice(
        [None, cast(d.array((c,), 0.5, 1.5), dtype)]), attrs


def check_entropy(d, dtype, shape):
    x, target, weight, attrs = losses(d, shape, dtype)
    c = shape[1] if len(shape) > 1 else shape[0]
    u, reach, n = unit(dtype), 2 * abs(exact(x)).max(), target.size
    error = u * (3 * reach + depth(c) + n) * 1.5           # of one loss; weights are at most 1.5
    for name in ("cross_entropy", "nll_loss"):
        wanted = reference(name, [x, target, weight], attrs)[0]
        got, _ = run(name, [x, target, weight], attrs)
        scale = 1 if attrs["reduction"] != "sum" else n
        close(got[0], wanted, 3 * error * scale + rounding(dtype) * abs(wanted))
        same_in_every_order(lambda name=name: run(name, [x, target, weight], attrs)[0], got)
    g = cast(d.array(target.shape if attrs["reduction"] == "none" else ()), dtype)
    powers = [None, None]
    wanted = reference("cross_entropy_backward", [g, x, target, weight, *powers], attrs)[0]
    got, names = run("cross_entropy_backward", [g, x, target, weight, *powers], attrs)
    assert any("backward" in name for name in names)
    close(got[0], wanted, 3 * error * 2 + rounding(dtype) * abs(wanted) + smallest(dtype))
    wanted = reference("nll_loss_backward", [g, target, weight], attrs | dict(shape=shape))[0]
    got, _ = run("nll_loss_backward", [g, target, weight], attrs | dict(shape=shape))
    close(got[0], wanted, 3 * error * 2 + rounding(dtype) * abs(wanted) + smallest(dtype))


@pytest.mark.parametrize(("dtype", "shape"), ROWS, ids=str)
def test_cross_entropy(dtype, shape):
    for seed in range(2):
        check_entropy(Draw(random.Random(seed)), DTYPES[dtype], shape)


@settings(max_examples=15, deadline=None)
@given(draws())
def test_cross_entropy_of_small_shapes(d):
    check_entropy(d, DTYPES["f32"], d.choice([(6, 11), (5, 7), (1, 1), (3, 5, 7), (9,)]))


def test_many_losses_are_added_up_in_parts():
    rng = np.random.default_rng(0)
    n = cross_entropy.SUMMED_AT_ONCE + 300
    x, target = rng.normal(size=(n, 1, 2)).astype("f"), np.zeros((n, 2), np.int64)
    wanted = reference("nll_loss", [x, target], {})[0]
    got, names = run("nll_loss", [x, target], {})
    assert names == ["likelihood", "add_up", "conclude"]
    close(got[0], wanted, unit(x.dtype) * 100 * abs(x).mean())


def test_through_autograd():
    x = np.random.default_rng(0).normal(size=(4, 7))
    found = []
    for where, dtype in (("cpu", minitorch.float64), (device.device, minitorch.float32)):
        logits = minitorch.tensor(x, dtype=dtype, device=where, requires_grad=True)
        labels = minitorch.tensor([1, 5, 2, 2], device=where)
        loss = F.cross_entropy(logits, labels, label_smoothing=0.1) + F.cross_entropy(logits, labels, ignore_index=5) \
            + logits.softmax(0).square().sum() + logits.log_softmax(1).square().sum()
        loss.backward()
        found.append((loss.item(), logits.grad.cpu().double()))
    assert abs(found[0][0] - found[1][0]) < 1e-4           # |terms| <= 100, 200 roundings of 2**-24
    assert (found[0][1] - found[1][1]).abs().max() < 1e-4


def test_a_target_that_is_no_class():
    x, target = put(np.zeros((2, 3), "f")), put(np.array([0, 3]))
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        cross_entropy.cross_entropy(device, x, target)


def test_resources():
    how = dict(THREADS=1024, VECTOR=4, LOG=1)
    check_resources(softmax.ROWS, [DTYPES["f32"]], ITEMS=32, BACKWARD=0, **how)
    check_resources(softmax.ROWS_BACK, [DTYPES["f32"]], ITEMS=16, BACKWARD=1, **how)


@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 3)])
def test_cross_entropy_does_not_feel_the_offset_of_its_logits(shape):
    rng = np.random.default_rng(0)
    target = rng.integers(0, shape[1], shape[:1] + shape[2:])
    for offset in (1e4, 1e8, -3e38):
        x = (rng.normal(size=shape) * 3 + offset).astype("f")
        wide = [x.astype("d"), target]
        got, _ = run("cross_entropy", [x, target], {})
        close(got[0], reference("cross_entropy", wide, {})[0], 1e-6)
        g = np.ones((), "f")
        got, _ = run("cross_entropy_backward", [g, x, target, None, None, None], {})
        close(got[0], reference("cross_entropy_backward", [g.astype("d"), *wide, None, None, None], {})[0], 1e-6)
