"""Transforms that apply one of several to each part of a tensor."""

from .. import cat, stack
from . import constraints
from .composed import Transform
from .utils import _sum_rightmost, lazy_property

__all__ = ["CatTransform", "StackTransform"]


class OfParts(Transform):
    """Base: `transforms` for the parts along `dim`, into which `_split` cuts a tensor."""

    def _take(self, tseq, dim, cache_size):
        Transform.__init__(self, cache_size)
        tseq = list(tseq)
        if not all([isinstance(t, Transform) for t in tseq]):
            raise AssertionError("All elements of tseq must be Transform instances")
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else tseq
        self.dim = dim

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    def _parts(self, x, size):
        """Each transform with its part of `x`, which must have `size` elements along `dim`."""
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != size:
            raise AssertionError(f"expected {size} elements along dimension {self.dim}, got {x.size(self.dim)}")
        return zip(self.transforms, self._split(x))

    def _slices(self, x):
        """Each transform with its part of `x`."""
        raise NotImplementedError

    def _split(self, x):
        raise NotImplementedError


class CatTransform(OfParts):
    """`tseq` applied to parts of the given `lengths` (default: 1) along `dim`, which are then joined by `torch.cat`."""

    _fields = ("transforms", "dim", "lengths")

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        self._take(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        """The elements along `dim`."""
        return sum(self.lengths)

    def _slices(self, x):
        return self._parts(x, self.length)

    def _split(self, x):
        return x.split(self.lengths, self.dim)

    def _call(self, x):
        return cat([t(part) for t, part in self._slices(x)], self.dim)

    def _inverse(self, y):
        return cat([t.inv(part) for t, part in self._slices(y)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = [_sum_rightmost(t.log_abs_det_jacobian(part, to), self.event_dim - t.event_dim)
                 for (t, part), (_, to) in zip(self._slices(x), self._slices(y))]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim                              # where it is within the event, volumes multiply
        return cat(terms, dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(OfParts):
    """`tseq` applied to the slices along `dim`, which are then joined by `torch.stack`."""

    _fields = ("transforms", "dim")

    def __init__(self, tseq, dim=0, cache_size=0):
        self._take(tseq, dim, cache_size)

    def _slices(self, x):
        return self._parts(x, len(self.transforms))

    def _split(self, x):
        return x.unbind(self.dim)

    def _call(self, x):
        return stack([t(part) for t, part in self._slices(x)], self.dim)

    def _inverse(self, y):
        return stack([t.inv(part) for t, part in self._slices(y)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        return stack([t.log_abs_det_jacobian(part, to)
                      for (t, part), (_, to) in zip(self._slices(x), self._slices(y))], self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
