"""Messages between two ranks: `send`, `recv`, and several at once.

A message of less than about 256 kB is on its way when `send` returns; a longer one needs the receiver. Messages of one
rank to another arrive in order; `tag` lets the receiver choose.
"""

from .buffers import Target, check_tensor, source, words
from .collectives import member, root_of
from .groups import resolved

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def peer_of(group, rank, group_rank, what):
    peer = root_of(group, rank, group_rank)
    if peer == group.rank():
        raise ValueError(f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.")
    return peer


def send_array(data, dst, group, tag, group_dst, text="objects", async_op=False, tensors=(), name="send"):
    found = member(group, name)
    if found is None:
        return None
    peer = peer_of(found, dst, group_dst, "destination")
    return found.message(name, f"{text} to {found.ranks[peer]}", peer, lambda t: t.send(data, peer, tag), async_op,
                         tensors)


def recv_array(data, src, group, tag, group_src, text="objects", async_op=False, tensors=(), name="recv", after=None):
    found = member(group, name)
    if found is None:
        return -1
    anyone = src is None and group_src is None
    peer = None if anyone else peer_of(found, src, group_src, "source")
    if anyone and found.size() == 1:
        raise ValueError("Invalid source rank: there is no other rank in the group to receive from")
    return found.message(name, f"{text} from {'any rank' if anyone else found.ranks[peer]}", peer,
                         lambda t: found.ranks[t.recv(data, peer, tag)], async_op, tensors, after)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to rank `dst` (or `group_dst`, a number in the group), which must call `recv`."""
    check_tensor(tensor, "tensor")
    send_array(source(tensor, resolved(group)), dst, group, tag, group_dst, words(tensor), tensors=[tensor])


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive into a tensor what rank `src` sends, or any rank for None; returns that rank."""
    check_tensor(tensor, "tensor")
    target = Target(tensor, "recv", resolved(group))
    return recv_array(target.array, src, group, tag, group_src, words(tensor), tensors=[tensor], after=target.flush)


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """`send` without waiting: returns a `Work`; the tensor must be left alone until its ``wait()``."""
    check_tensor(tensor, "tensor")
    return send_array(source(tensor, resolved(group)), dst, group, tag, group_dst, words(tensor), True, [tensor],
                      "isend")


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """`recv` without waiting: returns a `Work`; the tensor is there after its ``wait()``."""
    check_tensor(tensor, "tensor")
    target = Target(tensor, "irecv", resolved(group))
    return recv_array(target.array, src, group, tag, group_src, words(tensor), True, [tensor], "irecv", target.flush)


class P2POp:
    """One of the calls for `batch_isend_irecv`: `op` is `isend` or `irecv`, `peer` the other rank."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                             "``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        found = resolved(group)
        self.op, self.tensor, self.group, self.tag = op, tensor, found, tag
        self.group_peer = root_of(found, peer, group_peer)
        self.peer = found.ranks[self.group_peer]

    def __repr__(self):
        return f"P2POp({self.op.__name__}, {list(self.tensor.shape)}, peer={self.peer}, tag={self.tag})"


def batch_isend_irecv(p2p_op_list):
    """Start several sends and receives; returns a list of `Work`."""
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    with p2p_op_list[0].group.together(p2p_op_list[0].tensor):
        return [op.op(op.tensor, group=op.group, tag=op.tag,
                      **{"group_dst" if op.op is isend else "group_src": op.group_peer}) for op in p2p_op_list]
