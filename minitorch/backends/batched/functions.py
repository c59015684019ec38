"""NumPy's functions on batched arrays: those that references and composites call as ``F.xp.<name>``.

Each is the function of the array module below, on arrays whose hidden axis comes first. Most are
derived, by their class in the table of NumPy's names (`backends/numpy_names.py`): `DERIVED`. Those of
several arrays, or whose default depends on the shape of an array, are entered by hand (`function`);
so are products (`products.py`). Functions whose results depend on the values of single elements of
the batch raise `Unbatched`.
"""

import inspect
import math
from functools import cache, partial
from operator import attrgetter

import numpy as np

from ...utils._pytree import tree_map
from .. import numpy_names
from .array import (
    OWN,
    Batched,
    Unbatched,
    aligned,
    batched,
    hold,
    is_shared,
    lifted,
    over,
    physical,
    shared,
    spread,
    values,
    varying,
    wrapped,
)
from .indices import of_all

__all__ = ["Functions", "axis_of", "function"]

RULES: dict = {}                                           # name -> function(F, ...): NumPy's functions by their names


def function(*names):
    """Enter a function under NumPy's names; it is given the batched backend first."""
    def enter(f):
        for name in names or (f.__name__.strip("_"),):
            RULES[name] = f
        return f
    return enter


def axis_of(x, axis, n=None):
    """Axes of one element of the batch as those of the value; None as all of them."""
    n = x.ndim if n is None else n
    if axis is None:
        return tuple(range(1, n + 1))
    if isinstance(axis, (tuple, list)):
        return tuple([axis_of(x, a, n) for a in axis])
    if not -n <= axis < n:
        raise np.exceptions.AxisError(axis, n)
    return axis % n + 1


# ---- elementwise -------------------------------------------------------------------------------------------
class Ufunc:
    """One of NumPy's elementwise functions, with `reduce`, `accumulate` and `at`."""

    def __init__(self, F, name, inner):
        self.F, self.__name__, self.inner = F, name, inner

    def __call__(self, *arrays, out=None, where=True, **options):
        F = self.F
        if where is not True:
            *arrays, where = aligned(F, (*arrays, where))
            options["where"] = where
        else:
            arrays = aligned(F, arrays)
        if out is not None:
            return into(F, self.inner, arrays, out, options)
        return wrapped(F, self.inner(*arrays, **options))

    def reduce(self, x, axis=0, dtype=None, out=None, keepdims=False, **options):
        F = self.F
        x = lifted(F, x)
        found = self.inner.reduce(x.value, axis=axis_of(x, axis), dtype=dtype, keepdims=keepdims, **options)
        return batched(F, found)

    def accumulate(self, x, axis=0, dtype=None):
        x = lifted(self.F, x)
        return batched(self.F, self.inner.accumulate(x.value, axis_of(x, axis), dtype))

    def at(self, x, index, *value):
        """Unbuffered, in place: ``x[index] += value``, each time that an index names an element."""
        F = self.F
        places = F.explicit(x, index)
        hold(x, (*places, *value))
        index = of_all(F, x, places)
        self.inner.at(x.value, index, *[spread(F, lifted(F, v), index[0].ndim - 1) for v in value])

    nin = property(lambda self: self.inner.nin)
    nout = property(lambda self: self.inner.nout)
    identity = property(lambda self: self.inner.identity)


def into(F, f, arrays, out, options):
    """``f(*arrays, out=out)`` of batched arrays."""
    outs = out if isinstance(out, tuple) else (out,)
    n = max([getattr(x, "ndim", 1) for x in arrays])
    for target in outs:
        if target.__class__ is not Batched:
            raise F.not_in_place()
        hold(target, arrays=[x for x in arrays if getattr(x, "ndim", 0) == n])
    result = f(*arrays, **options)
    results = result if isinstance(result, tuple) else (result,)
    for target, y in zip(outs, results):
        F.inner.xp.copyto(target.value, y, casting="unsafe")
    return out


@function("where")
def where(F, condition, *choices):
    if not choices:
        return nonzero(F, condition)
    return batched(F, F.inner.xp.where(*aligned(F, [lifted(F, condition), *choices])))


@function("clip")
def clip(F, x, low=None, high=None, out=None, **options):
    arrays = aligned(F, (lifted(F, x), low, high))
    if out is not None:
        return into(F, F.inner.xp.clip, arrays, out, options)
    return batched(F, F.inner.xp.clip(*arrays, **options))


@function()
def copyto(F, target, source, casting="same_kind", where=True):
    if target.__class__ is not Batched:
        raise F.not_in_place()
    hold(target, (source, where))
    n = target.ndim
    where = where if where is True else spread(F, lifted(F, where), n)
    source = lifted(F, source)
    if source.ndim > n:
        raise ValueError(f"could not broadcast input array from shape {source.shape} into shape {target.shape}")
    F.inner.xp.copyto(target.value, spread(F, source, n), casting=casting, where=where)


# ---- along axes --------------------------------------------------------------------------------------------
@function()
def roll(F, x, shift, axis=None):
    if axis is None:
        return batched(F, F.inner.xp.roll(x.reshape(-1).value, shift, 1)).reshape(x.shape)
    return batched(F, F.inner.xp.roll(x.value, shift, axis_of(x, axis)))


@function()
def repeat(F, x, repeats, axis=None):
    x = lifted(F, x)
    if repeats.__class__ is Batched:
        repeats = repeats.same("vmap: repeat of different lengths")
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return batched(F, F.inner.xp.repeat(x.value, repeats, axis_of(x, axis)))


@function()
def take(F, x, index, axis=None, out=None, mode="raise"):
    x = lifted(F, x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(x, axis) - 1
    if is_shared(index):
        return batched(F, F.inner.xp.take(x.value, shared(index), axis + 1, mode=mode))
    if mode != "raise":
        index = F.xp.clip(index, 0, x.shape[axis] - 1) if mode == "clip" else index % x.shape[axis]
    return F.read(x, (slice(None),) * axis + (index,))


@function()
def take_along_axis(F, x, index, axis=-1):
    x, index = lifted(F, x), lifted(F, index)
    if axis is None:
        x, axis = x.reshape(-1), 0
    return batched(F, F.inner.xp.take_along_axis(*values(F, (x, index)), axis_of(x, axis)))


@function()
def put_along_axis(F, x, index, value, axis):
    index, value = lifted(F, index), lifted(F, value)
    hold(x, (index, value))
    size = x.value.shape[0]
    v = spread(F, value, x.ndim)
    index = index.value if size == 1 else over(F, index)
    F.inner.xp.put_along_axis(x.value, index, v, axis_of(x, axis))


@function("concatenate", "concat")
def concatenate(F, arrays, axis=0):
    arrays = [lifted(F, x) for x in arrays]
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    return batched(F, F.inner.xp.concatenate(values(F, arrays), axis_of(arrays[0], axis)))


@function()
def stack(F, arrays, axis=0):
    arrays = [lifted(F, x) for x in arrays]
    return batched(F, F.inner.xp.stack(values(F, arrays), axis_of(None, axis, arrays[0].ndim + 1)))


# ---- shapes ------------------------------------------------------------------------------------------------
@function()
def broadcast_to(F, x, shape):
    x = lifted(F, x)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(shape) < x.ndim:
        raise ValueError(f"cannot broadcast {x.shape} to {shape}")
    v = spread(F, x, len(shape))
    return batched(F, F.inner.xp.broadcast_to(v, (v.shape[0], *shape)))


@function()
def broadcast_arrays(F, *arrays):
    arrays = [lifted(F, x) for x in arrays]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return [broadcast_to(F, x, shape) for x in arrays]


@function()
def expand_dims(F, x, axis):
    n = x.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    return batched(F, F.inner.xp.expand_dims(x.value, axis_of(None, axis, n)))


@function()
def squeeze(F, x, axis=None):
    axis = [i for i, n in enumerate(x.shape) if n == 1] if axis is None else axis
    return batched(F, F.inner.xp.squeeze(x.value, axis_of(x, axis)))


@function("atleast_1d")
def atleast_1d(F, x):
    x = lifted(F, x)
    return x if x.ndim else x.reshape(1)


# ---- copies --------------------------------------------------------------------------------------
@function()
def array(F, x, dtype=None, copy=True, order="K", **options):
    if isinstance(x, (list, tuple)) and any([v.__class__ is Batched for v in x]):
        return stack(F, [lifted(F, v) for v in x])
    x = lifted(F, x)
    dtype = x.dtype if dtype is None else dtype
    if not copy:
        return x.astype(dtype, copy=False)
    return batched(F, F.inner.xp.array(over(F, x), dtype, copy=True, order=order))


@function()
def asarray(F, x, dtype=None, **options):
    if isinstance(x, (list, tuple)) and any([v.__class__ is Batched for v in x]):
        return stack(F, [lifted(F, v) for v in x])
    x = lifted(F, x)
    return x if dtype is None or x.dtype == dtype else x.astype(dtype)


@function()
def ascontiguousarray(F, x, dtype=None):
    x = asarray(F, x, dtype)
    return batched(F, F.inner.xp.ascontiguousarray(x.value))


@function()
def copy(F, x, order="K"):
    return x.copy(order)


# ---- counts -----------------------------------------------------------------------------------------------
@function()
def bincount(F, x, weights=None, minlength=0):
    x = lifted(F, x)
    if weights is None and is_shared(x):
        return batched(F, F.inner.xp.bincount(x.value[0], minlength=minlength)[None])
    x, *weights = values(F, [x] if weights is None else [x, weights])
    size = x.shape[0]
    n = max(minlength, int(physical(x).max()) + 1 if x.size else 0)
    if n > minlength and size > 1:
        if int(physical(x.reshape((size, -1)).max(1)).min()) + 1 < n:
            raise Unbatched(varying("aten::bincount"))
    places = x.reshape(size, -1) + (F.inner.xp.arange(size) * n)[:, None]
    flat = [w.reshape(-1) for w in weights]
    found = F.inner.xp.bincount(places.reshape(-1), *flat, minlength=size * n)
    return batched(F, found.reshape(size, n))


@function()
def searchsorted(F, table, x, side="left", sorter=None):
    if not (is_shared(table) and is_shared(sorter)):
        rows = zip(*[[None] * F.size if t is None else over(F, t) for t in (table, x, sorter)])
        return batched(F, F.inner.xp.stack([F.inner.xp.searchsorted(t, v, side, s) for t, v, s in rows]))
    return batched(F, F.inner.xp.searchsorted(shared(table), lifted(F, x).value, side, shared(sorter)))


@function("nonzero", "argwhere", "flatnonzero")
def nonzero(F, *args, **options):
    raise Unbatched(varying("aten::nonzero"))


@function()
def may_share_memory(F, a, b, *args):
    return F.inner.xp.may_share_memory(*[x.value if x.__class__ is Batched and x.backend is F else x for x in (a, b)])


# ---- derived -------------------------------------------------------------------------------------
def elementwise(path):
    """An elementwise function that is not a ufunc."""
    def call(F, *arrays, **options):
        arrays = aligned(F, [lifted(F, x) if isinstance(x, (list, np.ndarray)) else x
                             for x in arrays])
        return wrapped(F, getattr(F.inner.xp, path)(*arrays, **options))
    return call


def counted(path):
    """A function of one array: its parameters that name dimensions are counted one further."""
    if numpy_names.notation(path) is None:
        return None
    parameters = inspect.signature(attrgetter(path)(np)).parameters.values()
    named = [(place, p.name, p.default) for place, p in enumerate(parameters)
             if p.name in numpy_names.axes_of(path)]
    along, function = numpy_names.class_of(path) == "along", attrgetter(path)

    def call(F, x, *args, **options):
        if options.pop("out", None) is not None:
            raise Unbatched(f"vmap: {path} with out=")
        x, args, shape = lifted(F, x), list(args), None
        for place, name, default in named:
            given = place <= len(args)
            axis = args[place - 1] if given else options.get(name, default)
            if axis is None and along:                     # of all elements in a row
                shape = (1,) * x.ndim if options.pop("keepdims", False) else None
                x, axis = x.reshape(-1), 0
            axis = axis_of(x, axis)
            if given:
                args[place - 1] = axis
            else:
                options[name] = axis
        found = batched(F, function(F.inner.xp)(x.value, *args, **options))
        return found if shape is None else found.reshape(shape)
    return call


def view(name):
    """A view: by the method of batched arrays, if they have one of their own."""
    if name in OWN:
        return lambda F, x, *args, **options: getattr(lifted(F, x), name)(*args, **options)
    return counted(name)


def matrices(path):
    """A function of matrices, which takes leading dimensions."""
    function = attrgetter(path)

    def call(F, *arrays, **options):
        count = len([x for x in arrays if hasattr(x, "ndim")])
        values = aligned(F, [lifted(F, x) for x in arrays[:count]])
        return wrapped(F, function(F.inner.xp)(*values, *arrays[count:], **options))
    return call


def transform(path):
    """A Fourier transform along one axis or several, by default all or as many as sizes."""
    function = attrgetter(path)
    default = list(inspect.signature(function(np)).parameters.values())[2].default

    def call(F, x, n=None, axis=None, norm=None, **options):
        x = lifted(F, x)
        n, axis = options.get("s", n), options.get("axes", axis)
        axis = default if axis is None else axis
        if axis is None:
            axis = tuple(range(-(x.ndim if n is None else len(n)), 0))
        return batched(F, function(F.inner.xp)(x.value, n, axis_of(x, axis), norm))
    return call


def creation(name):
    """A function that makes an array: of a shape, one for all elements, so that it may be written."""
    text = numpy_names.notation(name)
    if text == numpy_names.notation("empty_like"):
        return created_like(name)
    if text != numpy_names.notation("empty"):
        return lambda F, *args, **options: batched(
            F, getattr(F.inner.xp, name)(*args, **options)[None])

    def call(F, shape, *args, **options):
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        if name == "full":
            value, *args = args or [options.pop("fill_value")]
            if value.__class__ is Batched:
                dtype = args[0] if args else options.get("dtype") or value.dtype
                return broadcast_to(F, value.astype(dtype), shape).copy()
            args = (value, *args)
        options.pop("order", None)
        return batched(F, getattr(F.inner.xp, name)((F.size, *shape), *args, **options))
    return call


def created_like(name):
    plain = creation(name.removesuffix("_like"))

    def call(F, x, *args, dtype=None, order="K", subok=True, shape=None, **options):
        if args and name != "full_like":
            dtype, *args = args
        dtype = dtype or x.dtype
        if shape is None and x.strides and not x.flags.c_contiguous:
            # in the order of one element's memory
            found = getattr(F.inner.xp, name)(over(F, x), *args, dtype=dtype, **options)
            return batched(F, found)
        return plain(F, x.shape if shape is None else shape, *args, dtype=dtype, **options)
    return call


# the rules of the classes, each a function of the name; others have none, or by hand
DERIVED = {"elementwise": elementwise, "reduction": counted, "along": counted, "matrix": matrices,
           "view": view, "move": counted, "transform": transform, "creation": creation}


@cache
def rule_of(path):
    """The rule of a function of NumPy, by hand or by its class; None for ufuncs and others."""
    if path in RULES:
        return RULES[path]
    derive = DERIVED.get(numpy_names.class_of(path))
    return None if derive is None or numpy_names.ufunc(path) is not None else derive(path)


# ---- the module ----------------------------------------------------------------------------------
class Functions:
    """The array module of a batched backend."""

    ndarray = Batched

    def __init__(self, F, inner=None, path=""):
        self.F, self.path = F, path
        self.inner = F.inner.xp if inner is None else inner

    def __getattr__(self, name):
        found = self.find(name)
        setattr(self, name, found)
        return found

    def find(self, name):
        F, path = self.F, self.path + name
        rule = rule_of(path)
        if rule is not None:
            return partial(rule, F)
        found = getattr(self.inner, name)
        if hasattr(found, "reduce") and hasattr(found, "at") or (
                numpy_names.class_of(path) == "elementwise"):
            return Ufunc(F, name, found)
        if isinstance(found, type(math)) or isinstance(found, Functions):
            return Functions(F, found, path + ".")
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *args, **options: unknown(F, path, found, args, options)


def unknown(F, name, function, args, options):
    """A function without a rule: of arrays that are the same for all elements of the batch."""
    def one(x):
        return x.same(f"vmap: there is no batching rule for {name}") if x.__class__ is Batched else x
    args, options = tree_map(one, (args, options))
    return tree_map(lambda x: batched(F, x[None]) if hasattr(x, "ndim") else x, function(*args, **options))
