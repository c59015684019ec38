"""Discrete Fourier transforms, as ``torch.fft``, by NumPy's: complex tensors, without gradients.

Plain functions, no op definitions.

`n` or `s` are the sizes that dimensions are padded with zeros or cut to first; `norm` says where the factor 1/n goes:
"backward" to the inverse (the default), "forward" to the transform, "ortho" its root to both.
"""

from ..core import dtypes
from ..core.device import device as Device
from ..core.errors import checked_dim
from ..core.grad_mode import grad_mode
from ..core.tensor import wrap
from .creation.create import empty, placed
from .define import composite
from .shapes.join import roll

NORMS = (None, "backward", "forward", "ortho")
SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def prepared(name, input, norm, real=False):
    """The raw array, integers as floats; RuntimeError for inputs that cannot be transformed."""
    x = input.array
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}": one of "backward", "forward", "ortho"')
    if input.needs_grad and grad_mode.enabled:
        raise RuntimeError(f"fft.{name}(): complex tensors have no gradient here; detach() the input")
    if x.dtype.kind in "iub":
        return x.astype(dtypes.get_default_dtype().np)
    if x.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {x.dtype}: fft.{name}() takes float32, float64 and complex tensors")
    if real and x.dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    return x


def axis(x, dim):
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return checked_dim(dim, x.ndim)


def check_points(*sizes):
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


# ---- one dimension -----------------------------------------------------------------------------------------
def one_dim(name, doc, real=False, halved=False):
    """A transform along one dimension; `halved`: by default the result has 2 (n - 1) points."""
    def transform(input, n=None, dim=-1, norm=None):
        x = prepared(name, input, norm, real)
        d = axis(x, dim)
        check_points(n if n is not None else 2 * (x.shape[d] - 1) if halved else x.shape[d])
        return wrap(getattr(input.backend.xp.fft, name)(x, n, d, norm), input.backend)
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = doc + " Along `dim`, with `n` points."
    return composite(transform, out=True, namespace="fft", autocast="float32 on cpu")


fft = one_dim("fft", "The discrete Fourier transform: ``X[k] = sum_j x[j] exp(-2 pi i j k / n)``.")
ifft = one_dim("ifft", "The inverse of `fft`.")
rfft = one_dim("rfft", "The first n // 2 + 1 elements of `fft` of a real tensor; the others are their conjugates.",
               real=True)
irfft = one_dim("irfft", "The inverse of `rfft`: a real tensor, of 2 (m - 1) points by default.", halved=True)
hfft = one_dim("hfft", "`fft` of a tensor with ``x[-j] = conj(x[j])``, given by its first half: a real tensor.",
               halved=True)
ihfft = one_dim("ihfft", "The inverse of `hfft`: the first half of the inverse transform of a real tensor.",
                real=True)


# ---- several dimensions ------------------------------------------------------------------------------------
def sizes_and_dims(name, x, s, dim, real):
    """The sizes to transform (of the result, where only half of the last dimension is given), and the dimensions."""
    given = s
    s = None if s is None else (s,) if isinstance(s, int) else tuple(s)
    dim = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dim is None:
        dim = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    if s is not None and len(s) != len(dim):
        raise RuntimeError(f"When given, dim and shape arguments must have the same length, but got {given} and {dim}")
    dims = tuple([axis(x, d) for d in dim])
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"FFT dims must be unique, got {dim}")
    if real is not None and not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    sizes = [x.shape[d] if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    if real == "result" and (s is None or s[-1] == -1):
        sizes[-1] = 2 * (x.shape[dims[-1]] - 1)
    check_points(*sizes)
    return sizes, dims


def many_dims(name, doc, real=None):
    """A transform along several dimensions (two, for names that end in 2); `real` is "input", "result" or None."""
    two = name.endswith("2")
    base = name[:-1] + "n"

    def run(input, s, dim, norm):
        x, xp = prepared(name, input, norm, real == "input"), input.backend.xp
        sizes, dims = sizes_and_dims(name, x, s, dim, real)
        if not dims:
            return wrap(x.astype("complex128" if x.dtype in ("float64", "complex128") else "complex64"), input.backend)
        if base == "hfftn":                                # NumPy has these along one dimension only
            out = xp.fft.irfftn(xp.conj(x), sizes, dims, SWAPPED[norm])
        elif base == "ihfftn":
            out = xp.conj(xp.fft.rfftn(x, sizes, dims, SWAPPED[norm]))
        else:
            out = getattr(xp.fft, base)(x, sizes, dims, norm)
        return wrap(out, input.backend)

    def transform(input, s=None, dim=None, norm=None):
        return run(input, s, dim, norm)

    def transform2(input, s=None, dim=(-2, -1), norm=None):
        return run(input, s, dim, norm)
    made = transform2 if two else transform
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc + (" Along the two dimensions `dim`." if two else " Along `dim`, all by default.")
    return composite(made, out=True, namespace="fft", autocast="float32 on cpu")


for _end in ("2", "n"):
    many_dims("fft" + _end, "The discrete Fourier transform in several dimensions.")
    many_dims("ifft" + _end, "The inverse discrete Fourier transform in several dimensions.")
    many_dims("rfft" + _end, "The transform of a real tensor: half of the last of the dimensions.", "input")
    many_dims("irfft" + _end, "The inverse transform of what `rfft` gives: a real tensor.", "result")
    many_dims("hfft" + _end, "The transform of a tensor with conjugate symmetry: a real tensor.", "result")
    many_dims("ihfft" + _end, "The inverse of `hfft`: half of the last of the dimensions.", "input")


# ---- frequencies -------------------------------------------------------------------------------------------
def frequencies(name, doc):
    def call(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        host = empty(0, device="cpu").backend
        array = getattr(host.xp.fft, name)(n.__index__(), d).astype(dtypes.as_np(dtype))
        return placed(array, out, Device("cpu") if device is None else device, requires_grad)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc + " For `n` samples, `d` apart."
    return composite(call, namespace="fft")


frequencies("fftfreq", "The frequencies of the elements of `fft`: 0, 1, ..., -2, -1, divided by ``n d``.")
frequencies("rfftfreq", "The frequencies of the elements of `rfft`: 0, 1, ..., n // 2, divided by ``n d``.")


def shifted(name, doc, half):
    def call(input, dim=None):
        dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
        dims = tuple([axis(input.array, d) for d in dims])
        return roll(input, tuple([half(input.array.shape[d]) for d in dims]), dims) if dims else input.clone()
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return composite(call, namespace="fft")


shifted("fftshift", "`input` with frequency 0 in the middle instead of at the beginning, along `dim` (all by default).",
        lambda n: n // 2)
shifted("ifftshift", "The inverse of `fftshift`.", lambda n: -(n // 2))
