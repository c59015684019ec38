"""Random numbers and dropout on the device: `kernels/random.cu`, after Philox (see `minitorch/philox.py`)."""

from ... import sampling
from ...philox import PhiloxGenerator
from ..base import takes_halves
from .kernel import C_NAMES, Kernel
from .rows import decline, dense, is_float

__all__ = ["KERNELS", "fill"]

FILL = Kernel("random.cu", "fill", "T* out, i64 n, u64 seed, u64 offset, const u64* state?, f64 a, f64 b, i64 low, "
              "u64 span")
DROP = Kernel("random.cu", "drop", "T* out, const T* input, i64 n, u64 seed, u64 offset, const u64* state?, "
              "u64 dropped, f64 scale, bool aligned")
BLOCK = 256
REAL = {sampling.uniform: (0, (0.0, 1.0)), sampling.normal: (1, (0.0, 1.0)), sampling.exponential: (4, (1.0,)),
        sampling.cauchy: (5, (0.0, 1.0)), sampling.log_normal: (6, (1.0, 2.0)), sampling.geometric: (7, ())}


def plan(sampler, dtype, args):
    """What the kernel is compiled with (WHAT, WORDS) and given (a, b, low, span); None where the host must draw."""
    if dtype.name not in C_NAMES:
        return None
    if sampler in REAL and is_float(dtype):
        what, defaults = REAL[sampler]
        a, b = (*args, *defaults[len(args):], 0.0)[:2]
        return what, 2 if dtype.itemsize == 8 else 1, a, b, 0, 1
    if sampler is sampling.bernoulli:
        return 2, 1, args[0], 0.0, 0, 1
    if sampler is sampling.integers:
        low, high = args
        return 3, 1 if high - low < 1 << 28 else 2, 0.0, 0.0, low, (high - low) % (1 << 64)
    if sampler is sampling.random_bits:
        digits = sampling.digits_of(dtype)
        modulus = (1 << digits) + (dtype.kind not in "iub")
        return 3, 1 if modulus <= 1 << 32 else 2, 0.0, 0.0, 0, modulus % (1 << 64)
    return None


def fill(F, array, sampler, generator, args):
    """Fill an array with a sampler's numbers; False if it has no kernel, or the generator is not a device's."""
    found = plan(sampler, array.dtype, args) if isinstance(generator, PhiloxGenerator) else None
    if found is None:
        return False
    what, words, *numbers = found
    out = array if array.flags.c_contiguous and array.data.ptr % 16 == 0 else F.empty(array.shape, array.dtype)
    if F.machine.capture is not None:
        F.machine.capture.follow(generator)
    place, per_thread = generator.take(), 4 // words
    blocks = -(-out.size // (BLOCK * per_thread))
    FILL(F.machine, blocks, BLOCK, out, out.size, place.seed, place.offset, place.state, *numbers, WHAT=what,
         WORDS=words)
    if out is not array:
        array[...] = out
    return True


@takes_halves
def drop_elements(F, input, *, place, p):
    if not is_float(input.dtype) or not input.size:
        return decline(F, "drop_elements", input, place=place, p=p)
    input = dense(F, input)
    out = F.empty(input.shape, input.dtype)
    group = max(4, 16 // input.itemsize)
    DROP(F.machine, -(-out.size // (BLOCK * group)), BLOCK, out, input, out.size, place.seed, place.offset,
         place.state, round(p * 2**32), 1 / (1 - p), input.data.ptr % 16 == 0)
    return out


KERNELS = {"drop_elements": drop_elements}
