"""NumPy's products, linear algebra and Fourier transforms on batched arrays: entered as in `functions.py`."""

from .array import Unbatched, aligned, batched, is_shared, lifted, shared, wrapped
from .functions import RULES, axis_of, function


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


# ---- linear algebra and Fourier transforms: NumPy's take leading dimensions -------------------------------------
def leading(name):
    def call(F, *arrays, **options):
        inner = getattr(F.inner.xp.linalg, name)
        matrices = [x for x in arrays if hasattr(x, "ndim")]
        others = arrays[len(matrices):]
        return wrapped(F, inner(*aligned(F, [lifted(F, x) for x in matrices]), *others, **options))
    RULES[f"linalg.{name}"] = call


for _name in ("det", "inv", "slogdet", "svd", "qr", "eigh", "eigvalsh", "eig", "eigvals", "cholesky", "svdvals",
              "pinv", "matrix_rank"):
    leading(_name)


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


def transform(name, several):
    """A transform along one axis (`several`: 0), the last two by default (2) or all (1)."""
    def call(F, x, n=None, axis=None, norm=None, **options):
        x = lifted(F, x)
        n, axis = options.get("s", n), options.get("axes", axis)
        if axis is None:
            axis = {0: -1, 1: tuple(range(-(x.ndim if n is None else len(n)), 0)), 2: (-2, -1)}[several]
        return batched(F, getattr(F.inner.xp.fft, name)(x.value, n, axis_of(x, axis), norm))
    RULES[f"fft.{name}"] = call


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    transform(_name, 0)
    if _name[0] != "h" and _name[:2] != "ih":
        transform(f"{_name}n", 1)
        transform(f"{_name}2", 2)


def shifted(name):
    def call(F, x, axes=None):
        return batched(F, getattr(F.inner.xp.fft, name)(x.value, axis_of(x, axes)))
    RULES[f"fft.{name}"] = call


for _name in ("fftshift", "ifftshift"):
    shifted(_name)


@function("lib.stride_tricks.as_strided")
def as_strided(F, x, shape, strides):
    return F.strided(x, shape, strides)


@function("lib.stride_tricks.sliding_window_view")
def sliding_window_view(F, x, window, axis=None):
    f = F.inner.xp.lib.stride_tricks.sliding_window_view
    return batched(F, f(x.value, window, axis_of(x, axis)))
