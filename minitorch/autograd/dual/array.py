"""`Dual`: an array with a tangent, which has NumPy's methods and operators as far as code uses them.
"""

import functools
import operator
from types import ModuleType

import numpy as np

from ...core.arrays import is_inexact, owner, pointer
from ...core.registry import OPS

__all__ = ["Dual", "Functions", "dual_array", "of_backend", "plain", "tangent_in", "wrapped"]


def dual_array(backend, value, tangent=None, new=object.__new__):
    """`value` and `tangent`, arrays of the backend below, as one; a `tangent` of None is zero."""
    out = new(Dual)
    out.value, out.tangent, out.backend, out.given = value, tangent, backend, None
    out.shape, out.dtype, out.ndim = value.shape, value.dtype, value.ndim
    return out


def of_backend(F, x):
    """`x`, a number or an array of `F` or of one below it, as an array of `F`."""
    if x.__class__ is Dual and x.backend is F:
        return x
    inner = F.inner
    if inner.level is not None:
        return dual_array(F, of_backend(inner, x))
    return dual_array(F, x if x.__class__ is inner.ndarray else inner.asarray(x))


def tangent_in(F, x):
    """The tangent of an array of `F`, zeros where it has none."""
    return F.inner.xp.zeros(x.shape, x.dtype) if x.tangent is None else x.tangent


def plain(x):
    """An index, or anything else, with the values of dual arrays in their place."""
    if x.__class__ is Dual:
        return x.value
    return type(x)([plain(y) for y in x]) if x.__class__ in (tuple, list) else x


def wrapped(F, x):
    """Results of the backend below, as arrays without tangents."""
    if x.__class__ is F.inner.ndarray or isinstance(x, np.generic):
        return of_backend(F, x)
    return type(x)([wrapped(F, y) for y in x]) if x.__class__ in (tuple, list) else x


@functools.cache
def by_ufunc():
    """The names of the ops that NumPy's ufuncs compute, by the names of these."""
    return {"power": "pow"} | {getattr(np, op.xp_name).__name__: op.name for op in OPS.values()
                               if isinstance(getattr(np, op.xp_name or "", None), np.ufunc)}


# ---- operators -----------------------------------------------------------------------------------
def innermost(arrays):
    """The backend of the level that was opened last among those of these arrays."""
    return max([x.backend for x in arrays if x.__class__ is Dual], key=lambda F: F.level.number)


def by_op(name, swap=False):
    """An operator that is the op `name`."""
    def method(self, *other):
        if other and hasattr(other[0], "needs_grad"):      # a tensor
            return NotImplemented
        operands = (*other, self) if swap else (self, *other)
        return getattr(innermost(operands), name)(*operands)
    return method


def of_values(function):
    """An operator, or a method, whose result has no tangent."""
    def method(self, *other, **options):
        if other and hasattr(other[0], "needs_grad"):
            return NotImplemented
        F = innermost((self, *other))
        return of_backend(F, function(*plain((self, *other)), **options))
    return method


def of_each(name):
    """A method that is linear: of the value and of the tangent."""
    def method(self, *args, **options):
        return each(self, lambda x: getattr(x, name)(*plain(args), **options))
    return method


def each(x, function):
    """A linear function of an array: of the value and of the tangent."""
    F, value, t = x.backend, function(x.value), x.tangent
    if value.__class__ is not F.inner.ndarray:             # a number
        value = F.inner.asarray(value)
    if t is None or not is_inexact(value.dtype):
        return dual_array(F, value)
    return dual_array(F, value, F.inner.asarray(function(t)))


def of_value(name):
    """A method that asks for values."""
    def method(self, *args, **options):
        return getattr(self.value, name)(*args, **options)
    return method


class Memory:
    """The address of an array, as `core.arrays.pointer` asks for it of arrays that are not NumPy's.
    """

    def __init__(self, ptr):
        self.ptr = ptr


class Dual:
    """An array `value` with a `tangent` of its shape and dtype, or None: zero. `given` refers to
    the tensor that the user has given as the tangent."""

    __slots__ = ("value", "tangent", "backend", "given", "shape", "dtype", "ndim", "__weakref__")
    __array_priority__ = 3000
    __hash__ = object.__hash__

    size = property(lambda self: self.value.size)
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.value.nbytes)
    strides = property(lambda self: self.value.strides)
    flags = property(lambda self: self.value.flags)
    base = property(lambda self: owner(self.value), doc="The array below that owns the memory.")
    data = property(lambda self: Memory(pointer(self.value)))
    T = property(lambda self: each(self, lambda x: x.T))
    mT = property(lambda self: each(self, lambda x: x.mT))
    real = property(lambda self: each(self, lambda x: x.real))
    imag = property(lambda self: each(self, lambda x: x.imag))
    pattern = property(lambda self: self.value.pattern, doc="Of a sparse array.")
    values = property(lambda self: each(self, lambda x: x.values), doc="Of a sparse array.")

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(self.shape[0])])

    def __repr__(self):
        return f"Dual({self.value!r}, {self.tangent!r})"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.get(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """NumPy's arrays leave their operators to these; other functions have no tangents."""
        F = innermost(inputs)
        if method == "__call__" and not options and ufunc.__name__ in by_ufunc():
            return getattr(F, by_ufunc()[ufunc.__name__])(*inputs)
        return wrapped(F, getattr(ufunc, method)(*plain(inputs), **options))

    def get(self):
        """The value as an array of the host."""
        return self.backend.to_host(self)

    def __getitem__(self, index):
        F, index = self.backend, plain(index)
        value, t = F.inner.asarray(self.value[index]), self.tangent
        return dual_array(F, value, None if t is None else F.inner.asarray(t[index]))

    def __setitem__(self, index, other):
        F, index = self.backend, plain(index)
        given = of_backend(F, other)
        self.value[index] = given.value
        if self.tangent is not None or given.tangent is not None:
            self.tangent = tangent_in(F, self)
            self.tangent[index] = tangent_in(F, given)

    def copy(self, order="C"):
        """A copy; within `vmap` of one element where all are the same, unlike that of a batch."""
        return self.astype(self.dtype, order)


for _name in ("all", "any", "item", "max", "min", "nonzero", "tolist", "__bool__", "__float__",
              "__index__", "__int__"):
    setattr(Dual, _name, of_value(_name))
for _name in ("astype", "conj", "conjugate", "cumsum", "diagonal", "flatten", "mean", "ravel",
              "repeat", "reshape", "squeeze", "sum", "swapaxes", "take", "trace", "transpose",
              "view"):
    setattr(Dual, _name, of_each(_name))
for _name in ("argmax", "argmin", "argpartition", "argsort", "round", "searchsorted"):
    setattr(Dual, _name, of_values(lambda x, *args, n=_name, **o: getattr(x, n)(*args, **o)))
for _name, _op in dict(add="add", sub="sub", mul="mul", truediv="div", pow="pow", matmul="matmul",
                       mod="remainder", floordiv="floor_divide").items():
    setattr(Dual, f"__{_name}__", by_op(_op))
    setattr(Dual, f"__r{_name}__", by_op(_op, swap=True))
for _name in ("neg", "abs"):
    setattr(Dual, f"__{_name}__", by_op(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "lshift", "rshift", "invert"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Dual, f"__{_name}__", of_values(_function))
    if _name in ("and", "or", "xor", "lshift", "rshift"):
        setattr(Dual, f"__r{_name}__", of_values(lambda a, b, f=_function: f(b, a)))


# ---- the array module ----------------------------------------------------------------------------
LINEAR = {"array", "asarray", "conjugate"}


class Functions:
    """The array module of the backend below, for code beside the ops: its results have no tangents,
    except those of the functions above."""

    def __init__(self, backend, inner=None):
        self.backend, self.inner = backend, backend.inner.xp if inner is None else inner

    def __getattr__(self, name):
        F = self.backend
        if isinstance(getattr(np, name, None), np.ufunc) and name in by_ufunc():
            return getattr(F, by_ufunc()[name])
        found = getattr(self.inner, name)
        if isinstance(found, (ModuleType, type(F.inner.xp))):              # such as `linalg`
            return Functions(F, found)
        if not callable(found) or isinstance(found, type):
            return found

        def call(*args, **options):
            value = found(*plain(args), **{k: plain(v) for k, v in options.items()})
            x = args[0] if args else None
            if name in LINEAR and x.__class__ is Dual and x.tangent is not None:
                return dual_array(F, value, found(x.tangent, *args[1:], **options))
            return wrapped(F, value)
        setattr(self, name, call)
        return call
