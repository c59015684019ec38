"""`Distribution`: the base class, with the shapes, the validation and the `expand` that all share.

A sample has the shape ``sample_shape + batch_shape + event_shape``: independent draws, different parameters, and the
dimensions of one event.
"""

from .. import Size, Tensor, no_grad
from ..extend import warn
from . import constraints
from .utils import all_true, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Base of all distributions, with parameters of `batch_shape` and events of `event_shape`.

    `validate_args` says whether parameters, and the values that `log_prob`, `cdf` and others are given, are checked
    against `arg_constraints` and `support` (ValueError); default: as `set_default_validate_args` says, which is yes
    unless Python runs with ``-O``.

    A subclass lists in `_expands` the attributes that `expand` gives a new batch shape, tensors and distributions,
    and in `_keeps` those that it takes as they are; or it has an `expand` of its own.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _keeps: tuple = ()

    @staticmethod
    def set_default_validate_args(value):
        """Switch validation on or off, for distributions made without `validate_args`."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args expects True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=Size(), event_shape=Size(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    # ---- shapes ------------------------------------------------------------------------------------------
    @property
    def batch_shape(self):
        """The shape of the parameters: one distribution for each element."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one event."""
        return self._event_shape

    def _extended_shape(self, sample_shape=Size()):
        """The shape of what ``sample(sample_shape)`` returns."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def expand(self, batch_shape, _instance=None):
        """The same distribution with parameters expanded to `batch_shape`, as views.

        A subclass that makes the new object itself, for attributes of its own, hands it over as `_instance`.
        """
        owner = next((c for c in type(self).__mro__ if "_expands" in vars(c)), None)
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} does not implement expand")
        new = self._get_checked_instance(owner, _instance)
        shape, ndim = Size(batch_shape), len(self._batch_shape)
        for name in owner._expands:
            if name in self.__dict__:
                value = self.__dict__[name]
                own = value.batch_shape if isinstance(value, Distribution) else value.shape
                setattr(new, name, value.expand(shape + own[ndim:]))
        for name in owner._keeps:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls, _instance=None):
        """A new object of this class, or the given one; NotImplementedError if its constructor is not that of `cls`."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom "
                                      f"__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    # ---- what a subclass has -----------------------------------------------------------------------------
    @property
    def arg_constraints(self):
        """The constraint of each parameter, by its name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that all samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expected value, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most probable value, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance of each coordinate, of shape ``batch_shape + event_shape``."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation: the root of `variance`."""
        return self.variance.sqrt()

    def sample(self, sample_shape=Size()):
        """Random values, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()):
        """Random values, with gradients for the parameters where `has_rsample` says so."""
        raise NotImplementedError

    def sample_n(self, n):
        """Deprecated: ``sample((n,))``."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density or probability at `value`, one number for each event."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of numbers up to `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The number whose `cdf` is `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new first dimension: (n,) + batch_shape + event_shape.

        Without `expand` the dimensions of the batch have size 1.
        """
        raise NotImplementedError

    def entropy(self):
        """The entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self):
        """``exp(entropy)``."""
        return self.entropy().exp()

    # ---- validation --------------------------------------------------------------------------------------
    def _validate_parameters(self):
        """ValueError for the first parameter outside of its constraint."""
        try:
            found = self.arg_constraints
        except NotImplementedError:
            warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                 f"initialize the distribution with `validate_args=False` to turn off validation.")
            return
        for name, constraint in found.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue                                   # it follows from the parameter that was given
            value = getattr(self, name)
            if not all_true(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{shown(value)}")

    def _validate_sample(self, value):
        """ValueError for a value that does not fit the shapes or is not within the support."""
        if not isinstance(value, Tensor):
            raise ValueError(f"The value argument to log_prob must be a Tensor, got {type(value).__name__}")
        shape, expected = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.")
        for i, j in zip(reversed(shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                 f"distribution with `validate_args=False` to turn off validation.")
            return
        if not all_true(support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                             f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                             f"values:\n{shown(value)}")

    def _checked(self, value):
        """`value`, validated if this distribution is."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self):
        given = {k: self.__dict__[k] for k in self.arg_constraints if k in self.__dict__}
        parts = [f"{k}: {shown(v) if v.numel() == 1 else v.size()}" for k, v in given.items()]
        return f"{self.__class__.__name__}({', '.join(parts)})"


def shown(value):
    """A tensor as text, one of no dimensions as its number; in a `vmap` there is no such number."""
    is_plain = value.backend.physical(value.array) is value.array
    return f"{value}" if is_plain else repr(value)
