"""Levels of forward mode: which are open in a thread."""

import itertools
from typing import Any

from ...core.grad_mode import grad_mode
from ...core.registry import Hook
from .. import api

__all__ = ["Level", "close", "opened", "within"]

_count = itertools.count(1)


class Level:
    """One level of forward mode: a derivative in one direction.

    `name` is for messages, `number` says which of two was opened first, `backends` has the dual
    backend above each other one, `entered` weak references to tensors that became dual by a write.
    """

    above: Any                                             # in `crossing`: the backend on another

    def __init__(self, name=None):
        api.ForwardMode.used = True
        self.name, self.number, self.closed = name, next(_count), False
        self.backends: dict = {}
        self.entered: list = []


class within:
    """A block in which only these levels are open in this thread."""

    def __init__(self, levels):
        self.levels = levels

    def __enter__(self):
        self.outer, grad_mode.levels = grad_mode.levels, self.levels
        return self

    def __exit__(self, *exc):
        grad_mode.levels = self.outer


class opened:
    """A block in which one more level is open, the innermost: ``with opened() as level``."""

    def __init__(self, name=None):
        self.level = Level(name)

    def __enter__(self):
        self.outer = grad_mode.levels
        grad_mode.levels = (*self.outer, self.level)
        return self.level

    def __exit__(self, *exc):
        grad_mode.levels = self.outer
        close(self.level)


def close(level):
    """End a level: tensors that became dual by a write are plain again."""
    level.closed = True
    if level.entered:
        leave(level)


@Hook
def leave(level):
    """Take the level's tangents away from the tensors that were written to. Filled by `writes`."""
