"""The logistic normal distribution."""

from . import constraints
from .matrix_transforms import StickBreakingTransform
from .normal import Normal
from .transformed_distribution import TransformedDistribution

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """K independent normal numbers to a point of the simplex of K + 1 coordinates, by `StickBreakingTransform`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _expands = ()

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(),
                         validate_args=validate_args)

    @property
    def loc(self):
        """The means of the numbers before the transform."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self):
        """The standard deviations of the numbers before the transform."""
        return self.base_dist.base_dist.scale
