"""Running values along an outer dimension, in one pass of memory: longer than what a block has at a time."""

import numpy as np
import pytest

import minitorch
from minitorch.backends.cuda.ops import cumulative
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_resources,
    close,
    device,
    reference,
    run,
    same_in_every_order,
    unit,
)

rng = np.random.default_rng(0)


def check(name, x, dim):
    wanted, (got, names) = reference(name, [x], dict(dim=dim)), run(name, [x], dict(dim=dim))
    if name in ("cummax", "cummin"):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a.astype("f8"), b.astype("f8"))
    else:
        size = np.cumsum(abs(x.astype("f8")), dim) if name == "cumsum" else 4 + abs(wanted[0])
        close(got[0], wanted[0], (30 + x.shape[dim] / 8) * unit(x.dtype) * size)
    return got, names


@pytest.mark.parametrize(("name", "shape", "dim"), [
    ("cumsum", (2, 200, 3), 1), ("cumsum", (65, 33), 0), ("cummax", (2, 70, 5), 1), ("cummin", (97, 2), 0),
    ("logcumsumexp", (70, 3), 0)])
def test_columns_of_several_stretches(name, shape, dim):
    x = rng.integers(-3, 4, shape).astype("f4") if name in ("cummax", "cummin") else rng.normal(size=shape).astype("f4")
    got, names = check(name, x, dim)
    assert names == ["scan_planes"]
    same_in_every_order(lambda: run(name, [x], dict(dim=dim))[0], got)


def test_extremes_with_nan_and_infinity_at_the_edges_of_stretches():
    for edge in (3, 4, 31, 32, 63, 64, 69):
        for value in (np.nan, np.inf, -np.inf):
            x = rng.integers(-3, 4, (70, 2)).astype("f4")
            x[edge, 0] = value
            check("cummax", x, 0)


def test_integers_are_added_exactly():
    x = rng.integers(-2**40, 2**40, (3, 131, 2))
    got, _ = run("cumsum", [x], dict(dim=1))
    np.testing.assert_array_equal(got[0], x.cumsum(1))


def test_few_long_columns_are_turned_into_rows(monkeypatch):
    """A block for each 32 columns would leave a GPU without work."""
    x = rng.integers(-3, 4, (2, 600, 3)).astype("f4")
    before = check("cummax", x, 1)[0]
    monkeypatch.setattr(cumulative, "LONG", 500)
    after, names = check("cummax", x, 1)
    assert "scan_rows" in names and "scan_planes" not in names
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a, b)
    found = minitorch.tensor(x, device=device.device).cumsum(1)
    assert found.is_contiguous() and found.cpu().numpy().tolist() == x.cumsum(1).tolist()


def test_resources():
    for op, kinds in ((0, ("f32", "f64", "bf16")), (2, ("f32", "f64")), (4, ("f32",))):
        for kind in kinds:
            check_resources(cumulative.PLANES, [DTYPES[kind], DTYPES[kind]], OP=op, VECTOR=1)
