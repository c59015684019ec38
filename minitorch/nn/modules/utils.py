"""Small helpers that several layer files share."""

from collections.abc import Iterable


def ntuple(n):
    """A function that makes an n-tuple: of ``n`` times a single value, or of the values of an iterable as they are."""
    def spread(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * n
    return spread


single, pair, triple, quadruple = map(ntuple, (1, 2, 3, 4))
_ntuple, _single, _pair, _triple, _quadruple = ntuple, single, pair, triple, quadruple      # PyTorch's spelling
same_for = {1: single, 2: pair, 3: triple}


def reverse_repeat(values, n):
    """The values in reverse order, each ``n`` times: from (d, h, w) to the order that ``F.pad`` takes."""
    return tuple(v for v in reversed(values) for _ in range(n))


def inplace_repr(module, comma=True):
    """``, inplace=True`` for a module that works in place, else nothing."""
    return ("inplace=True" if not comma else ", inplace=True") if module.inplace else ""
