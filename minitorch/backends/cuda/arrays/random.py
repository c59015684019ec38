"""Random numbers on the device: `src/random.cu`, after Philox (see `minitorch/random/philox.py`)."""

from math import inf, log1p

from ....random import sampling
from ....random.philox import PhiloxGenerator
from ..runtime.kernel import C_NAMES, Kernel
from .dtypes import is_float

__all__ = ["fill"]

FILL = Kernel("random.cu", "fill", "T* out, i64 n, u64 seed, u64 offset, const u64* state?, i32 what, f64 a, f64 b, "
              "i64 low, u64 span")
BLOCK = 256
REAL = {sampling.uniform: (0, (0.0, 1.0)), sampling.normal: (1, (0.0, 1.0)), sampling.exponential: (2, (1.0, 0.0)),
        sampling.cauchy: (3, (0.0, 1.0)), sampling.log_normal: (4, (1.0, 2.0))}      # as in random.cu, by default
GEOMETRIC, BERNOULLI, INTEGERS = 5, 6, 7


def plan(sampler, dtype, args):
    """Words for each number, whether it is whole, and the kernel's arguments; None where the host must draw."""
    if dtype.name not in C_NAMES:
        return None
    words = 2 if dtype.itemsize == 8 else 1
    if is_float(dtype) and sampler in REAL:
        what, defaults = REAL[sampler]
        return words, False, what, *args, *defaults[len(args):], 0, 1
    if is_float(dtype) and sampler is sampling.geometric:
        return words, False, GEOMETRIC, 0.0, log1p(-args[0]) if args[0] < 1 else -inf, 0, 1
    if sampler is sampling.bernoulli:
        return 1, not is_float(dtype), BERNOULLI, args[0], 0.0, 0, 1
    if sampler is sampling.integers:
        low, high = args
        return 1 if high - low < 1 << 28 else 2, True, INTEGERS, 0.0, 0.0, low, (high - low) % (1 << 64)
    if sampler is sampling.random_bits:
        digits = sampling.digits_of(dtype)
        modulus = (1 << digits) + (dtype.kind not in "iub")
        return 1 if modulus <= 1 << 32 else 2, True, INTEGERS, 0.0, 0.0, 0, modulus % (1 << 64)
    return None


def fill(F, array, sampler, generator, args):
    """Fill an array with a sampler's numbers; False if it has no kernel, or the generator is not a device's."""
    found = plan(sampler, array.dtype, args) if isinstance(generator, PhiloxGenerator) else None
    if found is None:
        return False
    words, whole, *numbers = found
    out = array if array.flags.c_contiguous and array.data.ptr % 16 == 0 else F.empty(array.shape, array.dtype)
    if F.machine.capture is not None:
        F.machine.capture.follow(generator)
    place, per_thread = generator.take(), 4 // words
    blocks = -(-out.size // (BLOCK * per_thread))
    FILL(F.machine, blocks, BLOCK, out, out.size, place.seed, place.offset, place.state, *numbers, WORDS=words,
         WHOLE=whole)
    if out is not array:
        array[...] = out
    return True
