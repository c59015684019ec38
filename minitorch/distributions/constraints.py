"""Constraints: the sets in which parameters and samples lie, each with a `check`.

``constraint.check(value)`` is a bool tensor with one element for each event of `value`, which has `event_dim`
dimensions. A constraint whose bounds depend on a distribution's parameters is a `dependent_property` of its class.
"""

from .. import bool as bool_dtype
from .. import cat as concatenate
from .. import finfo, full
from .. import stack as stacked
from ..linalg import cholesky_ex, eigvalsh

__all__ = ["Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
           "greater_than_eq", "independent", "integer_interval", "interval", "half_open_interval", "is_dependent",
           "less_than", "lower_cholesky", "lower_triangular", "MixtureSameFamilyConstraint", "multinomial",
           "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_semidefinite", "positive_definite",
           "positive_integer", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]


class Constraint:
    """Base of constraints: a set, with the number of dimensions of its elements, and whether it is discrete."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """A bool tensor: whether each event of `value` lies in the set."""
        raise NotImplementedError

    def __repr__(self):
        shown = ", ".join([f"{k}={v}" for k, v in vars(self).items() if k.endswith("_bound")])
        return f"{self.__class__.__name__[1:]}({shown})"


# ---- constraints that depend on parameters -----------------------------------------------------------------
class _Dependent(Constraint):
    """A set that depends on other values: what is known of it without them."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same with more known of it."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """True if a constraint depends on parameters: only an instance can be checked."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that returns a constraint; read from the class, it is a dependent constraint itself.

    ``@constraints.dependent_property`` or ``@constraints.dependent_property(is_discrete=False, event_dim=0)``.
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ---- constraints made of others ----------------------------------------------------------------------------
class _Around(Constraint):
    """Base of constraints that are another one in a new form."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim


class _IndependentConstraint(_Around):
    """A constraint on events that have some of its batch dimensions: it holds where it holds for all of them."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got "
                                 f"{type(reinterpreted_batch_ndims).__name__}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        found, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if found.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.flatten(-n).all(-1) if n else found

    def __repr__(self):
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Around):
    """The support of a mixture: where a value lies in the supports of all its components, which are one batch
    dimension of `base_constraint`."""

    def check(self, value):
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return found.flatten(value.dim() - self.event_dim).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Sequence(Constraint):
    """Base of constraints that take one of several for each part of a tensor along `dim`."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim
        if not all([isinstance(c, Constraint) for c in self.cseq]):
            raise AssertionError("All elements of cseq must be Constraint instances")

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def require_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Sequence):
    """Constraints of the parts, of the given lengths (default: 1), that `torch.cat` would join along `dim`."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value):
        self.require_dim(value)
        parts = value.narrow(self.dim, 0, sum(self.lengths)).split(self.lengths, self.dim)
        return concatenate([c.check(part) for c, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Sequence):
    """Constraints of the slices that `torch.stack` would join along `dim`."""

    @property
    def event_dim(self):
        found = max(c.event_dim for c in self.cseq)
        return found + (self.dim + found < 0)

    def check(self, value):
        self.require_dim(value)
        return stacked([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


# ---- numbers -----------------------------------------------------------------------------------------------
class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """Any number, infinities too, but NaN."""

    def check(self, value):
        return value == value


class _Above(Constraint):
    """Base of sets with a lower bound."""

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound


class _Below(Constraint):
    """Base of sets with an upper bound."""

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound


class _Between(Constraint):
    """Base of sets with two bounds."""

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_Above):
    """Numbers above the bound."""

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """The bound and numbers above."""

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below the bound."""

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Between):
    """Both bounds and the numbers between them."""

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """The lower bound and the numbers up to the upper one, which is left out."""

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    """Both bounds and the integers between them."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class _IntegerLessThan(_Below):
    """The bound and integers below it."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThanEq):
    """The bound and integers above it."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


# ---- vectors and matrices ----------------------------------------------------------------------------------
class _OneHot(Constraint):
    """Vectors of a single 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return boolean.check(value).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers from 0 on whose sum is 1, to 1e-6."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Below):
    """Vectors of counts whose sum is at most the bound."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self):
        return "Multinomial()"


class _LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Matrices with zeros above the diagonal and positive numbers on it."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: rows of length 1, to ten roundings for each element."""

    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        length = value.detach().square().sum(-1).sqrt()
        return super().check(value) & ((length - 1).abs() <= tolerance).all(-1)


def is_square(value):
    return value.shape[-2] == value.shape[-1]


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        return full(value.shape[:-2], is_square(value), dtype=bool_dtype, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices, to 1e-6."""

    def check(self, value):
        return value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1) if is_square(value) else super().check(value)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        found = super().check(value)
        if not is_square(value):
            return found
        safe = value.masked_fill(~found[..., None, None], 0.0)             # NaN has no eigenvalues
        return found & (eigvalsh(safe) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value):
        found = super().check(value)
        return found & (cholesky_ex(value).info == 0) if is_square(value) else found


# ---- PyTorch's names ---------------------------------------------------------------------------------------
dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
