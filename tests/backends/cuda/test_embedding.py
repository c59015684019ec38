"""The CUDA kernels of embeddings, gather and scatter, and of the sort under them, against the ops' references."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import embedding, scatter, sort
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    put,
    reference,
    rounding,
    run,
    same_in_every_order,
    unit,
)


# ---- sorting -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "largest"), [(1, 0), (7, 3), (300, 255), (2049, 256), (4500, 70_000),
                                            (2100, 2**32 - 1)])
def test_sort_is_stable(n, largest):
    keys = np.random.default_rng(n).integers(0, largest + 1, n).astype("uint32")
    order = np.argsort(keys, kind="stable")

    def compute():
        return [device.to_host(x) for x in sort.sorted_places(device, put(keys), largest)]
    found = compute()
    assert (found[0] == keys[order]).all() and (found[1] == order).all()
    if n < 3000:
        same_in_every_order(compute, found)


# ---- ops ---------------------------------------------------------------------------------------------------
def check(name, arrays, attrs, terms=1, launched=None):
    """`terms`: how many numbers of size up to 2 are added up in one place."""
    wanted = reference(name, arrays, attrs)[0]
    got, names = run(name, arrays, attrs)
    assert launched is None or launched in names
    dtype = next(x.dtype for x in arrays if isinstance(x, np.ndarray) and x.dtype.kind != "i")
    close(got[0], wanted, unit(dtype) * 2 * terms**2 + rounding(dtype) * abs(wanted))
    assert got[0].dtype == dtype
    return got


def any_indices(d, n, size):
    """Indices below `size`: spread, all the same, or a few."""
    highest = d.choice([size - 1, 0, min(2, size - 1)])
    return d.integers((n,), 0, highest)


@pytest.mark.parametrize(("n", "width", "kind"), [(300, 12, "f32"), (100, 5, "f32"), (70, 8, "bf16"),
                                                  (1500, 4, "f32")])
def test_embedding(n, width, kind, monkeypatch):
    d, dtype = Draw(random.Random(n)), DTYPES[kind]
    for _ in range(2):
        index = any_indices(d, n, 9).astype("int32" if kind == "bf16" else "int64")
        table, grad = cast(d.array((9, width)), dtype), cast(d.array((n, width)), dtype)
        how = dict(padding_idx=d.choice([-1, 0, 4]), scale_grad_by_freq=False)
        check("embedding", [index, table], how, 0, "take_slices")
        most = np.bincount(index).max()
        for few, launched in ((1 << 17, "sum_into_few_rows"), (0, "sum_runs")):
            monkeypatch.setattr(embedding, "FEW", few)     # small tables go another way
            call = "embedding_backward", [grad, index], how | dict(rows=9)
            got = check(*call, most, launched)
            same_in_every_order(lambda call=call: run(*call)[0], got)


@settings(max_examples=25, deadline=None)
@given(draws())
def test_slices_and_elements(d):
    shape, dim = d.choice([((3, 5, 7), 1), ((6, 3), 0), ((2, 7), -1), ((3, 5, 3), 0)])
    size, n = shape[dim], d.int(1, 80)
    index = any_indices(d, n, size)
    some = tuple(n if k == dim % len(shape) else m for k, m in enumerate(shape))
    source, x = (cast(d.array(s), DTYPES["f32"]) for s in (some, shape))
    check("index_select", [x, index], dict(dim=dim), 0, "take_slices")
    check("index_select_backward", [source, index], dict(shape=shape, dim=dim), n, "join_runs")
    check("index_add", [x, index, source], dict(dim=dim), n + 1, "join_runs")
    within = tuple(n if k == dim % len(shape) else d.int(1, m) for k, m in enumerate(shape))
    index = any_indices(d, int(np.prod(within)), size).reshape(within)
    source = cast(d.array(within), DTYPES["f32"])
    check("gather", [x, index], dict(dim=dim), 0, "gather")
    check("gather_backward", [source, index], dict(shape=shape, dim=dim), n, "join_runs")
    got = check("scatter_add", [x, index, source], dict(dim=dim), n + 1, "join_runs")
    check("scatter", [x, index, source], dict(dim=dim), 0, "write_last")
    if d.int(0, 3) == 0:
        same_in_every_order(lambda: run("scatter_add", [x, index, source], dict(dim=dim))[0], got)


@settings(max_examples=25, deadline=None)
@given(draws())
def test_indices_between_brackets(d):
    shape = (4, 5, 3)
    first, second = d.integers((d.int(1, 40), 1), -4, 3), d.integers((3,), -5, 4)
    index = d.choice([(first[:, 0],), (slice(None), second), (first, second), (slice(None), slice(None), second % 3)])
    x = cast(d.array(shape), DTYPES["f32"])
    source = cast(d.array(x[index].shape), DTYPES["f32"])
    on_device = tuple(put(part) for part in index)
    for name, inputs, attrs in (("index", [x], {}), ("index_backward", [source], dict(shape=shape)),
                                ("index_put_accumulate", [x, source], {})):
        wanted = reference(name, inputs, attrs | dict(index=index))[0]
        got, names = run(name, inputs, attrs | dict(index=on_device))
        assert names[-1] in ("take_slices", "join_runs")
        close(got[0], wanted, unit(x.dtype) * 2 * source.size)


def test_whole_numbers_are_added_exactly():
    rng = np.random.default_rng(0)
    for dtype in ("int64", "uint8"):
        x, source = (rng.integers(0, 100, n).astype(dtype) for n in (5, 200))
        index = rng.integers(0, 5, 200)
        wanted = x.copy()
        np.add.at(wanted, index, source)
        assert (run("scatter_add", [x, index, source], dict(dim=0))[0][0] == wanted).all()


def test_scatter_of_one_number():
    got, _ = run("scatter", [np.zeros((2, 3), "f"), np.array([[2, 0]]), 5.0], dict(dim=1))
    assert got[0].tolist() == [[5, 0, 5], [0, 0, 0]]


def test_through_autograd():
    rng = np.random.default_rng(0)
    table, index = rng.normal(size=(6, 4)), rng.integers(0, 6, (3, 5))
    found = []
    for where in ("cpu", device.device):
        w = minitorch.tensor(table, dtype=minitorch.float32, device=where, requires_grad=True)
        i = minitorch.tensor(index, device=where)
        rows = F.embedding(i, w, padding_idx=2)
        loss = (rows * rows).sum() + w[i[0], i[1].clamp(max=3)].square().sum() + w.gather(0, i[:, :4]).square().sum()
        (loss + w.index_add(0, i[0], rows[0]).square().sum()).backward()
        found.append(w.grad.cpu())
    assert (found[0] - found[1]).abs().max() < 2.0**-24 * 2000


@pytest.mark.skipif(device.machine.kind != "sim", reason="the host does not look at a GPU's indices")
def test_indices_out_of_bounds_are_found_where_the_host_can_look():
    w = minitorch.zeros(3, 2, device=device.device)
    at = minitorch.tensor([0, 3], device=device.device)
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(at, w)
    for wrong, error in ((lambda: w.index_select(0, at), IndexError), (lambda: w.gather(0, at[:, None]), RuntimeError),
                         (lambda: w.index_add(0, at, w[:2]), IndexError)):        # the classes of the CPU
        with pytest.raises(error, match="index 3 is out of bounds for dimension 0 with size 3"):
            wrong()
    with pytest.raises(RuntimeError, match="dim 0|dimension 0|apart from"):
        w.gather(1, minitorch.zeros(4, 1, dtype=minitorch.int64, device=device.device))


def test_indices_out_of_bounds_touch_nothing():
    out = put(np.ones((3, 2), "f"))
    scatter.add_slices_to(device, out, put(np.array([0, 3, -1, 2])), put(np.full((4, 2), 5.0, "f")), (1, 3, 2))
    assert device.to_host(out).tolist() == [[6, 6], [1, 1], [6, 6]]
    got = scatter.taken(device, put(np.ones((3, 2), "f")), put(np.array([0, 3])), (1, 3, 2), (2, 2))
    assert np.array_equal(device.to_host(got), [[1, 1], [np.nan, np.nan]], equal_nan=True)


def test_resources():
    check_resources(sort.SORT, [])
    check_resources(scatter.RUNS, [DTYPES["f32"]] * 2, VECTOR=4)
