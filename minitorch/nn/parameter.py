"""``Parameter`` and ``Buffer``: tensors that a module knows as its own; and their kinds without a shape yet."""

from ..autograd.dispatch import disabled_torch_function
from ..core import dtypes
from ..core.device import device as Device
from ..core.device import get
from ..core.dtypes import dtype as DType
from ..core.registry import guests
from ..core.tensor import Tensor, wrap

__all__ = ["Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "is_lazy"]


class Parameter(Tensor):
    """A tensor that is a parameter: assigned to a module's attribute, it appears in ``parameters()``.

    Shares the memory of ``data`` (an empty tensor by default), and is a leaf that requires grad unless told
    otherwise.

    >>> import minitorch
    >>> from minitorch import nn
    >>> nn.Parameter(minitorch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = disabled_torch_function           # results are plain tensors

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter(data): data must be a Tensor, not {type(data).__name__}; "
                            "make one with minitorch.tensor(...)")
        if data.array.strides is None and cls is Parameter:
            return guests.sparse_parameter(data, requires_grad)
        self = object.__new__(cls)
        self.array, self.backend = data.array, data.backend
        if requires_grad:
            self.requires_grad_()
        return self

    def __init__(self, *args, **kwargs):
        pass            # __new__ has done it; a subclass may take other arguments


class _BufferMeta(type):
    def __instancecheck__(self, instance):
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor to be registered as a buffer: ``self.mean = nn.Buffer(zeros(3))`` is ``register_buffer`` in short.

    The result is an ordinary tensor that shares the memory of ``data`` and bears a mark; ``isinstance(x, Buffer)``
    looks for it. ``persistent=False`` leaves it out of the ``state_dict``.
    """

    __torch_function__ = disabled_torch_function

    def __new__(cls, data=None, *, persistent=True):
        data = Tensor() if data is None else data
        self = data.detach().requires_grad_(data.requires_grad)
        self.persistent, self._is_buffer = persistent, True
        return self


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet. It has a dtype and a device and can be moved, nothing more, until
    ``materialize(shape)`` turns it into an ordinary one. Everything else raises ValueError."""

    cls_to_become: type
    __torch_function__ = disabled_torch_function

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        self = object.__new__(cls)
        self.backend = get(device)
        self._dtype = dtypes.get_default_dtype() if dtype is None else dtype
        self.needs_grad = requires_grad
        return self

    dtype = property(lambda self: self._dtype, doc="The dtype of the values to come.")

    @property
    def array(self):
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
            "explicitly manipulating `UninitializedParameter` objects. When using LazyModules call `forward` with a "
            "dummy batch to initialize the parameters first.")

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes.")

    def materialize(self, shape, device=None, dtype=None):
        """Become an ordinary parameter or buffer of ``shape``, its values undefined."""
        backend = self.backend if device is None else get(device)
        dtype = self._dtype if dtype is None else dtype
        self.__class__ = self.cls_to_become         # from here on ``array`` is an ordinary attribute
        del self._dtype
        self.backend, self.array = backend, backend.xp.empty(tuple(shape), dtype.np)

    # -- moving: what Module._apply may call -------------------------------------------------------------------------
    def to(self, *args, **kwargs):
        """One like this with another device or dtype."""
        device, dtype, _, _ = parse_to(*args, **kwargs)
        return type(self)(self.needs_grad, self.device if device is None else device, dtype or self._dtype)

    def cpu(self):
        """One like this on the CPU."""
        return self.to("cpu")

    def cuda(self, device=None):
        """One like this on a GPU."""
        return self.to("cuda" if device is None else device)

    def type(self, dst_type):
        """One like this of another dtype."""
        return self.to(dst_type)

    def is_complex(self):
        """True if the dtype is complex."""
        return self._dtype.is_complex

    def is_floating_point(self):
        """True if the dtype is a floating-point type."""
        return self._dtype.is_floating_point

    @property
    def data(self):
        """An empty tensor of its dtype and device; assigning another one without values takes over
        these."""
        return wrap(self.backend.xp.empty((0,), self._dtype.np), self.backend)

    @data.setter
    def data(self, other):
        self.backend, self._dtype = other.backend, other.dtype

    def __repr__(self, *, tensor_contents=None):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        memo[id(self)] = new = type(self)(self.needs_grad, self.device, self._dtype)
        return new

    def __reduce_ex__(self, protocol):
        return type(self), (self.needs_grad, self.device, self._dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet; see ``UninitializedTensorMixin``."""

    cls_to_become = Parameter


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet; see ``UninitializedTensorMixin``."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        self = super().__new__(cls, requires_grad, device, dtype)
        self.persistent, self._is_buffer = persistent, True
        return self

    def __init__(self, *args, **kwargs):
        pass


def is_lazy(param):
    """True if a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def typename(value):
    """The name of the type of `value`, for an error's text."""
    cls = type(value)
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def parse_to(*args, **kwargs):
    """The arguments of ``Module.to`` as ``(device, dtype, non_blocking, memory_format)``."""
    given = dict(device=None, dtype=None, non_blocking=False, memory_format=None)
    args = list(args)
    if args and isinstance(args[0], Tensor):
        other = args.pop(0)
        given.update(device=other.device, dtype=other.dtype)
        names = ["non_blocking"]
    elif args and isinstance(args[0], DType):
        names = ["dtype", "non_blocking"]
    else:
        names = ["device", "dtype", "non_blocking"]
    if "tensor" in kwargs:
        other = kwargs.pop("tensor")
        given.update(device=other.device, dtype=other.dtype)
    unknown = set(kwargs) - {*given, "copy"}
    if len(args) > len(names) or unknown:
        raise TypeError("to() received an invalid combination of arguments: expected to(device, dtype, non_blocking), "
                        "to(dtype, non_blocking) or to(tensor, non_blocking), each also with memory_format")
    given.update(zip(names, args))
    given.update((k, v) for k, v in kwargs.items() if k != "copy")
    if given["dtype"] is not None and not isinstance(given["dtype"], DType):
        raise TypeError(f"to(): argument 'dtype' must be a dtype, not {typename(given['dtype'])}")
    if given["device"] is not None and not isinstance(given["device"], Device):
        given["device"] = Device(given["device"])
    return given["device"], given["dtype"], given["non_blocking"], given["memory_format"]
