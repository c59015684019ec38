"""The first value that is not a number, looked for in the graph behind a loss; and the lines that made its nodes."""

import linecache
import os
import sys

import numpy as np

from ...autograd.behind import forward_order, values_behind
from ...core.arrays import is_floating, is_inexact
from ...core.graph import OutputNode
from ...core.op import Op
from ...explain.callers import is_ours
from .seen import Finding, host

__all__ = ["Lines", "first_bad", "suspects", "user_line"]

ADVICE: dict = {}               # name of a call: where an infinite value or NaN comes from, and what to write instead
STEEP: dict = {}                # name of a call: where its slope is not finite


def advise(name, value=None, slope=None):
    """Enter what is said of a call whose value, or whose slope, is not finite."""
    if value is not None:
        ADVICE[name] = value
    if slope is not None:
        STEEP[name] = slope


advise("log", "log of 0 or less: add a small number, or use log_softmax, logsigmoid or log1p",
       "log near 0 is very steep")
advise("div", "a division by 0: add a small number to the divisor", "a division by nearly 0")
advise("reciprocal", "a division by 0")
advise("exp", "exp overflows above 88 in float32: subtract the maximum first, or use softmax and logsumexp")
advise("sqrt", "the root of a negative number", "sqrt at 0 has an infinite slope: add a small number inside")
advise("pow", "a power that overflows, or the root of a negative number", "a root at 0 is infinitely steep")
advise("norm", slope="a norm at 0 has no slope")
advise("linalg_vector_norm", slope="a norm at 0 has no slope: add a small number")
advise("acos", slope="acos at 1 is infinitely steep")
advise("asin", slope="asin at 1 is infinitely steep")
advise("rsqrt", slope="rsqrt at 0")


def user_line(frame):
    """The innermost frame, from `frame` outwards, that is not this package's."""
    while is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def spelled(file, line):
    """A line as words: ``train.py:12: loss.backward()``."""
    words = linecache.getline(file, line).strip()
    name = "cell" if file.startswith("<") or "ipykernel_" in file else os.path.basename(file)
    return f"{name}:{line}" + (f": {words}" if words else "")


class Lines:
    """Where each node of a step that is watched was recorded; the line itself is worked out when somebody asks.

    Steps are alike, so the nodes of another step are found by their places in the graph.
    """

    def __init__(self):
        self.of, self.ours = {}, {}                        # id of a node -> (code, offset); code -> is it ours
        self.kept = []                                     # of the last graph watched: (name, (code, offset)) in order

    def remember(self, root):
        """Keep where the nodes behind `root` were recorded, for the graphs of later steps."""
        order = forward_order(root)
        self.kept = [(name_of_op(p), self.of.get(id(p))) for p in order if p.parents]

    def compare(self, order):
        """Use the lines of the remembered graph for the nodes of this one, where the two agree."""
        nodes = [p for p in order if p.parents]
        if len(self.kept) == len(nodes) and all(name == name_of_op(p) for (name, _), p in zip(self.kept, nodes)):
            pairs = [(p, found) for p, (_, found) in zip(nodes, self.kept)]
        else:                                              # another graph: names that there are once
            names = [name for name, _ in self.kept]
            pairs = [(p, dict(self.kept)[name_of_op(p)]) for p in nodes if names.count(name_of_op(p)) == 1]
        self.of.update((id(p), found) for p, found in pairs if found is not None and id(p) not in self.of)

    def note(self, node, frame):
        """Keep the innermost line of the user's for a node that was just recorded. Called for each node: be brief."""
        ours = self.ours
        while True:
            code = frame.f_code
            own = ours.get(code)
            if own is None:
                own = ours[code] = is_ours(frame)
            if not own or frame.f_back is None:
                break
            frame = frame.f_back
        self.of[id(node)] = code, frame.f_lasti

    def where(self, node):
        """The line that recorded `node`, in words; "" if it is not known."""
        found = self.of.get(id(node))
        if found is None:
            return ""
        code, at = found
        line = next((n for start, end, n in code.co_lines() if start <= at < end and n), code.co_firstlineno)
        return spelled(code.co_filename, line)

    @staticmethod
    def here():
        """The user's line that is running now, in words."""
        frame = user_line(sys._getframe(1))
        return spelled(frame.f_code.co_filename, frame.f_lineno)


def first_bad(root, lines, name_of):
    """A `Finding` about the first value behind `root`, in the order of the calls, that is not finite.

    `name_of`: a leaf -> its name. None if all values that are known are finite.
    """
    order, values = values_behind(root)
    lines.compare(order)
    bad = {place: state(values[place], place) for place in order if place in values}
    for place in order:
        if not place.parents and bad.get(place):
            name = name_of(place)
            return Finding("parameter not finite", f"{name} holds {bad[place]} before the forward pass: an earlier "
                           f"step wrote it there; its gradient was not finite, or the learning rate is too high")
        if bad.get(place):
            return blamed(place, bad[place], values, lines)
        constant = bad_constant(place)
        if constant:
            return Finding("input not finite", f"an input of {name_of_op(place)}() holds {constant}: look at the data",
                           lines.where(place))
    return None


def blamed(place, what, values, lines):
    """The finding about a call that made `what` out of finite values."""
    name = name_of_op(place)
    known = [host(values[p], p.backend.backend) for p in place.parents if p is not None and p in values]
    given = [f"{x.min():.4g} to {x.max():.4g}" for x in known if x.size and is_floating(x.dtype)]
    words = f"{name}() gave {what}" + (f", given {' and '.join(given)}" if given else "")
    advice = ADVICE.get(name)
    return Finding("value not finite", f"{words}: the first value in the forward pass that is not finite"
                   + (f"; {advice}" if advice else ""), lines.where(place))


def suspects(root, lines):
    """Calls behind `root` whose derivative can be infinite, as words with their lines, the last one first."""
    order = forward_order(root)
    lines.compare(order)
    found = [(STEEP[name_of_op(p)], lines.where(p)) for p in reversed(order) if p.parents and name_of_op(p) in STEEP]
    return list(dict.fromkeys(found))


def bad_constant(place):
    """A fault of the values that `place` keeps of inputs without a gradient, in words; "" for none."""
    op = place.op if place.parents else None
    if not isinstance(op, Op) or not place.saved:
        return ""
    for value, at in zip(place.saved, op.saved_places):
        if isinstance(at, int) and at >= 0 and place.parents[at] is None and hasattr(value, "dtype"):
            return state(value, place)
    return ""


def state(array, place):
    """``"NaN"`` or ``"inf"`` if an array has such elements, else ``""``."""
    x = host(array, place.backend.backend)
    if not is_inexact(x.dtype) or np.isfinite(x).all():
        return ""
    return "NaN" if np.isnan(x).any() else "inf" if (x[np.isinf(x)] > 0).any() else "-inf"


def name_of_op(place):
    """The name of the call at a place; of an output of several, that of its call."""
    if isinstance(place, OutputNode):
        place = place.parents[0]
    return place.op.name if isinstance(place.op, Op) else getattr(place.op, "__name__", type(place).__name__)
