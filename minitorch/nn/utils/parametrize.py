"""Parametrizations: a parameter or buffer computed, at every access, from another one by a module.

``register_parametrization(layer, "weight", Symmetric())`` makes ``layer.weight`` the result of ``Symmetric()`` on
``layer.parametrizations.weight.original``, which is what an optimiser sees. The layer gets a class of its own,
``Parametrized<Class>``, with a property for each such tensor.
"""

import copy
from collections.abc import Sequence
from contextlib import contextmanager

from ...autograd.grad_mode import no_grad
from ...core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_cache: dict = {}       # (id of module, name) -> tensor, while ``cached()`` is on
_cached_depth = 0


@contextmanager
def cached():
    """Inside, every parametrized tensor is computed once and then kept; leaving the outermost block forgets them."""
    global _cached_depth
    _cached_depth += 1
    try:
        yield
    finally:
        _cached_depth -= 1
        if not _cached_depth:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_same(what, got, expected, dtype_only=False):
    if not isinstance(got, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(got).__name__}")
    if got.dtype is not expected.dtype:
        raise ValueError(f"{what} may not change the dtype of the tensor, unless the `unsafe` flag is enabled. "
                         f"Expected {expected.dtype}, got {got.dtype}")
    if not dtype_only and got.shape != expected.shape:
        raise ValueError(f"{what} may not change the shape of the tensor, unless the `unsafe` flag is enabled. "
                         f"Expected {expected.shape}, got {got.shape}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the tensor (or tensors) they start from.

    ``original`` is kept as it is, or ``original0``, ``original1``, ... if the first parametrization takes several
    tensors, as its ``right_inverse`` shows by returning a sequence. ``unsafe`` switches off the checks of shape and
    dtype.
    """

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new = self._inverse(original)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                             f"Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        shape, dtype = original.shape, original.dtype
        if self.is_tensor:
            if new.dtype is not dtype:
                raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype. "
                                 f"original.dtype: {dtype}, right_inverse(original).dtype: {new.dtype}")
            with no_grad():
                original.data = new.detach()        # the parameter itself stays, for the optimiser's sake
            _register(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                     f"Got element {i} of the sequence with type {type(part).__name__}.")
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            if result.dtype is not dtype or result.shape != shape:
                raise ValueError("Registering a parametrization may not change the dtype or shape of the tensor, "
                                 f"unless `unsafe` flag is enabled. Before: {dtype}, {shape}; after: {result.dtype}, "
                                 f"{result.shape}")

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def _inverse(self, value):
        """``value`` taken back through ``right_inverse`` of every module that has one."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                continue
            try:
                value = module.right_inverse(value)
            except NotImplementedError:
                pass
        return value

    def right_inverse(self, value):
        """Set the originals so that the parametrized tensor becomes ``value``; every module needs a
        ``right_inverse``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            if self.is_tensor and not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if len(values) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                                 f"Got a sequence of length {len(values)}.")
            for original, new in zip(self._originals(), values):
                if new.dtype is not original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {new.dtype} while `original` "
                                     f"has dtype {original.dtype}")
                original.data = new.detach()

    def forward(self):
        first, *rest = self
        x = first(*self._originals())
        for module in rest:
            x = module(x)
        return x


def _property(name):
    def get(self):
        if not _cached_depth:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set_value(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, set_value)


def _set_class(module, names):
    """Give ``module`` a fresh subclass of its own class with a property for each of ``names``; none: its own class.

    Fresh, so that a copy of the module can lose a parametrization and leave the other one's alone.
    """
    base = type_before_parametrizations(module)
    if not names:
        module.__class__ = base
        return

    def getstate(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). "
                           "Save model.state_dict(), and load it into a module parametrized the same way.")

    def deepcopy(self, memo):
        new = object.__new__(base)
        memo[id(self)] = new
        new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        _set_class(new, names)
        return new

    module.__class__ = type(f"Parametrized{base.__name__}", (base,), {
        "__getstate__": getstate, "__deepcopy__": deepcopy, "_parametrized": True, "__module__": base.__module__,
        **{name: _property(name) for name in names}})


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Make the parameter or buffer ``tensor_name`` of ``module`` the output of ``parametrization``; return the module.

    Registered a second time, the new one is applied to the result of the first. ``parametrization.right_inverse``,
    if there is one, gives the initial original, and allows assignment. ``unsafe`` allows shape or dtype to change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_chained(getattr(module, tensor_name), parametrization)
        chain = module.parametrizations[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        chain = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = chain
        _set_class(module, list(module.parametrizations))
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def _check_chained(value, parametrization):
    result = parametrization(value)
    _check_same("A parametrization", result, value)
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(result)
        except NotImplementedError:
            return
        _check_same("parametrization.right_inverse", back, value)


def is_parametrized(module, tensor_name=None):
    """True if ``module`` has a parametrized tensor, or one of that name."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make ``tensor_name`` an ordinary parameter or buffer again: with its present value, or with the original's
    (``leave_parametrized=False``, for a single original only). Returns the module."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        original = chain.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    del module.parametrizations[tensor_name]
    names = list(module.parametrizations)
    _set_class(module, names)
    if not names:
        del module.parametrizations
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module):
    """The module's class, not counting the one that parametrizations gave it."""
    cls = type(module)
    return cls.__bases__[0] if "_parametrized" in cls.__dict__ else cls


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Put copies of the parametrizations of ``from_module`` (of one tensor, or all) on ``to_module``, with the values
    of their originals. Returns ``to_module``."""
    if not is_parametrized(from_module):
        return to_module
    if not isinstance(from_module, Module) or not isinstance(to_module, Module):
        raise AssertionError("both must be modules")
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        chain = from_module.parametrizations[name]
        for parametrization in chain:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=chain.unsafe)
        with no_grad():
            for new, old in zip(to_module.parametrizations[name]._originals(), chain._originals()):
                new.data = old.detach().clone()
    return to_module
