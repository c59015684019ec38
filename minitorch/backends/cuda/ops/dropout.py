"""Dropout: `src/random.cu`."""

from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense
from .supported import float_elements

DROP = Kernel("random.cu", "drop", "T* out, const T* input, i64 n, u64 seed, u64 offset, const u64* state?, "
              "u32 last, f64 scale, bool aligned")
BLOCK_BYTES = 256 * 64     # that a block reads


@kernel("dropout", when=float_elements, halves=True)
def dropout(F, input, *, place, p):
    input = dense(F, input)
    dropped, scale = round(p * 2**32), 1 / (1 - p)
    if not dropped:
        return F.xp.multiply(input, scale)
    out = F.empty(input.shape, input.dtype)
    DROP(F.machine, -(-out.nbytes // BLOCK_BYTES), 256, out, input, out.size, place.seed, place.offset, place.state,
         dropped - 1, scale, input.data.ptr % 16 == 0)
    return out
