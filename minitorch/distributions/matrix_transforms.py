"""Transforms of vectors and matrices: to the simplex, to correlations, to positive definite matrices."""

import math

from .. import Size, arange, eye, finfo, softmax
from ..linalg import cholesky
from ..nn.functional import logsigmoid, pad, softplus
from . import constraints
from .composed import Alike, Transform, require_dims
from .scalar_transforms import unit
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = ["CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
           "StickBreakingTransform"]


# ---- to the simplex ----------------------------------------------------------------------------------------
class SoftmaxTransform(Alike):
    """``exp(x)`` divided by its sum; no bijection, since vectors that differ by a constant give the same."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Alike):
    """K numbers to K + 1 parts of a stick: each breaks off a share, its sigmoid, of what is left.

    Numbers are shifted so that zeros give equal parts. Source: Stan Reference Manual, "Unit simplex".
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def shift(x):
        """``log(K), log(K - 1), ..., 0``, for K numbers."""
        return arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x):
        share = unit((x - self.shift(x)).sigmoid())
        left = (1 - share).cumprod(-1)
        return pad(share, (0, 1), value=1) * pad(left, (1, 0), value=1)

    def _inverse(self, y):
        part = y[..., :-1]
        left = (1 - part.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return part.log() - left.log() + self.shift(part)

    def log_abs_det_jacobian(self, x, y):
        x = x - self.shift(x)
        return (logsigmoid(x) - x + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        require_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        require_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] - 1,)


# ---- to matrices -------------------------------------------------------------------------------------------
class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers to the Cholesky factor of a D by D correlation matrix.

    The hyperbolic tangents of the numbers are partial correlations: each row of the factor breaks its length, 1, as
    `StickBreakingTransform` breaks a stick. Source: Stan Reference Manual, "Cholesky factors of correlation matrices".
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r.square()).sqrt().cumprod(-1)
        r = r + eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], (1, 0), value=1)

    def _inverse(self, y):
        left = pad(1 - y.square().cumsum(-1)[..., :-1], (1, 0), value=1)
        r = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (r.log1p() - (-r).log1p()) / 2              # the inverse of tanh

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape):
        require_dims(shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {shape[-1]} is not D (D - 1) / 2")
        return Size(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"Input is not square: {list(shape[-2:])}")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Alike):
    """A square matrix to a lower triangle with a positive diagonal, the exponential of its own."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Alike):
    """A square matrix to ``L L^T``, where L is that of `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(cholesky(y))
