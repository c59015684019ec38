"""Size classes of memory: small requests are rounded up, so that CuPy's pool finds what was freed without cutting it.

CuPy's pool keeps lists of free memory by exact size, for each stream; what fits badly is cut, and merged again when it
is freed. Steps of training ask for a great many sizes that differ little: with four classes for each power of two they
fall into the same lists. A cache of blocks in Python before the pool was tried and left: making and dropping a block
took longer than the pool does.
"""

__all__ = ["LARGEST", "size_class"]

UNIT, LARGEST = 512, 1 << 20                               # bytes: CuPy's grain, and above what nothing is rounded


def size_class(nbytes):
    """The size that `nbytes` are rounded up to: a multiple of `UNIT`, four steps from one power of two to the next.

    >>> [size_class(n) for n in (1, 513, 2049, 5000, 9000, 1 << 20, (1 << 20) + 1)]
    [512, 1024, 2560, 5120, 10240, 1048576, 1048577]
    """
    return CLASSES[nbytes + UNIT - 1 >> 9] if nbytes <= LARGEST else nbytes


def rounded(units):
    step = max(1 << (units - 1).bit_length() >> 3, 1)
    return -(-units // step) * step * UNIT


CLASSES = [0, *[rounded(n) for n in range(1, LARGEST // UNIT + 1)]]
