"""layer_norm and rms_norm: a row at a time, forward and backward.

They keep the means and the reciprocal deviations in the place of r, and nothing in that of y, which tells kernels
apart: NumPy's compute both again where one is missing.
"""

import numpy as np

from ....ops.nn.standardise import count_over
from ..eager import kernel, plain, shared
from ..parts import ENOUGH, MOST


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
    parts = max(1, min(input.size // ENOUGH, MOST))
    few = sums = None
    if parameters:
        few, sums = np.zeros((parts, 2, d), input.dtype), np.zeros((parts, 2, d))
    shared("rows", "layer_norm_backward", input, "pppp pppll di", grad, input, weight, kept, dx, few, sums, input.size // d, d,
           eps, centred)
    return dx, sums if sums is None else sums.sum(0).astype(input.dtype)


@kernel("affine_norm_backward", when=of_row_gradients, sample=many_gradients)
def affine_norm_backward(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    dx, sums = projected(grad, input, weight, r, dims, eps, centred, True)
    shape = [input.shape[d] for d in dims]
    return dx, sums[0].reshape(shape), sums[1].reshape(shape)


@kernel("standardize_backward", when=lambda F, grad, input, y=None, r=None, dims=(), eps=0.0, centred=True:
        of_row_gradients(F, grad, input, None, y, r, dims=dims), sample=lambda d: (lambda inputs, attrs: (
            inputs[:2], attrs))(*many_gradients(d)))
def standardize_backward(F, grad, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    return projected(grad, input, None, r, dims, eps, centred, False)[0]
