"""``j1``: the size of a ragged dimension, in the shape of a jagged tensor."""

import itertools
import math
import weakref
from functools import lru_cache

from ...sym import SymInt
from ...utils.weak import WeakIdKeyDictionary

__all__ = ["LARGE", "RaggedSize", "ragged_size", "size_of_elements"]

# Inside a call a number stands for a ragged size: one that no dimension has, and that no small
# number divides. A size that is computed from one is large too.
STEP = math.lcm(*range(1, 17))
LARGE = 1 << 24


class RaggedSize(SymInt):
    """The size of a ragged dimension: as many sizes as the batch has elements, which offsets say.

    Two are equal if they belong to the same tensor of offsets (or of lengths). A multiple is one too, for strides.
    """

    __slots__ = ("number", "factor", "stand_in")

    def __init__(self, number, factor=1, stand_in=None):
        self.number, self.factor, self.stand_in = number, factor, stand_in

    def __index__(self):
        return self                                        # `Size` asks for it; ``operator.index`` refuses it

    @property
    def not_a_number(self):
        """Words of an error, where somebody wants an int."""
        return (f"{self} is the size of a ragged dimension of a nested tensor, which is not a number: offsets() has "
                f"the sizes")

    def __int__(self):
        raise TypeError(self.not_a_number)

    def __mul__(self, n):
        if not isinstance(n, int):
            return NotImplemented
        return RaggedSize(self.number, self.factor * n, self.stand_in * n)

    __rmul__ = __mul__

    def __eq__(self, other):
        return isinstance(other, RaggedSize) and (self.number, self.factor) == (other.number, other.factor)

    def __hash__(self):
        return hash((RaggedSize, self.number, self.factor))

    def compared(self, other, answer):
        """PyTorch's rule: a ragged size is 2 at least; how it compares with larger numbers is open."""
        if isinstance(other, int) and other <= 2:
            return answer
        if isinstance(other, RaggedSize) and other.number == self.number:
            return (self.factor >= other.factor) is answer
        raise ValueError(f"how the ragged size {self} compares with {other} is indeterminate")

    def __ge__(self, other):
        return self.compared(other, True)

    def __gt__(self, other):
        if isinstance(other, int) and other < 2:
            return True
        return not self <= other

    def __lt__(self, other):
        return not self >= other

    def __le__(self, other):
        if self == other:
            return True
        if isinstance(other, int) and other < 2:
            return False
        raise ValueError(f"how the ragged size {self} compares with {other} is indeterminate")

    def __repr__(self):
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"


numbers = itertools.count(1)
known: WeakIdKeyDictionary = WeakIdKeyDictionary()         # offsets or lengths: their size
free: list = []                                            # stand-ins of sizes that are gone
more = itertools.count(STEP * LARGE + 1, STEP)


def ragged_size(source):
    """The size that belongs to a tensor of offsets or lengths: the same for the same tensor."""
    if source not in known:
        # Few stand-ins serve for many batches, so that calls on each find the same labels.
        stand_in = free.pop() if free else next(more)
        known[source] = RaggedSize(next(numbers), 1, stand_in)
        weakref.finalize(source, free.append, stand_in).atexit = False
    return known[source]


@lru_cache(maxsize=4096)
def size_of_elements(sizes):
    """The size of a dimension in which elements have these `sizes`: the same for the same ones."""
    return RaggedSize(next(numbers), 1, next(more))
