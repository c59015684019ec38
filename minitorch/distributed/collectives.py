"""The collectives on tensors, by PyTorch's names, arguments and errors.

All ranks of a group call the same one, with tensors of the same dtype and shape where nothing else is said. Every call
takes ``group`` (None: all ranks) and ``async_op``; with the latter it returns a `Work` at once, and the tensors must be
left alone until its ``wait()``. On ranks that are not in the group calls return None. Tensors may be of any dtype and
layout; they are written in place, past autograd, and the writes are counted.
"""

import warnings

import numpy as np

from .buffers import (
    Target,
    check_count,
    check_dtypes,
    check_list,
    check_parts,
    check_tensor,
    source,
    targets_of,
    words,
)
from .groups import resolved
from .reducing import ReduceOp, checked_op

__all__ = ["all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
           "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather",
           "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter"]


def member(group, name):
    """The group, or None with a warning on a rank that is not in it."""
    found = resolved(group)
    if found is None:
        warnings.warn(f"Running {name} on a rank which does not belong to the given group.", stacklevel=3)
    return found


def root_of(group, rank, group_rank, default=None):
    """The number in the group of a root that is given by its number in the job or in the group."""
    if rank is None and group_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        rank = default
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both global_rank and group_rank")
    if rank is not None:
        if rank not in group.places:
            raise ValueError(f"Global rank {rank} is not part of group {group}: its ranks are {group.ranks}")
        return group.places[rank]
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group_rank


def check_at_root(name, given, here, end):
    """A list is given on the root (`here`), and on no other rank."""
    if here and given is None:
        raise ValueError(f"Argument ``{name}`` must be specified on {end} rank.")
    if not here and given:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{end} ranks.")


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Replace `tensor` on each rank by the reduction over all ranks."""
    check_tensor(tensor, "tensor")
    found = member(group, "all_reduce")
    if found is None:
        return None
    op = checked_op(op, tensor.array.dtype, "all_reduce")
    target = Target(tensor, "all_reduce", found)
    return found.call("all_reduce", words(tensor, op.name.lower()), lambda t: t.all_reduce(target.array, op), async_op,
                      [tensor], target.flush)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Give `tensor` on each rank the elements it has on rank `src` (or `group_src`, a number in the group)."""
    check_tensor(tensor, "tensor")
    found = member(group, "broadcast")
    if found is None:
        return None
    root = root_of(found, src, group_src)
    text = words(tensor, f"from {found.ranks[root]}")
    if found.rank() == root:
        data = source(tensor, found)
        return found.call("broadcast", text, lambda t: t.broadcast(data, root), async_op, [tensor])
    target = Target(tensor, "broadcast", found)
    return found.call("broadcast", text, lambda t: t.broadcast(target.array, root), async_op, [tensor], target.flush)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Replace `tensor` on rank `dst` by the reduction over all ranks; the others keep theirs."""
    check_tensor(tensor, "tensor")
    found = member(group, "reduce")
    if found is None:
        return None
    root, op = root_of(found, dst, group_dst), checked_op(op, tensor.array.dtype, "reduce")
    text = words(tensor, op.name.lower(), f"to {found.ranks[root]}")
    if found.rank() != root:
        data = source(tensor, found)
        return found.call("reduce", text, lambda t: t.reduce(data, root, op), async_op, [tensor])
    target = Target(tensor, "reduce", found)
    return found.call("reduce", text, lambda t: t.reduce(target.array, root, op), async_op, [tensor], target.flush)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Write the `tensor` of each rank to ``tensor_list[rank]``, one of the same shape for each rank of the group."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(*tensor_list, tensor)
    found = member(group, "all_gather")
    if found is None:
        return None
    check_parts("all_gather", tensor_list, found.size(), "output tensor list", tensor.shape)
    data, (outs, flush) = source(tensor, found), targets_of(tensor_list, "all_gather", found)
    return found.call("all_gather", words(tensor), lambda t: t.all_gather(outs, data), async_op, tensor_list, flush)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors: ``output_tensor_lists[rank][i]`` is tensor `i` of a rank."""
    check_list(input_tensor_list, "tensor_list")
    found = member(group, "all_gather_coalesced")
    if found is None:
        return None
    work = None
    for i, tensor in enumerate(input_tensor_list):
        work = all_gather([outs[i] for outs in output_tensor_lists], tensor, found, async_op)
    return work


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Write the `input_tensor` of all ranks one after the other into `output_tensor`.

    The output has size times as many elements: the inputs joined along dimension 0, or stacked.
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    check_dtypes(output_tensor, input_tensor)
    found = member(group, "all_gather_into_tensor")
    if found is None:
        return None
    n, count = found.size(), input_tensor.numel()
    if output_tensor.numel() != n * count:
        raise RuntimeError(f"all_gather_into_tensor: output tensor size must be equal to world_size times input tensor "
                           f"size: expected {n} x {count} elements, got {output_tensor.numel()}")
    data, target = source(input_tensor, found), Target(output_tensor, "all_gather_into_tensor", found)
    outs = list(target.array.reshape(n, count))
    return found.call("all_gather_into_tensor", words(input_tensor), lambda t: t.all_gather(outs, data), async_op,
                      [output_tensor], target.flush)


_all_gather_base = all_gather_single = all_gather_into_tensor


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Write the `tensor` of each rank to ``gather_list[rank]`` on rank `dst` (0); None elsewhere."""
    check_tensor(tensor, "tensor")
    found = member(group, "gather")
    if found is None:
        return None
    root = root_of(found, dst, group_dst, default=found.ranks[0])
    here = found.rank() == root
    check_at_root("gather_list", gather_list, here, "destination")
    data, text = source(tensor, found), words(tensor, f"to {found.ranks[root]}")
    if not here:
        return found.call("gather", text, lambda t: t.gather(None, data, root), async_op, [], on=tensor)
    check_list(gather_list, "gather_list")
    check_dtypes(tensor, *gather_list)
    check_parts("gather", gather_list, found.size(), "output tensor list", tensor.shape)
    outs, flush = targets_of(gather_list, "gather", found)
    return found.call("gather", text, lambda t: t.gather(outs, data, root), async_op, gather_list, flush)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Write to `tensor` on each rank that rank's element of the `scatter_list` of rank `src` (0); None elsewhere."""
    check_tensor(tensor, "tensor")
    found = member(group, "scatter")
    if found is None:
        return None
    root = root_of(found, src, group_src, default=found.ranks[0])
    here = found.rank() == root
    check_at_root("scatter_list", scatter_list or None, here, "source")
    arrays = None
    if here:
        check_list(scatter_list, "scatter_list")
        check_dtypes(tensor, *scatter_list)
        check_parts("scatter", scatter_list, found.size(), "input tensor list", tensor.shape)
        arrays = [source(one, found) for one in scatter_list]
    target = Target(tensor, "scatter", found)
    return found.call("scatter", words(tensor, f"from {found.ranks[root]}"),
                      lambda t: t.scatter(target.array, arrays, root), async_op, [tensor], target.flush)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Write to `output` on each rank the reduction of ``input_list[that rank]`` over all ranks."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_dtypes(output, *input_list)
    found = member(group, "reduce_scatter")
    if found is None:
        return None
    check_parts("reduce_scatter", input_list, found.size(), "input tensor list", output.shape)
    op, arrays = checked_op(op, output.array.dtype, "reduce_scatter"), [source(one, found) for one in input_list]
    target = Target(output, "reduce_scatter", found)
    return found.call("reduce_scatter", words(output, op.name.lower()),
                      lambda t: t.reduce_scatter(target.array, arrays, op), async_op, [output], target.flush)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """`reduce_scatter` of one tensor, whose elements are those for rank 0, for rank 1, ..."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    found = member(group, "reduce_scatter_tensor")
    if found is None:
        return None
    n, count = found.size(), output.numel()
    if input.numel() != n * count:
        raise RuntimeError(f"reduce_scatter_tensor: input tensor must have the size of the group times the elements of "
                           f"the output: expected {n} x {count}, got {input.numel()}")
    op, arrays = checked_op(op, output.array.dtype, "reduce_scatter_tensor"), source(input, found).reshape(n, count)
    target = Target(output, "reduce_scatter_tensor", found)
    return found.call("reduce_scatter_tensor", words(output, op.name.lower()),
                      lambda t: t.reduce_scatter(target.array, list(arrays), op), async_op, [output], target.flush)


_reduce_scatter_base = reduce_scatter_single = reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send ``input_tensor_list[i]`` to rank i, and receive ``output_tensor_list[i]`` from it. Sizes may differ."""
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_dtypes(*output_tensor_list, *input_tensor_list)
    found = member(group, "all_to_all")
    if found is None:
        return None
    for tensors, what in (output_tensor_list, "output tensor list"), (input_tensor_list, "input tensor list"):
        check_count("all_to_all", tensors, found.size(), what)
    arrays = [source(one, found) for one in input_tensor_list]
    outs, flush = targets_of(output_tensor_list, "all_to_all", found)
    return found.call("all_to_all", input_tensor_list[0].dtype.name, lambda t: t.all_to_all(outs, arrays), async_op,
                      output_tensor_list, flush)


def split(array, tensor, sizes, n, name):
    """A flat array in parts, by sizes along dimension 0 of its tensor."""
    rows = tensor.shape[0] if tensor.dim() else 0
    if not sizes:
        if rows % n:
            raise RuntimeError(f"Tensor's dim 0 does not divide equally across group size: {rows} rows of {name} for "
                               f"{n} ranks; give split sizes")
        sizes = [rows // n] * n
    if len(sizes) != n:
        raise RuntimeError(f"Number of tensor splits not equal to group size: {len(sizes)} of {name} for {n} ranks")
    if sum(sizes) != rows:
        raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {list(sizes)} of {name} for {rows} rows")
    width = array.size // rows if rows else 0
    ends = np.cumsum([0, *sizes]) * width
    return [array[a:b] for a, b in zip(ends, ends[1:])]


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Split `input` along dimension 0, send part i to rank i, and join what is received into `output`.

    Without split sizes, all parts have the same number of rows.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    found = member(group, "all_to_all_single")
    if found is None:
        return None
    arrays = split(source(input, found), input, input_split_sizes, found.size(), "input")
    target = Target(output, "all_to_all_single", found)
    outs = split(target.array, output, output_split_sizes, found.size(), "output")
    return found.call("all_to_all_single", input.dtype.name, lambda t: t.all_to_all(outs, arrays), async_op, [output],
                      target.flush)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors, as one call."""
    tensors = [tensors] if not isinstance(tensors, (list, tuple)) else list(tensors)
    check_list(tensors, "tensors")
    check_dtypes(*tensors)
    found = member(group, "all_reduce_coalesced")
    if found is None:
        return None
    op = checked_op(op, tensors[0].array.dtype, "all_reduce_coalesced")
    arrays, flush = targets_of(tensors, "all_reduce_coalesced", found)
    text = f"{tensors[0].dtype.name} {[list(t.shape) for t in tensors]} {op.name.lower()}"

    def body(transport):
        for array in arrays:
            transport.all_reduce(array, op)
    return found.call("all_reduce_coalesced", text, body, async_op, tensors, flush)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait until all ranks of the group have come here."""
    found = member(group, "barrier")
    if found is None:
        return None

    def body(transport):
        before = transport.timeout
        try:
            if timeout is not None:
                transport.timeout = timeout.total_seconds()
            transport.barrier()
        finally:
            transport.timeout = before
    return found.call("barrier", "", body, async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """`barrier`; after `timeout` an error names the ranks that did not come."""
    barrier(group, timeout=timeout)
