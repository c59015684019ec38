"""Fall back to CuPy or NumPy for functions that have none of our kernels: linear algebra, Fourier
transforms, sets ...

On a GPU they are CuPy's, and for the few names that CuPy lacks NumPy's on copies (`THROUGH_HOST`). On the simulator
they are NumPy's, on views of the same memory without a copy. No other module computes with an array library.
"""

import functools

import numpy as np

from ....core.arrays import owner
from ...numpy_names import class_of
from ..runtime.machine import import_cupy

__all__ = ["Submodule", "function", "is_view", "view_of"]

# Functions that CuPy lacks in some versions or for some arguments: computed by NumPy on copies, with a wait.
THROUGH_HOST = (
    "maximum.accumulate", "minimum.accumulate", "fmax.accumulate", "fmin.accumulate", "logical_and.accumulate",
    "logical_or.accumulate",                               # CuPy accumulates sums and products only
    "multiply.at", "divide.at", "logical_and.at", "logical_or.at",             # and `at` knows sums, extremes and bits
    "linalg.eig", "linalg.eigvals",                        # since CuPy 14
    "linalg.matrix_norm", "linalg.svdvals", "linalg.vecdot", "nanquantile", "spacing")


def function(F, path):
    """The array library's function of that name ("sort", "linalg.svd", "add.at"), on arrays of `F`."""
    if is_view(path):                                      # CuPy's own, on every machine
        return getattr(import_cupy(), path)
    if F.machine.kind == "sim" or path in THROUGH_HOST:
        return on_host(F, find(np, path))
    return on_device(F, find(import_cupy(), path))


def is_view(path):
    """True for a function that only makes another view of an array's memory, and that CuPy has."""
    return class_of(path) == "view" and hasattr(import_cupy(), path)


def find(library, path):
    for name in path.split("."):
        library = getattr(library, name, None)
    if library is None:
        raise AttributeError(f"neither minitorch nor the array library of this device has `{path}`")
    return library


class Submodule:
    """A submodule of the array library, such as `linalg`, on a backend's arrays."""

    def __init__(self, F, name):
        self.backend, self.name = F, name

    def __getattr__(self, name):
        found = function(self.backend, f"{self.name}.{name}")
        setattr(self, name, found)
        return found


def each(convert, x):
    """Apply `convert` to the leaves of nested tuples, lists and dicts."""
    if isinstance(x, (tuple, list)):
        items = [each(convert, v) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {k: each(convert, v) for k, v in x.items()}
    return convert(x)


def refuse_host_arrays(x):
    """TypeError, as CuPy's, for a host array in the place of a device array."""
    if type(x) is np.ndarray and x.ndim:
        raise TypeError(f"a host array among device arrays: {x.dtype} of shape {x.shape}; "
                        f"move it to the device with from_host()")
    return x


# ---- NumPy, for the simulator --------------------------------------------------------------------------------
def on_host(F, function):
    """NumPy's `function` for `F`'s arrays: on views of their memory where that is the host's, else on copies."""
    view = F.machine.view if F.machine.kind == "sim" else F.to_host

    @functools.wraps(function)
    def call(*args, **kwargs):
        F.machine.by_library()
        ours = []

        def to_host(x):
            if not isinstance(x, F.ndarray):
                return refuse_host_arrays(x)
            ours.append((view(x), x))
            return ours[-1][0]

        def to_device(x):
            for seen, array in ours:                       # an `out` that was given
                if x is seen:
                    return array
            return F.from_host(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x
        def compute():
            ours.clear()
            with np.errstate(all="ignore"):
                return function(*each(to_host, args), **each(to_host, kwargs))
        found = compute()
        if function.__name__ == "at" and F.machine.kind != "sim":              # it wrote into a copy
            ours[0][1][...] = F.from_host(ours[0][0])
        made = each(to_device, found)
        if F.machine.capture is not None:                  # on the simulator: a GPU's host reads nothing in a capture
            F.machine.do(lambda: replace(made, compute()))
        return made

    def replace(x, values):
        """Write values that were computed again into arrays made before."""
        if isinstance(x, (tuple, list)):
            for part, value in zip(x, values):
                replace(part, value)
        elif isinstance(x, F.ndarray) and np.shape(values) != x.shape:
            raise RuntimeError(f"NumPy's {function.__name__}, which stands for a kernel here, gives another shape "
                               f"in this run of a captured graph: {np.shape(values)} for {x.shape}")
        elif isinstance(x, F.ndarray):
            np.copyto(view(x), values)
    return call


# ---- CuPy, for a GPU -----------------------------------------------------------------------------------------
def on_device(F, function):
    """CuPy's `function` for `F`'s arrays, which it sees as CuPy's own."""
    cupy = import_cupy()

    def call(*args, **kwargs):
        F.machine.by_library()
        ours = []

        def to_cupy(x):
            if not isinstance(x, F.ndarray):
                return refuse_host_arrays(x)
            ours.append((cupy.ndarray(x.shape, x.dtype, x.data, x.strides), x))
            return ours[-1][0]

        def to_array(x):
            for seen, array in ours:
                if x is seen:
                    return array
            if isinstance(x, cupy.ndarray):
                return F.ndarray(x.shape, x.dtype, x.data, x.strides)
            return F.from_host(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x
        with F.machine.device:
            return each(to_array, function(*each(to_cupy, args), **each(to_cupy, kwargs)))
    return call


# ---- indices, views ------------------------------------------------------------------------------------------
def getitem(F, array, index):
    """``array[index]`` for an index with arrays, lists or bools in it: a copy."""
    return function_of(F, lambda x, i: x[i])(array, index)


def setitem(F, array, index, value):
    """``array[index] = value`` for such an index."""
    def write(x, i, v):
        x[i] = v
    function_of(F, write)(array, index, value)


def function_of(F, function):
    return on_host(F, function) if F.machine.kind == "sim" else on_device(F, function)


def view_of(array, shape, dtype, offset, strides):
    """A view that begins `offset` bytes behind `array`, with another shape, dtype and strides (in bytes).

    The caller must make sure that it stays within the memory.
    """
    dtype, root = np.dtype(dtype), owner(array)
    start = array.data.ptr + offset - root.data.ptr
    row = root.ravel("K").view("u1")
    if not row.size:
        return array.backend.empty(shape, dtype)
    found = row[start:start + dtype.itemsize].view(dtype)
    if not found.size:                                     # an empty view at the very end
        found = row[:dtype.itemsize].view(dtype)
    found._set_shape_and_strides(tuple(shape), tuple(strides), True, True)
    return found
