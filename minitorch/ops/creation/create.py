"""New tensors: from data, filled, sequences, or like another tensor.

Plain functions, no op definitions: nothing here has a gradient. The conversion of Python's and NumPy's data is in
`host/data.py`, random tensors are in `random.py`.
"""

import builtins

from ...core import dtypes, layouts, ranges
from ...core import tensor as tensors
from ...core.device import get
from ...core.dtypes import as_np, get_default_dtype
from ...core.errors import not_implemented
from ...core.grad_mode import grad_mode
from ...core.graph import note_inference
from ...core.out import resize_to, write
from ...core.registry import guests
from ...core.storage import strided
from ...core.tensor import Tensor, wrap
from ...explain.callers import warn
from ...explain.failures import mismatch
from ...host import data as host_data
from ...host import dlpack
from ..define import composite, method, op
from ..layouts import format_order, laid_in_format
from ..shapes.memory import UntypedStorage
from ..shapes.shape import ints


# ---- from data ---------------------------------------------------------------------------------------------
@composite(method=False)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor holding a copy of `data`: a number, (nested) list, NumPy array or tensor.

    Floats become the default dtype, integers int64, bools bool; NumPy arrays keep their dtype.

    >>> import minitorch
    >>> minitorch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
             UserWarning)
        backend = data.backend if device is None else get(device)
        array = data.backend.to_host(data.array)
        array = layouts.copy_like(array, as_np(dtype) if dtype is not None else array.dtype)
    else:
        backend, array = get(device), host_data.array_of(data, dtype)
    return leaf(backend.from_host(array), backend, requires_grad)


def leaf(array, backend, requires_grad):
    """A new tensor around a raw array."""
    out = wrap(array, backend)
    if requires_grad:
        out.requires_grad_()
    if grad_mode.inference:
        note_inference(out)
    return out


@composite(method=False)
def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing memory where it can: tensors and NumPy arrays of the right dtype are not copied."""
    if host_data.is_array(data):
        data = from_numpy(data)
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    return data.to(device=device or data.device, dtype=dtype or data.dtype)


@composite(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """`obj` as a tensor; `copy` True always copies, False never (ValueError if it would have to).

    A tensor stays in its graph, as a copy of it does, unless `requires_grad` is False, or True and nothing is copied.
    """
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtype or get_default_dtype())
    if isinstance(obj, UntypedStorage):
        obj = obj.elements()
    out = as_tensor(obj, dtype, device)
    is_copy = not host_data.shares_memory(out, obj) and out.array.size
    if copy is False and is_copy:
        raise ValueError("can't alias arbitrary object; would need a copy, and copy=False")
    if requires_grad is False or requires_grad and copy is None and not is_copy:
        out = out.detach()
    if copy and not is_copy:
        out = out.clone()
    return out.requires_grad_() if requires_grad and not out.requires_grad else out


@composite(method=False)
def from_numpy(ndarray):
    """A tensor that shares the memory of a NumPy array: writes to one are seen in the other."""
    return tensors.from_numpy(ndarray)


@composite(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-D tensor over the memory of a Python buffer (bytes, bytearray, array.array ...), without copying."""
    found = host_data.from_buffer(buffer, dtype, count, offset)
    return leaf(found.array, found.backend, requires_grad)


@composite(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, requires_grad=False):
    """A 1-D tensor of `size` elements over the bytes of a file; writes reach the file if it is `shared`.

    The file is made, or made longer, if it is `shared`; else RuntimeError if it is too short.
    """
    dtype = dtype or get_default_dtype()
    found = asarray(UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)).view(dtype)
    return found.requires_grad_() if requires_grad else found


@composite(method=False)
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of any object that speaks DLPack, or over a capsule that such an object made, once.

    The memory may be the host's or a GPU's: the tensor is on the device where it lies, `device` moves it.
    `copy`: True always copies, False never (ValueError, or the object's own error, if it would have to).
    """
    if not (hasattr(ext_tensor, "__dlpack__") or host_data.is_capsule(ext_tensor)):
        raise RuntimeError(f"from_dlpack() takes an object with a method __dlpack__, as another library's arrays are, "
                           f"or an unconsumed capsule, not {type(ext_tensor).__name__}")
    kind, number = dlpack.device_of(ext_tensor)
    if kind == "cpu":
        out = host_data.from_dlpack(ext_tensor, copy)
    else:
        backend = get(f"{kind}:{number}")
        out = wrap(backend.from_dlpack(ext_tensor, copy), backend)
    if device is None or out.device == get(device).device:
        return out
    if copy is False:
        raise ValueError(f"cannot move DLPack tensor from device {out.device} to {device} without copying. Set "
                         f"copy=None or copy=True.")
    return out.to(device)


# ---- filled ------------------------------------------------------------------------------------------------
def sizes(shape, size, name):
    """The size given as ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    shape = shape if size is None else (size,)
    if not shape:
        raise TypeError(f"{name}() needs a size, as in {name}(2, 3) or {name}((2, 3)); {name}(()) is a single number")
    return shape


def make(maker, shape, size, dtype, device, requires_grad, out, layout=None, fill=None):
    """The common part of `zeros`, `ones`, `empty` and `full`."""
    size = ints(sizes(shape, size, maker))
    if builtins.any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if layout is not None and layout != strided:
        return guests.empty_sparse(maker, size, layout, dtype, device, requires_grad)
    if out is not None:
        resize_to(out, size)
        if maker != "empty":
            write(out, {"zeros": 0, "ones": 1}.get(maker, fill), maker)
        return out
    backend = get() if device is None else get(device)
    found = dtypes.get_default_dtype().np if dtype is None else as_np(dtype)
    xp = backend.xp
    if maker == "full":
        array = xp.full(size, ranges.fit(fill, dtypes.from_np(found)), found)
    else:
        array = getattr(xp, maker)(size, found)
    return leaf(array, backend, requires_grad)


@composite(method=False)
def zeros(*shape, size=None, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of zeros; of a sparse `layout`, one without entries."""
    return make("zeros", shape, size, dtype, device, requires_grad, out, layout)


@composite(method=False)
def ones(*shape, size=None, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of ones."""
    return make("ones", shape, size, dtype, device, requires_grad, out, layout)


@composite(method=False)
def empty(*shape, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):
    """A tensor whose elements are whatever the memory held."""
    made = make("empty", shape, size, dtype, device, requires_grad, out, layout)
    if memory_format is not None and out is None:
        made.array = laid_in_format(made.array, memory_format)
    return made


@composite(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of `size` filled with a number, whose type decides the dtype if none is given."""
    if isinstance(fill_value, Tensor):
        if fill_value.array.ndim:
            raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not Tensor of shape "
                            f"{list(fill_value.shape)}: expand() it to the size instead")
        fill_value = ranges.number_of(fill_value)                  # its type decides, not the tensor's, as in PyTorch
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}: write ({size},)")
    if dtype is None and out is None:
        dtype = dtypes.of_scalar(fill_value)
    return make("full", (), size, dtype, device, requires_grad, out, None, fill_value)


def new_like(input, maker, dtype, device, requires_grad, memory_format):
    """A new tensor by the array module's `maker` ("zeros"), in the memory order of `input` or the one asked for."""
    array, backend = input.array, input.backend if device is None else get(device)
    order = format_order(memory_format, array)
    made = layouts.empty(backend.xp, array.shape, order, array.dtype if dtype is None else as_np(dtype), maker)
    return leaf(made, backend, requires_grad)


def filled_like(maker):
    def like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
             memory_format=None):
        return new_like(input, maker.removesuffix("_like"), dtype, device, requires_grad, memory_format)
    like.__name__ = like.__qualname__ = maker
    like.__doc__ = f"A tensor of the shape, dtype and device of `input`: see `{maker.removesuffix('_like')}`."
    return composite(like, method=False)


zeros_like, ones_like, empty_like = map(filled_like, ("zeros_like", "ones_like", "empty_like"))


@composite(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """A tensor of the shape, dtype and device of `input`, filled with a number."""
    made = new_like(input, "empty", dtype, device, False, memory_format).fill_(fill_value)
    return made.requires_grad_() if requires_grad else made


# ---- sequences ---------------------------------------------------------------------------------------------
@composite(method=False)
def arange(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
           requires_grad=False):
    """Numbers from `start` (0 if only one bound is given) up to, but without, `end`, `step` apart."""
    if end is None:
        start, end = 0, start
    if start is None or end is None:
        raise TypeError("arange(): arguments 'start' and 'end' must be Number, not NoneType")
    start, end, step = [x.item() if hasattr(x, "item") else x for x in (start, end, step)]
    dtype = out.dtype if dtype is None and out is not None else dtype
    if dtype is not None:
        spaced_dtype("arange", out, dtype)
    return placed(host_data.numbers_between(start, end, step, dtype), out, device, requires_grad)


def placed(array, out, device, requires_grad):
    """A NumPy array as a new tensor, or written into `out`."""
    if out is not None:
        resize_to(out, array.shape)
        write(out, out.backend.from_host(array), "out=")
        return out
    backend = get(device)
    return leaf(backend.from_host(array), backend, requires_grad)


@composite(method=False, public_name="range")
def _range(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers from `start` to `end`, both included, `step` apart; PyTorch keeps it for old programs."""
    if end is None:
        start, end = 0, start
    dtype = spaced_dtype("range", out, dtype)
    host_data.check_range(start, end, step)
    return placed(host_data.numbers_up_to(start, end, step, dtype), out, device, requires_grad)


@composite(method=False)
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
             requires_grad=False):
    """`steps` numbers at equal distances from `start` to `end`, both included."""
    start, end = [zero_dim("linspace", x) for x in (start, end)]
    check_steps("linspace", steps)
    found = spaced_dtype("linspace", out, dtype, start, end)
    return placed(host_data.spaced(start, end, steps, found), out, device, requires_grad)


def zero_dim(name, x):
    if x is None:
        raise TypeError(f"{name}(): arguments 'start' and 'end' must be Number, not NoneType")
    if isinstance(x, Tensor) and x.array.ndim:
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got start with "
                           f"{x.array.ndim} dimension(s) and end with {x.array.ndim} dimension(s).")
    return x.item() if isinstance(x, Tensor) else x


def check_steps(name, steps):
    if isinstance(steps, (float, complex)):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")


def spaced_dtype(name, out, dtype, *bounds):
    """The NumPy dtype of numbers between `bounds`: the one asked for, that of `out`, or the default one; no bools."""
    found = dtype_of(out, dtype)
    if any([isinstance(x, complex) for x in bounds]) and found.kind != "c":
        if dtype is not None or out is not None:
            raise RuntimeError(f"torch.{name}(): inferred dtype {get_default_dtype().to_complex()} can't be safely "
                               f"cast to passed dtype {dtypes.from_np(found)}")
        found = get_default_dtype().to_complex().np
    if found.kind == "b":
        raise not_implemented(name, found)
    return found


def dtype_of(out, dtype):
    if dtype is not None:
        return as_np(dtype)
    return out.array.dtype if out is not None else get_default_dtype().np


@composite(method=False)
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, pin_memory=False,
             requires_grad=False):
    """`steps` powers of `base` with exponents at equal distances from `start` to `end`, both included."""
    start, end = [zero_dim("logspace", x) for x in (start, end)]
    check_steps("logspace", steps)
    powers = host_data.powers(base, start, end, steps, spaced_dtype("logspace", out, dtype, start, end))
    return placed(powers, out, device, requires_grad)


@composite(method=False)
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """An n by m (default n) matrix with ones on the diagonal."""
    m = n if m is None else m
    for k, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{k} must be greater or equal to 0, got {value}")
    return placed(host_data.identity(n, m, dtype_of(out, dtype)), out, device, requires_grad)


def triangle(name):
    def indices(row, col, offset=0, *, dtype=dtypes.int64, device=None, layout=None):
        for k, value in (("row", row), ("col", col)):
            if value.__index__() < 0:
                raise RuntimeError(f"{k} must be non-negative, got {value}")
        return placed(host_data.triangle(name, row, col, offset, dtype), None, device, False)
    indices.__name__ = indices.__qualname__ = name
    indices.__doc__ = f"Rows and columns of the {'lower' if name[3] == 'l' else 'upper'} triangle, as a (2, n) tensor."
    return composite(indices, method=False)


tril_indices, triu_indices = triangle("tril_indices"), triangle("triu_indices")


@composite(method=False)
def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-d tensor of a number."""
    return full((), s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad)


@composite(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An uninitialised tensor with the given strides (in elements)."""
    size, stride = ints((size,)), ints((stride,))
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
                           f"({len(stride)})")
    length = 0 if 0 in size else 1 + builtins.sum((n - 1) * s for n, s in zip(size, stride))
    memory = empty((length,), dtype=dtype, device=device)
    return leaf(memory.backend.of_memory(memory.array, size, stride, 0), memory.backend, requires_grad)


@composite(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False,
                   pin_memory=False):
    """An uninitialised tensor whose memory has the dimensions in the order `physical_layout`."""
    size, order = ints((size,)), ints((physical_layout,))
    if len(size) != len(order):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}")
    if sorted(order) != list(range(len(size))):
        raise RuntimeError(f"Duplicate or missing dim in physical_layout: {list(order)}")
    strides, step = [0] * len(size), 1
    for d in reversed(order):
        strides[d], step = step, step * builtins.max(size[d], 1)
    return empty_strided(size, strides, dtype=dtype, device=device, requires_grad=requires_grad)


# ---- of the dtype and device of another tensor -------------------------------------------------------------
def new_filled(name, maker):
    def new(self, *shape, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        return maker(*shape, size=size, dtype=dtype or self.dtype, device=self.backend if device is None else device,
                     requires_grad=requires_grad)
    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"`minitorch.{name[4:]}` with the dtype and device of this tensor."
    return method(new)


new_zeros = new_filled("new_zeros", zeros)
new_ones = new_filled("new_ones", ones)
new_empty = new_filled("new_empty", empty)


@method
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor filled with a number, with the dtype and device of this one."""
    return full(size, fill_value, dtype=dtype or self.dtype, device=self.backend if device is None else device,
                requires_grad=requires_grad)


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """`minitorch.tensor` with the dtype and device of this tensor."""
    return tensor(data, dtype=dtype or self.dtype, device=self.backend if device is None else device,
                  requires_grad=requires_grad)


@method
def new_empty_strided(self, size, stride, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """`minitorch.empty_strided` with the dtype and device of this tensor."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=self.backend if device is None else device,
                         requires_grad=requires_grad)


# ---- the out-of-place twins of x.zero_() and x.copy_(...) -----------------------------------------------
@op(dims="*", namespace=None, inline=True, input=lambda F, g: F.zero(g))
def zero(F, input):
    """Zeros like `input`."""
    return F.xp.zeros_like(input)


@op(dims="[x..] -> [x..]",
    namespace=None, sample=lambda d: ([d.array(), x := d.array()], dict(shapes=(x.shape,))),
    joint=lambda F, g, needs, shapes: (g, *[F.expand(F.zero(F.sum(g)), size=shape) for shape in shapes]))
def tied(F, *tensors, shapes):
    """The first of `tensors`; the gradient of the others, which have these `shapes`, is zero."""
    return tensors[0].copy()


def copy_mismatch(a, b):
    """The error text for a `source` that could only be copied if `input` were expanded."""
    return None if mismatch(a, b) else f"output with shape {list(a)} doesn't match the broadcast shape {list(b)}"


@op(dims="*",
    namespace=None, mismatch=copy_mismatch,
    input=lambda F, g: F.zero(g), sample=lambda d: ([d.array((2, 3)), d.array((3,))], {}),
    source=lambda F, g, source_shape, source_dtype: F.to(F.sum_to(g, shape=source_shape), dtype=source_dtype))
def copy(F, input, source):
    """`source` in the shape and dtype of `input`."""
    return F.xp.broadcast_to(source, input.shape).astype(input.dtype)
