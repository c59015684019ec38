"""NumPy's ufuncs, `where`, `clip` and `divmod`, one functor each (`functors.cuh`).

Types are NumPy's (`ufunc.resolve_dtypes`). Ufuncs without a functor fall back to the library.
"""

import functools

import numpy as np

from ...numpy_names import is_truth
from . import library
from .array import same_places, share_memory
from .dtypes import fits, kind_of
from .functors import FUNCTORS
from .launch import launch
from .namespace import ours
from .reduce import REDUCTIONS, reduce

__all__ = ["Ufunc"]

NUMBERS = (bool, int, float)
BOOL = np.dtype("bool")


# ---- NumPy's ufuncs ------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=4096)
def loop_of(name, operands):
    """The dtype that NumPy's ufunc computes in for operands of these dtypes (or Python types), and the result's."""
    operands = tuple([BOOL if x is bool else x for x in operands])
    dtypes = {x for x in operands if x.__class__ is not type}
    if len(dtypes) == 1:
        (dtype,) = dtypes
        floats = dtype.name in ("float16", "bfloat16", "float32", "float64")
        if floats and all([x is float or x is int or x == dtype for x in operands]):
            return dtype, BOOL if is_truth(name) else dtype
    found = getattr(np, name).resolve_dtypes((*operands, None))
    return found[0], found[-1], *([found[1]] if len(found) > 2 and found[1] != found[0] else [])


class Ufunc:
    """One of NumPy's ufuncs over our kernels, with its methods; unsupported arguments fall back to the library."""

    takes_halves = True

    def __init__(self, F, name, functor, kinds):
        self.backend, self.__name__, self.functor, self.kinds = F, name, functor, kinds
        self.numpy, self.nout, self.loops = getattr(np, name), 1, {}
        self.nin = self.numpy.nin

    def __repr__(self):
        return f"<ufunc {self.__name__} on {self.backend.device}>"

    def __call__(self, *operands, out=None, dtype=None, where=True, casting="same_kind"):
        F, nin = self.backend, self.nin
        if len(operands) > nin:                            # np.add(a, b, out)
            operands, out = operands[:nin], operands[nin]
        if len(operands) != nin:
            raise TypeError(f"{self.__name__}() takes from {nin} to {nin + 1} positional arguments but "
                            f"{len(operands)} were given")
        if where is not True:
            return self.masked(operands, out, dtype, where)
        arrays, key = [], []
        for x in operands:
            if x.__class__ is F.ndarray:
                key.append(x.dtype)
            elif x.__class__ in NUMBERS:
                key.append(x.__class__)
            else:
                x, kind = self.accept(x)
                key.append(kind)
            arrays.append(x)
        key = tuple(key)
        try:
            loop = self.loops[key, dtype]
        except KeyError:
            loop = self.loops[key, dtype] = self.find_loop(key, dtype)
        if loop is None or F.ndarray not in [x.__class__ for x in arrays]:
            return self.in_library(operands, out, dtype, casting)
        T, result = loop
        for i, x in enumerate(arrays):
            if x.__class__ is F.ndarray:
                if x.dtype is not T and x.dtype != T:
                    arrays[i] = x.astype(T)
            elif T.kind in "iub" and not (fits(x, T) if T.kind != "b" else x in (0, 1)):
                return self.in_library(operands, out, dtype, casting)
        if out is None:
            return launch(F, self.functor, arrays, result, T)
        return self.write(arrays, out, T, result, casting)

    def accept(self, x):
        """An operand that is neither one of our arrays nor a Python number; its dtype or class."""
        F = self.backend
        if isinstance(x, np.generic) or x.__class__ is np.ndarray and not x.ndim:
            return x.item(), x.dtype                       # a number that counts with its dtype
        if isinstance(x, (complex, np.ndarray)):
            x = library.refuse_host_arrays(x)
            return x, x.__class__
        if isinstance(x, (F.ndarray, list, tuple)):
            x = x.view(F.ndarray) if isinstance(x, F.ndarray) else F.xp.asarray(x)
            return x, x.dtype
        if type(x) in (bool, int, float):
            return x, x.__class__
        raise TypeError(f"{self.__name__}() takes arrays of {F.device} and numbers, got {type(x).__name__}")

    def find_loop(self, key, dtype):
        """(dtype to compute in, dtype of the result), or None for the library."""
        if complex in key:
            return None
        if dtype is not None:
            T = np.dtype(dtype)
            loop = T, BOOL if is_truth(self.__name__) else T
        else:
            loop = loop_of(self.__name__, key)
        if len(loop) > 2 or kind_of(loop[0]) is None or kind_of(loop[0]) not in self.kinds or kind_of(loop[1]) is None:
            return None
        return loop

    def write(self, arrays, out, T, result, casting):
        """Into `out`, cast; through a new array where `out` overlaps an operand otherwise than element by element."""
        F = self.backend
        out = out[0] if out.__class__ is tuple else out
        if result != out.dtype and not np.can_cast(result, out.dtype, casting):
            raise TypeError(f"Cannot cast ufunc '{self.__name__}' output from {result!r} to {out.dtype!r} with "
                            f"casting rule '{casting}'")
        for x in arrays:
            if x.__class__ is F.ndarray and x.data.mem is out.data.mem and not same_places(x, out) and \
                    share_memory(x, out):
                F.xp.copyto(out, launch(F, self.functor, arrays, result, T), casting="unsafe")
                return out
        if kind_of(out.dtype) is None:
            F.xp.copyto(out, launch(F, self.functor, arrays, result, T), casting="unsafe")
            return out
        return launch(F, self.functor, arrays, out.dtype, T, out=out)

    def masked(self, operands, out, dtype, where):
        found = self(*operands, dtype=dtype)
        out = (out[0] if out.__class__ is tuple else out) if out is not None else self.backend.xp.empty_like(found)
        self.backend.xp.copyto(out, found, where=where)
        return out

    def in_library(self, operands, out, dtype, casting):
        options = {k: v for k, v in (("out", out), ("dtype", dtype)) if v is not None}
        if casting != "same_kind":
            options["casting"] = casting
        return library.function(self.backend, self.__name__)(*operands, **options)

    # -- methods -----------------------------------------------------------------------------------------------
    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """Over axes; by our reductions, or the library where there is none of that name."""
        if self.__name__ in REDUCTIONS and where is True:
            return reduce(self.backend, REDUCTIONS[self.__name__], array, axis, dtype, out, keepdims, initial)
        options = {} if initial is None else {"initial": initial}
        return library.function(self.backend, self.__name__ + ".reduce")(array, axis, dtype, out, keepdims, **options)

    def __getattr__(self, method):
        if method not in ("accumulate", "at", "outer", "reduceat"):
            return getattr(object.__getattribute__(self, "numpy"), method)
        if method == "outer":
            return lambda a, b: self(a.reshape(a.shape + (1,) * b.ndim), b)
        return library.function(self.backend, f"{self.__name__}.{method}")


class Unbound:
    """A ufunc of the table above, for `Namespace` to bind to a backend."""

    def __init__(self, name, functor, kinds):
        self.arguments = name, functor, kinds

    def bind(self, F):
        return Ufunc(F, *self.arguments)


for name, found in vars(np).items():                       # under all names that NumPy has for one
    if isinstance(found, np.ufunc) and found.__name__ in FUNCTORS:
        ours(Unbound(found.__name__, *FUNCTORS[found.__name__]), name=name)


# ---- other functions of NumPy --------------------------------------------------------------------------------
@ours
def where(F, condition, x=None, y=None):
    """`x` where the condition holds, `y` elsewhere; of a condition alone, where it holds."""
    if x is None and y is None:
        return library.function(F, "nonzero")(condition)
    x, y = [library.refuse_host_arrays(v) if v.__class__ is not F.ndarray else v for v in (x, y)]
    dtype = np.result_type(*[v.dtype if hasattr(v, "dtype") else v for v in (x, y)])
    x, y = [v.item() if isinstance(v, (np.generic, np.ndarray)) else v for v in (x, y)]
    if kind_of(dtype) is None or condition.__class__ is not F.ndarray:
        return library.function(F, "where")(condition, x, y)
    if condition.dtype != BOOL:
        condition = condition.astype(BOOL)
    x, y = [v.astype(dtype, copy=False) if v.__class__ is F.ndarray else v for v in (x, y)]
    return launch(F, "where", (x, condition, y), dtype, dtype, BOOL)


@ours
def clip(F, a, a_min=None, a_max=None, out=None, **options):
    """`a` between two bounds, either of them None for no bound; NaN stays NaN."""
    if a_min is None or a_max is None:
        if a_min is None and a_max is None:
            return a.copy()
        return F.xp.minimum(a, a_max, out=out) if a_min is None else F.xp.maximum(a, a_min, out=out)
    bounds = [v for v in (a_min, a_max) if v.__class__ not in NUMBERS]
    if bounds or out is not None and out.dtype != a.dtype or kind_of(a.dtype) is None or a.dtype.kind == "b" or \
            a.dtype.kind in "iu" and not all([v.__class__ is not float and fits(v, a.dtype) for v in (a_min, a_max)]):
        low = F.xp.maximum(a, a_min)
        return F.xp.minimum(low, a_max, out=out)
    return launch(F, "clamp_to_numbers", (a,), a.dtype, a.dtype, numbers=(a_min, a_max), out=out)


@ours
def divmod(F, x, y):
    """The quotient rounded down, and the remainder."""
    return F.xp.floor_divide(x, y), F.xp.remainder(x, y)
