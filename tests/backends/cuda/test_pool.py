"""The CUDA kernels of pooling against the ops' references."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import pool
from minitorch.ops.nn.pool import Pooling, WindowSizes
from minitorch.ops.nn.windows import reach
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    reference,
    rounding,
    run,
    same_in_every_order,
    unit,
)


def pooling_of(d, size):
    """Windows that fit an input of `size`."""
    kernel = tuple(d.int(1, min(n, 3)) for n in size)
    dilation = tuple(d.int(1, 2) if 2 * k - 1 <= n else 1 for k, n in zip(kernel, size))
    stride = tuple(d.int(1, 3) for _ in size)
    padding = tuple(d.int(0, reach(k, e) // 2) for k, e in zip(kernel, dilation))
    out = tuple((n + 2 * p - reach(k, e)) // s + 1 for n, k, s, p, e in zip(size, kernel, stride, padding, dilation))
    return Pooling(kernel, stride, padding, dilation, out)


def check(d, dtype, size, windows):
    x = cast(d.distinct((2, 3, *size)) if d.bool() else d.array((3, *size)), dtype)
    grad = cast(d.array((*x.shape[:x.ndim - len(size)], *windows.out)), dtype)
    u, places = unit(dtype), np.prod(windows.kernel)
    result = reference("max_pool", [x], dict(pooling=windows))[0]
    got, _ = run("max_pool", [x], dict(pooling=windows))
    close(got[0], result, 0)
    got, _ = run("max_pool_indices", [x], dict(windows=windows))
    assert (got[0] == reference("max_pool_indices", [x], dict(windows=windows))[0]).all()
    inputs = [grad, x]
    wanted = reference("max_pool_backward", inputs, dict(pooling=windows))[0]
    got, launched = run("max_pool_backward", inputs, dict(pooling=windows))
    assert launched == ["max_pool", "max_pool_backward"]
    close(got[0], wanted, 2 * u * 2 * places + rounding(dtype) * abs(wanted))
    divisor = d.choice([3, WindowSizes(windows, size, False)]) if max(windows.dilation) == 1 else 3
    how = dict(pooling=windows, divisor=divisor)
    wanted = reference("avg_pool", [x], how)[0]
    got, _ = run("avg_pool", [x], how)
    close(got[0], wanted, u * 2 * (places + 2) * 2 + rounding(dtype) * abs(wanted))
    wanted = reference("avg_pool_backward", [grad], how | dict(size=x.shape))[0]
    back, _ = run("avg_pool_backward", [grad], how | dict(size=x.shape))
    close(back[0], wanted, u * 2 * (places + 2) * 2 + rounding(dtype) * abs(wanted))
    same_in_every_order(lambda: run("avg_pool_backward", [grad], how | dict(size=x.shape))[0], back)


@settings(max_examples=20, deadline=None)
@given(draws())
def test_windows_of_any_kind(d):
    size = d.choice([(9,), (7, 8), (5, 4), (3, 4, 5)])
    check(d, DTYPES["f32"], size, pooling_of(d, size))


@pytest.mark.parametrize("dtype", ["f16"])
def test_other_dtypes(dtype):
    d = Draw(random.Random(1))
    check(d, DTYPES[dtype], (6, 6), Pooling((2, 2), (2, 2), (0, 0), (1, 1), (3, 3)))


def test_what_numbers_do_at_the_edges():
    x = np.array([[np.nan, 1, -np.inf, -np.inf, np.inf, 2]], "f")
    windows = Pooling((2,), (2,), (0,), (1,), (3,))
    got, _ = run("max_pool", [x], dict(pooling=windows))
    assert np.array_equal(got[0], [[np.nan, -np.inf, np.inf]], equal_nan=True)
    got, _ = run("max_pool", [np.array([[-3, -2, -9, -1]], "int32")], dict(pooling=windows._replace(out=(2,))))
    assert got[0].tolist() == [[-2, -1]]


def test_through_autograd():
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 7))
    found = []
    for where in ("cpu", device.device):
        t = minitorch.tensor(x, dtype=minitorch.float32, device=where, requires_grad=True)
        out, indices = F.max_pool2d(t, 3, 2, 1, return_indices=True)
        back = F.max_unpool2d(out, indices, 3, 2, 1, output_size=(7, 7))
        ((out * out).sum() + back.sum() + F.avg_pool2d(t, 3, 2, 1, count_include_pad=False).square().sum()
         + F.adaptive_avg_pool2d(t, (1, 1)).sum() + F.max_pool2d(t, 2, ceil_mode=True).sum()).backward()
        found.append((t.grad.cpu(), indices.cpu()))
    assert (found[0][0] - found[1][0]).abs().max() < 2.0**-24 * 400 and (found[0][1] == found[1][1]).all()


def test_resources():
    check_resources(pool.AVG_BACK, [DTYPES["f32"]])
