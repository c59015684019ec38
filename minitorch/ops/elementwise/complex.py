"""Op definitions: complex numbers and their parts.

Gradients are in PyTorch's convention (`minitorch/core/complex.py`): that of a real L by ``z = x + iy`` is
``dL/dx + i dL/dy``. The functions here have no complex derivative, so their formulas are written in it.

Conjugates are computed at once: `conj` is a copy, where PyTorch's is a view that is conjugated when it is read.
"""

from ...core import dtypes
from ...core.errors import worded
from ...core.inplace import inplace
from ...core.promotion import require_tensors
from ...core.tensor import Tensor
from ..define import composite, method, op
from ..shapes.view import _mT

__all__ = ["complex", "conj", "imag", "polar", "real"]


def is_complex(x):
    """True if a raw array or a tensor is complex."""
    return getattr(x, "array", x).dtype.kind == "c"


def complex_sample(d):
    """An input for ops that take nothing but complex numbers."""
    return [d.complex()], {}


# ---- parts -------------------------------------------------------------------------------------------------
@op(dims="*", name="real", view=True, namespace=None, sample=complex_sample, complex="conjugate",
    node_name="SelectBackward0", input=lambda F, g, input_dtype: F.to(g, dtype=input_dtype))
def _real(F, input):
    """The real parts."""
    return input.real


@op(dims="*", name="imag", view=True, namespace=None, sample=complex_sample, complex="conjugate",
    node_name="SelectBackward0", input=lambda F, g: F.complex(F.zero(g), g))
def _imag(F, input):
    """The imaginary parts."""
    return input.imag


@composite(dims="*", method=False)
def real(input):
    """The real parts of a complex tensor, as a view; a real tensor itself. Also ``x.real``, which can be assigned to.

    The gradient of the view is that of the complex tensor, with imaginary part 0.

    >>> import minitorch
    >>> minitorch.tensor([1 + 2j, 3 - 1j]).real
    tensor([1., 3.])
    """
    return _real(input) if is_complex(input) else input


@composite(dims="*", method=False)
def imag(input):
    """The imaginary parts of a complex tensor, as a view: also ``x.imag``. RuntimeError for a real tensor.

    The gradient ``g`` of the view is that of the complex tensor as ``i g``.
    """
    if not is_complex(input):
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes: this one is {input.dtype}")
    return _imag(input)


def part(function, doc):
    """A property of tensors: the view that `function` gives, written to where it is assigned to."""
    def write(self, value):
        function(self).copy_(value)
    return property(lambda self: function(self), write, doc=doc)


for _name, _part in (("real", part(real, "The real parts, as a view; of a real tensor itself.")),
                     ("imag", part(imag, "The imaginary parts of a complex tensor, as a view."))):
    setattr(Tensor, _name, _part)


# ---- from parts --------------------------------------------------------------------------------------------
def complex_type(dtype):
    """The NumPy dtype of complex numbers with parts of a real one; a complex one itself."""
    return dtypes.from_np(dtype).to_complex().np


def check_parts(first, second):
    """RuntimeError unless both are float32 or both float64."""
    names = [dtypes.from_np(x.dtype).name for x in (first, second)]
    if any(x.dtype.kind not in "fV" or x.itemsize < 4 for x in (first, second)):
        raise RuntimeError(f"Expected both inputs to be Float or Double tensors but got {names[0]} and {names[1]}")
    if names[0] != names[1]:
        raise RuntimeError(f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
                           f"argument: cast one of them")


@op(dims="*", name="complex", method=False, promotion="same", check=check_parts, layout="inputs",
    complex="conjugate", sample=lambda d: ([d.array(s) for s in d.broadcastable(2)], {}),
    real=lambda F, g: F.real(g),
    imag=lambda F, g: F.imag(g))
def complex(F, real, imag):
    """``real + i imag``, with broadcasting: complex64 from float32, complex128 from float64.

    RuntimeError for other dtypes, or two different ones.

    >>> import minitorch
    >>> minitorch.complex(minitorch.tensor([1.0, 3.0]), minitorch.tensor([2.0, -1.0]))
    tensor([1.+2.j, 3.-1.j])
    """
    check_parts(real, imag)
    return assembled(F.xp, real, imag)


def assembled(xp, real, imag):
    """The complex array with these parts."""
    out = xp.empty(xp.broadcast_shapes(real.shape, imag.shape), complex_type(real.dtype))
    out.real[...] = real
    out.imag[...] = imag
    return out


@op(dims="*", method=False, promotion="same", check=check_parts, layout="inputs",
    complex="conjugate", domain={"abs": (0.25, 4.0)},
    abs=lambda F, g, out: F.real(g * F.conj(F.sgn(out))),
    angle=lambda F, g, out: F.imag(g * F.conj(out)))
def polar(F, abs, angle):
    """The complex numbers of size `abs` and angle `angle` (radians): ``abs * (cos(angle) + i sin(angle))``.

    float32 or float64 tensors that broadcast against each other; RuntimeError for other dtypes, or two different ones.
    The gradient of `abs` is right where that is positive, as in PyTorch.
    """
    check_parts(abs, angle)
    return assembled(F.xp, abs * F.xp.cos(angle), abs * F.xp.sin(angle))


@op(dims="* -> * pair=2", view=True, complex="conjugate", sample=complex_sample, method=False,
    input=lambda F, g: F.view_as_complex(F.copy_contiguous(g)))
def view_as_real(F, input):
    """The parts of complex numbers along a new last dimension of size 2: a view.

    complex64 as float32, complex128 as float64. RuntimeError for real tensors.
    """
    if input.dtype.kind != "c":
        raise worded(RuntimeError("view_as_real is only supported for complex tensors"))
    return F.strided(input.real, (*input.shape, 2), (*input.strides, input.itemsize // 2))


@op(dims="* [pair] -> *", view=True, complex="conjugate",
    sample=lambda d: ([d.array((*d.shape(), 2))], {}), method=False,
    input=lambda F, g: F.view_as_real(g))
def view_as_complex(F, input):
    """Complex numbers from their parts along a last dimension of size 2, which disappears: a view.

    float32 as complex64, float64 as complex128. RuntimeError for other dtypes, for a last dimension of another size or
    stride, and for other strides that are not divisible by 2.
    """
    problem = None
    if input.dtype.name not in ("float32", "float64"):
        problem = (f"view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: "
                   f"{dtypes.from_np(input.dtype).name}")
    elif not input.ndim:
        problem = "Input tensor must have one or more dimensions"
    elif input.shape[-1] != 2:
        problem = "Tensor must have a last dimension of size 2"
    elif input.size and input.strides[-1] != input.itemsize:
        problem = "Tensor must have a last dimension with stride 1"
    elif any(n > 1 and s % (2 * input.itemsize) for n, s in zip(input.shape[:-1], input.strides)):
        problem = "Tensor must have a stride divisible by 2 for all but last dimension"
    if problem:
        raise worded(RuntimeError(problem))
    return input.view(complex_type(input.dtype))[..., 0]


# ---- conjugates --------------------------------------------------------------------------------------------
@op(dims="*", name="conj", namespace=None, zeros="linear", complex="conjugate", layout="first",
    input=lambda F, g: F.conj(g))
def _conj(F, input):
    """The complex conjugates; real numbers as they are."""
    return F.xp.conjugate(input) if input.dtype.kind == "c" else input


@composite(dims="*")
def conj(input):
    """The complex conjugates ``x - iy``, a copy (in PyTorch a view, see `is_conj`); a real tensor itself."""
    return _conj(input) if is_complex(input) else input


@composite(dims="*", out=True)
def conj_physical(input):
    """The complex conjugates, a copy; a real tensor itself."""
    return conj(input)


conj_in_place = inplace("conj_physical", _conj)


@method
def conj_physical_(self):
    """In-place twin of `conj_physical`: writes the conjugates into this tensor and returns it."""
    return conj_in_place(self) if is_complex(self) else self


@composite(dims="*")
def resolve_conj(input):
    """`input` itself: conjugates are computed at once."""
    require_tensors(input)
    return input


@composite(dims="*")
def resolve_neg(input):
    """`input` itself: negations are computed at once."""
    require_tensors(input)
    return input


@composite
def adjoint(input):
    """The last two dimensions swapped and the elements conjugated; of a real tensor a view."""
    if input.array.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conj(_mT(input)) if input.array.ndim else conj(input[...])


# ---- angles ------------------------------------------------------------------------------------------------
def angle_slope(F, g, input):
    """``g i z / |z|^2``, and 0 at 0 and for real numbers."""
    if not is_complex(input):
        return F.zero(g)
    square = F.real(input * F.conj(input))
    scale = g / F.masked_fill(square, square == 0, float("inf"))
    return F.complex(-F.imag(input) * scale, F.real(input) * scale)


@op(dims="*", promotion="float", layout="inputs", kinks="zero", complex="conjugate", flat=(),
    input=lambda F, g, input: angle_slope(F, g, input))
def angle(F, input):
    """The angles of complex numbers, between -pi and pi; of real numbers 0, or pi where they are negative.

    float32 of complex64, float64 of complex128; integers and bools give the default float. NaN stays.
    """
    if input.dtype.kind == "c":
        return F.xp.arctan2(input.imag, input.real)
    return F.xp.where(input < 0, F.xp.pi, F.xp.sign(input) * 0).astype(input.dtype)
