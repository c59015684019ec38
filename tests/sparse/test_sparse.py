"""Sparse tensors: what they are made of, arithmetic against dense tensors, gradients, what is refused."""

import copy
import io
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.extend import FUNCTIONS

DOUBLE = torch.float64
LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=repr)


def small():
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))


def filled(shape, seed=0, density=0.4):
    """A dense tensor, most of whose elements are 0."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.uniform(0.2, 1.0, shape) * (rng.random(shape) < density))


@st.composite
def coo(draw, ndim=2, dense=()):
    """A COO tensor, perhaps with repeated places, and the dense one of the same elements, added up one by one."""
    sizes = draw(st.tuples(*[st.integers(1, 5)] * ndim))
    n = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    indices = np.stack([rng.integers(0, s, n) for s in sizes])
    values = rng.standard_normal((n, *dense))
    expected = np.zeros((*sizes, *dense))
    for k in range(n):
        expected[tuple(indices[:, k])] += values[k]
    return torch.sparse_coo_tensor(torch.from_numpy(indices), torch.from_numpy(values), (*sizes, *dense)), expected


def close(a, b):
    a = a.to_dense() if isinstance(a, torch.Tensor) else torch.from_numpy(a)
    b = b.to_dense() if isinstance(b, torch.Tensor) else torch.from_numpy(b)
    assert a.shape == b.shape and np.allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-12)


# ------------------------------------------------------------------ parts and layouts
def test_parts_of_a_coo_tensor():
    s = small()
    assert (s.shape, s.ndim, s.numel(), s._nnz(), s.sparse_dim(), s.dense_dim()) == ((2, 3), 2, 6, 3, 2, 0)
    assert s.is_sparse and not s.is_sparse_csr and s.layout is torch.sparse_coo and s.device.type == "cpu"
    assert not s.is_coalesced() and s.coalesce().is_coalesced() and s.dtype is torch.float32 and len(s) == 2
    with pytest.raises(RuntimeError, match="Cannot get indices on an uncoalesced tensor"):
        s.indices()
    assert s.coalesce().indices().tolist() == s._indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert s.coalesce().values().tolist() == s._values().tolist() == [3, 4, 5]


def test_parts_of_compressed_tensors():
    r, c = small().to_sparse_csr(), small().to_sparse_csc()
    assert r.crow_indices().tolist() == [0, 1, 3] and r.col_indices().tolist() == [2, 0, 2] and r.is_sparse_csr
    assert c.ccol_indices().tolist() == [0, 1, 1, 3] and c.row_indices().tolist() == [1, 0, 1]
    assert r.values().tolist() == [3, 4, 5] and c.values().tolist() == [4, 3, 5]
    for call in (r.ccol_indices, c.crow_indices, r.indices, r.coalesce, small().col_indices):
        with pytest.raises(RuntimeError, match="expected sparse .* layout but got Sparse"):
            call()
    with pytest.raises(RuntimeError, match="but got Strided"):
        torch.ones(2).indices()


def test_repeated_places_are_added_up_and_kept_until_then():
    s = torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 4.0], (3,))
    assert s._nnz() == 3 and s.to_dense().tolist() == [2, 5, 0]
    assert s.coalesce()._nnz() == 2 and s.coalesce().values().tolist() == [2, 5]


@settings(derandomize=True, max_examples=25, deadline=None)
@given(coo(), st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_every_layout_has_the_same_elements(drawn, first, second):
    s, expected = drawn
    one = s.to_sparse(layout=first)
    two = one.to_sparse(layout=second)
    for x in (s, one, two, two.t().t(), two.to_dense().to_sparse(layout=first)):
        close(x, expected)
    assert one.layout is first and two.layout is second
    close(two.t(), expected.T)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(coo(dense=(2,)))
def test_dense_dimensions(drawn):
    s, expected = drawn
    assert (s.sparse_dim(), s.dense_dim()) == (2, 1)
    close(s, expected)
    close(s.transpose(0, 1), expected.transpose(1, 0, 2))
    close(torch.sparse.sum(s, 2), expected.sum(2))
    close(torch.sparse.sum(s, (0, 1)), expected.sum((0, 1)))
    close(s.select(2, 1), expected[:, :, 1])
    close(torch.from_numpy(expected).to_sparse(2), expected)


@pytest.mark.parametrize("make, error, words", [
    (lambda: torch.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), RuntimeError, "dim 0, size is 3 but found index 5"),
    (lambda: torch.sparse_coo_tensor([[-1]], [1.0]), RuntimeError, "negative index -1"),
    (lambda: torch.sparse_coo_tensor([0, 1], [1.0, 2.0]), RuntimeError, "sparse_dim x nnz"),
    (lambda: torch.sparse_coo_tensor([[0, 1]], [1.0]), RuntimeError, "same nnz"),
    (lambda: torch.sparse_coo_tensor([[0]], [1.0], (2, 2)), RuntimeError, "number of dimensions"),
    (lambda: torch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], is_coalesced=True), RuntimeError, "not sorted"),
    (lambda: torch.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0]), RuntimeError, "nnz"),
    (lambda: torch.sparse_csr_tensor([0, 1, 2], [0, 7], [1.0, 2.0], (2, 3)), RuntimeError, "0 <= col_indices < 3"),
    (lambda: torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0]), RuntimeError, "sorted and distinct"),
    (lambda: torch.sparse_csr_tensor([1, 2], [0, 1], [1.0, 2.0]), RuntimeError, "== 0. is not satisfied"),
    (lambda: torch.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]]), NotImplementedError, "one matrix"),
    (lambda: torch.ones(2, 2).to_sparse(blocksize=(1, 1)), NotImplementedError, "blocks"),
    (lambda: torch.ones(2, 3, 4).to_sparse_csr(), NotImplementedError, "a matrix"),
    (lambda: torch.ones(2, 2, layout=torch.sparse_coo), NotImplementedError, "no zeros"),
])
def test_what_cannot_be_made(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_tensors_without_entries():
    for layout in LAYOUTS:
        z = torch.zeros(2, 3, layout=layout)
        assert z._nnz() == 0 and z.layout is layout and z.to_dense().tolist() == [[0, 0, 0]] * 2
        assert (z @ torch.ones(3, 2)).tolist() == [[0, 0]] * 2
    assert torch.sparse_coo_tensor((2, 3)).coalesce()._nnz() == 0
    assert torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.long), torch.zeros(0)).shape == (0,)
    assert torch.sparse.FloatTensor(torch.tensor([[1]]), torch.tensor([2.0]), torch.Size([3])).to_dense().tolist() == [
        0, 2, 0]
    assert isinstance(small(), torch.sparse.FloatTensor) and not isinstance(torch.ones(1), torch.sparse.FloatTensor)


def test_text():
    assert repr(small()) == """\
tensor(indices=tensor([[0, 1, 1],
                       [2, 0, 2]]),
       values=tensor([3., 4., 5.]),
       size=(2, 3), nnz=3, layout=torch.sparse_coo)"""
    assert repr(small().double().to_sparse_csr().requires_grad_()) == """\
tensor(crow_indices=tensor([0, 1, 3]),
       col_indices=tensor([2, 0, 2]),
       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3, dtype=torch.float64,
       layout=torch.sparse_csr, requires_grad=True)"""
    assert "size=(1, 0)" in repr(torch.sparse_coo_tensor((3,)))


@each_layout
def test_copies_and_files(layout):
    s = small().to_sparse(layout=layout)
    file = io.BytesIO()
    torch.save({"x": s}, file)
    file.seek(0)
    twins = copy.deepcopy(s), pickle.loads(pickle.dumps(s)), torch.load(file)["x"], s.clone(), s.to(DOUBLE).float()
    for twin in twins:
        assert twin.layout is layout and twin.to_dense().tolist() == s.to_dense().tolist()
    assert pickle.loads(pickle.dumps(layout)) is layout
    module = torch.nn.Module()
    module.register_buffer("adjacency", s)
    module.double().load_state_dict(module.state_dict())
    assert module.adjacency.dtype is DOUBLE and module.adjacency.layout is layout
    parameter = torch.nn.Parameter(s)
    assert isinstance(parameter, torch.nn.Parameter) and repr(parameter).startswith("Parameter containing:\ntensor(")
    assert copy.deepcopy(parameter).layout is layout and pickle.loads(pickle.dumps(parameter)).requires_grad


def test_damaged_files_are_refused():
    from minitorch.serialization.tensors import rebuild_sparse_tensor
    i, v = torch.tensor([[0, 9]]), torch.tensor([1.0, 2.0])
    for layout, data in [(torch.sparse_coo, (i, v, (3,))), (torch.sparse_coo, (i, v)), (torch.strided, (i, v, (10,))),
                         (torch.sparse_coo, (i, v, (-1,))), (torch.sparse_coo, (i, v, (2**62, 4))),
                         (torch.sparse_csr, (i, v, v, (3, 3)))]:
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
            rebuild_sparse_tensor(layout, data)


# ------------------------------------------------------------------ arithmetic
@settings(derandomize=True, max_examples=30, deadline=None)
@given(coo(), st.sampled_from(LAYOUTS), st.integers(0, 100))
def test_arithmetic_is_that_of_dense_tensors(drawn, layout, seed):
    s, dense = drawn
    other = filled(dense.shape, seed)
    x, y, d = s.to_sparse(layout=layout), other.to_sparse(layout=layout), torch.from_numpy(dense)
    close(x + y, d + other)
    close(x - 2 * y, d - 2 * other)
    close(other + x, d + other)
    close(x * y, d * other)
    close(x * other, d * other)
    close(other * x, d * other)
    close(x * 3 / 2, d * 3 / 2)
    close(-x.abs().sqrt().sin().neg(), d.abs().sqrt().sin())
    close(x**2, d**2)
    close(x.sum(), d.sum())
    close(x.sum(1, keepdim=True), d.sum(1, keepdim=True))
    assert (x + y).layout is (x * y).layout is (x * 2).layout is layout


@settings(derandomize=True, max_examples=30, deadline=None)
@given(coo(), st.integers(0, 3), st.sampled_from([DOUBLE, torch.float32, torch.complex128]))
def test_products_are_those_of_dense_tensors(drawn, columns, dtype):
    s, d = drawn
    s, d = s.to(dtype), torch.from_numpy(d).to(dtype)
    right, left = torch.rand(d.shape[1], columns).to(dtype), torch.rand(columns, d.shape[0]).to(dtype)
    for x in (s, s.coalesce(), s.to_sparse_csr(), s.to_sparse_csc()):
        for found, expected in [(x @ right, d @ right), (torch.sparse.mm(x, right), d @ right), (left @ x, left @ d),
                                (torch.sparse.mm(left, x), left @ d), (torch.sparse.mm(x, x.t()), d @ d.t()),
                                (x.mv(torch.ones(d.shape[1], dtype=dtype)), d.sum(1))]:
            assert torch.allclose(found.to_dense(), expected, atol=1e-5)
    assert torch.allclose(torch.hspmm(s, right).to_dense(), d @ right, atol=1e-5)
    assert torch.allclose(torch.smm(s, right).to_dense(), d @ right, atol=1e-5)


def test_long_rows_and_many_columns():
    """Rows of more than 256 entries go another way, and blocks of rows end where they will."""
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((70, 900)) * (rng.random((70, 900)) < rng.random((70, 1)) ** 2)
    for d in (torch.from_numpy(dense), torch.from_numpy(dense.T)):
        other = torch.from_numpy(rng.standard_normal((d.shape[1], 3000)))
        close(d.to_sparse_csr() @ other, d @ other)
    places = np.stack([np.zeros(200_000, int), np.arange(200_000)])
    ones = torch.sparse_coo_tensor(places, np.full(200_000, 0.1, "float32"))
    assert abs((ones @ torch.ones(200_000, 1)).item() - 20_000) < 0.1


@pytest.mark.parametrize("reduce, of", [("mean", np.mean), ("amax", np.max), ("amin", np.min)])
def test_reductions_of_products(reduce, of):
    d, other = filled((6, 5), 3), filled((5, 4), 4, 1.0) - 0.5
    s = d.to_sparse_csr()
    found = torch.sparse.mm(s, other, reduce)
    for i in range(6):
        entries = np.flatnonzero(d[i].numpy())
        products = d[i].numpy()[entries, None] * other.numpy()[entries]
        assert np.allclose(found[i].numpy(), of(products, 0) if len(entries) else 0)
    with pytest.raises(NotImplementedError, match="_sparse_mm_reduce_impl"):
        torch.sparse.mm(d.to_sparse(), other, reduce)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(coo(ndim=3), st.integers(0, 2))
def test_parts_and_reductions_of_three_dimensions(drawn, dim):
    s, d = drawn
    close(torch.sparse.sum(s, dim), d.sum(dim))
    close(s.select(dim, 0), d.take(0, dim))
    close(s[0], d[0])
    close(s.index_select(dim, torch.tensor([0, -1, 0])), d.take([0, -1, 0], dim))
    close(s.narrow_copy(dim, 0, 1), d.take([0], dim))
    close(s.permute(2, 0, 1), d.transpose(2, 0, 1))
    close(s.unsqueeze(dim), np.expand_dims(d, dim))
    close(torch.cat([s, s * 2], dim), np.concatenate([d, d * 2], dim))
    close(torch.stack([s, s], dim), np.stack([d, d], dim))
    close(torch.bmm(s, torch.ones(d.shape[0], d.shape[2], 2, dtype=DOUBLE)), d.sum(2)[..., None].repeat(2, 2))
    assert [x.shape for x in s.unbind(dim)] == [d.take(0, dim).shape] * d.shape[dim]


def test_softmax_over_entries():
    d = filled((4, 5), 1)
    s = d.to_sparse()
    for dim in (0, 1):
        hidden = d.masked_fill(d == 0, -torch.inf)
        expected = hidden.softmax(dim).nan_to_num(0.0)
        close(torch.sparse.softmax(s, dim), expected)
        close(torch.sparse.log_softmax(s, dim), expected.log().masked_fill(d == 0, 0.0))


def test_diagonals():
    found = torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 3))
    assert found.to_dense().tolist() == [[0, 0, 8], [3, 1, 0], [0, 4, 2]]
    with pytest.raises(RuntimeError, match="duplicate"):
        torch.sparse.spdiags(torch.ones(2, 3), torch.tensor([0, 0]), (3, 3))


def test_what_is_set_to_zero_takes_no_gradient():
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).to_sparse().zero_()
    (y.to_dense() + x).sum().backward()
    assert y.requires_grad and y._nnz() == 0 and x.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_masks_and_writes():
    s, d = small().coalesce(), torch.arange(6.0).reshape(2, 3)
    assert d.sparse_mask(s).values().tolist() == [2, 3, 5] and (s + s).sparse_mask(s).values().tolist() == [6, 8, 10]
    assert d.clone().add_(s, alpha=2).tolist() == [[0, 1, 8], [11, 4, 15]]
    twin = s.clone()
    twin.mul_(2).add_(s).neg_()
    assert twin.values().tolist() == [-9, -12, -15] and s.values().tolist() == [3, 4, 5]
    assert twin.copy_(s).values().tolist() == [3, 4, 5] and twin.zero_()._nnz() == 0
    x = d.clone()
    with pytest.raises(RuntimeError, match="modified by an inplace|written"):
        y = (x.requires_grad_() * 1) ** 2
        (y * y + 0).detach()
        z = x * 2
        w = z**2
        z.add_(s)
        w.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        small().requires_grad_().mul_(2)


@pytest.mark.parametrize("call", [
    lambda s: s == s, lambda s: s > 0, lambda s: s.exp(), lambda s: s + 1, lambda s: 1 - s, lambda s: s / s,
    lambda s: s**0,
    lambda s: s.mean(), lambda s: s.prod(), lambda s: s.softmax(1), lambda s: s.reshape(6), lambda s: s.view(6),
    lambda s: s[0:1], lambda s: s[torch.tensor([0])], lambda s: torch.ones_like(s.to_sparse()), lambda s: s.cumsum(0),
    lambda s: torch.linalg.norm(s), lambda s: torch.nn.functional.dropout(s), lambda s: s.real, lambda s: s.clamp(0),
    lambda s: torch.where(s, s, s), lambda s: torch.einsum("ij,jk->ik", s, torch.ones(3, 1)), lambda s: s.sigmoid(),
    lambda s: s @ torch.ones(2, 2), lambda s: s.expand(2, 2, 3), lambda s: s.argmax(), lambda s: s * torch.ones(5)])
def test_what_is_refused_leaves_nothing_behind(call):
    s = small()
    with pytest.raises((NotImplementedError, RuntimeError)) as error:
        call(s)
    assert str(error.value) and s._values().tolist() == [3, 4, 5]


def test_questions_of_numpy_and_python():
    with pytest.raises(TypeError, match="to_dense"):
        small().numpy()
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(small())
    assert not small().is_contiguous() and small().isnan().dtype is torch.bool
    assert small().type() == "torch.sparse.FloatTensor"
    assert torch.is_tensor(small()) and torch.zeros_like(small())._nnz() == 0 and torch.tensor(2.0).to_dense() == 2
    with pytest.raises(NotImplementedError, match="vmap"):
        torch.vmap(lambda x: small() @ x)(torch.ones(2, 3, 1))
    assert small().bfloat16().to_sparse_csr().matmul(torch.ones(3, 1).bfloat16()).tolist() == [[3], [9]]


# ------------------------------------------------------------------ functions without an answer
# What says that a tensor is sparse, makes one so, or divides by zero where there are no entries.
OF_ITS_OWN = set("""coalesce values to_sparse to_sparse_coo to_sparse_csr to_sparse_csc sparse_mask
    resize_as_sparse dense_dim stride type typename ones_like full_like div divide true_divide
    floor_divide relu contiguous is_contiguous graph""".split())


def all_functions():
    """Public functions and methods by name, without those that draw random numbers."""
    found = {f"{space}.{name}": public.call for (space, name), public in FUNCTIONS.items()
             if space in ("", "nn.functional", "linalg", "special")}
    found |= {f"Tensor.{name}": method for name, method in vars(torch.Tensor).items()
              if callable(method) and not name.startswith("__")}
    random = re.compile("rand|dropout|normal|poisson|bernoulli|empty|gumbel|rrelu")
    return {name: function for name, function in found.items() if not random.search(name)
            and name.split(".")[-1].removesuffix("_") not in OF_ITS_OWN}


def agrees(found, expected):
    """True if results, perhaps in tuples, have the same elements, or are the same."""
    if isinstance(expected, (tuple, list)):
        return len(found) == len(expected) and all(map(agrees, found, expected))
    if not isinstance(expected, torch.Tensor):
        return found == expected or repr(found) == repr(expected)
    a, b = found.detach().to_dense(), expected.detach()
    return a.shape == b.shape and np.allclose(a.numpy(), b.numpy(), equal_nan=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout, given", [(torch.sparse_coo, ""), (torch.sparse_csr, ""),
                                           (torch.sparse_coo, "itself"), (torch.sparse_csc, "0")])
def test_each_function_is_that_of_dense_tensors_or_refused(layout, given):
    """Functions that are not answered run as they are written: what is not refused is right."""
    many = 0
    for name, function in all_functions().items():
        s = torch.sparse_coo_tensor([[0, 1, 1, 1], [2, 0, 2, 2]], [0.3, 0.4, 0.5, 0.1], (2, 3))
        s = s.to_sparse(layout=layout)
        dense, entries = s.to_dense(), s._values().tolist() if s.is_sparse else s.values().tolist()
        args = {"": [], "0": [0], "itself": [s]}[given]
        try:
            found = function(s, *args)
        except (RuntimeError, TypeError, IndexError, ValueError, ImportError) as error:
            assert "pattern" not in str(error) and s.array.values.tolist() == entries, name
            continue
        many += 1
        assert agrees(found, function(dense, *[dense if x is s else x for x in args])), name
    assert many > 15


@pytest.mark.parametrize("function", [
    lambda s: torch.hstack([s, s]), lambda s: torch.vstack([s, s]), lambda s: torch.dstack([s, s]),
    lambda s: s.movedim(0, 1), lambda s: s.adjoint(), lambda s: s.H, lambda s: s.square(),
    lambda s: torch.matrix_power(s @ s.t(), 2), lambda s: torch.atleast_3d(s),
    lambda s: s.clone().t_(), lambda s: s.clone().square_(), lambda s: torch.rsub(s, s * 3),
    lambda s: s.clone().transpose_(0, 1), lambda s: torch.nn.functional.tanhshrink(s)])
def test_functions_of_functions_need_no_answer(function):
    s = filled((2, 3), 5, 0.7).to_sparse()
    close(function(s), function(s.to_dense()))
    assert function(s).is_sparse and torch.autograd.gradcheck(function, (s.requires_grad_(),))


def test_dense_tensors_take_the_size_and_dtype_of_sparse_ones():
    for s in (small(), small().to_sparse_csr()):
        assert torch.ones(1, 3).expand_as(s).shape == torch.ones(6).view_as(s).shape == s.shape
        assert torch.ones(6).reshape_as(s).shape == s.shape
        assert torch.ones(2, dtype=DOUBLE).to(s).dtype == s.dtype
        for refused in (lambda s=s: s.expand(2, 2, 3), lambda s=s: s.expand_as(s),
                        lambda s=s: s.repeat(2, 1)):
            with pytest.raises(NotImplementedError, match="sparse tensors have no"):
                refused()


def test_writes_in_place_keep_the_layout():
    with pytest.raises(RuntimeError, match="t_: the result has the layout torch.sparse_csc"):
        small().to_sparse_csr().t_()
    with pytest.raises(RuntimeError, match="addmm_: the result has the layout torch.strided"):
        small().addmm_(small(), torch.ones(3, 3))
    with pytest.raises(TypeError, match="must be tuple of Tensors"):
        torch.cat(small())
    with pytest.raises(TypeError, match=r"does not take \(SparseTensor, int\)"):
        torch.mv(small(), 2)


# ------------------------------------------------------------------ gradients
def gradients(layout):
    """(function of a sparse matrix and a dense one, layout of the first one's gradient)."""
    same = layout
    found = [(lambda s, d: torch.sparse.mm(s, d), same), (lambda s, d: s @ d, torch.strided),
             (lambda s, d: d.t() @ s.t(), torch.strided), (lambda s, d: (s * 2).to_dense(), same),
             (lambda s, d: s.to_dense(), same), (lambda s, d: s.to_dense(masked_grad=False), same),
             (lambda s, d: s.sum(), torch.strided), (lambda s, d: (s.sin() * d.t()).to_dense(), same),
             (lambda s, d: d.t() + s, torch.strided), (lambda s, d: torch.sparse.mm(s, s.t()).to_dense(), same),
             (lambda s, d: torch.sparse.addmm(torch.ones(2, 2, dtype=DOUBLE), s, d, beta=2, alpha=3), same),
             (lambda s, d: s[1].to_dense(), same), (lambda s, d: (s + s.sqrt()).to_dense(), same)]
    if layout is torch.sparse_coo:
        found += [(lambda s, d: torch.sparse.softmax(s, 1).to_dense(), same), (lambda s, d: s.values(), same),
                  (lambda s, d: torch.sparse.sum(s, 0).to_dense(), same),
                  (lambda s, d: s.index_select(1, torch.tensor([2, 2])).to_dense(), same),
                  (lambda s, d: torch.cat([s, s]).to_dense(), same)]
    if layout is torch.sparse_csr:
        found += [(lambda s, d: torch.sparse.mm(s, d, "mean"), same),
                  (lambda s, d: torch.sparse.mm(s, d, "amax"), same),
                  (lambda s, d: torch.sparse.sampled_addmm(s, d.t(), d @ d.new_ones(2, 3)).to_dense(), same)]
    return found


@each_layout
def test_gradients(layout):
    torch.manual_seed(0)
    s = filled((2, 3), 5, 0.7).to_sparse(layout=layout).requires_grad_()
    d = torch.rand(3, 2, dtype=DOUBLE, requires_grad=True)
    for function, expected in gradients(layout):
        assert torch.autograd.gradcheck(function, (s, d)) and torch.autograd.gradgradcheck(function, (s, d))
        s.grad = None
        out = function(s, d)
        out.backward(torch.ones_like(out))
        assert s.grad.layout == expected


def test_gradients_through_values_at_repeated_places():
    i = torch.tensor([[0, 1, 1, 1], [2, 0, 2, 2]])
    v, d = torch.rand(4, dtype=DOUBLE, requires_grad=True), torch.rand(3, 2, dtype=DOUBLE, requires_grad=True)
    for function in (torch.sparse.mm, lambda s, d: s.sin().to_dense(), lambda s, d: s.coalesce().values(),
                     lambda s, d: torch.sparse.log_softmax(s, 0).to_dense(), lambda s, d: s.to_sparse_csr() @ d,
                     lambda s, d: (s * s).to_dense(), lambda s, d: torch.smm(s, d).to_dense()):
        for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
            assert check(lambda v, d, function=function: function(torch.sparse_coo_tensor(i, v, (2, 3)), d), (v, d))


def test_gradients_add_up_in_any_layout():
    s, d = small().coalesce().requires_grad_(), torch.ones(3, 1)
    torch.sparse.mm(s, d).sum().backward()
    torch.sparse.mm(s, 2 * d).sum().backward()
    assert s.grad.is_sparse and s.grad._values().tolist() == [3, 3, 3]
    (s @ d).sum().backward()                               # a dense one
    assert s.grad.layout == torch.strided and s.grad.tolist() == [[1, 1, 4], [4, 1, 4]]
    torch.sparse.mm(s, d).sum().backward()
    assert s.grad.tolist() == [[1, 1, 5], [5, 1, 5]]
    x = torch.ones(2, 3, requires_grad=True)               # the gradient of a dense factor is sparse
    (small() * x).sum().backward()
    assert x.grad.is_sparse
    (torch.sparse.sum(small() * (2 * x)) + (x * x).sum()).backward()       # through an ordinary node it goes as dense
    assert x.grad.to_dense().tolist() == [[2, 2, 11], [14, 2, 17]]
    g, = torch.autograd.grad(torch.sparse.sum(small() * x), x)
    assert g.is_sparse and g.to_dense().tolist() == small().to_dense().tolist()


def test_forward_mode_and_anomaly_mode():
    s, d, t = small(), torch.rand(3, 2), torch.rand(3, 2)
    _, found = torch.func.jvp(lambda x: torch.sparse.mm(s, x), (d,), (t,))
    close(found, s.to_dense() @ t)
    with torch.autograd.set_detect_anomaly(True):
        torch.sparse.mm(s, d.requires_grad_()).sum().backward()


def test_modes_and_subclasses_stand_above_layouts():
    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Mine(torch.Tensor):
        pass

    seen = []
    with Watch():
        (small() @ torch.ones(3, 1)).sum()
    assert "matmul" in seen and "sum" in seen
    assert type(small() @ torch.ones(3, 1).as_subclass(Mine)) is Mine
    hooked = small().coalesce().requires_grad_()
    hooked.register_hook(lambda g: g * 2)                  # while a backward pass runs, overrides are off
    torch.sparse.mm(hooked, torch.ones(3, 1)).sum().backward()
    assert hooked.grad.values().tolist() == [2, 2, 2]


def test_check_invariants_is_a_state():
    checks = torch.sparse.check_sparse_tensor_invariants
    assert not checks.is_enabled()
    with checks():
        assert checks.is_enabled()
        with checks(enable=False):
            assert not checks.is_enabled()
    assert not checks.is_enabled() and checks()(lambda: checks.is_enabled())()


def test_a_sparse_tensor_of_one_element_is_a_number():
    x = torch.tensor([2.5]).to_sparse()
    assert bool(x) and float(x) == 2.5 and int(x) == 2 and x.item() == 2.5 and not bool(torch.zeros(1).to_sparse())
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.ones(2).to_sparse())


def test_forward_mode_through_sparse_tensors():
    x, t = torch.ones(2), torch.tensor([1.0, 3.0])
    places = torch.tensor([[0, 1]])

    def f(x):
        return torch.sparse_coo_tensor(places, x, (3,)).to_dense() * 2
    for function, wanted in ((f, [2, 6, 0]), (lambda x: x.to_sparse().values(), [1, 3]),
                             (lambda x: torch.sparse.mm(torch.eye(2).to_sparse(), x[:, None])[:, 0], [1, 3])):
        assert torch.func.jvp(function, (x,), (t,))[1].tolist() == wanted
