"""The op table, normalisation: mean 0 and variance 1 over some dimensions, then a learnt scale and shift.

All of them rest on `standardise`, ``y = (x - mean) r`` with ``r = 1 / sqrt(var + eps)``, over n elements. Its Jacobian
is symmetric, ``J a = r (a - mean(a) - y mean(a y))``. Not `centred` (as in RMSNorm), the mean is left out of both.

The kernels see every array as (A, B, D), whose sums over A and D are wanted: rows (1, B, D) for layer_norm, images
(N, C, H W) or, if memory is channels-last, (N H W, C, 1) for batch_norm. Sums are products with ones, by BLAS:
NumPy's own are several times slower.
"""

from ..autograd.graph import written
from ..dtypes import finfo
from ..op import Other, composite, op, publish
from ..tensor import wrap
from .blocks import ones
from .pad import pad
from .shape import count


# ---- arrays as (A, B, D) -----------------------------------------------------------------------------------
def folding(x, dims):
    """The order of dimensions, and the sizes (A, B, D), in which to see `x`."""
    n, shape = x.ndim, x.shape
    order = tuple(range(n))
    if dims == order[n - len(dims):]:
        return order, (1, count(shape[:n - len(dims)]), count_over(shape, dims))
    if dims == batch_dims(n):
        last = (0, *range(2, n), 1)
        if n == 2 or (not x.flags.c_contiguous and x.transpose(last).flags.c_contiguous):
            return last, (count_over(shape, dims), shape[1], 1)
        return order, (shape[0], shape[1], count(shape[2:]))
    rest = tuple([d for d in order if d not in dims])
    return rest + dims, (1, count_over(shape, rest), count_over(shape, dims))


def fold(x, order, sizes):
    return x.transpose(order).reshape(sizes)


def room(F, like, order, sizes):
    """An array of the shape of `like` for a result, and the same memory folded."""
    if order == tuple(range(like.ndim)):
        out = F.xp.empty(like.shape, like.dtype)
        return out, out.reshape(sizes)
    if like.transpose(order).flags.c_contiguous:           # channels-last
        out = F.xp.empty_like(like)
        return out, fold(out, order, sizes)
    folded = F.xp.empty([like.shape[d] for d in order], like.dtype)
    return folded.transpose(sorted(range(len(order)), key=order.__getitem__)), folded.reshape(sizes)


def kept_shape(shape, dims):
    """`shape` with size 1 in place of `dims`."""
    return [1 if d in dims else n for d, n in enumerate(shape)]


def count_over(shape, dims):
    return count([shape[d] for d in dims])


def batch_dims(ndim):
    """All dimensions but that of the channels."""
    return (0, *range(2, ndim))


def sums(xp, x):
    """Sums over A and D: (A, B, D) to (B,)."""
    a, b, d = x.shape
    rows = xp.dot(x.reshape(a * b, d), ones(xp, d, x.dtype)) if d > 1 else x
    rows = rows.reshape(a, b)
    return rows[0] if a == 1 else xp.dot(ones(xp, a, x.dtype), rows)


def dots(xp, x, y):
    """Sums of products over A and D: (A, B, D) to (B,)."""
    if x.shape[2] == 1:
        return xp.einsum("ab,ab->b", x[:, :, 0], y[:, :, 0])
    rows = xp.vecdot(x, y)
    return rows[0] if len(rows) == 1 else xp.add.reduce(rows, 0)


def row_blocks(F, sizes):
    """Slices of B that keep a block in the cache: of rows (A = 1); all else is one block."""
    a, b, d = sizes
    step = b if F.block is None or a != 1 else max(1, F.block // max(d, 1))
    return [slice(i, i + step) for i in range(0, b, step)] or [slice(0, 0)]


# ---- mean 0, variance 1 ------------------------------------------------------------------------------------
def standardised(xp, y, x, eps, centred):
    """Fill the folded array `y` from `x`; r, the mean (0 if not `centred`) and the variance, of shape (B,)."""
    n = x.shape[0] * x.shape[2]
    mean = sums(xp, x) / n if centred else 0
    if centred:
        x = xp.subtract(x, mean[:, None], out=y)
    var = dots(xp, x, x) / n
    r = 1 / xp.sqrt(var + eps)
    xp.multiply(x, r[:, None], out=y)
    return r, mean, var


def standardised_blocks(F, input, dims, eps, centred):
    """y in the shape of `input` and r, kept as size 1."""
    order, sizes = folding(input, dims)
    x, r = fold(input, order, sizes), F.xp.empty(sizes[1], input.dtype)
    out, y = room(F, input, order, sizes)
    for part in row_blocks(F, sizes):
        r[part], _, _ = standardised(F.xp, y[:, part], x[:, part], eps, centred)
    return out, r.reshape(kept_shape(input.shape, dims))


def norm_sample(d, n):
    dims = d.choice([(1,), (0, 2), (1, 2), (0,)])
    return [d.array((2, 3, 2)) for _ in range(n)], dict(dims=dims, eps=0.1, centred=d.bool())


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 1),
    input=lambda F, g, input, out, r, dims, eps, centred: F.standardise_backward(
        g, input, out, r, dims=dims, eps=eps, centred=centred))
def standardise(F, input, y: Other = None, r: Other = None, *, dims=(), eps=0.0, centred=True):
    """``(input - mean) r`` over `dims`; just `y`, if it is known."""
    return standardised_blocks(F, input, dims, eps, centred)[0] if y is None else y


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 2),
    grad=lambda F, g, input, y, r, dims, eps, centred: F.standardise_backward(
        g, input, y, r, dims=dims, eps=eps, centred=centred),
    input=lambda F, g, grad, input, dims, eps, centred: standardise_curvature(
        F, g, grad, input, dict(dims=dims, eps=eps, centred=centred)))
def standardise_backward(F, grad, input, y: Other = None, r: Other = None, *, dims=(), eps=0.0, centred=True):
    """``J grad``; `y` and `r` of the forward pass are computed again if they are not given."""
    if y is None or r is None:
        y, r = standardised_blocks(F, input, dims, eps, centred)
    order, sizes = folding(y, dims)
    out, dx = room(F, y, order, sizes)
    g, y, r = fold(grad, order, sizes), fold(y, order, sizes), r.reshape(-1)
    for part in row_blocks(F, sizes):
        project(F.xp, dx[:, part], g[:, part], y[:, part], r[part], centred)
    return out


def project(xp, out, g, y, r, centred):
    """``out = r (g - mean(g) - y mean(g y))`` on folded arrays."""
    n = y.shape[0] * y.shape[2]
    xp.multiply(y, (dots(xp, g, y) / -n)[:, None], out=out)
    out += g
    if centred:
        out -= (sums(xp, g) / n)[:, None]
    out *= r[:, None]


def standardise_curvature(F, a, b, input, how):
    """The gradient of ``a . J b`` by the input: ``-r / n (y (a . J b) + (b . y) J a + (a . y) J b)``."""
    y = F.standardise(input, None, None, **how)
    ja, jb = F.standardise_backward(a, input, None, None, **how), F.standardise_backward(b, input, None, None, **how)

    def dot(u, v):
        return F.sum(u * v, dim=how["dims"], keepdim=True)
    r = F.inverse_deviation(input, **how)
    return (y * dot(a, jb) + ja * dot(b, y) + jb * dot(a, y)) * r * (-1 / count_over(input.shape, how["dims"]))


@op(promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 1),
    input=lambda F, g, input, out, dims, eps, centred: g * out * out * F.standardise(
        input, None, None, dims=dims, eps=eps, centred=centred) * (-1 / count_over(input.shape, dims)))
def inverse_deviation(F, input, *, dims, eps, centred):
    """``r``: one over the standard deviation over `dims`, kept as size 1."""
    return standardised_blocks(F, input, dims, eps, centred)[1]


# ---- scaled and shifted ------------------------------------------------------------------------------------
def broad(F, x, ndim, dims):
    """Weights in a shape that broadcasts: those of `dims` themselves, if these are the last, or of channels (C,)."""
    if ndim == 2 or dims != batch_dims(ndim):
        return x
    return F.reshape(x, shape=(-1,) + (1,) * (ndim - 2))


def affine_grads(F, g, needs, input, weight, y, r, dims, eps, centred):
    """The rule of both norms below: gradients of input, weight and bias."""
    how = dict(dims=dims, eps=eps, centred=centred)
    g = g[0] if g.__class__ in (tuple, list) else g
    if not needs[1] and not needs[2]:
        g = g if weight is None else g * broad(F, weight, g.ndim, dims)
        return F.standardise_backward(g, input, y, r, **how), None, None
    dx, dw, db = F.affine_backward(g, input, weight, y, r, **how)
    return dx, dw if needs[1] else None, db


def affine_curvature(F, g, needs, grad, input, weight, dims, eps, centred):
    """The rule of `affine_backward`: with ``dx = J(w grad)``, ``dw = sum(y grad)``, ``db = sum(grad)``."""
    how = dict(dims=dims, eps=eps, centred=centred)
    a, b, c = g
    w = 1.0 if weight is None else broad(F, weight, grad.ndim, dims)
    b, c = (x if x is None else broad(F, x, grad.ndim, dims) for x in (b, c))
    by_grad = by_input = by_weight = None
    if a is not None:
        ja = F.standardise_backward(a, input, None, None, **how)
        by_grad, by_input = ja * w, standardise_curvature(F, a, grad * w, input, how)
        by_weight = over_samples(F, grad * ja, dims) if needs[2] else None
    if b is not None:
        y = F.standardise(input, None, None, **how)
        by_grad = total(by_grad, b * y)
        by_input = total(by_input, F.standardise_backward(b * grad, input, None, None, **how))
    if c is not None:
        by_grad = total(by_grad, c + grad * 0.0)
    return by_grad, by_input, by_weight


def total(x, y):
    return y if x is None else x + y


def over_samples(F, x, dims):
    """The sum that a weight's gradient is: over all but `dims`, or over all but the channels."""
    last = tuple(range(x.ndim - len(dims), x.ndim))
    return F.sum(x, dim=tuple(range(last[0])) if dims == last else dims) if dims != last or last[0] else x


def affine_sample(d, backward=False):
    dims = d.choice([(1, 2), (0, 2)])
    shape, size = (2, 3, 2), (3, 2) if dims == (1, 2) else (3,)
    weights = [d.choice([None, d.array(size)])]
    inputs = [d.array(shape), d.array(shape), *weights] if backward else [d.array(shape), *weights, d.choice(
        [None, d.array(size)])]
    return inputs, dict(dims=dims, eps=0.1, centred=d.bool())


@op(promotion="floating", namespace=None, outputs=(True, True, True), joint=affine_curvature,
    sample=lambda d: affine_sample(d, backward=True))
def affine_backward(F, grad, input, weight=None, y: Other = None, r: Other = None, *, dims=(), eps=0.0, centred=True):
    """The gradients of input, weight and bias of ``standardise(input) * weight + bias``."""
    if y is None or r is None:
        y, r = standardised_blocks(F, input, dims, eps, centred)
    order, sizes = folding(y, dims)
    out, dx = room(F, y, order, sizes)
    g, y, r = fold(grad, order, sizes), fold(y, order, sizes), r.reshape(-1)
    if dims == batch_dims(grad.ndim) and not dims == order[grad.ndim - len(dims):]:
        dw, db = channel_gradients(F.xp, dx, g, y, r, weight, centred)
    else:
        dw, db = row_gradients(F, dx, g[0], y[0], r, weight, centred)
        dw, db = (x.reshape([grad.shape[d] for d in dims]) for x in (dw, db))
    return out, dw, db


def channel_gradients(xp, dx, g, y, r, weight, centred):
    """For weights (B,), which scale the projection; the sums in it are the gradients of weight and bias."""
    n = y.shape[0] * y.shape[2]
    dw, db = dots(xp, g, y), sums(xp, g)
    xp.multiply(y, (dw / -n)[:, None], out=dx)
    dx += g
    if centred:
        dx -= (db / n)[:, None]
    dx *= (r if weight is None else r * weight)[:, None]
    return dw, db


def row_gradients(F, dx, g, y, r, weight, centred):
    """For weights (D,), by which `g` is multiplied before the projection."""
    xp, w = F.xp, None if weight is None else weight.reshape(-1)
    for part in row_blocks(F, dx.shape):
        scaled = g[part] if w is None else g[part] * w
        project(xp, dx[:, part], scaled[None], y[None, part], r[part], centred)
    return xp.einsum("bd,bd->d", g, y), xp.dot(ones(xp, len(g), g.dtype), g)


# ---- layer_norm, rms_norm ----------------------------------------------------------------------------------
@op(promotion="floating", namespace=None, node_name="NativeLayerNormBackward0", keeps=("y", "r"), joint=affine_grads,
    sample=lambda d: ([d.array((2, 3, 2)), d.choice([None, d.array((3, 2))]), d.choice([None, d.array((3, 2))])],
                      dict(dims=(1, 2), eps=0.1, centred=d.bool())))
def layer_normalise(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    """``standardise(input) * weight + bias`` over the last dimensions."""
    order, sizes = folding(input, dims)
    (out, z), (kept, y) = room(F, input, order, sizes), room(F, input, order, sizes)
    x, r = input.reshape(sizes), F.xp.empty(sizes[1], input.dtype)
    weight, bias = (p if p is None else p.reshape(-1) for p in (weight, bias))
    for part in row_blocks(F, sizes):
        r[part], _, _ = standardised(F.xp, y[:, part], x[:, part], eps, centred)
        F.xp.multiply(y[:, part], 1 if weight is None else weight, out=z[:, part])
        if bias is not None:
            z[:, part] += bias
    return out, kept, r.reshape(kept_shape(input.shape, dims))


@composite(namespace="nn.functional")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    `normalized_shape` is the size of these dimensions, and the shape of `weight` and `bias`. Source: J. Ba et al.,
    "Layer Normalization", 2016.
    """
    dims = last_dims(input, normalized_shape, weight, bias)
    return layer_normalise(input, weight, bias, dims, eps)


@composite(namespace="nn.functional")
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """``x / sqrt(mean(x^2) + eps) * weight``, the mean over the last dimensions, whose sizes `normalized_shape` are.

    `eps` is by default the machine epsilon of the dtype. Source: B. Zhang and R. Sennrich, "Root Mean Square Layer
    Normalization", 2019.
    """
    dims = last_dims(input, normalized_shape, weight)
    return layer_normalise(input, weight, None, dims, finfo(input.dtype).eps if eps is None else eps, False)


def last_dims(input, normalized_shape, *parameters):
    """The dimensions that `normalized_shape` stands for; RuntimeError unless all shapes agree."""
    shape = tuple(normalized_shape) if normalized_shape.__class__ is not int else (normalized_shape,)
    sizes, k = input.array.shape, len(shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    for x in parameters:
        if x is not None and x.array.shape != shape:
            raise RuntimeError(f"Expected weight and bias to be of the same shape as normalized_shape, but got a "
                               f"parameter of shape {list(x.shape)} and normalized_shape = {list(shape)}")
    if sizes[-k:] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, "
                           f"{', '.join(map(str, shape))}], but got input of size{list(sizes)}")
    return tuple(range(len(sizes) - k, len(sizes)))


# ---- batch_norm --------------------------------------------------------------------------------------------
@op(promotion="floating", namespace=None, node_name="NativeBatchNormBackward0", outputs=(True, False, False),
    keeps=("y", "r"), joint=affine_grads,
    sample=lambda d: ([d.array((3, 2, *(rest := d.choice([(), (2,), (2, 1)])))), d.choice([None, d.array((2,))]),
                       d.choice([None, d.array((2,))])], dict(dims=batch_dims(2 + len(rest)), eps=0.1)))
def batch_normalise(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    """``standardise(input) * weight + bias`` by channel, and the mean and the (biased) variance of the channels."""
    order, sizes = folding(input, dims)
    (out, z), (kept, y) = room(F, input, order, sizes), room(F, input, order, sizes)
    r, mean, var = standardised(F.xp, y, fold(input, order, sizes), eps, centred)
    F.xp.multiply(y, 1 if weight is None else weight[:, None], out=z)
    if bias is not None:
        z += bias[:, None]
    return (out, mean, var), kept, r


def fixed_grads(F, g, needs, input, weight, mean, r):
    """The rule of `fixed_normalise`."""
    dims = batch_dims(g.ndim)
    r = broad(F, r, g.ndim, dims)
    dx = dw = db = None
    if needs[0]:
        dx = g * (r if weight is None else r * broad(F, weight, g.ndim, dims))
    if needs[1]:
        dw = F.sum(g * (input - broad(F, mean, g.ndim, dims)) * r, dim=dims)
    if needs[2]:
        db = F.sum(g, dim=dims)
    return dx, dw, db, None, None


@op(promotion="floating", namespace=None, node_name="NativeBatchNormBackward0", joint=fixed_grads,
    sample=lambda d: ([d.array((3, 2, *d.choice([(), (2,)]))), d.choice([None, d.array((2,))]),
                       d.choice([None, d.array((2,))]), d.array((2,)), d.array((2,), 0.5, 1.5)], {}))
def fixed_normalise(F, input, weight=None, bias=None, mean: Other = None, r: Other = None):
    """``(input - mean) r weight + bias`` by channel, with statistics that do not depend on the input."""
    scale = r if weight is None else r * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    dims = batch_dims(input.ndim)
    out = input * broad(F, scale, input.ndim, dims)
    out += broad(F, shift, input.ndim, dims)
    return out


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
    x = input.array
    if training and x.ndim > 1 and x.size == x.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not x.size:
        return empty_affine(input, weight, bias)
    check_channels("batch_norm", input, running_mean, running_var, weight, bias)
    if not training:
        return with_running(input, running_mean, running_var, weight, bias, eps)
    out, mean, var = batch_normalise(input, weight, bias, batch_dims(x.ndim), eps)
    n = x.size // x.shape[1]
    update_running(running_mean, mean.array, momentum, "batch_norm")
    update_running(running_var, var.array * (n / (n - 1)), momentum, "batch_norm")
    return out


def with_running(input, running_mean, running_var, weight, bias, eps):
    if running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when not training: pass them, or "
                           "training=True")
    r = wrap(1 / input.backend.xp.sqrt(running_var.array + eps), input.backend)
    return fixed_normalise(input, weight, bias, running_mean, r)


def empty_affine(input, weight, bias):
    """An empty input times the first weight plus the first bias, so that these are part of the graph."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def check_channels(name, input, running_mean, running_var, weight, bias):
    if input.array.ndim < 2:
        raise RuntimeError(f"{name} expects (N, C) or (N, C, *), got an input of shape {list(input.shape)}")
    c = input.array.shape[1]
    for what, x in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if x is not None and x.array.size != c:
            raise RuntimeError(f"{what} should contain {c} elements not {x.array.size}: one for each channel")


# ---- by groups and by instances ----------------------------------------------------------------------------
def scale_channels(x, weight, bias):
    """``x * weight + bias`` by channel."""
    wide = (-1,) + (1,) * (x.ndim - 2)
    x = x if weight is None else x * weight.reshape(wide)
    return x if bias is None else x + bias.reshape(wide)


@composite(namespace="nn.functional")
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over each of `num_groups` groups of channels.

    `input` is (N, C, *); `weight` and `bias` are (C,). Source: Y. Wu and K. He, "Group Normalization", 2018.
    """
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    n, c = shape[:2]
    if num_groups <= 0 or c % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(shape)} and num_groups={num_groups}")
    if n * c // num_groups * count(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    check_channels("group_norm", input, None, None, weight, bias)
    if not input.array.size:
        return scale_channels(input.clone(), weight, bias)
    groups = input.reshape(n, num_groups, -1)
    return scale_channels(standardise(groups, dims=(2,), eps=eps).reshape(shape), weight, bias)


@composite(namespace="nn.functional")
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance of each channel of each sample (N, C, *).

    Not `use_input_stats`: those of `running_mean` and `running_var`, which otherwise move towards the batch's means
    of them by the share `momentum`. Source: D. Ulyanov et al., "Instance Normalization", 2016.
    """
    shape = input.array.shape
    check_channels("instance_norm", input, running_mean, running_var, weight, bias)
    if not use_input_stats:
        return with_running(input, running_mean, running_var, weight, bias, eps)
    n = count(shape[2:])
    if n == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if running_mean is not None or running_var is not None:
        x = input.array.reshape(1, shape[0] * shape[1], n)
        _, mean, var = standardised(input.backend.xp, input.backend.xp.empty_like(x), x, eps, True)
        update_running(running_mean, mean.reshape(shape[:2]).mean(0), momentum, "instance_norm")
        update_running(running_var, var.reshape(shape[:2]).mean(0) * (n / (n - 1)), momentum, "instance_norm")
    return scale_channels(standardise(input, dims=tuple(range(2, len(shape))), eps=eps), weight, bias)


@composite(namespace="nn.functional")
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """``x / (k + alpha * mean of x^2 over `size` neighbouring channels) ** beta``, zeros beyond the ends; (N, C, *).

    Source: A. Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", 2012.
    """
    if input.array.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if not input.array.size:
        return input
    squares = input * input
    sides = (0, 0) * (input.ndim - 2) + (size // 2, (size - 1) // 2)
    sums = pad(squares, sides).unfold(1, size, 1).sum(-1)
    means = sums / size if input.is_floating_point() else sums // size
    return input / (means * alpha + k) ** beta


for call in (layer_norm, group_norm, rms_norm):
    publish(call, call.__name__, method=False)
