"""Dropout: `src/random.cu`."""

from ..backend import kernel
from ..runtime.kernel import Kernel
from ..runtime.parameters import Repeated
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
    out, state = F.empty(input.shape, input.dtype), place.state
    key = DROP, out.size, out.dtype, p, input.data.ptr % 16 == 0
    again = F.plans.get(key)
    if again is None:
        grid, numbers = -(-out.nbytes // BLOCK_BYTES), (dropped - 1, scale, key[-1])
        arguments = out, input, out.size, place.seed, place.offset, state, *numbers
        function, values = DROP.checked(F.machine, arguments, {})
        F.machine.launch(function, (grid,), (256,), values, 0)
        if F.keeps_plans:
            F.plans[key] = Repeated(F.machine, function, (grid,), (256,), values, fixed=len(numbers))
        return out
    again(out.data.ptr, input.data.ptr, out.size, place.seed, place.offset, 0 if state is None else state.data.ptr)
    return out
