"""Sizes in index notation: the functions that may stand behind ``=`` (`dims.py`)."""

import math
from functools import lru_cache

from .dims import broadcast

__all__ = ["FUNCTIONS", "value_of"]


def value_of(text, names):
    """The value of an expression behind ``=``; ``*`` is there the sizes of all other dimensions."""
    try:
        return eval(code_of(text), FUNCTIONS, names)
    except NameError as error:
        raise ValueError(f"index notation: {text} needs an input that is left out") from error


@lru_cache(maxsize=4096)
def code_of(text):
    return compile(text.replace("*", "rest"), "<index notation>", "eval")


def diagonal(n, m, offset):
    """The length of a diagonal of an n by m matrix."""
    return max(min(n + min(offset, 0), m - max(offset, 0)), 0)


def windows(n, size, step):
    """The number of windows of `size` in n elements, `step` apart."""
    return (n - size) // step + 1


def padded(sizes, pad):
    """The sizes behind a padding, -1 where a dimension is not touched."""
    pairs = [(0, 0)] * (len(sizes) - len(pad) // 2) + list(zip(pad[::2], pad[1::2]))[::-1]
    return tuple([n + a + b if a or b else -1 for n, (a, b) in zip(sizes, pairs)])


def sliced(n, start, stop, step):
    """The number of elements that a slice takes of `n`."""
    return len(range(*slice(start, stop, step).indices(n)))


def with_last(sizes, n):
    """`sizes` with `n` in place of the last."""
    return (*sizes[:-1], n)


def halved(sizes):
    """The sizes of the Fourier transform of real numbers."""
    return with_last(sizes, sizes[-1] // 2 + 1)


def times(n, by):
    """A size times another, or times all of several."""
    return n * (by if by.__class__ is int else math.prod(by))


def over(n, by):
    """The size before `times`."""
    return n // times(1, by)


FUNCTIONS: dict = {"__builtins__": {}, **{f.__name__: f for f in (
    sum, min, max, diagonal, windows, padded, sliced, with_last, halved, times, over, broadcast)}}
