"""Schedules that a short formula defines.

`get_lr` goes from the present learning rate to the next one, so that several schedules can act on one optimiser;
`_get_closed_form_lr` gives the same from the initial learning rate.
"""

from bisect import bisect_right
from collections import Counter

from .base import LRScheduler, saved_function

__all__ = ["ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR",
           "StepLR"]


class _WithFunctions(LRScheduler):
    """A schedule given by functions of the epoch: one for all groups, or a list with one for each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        n = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            lr_lambda = [lr_lambda] * n
        elif len(lr_lambda) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        return {**super().state_dict(), "lr_lambdas": [saved_function(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict):
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_WithFunctions):
    """The initial learning rate times ``lr_lambda(epoch)``; `lr_lambda` is a function or a list, one for each group.

    Functions are not part of the state dict; the attributes of callable objects are.
    """

    def get_lr(self):
        self._warn_if_called_directly()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_WithFunctions):
    """In each epoch the learning rate is multiplied by ``lr_lambda(epoch)``; arguments as for `LambdaLR`."""

    def get_lr(self):
        self._warn_if_called_directly()
        if self._is_initial:
            return self._unchanged()
        return [group["lr"] * f(self.last_epoch)
                for f, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._unchanged()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the epochs `milestones`; one listed twice counts twice."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        if self.last_epoch not in self.milestones:
            return self._unchanged()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times `factor` (0 to 1) for the first `total_iters` epochs, then the full one."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1. Got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        if self.last_epoch == self.total_iters:
            return self._scaled(1.0 / self.factor)
        return self._unchanged()

    def _get_closed_form_lr(self):
        return [lr * (1 if self.last_epoch >= self.total_iters else self.factor) for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The learning rate times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1. Got "
                             f"{start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1. Got {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        rise = self.end_factor - self.start_factor
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self):
        way = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * way
        return [lr * factor for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` in every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        return self._unchanged() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self):
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The learning rate times ``(1 - epoch / total_iters) ** power``, 0 from epoch `total_iters` on."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_if_called_directly()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._unchanged()
        left = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return self._scaled(left**self.power)

    def _get_closed_form_lr(self):
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]
