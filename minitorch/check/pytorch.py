"""`in_pytorch`: the same lines under minitorch and under PyTorch, and whether they agree."""

import importlib
import textwrap

import numpy as np

import minitorch

from . import card
from .exercise import equal, plain, show

__all__ = ["in_pytorch"]


class Comparison:
    """Results of one experiment in both libraries. `ok` unless PyTorch disagrees; `compared` if it is there."""

    def __init__(self, name, ours, theirs, compared, ok):
        self.name, self.ours, self.theirs, self.compared, self.ok = name, ours, theirs, compared, ok
        self.state = "ok" if ok and compared else "missing" if ok else "wrong"

    def __bool__(self):
        return self.ok

    def lines(self):
        if not self.compared:
            return [(f"{self.name}: PyTorch is not installed", "`pip install torch`, and run this cell again."),
                    ("minitorch gives", brief(self.ours))]
        if self.ok:
            return [(f"{self.name}: the same in PyTorch", "One source, two libraries, equal results."),
                    ("Both give", brief(self.ours))]
        return [(f"{self.name}: PyTorch gives something else", "Please report this as a bug of minitorch."),
                ("minitorch gives", brief(self.ours)), ("PyTorch gives", brief(self.theirs))]

    def __str__(self):
        return card.text(self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        return card.html(self.state, self.lines())


def brief(value, most=6):
    """A result in a few lines: one for each of its parts, each cut after a number."""
    if isinstance(value, dict):
        parts = [f"{key}: {shorten(show(v), 96)}" for key, v in value.items()]
    elif isinstance(value, (list, tuple)) and any(isinstance(v, (list, tuple, np.ndarray)) for v in value):
        parts = [shorten(show(v), 96) for v in value]
    else:
        return shorten(show(value), 300)
    more = [f"and {len(parts) - most} more"] if len(parts) > most else []
    return "\n".join([*parts[:most], *more])


def shorten(words, most):
    """The words on one line, cut between two of them."""
    return textwrap.shorten(words, most, placeholder=" ...")


def in_pytorch(experiment, rtol=1e-4, atol=1e-6):
    """Run ``experiment(torch)`` with minitorch and, where it is installed, with PyTorch, both seeded with 0.

    The experiment returns numbers, arrays, tensors, strings, or lists and dictionaries of them.
    """
    ours = _results(experiment, minitorch)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return Comparison(experiment.__name__, ours, None, False, True)
    theirs = _results(experiment, torch)
    return Comparison(experiment.__name__, ours, theirs, True, equal(ours, theirs, rtol, atol))


def _results(experiment, library):
    library.manual_seed(0)

    def arrays(value):
        if isinstance(value, library.Tensor):
            return value.detach().cpu().numpy()
        if isinstance(value, tuple) and not isinstance(value, str):
            return [arrays(v) for v in value]
        if isinstance(value, list):
            return [arrays(v) for v in value]
        if isinstance(value, dict):
            return {key: arrays(v) for key, v in value.items()}
        return plain(value)
    return arrays(experiment(library))
