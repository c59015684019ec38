"""Checkpoints that all ranks write and read together: ``torch.distributed.checkpoint``.

A checkpoint is a folder. Every rank writes its part of each tensor, so the ranks share the work, into a file of its
own; rank 0 writes an index, last, by which a folder is whole or is none. Of a DTensor each rank writes what it has. Any
number of ranks can load it, into tensors or DTensors, wherever these lie: each reads what it needs. The files are those
of `minitorch.save`, and are read as data. The format is this library's own, not PyTorch's.
"""

import copy
import os
import shutil
from concurrent import futures

import numpy as np

from ... import Tensor
from ...extend import bump_version, calling_line, get_backend, wrap
from ...optim import Optimizer
from ...serialization import load as load_file
from ...serialization import save as save_file
from ..buffers import source
from ..groups import resolved
from ..tensor.api import DTensor
from ..tensor.placement_types import local_part, whole_sums
from ..tensor.sharded import Sharded, sharded
from ..work import Lane, Work
from ..world import is_initialized

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "async_save", "load",
           "load_state_dict", "save", "save_state_dict"]

INDEX = "index.pt"


class CheckpointException(RuntimeError):
    """A checkpoint cannot be written or read."""


class FileSystemWriter:
    """Where `save` writes, for programs that say it so: the folder `path`. Further options are taken and not needed."""

    def __init__(self, path, **options):
        self.path = path


class FileSystemReader(FileSystemWriter):
    """Where `load` reads."""


def folder_of(checkpoint_id, storage):
    """The folder that is named, or that a reader or writer names."""
    path = checkpoint_id if checkpoint_id is not None else getattr(storage, "path", None)
    if path is None:
        raise ValueError("a checkpoint needs a place: give checkpoint_id, a folder")
    return str(path)


def state_of(tree):
    """`tree`, or the state of a module or an optimiser."""
    return tree.state_dict() if hasattr(tree, "state_dict") and hasattr(tree, "load_state_dict") else tree


def flattened(tree, containers, path=()):
    """(path, leaf) for the leaves of nested dicts, lists and tuples, whose kinds and keys go into `containers`."""
    tree = state_of(tree)
    if isinstance(tree, (dict, list, tuple)):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        kind = "dict" if isinstance(tree, dict) else "tuple" if isinstance(tree, tuple) else "list"
        containers[repr(path)] = kind, keys
        for key in keys:
            yield from flattened(tree[key], containers, (*path, key))
    else:
        yield path, tree


def place(group):
    """(rank, size) in the group; (0, 1) where there is none."""
    return (group.rank(), group.size()) if group is not None else (0, 1)


def group_of(process_group):
    return resolved(process_group) if is_initialized() else None


def together(group, name):
    if group is not None:
        group.meet(name)


def save(state_dict, *, checkpoint_id=None, process_group=None, storage_writer=None, planner=None, no_dist=False):
    """Write `state_dict` (nested dicts and lists; modules and optimisers in it by their state) to a folder.

    All ranks call it with the same tensors. An older checkpoint of that name stays until the new one is whole.
    """
    group = None if no_dist else group_of(process_group)
    folder = folder_of(checkpoint_id, storage_writer)
    write(folder, group, staged(state_dict, group), lambda name: together(group, name))


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
               async_checkpointer_type="thread", async_stager=None, no_dist=False, use_collectives=True):
    """`save`, but for copying what is saved, by a thread; returns a ``concurrent.futures.Future``.

    ``result()`` of that waits until the checkpoint is whole, and raises what went wrong. Training may go on meanwhile
    and write to the tensors. All ranks call it; several calls write one after another. The ranks meet in a group of
    their own, so that their other calls need no order; it belongs to the job: wait for the result before
    ``destroy_process_group``. async_checkpointer_type: "thread" only. Stagers are not supported.
    """
    if getattr(async_checkpointer_type, "value", async_checkpointer_type) != "thread":
        raise NotImplementedError(f"async_save: async_checkpointer_type is AsyncCheckpointerType.THREAD, got "
                                  f"{async_checkpointer_type}: a process of its own is not supported")
    if async_stager is not None:
        raise NotImplementedError("async_save: an async_stager is not supported, tensors are copied on the CPU")
    group = None if no_dist else group_of(process_group)
    folder, found = folder_of(checkpoint_id, storage_writer), futures.Future()
    parts, index, containers = staged(state_dict, group)
    data = parts, copy.deepcopy(index), containers         # other values than tensors may change, too

    def body(transport):
        write(folder, group, data, lambda name: transport and transport.barrier())
    found.set_running_or_notify_cancel()
    saver = saver_of(group)
    if saver is None:
        work = alone.start(lambda: body(None), Work())
    else:
        work = saver.call("checkpoint_async", "", body, async_op=True)
    work.get_future().add_done_callback(
        lambda done: found.set_result(None) if done._error is None else found.set_exception(done._error))
    return found


alone = Lane("checkpoints")                                # of saves without other ranks


def saver_of(group):
    """The group of the same ranks that meet while a checkpoint is written."""
    if group is None:
        return None
    if group.saver is None:
        group.saver = group.world.group(group.ranks, group.timeout, group.backend, desc="checkpoints")
    return group.saver


def staged(state_dict, group):
    """Copies of everything that is saved: this rank's parts of tensors, the index, and the kinds of containers."""
    rank, size = place(group)
    parts, index, containers = {}, {}, {}
    for path, leaf in flattened(state_dict, containers):
        if isinstance(leaf, DTensor):
            index[repr(path)] = chunks = chunks_of(leaf, group)
            if any(part == rank for part, _, _ in chunks["chunks"]):
                part = leaf.backend.inner.to_host(leaf.array.value)
                parts[repr(path)] = wrap(np.array(part, order="C"), get_backend("cpu"))
        elif isinstance(leaf, Tensor):
            flat = source(leaf)
            bounds = [flat.size * r // size for r in range(size + 1)]
            piece = np.array(flat[bounds[rank]:bounds[rank + 1]])
            if piece.size:
                parts[repr(path)] = wrap(piece, get_backend("cpu"))
            index[repr(path)] = {"shape": tuple(leaf.shape), "dtype": leaf.dtype, "bounds": bounds}
        else:
            index[repr(path)] = {"value": leaf}
    return parts, index, containers


def write(folder, group, data, meet):
    """Write what was staged; ``meet(name)`` returns when all ranks have come there."""
    (rank, size), (parts, index, containers), fresh = place(group), data, f"{folder}.new"
    if rank == 0:
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
    meet("checkpoint_begin")
    save_file(parts, os.path.join(fresh, f"part-{rank}.pt"))
    meet("checkpoint_written")
    if rank == 0:
        found = {"parts": size, "leaves": index, "containers": containers}
        save_file(found, os.path.join(fresh, INDEX))
        old = f"{folder}.old"
        shutil.rmtree(old, ignore_errors=True)
        if os.path.exists(folder):
            os.rename(folder, old)
        os.rename(fresh, folder)
        shutil.rmtree(old, ignore_errors=True)
    meet("checkpoint_end")


def chunks_of(tensor, group):
    """The entry of a DTensor in the index: which part has which box of elements, each box once."""
    mesh, placements, found = tensor.device_mesh, tensor.placements, {}
    if any([p.is_partial() for p in placements]):
        raise CheckpointException("a DTensor with Partial placements cannot be saved: redistribute it first")
    ranks = mesh.mesh.numpy()
    for coordinate in np.ndindex(ranks.shape):
        shape, offsets = local_part(tensor.shape, mesh, placements, coordinate)
        if 0 not in shape:
            found.setdefault((offsets, shape), int(ranks[coordinate]))
    numbers = {r: i for i, r in enumerate(group.ranks)} if group is not None else {mesh.get_rank(): 0}
    if any(r not in numbers for r in found.values()):
        raise CheckpointException(f"a DTensor on {mesh} is saved by all ranks of its mesh, got the ranks "
                                  f"{list(numbers)}")
    return {"shape": tuple(tensor.shape), "dtype": tensor.dtype,
            "chunks": [(numbers[r], offsets, shape) for (offsets, shape), r in found.items()]}


def whole_folder(folder):
    """The folder, or the one that an interrupted `save` has set aside."""
    for found in (folder, f"{folder}.old"):
        if os.path.exists(os.path.join(found, INDEX)):
            return found
    raise CheckpointException(f"there is no checkpoint in {folder!r}: it has no {INDEX}")


def load(state_dict, *, checkpoint_id=None, process_group=None, storage_reader=None, planner=None, no_dist=False):
    """Read a checkpoint into the tensors of `state_dict`, in place; other values, in dicts and lists, are replaced.

    Modules and optimisers in it load their state. Only what `state_dict` names is read; CheckpointException names what
    the checkpoint lacks, or has in another shape.
    """
    stored = Stored(whole_folder(folder_of(checkpoint_id, storage_reader)))
    fill(state_dict, (), stored)
    group = None if no_dist else group_of(process_group)
    together(group, "checkpoint_loaded")


class Stored:
    """A checkpoint that is read: its index and the files of the parts, which are mapped to memory."""

    def __init__(self, folder):
        index = load_file(os.path.join(folder, INDEX))
        self.leaves, self.containers = index["leaves"], index["containers"]
        self.files = [load_file(os.path.join(folder, f"part-{r}.pt"), mmap=True)
                      for r in range(index["parts"])]

    def box(self, path, offsets, shape):
        """The elements of a stored tensor in a box, as an array."""
        found = self.leaves[repr(path)]
        out = np.empty(shape, found["dtype"].np)
        if "bounds" in found:
            flat = np.empty(int(np.prod(found["shape"], dtype=np.int64)), found["dtype"].np)
            for part, low, high in zip(self.files, found["bounds"], found["bounds"][1:]):
                if high > low:
                    flat[low:high] = part[repr(path)].array
            whole = flat.reshape(found["shape"])
            return whole if tuple(shape) == whole.shape else np.array(whole[boxed(offsets, shape)])
        for number, start, size in found["chunks"]:
            low = [max(a, b) for a, b in zip(start, offsets)]
            extent = [min(a + n, b + m) - o for a, n, b, m, o in zip(start, size, offsets, shape, low)]
            if min(extent, default=1) > 0:
                out[boxed([o - b for o, b in zip(low, offsets)], extent)] = self.files[number][repr(path)].array[
                    boxed([o - a for o, a in zip(low, start)], extent)]
        return out

    def array(self, path, like=None):
        """A stored tensor as an array: all of it, or the part of this rank of what lies as the array `like` does."""
        shape = self.leaves[repr(path)]["shape"]
        if like is None:
            return self.box(path, (0,) * len(shape), shape)
        size, offsets = local_part(shape, like.backend.mesh, whole_sums(like.placements))
        return self.box(path, offsets, size)

    def restored(self, path, likes):
        """The value that is stored at a path, as it was saved; what lies as an array in `likes` is a DTensor."""
        if repr(path) in self.containers:
            kind, keys = self.containers[repr(path)]
            children = [self.restored((*path, key), likes) for key in keys]
            return dict(zip(keys, children)) if kind == "dict" else children if kind == "list" else tuple(children)
        found = self.leaves[repr(path)]
        if "value" in found:
            return found["value"]
        like = likes(path, tuple(found["shape"]))
        if like is None:
            return wrap(self.array(path), get_backend("cpu"))
        F = like.backend
        value = F.inner.from_host(self.array(path, like))
        return wrap(sharded(F, value, found["shape"], whole_sums(like.placements)), F)


def boxed(offsets, shape):
    return tuple([slice(o, o + n) for o, n in zip(offsets, shape)])


def fill(tree, path, stored):
    """Put what is stored into the leaves of `tree`; returns what takes its place."""
    name, found = ".".join(map(str, path)), stored.leaves.get(repr(path))
    if hasattr(tree, "state_dict") and hasattr(tree, "load_state_dict"):
        if repr(path) not in stored.containers:
            raise CheckpointException(f"the checkpoint has no {name!r}")
        tree.load_state_dict(stored.restored(path, lying_as(tree, path)))
        return tree
    if isinstance(tree, (dict, list)):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            tree[key] = fill(tree[key], (*path, key), stored)
        return tree
    if found is None and (repr(path) not in stored.containers or isinstance(tree, Tensor)):
        raise CheckpointException(f"the checkpoint has no {name!r}")
    if not isinstance(tree, Tensor):
        return stored.restored(path, lambda path, shape: None)
    if "shape" not in found or tuple(found["shape"]) != tuple(tree.shape):
        raise CheckpointException(f"{name!r} has shape {list(tree.shape)}, in the checkpoint "
                                  f"{list(found.get('shape', ()))}")
    target, F = tree.array, tree.backend
    if isinstance(target, Sharded):
        if whole_sums(target.placements) != target.placements:
            raise CheckpointException(f"{name!r} has Partial placements, which have no elements to be read")
        target, F = target.value, F.inner
    array = stored.array(path, tree.array if isinstance(tree.array, Sharded) else None)
    target[...] = F.from_host(array.astype(target.dtype, copy=False))
    bump_version(tree, "load", calling_line())
    return tree


def lying_as(tree, path):
    """A function of path and shape that gives the array as which a stored value of `tree` is to lie, or None."""
    if isinstance(tree, Optimizer):                        # whose states lie as the parameters do
        params = [p for group in tree.param_groups for p in group["params"]]
        found = {(*path, "state", i): p.array for i, p in enumerate(params) if isinstance(p, DTensor)}
        return lambda at, shape: found[at[:-1]] if at[:-1] in found and found[at[:-1]].shape == shape else None
    found = {at: leaf.array for at, leaf in flattened(tree, {}, path) if isinstance(leaf, DTensor)}
    return lambda at, shape: found[at] if at in found and found[at].shape == shape else None


# ---- older names ---------------------------------------------------------------------------------
def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None):
    """`save` under its old name; rank 0 always writes the index."""
    return save(state_dict, storage_writer=storage_writer, process_group=process_group,
                no_dist=no_dist, planner=planner)


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None):
    """`load` under its old name."""
    return load(state_dict, storage_reader=storage_reader, process_group=process_group,
                no_dist=no_dist, planner=planner)
