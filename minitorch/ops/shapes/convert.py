"""Conversion to other dtypes and devices: `to` and its short forms; no op definitions (the cast is in `shape.py`)."""

import numbers

from ...autograd.function import Function
from ...core import dtypes
from ...core.device import device as Device
from ...core.device import get
from ...core.dtypes import as_np
from ...core.graph import bump_version
from ...core.inplace import inplace, is_plain
from ...core.layouts import copy_like, inverse, own_order
from ...core.storage import contiguous_format, preserve_format
from ...core.tensor import Tensor, wrap
from ...host.data import as_number
from ..creation import create
from ..define import composite, method
from ..layouts import suggested_format
from .memory import is_same_memory
from .shape import _to, clone, copy_contiguous, copy_in_format


@method
def to(self, *args, dtype=None, device=None, other=None, non_blocking=False, copy=False, memory_format=None):
    """This tensor with another dtype or on another device; itself if it is already there (unless `copy`).

    Takes a dtype, a device, a device and a dtype, or another tensor whose dtype and device to take.
    """
    if args:
        dtype, device, other, flags = by_type(args, dtype, device, other)
        if flags:
            copy, non_blocking = copy or flags[1:] == [True], non_blocking or flags[0]
    if other is not None:
        dtype, device = other.dtype, other.device
    out = self
    if device is not None:
        backend = get(device)
        if backend is not self.backend and backend.device != self.device:
            out = to_backend(out, backend, non_blocking)
    if dtype is not None:
        found = as_np(dtype)
        if found != out.array.dtype:
            out = cast(out, found)
    if memory_format is None or memory_format is preserve_format:
        return clone(self) if copy and out is self else out
    if out is not self:
        return out if lies_in_one(out, memory_format) else copy_in_format(out, memory_format)
    stays = not copy and memory_format is suggested_format(self.array)
    return self if stays else clone_in(self, memory_format=memory_format)


def by_type(args, dtype, device, other):
    """The dtype, device and tensor among positional arguments; the bools: non_blocking, copy."""
    flags = []
    for arg in args:
        if arg.__class__ is dtypes.dtype:
            dtype = arg
        elif isinstance(arg, Tensor):
            other = arg
        elif arg in (float, int, bool, complex):
            dtype = arg
        elif isinstance(arg, (str, Device)) or arg.__class__ is int:
            device = arg
        elif isinstance(arg, bool):
            flags.append(arg)
        elif arg is not None:
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(arg).__name__}), but "
                            f"expected a dtype, a device or a tensor")
    return dtype, device, other, flags


def cast(x, found):
    """`x` in a NumPy dtype; non-floating results have no gradient."""
    recorded = x.needs_grad or x.backend.level is not None
    if found.kind not in "fcV" or found.itemsize > 1 and not recorded:
        return wrap(copy_like(x.array, found), x.backend)
    return _to(x, dtype=found)


class ToBackend(Function):
    """A copy on another device; the gradient comes back to the first."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, backend, non_blocking):
        ctx.source, ctx.target, order = x.backend, backend, own_order(x.array)
        source = x.array if order is None else x.array.transpose(order)
        array = backend.from_backend(source, x.backend, non_blocking)
        return wrap(array if order is None else array.transpose(inverse(order)), backend)

    @staticmethod
    def backward(ctx, g):
        return ToBackend.apply(g, ctx.source, False), None, None

    @staticmethod
    def jvp(ctx, tangent, _, __):
        return ToBackend.apply(tangent, ctx.target, False)


def to_backend(x, backend, non_blocking=False):
    if (beside := getattr(type(x.backend), "beside", None)) is not None:   # of a kind that moves in parts
        backend = beside(x.backend, backend)
    return ToBackend.apply(x, backend, non_blocking)


def short_form(name, dtype):
    def convert(self, memory_format=None):
        if memory_format is None:
            found = dtype.np
            return self if self.array.dtype == found else cast(self, found)
        return to(self, dtype=dtype, memory_format=memory_format)
    convert.__name__, convert.__doc__ = name, f"This tensor as {dtype.name}: ``to({dtype})``."
    return method(convert)


for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool", "cfloat", "cdouble"):
    short_form(name, getattr(dtypes, name))
short_form("char", dtypes.int8)
short_form("byte", dtypes.uint8)


@method
def cpu(self, memory_format=None):
    """This tensor in the processor's memory; itself if it is there."""
    return to(self, device="cpu", memory_format=memory_format)


@method
def cuda(self, device=None, non_blocking=False, memory_format=None):
    """This tensor on a CUDA device (the current one by default)."""
    return to(self, device="cuda" if device is None else device, non_blocking=non_blocking,
              memory_format=memory_format)


@method
def type_as(self, other):
    """This tensor in the dtype of `other`."""
    return to(self, dtype=other.dtype)


@composite(public_name="clone")
def clone_in(input, *, memory_format=None):
    """A copy with memory of its own; gradients flow through it. The elements keep their order in memory, unless
    `memory_format` asks for another.
    """
    if memory_format is None or memory_format is preserve_format:
        return clone(input)
    if memory_format is contiguous_format:
        return copy_contiguous(input)
    return clone(input) if lies_in_one(input, memory_format) else copy_in_format(input, memory_format)


def lies_in_one(x, memory_format):
    """True if the elements lie in the order of `memory_format` and, if that has channels last, in
    no other."""
    return x.is_contiguous(memory_format=memory_format) and (memory_format is contiguous_format
                                                             or not x.is_contiguous())


@method
def zero_(self):
    """Fill this tensor with zeros."""
    return written(self, 0, "zero_") if is_plain(self, (), NUMBERS) else _zero(self)


@method
def fill_(self, value):
    """Fill this tensor with a number or a 0-d tensor."""
    if isinstance(value, Tensor):
        if value.array.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.array.ndim} "
                               f"dimensions.")
        return copy_(self, clone(value))                   # which may be an element of this tensor
    if type(value) is float and is_plain(self, (), "f"):
        return written(self, value, "fill_")
    return _fill(self, wrap(self.backend.xp.asarray(as_number(value, self.dtype), self.array.dtype), self.backend))


@method
def copy_(self, other, non_blocking=False):
    """Write the elements of `other`, broadcast and cast, into this tensor; gradients flow back to `other`."""
    if not isinstance(other, Tensor):
        if not isinstance(other, numbers.Number):
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}: write "
                            f"x.copy_(torch.as_tensor(...))")
        other = create.tensor(other)
    elif is_same_memory(self.array, other.array) and not (
            self.needs_grad or other.needs_grad or other.backend is not self.backend):
        return self
    if is_plain(self, (other,), NUMBERS):
        return written(self, other.array, "copy_")
    return _copy(self, other if other.backend is self.backend else to(other, device=self.device,
                                                                     non_blocking=non_blocking))


_copy, _fill = inplace("copy", create.copy), inplace("fill", create.copy, repeated=True)
_zero, NUMBERS = inplace("zero", create.zero, repeated=True), "fViu"


def written(target, value, writer):
    """`target`, of a plain write (`core.inplace.is_plain`), with an array of its dtype or a number in its elements."""
    target.backend.xp.copyto(target.array, value)
    bump_version(target, writer)
    return target


@method
def module_load(self, other, assign=False):
    """This tensor with the elements of `other`, or with `assign` `other` itself: how a module loads its state."""
    return other.detach() if assign else self.detach().copy_(other)
