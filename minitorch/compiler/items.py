"""Items of a lowered program besides row kernels: matrix products and calls.

Also questions about values, and which method lowers which instructions.
"""

from __future__ import annotations

import numpy as np

from ..extend import owner, pointer
from . import c_words
from .program import Value

__all__ = ["CALL", "Call", "KernelKnowsBetter", "NoLowering", "OP", "Product", "as_blas",
           "handlers_of", "into", "is_basic", "is_number", "lowers", "weak"]


class NoLowering(Exception):
    """Raised with the reason why an instruction stays a call."""


class KernelKnowsBetter(NoLowering):
    """An op's own kernel is quicker than the loops and products of its reference."""


# ------------------------------------------------------------------ which method lowers which instr
OP, CALL = ("op", "full op"), ("call", "method")


def lowers(kinds, names=None):
    """A decorator: the method lowers instructions of these kinds and names, or all others of the
    kinds.

    ``method(lowering, instruction, *args, **kwargs)`` returns items, or raises `NoLowering`.
    """
    def enter(method):
        found = [(kind, name) for kind in kinds for name in (names.split() if names else [None])]
        method.lowers = [*getattr(method, "lowers", ()), *found]
        return method
    return enter


def handlers_of(cls):
    """The methods of a class that lower instructions, by (kind, name); the name is None for all
    others."""
    return {key: method for base in reversed(cls.__mro__) for method in vars(base).values()
            for key in getattr(method, "lowers", ())}


class Product:
    """``c = alpha * a @ b``, matrices or stacks of them; refs on the dimensions of `shape` (..., M,
    N) and K."""

    def __init__(self, a, b, c, shape, inner, alpha=1.0):
        self.a, self.b, self.c, self.shape, self.inner, self.alpha = a, b, c, shape, inner, alpha
        self.names, self.origin = ["matmul"], []

    # The roots of items are views of dicts: a set would order them by where they lie in memory, and
    # by their order
    # `arena` places arrays, which the text of C says, under which libraries are kept.
    def roots_read(self):
        return dict.fromkeys((self.a.root, self.b.root)).keys()

    def roots_written(self):
        return {self.c.root: None}.keys()


class Call:
    """An instruction that Python carries out between two pieces of C."""

    def __init__(self, instruction):
        self.instruction, self.names, self.origin = instruction, [instruction.name], [instruction]
        # an optimiser's step, which may write to any memory
        self.barrier = instruction.kind == "effect"

    def roots_read(self):
        return dict.fromkeys([v.root for v in self.instruction.operands()]).keys()

    def roots_written(self):
        i = self.instruction
        return dict.fromkeys([v.root for v in (*i.results, *i.writes)]).keys()


# ------------------------------------------------------------------ questions
def into(array):
    """How many bytes after the beginning of its memory an array begins."""
    return pointer(array) - pointer(owner(array))


def is_number(v):
    """True if a value is a number that never changes."""
    return v.kind == "constant" and v.example.size == 1 and v.dtype.name in c_words.TYPES


def weak(x):
    """The dtype of an operand as NumPy's promotion sees it."""
    if isinstance(x, Value):
        if x.number is int and x.kind != "constant":       # C would not say that it does not fit
            raise NoLowering("a whole number out of a tensor")
        return x.number or x.dtype
    if isinstance(x, np.generic):
        return x.dtype
    if type(x) in (bool, int, float):
        return np.dtype(bool) if type(x) is bool else type(x)
    raise NoLowering("an operand of another kind")


def is_basic(index):
    return all(x is None or x is Ellipsis or isinstance(x, (int, slice)) and not isinstance(x, bool)
               for x in (index if isinstance(index, tuple) else (index,)))


def as_blas(shape, strides):
    """True if BLAS can read the last two dimensions: rows or columns without gaps in them."""
    (m, n), (s, t) = shape[-2:], strides[-2:]
    rows = (t == 1 or n == 1) and (s >= n or m == 1)
    return rows or (s == 1 or m == 1) and (t >= m or n == 1)
