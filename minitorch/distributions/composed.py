"""`Transform`, the base of all transforms, and transforms made of others: inverses, compositions, events of a batch.

A transform has a `domain` and a `codomain`, constraints; ``t(x)`` maps from one to the other, ``t.inv(y)`` back, and
``t.log_abs_det_jacobian(x, y)`` is the logarithm of how much volume grows at x, for ``y = t(x)``, one number for
each event.
"""

from functools import reduce
from operator import add, mul

from .. import Size, zeros_like
from . import constraints
from .utils import _sum_rightmost, lazy_property

__all__ = ["Alike", "ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "_InverseTransform",
           "identity_transform", "of_dimension", "require_dims"]


class Transform:
    """Base of transforms. A subclass has `_call`, `_inverse` and `log_abs_det_jacobian`.

    With ``cache_size=1`` the last pair of x and y is kept, so that the inverse of a y that was just computed, which may
    be costly or inexact, is its x. `bijective` says whether the inverse is one; `sign` is 1 where y
    grows with x, else -1.

    A subclass lists in `_fields` the attributes that its constructor takes before `cache_size`.
    """

    bijective = False
    _fields: tuple = ()

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, got {cache_size}")
        self._cache_size, self._inv = cache_size, None
        self._cached_x_y = (None, None)
        super().__init__()

    def __getstate__(self):
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self):
        """The dimensions of an event, where domain and codomain agree on them."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self):
        """The inverse, a transform, whose inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """1 where y grows with x, -1 where it falls; for transforms of numbers."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """This transform if it has such a cache, else one like it that has."""
        if self._cache_size == cache_size:
            return self
        owner = next(c for c in type(self).__mro__ if "_fields" in vars(c))
        if type(self).__init__ is not Transform.__init__ and owner is Transform:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        cls = type(self) if type(self).__init__ is owner.__init__ else owner
        return cls(*[getattr(self, name) for name in owner._fields], cache_size=cache_size)

    def __eq__(self, other):
        return self is other

    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y):
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """``log |det dy/dx|``, for ``y = t(x)``."""
        raise NotImplementedError

    def forward_shape(self, shape):
        """The shape of y for an x of this shape."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for a y of this shape."""
        return shape

    def __repr__(self):
        return f"{self.__class__.__name__}()"


class Alike(Transform):
    """Base of transforms without parameters: those of one class are equal."""

    def __eq__(self, other):
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    """The inverse of another transform."""

    def __init__(self, transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"{self.__class__.__name__}({self._inv!r})"


# ---- transforms made of others -----------------------------------------------------------------------------
class ComposeTransform(Transform):
    """One transform after the other, in the order of the list `parts`."""

    _fields = ("parts",)

    def __init__(self, parts, cache_size=0):
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        first, ndim = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            ndim = max(ndim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return of_dimension(first, ndim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        last, ndim = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            ndim = max(ndim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return of_dimension(last, ndim)

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        return reduce(mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return zeros_like(x)
        terms, ndim = [], self.domain.event_dim
        for i, part in enumerate(self.parts):
            after = y if i == len(self.parts) - 1 else part(x)
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, after), ndim - part.domain.event_dim))
            x, ndim = after, ndim + part.codomain.event_dim - part.domain.event_dim
        return reduce(add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        parts = ",\n    ".join([repr(part) for part in self.parts])
        return f"{self.__class__.__name__}(\n    {parts}\n)"


def of_dimension(constraint, ndim):
    """A constraint on events of `ndim` dimensions that holds where it holds for all parts."""
    extra = ndim - constraint.event_dim
    return constraints.independent(constraint, extra) if extra else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """`base_transform` with its last `reinterpreted_batch_ndims` dimensions of the batch as dimensions of the event."""

    _fields = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y):
        require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def require_dims(shape, ndim):
    if len(shape) < ndim:
        raise ValueError(f"Too few dimensions on input: expected {ndim} or more, got the shape {list(shape)}")


class ReshapeTransform(Transform):
    """The last dimensions, `in_shape`, as `out_shape`."""

    bijective = True
    _fields = ("in_shape", "out_shape")

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"in_shape, out_shape have different numbers of elements: {in_shape}, {out_shape}")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x):
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return exchanged(shape, self.out_shape, self.in_shape)


def exchanged(shape, old, new):
    """A shape that ends with `old` with `new` in its place."""
    require_dims(shape, len(old))
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[cut:])}")
    return Size(shape[:cut]) + new
