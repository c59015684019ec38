"""Automatic mixed precision: which ops run in 16 bits, which in float32, and the switch.

    with minitorch.autocast("cpu", dtype=minitorch.bfloat16):
        loss = criterion(model(x), y)

Inside, products (``autocast="lower"``) cast float32 inputs to 16 bits, functions that need range or precision
(``autocast="float32"``) cast 16-bit inputs to float32, and all others run in the type of their inputs. Definitions say
so by the column `autocast`, composites by the keyword, both perhaps for one type of device ("lower on cuda"). The casts
are recorded, so gradients come back in each tensor's own type. On the CPU this gives the numbers of mixed precision,
not its speed. The list is PyTorch's: https://pytorch.org/docs/stable/amp.html#autocast-op-reference.

Only calls of these functions look at the switch, and those with ``out=`` are not cast, as in PyTorch.
"""

import functools

from ..core import dtypes
from ..core.call import cast_call
from ..core.grad_mode import mixed_precision as state
from ..core.tensor import Tensor
from ..explain.callers import warn

__all__ = ["autocast", "is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled", "set_autocast_dtype",
           "is_autocast_available", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype",
           "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "set_autocast_cache_enabled",
           "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"]


@cast_call.fill
def call_casting(function, how, args, kwargs):
    """Call `function` with its float tensors cast as the words `how` say for the device of the first.

    "lower" to 16 bits, "float32", "promote" to the widest of them; "off" casts nothing, nor does the function inside.
    """
    tensors = list(tensors_in((*args, *kwargs.values())))
    kind = kind_of(tensors[0].device.type) if tensors else None
    low = state.devices.get(kind)
    word = None if low is None else word_for(how, kind)
    if word is None and not hasattr(function, "op"):       # a definition must not come here again
        return function(*args, **kwargs)
    state.enabled = False
    try:
        if word not in (None, "off"):
            wide = word == "float32" or word == "promote" and any(t.dtype is dtypes.float32 for t in tensors)
            dtype = dtypes.float32 if wide else low
            args, kwargs = [cast(x, dtype) for x in args], {k: cast(x, dtype) for k, x in kwargs.items()}
        return function(*args, **kwargs)
    finally:
        state.enabled = True


@functools.cache
def word_for(how, kind):
    """The word of a column for one type of device: "float32" of "float32 on cpu, promote on cuda" for "cpu"."""
    parts = [part.partition(" on ") for part in how.split(", ")]
    return next((word for word, _, where in parts if where in ("", kind)), None)


def tensors_in(values):
    """The tensors among arguments, in lists too."""
    for x in values:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from tensors_in(x)


def cast(x, dtype):
    """Tensors of 16-bit floats and float32, in lists too, as `dtype`; anything else as it is."""
    if isinstance(x, Tensor):
        return x.to(dtype) if x.dtype in CAST and x.dtype is not dtype else x
    return type(x)([cast(y, dtype) for y in x]) if x.__class__ in (tuple, list) else x


CAST = (dtypes.float32, dtypes.float16, dtypes.bfloat16)


def kind_of(device_type):
    """The type of device that switches are kept for: the simulator's is "cuda"."""
    return "cpu" if device_type == "cpu" else "cuda"


class autocast:
    """Mixed precision inside a ``with`` block or a decorated function.

    `device_type` "cpu" or "cuda"; `dtype` bfloat16 (the default on the CPU) or float16 (the default on CUDA);
    `enabled` False switches it off inside a larger block. `cache_enabled` is accepted: casts are not cached.
    """

    def __init__(self, device_type="cuda", dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ("cpu", "cuda", "sim"):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device_type = kind_of(device_type)
        self.dtype = dtype or state.defaults[self.device_type]
        if self.dtype not in (dtypes.float16, dtypes.bfloat16):
            warn(f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                 f"Supported are bfloat16 and float16, got {self.dtype}.")
            enabled = False
        self.enabled, self.outer = enabled, []

    def __enter__(self):
        self.outer.append((state.enabled, dict(state.devices)))
        state.devices[self.device_type] = self.dtype if self.enabled else None
        state.enabled = any(d is not None for d in state.devices.values())
        return self

    def __exit__(self, *exc):
        state.enabled, state.devices = self.outer.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with autocast(self.device_type, self.dtype, self.enabled):
                return function(*args, **kwargs)
        return wrapped


def is_autocast_enabled(device_type="cuda"):
    """True if mixed precision is on for that type of device, in this thread."""
    return state.devices.get(kind_of(device_type)) is not None


def set_autocast_enabled(device_type, enabled):
    """Turn mixed precision on or off without a block."""
    kind = kind_of(device_type)
    state.devices[kind] = state.defaults[kind] if enabled else None
    state.enabled = any(d is not None for d in state.devices.values())


def get_autocast_dtype(device_type):
    """The type that products run in under mixed precision."""
    kind = kind_of(device_type)
    return state.devices.get(kind) or state.defaults[kind]


def set_autocast_dtype(device_type, dtype):
    """Set the type that products run in under mixed precision where a block does not say."""
    state.defaults[kind_of(device_type)] = dtype


def is_autocast_available(device_type):
    """True if there is mixed precision for that type of device."""
    return device_type in ("cpu", "cuda")


# ---- older names, each for one type of device --------------------------------------------------------------------
def get_autocast_gpu_dtype():
    """`get_autocast_dtype` of "cuda"."""
    return get_autocast_dtype("cuda")


def get_autocast_cpu_dtype():
    """`get_autocast_dtype` of "cpu"."""
    return get_autocast_dtype("cpu")


def set_autocast_gpu_dtype(dtype):
    """`set_autocast_dtype` of "cuda"."""
    set_autocast_dtype("cuda", dtype)


def set_autocast_cpu_dtype(dtype):
    """`set_autocast_dtype` of "cpu"."""
    set_autocast_dtype("cpu", dtype)


def is_autocast_cpu_enabled():
    """`is_autocast_enabled` of "cpu"."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """`set_autocast_enabled` of "cpu"."""
    set_autocast_enabled("cpu", enabled)


def is_autocast_cache_enabled():
    """False: casts are not cached."""
    return False


def set_autocast_cache_enabled(enabled):
    """Accepted: casts are not cached."""


def clear_autocast_cache():
    """Nothing: casts are not cached."""
