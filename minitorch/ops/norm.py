"""The op table, normalisation: mean 0 and variance 1 over some dimensions, then a learnt scale and shift.

All of them rest on `standardise`, ``x^ = (x - mean) r`` with ``r = 1 / sqrt(var + eps)`` over n elements. Its Jacobian
is symmetric: ``J a = r (a - mean(a) - x^ mean(a x^))``.
"""

from ..autograd.graph import written
from ..op import Other, composite, op
from ..tensor import wrap
from .shape import count


# ---- sums over rows ----------------------------------------------------------------------------------------
def last_dims(dims, ndim):
    """Whether `dims` are the last ones, in order."""
    return dims == tuple(range(ndim - len(dims), ndim))


def sum_over(xp, x, dims):
    """The sum over `dims`, kept as size 1; of contiguous rows as a product with ones, which is faster."""
    if x.flags.c_contiguous and last_dims(dims, x.ndim) and x.size:
        lead = x.shape[:x.ndim - len(dims)]
        rows = x.reshape(count(lead), -1)
        if rows.shape[1] > 8:
            return xp.dot(rows, xp.ones(rows.shape[1], x.dtype)).reshape(*lead, *(1,) * len(dims))
    return xp.add.reduce(x, dims, keepdims=True)


def count_over(shape, dims):
    return count([shape[d] for d in dims])


# ---- mean 0, variance 1 ------------------------------------------------------------------------------------
def norm_sample(d, n):
    dims = d.choice([(1,), (0, 2), (1, 2), (0,)])
    return [d.array((2, 3, 2)) for _ in range(n)], dict(dims=dims, eps=0.1)


def standardised(F, input, dims, eps):
    """x^ and r."""
    n = count_over(input.shape, dims)
    out = input - sum_over(F.xp, input, dims) / n
    deviation = 1 / F.xp.sqrt(sum_over(F.xp, out * out, dims) / n + eps)
    out *= deviation
    return out, deviation


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 1),
    input=lambda F, g, input, out, r, dims, eps: F.standardise_backward(g, input, out, r, dims=dims, eps=eps))
def standardise(F, input, out_: Other = None, r: Other = None, *, dims=(), eps=0.0):
    """``x^``: `input` less its mean over `dims`, times ``1 / sqrt(variance + eps)``; `out_` and `r` if known."""
    return standardised(F, input, dims, eps)[0] if out_ is None else out_


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 2),
    grad=lambda F, g, input, out_, r, dims, eps: F.standardise_backward(g, input, out_, r, dims=dims, eps=eps),
    input=lambda F, g, grad, input, dims, eps: standardise_curvature(F, g, grad, input, dims, eps))
def standardise_backward(F, grad, input, out_: Other = None, r: Other = None, *, dims=(), eps=0.0):
    """``J grad``; `out_` and `r`, those of the forward pass, are computed again if not given."""
    if out_ is None or r is None:
        out_, r = standardised(F, input, dims, eps)
    n = count_over(input.shape, dims)
    out = grad * out_
    out = out_ * (sum_over(F.xp, out, dims) / -n)
    out += grad
    out -= sum_over(F.xp, grad, dims) / n
    out *= r
    return out


def standardise_curvature(F, a, b, input, dims, eps):
    """The gradient of ``a . J b`` by the input: ``-r / n (x^ (a . J b) + (b . x^) J a + (a . x^) J b)``."""
    y = F.standardise(input, None, None, dims=dims, eps=eps)
    ja = F.standardise_backward(a, input, None, None, dims=dims, eps=eps)
    jb = F.standardise_backward(b, input, None, None, dims=dims, eps=eps)

    def dot(u, v):
        return F.sum(u * v, dim=dims, keepdim=True)
    r = F.inverse_deviation(input, dims=dims, eps=eps)
    return (y * dot(a, jb) + ja * dot(b, y) + jb * dot(a, y)) * r * (-1 / count_over(input.shape, dims))


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 1),
    input=lambda F, g, input, out, dims, eps: g * out * out * F.standardise(input, None, None, dims=dims, eps=eps)
    * (-1 / count_over(input.shape, dims)))
def inverse_deviation(F, input, *, dims, eps):
    """``r``: one over the standard deviation over `dims`, kept as size 1."""
    return standardised(F, input, dims, eps)[1]


# ---- layer_norm --------------------------------------------------------------------------------------------
def trailing(shape, normalized_shape):
    """The dimensions that `normalized_shape` covers."""
    return tuple(range(len(shape) - len(normalized_shape), len(shape)))


def layer_norm_grads(F, g, needs, input, weight, normalized, r, normalized_shape, eps):
    dims = trailing(g.shape, normalized_shape)
    dx = dw = None
    if needs[0]:
        scaled = g if weight is None else g * weight
        dx = F.standardise_backward(scaled, input, normalized, r, dims=dims, eps=eps)
    if needs[1]:
        dw = g * F.standardise(input, normalized, r, dims=dims, eps=eps)
    return dx, dw, g


@op(promotion="floating", namespace=None, node_name="NativeLayerNormBackward0", keeps=("normalized", "r"),
    joint=layer_norm_grads,
    sample=lambda d: ([d.array((2, 3, 2)), d.choice([None, d.array((3, 2))]), d.choice([None, d.array((3, 2))])],
                      dict(normalized_shape=(3, 2), eps=0.1)))
def layer_normalise(F, input, weight=None, bias=None, *, normalized_shape=(), eps=1e-5):
    """``x^ * weight + bias``, standardised over the last dimensions."""
    normalized, r = standardised(F, input, trailing(input.shape, normalized_shape), eps)
    out = normalized.copy() if weight is None else normalized * weight
    if bias is not None:
        out += bias
    return out, normalized, r


@composite(namespace="nn.functional")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    `normalized_shape` is the size of these dimensions, and the shape of `weight` and `bias`. Source: J. Ba et al.,
    "Layer Normalization", 2016.
    """
    normalized_shape = checked_shape("layer_norm", input, normalized_shape, weight, bias)
    return layer_normalise(input, weight, bias, normalized_shape, eps)


def checked_shape(name, input, normalized_shape, *parameters):
    """`normalized_shape` as a tuple; RuntimeError unless it is that of the last dimensions and of the parameters."""
    shape = tuple(normalized_shape) if normalized_shape.__class__ is not int else (normalized_shape,)
    if not shape:
        raise RuntimeError(f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           f"element, but got normalized_shape = {list(shape)}")
    for x in parameters:
        if x is not None and x.array.shape != shape:
            raise RuntimeError(f"Expected weight and bias to be of the same shape as normalized_shape, but got shape "
                               f"{list(x.shape)} and normalized_shape = {list(shape)}")
    if input.array.shape[-len(shape):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, "
                           f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}")
    return shape


# ---- batch_norm --------------------------------------------------------------------------------------------
def channels(x, like):
    """A row of one number a channel in a shape that broadcasts against (N, C, *)."""
    return x if like.ndim == 2 else x.reshape((-1,) + (1,) * (like.ndim - 2))


def batch_dims(ndim):
    return (0, *range(2, ndim))


def batch_norm_grads(F, g, needs, input, weight, mean, r, training, eps):
    dims = batch_dims(g.ndim)
    dx = dw = db = None
    if needs[0]:
        scaled = g if weight is None else g * along(F, weight, g.ndim)
        wide_r = along(F, r, g.ndim)
        dx = F.standardise_backward(scaled, input, None, None, dims=dims, eps=eps) if training else scaled * wide_r
    if needs[1]:
        if training:
            normalized = F.standardise(input, None, None, dims=dims, eps=eps)
        else:
            normalized = (input - along(F, mean, g.ndim)) * along(F, r, g.ndim)
        dw = F.sum(g * normalized, dim=dims)
    if needs[2]:
        db = F.sum(g, dim=dims)
    return dx, dw, db, None, None


def along(F, x, ndim):
    """Numbers of channels (C,) as (C, 1, ...), to broadcast against (N, C, *)."""
    return x if ndim == 2 else F.reshape(x, shape=(-1,) + (1,) * (ndim - 2))


@op(promotion="floating", namespace=None, node_name="NativeBatchNormBackward0", joint=batch_norm_grads,
    sample=lambda d: batch_norm_sample(d))
def batch_normalise(F, input, weight=None, bias=None, mean: Other = None, r: Other = None, *, training=False, eps=1e-5):
    """``(input - mean) r weight + bias`` by channel: (N, C, *) and (C,).

    In training, `mean` and `r` are those of `input` itself, and its gradient takes that into account.
    """
    scale = r if weight is None else r * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    out = input * along(F, scale, input.ndim)
    out += along(F, shift, input.ndim)
    return out


def batch_norm_sample(d):
    x = d.array((3, 2, *d.choice([(), (2,)])))
    mean, r = d.array((2,)), d.array((2,), 0.5, 1.5)
    return [x, d.choice([None, d.array((2,))]), d.choice([None, d.array((2,))]), mean, r], dict(
        training=False, eps=0.1)          # in training, mean and r would have to follow the input


def statistics(xp, x):
    """Mean and (biased) variance of each channel of (N, C, *)."""
    dims = batch_dims(x.ndim)
    n = count_over(x.shape, dims)
    mean = xp.add.reduce(x, dims) / n
    centred = x - channels(mean, x)
    return mean, xp.add.reduce(centred * centred, dims) / n


def update_running(running, value, momentum, name):
    """``running = (1 - momentum) * running + momentum * value``, in place."""
    if running is not None:
        running.array *= 1 - momentum
        running.array += (momentum * value).astype(running.array.dtype)
        written(running, name)


@composite(namespace="nn.functional")
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` by channel, for (N, C) or (N, C, *).

    In training, mean and variance are those of the batch, and `running_mean` and `running_var` (if given) move
    towards them by the share `momentum` (the variance with n - 1); otherwise these two are used. Source: S. Ioffe
    and C. Szegedy, "Batch Normalization", 2015.
    """
    backend, x = input.backend, input.array
    if not x.size:
        return empty_affine(input, weight, bias)
    check_channels(input, running_mean, running_var, weight, bias)
    if training:
        n = x.size // max(x.shape[1], 1)
        if n == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        mean, var = statistics(backend.xp, x if x.itemsize > 2 else x.astype("float32"))
        update_running(running_mean, mean, momentum, "batch_norm")
        update_running(running_var, var * (n / max(n - 1, 1)), momentum, "batch_norm")
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        mean, var = running_mean.array, running_var.array
    r = 1 / backend.xp.sqrt(var + eps)
    return batch_normalise(input, weight, bias, wrap(mean, backend), wrap(r, backend), training, eps)


def empty_affine(input, weight, bias):
    """An empty input times the first weight plus the first bias, so that it is part of the graph."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def check_channels(input, running_mean, running_var, weight, bias):
    if input.array.ndim < 2:
        raise RuntimeError(f"batch_norm expects (N, C) or (N, C, *), got an input of shape {list(input.shape)}")
    c = input.array.shape[1]
    named = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    for name, x in named.items():
        if x is not None and x.array.size != c:
            raise RuntimeError(f"{name} should contain {c} elements not {x.array.size}: one for each channel")
