"""A plan: one function for one kind of arguments, ready to run.

A `Recording` of one run becomes `Programs`: it is simplified, and cut in two if the result needs a
gradient. The second program is run by a node of the graph when a gradient arrives. Programs are
printed as `Code`. A plan has the code, the guards that decide if it can be used for a call, and the
`Wiring` between tensors and the arrays of the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import Tensor
from ..extend import note_inference, owner, wrap
from . import trace
from .guards import Arrays, Leaves, Memory, Unhooked, circumstances
from .nodes import attach, attach_freed
from .printed import Code, printed
from .program import Program, Value
from .recording import record
from .results import Results, bump, holder_of

__all__ = ["Plan", "Programs", "planned", "programs_of"]


# ------------------------------------------------------------------ what is printed
@dataclass(frozen=True)
class Part:
    """A program that becomes one function, and the values that this is given: `inputs`, then
    `captured`."""

    name: str
    program: Program
    inputs: list[Value]
    captured: list[Value]
    tensor_names: dict                                     # id of a tensor -> how it is called


@dataclass(frozen=True)
class Programs:
    """The parts of a recording: the forward program, then that of the backward pass if there is
    one.

    Their values keep the arrays of the trace alive, large ones too. They are needed as long as
    other code may be printed: after that, a plan need not keep them (`Plan.programs`).
    """

    base: Any
    parts: list[Part]


def programs_of(recording, modules):
    """Simplify a recorded program, name the values from outside, and cut off the backward pass."""
    program = recording.recorder.program
    program.separate()
    program.simplify()
    program.gradients = [(t, v) for t, v in program.gradients if not left_by_step(program, t, v)]
    values = dict.fromkeys([*program.all_values(program.instructions), *program.kept()])
    captured = [v for v in values if v.kind == "captured"]
    names = name_captured(captured, modules, recording.grads)
    parts = [Part(recording.name, program, recording.inputs, captured, names)]
    if recording.backward is not None:
        seeds = recording.backward.seeds
        outside = dict.fromkeys([*recording.inputs, *captured])
        second, saved = cut(program, len(recording.results.new), seeds, outside)
        parts.append(Part(recording.name + "_backward", second, seeds, saved, names))
    return Programs(recording.base, parts)


def cut(program, count, seeds, outside):
    """Take the instructions of the backward pass out of a program, whose first `count` outputs are
    those of the forward pass: the program of the others, and the values that it reads besides the
    seeds."""
    second = Program()
    second.in_c = program.in_c
    second.instructions = [i for i in program.instructions if i.part]
    second.outputs = program.outputs[count:]
    made = {r for i in second.instructions for r in i.results}
    read = dict.fromkeys(v for i in second.instructions for v in i.operands())
    read.update(dict.fromkeys(second.outputs))
    saved = [v for v in read if v not in made and v.kind != "constant" and v not in seeds]
    program.instructions = [i for i in program.instructions if not i.part]
    program.outputs = program.outputs[:count] + [v for v in saved if v not in outside]
    return second, saved


def left_by_step(program, t, v):
    """True if an optimiser's step leaves this value as the gradient of `t`."""
    steps = program.effects()
    return bool(steps) and v is not None and any(x is t and g is v for x, g in steps[-1].args[1])


def name_captured(captured, modules, grads):
    """Give captured values the names that their modules give them."""
    names = {}
    for module in modules:
        for name, t in [*module.named_parameters(), *module.named_buffers()]:
            names.setdefault(id(t), name)
    for t, grad in grads.values():
        if grad is not None and id(t) in names:
            names[id(grad)] = "grad_of_" + names[id(t)]
    for v in captured:
        v.name = names.get(id(v.source), "captured").replace(".", "_")
        v.name = "p" + v.name if v.name[:1].isdigit() else v.name
    return {id(v.source): v.name for v in captured}


# ------------------------------------------------------------------ how arrays and tensors go toget
class Layout(NamedTuple):
    """How an array lies in memory."""

    shape: tuple
    dtype: Any
    strides: tuple


@dataclass(frozen=True)
class BackwardWiring:
    """The arrays that go into the backward program, and the gradients that come out."""

    live: list[int]                                        # the new results whose gradients arrive
    seeds: list[Layout]                                    # how these are laid out
    sources: list[int | None]  # of what it reads: the array that went in, None if kept
    wanted: list  # whom gradients are for: an argument's number, or a leaf
    which: list[int | None]                                # the results for these

    def gather(self, arrays, kept):
        """The arrays that the backward program will read."""
        rest = iter(kept)
        return [next(rest) if source is None else arrays[source] for source in self.sources]


@dataclass(frozen=True)
class Wiring:
    """The tensors to which the arrays of the forward program belong."""

    name: str
    base: Any
    outside: list  # tensors from outside, whose arrays follow the arguments'
    written: list[tuple[int, int]]  # (which of these arrays, how often it is written to)
    kept: int  # how many arrays are for the backward program
    targets: list[tuple[Any, bool]]  # (leaf, True if there is an array for its gradient)
    freed: tuple  # new results whose graph the function went through itself
    results: Results
    backward: BackwardWiring | None

    def is_simple(self):
        """True if the only work after a run is to wrap the one array that the program returns."""
        shown = self.results
        return shown.single and not (
            self.written or self.targets or self.freed or self.backward
            or shown.links or shown.versions or shown.inference)


def wiring_of(recording, programs):
    forward, *second = programs.parts
    recorder, values = recording.recorder, [*forward.inputs, *forward.captured]
    backward = backward_wiring(recording.backward, second[0], values) if second else None
    return Wiring(
        name=recording.name,
        base=recording.base,
        outside=[holder_of(v.source, recording.grads) for v in forward.captured],
        written=writes_outside(recorder, programs, values),
        kept=0 if backward is None else backward.sources.count(None),
        targets=[(t, v is not None) for t, v in forward.program.gradients],
        freed=recording.freed,
        results=recording.results,
        backward=backward)


def backward_wiring(traced, part, outside):
    """`outside`: the values that go into the forward program."""
    numbers = iter(range(len(traced.outputs)))
    seeds = [Layout(v.shape, v.dtype, v.example.strides) for v in traced.seeds]
    sources = [outside.index(v) if v in outside else None for v in part.captured]
    which = [None if v is None else next(numbers) for v in traced.outputs]
    return BackwardWiring(traced.live, seeds, sources, traced.wanted, which)


def writes_outside(recorder, programs, values):
    """(number of a value from outside, how often its memory is written to), for each memory
    once."""
    written = set().union(*[part.program.written() for part in programs.parts])
    first: dict = {}
    for n, v in enumerate(values):
        if v.root in written:
            first.setdefault(v.root, n)
    return [(n, max(recorder.writes_to(owner(root.example)), recorder.noticed.get(root, True)))
            for root, n in first.items()]


# ------------------------------------------------------------------ what a plan relies on
def leaves_of(recording, programs, modules):
    """(leaf, True if it has no gradient, True if it needs one), for the leaves that the programs or
    their optimisers use."""
    program = programs.parts[0].program
    seen = {id(t) for t, _ in (*program.gradients, *program.stepped())}
    groups = [g for i in program.effects() for g in getattr(i.args[0], "param_groups", ())]
    seen |= {id(p) for g in groups for p in g["params"]}   # those without gradient, too
    if recording.recorder.ran_backward:
        seen |= {id(p) for m in modules for p in m.parameters()}
    return [(t, before is None, t.needs_grad)
            for t, before in recording.grads.values() if id(t) in seen]


def looked_at(recording, known):
    """(tensors, their values), of tensors from outside whose shape or dtype alone was read: all
    but those whose ids are `known`."""
    return [(holder_of(x.tensor, recording.grads), Value("captured", x.array))
            for x in recording.recorder.looked.values()
            if id(x.tensor) in recording.grads and id(x.tensor) not in known]


def guards_of(recording, programs, wiring, leaves, surroundings, tensors):
    """The guards of a plan that have something to check, the quickest first."""
    captured, outside = programs.parts[0].captured, wiring.outside
    written, addressed = [n for n, _ in wiring.written], recording.recorder.addressed
    unhooked = [t for t, *_ in leaves]
    if recording.recorder.ran_backward:
        unhooked += [t for t in outside if t.needs_grad]
    memory = Memory(outside, [*programs.parts[0].inputs, *captured], written, addressed)
    known = {*map(id, (*tensors, *outside, *[v.source for v in captured]))}
    looked = looked_at(recording, known)
    arrays = Arrays([*outside, *[t for t, _ in looked]], [*captured, *[v for _, v in looked]])
    found = [(arrays, arrays.tensors), (Leaves(leaves), leaves),
             (Unhooked(unhooked), unhooked), (memory, memory.sharing or memory.placed),
             (surroundings, not surroundings.none)]
    return [guard for guard, needed in found if needed]


# ------------------------------------------------------------------ plans
def planned(function, args, kwargs, tensors, names, modules, surroundings, native=False,
            sized=False):
    """Run a function once while recording: (its plan, None, its result), or (None, the reason why
    not, its result)."""
    recording = record(function, args, kwargs, tensors, names, surroundings, native)
    if recording.reason is not None:
        return None, recording.reason, recording.result
    plan, result = plan_of(recording, tensors, modules, surroundings, sized)
    return plan, None, result


def plan_of(recording, tensors, modules, surroundings, sized):
    """The plan of a recording, and the function's result, attached to the plan's backward pass."""
    programs = programs_of(recording, modules)
    wiring = wiring_of(recording, programs)
    leaves = leaves_of(recording, programs, modules)
    pure = all(i.pure for part in programs.parts for i in part.program.instructions)
    repeatable = pure and not wiring.written and not leaves
    guards = guards_of(recording, programs, wiring, leaves, surroundings, tensors)
    plan = Plan(programs, wiring, guards, surroundings, printed(programs), repeatable, sized)
    arrays = [t.array for t in recording.results.new]
    recording.results.forget()
    if wiring.backward is None:
        return plan, recording.result
    made = [wrap(a, wiring.base) for a in arrays]
    for i in wiring.results.inference:
        note_inference(made[i])
    attach(plan, made, tensors, [v.example for v in programs.parts[1].captured])
    return plan, wiring.results.build(made, tensors)


class Plan:
    """``run(tensors)`` returns the function's result, computed by the plan's current code."""

    graph: Any = None                                      # a captured graph that runs the code
    outdated = False  # True if a trace with native kernels will replace it

    def __init__(self, programs, wiring, guards, surroundings, code, repeatable, sized):
        self.programs, self.wiring, self.guards = programs, wiring, guards
        self.surroundings = surroundings  # keeps the objects alive whose ids are in keys
        # a run changes nothing; sizes are parameters of the C
        self.repeatable, self.sized = repeatable, sized
        self.base, self.simple = wiring.base, wiring.is_simple()
        self.notes = [*programs.parts[0].program.notes, *code.notes]
        self.use(code)

    def use(self, code: Code):
        """Run this code from now on."""
        self.code, self.function = code, code.forward

    def fits(self, tensors):
        """True if the values that the function uses from outside are still of the same kind."""
        if trace.active:
            return False
        for guard in self.guards:
            if not guard.hold(tensors):
                return False
        return True

    def noted(self, args, kwargs, tensors, circumstances):
        """Note of what kind the arguments are that it serves, all plain tensors; itself, or None if
        they are not."""
        if kwargs or len(tensors) != len(args) or not all([x.__class__ is Tensor for x in tensors]):
            return None
        if any([x.node is not None for x in tensors]):
            return None
        arrays = [x.array for x in tensors]
        self.kinds = [(a.shape, a.dtype, a.strides, x.needs_grad) for a, x in zip(arrays, tensors)]
        self.circumstances = circumstances
        return self

    def takes(self, tensors):
        """True if arguments are of the kinds noted last: a quicker look than at their signature."""
        kinds = self.kinds
        if len(tensors) != len(kinds) or len(set(map(id, tensors))) != len(kinds):
            return False
        for x, (shape, dtype, strides, needs_grad) in zip(tensors, kinds):
            if x.__class__ is not Tensor or x.node is not None or x.needs_grad is not needs_grad:
                return False
            a = x.array
            if (a.shape != shape or a.dtype is not dtype or a.strides != strides
                    or x.backend is not self.base):
                return False
        return circumstances() == self.circumstances

    def run(self, tensors):
        """Run the program on the arrays of `tensors` and on those that it uses from outside."""
        wiring = self.wiring
        arrays = [t.array for t in tensors]
        if wiring.outside:
            arrays += [t.array for t in wiring.outside]
        if self.simple:
            return wrap(self.function(*arrays)[0], wiring.base)
        try:  # `arrays` holds gradients that may go in the meantime
            results = self.function(*arrays)
        finally:
            if wiring.written:
                bump([(arrays[n], times) for n, times in wiring.written], wiring.name)
        return self.as_tensors(tensors, arrays, results)

    def as_tensors(self, tensors, arrays, results):
        """The function's result, made from the arrays that went into the program and came out of
        it."""
        wiring, shown = self.wiring, self.wiring.results
        end = shown.count + wiring.kept
        rest = iter(results[end:])
        for t, made in wiring.targets:
            t._grad = wrap(next(rest), wiring.base) if made else None
        made = [wrap(a, wiring.base) for a in results[:shown.count]]
        if shown.versions or shown.inference:
            shown.mark(made, wiring.name)
        if wiring.backward is not None:
            attach(self, made, tensors, wiring.backward.gather(arrays, results[shown.count:end]))
        for i in wiring.freed:
            attach_freed(self, made[i])
        return shown.build(made, tensors)
