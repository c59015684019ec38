"""States of models and optimisers by the names of parameters, for checkpoints: whatever wraps or shards the model.

    model_state, optim_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optim": optim_state}
    checkpoint.load(state, checkpoint_id="last")             # fills its tensors in place
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])

The names are those of the model without `DistributedDataParallel`. In an optimiser's state they take the places of
numbers, so that it fits another number of ranks, or parameters in another order.
"""

from dataclasses import dataclass

from ... import Tensor, empty, no_grad, zeros_like
from ...optim import Optimizer
from ...utils._pytree import tree_map
from ..collectives import broadcast
from ..ddp import DistributedDataParallel
from ..groups import current_world
from ..objects import broadcast_object_list
from ..tensor.api import DTensor, distribute_tensor
from ..world import is_initialized

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
           "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]


@dataclass
class StateDictOptions:
    """How states are given and taken.

    full_state_dict: with whole tensors in the place of DTensors. cpu_offload: on the CPU; with `full_state_dict` too,
    on rank 0 only, {} on the others. ignore_frozen_params: without parameters that require no gradient. strict: the
    model takes no other names. broadcast_from_rank0: rank 0 alone has a full state to be set, and sends it.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False


def checked(options):
    options = StateDictOptions() if options is None else options
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def bare(model):
    """The model itself, and the state by its own names, with sharded parameters as DTensors."""
    model = model.module if isinstance(model, DistributedDataParallel) else model
    return model, model.state_dict()


def given(tree, options):
    """A state as the options want it."""
    def one(x):
        if not isinstance(x, Tensor):
            return x
        if options.full_state_dict and isinstance(x, DTensor):
            x = x.full_tensor()
        return x.cpu() if options.cpu_offload and not isinstance(x, DTensor) else x
    with no_grad():
        found = tree_map(one, tree)
    alone = options.full_state_dict and options.cpu_offload and is_initialized() and current_world().rank
    return {} if alone else found


def get_model_state_dict(model, *, submodules=None, options=None):
    """The model's ``state_dict()``; `submodules`: a set of modules, only what is in these."""
    options = checked(options)
    model, state = bare(model)
    if options.ignore_frozen_params:
        for name, p in model.named_parameters():
            if not p.requires_grad:
                state.pop(name, None)
    if submodules:
        prefixes = [f"{name}." for name, module in model.named_modules() if module in submodules]
        state = {name: x for name, x in state.items() if name.startswith(tuple(prefixes))}
    return given(dict(state), options)


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load a state; returns what `load_state_dict` does: the names that are missing and those that are not expected."""
    options = checked(options)
    model, own = bare(model)
    state = sent(dict(model_state_dict), options)
    state = {name: placed(x, own.get(name)) for name, x in state.items()}
    return model.load_state_dict(state, strict=options.strict)


def sent(tree, options):
    """The state of rank 0, on all ranks, if the options say so."""
    if not options.broadcast_from_rank0:
        return tree
    if not is_initialized():
        raise RuntimeError("broadcast_from_rank0 needs a process group: call init_process_group first")
    blank = [tree_map(lambda x: Blank(x) if isinstance(x, Tensor) else x, tree)]
    broadcast_object_list(blank, 0)
    if current_world().rank:
        tree = tree_map(lambda x: x.tensor() if isinstance(x, Blank) else x, blank[0])
    tree_map(lambda x: broadcast(x, 0) if isinstance(x, Tensor) else x, tree)
    return tree


class Blank:
    """The shape and dtype of a tensor that is sent."""

    def __init__(self, tensor):
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype

    def tensor(self):
        """A tensor to receive it in."""
        return empty(self.shape, dtype=self.dtype)


def placed(x, like):
    """A whole tensor as a DTensor that lies as `like` does, if that is one of its shape."""
    if isinstance(x, Tensor) and isinstance(like, DTensor) and not isinstance(x, DTensor) and x.shape == like.shape:
        return distribute_tensor(x.detach(), like.device_mesh, like.placements, src_data_rank=None)
    return x


# ------------------------------------------------------------------ optimisers
def listed(optimizers):
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def names_of(model):
    model, _ = bare(model)                                 # which has sharded parameters in their places
    return {id(p): name for name, p in model.named_parameters()}


def begin(optimizer):
    """Let an optimiser that has no state make its first one: a step of size 0 with gradients of 0."""
    if optimizer.state:
        return
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if any(p.grad is not None for p in params):
        return                                             # it is about to make a step
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    for p in params:
        p.grad = zeros_like(p)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip([g for g in optimizer.param_groups if "lr" in g], rates):
        group["lr"] = rate
    for p in params:
        p.grad = None


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """The states of one or several optimisers, with names of parameters in the place of numbers.

    An optimiser without a state makes its first one before: there is something to be filled by `checkpoint.load`.
    """
    options, names = checked(options), names_of(model)
    found = {"state": {}, "param_groups": []}
    for optimizer in listed(optimizers):
        begin(optimizer)
        for group in optimizer.param_groups:
            missing = [p for p in group["params"] if id(p) not in names]
            if missing:
                raise RuntimeError(f"an optimizer has a parameter of shape "
                                   f"{list(missing[0].shape)} that the model lacks: create the "
                                   f"optimizer from the model's present parameters")
            found["param_groups"].append({**group, "params": [names[id(p)] for p in group["params"]]})
            for p in group["params"]:
                if p in optimizer.state:
                    found["state"][names[id(p)]] = dict(optimizer.state[p])
    return given(found, options)


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load a state that `get_optimizer_state_dict` gave, here or on another number of ranks."""
    options, names = checked(options), names_of(model)
    state = sent(optim_state_dict, options)
    groups = {name: group for group in state["param_groups"] for name in group["params"]}
    for optimizer in listed(optimizers):
        number, own, params = 0, {}, []
        for group in optimizer.param_groups:
            of_group = [names[id(p)] for p in group["params"]]
            lacking = [name for name in of_group if name not in groups]
            if lacking:
                raise RuntimeError(f"the optimizer's state has no parameter {lacking[0]!r}")
            options_of = groups[of_group[0]] if of_group else group
            params.append({**{k: v for k, v in options_of.items() if k != "params"},
                           "params": list(range(number, number + len(of_group)))})
            for p, name in zip(group["params"], of_group):
                if name in state["state"]:
                    own[number] = {k: placed(v, p) for k, v in state["state"][name].items()}
                number += 1
        optimizer.load_state_dict({"state": own, "param_groups": params})


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """``(model state, optimiser state)``: see `get_model_state_dict` and `get_optimizer_state_dict`."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, options=options) if listed(optimizers) else {})


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load both; returns what `set_model_state_dict` does."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    if listed(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found
