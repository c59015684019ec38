"""Checkpoints that all ranks write and read together: ``torch.distributed.checkpoint``.

A checkpoint is a folder. Every rank writes its part of each tensor, so the ranks share the work, into a file of its
own; rank 0 writes an index, last, by which a folder is whole or is none. Any number of ranks can load it. The files are
those of `minitorch.save`, and are read as data. The format is this library's own, not PyTorch's.
"""

import os
import shutil

import numpy as np

from ...core.device import host
from ...core.graph import bump_version, calling_line
from ...core.tensor import Tensor, wrap
from ...serialization.loading import load as load_file
from ...serialization.saving import save as save_file
from ..buffers import source
from ..groups import resolved
from ..world import is_initialized

__all__ = ["CheckpointException", "load", "save"]

INDEX = "index.pt"


class CheckpointException(RuntimeError):
    """A checkpoint cannot be written or read."""


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


def save(state_dict, *, checkpoint_id, process_group=None, storage_writer=None, planner=None, no_dist=False):
    """Write `state_dict` (nested dicts and lists; modules and optimisers in it by their state) to a folder.

    All ranks call it with the same tensors. An older checkpoint of that name stays until the new one is whole.
    """
    group = None if no_dist else group_of(process_group)
    rank, size = place(group)
    folder, fresh = str(checkpoint_id), f"{checkpoint_id}.new"
    if rank == 0:
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
    together(group, "checkpoint_begin")
    parts, index, containers = {}, {}, {}
    for path, leaf in flattened(state_dict, containers):
        if isinstance(leaf, Tensor):
            flat = source(leaf)
            bounds = [flat.size * r // size for r in range(size + 1)]
            piece = np.array(flat[bounds[rank]:bounds[rank + 1]])
            if piece.size:
                parts[repr(path)] = wrap(piece, host())
            index[repr(path)] = {"shape": tuple(leaf.shape), "dtype": leaf.dtype, "bounds": bounds}
        else:
            index[repr(path)] = {"value": leaf}
    save_file(parts, os.path.join(fresh, f"part-{rank}.pt"))
    together(group, "checkpoint_written")
    if rank == 0:
        save_file({"parts": size, "leaves": index, "containers": containers}, os.path.join(fresh, INDEX))
        old = f"{folder}.old"
        shutil.rmtree(old, ignore_errors=True)
        if os.path.exists(folder):
            os.rename(folder, old)
        os.rename(fresh, folder)
        shutil.rmtree(old, ignore_errors=True)
    together(group, "checkpoint_end")


def whole_folder(folder):
    """The folder, or the one that an interrupted `save` has set aside."""
    for found in (folder, f"{folder}.old"):
        if os.path.exists(os.path.join(found, INDEX)):
            return found
    raise CheckpointException(f"there is no checkpoint in {folder!r}: it has no {INDEX}")


def load(state_dict, *, checkpoint_id, process_group=None, storage_reader=None, planner=None, no_dist=False):
    """Read a checkpoint into the tensors of `state_dict`, in place; other values, in dicts and lists, are replaced.

    Modules and optimisers in it load their state. Only what `state_dict` names is read; CheckpointException names what
    the checkpoint lacks, or has in another shape.
    """
    folder = whole_folder(str(checkpoint_id))
    stored = load_file(os.path.join(folder, INDEX))
    files = [load_file(os.path.join(folder, f"part-{r}.pt"), mmap=True) for r in range(stored["parts"])]
    fill(state_dict, (), stored, files)
    group = None if no_dist else group_of(process_group)
    together(group, "checkpoint_loaded")


def fill(tree, path, stored, files):
    """Put what is stored into the leaves of `tree`; returns what takes its place."""
    name, found = ".".join(map(str, path)), stored["leaves"].get(repr(path))
    if state_of(tree) is not tree:
        if repr(path) not in stored["containers"]:
            raise CheckpointException(f"the checkpoint has no {name!r}")
        tree.load_state_dict(restored(path, stored, files))
        return tree
    if isinstance(tree, (dict, list)):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            tree[key] = fill(tree[key], (*path, key), stored, files)
        return tree
    if found is None and (repr(path) not in stored["containers"] or isinstance(tree, Tensor)):
        raise CheckpointException(f"the checkpoint has no {name!r}")
    if not isinstance(tree, Tensor):
        return restored(path, stored, files)
    if "bounds" not in found or tuple(found["shape"]) != tuple(tree.shape):
        raise CheckpointException(f"{name!r} has shape {list(tree.shape)}, in the checkpoint "
                                  f"{list(found.get('shape', ()))}")
    array = joined(path, found, files)
    tree.array[...] = tree.backend.from_host(array.astype(tree.array.dtype, copy=False))
    bump_version(tree, "load", calling_line())
    return tree


def joined(path, found, files):
    """The array of a stored tensor."""
    flat = np.empty(int(np.prod(found["shape"], dtype=np.int64)), found["dtype"].np)
    for part, low, high in zip(files, found["bounds"], found["bounds"][1:]):
        if high > low:
            flat[low:high] = part[repr(path)].array
    return flat.reshape(found["shape"])


def restored(path, stored, files):
    """The value that is stored at a path, as it was saved."""
    if repr(path) in stored["containers"]:
        kind, keys = stored["containers"][repr(path)]
        children = [restored((*path, key), stored, files) for key in keys]
        return dict(zip(keys, children)) if kind == "dict" else children if kind == "list" else tuple(children)
    found = stored["leaves"][repr(path)]
    return found["value"] if "value" in found else wrap(joined(path, found, files), host())
