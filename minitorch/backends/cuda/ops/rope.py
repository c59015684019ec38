"""Rotary positions: `src/rope.cu`. The backward pass is the same kernel with the sines negated."""

from ....ops.nn.fused import check_rope
from ..arrays.launch import moved
from ..arrays.layout import broadcast_strides, chunks_of, collapse, make_layout
from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense
from .supported import floats

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


@kernel("rope", when=lambda F, input, *rest, **attrs: input.size > 0 and floats(F, input, *rest), halves=True)
def rope(F, input, cos, sin, *, interleaved=False):
    check_rope(input, cos, sin)
    out, half = F.empty(input.shape, input.dtype), input.shape[-1] // 2
    arrays = [out, *(along_memory(F, x) for x in (input, cos, sin))]
    outer = input.shape[:-1]
    steps = [[s // x.itemsize for s in broadcast_strides(outer, x.shape[:-1], x.strides[:-1])] for x in arrays]
    vector = pack_length(half, arrays, steps)
    pair = 2 if interleaved else 1
    steps = [[*own, vector * (pair if k < 2 else 1)] for k, own in enumerate(steps)]
    shape, steps = collapse((*outer, half // vector), steps)
    for offsets, chunk, rows in chunks_of(shape, steps, [0] * len(arrays)):
        layout = make_layout(chunk, rows)
        parts = [moved(F, x, offset) for x, offset in zip(arrays, offsets)]
        PAIRS(F.machine, -(-int(layout["size"]) // BLOCK), BLOCK, *parts, half, layout, VECTOR=vector,
              INTERLEAVED=int(interleaved))
    return out
