"""Elementwise kernels against NumPy: every functor, dtypes, layouts, numbers for operands, types that meet.

Bounds are in units in the last place of what is computed in, from the CUDA C++ Programming Guide's table of maximum
errors of functions (float32: pow 4, tan 4, asin 4, lgamma aside all others at most 4), and one more for NumPy's own.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import backends
from minitorch.backends.cuda.arrays.functors import FUNCTORS
from minitorch.core.registry import OPS
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    close,
    device,
    launches,
    put,
    same_in_every_order,
)

ULPS = 5
DOMAINS = {"log": (0.1, 9), "log2": (0.1, 9), "log10": (0.1, 9), "log1p": (-0.9, 9), "sqrt": (0, 9), "arcsin": (-1, 1),
           "arccos": (-1, 1), "arctanh": (-0.9, 0.9), "arccosh": (1, 9), "power": (0.1, 4), "tan": (-1.5, 1.5)}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, np.inf, -np.inf, np.nan])
EXACT = {"positive", "negative", "absolute", "fabs", "sign", "floor", "ceil", "trunc", "rint", "maximum", "minimum",
         "fmax", "fmin", "copysign", "fmod", "add", "subtract", "multiply"}


def numbers(rng, name, dtype, shape):
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low = -9 if dtype.kind == "i" and name not in ("power", "left_shift", "right_shift") else 0
        return rng.integers(low, 9, shape).astype(dtype)
    return rng.uniform(*DOMAINS.get(name, (-4, 4)), shape).astype(dtype)


def agree(name, found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind in "iub":
        np.testing.assert_array_equal(found, wanted)
        return
    eps = 0 if name in EXACT else ULPS * np.finfo(wanted.dtype).eps
    floor = 4 * np.finfo(wanted.dtype).eps if name.startswith("logadd") else np.finfo(wanted.dtype).tiny   # it cancels
    close(found, wanted, np.abs(np.nan_to_num(wanted.astype("f8"), posinf=0, neginf=0)) * eps + floor)


def check(name, arrays, layout="dense"):
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(*arrays)
    found = getattr(device.xp, name)(*[put(x, layout) for x in arrays])
    agree(name, device.to_host(found), wanted)


@pytest.mark.parametrize("name", FUNCTORS)
def test_ufunc_in_float32(name):
    (_, kinds), n = FUNCTORS[name], getattr(np, name).nin
    rng, dtype = np.random.default_rng(1), np.dtype("f4" if "f" in kinds else "i4")
    check(name, [numbers(rng, name, dtype, (3, 700)) for _ in range(n)])       # whole blocks of vectors, and a rest
    if dtype.kind == "f" and n == 1:
        check(name, [SPECIAL.astype(dtype)])
    elif dtype.kind == "f":
        check(name, [x.astype(dtype).copy() for x in np.meshgrid(SPECIAL, SPECIAL)])


def test_conjugates():
    for x in (np.array([1 + 2j, 3 - 1j]), np.array([1, -2j], "c8"), np.array([1, -2], "f4")):
        y = device.from_host(x)
        for found in (device.xp.conj(y), device.xp.conjugate(y), y.conj(), np.conj(y)):
            np.testing.assert_array_equal(device.to_host(found), x.conj(), strict=True)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "?", "f2"])
@pytest.mark.parametrize("name", ["add", "multiply", "floor_divide", "remainder", "maximum", "less", "logical_and"])
def test_other_dtypes(name, dtype):
    rng, dtype = np.random.default_rng(2), np.dtype(dtype)
    if dtype.kind in FUNCTORS[name][1]:
        check(name, [numbers(rng, name, dtype, (7, 13)) for _ in range(2)])


@pytest.mark.parametrize("layout", ["offset", "transposed", "gaps"])
def test_layouts(layout):
    rng = np.random.default_rng(3)
    for shape in ((5,), (24, 40), (3, 4, 8)):
        check("add", [rng.normal(size=shape).astype("f4") for _ in range(2)], layout)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_shapes_and_views(random):
    """Broadcast operands, sliced, transposed, reversed and empty ones, as NumPy does."""
    from minitorch.testing.strategies import Draw
    d = Draw(random)
    shapes = d.broadcastable(2, max_dims=5, max_side=5)
    host = [d.array(s).astype("f4") for s in shapes]
    ours = [device.from_host(x) for x in host]
    for k in range(2):
        step = tuple([d.choice([slice(None), slice(None, None, -1), slice(0, 1)]) for _ in host[k].shape])
        host[k], ours[k] = host[k][step], ours[k][step]
        if d.bool():
            host[k], ours[k] = host[k].T, ours[k].T
    try:
        wanted = host[0] + host[1]
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            ours[0] + ours[1]
        return
    np.testing.assert_array_equal(device.to_host(ours[0] + ours[1]), wanted)


def test_many_dimensions_are_cut_into_launches():
    x = np.random.default_rng(4).normal(size=(2,) * 11).astype("f4")
    view = (slice(None, None, -1), slice(None)) * 5
    with launches() as names:
        found = device.from_host(x)[view].transpose(range(10, -1, -1)) * 2.0
    np.testing.assert_array_equal(device.to_host(found), x[view].transpose(range(10, -1, -1)) * np.float32(2))
    assert len(names) >= 1


def test_empty_and_single():
    for shape in ((0,), (3, 0), ()):
        x = np.ones(shape, "f4")
        np.testing.assert_array_equal(device.to_host(device.from_host(x) + device.from_host(x)), x + x)


def test_types_meet_as_in_numpy():
    kinds = ["f4", "f8", "f2", "i8", "i4", "u1", "?"]
    for a in kinds:
        for b in kinds:
            x, y = np.ones(3, a), np.ones((2, 3), b)
            found, wanted = device.from_host(x) + device.from_host(y), x + y
            assert found.dtype == wanted.dtype, (a, b)
            np.testing.assert_array_equal(device.to_host(found), wanted)
        for number in (True, 2, 2.5):
            found, wanted = device.from_host(np.ones(3, a)) * number, np.ones(3, a) * number
            assert found.dtype == wanted.dtype, (a, number)
            np.testing.assert_array_equal(device.to_host(found), wanted)


def test_halves_are_computed_in_float32_and_rounded_once():
    x = np.random.default_rng(5).normal(size=2000)
    for name in ("f16", "bf16"):
        h = x.astype(DTYPES[name])
        found = device.to_host(device.xp.exp(device.from_host(h)))
        wanted = np.exp(h.astype("f8"))
        unit = 2.0**-11 if name == "f16" else 2.0**-8
        close(found, wanted.astype("f8"), wanted * unit * 1.01)


def test_in_place_and_overlap():
    x = np.arange(24, dtype="f4").reshape(4, 6)
    ours = device.from_host(x)
    same = ours
    ours += 1
    ours[:, ::2] *= ours[:, ::2]
    ours[1:] += ours[:-1]
    x += 1
    x[:, ::2] *= x[:, ::2]
    x[1:] += x[:-1].copy()
    assert ours is same
    np.testing.assert_array_equal(device.to_host(ours), x)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add'"):
        whole = device.from_host(np.arange(3))
        whole += 0.5


def test_where_and_clip():
    rng = np.random.default_rng(6)
    c, x, y = rng.random((5, 7)) < 0.5, rng.normal(size=(5, 7)).astype("f4"), rng.normal(size=7).astype("f4")
    C, X, Y = map(device.from_host, (c, x, y))
    for ours, theirs in (((C, X, Y), (c, x, y)), ((C, X, 0.0), (c, x, 0.0)), ((C, 1.5, Y), (c, np.float32(1.5), y)),
                         ((X, X, 2), (x, x, np.float32(2)))):
        np.testing.assert_array_equal(device.to_host(device.xp.where(*ours)), np.where(*theirs))
    for bounds in ((-0.5, 0.5), (None, 0.1), (0.1, None)):
        np.testing.assert_array_equal(device.to_host(device.xp.clip(X, *bounds)), np.clip(x, *bounds))


@pytest.mark.parametrize("name", sorted(k for k, f in device.kernels.items() if f.__module__.endswith("activation")))
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_op_kernels_against_their_reference(name, dtype):
    """Within four roundings of what the op's own forward pass gives in float64, for values of moderate size."""
    import random

    from minitorch.testing.strategies import Draw
    arrays, attrs = Draw(random.Random(1)).op_sample(OPS[name])
    rounded = [x.astype(DTYPES[dtype]) if getattr(x, "dtype", None) == np.float64 else x for x in arrays]
    exact = [x.astype("f8") if getattr(x, "dtype", None) == DTYPES[dtype] else x for x in rounded]
    with np.errstate(all="ignore"):
        wanted = OPS[name].forward(backends.get("cpu"), *exact, **attrs)
    wanted = wanted[0] if isinstance(wanted, (tuple, list)) else wanted
    with launches() as names:
        found = device.kernels[name](device, *[put(x) for x in rounded], **attrs)
    found = found[0] if isinstance(found, tuple) else found
    assert len(names) == 1 and found.dtype == DTYPES[dtype]
    eps = {"f32": 2.0**-24, "bf16": 2.0**-8}[dtype]
    close(device.to_host(found), np.asarray(wanted), 8 * 2.0**-24 * (np.abs(wanted) + 1) + eps * np.abs(wanted))


def test_chains_of_bias_and_activation():
    from minitorch.backends.cuda.ops.activation import bias_activation, bias_activation_backward
    rng = np.random.default_rng(7)
    x, b, g = [rng.normal(size=s).astype("f4") for s in ((6, 32), (32,), (6, 32))]
    X, B, G = map(device.from_host, (x, b, g))
    for name in ("gelu", "silu"):
        with launches() as names:
            found = bias_activation(device, X, B, name)
            slope = bias_activation_backward(device, G, X, B, name)
        assert names == ["map2", "map3"]
        forward = getattr(device, name)(X + B)
        backward = getattr(device, name + "_backward")(G, X + B)
        np.testing.assert_array_equal(device.to_host(found), device.to_host(forward))
        np.testing.assert_array_equal(device.to_host(slope), device.to_host(backward))


def test_same_in_every_order():
    x = np.random.default_rng(8).normal(size=(40, 33)).astype("f4")
    compute = lambda: [device.to_host(device.from_host(x).T * 2 + device.from_host(x[:, :1]).T)]
    same_in_every_order(compute, compute())


def test_borders_between_formulas_are_those_of_the_cpu():
    """A weight of one half, where the two sides of `lerp` differ in a bit; the sign of a zero."""
    one, almost, zeros = (minitorch.tensor([v] * 8) for v in (1.0, 2.0**-24 - 1, -0.0))
    for compute in (lambda x, y, z: minitorch.lerp(x, y, (z - 0.5).abs()), lambda x, y, z: minitorch.relu(z)):
        wanted = compute(one, almost, zeros).numpy()
        found = compute(*(x.to(device.device) for x in (one, almost, zeros))).cpu().numpy()
        assert wanted.tobytes() == found.tobytes()
