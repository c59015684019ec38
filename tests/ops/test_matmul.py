"""Matrix products, einsum, chains of matrices, distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t
from minitorch.ops.linalg.einsum import parse
from minitorch.ops.linalg.matmul import best_splits
from minitorch.testing import check

few = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 10**6)


# ---- matmul ------------------------------------------------------------------------------------------------
def operands(seed):
    """Two arrays that fit: vectors, matrices, batches that broadcast."""
    r = np.random.default_rng(seed)
    n, k, m = r.integers(1, 5, 3)
    batch = r.integers(1, 4, r.integers(0, 3))

    def batched():
        return [1 if r.random() < 0.3 else b for b in batch[r.integers(0, len(batch) + 1):]]
    a = (k,) if r.random() < 0.25 else (*batched(), n, k)
    b = (k,) if r.random() < 0.25 else (*batched(), k, m)
    return r.normal(size=a), r.normal(size=b)


@given(seed=seeds)
@few
def test_matmul_and_its_gradients(seed):
    """Against NumPy, and gradients against ``<g, da @ b + a @ db>`` in a random direction."""
    a, b = operands(seed)
    r = np.random.default_rng(seed + 1)
    x, y = [t.from_numpy(v.copy()).requires_grad_() for v in (a, b)]
    out = x @ y
    np.testing.assert_allclose(out.detach().numpy(), np.matmul(a, b))
    g, da, db = r.normal(size=out.shape), r.normal(size=a.shape), r.normal(size=b.shape)
    out.backward(t.tensor(g))
    wanted = np.sum(g * (np.matmul(da, b) + np.matmul(a, db)))
    assert np.sum(x.grad.numpy() * da) + np.sum(y.grad.numpy() * db) == pytest.approx(wanted)


@pytest.mark.parametrize("shapes", ["3, 3", "2 3, 3", "3, 3 2", "2 2 3, 3", "3, 2 3 2", "2 2 3, 3 2", "2 1 3, 2 3 1",
                                    "1 1 2, 3 2 2", "1 2, 2 1"])
def test_matmul_to_second_order(shapes):
    check(t.matmul, shapes, examples=3)


@pytest.mark.parametrize("n, k, m", [(40, 3, 40), (5, 32, 7), (8, 16, 8), (1, 64, 64), (64, 1, 64)])
def test_gradients_in_layouts_that_take_another_way(n, k, m):
    r = np.random.default_rng(0)
    a, b, g = r.normal(size=(6, n, k)), r.normal(size=(6, k, m)), r.normal(size=(6, n, m))
    x, y = [t.from_numpy(v).requires_grad_() for v in (a, b)]
    t.bmm(x, y).backward(t.from_numpy(g))
    np.testing.assert_allclose(x.grad.numpy(), g @ b.swapaxes(1, 2))
    np.testing.assert_allclose(y.grad.numpy(), a.swapaxes(1, 2) @ g)


def test_dtypes():
    i = t.tensor([[1, 2], [3, 4]])
    assert (i @ i).dtype is t.int64 and (i @ i).tolist() == [[7, 10], [15, 22]]
    assert (i.to(t.uint8) * 100 @ i.to(t.uint8)).dtype is t.uint8
    assert (i.half() @ i.half()).dtype is t.float16
    long = t.full((1, 3000), 1.0, dtype=t.float16)         # summed in float16 it would end at 2048
    assert (long @ long.T).item() == 3000.0
    with pytest.raises(RuntimeError, match="same dtype, but got: float32 != float64"):
        i.float() @ i.double()
    with pytest.raises(NotImplementedError, match="Bool"):
        i.bool() @ i.bool()


@pytest.mark.parametrize("call, words", [
    (lambda a, v: a @ a, r"cannot be multiplied \(2x3 and 2x3\): the last size of the first, 3, must be"),
    (lambda a, v: a.mm(v), "mat2 must be a matrix"),
    (lambda a, v: a[None].bmm(a[None]), r"to be: \[1, 3\] but got: \[1, 2\]"),
    (lambda a, v: a.mv(a), "matrix @ vector expected"),
    (lambda a, v: v.dot(a), "1D tensors expected, but got 1D and 2D"),
    (lambda a, v: v.dot(v[:2]), "inconsistent tensor size"),
    (lambda a, v: a @ t.tensor(2.0), "need to be at least 1D"),
    (lambda a, v: v.outer(a), "Expected 1-D argument vec2"),
    (lambda a, v: t.addmm(t.ones(3, 2), a, a.T), "must match|could not be broadcast"),
    (lambda a, v: t.tensordot(a, a, 1), "contracted dimensions need to match"),
    (lambda a, v: t.linalg.multi_dot([a, a]), "tensors 0 and 1 with shapes"),
    (lambda a, v: t.cdist(a, a[:, :2]), "same number of columns"),
])
def test_errors_say_what_is_wrong(call, words):
    a = t.arange(6.0).reshape(2, 3)
    with pytest.raises(RuntimeError, match=words):
        call(a, a[0])


# ---- sums of products --------------------------------------------------------------------------------------
def test_addmm_and_its_kin():
    r = np.random.default_rng(0)
    a, b, v = r.normal(size=(2, 4, 3)), r.normal(size=(2, 3, 5)), r.normal(size=3)
    A, B, V = map(t.from_numpy, (a, b, v))
    cases = [(t.addmm, (5,), (A[0], B[0]), a[0] @ b[0]), (t.addmv, (4,), (A[0], V), a[0] @ v),
             (t.addbmm, (4, 5), (A, B), (a @ b).sum(0)), (t.baddbmm, (1, 5), (A, B), a @ b),
             (t.addr, (3,), (V, V), np.outer(v, v))]
    for call, shape, operands, product in cases:
        c = r.normal(size=shape)
        found = call(t.from_numpy(c), *operands, beta=2, alpha=0.5)
        np.testing.assert_allclose(found.numpy(), 2 * c + 0.5 * product)
        nan = call(t.full(shape, float("nan"), dtype=t.float64), *operands, beta=0)
        np.testing.assert_allclose(nan.numpy(), product)
    check(lambda c, a, b: t.baddbmm(c, a, b, beta=2, alpha=3), "2 1, 2 2 2, 2 2 2", examples=2)
    check(lambda c, a, b: t.addmm(c, a, b, beta=2, alpha=3), "2, 3 1, 1 2", examples=2)
    check(lambda c, a, b: t.addr(c, a, b), "2, 3, 2", examples=2)


def test_addmm_in_place():
    x = t.ones(2, 2)
    x.addmm_(t.ones(2, 3), t.ones(3, 2), beta=0.5, alpha=2)
    assert x.tolist() == [[6.5, 6.5], [6.5, 6.5]]
    with pytest.raises(RuntimeError, match="output with shape"):
        t.ones(2).addmm_(t.ones(2, 3), t.ones(3, 2))


@given(seed=seeds)
@few
def test_kron_tensordot_inner_outer(seed):
    r = np.random.default_rng(seed)
    a, b = [r.normal(size=r.integers(1, 4, r.integers(0, 4))) for _ in range(2)]
    A, B = t.from_numpy(a), t.from_numpy(b)
    np.testing.assert_allclose(t.kron(A, B).numpy(), np.kron(a, b))
    np.testing.assert_allclose(t.tensordot(A, B, 0).numpy(), np.tensordot(a, b, 0))
    np.testing.assert_allclose(t.tensordot(A, A, A.dim()).numpy(), np.tensordot(a, a, a.ndim))
    np.testing.assert_allclose(t.outer(A.ravel(), B.ravel()).numpy(), np.outer(a, b))
    if a.ndim and b.ndim and a.shape[-1] == b.shape[-1]:
        np.testing.assert_allclose(t.inner(A, B).numpy(), np.inner(a, b))
    if a.ndim > 1 and b.ndim:
        b = r.normal(size=(2, a.shape[1], a.shape[0]))
        np.testing.assert_allclose(t.tensordot(A, t.from_numpy(b), ([0, 1], [2, -2])).numpy(),
                                   np.tensordot(a, b, ([0, 1], [2, 1])))


# ---- chains ------------------------------------------------------------------------------------------------
def test_multi_dot_takes_the_cheapest_order():
    shapes = [(30, 35), (35, 15), (15, 5), (5, 10), (10, 20), (20, 25)]      # Cormen et al., 15.2
    split = best_splits(shapes)
    assert (split[0, 5], split[0, 2], split[3, 5]) == (2, 0, 4)


@given(sizes=st.lists(st.integers(1, 6), min_size=3, max_size=7), row=st.booleans(), column=st.booleans())
@few
def test_multi_dot(sizes, row, column):
    r = np.random.default_rng(sum(sizes))
    arrays = [r.normal(size=s) for s in zip(sizes, sizes[1:])]
    arrays[0] = arrays[0][0] if row else arrays[0]
    arrays[-1] = arrays[-1][:, 0] if column else arrays[-1]
    found = t.linalg.multi_dot([t.from_numpy(a) for a in arrays])
    np.testing.assert_allclose(found.numpy(), np.linalg.multi_dot(arrays), atol=1e-12)


# ---- einsum ------------------------------------------------------------------------------------------------
def equation(seed):
    """A random equation with two to four operands: any letters in any order, an ellipsis, sizes of 1."""
    r = np.random.default_rng(seed)
    sizes = dict(zip("abcde", r.integers(1, 4, 5)))
    dots = tuple(r.integers(1, 3, r.integers(0, 3)))
    terms, arrays = [], []
    for _ in range(r.integers(2, 5)):
        letters = list(r.permutation(list("abcde"))[:r.integers(0, 4)])
        shape = [sizes[c] for c in letters]
        if r.random() < 0.4:
            at, own = r.integers(0, len(letters) + 1), dots[r.integers(0, len(dots) + 1):]
            letters.insert(at, "...")
            shape[at:at] = own
        terms.append("".join(letters))
        arrays.append(r.normal(size=shape))
    result = list(r.permutation(sorted({c for term in terms for c in term if c != "."})))
    result = result[:r.integers(0, len(result) + 1)]
    if any("..." in term for term in terms):
        result.insert(r.integers(0, len(result) + 1), "...")
    return ",".join(terms) + "->" + "".join(result), arrays


@given(seed=seeds)
@few
def test_einsum_and_its_gradients(seed):
    """Against NumPy, and gradients against the change in a random direction (a product is linear in each operand)."""
    text, arrays = equation(seed)
    r = np.random.default_rng(seed + 1)
    tensors = [t.from_numpy(a.copy()).requires_grad_() for a in arrays]
    out = t.einsum(text, *tensors)
    np.testing.assert_allclose(out.detach().numpy(), np.einsum(text, *arrays), atol=1e-9)
    g = r.normal(size=out.shape)
    out.backward(t.tensor(g))
    for i, x in enumerate(tensors):
        d = r.normal(size=x.shape)
        changed = np.einsum(text, *arrays[:i], d, *arrays[i + 1:])
        assert np.sum(x.grad.numpy() * d) == pytest.approx(np.sum(g * changed), abs=1e-8)


@pytest.mark.parametrize("text, shapes", [
    ("ij,jk->ik", "2 2, 2 1"), ("bij,bkj->bik", "2 1 2, 2 2 2"), ("ij,j,i->", "2 3, 3, 2"), ("ii->i", "2 2"),
    ("iij,jk->k", "2 2 2, 2 1"), ("i,i->i", "3, 3"), ("...i,...i->...", "2 2, 2 2"), ("ij,ij->j", "2 2, 1 2")])
def test_einsum_to_second_order(text, shapes):
    check(lambda *x: t.einsum(text, *x), shapes, examples=2, arguments=shapes.count(",") + 1)


def test_einsum_spelled_otherwise():
    x, y = t.arange(6.0).reshape(2, 3), t.arange(12.0).reshape(3, 4)
    wanted = (x @ y).tolist()
    assert t.einsum("ij,jk", x, y).tolist() == wanted
    assert t.einsum(" i j, j k -> i k", [x, y]).tolist() == wanted
    assert t.einsum(x, [0, 1], y, [1, 2], [0, 2]).tolist() == wanted
    assert t.einsum(x, [..., 1], y, [1, 2]).tolist() == wanted
    assert t.einsum("bA,Ab", x, x.T).item() == x.square().sum().item()
    assert t.einsum("ij->ji", x).data_ptr() == x.data_ptr()      # a view


def test_capital_letters_come_first_in_an_implicit_result():
    assert parse("bA", (2,)) == (("bA",), "Ab")


@pytest.mark.parametrize("arguments, words", [
    (("ij,jk->il",), "output subscript l does not appear"), (("ij,jk->ii",), "more than once"),
    (("ij->ij",), "more operands were provided"), (("ijk,jk->i",), "does not match the number of dimensions"),
    (("ij,ij->ij",), "size 3 for operand 1 which does not broadcast"), (("i1,jk->i",), "invalid subscript"),
    (("ii,jk->i",), "sizes don't match")])
def test_einsum_errors(arguments, words):
    with pytest.raises(RuntimeError, match=words):
        t.einsum(*arguments, t.ones(2, 3), t.ones(3, 4))


# ---- distances ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("n", [4, 30])
def test_cdist(p, n):
    r = np.random.default_rng(0)
    x, y = r.normal(size=(2, n, 3)), r.normal(size=(1, 5, 3))
    step = np.abs(x[:, :, None] - y[:, None])
    wanted = (step != 0).sum(-1) if p == 0 else step.max(-1) if p == np.inf else (step ** p).sum(-1) ** (1 / p)
    np.testing.assert_allclose(t.cdist(t.from_numpy(x), t.from_numpy(y), p).numpy(), wanted)


def test_cdist_gradients():
    check(t.cdist, "2 3, 2 3", examples=3)
    check(lambda x, y: t.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), "2 1 3, 3 3", examples=3)
    x = t.ones(2, 3, requires_grad=True)
    t.cdist(x, x).sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2                # at distance 0


@pytest.mark.parametrize("input, weight", [((), (4, 4)), ((), (4,)), ((4,), ()), ((2, 3, 4), ())])
def test_numbers_are_no_operands_of_a_layer(input, weight):
    with pytest.raises(RuntimeError, match="both arguments to linear need to be at least 1D"):
        t.nn.functional.linear(t.ones(input), t.ones(weight))


def test_products_in_place():
    x, a, b = t.ones(2, 2, 2), t.full((2, 2, 3), 2.0), t.ones(2, 3, 2)
    assert x.baddbmm_(a, b, alpha=0.5).tolist() == [[[4, 4], [4, 4]]] * 2
    assert t.ones(2, 2).addmm_(t.eye(2), t.eye(2)).tolist() == [[2, 1], [1, 2]]
    assert t.ones(2).addmv_(t.eye(2), t.tensor([1.0, 2.0]), beta=2).tolist() == [3, 4]
    assert t.addr(t.ones(1, 2), t.ones(1), t.ones(2), out=x[0, :1]).tolist() == [[2, 2]]
    assert x[0].tolist() == [[2, 2], [4, 4]]
    assert t.ones(1, 2).addr_(t.ones(1), t.tensor([1.0, 2.0])).tolist() == [[2, 3]]


@pytest.mark.parametrize("dtype", [t.float16, t.bfloat16])
def test_einsum_rounds_16_bit_floats_once(dtype):
    t.manual_seed(0)
    a, b = t.randn(9, 200).to(dtype), t.randn(200, 9).to(dtype)
    assert t.einsum("ij,jk->ik", a, b).equal((a.float() @ b.float()).to(dtype))


def test_einsum_wants_one_dtype():
    with pytest.raises(RuntimeError, match="same dtype"):
        t.einsum("ij,jk->ik", t.ones(2, 2), t.ones(2, 2, dtype=t.float64))


@pytest.mark.parametrize("equation", ["ij,jk,kl->il", "...ij,...jk,...kl->...il", "jk,ij->ik", "ca,bc->ba"])
def test_sums_of_products_can_be_viewed(equation):
    sizes = dict(zip("ijklabc", (3, 3, 3, 3, 2, 3, 4)))
    t.manual_seed(0)
    operands = [t.randn([sizes[c] for c in term.replace("...", "")]).double()
                for term in equation.split("->")[0].split(",")]
    out = t.einsum(equation, *operands)
    assert out.is_contiguous() and out.view(-1).numel() == out.numel()
    if len(operands) == 2:
        assert t.allclose(out, operands[1] @ operands[0])


@pytest.mark.parametrize("k", [1, 31, 32, 33, 784])
def test_N_7_matmul_of_every_inner_size(k):
    assert (t.ones(3, k) @ t.ones(k, 2)).tolist() == [[k] * 2] * 3
    assert (t.ones(2, 3, k) @ t.ones(k, 2))[1, 2, 1] == k
