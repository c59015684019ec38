"""Indexing: every kind of index, mixed, read, written and differentiated, against one reference.

`positions` says which elements an index names, and in what shape, in PyTorch's order: integers and slices first, then
the arrays among the indices. ``parity/test_indexing.py`` compares the same random indices with PyTorch itself.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.testing import strategies

many = settings(max_examples=60, deadline=None, database=None, derandomize=True)
SHAPES = [(4,), (3, 4), (2, 3, 4), (2, 3, 1, 2)]
BASIC = ("int", "slice", "slice", "None", "dots", "stop")
ANY = ("int", "slice", "None", "array", "array", "mask", "dots", "stop")


# ---- random indices ----------------------------------------------------------------------------------------
def draw_index(d, shape, kinds=ANY, repeats=True):
    """A tuple of ints, slices, None, Ellipsis, and NumPy arrays of ints (of shapes that broadcast) or bools."""
    parts, i, n, dots = [], 0, d.int(1, 3), False
    while i < len(shape):
        kind = d.choice(kinds)
        if kind == "stop" and not dots:
            break
        if kind == "None" and len(parts) < 6:
            parts.append(None)
        if kind == "dots" and not dots:
            parts.append(Ellipsis)
            i, dots = i + d.int(0, len(shape) - i), True
        if kind in ("stop", "None", "dots"):
            continue
        part = {"int": draw_int, "slice": draw_slice, "array": draw_array, "mask": draw_mask}[kind](d, shape[i:], n)
        if part is None:
            continue
        parts.append(part)
        i += part.ndim if kind == "mask" else 1
    named = positions(shape, tuple(parts)).ravel()
    if not repeats and len(set(named.tolist())) < named.size:
        return draw_index(d, shape, BASIC)
    return tuple(parts)


def draw_int(d, shape, n):
    return d.int(-shape[0], shape[0] - 1)


def draw_slice(d, shape, n):
    size = shape[0]
    bounds = [None, *range(-size - 1, size + 2)]
    return slice(d.choice(bounds), d.choice(bounds), d.choice([None, 1, 2, 3]))


def draw_array(d, shape, n):
    return d.integers(d.choice([(n,), (n,), (1,), (2, n), (2, 1), ()]), -shape[0], shape[0] - 1)


def draw_mask(d, shape, n):
    """A mask of one or two dimensions with `n` places; None if there is no room for them."""
    shape = shape[:d.int(1, min(2, len(shape)))]
    size = int(np.prod(shape))
    if size < n:
        return None
    mask = np.zeros(size, bool)
    mask[np.random.default_rng(d.int(0, 99)).permutation(size)[:n]] = True
    return mask.reshape(shape)


def positions(shape, index):
    """The places (in a flat array) of what `index` names in a tensor of `shape`."""
    out = np.arange(int(np.prod(shape))).reshape(shape)
    parts = [q for p in index for q in (p.nonzero() if isinstance(p, np.ndarray) and p.dtype == bool else [p])]
    if not any(p is Ellipsis for p in parts):
        parts.append(Ellipsis)
    used = sum(p is not None and p is not Ellipsis for p in parts)
    at = next(i for i, p in enumerate(parts) if p is Ellipsis)
    parts[at:at + 1] = [slice(None)] * (len(shape) - used)
    views = [slice(None) if isinstance(p, np.ndarray) and p.ndim else p for p in parts]
    out = out[tuple(int(p) if isinstance(p, np.ndarray) else p for p in views)]
    arrays = [slice(None) if isinstance(p, slice) or p is None else p for p in parts
              if isinstance(p, slice) or p is None or isinstance(p, np.ndarray) and p.ndim]
    return out[tuple(arrays)]


def dress(torch, d, index):
    """The index as a user writes it: arrays as tensors, lists or NumPy arrays, a single part without the tuple."""
    def one(p):
        if not isinstance(p, np.ndarray):
            return p
        kind = d.int(0, 3)
        if kind == 0 and p.ndim == 1:
            return p.tolist()
        if kind == 1 and p.dtype != bool and p.ndim:
            return torch.tensor(p.astype(np.int32))
        return torch.tensor(p)
    parts = tuple(map(one, index))
    return parts[0] if len(parts) == 1 and d.bool() else parts


def has_arrays(index):
    return any(isinstance(p, np.ndarray) and p.ndim for p in index)


# ---- reading -----------------------------------------------------------------------------------------------
@given(strategies.draws())
@many
def test_reading(d):
    shape = d.choice(SHAPES)
    x = torch.tensor(d.array(shape))
    index = draw_index(d, shape)
    got, want = x[dress(torch, d, index)], positions(shape, index)
    assert got.shape == want.shape
    assert np.array_equal(got.numpy(), x.numpy().ravel()[want])
    if got.numel():
        assert np.shares_memory(got.numpy(), x.numpy()) != has_arrays(index), "basic indices give views, others copies"
    assert not has_arrays(index) or got.is_contiguous()


@given(strategies.draws())
@many
def test_reading_a_tensor_laid_out_otherwise(d):
    shape = d.choice(SHAPES)
    x = torch.tensor(d.array(shape[::-1])).permute(*range(len(shape))[::-1])
    index = draw_index(d, shape)
    assert np.array_equal(x[dress(torch, d, index)].numpy(), x.numpy().reshape(-1)[positions(shape, index)])


# ---- writing -----------------------------------------------------------------------------------------------
def draw_value(d, shape):
    """An array that broadcasts to `shape`."""
    cut = d.int(0, len(shape))
    return d.array(tuple(1 if d.int(0, 3) == 0 else n for n in shape[cut:]))


@given(strategies.draws())
@many
def test_writing(d):
    shape = d.choice(SHAPES)
    x = torch.tensor(d.array(shape))
    index = draw_index(d, shape, repeats=False)
    places = positions(shape, index)
    value = draw_value(d, places.shape) if d.bool() else d.int(-5, 5)
    want = x.numpy().copy()
    want.reshape(-1)[places] = value
    x[dress(torch, d, index)] = torch.tensor(value) if isinstance(value, np.ndarray) else value
    assert np.array_equal(x.numpy(), want) and x._version == 1


@given(strategies.draws())
@many
def test_writing_into_a_view_writes_into_its_base(d):
    base = torch.tensor(d.array((4, 3, 4)))
    view = base[1:3].transpose(0, 1)
    index = draw_index(d, (3, 2, 4), repeats=False)
    want = base.numpy().copy()
    seen = want[1:3].swapaxes(0, 1)
    mask = np.zeros(24, bool)
    mask[positions((3, 2, 4), index).ravel()] = True
    seen[mask.reshape(3, 2, 4)] = 9
    view[dress(torch, d, index)] = 9
    assert np.array_equal(base.numpy(), want)


# ---- gradients ---------------------------------------------------------------------------------------------
@given(strategies.draws())
@many
def test_gradients_of_reading_add_up(d):
    shape = d.choice(SHAPES)
    x = torch.tensor(d.array(shape), requires_grad=True)
    index = draw_index(d, shape)
    y = x[dress(torch, d, index)]
    g = d.array(tuple(y.shape))
    y.backward(torch.tensor(g))
    want = np.zeros(shape)
    np.add.at(want.reshape(-1), positions(shape, index).ravel(), g.ravel())
    np.testing.assert_allclose(x.grad.numpy(), want)


@given(strategies.draws())
@many
def test_gradients_of_writing(d):
    shape = d.choice(SHAPES)
    x = torch.tensor(d.array(shape), requires_grad=True)
    index = draw_index(d, shape, repeats=False)
    places = positions(shape, index)
    value = torch.tensor(draw_value(d, places.shape), requires_grad=True)
    y = x * 1
    y[dress(torch, d, index)] = value
    g = d.array(shape)
    y.backward(torch.tensor(g))
    want = g.copy()
    want.reshape(-1)[places] = 0
    np.testing.assert_allclose(x.grad.numpy(), want)
    taken = g.reshape(-1)[places]
    lead = tuple(range(taken.ndim - value.ndim))
    ones = tuple(i for i, n in enumerate(value.shape, len(lead)) if n == 1)
    np.testing.assert_allclose(value.grad.numpy(), taken.sum(lead + ones, keepdims=True).reshape(value.shape))


@given(strategies.draws())
@settings(parent=many, max_examples=30)
def test_second_derivatives(d):
    index = dress(torch, d, draw_index(d, (2, 3)))
    x = torch.tensor(d.array((2, 3)), requires_grad=True)
    assert torch.testing.gradgradcheck(lambda x: x[index] ** 2, (x,))


def test_repeated_indices_and_large_ones_add_up():
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    x[[0, 0, 1]].sum().backward()
    assert x.grad.tolist() == [2, 1, 0]
    rng = np.random.default_rng(0)
    for shape, index in (((50, 4), (rng.integers(-50, 50, 3000),)), ((5, 6, 7), (slice(None), rng.integers(0, 6, 900))),
                         ((5, 6, 7), (rng.integers(0, 5, 2000), slice(None), rng.integers(-7, 7, 2000))),
                         ((50, 4), (rng.integers(0, 50, (60, 30)),)), ((2000,), (rng.integers(0, 2000, 5000),))):
        x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        y = x[tuple(torch.tensor(p) if isinstance(p, np.ndarray) else p for p in index)]
        g = rng.standard_normal(tuple(y.shape))
        y.backward(torch.tensor(g))
        want = np.zeros(shape)
        np.add.at(want.reshape(-1), positions(shape, index).ravel(), g.ravel())
        np.testing.assert_allclose(x.grad.numpy(), want, atol=1e-12)


# ---- one by one --------------------------------------------------------------------------------------------
x = torch.arange(24).reshape(2, 3, 4)
T, F = True, False


@pytest.mark.parametrize("index, shape", [
    (True, (1, 2, 3, 4)), (False, (0, 2, 3, 4)), (torch.tensor(True), (1, 2, 3, 4)), ((True, 0), (1, 3, 4)),
    ((0, True), (1, 3, 4)), (torch.tensor(1), (3, 4)), (np.int64(1), (3, 4)), (np.array(1), (3, 4)),
    (np.array([0, 1]), (2, 3, 4)), ([], (0, 3, 4)), ((), (2, 3, 4)), ([T, F], (1, 3, 4)), ([[0, 1]], (2, 3, 4)),
    ([[0, 1], [1, 0]], (2, 4)), ([[[0, 1]], [[1, 0]]], (1, 2, 4)), ([torch.tensor([0, 1]), 0], (2, 4)),
    ((..., ...), (2, 3, 4)), ((..., 0, ...), (2, 3)), ((0, ..., None, ...), (3, 4, 1)),
    ([slice(None), 0], (2, 4)), ([..., 0], (2, 3)), (range(2), (2, 3, 4)), (((0, 1),), (2, 3, 4)),
    (torch.tensor([0, 1], dtype=torch.uint8), (1, 3, 4)), (torch.tensor([0, 1], dtype=torch.int32), (2, 3, 4)),
    (slice(torch.tensor(0), torch.tensor(1)), (1, 3, 4)), (slice(5, None), (0, 3, 4)),
    (torch.zeros(0).long(), (0, 3, 4)), ((0, slice(None), [1, 2]), (3, 2)), (([0], slice(None), 1), (1, 3)),
    ((torch.tensor(0), slice(None), [1]), (3, 1)),
    (torch.ones(2, 3, dtype=torch.bool), (6, 4)), (torch.zeros(2, 3, 4, dtype=torch.bool), (0,)),
    ((slice(None), [T, F, T]), (2, 2, 4)), (([0, 1], None, [0, 1]), (2, 1, 4)),
    ((None, [0, 1], slice(None), [0, 1]), (2, 1, 3)), ((..., [0, 1], slice(1)), (2, 2, 1))], ids=repr)
def test_shapes(index, shape):
    assert x[index].shape == shape


def test_numbers_as_tensors():
    n = torch.tensor(5)
    assert n[...].item() == n[()].item() == 5 and n[None].shape == (1,) and n[True].tolist() == [5]
    assert n[torch.tensor(False)].shape == (0,)
    n[...] = 7
    assert n.item() == 7
    n[()] = 8
    assert n.item() == 8


@pytest.mark.parametrize("index, error, words", [
    (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (-3, IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    ([2], IndexError, "out of bounds for dimension 0"), ((0, 0, 0, 0), IndexError, "too many indices for tensor"),
    (([0, 1], [0, 1, 2]), IndexError, "could not be broadcast together"), (1.5, IndexError, r"\(got float\)"),
    ("a", IndexError, r"\(got str\)"), ([0.5], IndexError, "must be long, int, byte or bool tensors"),
    (torch.tensor([0.5]), IndexError, "must be long, int, byte or bool tensors, not torch.float32"),
    (torch.tensor([0, 1], dtype=torch.int8), IndexError, "must be long, int, byte or bool"),
    (slice(None, None, -1), ValueError, "step must be greater than zero"),
    ((..., ..., 0), IndexError, "single ellipsis"),
    (torch.ones(3, dtype=torch.bool), IndexError, "shape of the mask does not match the shape of the indexed tensor")],
    ids=repr)
def test_errors_of_reading(index, error, words):
    with pytest.raises(error, match=words):
        x[index]
    with pytest.raises(error, match=words):
        x.clone()[index] = 1


def test_a_number_has_no_index():
    for index in (0, slice(None)):
        with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
            torch.tensor(5)[index]


@pytest.mark.parametrize("value, error, words", [
    ([1, 2, 3, 4], TypeError, "can't assign a list"), (np.arange(4), TypeError, "can't assign a ndarray"),
    (None, TypeError, "can't assign a NoneType"), ("a", TypeError, "can't assign a str"),
    (torch.zeros(5), RuntimeError, "shape mismatch"), (torch.zeros(2, 3, 4), RuntimeError, "shape mismatch"),
    (1 + 2j, RuntimeError, "without overflow")], ids=repr)
def test_errors_of_writing(value, error, words):
    y = torch.zeros(3, 4)
    with pytest.raises(error, match=words):
        y[0] = value
    assert not y.any()


def test_dtypes_of_written_values():
    y = torch.zeros(4)
    y[0] = torch.tensor(1.5, dtype=torch.float64)          # a view: cast
    y[y == 0] = torch.tensor(2, dtype=torch.int64)         # one number under a mask: cast
    assert y.tolist() == [1.5, 2, 2, 2]
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        y[[0, 1]] = torch.ones(2, dtype=torch.float64)
    i = torch.zeros(2, dtype=torch.int64)
    i[0] = 1.9
    assert i.tolist() == [1, 0]


def test_masks():
    y = torch.arange(6.0).reshape(2, 3)
    y[y > 2] = -1
    assert y.tolist() == [[0, 1, 2], [-1, -1, -1]]
    y[y < 0] = torch.tensor([7.0, 8, 9])
    assert y[1].tolist() == [7, 8, 9] and y[y > 100].shape == (0,)
    h = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    g = h * 2
    g[h < 0] = 0                                           # CS231n's gradient of relu
    g.sum().backward()
    assert h.grad.tolist() == [2, 0, 2]
    y[torch.tensor([True, False])] += 10
    assert y[0].tolist() == [10, 11, 12]


def test_augmented_assignment():
    y = torch.zeros(3)
    y[0] += 1
    y[1:] *= 2
    y[[0, 0]] += 1                                         # read, add, write: a repeated place counts once
    assert y.tolist() == [2, 0, 0]


def test_columns_as_variables_stay_views():
    table = torch.zeros(3, 2)
    first, second = table[:, 0], table[:, 1]
    first += 1
    second[...] = torch.arange(3.0)
    assert table.tolist() == [[1, 0], [1, 1], [1, 2]]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_a_mask_must_have_the_size_of_what_it_selects_from(shape, data):
    x = torch.zeros(shape)
    at = data.draw(st.integers(0, len(shape) - 1))
    mask = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=len(shape) - at))
    index = (slice(None),) * at + (torch.zeros(mask, dtype=torch.bool),)
    if list(mask) == shape[at:at + len(mask)]:
        assert list(x[index].shape) == [*shape[:at], 0, *shape[at + len(mask):]]
        x[index] = 1
        return
    with pytest.raises(IndexError, match="shape of the mask"):
        x[index]
    with pytest.raises(IndexError, match="shape of the mask"):
        x[index] = 1


def test_the_indices_of_nonzero_elements_are_contiguous():
    found = torch.arange(24).reshape(2, 3, 4).nonzero(as_tuple=True)
    assert all(i.is_contiguous() for i in found) and torch.where(torch.ones(2, 2) > 0)[1].stride() == (1,)
