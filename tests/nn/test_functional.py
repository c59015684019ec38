"""nn.functional beyond parity: extreme values, blocks, errors' words, in-place forms, ties, formulas written out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
import minitorch.nn.functional as F
from minitorch import nn, optim
from minitorch.testing import gradcheck, gradgradcheck

few = settings(max_examples=20, deadline=None, database=None, derandomize=True)
rng = np.random.default_rng(0)
inf, nan = float("inf"), float("nan")


def tensor(*shape, dtype="float64", grad=False):
    return minitorch.from_numpy(rng.standard_normal(shape).astype(dtype)).requires_grad_(grad)


def close(a, b, tol=1e-9):
    a, b = (x.detach().numpy() if isinstance(x, minitorch.Tensor) else np.asarray(x) for x in (a, b))
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


# ---- extreme values ----------------------------------------------------------------------------------------
def test_softmax_of_extreme_logits():
    x = minitorch.tensor([[1e30, 0.0, -1e30], [-1e30, -1e30, -1e30], [0.0, -inf, -inf]])
    close(F.softmax(x, -1), [[1, 0, 0], [1 / 3] * 3, [1, 0, 0]], 1e-6)
    close(F.log_softmax(minitorch.tensor([1000.0, 0.0]), 0), [0, -1000])
    assert F.softmax(minitorch.tensor([-inf, -inf]), 0).isnan().all()


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_rows_far_below_the_others(function):
    """Many short rows share one shift, unless one of them lies too far below."""
    x = rng.standard_normal((200, 8)).astype("f")
    x[7] -= 90
    x[9] += 300
    wide = x.astype("d")
    e = np.exp(wide - wide.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    close(function(minitorch.from_numpy(x), 1), p if function is F.softmax else np.log(p), 2e-5)


def test_losses_of_extreme_logits():
    x = minitorch.tensor([[1e4, 0.0], [-1e4, 0.0]], requires_grad=True)
    loss = F.cross_entropy(x, minitorch.tensor([1, 0]))
    assert loss.item() == 1e4
    loss.backward()
    close(x.grad, [[0.5, -0.5], [-0.5, 0.5]])
    x = minitorch.tensor([1e4, -1e4, 0.0], requires_grad=True)
    y = minitorch.tensor([0.0, 1.0, 1.0])
    loss = F.binary_cross_entropy_with_logits(x, y, reduction="none")
    close(loss, [1e4, 1e4, math.log(2)], 1e-6)
    loss.sum().backward()
    close(x.grad, [1, -1, -0.5])
    close(F.soft_margin_loss(minitorch.tensor([-1e4]), minitorch.tensor([1.0])), 1e4)
    close(F.logsigmoid(minitorch.tensor([-1e4, 1e4])), [-1e4, 0])
    close(F.softplus(minitorch.tensor([-1e4, 1e4])), [0, 1e4])


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "elu", "selu", "celu", "mish", "softplus", "hardswish",
                                  "leaky_relu", "logsigmoid", "softsign", "tanhshrink", "relu6", "hardtanh",
                                  "hardsigmoid"])
def test_nan_stays_nan_and_gradients_are_finite_at_infinity(name):
    x = minitorch.tensor([nan, 30.0, -30.0, 1e4, -1e4], requires_grad=True)
    y = getattr(F, name)(x)
    assert np.isnan(y.detach().numpy()).tolist() == [True] + [False] * 4
    y[1:].sum().backward()
    assert np.isfinite(x.grad.numpy()[1:]).all()


def test_a_dead_unit_stops_infinite_gradients():
    x = minitorch.tensor([-1.0, 2.0], requires_grad=True)
    F.relu(x).backward(minitorch.tensor([inf, 3.0]))
    assert x.grad.tolist() == [0, 3]


# ---- blocks and memory layouts -----------------------------------------------------------------------------
def reference(name, x):
    """Value and derivative in float64."""
    if name == "relu":
        return np.maximum(x, 0), (x > 0) * 1.0
    if name == "silu":
        s = 1 / (1 + np.exp(-x))
        return x * s, s * (1 + x * (1 - s))
    if name == "gelu":
        cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.ravel()]).reshape(x.shape)
        return x * cdf, cdf + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * math.sqrt(2 / math.pi) * (1 + 0.134145 * x * x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["relu", "silu", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("layout", ["rows", "channels last", "gaps", "empty", "0-d"])
def test_activations_in_every_layout(name, layout, dtype):
    x = {"rows": lambda: rng.standard_normal((300, 130)), "gaps": lambda: rng.standard_normal((300, 260))[:, ::2],
         "channels last": lambda: rng.standard_normal((4, 30, 20, 20)).transpose(0, 3, 1, 2),
         "empty": lambda: np.zeros((3, 0)), "0-d": lambda: np.array(0.7)}[layout]()
    x = np.asarray(3 * x, dtype)
    call = (lambda t: F.gelu(t, approximate="tanh")) if name == "gelu_tanh" else getattr(F, name)
    t = minitorch.from_numpy(x).requires_grad_()
    y = call(t)
    value, slope = reference(name, x.astype("d"))
    tol = 1e-6 if dtype == "float32" else 1e-12
    close(y, value, tol)
    y.backward(minitorch.ones_like(y) * 2)
    close(t.grad, 2 * slope, 3 * tol)
    if layout == "channels last":
        assert y.stride() == t.stride()


# ---- in place ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardswish",
                                  "hardsigmoid", "hardtanh", "dropout"])
def test_inplace_argument(name):
    call = getattr(F, name)
    x, z = tensor(4, 3, grad=True), None
    minitorch.manual_seed(1)
    wanted = call(x)
    wanted.sum().backward()
    g, x.grad = x.grad, None
    minitorch.manual_seed(1)
    z = x * 1
    assert call(z, inplace=True) is z
    close(z, wanted)
    z.sum().backward()
    close(x.grad, g)


def test_twins_with_an_underscore():
    for name in ("relu_", "elu_", "celu_", "selu_", "leaky_relu_", "hardtanh_", "rrelu_"):
        x = minitorch.tensor([-1.0, 2.0])
        assert getattr(F, name)(x) is x, name
    x = minitorch.tensor([-1.0, 2.0])
    assert F.threshold_(x, 0.5, 9.0).tolist() == [9, 2]


# ---- losses ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_broadcast_to_all_pairs_is_an_error(loss):
    with pytest.raises(ValueError, match=r"\[4, 1\].*\[4\].*\[4, 4\].*reshape"):
        loss(tensor(4, 1), tensor(4))
    with pytest.raises(ValueError, match="every element"):
        loss(tensor(3), tensor(5, 1))
    with pytest.warns(UserWarning, match="target size"):
        loss(tensor(4, 3), tensor(3))
    with pytest.warns(UserWarning):
        loss(tensor(1, 5), tensor(5))                      # harmless: no pairs


def test_weighted_differences():
    x, y, w = tensor(5), tensor(5), minitorch.tensor([1.0, 2, 3, 4, 5]).double()
    d = (x - y).numpy()
    close(F.mse_loss(x, y, weight=w), (d * d * w.numpy()).sum() / 15)
    close(F.l1_loss(x, y, weight=w, reduction="sum"), (abs(d) * w.numpy()).sum())
    close(F.huber_loss(x, y, weight=w), F.huber_loss(x, y, reduction="none").mul(w).mean())
    with pytest.raises(ValueError, match="same size"):
        F.mse_loss(x, y, weight=w[:2])


def test_mean_over_nothing_is_nan():
    for loss in (F.mse_loss, F.l1_loss):
        x = minitorch.zeros(0, requires_grad=True)
        out = loss(x, minitorch.zeros(0))
        assert out.isnan()
        out.backward()
        assert x.grad.shape == (0,)


@few
@given(n=st.integers(1, 5), c=st.integers(1, 6), seed=st.integers(0, 99), smoothing=st.sampled_from([0.0, 0.1, 1.0]),
       reduction=st.sampled_from(["none", "sum", "mean"]), weighted=st.booleans())
def test_cross_entropy_is_what_it_says(n, c, seed, smoothing, reduction, weighted):
    r = np.random.default_rng(seed)
    x, y = r.standard_normal((n, c)), r.integers(0, c, n)
    w = r.uniform(0.5, 2, c) if weighted else np.ones(c)
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    hard, even = -logs[np.arange(n), y] * w[y], -(logs * w).sum(1)
    values = (1 - smoothing) * hard + smoothing / c * even
    wanted = {"none": values, "sum": values.sum(), "mean": values.sum() / w[y].sum()}[reduction]
    logits, classes = minitorch.from_numpy(x), minitorch.from_numpy(y)
    weight = minitorch.from_numpy(w) if weighted else None
    close(F.cross_entropy(logits, classes, weight, reduction=reduction, label_smoothing=smoothing), wanted)
    if not weighted:                                       # probabilities that are certain are class indices
        certain = F.one_hot(classes, c).double()
        close(F.cross_entropy(logits, certain, reduction=reduction, label_smoothing=smoothing), wanted)


def test_ignored_targets():
    x = tensor(4, 3, grad=True)
    y = minitorch.tensor([0, -100, 2, -100])
    close(F.cross_entropy(x, y), F.cross_entropy(x[::2], y[::2]))
    assert F.cross_entropy(x, y, reduction="none")[1] == 0
    loss = F.cross_entropy(x, minitorch.full((4,), -100))
    assert loss.isnan()
    loss.backward()
    assert x.grad.tolist() == np.zeros((4, 3)).tolist()
    bad = minitorch.tensor([[nan, nan], [0.0, 0.0]])
    assert F.nll_loss(bad, minitorch.tensor([5, 1]), ignore_index=5).item() == 0


def test_errors_of_class_losses():
    x = tensor(4, 3)
    for y, error, words in [([0, 1, 3, 0], IndexError, "Target 3 is out of bounds.*0 to 2"),
                            ([0, -1, 2, 0], IndexError, "Target -1 is out of bounds"),
                            ([0, 1], ValueError, r"batch_size \(4\) to match target batch_size \(2\)"),
                            ([[0], [1], [2], [0]], RuntimeError, r"Expected target size \[4\], got \[4, 1\]"),
                            ([0.0, 1, 2, 0], RuntimeError, "class indices")]:
        with pytest.raises(error, match=words):
            F.cross_entropy(x, minitorch.tensor(y))
    with pytest.raises(RuntimeError, match="either for all 3 classes"):
        F.cross_entropy(x, minitorch.tensor([0, 1, 2, 0]), weight=tensor(2))
    with pytest.raises(RuntimeError, match="dtype"):
        F.cross_entropy(x, minitorch.tensor([0, 1, 2, 0]), weight=tensor(3, dtype="float32"))
    with pytest.raises(RuntimeError, match="between 0.0 and 1.0"):
        F.cross_entropy(x, minitorch.tensor([0, 1, 2, 0]), label_smoothing=1.5)
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.nll_loss(x, minitorch.tensor([0, 1, 2, 0]), reduction="average")
    with pytest.raises(RuntimeError, match="between 0 and 1.*with_logits"):
        F.binary_cross_entropy(minitorch.tensor([1.5]), minitorch.tensor([1.0]))
    with pytest.raises(RuntimeError, match="not implemented for 'Long'.*float"):
        F.softmax(minitorch.tensor([1, 2]), 0)


def test_ties_of_margin_losses():
    """clamp_min at the bound passes the gradient, relu does not, as in PyTorch."""
    x = minitorch.tensor([1.0, 1.0], requires_grad=True)
    F.hinge_embedding_loss(x, minitorch.tensor([-1.0, -1.0]), reduction="sum").backward()
    assert x.grad.tolist() == [-1, -1]
    x = minitorch.tensor([[1.0, 0.0]], requires_grad=True)
    F.multi_margin_loss(x, minitorch.tensor([0])).backward()
    assert x.grad.tolist() == [[0, 0]]


# ---- CTC ---------------------------------------------------------------------------------------------------
def every_alignment(p, labels, blank=0):
    """The probability of `labels`, by trying all paths through (T, C) probabilities."""
    found = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        merged = [k for k, _ in itertools.groupby(path)]
        if [k for k in merged if k != blank] == list(labels):
            found += np.prod([p[t, k] for t, k in enumerate(path)])
    return found


@pytest.mark.parametrize("labels", [[1], [1, 2], [1, 1], [2, 1, 2], []])
def test_ctc_by_enumeration(labels):
    p = np.exp(rng.standard_normal((5, 3)))
    p /= p.sum(1, keepdims=True)
    found = F.ctc_loss(minitorch.from_numpy(np.log(p)[:, None]), minitorch.tensor([labels + [0]]), [5], [len(labels)],
                       reduction="sum")
    close(found, -math.log(every_alignment(p, labels)))


def test_ctc_lengths_layouts_and_impossible_targets():
    x = tensor(6, 3, 4, grad=True)
    logs = F.log_softmax(x, 2)
    rows, flat = minitorch.tensor([[1, 2], [3, 0], [1, 1]]), minitorch.tensor([1, 2, 3, 1, 1])
    times, sizes = [6, 4, 5], (2, 1, 2)
    each = F.ctc_loss(logs, rows, times, sizes, reduction="none")
    close(each, F.ctc_loss(logs, flat, minitorch.tensor(times), minitorch.tensor(sizes), reduction="none"))
    single = F.ctc_loss(logs[:4, 1], minitorch.tensor([3]), minitorch.tensor(4), minitorch.tensor(1), reduction="sum")
    close(each[1], single)
    close(F.ctc_loss(logs, rows, times, sizes), (each / minitorch.tensor([2.0, 1, 2]).double()).mean())
    impossible = F.ctc_loss(logs[:2], rows, (2, 2, 2), sizes, reduction="none")
    assert impossible[2].item() == inf
    zeroed = F.ctc_loss(logs[:2], rows, (2, 2, 2), sizes, reduction="none", zero_infinity=True)
    assert zeroed[2].item() == 0
    zeroed.sum().backward()
    assert np.isfinite(x.grad.numpy()).all() and not x.grad[:, 2].any()
    with pytest.raises(RuntimeError, match="input_lengths.*at most 6"):
        F.ctc_loss(logs, rows, [7, 4, 5], sizes)


def test_ctc_derivatives():
    def loss(x):
        return F.ctc_loss(F.log_softmax(x, 2), minitorch.tensor([[1, 2]]), [3], [2], reduction="sum")
    assert gradcheck(loss, tensor(3, 1, 3, grad=True))
    assert gradgradcheck(loss, tensor(3, 1, 3, grad=True))


# ---- norms -------------------------------------------------------------------------------------------------
def standardised(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(700, 130), (2, 3, 50), (1, 1), (0, 4)])
def test_layer_norm(shape):
    x, w, b = tensor(*shape), tensor(shape[-1]), tensor(shape[-1])
    close(F.layer_norm(x, shape[-1:], w, b), standardised(x.numpy(), -1) * w.numpy() + b.numpy())
    rms = np.sqrt((x.numpy() ** 2).mean(-1, keepdims=True) + 1e-3) if x.numel() else 1
    close(F.rms_norm(x, shape[-1:], w, 1e-3), x.numpy() / rms * w.numpy())


@pytest.mark.parametrize("shape", [(1, 3, 4), (5, 3), (2, 3, 40, 600)])
@pytest.mark.parametrize("last", [False, True])
def test_batch_norm(shape, last):
    x, w, b = rng.standard_normal(shape), tensor(3, grad=True), tensor(3, grad=True)
    axes, wide = (0, *range(2, len(shape))), (3,) + (1,) * (len(shape) - 2)
    if last:                                               # the same values, channels-last in memory
        x = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    t = minitorch.from_numpy(x).requires_grad_()
    mean, var = minitorch.zeros(3).double(), minitorch.ones(3).double()
    y = F.batch_norm(t, mean, var, w, b, True, 0.1, 1e-12)
    close(y, standardised(x, axes, 1e-12) * w.detach().numpy().reshape(wide) + b.detach().numpy().reshape(wide))
    n = x.size // 3
    close(mean, 0.1 * x.mean(axes))
    close(var, 0.9 + 0.1 * x.var(axes) * n / (n - 1))
    g = minitorch.from_numpy(rng.standard_normal(shape))
    y.backward(g)
    close(b.grad, g.numpy().sum(axes))
    close(w.grad, (g.numpy() * standardised(x, axes, 1e-12)).sum(axes))
    dx = t.grad.numpy()
    close(dx.sum(axes), np.zeros(3), 1e-8)                 # shifting or scaling a channel changes nothing
    close((dx * x).sum(axes), np.zeros(3), 1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (3, 2, 2), (1, 2, 3)])
def test_batch_norm_derivatives(shape):
    def in_training(x, w, b):
        return F.batch_norm(x, None, None, w, b, True, eps=0.1)

    def with_statistics(x, w, b):
        return F.batch_norm(x, minitorch.tensor([0.1, 0.2]).double(), minitorch.tensor([1.5, 0.5]).double(), w, b)
    for call in (in_training, with_statistics):
        inputs = [tensor(*shape, grad=True), tensor(2, grad=True), tensor(2, grad=True)]
        assert gradcheck(call, inputs) and gradgradcheck(call, inputs)


def test_other_norms():
    x, w, b = tensor(2, 6, 5), tensor(6), tensor(6)
    wide = (1, 6, 1)
    groups = standardised(x.numpy().reshape(2, 3, 10), 2).reshape(2, 6, 5)
    close(F.group_norm(x, 3, w, b), groups * w.numpy().reshape(wide) + b.numpy().reshape(wide))
    mean, var = minitorch.zeros(6).double(), minitorch.ones(6).double()
    channels = standardised(x.numpy(), 2)
    close(F.instance_norm(x, mean, var, w, b), channels * w.numpy().reshape(wide) + b.numpy().reshape(wide))
    close(mean, 0.1 * x.numpy().mean((0, 2)))
    close(var, 0.9 + 0.1 * x.numpy().var(2, ddof=1).mean(0))
    close(F.instance_norm(x, mean, var, w, b, use_input_stats=False), F.batch_norm(x, mean, var, w, b))
    squares = np.pad(x.numpy() ** 2, ((0, 0), (1, 1), (0, 0)))
    means = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    close(F.local_response_norm(x, 3, 0.5, 0.7, 2.0), x.numpy() / (2 + 0.5 * means) ** 0.7)


def test_errors_of_norms():
    with pytest.raises(RuntimeError, match=r"normalized_shape=\[4\].*\[\*, 4\].*size\[2, 3\]"):
        F.layer_norm(tensor(2, 3), (4,))
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(tensor(1, 3), None, None, training=True)
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 2"):
        F.batch_norm(tensor(4, 3), tensor(2), tensor(3))
    with pytest.raises(RuntimeError, match="when not training"):
        F.batch_norm(tensor(4, 3), None, None)
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        F.group_norm(tensor(2, 5, 3), 2)


# ---- embeddings --------------------------------------------------------------------------------------------
@few
@given(rows=st.integers(1, 6), n=st.integers(0, 80), seed=st.integers(0, 99))
def test_gradient_of_repeated_rows(rows, n, seed):
    r = np.random.default_rng(seed)
    index, g = r.integers(0, rows, n), r.standard_normal((n, 3))
    w = minitorch.zeros(rows, 3, dtype=minitorch.float64, requires_grad=True)
    F.embedding(minitorch.from_numpy(index), w).backward(minitorch.from_numpy(g))
    wanted = np.zeros((rows, 3))
    np.add.at(wanted, index, g)
    close(w.grad, wanted)


def test_embedding_options():
    w = tensor(5, 2, grad=True)
    index = minitorch.tensor([[0, 1, 1], [4, 1, 2]])
    F.embedding(index, w, padding_idx=-1, scale_grad_by_freq=True).sum().backward()
    close(w.grad, [[1, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
    table = minitorch.tensor([[3.0, 4.0], [0.3, 0.4]])
    version = table._version
    out = F.embedding(minitorch.tensor([0, 1]), table, max_norm=1.0)
    close(out, [[0.6, 0.8], [0.3, 0.4]], 1e-6)
    close(table, out)
    assert table._version > version
    with pytest.raises(IndexError, match="out of range.*0 to 4, got 5"):
        F.embedding(minitorch.tensor([5]), w)
    with pytest.raises(IndexError, match="got -1"):
        F.embedding(minitorch.tensor([-1]), w)
    with pytest.raises(RuntimeError, match="Long"):
        F.embedding(minitorch.tensor([0.5]), w)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode):
    w = tensor(6, 3, grad=True)
    index, offsets = minitorch.tensor([1, 2, 2, 5, 0]), minitorch.tensor([0, 2, 2])
    found = F.embedding_bag(index, w, offsets, mode=mode)
    pieces = [w.detach().numpy()[[1, 2]], np.zeros((0, 3)), w.detach().numpy()[[2, 5, 0]]]
    close(found, [getattr(p, mode)(0) if len(p) else np.zeros(3) for p in pieces])
    assert gradcheck(lambda x: F.embedding_bag(index, x, offsets, mode=mode), w)
    close(F.embedding_bag(index, w, minitorch.tensor([0, 2, 2, 5]), mode=mode, include_last_offset=True), found)
    close(F.embedding_bag(minitorch.tensor([[1, 2], [4, 4]]), w, mode=mode, padding_idx=4)[1], np.zeros(3))


# ---- attention ---------------------------------------------------------------------------------------------
def naive_attention(q, k, v, allowed, scale):
    scores = np.where(allowed, q @ k.swapaxes(-1, -2) * scale, -inf)
    e = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e30))
    return np.divide(e, e.sum(-1, keepdims=True), out=np.zeros_like(e), where=e.sum(-1, keepdims=True) > 0) @ v


def test_attention():
    q, k, v = tensor(2, 3, 4, 5), tensor(2, 3, 6, 5), tensor(2, 3, 6, 7)
    arrays = [x.numpy() for x in (q, k, v)]
    everything = np.ones((4, 6), bool)
    close(F.scaled_dot_product_attention(q, k, v), naive_attention(*arrays, everything, 5**-0.5))
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
    close(causal, naive_attention(*arrays, np.tril(everything), 0.3))
    some = rng.random((2, 1, 4, 6)) > 0.4
    found = F.scaled_dot_product_attention(q, k, v, minitorch.from_numpy(some))
    close(found, naive_attention(*arrays, some, 5**-0.5))
    added = minitorch.from_numpy(np.where(some, 0.0, -inf))
    close(F.scaled_dot_product_attention(q, k, v, added), found)


def test_a_query_without_keys_gives_zeros():
    q, k, v = (tensor(2, 3, grad=True) for _ in range(3))
    mask = minitorch.tensor([[True, True], [False, False]])
    out = F.scaled_dot_product_attention(q, k, v, mask)
    assert out[1].tolist() == [0, 0, 0]
    out.sum().backward()
    assert all(np.isfinite(x.grad.numpy()).all() for x in (q, k, v))


def test_attention_with_fewer_heads_of_keys():
    q, k, v = tensor(2, 6, 4, 3), tensor(2, 2, 5, 3), tensor(2, 2, 5, 3)
    wide = [minitorch.from_numpy(np.repeat(x.numpy(), 3, 1)) for x in (k, v)]
    mask = tensor(2, 6, 4, 5)
    found = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    close(found, F.scaled_dot_product_attention(q, *wide, mask))
    with pytest.raises(RuntimeError, match="must divide"):
        F.scaled_dot_product_attention(tensor(1, 3, 2, 2), tensor(1, 2, 2, 2), tensor(1, 2, 2, 2), enable_gqa=True)


def test_attention_derivatives_and_errors():
    inputs = [tensor(*shape, grad=True) for shape in ((1, 2, 2), (1, 3, 2), (1, 3, 2), (2, 3))]
    assert gradcheck(F.scaled_dot_product_attention, inputs) and gradgradcheck(F.scaled_dot_product_attention, inputs)
    with pytest.raises(RuntimeError, match="is_causal"):
        F.scaled_dot_product_attention(*inputs, is_causal=True)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(inputs[0], inputs[1].float(), inputs[2])
    with pytest.raises(RuntimeError, match="at least 2 dimensional"):
        F.scaled_dot_product_attention(tensor(3), tensor(3), tensor(3))


# ---- the rest ----------------------------------------------------------------------------------------------
def test_dropout():
    x = minitorch.ones(200, 50, requires_grad=True)
    assert F.dropout(x, training=False) is x and F.dropout(x, 0.0) is x
    assert not F.dropout(x, 1.0).any()
    y = F.dropout(x, 0.2)
    assert set(np.unique(y.detach().numpy())) == {0, 1.25} and abs(y.mean().item() - 1) < 0.02
    y.sum().backward()
    close(x.grad, y)
    channels = F.dropout2d(minitorch.ones(20, 10, 3, 3), 0.5).numpy()
    assert (channels == channels[:, :, :1, :1]).all() and set(np.unique(channels)) == {0, 2}
    alpha = F.alpha_dropout(minitorch.from_numpy(rng.standard_normal(100000)), 0.3, True)
    assert abs(alpha.mean().item()) < 0.02 and abs(alpha.std().item() - 1) < 0.02
    with pytest.raises(ValueError, match="between 0 and 1, but got 1.5"):
        F.dropout(x, 1.5)


def test_gumbel_softmax():
    x = tensor(50, 4, grad=True)
    y = F.gumbel_softmax(x, hard=True)
    assert ((y.detach().numpy() == 0) | (abs(y.detach().numpy() - 1) < 1e-9)).all()
    close(y.sum(-1), np.ones(50))
    (y * tensor(50, 4)).sum().backward()
    assert x.grad.abs().sum() > 0


def test_one_hot():
    assert F.one_hot(minitorch.tensor([[2], [0]]), 4).tolist() == [[[0, 0, 1, 0]], [[1, 0, 0, 0]]]
    assert F.one_hot(minitorch.zeros(0, dtype=minitorch.int64), 3).shape == (0, 3)
    for bad, n, words in (([-1], 3, "non-negative"), ([3], 3, "smaller than num_classes")):
        with pytest.raises(RuntimeError, match=words):
            F.one_hot(minitorch.tensor(bad), n)
    with pytest.raises(RuntimeError, match="LongTensor"):
        F.one_hot(minitorch.tensor([1.0]))


def test_distances():
    x, y = tensor(3, 4), tensor(3, 4)
    a, b = x.numpy(), y.numpy()
    close(F.cosine_similarity(x, y), (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))
    close(F.pairwise_distance(x, y, 1.0, 0.0), abs(a - b).sum(1))
    close(F.pdist(x), [np.linalg.norm(a[i] - a[j]) for i in range(3) for j in range(i + 1, 3)])
    zero = minitorch.zeros(2, 3, requires_grad=True)
    F.normalize(zero).sum().backward()
    assert np.isfinite(zero.grad.numpy()).all()


@pytest.mark.parametrize("rows", [(), (1,), (5,), (2, 3), (0,)])
def test_linear(rows):
    x, w, b = tensor(*rows, 4, grad=True), tensor(3, 4, grad=True), tensor(3, grad=True)
    y = F.linear(x, w, b)
    close(y, x.detach().numpy() @ w.detach().numpy().T + b.detach().numpy())
    y.sum().backward()
    assert x.grad.shape == x.shape and w.grad.shape == w.shape and b.grad.shape == b.shape
    close(w.grad, np.ones((3, 1)) * x.detach().numpy().reshape(-1, 4).sum(0))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        F.linear(x, tensor(3, 5))


def test_16_bit_floats_are_computed_in_32():
    x = tensor(64, 300, dtype="float32")
    for call in (lambda t: F.softmax(t, 1), lambda t: F.layer_norm(t, (300,)), F.gelu, F.silu):
        half = call(x.half())
        assert half.dtype is minitorch.float16
        close(half.float(), call(x.half().float()), 1e-3)


def test_one_hot_of_a_number_is_a_vector():
    assert F.one_hot(minitorch.tensor(2), 4).tolist() == [0, 0, 1, 0]


def test_norms_of_nothing():
    for x in (minitorch.ones(0, 4, 3), minitorch.ones(2, 4, 0)):
        x.requires_grad_()
        found = F.group_norm(x, 2, minitorch.ones(4), minitorch.zeros(4))
        found.sum().backward()
        assert found.shape == x.shape and x.grad.shape == x.shape


def test_old_names_of_interpolation():
    x = minitorch.arange(4.0).reshape(1, 1, 2, 2)
    with pytest.warns(UserWarning, match="deprecated"):
        assert F.upsample_bilinear(x, scale_factor=2).equal(
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True))
    with pytest.warns(UserWarning, match="deprecated"):
        assert F.upsample_nearest(x, 3).equal(F.interpolate(x, 3))


def test_exactly_the_nearest_pixel():
    x = minitorch.arange(3.0).reshape(1, 1, 3)
    assert F.interpolate(x, 6, mode="nearest-exact").flatten().tolist() == [0, 0, 1, 1, 2, 2]
    assert F.interpolate(x, 2, mode="nearest-exact").flatten().tolist() == [0, 2]


def test_gumbel_noise_does_not_depend_on_the_layout():
    minitorch.manual_seed(3)
    wanted = minitorch.nn.functional.gumbel_softmax(minitorch.arange(12.0).view(4, 3).t().contiguous())
    minitorch.manual_seed(3)
    assert minitorch.equal(minitorch.nn.functional.gumbel_softmax(minitorch.arange(12.0).view(4, 3).t()), wanted)


@pytest.mark.parametrize("bias", [None, minitorch.ones(2)])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_linear_takes_one_matrix_and_no_batch(shape, bias):
    with pytest.raises(RuntimeError, match="t\\(\\) expects a tensor with <= 2 dimensions, but self is 3D"):
        F.linear(minitorch.ones(shape), minitorch.ones(1, 2, 3), bias)
    with pytest.raises(RuntimeError, match="t\\(\\) expects"):
        F.linear(minitorch.ones(2, 3, 2), minitorch.ones(2, 3, 2), bias)


def test_cosine_similarity_of_a_mask_and_floats_is_computed_in_floats():
    mask, x = minitorch.tensor([True, False]), minitorch.tensor([3.0, 4.0])
    assert F.cosine_similarity(mask, x, 0).item() == pytest.approx(0.6)
    with pytest.raises(RuntimeError, match="common dtype is bool"):
        F.cosine_similarity(mask, mask, 0)


def test_D_9_optimizers_norms_and_modes_work():
    for make in (optim.SGD, optim.Adagrad, optim.Adam):
        make([minitorch.ones(1, requires_grad=True)], lr=0.1).step()
    norm, x = nn.BatchNorm2d(2), minitorch.rand(8, 2, 3, 3) * 5 + 3
    y = norm(x)
    assert minitorch.allclose(y.mean((0, 2, 3)), minitorch.zeros(2), atol=1e-5)
    assert minitorch.allclose(y.var((0, 2, 3), unbiased=False), minitorch.ones(2), atol=1e-3)
    assert minitorch.allclose(norm.running_mean, 0.1 * x.mean((0, 2, 3)), atol=1e-5)
    assert not minitorch.allclose(norm.eval()(x), y) and nn.Dropout(0.5)(x) is not None
