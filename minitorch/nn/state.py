"""``state_dict`` and ``load_state_dict``: a module's parameters and buffers as one flat dict of tensors, and back.

Keys are dotted paths. The dict carries ``_metadata``, the version number of each submodule's layout, so that a module
can read files that an older version of itself wrote. Format and messages are PyTorch's.
"""

import itertools
from collections import OrderedDict, namedtuple

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from ..explain.callers import warn
from .hooks import add_hook
from .parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"                               # PyTorch's `_EXTRA_STATE_KEY_SUFFIX`


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The result of ``load_state_dict``: the keys that did not fit."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class Stateful:
    """Saving and loading. A mixin of ``Module``."""

    _version = 1

    def get_extra_state(self):
        """State that is not a tensor: a subclass returns anything that can be pickled, saved as
        ``_extra_state``."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: define get_extra_state() to return it.")

    def set_extra_state(self, state):
        """Take back what ``get_extra_state`` returned; define both or neither."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: define set_extra_state(state) to receive it.")

    # -- hooks ------------------------------------------------------------------------------------------------------
    def register_state_dict_pre_hook(self, hook):
        """Call ``hook(module, prefix, keep_vars)`` before the module's own entries are collected."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)`` afterwards; it may change the dict in place."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        # The private form: what it returns, unless None, becomes the state dict.
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before the module loads its own entries; it may change ``state_dict`` and the lists in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(self._load_state_dict_pre_hooks, _LoadPreHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook):
        """Call ``hook(module, incompatible_keys)`` after loading; it may clear or extend the two lists in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- saving -----------------------------------------------------------------------------------------------------
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Write this module's own entries (not its children's) into ``destination``."""
        own = itertools.chain(self._parameters.items(),
                              ((n, b) for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set))
        for name, tensor in own:
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """All parameters and persistent buffers by name, sharing memory with the module.

        ``keep_vars`` keeps the tensors as they are instead of detached. ``destination`` and ``prefix`` are for
        collecting several modules in one dict (positional use of the three is PyTorch's old spelling).
        """
        if args:
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination", destination)
            prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = result
        return destination

    # -- loading ----------------------------------------------------------------------------------------------------
    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the tensors of ``state_dict`` into the module's; return the keys that did not fit.

        ``strict`` (the default) makes keys that are missing or too many an error; shapes that differ always are one,
        a RuntimeError that lists every problem. ``assign`` takes the given tensors themselves in place of copying, so
        that dtype and device become theirs; ``requires_grad`` stays the module's.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        missing, unexpected, errors = [], [], []
        self._load_tree(state_dict, "", metadata or {}, assign, missing, unexpected, errors)
        if strict:
            for title, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(0, f"{title} key(s) in state_dict: {', '.join(map(_quoted, keys))}. ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(
                type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)

    def _load_tree(self, state_dict, prefix, metadata, assign, missing, unexpected, errors):
        """Load this module's part of ``state_dict`` (its keys begin with ``prefix``), then its children's."""
        local_metadata = metadata.get(prefix[:-1], {})
        if assign:
            local_metadata = {**local_metadata, "assign_to_params_buffers": True}
        self._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, errors)
        for name, child in self._modules.items():
            if child is not None:
                child_prefix = f"{prefix}{name}."
                theirs = {k: v for k, v in state_dict.items() if k.startswith(child_prefix)}
                child._load_tree(theirs, child_prefix, metadata, assign, missing, unexpected, errors)
        keys = _IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected "
                                     "to return new values; change incompatible_keys in place instead.")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                              error_msgs):
        """Load this module's own entries. Subclasses override it to read what their older versions wrote."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}
        own = {n: t for n, t in {**self._parameters, **persistent}.items() if t is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, tensor, key, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + EXTRA_STATE:
                    first, *rest = key[len(prefix):].split(".", 1)
                    if first not in (self._modules if rest else own):
                        unexpected_keys.append(key)

    def _load_one(self, name, tensor, key, new, assign):
        """Put ``new`` into the parameter or buffer ``tensor``; return what is wrong with it, if anything."""
        if not isinstance(new, Tensor):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                    f"from checkpoint but received {type(new)}")
        lazy = is_lazy(tensor)
        if not lazy and tensor.dim() == 0 and new.dim() == 1:
            new = new[0]                    # scalars were saved with one dimension before PyTorch 0.4
        if not lazy and new.shape != tensor.shape:
            return (f"size mismatch for {key}: copying a param with shape {new.shape} from checkpoint, "
                    f"the shape in current model is {tensor.shape}.")
        if tensor.is_meta and not new.is_meta and not assign:
            warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                 f"model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                 f"dictionary to their corresponding key in the module instead of copying them in place?)")
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(new)
                elif isinstance(tensor, Parameter):
                    new = new if isinstance(new, Parameter) else Parameter(new, requires_grad=tensor.requires_grad)
                    setattr(self, name, new.requires_grad_(tensor.requires_grad))
                else:
                    setattr(self, name, new)
        except Exception as error:
            return (f'While {"assigning" if assign else "copying"} the parameter named "{key}", whose dimensions in '
                    f"the model are {tensor.size()} and whose dimensions in the checkpoint are {new.size()}, "
                    f"an exception occurred : {error.args}.")
        return None

    def _load_extra_state(self, state_dict, key, strict, missing_keys, unexpected_keys):
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)


class _LoadPreHook:
    """A load hook that passes its module first, if it was registered so. A class, so that modules can be pickled."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, module

    def __call__(self, *args):
        return self.hook(*args) if self.module is None else self.hook(self.module, *args)


def _quoted(key):
    return f'"{key}"'
