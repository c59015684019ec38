"""PyTorch's older signatures of composites; those of ops are in `core/older.py`."""

import functools
import inspect

from ..core.older import sorted_out

__all__ = ["older"]


def older(function):
    """Let a function of tensors, with keywords for numbers, take the older signature too."""
    parameters = inspect.signature(function).parameters.values()
    tensors = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    numbers = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    @functools.wraps(function)
    def call(*args, **kwargs):
        if len(args) > tensors:
            args, given = sorted_out(function.__name__, args, tensors, numbers)
            kwargs = given | kwargs
        return function(*args, **kwargs)
    return call
