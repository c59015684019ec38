"""Reductions against NumPy in float64: shapes, axes, layouts, dtypes; to the last bit the same in every order."""

import math

import numpy as np
import pytest

from tests.backends.cuda.kernel_checks import (
    DTYPES,
    close,
    device,
    launches,
    put,
    same_in_every_order,
)

SHAPES = [(5,), (3, 40), (40, 3), (2, 3, 64), (300, 48), (64, 1, 4), (3, 3001), (70000,)]


def axes_of(ndim):
    return [None, *range(ndim), *([(0, 2), (1, 2)] if ndim == 3 else [])]


def bound(wanted, x, axis, dtype):
    """A sum of n numbers in a tree errs by log2(n) + the length of a thread's own chain, in roundings of the sum of
    magnitudes; here the chain is at most 32 long (Higham, "Accuracy and Stability", 4.2)."""
    n = x.size if axis is None else math.prod([x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))])
    size = np.sum(np.abs(x.astype("f8")), axis=axis)
    return (32 + math.log2(n + 1)) * np.finfo(dtype).eps / 2 * size


@pytest.mark.parametrize("layout", ["dense", "transposed", "gaps"])
def test_sums_over_any_axes(layout):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = rng.normal(size=shape).astype("f4")
        for axis in axes_of(x.ndim):
            found = device.to_host(device.xp.add.reduce(put(x, layout), axis))
            wanted = np.sum(x.astype("f8"), axis=axis)
            close(found, np.asarray(wanted), bound(wanted, x, axis, "f4"))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "any", "all", "count_nonzero"])
def test_exact_ones(name):
    rng = np.random.default_rng(1)
    for shape in SHAPES[:6]:
        x = np.round(rng.normal(size=shape) * 2).astype("f4")                 # with equal values and zeros
        for axis in axes_of(x.ndim):
            if name.startswith("arg") and isinstance(axis, tuple):
                continue
            found = device.to_host(getattr(device.xp, name)(device.from_host(x), axis))
            wanted = np.asarray(getattr(np, name)(x, axis))
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_nan_is_the_extreme_and_the_first_one_is_found():
    x = np.random.default_rng(2).normal(size=(4, 2000)).astype("f4")
    x[1, [700, 50]] = np.nan
    ours = device.from_host(x)
    for name in ("max", "min", "argmax", "argmin"):
        found = device.to_host(getattr(device.xp, name)(ours, 1))
        np.testing.assert_array_equal(found, getattr(np, name)(x, 1))


def test_integers_and_bools():
    rng = np.random.default_rng(3)
    for dtype in ("i4", "u1", "i8", "?"):
        x = rng.integers(0, 2 if dtype == "?" else 5, (6, 33)).astype(dtype)
        for name in ("sum", "prod", "max", "any"):
            found = getattr(device.xp, name)(device.from_host(x), 1)
            wanted = getattr(np, name)(x, 1)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(device.to_host(found), wanted)


def test_means_variances_norms_logsumexp():
    rng = np.random.default_rng(4)
    for shape, dim in (((7, 50), 1), ((50, 40), 0), ((3, 5, 8), (0, 2)), ((5000,), 0)):
        x = (rng.normal(size=shape) + 3).astype("f4")
        exact, ours = x.astype("f8"), device.from_host(x)
        eps = 64 * 2.0**-24
        close(device.to_host(device.mean(ours, dim=dim)), exact.mean(dim), eps * 6)
        close(device.to_host(device.var(ours, dim=dim)), exact.var(dim, ddof=1), eps * 6)
        close(device.to_host(device.std(ours, dim=dim, correction=0)), exact.std(dim), eps * 6)
        norm = np.sqrt((exact**2).sum(dim))
        close(device.to_host(device.vector_norm(ours, dim=dim)), norm, eps * norm)
        total = np.log(np.exp(exact).sum(dim))
        close(device.to_host(device.logsumexp(ours, dim=dim)), total, eps * np.abs(total))


def test_variance_does_not_cancel():
    x = (np.random.default_rng(5).normal(size=4000) + 1e4).astype("f4")
    wanted = x.astype("f8").var(ddof=1)
    assert abs(device.var(device.from_host(x)).item() - wanted) < 1e-3 * wanted


def test_logsumexp_of_infinities():
    x = np.array([[-np.inf, -np.inf], [1, -np.inf], [np.inf, 1], [np.nan, 1], [1000, 1000]], "f4")
    wanted = np.array([-np.inf, 1, np.inf, np.nan, 1000 + np.log(2)])
    close(device.to_host(device.logsumexp(device.from_host(x), dim=1)), wanted, 1e-3)


def test_halves_are_summed_in_float32():
    x = np.ones(5000)                                      # in float16 the sum would stay at 2048
    for name in ("f16", "bf16"):
        found = device.sum(device.from_host(x.astype(DTYPES[name])))
        assert found.dtype == DTYPES[name] and abs(float(device.to_host(found).astype("f4")) - 5000) <= 5000 * 2.0**-8


def test_of_nothing():
    x = device.from_host(np.ones((3, 0), "f4"))
    assert device.to_host(device.xp.sum(x, 1)).tolist() == [0, 0, 0]
    assert device.to_host(device.xp.sum(x, 0)).shape == (0,)
    assert np.isnan(device.to_host(device.mean(x, dim=1))).all()
    with pytest.raises(ValueError, match="no identity"):
        device.xp.max(x, 1)


def test_keepdims_initial_out():
    x = np.random.default_rng(6).normal(size=(4, 5)).astype("f4")
    ours, out = device.from_host(x), device.empty((4,), np.dtype("f8"))
    assert device.xp.sum(ours, 1, keepdims=True).shape == (4, 1)
    np.testing.assert_array_equal(device.to_host(device.xp.maximum.reduce(ours, 1, initial=0.0)),
                                  np.maximum.reduce(x, 1, initial=0.0))
    assert device.xp.max(ours, 1, out=out) is out
    np.testing.assert_array_equal(device.to_host(out), x.max(1).astype("f8"))


def test_long_reductions_take_two_launches():
    for shape, axis, kernel in (((70000,), 0, "reduce_rows"), ((3000, 32), 0, "reduce_columns")):
        x = device.from_host(np.ones(shape, "f4"))
        with launches() as names:
            found = device.to_host(device.xp.sum(x, axis))
        assert names == [kernel] * 2 and (found == shape[0]).all()


def test_same_in_every_order():
    rng = np.random.default_rng(7)
    rows, columns = rng.normal(size=20000).astype("f4"), rng.normal(size=(700, 40)).astype("f4")
    compute = lambda: [device.to_host(f(device.from_host(x), 0)) for x in (rows, columns)
                       for f in (device.xp.sum, device.xp.argmax, device.xp.var)]
    same_in_every_order(compute, compute())
