"""layer_norm, rms_norm, batch_norm and group_norm, forward and backward, on folded arrays (see `standardize`)."""

from ...ops.nn.norm import broad, by_channel, rows_of
from ...ops.nn.standardise import batch_dims, kept_shape
from .backend import kernel
from .channels import normalise, normalise_backward
from .standardise import dots, empty_folded, fold, folding, project, project_channels, standardise_folded, standardised
from .sums import column_dots, column_sums


# ---- layer_norm, rms_norm ----------------------------------------------------------------------------------
def layer_norm_lean(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    """The result only: everything happens in its memory."""
    order, sizes = folding(input, dims)
    out, z = empty_folded(F, input, order, sizes)
    weight, bias = (p if p is None else p.reshape(-1) for p in (weight, bias))
    standardise_folded(F, z, input.reshape(sizes), eps, centred, None if weight is bias is None else z, weight, bias)
    return out


@kernel("layer_norm", lean=layer_norm_lean)
def layer_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    order, sizes = folding(input, dims)
    (out, z), (kept, y) = empty_folded(F, input, order, sizes), empty_folded(F, input, order, sizes)
    weight, bias = (p if p is None else p.reshape(-1) for p in (weight, bias))
    r, _, _ = standardise_folded(F, y, input.reshape(sizes), eps, centred, z, weight, bias)
    return out, kept, r.reshape(kept_shape(input.shape, dims))


def add_layer_norm_lean(F, input, residual, weight=None, bias=None, *, eps=1e-5, centred=True):
    total = input + residual
    return F.layer_norm(total, weight, bias, dims=(total.ndim - 1,), eps=eps, centred=centred), total


@kernel("add_layer_norm", lean=add_layer_norm_lean)
def add_layer_norm(F, input, residual, weight=None, bias=None, *, eps=1e-5, centred=True):
    total = input + residual
    out, y, r = F.full_layer_norm(total, weight, bias, dims=(total.ndim - 1,), eps=eps, centred=centred)
    return (out, total), y, r


def sample_by_channel(d):
    """The mean of each channel in the place of y, as `batch_norm` keeps it."""
    input, eps = d.array((3, 2, 4)), 0.1
    mean, r = input.mean((0, 2)), 1 / (input.var((0, 2)) + eps) ** 0.5
    return ([d.array((3, 2, 4)), input, d.choice([None, d.array((2,))]), mean, r],
            dict(dims=(0, 2), eps=eps, centred=True))


@kernel("affine_norm_backward", sample=sample_by_channel)
def affine_norm_backward(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    if y is None or r is None:
        y, r = standardised(F, input, dims, eps, centred)
    order, sizes = folding(input, dims)
    out, dx = empty_folded(F, input, order, sizes)
    g, r = fold(grad, order, sizes), r.reshape(-1)
    if y.ndim < input.ndim:                                # the mean of each channel, kept by `batch_norm`
        return out, *normalise_backward(F, dx, g, fold(input, order, sizes), weight, y, r)
    y = fold(y, order, sizes)
    if by_channel(grad.ndim, dims):
        return out, *project_channels(F, dx, g, y, r if weight is None else r * weight, centred)
    project(F, dx, g, y, r, centred, weight if weight is None else weight.reshape(-1))
    shape = [grad.shape[d] for d in dims]
    dw, db = column_dots(F, g[0], y[0]), column_sums(F.xp, g[0])
    return out, dw.reshape(shape), db.reshape(shape)


# ---- batch_norm, group_norm --------------------------------------------------------------------------------
@kernel("batch_norm")
def batch_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    order, sizes = folding(input, dims)
    (out, z), x = empty_folded(F, input, order, sizes), fold(input, order, sizes)
    mean, var, r = normalise(F, z, x, weight, bias, eps)
    return (out, mean, var), mean, r


@kernel("group_norm")
def group_norm(F, input, weight=None, bias=None, *, groups=1, eps=1e-5):
    x = input.reshape(rows_of(input.shape, groups))
    y, r = standardised(F, x, (2,), eps, True)
    out, dims = y.reshape(input.shape), batch_dims(input.ndim)
    out = out * (1 if weight is None else broad(F, weight, input.ndim, dims))
    if bias is not None:
        out += broad(F, bias, input.ndim, dims)
    return out, y, r


@kernel("dot_channels")
def dot_channels(F, a, b):
    order, sizes = folding(a, batch_dims(a.ndim))
    return dots(F, fold(a, order, sizes), fold(b, order, sizes))
