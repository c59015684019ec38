"""The multivariate normal distribution."""

import math

from .. import Size, broadcast_shapes, cholesky_inverse, eye
from ..linalg import cholesky, solve_triangular
from . import constraints
from .distribution import Distribution
from .location_scale import Centred
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


# ---- products with triangular factors ----------------------------------------------------------------------
def _batch_mv(bmat, bvec):
    """Matrices times vectors, which broadcast."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """``|L^-1 x|^2`` for lower triangles L and vectors x, whose batches broadcast.

    Dimensions that only x has become columns, so that each L is solved with once.
    """
    outer = bx.dim() - bL.dim() + 1
    if outer < 0 or bL.shape[:-2] != bx.shape[outer:-1]:
        return solve_triangular(bL, bx.unsqueeze(-1), upper=False).square().sum((-2, -1))
    columns = bx.reshape(Size((-1,)) + bx.shape[outer:]).movedim(0, -1)
    found = solve_triangular(bL, columns, upper=False).square().sum(-2)
    return found.movedim(-1, 0).reshape(bx.shape[:-1])


def _precision_to_scale_tril(P):
    """The lower triangle L with ``L L^T = P^-1``.

    With rows and columns in reverse order, the Cholesky factor of P is an upper triangle U with ``U U^T = P``, and L
    is the inverse of its transpose.
    """
    U = cholesky(P.flip((-2, -1))).flip((-2, -1))
    identity = eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return solve_triangular(U.mT, identity, upper=False)


def half_log_det(L):
    """The logarithm of the determinant of triangles: half of that of ``L L^T``."""
    return L.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def check_matrix(name, matrix):
    if matrix.dim() < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions, got the "
                         f"shape {list(matrix.shape)}")


class OfMatrix(Distribution):
    """Base of distributions with a positive definite matrix: one of three forms is given, the others follow.

    `_unbroadcasted_scale_tril` is the factor, before it is expanded.
    """

    def _take(self, covariance_matrix, precision_matrix, scale_tril, error):
        """The name and the value of the form that is given."""
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}
        found = [(k, v) for k, v in given.items() if v is not None]
        if len(found) != 1:
            raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        check_matrix(*found[0])
        return found[0]

    def _factor(self, name, matrix):
        return {"scale_tril": lambda m: m, "covariance_matrix": cholesky,
                "precision_matrix": _precision_to_scale_tril}[name](matrix)

    def _of_all(self, matrix):
        """A matrix for each element of the batch."""
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor L of ``covariance_matrix = L L^T``."""
        return self._of_all(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariances (of `Wishart`: the scale matrix)."""
        return self._of_all(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of `covariance_matrix`."""
        return self._of_all(cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(Centred, OfMatrix):
    """Normal vectors of mean `loc`, with covariances that are given in one of three forms.

    `covariance_matrix`, its inverse `precision_matrix` or its Cholesky factor `scale_tril`, which is what all
    computations use. Density ``exp(-|L^-1 (x - loc)|^2 / 2) / (sqrt(2 pi)^n det L)``.
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
    _keeps = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._take(covariance_matrix, precision_matrix, scale_tril, ValueError)
        batch_shape = Size(broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.loc = loc.expand(batch_shape + (-1,))
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = self._factor(name, matrix)

    @property
    def variance(self):
        variance = self._unbroadcasted_scale_tril.square().sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=Size()):
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        off = self._checked(value) - self.loc
        length = _batch_mahalanobis(self._unbroadcasted_scale_tril, off)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + length) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
