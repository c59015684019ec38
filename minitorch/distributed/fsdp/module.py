"""`fully_shard`: what it makes of a module, and when parameters are gathered and gradients reduced.

Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel" (2023); the interface is that of
PyTorch's second one, in which parameters stay apart and are DTensors.

A hook before the forward pass of a module gathers its parameters, one after it lets go of them, a node behind its
outputs gathers them again for the backward pass. The first such node that a backward pass comes to looks which
parameters the pass will reach; when the last one of a group has its gradient, the group's gradients are reduced.
"""

import functools

from ... import Tensor
from ...extend import grad_mode
from ...nn import Module, ModuleDict, ModuleList
from ...utils._pytree import tree_map
from ..ddp import watched
from ..device_mesh import DeviceMesh, init_device_mesh
from ..groups import current_world
from ..tensor.api import DTensor
from .group import Group, notes
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]


class Pass:
    """The state that the modules below one root share: the backward pass that runs."""

    def __init__(self, states):
        self.states = states
        self.clear()

    def clear(self):
        """No backward pass runs."""
        self.reached = set()
        for state in self.states:
            state.group.expected.clear()
            state.group.arrived_now.clear()

    def begin(self, places):
        """A backward pass has come to the nodes `places`, perhaps the first ones of a sharded module."""
        waiting = [node for node in places if node not in self.reached]
        if not waiting:
            return
        while waiting:
            node = waiting.pop()
            if node is not None and node not in self.reached:
                self.reached.add(node)
                waiting.extend(node.parents)
        for state in self.states:
            group = state.group
            group.expected |= {p for p in group.params if p.full in self.reached and p not in group.arrived_now}

    def finished(self):
        """A group has all of its gradients."""
        if not any([state.group.expected for state in self.states]):
            for state in self.states:
                if state.group.reshards_after_backward:
                    state.group.reshard()
            self.clear()


class State:
    """One call of `fully_shard`: its modules, their group, and when that is gathered."""

    def __init__(self, modules, group, reshard_after_forward):
        self.modules, self.group, self.given = modules, group, reshard_after_forward
        self.reshards = reshard_after_forward is not False
        self.running, self.ran = 0, set()
        self.run: Pass | None = None
        self.forward_prefetch, self.backward_prefetch, self.unshards_in_backward = [], [], True
        group.done = self.done
        for module in modules:
            module.register_forward_pre_hook(self.before, prepend=True, with_kwargs=True)
            module.register_forward_hook(self.after, always_call=True)
            module.register_state_dict_pre_hook(lambda *_: group.reshard())
            module.register_load_state_dict_pre_hook(lambda *_: group.reshard())

    def find_root(self):
        """The first module that is called is the root: it keeps its parameters between the passes."""
        states = list(dict.fromkeys([part._fsdp for module in self.modules for part in module.modules()
                                     if isinstance(part, FSDPModule)]))
        run = Pass(states)
        for state in states:
            state.run = run
        if self.given is None:
            self.reshards = False

    def before(self, module, args, kwargs):
        """Gather the parameters."""
        if self.run is None:
            self.find_root()
        self.running += 1
        notes.count(1)
        self.group.unshard()
        for other in self.forward_prefetch:
            other._fsdp.group.unshard(async_op=True)
        policy = self.group.policy
        if policy.cast_forward_inputs and policy.param_dtype is not None:
            args, kwargs = cast((args, kwargs), policy.param_dtype)
        return args, kwargs

    def after(self, module, args, output):
        """Let go of the parameters, and have the backward pass gather them."""
        if self.running:                                   # 0: the forward pass failed before it began here
            self.running -= 1
            notes.count(-1)
        self.ran.add(module)
        if output is not None and grad_mode.enabled:
            output = watched(output, self.begin)
        if len(self.ran) == len(self.modules) or not grad_mode.enabled:
            self.ran.clear()
            if (self.reshards or not grad_mode.enabled) and not self.group.expected:
                self.group.reshard()
        if output is not None and self.group.policy.output_dtype is not None:
            output = cast(output, self.group.policy.output_dtype)
        return output

    def done(self):
        """The group has all of its gradients."""
        if self.run is not None:                           # else no sharded module was called
            self.run.finished()

    def begin(self, places):
        """The backward pass comes to the outputs of a module."""
        self.run.begin(places)
        if self.unshards_in_backward:
            self.group.unshard()
        for other in self.backward_prefetch:
            other._fsdp.group.unshard(async_op=True)


def cast(tree, dtype):
    """The floating-point tensors of a pytree in a dtype."""
    return tree_map(lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x, tree)


class UnshardHandle:
    """The result of ``unshard(async_op=True)``: ``wait()`` until the parameters are there."""

    def __init__(self, group):
        self._group = group

    def wait(self):
        """Take the full parameters."""
        self._group.wait()


class FSDPModule:
    """The methods that `fully_shard` adds to a module."""

    _fsdp: State

    def __deepcopy__(self, memo):
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    def _states(self, recurse=True):
        parts = self.modules() if recurse else [self]      # type: ignore[attr-defined]
        return list(dict.fromkeys([part._fsdp for part in parts if isinstance(part, FSDPModule)]))

    def unshard(self, async_op=False):
        """Gather this module's parameters, not those of sharded modules in it; async_op: return an `UnshardHandle`."""
        self._fsdp.group.unshard(async_op)
        return UnshardHandle(self._fsdp.group) if async_op else None

    def reshard(self):
        """Let go of this module's full parameters."""
        self._fsdp.group.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        """Set whether backward passes reduce gradients; if not, ranks add up full gradients."""
        for state in self._states(recurse):
            state.group.syncs = bool(requires_gradient_sync)

    def set_requires_all_reduce(self, requires_all_reduce, *, recurse=True):
        """Set whether copies (with a mesh of two dimensions) average their gradients. While they do
        not, each rank adds up its rows of the gradients of its own copy."""
        for state in self._states(recurse):
            state.group.syncs_copies = bool(requires_all_reduce)

    def set_is_last_backward(self, is_last_backward):
        """Accepted: a backward pass waits for all of its reductions here."""

    def set_reshard_after_forward(self, reshard_after_forward, *, recurse=True):
        """Set whether parameters are freed after the forward pass and gathered again for the
        backward pass."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.given = state.reshards = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Set whether parameters are freed after the backward pass."""
        for state in self._states(recurse):
            state.group.reshards_after_backward = bool(reshard_after_backward)

    def set_unshard_in_backward(self, unshard_in_backward):
        """Set whether the backward pass gathers this module's parameters: False if not needed."""
        self._fsdp.unshards_in_backward = bool(unshard_in_backward)

    def set_modules_to_forward_prefetch(self, modules):
        """Modules whose parameters are gathered while this one's forward pass runs."""
        self._fsdp.forward_prefetch = sharded_modules(modules)

    def set_modules_to_backward_prefetch(self, modules):
        """Modules whose parameters are gathered while this one's backward pass runs."""
        self._fsdp.backward_prefetch = sharded_modules(modules)

    def set_gradient_divide_factor(self, factor):
        """Divide the sum of the ranks' gradients by this number instead of the number of ranks."""
        self._fsdp.group.divisor = float(factor)

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def reset_iter_state(self):
        """Forget a forward or backward pass that has failed, with its gradients."""
        for state in self._states():
            notes.count(-state.running)
            state.running = 0
            state.ran.clear()
            for p in state.group.params:
                p.full._grad = p.unsummed = None
            state.group.reshard()
        if self._fsdp.run is not None:
            self._fsdp.run.clear()

    def _apply(self, fn, recurse=True):
        for state in self._states():
            state.group.reshard()
        return super()._apply(fn, recurse)                 # type: ignore[misc]


def sharded_modules(modules):
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return list(modules)


@functools.cache
def sharded_class(cls):
    """The class of sharded modules of class `cls`."""
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})


def fully_shard(module, *, mesh=None, reshard_after_forward=None, shard_placement_fn=None, mp_policy=None,
                offload_policy=None, ignored_params=None):
    """Shard the parameters of a module over the ranks, in place; returns the module, now an `FSDPModule`, too.

    module: or a list of modules that are gathered together. Call it for the parts of a model first, then for the model:
        each call manages the parameters that no call before it does.
    mesh: of one dimension; all ranks by default. Each rank keeps the rows of its own values that are its part. Of two
        named dimensions (HSDP): rows are cut along the second, and the ranks along the first have copies, whose
        gradients are averaged.
    reshard_after_forward: free the full parameters after the forward pass (None: yes, but for the
    module that is
        called first, the root).
    shard_placement_fn: gives for a parameter the `Shard` it is cut by (None: the first dimension); along others, the
        ranks must divide it.
    mp_policy: a `MixedPrecisionPolicy`. offload_policy: where shards lie. ignored_params: a set of parameters that stay
        as they are.

    Parameters that are DTensors already, as `parallelize_module` leaves them, are sharded once more: `mesh` and theirs
    are parts of one mesh then, ``mesh["dp"]`` and ``mesh["tp"]``.

    Gradients are means over the ranks. ``state_dict()`` has DTensors, which `distributed.checkpoint` saves.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    check_modules(modules)
    if mesh is None:
        device = next((p.device.type for m in modules for p in m.parameters()), "cpu")
        mesh = init_device_mesh(device, (current_world().size,))
    check_options(mesh, reshard_after_forward, offload_policy)
    group = Group(parameters_of(modules, ignored_params or set()), mesh,
                  MixedPrecisionPolicy() if mp_policy is None else mp_policy, shard_placement_fn)
    state = State(modules, group, reshard_after_forward)
    for m in modules:
        m.__class__ = sharded_class(type(m))
        m.__dict__["_fsdp"] = state
    return module


def check_modules(modules):
    for m in modules:
        if not isinstance(m, Module) or isinstance(m, (ModuleList, ModuleDict)):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {m}"
                             if isinstance(m, Module) else f"fully_shard takes modules, got {type(m).__name__}")
        if isinstance(m, FSDPModule):
            raise AssertionError(f"Each distinct composable distributed API can only be applied to a module once. "
                                 f"fully_shard has already been applied to the following module: {m}")


def check_options(mesh, reshard_after_forward, offload_policy):
    if not isinstance(mesh, DeviceMesh) or mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified: "
                             "init_device_mesh(..., mesh_dim_names=('replicate', 'shard'))")
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("reshard_after_forward takes a bool: resharding to fewer ranks is not supported")
    if isinstance(offload_policy, CPUOffloadPolicy) and mesh.device_type != "cpu":
        raise NotImplementedError("CPUOffloadPolicy is supported with a mesh of CPUs only")
    if offload_policy is not None and not isinstance(offload_policy, OffloadPolicy):
        raise TypeError(f"offload_policy is an OffloadPolicy, got {type(offload_policy).__name__}")


def parameters_of(modules, ignored):
    """(parameter, places) of the modules' parameters that no other call manages; a place is (module, name)."""
    found, ignored_ids = {}, {id(p) for p in ignored}

    def visit(module):
        for name, p in module._parameters.items():
            if p is None or id(p) in ignored_ids:
                continue
            if isinstance(p, DTensor) and any([q.is_partial() for q in p.placements]):
                raise NotImplementedError(f"fully_shard: the parameter {name} is a DTensor with the placements "
                                          f"{p.placements}: redistribute it first, a sum cannot be sharded")
            found.setdefault(id(p), (p, []))[1].append((module, name))
        for child in module._modules.values():
            if child is not None and not isinstance(child, FSDPModule):
                visit(child)
    seen = []
    for module in modules:
        if module not in seen:
            seen.append(module)
            visit(module)
    return [(p, list(dict.fromkeys(places))) for p, places in found.values()]


def register_fsdp_forward_method(module, method_name):
    """Treat a method of a sharded module as `forward`: parameters are gathered before it and freed
    after it."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method, state = getattr(module, method_name), module._fsdp

    @functools.wraps(method)
    def wrapped(*args, **kwargs):
        output = None
        args, kwargs = state.before(module, args, kwargs)
        try:
            output = method(*args, **kwargs)
        finally:
            output = state.after(module, args, output)
        return output
    setattr(module, method_name, wrapped)
