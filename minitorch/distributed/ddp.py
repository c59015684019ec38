"""`DistributedDataParallel`: a model on each rank, whose gradients are averaged over the ranks.

Every rank holds the whole model and computes on its own part of the batch. The parameters begin equal (rank 0's are
sent to all) and stay equal, since each step uses the same gradients: the means over all ranks, which `reducer` computes
during the backward pass. Li et al., "PyTorch Distributed", VLDB 2020.
"""

import contextlib

import numpy as np

from .. import Tensor
from ..autograd import Function
from ..extend import get_backend, grad_mode, wrap
from ..nn import Module, UninitializedBuffer, UninitializedParameter
from ..utils._pytree import tree_flatten, tree_unflatten
from .algorithms.join import Join, Joinable, JoinHook
from .buffers import source, targets_of
from .collectives import all_reduce
from .groups import resolved
from .objects import all_gather_object
from .reducer import Reducer
from .reducing import ReduceOp

__all__ = ["DistributedDataParallel"]


class Sink(Function):
    """Passes the outputs of a model on, and notes at the beginning of the backward pass what that will reach."""

    @staticmethod
    def forward(ctx, begin, *outputs):
        ctx.begin, ctx.places = begin, [t.node or t for t in outputs]
        ctx.set_materialize_grads(False)
        return tuple([t.detach() for t in outputs])        # no views: a model's output may be written to

    @staticmethod
    def backward(ctx, *gs):
        ctx.begin([place for place, g in zip(ctx.places, gs) if g is not None])
        return (None, *gs)


def watched(output, begin):
    """`output`, a pytree, with a node that calls `begin` with the nodes that the backward pass comes to."""
    leaves, spec = tree_flatten(output)
    places = [i for i, t in enumerate(leaves) if isinstance(t, Tensor) and t.needs_grad]
    if not places:
        return output
    for i, t in zip(places, Sink.apply(begin, *[leaves[i] for i in places])):
        leaves[i] = t
    return tree_unflatten(leaves, spec)


def leaves_below(places):
    """The ids of the leaves that a backward pass from some graph nodes reaches."""
    found, seen, waiting = set(), set(), list(places)
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if node.parents:
            waiting.extend(node.parents)
        else:
            found.add(id(node))
    return found


def broadcast_all(group, tensors, root, name):
    """Give all ranks the tensors of rank `root` of the group, as one call."""
    tensors = [t for t in tensors if t.numel()]
    if not tensors:
        return
    here = group.rank() == root
    arrays, flush = ([source(t) for t in tensors], None) if here else targets_of(tensors, name)
    flats = {}                                             # the arrays of a dtype go as one
    for i, array in enumerate(arrays):
        flats.setdefault(array.dtype, []).append(i)

    def body(transport):
        for places in flats.values():
            flat = np.concatenate([arrays[i] for i in places])
            transport.broadcast(flat, root)
            if not here:
                for i, part in zip(places, np.split(flat, np.cumsum([arrays[i].size for i in places])[:-1])):
                    arrays[i][...] = part
    group.call(name, f"of {len(tensors)} tensors from {group.ranks[root]}", body, after=flush)


def check_absent(**options):
    """NotImplementedError for an option of PyTorch's that is given and that nothing here stands for."""
    for name, given in options.items():
        if given is not None:
            raise NotImplementedError(f"DistributedDataParallel: {name} is not supported: leave it out")


def with_gradients(parameters):
    """Those of the named parameters that require gradients; RuntimeError if none does."""
    found = [(name, p) for name, p in parameters if p.requires_grad]
    if not found:
        raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that "
                           "require a gradient.")
    return found


def one_device(device_ids):
    """`device_ids` without None; ValueError if more than one is left."""
    found = None if device_ids is None else [d for d in device_ids if d is not None] or None
    if found is not None and len(found) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    return found


def check_initialized(state):
    if any(isinstance(t, (UninitializedParameter, UninitializedBuffer)) for t in state):
        raise RuntimeError("Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
                           "Run a dummy forward pass to correctly initialize the modules")


def bytes_of_bucket(mebibytes):
    found = int((25 if mebibytes is None else mebibytes) * 2**20)
    if found <= 0:
        raise ValueError(f"bucket_cap_mb must be positive, got {mebibytes}")
    return found


class DistributedDataParallel(Module, Joinable):
    """`module` with gradients that are averaged over all ranks; call it as `module`, then ``loss.backward()``.

    module: its parameters are named ``module.<name>``. All ranks make it with the same shapes.
    device_ids, output_device, dim: taken as PyTorch takes them; a model computes where its parameters are.
    forward_sync_buffers: give all ranks the buffers of rank 0 before each forward pass that follows one whose gradients
        are averaged, in evaluation too (True). broadcast_buffers: its old name, which with False leaves the buffers as
        they are from the beginning.
    init_sync: give all ranks the parameters and buffers of rank 0 now (True).
    process_group: the ranks (all). bucket_cap_mb: the size of a bucket (25).
    find_unused_parameters: parameters that do not take part in the loss count as zeros; without it, the next forward
        pass raises an error that names them.
    gradient_as_bucket_view: gradients are views of the buckets, which saves a copy.
    static_graph: the same parameters take part in each step: which, is found out in the first.

    RuntimeError if no parameter requires grad, or if the ranks' models differ (the error names rank and parameter).
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None, init_sync=True,
                 process_group=None, bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False,
                 gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
                 param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None,
                 skip_all_reduce_unused_params=False, bucket_cap_mb_list=None, batched_grad_copy=False,
                 forward_sync_buffers=None):
        super().__init__()
        check_absent(delay_all_reduce_named_params=delay_all_reduce_named_params, mixed_precision=mixed_precision,
                     param_to_hook_all_reduce=param_to_hook_all_reduce)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        self.process_group = resolved(device_mesh.get_group() if device_mesh is not None else process_group)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        parameters = [(name, p) for name, p in module.named_parameters() if name not in ignored]
        buffers = [b for name, b in module.named_buffers() if name not in ignored]
        named = with_gradients(parameters)
        self.device_ids = one_device(device_ids)
        state = [*[p for _, p in parameters], *buffers]
        check_initialized(state)
        self.module, self.dim, self.output_device = module, dim, output_device
        given = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.forward_sync_buffers = True if given is None else bool(given)
        self.find_unused_parameters, self.static_graph = bool(find_unused_parameters), bool(static_graph)
        self.gradient_as_bucket_view = bool(gradient_as_bucket_view)
        self.require_backward_grad_sync, self.require_forward_param_sync = True, True
        self._buffers_to_send, self._static_used, self._joining = buffers, None, None
        if init_sync:
            self._check_models(named)
            if forward_sync_buffers is None and not self.forward_sync_buffers:
                state = state[:len(parameters)]
            broadcast_all(self.process_group, state, 0, "broadcast_model")
        names, parameters = [name for name, _ in named], [p for _, p in named]
        self.reducer = Reducer(parameters, names, self.process_group,
                               bytes_of_bucket(bucket_cap_mb), self.gradient_as_bucket_view)

    def _check_models(self, named):
        """An error on all ranks if their models differ."""
        mine = [(name, tuple(p.shape), p.dtype.name) for name, p in named]
        every = [None] * self.process_group.size()
        all_gather_object(every, mine, self.process_group)
        for rank, other in enumerate(every):
            if other != every[0]:
                what = next(((a, b) for a, b in zip(every[0], other) if a != b), None)
                words = (f"{what[1]} where rank 0 has {what[0]}" if what else
                         f"{len(other)} parameters where rank 0 has {len(every[0])}")
                raise RuntimeError(f"DDP expects same model across all ranks, but rank {rank} has {words}")

    # -- passes ----------------------------------------------------------------------------------------------
    def forward(self, *inputs, **kwargs):
        averaged = grad_mode.enabled and self.require_backward_grad_sync
        if self._join_config.enable:
            Join.notify_join_context(self)
            self._joining.tell(averaged)
        if averaged:
            self.reducer.prepare(self.find_unused_parameters or self.static_graph)
        if self.will_sync_module_buffers():
            self._sync_buffers()
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averaged
        if not averaged:
            return output
        if self.static_graph and self._static_used is not None:
            self.reducer.unused(self._static_used)
            return output
        return watched(output, self._begin) if self.find_unused_parameters or self.static_graph else output

    def _begin(self, places):
        """The backward pass has come to the outputs of the model."""
        reached = leaves_below(places)
        if self.static_graph:
            self._static_used = reached
        self.reducer.unused(reached)

    broadcast_buffers = property(lambda self: self.forward_sync_buffers, doc="`forward_sync_buffers`, by its old name.")

    def will_sync_module_buffers(self):
        """True if the next forward pass gives all ranks the buffers of one."""
        return bool(self.require_forward_param_sync and self.forward_sync_buffers and self._buffers_to_send)

    def _sync_buffers(self):
        root = self._joining.root if self._join_config.enable else 0
        broadcast_all(self.process_group, self._buffers_to_send, root, "broadcast_buffers")

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients of passes in the block are added up on each rank, and averaged by the first pass after it.

        The forward pass must be in the block, too.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # -- hooks -----------------------------------------------------------------------------------------------
    def register_comm_hook(self, state, hook):
        """Let ``hook(state, bucket)`` average the buckets: it returns a Future of the mean of ``bucket.buffer()``.

        There are some in ``distributed.algorithms.ddp_comm_hooks``. One hook at most, before the first backward pass.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.state = hook, state

    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    # -- ranks with fewer batches ----------------------------------------------------------------------------
    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A context for training loops of different length: who is done takes part with zeros until all are.

        divide_by_initial_world_size: means are over all ranks (True), or over those that are not done.
        throw_on_early_termination: RuntimeError on all ranks when the first is done.
        """
        return Join([self], enable, throw_on_early_termination,
                    divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, *, divide_by_initial_world_size=True, **kwargs):
        """The work of a rank that has no batches left, for `Join`."""
        self._joining = Joining(self, divide_by_initial_world_size)
        return self._joining

    @property
    def join_device(self):
        """The device of the parameters."""
        return self.reducer.params[0].device

    @property
    def join_process_group(self):
        """The ranks."""
        return self.process_group

    def __getstate__(self):
        raise TypeError("a DistributedDataParallel model cannot be pickled: save module.state_dict(), or its .module")


class Joining(JoinHook):
    """The work of a rank that has no batches left, and how the ranks agree on a step: whether it will synchronise, and
    who is at work."""

    def __init__(self, model, by_all):
        self.model, self.by_all, self.root, self.group = model, by_all, 0, model.process_group

    def tell(self, averaged, at_work=True):
        """Take part in a step; returns whether gradients will be averaged."""
        n = self.group.size()
        mask = np.zeros(n + 1, np.int32)
        mask[self.group.rank()], mask[n] = at_work, averaged
        all_reduce(wrap(mask, get_backend("cpu")), ReduceOp.MAX, self.group)
        active = np.flatnonzero(mask[:n])
        self.root = int(active[-1])
        reducer = self.model.reducer
        reducer.op = ReduceOp.AVG if self.by_all else ReduceOp.SUM
        reducer.factor = None if self.by_all else 1 / active.size
        return bool(mask[n])

    def main_hook(self):
        """Take part in a step of the others."""
        model = self.model
        averaged = self.tell(False, at_work=False)
        if model.will_sync_module_buffers():
            model._sync_buffers()
        model.require_forward_param_sync = averaged
        if averaged:
            model.reducer.shadow(model.find_unused_parameters or model.static_graph)

    def post_hook(self, is_last_joiner):
        """Take the parameters of the last one at work."""
        model = self.model
        model._joining = None
        model.reducer.op, model.reducer.factor = ReduceOp.AVG, None
        state = [*model.module.parameters(), *model._buffers_to_send]
        broadcast_all(self.group, state, self.root, "broadcast_model")
