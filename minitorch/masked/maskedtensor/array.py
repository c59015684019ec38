"""`MaskedArray`: the array of a masked tensor, `values` and the `mask` of those that count."""

import numpy as np

from ...extend import from_np, owner, pointer, worded

__all__ = ["Extent", "MaskedArray", "masked_array", "require_kind"]

KINDS = set(map(np.dtype, "float16 float32 float64 bool int8 int16 int32 int64".split()))


class Extent(tuple):
    """The shape of a masked array, which knows its `mask`, and the `call` that made it."""

    mask: object
    call: object


def masked_array(backend, values, mask, call=None, gradient=False, new=object.__new__):
    """An array of `backend` of arrays of the backend below; a mask None: all elements count, beside
    whatever mask. `gradient` is True for gradients, whose masks may differ."""
    require_kind(values.dtype)
    out = new(MaskedArray)
    out.values, out.mask, out.backend, out.gradient = values, mask, backend, gradient
    out.shape = Extent(values.shape)
    out.shape.mask, out.shape.call = mask, call
    out.ndim, out.dtype = values.ndim, values.dtype
    return out


def require_kind(dtype):
    """TypeError unless masked arrays may be of this dtype."""
    if dtype not in KINDS:
        raise worded(TypeError(f"{from_np(dtype)} is not supported in MaskedTensor."))


def values_in(index):
    """An index with the values of masked arrays in it."""
    if index.__class__ is tuple:
        return tuple([values_in(part) for part in index])
    return index.values if index.__class__ is MaskedArray else index


class Memory:
    """The address of the values."""

    def __init__(self, ptr):
        self.ptr = ptr


class MaskedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """Values and a mask, True for those that count; both are arrays of the backend below."""

    __slots__ = ("values", "mask", "backend", "gradient", "shape", "ndim", "dtype", "__weakref__")
    __array_priority__ = 3000
    __hash__ = object.__hash__                             # type: ignore[assignment]

    size = property(lambda self: self.values.size)
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.values.nbytes)
    strides = property(lambda self: self.values.strides)
    flags = property(lambda self: self.values.flags)
    base = property(lambda self: owner(self.values), doc="The array that owns the values.")
    data = property(lambda self: Memory(pointer(self.values)))

    def like(self, function):
        """An array of ``function(values)`` and ``function(mask)``."""
        mask = None if self.mask is None else self.backend.array_of(function(self.mask))
        return masked_array(self.backend, self.backend.array_of(function(self.values)), mask,
                            self.shape.call, self.gradient)

    def filled(self, number):
        """The values, with a number in the place of those that do not count."""
        xp = self.backend.inner.xp
        return self.values if self.mask is None else xp.where(
            self.mask, self.values, self.values.dtype.type(number))

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"MaskedArray({self.values!r}, {self.mask!r})"

    # -- one element -------------------------------------------------------------------------------
    def one(self):
        """The array of one element that counts, for a number."""
        if self.size == 1 and self.mask is not None and not bool(self.mask.reshape(())):
            raise worded(ValueError("item(): the element is masked out: expected a mask that is "
                                    "True"))
        return self.values.reshape(())

    def __bool__(self):
        return bool(self.one())

    def item(self):
        """The element as a Python number."""
        return self.one().item()

    def __array__(self, dtype=None, copy=None):
        return self.backend.to_host(self)

    def __array_function__(self, function, types, args, kwargs):
        return getattr(self.backend.xp, function.__name__)(*args, **kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        if method != "__call__" or options:
            return NotImplemented
        result = self.backend.elementwise(ufunc, inputs)
        if out:
            self.backend.xp.copyto(out[0], result, casting="unsafe")
        return out[0] if out else result

    # -- parts and memory --------------------------------------------------------------------------
    def __getitem__(self, index):
        index = values_in(index)
        return self.like(lambda x: x[index])

    def __setitem__(self, index, value):
        index = values_in(index)
        if value.__class__ is not MaskedArray:
            self.values[index] = value
            return
        self.values[index] = value.values
        if self.mask is not None and value.mask is not None:
            self.mask[index] = value.mask

    def astype(self, dtype, order="K", **options):
        return masked_array(self.backend, self.values.astype(dtype, order=order, **options),
                            self.mask, gradient=self.gradient)

    def copy(self, order="C"):
        return self.like(lambda x: x.copy(order))

    __copy__ = copy

    def setflags(self, write):
        """Refuse writes to this view, where the array module can, or let them pass."""
        for x in (self.values, self.mask):
            if hasattr(x, "setflags"):
                x.setflags(write=write)

    def fill(self, value):
        self.values.fill(value)

    def reshape(self, *shape, order="C"):
        return self.like(lambda x: x.reshape(*shape, order=order))

    def transpose(self, *dims):
        return self.like(lambda x: x.transpose(*dims))

    def swapaxes(self, a, b):
        return self.like(lambda x: x.swapaxes(a, b))

    T = property(lambda self: self.transpose())
    real = property(lambda self: masked_array(self.backend, self.values.real, self.mask))
    imag = property(lambda self: masked_array(self.backend, self.values.imag, self.mask))

    def any(self):
        """True if an element that counts is true."""
        return bool((self.filled(0) != 0).any())

    def all(self):
        """True if all elements that count are true."""
        return bool((self.filled(1) != 0).all())


def refused(name):
    def method(self, *args, **options):
        raise worded(TypeError(f"{name}() is not supported for MaskedTensors: compute it from "
                               f"get_data(), get_mask() or to_tensor(value)"))
    return method


for _name, _function in vars(np.ndarray).items():
    if callable(_function) and not _name.startswith("_") and not hasattr(MaskedArray, _name):
        setattr(MaskedArray, _name, refused(_name))
