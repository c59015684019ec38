"""Hooks of modules: functions called before and after ``forward`` and around a module's backward pass.

``Hooked`` is the part of ``Module`` that keeps them and runs them. A module without hooks never comes here: its
``__call__`` goes straight to ``forward``.
"""

from collections import OrderedDict
from collections.abc import Callable

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..autograd.hooks import RemovableHandle
from ..core.tensor import Tensor
from ..explain.callers import warn

Hooks = OrderedDict[int, Callable]


changes = 0                # how often an attribute of some module was set or deleted: compiled programs ask


def module_changes():
    """(ids of the hooks that apply to every call of a module, how often attributes were set or
    deleted and hooks registered and removed): equal to an earlier answer if no module, and no hook
    of one, has changed since."""
    return (tuple(global_call_hooks),
            (changes, RemovableHandle.next_id, RemovableHandle.removed))


def note_change():
    """Count a change to a module, after which programs look whether it concerns them."""
    global changes
    changes += 1


def add_hook(hooks, hook, *flags, prepend=False):
    """Put ``hook`` into ``hooks`` (and its id into every dict of ``flags``); return the handle."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    for d, value in [(hooks, hook), *((flag, True) for flag in flags)]:
        d[handle.id] = value
        if prepend:
            d.move_to_end(handle.id, last=False)
    return handle


class _Global:
    """Hooks that apply to every module of the process."""

    forward_pre: Hooks = OrderedDict()
    forward: Hooks = OrderedDict()
    forward_with_kwargs: Hooks = OrderedDict()
    forward_always: Hooks = OrderedDict()
    backward_pre: Hooks = OrderedDict()
    backward: Hooks = OrderedDict()
    buffer_registration: Hooks = OrderedDict()
    module_registration: Hooks = OrderedDict()
    parameter_registration: Hooks = OrderedDict()


# The ids of the hooks that apply to every call: what ``Module.__call__`` must look at.
global_call_hooks: Hooks = OrderedDict()


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before the ``forward`` of every module; see ``Module.register_forward_pre_hook``."""
    return add_hook(_Global.forward_pre, hook, global_call_hooks)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call ``hook(module, args, output)`` after the ``forward`` of every module, before the module's own hooks."""
    flags = [_Global.forward_with_kwargs] * with_kwargs + [_Global.forward_always] * always_call
    return add_hook(_Global.forward, hook, global_call_hooks, *flags)


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` before the backward pass of every module."""
    return add_hook(_Global.backward_pre, hook, global_call_hooks)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` once a module's input gradients are known, for every module."""
    return add_hook(_Global.backward, hook, global_call_hooks)


def register_module_backward_hook(hook):
    """The old name of ``register_module_full_backward_hook``; here the two do the same."""
    return add_hook(_Global.backward, hook, global_call_hooks)


def register_module_buffer_registration_hook(hook):
    """Call ``hook(module, name, buffer)`` whenever a buffer is registered; what it returns, if anything, is kept."""
    return add_hook(_Global.buffer_registration, hook)


def register_module_module_registration_hook(hook):
    """Call ``hook(module, name, submodule)`` whenever a child is registered; what it returns, if anything, is kept."""
    return add_hook(_Global.module_registration, hook)


def register_module_parameter_registration_hook(hook):
    """Call ``hook(module, name, param)`` whenever a parameter is registered; what it returns, if anything, is kept."""
    return add_hook(_Global.parameter_registration, hook)


def registered(kind, module, name, value):
    """``value`` after the global registration hooks of ``kind`` ("buffer", "module" or "parameter") have seen it."""
    note_change()
    for hook in getattr(_Global, kind + "_registration").values():
        replaced = hook(module, name, value)
        value = value if replaced is None else replaced
    return value


class _Boundary(Function):
    """The identity on tensors; ``on_backward(grads)`` is called with their gradients and returns what to pass on."""

    generate_vmap_rule = True
    runs_hooks = True                                      # those that users register on modules

    @staticmethod
    def forward(ctx, on_backward, *tensors):
        ctx.on_backward = on_backward
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.on_backward(grads))


def _bounded(values, on_backward):
    """``values`` (a tuple) with its tensors that require grad led through a ``_Boundary``.

    ``on_backward`` receives and returns one gradient per value, None for a value that has none. Returns the new
    tuple, and whether anything was led through.
    """
    where = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not where or not is_grad_enabled():
        return values, False

    def full_width(grads):
        wide = [None] * len(values)
        for i, grad in zip(where, grads):
            wide[i] = grad
        wide = on_backward(tuple(wide))
        return tuple(wide[i] for i in where)

    values = list(values)
    for i, new in zip(where, _Boundary.apply(full_width, *(values[i] for i in where))):
        values[i] = new
    return tuple(values), True


class _AroundBackward:
    """The full backward hooks of one call of a module: a boundary before ``forward`` and one after it."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output = None
        self.inputs = 0
        self.input_bounded = False

    def enter(self, args):
        self.inputs = len(args)
        args, self.input_bounded = _bounded(args, self.at_input)
        return args

    def leave(self, result):
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "backward hooks need forward to return a Tensor or a tuple of Tensors, "
                f"but got {type(result).__name__}; they will not run")
            return result
        values = (result,) if isinstance(result, Tensor) else result
        bounded, _ = _bounded(values, self.at_output)
        if isinstance(result, Tensor):
            return bounded[0]
        return type(result)(*bounded) if hasattr(result, "_fields") else bounded

    def at_output(self, grad_output):
        for hook in self.pre_hooks:
            out = hook(self.module, grad_output)
            if out is not None:
                out = out if isinstance(out, tuple) else (out,)
                self._check("pre hook", "grad_output", out, grad_output)
                grad_output = out
        self.grad_output = grad_output
        if not self.input_bounded:      # no input requires grad, so nobody else will call the hooks
            self.at_input((None,) * self.inputs)
        return grad_output

    def at_input(self, grad_input):
        for hook in self.hooks:
            out = hook(self.module, grad_input, self.grad_output)
            if out is not None:
                out = out if isinstance(out, tuple) else (out,)
                self._check("hook", "grad_input", out, grad_input)
                grad_input = out
        return grad_input

    @staticmethod
    def _check(kind, what, got, expected):
        if len(got) != len(expected):
            raise RuntimeError(f"Backward {kind} returned an invalid number of {what}, "
                               f"got {len(got)}, but expected {len(expected)}")


class Hooked:
    """Registering and running the hooks of a module. A mixin of ``Module``."""

    def _init_hooks(self):
        for name in ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
                     "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
                     "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                     "_load_state_dict_post_hooks"):
            self.__dict__.setdefault(name, OrderedDict())

    # -- registering ------------------------------------------------------------------------------------------------
    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call ``hook(module, args)`` before every ``forward``; what it returns, unless None, replaces the arguments.

        A single value stands for a tuple of one. With ``with_kwargs`` the hook is ``hook(module, args, kwargs)`` and
        returns None or ``(args, kwargs)``. ``prepend`` puts it before the hooks that are there already.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, *flags, prepend=prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call ``hook(module, args, output)`` after every ``forward``; what it returns, unless None, is the new output.

        With ``with_kwargs`` the hook is ``hook(module, args, kwargs, output)``. With ``always_call`` it also runs when
        ``forward`` raises.
        """
        flags = [self._forward_hooks_with_kwargs] if with_kwargs else []
        flags += [self._forward_hooks_always_called] if always_call else []
        return add_hook(self._forward_hooks, hook, *flags, prepend=prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_output)`` before the module's backward pass; it may return a new ``grad_output``."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are known.

        Both are tuples, with None where a positional argument or result is not a tensor or needs no
        gradient; keyword arguments are not shown. A returned tuple replaces ``grad_input``. If no
        input requires a gradient the hook runs with Nones as soon as ``grad_output`` is there.
        """
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """The old name of ``register_full_backward_hook``, and here the same.

        In PyTorch this one sees the gradients of the last op inside the module only; that was found to be a mistake
        there, and is not repeated here.
        """
        return add_hook(self._backward_hooks, hook)

    # -- running ----------------------------------------------------------------------------------------------------
    def _call_with_hooks(self, *args, **kwargs):
        """``forward`` with every hook of the call; ``Module.__call__`` comes here only if there is one."""
        called = set()
        hooks = [*_Global.forward.items(), *self._forward_hooks.items()]
        try:
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            backward = self._backward_frame()
            if backward is not None:
                args = backward.enter(args)
            result = self.forward(*args, **kwargs)
            for key, hook in hooks:
                called.add(key)
                result = self._run_forward_hook(key, hook, args, kwargs, result)
            return result if backward is None else backward.leave(result)
        except Exception:
            self._run_always_called(hooks, called, args, kwargs)
            raise

    def _run_forward_pre_hooks(self, args, kwargs):
        for key, hook in [*_Global.forward_pre.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                out = hook(self, args, kwargs)
                if out is None:
                    continue
                if not (isinstance(out, tuple) and len(out) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                       f"but got {out}.")
                args, kwargs = out
            else:
                out = hook(self, args)
                if out is not None:
                    args = out if isinstance(out, tuple) else (out,)
        return args, kwargs

    def _run_forward_hook(self, key, hook, args, kwargs, result):
        if key in self._forward_hooks_with_kwargs or key in _Global.forward_with_kwargs:
            out = hook(self, args, kwargs, result)
        else:
            out = hook(self, args, result)
        return result if out is None else out

    def _run_always_called(self, hooks, called, args, kwargs):
        """After an error: the ``always_call`` hooks that have not run yet; their own errors become warnings."""
        for key, hook in hooks:
            if key in called or not (key in self._forward_hooks_always_called or key in _Global.forward_always):
                continue
            try:
                self._run_forward_hook(key, hook, args, kwargs, None)
            except Exception as error:
                warn("forward hook with ``always_call=True`` raised an exception that was silenced "
                     f"as another error was raised in forward: {error}")

    def _backward_frame(self):
        hooks = [*_Global.backward.values(), *self._backward_hooks.values()]
        pre_hooks = [*_Global.backward_pre.values(), *self._backward_pre_hooks.values()]
        return _AroundBackward(self, hooks, pre_hooks) if hooks or pre_hooks else None
