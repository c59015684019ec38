"""Shapes and strides: merged dimensions, the layouts that strided kernels are given, reshapes without a copy."""

import functools
import math

import numpy as np

__all__ = ["LAYOUT", "broadcast_strides", "collapse", "dense_order", "make_layout", "nocopy_strides", "plan"]

MAX_DIMS, MAX_OPERANDS = 8, 4                              # as in common.cuh, whose struct this is
LAYOUT = np.dtype([("size", "u4"), ("dims", "u4"), ("shape", "u4", MAX_DIMS), ("magic", "u4", MAX_DIMS),
                   ("shift", "u4", MAX_DIMS), ("strides", "i8", (MAX_OPERANDS, MAX_DIMS))], align=True)
MAX_SIZE = 2**31 - 1                                       # elements of one launch


def collapse(shape, strides):
    """Merge neighbouring dimensions that lie one behind the other in every operand; drop those of size 1.

    `strides` has a tuple for each operand. Returns a list of sizes and a list of strides for each operand; one
    dimension at least.

    >>> collapse((2, 1, 3, 4), [(48, 0, 16, 4), (16, 0, 0, 4)])
    ([2, 3, 4], [[48, 16, 4], [16, 0, 4]])
    >>> collapse((2, 3, 4), [(48, 16, 4)])
    ([24], [[4]])
    """
    dims = [(n, *steps) for n, *steps in zip(shape, *strides) if n != 1] or [(1,) + (0,) * len(strides)]
    merged = [dims[0]]
    for n, *steps in dims[1:]:
        size, *outer = merged[-1]
        if all([a == b * n for a, b in zip(outer, steps)]):
            merged[-1] = (size * n, *steps)
        else:
            merged.append((n, *steps))
    return [d[0] for d in merged], [[d[k + 1] for d in merged] for k in range(len(strides))]


def sort_dims(shape, strides):
    """Dimensions in the order of the first operand's strides, the greatest first; all operands alike."""
    order = sorted(range(len(shape)), key=lambda d: -abs(strides[0][d]))
    return [shape[d] for d in order], [[steps[d] for d in order] for steps in strides]


def broadcast_strides(shape, own_shape, strides):
    """The strides of an array as one of `shape`: 0 where it is repeated."""
    missing = len(shape) - len(own_shape)
    return (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(own_shape, strides)])


@functools.lru_cache(maxsize=4096)
def magic(divisor):
    """Numbers (m, s) such that ``n // divisor == (((n * m) >> 32) + n) >> s`` for n below 2**31.

    Granlund and Montgomery, "Division by invariant integers using multiplication" (1994), the case of a rounded-up
    multiplier of 33 bits whose top bit is left out.
    """
    shift = (divisor - 1).bit_length()
    return (((1 << 32) * ((1 << shift) - divisor)) // divisor + 1) & 0xFFFFFFFF, shift


def make_layout(shape, strides):
    """A LAYOUT record of sizes and strides in elements, at most MAX_DIMS dimensions and MAX_SIZE elements; shared."""
    return layout_of(tuple(shape), tuple(map(tuple, strides)))


@functools.lru_cache(maxsize=4096)
def layout_of(shape, strides):
    record = np.zeros((), LAYOUT)
    n = len(shape)
    record["size"], record["dims"], record["shape"][:n] = math.prod(shape), n, shape
    for d, size in enumerate(shape):
        record["magic"][d], record["shift"][d] = magic(size) if size else (0, 0)
    for k, steps in enumerate(strides):
        record["strides"][k, :n] = steps
    return record


@functools.lru_cache(maxsize=4096)
def plan(shape, strides, itemsizes, vector):
    """Launches of an elementwise kernel over arrays of one shape; the first array is written.

    `strides` (bytes) and `itemsizes` have an entry for each array; `vector` is how many elements a thread may take at
    once, if the arrays lie so. Returns that number, or 1, and a list of launches, each the offsets of the arrays in
    elements, a LAYOUT record (whose last dimension counts vectors) and its size.
    """
    steps = [[s // size for s in row] for row, size in zip(strides, itemsizes)]
    shape, steps = collapse(*sort_dims(shape, steps))
    if vector > 1 and (shape[-1] % vector or steps[0][-1] != 1 or any([
            row[-1] not in (0, 1) or row[-1] and any([s % vector for s in row[:-1]]) for row in steps])):
        vector = 1
    if vector > 1:
        shape[-1] //= vector
        steps = [[*row[:-1], row[-1] * vector] for row in steps]
    return vector, [(offsets, make_layout(chunk, rows), math.prod(chunk))
                    for offsets, chunk, rows in chunks_of(shape, steps, [0] * len(steps)) if math.prod(chunk)]


def chunks_of(shape, steps, offsets):
    """Cut along the first dimension until a chunk has few enough dimensions and elements for one launch."""
    inner = math.prod(shape[1:])
    if len(shape) > MAX_DIMS or inner > MAX_SIZE:
        for i in range(shape[0]):
            yield from chunks_of(shape[1:], [row[1:] for row in steps], [o + i * r[0] for o, r in zip(offsets, steps)])
        return
    most = max(1, MAX_SIZE // max(inner, 1))
    for start in range(0, shape[0], most):
        chunk = [min(most, shape[0] - start), *shape[1:]]
        yield [o + start * row[0] for o, row in zip(offsets, steps)], chunk, steps


def nocopy_strides(shape, strides, new_shape):
    """The strides of a view of `new_shape`, in which one size may be -1; None where only a copy will do.

    >>> nocopy_strides((4, 3), (12, 4), (2, 2, 3))
    (24, 12, 4)
    >>> nocopy_strides((3, 4), (4, 12), (12,))
    """
    size = math.prod(shape)
    if -1 in new_shape:
        rest = math.prod([n for n in new_shape if n != -1])
        if not rest or size % rest:
            return None
        new_shape = tuple([size // rest if n == -1 else n for n in new_shape])
    if math.prod(new_shape) != size:
        return None
    if not size:
        return (0,) * len(new_shape)
    sizes, (steps,) = collapse(shape, [strides])
    found, piece, left, step = [], len(sizes) - 1, sizes[-1], steps[-1]
    for n in reversed(new_shape):                          # take the new dimensions out of the merged ones
        if n == 1:
            found.append(step)
            continue
        if left == 1 and piece:
            piece -= 1
            left, step = sizes[piece], steps[piece]
        if left % n:
            return None
        found.append(step)
        left, step = left // n, step * n
    return tuple(reversed(found))


def dense_order(shape, strides, itemsize):
    """The dimensions from slowest to fastest if the array fills its memory without gaps, else None."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], -shape[d]))
    expected = itemsize
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != expected:
                return None
            expected *= shape[d]
    return order
