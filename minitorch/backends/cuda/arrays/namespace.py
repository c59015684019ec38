"""`Namespace`: NumPy's names on a device's arrays, the `F.xp` of op definitions.

A name is looked up in `OURS`, functions that launch our kernels; then among NumPy's constants, types and functions of
dtypes, which need no array; then in `library`. The result is kept as an attribute.
"""

import math
import types
from types import MethodType

import numpy as np

from ...numpy_names import class_of
from . import library

__all__ = ["Namespace", "OURS"]

OURS: dict = {}            # name -> function(F, ...) that launches our kernels

# Those that make new arrays by more than one launch of a functor, which has a plan of its own.
PLANNED: set = set()


class Namespace:
    """NumPy's names for the arrays of one backend."""

    def __init__(self, F):
        self.backend, self.ndarray = F, F.ndarray
        self.lib, self.testing = StrideTricks(F), np.testing
        self.linalg, self.fft = library.Submodule(F, "linalg"), library.Submodule(F, "fft")

    def __repr__(self):
        return f"<NumPy's names on {self.backend.device}>"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self.find(name)
        setattr(self, name, found)
        return found

    def find(self, name):
        F, theirs = self.backend, getattr(np, name, None)
        if name in OURS:
            ours = OURS[name]
            found = ours.bind(F) if hasattr(ours, "bind") else MethodType(ours, F)
            return found if name not in PLANNED else F.planned(f"xp.{name}", found,
                                                               lambda shadow: getattr(shadow.xp, name))
        if class_of(name) == "metadata" or isinstance(theirs, (type, types.ModuleType)) or (
                theirs is not None and not callable(theirs)):
            return theirs
        if isinstance(theirs, np.ufunc):
            return LibraryUfunc(F, name)
        return library.function(F, name)


class StrideTricks:
    """``xp.lib.stride_tricks.as_strided``."""

    def __init__(self, F):
        self.stride_tricks, self.as_strided = self, F.strided


class LibraryUfunc:
    """One of NumPy's ufuncs, with its methods, on a backend's arrays, by the library."""

    def __init__(self, F, name):
        self.backend, self.name = F, name

    def __call__(self, *args, **kwargs):
        return library.function(self.backend, self.name)(*args, **kwargs)

    def __getattr__(self, method):
        if method.startswith("__"):
            raise AttributeError(method)
        return library.function(self.backend, f"{self.name}.{method}")


def ours(function=None, *, name=None, planned=False):
    """Enter a function ``(F, ...)`` under NumPy's name for it; with `planned`, it has plans."""
    if function is None:
        return lambda f: ours(f, name=name, planned=planned)
    name = name or function.__name__
    if name in OURS:
        raise TypeError(f"NumPy's {name!r} already has a function")
    OURS[name] = function
    if planned:
        PLANNED.add(name)
    return function


# ---- new arrays ----------------------------------------------------------------------------------------------
@ours
def empty(F, shape, dtype=float, order="C"):
    one = isinstance(shape, (int, np.integer)) or getattr(shape, "ndim", None) == 0
    return F.empty((int(shape),) if one else tuple(map(int, shape)), np.dtype(dtype))


@ours
def zeros(F, shape, dtype=float, order="C"):
    out = F.xp.empty(shape, dtype)
    if out.size:
        F.machine.fill_bytes(out, 0)
    return out


@ours
def ones(F, shape, dtype=float, order="C"):
    return F.xp.full(shape, 1, dtype)


@ours
def full(F, shape, fill_value, dtype=None, order="C"):
    dtype = np.dtype(dtype) if dtype is not None else np.asarray(fill_value).dtype
    out = F.xp.empty(shape, dtype)
    F.xp.copyto(out, fill_value, casting="unsafe")
    return out


def like(maker):
    def make(F, a, *rest, dtype=None, order="K", subok=True, shape=None):
        return maker(F, a.shape if shape is None else shape, *rest, a.dtype if dtype is None else np.dtype(dtype))
    return make


for maker in (zeros, ones, full):
    OURS[maker.__name__ + "_like"] = like(maker)


@ours
def empty_like(F, prototype, dtype=None, order="K", subok=True, shape=None):
    """A new array; of the same shape also with its elements in the same order in memory."""
    dtype = prototype.dtype if dtype is None else np.dtype(dtype)
    if shape is not None or prototype._c_contiguous:
        return F.xp.empty(prototype.shape if shape is None else shape, dtype)
    return F.empty_in_order_of(prototype, dtype)


@ours
def asarray(F, a, dtype=None, order=None, copy=None):
    """An array, number or nested list as an array of this device; itself if it is one."""
    if isinstance(a, F.ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    if isinstance(a, (bool, int, float, np.generic)):      # by a kernel, without a copy from the host
        return F.xp.full((), a, dtype)
    return F.from_host(np.asarray(a, dtype))


asanyarray = ours(asarray, name="asanyarray")


@ours
def array(F, a, dtype=None, copy=True, order="K", ndmin=0):
    """A copy as an array of this device."""
    if isinstance(a, (list, tuple)) and any(isinstance(x, F.ndarray) for x in a):
        return F.xp.stack([F.xp.asarray(x, dtype) for x in a])
    out = a.astype(a.dtype if dtype is None else dtype, order, copy=copy) if isinstance(a, F.ndarray) else \
        F.from_host(np.array(a, dtype))
    return out.reshape((1,) * (ndmin - out.ndim) + out.shape) if ndmin > out.ndim else out


@ours
def ascontiguousarray(F, a, dtype=None):
    a = F.xp.asarray(a, dtype)
    return a if a._c_contiguous else a.copy()


@ours
def reshape(F, a, shape, order="C"):
    return a.reshape(shape, order=order)


@ours
def ravel(F, a, order="C"):
    return a.ravel(order)


@ours
def copy(F, a, order="K"):
    return a.copy(order)


@ours
def ndim(F, a):
    return getattr(a, "ndim", 0)


@ours
def shape(F, a):
    return getattr(a, "shape", ())


@ours
def size(F, a, axis=None):
    shape = F.xp.shape(a)
    return math.prod(shape) if axis is None else shape[axis]


getitem, setitem = ours(library.getitem), ours(library.setitem)


# ---- copies --------------------------------------------------------------------------------------------------
@ours(planned=True)
def astype(F, a, dtype, order="K", copy=True):
    """The elements in another dtype, as a new array."""
    out = F.xp.empty_like(a, dtype) if order == "K" else F.xp.empty(a.shape, dtype)
    F.xp.copyto(out, a, casting="unsafe")
    return out


@ours
def put(F, a, ind, v, mode="raise"):
    F.xp.setitem(a.reshape(-1) if a._c_contiguous else a.flat, ind, v)
