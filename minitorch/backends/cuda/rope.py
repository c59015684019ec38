"""Rotary positions: `kernels/rope.cu`. The backward pass is the same kernel with the sines negated."""

from ...core.backend import takes_halves
from ...ops.nn.fused import check_rope
from .elementwise import moved
from .kernel import Kernel
from .layout import broadcast_strides, collapse, make_layout, pieces_of
from .rows import decline, dense, is_float

__all__ = ["KERNELS"]

PAIRS = Kernel("rope.cu", "turn_pairs", "T* out, const T* input, const T* cos, const T* sin, i64 half, Layout layout")
BLOCK = 256


def along_memory(F, x):
    """The array, or a copy of it if the elements of its last dimension do not lie one behind the other."""
    return x if x.strides[-1] == x.itemsize or x.shape[-1] == 1 else dense(F, x)


def pack_length(half, arrays, steps):
    """How many pairs a thread may turn: the lowest bit set in an address, a stride or the row's length decides."""
    itemsize = arrays[0].itemsize
    reach = half | 16 // itemsize
    for x, own in zip(arrays, steps):
        reach |= x.data.ptr // itemsize
        for step in own:
            reach |= step
    return reach & -reach


def rope(F, input, cos, sin, *, interleaved=False):
    check_rope(input, cos, sin)
    if not input.size or not is_float(input.dtype) or not input.dtype == cos.dtype == sin.dtype:
        return decline(F, "rope", input, cos, sin, interleaved=interleaved)
    out, half = F.empty(input.shape, input.dtype), input.shape[-1] // 2
    arrays = [out, *(along_memory(F, x) for x in (input, cos, sin))]
    outer = input.shape[:-1]
    steps = [[s // x.itemsize for s in broadcast_strides(outer, x.shape[:-1], x.strides[:-1])] for x in arrays]
    vector = pack_length(half, arrays, steps)
    pair = 2 if interleaved else 1
    steps = [[*own, vector * (pair if k < 2 else 1)] for k, own in enumerate(steps)]
    shape, steps = collapse((*outer, half // vector), steps)
    for offsets, piece, rows in pieces_of(shape, steps, [0] * len(arrays)):
        layout = make_layout(piece, rows)
        parts = [moved(F, x, offset) for x, offset in zip(arrays, offsets)]
        PAIRS(F.machine, -(-int(layout["size"]) // BLOCK), BLOCK, *parts, half, layout, VECTOR=vector,
              INTERLEAVED=int(interleaved))
    return out


KERNELS = {"rope": takes_halves(rope)}
