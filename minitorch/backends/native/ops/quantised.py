"""Products of a few rows with weights of 8 bits, which are read as they are: a quarter of the memory of floats."""

import numpy as np

from ..eager import TYPES, kernel, limits, shared

ROWS = 16                      # from more on, BLAS on floats is faster


def takes(F, input, mat2, scales):
    return (0 < len(input) <= ROWS and mat2.size >= limits.least and mat2.flags.c_contiguous
            and input.__class__ is mat2.__class__ is scales.__class__ is np.ndarray and input.dtype.char in TYPES
            and input.flags.c_contiguous and scales.flags.c_contiguous)


@kernel("weight_int8pack_mm", when=takes, sample=lambda d: (
    [d.array((d.choice([1, 3]), 130)), d.integers((70, 130), -127, 127).astype("int8"), d.array((70,))], {}))
def weight_int8pack_mm(F, input, mat2, scales):
    out = np.empty((len(input), len(mat2)), input.dtype)
    shared("quantised", "product", input, "pppplll", input, mat2, scales, out, len(input), *mat2.shape, size=mat2.size)
    return out
