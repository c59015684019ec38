"""The multivariate normal distribution whose covariances are a matrix of low rank and a diagonal."""

import math

from .. import Size, broadcast_tensors, eye
from ..linalg import cholesky, solve_triangular
from . import constraints
from .location_scale import Centred
from .multivariate_normal import _batch_mahalanobis, _batch_mv, check_matrix, half_log_det
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


# ---- Woodbury's identity and the matrix determinant lemma ---------------------------------------------------
def over_diagonal(W, D):
    """``W^T D^-1``."""
    return W.mT / D.unsqueeze(-2)


def one_added(A):
    """``I + A``."""
    return A + eye(A.shape[-1], dtype=A.dtype, device=A.device)


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of the capacitance matrix ``I + W^T D^-1 W``, whose size is the rank."""
    return cholesky(one_added(over_diagonal(W, D) @ W))


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """``log det(W W^T + D)``, which is ``log det(I + W^T D^-1 W) + log det D``."""
    return 2 * half_log_det(capacitance_tril) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """``x^T (W W^T + D)^-1 x``, which is ``x^T D^-1 x - |C^-1 W^T D^-1 x|^2``, C being the factor."""
    whole = (x.square() / D).sum(-1)
    return whole - _batch_mahalanobis(capacitance_tril, _batch_mv(over_diagonal(W, D), x))


class LowRankMultivariateNormal(Centred):
    """Normal vectors of mean `loc` with the covariances ``cov_factor cov_factor^T + diag(cov_diag)``.

    `cov_factor` is (..., n, r), `cov_diag` (..., n). Densities and samples cost ``n r`` instead of ``n^2`` operations.
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _expands = ("loc", "cov_factor", "cov_diag")
    _keeps = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        check_matrix("cov_factor", cov_factor)
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m, got {list(cov_factor.shape)}")
        if cov_diag.shape[-1:] != (n,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {loc.shape[-1:]}, got "
                             f"{list(cov_diag.shape)}")
        try:
            mean, self.cov_factor, diagonal = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from error
        self.loc, self.cov_diag = mean[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)

    @property
    def _low_rank(self):
        """The arguments of the functions above."""
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def _of_all(self, matrix):
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def variance(self):
        W, D = self._low_rank
        return (W.square().sum(-1) + D).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariances: that of ``I + D^-1/2 W W^T D^-1/2``, scaled."""
        W, D = self._low_rank
        root = D.sqrt().unsqueeze(-1)
        return self._of_all(root * cholesky(one_added((W / root) @ (W / root).mT)))

    @lazy_property
    def covariance_matrix(self):
        """The covariances."""
        W, D = self._low_rank
        return self._of_all(W @ W.mT + D.diag_embed())

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariances: ``D^-1 - A^T A``, with ``A = C^-1 W^T D^-1``."""
        W, D = self._low_rank
        A = solve_triangular(self._capacitance_tril, over_diagonal(W, D), upper=False)
        return self._of_all(D.reciprocal().diag_embed() - A.mT @ A)

    def rsample(self, sample_shape=Size()):
        W, D = self._low_rank
        shape = self._extended_shape(sample_shape)
        of_rank = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(W, of_rank) + D.sqrt() * noise

    def log_prob(self, value):
        off = self._checked(value) - self.loc
        length = _batch_lowrank_mahalanobis(*self._low_rank, off, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + length)

    def entropy(self):
        log_det = _batch_lowrank_logdet(*self._low_rank, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
