"""The Wishart distribution of positive definite matrices."""

import math

from .. import Size, arange, broadcast_shapes, cholesky_solve, finfo, randn, tensor, where
from ..extend import warn
from ..linalg import slogdet
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import OfMatrix, half_log_det
from .utils import all_true, is_number, vec_to_tril_matrix

__all__ = ["Wishart"]


class Wishart(OfMatrix, ExponentialFamily):
    """The sum of `df` products ``x x^T`` of normal vectors, whose covariances V are given in one of three forms.

    `covariance_matrix`, its inverse `precision_matrix` or its Cholesky factor `scale_tril`. `df` need not be whole, but
    is above n - 1. Density proportional to ``det(X)^((df - n - 1) / 2) exp(-trace(V^-1 X) / 2)``.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _expands = ("df", "covariance_matrix", "precision_matrix", "scale_tril", "_dist_chi2")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = self._take(covariance_matrix, precision_matrix, scale_tril, AssertionError)
        batch_shape, n = matrix.shape[:-2], matrix.shape[-1]
        if is_number(df):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = Size(broadcast_shapes(batch_shape, df.shape))
        self.df = df.expand(batch_shape)
        if not all_true(self.df > n - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if not all_true(self.df >= n):
            warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - arange(n, dtype=matrix.dtype, device=matrix.device))

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    @property
    def mean(self):
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self):
        """NaN for `df` up to n + 1."""
        factor = self.df - self.event_shape[-1] - 1
        return where(factor <= 0, math.nan, factor)[..., None, None] * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (V.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    # ---- samples -----------------------------------------------------------------------------------------
    def _bartlett_sampling(self, sample_shape=Size()):
        """``(L A) (L A)^T`` with chi numbers on A's diagonal and normal ones below: M. Bartlett, 1933."""
        n = self._event_shape[-1]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt().clamp(min=finfo(self.df.dtype).eps)
        shape = Size(sample_shape) + self._batch_shape + (n * (n - 1) // 2,)
        lower = randn(shape, dtype=diagonal.dtype, device=diagonal.device)
        factor = self._unbroadcasted_scale_tril @ (diagonal.diag_embed() + vec_to_tril_matrix(lower, diag=-1))
        return factor @ factor.mT

    def rsample(self, sample_shape=Size(), max_try_correction=10):
        """Random matrices; those that rounding has made singular are drawn again, so many times, with a warning.

        PyTorch throws the first draw away (its look for singular matrices finds the others); so it is here, for the
        same numbers.
        """
        self._bartlett_sampling(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        if all_true(~singular):
            return sample
        warn("Singular sample detected.")
        for _ in range(max_try_correction):
            again = self._bartlett_sampling(sample_shape)
            sample = where(singular[..., None, None], again, sample)
            singular = singular & ~self.support.check(again)
            if all_true(~singular):
                break
        return sample

    # ---- densities ---------------------------------------------------------------------------------------
    def log_prob(self, value):
        value, n, L = self._checked(value), self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, L).diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = self.df * (n * math.log(2) / 2 + half_log_det(L)) + (self.df / 2).mvlgamma(n)
        return (self.df - n - 1) / 2 * slogdet(value).logabsdet - trace / 2 - norm

    def entropy(self):
        n, half = self._event_shape[-1], self.df / 2
        steps = arange(n, dtype=half.dtype, device=half.device) / 2
        slope = (half.unsqueeze(-1) - steps).digamma().sum(-1)     # of the multivariate gamma function's logarithm
        return ((n + 1) * (n * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)) + half.mvlgamma(n)
                - (self.df - n - 1) / 2 * slope + self.df * n / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (n * math.log(2) - slogdet(-2 * x).logabsdet) + half.mvlgamma(n)
