"""Reading and writing by index tensors: what must hold by definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t
from minitorch.backends.cpu.index import add_at
from minitorch.testing import check

few = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)
REDUCE = {"sum": sum, "prod": lambda x: np.prod(x), "amax": max, "amin": min, "mean": lambda x: sum(x) / len(x)}


def case(seed, dims=None):
    """An array, a dimension, an index for every element, and a source of the index's shape."""
    r = np.random.default_rng(seed)
    shape = r.integers(1, 5, dims or r.integers(1, 4))
    dim = int(r.integers(0, len(shape)))
    smaller = [int(r.integers(1, n + 1)) for n in shape]
    smaller[dim] = int(r.integers(1, 7))
    return r.normal(size=shape), dim, r.integers(0, shape[dim], smaller), r.normal(size=smaller)


def places(index, dim):
    """Where each element of an index tensor points: (its own place, the place in the other tensor)."""
    for at in np.ndindex(index.shape):
        yield at, (*at[:dim], index[at], *at[dim + 1:])


# ---- an index for every element ----------------------------------------------------------------------------
@given(seed=seeds)
@few
def test_gather_is_its_definition(seed):
    x, dim, index, _ = case(seed)
    found = t.from_numpy(x).gather(dim, t.from_numpy(index)).numpy()
    assert found.shape == index.shape
    assert all(found[here] == x[there] for here, there in places(index, dim))


@given(seed=seeds)
@few
def test_scatter_is_its_definition(seed):
    x, dim, index, src = case(seed)
    wanted, added = x.copy(), x.copy()
    for here, there in places(index, dim):
        wanted[there] = src[here]
        added[there] += src[here]
    arguments = dim, t.from_numpy(index), t.from_numpy(src)
    np.testing.assert_array_equal(t.from_numpy(x).scatter(*arguments).numpy(), wanted)
    np.testing.assert_allclose(t.from_numpy(x).scatter_add(*arguments).numpy(), added)
    np.testing.assert_allclose(t.from_numpy(x).scatter(*arguments, reduce="add").numpy(), added)


@given(seed=seeds, reduce=st.sampled_from(list(REDUCE)), include_self=st.booleans())
@few
def test_scatter_reduce_is_its_definition(seed, reduce, include_self):
    x, dim, index, src = case(seed)
    sent = {}
    for here, there in places(index, dim):
        sent.setdefault(there, []).append(src[here])
    wanted = x.copy()
    for there, values in sent.items():
        wanted[there] = REDUCE[reduce](([x[there]] if include_self else []) + values)
    found = t.scatter_reduce(t.from_numpy(x), dim, t.from_numpy(index), t.from_numpy(src), reduce,
                             include_self=include_self)
    np.testing.assert_allclose(found.numpy(), wanted)


@given(seed=seeds)
@few
def test_gather_and_scatter_add_are_transposes(seed):
    x, dim, index, src = case(seed)
    x, index, src = map(t.from_numpy, (x, index, src))
    left = (x.gather(dim, index) * src).sum()
    right = (x * t.zeros_like(x).scatter_add(dim, index, src)).sum()
    assert left.item() == pytest.approx(right.item())


def test_products_of_zeros_have_gradients():
    x = t.tensor([2.0, 3.0], dtype=t.float64, requires_grad=True)
    src = t.tensor([0.0, 5.0, 0.0, 0.0], dtype=t.float64, requires_grad=True)
    x.scatter_reduce(0, t.tensor([0, 0, 1, 1]), src, "prod").sum().backward()
    assert src.grad.tolist() == [10.0, 0.0, 0.0, 0.0] and x.grad.tolist() == [0.0, 0.0]


def test_equal_extremes_share_the_gradient():
    x = t.tensor([1.0, 0.0], requires_grad=True)
    src = t.tensor([1.0, 1.0, 3.0], requires_grad=True)
    x.scatter_reduce(0, t.tensor([0, 0, 1]), src, "amax").backward(t.tensor([6.0, 1.0]))
    assert x.grad.tolist() == [2.0, 0.0] and src.grad.tolist() == [2.0, 2.0, 1.0]


def test_take_along_dim_broadcasts_and_counts_from_the_end():
    x = t.arange(6).reshape(2, 3)
    assert t.take_along_dim(x, t.tensor([[-1]]), 1).tolist() == [[2], [5]]
    assert t.take_along_dim(x, x.argsort(1), 1).tolist() == x.tolist()
    assert t.take_along_dim(x, t.tensor([[4, 0]])).tolist() == [4, 0]


# ---- an index for every slice ------------------------------------------------------------------------------
@given(seed=seeds)
@few
def test_slices_are_those_of_numpy(seed):
    r = np.random.default_rng(seed)
    x = r.normal(size=r.integers(1, 5, r.integers(1, 4)))
    dim = int(r.integers(0, x.ndim))
    many = r.integers(0, x.shape[dim], r.integers(1, 40))
    once = r.permutation(x.shape[dim])[:max(1, x.shape[dim] - 1)]
    y, at = t.from_numpy(x), (slice(None),) * dim
    np.testing.assert_array_equal(y.index_select(dim, t.from_numpy(many)).numpy(), np.take(x, many, dim))
    source = r.normal(size=np.take(x, many, dim).shape)
    wanted = x.copy()
    np.add.at(wanted, (*at, many), 2 * source)
    found = y.index_add(dim, t.from_numpy(many), t.from_numpy(source), alpha=2)
    np.testing.assert_allclose(found.numpy(), wanted)
    source = r.normal(size=np.take(x, once, dim).shape)
    wanted = x.copy()
    wanted[(*at, once)] = source
    np.testing.assert_array_equal(y.index_copy(dim, t.from_numpy(once), t.from_numpy(source)).numpy(), wanted)
    wanted[(*at, once)] = 7.0
    np.testing.assert_array_equal(y.index_fill(dim, t.from_numpy(once), 7).numpy(), wanted)


@given(seed=seeds, reduce=st.sampled_from(["prod", "mean", "amax", "amin"]), include_self=st.booleans())
@few
def test_index_reduce_is_scatter_reduce_of_slices(seed, reduce, include_self):
    x, dim, index, _ = case(seed, 2)
    index = index.reshape(-1)[:4] % x.shape[dim]
    source = np.random.default_rng(seed).normal(size=[len(index) if d == dim else n for d, n in enumerate(x.shape)])
    found = t.from_numpy(x).index_reduce(dim, t.from_numpy(index), t.from_numpy(source), reduce,
                                         include_self=include_self)
    spread = np.broadcast_to(index[:, None] if dim == 0 else index, source.shape).copy()
    wanted = t.scatter_reduce(t.from_numpy(x), dim, t.from_numpy(spread), t.from_numpy(source), reduce,
                              include_self=include_self)
    np.testing.assert_allclose(found.numpy(), wanted.numpy())


@given(seed=seeds, dtype=st.sampled_from(["float32", "int64", "bool"]))
@few
def test_many_additions_by_one_flat_index(seed, dtype):
    """`add_at` takes another way for many values than for few: that of `numpy.add.at` in other words."""
    r = np.random.default_rng(seed)
    out = r.integers(0, 5, (6, 4, 5)).astype(dtype)
    a, b = r.integers(-6, 6, (30, 1)), r.integers(0, 5, (1, 20))
    for index in [(a,), (a, slice(None), b), (slice(None), b % 4, b), (slice(None), r.integers(0, 4, 300)),
                  (r.random(6) < 0.8, slice(None), r.integers(0, 5, 1))]:
        try:
            values = r.integers(0, 5, out[index].shape).astype(dtype)
        except IndexError:                                 # the mask has another number of places
            continue
        for start in (out, np.asfortranarray(out)):
            wanted, found = start.copy("K"), start.copy("K")
            np.add.at(wanted, index, values)
            add_at(found, index, values)
            np.testing.assert_allclose(found, wanted)


# ---- lists of indices, masks -------------------------------------------------------------------------------
def test_index_put():
    x, i, j = t.zeros(2, 3), t.tensor([0, 0, 1]), t.tensor([2, 2, 0])
    assert x.index_put((i, j), t.tensor([1.0, 2.0, 3.0])).tolist() == [[0, 0, 2], [3, 0, 0]]
    assert x.index_put((i, j), t.tensor(1.0), accumulate=True).tolist() == [[0, 0, 2], [1, 0, 0]]
    x.index_put_((x == 0,), t.tensor(5.0))
    assert x.tolist() == [[5, 5, 5], [5, 5, 5]]


def test_take_and_put_count_in_flattened_order():
    x = t.arange(6.0).reshape(2, 3).t()
    assert t.take(x, t.tensor([[1, -1]])).tolist() == [[3.0, 5.0]]
    assert x.put(t.tensor([1, -1]), t.tensor([8.0, 9.0])).tolist() == [[0.0, 8.0], [1.0, 4.0], [2.0, 9.0]]
    assert x.put(t.tensor([0, 0]), t.tensor([8.0, 9.0]), accumulate=True)[0, 0].item() == 17.0


@given(seed=seeds)
@few
def test_masks(seed):
    r = np.random.default_rng(seed)
    x, mask = r.normal(size=(3, 4)), r.random((3, 4)) < 0.5
    y, m = t.from_numpy(x), t.from_numpy(mask)
    chosen = y.masked_select(m)
    np.testing.assert_array_equal(chosen.numpy(), x[mask])
    np.testing.assert_array_equal(t.zeros_like(y).masked_scatter(m, chosen).numpy(), np.where(mask, x, 0))
    np.testing.assert_array_equal(y.masked_fill(m, float("-inf")).numpy(), np.where(mask, -np.inf, x))
    np.testing.assert_array_equal(y[m.nonzero(as_tuple=True)].numpy(), x[mask])
    np.testing.assert_array_equal(t.argwhere(m).numpy(), np.argwhere(mask))
    flat = t.from_numpy(np.flatnonzero(mask))
    np.testing.assert_array_equal(np.stack(t.unravel_index(flat, (3, 4)), 1), np.argwhere(mask))


def test_a_masked_nan_has_no_gradient():
    y = t.tensor([float("nan"), 4.0], requires_grad=True)
    y.masked_fill(y != y, 0.0).sum().backward()
    assert y.grad.tolist() == [0.0, 1.0]


def test_masked_fill_keeps_the_dtype():
    m = t.tensor([True, False])
    assert t.tensor([1, 2]).masked_fill(m, 1.9).tolist() == [1, 2]
    assert t.tensor([1.0, 2.0]).masked_fill(m, t.tensor(7)).dtype is t.float32
    with pytest.raises(RuntimeError, match="cannot be converted to type uint8 without overflow"):
        t.tensor([1, 2], dtype=t.uint8).masked_fill(m, 300)


# ---- gradients through the public functions, in place, errors ----------------------------------------------
def test_gradients_of_public_functions():
    index, mask = t.tensor([[0, 2, 1], [1, 0, 0]]), t.tensor([True, False, True])
    row = t.tensor([2, 0, 2])
    check(lambda x: x.gather(1, index), "2 3")
    check(lambda x, y: x.scatter_add(1, index, y) + x.scatter(1, index[:, :1], y), "2 3, 2 3")
    check(lambda x, y: x.index_add(1, row, y, alpha=3) * x.index_select(1, row), "2 3, 2 3")
    check(lambda x, y: x.masked_fill(mask, 2.0) * x.masked_scatter(mask, y), "2 3, 2 3")
    check(lambda x: x[:, row] * x[index[:, :2], row[:2]].sum(), "3 3")
    for reduce in REDUCE:
        check(lambda x, y: x.scatter_reduce(1, index, y, reduce, include_self=False), "2 3, 2 3")   # noqa: B023


def test_in_place_twins_are_recorded():
    x, leaf = t.zeros(2, 3, dtype=t.float64), t.ones(2, 2, dtype=t.float64, requires_grad=True)
    x.index_copy_(1, t.tensor([0, 2]), leaf * 3)
    x.masked_fill_(t.tensor([True, False, False]), 9.0)
    x.scatter_add_(1, t.tensor([[1, 1]]), leaf[:1])
    x.sum().backward()
    assert x.tolist() == [[9, 2, 3], [9, 0, 3]] and leaf.grad.tolist() == [[1, 4], [0, 3]]


def test_out():
    x, index = t.arange(6.0).reshape(2, 3), t.tensor([[2], [0]])
    out = t.empty(2, 1)
    assert t.gather(x, 1, index, out=out) is out and out.tolist() == [[2], [3]]
    with pytest.raises(RuntimeError):
        t.gather(x.requires_grad_(), 1, index, out=out)


@pytest.mark.parametrize("call, error, words", [
    (lambda x, i: x.gather(1, i + 3), RuntimeError, "index 3 is out of bounds for dimension 1 with size 3"),
    (lambda x, i: x.gather(1, i - 1), RuntimeError, "index -1 is out of bounds"),
    (lambda x, i: x.gather(1, i[0]), RuntimeError, "same number of dimensions"),
    (lambda x, i: x.gather(1, i.float()), RuntimeError, r"index.long\(\)"),
    (lambda x, i: x.gather(2, i), IndexError, r"range of \[-2, 1\], but got 2"),
    (lambda x, i: x.gather(0, t.zeros(1, 5, dtype=t.int64)), RuntimeError, "Size does not match at dimension 1"),
    (lambda x, i: x.scatter(1, i, x.double()), RuntimeError, "Expected self.dtype to be equal to src.dtype"),
    (lambda x, i: x.scatter_reduce(1, i, x, "median"), RuntimeError, "got median"),
    (lambda x, i: x.index_select(1, i), IndexError, "supposed to be a vector"),
    (lambda x, i: x.index_add(1, i[0], x), RuntimeError, "Number of indices"),
    (lambda x, i: x.masked_fill(i, 0.0), RuntimeError, "mask != 0"),
    (lambda x, i: x.masked_scatter(x > -1, x[:1]), RuntimeError, "3 elements for 6 places"),
    (lambda x, i: x.take(i + 6), IndexError, "tried to access index 6 on a tensor of 6 elements"),
    (lambda x, i: x.index_put(i, x), TypeError, "tuple of Tensors, not Tensor"),
])
def test_errors_say_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call(t.arange(6.0).reshape(2, 3), t.tensor([[0], [0]]))
