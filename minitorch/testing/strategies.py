"""Inputs for tests: `Draw` makes one choice after another; Hypothesis strategies are built on it.

A `Draw` wraps a `random.Random`. Given Hypothesis' own (``st.randoms``) every choice is one that Hypothesis can
replay and shrink; given ``random.Random(0)`` it needs no Hypothesis at all.
"""

import random

import numpy as np

from ..core.registry import OPS
from ..ops.creation.create import from_numpy
from ..ops.dims import column_of, is_elementwise, terms

__all__ = ["Draw", "tensors", "shapes", "broadcastable_shapes", "indices", "op_samples", "draws"]


class Draw:
    """Random choices in the words that tests of ops need.

    >>> d = Draw(random.Random(0))
    >>> d.array((2, 3)).shape
    (2, 3)
    """

    def __init__(self, rng=None):
        self.rng = rng or random.Random(0)

    def int(self, lo, hi):
        """An integer from `lo` to `hi`, both included."""
        return self.rng.randint(lo, hi)

    def choice(self, items):
        """One of `items`."""
        return items[self.rng.randint(0, len(items) - 1)]

    def bool(self):
        """True or False."""
        return self.rng.randint(0, 1) == 1

    def shape(self, min_dims=0, max_dims=3, min_side=1, max_side=3):
        """A small shape."""
        return tuple(self.int(min_side, max_side) for _ in range(self.int(min_dims, max_dims)))

    def array(self, shape=None, lo=-2.0, hi=2.0):
        """A float64 array of `shape` (a small one by default), uniform between `lo` and `hi`."""
        shape = self.shape() if shape is None else shape
        return np.random.default_rng(self.rng.getrandbits(32)).uniform(lo, hi, shape)

    def complex(self, shape=None, lo=-2.0, hi=2.0):
        """A complex128 array of `shape` (a small one by default), both parts uniform between `lo` and `hi`."""
        shape = self.shape() if shape is None else shape
        return np.asarray(self.array(shape, lo, hi) + 1j * self.array(shape, lo, hi))

    def distinct(self, shape=None, lo=-2.0, hi=2.0):
        """An array whose elements differ from each other, and from zero, by much more than a finite difference."""
        shape = self.shape() if shape is None else shape
        n = int(np.prod(shape))
        grid = np.linspace(lo, hi, 2 * n + 3)[1:-1]
        grid = grid[np.abs(grid) > (hi - lo) / (8 * n + 12)]
        return np.random.default_rng(self.rng.getrandbits(32)).permutation(grid)[:n].reshape(shape)

    def apart(self, shapes):
        """An array of each shape: no element is near another one, of any array, where a maximum would have a kink."""
        sizes = [int(np.prod(shape)) for shape in shapes]
        parts = np.split(self.distinct((sum(sizes),)), np.cumsum(sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes)]

    def integers(self, shape, lo, hi):
        """An int64 array with elements from `lo` to `hi`, both included."""
        return np.random.default_rng(self.rng.getrandbits(32)).integers(lo, hi + 1, shape)

    def mask(self, shape):
        """A bool array."""
        return self.integers(shape, 0, 1).astype(bool)

    def given(self, values):
        """An array of these numbers or bools."""
        return np.array(values)

    def spread_matrix(self, n=3):
        """An n by n matrix whose singular values, 1 to n, lie well apart."""
        u, v = [np.linalg.qr(self.array((n, n)))[0] for _ in range(2)]
        return u * np.linspace(1.0, n, n) @ v

    def dominant_matrix(self, n=3):
        """An n by n matrix with a large diagonal."""
        return self.array((n, n)) + 2 * np.eye(n)

    def broadcastable(self, n, max_dims=3, max_side=3):
        """`n` shapes that broadcast against each other."""
        full = self.shape(0, max_dims, max_side=max_side)
        found = []
        for _ in range(n):
            cut = self.int(0, len(full))
            found.append(tuple(1 if self.int(0, 3) == 0 else s for s in full[cut:]))
        return found

    def index(self, shape):
        """Something to put between brackets for a tensor of `shape`: ints, slices, None, Ellipsis, lists, masks."""
        parts, used = [], 0
        for n in shape:
            kind = self.int(0, 5)
            if kind == 0 and n:
                parts.append(self.int(-n, n - 1))
            elif kind == 1:
                parts.append(slice(self.choice([None, 0, 1]), self.choice([None, n, -1]), self.choice([None, 1, 2])))
            elif kind == 2 and n:
                parts.append([self.int(-n, n - 1) for _ in range(3)])
            elif kind == 3:
                parts += [None, slice(None)]
            else:
                break
            used += 1
        if self.int(0, 3) == 0:
            parts.append(Ellipsis)
        return tuple(parts)

    # -- ops -----------------------------------------------------------------------------------------------
    def op_sample(self, op):
        """Inputs (NumPy arrays) and attributes that a row of the op table accepts."""
        if op.sample is not None:
            return op.sample(self)
        names = [x.name for x in op.inputs]
        if len(names) == 1:
            sizes = [self.shape(min_dims=1 if op.attrs else 0)]
        elif op.dims is None or is_elementwise(op):
            sizes = self.broadcastable(len(names))
        else:
            sizes = self.shapes_of(column_of(op.dims, dict(op.attrs)))
        if op.kinks == "ties" and len(names) > 1:
            return self.apart(sizes), {k: self.attribute(k, default, None) for k, default in op.attrs}
        make = self.distinct if op.kinks in ("ties", "zero", "steps") else self.array
        inputs = [self.mask(s) if x.kind == "other" else make(s, *op.domain.get(x.name, ()))
                  for x, s in zip(op.inputs, sizes)]
        return inputs, {k: self.attribute(k, default, inputs[0]) for k, default in op.attrs}

    def shapes_of(self, text):
        """Shapes of inputs for index notation such as "* n k, * k m -> * n m"."""
        sizes, found = {}, []
        batch = self.shape(0, 2)
        for words in terms(text)[0]:
            shape = ()
            for word in words:
                if word == "*":
                    shape += batch[self.int(0, len(batch)):]
                elif word.isdigit():
                    shape += (int(word),)
                else:
                    shape += (sizes.setdefault(word, self.int(1, 3)),)
            found.append(shape)
        return found

    def attribute(self, name, default, x):
        """A value for an attribute, by its name: it means the same in every op that has it."""
        if name in ("dim", "dim0", "dim1"):
            dims = list(range(-x.ndim, x.ndim))
            return self.choice([default, *dims] if default is None else dims)
        if name in ("keepdim", "descending", "unbiased"):
            return self.bool()
        if name == "dtype" or default is not _required():
            return default
        raise TypeError(f"no sample for the attribute {name!r}: give the op a `sample`")


def _required():
    from inspect import Parameter
    return Parameter.empty


# ------------------------------------------------------------------ Hypothesis
def draws():
    """A strategy of `Draw` objects, whose choices Hypothesis records and shrinks."""
    import hypothesis.strategies as st
    return st.randoms(use_true_random=False).map(Draw)


def tensors(shape=None, dtype=None, requires_grad=False, lo=-2.0, hi=2.0):
    """A strategy of tensors of a shape (any small one by default) and a dtype (float64)."""
    def make(d):
        t = from_numpy(d.array(shape, lo, hi))
        t = t if dtype is None else t.to(dtype)
        return t.requires_grad_(requires_grad)
    return draws().map(make)


def shapes(min_dims=0, max_dims=3, min_side=0, max_side=3):
    """A strategy of small shapes, zero-size ones included."""
    return draws().map(lambda d: d.shape(min_dims, max_dims, min_side, max_side))


def broadcastable_shapes(n=2, max_dims=3, max_side=3):
    """A strategy of lists of `n` shapes that broadcast against each other."""
    return draws().map(lambda d: d.broadcastable(n, max_dims, max_side))


def indices(shape):
    """A strategy of indices for a tensor of `shape`."""
    return draws().map(lambda d: d.index(shape))


def op_samples(op):
    """A strategy of (inputs, attributes) for an op, by name or row of the table."""
    row = OPS[op] if isinstance(op, str) else op
    return draws().map(lambda d: d.op_sample(row))
