"""A module whose forward pass is compiled, as ``minitorch.compile(model)`` returns it."""

from ..nn import Module
from .compiled import Compiled

__all__ = ["CompiledModule"]


class CompiledModule(Module):
    """`model` behind `compile`: the same parameters, modes and attributes; ``_orig_mod`` is the
    original.

    The names in its `state_dict` begin with ``_orig_mod.``; save the original's to load it
    elsewhere. Attributes, parameters and modules that are set or deleted are the original's, whose
    forward pass reads them.
    """

    def __init__(self, model, fullgraph=False, backend="auto"):
        super().__init__()
        self._orig_mod = model
        self.__dict__["compiled"] = Compiled(model, fullgraph, [*model.modules()], backend=backend)

    def forward(self, *args, **kwargs):
        """The model's result, by its program for these arguments."""
        return self.compiled(*args, **kwargs)

    @property
    def source(self):
        """The source of the program used last."""
        return self.compiled.source

    @property
    def notes(self):
        """A summary of the programs, or why the model runs eagerly."""
        return self.compiled.notes

    def __getattr__(self, name):
        if name == "compiled":                             # while it is being copied or loaded
            raise AttributeError(name)
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_orig_mod"), name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "forward"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return bool(self._orig_mod)

    training = property(lambda self: self._orig_mod.training)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "compiled"}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__["compiled"] = Compiled(self._orig_mod, False, [*self._orig_mod.modules()])
