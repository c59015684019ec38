"""The CUDA kernels of running sums, products and extremes against the ops' references."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
from minitorch.backends.cuda.ops import cumulative
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
    unit,
)

CASES = [("cumsum", "f32", (3, 2501), 1), ("cumsum", "f32", (2, 9001), 1), ("cumsum", "f16", (3, 64), 1),
         ("cumsum", "f32", (2, 45, 40), 1), ("cumsum", "int32", (2, 9000), 1), ("cumprod", "f32", (2, 41), 1),
         ("cummax", "f32", (2, 8193), 1), ("cummax", "f32", (2, 30, 33), 1), ("cummin", "bf16", (3, 40), 0),
         ("logcumsumexp", "f32", (2, 8193), 1)]


def values(d, name, kind, shape):
    if kind in DTYPES:
        x = d.array(shape, 0.9, 1.1) if name == "cumprod" else d.array(shape)
        return cast(x, DTYPES[kind])
    return d.integers(shape, -9, 9).astype(kind)


def allowed(name, x, dim, wanted):
    """For sums, a rounding of the sum of sizes for each step of a thread, of its warp and of the
    carry."""
    if x.dtype.kind in "iub" or name in ("cummax", "cummin"):
        return 0
    n = x.shape[dim]
    steps = unit(x.dtype) * (30 + n / 8 if x.ndim > 2 else 30 + n / 64)
    size = np.cumsum(abs(exact(x)), dim) if name == "cumsum" else 1 + n / 8 + abs(wanted)
    if name == "cumprod":
        size, steps = abs(wanted), unit(x.dtype) * (n + 2)
    with np.errstate(invalid="ignore"):
        return steps * size + rounding(x.dtype) * abs(wanted)


def check(name, x, dim):
    wanted = reference(name, [x], dict(dim=dim))
    got, launched = run(name, [x], dict(dim=dim))
    assert launched and got[0].dtype == (x.dtype if x.dtype.kind not in "iub" or name == "cummin" else "int64")
    close(got[0], wanted[0], allowed(name, x, dim, wanted[0]))
    for a, b in zip(got[1:], wanted[1:], strict=True):
        assert (a == b).all()
    return got, launched


@pytest.mark.parametrize(("name", "kind", "shape", "dim"), CASES, ids=lambda x: str(x).replace(" ", ""))
def test_every_way_to_scan(name, kind, shape, dim):
    x = values(Draw(random.Random(str(shape))), name, kind, shape)
    got, launched = check(name, x, dim)
    assert launched == ["scan_planes" if shape[dim + 1:] not in ((), (1,)) else "scan_rows"]
    same_in_every_order(lambda: run(name, [x], dict(dim=dim))[0], got)


@settings(max_examples=30, deadline=None)
@given(draws())
def test_small_shapes_with_extremes(d):
    name, (shape, dim) = d.choice(["cumsum", "cummax", "logcumsumexp"]), d.choice([((5, 7), 1), ((2, 9, 1), 1)])
    x = values(d, name, "f32", shape)
    for _ in range(d.int(0, 4)):
        x[tuple(d.int(0, n - 1) for n in shape)] = d.choice([-np.inf, np.inf, np.nan, 1.0])
    check(name, x, dim)


def test_through_autograd():
    x = np.random.default_rng(0).normal(size=(4, 7))
    found = []
    for where in ("cpu", device.device):
        t = minitorch.tensor(x, dtype=minitorch.float32, device=where, requires_grad=True)
        ((t * 3).cumsum(1).sin().sum() + t.cumprod(1).sum() + t.cummax(1).values.sum()).backward()
        found.append(t.grad.cpu())
    assert (found[0] - found[1]).abs().max() < 2.0**-24 * 1000


def test_resources():
    check_resources(cumulative.ROWS, [DTYPES["f32"]] * 2, OP=2, VECTOR=4, PUT=4, WARPS=8)
