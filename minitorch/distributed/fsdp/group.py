"""The parameters that one call of `fully_shard` manages: gathered in one collective, gradients reduced in one.

Each parameter has two tensors. The sharded one, a DTensor, is what optimisers and states know. The full one
is what the module uses; its memory is there between `unshard` and `reshard` only, else it has a shape and nothing
behind it. The graph of a forward pass would keep the memory alive: where it saves a full parameter, or a view of one,
it is given a note that names the parameter, and finds it when the backward pass comes (`Notes`).
"""

import math
import threading
from typing import Any

import numpy as np

from ...extend import (
    NodeHook,
    add_node_hook,
    attributes_of,
    owner,
    pointer,
    remove_node_hook,
    wrap,
)
from ...nn import Parameter
from .. import collectives as c
from ..device_mesh import joined
from ..reducing import ReduceOp
from ..tensor.backend import backend_of
from ..tensor.placement_types import Replicate, Shard, _StridedShard, bounds
from ..tensor.sharded import Sharded, cut, padded, redistributed, sharded

__all__ = ["Group", "notes"]


# ------------------------------------------------------------------ what the graph saves
class Notes(NodeHook):
    """Puts notes in the place of full parameters that nodes save, while a forward pass of sharded modules runs."""

    def __init__(self):
        self.memories: dict = {}                           # id of an array -> the full parameter whose memory it is
        self.running, self.changing = 0, threading.Lock()

    def count(self, n):
        """Listen to new nodes while a forward pass runs in any thread."""
        with self.changing:
            before, self.running = self.running, self.running + n
            if not before:
                add_node_hook(self)
            elif not self.running:
                remove_node_hook(self)

    def is_noted(self, array):
        return id(owner(array)) in self.memories

    def recorded(self, node, result):
        node.pack_saved(self.pack, self.unpack, self.is_noted)

    def pack(self, tensor):
        array, lies, memory = tensor.array, None, owner(tensor.array)
        if array.__class__ is Sharded:
            array, lies = array.value, (tensor.backend, array.shape, array.placements, array.frozen)
        step = array.itemsize
        return (self.memories[id(memory)], array.shape, [s // step for s in array.strides],
                (pointer(array) - pointer(memory)) // step, lies)

    @staticmethod
    def unpack(note):
        param, shape, strides, offset, lies = note
        param.group.unshard()
        inner = param.group.inner
        value = inner.of_memory(param.memory, shape, strides, offset)
        return wrap(value, inner) if lies is None else wrap(sharded(lies[0], value, *lies[1:]), lies[0])


notes = Notes()


# ------------------------------------------------------------------ parameters
class ShardedParameter:
    """One parameter of a group: `sharded` and `full`, and the (module, name) pairs where it is registered.

    A DTensor, which tensor parallelism has made, is sharded once more: the full parameter is the DTensor, `shape` that
    of this rank's part of it, and the sharded one lies on the mesh of both.
    """

    full: Any
    sharded: Any

    def __init__(self, group, param, places, dim):
        self.group, self.places, self.dim, self.like, array = group, places, dim, None, param.array
        F, places_on_mesh = group.F, [Replicate()] * (group.mesh.ndim - 1) + [Shard(dim)]
        if array.__class__ is Sharded:
            self.like, before = array, array.placements
            F = backend_of(joined(group.mesh, param.device_mesh), group.inner)
            split = math.prod([param.device_mesh.size(m) for m, p in enumerate(before) if p.is_shard(dim)])
            if split > 1:                                  # these cut first, though they stand behind
                places_on_mesh[-1] = _StridedShard(dim, split_factor=split)
            places_on_mesh += before
            array = array.value
        self.F, self.shape, n = F, tuple(array.shape), group.ranks
        if len(self.shape) == 0:
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {places[0][1]} to a 1D tensor "
                             f"with numel equal to 1.")
        if dim and self.shape[dim] % n:
            raise NotImplementedError(f"FSDP does not support uneven sharding on dim {dim}: {self.shape} (world size: "
                                      f"{n})")
        start, stop = bounds(self.shape[dim], n, group.process_group.rank())
        own = group.inner.xp.array(cut(array, dim, start, stop), order="C")
        self.sharded = Parameter(wrap(sharded(F, own, tuple(param.shape), tuple(places_on_mesh)), F),
                                 param.requires_grad)
        own = attributes_of.__get__(self.sharded)
        own.update({k: v for k, v in attributes_of.__get__(param).items() if k not in own})
        self.step = -(-self.shape[dim] // n)               # rows of a shard
        self.rest = int(np.prod([size for d, size in enumerate(self.shape) if d != dim], dtype=np.int64))
        self.size = self.step * self.rest
        self.memory = self.nothing()
        self.full = Parameter(wrap(*self.shown()), False)
        self.handle, self.unsummed = None, None            # unsummed: rows that copies have not exchanged yet

    def shown(self):
        """The array of the full parameter, whose memory is `memory`, and its backend."""
        if self.like is None:
            return self.memory, self.group.inner
        return self.like.like(self.memory), self.like.backend

    def computed_dtype(self):
        """The dtype that the module computes with."""
        wanted, own = self.group.policy.param_dtype, self.sharded.dtype
        return own if wanted is None or not own.is_floating_point else wanted

    def nothing(self):
        """An array of the full shape without memory."""
        xp = self.group.inner.xp
        return xp.broadcast_to(xp.zeros((), self.computed_dtype().np), self.shape)

    def flat_shard(self):
        """This rank's rows, with zeros up to `step` rows, as they are sent."""
        value = self.sharded.array.value.astype(self.computed_dtype().np, copy=False)
        return padded(self.group.F, value, self.dim, self.step).swapaxes(0, self.dim).reshape(-1)

    def fill(self, parts):
        """Let the full parameter hold the rows of all ranks: `parts` is (ranks, size)."""
        turned = list(self.shape)
        turned[0], turned[self.dim] = turned[self.dim], turned[0]
        rows = parts.reshape((-1, *turned[1:]))[:turned[0]].swapaxes(0, self.dim)
        self.memory = self.group.inner.xp.array(rows, order="C")
        self.full.array, _ = self.shown()
        notes.memories[id(self.memory)] = self
        self.full.needs_grad = self.sharded.needs_grad
        if self.handle is None and self.full.needs_grad:
            self.handle = self.full.register_post_accumulate_grad_hook(lambda _: self.group.arrived(self))

    def empty(self):
        """Let go of the full parameter's memory."""
        notes.memories.pop(id(self.memory), None)
        self.memory = self.nothing()
        self.full.array, _ = self.shown()

    def rows(self, dtype):
        """The full gradient as (ranks, size), as it is sent."""
        n, grad = self.group.ranks, self.full._grad.array
        if self.like is not None:
            grad = redistributed(grad, self.like.placements).value
        grad = padded(self.group.F, grad.astype(dtype, copy=False), self.dim, self.step * n)
        return grad.swapaxes(0, self.dim).reshape(n, self.size)

    def take(self, rows):
        """Add this rank's rows of a reduced gradient to the gradient of the sharded parameter."""
        F, own = self.F, self.sharded.array
        shape = own.value.shape
        turned = list(self.shape)
        turned[self.dim], turned[0] = turned[0], self.step
        rows = rows.reshape(turned).swapaxes(0, self.dim)[tuple([slice(0, k) for k in shape])]
        value = own.like(F.inner.xp.array(rows.astype(own.dtype, copy=False), order="C"))
        held = self.sharded._grad
        if held is None:
            self.sharded._grad = wrap(value, F)
        else:
            held.array += value

    def register(self, param):
        for module, name in self.places:
            setattr(module, name, param)


class Group:
    """The parameters of one call of `fully_shard`."""

    def __init__(self, params, mesh, policy, placement_of):
        self.mesh, self.policy = mesh, policy
        backends = list(dict.fromkeys([p.backend.inner if isinstance(p.array, Sharded) else p.backend
                                       for p, _ in params]))
        if len(backends) > 1:
            raise ValueError(f"fully_shard: parameters on several devices, {[F.device for F in backends]}")
        self.F = backend_of(mesh, backends[0] if backends else None)
        self.inner, self.process_group, self.ranks = self.F.inner, mesh.get_group(mesh.ndim - 1), mesh.size(-1)
        self.copies = mesh.get_group(0) if mesh.ndim > 1 and mesh.size(0) > 1 else None      # that have the same rows
        self.params = []
        for p, places in params:
            place = placement_of(p) if placement_of is not None else None
            if place is not None and not isinstance(place, Shard):
                raise TypeError(f"shard_placement_fn returns a Shard or None, got {place!r}")
            dim = 0 if place is None else place.dim % p.dim()
            self.params.append(ShardedParameter(self, p, places, dim))
        self.is_full, self.waiting = False, None           # waiting: (work, flats) of a gather that is under way
        self.expected: set = set()                         # the parameters that this backward pass will reach
        self.arrived_now: set = set()                      # those that it has reached
        self.syncs, self.reshards_after_backward, self.divisor = True, True, None
        self.syncs_copies = True
        self.done = lambda: None                           # called after the last gradient
        self.register(False)

    def register(self, full):
        """Have the modules' names mean the full parameters, or the sharded ones."""
        for p in self.params:
            p.register(p.full if full else p.sharded)

    # -- full parameters ---------------------------------------------------------------------------------------
    def unshard(self, async_op=False):
        """Gather the full parameters, or begin to."""
        if self.is_full or not self.params:
            return
        if self.waiting is None:
            xp, found = self.inner.xp, []
            for members in self.by_dtype(lambda p: p.computed_dtype()):
                flat = wrap(xp.concatenate([p.flat_shard() for p in members]), self.inner)
                out = wrap(xp.empty((self.ranks, flat.array.size), flat.array.dtype), self.inner)
                found.append((members, out, c.all_gather_into_tensor(out, flat, self.process_group, async_op)))
            self.waiting = found
        if not async_op:
            self.wait()

    def wait(self):
        """Take what was gathered."""
        if self.waiting is None:
            return
        found, self.waiting = self.waiting, None
        for members, out, work in found:
            if work is not None:
                work.wait()
            start = 0
            for p in members:
                p.fill(out.array[:, start:start + p.size])
                start += p.size
        self.is_full = True
        self.register(True)

    def by_dtype(self, dtype_of, params=None):
        found: dict = {}
        for p in self.params if params is None else params:
            found.setdefault(dtype_of(p), []).append(p)
        return found.values()

    def reshard(self):
        """Let go of the full parameters."""
        self.wait()
        if self.is_full:
            for p in self.params:
                p.empty()
            self.is_full = False
            self.register(False)

    # -- gradients ---------------------------------------------------------------------------------------------
    def arrived(self, param):
        """The backward pass has added to the gradient of a full parameter."""
        self.expected.discard(param)
        self.arrived_now.add(param)
        if not self.expected:
            if self.syncs:
                self.reduce()
            if self.reshards_after_backward:
                self.reshard()
            self.done()

    def reduce(self):
        """Give each rank its rows of the gradients' means."""
        policy, xp = self.policy, self.inner.xp
        ready = [p for p in self.params if p.full._grad is not None]
        for members in self.by_dtype(lambda p: policy.reduce_dtype or p.full._grad.dtype, ready):
            dtype = (policy.reduce_dtype or members[0].full._grad.dtype).np
            rows = wrap(xp.concatenate([p.rows(dtype) for p in members], 1), self.inner)
            out = wrap(xp.empty(rows.array.shape[1], dtype), self.inner)
            op = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
            c.reduce_scatter_tensor(out, rows, op, self.process_group)
            if self.divisor is not None:
                out = out / self.divisor
            places = np.cumsum([p.size for p in members])[:-1]
            for p, part in zip(members, xp.split(out.array, places)):
                p.full._grad = None
                if p.unsummed is not None:
                    part += p.unsummed
                p.unsummed = None if self.syncs_copies else part
            if not self.syncs_copies:
                continue
            if self.copies is not None:
                c.all_reduce(out, op, self.copies)
            for p, part in zip(members, xp.split(out.array, places)):
                p.take(part)
