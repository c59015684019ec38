"""Calls of modules with other parameters and buffers."""

from .. import stack

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with other parameters and buffers, given by name; gradients flow to them.

    Other names than those of parameters and buffers are attributes for the time of the call, unless `strict`.
    `tie_weights`: a tensor that the module has under several names is replaced under all of them; ValueError if these
    are given different ones.
    """
    from ..nn.utils.stateless import functional_call as call
    return call(module, parameter_and_buffer_dicts, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """Parameters and buffers of several models of one class, stacked along a new first dimension, as two dicts by name:
    for `vmap` of `functional_call`.

    The stacked parameters are leaves, which require grad if those of the models do. RuntimeError for models of several
    classes, in different modes, or if only some require grad.
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
