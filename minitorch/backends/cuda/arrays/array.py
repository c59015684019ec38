"""`Array`: CuPy's array with our kernels behind its operators and methods.

Storage, shapes, views and basic slices are CuPy's own; CuPy hands this type on to every view. Computing and copying
go to the `xp` of the array's backend: operators, NumPy's functions and ufuncs called on it (``np.add(a, b)``),
and the methods. Each device has a subclass of its own (`array_type`), so that the type says where an array lives.
"""

import cupy
import numpy as np

from ....core.arrays import owner
from ...numpy_names import OPERATORS, class_of, methods
from . import library
from .layout import nocopy_strides

__all__ = ["Array", "array_type", "same_places", "share_memory"]

BASIC = (int, slice, type(None), type(Ellipsis))


class Array(cupy.ndarray):
    """An array on a device. `backend`, an attribute of each subclass, is that device's `CUDA` backend.

    `kind` stands for its shape, dtype, strides and alignment in the keys of plans (`runtime/plans.py`), once a planned
    call has met it: from then on nothing may change these.
    """

    __slots__ = ("kind",)
    backend = None
    obj = None                                             # of ``x.data``: the array that owns the memory
    __hash__ = object.__hash__

    # -- NumPy's protocols -----------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if any(wraps(x) for x in inputs):
            return NotImplemented                          # its own `__array_ufunc__` comes next
        found = getattr(self.backend.xp, ufunc.__name__)
        if method != "__call__":
            found = getattr(found, method)
        out = options.pop("out", None)
        if out is not None:
            options["out"] = out[0] if len(out) == 1 else out
        return found(*inputs, **options)

    def __array_function__(self, function, types, args, kwargs):
        if function is np.may_share_memory or function is np.shares_memory:
            return share_memory(*args[:2])
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        names = getattr(self.backend.xp, module) if module in ("linalg", "fft") else self.backend.xp
        return getattr(names, function.__name__)(*args, **kwargs)

    # -- indices ---------------------------------------------------------------------------------------------
    def __getitem__(self, index):
        if is_basic(index):
            return super().__getitem__(index)
        return self.backend.xp.getitem(self, index)

    def __setitem__(self, index, value):
        if is_basic(index):
            self.backend.xp.copyto(super().__getitem__(index), value, casting="unsafe")
        else:
            self.backend.xp.setitem(self, index, value)

    @property
    def flags(self):
        """NumPy's flags of an array's memory."""
        return Flags(self)

    # -- on the host -----------------------------------------------------------------------------------------
    def get(self, *args, **kwargs):
        """The elements as a new NumPy array."""
        return self.backend.to_host(self)

    def item(self, *index):
        """The one element, or the one at `index`, as a Python number."""
        return self.get().item(*index)

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.get().tolist()

    def tobytes(self, order="C"):
        """The elements' bytes."""
        return self.get().tobytes(order)

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __complex__(self):
        return complex(self.get())

    def __index__(self):
        return self.get().__index__()

    def __repr__(self):
        return repr(self.get())

    def __str__(self):
        return str(self.get())

    def __format__(self, spec):
        return format(self.get(), spec)

    def __reduce__(self):
        return restored, (self.backend, self.get())

    # -- copies ----------------------------------------------------------------------------------------------
    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The elements in another dtype; the array itself if `copy` is False and nothing changes."""
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype and (order != "C" or self._c_contiguous):
            return self
        return self.backend.xp.astype(self, dtype, order)

    def copy(self, order="C"):
        """A copy with memory of its own."""
        return self.backend.xp.astype(self, self.dtype, order)

    def laid_aside(self):
        """The same elements of the same memory, whose writes are counted apart: see `minitorch.autograd.aside`."""
        twin = type(self)(self.shape, self.dtype, self.data, self.strides)
        twin.obj = owner(self)
        return twin

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def fill(self, value):
        """Write one number into every element."""
        self.backend.xp.copyto(self, value, casting="unsafe")

    def reshape(self, *shape, order="C"):
        """A view of another shape where that is possible, else a copy."""
        if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
            shape = tuple(shape[0])
        if order == "A":
            order = "F" if self._f_contiguous and not self._c_contiguous else "C"
        if order == "F":
            return self.T.reshape(shape[::-1]).T
        if self._c_contiguous or nocopy_strides(self.shape, self.strides, shape) is not None:
            return super().reshape(shape)
        return super(Array, self.copy()).reshape(shape)

    def ravel(self, order="C"):
        """The elements in one row: a view where that is possible, else a copy."""
        if order == "K":
            axes = sorted(range(self.ndim), key=lambda d: -abs(self.strides[d]))
            return self.transpose(axes).reshape(-1)
        return self.reshape(-1, order=order)

    def flatten(self, order="C"):
        """A copy of the elements in one row."""
        return self.copy(order="C").reshape(-1) if order == "C" else self.ravel(order).copy()

    def sort(self, axis=-1, kind=None):
        """Sort in place along one axis."""
        self.backend.xp.copyto(self, self.backend.xp.sort(self, axis))

    @property
    def real(self):
        """The real part: a view."""
        return self.part(0) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value):
        self.backend.xp.copyto(self.real, value, casting="unsafe")

    @property
    def imag(self):
        """The imaginary part: a view; of real numbers zeros."""
        return self.part(1) if self.dtype.kind == "c" else self.backend.xp.zeros(self.shape, self.dtype)

    @imag.setter
    def imag(self, value):
        self.backend.xp.copyto(self.imag, value, casting="unsafe")

    def part(self, which):
        half = self.itemsize // 2
        return library.view_of(self, self.shape, f"f{half}", which * half, self.strides)


class Flags:
    """The flags of an array, by NumPy's names; memory on a device can always be written."""

    __slots__ = ("array",)
    writeable = aligned = True

    def __init__(self, array):
        self.array = array

    @property
    def c_contiguous(self):
        return self.array._c_contiguous

    @property
    def f_contiguous(self):
        return self.array._f_contiguous

    contiguous = c_contiguous

    @property
    def forc(self):
        return self.array._c_contiguous or self.array._f_contiguous

    @property
    def owndata(self):
        return self.array.base is None

    def __getitem__(self, name):
        return getattr(self, name.lower())


def is_basic(index):
    """True if an index makes a view: ints, slices, None and ... only."""
    if index.__class__ is tuple:
        return all([x.__class__ in BASIC or isinstance(x, (int, np.integer)) and x.__class__ is not bool
                    for x in index])
    return index.__class__ in BASIC or isinstance(index, (int, np.integer)) and index.__class__ is not bool


def share_memory(a, b):
    """True if two arrays may have memory in common, judged by the ranges in which they lie."""
    if not isinstance(a, Array) or not isinstance(b, Array) or type(a) is not type(b) or not a.size or not b.size:
        return False
    (a_low, a_high), (b_low, b_high) = reach(a), reach(b)
    return a_low < b_high and b_low < a_high


def same_places(x, y):
    """True if the elements of two arrays of one size lie in the same positions."""
    return x.data.ptr == y.data.ptr and x.shape == y.shape and x.strides == y.strides and x.itemsize == y.itemsize


def reach(array):
    """The first address of an array and the one behind its last."""
    low = high = array.data.ptr
    if array._c_contiguous:
        return low, low + array.nbytes
    for n, s in zip(array.shape, array.strides):
        low, high = low + min(0, (n - 1) * s), high + max(0, (n - 1) * s)
    return low, high + array.itemsize


def restored(backend, array):
    """A pickled array, on its device again."""
    return backend.from_host(array)


# ---- operators and methods -----------------------------------------------------------------------------------
def array_type(backend):
    """The type of one device's arrays."""
    return type("Array", (Array,), {"backend": backend, "__module__": __name__})


def answers(other):
    """True if an operator's other operand is one for us: arrays and numbers, not tensors."""
    return isinstance(other, (cupy.ndarray, np.ndarray, np.generic, int, float, complex))


def wraps(other):
    """True for an array that wraps others, of a trace or a batch, and answers for them."""
    return hasattr(type(other), "__array_ufunc__") and not isinstance(other, (cupy.ndarray, np.ndarray, np.generic))


def forward(name):
    def operator(self, other):
        return getattr(self.backend.xp, name)(self, other) if answers(other) else NotImplemented
    return operator


def reflected(name):
    def operator(self, other):
        return getattr(self.backend.xp, name)(other, self) if answers(other) else NotImplemented
    return operator


def in_place(name):
    def operator(self, other):
        if answers(other):
            return getattr(self.backend.xp, name)(self, other, out=self)
        return getattr(np, name)(self, other, out=self) if wraps(other) else NotImplemented
    return operator


def of_one(name):
    return lambda self: getattr(self.backend.xp, name)(self)


def method(name):
    def call(self, *args, **kwargs):
        return getattr(self.backend.xp, name)(self, *args, **kwargs)
    call.__name__, call.__doc__ = name, f"See `numpy.{name}`."
    return call


for word, name in OPERATORS.items():
    if word[0] == "i" and word[1:] in OPERATORS:
        made = in_place(name)
    elif word[0] == "r" and word[1:] in OPERATORS:
        made = reflected(name)
    else:
        made = of_one(name) if getattr(np, name).nin == 1 else forward(name)
    setattr(Array, f"__{word}__", made)
for name in methods():                                     # views are CuPy's own
    if name not in vars(Array) and class_of(name) != "view":
        setattr(Array, name, method(name))
