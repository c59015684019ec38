"""Op definitions: mean 0 and variance 1 over some dimensions, the basis of all normalisations (`norm.py`).

`standardize` is ``y = (x - mean) r`` with ``r = 1 / sqrt(var + eps)``, over n elements. Its Jacobian
is symmetric, ``J a = r (a - mean(a) - y mean(a y))``. Not `centred` (as in RMSNorm), the mean is left out of both.
"""

import functools

from ...core.op import Other
from ..define import op
from ..shapes.shape import count


# ---- dimensions --------------------------------------------------------------------------------------------
def kept_shape(shape, dims):
    """`shape` with size 1 in place of `dims`."""
    return [1 if d in dims else n for d, n in enumerate(shape)]


def count_over(shape, dims):
    return count([shape[d] for d in dims])


def share(shape, dims):
    """One over the number of elements in `dims`; 1 where there are none, whose derivatives are empty."""
    return 1 / max(count_over(shape, dims), 1)


@functools.cache
def batch_dims(ndim):
    """All dimensions but that of the channels."""
    return (0, *range(2, ndim))


# ---- plain array code --------------------------------------------------------------------------------------
def mean_over(F, x, dims):
    """The mean over `dims`, kept as size 1."""
    return F.sum(x, dim=dims, keepdim=True) / count_over(x.shape, dims)


def moments(F, x, dims):
    """Mean and (biased) variance over `dims`, kept as size 1."""
    mean = mean_over(F, x, dims)
    return mean, mean_over(F, (x - mean) ** 2, dims)


def standardised(F, input, dims, eps, centred):
    """y in the shape of `input` and r, kept as size 1."""
    centre = input - mean_over(F, input, dims) if centred else input
    r = 1 / F.xp.sqrt(mean_over(F, centre * centre, dims) + eps)
    return centre * r, r


def projected(F, grad, y, r, dims, centred):
    """``J grad``."""
    slope = grad - y * mean_over(F, grad * y, dims)
    return r * (slope - mean_over(F, grad, dims) if centred else slope)


# ---- definitions -------------------------------------------------------------------------------------------
def norm_sample(d, n):
    dims = d.choice([(1,), (0, 2), (1, 2), (0,)])
    return [d.array((2, 3, 2)) for _ in range(n)], dict(dims=dims, eps=0.1, centred=d.bool())


@op(dims="* [dims], * [dims], * 1@dims -> * [dims]",
    node_name="StandardiseBackward0", promotion="floating", namespace=None,
    autocast="float32 on cuda",
    sample=lambda d: norm_sample(d, 1), input=lambda F, g, input, out, r, dims, eps, centred: F.standardize_backward(
        g, input, out, r, dims=dims, eps=eps, centred=centred))
def standardize(F, input, y: Other = None, r: Other = None, *, dims=(), eps: float = 0.0, centred=True):
    """``(input - mean) r`` over `dims`; just `y`, if it is known."""
    return standardised(F, input, dims, eps, centred)[0] if y is None else y


@op(dims="* [dims], * [dims], * [dims], * 1@dims -> * [dims]",
    promotion="floating", namespace=None, sample=lambda d: norm_sample(d, 2),
    grad=lambda F, g, input, y, r, dims, eps, centred: F.standardize_backward(
        g, input, y, r, dims=dims, eps=eps, centred=centred),
    input=lambda F, g, grad, input, dims, eps, centred: standardise_curvature(
        F, g, grad, input, dict(dims=dims, eps=eps, centred=centred)))
def standardize_backward(F, grad, input, y: Other = None, r: Other = None, *, dims=(), eps: float = 0.0, centred=True):
    """``J grad``; a kernel takes `y` and `r` from the forward pass where they are given."""
    y, r = standardised(F, input, dims, eps, centred)
    return projected(F, grad, y, r, dims, centred)


def standardise_curvature(F, a, b, input, how):
    """The gradient of ``a . J b`` by the input: ``-r / n (y (a . J b) + (b . y) J a + (a . y) J b)``."""
    y = F.standardize(input, None, None, **how)
    ja, jb = F.standardize_backward(a, input, None, None, **how), F.standardize_backward(b, input, None, None, **how)

    def dot(u, v):
        return F.sum(u * v, dim=how["dims"], keepdim=True)
    r = F.rstd(input, **how)
    return (y * dot(a, jb) + ja * dot(b, y) + jb * dot(a, y)) * r * -share(input.shape, how["dims"])


@op(dims="* [dims] -> * 1@dims",
    node_name="InverseDeviationBackward0", promotion="floating", namespace=None,
    sample=lambda d: norm_sample(d, 1),
    input=lambda F, g, input, out, dims, eps, centred: g * out * out * F.standardize(
        input, None, None, dims=dims, eps=eps, centred=centred) * -share(input.shape, dims))
def rstd(F, input, *, dims, eps: float, centred):
    """``r``: one over the standard deviation over `dims`, kept as size 1."""
    return standardised(F, input, dims, eps, centred)[1]


@op(dims="* [d] -> *, *",
    promotion="floating", namespace=None, outputs=(False, False),
    sample=lambda d: ([d.array((2, 3))], {}))
def row_moments(F, input):
    """The mean and the (biased) variance over the last dimension."""
    mean, var = moments(F, input, (-1,))
    return mean[..., 0], var[..., 0]
