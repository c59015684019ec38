"""Copies on the device against NumPy, exactly: transposes, slices, arrays side by side, triangles, ramps, casts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.cuda.kernel_checks import device, launches, same_in_every_order

xp = device.xp


def same(found, wanted):
    found = device.to_host(found)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def whole(shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
def test_permutations(dtype):
    x = whole((3, 40, 50), dtype)
    ours = device.from_host(x)
    for order in itertools.permutations(range(3)):
        same(ours.transpose(order).copy(), x.transpose(order))
    same(ours[:, ::-1, 3::2].copy(), x[:, ::-1, 3::2])


def test_transposes_go_through_shared_memory():
    x = whole((2, 70, 45))
    with launches() as names:
        same(device.from_host(x).transpose(0, 2, 1).copy(), x.transpose(0, 2, 1))
    assert names == ["transpose"]
    compute = lambda: [device.to_host(device.from_host(x).transpose(0, 2, 1).copy())]
    same_in_every_order(compute, compute())


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_write_of_any_view(random):
    """``a[view] = b[view]``, also where the two overlap, permuted, reversed and broadcast, as NumPy's."""
    from minitorch.testing.strategies import Draw
    d = Draw(random)
    shape = d.shape(1, 4, 1, 9)
    x = whole(shape, d.choice(["f4", "i8", "?"]), 1)
    ours = device.from_host(x)
    target, index = tuple(slice(d.int(0, n - 1), None, d.choice([1, 2])) for n in shape), []
    for n, size in zip(shape, x[target].shape):
        start = d.int(0, n - size)
        index.append(d.choice([slice(start, start + size), slice(0, 1)]) if d.bool() else
                     slice(start + size - 1, start - 1 if start else None, -1))
    x[target] = x[tuple(index)].copy()
    ours[target] = ours[tuple(index)]
    same(ours, x)


def test_side_by_side():
    x = whole((3, 8, 20))
    ours = device.from_host(x)
    for axis in (0, 1, 2, -1):
        parts = np.split(x, [1, 3], axis) if axis else [x, x[:1], x]
        same(xp.concatenate([device.from_host(p) for p in parts], axis), np.concatenate(parts, axis))
        same(xp.stack([ours, ours.swapaxes(0, 0)], axis), np.stack([x, x], axis))
    same(xp.concatenate([ours] * 40), np.concatenate([x] * 40))               # more than one launch takes
    same(xp.concatenate([ours, ours[:, ::2].copy(), ours[:, :0]], 1), np.concatenate([x, x[:, ::2]], 1))
    same(xp.concatenate([ours, ours.astype("f8")]), np.concatenate([x, x.astype("f8")]))
    same(xp.concatenate([ours.T, ours.T]), np.concatenate([x.T, x.T]))
    with launches() as names:
        xp.concatenate([ours] * 5, 1)
    assert names == ["concatenate"]
    with pytest.raises(ValueError, match="must match exactly"):
        xp.concatenate([ours, ours[:, 1:]], 0)


def test_triangles_diagonals_ramps():
    for shape in ((4, 4), (2, 3, 70), (5, 1), (0, 3)):
        x = whole(shape)
        for k in (-2, 0, 1):
            same(xp.tril(device.from_host(x), k), np.tril(x, k))
            same(xp.triu(device.from_host(x), k), np.triu(x, k))
    for arguments in ((4,), (3, 5, 1), (5, 3, -2), (3, 3, 7)):
        same(xp.eye(*arguments, dtype="f4"), np.eye(*arguments, dtype="f4"))
    for arguments in ((5,), (2, 9), (0, 1, 0.1), (1.5, 9), (10, 0, -3), (0, 7, 1, "f4"), (0, 5, 1, "f2"), (2, 2)):
        same(xp.arange(*arguments), np.arange(*arguments))


def test_fills_and_frames():
    for dtype, value in (("f4", 2.5), ("f2", 2.5), ("i8", -3), ("u1", 200), ("?", True), ("f8", np.nan),
                         ("c8", 1 + 2j)):
        same(xp.full((3, 700), value, dtype), np.full((3, 700), value, dtype))
        x, ours = np.zeros((6, 9), dtype), xp.zeros((6, 9), dtype)
        x[1::2, ::3], ours[1::2, ::3] = value, value
        same(ours, x)
    x = whole((3, 4))
    for mode in ("constant", "reflect", "edge"):
        same(xp.pad(device.from_host(x), ((1, 0), (2, 3)), mode), np.pad(x, ((1, 0), (2, 3)), mode))
    same(xp.roll(device.from_host(x), (1, -2), (0, 1)), np.roll(x, (1, -2), (0, 1)))
    same(xp.tile(device.from_host(x), (2, 1, 3)), np.tile(x, (2, 1, 3)))
    same(xp.repeat(device.from_host(x), 3, 1), np.repeat(x, 3, 1))


def test_casts():
    x = np.array([0, 1, 2.7, -2.7, 100, 1e-3])
    for a in ("f4", "f2", "f8", "i4"):
        for b in ("f4", "f2", "f8", "i8", "i1", "?"):
            same(device.from_host(x.astype(a)).astype(b), x.astype(a).astype(b))


def test_reshape_copies_only_where_it_must():
    x = whole((4, 6))
    ours = device.from_host(x)
    assert ours.reshape(2, 12).base is ours and ours[:, :3].reshape(4, 3, 1).base is ours
    same(ours.T.reshape(3, 8), x.T.reshape(3, 8))
    same(ours[:, 1:4].reshape(-1), x[:, 1:4].reshape(-1))
    for order in "CFAK":
        same(ours.T.ravel(order), x.T.ravel(order))
