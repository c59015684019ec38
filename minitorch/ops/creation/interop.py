"""Methods that turn a tensor into Python's numbers and other libraries' arrays: ``float(x)``, ``x.numpy()``, DLPack."""

from ...core.device import host
from ...core.grad_mode import grad_mode
from ...core.registry import guests
from ...core.tensor import Tensor, wrap
from ...host import numpy_calls
from ..define import method

CPU = (1, 0)                                               # DLPack's name of the processor: (kDLCPU, 0)


@method
def __float__(self):
    try:
        return float(self.only_element())
    except TypeError:                                      # a complex number
        return float(without_imaginary(self, "double"))


@method
def __int__(self):
    try:
        return int(self.only_element())
    except TypeError:
        return int(without_imaginary(self, "int64_t"))


def without_imaginary(x, kind):
    """The real part of a complex tensor of one element; RuntimeError if there is another part."""
    value = x.only_element()
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow: got {value}")
    return value.real


@method
def __complex__(self):
    return complex(self.only_element())


@method
def only_element(self):
    """`item`, with the words of a conversion to a Python number."""
    if self.array.size != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, this one has "
                         f"{self.array.size}: use tolist()")
    return self.item()


@method
def __index__(self):
    if self.array.size != 1 or self.array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


@method
def numpy(self, *, force=False):
    """The elements as a NumPy array that shares this tensor's memory (with `force`: or a copy).

    RuntimeError for a tensor that requires grad, but in `no_grad`.
    """
    if force:
        return self.backend.to_host(self.array)
    if self.device.type == "cuda":
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                        f"tensor to host memory first.")
    if self.needs_grad and grad_mode.enabled:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return self.backend.to_host(self.array)


@method
def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and dtype != array.dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __array_wrap__(self, array, context=None, return_scalar=False):
    return wrap(host().xp.asarray(array), host())       # what NumPy's functions return for a tensor


@method
def __array_function__(self, function, types, args, kwargs):
    return numpy_calls.answer(self, function, types, args, kwargs)


@method
def __array_namespace__(self, *, api_version=None):
    """The array API standard's namespace, `minitorch.array_api`; `api_version`: "2025.12" or an earlier one."""
    return guests.array_namespace(self, api_version)


@method
def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
    """A capsule over this tensor's memory, by the array API standard; on the CPU `stream` is None or -1."""
    if self.needs_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError(f"stream must be ``int`` or ``none``, not {type(stream).__name__}")
    if self.device.type != "cuda":
        if stream not in (None, -1):
            raise AssertionError(f"stream should be None on {self.device.type}, not {stream}.")
        stream = None
    elif dl_device is not None and tuple(dl_device) == CPU:
        return self.cpu().__dlpack__(max_version=max_version, copy=copy)
    options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return self.array.__dlpack__(**{name: value for name, value in options.items() if value is not None})


@method
def __dlpack_device__(self):
    return self.array.__dlpack_device__()


@method
def __contains__(self, element):
    if isinstance(element, (Tensor, int, float, bool, complex)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


@method
def __format__(self, spec):
    if self.array.ndim == 0 and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)
