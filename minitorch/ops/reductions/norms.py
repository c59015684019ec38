"""Op definitions: norms of vectors over some dimensions or all, and functions built on them.

Norms of matrices are in `linalg/matrices.py`.
"""

from ...core.arrays import is_inexact
from ...core.promotion import require_tensors
from ...core.registry import FUNCTIONS
from ..define import composite, op
from ..shapes.view import dim_of
from .reduce import axes, count, is_all, restore

INF = float("inf")


def per_length(F, g, out):
    """``g / out``, and 0 where the length `out` is 0, whatever `g` is there."""
    flat = out == 0
    return F.masked_fill(g, flat, 0.0) / F.where(flat, INF, out)


def norm_slope(F, g, input, out, ord, dim, keepdim, shape):
    """``sgn(x) |x|^(p-1) norm^(1-p)``; 0 at elements that are 0, where there is no derivative for small p."""
    every = tuple(range(len(shape))) if is_all(dim) else dim
    g, out = restore(F, g, dim, keepdim, shape), restore(F, out, dim, keepdim, shape)
    if ord == 2:
        return input * per_length(F, g, out)
    if ord == 0:
        return F.sgn(input) * (g * 0.0)
    if ord == 1:
        return F.sgn(input) * g
    if ord in (INF, -INF):                                 # in equal parts to the elements that attain it
        at = F.to(F.attains(F.abs(input), out), dtype=g.dtype)
        return F.sgn(input) * at * (g / F.sum(at, dim=every, keepdim=True))
    size = F.where(input == 0, 1.0, F.abs(input))
    scale = F.pow(out if ord < 1 else F.where(out == 0, 1.0, out), 1 - ord)
    return F.sgn(input) * F.pow(size, ord - 1) * (g * scale)


def norm_dims(ord):
    """Zeros do not count in norms of positive order, infinity does not in that of order -inf."""
    if ord == -INF:
        return "* [dim] -> * by min"
    return "* [dim] -> * by sum" if ord >= 0 else "* [dim] -> *"


@op(casts=True, dims=norm_dims, complex="conjugate", layout="contiguous",
    node_name="LinalgVectorNormBackward0",
    promotion="any", namespace="linalg", autocast="float32 on cuda", sample=lambda d: norm_sample(d),
    x=lambda F, g, x, out, ord, dim, keepdim, x_shape: norm_slope(F, g, x, out, ord, dim, keepdim, x_shape))
def vector_norm(F, x, *, ord: float = 2, dim=None, keepdim=False, dtype=None):
    """``sum(|x|^ord) ^ (1 / ord)`` over `dim`; for inf and -inf the extremes of ``|x|``, for 0 how many are not 0.

    Its gradient at a vector of zeros is 0.
    """
    check_norm(x, ord, dim)
    xp, dim = F.xp, axes(x, dim)
    if x.dtype.kind == "c":                                # by the sizes of its elements, which are real
        x = xp.abs(x)
    if ord == 2:
        return xp.sqrt(F.sum(x * x, dim=dim, keepdim=keepdim))
    if ord == 0:
        return F.sum(x != 0, dim=dim, keepdim=keepdim).astype(x.dtype)
    size = xp.abs(x)
    if ord in (INF, -INF):
        return (xp.maximum if ord > 0 else xp.minimum).reduce(size, dim, None, None, keepdim)
    if ord == 1:
        return F.sum(size, dim=dim, keepdim=keepdim)
    return F.sum(size ** ord, dim=dim, keepdim=keepdim) ** (1 / ord)


def check_norm(x, ord, dim):
    """Raise RuntimeError for non-floating dtypes, and for norms that an empty vector lacks."""
    if not is_inexact(x.dtype):
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{x.dtype}: convert it first, as in x.float()")
    if not x.size and (ord < 0 or ord == INF) and count(x.shape, axes(x, dim)) == 0:
        raise RuntimeError(f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation "
                           f"does not have an identity")


def norm_sample(d):
    return [d.distinct((2, 3), -1.9, 2.3)], dict(ord=d.choice([2, 1, 0, 3, 1.5, 0.5, -1, INF, -INF]), keepdim=d.bool(),
                                      dim=d.choice([None, 0, -1, (0, 1)]))


@composite(out=True)
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm over `dim`, or of all elements: of a vector for a number `p` and for "fro", of a matrix for "nuc"."""
    if p == "nuc":
        dim = tuple(range(-2, 0)) if dim is None else dim
        return FUNCTIONS["linalg", "matrix_norm"].call(input, "nuc", dim, keepdim, dtype=dtype)
    if p != "fro" and isinstance(p, str):
        raise RuntimeError(f"norm(): only 'fro', 'nuc' and numbers are norms, got {p!r}")
    return vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype)


@composite(autocast="float32 on cuda")
def dist(input, other, p=2):
    """The `p`-norm of ``input - other``."""
    require_tensors(input, other)
    return vector_norm(input - other, p)


@composite(inplace=True, out=True, autocast="float32 on cuda")
def renorm(input, p, dim, maxnorm):
    """`input` with each slice along `dim` scaled down to a `p`-norm of `maxnorm`, if it has a larger one."""
    if not is_inexact(input.array.dtype):
        raise RuntimeError(f"renorm(): expected a floating point or complex tensor, got {input.dtype.name}")
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.array.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.array.ndim} dimensions")
    d = dim_of(input, dim)
    size = vector_norm(input, p, tuple([i for i in range(input.array.ndim) if i != d]), True)
    return (input * (maxnorm / (size + 1e-7)).masked_fill(~(size > maxnorm), 1.0)).contiguous()
