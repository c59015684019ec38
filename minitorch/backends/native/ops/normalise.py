"""layer_norm, rms_norm and group_norm, a row at a time, and batch_norm, a channel at a time, forward and backward.

All but the last keep the means and the reciprocal deviations in the place of r, and None in that of y. Backward kernels
know by it which forward kernel ran; NumPy's compute both again where one is missing.
"""

import numpy as np

from ....ops.nn.standardise import batch_dims, count_over
from ..eager import kernel, plain, shared
from ..parts import count_parts
from .sums import work_on


def many_rows(d):
    weight = d.choice([None, d.array((10, 10))])
    bias = d.choice([None, d.array((10, 10))])
    return [d.array((90, 10, 10)), weight, bias], dict(dims=(1, 2), eps=1e-3, centred=d.bool())


def many_gradients(d):
    [x, weight, _], attrs = many_rows(d)
    return [d.array(x.shape), x, weight], attrs


def are_last(x, dims):
    return dims == tuple(range(x.ndim - len(dims), x.ndim)) and len(dims) > 0


def of_rows(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    return plain(input, weight, bias) and are_last(input, dims)


def layer_norm_rows(F, input, weight, bias, dims, eps, centred, kept):
    out, d = np.empty(input.shape, input.dtype), count_over(input.shape, dims)
    shared("rows", "layer_norm", input, "pppppll di", input, weight, bias, out, kept, input.size // d, d, eps, centred)
    return out


def layer_norm_lean(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    return layer_norm_rows(F, input, weight, bias, dims, eps, centred, None)


@kernel("layer_norm", when=of_rows, lean=layer_norm_lean, sample=many_rows)
def layer_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    kept = np.empty((2, input.size // count_over(input.shape, dims)), input.dtype)
    return layer_norm_rows(F, input, weight, bias, dims, eps, centred, kept), None, kept


def of_row_gradients(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    if r is not None and r.shape != (2, input.size // max(count_over(input.shape, dims), 1)):
        return False
    return (y is None and plain(grad, input, weight, r) and grad.shape == input.shape and are_last(input, dims)
            and not (dims == (0, *range(2, input.ndim)) and input.ndim > 1))


def projected(grad, input, weight, kept, dims, eps, centred, parameters):
    """The gradient of the input, and those of weight and bias if they are asked for."""
    dx, d = np.empty(input.shape, input.dtype), count_over(input.shape, dims)
    parts = count_parts(input.size)
    few = sums = None
    if parameters:
        few, sums = np.zeros((parts, 2, d), input.dtype), np.zeros((parts, 2, d))
    shared("rows", "layer_norm_backward", input, "pppp pppll di", grad, input, weight, kept, dx, few, sums,
           input.size // d, d, eps, centred)
    return dx, sums if sums is None else sums.sum(0).astype(input.dtype)


def of_channels(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    return plain(input, weight, bias) and input.ndim > 1 and dims == batch_dims(input.ndim)


def by_channels(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return y is not None and y.ndim == 1 and of_channels(F, input, dims=dims)


def of_gradients(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    """True for gradients of rows, and of channels where `batch_norm` has kept their means."""
    if y is None:
        return of_row_gradients(F, grad, input, weight, y, r, dims=dims)
    return (y.ndim == 1 and r is not None and r.shape == y.shape and grad.shape == input.shape
            and plain(input, grad, weight, y, r) and of_channels(F, input, dims=dims))


def gradients(d):
    if d.bool():
        return many_gradients(d)
    (x, weight, _), attrs = channels(d)
    dims = attrs["dims"]
    mean, r = x.mean(dims), 1 / np.sqrt(x.var(dims) + 1e-3)
    return [d.array(x.shape), x, weight, mean, r], dict(attrs, centred=True)


def channels(d):
    c = d.choice([3, 70])
    x = d.array(d.choice([(9, c, 200), (90, c)]))
    return [x, *[d.choice([None, d.array((c,))]) for _ in range(2)]], dict(dims=batch_dims(x.ndim), eps=1e-3)


@kernel("batch_norm", called=True, when=of_channels, sample=channels)
def batch_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    n, c = input.shape[:2]
    out = np.empty(input.shape, input.dtype)
    mean, var, r = (np.empty(c, input.dtype) for _ in range(3))
    each = input.size // (n * c)
    shared("channels", "batch_norm", input, "ppppppp llld", input, weight, bias, out, mean, var, r, n, c, each, eps,
           size=work_on(input, c, each))
    return (out, mean, var), mean, r


def batch_norm_backward(grad, input, weight, mean, r):
    n, c = input.shape[:2]
    dx, dw, db = (np.empty(shape, input.dtype) for shape in (input.shape, c, c))
    each = input.size // (n * c)
    shared("channels", "batch_norm_backward", input, "pppppppp lll", grad, input, weight, mean, r, dx, dw, db, n, c,
           each, size=work_on(input, c, each))
    return dx, dw, db


@kernel("affine_norm_backward", called=by_channels, when=of_gradients, sample=gradients)
def affine_norm_backward(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    if y is not None:
        return batch_norm_backward(grad, input, weight, y, r)
    dx, sums = projected(grad, input, weight, r, dims, eps, centred, True)
    shape = [input.shape[d] for d in dims]
    return dx, sums[0].reshape(shape), sums[1].reshape(shape)


@kernel("standardize_backward", when=lambda F, grad, input, y=None, r=None, dims=(), eps=0.0, centred=True:
        of_row_gradients(F, grad, input, None, y, r, dims=dims), sample=lambda d: (lambda inputs, attrs: (
            inputs[:2], attrs))(*many_gradients(d)))
def standardize_backward(F, grad, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return projected(grad, input, None, r, dims, eps, centred, False)[0]


def of_new_rows(F, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return y is None and of_rows(F, input, dims=dims)


@kernel("standardize", when=of_new_rows, sample=lambda d: (lambda inputs, attrs: (inputs[:1], attrs))(*many_rows(d)))
def standardize(F, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return layer_norm_lean(F, input, dims=dims, eps=eps, centred=centred)


# ---- group_norm ---------------------------------------------------------------------------------------------
def many_groups(d):
    parameters = [d.choice([None, d.array((6,))]) for _ in range(2)]
    return [d.array((9, 6, *d.choice([(), (40,), (5, 9)]))), *parameters], dict(groups=d.choice([1, 2, 3]), eps=1e-3)


@kernel("group_norm", called=True, sample=many_groups,
        when=lambda F, input, weight=None, bias=None, groups=1, eps=1e-5: plain(input, weight, bias))
def group_norm(F, input, weight=None, bias=None, *, groups=1, eps=1e-5):
    n, c = input.shape[:2]
    out, kept = np.empty(input.shape, input.dtype), np.empty((2, n * groups), input.dtype)
    shared("rows", "group_norm", input, "ppppp llll d", input, weight, bias, out, kept, n * groups, groups, c // groups,
           input.size // (n * c), eps)
    return out, None, kept
