"""Tensors from nothing: from data, filled, or like another tensor."""

import builtins

import numpy as np

from .. import backends, dtypes
from ..autograd.grad_mode import grad_mode
from ..dtypes import as_np, get_default_dtype
from ..op import composite, op
from ..tensor import Tensor, wrap
from .shape import clone, ints


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
        import warnings
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
                      UserWarning, stacklevel=2)
        backend = data.backend if device is None else backends.get(device)
        array = data.backend.to_host(data.array)
        array = array.astype(as_np(dtype) if dtype is not None else array.dtype)
    else:
        backend, array = backends.get(device), host_array(data, dtype)
    return leaf(backend.from_host(array), backend, requires_grad)


def host_array(data, dtype):
    """Python or NumPy data as a new NumPy array of the dtype that PyTorch would give it."""
    if isinstance(data, (np.ndarray, np.generic)):
        found = as_np(dtype) if dtype is not None else dtypes.from_np(data.dtype).np
        return np.array(data, dtype=found)
    data = plain(data)
    try:
        array = np.array(data)
        if array.dtype.kind == "O":
            raise ValueError
    except (ValueError, OverflowError):
        raise explain_data(data) from None
    if dtype is not None:
        return cast_data(array, data, as_np(dtype))
    if array.size == 0 or array.dtype.kind == "f":
        return array.astype(get_default_dtype().np)
    if array.dtype.kind == "c":
        return array.astype(get_default_dtype().to_complex().np)
    if array.dtype.kind in "iub":
        return array
    raise TypeError(f"new(): invalid data type '{type(first_of(data)).__name__}'")


def cast_data(array, data, found):
    if array.dtype.kind not in "iufcb":
        raise TypeError(f"new(): invalid data type '{type(first_of(data)).__name__}'")
    if array.dtype.kind == "c" and found.kind != "c":
        raise RuntimeError("value cannot be converted to type " + found.name + " without overflow")
    if array.dtype.kind == "i" and found.kind in "iu" and array.size:
        limits = np.iinfo(found)
        if array.min() < limits.min or array.max() > limits.max:
            raise RuntimeError(f"value cannot be converted to type {found.name} without overflow")
    return array.astype(found)


def plain(data):
    """Nested sequences with tensors inside as nested lists."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, (list, tuple)):
        return [plain(x) for x in data] if any_tensor(data) else data
    if hasattr(data, "__array__"):
        return np.asarray(data)
    return list(data) if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str) else data


def any_tensor(data):
    return builtins.any(isinstance(x, (Tensor, list, tuple)) for x in data)


def first_of(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def explain_data(data):
    """The error for nested lists that are no array."""
    sizes = {len(x) if isinstance(x, (list, tuple)) else None for x in data} if isinstance(data, list) else set()
    item = first_of(data)
    if not isinstance(item, (int, float, bool, complex)):
        return TypeError(f"new(): invalid data type '{type(item).__name__}'")
    if len(sizes) > 1:
        first, other = len(data[0]) if isinstance(data[0], (list, tuple)) else 0, sorted(s or 0 for s in sizes)
        return ValueError(f"expected sequence of length {first} at dim 1 (got {[n for n in other if n != first][0]}): "
                          f"all rows must have the same length")
    return ValueError("expected nested sequences of numbers with equal lengths in each dimension")


def leaf(array, backend, requires_grad):
    out = wrap(array, backend)
    if requires_grad:
        out.requires_grad_()
    if grad_mode.inference:
        out.is_inference_tensor = True
    return out


@composite(method=False)
def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, sharing memory where it can: tensors and NumPy arrays of the right dtype are not copied."""
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    return data.to(device=device or data.device, dtype=dtype or data.dtype)


@composite(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """`obj` as a tensor; `copy` True always copies, False never (ValueError if it would have to)."""
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtype or get_default_dtype())
    shares = isinstance(obj, (Tensor, np.ndarray))
    out = as_tensor(obj, dtype, device)
    source = obj.array if isinstance(obj, Tensor) else obj
    is_copy = not (shares and np.shares_memory(out.array, source)) and out.array.size
    if copy is False and is_copy:
        raise ValueError("can't alias arbitrary object; would need a copy, and copy=False")
    if isinstance(obj, Tensor) and not requires_grad and copy is not True:
        return out
    out = out.detach().clone() if copy and not is_copy else out.detach()
    return out.requires_grad_(requires_grad)


@composite(method=False)
def from_numpy(ndarray):
    """A tensor that shares the memory of a NumPy array: what is written to one is seen in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.from_np(ndarray.dtype)
    if builtins.any(s < 0 for s in ndarray.strides):
        raise ValueError("At least one of the strides in the given numpy array is negative, and tensors with negative "
                         "strides are not currently supported. (You can probably work around this by making a copy of "
                         "your array with array.copy().)")
    return wrap(ndarray if type(ndarray) is np.ndarray else np.asarray(ndarray), backends.cpu)


@composite(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-D tensor over the memory of a Python buffer (bytes, bytearray, array.array ...), without copying."""
    found = as_np(dtype)
    size = memoryview(buffer).nbytes
    if not size:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} "
                         f"bytes) minus 1")
    if count > 0 and offset + count * found.itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {found.itemsize} bytes) after offset ({offset} bytes) "
                         f"must not be greater than actual buffer length ({size} bytes)")
    if count < 0 and (size - offset) % found.itemsize:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                         f"element size ({found.itemsize})")
    return leaf(np.frombuffer(buffer, found, count, offset), backends.cpu, requires_grad)


@composite(method=False)
def from_dlpack(ext_tensor):
    """A tensor over the memory of any object that speaks DLPack."""
    array = np.from_dlpack(ext_tensor)
    return wrap(array, backends.cpu)


# ---- filled ------------------------------------------------------------------------------------------------
def make(maker, size, dtype, device, requires_grad, out, fill=None):
    """The common part of `zeros`, `ones`, `empty` and `full`."""
    size = ints(size)
    if builtins.any(n < 0 for n in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if out is not None:
        from ..call import write
        from ..inplace import resize_to
        resize_to(out, size)
        if maker != "empty":
            write(out, {"zeros": 0, "ones": 1}.get(maker, fill), maker)
        return out
    backend = backends.default if device is None else backends.get(device)
    found = dtypes.get_default_dtype().np if dtype is None else as_np(dtype)
    xp = backend.xp
    array = xp.full(size, fill, found) if maker == "full" else getattr(xp, maker)(size, found)
    return leaf(array, backend, requires_grad)


@composite(method=False)
def zeros(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of zeros."""
    return make("zeros", size, dtype, device, requires_grad, out)


@composite(method=False)
def ones(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A tensor of ones."""
    return make("ones", size, dtype, device, requires_grad, out)


@composite(method=False)
def empty(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):
    """A tensor whose elements are whatever the memory held."""
    return make("empty", size, dtype, device, requires_grad, out)


@composite(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of `size` filled with a number, whose type decides the dtype if none is given."""
    if isinstance(fill_value, Tensor):
        fill_value, dtype = fill_value.item(), dtype or fill_value.dtype
    if dtype is None and out is None:
        dtype = dtypes.of_scalar(fill_value)
    return make("full", (size,), dtype, device, requires_grad, out, fill_value)


def filled_like(maker):
    def like(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
             memory_format=None):
        backend = input.backend if device is None else backends.get(device)
        found = input.array.dtype if dtype is None else as_np(dtype)
        return leaf(getattr(backend.xp, maker)(input.array, dtype=found), backend, requires_grad)
    like.__name__ = like.__qualname__ = maker
    like.__doc__ = f"A tensor of the shape, dtype and device of `input`: see `{maker.removesuffix('_like')}`."
    return composite(like, method=False)


zeros_like, ones_like, empty_like = map(filled_like, ("zeros_like", "ones_like", "empty_like"))


@composite(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """A tensor of the shape, dtype and device of `input`, filled with a number."""
    return full(input.array.shape, fill_value, dtype=dtype or input.dtype, device=device or input.backend,
                requires_grad=requires_grad)


# ---- filling a tensor that is there: the out-of-place twins of x.fill_(...), x.zero_() and x.copy_(...) -----
@op(namespace=None, input=lambda F, g: g * 0.0)
def zero(F, input):
    """Zeros like `input`."""
    return F.xp.zeros_like(input)


@op(namespace=None, input=lambda F, g: g * 0.0, sample=lambda d: ([d.array((2, 3)), d.array((3,))], {}),
    source=lambda F, g, source_shape, source_dtype: F.to_dtype(F.sum_to(g, shape=source_shape), dtype=source_dtype))
def copy(F, input, source):
    """`source` in the shape and dtype of `input`."""
    return F.xp.broadcast_to(source, input.shape).astype(input.dtype)
