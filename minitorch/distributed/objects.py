"""The collectives on Python objects, which are pickled: use them among programs that trust each other only."""

import pickle

import numpy as np

from .collectives import check_at_root, member, root_of
from .p2p import recv_array, send_array

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
           "send_object_list"]


def pickled(value):
    return np.frombuffer(pickle.dumps(value), np.uint8)


def padded(data, n):
    found = np.zeros(n, np.uint8)
    found[:data.size] = data
    return found


def collect(group, name, text, obj, places, gather):
    """Write the object of each rank to ``places[rank]``; None for ranks that get nothing.

    ``gather(transport, outs, data)`` moves arrays of one size, `outs` None for such ranks.
    """
    data, made = pickled(obj), []

    def body(transport):
        sizes = np.empty(transport.size, np.int64)
        transport.all_gather(list(sizes.reshape(-1, 1)), np.array([data.size], np.int64))
        most = int(sizes.max())
        outs = None if places is None else [np.empty(most, np.uint8) for _ in sizes]
        gather(transport, outs, padded(data, most))
        made.extend(out[:n].tobytes() for out, n in zip(outs or (), sizes))
    group.call(name, text, body)
    for i, one in enumerate(made):
        places[i] = pickle.loads(one)


def all_gather_object(object_list, obj, group=None):
    """Write the object of each rank to ``object_list[rank]``."""
    found = member(group, "all_gather_object")
    if found is None:
        return
    if len(object_list) < found.size():
        raise ValueError(f"all_gather_object: object_list has {len(object_list)} places for {found.size()} ranks")
    collect(found, "all_gather_object", "", obj, object_list,
            lambda transport, outs, data: transport.all_gather(outs, data))


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Write the object of each rank to ``object_gather_list[rank]`` on rank `dst` (0); None elsewhere."""
    found = member(group, "gather_object")
    if found is None:
        return
    root = root_of(found, dst, group_dst, default=found.ranks[0])
    here = found.rank() == root
    check_at_root("object_gather_list", object_gather_list, here, "destination")
    collect(found, "gather_object", f"to {found.ranks[root]}", obj, object_gather_list if here else None,
            lambda transport, outs, data: transport.gather(outs, data, root))


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Replace the objects of the list by those of rank `src` (0)."""
    found = member(group, "broadcast_object_list")
    if found is None:
        return
    root = root_of(found, src, group_src, default=found.ranks[0])
    data = pickled(list(object_list)) if found.rank() == root else np.empty(0, np.uint8)
    made = []

    def body(transport):
        size = np.array([data.size], np.int64)
        transport.broadcast(size, root)
        out = padded(data, int(size[0]))
        transport.broadcast(out, root)
        made.append(out.tobytes())
    found.call("broadcast_object_list", f"of {len(object_list)} from {found.ranks[root]}", body)
    if found.rank() != root:
        object_list[:] = pickle.loads(made[0])


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None,
                        group_src=None):
    """Write to ``scatter_object_output_list[0]`` this rank's element of the input list of rank `src` (0)."""
    found = member(group, "scatter_object_list")
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(found, src, group_src, default=found.ranks[0])
    here, n, made = found.rank() == root, found.size(), []
    if here and (scatter_object_input_list is None or len(scatter_object_input_list) != n):
        raise ValueError(f"scatter_object_list: the source rank needs a list of {n} objects, one for each rank")
    parts = [pickled(one) for one in scatter_object_input_list] if here else []

    def body(transport):
        sizes = np.array([p.size for p in parts] or [0] * n, np.int64)
        transport.broadcast(sizes, root)
        most = int(sizes.max())
        out = np.empty(most, np.uint8)
        transport.scatter(out, [padded(p, most) for p in parts] if here else None, root)
        made.append(out[:sizes[transport.rank]].tobytes())
    found.call("scatter_object_list", f"from {found.ranks[root]}", body)
    scatter_object_output_list[0] = pickle.loads(made[0])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Send a list of objects to rank `dst`."""
    data = pickled(list(object_list))
    send_array(np.array([data.size], np.int64), dst, group, 0, group_dst)
    send_array(data, dst, group, 0, group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Replace the objects of the list by those that rank `src` sends (None: any rank); returns that rank."""
    size = np.empty(1, np.int64)
    source = recv_array(size, src, group, 0, group_src)
    data = np.empty(int(size[0]), np.uint8)
    recv_array(data, source, group, 0, None)
    object_list[:] = pickle.loads(data.tobytes())
    return source
