"""Tensors taken apart and put together: what files, `pickle` and `copy.deepcopy` have in common.

A tensor is its memory (the array that owns it), a dtype, and where it lies in that memory: offset, size and stride in
elements. `reduce_tensor` takes it apart that way, so that views keep sharing memory; the ``rebuild_...`` functions,
named after those in PyTorch's files, put it together again and check every number first, since it may come from a
file that somebody damaged or forged.
"""

import copy
import math
import warnings
import weakref
from collections import OrderedDict

import numpy as np

from ..core import dtypes
from ..core.arrays import owner, pointer
from ..core.attributes import attributes
from ..core.device import get, host
from ..core.registry import guests
from ..core.storage import jagged
from ..core.tensor import Tensor, wrap
from ..ops.creation.create import empty_strided
from ..ops.shapes.memory import TypedStorage, UntypedStorage

__all__ = ["Memory", "Typed", "reduce_tensor", "deepcopy_tensor"]

NOT_A_LEAF = ("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
              "Copy a computed tensor with `x.detach().clone()`. If you were copying a module, one of its attributes "
              "is a computed tensor, as with the old weight_norm.")


class Memory(UntypedStorage):
    """The memory that tensors share: the array that owns it, `memory`, on `backend`."""

    known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()   # id of an owning array -> its Memory

    def __init__(self, memory, backend=host()):
        super().__init__(memory)
        self.backend, self.copies = backend, {}

    @classmethod
    def of(cls, memory, backend):
        """The same object for the same array while somebody holds it: pickle and deepcopy go by identity."""
        found = cls.known.get(id(memory))
        if found is None or found.memory is not memory:
            found = cls.known[id(memory)] = cls(memory, backend)
        return found

    device = property(lambda self: self.backend.device, doc="Where the memory is.")

    def bytes(self):
        """The memory as a flat array of uint8, on its own backend; a copy only where it must be."""
        return self.memory.ravel(order="K").view(np.uint8)

    def host_bytes(self):
        """The memory as a flat NumPy array of uint8."""
        return self.backend.to_host(self.bytes())

    def to(self, device):
        """This memory on another device (itself if it is there already)."""
        backend = get(device)
        return self if backend is self.backend else Memory(backend.from_host(self.host_bytes()), backend)

    def cpu(self):
        """This memory on the CPU."""
        return self.to("cpu")

    def cuda(self, device=None):
        """This memory on a CUDA device."""
        return self.to("cuda" if device is None else device)

    def negated(self, conj, neg, dtype):
        """A copy for tensors that PyTorch saved as a lazy conjugate or negative; one copy for all of them."""
        key = conj, neg, dtype
        if key not in self.copies:
            self.copies[key] = Memory(self.changed(*key), self.backend)
        return self.copies[key]

    def changed(self, conj, neg, dtype):
        values = self.host_bytes().view(dtype.np)
        values = np.conj(values) if conj else values
        return self.backend.from_host((-values if neg else values.copy()).view(np.uint8))

    def fill(self, array):
        """Take over the bytes of `array`, a NumPy array; copies that were made before do so too."""
        if array is not self.memory:
            self.backend.xp.copyto(self.memory, self.backend.from_host(array))
        for key, copy_ in self.copies.items():
            self.backend.xp.copyto(copy_.memory, self.changed(*key))

    def __reduce__(self):
        return restored, (self.host_bytes(), str(self.device))

    def __deepcopy__(self, memo):
        return Memory(self.bytes().copy(), self.backend)


def restored(array, device):
    """The Memory that was pickled."""
    backend = get(device)
    return Memory(backend.from_host(array), backend)


class Typed(TypedStorage):
    """A Memory with the dtype of its elements, or None where only the tensor knows (PyTorch's UntypedStorage)."""

    def __init__(self, storage, dtype):
        self.storage, self.memory, self.untyped = storage, storage.memory, dtype is None
        self.dtype = dtypes.uint8 if dtype is None else dtype

    def __reduce__(self):
        return Typed, (self.storage, None if self.untyped else self.dtype)


# ------------------------------------------------------------------ taking apart
def located(tensor):
    """The Memory of a tensor, and its offset and stride in elements.

    An array whose memory is not simply described (one with gaps, or negative or odd strides, such as NumPy can make)
    is copied first.
    """
    array = tensor.array
    memory, unit = owner(array), array.itemsize
    start = pointer(array) - pointer(memory)
    end = start + sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + unit
    if not (is_dense(memory) and 0 <= start and not start % unit and (end <= memory.nbytes or not array.size)
            and all(s >= 0 and s % unit == 0 for s in array.strides)):
        array = memory = array.copy()
        start = 0
    stride = tuple(s // unit for s in array.strides)
    return Memory.of(memory, tensor.backend), start // unit, stride


def is_dense(array):
    """True if the elements of an array fill its memory from its first byte on, in whatever order."""
    return all(s >= 0 for s in array.strides) and (array.size == 0 or array.nbytes == array.itemsize + sum(
        (n - 1) * s for n, s in zip(array.shape, array.strides)))


def reduce_tensor(tensor):
    """``Tensor.__reduce_ex__``: a function and its arguments that make the tensor again, as PyTorch saves it.

    A computed tensor is saved as a leaf. Hooks are not saved (with a warning), nor is ``grad``.
    """
    if tensor.is_nested:
        return nested_parts(tensor)
    if tensor.hooks is not None and (tensor.hooks.pre or tensor.hooks.post or tensor.hooks.accumulated):
        warnings.warn("the hooks of a tensor are not saved with it; register them again after loading", stacklevel=4)
    if (parts_of := getattr(type(tensor.backend), "parts_of", None)) is not None:   # of a kind that says how
        return parts_of(tensor)
    if hasattr(tensor.array, "value"):                     # of a batch or a mesh: this says why it cannot be
        tensor.backend.__reduce__()
    state = attributes(tensor)
    if isinstance(tensor, parameter_class()):
        args = tensor.data, tensor.needs_grad, OrderedDict()
        return (rebuild_parameter_with_state, (*args, state)) if state else (rebuild_parameter, args)
    if tensor.array.strides is None:                       # a sparse one
        return rebuild_sparse_tensor, sparse_parts(tensor)
    if tensor.is_meta:
        return (rebuild_meta_tensor_no_storage,
                (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.needs_grad))
    storage, offset, stride = located(tensor)
    rebuild, dtype = rebuild_tensor_v2, tensor.dtype
    args = Typed(storage, dtype), offset, tuple(tensor.array.shape), stride, tensor.needs_grad, OrderedDict()
    if dtype.name in ("uint16", "uint32", "uint64") or dtype in dtypes.FLOAT8:  # PyTorch has no classes for these
        rebuild, args = rebuild_tensor_v3, (Typed(storage, None), *args[1:], dtype)
    if type(tensor) is Tensor and not state:
        return rebuild, args
    return rebuild_from_type_v2, (rebuild, type(tensor), args, state)


def sparse_parts(tensor):
    """The layout of a sparse tensor, and what it is made of, as PyTorch saves it."""
    own = tensor.array.pattern
    arrays = (own.indices,) if own.layout == "sparse_coo" else (own.compressed, own.plain)
    parts = *[wrap(x, tensor.backend) for x in (*arrays, tensor.array.values)], tensor.shape
    return tensor.layout, (*parts, own.coalesced) if own.layout == "sparse_coo" else parts


def rebuild_sparse_tensor(layout, data):
    """A sparse tensor of its indices, values and size, which are checked; of COO, whether it is coalesced."""
    n = {"sparse_coo": 2, "sparse_csr": 3, "sparse_csc": 3}.get(getattr(layout, "name", None))
    if n is None or not isinstance(data, tuple) or len(data) not in ((3, 4) if n == 2 else (4,)):
        raise RuntimeError(f"a sparse tensor is saved as its layout and its parts, got {shown(layout)}")
    parts, size = data[:n], data[n]
    if not all(type(x) is Tensor for x in parts) or not isinstance(size, (tuple, list)) or not all(
            type(x) is int and 0 <= x < 2**63 for x in size) or math.prod(size) >= 2**63:
        raise RuntimeError(f"a sparse tensor is made of indices, values and a size, got {shown(data)}")
    if n == 3:
        return guests.sparse_compressed_tensor(*parts, size, layout=layout)
    return guests.sparse_coo_tensor(*parts, size, is_coalesced=bool(data[3]) if len(data) == 4 else None)


# ------------------------------------------------------------------ nested tensors
class NestedType:
    """The stand-in of files for the class of nested tensors, whose package is loaded with the first of them."""


class Ignored:
    """The stand-in of files for notes that PyTorch's compiler leaves on nested tensors."""

    def __setstate__(self, state):
        pass


def nested_parts(tensor):
    """A function and its arguments that make a nested tensor again, as PyTorch saves it."""
    values = tensor._inner.detach()
    if tensor.layout == jagged:
        parts = dict(values=values, offsets=tensor.offsets(), lengths=tensor.lengths(), _ragged_idx=tensor._ragged_idx,
                     _metadata_cache={}, requires_grad=tensor.requires_grad)
        return rebuild_from_type_v2, (rebuild_jagged, NestedType, (parts,), {})
    sizes = np.array(tensor._sizes, np.int64).reshape(len(tensor), -1)
    strides = np.ones_like(sizes)
    strides[:, :-1] = np.cumprod(sizes[:, :0:-1], 1)[:, ::-1]
    offsets = np.cumsum(sizes.prod(1)) - sizes.prod(1)
    values.requires_grad_(tensor.requires_grad)            # the file has no other place for it
    return rebuild_nested, (values, *[wrap(x, host()) for x in (sizes, strides, offsets)])


def rebuild_jagged(parts):
    """A nested tensor of the layout ``torch.jagged`` of its values, offsets and lengths, which are checked."""
    if not isinstance(parts, dict) or not {"values", "offsets"} <= parts.keys():
        raise RuntimeError(f"a nested tensor is made of values and offsets, got {shown(parts)}")
    values, offsets, lengths = parts["values"], parts["offsets"], parts.get("lengths")
    ragged, requires_grad = parts.get("_ragged_idx", 1), parts.get("requires_grad", False)
    if not all(type(x) is Tensor for x in (values, offsets, *([] if lengths is None else [lengths]))) or not (
            type(ragged) is int and type(requires_grad) is bool):
        raise RuntimeError(f"a nested tensor is made of tensors and a dimension, got {shown(list(parts.values()))}")
    made = guests.NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged)
    begins, length = offsets.tolist(), values.shape[ragged - 1]
    ends = begins[1:] if lengths is None else [a + n for a, n in zip(begins, lengths.tolist(), strict=False)]
    if not all(type(x) is int and 0 <= a <= x <= length for a, x in zip(begins, ends, strict=False)):
        raise RuntimeError(f"elements of a nested tensor do not lie in its values of length {length}: offsets "
                           f"{shown(begins)}")
    return made.requires_grad_(requires_grad)


def rebuild_nested(values, sizes, strides, offsets):
    """A nested tensor of the layout ``torch.strided``: where in `values` each element lies."""
    if not all(type(x) is Tensor for x in (values, sizes, strides, offsets)) or values.ndim != 1:
        raise RuntimeError(f"a nested tensor is made of four tensors, got {shown([values, sizes, strides, offsets])}")
    places = zip(sizes.tolist(), strides.tolist(), offsets.tolist(), strict=False)
    memory = Memory.of(owner(values.array), values.backend)
    first = (pointer(values.array) - pointer(memory.memory)) // values.array.itemsize
    arrays = [array_view(memory, values.array.dtype, first + at, tuple(size), tuple(stride))
              for size, stride, at in places]
    made = guests.nested_of_elements([wrap(array, values.backend) for array in arrays])
    return made.requires_grad_(values.requires_grad)


def parameter_class():
    from ..nn.parameter import Parameter
    return Parameter


# ------------------------------------------------------------------ putting together
def array_view(storage, dtype, offset, size, stride):
    """The array of NumPy type `dtype` that lies so in a Memory; all is checked."""
    memory, unit, total = storage.bytes(), dtype.itemsize, storage.nbytes()
    check_geometry(offset, size, stride, unit, total)
    if not math.prod(size) and offset * unit > total:
        offset = 0                                         # nothing is there: the place does not matter
    if isinstance(memory, np.ndarray):
        return np.ndarray(size, dtype, memory, offset * unit, [s * unit for s in stride])
    typed = memory[:total - total % unit].view(dtype)
    return storage.backend.of_memory(typed, size, stride, offset)


def check_geometry(offset, size, stride, unit, total):
    """RuntimeError unless a tensor of this geometry lies inside `total` bytes."""
    described = f"sizes {shown(size)}, strides {shown(stride)}, storage offset {shown(offset)} and itemsize {unit}"
    numbers = offset, *size, *stride
    if not all(type(x) is int for x in numbers):
        raise RuntimeError(f"a tensor needs whole numbers for its geometry, got {described}")
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {described}")
    if len(size) > 64:
        raise RuntimeError(f"tensors have at most 64 dimensions, got {len(size)}")
    if min(numbers) < 0:
        raise RuntimeError(f"negative numbers in the geometry of a tensor are not supported: {described}")
    if max(numbers) >= 2**63:                              # before they are multiplied: a file may hold endless ints
        raise RuntimeError(f"a tensor this large cannot be addressed: {described}")
    reach = max(math.prod(max(n, 1) for n in size), *stride, offset, 1)
    if reach * unit >= 2**63:
        raise RuntimeError(f"a tensor this large cannot be addressed: {described}")
    if all(size):
        needed = (offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1) * unit
        if needed > total:
            raise RuntimeError(f"setStorage: {described} requiring a storage size of {needed} are out of bounds for "
                               f"storage of size {total}")


def is_equal(value, wanted):
    """True if something that a file made is `wanted`; a tensor would compare its elements,
    endlessly many perhaps."""
    return type(value) is type(wanted) and value == wanted


def shown(value):
    """A short text for an error message; never the ``repr`` of something that a file made, which may be endless."""
    if isinstance(value, (list, tuple)):
        text = ", ".join(shown_item(x) for x in value[:8])
        return f"[{text}{', ...' if len(value) > 8 else ''}]"
    return shown_item(value)


def shown_item(value):
    if isinstance(value, (str, bytes)):
        return repr(value[:60])
    if isinstance(value, int):
        return str(value) if value.bit_length() < 200 else f"an int of {value.bit_length()} bits"
    if value is None or isinstance(value, (float, complex, dtypes.dtype)):
        return repr(value)
    return getattr(value, "__qualname__", None) or type(value).__name__


def rebuild_tensor(storage, offset, size, stride, dtype=None):
    """A tensor in `storage` (a `Typed`), of its dtype or the one given."""
    if not isinstance(storage, Typed):
        raise RuntimeError(f"a tensor needs a storage, got {type(storage).__name__}")
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise RuntimeError(f"the size and stride of a tensor are tuples, got {type(size).__name__} and "
                           f"{type(stride).__name__}")
    dtype = storage.dtype if dtype is None else dtype
    if not isinstance(dtype, dtypes.dtype):
        raise RuntimeError(f"a tensor needs a dtype such as minitorch.float32, got {shown(dtype)}")
    return wrap(array_view(storage.storage, dtype.np, offset, tuple(size), stride), storage.storage.backend)


def rebuild_tensor_v2(storage, offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """As PyTorch's files have it since 0.4: `metadata` says whether the values are to be conjugated or negated."""
    return rebuild_tensor_v3(storage, offset, size, stride, requires_grad, backward_hooks, None, metadata)


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """The same for dtypes without a storage class of their own, such as uint16."""
    no_hooks(backward_hooks)
    if metadata and isinstance(storage, Typed):
        if not isinstance(metadata, dict) or set(metadata) - {"conj", "neg"}:
            raise RuntimeError(f"a tensor's metadata says 'conj' or 'neg', got {shown(metadata)}")
        flags = bool(metadata.get("conj")), bool(metadata.get("neg"))
        memory = storage.storage.negated(*flags, dtype or storage.dtype)
        storage = Typed(memory, None if storage.untyped else storage.dtype)
    tensor = rebuild_tensor(storage, offset, size, stride, dtype)
    if type(requires_grad) not in (bool, int):
        raise RuntimeError(f"requires_grad of a tensor is True or False, got {shown(requires_grad)}")
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor on device "meta", which has no values."""
    lengths = (*size, *stride) if isinstance(size, tuple) and isinstance(stride, tuple) else (-1,)
    if (not isinstance(dtype, dtypes.dtype) or len(size) != len(stride)
            or not all(type(n) is int and 0 <= n < 2**63 for n in lengths)):
        raise RuntimeError(f"a meta tensor is made of a dtype, a size and strides, got "
                           f"{shown((dtype, size, stride))}")
    return empty_strided(size, stride, dtype=dtype, device="meta",
                         requires_grad=bool(requires_grad))


def no_hooks(hooks):
    if hooks is not None and (not isinstance(hooks, (dict, list, tuple)) or hooks):
        raise RuntimeError("this file has hooks on a tensor, which minitorch does not load")


def rebuild_parameter(data, requires_grad, backward_hooks):
    """An `nn.Parameter` around the tensor `data`."""
    no_hooks(backward_hooks)
    if type(data) is not Tensor and not (isinstance(data, Tensor) and data.array.strides is None):
        raise RuntimeError(f"a Parameter is made of a Tensor, got {type(data).__name__}")
    return parameter_class()(data, bool(requires_grad))


def rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """The same with the attributes that the user had set on it."""
    return with_attributes(rebuild_parameter(data, requires_grad, backward_hooks), state)


def rebuild_from_type_v2(rebuild, kind, args, state):
    """A tensor of a subclass, or one with attributes: ``rebuild(*args)`` as `kind`, with `state` set on it."""
    if rebuild is rebuild_jagged and isinstance(args, tuple) and len(args) == 1:
        return rebuild_jagged(*args)
    known = rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_parameter
    if not any(rebuild is function for function in known):
        raise RuntimeError(f"a tensor is rebuilt by one of PyTorch's functions for it, got {shown(rebuild)}")
    if not isinstance(kind, type) or not issubclass(kind, Tensor) or not isinstance(args, tuple):
        raise RuntimeError(f"a tensor subclass was expected, got {shown(kind)}")
    if hasattr(kind, "cls_to_become"):
        raise RuntimeError(f"a tensor that has values cannot be a {kind.__name__}")
    tensor = rebuild(*args)
    if type(tensor) is not kind:
        tensor.__class__ = kind
    return with_attributes(tensor, state)


def with_attributes(tensor, state):
    if isinstance(state, tuple) and len(state) == 2:       # PyTorch: attributes and slots
        state = {**(state[0] or {}), **(state[1] or {})}
    if not isinstance(state or {}, dict):
        raise RuntimeError(f"the attributes of a tensor are a dict, got {type(state).__name__}")
    for key, value in (state or {}).items():
        if not isinstance(key, str) or key in ("array", "backend") or key.startswith("__") or \
                hasattr(type(tensor), key):                # "__array_interface__" would be an address for NumPy
            raise RuntimeError(f"a file may not replace {key!r} of a tensor")
        tensor.__dict__[key] = value
    return tensor


# ------------------------------------------------------------------ copies
def deepcopy_tensor(tensor, memo):
    """``Tensor.__deepcopy__``: a copy with memory of its own; tensors that shared memory share the copied memory.

    As in PyTorch the copy of a view holds a copy of all the memory behind it, a Parameter is copied alone and
    without its gradient, and a computed tensor cannot be copied: RuntimeError.
    """
    if id(tensor) in memo:
        return memo[id(tensor)]
    if tensor.node is not None:
        raise RuntimeError(NOT_A_LEAF)
    if isinstance(tensor, parameter_class()):
        new = type(tensor)(tensor.detach().clone(), tensor.needs_grad)
    elif (hasattr(tensor.array, "value") or tensor.array.strides is None or hasattr(type(tensor.backend), "parts_of")):
        # of a batch or a mesh, sparse, or masked: not the memory of one tensor
        new = tensor.detach().clone().requires_grad_(tensor.needs_grad)
    else:
        storage, offset, stride = located(tensor)
        storage = copy.deepcopy(storage, memo)
        new = object.__new__(type(tensor))
        new.array = array_view(storage, tensor.array.dtype, offset, tensor.array.shape, stride)
        new.backend, new.needs_grad = tensor.backend, tensor.needs_grad
        if tensor.grad is not None:
            new.grad = copy.deepcopy(tensor.grad, memo)
        new.__dict__.update(copy.deepcopy(attributes(tensor), memo))
    memo[id(tensor)] = new
    return new
