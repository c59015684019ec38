"""The names in PyTorch's files and what they stand for here: the whole of what a file may refer to.

`table` maps ``"torch._utils._rebuild_tensor_v2"`` and the like to our own objects; `calls` says
which of these a file may call, and which of our functions answers. Nothing is ever imported on a
file's behalf unless the caller has put it on the list with `add_safe_globals`, or has given up all
protection with ``load(..., weights_only=False)``.
"""

import re
from collections import Counter, OrderedDict, defaultdict
from functools import lru_cache, partial
from pickle import UnpicklingError

from ..core import dtypes
from ..core.device import device
from ..core.registry import guests
from ..core.storage import strided
from ..core.tensor import Size, Tensor
from ..ops.shapes.memory import UntypedStorage
from . import tensors

__all__ = ["StorageType", "add_safe_globals", "get_safe_globals", "clear_safe_globals", "safe_globals"]

STORAGES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
            "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
            "ComplexFloat": "complex64", "ComplexDouble": "complex128"}
BLOCKED = ("sys", "os", "posix", "nt")                     # never, not even if the caller asks


class StorageType:
    """The stand-in for ``torch.FloatStorage`` in a file: the dtype of a storage (None for UntypedStorage)."""

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype

    def __repr__(self):
        return f"StorageType({self.name})"


STORAGE_TYPES = {name: StorageType(f"{name}Storage", getattr(dtypes, of)) for name, of in STORAGES.items()}
STORAGE_OF = {kind.dtype: kind for kind in STORAGE_TYPES.values()}
UNTYPED = StorageType("UntypedStorage", None)


@lru_cache(maxsize=1)
def table():
    """Every name that a file may use, and the object it stands for."""
    from ..nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter
    found = {f"torch.{d.name}": d for d in (*dtypes.ALL, *dtypes.FLOAT8)}
    for kind in STORAGE_TYPES.values():
        found[f"torch.{kind.name}"] = found[f"torch.cuda.{kind.name}"] = kind
    found.update({
        "torch.storage.UntypedStorage": UNTYPED, "torch.UntypedStorage": UNTYPED,
        "torch._utils._rebuild_tensor": tensors.rebuild_tensor,
        "torch._utils._rebuild_tensor_v2": tensors.rebuild_tensor_v2,
        "torch._utils._rebuild_tensor_v3": tensors.rebuild_tensor_v3,
        "torch._utils._rebuild_meta_tensor_no_storage": tensors.rebuild_meta_tensor_no_storage,
        "torch._utils._rebuild_sparse_tensor": tensors.rebuild_sparse_tensor,
        "torch._utils._rebuild_nested_tensor": tensors.rebuild_nested,
        "torch.nested._internal.nested_tensor._rebuild_njt": tensors.rebuild_jagged,
        "torch.nested._internal.nested_tensor.NestedTensor": tensors.NestedType,
        "torch._dynamo.decorators._DimRange": tensors.Ignored,
        "torch._utils._rebuild_parameter": tensors.rebuild_parameter,
        "torch._utils._rebuild_parameter_with_state": tensors.rebuild_parameter_with_state,
        "torch._tensor._rebuild_from_type_v2": tensors.rebuild_from_type_v2,
        **{f"torch.nn.parameter.{kind.__name__}": kind for kind in
           (Parameter, UninitializedParameter, UninitializedBuffer)},
        "torch.Tensor": Tensor,
        "torch.Size": Size, "torch.device": device, "torch.serialization._get_layout": get_layout,
        "collections.OrderedDict": OrderedDict, "collections.Counter": Counter, "collections.defaultdict": defaultdict,
        "_codecs.encode": encode,
        **{f"builtins.{kind.__name__}": kind for kind in
           (set, frozenset, bytes, bytearray, complex, int, float, bool, str, list, dict, tuple)},
    })
    return found


@lru_cache(maxsize=1)
def calls():
    """For each object of the table that a file may call: our function for it."""
    called = {id(f): f for f in vars(tensors).values() if getattr(f, "__name__", "").startswith("rebuild_")}
    called.update({id(target): partial(make_uninitialized, target) for name, target in table().items()
                   if name.startswith("torch.nn.parameter.Uninitialized")})
    called.update({id(target): function for target, function in (
        (encode, encode), (get_layout, get_layout), (Size, make_size), (device, make_device),
        (complex, make_complex), (bytes, make_bytes), (bytearray, make_bytearray), (defaultdict, make_defaultdict),
        (Counter, make_counter))})
    return called


@lru_cache(maxsize=1)
def names():
    """The way back, for saving: the id of one of our objects -> PyTorch's module and name."""
    found = {}
    for name, value in table().items():
        if name.startswith("torch") and not name.startswith("torch.cuda."):
            found.setdefault(id(value), tuple(name.rsplit(".", 1)))
    found[id(UntypedStorage)] = ("torch.storage", "UntypedStorage")
    return found


# ------------------------------------------------------------------ what a call in a file does
def expect(condition, what, args):
    if not condition:
        raise UnpicklingError(f"{what}, got {tensors.shown(args)}")


def encode(text, encoding="utf-8"):
    """How protocol 2 spells bytes."""
    expect(type(text) is type(encoding) is str and encoding in ("latin1", "latin-1"), "bytes are stored as latin1 text",
           [text, encoding])
    return text.encode("latin1")


def get_layout(name):
    """A layout by its name."""
    names = "strided", "sparse_coo", "sparse_csr", "sparse_csc"
    expect(type(name) is str and name.removeprefix("torch.") in names, "a layout is torch.strided, torch.sparse_coo, "
           "torch.sparse_csr or torch.sparse_csc", [name])
    if name == "torch.strided":
        return strided
    return guests.sparse_layout(name)


def make_size(sizes=()):
    expect(type(sizes) in (tuple, list) and all(type(n) is int and -2**63 <= n < 2**63 for n in sizes),
           "a Size holds ints of 64 bits", [sizes])
    return Size(sizes)


def make_device(kind, index=None):
    expect(type(kind) is str and re.fullmatch("[a-z]{1,16}(:[0-9]{1,4})?", kind) and (
        index is None or type(index) is int and 0 <= index < 10**4), "a device has a name and a number", [kind, index])
    return device(kind, index)


def make_uninitialized(kind, requires_grad=False, where=None, dtype=None):
    expect(type(requires_grad) is bool and isinstance(where, (device, type(None))) and
           isinstance(dtype, (dtypes.dtype, type(None))), "an uninitialized parameter has a device and a dtype",
           [requires_grad, where, dtype])
    return kind(requires_grad, where, dtype)


def make_complex(real=0.0, imag=0.0):
    expect(all(type(x) in (int, float) for x in (real, imag)), "a complex number has two parts", [real, imag])
    return complex(real, imag)


def make_bytes():
    return b""


def make_bytearray(*args):
    if len(args) == 2:                                     # the bytes of Python 2
        args = (encode(*args),)
    expect(not args or len(args) == 1 and type(args[0]) is bytes, "a bytearray is made of bytes", list(args))
    return bytearray(*args)


def make_defaultdict(factory=None):
    simple = (None, int, float, bool, str, bytes, complex, list, dict, tuple, set, frozenset, OrderedDict, Counter,
              defaultdict)
    expect(any(factory is kind for kind in simple) or any(factory is f for f in allowed().values()),
           "the factory of a defaultdict is a basic type", [factory])
    return defaultdict(factory)


def make_counter(*args):
    expect(not args or len(args) == 1 and type(args[0]) is dict, "a Counter is made of a dict", list(args))
    return Counter(*args)


# ------------------------------------------------------------------ what the caller adds
_added: dict = {}                                          # name in the file -> object, for all loads


def add_safe_globals(safe_globals):
    """Let `load` use these classes and functions when a file names them.

    Only add what may safely be called with any arguments: a file decides what they are called with.

    Args:
        safe_globals: a list of classes or functions, or of pairs ``(class, "module.name in the file")``.
    """
    _added.update(named(safe_globals))


def named(safe_globals):
    found = {}
    for entry in safe_globals:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(f"Expected tuple of length 2 (global, str of callable full path), but got tuple of "
                                 f"length: {len(entry)}")
            if type(entry[1]) is not str:
                raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: "
                                f"{type(entry[1])}")
            found[entry[1]] = entry[0]
        else:
            found[f"{entry.__module__}.{entry.__qualname__}"] = entry
    return found


def get_safe_globals():
    """The list of what `add_safe_globals` has added."""
    return [f if f"{f.__module__}.{f.__qualname__}" == name else (f, name) for name, f in _added.items()]


def clear_safe_globals():
    """Take back everything that `add_safe_globals` has added."""
    _added.clear()


class safe_globals:
    """``with safe_globals([MyClass]): load(...)``: `add_safe_globals` for the length of a block."""

    def __init__(self, safe_globals):
        self.entries = named(safe_globals)

    def __enter__(self):
        self.outer = dict(_added)
        _added.update(self.entries)

    def __exit__(self, *exc):
        _added.clear()
        _added.update(self.outer)


def allowed():
    """The globals that the caller has added, by name."""
    return _added
