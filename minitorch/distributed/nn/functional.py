"""Collectives with derivatives. Each returns a new tensor; the loss is taken to be the sum of the losses of all ranks.

The derivative of a sum over ranks is a sum over ranks, that of a broadcast a reduction to its source, that of a gather
a scatter. All ranks must differentiate, in the same order: their backward passes call collectives, too. They can be
differentiated again.
"""

from ... import empty, empty_like, zeros_like
from ...autograd import Function
from .. import collectives as c
from ..groups import resolved
from ..reducing import ReduceOp

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
           "reduce_scatter", "scatter"]


def check_op(ops, op, name):
    if op not in ops:
        raise NotImplementedError(f"{name}: there is a derivative for {', '.join(o.name for o in ops)}, not for "
                                  f"{getattr(op, 'name', op)}")


class AllReduce(Function):
    @staticmethod
    def forward(ctx, tensor, op, group):
        ctx.op, ctx.group = op, group
        out = tensor.clone().contiguous()
        c.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx, g):
        return AllReduce.apply(g, ctx.op, ctx.group), None, None


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The sum (or AVG) over all ranks, on all ranks."""
    check_op((ReduceOp.SUM, ReduceOp.AVG), op, "all_reduce")
    return AllReduce.apply(tensor, op, resolved(group))


class Broadcast(Function):
    @staticmethod
    def forward(ctx, tensor, src, group):
        ctx.src, ctx.group = src, group
        out = tensor.clone().contiguous()
        c.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx, g):
        return Reduce.apply(g, ctx.src, ReduceOp.SUM, ctx.group), None, None


def broadcast(tensor, src, group=None):
    """The tensor of rank `src`, on all ranks."""
    return Broadcast.apply(tensor, src, resolved(group))


class Reduce(Function):
    @staticmethod
    def forward(ctx, tensor, dst, op, group):
        ctx.dst, ctx.group = dst, group
        out = tensor.clone().contiguous()
        c.reduce(out, dst, op, group)
        return out if group.ranks[group.rank()] == dst else zeros_like(out)

    @staticmethod
    def backward(ctx, g):
        return Broadcast.apply(g, ctx.dst, ctx.group), None, None, None


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The sum over all ranks on rank `dst`, zeros on the others."""
    check_op((ReduceOp.SUM,), op, "reduce")
    return Reduce.apply(tensor, dst, op, resolved(group))


class AllGather(Function):
    @staticmethod
    def forward(ctx, tensor, group):
        ctx.group = group
        outs = [empty_like(tensor).contiguous() for _ in range(group.size())]
        c.all_gather(outs, tensor.contiguous(), group)
        return tuple(outs)

    @staticmethod
    def backward(ctx, *gs):
        return ReduceScatter.apply(ReduceOp.SUM, ctx.group, *gs), None


def all_gather(tensor, group=None):
    """The tensors of all ranks, a tuple, on all ranks."""
    return AllGather.apply(tensor, resolved(group))


class ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, *tensors):
        ctx.group = group
        out = empty_like(tensors[group.rank()]).contiguous()
        c.reduce_scatter(out, [t.contiguous() for t in tensors], op, group)
        return out

    @staticmethod
    def backward(ctx, g):
        return (None, None, *AllGather.apply(g.contiguous(), ctx.group))


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """The sum over all ranks of ``input_list[this rank]``; `output` is as in PyTorch."""
    check_op((ReduceOp.SUM,), op, "reduce_scatter")
    return ReduceScatter.apply(op, resolved(group), *input_list)


class Gather(Function):
    @staticmethod
    def forward(ctx, tensor, dst, group):
        ctx.dst, ctx.group = dst, group
        here = group.ranks[group.rank()] == dst
        outs = [zeros_like(tensor).contiguous() for _ in range(group.size())]
        c.gather(tensor.contiguous(), outs if here else None, dst, group)
        return tuple(outs)

    @staticmethod
    def backward(ctx, *gs):
        return Scatter.apply(ctx.dst, ctx.group, *gs), None, None


def gather(tensor, dst=0, group=None):
    """The tensors of all ranks, a tuple, on rank `dst`; zeros on the others."""
    return Gather.apply(tensor, dst, resolved(group))


class Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        here = group.ranks[group.rank()] == src
        out = empty_like(tensors[group.rank()]).contiguous()
        c.scatter(out, [t.contiguous() for t in tensors] if here else None, src, group)
        return out

    @staticmethod
    def backward(ctx, g):
        return (None, None, *Gather.apply(g.contiguous(), ctx.src, ctx.group))


def scatter(tensors, src=0, group=None):
    """This rank's element of the list of rank `src`; all ranks give a list of that shape."""
    return Scatter.apply(src, resolved(group), *tensors)


class AllToAll(Function):
    @staticmethod
    def forward(ctx, group, shapes, *tensors):
        ctx.group, ctx.shapes = group, [tuple(t.shape) for t in tensors]
        outs = [empty(shape, dtype=tensors[0].dtype, device=tensors[0].device) for shape in shapes]
        c.all_to_all(outs, [t.contiguous() for t in tensors], group)
        return tuple(outs)

    @staticmethod
    def backward(ctx, *gs):
        return (None, None, *AllToAll.apply(ctx.group, ctx.shapes, *gs))


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """Tensor i goes to rank i; returns what came from each, in the shapes of `output_tensor_list`."""
    return AllToAll.apply(resolved(group), [tuple(t.shape) for t in output_tensor_list], *input_tensor_list)


class AllToAllSingle(Function):
    @staticmethod
    def forward(ctx, tensor, shape, taken, sent, group):
        ctx.shape, ctx.taken, ctx.sent, ctx.group = tuple(tensor.shape), taken, sent, group
        out = empty(shape, dtype=tensor.dtype, device=tensor.device)
        c.all_to_all_single(out, tensor.contiguous(), taken, sent, group)
        return out

    @staticmethod
    def backward(ctx, g):
        return AllToAllSingle.apply(g, ctx.shape, ctx.sent, ctx.taken, ctx.group), None, None, None, None


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Parts of `input` along dimension 0 go to the ranks; returns what came, in the shape of `output`."""
    return AllToAllSingle.apply(input, tuple(output.shape), output_split_sizes, input_split_sizes, resolved(group))
