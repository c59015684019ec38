"""`device`: where a tensor's memory lives, in PyTorch's spelling ("cpu", "cuda", "cuda:1", "sim");
and the backends.

A backend stands for one device and is made when that device is first asked for: `get(device)` finds
or makes it. `register` adds a kind of device; makers are named as "module:function", so that
nothing is imported before it is used.
"""

from contextvars import ContextVar
from typing import Any

from .registry import Hook, find, late

__all__ = ["device", "get", "host", "made", "register", "stand_in"]

# `register` adds to them
TYPES = ["cpu", "cuda", "sim", "meta", "xpu", "mps", "hpu", "mtia", "xla"]
MAKERS: dict = {}                           # type of device -> (maker, which index None stands for)
MADE: dict = {}                                            # (type, index) -> the backend
HOST = "cpu", None

# the backend of new tensors in this thread; None: the CPU's
default: ContextVar = ContextVar("default", default=None)
# the defaults outside of the blocks that are open
outer: ContextVar = ContextVar("outer", default=())


class device:
    """``device("cuda:1")``, ``device("cuda", 1)`` or ``device("cpu")``; hashable, equal by value.

    `type` is the kind of hardware, `index` its number or None for the current one. The kinds are
    "cpu" (NumPy), "cuda" (CuPy) and "sim", which runs the CUDA kernels on the processor. Also a
    context manager: the tensors created inside live there.
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
        backend = get(self)                                # or an error, before anything is changed
        # a stack, so that a device can be entered inside itself
        outer.set((*outer.get(), default.get()))
        default.set(backend)
        return self

    def __exit__(self, *exc):
        *rest, before = outer.get()
        outer.set(tuple(rest))
        default.set(before)


def register(type, maker, current=None):
    """Let ``device(type)`` stand for the backends that ``maker(index)`` returns.

    `current` returns the index that is meant where none is given. Both are functions or the names
    of functions, "module:function".
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
        raise RuntimeError(f"device '{where}' has no backend here: known are {', '.join(MAKERS)}")
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
    """The CPU's backend."""
    return MADE.get(HOST) or get("cpu")


def made():
    """The (type, index) of the devices that are in use."""
    return list(MADE)


@Hook
def accelerator():
    """The backend of the GPU in use; None where there is no GPU. Filled by `backends`."""


def is_pinned(array):
    """True if a NumPy array lies in page-locked memory of a backend that is in use."""
    return any([backend.is_pinned(array) for backend in MADE.values()])


def named(function):
    return find(function) if isinstance(function, str) else function
