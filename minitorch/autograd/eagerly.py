"""Calls that must run op by op, because other code needs more from them than their results."""

from ..core.grad_mode import grad_mode, open_batches
from . import dispatch, saved
from .functional import running

__all__ = ["must_run_eagerly"]


def must_run_eagerly(tensors):
    """True if a call on these tensors must not be replaced by a program that gives its results.

    Hooks may pack saved values, forward mode needs tangents, and subclasses and modes answer calls
    themselves. Within `vmap` the arrays have a dimension that does not show, and a transform such as
    `jacobian` may differentiate the call more than once.
    """
    return (saved.stack.pairs or running.depth or grad_mode.levels
            or open_batches and grad_mode.batches or dispatch.would_ask(tensors)
            or any([getattr(getattr(x, "backend", None), "level", None) for x in tensors]))
