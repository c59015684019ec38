"""`Optimizer`: what all optimisers share: parameter groups, per-parameter state, state dicts, hooks.

An optimiser of your own derives from `Optimizer` and defines `step`; the ones that come with the library, whose
update treats every element alike, derive from `Elementwise` (flat.py).
"""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..autograd.hooks import RemovableHandle
from ..core.dtypes import float32, float64, from_np, get_default_dtype
from ..core.graph import bump_version
from ..core.tensor import Tensor
from ..explain.callers import warn
from . import stepping

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook", "required"]

_global_pre_hooks: OrderedDict = OrderedDict()
_global_post_hooks: OrderedDict = OrderedDict()

# Options that PyTorch added to existing optimisers over the years; a state dict from before lacks them.
_LATER_OPTIONS = {"nesterov": False, "amsgrad": False, "momentum": 0, "centered": False, "maximize": False,
                  "foreach": None, "capturable": False, "differentiable": False, "fused": None,
                  "decoupled_weight_decay": False}


class _Required:
    """The default of an option that has none: a group that does not give it is refused."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()
ParamsT = Iterable          # PyTorch's name for the type of `params`, which annotations of custom optimisers import


def _add_hook(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimiser; see `register_step_pre_hook`."""
    return _add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimiser."""
    return _add_hook(_global_post_hooks, hook)


def _with_hooks(step):
    """`step` between its hooks. A step that calls ``super().step()`` runs them once, around the outer one."""
    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        if type(self).step is not hooked and hasattr(type(self).step, "hooked"):
            return step(self, *args, **kwargs)
        if stepping.observer is not None:
            return stepping.tell(self, hooked, args, kwargs)
        if not (_global_pre_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
                or _global_post_hooks):
            out = step(self, *args, **kwargs)
            if self._opt_called is False:
                self._opt_called = True
            return out
        args = (self, *args)
        for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                                       f"{changed}.")
                args, kwargs = changed
        out = step(*args, **kwargs)
        if self._opt_called is False:                      # a scheduler wants to know
            self._opt_called = True
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
            hook(self, args, kwargs)
        return out
    return hooked


class Optimizer(stepping.Stepping):
    """Base class of all optimisers.

    Args:
        params: the tensors to optimise, in an order that is the same in every run: an iterable of tensors, of
            (name, tensor) pairs, or of dicts, one for each parameter group: ``{"params": [...], "lr": 0.1}``.
        defaults: the options of groups that do not give their own.

    Attributes: `param_groups`, a list of dicts with their options and ``"params"``; `state`, a dict from each
    tensor to the dict of what is remembered for it; `defaults`.

    >>> import minitorch
    >>> class Descent(minitorch.optim.Optimizer):
    ...     def step(self, closure=None):
    ...         with minitorch.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     if p.grad is not None:
    ...                         p -= group["lr"] * p.grad
    >>> w = minitorch.tensor([1.0, 2.0], requires_grad=True)
    >>> descent = Descent([w], {"lr": 0.5})
    >>> (w * w).sum().backward()
    >>> descent.step()
    >>> w.tolist()
    [0.0, 0.0]
    """

    counters: tuple[str, ...] = ("step",)   # the states that are a number, of a type of their own, for each parameter
    _opt_called = None          # None: no scheduler watches; False or True: whether step ran since one does

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls._patch_step_function()

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self._make_hooks()                                 # a subclass may never call this class's `__init__`
        if not hasattr(cls.step, "hooked"):                # somebody has put another one there
            cls._patch_step_function()
        return self

    profile_hook_step = staticmethod(_with_hooks)          # its name in PyTorch

    @classmethod
    def _patch_step_function(cls):
        """Put the hooks around the step of the class."""
        cls.step = _with_hooks(cls.step)
        cls.step.hooked = True

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"a {type(params).__name__}; write [params] for a single one")
        if defaults.get("differentiable"):
            raise NotImplementedError(
                "differentiable=True is not supported: the optimizers here write raw arrays and are never recorded. "
                "Write the update with tensors: g, = autograd.grad(loss, [p], create_graph=True), p = p - lr * g")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._make_hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list: layers kept in a plain list are not seen (use "
                             "nn.ModuleList), and a generator such as model.parameters() gives its items once")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self):
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre",
                     "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    # Hooks and plans are not kept when an optimiser is copied or pickled, as in PyTorch.
    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_hooks()
        for group in self.param_groups:
            for name, value in _LATER_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # -- stepping ------------------------------------------------------------------------------------------
    def step(self, closure=None):
        """Update the parameters from their gradients.

        `closure` evaluates the model again, with gradients, and returns the loss; `step` then returns that loss.
        Parameters whose `grad` is None are left alone.
        """
        raise NotImplementedError(f"{type(self).__name__} must define step(self, closure=None)")

    def zero_grad(self, set_to_none=True):
        """Forget the gradients: set every `grad` to None, or fill it with zeros if `set_to_none` is False.

        The difference shows where a parameter takes no part in the next loss: without a gradient it is not
        updated at all, with one of zeros it still feels momentum and weight decay.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                else:
                    if p.grad.node is not None:
                        p.grad.detach_()
                    p.grad.requires_grad_(False)
                    p.grad.array.fill(0)
                    bump_version(p.grad, "Optimizer.zero_grad")

    # -- parameter groups ----------------------------------------------------------------------------------
    def add_param_group(self, param_group):
        """Add a group of parameters, for instance layers that are unfrozen in the course of training.

        `param_group` is a dict with ``"params"`` (a tensor, an iterable of tensors or of (name, tensor) pairs) and
        any options that shall differ from the defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _unpack_params(param_group)
        for p in param_group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor: give the optimizer the tensors that were created "
                                 "with requires_grad=True, not results computed from them")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(set(param_group["params"])) != len(param_group["params"]):
            warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                 "an error; see github.com/pytorch/pytorch/issues/40967 for more information")
        known = set()
        for group in self.param_groups:
            known.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{kind} to the optimizer")
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # -- state dicts ---------------------------------------------------------------------------------------
    def state_dict(self):
        """The state as ``{"state": {index: {...}}, "param_groups": [{..., "params": [indices]}]}``.

        Parameters are numbered in the order of the groups. The layout is PyTorch's, so that either library loads
        what the other saved. The tensors inside are the live ones: copy the dict (`copy.deepcopy`) or save it to
        keep a moment.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number = {id(p): i for i, p in enumerate(chain.from_iterable(g["params"] for g in self.param_groups))}
        groups = [{**{k: v for k, v in group.items() if k != "params"},
                   "params": [number[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {number[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        found = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict):
        """Take over the state and the options of `state_dict`; parameters are matched by position.

        Tensors are copied, and cast to the dtype and device of their parameter. Unlike in PyTorch, they are never
        shared with `state_dict`, where a second optimiser loaded from a live one would go on changing with it; and
        numbers such as NAdam's ``mu_product`` keep the precision of the default dtype even if the parameters have
        less, so that a resumed training goes on bit for bit.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups: "
                             f"{len(saved)}, the optimizer has {len(self.param_groups)}")
        owner = {}                                         # saved index -> (parameter, its saved group)
        for group, new in zip(self.param_groups, saved):
            if len(group["params"]) != len(new["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                                 f"optimizer's group: {len(new['params'])} parameters instead of "
                                 f"{len(group['params'])}")
            owner.update((index, (p, new)) for index, p in zip(new["params"], group["params"]))
        state = defaultdict(dict)
        for index, entries in state_dict["state"].items():
            if index in owner:
                p, group = owner[index]
                state[p] = _adopt(entries, p, group, self.counters)
            else:
                state[index] = entries
        for group, new in zip(self.param_groups, saved):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # -- hooks ---------------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return the ``(args, kwargs)`` to use."""
        return _add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` before `state_dict` is made."""
        return _add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` on what `state_dict` returns; the hook may return another dict."""
        return _add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` before loading, on a shallow copy; it may return another dict."""
        return _add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` after loading."""
        return _add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _unpack_params(group):
    """Make ``group["params"]`` a list of tensors and, where they came with names, set ``group["param_names"]``."""
    params = group["params"]
    if isinstance(params, Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                        "in sets will change between runs. Please use a list instead.")
    params = list(params)
    names = [p[0] for p in params if isinstance(p, tuple)]
    group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
    if names:
        if len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        group["param_names"] = names


def _adopt(value, p, group, counters, key=None):
    """A copy of a loaded state entry that suits parameter `p`; containers entry by entry."""
    if isinstance(value, Tensor):
        value = value.detach()
        if key == "step":
            dtype = float32 if group.get("fused") or group.get("capturable") else value.dtype
            return value.to("cpu", dtype, copy=True)
        if key in counters:
            return value.to("cpu", from_np(counter_type()), copy=True)
        return value.to(p.device, p.dtype if p.is_floating_point() else value.dtype, copy=True)
    if isinstance(value, dict):
        return {k: _adopt(v, p, group, counters, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_adopt(v, p, group, counters) for v in value)
    return value


# ------------------------------------------------------------------ what the optimisers' constructors share
def require(ok, message):
    """ValueError with `message` unless `ok`."""
    if not ok:
        raise ValueError(message)


def check_lr(lr):
    """A learning rate is a number >= 0 or a tensor of one element, which schedulers then write to in place."""
    require(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")
    require(0.0 <= lr, f"Invalid learning rate: {lr}, expected a number >= 0")


def check_betas(betas):
    """Two decay rates in [0, 1)."""
    for i, beta in enumerate(betas):
        require(0.0 <= beta < 1.0, f"Invalid beta parameter at index {i}: {beta}, expected 0 <= beta < 1")


def check_not_negative(**values):
    """Each named option is >= 0."""
    for name, value in values.items():
        require(0.0 <= value, f"Invalid {name} value: {value}, expected a number >= 0")


def _get_capturable_supported_devices(supports_xla=True):
    """The types of devices whose steps a CUDA graph can hold."""
    return ["cuda"]


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(False, False): each optimiser here has one implementation, and `fused` and `foreach` change
    nothing."""
    return False, False


def check_implementation(foreach, fused, differentiable):
    """`foreach` and `fused` choose a kernel in PyTorch and nothing here; contradictions are still refused."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def counter_type():
    """The NumPy type of step counts and other per-parameter numbers: float32, or float64 if that is the default."""
    return np.dtype(np.float64 if get_default_dtype() is float64 else np.float32)


def number(x):
    """The number in an option that may be a tensor; sums with it round as PyTorch's, in the tensor's precision."""
    return x.backend.to_host(x.array).reshape(())[()] if isinstance(x, Tensor) else x


def loss_of(closure):
    """The loss that `closure` computes with gradients recorded; None without a closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


class OneByOne(Optimizer):
    """An optimiser that updates each parameter as a whole: a subclass defines ``_update(group, p)``."""

    takes_sparse = False                                   # whether gradients may be sparse tensors

    def step(self, closure=None):
        """Update the parameters from their gradients; with a closure, evaluate it first and return its loss."""
        loss = loss_of(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if p.grad.is_sparse and not self.takes_sparse:
                        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
                    self._update(group, p)
        return loss
