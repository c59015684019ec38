"""Schedules that go up and down: `CosineAnnealingLR CosineAnnealingWarmRestarts CyclicLR OneCycleLR`."""

import math

from .base import LRScheduler, check_optimizer, one_per_group, saved_function, set_value

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


def half_cosine(start, end, way):
    """From `start` to `end` along half a cosine, for `way` from 0 to 1."""
    return end + (start - end) / 2.0 * (1 + math.cos(math.pi * way))


def straight(start, end, way):
    """From `start` to `end` along a line, for `way` from 0 to 1."""
    return start + (end - start) * way


class CosineAnnealingLR(LRScheduler):
    """Down from the initial learning rate to `eta_min` along half a cosine in `T_max` epochs, then up again.

    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017, equation 5, without
    the restarts. In the recursive form other schedules can act beside it.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        t, T, least = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._unchanged()
        if self._step_count == 1 and t > 0:                # resumed
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (t - 1 - T) % (2 * T) == 0:                     # at the bottom the recursion would divide by zero
            rise = (1 - math.cos(math.pi / T)) / 2
            return [group["lr"] + (lr - least) * rise for lr, group in zip(self.base_lrs, groups, strict=True)]
        ratio = (1 + math.cos(math.pi * t / T)) / (1 + math.cos(math.pi * (t - 1) / T))
        return [least + (group["lr"] - least) * ratio for group in groups]

    def _get_closed_form_lr(self):
        return [half_cosine(lr, self.eta_min, self.last_epoch / self.T_max) for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along half a cosine, again and again: first in `T_0` epochs, then `T_mult` times as many.

    `step` also takes fractions of epochs. Loshchilov and Hutter, "SGDR", ICLR 2017.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        return [half_cosine(lr, self.eta_min, self.T_cur / self.T_i) for lr in self.base_lrs]

    def step(self, epoch=None):
        """Go to the next epoch, or to `epoch`, which may be a fraction such as ``epoch + batch / batches``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif self.T_mult == 1 or epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:                                              # n whole periods took T_0 (T_mult^n - 1) / (T_mult - 1)
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult**n
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        self._write(self.get_lr())
        self._get_lr_called_within_step = False


class _WithMomentum(LRScheduler):
    """A schedule that may also move the momentum, against the learning rate."""

    def _start_momentum(self, base_momentum, max_momentum, last_epoch):
        """Check that there is a momentum (or beta1) and set it to its maximum; returns the limits for each group."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        most = one_per_group("max_momentum", optimizer, max_momentum)
        least = one_per_group("base_momentum", optimizer, base_momentum)
        if last_epoch == -1:
            for group, high, low in zip(optimizer.param_groups, most, least, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return least, most

    def _set_momentum(self, group, momentum):
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Up from `base_lr` to `max_lr` in `step_size_up` steps and down again in `step_size_down`, again and again.

    Args:
        optimizer: whose learning rates are set.
        base_lr, max_lr: the limits, numbers or lists with one for each group.
        step_size_up, step_size_down: steps of the two halves of a cycle; `step_size_down` is `step_size_up` if None.
        mode: ``"triangular"``; ``"triangular2"``: each cycle half as high; ``"exp_range"``: ``gamma ** step`` as high.
        gamma: see `mode`.
        scale_fn, scale_mode: a function in place of `mode`, of the number of the ``"cycle"`` or of ``"iterations"``.
        cycle_momentum, base_momentum, max_momentum: move the momentum (or beta1) the other way round.
        last_epoch: the last step of an interrupted training.

    Smith, "Cyclical learning rates for training neural networks", WACV 2017.
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular",
                 gamma=1.0, scale_fn=None, scale_mode="cycle", cycle_momentum=True, base_momentum=0.8,
                 max_momentum=0.9, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = one_per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None: expected 'triangular', 'triangular2', 'exp_range' "
                             f"or a scale_fn, got mode={mode!r}")
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The height of cycle or step `x`, as `mode` or the function given say."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        self._warn_if_called_directly()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        way = 1.0 + self.last_epoch / self.total_size - cycle              # 0 to 1 within the cycle
        height = way / self.step_ratio if way <= self.step_ratio else (way - 1) / (self.step_ratio - 1)
        height = height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            limits = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, least, most in limits:
                self._set_momentum(group, most - (most - least) * height)
        return [least + (most - least) * height for least, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self):
        return {**super().state_dict(), "_scale_fn_custom": saved_function(self._scale_fn_custom)}

    def load_state_dict(self, state_dict):
        saved = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)


class OneCycleLR(_WithMomentum):
    """Up from ``max_lr / div_factor`` to `max_lr` and down to a small fraction of where it began, once.

    Args:
        optimizer: whose learning rates are set.
        max_lr: the peak, a number or a list with one for each group.
        total_steps: length of the cycle in steps, or instead of it `epochs` and `steps_per_epoch`.
        pct_start: the fraction of it that goes up.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum, base_momentum, max_momentum: move the momentum (or beta1) the other way round.
        div_factor: the start is ``max_lr / div_factor``.
        final_div_factor: the end is the start divided by it.
        three_phase: come down to the start first, as fast as it went up, and to the end in a third phase.
        last_epoch: the last step of an interrupted training.

    Smith and Topin, "Super-convergence", 2017. `step` is to be called after every batch; ValueError when called more
    often than `total_steps`.
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3,
                 anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0,
                 final_div_factor=1e4, three_phase=False, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = number_of_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        up = pct_start * self.total_steps
        phases = [(up - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases += [(2 * up - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                       (self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        else:
            phases += [(self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        keys = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
        self._schedule_phases = [dict(zip(keys, phase)) for phase in phases]
        peaks = one_per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["initial_lr"], group["max_lr"] = peak / div_factor, peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        way = (step - start) / (end - start)
        between = half_cosine if self._anneal_func_type == "cos" else straight
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(group, between(group[phase["start_momentum"]], group[phase["end_momentum"]], way))
        return [between(group[phase["start_lr"]], group[phase["end_lr"]], way) for group in groups]


def number_of_steps(total_steps, epochs, steps_per_epoch):
    """The length of the cycle, from the arguments of `OneCycleLR`."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch} if total_steps is None else {
        "total_steps": total_steps}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())
