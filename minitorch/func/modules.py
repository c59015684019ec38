"""Calls of modules with other parameters and buffers."""

from ..core.tensor import Tensor
from ..ops.shapes.join import stack

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with other parameters and buffers, given by name; gradients flow to them.

    Other names than those of parameters and buffers are attributes for the time of the call, unless `strict`.
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, (dict, tuple, list)):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(given)}")
    if isinstance(given, (tuple, list)):
        names = [k for d in given for k in d]
        repeated = [k for k in dict.fromkeys(names) if names.count(k) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    given = {k: v for d in given for k, v in d.items()} if isinstance(given, (tuple, list)) else dict(given)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if strict:
        check_names(module, given)
    outer: list = []
    try:
        for name, value in given.items():
            owner, _, leaf = name.rpartition(".")
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            place = module.get_submodule(owner)
            store = next((d for d in (place._parameters, place._buffers) if leaf in d), place.__dict__)
            outer.append((store, leaf, store.get(leaf, outer)))
            store[leaf] = value
        return module(*args, **(kwargs or {}))
    finally:
        for store, leaf, value in reversed(outer):
            if value is outer:                             # it was not there before
                del store[leaf]
            else:
                store[leaf] = value


def check_names(module, given):
    """RuntimeError unless the names are those of all parameters and buffers."""
    known = {*dict(module.named_parameters()), *dict(module.named_buffers())}
    lines = [f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}."
             for what, names in (("Unexpected", set(given) - known), ("Missing", known - set(given))) if names]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}")


def stack_module_state(models):
    """Parameters and buffers of several models of one class, stacked along a new first dimension, as two dicts by name:
    for `vmap` of `functional_call`.

    The stacked parameters are leaves, which require grad if those of the models do. RuntimeError for models of several
    classes, in training and in evaluation mode, or of which only some require grad.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any([type(m) is not type(models[0]) for m in models]):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    all_params, all_buffers = [dict(m.named_parameters()) for m in models], [dict(m.named_buffers()) for m in models]
    params = {k: stacked_leaf([p[k] for p in all_params], k) for k in all_params[0]}
    return params, {k: stacked_leaf([b[k] for b in all_buffers], k) for k in all_buffers[0]}


def stacked_leaf(tensors, name):
    """Tensors stacked, as a leaf that requires grad as they do."""
    needs = {t.requires_grad for t in tensors}
    if len(needs) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack([t.detach() for t in tensors]).requires_grad_(needs.pop())


def replace_all_batch_norm_modules_(root):
    """Let every batch norm in `root` use the statistics of its batch only, without running ones."""
    for module in root.modules():
        if hasattr(module, "running_mean") and hasattr(module, "track_running_stats"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
