"""Reductions, running products, order, sets and counts: what must hold, whatever another library returns."""

import bisect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t

few = settings(max_examples=50, deadline=None)
floats = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, 1.0, 2.0, math.inf, -math.inf, math.nan]))
rows = st.lists(floats, min_size=1, max_size=40)


def key(x):
    """Numbers in order, NaN last."""
    return (math.isnan(x), 0.0 if math.isnan(x) else x)


# ---- order -------------------------------------------------------------------------------------------------
@given(x=rows, descending=st.booleans())
@few
def test_sort_is_that_of_python(x, descending):
    order = sorted(range(len(x)), key=lambda i: key(x[i]))
    if descending:                                         # Python's `reverse` keeps equal elements in order too
        order = sorted(range(len(x)), key=lambda i: key(x[i]), reverse=True)
    found = t.tensor(x, dtype=t.float64).sort(descending=descending)
    assert found.indices.tolist() == order
    np.testing.assert_array_equal(found.values.numpy(), [x[i] for i in order])


@given(seed=st.integers(0, 10**6), shape=st.tuples(st.integers(1, 5), st.integers(1, 60)), kinds=st.integers(1, 200),
       dim=st.sampled_from([0, 1, -1, -2]), descending=st.booleans(),
       dtype=st.sampled_from(["float32", "int64", "int16", "uint8"]))
@few
def test_sort_with_any_number_of_ties(seed, shape, kinds, dim, descending, dtype):
    x = np.random.default_rng(seed).integers(0, kinds, shape).astype(dtype)
    found = t.sort(t.from_numpy(x), dim, descending)
    wanted = np.argsort(-x.astype(np.int64) if descending else x, dim, kind="stable")
    np.testing.assert_array_equal(found.indices.numpy(), wanted)
    np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(x, wanted, dim))


@given(x=rows, largest=st.booleans(), data=st.data())
@few
def test_topk_begins_a_sort(x, largest, data):
    k, x = data.draw(st.integers(0, len(x))), t.tensor(x, dtype=t.float64)
    found = x.topk(k, largest=largest)
    np.testing.assert_array_equal(found.values.numpy(), x.sort(descending=largest).values[:k].numpy())
    np.testing.assert_array_equal(x[found.indices].numpy(), found.values.numpy())


@given(x=rows, k=st.integers(1, 40))
@few
def test_ranks(x, k):
    in_order, x = sorted(x, key=key), t.tensor(x, dtype=t.float64)
    k = min(k, len(in_order))
    value, index = x.kthvalue(k)
    np.testing.assert_array_equal([value.item(), x[index].item()], [in_order[k - 1]] * 2)
    real = [v for v in in_order if not math.isnan(v)]
    middle = real[(len(real) - 1) // 2] if real else math.nan
    np.testing.assert_array_equal(x.nanmedian().item(), middle)
    np.testing.assert_array_equal(x.median().item(), middle if len(real) == len(in_order) else math.nan)
    if all(map(math.isfinite, in_order)):
        np.testing.assert_allclose(x.quantile(0.3).item(), np.quantile(in_order, 0.3), 1e-12, 1e-12)


@given(x=st.lists(st.integers(0, 4), min_size=1, max_size=20))
@few
def test_mode_is_the_smallest_of_the_most_frequent(x):
    value, index = t.tensor(x).mode()
    assert value == min(set(x), key=lambda v: (-x.count(v), v)) and index == len(x) - 1 - x[::-1].index(value)


# ---- searches, sets, counts --------------------------------------------------------------------------------
@given(data=st.data(), n=st.integers(0, 12), right=st.booleans())
@few
def test_searchsorted_is_bisect(data, n, right):
    row = st.lists(st.integers(0, 9), min_size=n, max_size=n).map(sorted)
    sequence, values = data.draw(st.lists(row, min_size=2, max_size=2)), [[-1, 3, 3, 12], [0, 4, 9, 10]]
    find = bisect.bisect_right if right else bisect.bisect_left
    found = t.searchsorted(t.tensor(sequence, dtype=t.int64).reshape(2, n), t.tensor(values), right=right)
    assert found.tolist() == [[find(s, v) for v in vs] for s, vs in zip(sequence, values)]
    assert t.bucketize(3, t.tensor(sequence[0], dtype=t.int64), right=right) == find(sequence[0], 3)


@given(x=st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=8),
       dim=st.sampled_from([None, 0, 1]))
@few
def test_unique(x, dim):
    x = t.tensor(x)
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True, dim=dim)
    wanted, n = np.unique(x.numpy(), return_counts=True, axis=dim)
    np.testing.assert_array_equal(values.numpy(), wanted)
    np.testing.assert_array_equal(counts.numpy(), n)
    again = values[inverse] if dim is None else values.index_select(dim, inverse)
    assert t.equal(again, x) and t.equal(x.unique(dim=dim), values)
    runs, places, lengths = x.unique_consecutive(return_inverse=True, return_counts=True, dim=dim)
    if dim is None:
        assert t.equal(runs.repeat_interleave(lengths), x.reshape(-1)) and (runs[1:] != runs[:-1]).all()
    else:
        assert t.equal(runs.index_select(dim, places), x) and lengths.sum() == x.shape[dim]


@given(x=rows, bins=st.integers(1, 6))
@few
def test_histograms_count_what_lies_inside(x, bins):
    x = t.tensor(x, dtype=t.float64)
    inside = ((x >= -1) & (x <= 2)).sum()
    assert x.histc(bins, -1, 2).sum() == inside
    hist, edges = x.histogram(bins, range=(-1.0, 2.0))
    assert hist.sum() == inside and t.equal(hist, x.histc(bins, -1, 2)) and edges.tolist() == sorted(edges.tolist())
    if inside:
        density = x.histogram(bins, range=(-1.0, 2.0), density=True).hist
        assert (density * edges.diff()).sum().item() == pytest.approx(1)


def test_bincount():
    assert t.bincount(t.tensor([1, 1, 3]), minlength=5).tolist() == [0, 2, 0, 1, 0]
    assert t.bincount(t.tensor([0, 1]), t.tensor([0.5, 2.0])).dtype == t.float32
    with pytest.raises(RuntimeError, match="non-negative"):
        t.bincount(t.tensor([-1]))


# ---- running products and their recurrence -----------------------------------------------------------------
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20))
@few
def test_recurrence(seed, n):
    rng = np.random.default_rng(seed)
    x, a, wanted, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), [], 0.0
    for x_i, a_i in zip(x, a):
        y = x_i + a_i * y
        wanted.append(y)
    np.testing.assert_allclose(t.backends.get("cpu").linear_recurrence(x, a, dim=0), wanted, 1e-9, 1e-9)


@given(x=st.lists(st.sampled_from([0.0, 0.0, 1.5, -2.0, 0.5]), min_size=1, max_size=6))
@few
def test_derivatives_of_products_with_zeros(x):
    """Products are linear in each factor, so that differences give their derivatives exactly."""
    def product(v, i=None, j=None):
        return math.prod(1.0 if k in (i, j) else u for k, u in enumerate(v))

    a = t.tensor(x, dtype=t.float64, requires_grad=True)
    for out in (a.prod(), a.prod(0), a.cumprod(0)[-1]):
        (g,) = t.autograd.grad(out, a, create_graph=True)
        np.testing.assert_allclose(g.detach().numpy(), [product(x, i) for i in range(len(x))])
        for i in range(len(x)):
            (second,) = t.autograd.grad(g[i], a, retain_graph=True)
            np.testing.assert_allclose(second.numpy(), [0.0 if i == j else product(x, i, j) for j in range(len(x))])


# ---- numbers at the limits ---------------------------------------------------------------------------------
def test_no_overflow_in_logarithms():
    x = t.tensor([1000.0, 999.0, -1000.0], requires_grad=True)
    x.logsumexp(0).backward()
    np.testing.assert_allclose(x.grad.numpy(), x.detach().softmax(0).numpy(), 1e-4)
    x.grad = None
    x.logcumsumexp(0)[-1].backward()
    np.testing.assert_allclose(x.grad.numpy(), x.detach().softmax(0).numpy(), 1e-4)
    assert t.zeros(0).logsumexp(0) == -math.inf


def test_variance_does_not_cancel():
    x = t.tensor([10000.0, 10001.0, 10002.0])
    assert x.var() == 1 and x.var(correction=0).item() == pytest.approx(2 / 3) and x.var(0, False) == x.var(False)
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert math.isnan(t.tensor(1.0).var())
    with pytest.raises(TypeError, match="not both"):
        x.var(0, unbiased=True, correction=0)


@pytest.mark.parametrize("n, dim", [(5, None), (5000, None), (2000, 0), (2000, 1)])
@pytest.mark.parametrize("scale", [1e30, 1e20, 1e-25, 1e-30])
def test_the_standard_deviation_of_numbers_whose_squares_leave_float32(n, dim, scale):
    x = (t.arange(n) * 1.7).sin().reshape(-1, 5)
    scaled = (x * scale).requires_grad_()
    found = scaled.std(dim)
    assert t.allclose(found / scale, x.std(dim), rtol=1e-5)
    x.requires_grad_()
    found, expected = (t.autograd.grad(y.std(dim).sum(), y)[0] for y in (scaled, x))
    assert t.allclose(found, expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("p", [2, 1, 0, 3, 1.5, 0.5, math.inf, -math.inf])
def test_gradient_of_a_norm_at_zero_is_zero(p):
    x = t.zeros(3, dtype=t.float64, requires_grad=True)
    (g,) = t.autograd.grad(x.norm(p), x, create_graph=True)
    assert g.tolist() == [0, 0, 0]
    if p != 0.5:                                           # below 1 the second derivative is infinite
        (g,) = t.autograd.grad(g.sum(), x, allow_unused=True)
        assert g is None or g.isfinite().all()


def test_half_precision_sums_do_not_saturate():
    for dtype in (t.float16, t.bfloat16):
        x = t.ones(3000, dtype=dtype)
        assert x.sum() == t.tensor(3000.0).to(dtype) and x.mean() == 1 and x.sum().dtype == dtype
    assert t.full((3,), 200, dtype=t.uint8).sum() == 600


@pytest.mark.parametrize("call, error, words", [
    (lambda x: x.sum(2), IndexError, r"range of \[-2, 1\], but got 2"),
    (lambda x: x.sum((0, -2)), RuntimeError, "appears multiple times"),
    (lambda x: x.long().mean(), RuntimeError, r"x\.float\(\)"),
    (lambda x: x.long().var(), RuntimeError, "floating point"),
    (lambda x: x.long().norm(), RuntimeError, "floating point"),
    (lambda x: x.topk(4), RuntimeError, "from 0 to 3"),
    (lambda x: x.kthvalue(0), RuntimeError, "from 1 to 3"),
    (lambda x: x.quantile(1.5), RuntimeError, r"range \[0, 1\]"),
    (lambda x: x[:0].max(), RuntimeError, "dim"),
    (lambda x: x[:0].median(0), IndexError, "non-zero size"),
    (lambda x: t.trapezoid(x, x=x, dx=1.0), TypeError, "not both"),
    (lambda x: t.gradient(x[:1]), RuntimeError, "at least"),
    (lambda x: x.unsqueeze(0).cov(), RuntimeError, "two or fewer"),
])
def test_errors_say_what_was_expected(call, error, words):
    with pytest.raises(error, match=words):
        call(t.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]))


def test_the_slope_of_a_variance_at_its_ends():
    two, one = t.tensor([1.0, 3.0], requires_grad=True), t.tensor([2.0], requires_grad=True)
    two.var().backward()
    one.var(correction=1).backward()
    assert two.grad.tolist() == [-2, 2] and one.grad.isnan().all()


def test_density_of_a_histogram_of_two_dimensions():
    t.manual_seed(0)
    points = t.rand(200, 2) * t.tensor([1.0, 4.0])
    hist, (first, second) = t.histogramdd(points, [3, 5], density=True)
    areas = (first[1:] - first[:-1])[:, None] * (second[1:] - second[:-1])
    assert hist.shape == (3, 5) and (hist * areas).sum().item() == pytest.approx(1, abs=1e-5)
    uneven = t.histogramdd(points, (t.tensor([0.0, 0.1, 1.0]), t.tensor([0.0, 3.0, 4.0])), density=True)
    areas = t.tensor([[0.3, 0.1], [2.7, 0.9]])
    assert (uneven.hist * areas).sum().item() == pytest.approx(1, abs=1e-5)


def test_results_of_several_numbers_are_arrays():
    x = t.arange(6.0).reshape(2, 3)
    for found in (t.var_mean(x), t.std_mean(x), t.aminmax(x), t.linalg.slogdet(t.eye(2)),
                  t.frexp(t.tensor(2.5)), t.tensor([2.0, 1.0]).sort(), t.tensor(3.0).max(0)):
        for part in found:
            assert isinstance(part.array, np.ndarray) and (part + 0).shape == part.shape


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.filterwarnings("ignore")
def test_gradients_without_degrees_of_freedom_have_the_dtype_of_their_leaf(name, dtype):
    x = t.ones(1, dtype=getattr(t, dtype), requires_grad=True)
    getattr(x, name)().backward()
    assert x.grad.dtype is x.dtype and x.grad.isnan().all()


def leaf(data):
    return t.tensor(data, dtype=t.float64, requires_grad=True)


@pytest.mark.parametrize("reduce", [lambda x: x.sum(1), lambda x: x.max(1).values, lambda x: x.min(1).values,
                                    lambda x: x.mean(1) * x.shape[1], lambda x: x.amax(1)])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_N_3_reductions_put_their_axis_back(reduce, shape):
    x = leaf(np.arange(1.0, 1 + np.prod(shape)).reshape(shape))
    weights = t.tensor([10.0, 100.0], dtype=t.float64)
    (reduce(x) * weights).sum().backward()
    assert [row[row != 0].unique().tolist() for row in x.grad] == [[10], [100]]


def test_N_6_ties_share_one_gradient():
    x = leaf([[2.0, 2.0, 1.0]])
    x.max(1).values.sum().backward()
    assert x.grad.sum() == 1
    for whole in (t.max, t.amax, t.amin):
        y = leaf([2.0, 2.0])
        whole(y).backward()
        assert y.grad.tolist() == [0.5, 0.5]


def test_N_8_N_9_reductions_read_only_and_see_nan():
    x = t.tensor([[1.0, float("nan")], [-5.0, 2.0]])
    before = x.clone()
    assert x.max().isnan() and x.min().isnan() and x.max(1).values[1] == 2 and x.min(0).values[0] == -5
    assert t.full((3,), -1.0).max() == -1 and t.full((3,), 2.0).min() == 2, "the start value is not 0"
    x.sum(), x.sum(0)
    assert t.equal(x.nan_to_num(), before.nan_to_num())
    big = t.arange(100_000, dtype=t.float64)
    assert big.sum() == 100_000 * 99_999 / 2 and big.max() == 99_999
