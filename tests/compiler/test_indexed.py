"""Indices in programs in C: reading and writing by them, their errors, classes and weights of losses."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends import native
from tests.compiler.test_lowering import whole
from tests.compiler.test_native import agree, tensor

pytestmark = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


def given(*shape, dtype="f"):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def numbers(n, *shape, low=0):
    return np.random.default_rng(n).integers(low, n, shape)


@pytest.mark.parametrize("dtype,turned", [("float32", False), ("float64", True)])
def test_an_index_for_every_element_and_for_every_slice(dtype, turned):
    x, y = given(6, 5, dtype=dtype), given(6, 5, dtype=dtype) * 2
    if turned:
        x, y = (np.asfortranarray(a) for a in (x, y))

    def run(x, y, i, j, k):
        rows = x[:, None, :].expand(6, 2, 5)
        return (x.gather(0, i), x.gather(1, j) * 2, rows.gather(1, j[:, :2, None].clamp(max=1)),
                x.scatter(1, j, y), x.scatter(0, i, 1.5), x.scatter_add(0, i, y[:4]),
                x.scatter(1, j, y, reduce="multiply"),
                x.scatter_reduce(0, i, y, "amax"), x.scatter_reduce(0, i, y, "mean", include_self=False),
                x.index_select(0, k), x.index_select(-1, k[:3]).t(), x.index_add(0, k, y[:4]),
                x.index_add(1, k[:2], y[:, :2], alpha=2), x.index_copy(0, k, y[:4]), x.index_fill(1, k[:2], 0.25),
                x.take(k), x.take(-1 - j), x.put(k, y.reshape(-1)[:4]),
                x.put(k, y.reshape(-1)[:4], accumulate=True))
    found = agree(run, x, y, numbers(6, 4, 5), numbers(5, 6, 3), np.array([3, 0, 3, 1]), rtol=1e-5, atol=1e-6)
    whole(found) if not turned else None                   # elements by their number are looked up in dense arrays


def test_brackets():
    x, y = given(4, 5, 3), given(2, 3)
    i, j = np.array([[1, -1, 0], [2, 2, -4]]), np.array([0, -2, 1])

    def run(x, y, i, j):
        z, w = x * 1, x * 2
        z[i] = 0.5
        z[:, j, 1] = x[:, j, 2]
        w[i, j] = y[..., None].expand(2, 3, 3)[:, :, 0:1]
        return (x[i], x[:, i], x[..., j], x[i, j], x[i, :, j], x[j, 1:4], x[:, 1, j], x[1, :, j], x[None, j, ::2],
                x[j][j], z, w, x.index_put((j, j + 1), y[0, :, None], accumulate=True), x[[0, 2]],
                x[:, [[0], [3]], [0, 1]])
    assert not any("F.index" in note for note in agree(run, x, y, i, j).notes)
    b, k = x > 0, np.array([[3, 1]])
    whole(agree(lambda b, i, k: (b[k], b.gather(0, k[..., None]), i[k - 3], b.index_fill(0, k[0], True)), b, i, k))


def test_repeated_indices_are_taken_in_their_order():
    x, v = np.zeros(7, np.float32), np.arange(1000, dtype=np.float32)
    i = numbers(7, 1000)

    def run(x, v, i):
        y = x * 1
        y[i] = v
        return (y, x.scatter(0, i, v), x.index_add(0, i, v * 0.1), x.scatter_reduce(0, i, v, "prod"),
                v.index_copy(0, i, v))
    f = torch.compile(run, backend="c")
    for _ in range(2):
        for a, b in zip(run(tensor(x), tensor(v), torch.tensor(i)), f(tensor(x), tensor(v), torch.tensor(i))):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_no_elements_and_one():
    x, none = given(3, 4), np.zeros((0,), np.int64)
    agree(lambda x, i: (x[i] * 2, x.index_select(1, i), x.index_add(0, i, x[:0]), x.gather(0, i.reshape(0, 1))), x,
          none)
    agree(lambda x, i: (x.take(i), x.index_select(0, i), F.embedding(i, x), x.take(i.reshape(1, 1))), x, np.array(2))


ERRORS = {
    "gather": (lambda x, i: x.gather(1, i[None]), RuntimeError, "index 9 is out of bounds for dimension 1 with size 4"),
    "scatter": (lambda x, i: x.scatter(0, i[:, None], 1.0), RuntimeError, "dimension 0 with size 3"),
    "index_select": (lambda x, i: x.index_select(1, i), IndexError, "index 9 is out of bounds for dimension 1"),
    "index": (lambda x, i: x[1:, i], IndexError, "index 9 is out of bounds for dimension 1 with size 4"),
    "put": (lambda x, i: x.index_put((i,), x[0]), IndexError, "index 9 is out of bounds for dimension 0 with size 3"),
    "take": (lambda x, i: x.take(i * 2), IndexError, "tried to access index 18 on a tensor of 12 elements"),
    "nll_loss": (lambda x, i: F.nll_loss(x[:2], i), IndexError, "Target 9 is out of bounds"),
    "weighted": (lambda x, i: F.cross_entropy(x[:2], i, x[0]), IndexError, "Target 9 is out of bounds"),
    "negative": (lambda x, i: x.gather(0, 2 - i[None]), RuntimeError, "index -7 is out of bounds for dimension 0")}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("counted", [False, True])
def test_wrong_indices_are_errors_and_touch_no_memory(name, counted):
    """`counted`: the function writes to what it was given, so that it cannot simply be run once more, eagerly."""
    function, error, words = ERRORS[name]

    def run(x, i, n):
        if counted:
            n += 1
        return function(x, i)
    f = torch.compile(run, backend="c")
    x, n = torch.randn(3, 4), torch.zeros(1)
    good, bad = torch.tensor([1, 2]), torch.tensor([2, 9])
    wanted = [y.tolist() for y in (f(x, good, n), f(x, good, n))]
    for _ in range(2):
        with pytest.raises(error, match=words):
            f(x, bad, n)
    assert f(x, good, n).tolist() == wanted[1]


@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3, 4), (5,)])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_classes_with_weights_in_any_shape(shape, weighted):
    x, w = given(*shape), np.abs(given(5)) if weighted else np.ones(5, np.float32)
    t = numbers(5, *shape[:1], *shape[2:]) if len(shape) > 1 else np.array(3)
    if len(shape) > 1:
        t.reshape(-1)[:2] = -100

    def run(x, t, w):
        weight = w.detach() if weighted else None
        return tuple(loss for reduction in ("mean", "sum", "none") for loss in (
            F.nll_loss(x, t, weight, reduction=reduction), F.cross_entropy(x, t, weight, reduction=reduction),
            F.cross_entropy(x * 2, t.clamp(min=0), weight, reduction=reduction, ignore_index=2)))
    whole(agree(run, x, t, w, rtol=2e-5, atol=2e-6))
    if not weighted and len(shape) == 2:
        whole(agree(lambda x, y, t: (F.cross_entropy(x, t), F.cross_entropy(y, t)), x.astype("d"), x, t))


def test_tables():
    i, w = np.array([[1, 0, 3], [3, 3, 2]]), given(5, 4)
    whole(agree(lambda i, w: (F.embedding(i, w) * 2, F.embedding(i, w, padding_idx=3).sum(-1), F.embedding(i.int(), w),
                              F.embedding_bag(i, w, mode="sum")), i, w))
    agree(lambda i, w: F.embedding(i, w), i, w.astype("d"), rtol=1e-12)


def test_sizes_as_parameters_and_parts_for_threads():
    f = torch.compile(lambda x, i: (x[i] * 2, x.index_add(0, i, x[: len(i)]), x.gather(1, i[:, None])), backend="c")
    for n in range(5, 12):                                 # more than a handful of shapes
        x, i = tensor(given(n, n + 1)), torch.tensor(numbers(n, n - 2))
        for _ in range(2):
            y, z, w = f(x, i)
        np.testing.assert_array_equal(y.numpy(), x.numpy()[i.numpy()] * 2)
        np.testing.assert_allclose(z.numpy(), x.index_add(0, i, x[: len(i)]).numpy(), 1e-6)
        np.testing.assert_array_equal(w.numpy(), x.gather(1, i[:, None]).numpy())
    agree(lambda x, i: (x[i], x.index_add(0, i, x[:5000])), given(6000, 64), numbers(6000, 5000), rtol=1e-4, atol=1e-4)


# ---- more of what is looked up, and what rows leave ----------------------------------------------------------------
def test_label_smoothing_and_probabilities():
    x, t, w = given(6, 5), np.array([0, 4, -100, 2, 2, 1]), np.abs(given(5))

    def run(x, t, w):
        p, w = x.sigmoid(), w.detach()
        return tuple(loss for reduction in ("mean", "sum", "none") for loss in (
            F.cross_entropy(x, t, reduction=reduction, label_smoothing=0.1),
            F.cross_entropy(x, t, w, reduction=reduction, label_smoothing=0.3),
            F.binary_cross_entropy(p, (x * 2).sigmoid(), reduction=reduction),
            F.binary_cross_entropy(p, (x > 0).float(), weight=w, reduction=reduction),
            F.binary_cross_entropy_with_logits(x, p, pos_weight=w, reduction=reduction)))
    whole(agree(run, x, t, w))
    f = torch.compile(lambda p, n: F.binary_cross_entropy(p, p.detach()) + n.add_(1), backend="c")
    good, n = torch.full((4,), 0.25), torch.zeros(1)
    f(good, n)
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            f(torch.tensor([0.5, wrong, 0.5, 0.5]), n)


@pytest.mark.parametrize("shape", [(100, 7), (2, 3, 4)])
def test_running_sums_from_row_to_row(shape):
    x, k = given(*shape), numbers(4, *shape, low=-3)

    def run(x, k):
        found = []
        for d in range(x.dim()):
            found += [x.cumsum(d), (x * 0.1 + 1).cumprod(d), x.cummax(d)[0], k.cumsum(d), x[..., ::2].cumsum(d),
                      x.transpose(0, -1).cumsum(d), x.logcumsumexp(d).detach()]
        return tuple(found)
    whole(agree(run, x, k, rtol=1e-4, atol=1e-5))


def test_places_of_extremes_of_all_elements_and_angles():
    x, y = given(7, 6), given(7, 6)[::-1].copy()
    x[3, 2] = np.nan
    f = lambda x, y: (x.argmax(), x.argmin(), y.argmax(), y.abs().argmin(), torch.atan2(y, x), torch.nan_to_num(x * 2))
    compiled = torch.compile(f, backend="c")
    for _ in range(2):
        for a, b in zip(f(tensor(x), tensor(y)), compiled(tensor(x), tensor(y))):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), 3e-7)
    corners = np.array([0, -0.0, 1, -1, np.inf, -np.inf, 1e-40, 1e30, np.nan], np.float32)
    a, b = (torch.tensor(v.ravel()) for v in np.meshgrid(corners, corners))
    g = torch.compile(lambda a, b: (torch.atan2(a, b), torch.logaddexp(a, b)), backend="c")
    with np.errstate(all="ignore"):
        for _ in range(2):
            for wanted, found in zip((torch.atan2(a, b), torch.logaddexp(a, b)), g(a, b)):
                np.testing.assert_allclose(found.numpy(), wanted.numpy(), 3e-7)
                here = ~np.isnan(wanted.numpy())
                assert (np.signbit(found.numpy()) == np.signbit(wanted.numpy()))[here].all()
    whole(g)
