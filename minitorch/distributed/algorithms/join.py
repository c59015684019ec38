"""`Join`: training loops of different length, for anything that communicates in each iteration.

A rank whose loop has ended takes part in the calls of the others by *hooks*, until all have ended:

    with Join([model, optimizer]):                         # a DistributedDataParallel, a ZeroRedundancyOptimizer
        for x, y in batches:                               # fewer on some ranks
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
"""

import warnings
from typing import NamedTuple

import numpy as np

from ...extend import get_backend, wrap
from ..collectives import all_reduce
from ..reducing import ReduceOp

__all__ = ["Join", "JoinHook", "Joinable"]

MANY = 1000                                                # iterations without a batch, after which a warning tells


class JoinHook:
    """The work of a rank that has no batches left."""

    def main_hook(self):
        """Take part in the calls of one iteration of the others."""

    def post_hook(self, is_last_joiner):
        """When all are done. `is_last_joiner`: whether this rank was among the last."""


class Config(NamedTuple):
    """The facts that a `Joinable` knows about the block that it takes part in."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable:
    """The base of what can take part in a `Join`.

    A subclass defines `join_hook` and the two properties, and calls ``Join.notify_join_context(self)`` before its calls
    in each iteration.
    """

    _join_config = Config()

    def join_hook(self, **kwargs):
        """The `JoinHook`; `kwargs` are the further arguments of `Join`."""
        raise NotImplementedError(f"{type(self).__name__} must define join_hook()")

    @property
    def join_device(self):
        """The device from which to communicate."""
        raise NotImplementedError(f"{type(self).__name__} must define join_device")

    @property
    def join_process_group(self):
        """The ranks that take part."""
        raise NotImplementedError(f"{type(self).__name__} must define join_process_group")


class Join:
    """A context in which ranks may have different numbers of iterations.

    joinables: a list of `Joinable`s of one group; their hooks run in this order. enable: False makes the block do
    nothing. throw_on_early_termination: RuntimeError on all ranks when the first has no batches left. The further
    arguments go to each ``join_hook``, such as ``divide_by_initial_world_size`` of `DistributedDataParallel`.

    ValueError without joinables, or with several groups.
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self.joinables, self.enable, self.throw = list(joinables), enable, throw_on_early_termination
        groups = [joinable.join_process_group for joinable in self.joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self.group, self.kwargs = groups[0], kwargs

    def __enter__(self):
        if self.enable:
            self.hooks = [joinable.join_hook(**self.kwargs) for joinable in self.joinables]
            for i, joinable in enumerate(self.joinables):
                joinable._join_config = Config(True, self.throw, i == 0)
        return self

    def __exit__(self, kind, error, trace):
        if not self.enable:
            return
        try:
            if kind is None:
                self.wait_for_all()
        finally:
            for joinable in self.joinables:
                joinable._join_config = Config()

    def wait_for_all(self):
        """Take part in the iterations of the others, then run the last hooks."""
        is_last, waited = True, 0
        while summed(self.group, 0):
            if self.throw:
                summed(self.group, 1)
                raise RuntimeError(f"Rank {self.group.ranks[self.group.rank()]} exhausted all inputs.")
            for hook in self.hooks:
                hook.main_hook()
            is_last, waited = False, waited + 1
            if waited == MANY:
                warnings.warn(f"Detected uneven input skew of greater than {MANY}. This means that rank "
                              f"{self.group.ranks[self.group.rank()]} has at least {MANY} fewer inputs than other "
                              f"currently-active ranks. This level of skew could lead to performance degradation "
                              f"during training.", stacklevel=4)
        for hook in self.hooks:
            hook.post_hook(is_last)

    @staticmethod
    def notify_join_context(joinable):
        """Say that this rank is at work; the first joinable of a block does it for all.

        RuntimeError if a rank has ended and the block was told to throw.
        """
        config = joinable._join_config
        if config.enable and config.is_first_joinable:
            group = joinable.join_process_group
            summed(group, 1)
            if config.throw_on_early_termination and summed(group, 0):
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")


def summed(group, number):
    """The sum over the ranks of a number."""
    total = wrap(np.array([number], np.int32), get_backend("cpu"))
    all_reduce(total, ReduceOp.SUM, group)
    return total.item()
