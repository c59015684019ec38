"""layer_norm and rms_norm, a row at a time, and batch_norm, a channel at a time, forward and backward.

The first two keep the means and the reciprocal deviations in the place of r, and None in that of y. Backward kernels
know by it which forward kernel ran; NumPy's compute both again where one is missing.
"""

import numpy as np

from ....ops.nn.standardise import batch_dims, count_over
from ..eager import kernel, plain, shared
from ..parts import count_parts


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
    return plain(input, weight, bias) and input.ndim > 2 and dims == batch_dims(input.ndim)


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
    x = d.array((9, 3, 200))
    mean, r = x.mean((0, 2)), 1 / np.sqrt(x.var((0, 2)) + 1e-3)
    return [d.array(x.shape), x, d.choice([None, d.array((3,))]), mean, r], dict(dims=(0, 2), eps=1e-3, centred=True)


@kernel("batch_norm", called=True, when=of_channels, sample=lambda d: (
    [d.array((9, 3, 200)), d.choice([None, d.array((3,))]), d.choice([None, d.array((3,))])],
    dict(dims=(0, 2), eps=1e-3)))
def batch_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    n, c = input.shape[:2]
    out = np.empty(input.shape, input.dtype)
    mean, var, r = (np.empty(c, input.dtype) for _ in range(3))
    shared("channels", "batch_norm", input, "ppppppp llld", input, weight, bias, out, mean, var, r, n, c,
           input.size // (n * c), eps)
    return (out, mean, var), mean, r


def batch_norm_backward(grad, input, weight, mean, r):
    n, c = input.shape[:2]
    dx, dw, db = (np.empty(shape, input.dtype) for shape in (input.shape, c, c))
    shared("channels", "batch_norm_backward", input, "pppppppp lll", grad, input, weight, mean, r, dx, dw, db, n, c,
           input.size // (n * c))
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
