"""``torch.utils.hooks``: the handle that registrations of hooks return, and marks for hooks that are not saved."""

from ..autograd.hooks import RemovableHandle
from ..explain.callers import warn

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f):
    """Decorator of a hook that is lost when its tensor is saved: `warn_if_has_hooks` warns of it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warn if the tensor has hooks marked by `unserializable_hook`, which are not saved with it."""
    hooks = tensor.hooks if tensor.node is None else tensor.node.hooks
    for hook in () if hooks is None else hooks.pre.values():
        if getattr(hook, "__torch_unserializable__", False):
            warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate "
                 "the function with @torch.utils.hooks.unserializable_hook to suppress this warning")
