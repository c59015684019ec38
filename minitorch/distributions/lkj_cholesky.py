"""The LKJ distribution of Cholesky factors of correlation matrices."""

import math

from .. import Size, arange, finfo, no_grad, randn
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower triangles L such that the correlation matrix ``L L^T`` has a density proportional to ``det^(c - 1)``.

    `dim` is the size of the matrices, c the `concentration`: 1 is uniform, larger ones come nearer to the identity.
    Source: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines and extended
    onion method", 2009.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _expands = ("concentration", "_beta")
    _keeps = ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        row = (arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1).clamp(min=0)
        self._beta = Beta(row + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def sample(self, sample_shape=Size()):
        """By the onion method: the part of each row below the diagonal has a beta distributed square of its length."""
        with no_grad():
            square = self._beta.sample(sample_shape).unsqueeze(-1)
            noise = randn(self._extended_shape(sample_shape), dtype=square.dtype, device=square.device).tril(-1)
            length = noise.norm(dim=-1, keepdim=True)
            rows = square.sqrt() * noise / length.masked_fill(length == 0, 1.0)    # the first row has no such part
            rest = (1 - rows.square().sum(-1)).clamp(min=finfo(rows.dtype).tiny).sqrt()
            return rows + rest.diag_embed()

    def log_prob(self, value):
        """The density of L: that of ``L L^T`` times the product of ``L_ii^(dim - i)``, and its normaliser (page 1999).
        """
        diagonal = self._checked(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        norm = 0.5 * n * math.log(math.pi) + (alpha - 0.5).mvlgamma(n) - n * alpha.lgamma()
        return (power * diagonal.log()).sum(-1) - norm
