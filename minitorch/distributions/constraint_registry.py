"""`biject_to` and `transform_to`: for each constraint a transform from unconstrained numbers to its set.

Both are registries, called with a constraint: ``transform_to(constraints.positive)``. `biject_to` gives bijections,
for densities; `transform_to` what is good for optimisation, which may have more coordinates than its set.
"""

from . import constraints
from .composed import ComposeTransform, IndependentTransform, identity_transform
from .matrix_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from .part_transforms import CatTransform, StackTransform
from .scalar_transforms import AffineTransform, ExpTransform, SigmoidTransform
from .utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A registry of functions that make a transform for a constraint, by the class of the constraint."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Enter ``factory(constraint)`` for a class of constraints, by itself or an instance; or as a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(cls, type) or not issubclass(cls, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[cls] = factory
        return factory

    def __call__(self, constraint):
        """The transform whose codomain is this constraint; NotImplementedError if none is registered."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def both(*sets):
    """Enter a function in both registries, for several constraints."""
    def enter(factory):
        for constraint in sets:
            biject_to.register(constraint, factory)
            transform_to.register(constraint, factory)
        return factory
    return enter


def each(*sets):
    """Enter ``make(registry, constraint)`` in both registries: for constraints made of others."""
    def enter(make):
        for registry in (biject_to, transform_to):
            for constraint in sets:
                registry.register(constraint, lambda c, registry=registry: make(registry, c))
        return make
    return enter


both(constraints.real)(lambda constraint: identity_transform)
both(constraints.corr_cholesky)(lambda constraint: CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: LowerCholeskyTransform())
for _set in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_set, lambda constraint: PositiveDefiniteTransform())


@both(constraints.greater_than, constraints.greater_than_eq)
def to_above(constraint):
    """``lower_bound + exp(x)``; `positive` and `nonnegative` are of these classes."""
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


@both(constraints.less_than)
def to_below(constraint):
    """``upper_bound - exp(x)``."""
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


@both(constraints.interval, constraints.half_open_interval)
def to_interval(constraint):
    """The sigmoid, stretched to the interval."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and is_number(high) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


@each(constraints.independent)
def to_independent(registry, constraint):
    return IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@each(constraints.cat)
def to_cat(registry, constraint):
    return CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@each(constraints.stack)
def to_stack(registry, constraint):
    return StackTransform([registry(c) for c in constraint.cseq], constraint.dim)
