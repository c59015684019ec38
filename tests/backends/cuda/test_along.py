"""Elements named along a dimension, read and written, and positions in sorted rows, of all types and without the array
library."""

import numpy as np
import pytest

import minitorch
from minitorch.backends.cuda.arrays import library
from minitorch.core.registry import OPS
from tests.backends.cuda.kernel_checks import device, launches, put
from tests.backends.cuda.test_sort import TYPES, order, values

FEW = ["bool", "bf16", "f32", "f64", "i1", "u8"]           # one of each kind and size
rng = np.random.default_rng(0)


@pytest.fixture
def no_library(monkeypatch):
    function = library.function
    monkeypatch.setattr(library, "function", lambda F, path: (
        function(F, path) if library.is_view(path) else None))


@pytest.mark.parametrize("dtype", FEW)
def test_elements_along_a_dimension(dtype, no_library):
    x = values(rng, (4, 5, 3), TYPES[dtype])
    for axis, layout, index_type in ((0, "dense", "i8"), (1, "transposed", "i4"), (-1, "gaps", "i8")):
        size = x.shape[axis]
        shape = [2 if d == axis % 3 else n for d, n in enumerate(x.shape)]
        index = rng.integers(-size, size, shape).astype(index_type)
        found = device.xp.take_along_axis(put(x, layout), put(index), axis)
        assert device.to_host(found).tobytes() == np.take_along_axis(x, index.astype("i8"), axis).tobytes()
        once = np.argsort(rng.random(x.shape), axis).take([0, 2], axis)
        wanted, part = np.zeros(x.shape, x.dtype), np.ascontiguousarray(np.take_along_axis(x, once, axis))
        np.put_along_axis(wanted, once, part, axis)
        with launches() as names:
            found = device.kernels["put_along_dim"](device, put(part, layout), put(once), shape=x.shape, dim=axis)
        assert device.to_host(found).tobytes() == wanted.tobytes() and names[-1] == "put_elements"


def test_an_index_that_is_out_of_bounds():
    x, bad = put(np.ones((2, 3), "f4")), put(np.array([[0, 3], [1, -4]]))
    if device.machine.kind == "sim":
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
            device.xp.take_along_axis(x, bad, 1)
    else:
        assert np.isnan(device.to_host(device.xp.take_along_axis(x, bad, 1))).sum() == 2
    with pytest.raises((ValueError, IndexError)):          # NumPy's and CuPy's words
        device.xp.take_along_axis(x, put(np.zeros((3, 2), "i8")), 1)


def test_what_is_chosen_is_differentiated_without_the_library(no_library):
    def gradient(where, function):
        x = minitorch.tensor(np.random.default_rng(1).permutation(24).reshape(4, 6).astype("f4"), device=where)
        (function(x.requires_grad_())[0] ** 2).sum().backward()
        return x.grad.cpu()
    for function in (lambda x: x.max(1), lambda x: x.min(0), lambda x: x.sort(descending=True), lambda x: x.topk(3, 0)):
        wanted = gradient("cpu", function)
        for _ in range(4):                                 # the last ones by plans
            assert gradient(device.device, function).equal(wanted)


@pytest.mark.parametrize("dtype", FEW)
def test_positions_in_a_sorted_row(dtype, no_library):
    row = values(rng, (37,), TYPES[dtype])
    row = row[order(row, 0, False)]
    x = np.concatenate([row[::5], values(rng, (20,), TYPES[dtype])]).reshape(2, -1)
    wide = (lambda a: a.astype("f4")) if dtype == "bf16" else lambda a: a
    for side in ("left", "right"):
        found = device.xp.searchsorted(put(row), put(x, "transposed"), side)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(device.to_host(found), np.searchsorted(wide(row), wide(x), side))


def test_positions_in_sorted_rows(no_library):
    rows, x = np.sort(rng.integers(0, 9, (3, 4, 11)).astype("f4")), rng.integers(-1, 10, (3, 4, 6)).astype("f4")
    rows[0, 0, 8:], x[0, 0, 0] = np.nan, np.nan
    mixed = rng.permuted(rows, axis=-1)
    for right in (False, True):
        for out_int32 in (False, True):
            attrs = dict(right=right, out_int32=out_int32)
            wanted = OPS["searchsorted"].forward(minitorch.backends.get("cpu"), rows, x, **attrs)
            places = np.argsort(mixed, -1, kind="stable")
            for given, sorter in ((rows, None), (mixed, put(places))):
                with launches() as names:
                    found = device.kernels["searchsorted"](device, put(given), put(x), sorter, **attrs)
                assert found.dtype == wanted.dtype and names[-1] == "search_sorted"
                np.testing.assert_array_equal(device.to_host(found), wanted)


def test_positions_of_nothing_and_in_nothing():
    empty = minitorch.empty(0, device=device.device)
    assert minitorch.searchsorted(empty, empty + 1).shape == (0,)
    assert minitorch.searchsorted(empty, minitorch.ones(2, device=device.device)).tolist() == [0, 0]
    x = minitorch.tensor([1.0, 2.0, 2.0, 5.0], device=device.device)
    assert minitorch.searchsorted(x, 2, side="right").item() == 3           # a number
    assert minitorch.bucketize(x, x[1:], right=True).tolist() == [0, 2, 2, 3]
