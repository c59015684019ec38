"""`ShardedBackend`: the ops on arrays that lie on the ranks of a mesh, on top of the backend of this rank's parts.

A DTensor is a tensor on such a backend. Autograd, derivative formulas and the engine do not know
about meshes: they call ops, on arrays that show the shape of the whole tensor. Which placements of
inputs and results an op may have follows from its definition (`rules`): of these, those are taken
that cost least to bring the inputs to; then each rank computes its part. An op that cannot be cut
is computed by every rank from the whole inputs.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import Generator, Tensor
from ...backends.numpy_names import class_of
from ...extend import OPS, Standing, get_backend, is_half, is_inexact, worded, wrap
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_map
from .. import collectives as c
from .. import context
from ..groups import current_world
from . import rules
from .placement_types import Partial, Replicate, Shard, cost, local_part, whole_sums
from .sharded import FROZEN, Extent, Sharded, redistributed, replicated, sharded

__all__ = ["ShardedBackend", "backend_of"]


def backend_of(mesh, inner=None):
    """The backend of a mesh for parts on the backend `inner` (that of the mesh's device); one for equal meshes."""
    inner = get_backend(mesh.device_type) if inner is None else inner
    found = current_world().sharded
    key = mesh, inner
    if key not in found:
        found[key] = ShardedBackend(mesh, inner)
    return found[key]


class Shards(NamedTuple):
    """The mark of DTensors that were made within a `vmap`, whose parts are batches: they stand
    above these, and below masks and forward mode."""

    mesh: object
    number: int = -1

    def above(self, inner):
        return backend_of(self.mesh, inner)


class ShardedBackend(Standing):
    """Arrays that lie on the ranks of `mesh`; this rank's parts are arrays of the backend `inner`.

    On a device it is what others stand on: batches, too, since a dimension that `vmap` hides may be
    cut. On a batch, which then is that of each part, it is marked as standing there.
    """

    def __init__(self, mesh, inner):
        if mesh.get_coordinate() is None:
            raise RuntimeError(f"rank {mesh.get_rank()} is not in {mesh}: DTensors are made by the ranks of their mesh")
        self.mesh, self.inner, self.coordinate = mesh, inner, tuple(mesh.get_coordinate())
        self.world = context.find()
        self.everywhere = (Replicate(),) * mesh.ndim
        self.plans, self.depth = {}, inner.depth
        self.marks = (Shards(mesh),) if inner.depth else ()
        super().__init__(inner.device, Functions(self))
        self.ndarray = Sharded

    def __repr__(self):
        return f"<backend {self.device}, of DTensors on {self.mesh}>"

    def __reduce__(self):
        raise RuntimeError("a DTensor cannot be pickled: save its state by minitorch.distributed.checkpoint, or its "
                           "full_tensor()")

    kind: Any = None                                       # all in `api`
    text_of: Any = None
    through: Any = None

    @property
    def below(self):
        return self.inner.below if self.depth else self

    @property
    def untraced(self):
        """Why `compile` runs functions eagerly while tensors of this backend live, and with them their job."""
        return "there are DTensors, whose parts lie on several ranks" if self.world is context.find() else None

    # -- ops -------------------------------------------------------------------------------------------------
    def look_up(self, name):
        """An op; layers stand around those of the backend of the parts, which it calls."""
        op, full = OPS[name.removeprefix("full_")], name not in OPS

        def call(*arrays, **attrs):
            return self.computed(op, full, arrays, attrs)
        call.takes_halves = True
        setattr(self, name, call)
        return call

    def op(self, name, arrays, attrs):
        """The results of an op by its name."""
        return getattr(self, name)(*arrays, **attrs)

    def computed(self, op, full, arrays, attrs):
        """The results of an op: with `full`, all that it keeps."""
        arrays = tuple([replicated(self, x) if isinstance(x, self.inner.ndarray) else x for x in arrays])
        out = attrs.pop("out", None)
        if out is not None:
            self.xp.copyto(out, self.computed(op, full, arrays, attrs), casting="unsafe")
            return out
        if op.inputs[0].kind != "variadic":                # formulas leave out inputs that are optional
            arrays += (None,) * (len(op.inputs) - len(arrays))
        call = rules.Call(self, op, arrays, attrs, full)
        if op.name in rules.BY_HAND:
            result = rules.BY_HAND[op.name](call)
            if result is not NotImplemented:
                return result
        return self.in_parts(call, *self.plan(call))

    def plan(self, call):
        """Where inputs and results lie, for each dimension of the mesh, and the attributes that
        differ for this rank's part; remembered for calls alike."""
        try:
            key = call.key()
        except TypeError:
            return self.planned(call)
        found = self.plans.get(key)
        if found is None:
            if len(self.plans) > 4096:
                self.plans.clear()
            found = self.plans[key] = self.planned(call)
        return found

    def planned(self, call):
        """`plan`, computed."""
        ins, outs = self.cheapest(call.arrays, rules.derived(call))
        return ins, outs, rules.localized(call, outs)

    def in_parts(self, call, ins, outs, changed):
        """The results of a call, computed by each rank from its parts of the inputs."""
        op, inner, (locals_, moved) = call.op, self.inner, self.parts(call.arrays, ins)
        for i, x in call.kept.items():
            here = call.where(ins)
            fits = all([here.get(name, p) == p for name, p in x.kept.items()])
            locals_[i] = x.value if fits else None
        if op.promotion and not op.native and any([
                is_half(x.dtype) for x in locals_ if isinstance(x, inner.ndarray)]):
            inner = inner.fp32
        attrs = {**call.attrs, **changed}
        if "index" in attrs:
            attrs["index"] = tree_map(lambda x: x.whole() if x.__class__ is Sharded else x,
                                      attrs["index"])
        found = getattr(inner, f"full_{op.name}" if call.full else op.name)(*locals_, **attrs)
        frozen = op.view and moved
        if frozen and "index" in attrs:
            frozen = call.arrays[0], call.attrs["index"]
        results = self.results(found, outs, frozen)
        if call.full and op.keeps and not is_elementwise(op):
            for x in results[1:]:
                if x is not None:
                    x.kept = call.where(ins)
        return results

    def cheapest(self, arrays, choices):
        """The choice of a rule that moves the fewest bytes, for each dimension of the mesh.

        Returns the placements of each input, and of each result with the size of what is cut.
        """
        ins, outs, mesh = [], [], self.mesh
        for m in range(mesh.ndim):
            best = min(choices, key=lambda choice: sum([
                cost(x.placements[m], p, x.nbytes, mesh.size(m)) for x, p in zip(arrays, choice[0])
                if x.__class__ is Sharded]))
            ins.append(best[0])
            outs.append(best[1])
        return ins, outs

    def parts(self, arrays, ins):
        """This rank's parts of the inputs at their placements, and whether one was moved."""
        found, moved = [], False
        for i, x in enumerate(arrays):
            if x.__class__ is Sharded:
                y = redistributed(x, tuple([placements[i] for placements in ins]))
                moved = moved or y is not x or x.frozen
                x = y.value
            found.append(x)
        return found, moved

    def results(self, found, outs, frozen=False):
        """Results of the backend below as sharded arrays. `outs`: for each dimension of the mesh, the placement of all
        results, or a list of those of each; what is cut comes with its size, ``(Shard(0), 12)``."""
        if not isinstance(found, (tuple, list)):
            return self.result(found, outs, frozen)
        made = [self.results(y, [out[i] if out.__class__ is list else out for out in outs], frozen)
                for i, y in enumerate(found)]
        return getattr(found, "_make", type(found))(made)

    def result(self, value, outs, frozen):
        if value is None:
            return None
        if not isinstance(value, self.inner.ndarray):
            value = self.inner.asarray(value)
        shape, placements = list(value.shape), []
        for out in outs:
            if out.__class__ is tuple:
                out, size = out
                if out.dim < len(shape):                   # else a kernel keeps it in its own way
                    shape[out.dim] = size
            placements.append(out)
        return sharded(self, value, shape, tuple(placements), frozen)

    def elementwise(self, function, arrays, name=None):
        """``function(*arrays)``, element by element; the formulas of the op `name` say whether sums
        may pass, as they may not through most, such as "eq"."""
        arrays = [replicated(self, x) if isinstance(x, (self.inner.ndarray, np.ndarray)) else x
                  for x in arrays]
        ins, outs, _ = self.plan(rules.Call(self, OPS[name or "eq"], arrays, {}))
        return self.results(function(*self.parts(arrays, ins)[0]), outs)

    def together(self, inputs):
        """The inputs of a call on one backend: numbers are lifted, all else is refused."""
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        base = max([x.backend.below for x in tensors],
                   key=lambda F: (F.depth, mesh_of(F) is not None))
        for x in tensors:
            if mesh_of(x.backend) not in (None, self.mesh):
                raise worded(RuntimeError(mixed(x, self)))
        if base.depth and mesh_of(base) is None:           # those from outside of the batch
            inputs = [self.in_batch(base, x) if isinstance(x, Tensor) else x for x in inputs]
        return Standing.meet(base, inputs)

    def in_batch(self, batch, x):
        """A DTensor from outside of a batch as one whose parts are batches; any other as it is."""
        if mesh_of(x.backend.below) is None:
            return x
        if x.backend.marks:
            return x.backend.through(lambda t: self.in_batch(batch, t), x)
        return self.through(batch.join, x)

    def beside(self, inner):
        """The backend of the same mesh for parts on `inner`."""
        return backend_of(self.mesh, inner)

    def join(self, x):
        return x if x.backend is self else self.lift(self.inner.join(x) if not x.dim() else x)

    def lift(self, x):
        """A number as a DTensor; RuntimeError for any other tensor."""
        if x.dim() or mesh_of(x.backend) is not None:
            raise worded(RuntimeError(mixed(x, self)))
        return self.kind.from_local(x, self.mesh, self.everywhere)

    # -- memory ----------------------------------------------------------------------------------------------
    def asarray(self, x, dtype=None):
        return x if x.__class__ is Sharded and dtype is None else self.xp.asarray(x, dtype)

    def from_host(self, array):
        return replicated(self, self.inner.from_host(array))

    def to_host(self, array):
        return self.inner.to_host(array.one() if array.__class__ is Sharded else array)

    def from_backend(self, array, source, non_blocking=False):
        raise worded(RuntimeError("a tensor becomes a DTensor by distribute_tensor() or DTensor.from_local()"))

    def strided(self, array, shape, strides):
        raise worded(NotImplementedError("as_strided of a DTensor: its elements do not lie in one memory"))

    def of_memory(self, array, size, stride, offset):
        return self.strided(array, size, stride)

    # -- random numbers --------------------------------------------------------------------------------------
    def fill_random(self, array, sampler, generator, args):
        """Each part has a stream of its own, seeded by the first rank of the mesh and the part's number; parts that
        are the same on several ranks get the same numbers."""
        seed = wrap(self.inner.from_host(np.array([generator_seed(generator)], np.int64)), self.inner)
        for m in range(self.mesh.ndim):
            if self.mesh.size(m) > 1:
                c.broadcast(seed, group=self.mesh.get_group(m), group_src=0)
        number = 0
        for m, p in enumerate(array.placements):
            if isinstance(p, Partial):
                raise worded(RuntimeError("random numbers in a DTensor with Partial placements: redistribute it first"))
            number = number * self.mesh.size(m) + (self.coordinate[m] if isinstance(p, Shard) else 0)
        own = Generator(self.device.type).manual_seed((seed.item() + number) % (1 << 63))
        args = [redistributed(x, array.placements).value if x.__class__ is Sharded and x.shape == array.shape else
                x.whole() if x.__class__ is Sharded else x for x in args]
        self.inner.fill_random(array.value, sampler, own, args)


def generator_seed(generator):
    """A seed from a generator, which moves on by it."""
    words = np.asarray(generator.words(2), np.uint64)
    return int(words[0] << np.uint64(31) ^ words[1]) % (1 << 62)


def mesh_of(F):
    """The mesh of a backend of DTensors, whatever stands on it; None of others."""
    while not isinstance(F, ShardedBackend):
        F = vars(F).get("inner")
        if F is None:
            return None
    return F.mesh


def mixed(x, F):
    if (mesh := mesh_of(x.backend)) is not None:
        return f"a call on DTensors of two meshes, {F.mesh} and {mesh}: bring them to one"
    return ("got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            f"distributed operators: make one of the tensor of shape {list(x.shape)} by distribute_tensor() or "
            f"DTensor.from_local()")


class Functions:
    """The array module: NumPy's names, as far as ops are made of them outside of their definitions."""

    ndarray = Sharded

    def __init__(self, backend):
        self.backend = backend

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.backend.inner.xp, name)
        if callable(found) and not isinstance(found, type):
            call = self.calls(found, name)
            if hasattr(found, "at"):                       # a ufunc
                call.reduce = self.calls(found.reduce, f"{name}.reduce")
                call.accumulate = self.calls(found.accumulate, f"{name}.accumulate")
                call.at = partial(self.at, found)
            found = call
        setattr(self, name, found)
        return found

    def calls(self, function, name):
        """A function of the array module below as one of sharded arrays."""
        return lambda *args, **options: self.called(function, name, args, options)

    def at(self, ufunc, target, *args):
        """``ufunc.at(target, index, values)``, of the whole array."""
        whole = self.backend.inner.xp.array(target.whole())
        ufunc.at(whole, *tree_map(lambda x: x.whole() if x.__class__ is Sharded else x, args))
        self.copyto(target, replicated(self.backend, whole))

    def called(self, function, name, args, options):
        """A function of the array module below, by its class: element by element, a new array as
        another lies, or on whole arrays."""
        F, out = self.backend, options.pop("out", None)
        cls = class_of(name) if function in (
            getattr(F.inner.xp, name, None), getattr(np, name, None)) else None
        if cls == "elementwise" and not options and (name != "where" or len(args) == 3):
            result = F.elementwise(function, args)
        elif args and args[0].__class__ is Extent:         # zeros, full, ... of the shape of a sharded array
            shape, places = args[0], whole_sums(args[0].placements)
            made = function(local_part(shape, F.mesh, places)[0], *args[1:], **options)
            result = sharded(F, made, shape, places)
        elif cls == "creation" and args and args[0].__class__ is Sharded and (
                options.get("shape") is None):             # zeros_like, ...
            options.pop("shape", None)
            made = function(args[0].value, *args[1:], **options)
            result = sharded(F, made, args[0].shape, whole_sums(args[0].placements))
        else:
            args, options = tree_map(lambda x: x.whole() if x.__class__ is Sharded else x, (args, options))
            result = tree_map(lambda y: replicated(F, y) if isinstance(y, (F.inner.ndarray, np.ndarray)) else y,
                              function(*args, **options))
        if out is not None:
            self.copyto(out, result, casting="unsafe")
            return out
        return result

    def asarray(self, x, dtype=None):
        """An array on all ranks; a sharded one as it is."""
        if x.__class__ is Sharded:
            return x if dtype is None or x.dtype == dtype else x.astype(dtype)
        made = self.backend.inner.xp.asarray(x, dtype) if dtype is not None else self.backend.inner.xp.asarray(x)
        return replicated(self.backend, made)

    def expand_dims(self, x, axis):
        """A view, which lies as `x` does."""
        return self.backend.op("unsqueeze", (self.asarray(x),), {"dim": axis})

    def array(self, x, dtype=None, copy=True, order="K"):
        """A copy."""
        x = self.asarray(x, dtype)
        return x.copy()

    def copyto(self, target, source, casting="same_kind", where=True):
        """Write to a sharded array; its placements stay."""
        F = self.backend
        if target.frozen is True:
            raise worded(RuntimeError(FROZEN))
        if target.frozen:                                  # a part of an array that was brought elsewhere
            whole, index = target.frozen
            whole[index] = source
        source = replicated(F, source) if source.__class__ is not Sharded else source
        if source.shape != target.shape:
            source = F.op("expand", (source,), {"size": target.shape})
        if any([isinstance(p, Partial) for p in source.placements]) and not is_inexact(target.dtype):
            source = redistributed(source, whole_sums(source.placements))
        moved = redistributed(source, target.placements).value
        if where is not True:
            where = redistributed(replicated(F, where), whole_sums(target.placements)).value
        F.inner.xp.copyto(target.value, moved, casting=casting, where=where)

    def may_share_memory(self, a, b, **options):
        """True if this rank's shards may share memory."""
        return np.may_share_memory(*[x.value if x.__class__ is Sharded else x for x in (a, b)])

    shares_memory = may_share_memory
