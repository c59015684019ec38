"""`MaskedBackend`: the ops on masked arrays, on top of the backend of their values.

A masked tensor is a tensor on such a backend. What an op makes of masks follows from its index
notation (`interpretation`). Gradients are computed by the formulas on the backend below, with what
the op has computed with in the place of elements that do not count.
"""

from functools import partial
from typing import Any

import numpy as np

from ...extend import OPS, Standing, worded
from .array import Extent, MaskedArray, masked_array
from .crossing import from_values, mask_in, to_values
from .interpretation import Call, agreed, are_gradients, stretched
from .pulling import pulled

__all__ = ["MaskedBackend", "backend_of"]


def backend_of(inner):
    """The backend of masked arrays whose values are on the backend `inner`."""
    found = vars(inner).get("_masked")                     # there, so that both go together
    if found is None:
        if inner.marks and inner.marks[-1].number > Masks.number:
            raise worded(TypeError(f"a MaskedTensor cannot be made of {inner}: masks stand below"))
        found = inner._masked = MaskedBackend(inner)
    return found


class Masks:
    """The mark of masked arrays: they stand below forward mode, which takes values and tangents to
    have one mask, and above batches."""

    number = 0

    @staticmethod
    def above(inner):
        return backend_of(inner)


class MaskedBackend(Standing):
    """Arrays some of whose elements do not count; values and masks are on the backend `inner`."""

    untraced = "there are MaskedTensors"
    # the class of its tensors, and their text; both in `core`
    kind: Any = None
    text_of: Any = None
    parts_of: Any = None

    def __init__(self, inner):
        self.inner, self.on_host, self.depth = inner, inner.on_host, inner.depth
        self.marks = *inner.marks, Masks
        super().__init__(inner.device, Functions(self))
        self.ndarray = MaskedArray

    def __repr__(self):
        return f"<backend {self.device}, masked>"

    def __reduce__(self):
        return backend_of, (self.inner,)

    # -- ops ---------------------------------------------------------------------------------------
    def look_up(self, name):
        """An op; layers stand around those of the backend below, which it calls."""
        op, full = OPS[name.removeprefix("full_")], name not in OPS

        def call(*arrays, out=None, **attrs):
            arrays = [self.lifted(x) if isinstance(x, self.inner.ndarray) else x for x in arrays]
            result = Call(self, op, arrays, attrs).computed(full)
            if out is not None:
                self.xp.copyto(out, result, casting="unsafe")
                return out
            return result
        call.takes_halves = True
        setattr(self, name, call)
        return call

    def pull_of(self, node, create_graph):
        """`pulled`, bound to a node."""
        return partial(pulled, node, create_graph)

    def elementwise(self, function, arrays):
        """``function(*arrays)``, element by element."""
        values, mask = agreed(arrays)
        y = self.array_of(function(*values))
        return masked_array(self, y, stretched(self, mask, y.shape), gradient=are_gradients(arrays))

    def lift(self, x):
        """A tensor of the backend below as one whose elements all count."""
        return from_values(x, self, None)

    @staticmethod
    def through(function, x):
        """A linear function of tensors, of the values; it moves the mask."""
        values, mask = function(to_values(x)), mask_in(x)
        mask = None if mask is None else function(mask)
        return from_values(values, x.backend, mask, x.array.gradient)

    def beside(self, inner):
        """The backend of masked arrays on `inner`: that of another device, or a batch of arrays."""
        return backend_of(inner)

    # -- memory ------------------------------------------------------------------------------------
    def array_of(self, x):
        """An array of the backend below: `x` itself, or a number or a NumPy scalar as one."""
        return x if isinstance(x, self.inner.ndarray) else self.inner.asarray(x)

    def lifted(self, x):
        """An array of the backend below, or a number, as one whose elements all count."""
        return x if x.__class__ is MaskedArray else masked_array(self, self.array_of(x), None)

    def asarray(self, x, dtype=None):
        return self.xp.asarray(x, dtype)

    def from_host(self, array):
        return self.lifted(self.inner.from_host(array))

    def to_host(self, array):
        if array.__class__ is not MaskedArray:
            return self.inner.to_host(array)
        if array.size != 1:
            raise worded(RuntimeError(".numpy() and .tolist() are not supported for MaskedTensors: "
                                      "to_tensor(value) makes a tensor of one"))
        return self.inner.to_host(array.one())

    def from_backend(self, array, source, non_blocking=False):
        parts = [x if x is None else self.inner.from_backend(x, source.inner, non_blocking)
                 for x in (array.values, array.mask)]
        return masked_array(self, *parts, gradient=array.gradient)

    def strided(self, array, shape, strides):
        mask, unit = array.mask, array.itemsize
        if mask is not None:
            if any([n > 1 and a != b * unit for n, a, b in zip(array.shape, array.strides,
                                                               mask.strides)]):
                raise worded(TypeError("as_strided of a MaskedTensor whose mask does not lie as "
                                       "its data does"))
            mask = self.inner.strided(mask, shape, tuple([s // unit for s in strides]))
        return masked_array(self, self.inner.strided(array.values, shape, strides), mask)

    def fill_random(self, array, sampler, generator, args):
        self.inner.fill_random(array.values, sampler, generator, args)


class Functions:
    """The array module: NumPy's names, as far as ops are made of them outside of definitions."""

    ndarray = MaskedArray

    def __init__(self, backend):
        self.backend = backend

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.backend.inner.xp, name)
        if isinstance(found, type) or not callable(found):
            return found
        made = partial(self.called, found, name)
        setattr(self, name, made)
        return made

    def called(self, function, name, *args, out=None, **options):
        """A function of the module below: element by element, or one that makes an array."""
        F = self.backend
        given = [x for x in args if x.__class__ is MaskedArray]
        if given and isinstance(getattr(np, name, None), np.ufunc) and not options:
            result = F.elementwise(function, args)
        elif not given:                                    # zeros, full, ... : of a masked shape?
            mask = args[0].mask if args and args[0].__class__ is Extent else None
            found = function(*args, **options)
            if not isinstance(found, F.inner.ndarray):
                return found
            result = masked_array(F, found, mask)
        else:
            raise worded(TypeError(f"{name}() is not supported for MaskedTensors: compute it from "
                                   f"get_data(), get_mask() or to_tensor(value)"))
        if out is not None:
            self.copyto(out, result, casting="unsafe")
        return result if out is None else out

    def asarray(self, x, dtype=None):
        """A masked array as it is, or cast; all elements of others count."""
        if x.__class__ is MaskedArray:
            return x if dtype is None or x.dtype == dtype else x.astype(dtype)
        return self.backend.lifted(self.backend.inner.xp.asarray(x, dtype))

    def array(self, x, dtype=None, copy=True, order="K"):
        """A copy."""
        return self.asarray(x, dtype).copy()

    def zeros_like(self, x, dtype=None):
        """Zeros with the mask of `x`."""
        return masked_array(self.backend, self.backend.inner.xp.zeros_like(x.values, dtype), x.mask)

    def copyto(self, target, source, casting="same_kind", where=True):
        """Write elements to a masked array, whose mask stays; an index that is written to brings
        the mask of what is written, a sum of gradients its own. ValueError if the masks differ
        otherwise."""
        if target.__class__ is not MaskedArray:
            raise worded(TypeError("a MaskedTensor cannot be written into a Tensor, as by add_() "
                                   "or out=: to_tensor(value) can"))
        if source.__class__ is MaskedArray and source.mask is not None and target.mask is not None:
            if getattr(source.shape.call, "how", None) == "put":
                target.mask[...] = source.mask
            elif are_gradients((target, source)):
                target.mask = target.shape.mask = source.mask
            else:
                agreed((target, source))
        source = source.values if source.__class__ is MaskedArray else source
        self.backend.inner.xp.copyto(target.values, source, casting=casting, where=where)

    def may_share_memory(self, a, b, **options):
        """True if the values may share memory."""
        return np.may_share_memory(*[getattr(x, "values", x) for x in (a, b)])

    shares_memory = may_share_memory
