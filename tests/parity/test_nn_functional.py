"""nn.functional against PyTorch: signatures, random streams, arrays of several blocks, second derivatives."""

import inspect

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick here and is not installed")
T = torch.nn.functional
rng = np.random.default_rng(0)


def both(function, arrays, grad=True, order=1):
    """Results and gradients of ``function(namespace, *tensors)`` in both libraries; floats get gradients."""
    found = []
    for lib, space in ((minitorch, F), (torch, T)):
        xs = [lib.from_numpy(a.copy()) for a in arrays]
        live = [x.requires_grad_() for x in xs if grad and x.is_floating_point()]
        lib.manual_seed(7)
        out = function(space, *xs)
        results = [out]
        if live:
            seed = lib.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(str(out.dtype)[6:]))
            grads = lib.autograd.grad(out, live, seed, create_graph=order > 1, allow_unused=True)
            results += grads
            if order > 1:
                total = sum((g * g.detach().cos()).sum() for g in grads)
                results += lib.autograd.grad(total, live, allow_unused=True)
        found.append([None if r is None else r.detach().numpy() for r in results])
    return found


def agree(function, *arrays, tol=1e-5, **how):
    for a, b in zip(*both(function, arrays, **how)):
        a, b = (np.zeros(1) if x is None else x for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * max(1, abs(b).max(initial=0)))


def floats(*shape, dtype="float32"):
    return rng.standard_normal(shape).astype(dtype)


# ---- names and defaults ------------------------------------------------------------------------------------
OURS = [n for n in F.__all__ if hasattr(T, n)]


@pytest.mark.parametrize("name", OURS)
def test_signature(name):
    """The same names of parameters, in the same order, with the same defaults, where PyTorch's can be inspected."""
    try:
        wanted = inspect.signature(getattr(T, name)).parameters.values()
    except ValueError:
        return
    found = [p for p in inspect.signature(getattr(F, name)).parameters.values() if p.name != "out"]
    wanted = [p for p in wanted if p.name != "out"]
    if any(p.kind is p.VAR_POSITIONAL for p in wanted):
        return                                             # dispatched by a boolean argument
    assert [p.name for p in found] == [p.name for p in wanted]
    assert [p.default for p in found] == [p.default for p in wanted]


# ---- more than one block, and memory that is not contiguous -------------------------------------------------
@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish",
                                  "hardswish", "hardsigmoid", "hardtanh", "hardshrink", "softshrink", "softplus",
                                  "softsign", "tanhshrink", "logsigmoid", "glu"])
def test_activations(name):
    x = floats(310, 240) * 3
    agree(lambda f, t: getattr(f, name)(t), x)
    agree(lambda f, t: getattr(f, name)(t.transpose(0, 1)), x)


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax(dim):
    agree(lambda f, t: f.softmax(t, dim), floats(260, 140) * 4)
    agree(lambda f, t: f.log_softmax(t, dim), floats(260, 140) * 4)


def test_rows():
    x = floats(260, 140) * 4
    y = rng.integers(0, 140, 260)
    agree(lambda f, t, i: f.cross_entropy(t, i), x, y)
    agree(lambda f, t, i, w: f.cross_entropy(t, i, w.detach().abs(), ignore_index=3, label_smoothing=0.2), x, y,
          floats(140))
    agree(lambda f, t, w, b: f.layer_norm(t, (140,), w, b), x, floats(140), floats(140))
    agree(lambda f, t, w: f.rms_norm(t, (140,), w), x, floats(140))


@pytest.mark.parametrize("training", [True, False])
def test_images(training):
    x, w, b = floats(5, 6, 40, 50), floats(6), floats(6)
    mean, var = floats(6), floats(6) ** 2

    def norm(f, x, w, b):
        lib = minitorch if f is F else torch
        return f.batch_norm(x, lib.from_numpy(mean.copy()), lib.from_numpy(var.copy()), w, b, training)
    for tensor in (x, np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)):
        agree(norm, tensor, w, b, tol=1e-4)
        agree(lambda f, x, w, b: f.group_norm(x, 3, w, b), tensor, w, b, tol=1e-4)
        agree(lambda f, x, w, b: f.instance_norm(x, None, None, w, b), tensor, w, b, tol=1e-4)


# ---- second derivatives of what keeps values for its rule ---------------------------------------------------
def test_second_derivatives():
    d = "float64"
    y = rng.integers(0, 4, 5)
    agree(lambda f, x, i: f.cross_entropy(x, i), floats(5, 4, dtype=d), y, order=2)
    agree(lambda f, x: f.gelu(x), floats(9, dtype=d), order=2)
    agree(lambda f, x: f.gelu(x, approximate="tanh"), floats(9, dtype=d), order=2)
    agree(lambda f, x, w, b: f.layer_norm(x, (4,), w, b), floats(5, 4, dtype=d), floats(4, dtype=d),
          floats(4, dtype=d), order=2)
    agree(lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True), floats(5, 4, 3, dtype=d), floats(4, dtype=d),
          floats(4, dtype=d), order=2)
    agree(lambda f, x, w, b: f.group_norm(x, 2, w, b), floats(5, 4, 3, dtype=d), floats(4, dtype=d), floats(4, dtype=d),
          order=2)
    agree(lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v), *(floats(2, 3, 4, dtype=d) for _ in range(3)),
          order=2)


# ---- the same random numbers -------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda f, x: f.dropout(x, 0.3),
    lambda f, x: f.dropout(x.transpose(0, 1), 0.3),
    lambda f, x: f.dropout2d(x, 0.5),
    lambda f, x: f.alpha_dropout(x, 0.3, True),
    lambda f, x: f.feature_alpha_dropout(x, 0.3, True),
    lambda f, x: f.rrelu(x, 0.1, 0.4, True),
    lambda f, x: f.gumbel_softmax(x, 0.7),
    lambda f, x: f.gumbel_softmax(x, 0.7, hard=True),
], ids=["dropout", "strided", "dropout2d", "alpha", "feature alpha", "rrelu", "gumbel", "hard gumbel"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_stream(call, dtype):
    agree(call, floats(3, 7, 5, 2, dtype=dtype))


# ---- losses ------------------------------------------------------------------------------------------------
each_reduction = pytest.mark.parametrize("reduction", ["none", "sum", "mean"])


@each_reduction
def test_probability_targets_and_images_of_classes(reduction):
    x, p, w, y = floats(3, 5, 4), abs(floats(3, 5, 4)), floats(5), rng.integers(0, 5, (3, 4))
    p /= p.sum(1, keepdims=True)
    agree(lambda f, x, p, w: f.cross_entropy(x, p, w.detach(), reduction=reduction, label_smoothing=0.1), x, p, w)
    agree(lambda f, x, y, w: f.cross_entropy(x, y, w.detach(), ignore_index=2, reduction=reduction), x, y, w)


@each_reduction
def test_ctc(reduction):
    x = floats(40, 4, 9, dtype="float64")
    y, sizes = rng.integers(1, 9, (4, 12)), np.array([12, 5, 0, 9])
    agree(lambda f, x: f.ctc_loss(x.log_softmax(-1), _of(x, y), [40, 31, 40, 12], sizes.tolist(), reduction=reduction,
                                  zero_infinity=True), x)


def _of(x, array):
    return (minitorch if isinstance(x, minitorch.Tensor) else torch).from_numpy(array)
