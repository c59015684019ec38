"""Averages of weights over the course of training: `AveragedModel`, `SWALR`, `update_bn` and the ways to average.

Izmailov et al., "Averaging weights leads to wider optima and better generalization", UAI 2018 (SWA); an exponential
moving average (EMA) is the other usual choice.
"""

import math
from copy import deepcopy
from itertools import chain

from ..autograd.grad_mode import no_grad
from ..core.dtypes import int64
from ..nn.modules.module import Module
from ..nn.modules.norm import _BatchNorm
from ..ops.creation.create import tensor
from .lr_scheduler.base import LRScheduler, one_per_group

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
           "get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay=0.999):
    """``avg_fn`` of an exponential moving average: ``decay * average + (1 - decay) * current``."""
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """``avg_fn`` of the plain mean of all models so far."""
    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_ema_multi_avg_fn(decay=0.999):
    """``multi_avg_fn`` of an exponential moving average, which updates lists of tensors in place."""
    check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            move_towards(average, current, 1 - decay)
    return ema_update


def get_swa_multi_avg_fn():
    """``multi_avg_fn`` of the plain mean of all models so far, which updates lists of tensors in place."""
    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        weight = 1 / (float(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            move_towards(average, current, weight)
    return swa_update


def check_decay(decay):
    """ValueError unless `decay` is from 0 to 1."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def move_towards(average, current, weight):
    """``average <- (1 - weight) average + weight current``; integers (a count of batches) are rounded towards 0."""
    if average.is_floating_point() or average.is_complex():
        average.add_(current - average, alpha=weight)
    else:
        average.copy_(average * (1 - weight) + current * weight)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's in the course of training.

    Args:
        model: the model to average; it is copied.
        device: where the copy lives, by default where the model is.
        avg_fn: ``avg_fn(average, current, num_averaged)`` returns the new average of one parameter.
        multi_avg_fn: ``multi_avg_fn(averages, currents, num_averaged)`` updates a list of parameters in place. By
            default, the plain mean.
        use_buffers: average the buffers too (running statistics); otherwise they are copied from the model.

    `update_parameters` after an optimiser step takes one more model into the average; `n_averaged` counts them. The
    averaged model is `module`, and calls go to it.

    >>> import minitorch
    >>> model = minitorch.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for value in 1.0, 2.0, 6.0:
    ...     _ = minitorch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item(), averaged.n_averaged.item()
    (3.0, 3)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model):
        """Take the parameters of `model` into the average; the first time they are copied."""
        def tensors(module, buffers):
            return [t.detach() for t in (chain(module.parameters(), module.buffers()) if buffers
                                         else module.parameters())]

        averages = tensors(self.module, self.use_buffers)
        currents = [t.to(average.device) for t, average in zip(tensors(model, self.use_buffers), averages)]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents):
                average.copy_(current)
        elif self.avg_fn is not None:
            for average, current in zip(averages, currents):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for device, group in by_kind(averages, currents).items():
                update(*group, self.n_averaged.to(device[0]))
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1


def by_kind(averages, currents):
    """The two lists split by device and dtype, as ``multi_avg_fn`` expects them."""
    groups = {}
    for average, current in zip(averages, currents):
        group = groups.setdefault((average.device, average.dtype), ([], []))
        group[0].append(average)
        group[1].append(current)
    return groups


@no_grad()
def update_bn(loader, model, device=None):
    """Compute the running statistics of all batch norms again: a pass of `loader`'s batches through `model`.

    A batch is a tensor, or a list or tuple that begins with one; it is moved to `device` if given. Averaged weights
    need this, since no statistics were ever taken with them.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [module.momentum for module in norms]
    was_training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None                             # the plain mean over all batches
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in zip(norms, momenta):
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Go from the present learning rate to `swa_lr` in `anneal_epochs` epochs, and stay there.

    Args:
        optimizer: whose learning rates are set.
        swa_lr: where to, a number or a list with one for each group.
        anneal_epochs: how many epochs it takes, 0 for at once.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: the last epoch of an interrupted training.
    """

    _not_saved = ("optimizer", "anneal_func")

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for group, lr in zip(optimizer.param_groups, one_per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, way):
        """How much of the change is made at `way` from 0 to 1."""
        return way if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * way)) / 2

    def get_lr(self):
        self._warn_if_called_directly()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs)))) for s in (step - 1, step))
        lrs = []
        for group in self.optimizer.param_groups:
            lr, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (lr - before * goal) / (1 - before)
            lrs.append(goal * now + start * (1 - now))
        return lrs
