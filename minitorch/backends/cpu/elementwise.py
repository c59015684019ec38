"""Elementwise ops for which the CPU has a faster way than the reference's NumPy call."""

import math

import numpy as np

from .backend import kernel


@kernel("where")
def where(F, condition, input, other):
    """Bits instead of branches: for a million float32 and a random mask a quarter of the time of `np.where`.

    `np.where` branches on each element, and a random mask makes the processor guess wrongly half of the time. Here the
    numbers are taken as integers: ``other ^ ((input ^ other) & mask)`` with a mask of all ones or all zeros.
    """
    found = {x.dtype for x in (input, other) if hasattr(x, "dtype")}
    if condition.size < 8192 or condition.dtype != bool or len(found) != 1 or min(found).kind != "f":
        return np.where(condition, input, other)
    dtype = found.pop()
    bits = np.dtype(f"i{dtype.itemsize}")
    first, second = [np.asarray(x, dtype).view(bits) for x in (input, other)]
    mask = np.negative(condition.view(np.int8)).astype(bits)
    out = (first ^ second) & mask
    out ^= second
    return out.view(dtype)


def of_few(name):
    """For a few numbers Python's own function, one at a time: a vectorised one costs dozens of NumPy calls."""
    function = getattr(math, name)

    def few(F, input):
        if input.size <= 128:
            try:
                found = [function(x) for x in input.ravel().tolist()]
                return np.array(found, input.dtype).reshape(input.shape)
            except (ValueError, OverflowError):            # a pole, or a result beyond float64
                pass
        return getattr(F.reference, name)(input)
    return few


# NumPy has none of these.
kernel("erf")(of_few("erf"))
kernel("erfc")(of_few("erfc"))
kernel("lgamma")(of_few("lgamma"))
