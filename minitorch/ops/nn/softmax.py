"""The op table, softmax and its logarithm, over one dimension."""

import warnings

from ...backends.cpu.blocks import in_row_blocks, ones
from ...core.op import composite, op
from ...core.op import recorded as R
from ..creation.create import empty_like, zeros_like


def total(F, x, dim):
    """The sum over `dim`, kept as size 1; over the last one as a product with ones, which is several times faster."""
    if dim in (-1, x.ndim - 1) and x.ndim and x.shape[-1] > 8 and x.flags.c_contiguous:
        n = x.shape[-1]
        return F.xp.dot(x.reshape(-1, n), ones(F.xp, n, x.dtype)).reshape(*x.shape[:-1], 1)
    return F.xp.add.reduce(x, dim, keepdims=True)


def are_rows(F, dim, *arrays):
    """Whether `dim` is the last one and the arrays' rows lie in memory one after the other: then blocks pay."""
    n = arrays[0].ndim
    return (F.block is not None and n > 0 and dim in (-1, n - 1) and arrays[0].size > 1024
            and all([x.flags.c_contiguous for x in arrays]))


LEVEL = 512, 2048          # widths up to which one shift for a block is tried: always, or if the first rows allow it


def exponentials(F, x, dim, divide=False):
    """``exp(x - shift)``, its sums over `dim`, and the shift that keeps it from overflow: the maximum over `dim`.

    With `divide`, the first is divided by the second. Where blocks of rows were shifted by one number each, the shift
    is an array that says so for each row.
    """
    xp = F.xp
    if not are_rows(F, dim, x):
        shift = xp.maximum.reduce(x, dim, keepdims=True)
        e = x - shift
        xp.exp(e, out=e)
        sums = total(F, e, dim)
        return xp.divide(e, sums, out=e) if divide else e, sums, shift
    d = x.shape[-1]
    rows, e = x.reshape(-1, d), xp.empty(x.shape, x.dtype)
    sums, shift = (xp.empty((len(rows), 1), x.dtype) for _ in range(2))
    out = e.reshape(-1, d)
    common = len(rows) > 16 and (d <= LEVEL[0] or d <= LEVEL[1] and are_level(xp, rows[:64]))

    def block(part):
        e = out[part]
        shift[part], sums[part] = _, summed = exponentials_of_rows(xp, rows[part], e, common)
        if divide:
            xp.multiply(e, xp.reciprocal(summed), out=e)
    in_row_blocks(F, len(rows), d, block)
    kept = *x.shape[:-1], 1
    return e, sums.reshape(kept), shift.reshape(kept)


def are_level(xp, rows):
    """Whether the maxima of rows are so close that the largest will do for all."""
    tops = xp.maximum.reduce(rows, 1)
    return bool(xp.maximum.reduce(tops) - xp.minimum.reduce(tops) < 10)


def exponentials_of_rows(xp, x, out, common):
    """Fill `out` with ``exp(x - shift)``; the shift and the sums of rows.

    The maxima of short rows take as long as all the rest. If `common`, the maximum of all is tried first, which will do
    unless some row lies far below it.
    """
    weights = ones(xp, x.shape[1], x.dtype)
    if common:
        shift = xp.maximum.reduce(x, None)
        xp.subtract(x, shift, out=out)
        xp.exp(out, out=out)
        sums = xp.dot(out, weights)
        if xp.minimum.reduce(sums) > 1e-5:                 # False for NaN
            return shift, sums[:, None]
    shift = xp.maximum.reduce(x, 1, keepdims=True)
    xp.subtract(x, shift, out=out)
    xp.exp(out, out=out)
    return shift, xp.dot(out, weights)[:, None]


@op(promotion="floating", namespace=None, node_name="SoftmaxBackward0", autocast="float32 on cuda", shown="softmax",
    input=lambda F, g, out, dim: F.softmax_backward(g, out, dim=dim))
def softmax_along(F, input, *, dim):
    """``exp(input) / exp(input).sum(dim)``, shifted by the maximum so that it cannot overflow."""
    if not input.size:
        return input.copy()
    if not input.ndim:
        return F.softmax_along(input.reshape(1), dim=dim).reshape(())
    return exponentials(F, input, dim, divide=True)[0]


@op(promotion="floating", namespace=None, sample=lambda d: backward_sample(d),
    grad=lambda F, g, out_, dim: F.softmax_backward(g, out_, dim=dim),
    out_=lambda F, g, grad, out_, dim: g * (grad - F.sum(grad * out_, dim=dim, keepdim=True))
    - grad * F.sum(g * out_, dim=dim, keepdim=True))
def softmax_backward(F, grad, out_, *, dim):
    """``out_ * (grad - sum(grad * out_))``, the derivative of softmax in terms of its result."""
    xp = F.xp
    if not are_rows(F, dim, grad, out_) or grad.shape != out_.shape:
        out = grad * out_
        out -= out_ * total(F, out, dim)
        return out
    d = grad.shape[-1]
    out = xp.empty(grad.shape, grad.dtype)
    g, y, dx = (x.reshape(-1, d) for x in (grad, out_, out))

    def block(part):
        xp.subtract(g[part], xp.vecdot(g[part], y[part])[:, None], out=dx[part])
        xp.multiply(dx[part], y[part], out=dx[part])
    in_row_blocks(F, len(g), d, block)
    return out


@op(promotion="floating", namespace=None, node_name="LogSoftmaxBackward0",
    autocast="float32 on cuda", shown="log_softmax",
    input=lambda F, g, out, dim: F.log_softmax_backward(g, out, dim=dim))
def log_softmax_along(F, input, *, dim):
    """``input - log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow."""
    if not input.size:
        return input.copy()
    if not input.ndim:
        return F.log_softmax_along(input.reshape(1), dim=dim).reshape(())
    powers, sums, shift = exponentials(F, input, dim)
    out = F.xp.subtract(input, shift, out=powers)
    out -= F.xp.log(sums)
    return out


@op(promotion="floating", namespace=None, sample=lambda d: backward_sample(d),
    grad=lambda F, g, out_, dim: g - F.sum(F.exp(out_) * g, dim=dim, keepdim=True),
    out_=lambda F, g, grad, out_, dim: -g * F.exp(out_) * F.sum(grad, dim=dim, keepdim=True))
def log_softmax_backward(F, grad, out_, *, dim):
    """``grad - exp(out_) * sum(grad)``, the derivative of log_softmax in terms of its result."""
    out = F.xp.exp(out_, out=F.xp.empty_like(out_))
    out *= total(F, grad, dim)
    return F.xp.subtract(grad, out, out=out)


def backward_sample(d):
    shape = d.shape(1)
    return [d.array(shape), d.array(shape)], dict(dim=d.int(-len(shape), len(shape) - 1))


# ---- the public functions ----------------------------------------------------------------------------------
@composite
def softmax(input, dim, dtype=None):
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first.

    >>> import minitorch
    >>> minitorch.softmax(minitorch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return softmax_along(input if dtype is None else input.to(dtype), dim)


@composite
def log_softmax(input, dim, dtype=None):
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
    return log_softmax_along(input if dtype is None else input.to(dtype), dim)


def implicit_dim(name, input, dim):
    """The dimension that PyTorch takes where none is given, with its warning."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  f"argument.", stacklevel=3)
    return 0 if input.ndim in (0, 1, 3) else 1


@composite(public_name="softmax", namespace="nn.functional")
def functional_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax over `dim`: ``exp(x) / sum(exp(x))``; with `dtype`, `input` is cast to it first."""
    dim = implicit_dim("softmax", input, dim)
    return softmax_along(input if dtype is None else input.to(dtype), dim)


@composite(public_name="log_softmax", namespace="nn.functional")
def functional_log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of the softmax over `dim`, without overflow; with `dtype`, `input` is cast to it first."""
    dim = implicit_dim("log_softmax", input, dim)
    return log_softmax_along(input if dtype is None else input.to(dtype), dim)


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
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = empty_like(logits).exponential_()
    soft = softmax_along((logits - R.log(noise)) / tau, dim)
    if not hard:
        return soft
    largest = soft.detach().argmax(dim, True)
    chosen = zeros_like(soft.detach()).scatter(dim, largest, 1.0)
    return chosen - soft.detach() + soft
