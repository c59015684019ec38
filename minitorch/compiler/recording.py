"""Recording: run a function once, and keep its array calls.

A function whose result needs no gradient (inference, or a whole training step with its own
`backward`) is one program. If the result needs a gradient, the trace continues through the backward
pass of the result.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ..backends.native import called
from ..backends.native import reason as why_no_compiler
from ..extend import FunctionNode, Node, get_backend, make_node, recording, run_backward, wrap
from .guards import circumstances
from .nodes import Description, nodes_below
from .program import Value
from .results import Results
from .trace import Recorder, Tracing, has_hooks
from .traced import Traced

__all__ = ["BackwardTrace", "Recording", "record"]


@dataclass(frozen=True)
class BackwardTrace:
    """The backward pass of results. `seeds` are the gradients that arrive, for the new results with
    the numbers `live`; `outputs` the gradients (or None) for what is `wanted`: numbers of
    arguments, and leaves."""

    seeds: list[Value]
    live: list[int]
    wanted: list
    outputs: list[Value | None]


@dataclass(frozen=True)
class Recording:
    """One traced run of a function: its `result` and its program, or the `reason` why it could not
    be recorded.

    Nothing of this is needed once its programs are printed: `recorder` and `results` hold the
    arrays of the trace.
    """

    result: Any
    reason: str | None = None
    name: str = ""
    base: Any = None                                       # the backend
    recorder: Any = None                                   # with the program
    inputs: Any = ()                                       # the values of the arguments
    results: Any = None
    grads: Any = None  # of all tensors: id -> (it, its gradient before the run)
    freed: tuple = ()  # new results whose graph the function went through itself
    backward: BackwardTrace | None = None


def record(function, args, kwargs, tensors, names, surroundings, native=False):
    """Run `function` once while recording.

    `native`: with the native kernels that programs in C call, for a program that will become C.
    """
    base = tensors[0].backend if tensors else get_backend()
    reason = reason_at_once(tensors, base, surroundings)
    if reason is None:
        in_c = native and base.xp is np and why_no_compiler() is None
        tracing = Tracing(base, called() if in_c else None)
        reason = tracing.untraced
    if reason is not None:
        return Recording(function(*args, **kwargs), reason)
    grads = {id(t): (t, t._grad) for t in tracing.tensors}
    with tracing as recorder:
        recorder.program.in_c = in_c
        inputs = name_inputs(recorder, tensors, names)
        ends = GraphEnds(tensors)
        before = modes()
        execution = surroundings.execution()
        try:
            with execution or nullcontext():
                result = function(*args, **kwargs)
        finally:
            ends.leave(recorder)
        results = Results(result, recorder, tensors, grads)
        recorder.program.outputs = [recorder.value_of(t.array) for t in results.new]
        recorder.program.gradients = changed_gradients(recorder, grads)
        if execution is not None:                          # first, for it can name the line
            recorder.give_up(*surroundings.executed(execution))
        tracing.check()
        if modes() != before:
            recorder.give_up("it leaves a mode otherwise than it found it: of gradients, of mixed "
                             "precision or for anomalies, or the default dtype")
        freed, backward = backward_of(results, base, recorder, tensors, ends)
        recorder.give_up(*surroundings.changed())
    if recorder.broken is not None:
        return Recording(result, recorder.broken)
    results.note_versions(recorder)
    name = getattr(function, "__name__", "run").strip("<>")
    return Recording(result, None, name, base, recorder, inputs, results, grads, freed, backward)


def modes():
    """The modes of this thread that a function may change."""
    return circumstances(), is_anomaly_enabled(), is_anomaly_check_nan_enabled()


def reason_at_once(tensors, base, surroundings):
    """The reason why a function cannot be traced at all, or None."""
    if any(t.backend is not base for t in tensors):
        return "its arguments are on several devices"
    return surroundings.at_once() or None


def name_inputs(recorder: Recorder, tensors, names):
    """The values of the arguments, named as the function's parameters."""
    values = []
    for i, t in enumerate(tensors):
        value = t.array.value = recorder.known(t.array.array, "input", i)
        value.name = names[i] if i < len(names) else f"x{i}"
        values.append(value)
    return values


def changed_gradients(recorder, before):
    """(leaf, Value or None) for the tensors that have another `grad` than before the trace, or got
    one for a step."""
    stepped = {id(t) for t, _ in recorder.program.stepped()}
    return [(t, None if t._grad is None else recorder.value_of(t._grad.array))
            for t, grad in before.values() if t._grad is not grad or id(t) in stepped]


def is_freed(t):
    """True if a backward pass from a tensor meets a node whose values were freed, so that it
    raises."""
    return any(node.saved._saved is None if isinstance(node, FunctionNode) else
               node.saved is None and getattr(node.op, "saves_arrays", False)
               for node in nodes_below([t.node]) if node.parents)


# ------------------------------------------------------------------ the backward pass of results
def backward_of(results, base, recorder, tensors, ends):
    """The new results whose graph the function went through itself, and the backward pass of the
    others."""
    live = [i for i, t in enumerate(results.new) if t.needs_grad]
    if recorder.ran_backward:
        if not all(is_freed(results.new[i]) for i in live):
            recorder.give_up("it returns a result that can still be differentiated, after a "
                             "backward pass")
        return tuple(live), None
    if recorder.broken is not None or not live:
        return (), None
    return (), trace_backward(base, recorder, results, live, tensors, ends)


def trace_backward(base, recorder, results, live, tensors, ends):
    """Continue the trace through the backward pass of the results; None if it is given up."""
    roots = [results.new[i].node for i in live]
    with ends.cut():
        below = nodes_below(roots)
        wanted = [p for p in below if is_end(p)]
        reason = reason_against([p for p in below if not is_end(p)], base)
        if reason is not None:
            recorder.give_up(reason)
            return None
        seeds = [seed_of(results.new[i], base, recorder) for i in live]
        first = len(recorder.program.instructions)
        capture = dict.fromkeys(wanted)
        try:  # retained: the result may yet have to do without a program
            with without_hooks(wanted), recording(False):
                run_backward(roots, seeds, False, True, capture)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            recorder.give_up(f"its backward pass cannot be traced ({why})")
            return None
    check_backward(recorder, first)
    outputs = [None if g is None else recorder.value_of(g) for g in capture.values()]
    recorder.program.outputs += [v for v in outputs if v is not None]
    wanted = [ends.number(p, tensors) for p in wanted]
    return BackwardTrace([t.array.value for t in seeds], live, wanted, outputs)


def is_end(p):
    """True for a leaf, and for the node of an argument, where the backward pass of the function
    ends."""
    return not p.parents or isinstance(p, GraphEnd)


def reason_against(nodes, base):
    """The reason why a backward pass through these nodes cannot be traced, or None."""
    if any(p.backend.backend is base for p in nodes):
        return "it uses a tensor of a graph that was recorded outside"
    if any(has_hooks(p) or p.is_function and getattr(p.op, "runs_hooks", False) for p in nodes):
        return "hooks are registered on its graph"
    return None


def seed_of(t, base, recorder):
    """A gradient for a result: an input of the backward pass."""
    seed = Traced(base.xp.ones(t.array.shape, t.array.dtype), recorder)
    seed.value = recorder.known(seed.array, "input", None)
    seed.value.name = "g"
    return wrap(seed, t.backend)


@contextmanager
def without_hooks(nodes):
    """Within the block the hooks of nodes are off: these run when a gradient arrives."""
    hooks = [(p, p.hooks) for p in nodes]
    for p in nodes:
        p.hooks = None
    try:
        yield
    finally:
        for p, found in hooks:
            p.hooks = found


def check_backward(recorder, first):
    """Mark the instructions of the backward pass, from number `first` on; give up if they write to
    the forward's."""
    forward, backward = recorder.program.instructions[:first], recorder.program.instructions[first:]
    for i in backward:
        i.part = 1
    made = {r.root for i in forward for r in i.results}
    if any(v.root in made or v.root.kind != "made" for i in backward for v in i.writes):
        recorder.give_up("its backward pass writes to what the forward pass made or was given")


# ------------------------------------------------------------------ arguments that belong to anothe
class GraphEnd(Node):
    """Stands in front of the node of an argument while the function is traced, so that the trace
    can end there."""

    __slots__ = ()

    def pull(self, g, create_graph):
        return (g,)

    def release(self):
        pass


class GraphEnds:
    """The `GraphEnd`s of the arguments that have a node."""

    def __init__(self, tensors):
        self.ends = [(i, t, t.node, make_node(Description, (t.node,), (), t.array.shape, t.backend,
                                              GraphEnd))
                     for i, t in enumerate(tensors) if t.node is not None]
        for _, t, _, end in self.ends:
            t.node = end

    def leave(self, recorder):
        """Give the arguments their nodes back, unless the function gave them others or put hooks
        there."""
        for _, t, node, end in self.ends:
            if end.hooks is not None:
                recorder.give_up("it registers a hook on an argument, or retains its gradient")
                # they are for gradients from before the call, too
                if t.node is end and node.hooks is None:
                    node.hooks, end.hooks = end.hooks, None
            if end.hooks is None and t.node is end:
                t.node = node

    @contextmanager
    def cut(self):
        """Within the block the graph ends here."""
        for *_, end in self.ends:
            end.parents = (None,)
        try:
            yield
        finally:
            for _, _, node, end in self.ends:
                end.parents = (node,)

    def number(self, p, tensors):
        """For an end of the trace's graph: the number of an argument, or the leaf itself."""
        for i, _, _, end in self.ends:
            if end is p:
                return i
        return next((i for i, t in enumerate(tensors) if t is p), p)
