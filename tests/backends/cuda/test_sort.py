"""Sorts of rows by kernels of our own: all types, both orders, stable, short and long rows, along any dimension."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.backends.cuda.ops import sort
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_resources,
    device,
    launches,
    put,
    same_in_every_order,
)

TYPES = {**DTYPES, **{k: np.dtype(k) for k in ("bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")}}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5]


def values(rng, shape, dtype, few=False):
    """Random elements, with ties, with the extremes of the type, with both zeros and NaNs of both signs."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        found = rng.integers(0, 3, shape).astype(dtype) if few else x
        found.flat[:2] = info.min, info.max
        return found
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    x = rng.integers(-2, 3, shape) * 1.0 if few else rng.standard_normal(shape) * 10.0**rng.integers(-4, 4, shape)
    at = rng.integers(0, x.size, min(len(SPECIAL), x.size))
    x.flat[at] = SPECIAL[:len(at)]
    x = x.astype(dtype)
    x.flat[rng.integers(0, x.size)] = -dtype.type(np.nan)
    return x


def order(x, axis, descending):
    """The stable order, NaN being the largest."""
    x = x.astype("f4") if x.dtype.name == "bfloat16" else x
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(back, axis)


def check(x, axis=-1, descending=False, layout="dense"):
    with launches() as names:
        found, places = device.kernels["sort"](device, put(x, layout), dim=axis, descending=descending)
    index = order(x, axis, descending)
    np.testing.assert_array_equal(device.to_host(places), index)
    assert device.to_host(places).dtype == np.int64
    assert device.to_host(found).tobytes() == np.take_along_axis(x, index, axis).tobytes()         # both zeros, too
    return names


@pytest.mark.parametrize("dtype", TYPES)
def test_all_types_in_both_orders(dtype):
    rng = np.random.default_rng(0)
    for few in (False, True):
        x = values(rng, (5, 7), TYPES[dtype], few)
        for descending in (False, True):
            check(x, descending=descending)


@pytest.mark.parametrize("dtype", ["u1", "bf16", "f8"])
def test_all_sizes_in_a_block(dtype):
    x = values(np.random.default_rng(0), (3, 50), TYPES.get(dtype, np.dtype("f8")), few=True)
    for descending in (False, True):
        assert check(x, descending=descending) == ["sort_rows"]


@pytest.mark.parametrize(("shape", "kernel"), [
    ((1, 1), "sort_short_rows"), ((9, 2), "sort_short_rows"), ((2, 32), "sort_short_rows"), ((1, 33), "sort_rows"),
    ((2, 256), "sort_rows"), ((2, 257), "sort_rows"), ((1, 1025), "sort_rows")])
def test_rows_of_a_warp_and_of_a_block(shape, kernel):
    for few in (False, True):
        x = values(np.random.default_rng(1), shape, np.dtype("f4"), few)
        assert check(x) == [kernel]


@pytest.mark.parametrize(("dtype", "rows", "columns", "sweeps"), [
    ("u1", 2, 130, 2), ("f16", 300, 70, 4), ("f4", 1, 4200, 4), ("f8", 3, 60, 9)])
def test_rows_longer_than_a_block_has_room_for(dtype, rows, columns, sweeps, monkeypatch):
    monkeypatch.setattr(sort, "SHORTEST", 4)
    monkeypatch.setattr(sort, "LONGEST", 8)
    x = values(np.random.default_rng(2), (rows, columns), TYPES.get(dtype, np.dtype(dtype)), few=True)
    names = check(x)
    assert names.count("sort_by_digit") == sweeps and names[-1] == "take_sorted" and "sort_rows" not in names
    check(x[:2], descending=True)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(4,), (3, 5), (2, 3, 4), (2, 1, 40), (0, 3), (3, 0)]), st.booleans(),
       st.sampled_from(["dense", "offset", "transposed", "gaps"]))
def test_along_any_dimension_of_any_layout(seed, shape, descending, layout):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, shape).astype("f4")
    check(x, int(rng.integers(-len(shape), len(shape))), descending, layout if x.size else "dense")


def test_what_rests_on_sorts_uses_no_library():
    from minitorch.backends.cuda.arrays import library
    x = np.random.default_rng(3).permutation(90).astype("f4").reshape(2, 45)
    ours, theirs = minitorch.tensor(x, device=device.device), minitorch.tensor(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "function", None)
        for f in (lambda x: x.sort(dim=0)[1], lambda x: x.argsort(descending=True), lambda x: x.topk(2, 0)[0],
                  lambda x: x.topk(2, largest=False)[1], lambda x: x.msort()):
            for _ in range(3):                             # the last time by plans
                found = f(ours)
            assert found.cpu().equal(f(theirs))
    assert ours.kthvalue(4)[1].cpu().equal(theirs.kthvalue(4)[1]) and ours.median().cpu().equal(theirs.median())
    with pytest.raises(RuntimeError, match="from 0 to 45"):
        ours.topk(46)
    assert device.xp.argsort(put(x), axis=None).shape == (90,)
    z = put(x[:, :2] + 1j * x[:, 2:4])
    np.testing.assert_array_equal(device.to_host(device.xp.sort(z)), np.sort(x[:, :2] + 1j * x[:, 2:4]))


def test_gradients_go_where_elements_came_from():
    x = minitorch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 1.0]], device=device.device).requires_grad_()
    (x.sort(descending=True)[0] * minitorch.tensor([1.0, 10.0, 100.0], device=device.device)).sum().backward()
    assert x.grad.tolist() == [[1.0, 100.0, 10.0], [10.0, 1.0, 100.0]]


def test_the_same_in_every_order_of_blocks_and_warps():
    for shape in ((40, 7), (2, 300)):
        x = put(values(np.random.default_rng(4), shape, np.dtype("f4"), few=True))

        def compute(x=x):
            return [device.to_host(v) for v in device.kernels["sort"](device, x, dim=-1)]
        same_in_every_order(compute, compute())


def test_resources():
    for size, rounds in (("u1", 16), ("u2", 16), ("u4", 16), ("u8", 8)):
        constants = dict(T=np.dtype(size), KIND=1)
        check_resources(sort.ROWS, [], ROUNDS=rounds, **constants)
        check_resources(sort.SHORT, [], LANES=32, **constants)
        check_resources(sort.TAKE, [], **constants)


# ---- the first few -----------------------------------------------------------------------------------------
def check_first(x, k, axis=-1, largest=True, layout="dense"):
    with launches() as names:
        found, places = device.kernels["topk"](device, put(x, layout), k=k, dim=axis, largest=largest)
    index = np.take(order(x, axis, largest), np.arange(k), axis)
    np.testing.assert_array_equal(device.to_host(places), index)
    assert places.dtype == np.int64 and found.flags.c_contiguous and places.flags.c_contiguous
    assert device.to_host(found).tobytes() == np.take_along_axis(x, index, axis).tobytes()         # both zeros, too
    return names


@pytest.mark.parametrize("dtype", ["bool", "bf16", "f32", "f64", "i2", "u8"])
def test_the_first_of_types_of_all_kinds_and_sizes(dtype):
    rng = np.random.default_rng(0)
    for few in (False, True):
        x = values(rng, (2, 40), TYPES[dtype], few)
        for largest in (False, True):
            assert check_first(x, 7, largest=largest) == ["select_rows"]


@pytest.mark.parametrize(("columns", "k"), [(1, 1), (5, 5), (33, 1), (1025, 256), (2100, 3), (300, 299), (40, 0)])
def test_how_many_of_how_many(columns, k):
    """From one to as many as are selected; those that are more, and rows that a thread looks at several times."""
    for few in (False, True):
        names = check_first(values(np.random.default_rng(1), (2, columns), np.dtype("f4"), few), k)
        assert names == ["select_rows"] or not 0 < k <= sort.MOST_SELECTED


def test_equal_elements_come_in_the_order_of_their_places():
    for x in (np.zeros((2, 1500), "f4"), np.repeat(np.arange(4, dtype="i4"), 300)[None],
              np.full((1, 70), np.nan, "f4")):
        for largest in (False, True):
            assert check_first(x, 20, largest=largest) == ["select_rows"]


@pytest.mark.parametrize("layout", ["dense", "offset", "transposed", "gaps"])
def test_the_first_along_any_dimension(layout):
    x = np.random.default_rng(2).integers(-3, 4, (4, 3, 6)).astype("f4")
    for axis in (0, 1, -1):
        check_first(x, 2, axis, layout=layout)


def test_selection_in_every_order_of_threads():
    x = put(values(np.random.default_rng(4), (2, 600), np.dtype("f2"), few=True))

    def compute():
        return [device.to_host(v) for v in device.kernels["topk"](device, x, k=9)]
    same_in_every_order(compute, compute())
