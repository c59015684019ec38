"""`device`: where a tensor's memory lives, in PyTorch's spelling ("cpu", "cuda", "cuda:1", "sim");
and the table of backends.

There is one backend for each device: `get(device)` makes it on first use. `register` adds a kind of
device; the function that makes its backends is named as "module:function", so that nothing is
imported before it is used.
"""

from contextvars import ContextVar
from typing import Any

from .registry import Hook, find, late

__all__ = ["device", "get", "host", "made", "register", "stand_in"]

TYPES = ["cpu", "cuda", "sim", "meta", "xpu", "mps", "hpu", "mtia", "xla"]
MAKERS: dict = {}      # type of device -> (maker, function that gives the index None stands for)
MADE: dict = {}                                            # (type, index) -> the backend
HOST = "cpu", None

# the backend of new tensors in this thread; None: that of the CPU
default: ContextVar = ContextVar("default", default=None)
# a stack of the defaults to restore when the open `with device(...)` blocks end
outer: ContextVar = ContextVar("outer", default=())


class device:
    """``device("cuda:1")``, ``device("cuda", 1)`` or ``device("cpu")``; hashable, equal by value.

    `type` is the kind of hardware, `index` its number or None for the current one. The kinds are
    "cpu" (NumPy), "cuda" (CuPy) and "sim", which runs the CUDA kernels on the processor. As a
    context manager, it creates new tensors on that device.
    """

    __slots__ = ("type", "index")
    type: str
    index: Any

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif isinstance(type, str) and ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was "
                                   f"passed explicitly: {type}")
            type, _, number = type.partition(":")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in TYPES or index is not None and not (isinstance(index, int) and index >= 0):
            raise late.no_device(type, index, TYPES)
        self.type, self.index = type, index

    def __repr__(self):
        return f"device(type='{self.type}'{'' if self.index is None else f', index={self.index}'})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)

    def __enter__(self):
        backend = get(self)                                # may raise, so before anything changes
        # a stack, so that a device can be entered inside itself
        outer.set((*outer.get(), default.get()))
        default.set(backend)
        return self

    def __exit__(self, *exc):
        *rest, before = outer.get()
        outer.set(tuple(rest))
        default.set(before)


def register(type, maker, current=None):
    """Register ``maker(index)``, which returns the backend of ``device(type, index)``.

    `current` returns the index to use when none is given. Both are functions or the names of
    functions, "module:function".
    """
    MAKERS[type] = maker, current
    if type not in TYPES:
        TYPES.append(type)


def get(where=None):
    """The backend of a device, a string, an index or a backend; the default one for None."""
    if where is None:
        return default.get() or MADE.get(HOST) or host()
    if not isinstance(where, (device, str, int)):
        if hasattr(where, "ndarray"):                      # a backend
            return where
        raise TypeError(f"expected a device, such as 'cpu' or 'cuda:0', got {where!r}")
    where = device(where)
    key = where.type, where.index
    if where.type not in MAKERS:
        raise RuntimeError(f"no backend registered for device '{where}'; registered: "
                           f"{', '.join(MAKERS)}")
    maker, current = MAKERS[where.type]
    if where.index is None and current is not None:
        key = where.type, named(current)()
    if key not in MADE:
        MADE[key] = named(maker)(key[1])
    return MADE[key]


def stand_in(backend, other):
    """Let `other` stand where `backend` does: for its devices, and as the default of this
    thread."""
    MADE.update({key: other for key, found in MADE.items() if found is backend})
    if default.get() is backend:
        default.set(other)


def host():
    """The backend of the CPU."""
    return MADE.get(HOST) or get("cpu")


def made():
    """The (type, index) of each device whose backend has been made."""
    return list(MADE)


@Hook
def accelerator():
    """The backend of the GPU in use; None without a GPU. Filled by `backends`."""


def is_pinned(array):
    """True if a NumPy array lies in page-locked memory of one of the backends."""
    return any([backend.is_pinned(array) for backend in MADE.values()])


def named(function):
    return find(function) if isinstance(function, str) else function
