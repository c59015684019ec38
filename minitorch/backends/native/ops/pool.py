"""Max pooling over one or two dimensions."""

from math import prod

import numpy as np

from ....ops.nn.pool import Pooling
from ..eager import kernel, plain, shared


def windows(d):
    """Planes, and windows that may overlap, lie apart, reach into the padding."""
    n = d.choice([1, 2, 2])
    size = tuple([d.choice([6, 9, 16, 21]) for _ in range(n)])
    kernel_ = tuple([d.int(1, 3) for _ in range(n)])
    stride, dilation = tuple([d.int(1, 3) for _ in range(n)]), tuple([d.int(1, 2) for _ in range(n)])
    padding = tuple([d.int(0, k // 2) for k in kernel_])
    out = tuple([(s + 2 * p - e * (k - 1) - 1) // t + 1 for s, p, e, k, t in zip(size, padding, dilation, kernel_,
                                                                                  stride)])
    return d.distinct((2, 3, *size)), Pooling(kernel_, stride, padding, dilation, out)


def forward_sample(d):
    x, pooling = windows(d)
    return [x], dict(pooling=pooling)


def backward_sample(d):
    x, pooling = windows(d)
    return [d.array((2, 3, *pooling.out)), x], dict(pooling=pooling)


def takes(F, input, *, pooling):
    n = len(pooling.out)
    return n < 3 and plain(input) and not pooling.miss(input.shape[input.ndim - n:])


def takes_both(F, grad, input, *, pooling):
    return takes(F, input, pooling=pooling) and grad.dtype == input.dtype and grad.__class__ is np.ndarray


def run(name, arrays, x, pooling):
    """Call a function with arrays, then planes, sizes, and the geometry; one dimension is a row of a plane."""
    n = len(pooling.out)
    size, out, row = x.shape[x.ndim - n:], pooling.out, n == 1
    size, out = ((1, *size), (1, *out)) if row else (size, out)
    how = np.array([[one, *values] if row else values for values, one in zip(pooling[:4], (1, 1, 0, 1))], np.int64)
    shared("channels", name, x, "p" * len(arrays) + "lllllp", *arrays, prod(x.shape[:x.ndim - n]), *size, *out, how)


@kernel("max_pool", when=takes, sample=forward_sample)
def max_pool(F, input, *, pooling):
    out = np.empty((*input.shape[:input.ndim - len(pooling.out)], *pooling.out), input.dtype)
    run("max_pool", (input, out), input, pooling)
    return out


@kernel("max_pool_backward", when=takes_both, sample=backward_sample)
def max_pool_backward(F, grad, input, *, pooling):
    out = np.zeros(input.shape, input.dtype)
    run("max_pool_backward", (np.ascontiguousarray(grad), input, out), input, pooling)
    return out
