"""NumPy's products and reading of memory on batched arrays: entered as in `functions.py`."""

from .array import Unbatched, aligned, batched, is_shared, lifted, shared
from .functions import axis_of, function


# ---- products ----------------------------------------------------------------------------------------------
@function()
def matmul(F, a, b, **options):
    a, b = lifted(F, a), lifted(F, b)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    row, column = a.ndim == 1, b.ndim == 1
    a = a.reshape((1, -1)) if row else a
    b = b.reshape((-1, 1)) if column else b
    x, y = aligned(F, (a, b))
    found = batched(F, F.inner.xp.matmul(x, y))
    if row or column:
        shape = found.shape
        found = found.reshape(shape[:-2] + (() if row else shape[-2:-1]) + (() if column else shape[-1:]))
    return found


@function()
def dot(F, a, b, **options):
    a, b = lifted(F, a), lifted(F, b)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim > 2:
        raise Unbatched("vmap: dot of more than two dimensions")
    return matmul(F, a, b)


@function()
def vdot(F, a, b):
    return matmul(F, lifted(F, a).reshape(-1).conj(), lifted(F, b).reshape(-1))


@function()
def outer(F, a, b):
    return lifted(F, a).reshape((-1, 1)) * lifted(F, b).reshape((1, -1))


@function()
def einsum(F, equation, *operands, **options):
    arrays = [lifted(F, x) for x in operands]
    letter = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in equation)
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow:
        raise Unbatched("vmap: einsum without ->")
    if all([is_shared(x) for x in arrays]):
        return batched(F, F.inner.xp.einsum(equation, *[shared(x) for x in arrays], **options)[None])
    left = ",".join([part if is_shared(x) else letter + part for part, x in zip(left.split(","), arrays)])
    found = F.inner.xp.einsum(f"{left}->{letter}{right}", *[shared(x) if is_shared(x) else x.value for x in arrays],
                              **options)
    return batched(F, found)


# ---- linear algebra ------------------------------------------------------------------------------
@function("linalg.solve")
def solve(F, a, b):
    a, b = lifted(F, a), lifted(F, b)
    column = b.ndim == 1
    x, y = aligned(F, (a, b.reshape((-1, 1)) if column else b))
    found = batched(F, F.inner.xp.linalg.solve(x, y))
    return found.reshape(found.shape[:-1]) if column else found


@function("linalg.norm")
def norm(F, x, ord=None, axis=None, keepdims=False):
    x = lifted(F, x)
    if axis is None and ord is None:
        return F.xp.sqrt((abs(x) ** 2).sum(keepdims=keepdims))
    if axis is None:
        axis = tuple(range(x.ndim))
    return batched(F, F.inner.xp.linalg.norm(x.value, ord, axis_of(x, axis), keepdims))


# ---- memory --------------------------------------------------------------------------------------
@function("lib.stride_tricks.as_strided")
def as_strided(F, x, shape, strides):
    return F.strided(x, shape, strides)


@function("lib.stride_tricks.sliding_window_view")
def sliding_window_view(F, x, window, axis=None):
    f = F.inner.xp.lib.stride_tricks.sliding_window_view
    return batched(F, f(x.value, window, axis_of(x, axis)))
