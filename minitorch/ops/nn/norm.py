"""Op definitions: normalisation to mean 0 and variance 1 over some dimensions, then a learnt scale and shift.

layer_norm and rms_norm standardise each row, batch_norm each channel of a batch, group_norm groups of channels and
instance_norm each channel of each sample. See `standardize` for the mathematics.
"""

import math

from ...core.arrays import counted, is_half
from ...core.dtypes import float32, promote_types
from ...core.graph import bump_version, calling_line, versions
from ...core.op import Other
from ...core.promotion import MixedPrecision
from ...core.tensor import wrap
from ...host.type_info import finfo
from ..define import composite, op, publish
from ..shapes.convert import to
from ..shapes.shape import count
from .pad import pad
from .standardise import batch_dims, moments, projected, standardise_curvature, standardised


# ---- scaled and shifted ------------------------------------------------------------------------------------
def by_channel(ndim, dims):
    """True if weights belong to channels (C,); otherwise to the last dimensions, which are those standardised."""
    return dims == batch_dims(ndim) and ndim > 1


def broad(F, x, ndim, dims):
    """Weights in a shape that broadcasts."""
    if ndim == 2 or not by_channel(ndim, dims):
        return x
    return F.reshape(x, shape=(-1,) + (1,) * (ndim - 2))


def affine_grads(F, g, needs, input, weight, y, r, dims, eps, centred):
    """The derivatives of both norms below: gradients of input, weight and bias."""
    how = dict(dims=dims, eps=eps, centred=centred)
    g = g[0] if g.__class__ in (tuple, list) else g
    if not needs[1] and not needs[2] and not by_channel(g.ndim, dims):
        g = g if weight is None else g * broad(F, weight, g.ndim, dims)
        return F.standardize_backward(g, input, y, r, **how), None, None
    dx, dw, db = F.affine_norm_backward(g, input, weight, y, r, **how)
    return dx, dw if needs[1] else None, db


def affine_curvature(F, g, needs, grad, input, weight, dims, eps, centred):
    """The derivatives of `affine_norm_backward`: with ``dx = J(w grad)``, ``dw = sum(y grad)``, ``db = sum(grad)``."""
    how = dict(dims=dims, eps=eps, centred=centred)
    a, b, c = g
    w = 1.0 if weight is None else broad(F, weight, grad.ndim, dims)
    b, c = (x if x is None else broad(F, x, grad.ndim, dims) for x in (b, c))
    by_grad = by_input = by_weight = None
    if a is not None:
        ja = F.standardize_backward(a, input, None, None, **how)
        by_grad, by_input = ja * w, standardise_curvature(F, a, grad * w, input, how)
        by_weight = over_samples(F, grad * ja, dims) if needs[2] else None
    if b is not None:
        y = F.standardize(input, None, None, **how)
        by_grad = total(by_grad, b * y)
        by_input = total(by_input, F.standardize_backward(b * grad, input, None, None, **how))
    if c is not None:
        by_grad = total(by_grad, c + grad * 0.0)
    return by_grad, by_input, by_weight


def total(x, y):
    return y if x is None else x + y


def over_samples(F, x, dims):
    """Reduce a full gradient to the weight's shape: sum over all but `dims`, or over all but the channels."""
    last = tuple(range(x.ndim - len(dims), x.ndim))
    return F.sum(x, dim=tuple(range(last[0])) if dims == last else dims) if dims != last or last[0] else x


def affine_sample(d, backward=False):
    dims = d.choice([(1, 2), (0, 2)])
    shape, size = (2, 3, 2), (3, 2) if dims == (1, 2) else (3,)
    weights = [d.choice([None, d.array(size)])]
    inputs = [d.array(shape), d.array(shape), *weights] if backward else [d.array(shape), *weights, d.choice(
        [None, d.array(size)])]
    return inputs, dict(dims=dims, eps=0.1, centred=d.bool())


def affine_backward_dims(dims):
    """Weights of channels if all other dimensions are standardised, else of those dimensions."""
    if dims == batch_dims(max(dims) + 1 + (len(dims) == 1)) and 0 in dims:
        return "[dims] c, [dims] c, c, c, c -> [dims] c, c, c"      # y: what `batch_norm` keeps
    return ("* [dims], * [dims], [dims@0], * [dims], * 1@dims"
            " -> * [dims], [dims@0], [dims@0]")


@op(dims=affine_backward_dims,
    promotion="floating", namespace=None, outputs=(True, True, True), joint=affine_curvature,
    tangent="reference",
    sample=lambda d: affine_sample(d, backward=True))
def affine_norm_backward(F, grad, input, weight=None, y: Other = None, r: Other = None, *, dims=(), eps=0.0,
                         centred=True):
    """The gradients of input, weight and bias of ``standardize(input) * weight + bias``."""
    y, r = standardised(F, input, dims, eps, centred)
    scaled = grad if weight is None else grad * broad(F, weight, grad.ndim, dims)
    dx = projected(F, scaled, y, r, dims, centred)
    return dx, over_samples(F, grad * y, dims), over_samples(F, grad, dims)


def in_own_type(norm, input, *rest):
    """``norm(input, *rest)``; a 16-bit `input` with float32 weights is computed in float32, and its first result
    rounded to its type.
    """
    try:
        return norm(input, *rest)
    except MixedPrecision:
        out = norm(to(input, float32), *rest)
    return (to(out[0], input.dtype), *out[1:]) if isinstance(out, tuple) else to(out, input.dtype)


# ---- layer_norm, rms_norm ----------------------------------------------------------------------------------
@op(dims="* [dims], [dims@0], [dims@0] -> * [dims]",
    name="layer_norm", promotion="norm", namespace=None, node_name="NativeLayerNormBackward0",
    autocast="float32 on cuda", keeps=("y", "r"), joint=affine_grads, tangent="reference",
    sample=lambda d: ([d.array((2, 3, 2)), d.choice([None, d.array((3, 2))]), d.choice([None, d.array((3, 2))])],
                      dict(dims=(1, 2), eps=0.1, centred=d.bool())))
def _layer_norm(F, input, weight=None, bias=None, *, dims=(), eps: float = 1e-5, centred=True):
    """``standardize(input) * weight + bias`` over the last dimensions."""
    y, r = standardised(F, input, dims, eps, centred)
    out = y * (1 if weight is None else weight)
    return out if bias is None else out + bias, y, r


@composite(namespace="nn.functional")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    `normalized_shape` is the size of these dimensions, and the shape of `weight` and `bias`. Source: J. Ba et al.,
    "Layer Normalization", 2016.
    """
    dims = last_dims(input, normalized_shape, weight, bias)
    return in_own_type(_layer_norm, input, weight, bias, dims, eps)


@composite(namespace="nn.functional", autocast="float32 on cuda")
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """``x / sqrt(mean(x^2) + eps) * weight``, the mean over the last dimensions, whose sizes `normalized_shape` are.

    `eps` is by default the machine epsilon of the dtype, of float32 for 16-bit floats. Source: B. Zhang and R.
    Sennrich, "Root Mean Square Layer Normalization", 2019.
    """
    dims = last_dims(input, normalized_shape, weight)
    if input.array.dtype.kind == "c":
        square = (input * input).mean(dims, True) + (finfo(input.dtype.to_real()).eps if eps is None else eps)
        return input * square.rsqrt() if weight is None else input * square.rsqrt() * weight
    eps = finfo(float32 if is_half(input.array.dtype) else input.dtype).eps if eps is None else eps
    if weight is None or weight.array.dtype is input.array.dtype:
        return _layer_norm(input, weight, None, dims, eps, False)
    wide = promote_types(input.dtype, weight.dtype)
    return to(_layer_norm(to(input, wide), to(weight, wide), None, dims, eps, False), input.dtype)


def last_dims(input, normalized_shape, *parameters):
    """The dimensions that `normalized_shape` stands for; RuntimeError unless all shapes agree."""
    shape = tuple(normalized_shape) if normalized_shape.__class__ is not int else (normalized_shape,)
    sizes, k = input.array.shape, len(shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    for name, x in zip(("weight", "bias"), parameters):
        if x is not None and x.array.shape != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got "
                               f"{name} of shape {list(x.shape)} and normalized_shape = "
                               f"{list(shape)}")
    if sizes[-k:] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, "
                           f"{', '.join(map(str, shape))}], but got input of size{list(sizes)}")
    return tuple(range(len(sizes) - k, len(sizes)))


# ---- batch_norm --------------------------------------------------------------------------------------------
@op(dims="[dims] c, c, c -> [dims] c, c, c",
    layout="channels", name="batch_norm", promotion="norm", namespace=None, node_name="NativeBatchNormBackward0",
    outputs=(True, False, False), keeps=("y", "r"), joint=affine_grads,
    sample=lambda d: ([d.array((3, 2, *(rest := d.choice([(), (2,), (2, 1)])))), d.choice([None, d.array((2,))]),
                       d.choice([None, d.array((2,))])], dict(dims=batch_dims(2 + len(rest)), eps=0.1)))
def _batch_norm(F, input, weight=None, bias=None, *, dims=(), eps: float = 1e-5, centred=True):
    """``standardize(input) * weight + bias`` by channel, and the mean and the (biased) variance of the channels.

    It keeps the mean (C,) in place of y, from which y can be computed again.
    """
    mean, var = [x.reshape(-1) for x in moments(F, input, dims)]
    r = 1 / F.xp.sqrt(var + eps)
    return (F.batch_norm_inference(input, weight, bias, mean, r), mean, var), mean, r


def fixed_grads(F, g, needs, input, weight, mean, r):
    """The derivatives of `batch_norm_inference`."""
    dims = batch_dims(g.ndim)
    r = broad(F, r, g.ndim, dims)
    dx = dw = db = None
    if needs[0]:
        dx = g * (r if weight is None else r * broad(F, weight, g.ndim, dims))
    if needs[1]:
        dw = F.dot_channels(g, (input - broad(F, mean, g.ndim, dims)) * r)
    if needs[2]:
        db = F.sum(g, dim=dims)
    return dx, dw, db, None, None


@op(dims="n c *, c, c, c, c -> n c *",
    layout="channels", promotion="norm", namespace=None, node_name="NativeBatchNormBackward0", joint=fixed_grads,
    flat=("input", "bias"),
    sample=lambda d: ([d.array((3, 2, *d.choice([(), (2,)]))), d.choice([None, d.array((2,))]),
                       d.choice([None, d.array((2,))]), d.array((2,)), d.array((2,), 0.5, 1.5)], {}))
def batch_norm_inference(F, input, weight=None, bias=None, mean: Other = None, r: Other = None):
    """``(input - mean) r weight + bias`` by channel, with statistics that do not depend on the input."""
    scale = r if weight is None else r * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    dims = batch_dims(input.ndim)
    out = input * broad(F, scale, input.ndim, dims)
    out += broad(F, shift, input.ndim, dims)
    return out


def update_running(running_mean, running_var, mean, var, n, momentum, name):
    """``running = (1 - momentum) * running + momentum * value``, in place, for both statistics,
    which may be None; the variance of `n` elements is divided by ``n - 1``."""
    if getattr(mean, "backend", mean) is not mean and mean.backend.level is not None:
        mean, var = [x.backend.detached(x)[0] for x in (mean, var)]
    moved = [x for x in ((running_mean, mean, 1.0), (running_var, var, n / (n - 1)))
             if x[0] is not None]
    if not moved:
        return
    given, values, factors = zip(*moved)
    for running in given:
        if getattr(mean, "backend", running.backend) is not running.backend:
            raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, which "
                               "will be updated in place, were not batched.\nIf you are using modules and do not need "
                               "eval mode, please set `track_running_stats` to be False, or replace_all_batch_norm_"
                               "modules_(model), or use a GroupNorm.")
    momentum = float(momentum)                             # a NumPy float64 would make float64
    arrays = [x.array for x in given]
    if not given[0].backend.move_all(arrays, values, momentum, factors):
        for array, value, factor in zip(arrays, values, factors):
            array *= 1 - momentum
            array += (momentum * (value * factor)).astype(array.dtype, copy=False)
    versions.bump([counted(x) for x in arrays], name, calling_line())


def count_batch(counter):
    """Add 1 to a number of batches in place: in one array call, which no other thread comes between."""
    counter.array += 1
    bump_version(counter, "batch_norm")


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
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if not x.size:
        return empty_affine(input, weight, bias)
    check_channels("batch_norm", input, running_mean, running_var, weight, bias)
    if running_var is not None and running_var.array.dtype is not (x if weight is None else weight.array).dtype:
        check_statistics(input, running_mean, running_var, weight)
    if not training:
        return with_running(input, running_mean, running_var, weight, bias, eps)
    out, mean, var = in_own_type(_batch_norm, input, weight, bias, batch_dims(x.ndim), eps)
    n = x.size // x.shape[1]
    update_running(running_mean, running_var, mean.array, var.array, n, momentum, "batch_norm")
    return out


def with_running(input, running_mean, running_var, weight, bias, eps):
    if running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when not training: pass them, or "
                           "training=True")
    wide = running_var.array if running_var.array.itemsize > 2 else running_var.array.astype("float32")
    r = wrap(input.backend.rsqrt(wide + float(eps)), input.backend)
    return in_own_type(batch_norm_inference, input, weight, bias, running_mean, r)


def empty_affine(input, weight, bias):
    """An empty input times the first weight plus the first bias, so that these are part of the graph."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return to(out if bias is None else out + bias[0], input.dtype)


def check_channels(name, input, running_mean, running_var, weight, bias):
    if input.array.ndim < 2:
        raise RuntimeError(f"{name} expects (N, C) or (N, C, *), got an input of shape {list(input.shape)}")
    c = input.array.shape[1]
    for x in (running_mean, running_var, weight, bias):
        if x is not None and x.array.size != c:
            what = "running_mean" if x is running_mean else "running_var" if x is running_var else \
                "weight" if x is weight else "bias"
            raise RuntimeError(f"{what} should contain {c} elements not {x.array.size}: one for each channel")


def check_statistics(input, running_mean, running_var, weight):
    """RuntimeError for running statistics of another type than the weights, or the input, have."""
    wanted = (input if weight is None else weight).array.dtype
    for what, x in (("running_mean", running_mean), ("running_var", running_var)):
        d = wanted if x is None else x.array.dtype
        if d != wanted and not (weight is None and is_half(wanted) and d == "float32"):
            raise RuntimeError(f"expected scalar type {wanted} but found {d}: {what} must have the type of "
                               f"{'the input' if weight is None else 'weight'}, as in {what}.to({input.dtype})")


# ---- by groups and by instances ----------------------------------------------------------------------------
def rows_of(shape, groups):
    """The shape of the rows that `group_norm` standardises, also of no samples."""
    return shape[0], groups, math.prod(shape[1:]) // groups


def group_grads(F, g, needs, input, weight, y, r, groups, eps):
    """The derivatives of `group_norm`: rows of groups are standardised, channels are scaled."""
    dims, rows = batch_dims(g.ndim), rows_of(g.shape, groups)
    dx = dw = db = None
    if needs[0]:
        scaled = g if weight is None else g * broad(F, weight, g.ndim, dims)
        dx = F.reshape(F.standardize_backward(F.reshape(scaled, shape=rows), F.reshape(input, shape=rows), y, r,
                                              dims=(2,), eps=eps, centred=True), shape=g.shape)
    if needs[1]:
        found = F.standardize(F.reshape(input, shape=rows), y, r, dims=(2,), eps=eps, centred=True)
        dw = F.dot_channels(g, F.reshape(found, shape=g.shape))
    if needs[2]:
        db = F.sum(g, dim=dims)
    return dx, dw, db


@op(dims="n [c *], [c], [c] -> n [c *]",
    layout="channels", name="group_norm", promotion="norm", namespace=None, node_name="NativeGroupNormBackward0",
    autocast="float32 on cuda",
    keeps=("y", "r"), joint=group_grads,
    sample=lambda d: ([d.array((2, 4, *d.choice([(), (2,)]))), d.choice([None, d.array((4,))]),
                       d.choice([None, d.array((4,))])], dict(groups=d.choice([1, 2]), eps=0.1)))
def _group_norm(F, input, weight=None, bias=None, *, groups=1, eps=1e-5):
    """Each group of channels standardised, then each channel times its weight plus its bias."""
    y, r = standardised(F, input.reshape(rows_of(input.shape, groups)), (2,), eps, True)
    out = y.reshape(input.shape) * (1 if weight is None else broad(F, weight, input.ndim, batch_dims(input.ndim)))
    return out if bias is None else out + broad(F, bias, input.ndim, batch_dims(input.ndim)), y, r


@op(dims="n c *, n c * -> c",
    promotion="same", namespace=None,
    sample=lambda d: ([d.array((2, 3, 2)), d.array((2, 3, 2))], {}),
    a=lambda F, g, b: broad(F, g, b.ndim, batch_dims(b.ndim)) * b,
    b=lambda F, g, a: broad(F, g, a.ndim, batch_dims(a.ndim)) * a)
def dot_channels(F, a, b):
    """``sum(a * b)`` over all but the channels: (N, C, *) twice to (C,)."""
    return F.sum(a * b, dim=batch_dims(a.ndim))


def scale_channels(x, weight, bias):
    """``x * weight + bias`` by channel."""
    wide = (-1,) + (1,) * (x.ndim - 2)
    x = x if weight is None else x * weight.reshape(wide)
    return x if bias is None else x + bias.reshape(wide)


def by_group(input, weight, bias, groups, eps):
    """`group_norm` of arguments that are checked."""
    if not input.array.size:
        return to(scale_channels(input.clone(), weight, bias), input.dtype)
    return in_own_type(_group_norm, input, weight, bias, groups, eps)


@composite(namespace="nn.functional")
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """``(x - mean) / sqrt(var + eps) * weight + bias``, mean and variance over each of `num_groups` groups of channels.

    `input` is (N, C, *); `weight` and `bias` are (C,). Source: Y. Wu and K. He, "Group Normalization", 2018.
    """
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    n, c = shape[:2]
    if num_groups.__index__() <= 0 or c % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(shape)} and num_groups={num_groups}")
    if n * c // num_groups * count(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    check_channels("group_norm", input, None, None, weight, bias)
    return by_group(input, weight, bias, num_groups, eps)


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
        x = input.array.astype("float32") if is_half(input.array.dtype) else input.array
        mean, var = [input.backend.mean(v, dim=0) for v in input.backend.row_moments(x.reshape(*shape[:2], n))]
        update_running(running_mean, running_var, mean, var, n, momentum, "instance_norm")
    return by_group(input.contiguous(), weight, bias, shape[1], eps)     # and so is the result


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
