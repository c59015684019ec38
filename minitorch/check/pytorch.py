"""`in_pytorch`: the same lines under minitorch and under PyTorch, and whether they agree."""

import importlib

import minitorch

from . import card
from .exercise import equal, plain, show

__all__ = ["in_pytorch"]


class Comparison:
    """What one experiment gave in both libraries. `ok` unless PyTorch disagrees; `compared` if it is there."""

    def __init__(self, name, ours, theirs, compared, ok):
        self.name, self.ours, self.theirs, self.compared, self.ok = name, ours, theirs, compared, ok
        self.state = "ok" if ok and compared else "missing" if ok else "wrong"

    def __bool__(self):
        return self.ok

    def lines(self):
        if not self.compared:
            return [(f"{self.name}: PyTorch is not installed", "`pip install torch`, and run this cell again."),
                    ("minitorch gives", show(self.ours))]
        if self.ok:
            return [(f"{self.name}: the same in PyTorch", "One source, two libraries, equal results."),
                    ("Both give", show(self.ours))]
        return [(f"{self.name}: PyTorch gives something else", "Please report this as a bug of minitorch."),
                ("minitorch gives", show(self.ours)), ("PyTorch gives", show(self.theirs))]

    def __str__(self):
        (head, text), *rest = self.lines()
        return "\n".join([head, f"  {text}", *(f"  {label}: {words}" for label, words in rest)])

    __repr__ = __str__

    def _repr_html_(self):
        return card.html(self.state, self.lines())


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
