"""Tracing: run a function once, for real, and record every array operation.

During the trace, the tensors of one backend hold `Traced` arrays, which wrap the real ones: an
operation on them is carried out and recorded. So a trace is an ordinary eager run of the function,
with its results and side effects. If the function turns out to depend on the data (``if loss >
3``), the recording is given up, with the reason, and the run goes on.

The recorded operations are calls of the array module (``np.add``), methods and indices of arrays,
and, for ops that make more than a few array calls (`conv2d`, `softmax`), the op itself
(``F.conv2d``).
"""

from __future__ import annotations

import functools
import random
import threading

import numpy as np

from .. import Generator
from ..backends.numpy_names import class_of
from ..extend import (
    Node,
    NodeHook,
    Saved,
    Stepping,
    add_node_hook,
    calling_line,
    note_inference,
    owner,
    remove_node_hook,
    stand_in,
    versions,
)
from ..utils._pytree import tree_map
from .living import living_objects, tensors_of, untraced
from .program import Instruction, Program, Value, values_in
from .traced import Traced, TracedNumber, TracedScalar, Tracer, arrays_in, bare, is_named_tuple

__all__ = ["Recorder", "Tracing", "has_hooks"]


class Recorder:
    """Records one run: the program so far, and the Values of the arrays in it."""

    def __init__(self, base, generators=(), steppers=()):
        self.base, self.ndarray = base, base.ndarray
        self.program, self.broken, self.phase, self.ran_backward = Program(), None, "forward", False
        self.roots = {}  # id of an array that owns memory -> (it, its root Value)
        self.owners = {}  # the same -> the Traced array that owns it
        self.looked = {}  # id of a traced array of a tensor from outside -> it, if its kind was read
        self.addressed = set()  # the same, if the address was read
        self.writes = {}  # the same -> how often it had been written to before
        self.noticed = {}  # root -> True if a write is counted, False if all are by ``x.data``
        self.closed, self.thread, self.generators = False, threading.get_ident(), generators
        self.streams, self.numbers = Streams(generators), Numbers(steppers)

    def give_up(self, reason, place=None):
        """Stop recording: from here on the run is an ordinary one. Nothing for a reason that is
        ""; `place`: (file, line), by default the line of the user's that runs."""
        if self.broken is None and reason:
            line = place or calling_line()
            place = line if isinstance(line, str) else ":".join(map(str, line))
            self.broken = f"{reason}, at {place}"

    # -- values ------------------------------------------------------------------------------------
    def known(self, array, kind, source=None):
        """The Value of an array: a view of memory that the program knows, or a piece of its own."""
        base = owner(array)
        found = self.roots.get(id(base))
        value = Value(kind, array, root=found[1] if found else None, source=source)
        if not found:
            self.roots[id(base)] = base, value
        return value

    def value_of(self, x):
        """The Value of an operand."""
        if isinstance(x, Traced) and x.recorder is not self:
            x = x.array                                    # kept alive since an earlier trace
        if isinstance(x, Traced):
            if x.value is None:
                kind = "constant" if x.tensor is None else "captured"
                x.value = self.known(x.array, kind, x.tensor)
            return x.value
        if id(owner(x)) in self.roots:
            if self.roots[id(owner(x))][1].kind != "constant":
                self.give_up("an array of the program was read past the trace")
        value = self.known(x, "constant")
        value.root.fixed = True
        return value

    def lift(self, x):
        """A pytree of operands with Values in place of arrays. Named tuples stay: they are the same
        in every run."""
        def value_or_constant(leaf):
            if isinstance(leaf, (Traced, self.ndarray)):
                return self.value_of(leaf)
            if is_named_tuple(leaf) and arrays_in(leaf):
                self.give_up(f"a {type(leaf).__name__} holds arrays of the program")
            return leaf
        return tree_map(value_or_constant, x, is_leaf=is_named_tuple)

    # -- instructions ------------------------------------------------------------------------------
    def call(self, kind, what, function, args, kwargs, writes=(), pure=True):
        """Carry out a call on the real arrays; record it; return its results as traced arrays."""
        result = self.carry_out(function, args, kwargs, pure)
        if self.closed:
            return result
        # np.copyto, np.put_along_axis: a call without a result must have written
        if result is None and not writes:
            writes = args[:1]
        if threading.get_ident() != self.thread:
            self.give_up("another thread computes meanwhile")
        if self.broken is not None:
            return self.wrap(result, None)
        instruction = Instruction(kind, what, self.lift(tuple(args)), self.lift(dict(kwargs)),
                                  phase=self.phase, pure=pure,
                                  writes=[self.value_of(w) for w in writes])
        self.check(instruction)
        same = [x for x in arrays_in((args, kwargs)) if bare(x) is result]
        if same:  # a write, or a call that returned one of its arguments
            if writes:
                self.program.instructions.append(instruction)
            return same[0]
        wrapped = self.wrap(result, instruction)
        if instruction.results or not pure or writes:
            self.program.instructions.append(instruction)
        return wrapped

    def number(self, x):
        """The one element of a traced array as a Python number, which a program reads in each
        run."""
        real = x.array.item()
        if self.broken is not None or self.closed or type(real) not in (int, float):
            return x.item()
        read = Instruction("method", "item", (self.value_of(x),), phase=self.phase)
        self.check(read)
        v = read.template = self.known(np.asarray(real), "made")
        v.number, v.scalar, v.fixed = type(real), True, read.fixed
        read.results.append(v)
        self.program.instructions.append(read)
        return TracedNumber(real, self, v)

    def carry_out(self, function, args, kwargs, pure):
        """Do a call on the real arrays. A stream of random numbers moves in those that are not pure
        alone."""
        if not pure:
            self.streams.check(self)
        result = function(*bare(args), **bare(kwargs))
        if not pure and not self.closed:
            self.streams.note()
        return result

    def check(self, i):
        """Give up the recording if a program cannot express the call; note if its result is the
        same in every run."""
        if any(v.root.kind == "constant" for v in i.writes):
            self.give_up("a tensor whose values Python brought along is written in place")
        operands = i.operands()
        fixed = i.pure and all(v.root.fixed for v in operands)
        for v in i.writes:
            v.root.fixed = v.root.fixed and fixed
            noticed = self.noticed.get(v.root, False)
            self.noticed[v.root] = noticed or versions.counted(v.example) is owner(v.example)
        i.fixed = fixed
        if not fixed and by_values(i):
            self.give_up(f"the shape of a result depends on values ({i.name})")

    def wrap(self, result, instruction):
        """Arrays of a result as traced ones; with an instruction they become its results."""
        if isinstance(result, (self.ndarray, np.generic)):
            return self.wrap_array(result, instruction)
        if isinstance(result, (tuple, list)):
            return self.wrap_nest(result, instruction)
        plain = type(None), bool, int, float, str, np.dtype
        if instruction is not None and not isinstance(result, plain):
            self.give_up(f"{instruction.name} returns a {type(result).__name__}")
        return result

    def wrap_array(self, result, instruction):
        scalar = isinstance(result, np.generic)
        traced = TracedScalar(np.asarray(result), self) if scalar else Traced(result, self)
        if instruction is not None:  # methods of a number, such as `astype`, return another
            v = traced.value = self.known(traced.array, "made")
            v.scalar = scalar or not result.shape and any(v.scalar for v in instruction.operands())
            if v.root is v:
                v.fixed = instruction.fixed
            instruction.results.append(v)
            instruction.template = v
        return traced

    def wrap_nest(self, result, instruction):
        made, templates = [], []
        for r in result:
            made.append(self.wrap(r, instruction))
            if isinstance(made[-1], Traced):
                templates.append(made[-1].value)
            else:  # a nest within has just put its own template there
                nested = isinstance(r, (tuple, list)) and instruction is not None
                templates.append(instruction.template if nested else r)
        if instruction is not None:
            instruction.template = tuple(templates)
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)

    def write(self, name, target, function, args):
        """Record a write in place to `target`."""
        self.call("write", name, function, args, {}, writes=(target,))
        return target

    def effect(self, name, function, objects):
        """Record an effect outside of arrays: an optimiser's step."""
        if self.broken is None:
            step = Instruction("effect", name, tuple(objects), pure=False, phase="update")
            step.line = calling_line()
            self.program.instructions.append(step)
        before = {key: versions.count(memory.array) for key, memory in self.owners.items()}
        self.streams.check(self)
        self.numbers.check(self)
        try:
            return function()
        finally:
            self.streams.note()
            self.numbers.note()
            for key, count in before.items():  # the step counts its writes itself, in each run
                now = versions.count(self.owners[key].array)
                self.writes[key] = self.writes.get(key, 0) + now - count

    def writes_to(self, memory):
        """How often the program itself has written to an array that owns its memory; known after
        the trace."""
        return versions.count(memory) - self.writes.get(id(memory), 0)


def by_values(i):
    """True if the shape of what an instruction returns depends on the values that it reads."""
    if i.kind == "index":
        return any(v.dtype == bool for v in values_in(i.args[1]))
    if i.key == ("op", "index"):
        return i.op.by_values or any(v.dtype == bool for v in values_in(i.kwargs))
    if i.op is not None:
        return i.op.by_values
    if i.key in (("call", "repeat"), ("method", "repeat")):
        return any(isinstance(v, Value) for v in (*i.args[1:2], i.kwargs.get("repeats")))
    called = i.kind in ("call", "method") and class_of(i.what) == "values"
    return called or i.key == ("call", "where") and len(i.args) == 1


class Streams:
    """The states of the sources of random numbers, to notice draws and seeds that are not
    recorded."""

    def __init__(self, generators):
        self.generators = generators
        self.note()

    def states(self):
        names, key, *rest = np.random.get_state()
        return [*[(x.state_bytes().tobytes(), x.spare) for x in self.generators], random.getstate(),
                (names, key.tobytes(), *rest)]

    def note(self):
        self.last = self.states()

    def check(self, recorder):
        """Give up if one has moved since `note`."""
        if recorder.broken is None and self.states() != self.last:
            recorder.give_up("random numbers are drawn, or seeded, past the trace")


class Numbers:
    """The numbers that optimisers and schedules keep, such as learning rates, to notice changes
    other than by their steps."""

    def __init__(self, steppers):
        self.steppers = steppers
        self.note()

    def states(self):
        return [[(k, frozen(v)) for k, v in vars(x).items() if k != "state"] for x in self.steppers]

    def note(self):
        self.last = self.states()

    def check(self, recorder):
        """Give up if one has changed since `note`."""
        if recorder.broken is None and self.states() != self.last:
            recorder.give_up("it changes an optimiser or a schedule otherwise than by `step`")


def frozen(x):
    """Numbers and strings, also in lists and dicts, as they are now; other objects by identity."""
    if isinstance(x, (list, tuple)):
        return type(x), tuple([frozen(v) for v in x])
    if isinstance(x, dict):
        return dict, tuple([(k, frozen(v)) for k, v in x.items()])
    return (type(x), repr(x)) if isinstance(x, (bool, int, float, str)) else id(x)


# ------------------------------------------------------------------ one run with traced arrays
class Tracing(NodeHook):
    """``with Tracing(base) as recorder``: records all operations on tensors of the backend `base`.

    Until the end of the trace, these tensors and new ones hold `Traced` arrays. Layers at the
    backend interface are not enough for a trace, for two reasons. Derivative formulas, the engine's
    sums and some composites use operators on arrays, which bypass all layers, and arrays made by
    these would look like constants. And a layer sees arrays, while a program must find the tensor
    from which it read an array, since ``w.data = ...`` may give that tensor another one. Arrays and
    backends have no references to their tensors, since a list of all tensors would slow down every
    call; so they are found through the garbage collector, at the beginning, at the end, and around
    steps of optimisers.
    """

    def __init__(self, base, calls=None):
        living = living_objects()
        self.base = base
        generators = [x for x in living if issubclass(type(x), Generator)]
        self.steppers = {id(x): x for x in living if isinstance(x, Stepping)}
        self.recorder = Recorder(base, generators, self.steppers.values())
        self.tracer = Tracer(base, self.recorder, calls)
        self.tensors = tensors_of(base, living)
        self.time = versions.now()
        self.untraced = untraced(living)

    def __enter__(self):
        self.outer = Stepping.observe(self.step)
        add_node_hook(self)
        self.start(self.tensors)
        self.before = [as_it_is(t) for t in self.tensors]
        active.append(self)
        return self.recorder

    def __exit__(self, *exc):
        active.remove(self)
        self.recorder.closed = True
        living = living_objects()
        self.stop(living)
        remove_node_hook(self)
        Stepping.observe(self.outer)
        self.restore_nodes(living)
        self.restore_versions()

    def check(self):
        """Give up the recording if the function did something that a program would not repeat;
        called at its end."""
        recorder = self.recorder
        recorder.streams.check(recorder)
        recorder.numbers.check(recorder)
        self.check_writes()
        for t, before in zip(self.tensors, self.before):
            if as_it_is(t) != before:
                recorder.give_up("a tensor from outside is written to with its gradient, or is "
                                 "given another array, hook or flag")
                return

    def check_writes(self):
        """Give up if memory was written to that the recorder does not know."""
        recorder = self.recorder
        if versions.written_since(self.time, but=recorder.owners.values()):
            recorder.give_up("it writes to a tensor on another device, or past the trace")
        written = recorder.program.written()
        # ``x.transpose_()`` counts, but writes no element
        for key, memory in recorder.owners.items():
            root = recorder.roots[key][1] if key in recorder.roots else None
            if root is None or root.kind == "made" or root in written:
                continue
            if versions.count(memory) > recorder.writes[key]:
                recorder.give_up("a view of memory from outside is given another shape in place")

    def start(self, tensors, held=()):
        """Put the tracer in the place of the backend; those in `held` get back the arrays they
        had."""
        held = dict(held)
        stand_in(self.base, self.tracer)
        for t in tensors:
            traced = held.get(id(t))
            same = traced is not None and traced.array is t.array
            t.backend, t.array = self.tracer, traced if same else Traced(t.array, self.recorder, t)

    def stop(self, living=None):
        """Put the backend back; returns the traced arrays that tensors had."""
        held = {}
        stand_in(self.tracer, self.base)
        for t in tensors_of(self.tracer, living):
            if isinstance(t.array, Traced):
                held[id(t)], inference = t.array, t.is_inference()
                t.array = t.array.array
                if inference:                              # which is noted of memory
                    note_inference(t)
            t.backend = self.base
        return held

    def restore_nodes(self, living):
        """Give graph nodes the real arrays and the backend: a run whose recording was given up is
        an ordinary one."""
        for x in living:
            kind = type(x)
            if issubclass(kind, Node):
                found = getattr(x, "backend", None)
                if getattr(found, "backend", None) is self.tracer:
                    x.backend = self.base if found is self.tracer else self.base.fp32
                    if isinstance(x.saved, tuple):
                        x.saved = bare(x.saved)
            elif kind is Saved and x.backend is self.tracer:
                x.backend, x.value = self.base, bare(x.value)

    def restore_versions(self):
        """Count what was written in the trace on the real arrays."""
        for traced in self.recorder.owners.values():
            versions.move(traced, traced.array)

    # -- what node hooks and observers of steps are told -------------------------------------------
    def run(self, node, pull):
        """A step of a backward pass."""
        outside = node.backend
        if outside.backend is self.base:
            self.recorder.give_up(
                "a backward pass goes on through a graph that was recorded outside")
        if has_hooks(node) or any(has_hooks(p) for p in node.parents if p is not None):
            self.recorder.give_up("a backward pass runs hooks")
        if outside.backend is not self.base or self.base.on_host:
            return pull()
        node.backend = self.tracer if outside is self.base else self.tracer.fp32
        try:  # kernels of a device take no arrays of a trace
            return pull()
        finally:
            node.backend = outside

    def backward(self, run):
        """A backward pass is a phase of its own."""
        recorder = self.recorder
        phase, recorder.phase, recorder.ran_backward = recorder.phase, "backward", True
        try:
            run()
        finally:
            recorder.phase = phase

    def step(self, x, run, has_arguments):
        """The step of an optimiser or a schedule, as one instruction; inside, nothing is
        recorded."""
        if self.outer is not None:  # the trace of a function that called this one
            run = functools.partial(self.outer, x, run, has_arguments)
        if threading.get_ident() != self.recorder.thread:
            self.recorder.give_up("another thread computes meanwhile")
            return run()
        if id(x) not in self.steppers:  # one that the function itself has made: arrays as others
            return run()
        if has_arguments:
            self.recorder.give_up(f"{type(x).__name__}.step is given arguments")
        params = [p for group in getattr(x, "param_groups", ()) for p in group["params"]]
        grads = [(p, self.recorder.value_of(p._grad.array)) for p in params
                 if p._grad is not None and isinstance(p._grad.array, Traced)]
        self.check_writes()
        arrays = [t.array.array for t in self.tensors]
        held = self.stop()
        try:
            return self.recorder.effect("step", run, (x, grads))
        finally:
            self.start(tensors_of(self.base), held)
            self.time = versions.now()
            for i, t in enumerate(self.tensors):           # a step may move parameters in memory
                if t.array.array is not arrays[i]:
                    self.before[i] = as_it_is(t)


active: list = []                                          # the traces that are under way
turn = threading.Lock()                                    # held by the thread that traces


def as_it_is(t):
    """The facts about a tensor from outside that a program does not change."""
    array, hooks = t.array, t.hooks
    array = array.array if isinstance(array, Traced) else array
    return (id(array), id(t.node), t.needs_grad, id(t._base), t.is_inference(),
            hooks and (len(hooks.pre), len(hooks.post), len(hooks.accumulated)))


def has_hooks(x):
    """True if a node or leaf has hooks that a gradient would run."""
    hooks = x.hooks
    return hooks is not None and bool(hooks.pre or hooks.post or hooks.accumulated or hooks.retain)
