"""``LazyModuleMixin``: modules that learn the shapes of their parameters from their first input."""

from typing import Any

from ...autograd.grad_mode import no_grad
from ...explain.callers import warn
from ..parameter import is_lazy


class LazyModuleMixin:
    """Mix in before the eager class, and define ``initialize_parameters(*args, **kwargs)`` and ``cls_to_become``.

    Parameters that are not known yet are ``UninitializedParameter``; a hook before the first ``forward`` calls
    ``initialize_parameters`` with its arguments, which must ``materialize`` them. Afterwards the module's class is
    ``cls_to_become``, if that is not None. Move the module to its device before the first call, and make the
    optimiser after it.
    """

    cls_to_become: type | None = None
    reset_parameters: Any                                  # the eager class's

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warn("Lazy modules are a new feature under heavy development so changes to the API or functionality "
             "can happen at any moment.")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # As Module does, except that what has no values yet is saved as it is: it cannot be detached.
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            if tensor is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _lazy_load_hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Before loading: give uninitialized tensors the shapes that the file has."""
        for name, tensor in [*self._parameters.items(), *self._buffers.items()]:
            new = state_dict.get(prefix + name)
            if tensor is not None and new is not None and is_lazy(tensor) and not is_lazy(new):
                with no_grad():
                    tensor.materialize(new.shape)

    def initialize_parameters(self, *args, **kwargs):
        """Materialize every uninitialized parameter and buffer; called with the arguments of the first ``forward``."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self):
        """True if some parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in [*self._parameters.values(), *self._buffers.values()])

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class LazyVariant(LazyModuleMixin):
    """The lazy variant of an eager class, its last base, which it becomes: ``class LazyConv1d(_LazyConv, Conv1d)``."""

    def __init_subclass__(cls, **kwargs) -> None:
        super().__init_subclass__(**kwargs)
        eager = cls.__bases__[-1]
        if not issubclass(eager, LazyModuleMixin):         # neither a mixin nor a user's subclass of a lazy layer
            cls.cls_to_become = eager
