"""``Module``: the base class of every layer and model.

A module keeps three dicts, of parameters, buffers and child modules. Assigning an attribute files it in the right one,
and everything else (moving to a device, collecting parameters for an optimiser, saving) is a walk over the dicts of
the module and its descendants. Saving and loading live in ``state.py``, hooks in ``hooks.py``.
"""

import difflib
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.dtypes import bfloat16, float16, float32, float64
from ...core.registry import guests
from ...core.tensor import Tensor
from ...explain.names import NoAttribute
from ...ops.creation.create import empty_like
from ..hooks import (  # noqa: F401  (PyTorch has the registrations here)
    Hooked,
    global_call_hooks,
    note_change,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from ..parameter import Buffer, Parameter, parse_to, typename
from ..state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from ..state import Stateful, _IncompatibleKeys  # noqa: F401  (PyTorch has them here)

__all__ = ["Module"]


class Module(Hooked, Stateful):
    """Base class of layers and models.

    A subclass calls ``super().__init__()``, assigns its parameters and child modules as attributes, and defines
    ``forward``. Calling the module calls ``forward``.

    >>> import minitorch
    >>> from minitorch import nn
    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.inner = nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.inner(self.inner(x))
    >>> net = Twice()
    >>> [name for name, _ in net.named_parameters()]
    ['inner.weight', 'inner.bias']
    >>> net(minitorch.zeros(5, 2)).shape
    torch.Size([5, 2])
    """

    training: bool
    dump_patches = False
    # If True, __init__ passes its arguments on to the next class, for modules with a second base
    # class.
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            _no_arguments(type(self).__name__, args, kwargs)
        # Straight into __dict__: __setattr__ needs these to be there.
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(),
                             _modules={})
        self._init_hooks()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:                                      # of any signature: to a type checker, no override is wrong
        forward: Callable[..., Any]
    else:
        def forward(self, *input):
            """Compute the module's result. Every subclass defines it."""
            own = vars(type(self)) if type(self) is not Module else ()
            close = difflib.get_close_matches("forward", own)
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function'
                                      + (f": it has `{close[0]}`" if close else ""))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or global_call_hooks):
            return self._call_with_hooks(*args, **kwargs)
        return self.forward(*args, **kwargs)

    # -- registration -----------------------------------------------------------------------------------------------
    def register_parameter(self, name, param):
        """Add ``param`` (a ``Parameter`` or None) under ``name``; afterwards it is an attribute too."""
        self._check_name("parameter", name, self.__dict__.get("_parameters"))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' "
                            "(torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                             f"explicitly. To express '{name}' as a function of another Tensor, compute the value in "
                             "the forward() method.")
        self._parameters[name] = registered("parameter", self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Add ``tensor`` (or None) as state that is not a parameter, such as a running mean.

        It moves with the module; ``persistent=False`` leaves it out of the ``state_dict``.
        """
        self._check_name("buffer", name, self.__dict__.get("_buffers"))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                            "(torch Tensor or None required)")
        self._buffers[name] = registered("buffer", self, name, tensor)
        self._set_persistent(name, persistent)

    def add_module(self, name, module):
        """Add ``module`` (or None) as a child under ``name``; afterwards it is an attribute too."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self.__dict__.get("_modules"))
        self._modules[name] = registered("module", self, name, module)

    register_module = add_module

    def _check_name(self, kind, name, place):
        if place is None:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call: write super().__init__() "
                                 f"as the first line of {type(self).__name__}.__init__")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in place:
            raise KeyError(f"attribute '{name}' already exists")

    def _set_persistent(self, name, persistent):
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def __setattr__(self, name, value):
        note_change()
        kept = self.__dict__
        if isinstance(value, Parameter):
            self._leave_other_places(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif name in kept.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' "
                                "(torch.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._leave_other_places(name, "_modules", "module")
            kept["_modules"][name] = registered("module", self, name, value)
        elif name in kept.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' "
                                "(torch.nn.Module or None expected)")
            kept["_modules"][name] = registered("module", self, name, None)
        elif isinstance(value, Buffer) or name in kept.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            if isinstance(value, Tensor):
                refuse_data(self, name, value)
            object.__setattr__(self, name, value)

    def _set_buffer(self, name, value):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' "
                            "(torch.nn.Buffer, torch.Tensor or None expected)")
        if isinstance(value, Buffer):
            self._leave_other_places(name, "_buffers", "buffer")
            self._set_persistent(name, value.persistent)
        self._buffers[name] = registered("buffer", self, name, value)

    def _leave_other_places(self, name, place, what):
        """Before ``name`` enters the dict ``place``, remove it from the other dicts."""
        kept = self.__dict__
        if place not in kept:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: write super().__init__() "
                                 f"as the first line of {type(self).__name__}.__init__")
        kept.pop(name, None)
        for other in ("_parameters", "_buffers", "_modules"):
            if other != place:
                kept[other].pop(name, None)
        if place != "_buffers":
            kept["_non_persistent_buffers_set"].discard(name)

    def __getattr__(self, name: str) -> Any:
        # Called only for names that are not ordinary attributes. No loop: every use of a weight comes here.
        kept = self.__dict__
        if "_parameters" in kept:
            found = kept["_parameters"]
            if name in found:
                return found[name]
            found = kept["_modules"]
            if name in found:
                return found[name]
            found = kept["_buffers"]
            if name in found:
                return found[name]
        text = f"'{type(self).__name__}' object has no attribute '{name}'"
        raise AttributeError(NoAttribute(text, name, lambda: Module.__dir__(self)), name=name)

    def __delattr__(self, name):
        note_change()
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        kept = vars(self)                                  # without dictionaries before `Module.__init__` has run
        names = {*dir(type(self)), *kept, *(n for part in ("_parameters", "_modules", "_buffers")
                                            for n in kept.get(part, ()))}
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self._init_hooks()          # a file of an older version may lack some

    # -- finding by path --------------------------------------------------------------------------------------------
    def get_submodule(self, target):
        """The descendant at the dotted path ``target``; "" is the module itself. AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            module = _attribute(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target):
        """The parameter at the dotted path ``target``; AttributeError if there is none."""
        owner, _, name = target.rpartition(".")
        param = _attribute(self.get_submodule(owner), name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target):
        """The buffer at the dotted path ``target``; AttributeError if there is none."""
        owner, _, name = target.rpartition(".")
        module = self.get_submodule(owner)
        buffer = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def set_submodule(self, target, module, strict=False):
        """Put ``module`` at the dotted path ``target``. ``strict``: only where there is one already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        owner, _, name = target.rpartition(".")
        parent = self.get_submodule(owner)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)      # complains if nothing, or no module, is there
        parent._modules[name] = registered("module", parent, name, module)

    # -- walking ----------------------------------------------------------------------------------------------------
    def named_children(self):
        """``(name, module)`` for each direct child, every module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The direct children, every module once."""
        return (module for _, module in self.named_children())

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """``(path, module)`` for the module itself and all descendants, in order of registration."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate=True):
        """The module itself and all its descendants."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """The ``(name, value)`` pairs of ``get_members_fn(module)``, with paths, over the module's descendants."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """``(path, parameter)`` for the parameters of the module and, with ``recurse``, of its descendants.

        A parameter that is used in two places appears once, unless ``remove_duplicate=False``.
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, as an optimiser wants them."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """``(path, buffer)``, as ``named_parameters``."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def apply(self, fn):
        """Call ``fn(module)`` on every descendant, children first, and on the module itself; return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- converting: in place, so that an optimiser's parameters stay the ones it knows --------------------------------
    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by ``fn`` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for tensor in self._parameters.values():
            while tensor is not None:       # the parameter, then its gradient
                with no_grad():
                    new = fn(tensor)
                if new is not tensor:
                    tensor.data = new
                tensor = tensor.grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        note_change()
        return self

    def to(self, *args, **kwargs):
        """Move and cast the module in place: ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``.

        ``dtype`` must be floating point or complex (TypeError otherwise) and leaves integer buffers alone.
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, "
                            f"but got desired dtype={dtype}")

        def convert(t):
            if device is not None and t.is_meta and Device(device).type != "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty"
                                          "() instead of torch.nn.Module.to() when moving module from meta to a "
                                          "different device.")
            cast = dtype if t.is_floating_point() or t.is_complex() else None
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, cast, non_blocking, memory_format=memory_format)
            return t.to(device, cast, non_blocking)

        return self._apply(convert)

    def cpu(self):
        """Move the module to the CPU, in place."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None):
        """Move the module to a GPU (the current one if ``device`` is None), in place."""
        return self._apply(lambda t: t.cuda(device))

    def type(self, dst_type):
        """Cast all parameters and buffers, integer buffers too, to ``dst_type``, in place."""
        return self._apply(lambda t: t.type(dst_type))

    def _cast_floats(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Cast floating point parameters and buffers to float32, in place."""
        return self._cast_floats(float32)

    def double(self):
        """Cast floating point parameters and buffers to float64, in place."""
        return self._cast_floats(float64)

    def half(self):
        """Cast floating point parameters and buffers to float16, in place."""
        return self._cast_floats(float16)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16, in place."""
        return self._cast_floats(bfloat16)

    def to_empty(self, *, device, recurse=True):
        """Move the module to ``device`` without copying: the values afterwards are undefined."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def share_memory(self):
        """Move parameters, gradients and buffers to memory that processes share: see `Tensor.share_memory_`."""
        params = list(self.parameters())
        guests.share_memory([*params, *[p.grad for p in params if p.grad is not None], *self.buffers()])
        return self

    def compile(self, *args, **kwargs):
        """Compile `forward` in place, with `minitorch.compile`'s arguments."""
        fullgraph = kwargs.get("fullgraph", False)
        self.__dict__["forward"] = guests.Compiled(self.forward, fullgraph, [*self.modules()])

    # -- training -----------------------------------------------------------------------------------------------------
    def train(self, mode=True):
        """Set ``training`` here and in all descendants; what it changes is each layer's matter (dropout, norms)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Switch recording on or off for every parameter; False freezes the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters or, with ``set_to_none=False``, fill them with zeros in place."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                param.grad = param.grad.detach()
                param.grad.zero_()

    # -- printing -----------------------------------------------------------------------------------------------------
    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """The text between the parentheses of the module's own line; subclasses list their arguments here."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if children or len(lines) > 1:
            body = "".join(f"\n  {line}" for line in lines + children) + "\n"
        else:
            body = extra
        return f"{self._get_name()}({body})"

    def _repr_html_(self):
        """The tree of modules with their parameters, for notebooks; None after
        ``set_printoptions(html=False)``, and where `viz` is not there."""
        return guests.module_html(self) if "module_html" in guests else None


def refuse_data(module, name, value):
    """TypeError for data where a layer of this package has a setting: ``nn.Softmax(x)`` makes a
    layer and computes nothing. Numbers may be 0-d tensors; utilities set weights and biases."""
    cls = type(module)
    if (value.ndim and name not in ("weight", "bias")
            and cls.__module__.startswith(__name__.rpartition(".")[0])
            and name in inspect.signature(cls.__init__).parameters):
        raise TypeError(made_of_data(cls, name, value))


def made_of_data(cls, name, value):
    """The error text for a layer that is made of tensors, and not called with them."""
    arguments = "input, target" if cls.__name__.endswith("Loss") else "input"
    return (f"nn.{cls.__name__}(...) makes a layer, and its argument '{name}' is a setting, not a "
            f"tensor of shape {list(value.shape)}: make the layer first, then call it with tensors, "
            f"as in `nn.{cls.__name__}(...)({arguments})`")


def indented(text, spaces=2):
    """``text`` with every line but the first moved right."""
    return text.replace("\n", "\n" + " " * spaces)


def _attribute(module, name):
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


for part in (Hooked, Stateful):                            # texts of methods, help and tracebacks name Module
    for function in vars(part).values():
        if isinstance(function, FunctionType):
            function.__qualname__ = f"Module.{function.__name__}"


def _no_arguments(name, args, kwargs):
    if kwargs:
        raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if args:
        raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
