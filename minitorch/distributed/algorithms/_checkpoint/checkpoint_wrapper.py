"""Modules under `checkpoint`: their intermediate values are computed again in the backward pass.

``torch.distributed.algorithms._checkpoint.checkpoint_wrapper``, which trainers call.

>>> from minitorch import nn
>>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
>>> apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, nn.Linear))
>>> type(model[0]).__name__, list(model.state_dict())
('CheckpointWrapper', ['0.weight', '0.bias'])
"""

import enum

from ....autograd.graph import save_on_cpu
from ....nn import Module
from ....utils.checkpoint import checkpoint

__all__ = ["ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
           "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper"]

PREFIX = "_checkpoint_wrapped_module."


class CheckpointImpl(enum.Enum):
    """The two ways of `checkpoint`."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """Calls a module in some way; its state has the module's names, and other attributes are the
    module's."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.register_state_dict_post_hook(without_prefix)
        self.register_load_state_dict_pre_hook(with_prefix)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(PREFIX, ""), parameter


def without_prefix(module, state_dict, prefix, *args):
    """Give entries of a state_dict the names that they have without a wrapper."""
    for key in [key for key in state_dict if key.startswith(prefix + PREFIX)]:
        state_dict[prefix + key.removeprefix(prefix + PREFIX)] = state_dict.pop(key)


def with_prefix(module, state_dict, prefix, *args):
    """Give entries of a state_dict that is loaded the names that they have in the wrapper."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        if not key.startswith(prefix + PREFIX):
            state_dict[prefix + PREFIX + key.removeprefix(prefix)] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module under `checkpoint`, or under `checkpoint_fn`, with its further arguments."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None,
                 **checkpoint_fn_kwargs):
        super().__init__(mod)
        self.checkpoint_impl, self.checkpoint_fn = checkpoint_impl, checkpoint_fn
        self.options = checkpoint_fn_kwargs

    def forward(self, *args, **kwargs):
        if self.checkpoint_fn is not None:
            return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **self.options,
                                      **kwargs)
        reentrant = self.checkpoint_impl is CheckpointImpl.REENTRANT
        call = self._checkpoint_wrapped_module
        if reentrant and kwargs:                           # which takes positional arguments alone
            def call(*args):
                return self._checkpoint_wrapped_module(*args, **kwargs)
            kwargs = {}
        return checkpoint(call, *args, use_reentrant=reentrant, **self.options, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved values lie on the CPU until the backward pass."""

    def forward(self, *args, **kwargs):
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None,
                       **checkpoint_fn_kwargs):
    """`module` in a `CheckpointWrapper`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module):
    """`module` in an `OffloadWrapper`."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=checkpoint_wrapper,
                                   check_fn=lambda module: True, auto_wrap_policy=None):
    """Put the modules inside of `model` for which `check_fn` is true, or that a policy takes, into
    wrappers, in place; modules in a wrapped one stay as they are."""
    for name, child in list(model.named_children()):
        if auto_wrap_policy is None:
            takes, looks = check_fn(child), True
        else:
            size = sum([p.numel() for p in child.parameters()])
            takes = auto_wrap_policy(module=child, recurse=False, nonwrapped_numel=size)
            looks = auto_wrap_policy(module=child, recurse=True, nonwrapped_numel=size)
        if looks:
            apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn,
                                           auto_wrap_policy)
        if takes:
            setattr(model, name, checkpoint_wrapper_fn(child))
