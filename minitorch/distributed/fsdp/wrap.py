"""Policies: which modules of a model to shard by themselves, as ``torch.distributed.fsdp.wrap`` asks them.

A policy is ``policy(module, recurse, nonwrapped_numel)``: with `recurse`, whether to look into the module; without,
whether to shard the module itself. They serve a loop over a model that calls `fully_shard`.
"""

import contextlib

from ...nn import ModuleDict, ModuleList

__all__ = ["CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
           "lambda_auto_wrap_policy", "size_based_auto_wrap_policy",
           "transformer_auto_wrap_policy", "wrap"]

wrapping: list = []                                        # (class, arguments) of the blocks that are open


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """A block in which `wrap` puts modules into `wrapper_cls`."""
    wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        wrapping.pop()


def wrap(module, **wrap_overrides):
    """`module` in the class of the innermost `enable_wrap`; without one, as it is."""
    if not wrapping:
        return module
    wrapper, given = wrapping[-1]
    return wrapper(module, **{**given, **wrap_overrides})


def always_wrap_policy(*args, **kwargs):
    """Every module."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """The modules for which ``lambda_fn(module)`` is true."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """The modules of the classes `transformer_layer_cls`."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_module_wrap_policy = transformer_auto_wrap_policy


def _or_policy(module, recurse, nonwrapped_numel, policies):
    """The modules that one of `policies` takes."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(module, recurse, nonwrapped_numel, min_num_params=100_000_000,
                                force_leaf_modules=None, exclude_wrap_modules=None):
    """The modules, lists and dicts excepted, with at least `min_num_params` own parameters."""
    exclude = (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    if nonwrapped_numel < min_num_params:
        return False
    return not isinstance(module, tuple(force_leaf_modules or ()) if recurse else exclude)


class ModuleWrapPolicy:
    """The modules of some classes, as a policy."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self):
        return f"{type(self).__name__}({self._module_classes})"


class CustomPolicy:
    """The modules for which ``lambda_fn(module)`` is true, or a dict of options."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or bool(self._lambda_fn(module))
