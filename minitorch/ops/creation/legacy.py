"""Tensor types from PyTorch's first years: `FloatTensor` as a type, ``x.type(...)``, ``x.new(...)``, `typename`.

No op definitions. ``FloatTensor`` is a type that no tensor is made of: ``isinstance(x, FloatTensor)`` asks for the
dtype and the device, and calling it makes a `Tensor`.
"""

from ...core import dtypes
from ...core.errors import TYPE_NAMES
from ...core.storage import strided
from ...core.tensor import Size, Tensor
from ..define import composite, method
from ..shapes.convert import to
from ..shapes.memory import TypedStorage, UntypedStorage
from .create import empty, tensor

DTYPES = {word: getattr(dtypes, name) for name, word in TYPE_NAMES.items()}


class tensortype(type):
    """The type of `FloatTensor` and its kind: a dtype on a kind of device that can be called and asked for."""

    dtype: dtypes.dtype
    device_type: str
    layout = strided
    is_sparse = False

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.dtype is cls.dtype and x.device.type == cls.device_type

    def __call__(cls, *data, device=None):
        return made_of(data, cls.dtype, cls.device_type if device is None else device)

    def __repr__(cls):
        return f"<class '{name_of_type(cls.dtype, cls.device_type)}'>"


def made_of(data, dtype, device):
    """A tensor of data, or an uninitialised one of a size: the arguments of `FloatTensor` and `Tensor.new`."""
    if not data:
        return empty(0, dtype=dtype, device=device)
    if len(data) > 1 or isinstance(data[0], (int, Size)):
        return empty(*data, dtype=dtype, device=device)
    values = data[0]
    if isinstance(values, Tensor):
        if values.dtype is not dtype:
            raise TypeError(f"expected a tensor of {dtype}, got one of {values.dtype}: write x.to({dtype})")
        return values.detach()
    if not hasattr(values, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(values).__name__})")
    return tensor(values, dtype=dtype, device=device)


def name_of_type(dtype, device_type):
    """The name such as ``torch.FloatTensor`` or ``torch.cuda.LongTensor``."""
    return f"torch.{'' if device_type == 'cpu' else device_type + '.'}{TYPE_NAMES[dtype.name]}Tensor"


def types_on(device_type):
    """The types for a kind of device, by name."""
    module = "minitorch" if device_type == "cpu" else f"minitorch.{device_type}"
    return {f"{word}Tensor": tensortype(f"{word}Tensor", (), {
                "dtype": dtype, "device_type": device_type, "__module__": module,
                "__doc__": f"The type of {dtype.name} tensors; `tensor(data, dtype=...)` makes them more clearly."})
            for word, dtype in DTYPES.items() if not word.startswith("Complex")}


TYPES = types_on("cpu")


def dtype_of(type_):
    """The dtype that a dtype, a legacy type or a name such as "torch.FloatTensor" stands for, and its device or None.

    TypeError or ValueError for anything else.
    """
    if isinstance(type_, dtypes.dtype):
        return type_, None
    if isinstance(type_, tensortype):
        return type_.dtype, type_.device_type
    if not isinstance(type_, (str, type)):
        raise TypeError(f"dtype must be a type, str, or dtype object, got {type(type_).__name__}")
    if type_ == "torch.Tensor" or type_ is Tensor:
        return dtypes.get_default_dtype(), "cpu"
    name = type_ if isinstance(type_, str) else type_.__name__
    head, _, rest = name.partition(".")
    device_type, _, word = rest.rpartition(".")
    if head != "torch" or not word.endswith("Tensor") or word[:-6] not in DTYPES:
        raise ValueError(f"invalid type: {name!r}: write a dtype such as torch.float64")
    return DTYPES[word[:-6]], device_type or "cpu"


@method(name="type")
def type_(self, dtype=None, non_blocking=False):
    """The name of the tensor's type, such as ``torch.FloatTensor``; with `dtype`, the tensor as that type."""
    if dtype is None:
        return name_of_type(self.dtype, self.device.type)
    found, device_type = dtype_of(dtype)
    return to(self, dtype=found) if device_type in (None, self.device.type) else to(self, device_type, found)


@method
def new(self, *data, device=None):
    """A tensor of data, or an uninitialised one of a size, with the dtype and device of this one.

    >>> import minitorch as torch
    >>> torch.ones(2, dtype=torch.int64).new([1, 2])
    tensor([1, 2])
    """
    return made_of(data, self.dtype, self.backend if device is None else device)


@composite(method=False)
def set_default_tensor_type(t):
    """Let new tensors have the dtype of a legacy type; `set_default_dtype` says it more clearly."""
    dtype, _ = dtype_of(t)
    if not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {dtype}")
    dtypes.set_default_dtype(dtype)


@composite(method=False)
def typename(obj):
    """The name of an object's type, with its module; for a tensor the name of its legacy type."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    if module in ("", "builtins", "__builtin__"):
        return named.__qualname__
    return f"{module}.{named.__qualname__}"


# ---- storages ----------------------------------------------------------------------------------------------
class storagetype(type):
    """The type of `FloatStorage` and its kind."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, x):
        return isinstance(x, TypedStorage) and x.dtype is cls.dtype

    def __call__(cls, *data):
        return made_of(data, cls.dtype, "cpu").storage()


STORAGES = {f"{word}Storage": storagetype(f"{word}Storage", (), {
                "dtype": dtype, "__module__": "minitorch",
                "__doc__": f"The type of storages of {dtype.name} elements."})
            for word, dtype in DTYPES.items()}
STORAGES["Storage"] = STORAGES["FloatStorage"]


@method
def storage_type(self):
    """The type of the tensor's storage, such as `FloatStorage`."""
    return STORAGES[f"{TYPE_NAMES[self.dtype.name]}Storage"]


@composite(method=False)
def is_storage(obj):
    """True if `obj` is a storage."""
    return isinstance(obj, UntypedStorage)
