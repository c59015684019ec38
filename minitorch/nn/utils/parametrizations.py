"""Ready parametrizations: ``weight_norm``, ``spectral_norm``, ``orthogonal``."""

from ...autograd.grad_mode import no_grad
from ...core.dtypes import int32
from ...core.tensor import Tensor
from ...host.type_info import finfo
from ...ops.creation import create
from ...ops.creation.create import from_numpy, zeros_like
from ...ops.creation.random import randn
from ...ops.elementwise import compare
from ...ops.linalg import matrices
from ...ops.linalg.decompositions import qr
from ...ops.linalg.matrices import solve
from ...ops.reductions.norms import vector_norm
from ...ops.shapes.join import cat
from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..modules.module import Module
from . import parametrize


def norm_except_dim(v, dim):
    """The 2-norm over all dimensions but ``dim``, which keep size 1; over all of them if ``dim`` is None or -1."""
    if dim is None or dim == -1:
        return vector_norm(v)
    dims = [d for d in range(v.dim()) if d != dim % v.dim()]
    return vector_norm(v, dim=dims, keepdim=True) if dims else v.abs()


class _WeightNorm(Module):
    """``g v / |v|``, the norm over all dimensions but ``dim``."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Split a weight into length ``original0`` and direction ``original1``: Salimans & Kingma 2016.

    ``dim`` is the dimension that keeps a length for each index; None takes one length for all. Files of the older
    ``nn.utils.weight_norm`` (``weight_g``, ``weight_v``) load too. Returns the module.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old_names(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for i, part in enumerate(("g", "v")):
            old = f"{prefix}{name}_{part}"
            if f"{prefix}{name}_g" in state_dict or old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(read_old_names)
    return module


class _SpectralNorm(Module):
    """The weight over its largest singular value, which power iterations on ``_u`` and ``_v`` estimate."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(f"Dimension out of range (expected to be in range of [-{weight.dim()}, "
                             f"{weight.dim() - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                             f"n_power_iterations={n_power_iterations}")
        self.dim = dim % weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            u, v = (matrix.new_empty(n).normal_(0, 1) for n in matrix.size())
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1) if weight.dim() > 1 else weight

    def _power_method(self, matrix, n_power_iterations):
        with no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.t() @ self._u, dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        # Copies, so that the next iterations do not spoil this one's backward pass.
        u, v = self._u.clone(), self._v.clone()
        return weight / (u @ (matrix @ v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its spectral norm: Miyato et al. 2018. In training, every access improves the estimate.

    ``dim`` is the dimension of outputs: by default 0, or 1 for transposed convolutions. Returns the module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _ConvTransposeNd) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


def _made_orthogonal(a):
    """The orthogonal factor of ``a``, its columns' signs fixed by the diagonal of R."""
    q, r = qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def _is_orthogonal(q):
    """True if the columns are orthonormal, to a few units of rounding."""
    n, k = q.size(-2), q.size(-1)
    gram = q.mT @ q
    eps = 10.0 * n * finfo(q.dtype).eps
    return bool((gram - create.eye(k, dtype=q.dtype, device=q.device)).abs().max() <= eps)


def _householder_product(vectors, tau):
    """The first columns of the product of ``I - tau_i v_i v_i^T``; v_i is 0 above i, 1 at i, and below as given."""
    n, k = vectors.size(-2), vectors.size(-1)
    eye = create.eye(n, k, dtype=vectors.dtype, device=vectors.device)
    vectors = vectors.tril(-1) + eye
    q = eye.expand(vectors.shape)
    for i in reversed(range(k)):
        v = vectors[..., i:i + 1]
        q = q - tau[..., i:i + 1].unsqueeze(-1) * (v @ (v.mT @ q))
    return q


class _Orthogonal(Module):
    """(Semi-)orthogonal matrices from lower triangular ones; see ``orthogonal``."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        n, k = X.size(-2), X.size(-1)
        if self.orthogonal_map == "householder":
            A = X.tril(-1)
            tau = 2.0 / (1.0 + (A * A).sum(-2))
            Q = _householder_product(A, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).to(int32).to(X.dtype).unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = cat([X, X.new_zeros((*X.shape[:-2], n, n - k))], -1)
            A = X - X.mT            # skew-symmetric, so that both maps give orthogonal matrices
            if self.orthogonal_map == "matrix_exp":
                Q = matrices.old_matrix_exp(A)
            else:
                eye = create.eye(n, dtype=A.dtype, device=A.device)
                Q = solve(eye - 0.5 * A, eye + 0.5 * A)
            Q = Q[..., :k]
        if hasattr(self, "base") and self.base is not None:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                             f"{Q.shape}.")
        wide = Q.size(-2) < Q.size(-1)
        given, Q = Q, (Q.mT if wide else Q)
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            X = self._reflectors(Q)
            return X.mT if wide else X
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _made_orthogonal(Q)
        else:
            # Complete the columns to a basis; what is drawn does not matter.
            more = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _made_orthogonal(cat([Q, more], -1))
        self.base = Q
        # The base is the value, so the map must give the identity: minus ones on the diagonal do, in all three.
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    @staticmethod
    def _reflectors(Q):
        """Householder vectors of ``Q`` below the diagonal, and on it the signs that the map multiplies by."""
        raw, tau = Q.backend.xp.linalg.qr(Q.array, mode="raw")
        X = from_numpy(raw).to(Q.device).mT.contiguous()
        tau = from_numpy(tau).to(Q.device)
        diagonal = X.diagonal(dim1=-2, dim2=-1)
        diagonal.copy_(diagonal.sign() * compare.choose(tau == 0, -1.0, 1.0))
        return X


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix (or batch of matrices) orthogonal: Q Q^T = I, or Q^T Q = I if it is tall.

    ``orthogonal_map`` is "matrix_exp" (default for square ones), "cayley" or "householder" (default otherwise).
    ``use_trivialization`` multiplies by the initial matrix (Lezcano-Casado 2019) and allows assignment; it costs
    memory. Returns the module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
                         f"Got: {orthogonal_map}")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
