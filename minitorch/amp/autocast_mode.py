"""Automatic mixed precision: which ops run in 16 bits, which in float32, and the switch.

    with minitorch.autocast("cpu", dtype=minitorch.bfloat16):
        loss = criterion(model(x), y)

Inside, products (definitions with ``autocast="lower"``) cast float32 inputs to 16 bits, ops that need range or
precision (``autocast="float32"``) cast 16-bit inputs to float32, and all others run in the type of their inputs. The
casts are recorded, so gradients come back in each tensor's own type. On the CPU this gives the numbers of mixed
precision, not its speed. The list is PyTorch's: https://pytorch.org/docs/stable/amp.html#autocast-op-reference.

Only calls of ops with that column look at the switch: others pay nothing for it.
"""

import functools
import threading
import warnings

from ..core import dtypes
from ..core.registry import NAMES
from ..core.tensor import Tensor

__all__ = ["autocast", "is_autocast_enabled", "get_autocast_dtype", "set_autocast_enabled", "set_autocast_dtype",
           "is_autocast_available"]


class State(threading.local):
    """The switch of the current thread: `enabled` if any device type is, `dtypes` by type of device."""

    def __init__(self):
        self.enabled = False
        self.devices = {}
        self.defaults = {"cuda": dtypes.float16, "cpu": dtypes.bfloat16}


state = State()


def call(op, inputs, attrs):
    """Call `op` with its inputs cast as its column `autocast` says."""
    first = next(x for x in inputs if isinstance(x, Tensor))
    kind = "cpu" if first.device.type == "cpu" else "cuda"
    low = state.devices.get(kind)
    state.enabled = False                                  # the cast call must not come here again
    try:
        if low is not None:
            if op.autocast == "lower":
                inputs = [cast(x, low) for x in inputs]
            elif op.autocast == "float32" or op.autocast == "float32 on cuda" and kind == "cuda":
                inputs = [cast(x, dtypes.float32, only=(dtypes.float16, dtypes.bfloat16)) for x in inputs]
        return op.call(*inputs, **attrs)
    finally:
        state.enabled = True


def cast(x, dtype, only=(dtypes.float32, dtypes.float16, dtypes.bfloat16)):
    return x.to(dtype) if isinstance(x, Tensor) and x.dtype in only and x.dtype is not dtype else x


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
        self.device_type = "cpu" if device_type == "cpu" else "cuda"
        self.dtype = dtype or state.defaults[self.device_type]
        if self.dtype not in (dtypes.float16, dtypes.bfloat16):
            warnings.warn(f"In {device_type} autocast, but the target dtype is not supported. Disabling autocast.\n"
                          f"Supported are bfloat16 and float16, got {self.dtype}.", stacklevel=2)
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
    """Whether mixed precision is on for that type of device, in this thread."""
    return state.devices.get("cpu" if device_type == "cpu" else "cuda") is not None


def set_autocast_enabled(device_type, enabled):
    """Turn mixed precision on or off without a block."""
    state.devices[device_type] = state.defaults[device_type] if enabled else None
    state.enabled = any(d is not None for d in state.devices.values())


def get_autocast_dtype(device_type):
    """The type that products run in under mixed precision."""
    return state.devices.get(device_type) or state.defaults[device_type]


def set_autocast_dtype(device_type, dtype):
    """Set the type that products run in under mixed precision where a block does not say."""
    state.defaults[device_type] = dtype


def is_autocast_available(device_type):
    """Whether there is mixed precision for that type of device."""
    return device_type in ("cpu", "cuda")


NAMES.update(autocast=state, autocast_call=call)
