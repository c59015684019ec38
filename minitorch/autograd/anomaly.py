"""Anomaly mode: which op first gave NaN or infinity in a backward pass, and which line called it.

    with minitorch.autograd.detect_anomaly():
        loss = model(x)
        loss.backward()

Inside, every recorded call notes the line that made it, and every gradient is looked at as it is made. The first one
that is not finite raises, naming the op and its line.
"""

import weakref

import numpy as np

from . import graph

__all__ = ["detect_anomaly", "set_detect_anomaly", "is_anomaly_enabled"]

_state = {"on": False, "check_nan": True}
_lines: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()            # node -> (file, line) of the call


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return _state["on"]


def _note_line(node):
    _lines[node] = graph.calling_line()


def _check(node, gradients):
    """Raise if a gradient that `node` made is not finite."""
    if not _state["check_nan"]:
        return
    for i, g in enumerate(gradients):
        array = getattr(g, "array", g)
        if g is not None and array.dtype.kind == "f" and np.isnan(array).any():
            where = _lines.get(node)
            line = f"; its forward call is at {where[0]}:{where[1]}" if isinstance(where, tuple) else ""
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output{line}.")


class set_detect_anomaly:
    """Turn anomaly mode on or off: at once when called, until the end of the block with ``with``."""

    def __init__(self, mode, check_nan=True):
        self.outer = dict(_state), graph.watch, graph.inspect
        _state.update(on=bool(mode), check_nan=check_nan)
        graph.watch, graph.inspect = (_note_line, _check) if mode else (None, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        state, graph.watch, graph.inspect = self.outer
        _state.update(state)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a ``with`` block."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self.check_nan)
        return self
