"""Helpers of the distributions: parameters brought to one shape, probabilities and logits, triangles as vectors."""

import math
from functools import update_wrapper

from .. import Tensor, arange, broadcast_tensors, empty, enable_grad, finfo, get_default_dtype, randn, softmax, tensor
from ..extend import grad_mode
from ..nn.functional import pad

euler_constant = 0.57721566490153286060

__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]


# ---- parameters --------------------------------------------------------------------------------------------
def is_number(x):
    """True if `x` is a Python number, which takes the dtype and device of the others."""
    return isinstance(x, (int, float))


def broadcast_all(*values):
    """Numbers and tensors as tensors of their common shape.

    Numbers take dtype and device of the first tensor, the default dtype if there is none. ValueError for anything
    that is neither a number nor a tensor (or an object with ``__torch_function__``).
    """
    tensors = [v for v in values if hasattr(v, "__torch_function__")]
    if len(tensors) < len(values):
        if not all([hasattr(v, "__torch_function__") or is_number(v) for v in values]):
            raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                             f"__torch_function__, got {', '.join([type(v).__name__ for v in values])}.")
        like = next((t for t in tensors if isinstance(t, Tensor)), None)
        options = ({"dtype": get_default_dtype()} if like is None else {"dtype": like.dtype, "device": like.device})
        values = [tensor(v, **options) if is_number(v) else v for v in values]
    return broadcast_tensors(*values)


class lazy_property:
    """A property that is computed when it is first read, with gradients, and then kept as an attribute.

    Read from the class it is a property, so that tools which look for those find it.
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property as its class shows it."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    return value.flatten(-dim).sum(-1) if dim else value


# ---- decisions ---------------------------------------------------------------------------------------------
def all_true(found):
    """True if all elements of a bool tensor are true; in a `vmap`, those of all its elements."""
    return bool(found.backend.physical(found.array).all())


def only_value(x, what):
    """The number that all elements of `x` are, in a `vmap` those of all its elements; NotImplementedError otherwise."""
    array = x.backend.physical(x.array)
    n = array.max().item()
    if array.min().item() != n:
        raise NotImplementedError(f"Inhomogeneous {what} not supported.")
    return n


# ---- random numbers ----------------------------------------------------------------------------------------
def _standard_normal(shape, dtype, device):
    return randn(shape, dtype=dtype, device=device)


def drawn(like, shape, fill):
    """A tensor of `shape`, of the dtype and device of `like`, that the function `fill` overwrites with numbers."""
    made = empty(shape, dtype=like.dtype, device=like.device)
    return fill(grad_mode.batches[-1].room(made) if grad_mode.batches else made)


# ---- probabilities -----------------------------------------------------------------------------------------
def logits_to_probs(logits, is_binary=False):
    """Probabilities of log-odds: `sigmoid` if `is_binary`, else `softmax` along the last dimension."""
    return logits.sigmoid() if is_binary else softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities kept away from 0 and 1 by the dtype's epsilon."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log-odds of probabilities that were clamped: ``log(p / (1 - p))`` if `is_binary`, else ``log(p)``."""
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


class ByProbabilities:
    """Parameters given as either `probs` or `logits`; the other is computed when it is first read.

    `_is_binary` says whether they are of one event, or of several that exclude each other, along the last dimension.
    """

    _is_binary = True

    def _take(self, probs, logits, *others):
        """Keep the one that is given, broadcast with `others`, which are returned."""
        check_one(probs, logits)
        *others, self._param = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, "logits" if probs is None else "probs", self._param)
        return others

    @lazy_property
    def logits(self):
        """Log-odds; of several events, logarithms of their probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self):
        """The shape of `probs` and `logits`."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)


def check_one(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


# ---- triangles ---------------------------------------------------------------------------------------------
def below(n, diag, device=None):
    """Which elements of an n by n matrix lie on or below the diagonal `diag`: a bool matrix."""
    line = arange(n, device=device)
    return line < line.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below the diagonal `diag` of square matrices, row by row: (..., n, n) to (..., k)."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat.flatten(-2)[..., below(n, diag, mat.device).flatten().nonzero()[:, 0]]


def vec_to_tril_matrix(vec, diag=0):
    """The inverse of `tril_matrix_to_vec`: a square matrix with zeros above the diagonal `diag`; diag is 0 or less."""
    k = vec.shape[-1]
    n = round((math.sqrt(8 * k + 1) - 1) / 2) - diag       # k = (n + diag) (n + diag + 1) / 2
    if (n + diag) * (n + diag + 1) != 2 * k:
        raise ValueError(f"The size of last dimension is {k} which cannot be expressed as the lower triangular part of "
                         f"a square D x D matrix.")
    kept = below(n, diag, vec.device).flatten()
    places = (kept.cumsum(0) - 1).masked_fill(~kept, k)    # the others take the zero that is put behind
    return pad(vec, (0, 1))[..., places].unflatten(-1, (n, n))
