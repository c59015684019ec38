"""Kernels whose blocks learn from those before them: a sort and running sums, in one sweep over memory."""

import numpy as np
import pytest

from minitorch.backends.cuda.ops import cumulative, sort
from tests.backends.cuda.kernel_checks import close, device, launches, put, run, same_in_every_order

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("n", "largest"), [(3 * sort.TILE + 77, 255), (2 * sort.TILE, 70_000), (1, 0)])
def test_sort(n, largest):
    keys = np.minimum(rng.geometric(20 / (largest + 20), n), largest).astype("u4")     # many are equal
    keys[: n // 3] = largest

    def compute():
        return [device.to_host(x) for x in sort.sorted_places(device, put(keys), largest)]
    with launches() as names:
        got = compute()
    assert names.count("sort_by_digit") == max(1, -(-largest.bit_length() // 8)) and len(set(names)) == 2
    np.testing.assert_array_equal(got[1], np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(got[0], np.sort(keys))
    same_in_every_order(compute, got)


def scanned(x, op=cumulative.SUM):
    """Running values, and indices of extremes, by blocks of one warp, so that few elements make many tiles."""
    tiles = -(-x.size // cumulative.RUN)
    words = (tiles + -(-tiles // 32) + -(-tiles // 1024)) * cumulative.pieces(op, x.dtype)
    out, room = device.empty(x.shape, x.dtype), device.xp.zeros((1 + words,), np.uint64)
    indices = None if op == cumulative.SUM else device.empty(x.shape, np.int64)
    cumulative.ROWS(device.machine, tiles, 32, out, indices, put(x), room, x.size, tiles, words, OP=op, VECTOR=4, PUT=4,
                    WARPS=1)
    last = device.to_host(room)[1 + words - (-(-tiles // 1024) + 1) * cumulative.pieces(op, x.dtype)]
    assert tiles % 32 == 0 or not last, "a group has published a total before all of its tiles"
    return device.to_host(out) if indices is None else device.to_host(indices)


def test_groups_of_tiles():
    """Groups of 32 tiles tell their totals, and two supergroups of 32 groups; no order of blocks changes a digit."""
    ones = np.ones(2060 * cumulative.RUN, "f4")
    np.testing.assert_array_equal(scanned(ones), np.arange(1, ones.size + 1))
    x = rng.normal(size=70 * cumulative.RUN + 4).astype("f4")
    found = scanned(x)
    close(found, x.astype("f8").cumsum(), 2.0**-24 * 40 * abs(x).astype("f8").cumsum())
    same_in_every_order(lambda: [scanned(x)], [found])


def test_the_last_of_equal_extremes_in_earlier_groups():
    x = np.zeros(66 * cumulative.RUN, "f4")
    peaks = [7, 3 * cumulative.RUN + 5, 40 * cumulative.RUN + 9]
    x[peaks] = 1
    places = np.arange(x.size)
    wanted = np.where(places < 7, places, np.array(peaks)[np.maximum(np.searchsorted(peaks, places, "right") - 1, 0)])
    np.testing.assert_array_equal(scanned(x, cumulative.MAXIMUM), wanted)


@pytest.mark.parametrize(("name", "dtype"), [("cummax", "f4"), ("cumsum", "i8"), ("cumprod", "f4")])
def test_tiles_that_lie_anyhow(name, dtype):
    """Rows of an odd length, without aligned vectors; two tiles each; the last one wins among
    equals."""
    x = rng.integers(1, 9, (3, 8 * cumulative.RUN + 333)).astype(dtype)
    x = x if name != "cumprod" else np.where(x > 7, -1, 1).astype(dtype)
    got, _ = run(name, [x], dict(dim=1))
    wanted = getattr(np, {"cummax": "maximum", "cumsum": "add", "cumprod": "multiply"}[name]).accumulate(x, 1)
    np.testing.assert_array_equal(got[0], wanted)
    if name == "cummax":
        places = np.maximum.accumulate(np.where(x == wanted, np.arange(x.shape[1]), 0), 1)
        np.testing.assert_array_equal(got[1], places)
    same_in_every_order(lambda: run(name, [x], dict(dim=1))[0], got)
