"""Op definitions: softmax and its logarithm, over one dimension.

Elementwise activations are in `elementwise/activation.py`.
"""

from ...core.out import write_out
from ...core.recording import recorded as R
from ...core.storage import contiguous_format
from ...explain.callers import warn
from ..creation.create import empty_like, zeros_like
from ..define import composite, op
from ..reductions.reduce import axes


def shifted(input, dim):
    """`input` less its maximum over `dim`, so that its exponentials cannot overflow."""
    return input - input.max(axes(input, dim), keepdims=True) if input.size else input


@op(dims="* [dim] -> * [dim] by max", layout="contiguous", name="softmax", promotion="floating",
    namespace=None, autocast="float32 on cuda", tangent="symmetric",
    input=lambda F, g, out, dim: F.softmax_backward(g, out, dim=dim))
def _softmax(F, input, *, dim):
    """``exp(input) / exp(input).sum(dim)``, shifted by the maximum so that it cannot overflow."""
    powers = F.xp.exp(shifted(input, dim))
    return powers / F.sum(powers, dim=dim, keepdim=True)


@op(dims="* [dim], * [dim] -> * [dim]",
    promotion="floating", namespace=None, sample=lambda d: backward_sample(d),
    grad=lambda F, g, out_, dim: F.softmax_backward(g, out_, dim=dim),
    out_=lambda F, g, grad, out_, dim: g * (grad - F.sum(grad * out_, dim=dim, keepdim=True))
    - grad * F.sum(g * out_, dim=dim, keepdim=True))
def softmax_backward(F, grad, out_, *, dim):
    """``out_ * (grad - sum(grad * out_))``, the derivative of softmax in terms of its result."""
    return out_ * (grad - F.sum(grad * out_, dim=dim, keepdim=True))


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax by its input, for libraries with a Function of their own: of the
    result's gradient and the result, in `input_dtype`."""
    return softmax_backward(grad_output, output, dim).to(input_dtype)


@op(dims="* [dim] -> * [dim] by max", layout="contiguous", name="log_softmax", promotion="floating",
    namespace=None, autocast="float32 on cuda",
    input=lambda F, g, out, dim: F.log_softmax_backward(g, out, dim=dim))
def _log_softmax(F, input, *, dim):
    """``input - log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow."""
    x = shifted(input, dim)
    return x - F.xp.log(F.sum(F.xp.exp(x), dim=dim, keepdim=True))


@op(dims="* [dim], * [dim] -> * [dim]",
    promotion="floating", namespace=None, sample=lambda d: backward_sample(d),
    grad=lambda F, g, out_, dim: g - F.sum(F.exp(out_) * g, dim=dim, keepdim=True),
    out_=lambda F, g, grad, out_, dim: -g * F.exp(out_) * F.sum(grad, dim=dim, keepdim=True))
def log_softmax_backward(F, grad, out_, *, dim):
    """``grad - exp(out_) * sum(grad)``, the derivative of log_softmax in terms of its result."""
    return grad - F.xp.exp(out_) * F.sum(grad, dim=dim, keepdim=True)


def backward_sample(d):
    shape = d.shape(1)
    return [d.array(shape), d.array(shape)], dict(dim=d.int(-len(shape), len(shape) - 1))


# ---- the public functions ----------------------------------------------------------------------------------
@composite
def softmax(input, dim, dtype=None, *, out=None):
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first.

    >>> import minitorch
    >>> minitorch.softmax(minitorch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    if out is not None:
        return write_out("softmax", softmax, (input, dim, dtype), {}, out)
    if dim is None:
        raise TypeError("softmax(): argument 'dim' (position 2) must be int, not NoneType")
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite
def log_softmax(input, dim, dtype=None, *, out=None):
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
    if out is not None:
        return write_out("log_softmax", log_softmax, (input, dim, dtype), {}, out)
    if dim is None:
        raise TypeError("log_softmax(): argument 'dim' (position 2) must be int, not NoneType")
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


def implicit_dim(name, input, dim):
    """The dimension that PyTorch takes where none is given, with its warning."""
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
         f"argument.")
    return 0 if input.ndim in (0, 1, 3) else 1


@composite(public_name="softmax", namespace="nn.functional")
def functional_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first."""
    dim = implicit_dim("softmax", input, dim)
    return _softmax(input if dtype is None else input.to(dtype), dim)


@composite(public_name="log_softmax", namespace="nn.functional")
def functional_log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
    dim = implicit_dim("log_softmax", input, dim)
    return _log_softmax(input if dtype is None else input.to(dtype), dim)


@composite(namespace="nn.functional")
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax of ``-input`` over `dim`."""
    return functional_softmax(-input, implicit_dim("softmin", input, dim), dtype=dtype)


@composite(namespace="nn.functional")
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of the softmax relaxed by `tau`: ``softmax((logits + gumbel noise) / tau)`` over `dim`.

    With `hard`, one-hot samples that have the gradient of the soft ones. `eps` is deprecated and has no effect.
    Sources: E. Jang et al. and C. Maddison et al., 2016.
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = empty_like(logits, memory_format=contiguous_format).exponential_()       # in the order of the indices
    soft = _softmax((logits - R.log(noise)) / tau, dim)
    if not hard:
        return soft
    largest = soft.detach().argmax(dim, True)
    chosen = zeros_like(soft.detach()).scatter(dim, largest, 1.0)
    return chosen - soft.detach() + soft
