"""`Sharded`: the array of a tensor that lies on several ranks, and how it is brought from one placement to another."""

import math
import operator
from dataclasses import replace

from ...backends.numpy_names import methods
from ...extend import owner, worded, wrap
from .. import collectives as c
from ..reducing import ReduceOp
from .placement_types import (
    Partial,
    Replicate,
    Shard,
    bounds,
    in_order,
    local_part,
    whole_sums,
)

__all__ = ["Sharded", "redistributed", "sharded"]

FROZEN = ("this view of a DTensor was brought to other placements than the tensor, so that a write to it would not be "
          "one to the tensor: write to a clone(), or redistribute the tensor first")


class Extent(tuple):
    """The shape of a sharded array, which knows the `placements`: ``xp.zeros(x.shape)`` lies as `x` does."""

    placements: tuple


def sharded(backend, value, shape, placements, frozen=False, new=object.__new__):
    """`value`, this rank's array, as an array of `shape` that lies on the ranks as `placements` say."""
    out = new(Sharded)
    out.value, out.backend, out.shape, out.placements = value, backend, Extent(shape), placements
    out.shape.placements = placements
    out.ndim, out.dtype, out.frozen, out.kept = len(out.shape), value.dtype, frozen, None
    return out


def replicated(backend, x):
    """A number or an array of this rank, the same on all ranks, as an array of `backend`."""
    if x.__class__ is Sharded:
        return x
    x = backend.inner.xp.asarray(x)
    return sharded(backend, x, x.shape, backend.everywhere)


# ------------------------------------------------------------------ from one placement to another
def redistributed(x, target):
    """`x` at other placements. A collective, unless nothing but `Replicate` is replaced."""
    if x.placements == target:
        return x
    F, now = x.backend, x.placements
    if F.depth:
        return of_batches(x, target)
    value, dims = x.value, [{p.dim for p in (a, b) if isinstance(p, Shard)} for a, b in zip(now, target)]
    if sum(map(len, dims)) == len(set().union(*dims)):     # no dimension is cut by two dimensions of the mesh
        for m in reversed(range(len(now))):
            value = moved(F, value, m, now[m], target[m], x.shape, x.shape)
    else:
        everywhere = F.everywhere
        for m in reversed(in_order(now)):                  # those cut last are joined first
            value = moved(F, value, m, now[m], everywhere[m], above(F, x.shape, now, m), None)
        for m in in_order(target):
            value = moved(F, value, m, everywhere[m], target[m], None, above(F, x.shape, target, m))
    return sharded(F, value if value.flags.c_contiguous else F.inner.xp.ascontiguousarray(value), x.shape, target)


def of_batches(x, target):
    """`redistributed`, of parts that are batches: these are arrays of one more dimension."""
    def shifted(placements):
        return tuple([replace(p, dim=p.dim + 1) if isinstance(p, Shard) else p for p in placements])
    batch, value = x.backend.inner, x.value.value
    below = sharded(x.backend.beside(batch.inner), value, (value.shape[0], *x.shape),
                    shifted(x.placements))
    value = batch.batched(redistributed(below, shifted(target)).value)
    return sharded(x.backend, value, x.shape, target)


def above(F, shape, placements, m):
    """The shape of this rank's part before it is cut along dimension `m` of the mesh."""
    order = in_order(placements)
    before = order[:order.index(m)]
    return local_part(shape, F.mesh, [p if k in before else Replicate() for k, p in enumerate(placements)])[0]


def moved(F, value, m, now, target, before, after):
    """This rank's array, brought from one placement along dimension `m` of the mesh to another.

    before, after: the shapes of what is cut there.
    """
    if now == target:
        return value
    n, i = F.mesh.size(m), F.coordinate[m]
    if isinstance(now, Partial):
        if isinstance(target, Shard) and n > 1:
            return reduce_scattered(F, value, m, now.reduce_op, target.dim)
        value, now = reduced(F, value, m, now.reduce_op), Replicate()
    elif isinstance(now, Shard):
        if isinstance(target, Shard):
            if target.dim == now.dim:                      # alone there, one of them as `_StridedShard`
                return value
            return exchanged(F, value, m, now.dim, target.dim, before[now.dim], after[target.dim])
        value = gathered(F, value, m, now.dim, before[now.dim])
    if isinstance(target, Shard):
        return cut(value, target.dim, *bounds(value.shape[target.dim], n, i))
    if isinstance(target, Partial) and i and target.reduce_op in ("sum", "product"):
        return F.inner.xp.full(value.shape, 0 if target.reduce_op == "sum" else 1, value.dtype)
    return value


def cut(value, dim, start, stop):
    return value[(slice(None),) * dim + (slice(start, stop),)]


def padded(F, value, dim, size):
    """A contiguous copy of `value` with zeros up to `size` along `dim`."""
    shape = list(value.shape)
    shape[dim] = size
    out = F.inner.xp.zeros(shape, value.dtype)
    cut(out, dim, 0, value.shape[dim])[...] = value
    return out


def gathered(F, value, m, dim, size):
    """The parts of all ranks along a dimension of the mesh, joined along `dim` to `size`."""
    n = F.mesh.size(m)
    if n == 1:
        return value
    mine = wrap(padded(F, value, dim, -(-size // n)), F.inner)
    outs = [wrap(F.inner.xp.empty(mine.array.shape, value.dtype), F.inner) for _ in range(n)]
    c.all_gather(outs, mine, F.mesh.get_group(m))
    ends = [bounds(size, n, i) for i in range(n)]
    return F.inner.xp.concatenate([cut(out.array, dim, 0, b - a) for out, (a, b) in zip(outs, ends)], dim)


def reduced(F, value, m, op):
    out = wrap(F.inner.xp.array(value, order="C"), F.inner)
    if F.mesh.size(m) > 1:
        c.all_reduce(out, getattr(ReduceOp, op.upper()), F.mesh.get_group(m))
    return out.array


def reduce_scattered(F, value, m, op, dim):
    """This rank's part along `dim` of the reduction."""
    n, size = F.mesh.size(m), value.shape[dim]
    parts = [wrap(padded(F, cut(value, dim, *bounds(size, n, i)), dim, -(-size // n)), F.inner) for i in range(n)]
    out = wrap(F.inner.xp.empty(parts[0].array.shape, value.dtype), F.inner)
    c.reduce_scatter(out, parts, getattr(ReduceOp, op.upper()), F.mesh.get_group(m))
    start, stop = bounds(size, n, F.coordinate[m])
    return cut(out.array, dim, 0, stop - start)


def exchanged(F, value, m, here, there, before, after):
    """From a part along one dimension, of size `before`, to one along another, of size `after`."""
    n, i, xp = F.mesh.size(m), F.coordinate[m], F.inner.xp
    sent = [wrap(xp.array(cut(value, there, *bounds(after, n, k)), order="C"), F.inner) for k in range(n)]
    taken = []
    for k in range(n):
        shape = list(sent[i].array.shape)
        start, stop = bounds(before, n, k)
        shape[here] = stop - start
        taken.append(wrap(xp.empty(shape, value.dtype), F.inner))
    c.all_to_all(taken, sent, F.mesh.get_group(m))
    return xp.concatenate([t.array for t in taken], here)


# ------------------------------------------------------------------ the array
class Flags:
    """The layout of a sharded array, as it appears: contiguous, whatever this rank's part is."""

    c_contiguous = forc = contiguous = writeable = True
    f_contiguous = owndata = False

    def __getitem__(self, name):
        return getattr(self, name.lower())


class Memory:
    """The address of this rank's part."""

    def __init__(self, ptr):
        self.ptr = ptr


def both(function, op):
    def method(self, other):
        if hasattr(other, "needs_grad"):                   # a tensor
            return NotImplemented
        return self.backend.elementwise(function, (self, other), op)
    return method


def reflected(function, op):
    return lambda self, other: self.backend.elementwise(function, (other, self), op)


def in_place(function, op):
    """The write of a result, wherever that lies, to the memory of `self`: who calls may hold on to that."""
    def method(self, other):
        self.backend.xp.copyto(self, self.backend.elementwise(function, (self, other), op))
        return self
    return method


class Sharded:
    """An array of `shape`; `value` is the part of this rank, `placements` say which part that is."""

    # frozen: False; or, of a view that is none of this rank's part, True, or (array, index): where to write instead
    # kept: None; or, of what a kernel keeps in its own way, where the op's inputs lay, by name
    __slots__ = ("value", "backend", "shape", "placements", "ndim", "dtype", "frozen", "kept",
                 "__weakref__")
    __array_priority__ = 3000
    __hash__ = object.__hash__
    flags = Flags()

    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    base = property(lambda self: owner(self.value), doc="The array of this rank that owns the memory.")
    data = property(lambda self: Memory(self.value.ctypes.data if hasattr(self.value, "ctypes")
                                        else self.value.data.ptr))

    @property
    def strides(self):
        steps = [self.dtype.itemsize]
        for n in self.shape[:0:-1]:
            steps.append(steps[-1] * max(n, 1))
        return tuple(steps[::-1][:self.ndim])

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"Sharded({self.value!r}, {self.placements})"

    # -- values ----------------------------------------------------------------------------------------------
    def one(self):
        """The array of one element on this rank, for a number."""
        if self.size != 1:
            raise worded(RuntimeError("a DTensor of several elements has no values here: use .full_tensor(), which all "
                                      "ranks call, or .to_local()"))
        return redistributed(self, self.backend.everywhere).value

    def __bool__(self):
        return bool(self.one())

    def __int__(self):
        return int(self.one())

    def __float__(self):
        return float(self.one())

    def __index__(self):
        return operator.index(self.one())

    def item(self, *args):
        return self.one().item()

    def tolist(self):
        return self.one().tolist()

    def __array__(self, dtype=None, copy=None):
        return self.backend.inner.to_host(self.one())

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self.backend.xp.called(function, ufunc.__name__, inputs, options | ({"out": out[0]} if out else {}))

    def __array_function__(self, function, types, args, kwargs):
        return getattr(self.backend.xp, function.__name__)(*args, **kwargs)

    # -- parts and memory ------------------------------------------------------------------------------------
    def like(self, value):
        """An array of the same shape whose part on this rank is `value`."""
        return sharded(self.backend, value, self.shape, self.placements)

    def whole(self):
        """The array of all elements, on every rank."""
        return redistributed(self, self.backend.everywhere).value

    def __getitem__(self, index):
        return self.backend.op("slice", (self,), {"index": index if isinstance(index, tuple) else (index,)})

    def __setitem__(self, index, value):
        index = index if isinstance(index, tuple) else (index,)
        if all([p is Ellipsis or p.__class__ is slice and p == slice(None) for p in index]):
            self.backend.xp.copyto(self, value, casting="unsafe")
            return
        whole = self.backend.inner.xp.array(self.whole())
        local = [p.whole() if p.__class__ is Sharded else p for p in index]
        whole[tuple(local)] = value.whole() if value.__class__ is Sharded else value
        self.backend.xp.copyto(self, replicated(self.backend, whole))

    def astype(self, dtype, order="K", **options):
        x = self
        if any([isinstance(p, Partial) for p in x.placements]) and self.backend.inner.xp.dtype(dtype).kind not in "fcV":
            x = redistributed(x, whole_sums(x.placements))
        return x.like(x.value.astype(dtype, order=order, **options))

    def copy(self, order="C"):
        return self.like(self.backend.inner.xp.array(self.value, order="C"))

    __copy__ = copy

    def clip(self, min=None, max=None):
        return self.backend.xp.clip(self, min, max)

    def fill(self, value):
        self.backend.xp.copyto(self, value, casting="unsafe")

    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return self.backend.op("reshape", (self,), {"shape": tuple(shape)})

    def transpose(self, *dims):
        dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list, type(None))) else dims or None
        return self.backend.op("permute", (self,), {"dims": tuple(range(self.ndim))[::-1] if dims is None else dims})

    def swapaxes(self, a, b):
        return self.backend.op("transpose", (self,), {"dim0": a, "dim1": b})

    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    real = property(lambda self: self.like(self.value.real))
    imag = property(lambda self: self.like(self.value.imag))

    def __matmul__(self, other):
        return NotImplemented if hasattr(other, "needs_grad") else self.backend.op("matmul", (self, other), {})

    def __rmatmul__(self, other):
        return self.backend.op("matmul", (other, self), {})


def named(name):
    """A method that the array module has as a function."""
    def method(self, *args, **options):
        return getattr(self.backend.xp, name)(self, *args, **options)
    return method


for _name in methods():
    if _name not in vars(Sharded):
        setattr(Sharded, _name, named(_name))
# The operators that are ops through which sums over ranks may go.
SUMMED = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "neg": "neg"}
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor",
              "lshift", "rshift"):
    _word = _name.strip("_")
    _both = getattr(operator, _name), SUMMED.get(_word)
    setattr(Sharded, f"__{_word}__", both(*_both))
    setattr(Sharded, f"__r{_word}__", reflected(*_both))
    setattr(Sharded, f"__i{_word}__", in_place(*_both))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Sharded, f"__{_name}__", both(getattr(operator, _name), None))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Sharded, f"__{_name}__",
            lambda self, f=getattr(operator, _name), op=SUMMED.get(_name):
            self.backend.elementwise(f, (self,), op))
