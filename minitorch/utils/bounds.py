"""How much a file may ask for that may be damaged or forged: functions for all readers of files."""

import math

import numpy as np

__all__ = ["exactly", "most_of", "numbers", "size_of"]

FREE, RATIO = 64 << 20, 100  # what any file may unpack to, and how many times its size


def most_of(packed):
    """How many bytes a file of `packed` bytes may unpack to. Real data are never packed a hundredfold; bombs are."""
    return max(FREE, RATIO * packed)


def exactly(file, n):
    """The next `n` bytes of a file, as an array; ValueError if there are fewer."""
    data = np.empty(n, np.uint8)
    rest = memoryview(data)
    while len(rest):
        count = file.readinto(rest)
        if not count:
            raise ValueError("it ends too early")
        rest = rest[count:]
    return data


def numbers(data, dtype, shape, order="C"):
    """Bytes as an array of a NumPy dtype, in the machine's byte order; other bytes than 0 and 1 are true."""
    if dtype == np.bool_:
        return (data != 0).reshape(shape, order=order)
    return data.view(dtype).reshape(shape, order=order).astype(dtype.newbyteorder("="), copy=False)


def size_of(shape, itemsize):
    """The bytes of an array; ValueError for a shape that no array can have. Nothing large is multiplied."""
    if len(shape) > 64 or any(type(n) is not int or not 0 <= n < 2**63 for n in shape):
        raise ValueError("a shape has at most 64 sizes, which are whole numbers")
    if math.prod(max(n, 1) for n in shape) * itemsize >= 2**63:
        raise ValueError("an array this large cannot be addressed")
    return math.prod(shape) * itemsize
