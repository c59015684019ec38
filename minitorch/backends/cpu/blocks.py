"""Elementwise work in blocks that stay in the processor's cache, for ops that take many steps an element.

On a million floats a chain of NumPy calls is bound by memory: in blocks of 32k, with `out=`, it takes half the time. Of
large arrays several threads take a part each. Helpers of kernels; no kernels of ops here.
"""

import functools

import numpy as np

from ...ops.layouts import empty_like
from .threads import share
from .tuning import tuning


def in_blocks(F, kernel, first, *rest, outputs=1):
    """``kernel(xp, out, first, *rest)`` in blocks of flat, contiguous memory where possible; returns `out`.

    The kernel fills `out`, which is like `first`, from arrays of that one shape. With `outputs` it is given, and this
    returns, several.
    """
    like = F.xp.empty_like if first.flags.c_contiguous else functools.partial(empty_like, F.xp)
    outs = [like(first) for _ in range(outputs)]
    arrays, block = [*outs, first, *rest], F.block
    if block is not None and first.size > block:
        arrays = flattened(arrays)
    if arrays[0].ndim != 1 or block is None:
        kernel(F.xp, *arrays)
    else:
        def run(start):
            kernel(F.xp, *[x[start:start + block] for x in arrays])
        share(run, range(0, first.size, block), first.size)
    return outs[0] if outputs == 1 else outs


def flattened(arrays):
    """Arrays as flat views in the order of their memory, if they all lie in it without gaps in the same order."""
    first = arrays[0]
    if all([x.flags.c_contiguous and x.shape == first.shape for x in arrays]):
        return [x.reshape(-1) for x in arrays]
    order = sorted(range(first.ndim), key=lambda d: -first.strides[d])
    if first.transpose(order).flags.c_contiguous and all([x.strides == first.strides for x in arrays]):
        return [x.transpose(order).reshape(-1) for x in arrays]
    return arrays


def in_row_blocks(F, n, width, body):
    """``body(part)`` for slices of `n` rows of `width` elements, some 65,536 elements each.

    Where a row is shorter than their buffer of 8,192 elements, NumPy's functions copy operands of one number a row into
    it in parts, several rows at a time. Without, rows of a thousand take half the time; rows of a hundred take
    longer. So the buffer is made small meanwhile (in this context only: other threads do not see it).
    """
    most_at_once = F.block
    if most_at_once is None or n * width <= most_at_once:
        return body(slice(0, n))
    step = max(1, 2 * most_at_once // max(width, 1))
    least, most = tuning.buffered_rows
    small = F.xp is np and least <= width < most

    def block(start):
        old = np.setbufsize(16) if small else None
        try:
            body(slice(start, start + step))
        finally:
            if small:
                np.setbufsize(old)
    share(block, range(0, n, step), n * width)


MANY = 1 << 16


def ones(xp, n, dtype):
    """A row of ones, to be read only: a sum as a product with it is several times as fast as `add.reduce`."""
    return many_ones(xp, dtype)[:n] if n <= MANY else xp.ones(n, dtype)


@functools.lru_cache(maxsize=16)
def many_ones(xp, dtype):
    return xp.ones(MANY, dtype)


@functools.lru_cache(maxsize=64)
def numbers(xp, dtype, *values):
    """Numbers as 0-d arrays, to be read only: NumPy's functions take them 0.3 us a call faster than Python's floats."""
    return [xp.array(x, dtype) for x in values]


def is_matrix(x):
    """True if BLAS can read an array as the rows of a matrix."""
    return x.flags.c_contiguous and x.itemsize > 2 and x.dtype.kind in "fV" and x.size > 0


def in_double(F, function, *inputs):
    """``function(xp, *flat)`` on flat arrays of float64, for functions that take hundreds of steps an element.

    `inputs` are float arrays of one dtype and Python numbers, which broadcast; the result has the arrays' dtype,
    rounded once. In blocks, so that what is computed on the way stays in the cache.
    """
    xp = F.xp
    dtype = next(x.dtype for x in inputs if hasattr(x, "dtype"))
    arrays = xp.broadcast_arrays(*[xp.asarray(x, "float64") for x in inputs]) if len(inputs) > 1 else inputs
    shape = arrays[0].shape
    flat = [x.reshape(-1) for x in arrays]
    out = xp.empty(flat[0].size, dtype)
    block = F.block or max(out.size, 1)
    with np.errstate(all="ignore"):
        for start in range(0, out.size, block):
            out[start:start + block] = function(xp, *[x[start:start + block].astype("float64") for x in flat])
    return out.reshape(shape)


def evenly(count, most):
    """Slices of about the same size that divide `count`, none larger than `most`, none larger than the first."""
    parts = -(-count // most)
    return [slice(-(-i * count // parts), -(-(i + 1) * count // parts)) for i in range(parts)]
