"""Dropout: `src/random.cu`."""

from ..backend import kernel
from ..runtime.kernel import Kernel
from .rows import dense
from .supported import float_elements

DROP = Kernel("random.cu", "drop", "T* out, const T* input, i64 n, u64 seed, u64 offset, const u64* state?, "
              "u64 dropped, f64 scale, bool aligned")
BLOCK = 256


@kernel("dropout", when=float_elements, halves=True)
def dropout(F, input, *, place, p):
    input = dense(F, input)
    out = F.empty(input.shape, input.dtype)
    group = max(4, 16 // input.itemsize)
    DROP(F.machine, -(-out.size // (BLOCK * group)), BLOCK, out, input, out.size, place.seed, place.offset,
         place.state, round(p * 2**32), 1 / (1 - p), input.data.ptr % 16 == 0)
    return out
