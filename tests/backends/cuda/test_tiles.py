"""Kernels that go by tiles, at their edges: transposes, sums of columns, the last block of elementwise ones."""

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

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("dtype", "shape", "begin"), [
    ("u1", (80, 48), 0), ("u2", (72, 136), 0), ("f4", (68, 2, 132), 0), ("f4", (33, 67), 1)])
def test_transposes(dtype, shape, begin):
    x = rng.integers(0, 200, shape).astype(dtype)
    ours = device.from_host(np.concatenate([np.zeros(begin, dtype), x.reshape(-1)]))[begin:].reshape(shape)
    with launches() as names:
        found = ours.T.copy()
    assert names == ["transpose"]
    np.testing.assert_array_equal(device.to_host(found), x.T)


@pytest.mark.parametrize("n", [1, 3, 4, 7, 1024, 2047, 2051])
def test_the_last_block_of_an_elementwise_kernel(n):
    """Whole vectors first, then what is left of one: nothing twice, nothing beyond."""
    x, y = rng.normal(size=(2, n)).astype("f4")
    np.testing.assert_array_equal(device.to_host(put(x) + put(y)), x + y)


def columns(x, axis, layout="dense"):
    with launches() as names:
        found = device.xp.sum(put(x, layout), axis)
    assert names[0] == "reduce_columns"
    return device.to_host(found)


@pytest.mark.parametrize(("dtype", "shape", "axis"), [
    ("f32", (300, 260), 0), ("bf16", (70, 264), 0), ("f32", (2, 67, 33), 1), ("f32", (3, 70, 5, 36), (0, 2))])
def test_sums_of_columns(dtype, shape, axis):
    x = rng.normal(size=shape).astype(DTYPES[dtype])
    wide, n = x.astype("f8"), np.prod(shape) / np.sum(x.astype("f8"), axis).size
    bound = 2.0**-24 * (n / 8 + 8) * np.sum(abs(wide), axis) + (2.0**-8 if dtype == "bf16" else 0) * abs(wide.sum(axis))
    found = columns(x, axis)
    close(found, wide.sum(axis), bound)
    if dtype == "f32" and len(shape) == 2:
        same_in_every_order(lambda: [columns(x, axis)], [found])


def test_columns_that_hold_infinity_and_nan():
    x = np.ones((40, 64), "f4")
    x[3, 5], x[7, 5], x[39, 63], x[0, 0] = np.inf, -np.inf, np.nan, np.inf
    with np.errstate(invalid="ignore"):
        wanted = x.sum(0)
    np.testing.assert_array_equal(columns(x, 0), wanted)
