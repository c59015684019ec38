"""Anomaly mode: which op first gave NaN or infinity, and which line called it.

    with minitorch.autograd.detect_anomaly():
        loss = model(x)
        loss.backward()

Inside the block, every recorded call notes its line and whether its result is finite, and every
gradient is checked. The first gradient with a NaN raises an error, which names the op, its line,
and the call whose value was the first that was not finite, if there is one. Infinite values alone
raise nothing, because masks use them. The errors about a graph that was freed or a value that was
overwritten also name the line of the forward call.
"""

import itertools
import weakref

import numpy as np

from ..core import graph
from ..core.arrays import is_inexact
from ..core.hooks import NodeHook, add_node_hook, remove_node_hook
from ..explain.graphs import freed, lines
from .recording import behind

__all__ = ["detect_anomaly", "set_detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
           "set_anomaly_enabled"]

_state = {"on": False, "check_nan": True}
# node -> (number, words for its value)
_bad: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_count = itertools.count()


def is_anomaly_enabled():
    """True if anomaly mode is on."""
    return _state["on"]


def is_anomaly_check_nan_enabled():
    """True if anomaly mode, when on, checks gradients for NaN."""
    return _state["check_nan"]


def set_anomaly_enabled(enabled, check_nan=True):
    """Turn anomaly mode on or off."""
    _switch(enabled, check_nan)


class _Detector(NodeHook):
    """Notes calls and checks gradients."""

    def recorded(self, node, result):
        """Note a call's line, and its result if that is not finite."""
        lines[node] = graph.calling_line()
        if _state["check_nan"]:
            words = [w for t in (result if isinstance(result, tuple) else (result,)) for w in _not_finite(t)]
            if words:
                _bad[node] = next(_count), words[0]

    def run(self, node, pull):
        """Check the gradients that a node makes."""
        gradients = pull()
        _check(node, gradients)
        return gradients


_detector = _Detector()


def _switch(on, check_nan):
    _state.update(on=on, check_nan=check_nan)
    remove_node_hook(_detector)
    if on:
        add_node_hook(_detector)


def _not_finite(value):
    """Describe the values of a tensor or raw array that are not finite; yields nothing without
    any."""
    array = getattr(value, "array", value)
    if not hasattr(array, "dtype") or not is_inexact(array.dtype):
        return
    finite = np.isfinite(array)
    if finite.all():
        return
    nan, infinite = int(np.isnan(array).sum()), int(np.isinf(array).sum())
    kinds = [f"{n} {word}" for n, word in ((nan, "NaN"), (infinite, "infinite")) if n]
    yield f"{' and '.join(kinds)} of {finite.size} element{'s' if finite.size > 1 else ''}"


def _check(node, gradients):
    """Raise if a gradient that `node` made has a NaN; note the line of the backward pass."""
    freed[node] = graph.calling_line()
    if not _state["check_nan"]:
        return
    for i, g in enumerate(gradients):
        array = getattr(g, "array", g)
        if g is not None and is_inexact(array.dtype) and np.isnan(array).any():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output"
                               f"{_at(node, '; its forward call is at ')}.{_first_value(node)}")


def _at(node, words):
    where = lines.get(node)
    return f"{words}{where[0]}:{where[1]}" if isinstance(where, tuple) else ""


def _first_value(node):
    """A line about the first value that was not finite among those that `node` depends on or that
    depend on it."""
    sources = behind([node])
    for bad, (_, words) in sorted(_bad.items(), key=lambda found: found[1][0]):
        if bad in sources or node in behind([bad]):
            where = _at(bad, ", called at ")
            return f"\nThe first value that was not finite was the result of {bad.name()}: {words}{where}."
    return "\nAll values of the forward pass were finite: the derivative is not, at that point."


class set_detect_anomaly:
    """Turn anomaly mode on or off: at once when called, until the end of the block with ``with``."""

    def __init__(self, mode, check_nan=True):
        self.outer = dict(_state)
        _switch(bool(mode), check_nan)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _switch(**self.outer)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode inside a ``with`` block."""

    def __init__(self, check_nan=True):
        self.check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self.check_nan)
        return self
