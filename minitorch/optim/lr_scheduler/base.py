"""`LRScheduler`: what all schedules share: counting epochs, writing learning rates, state dicts, warnings."""

import types
from contextlib import contextmanager

from ...core.tensor import Tensor
from ...explain.callers import warn
from ..optimizer import Optimizer
from ..stepping import Stepping, seen

__all__ = ["LRScheduler"]

_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available.")


class LRScheduler(Stepping):
    """Base class of the schedules. Your own defines `get_lr`, the learning rates of epoch ``self.last_epoch``.

    Args:
        optimizer: whose learning rates are set; its groups get an entry ``"initial_lr"``.
        last_epoch: the last epoch of an interrupted training, -1 for a new one.

    An epoch is whatever lies between two calls of `step`, which follow calls of ``optimizer.step()``. Attributes:
    `optimizer`, `base_lrs` (the initial learning rates), `last_epoch`.

    >>> import minitorch
    >>> class Halving(minitorch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimizer = minitorch.optim.SGD([minitorch.zeros(1, requires_grad=True)], lr=8.0)
    >>> schedule = Halving(optimizer)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training "
                               "from a checkpoint but haven't properly loaded the optimizer state\n2. You're using "
                               "last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch(optimizer)
        self._initial_step()

    def _initial_step(self):
        """Set the learning rates of the first epoch."""
        self._step_count = 0
        with flag(self, "_is_initial"):
            self.step()

    def get_last_lr(self):
        """The learning rates that the schedule set last, one for each group."""
        return self._last_lr

    def get_lr(self):
        """The learning rates of epoch `last_epoch`; called by `step`. To look at them call `get_last_lr`."""
        raise NotImplementedError(f"{type(self).__name__} must define get_lr()")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = seen(cls.step)

    @seen
    def step(self, epoch=None):
        """Go to the next epoch. To give its number is deprecated, as in PyTorch."""
        if self._step_count == 1:
            warn_if_out_of_order(self.optimizer)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        with flag(self, "_get_lr_called_within_step"):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = epoch is not None and hasattr(self, "_get_closed_form_lr")
            self._write(self._get_closed_form_lr() if closed else self.get_lr())

    def _write(self, lrs):
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = group_values(self.optimizer, "lr")

    # -- for the formulas ----------------------------------------------------------------------------------
    def _warn_if_called_directly(self):
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                 UserWarning)

    def _scaled(self, factor):
        """The present learning rates times `factor`."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _unchanged(self):
        return group_values(self.optimizer, "lr")

    # -- state ---------------------------------------------------------------------------------------------
    def state_dict(self):
        """Everything but the optimiser, as a dict; functions are left out, callable objects keep their attributes."""
        return {key: value for key, value in self.__dict__.items() if key not in self._not_saved}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned, here or in PyTorch."""
        self.__dict__.update(state_dict)


def check_optimizer(optimizer):
    """TypeError unless it is an `Optimizer`."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


@contextmanager
def flag(scheduler, name):
    """The attribute is True inside the block, False afterwards."""
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


# ------------------------------------------------------------------ values in parameter groups
def copied(value):
    """A learning rate or momentum that later writes in place do not change."""
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer, key):
    """The entry `key` of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group, key, value):
    """Set an entry of a group; a tensor is written to in place, so that who holds it sees the change."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def one_per_group(name, optimizer, value):
    """`value` as a list with an entry for each group; ValueError for a list of another length."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(n)]
    if len(value) != n:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {n}.")
    return [copied(v) for v in value]


# ------------------------------------------------------------------ the order of the two steps
def watch(optimizer):
    """Have the optimiser note that its `step` was called (`Optimizer._opt_called`)."""
    if optimizer._opt_called is None:
        optimizer._opt_called = False
    optimizer.__dict__.setdefault("_watched_step", function_of(optimizer.step))


def function_of(method):
    return getattr(method, "__func__", method)


def warn_if_out_of_order(optimizer):
    """The first learning rate is lost if the schedule steps before the optimiser does."""
    watched = optimizer.__dict__.get("_watched_step")
    if watched is not None and function_of(optimizer.step) is not watched:
        warn("Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
             "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _HOW_TO,
             UserWarning)
    elif not optimizer._opt_called:
        warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
             "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
             "Failure to do this will result in PyTorch skipping the first value of the learning rate "
             "schedule. " + _HOW_TO, UserWarning)


# ------------------------------------------------------------------ functions in state dicts
def saved_function(function):
    """A callable as a state dict keeps it: its attributes, None for a plain function."""
    return None if isinstance(function, types.FunctionType) or function is None else function.__dict__.copy()
