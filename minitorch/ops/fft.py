"""Op definitions: discrete Fourier transforms, as ``torch.fft``, by NumPy's.

There are three: of complex numbers, of real ones to the first half of the frequencies, and from such a half to real
numbers. Everything else pads or cuts the input first, or takes conjugates. They are linear, so the derivative of each
is its transpose: the transform in the other direction, with the same factor in front.

`n` or `s` are the sizes that dimensions are padded with zeros or cut to first; `norm` says where the factor 1/n goes:
"backward" to the inverse (the default), "forward" to the transform, "ortho" its root to both.
"""

import math

from ..core import dtypes
from ..core.device import device as Device
from ..core.errors import checked_dim
from .creation.create import arange, placed
from .define import composite, op
from .elementwise.complex import complex_type, conj
from .indexing.index import _slice
from .nn.pad import constant_pad_nd
from .shapes.join import cat, roll
from .shapes.shape import _to

NORMS = (None, "backward", "forward", "ortho")
SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


# ---- the op definitions ------------------------------------------------------------------------------------
@op(dims="* [dims] -> * [dims]",
    namespace=None, layout="contiguous", complex="conjugate", node_name="FftC2CBackward0",
    sample=lambda d: ([d.complex((2, 3, 4))], dict(dims=d.choice([(2,), (0, 1)]), inverse=d.bool(),
                                                   norm=d.choice(NORMS))),
    input=lambda F, g, dims, norm, inverse: F.fft_complex(g, dims=dims, norm=SWAPPED[norm], inverse=not inverse))
def fft_complex(F, input, *, dims, norm, inverse):
    """The transform of complex numbers along `dims`, or its inverse."""
    transform = F.xp.fft.ifftn if inverse else F.xp.fft.fftn
    return transform(input, None, dims, norm).astype(input.dtype, copy=False)


@op(dims="* [dims] -> * dims=halved(dims)",
    namespace=None, layout="contiguous", complex="conjugate", node_name="FftR2CBackward0",
    sample=lambda d: ([d.array((2, 3, 4))], dict(dims=d.choice([(2,), (0, 1)]), norm=d.choice(NORMS))),
    input=lambda F, g, dims, norm, input_shape: from_half(F, g, dims, norm, input_shape))
def fft_half(F, input, *, dims, norm):
    """The transform of real numbers along `dims`: of the last of these the frequencies 0, 1, ..., n // 2."""
    return F.xp.fft.rfftn(input, None, dims, norm).astype(complex_type(input.dtype), copy=False)


def from_half(F, g, dims, norm, shape):
    """The real part of the transposed transform of `g` with zeros for the other half."""
    d = dims[-1]
    index = (slice(None),) * d + (slice(0, g.shape[d]),)
    whole = (*g.shape[:d], shape[d], *g.shape[d + 1:])
    padded = F.slice_backward(g, index=index, shape=whole)
    return F.real(F.fft_complex(padded, dims=dims, norm=SWAPPED[norm], inverse=True))


@op(dims="* [dims] -> * dims=with_last(dims, n)",
    namespace=None, layout="contiguous", complex="conjugate", node_name="FftC2RBackward0",
    sample=lambda d: half_sample(d),
    input=lambda F, g, dims, norm, n: to_half(F, g, dims, norm, n))
def fft_real(F, input, *, dims, n, norm):
    """The inverse of `fft_half`: real numbers, `n` of them along the last of `dims`."""
    sizes = [*[input.shape[d] for d in dims[:-1]], n]
    return F.xp.fft.irfftn(input, sizes, dims, norm).astype(input.real.dtype, copy=False)


def half_sample(d):
    n = d.choice([4, 5])
    shape, dims = d.choice([((2, n // 2 + 1), (1,)), ((n // 2 + 1, 3), (1, 0))])
    return [d.complex(shape)], dict(dims=dims, n=n, norm=d.choice(NORMS))


def to_half(F, g, dims, norm, n):
    """The transform of `g`, twice where a frequency stands for two."""
    out, d = F.fft_half(g, dims=dims, norm=SWAPPED[norm]), dims[-1]
    before = (slice(None),) * d
    twice = (n + 1) // 2                                   # frequencies 1, ..., twice - 1 have a mirror image
    if twice <= 1:
        return out
    middle = F.slice(out, index=(*before, slice(1, twice)))
    return out + F.slice_backward(middle, index=(*before, slice(1, twice)), shape=tuple(out.shape))


# ---- arguments ---------------------------------------------------------------------------------------------
def prepared(name, input, norm, real=False):
    """The input, integers as floats and, unless `real`, as complex numbers; RuntimeError for what has no transform."""
    x = input.array
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}": one of "backward", "forward", "ortho"')
    if real and x.dtype.kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {x.dtype}")
    if x.dtype.kind in "iub":
        input = input.to(dtypes.get_default_dtype())
    elif x.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {x.dtype}: fft.{name}() takes float32, float64 and complex tensors")
    if not real and x.dtype.kind != "c":
        input = _to(input, dtype=complex_type(input.array.dtype))
    return input


def axis_of(x, dim):
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return checked_dim(dim, x.ndim)


def check_points(*sizes):
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def resized(input, sizes, dims):
    """`input` padded with zeros at the end, or cut, to `sizes` along `dims`."""
    shape = input.array.shape
    if all(shape[d] == n for n, d in zip(sizes, dims)):
        return input
    index, pad = [slice(None)] * len(shape), [0] * (2 * len(shape))
    for n, d in zip(sizes, dims):
        if n < shape[d]:
            index[d] = slice(0, n)
        pad[2 * (len(shape) - 1 - d) + 1] = max(n - shape[d], 0)
    cut = _slice(input, tuple(index))
    return constant_pad_nd(cut, tuple(pad), 0) if any(pad) else cut


def transformed(base, input, sizes, dims, norm):
    """The transform of the kind `base` along `dims`; `sizes` are those of the result where that is real."""
    if base in ("irfft", "hfft"):
        half = [*sizes[:-1], sizes[-1] // 2 + 1]
        x = resized(input, half, dims)
        return fft_real(x if base == "irfft" else conj(x), dims, sizes[-1], norm if base == "irfft" else SWAPPED[norm])
    x = resized(input, sizes, dims)
    if base == "rfft":
        return fft_half(x, dims, norm)
    if base == "ihfft":
        return conj(fft_half(x, dims, SWAPPED[norm]))
    return fft_complex(x, dims, norm, base == "ifft")


# ---- one dimension -----------------------------------------------------------------------------------------
def one_dim(name, doc, real=False, halved=False):
    """A transform along one dimension; `halved`: by default the result has 2 (n - 1) points."""
    def transform(input, n=None, dim=-1, norm=None):
        x = prepared(name, input, norm, real)
        d = axis_of(x.array, dim)
        n = n if n is not None else 2 * (x.array.shape[d] - 1) if halved else x.array.shape[d]
        check_points(n)
        return transformed(name, x, [n], (d,), norm)
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
    dims = tuple([axis_of(x, d) for d in dim])
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
    base = name[:-1]

    def run(input, s, dim, norm):
        x = prepared(name, input, norm, real == "input")
        sizes, dims = sizes_and_dims(name, x.array, s, dim, real)
        return transformed(base, x, sizes, dims, norm) if dims else x

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
        if dtype.category < dtypes.FLOATING:
            raise RuntimeError(f"{name} requires a floating point or complex dtype, got {dtype}")
        device = Device("cpu") if device is None else device
        n, found = n.__index__(), dtypes.as_np(dtype)
        end = (n + 1) // 2 if name == "fftfreq" else n // 2 + 1
        places = arange(0, end, dtype=dtype, device=device)
        if name == "fftfreq":
            places = cat([places, arange(-(n // 2), 0, dtype=dtype, device=device)])
        factor = 1 / (n * d) if n and d else math.inf      # and 0 * inf at 0, as in PyTorch
        array = (places * factor).array
        return placed(places.backend.to_host(array).astype(found), out, device, requires_grad)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc + " For `n` samples, `d` apart."
    return composite(call, namespace="fft")


frequencies("fftfreq", "The frequencies of the elements of `fft`: 0, 1, ..., -2, -1, divided by ``n d``.")
frequencies("rfftfreq", "The frequencies of the elements of `rfft`: 0, 1, ..., n // 2, divided by ``n d``.")


def shifted(name, doc, half):
    def call(input, dim=None):
        dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
        dims = tuple([axis_of(input.array, d) for d in dims])
        return roll(input, tuple([half(input.array.shape[d]) for d in dims]), dims) if dims else input.clone()
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return composite(call, namespace="fft")


shifted("fftshift", "`input` with frequency 0 in the middle instead of at the beginning, along `dim` (all by default).",
        lambda n: n // 2)
shifted("ifftshift", "The inverse of `fftshift`.", lambda n: -(n // 2))
