"""A plan: the program of one function for one kind of arguments, ready to run.

Two sorts: a function whose result needs no gradient (inference, or a whole training step with its own `backward`) is
one program. Where the result needs a gradient, the trace goes on through the backward pass, and the plan has a second
program for it, which a node of the graph runs when a gradient arrives.
"""

from __future__ import annotations

import linecache
from contextlib import contextmanager
from operator import attrgetter, is_
from typing import Any

import numpy as np

from ..autograd.function import FunctionNode
from ..autograd.inference import note_inference
from ..backends.native import called
from ..backends.native.toolchain import reason
from ..core import engine, graph
from ..core.arrays import owner
from ..core.device import get
from ..core.grad_mode import grad_mode, recording
from ..core.graph import Node, OutputNode
from ..core.tensor import Tensor, wrap
from . import trace
from .emit import Source, identifier, set_gradients
from .guards import Sharing, circumstances
from .items import into
from .launched import Launched
from .native import Native
from .nodes import CompiledNode, Description, FreedNode
from .program import Program, Value
from .results import Results, bump
from .trace import Recorder, Tracing, has_hooks
from .traced import Traced

__all__ = ["Plan"]

array_of = attrgetter("array")
count = 0                                                  # of programs, for their file names in tracebacks


class Plan:
    """Made by `Plan.trace`; ``run(tensors)`` gives what the function would return."""

    reason: str | None = None
    backward: Any = None
    graph: Any = None                                      # a captured graph in place of the function
    freed: tuple = ()                                      # new results whose graph the function itself went through
    outdated = False                                       # whether a trace with native kernels is to take its place
    sized = False                                          # whether sizes are to be parameters of the C
    c_source = ""
    pieces: list                                           # (name, program, its `Piece`s) of what was lowered

    # -- making --------------------------------------------------------------------------------------------
    @staticmethod
    def trace(function, args, kwargs, tensors, names, modules, surroundings, native=False, sized=False):
        """Run `function` once while recording; returns the plan and the function's result.

        `native`: with the native kernels that programs in C call, as a program that is to become one (`make_native`).
        If the recording had to be given up, ``plan.reason`` says why, and the result is good all the same.
        """
        plan = Plan()
        plan.sized, plan.pieces = sized, []
        base = tensors[0].backend if tensors else get()
        plan.base, plan.name, plan.surroundings = base, getattr(function, "__name__", "run").strip("<>"), surroundings
        plan.reason = reason_at_once(tensors, base, surroundings)
        if plan.reason is not None:
            return plan, function(*args, **kwargs)
        in_c = native and base.xp is np and reason() is None
        tracing = Tracing(base, called() if in_c else None)
        plan.reason = tracing.untraced
        if plan.reason is not None:
            return plan, function(*args, **kwargs)
        grads = {id(t): (t, t._grad) for t in tracing.tensors}
        outside = {id(t) for t in tracing.tensors}
        with tracing as recorder:
            recorder.program.in_c = in_c
            inputs = plan.name_inputs(recorder, tensors, names)
            ends = GraphEnds(tensors)
            try:
                result = function(*args, **kwargs)
            finally:
                ends.leave(recorder)
            results = Results(result, recorder, tensors, outside, lambda t: getter(t, grads))
            recorder.program.outputs = [recorder.value_of(t.array) for t in results.new]
            recorder.program.gradients = changed_gradients(recorder, grads)
            tracing.check()
            live = [i for i, t in enumerate(results.new) if t.needs_grad]
            if recorder.ran_backward:
                plan.freed = tuple(live)
                if not all(is_freed(results.new[i]) for i in live):
                    recorder.give_up("it returns a result that can still be differentiated, after a backward pass")
            elif recorder.broken is None and live:
                plan.trace_backward(recorder, results, live, tensors, ends)
            if recorder.broken is None:
                changed = surroundings.changed()
                if changed:
                    recorder.give_up(changed)
        if recorder.broken is not None:
            plan.reason = recorder.broken
            return plan, result
        plan.results, arrays = results, [t.array for t in results.new]
        results.note_versions(recorder)
        plan.finish(recorder, inputs, grads, modules)
        results.forget()
        if plan.backward is not None:
            made = [wrap(a, base) for a in arrays]
            for i in results.inference:
                note_inference(made[i])
            plan.backward.attach(plan, made, tensors, [v.example for v in plan.backward.saved])
            return plan, results.build(made, tensors)
        return plan, result

    @staticmethod
    def name_inputs(recorder: Recorder, tensors, names):
        values = []
        for i, t in enumerate(tensors):
            value = t.array.value = recorder.known(t.array.array, "input", i)
            value.name = names[i] if i < len(names) else f"x{i}"
            values.append(value)
        return values

    def trace_backward(self, recorder, results, live, tensors, ends):
        """Go on with the trace through the backward pass of the results."""
        outputs = [results.new[i] for i in live]
        roots = [t.node for t in outputs]
        with ends.cut():
            order = [*dict.fromkeys([*roots, *engine.count_uses(roots)[0]])]
            wanted = [p for p in order if not p.parents or isinstance(p, GraphEnd)]
            within = [p for p in order if p.parents and not isinstance(p, GraphEnd)]
            if any(p.backend.backend is self.base for p in within):
                recorder.give_up("it uses a tensor of a graph that was recorded outside")
                return
            if any(has_hooks(p) for p in within):
                recorder.give_up("hooks are registered on its graph")
                return
            program, seeds = recorder.program, []
            for t in outputs:
                seed = Traced(self.base.xp.ones(t.array.shape, t.array.dtype), recorder)
                seed.value = recorder.known(seed.array, "input", None)
                seed.value.name = "g"
                seeds.append(wrap(seed, t.backend))
            forward = len(program.instructions)
            capture = dict.fromkeys(wanted)
            hooks = [(p, p.hooks) for p in wanted]
            for p in wanted:                               # these run when a gradient arrives
                p.hooks = None
            try:                                           # retained: the result may yet have to do without a program
                with recording(False):
                    engine.run(roots, seeds, False, True, capture)
            except Exception as error:
                recorder.give_up(f"its backward pass cannot be traced ({type(error).__name__}: {error})")
                return
            finally:
                for p, found in hooks:
                    p.hooks = found
        for i in program.instructions[forward:]:
            i.part = 1
        made = {r.root for i in program.instructions[:forward] for r in i.results}
        if any(v.root in made or v.root.kind != "made" for i in program.instructions[forward:] for v in i.writes):
            recorder.give_up("its backward pass writes to what the forward pass made or was given")
        self.backward = Backward([t.array.value for t in seeds], live, [ends.number(p, tensors) for p in wanted])
        self.backward.outputs = [None if g is None else recorder.value_of(g) for g in capture.values()]
        self.backward.first = len(program.outputs)
        program.outputs += [v for v in self.backward.outputs if v is not None]

    def finish(self, recorder, inputs, grads, modules):
        """Simplify the program, write its source, note what it relies on."""
        program = self.program = recorder.program
        program.separate()
        program.simplify()
        program.gradients = [(t, v) for t, v in program.gradients if not left_by_step(program, t, v)]
        self.captured = [v for v in dict.fromkeys(Program.all_values(program.instructions)) if v.kind == "captured"]
        self.captured += [v for v in dict.fromkeys(program.kept()) if v.kind == "captured" and v not in self.captured]
        names = name_captured(self.captured, modules, grads)
        self.inputs, self.tensors = inputs, [getter(v.source, grads) for v in self.captured]
        self.relied = [(t, v.shape, v.dtype, v.example.strides, t.needs_grad)
                       for t, v in zip(self.tensors, self.captured)]
        trained = parameters_of(program, modules if recorder.ran_backward else ())
        self.leaves = [(t, before is None, t.needs_grad) for t, before in grads.values()
                       if id(t) in trained or concerns(program, t)]
        self.arrays = [v.example for v in self.captured]   # of the tensors, when they were last seen to be right
        self.hookless = [t for t in self.tensors if t.needs_grad] if recorder.ran_backward else []
        self.watch_memory(recorder)
        if self.backward is not None:
            self.backward.split(self, program)
        self.targets = [t for t, _ in program.gradients]
        self.parts = [(self, self.name, program, inputs, self.captured, names)]
        if self.backward is not None:
            self.parts.append((self.backward, self.name + "_backward", self.backward.program, self.backward.seeds,
                               self.backward.saved, names))
        self.source = "\n\n".join([self.build(*part) for part in self.parts])
        self.count, self.made = len(self.results.new), [v is not None for _, v in program.gradients]
        shown = self.results
        self.simple = shown.single and not (self.written or self.targets or self.freed or self.backward or shown.links
                                            or shown.versions or shown.inference)

    def build(self, holder, name, program, inputs, captured, names):
        """Give `holder` the function of a program, made of NumPy calls; returns its source."""
        if self.base.xp is not np:
            made = Launched(program, inputs, captured, self.base, *heading(name, program), names)
            self.program.notes += made.notes
            self.pieces.append((name, program, made.pieces()))
            holder.function = defined(made, made.scope)
            return made.text
        source = Source(program, inputs, captured, self.base, *heading(name, program), names)
        holder.function = defined(source, source.scope)
        return source.text

    def make_native(self, wanted=lambda made: True):
        """Make the programs C, if one of them is `wanted`; returns what is to be said about it."""
        made = []
        for holder, name, program, inputs, captured, names in self.parts:
            found = Native(program, inputs, captured, self.base, *heading(name, program), names, holder.function,
                           self.sized)
            made.append((holder, found))
        if not any(wanted(m) for _, m in made):
            return ["NumPy, not C: no loop would do more than one array call does"]
        functions = [defined(m, m.load()) for _, m in made]
        for (holder, m), function in zip(made, functions):
            holder.function = function
            self.c_source += m.c_source
            self.pieces.append((m.name, m.program, m.pieces()))
        return [note for _, m in made for note in m.notes]

    def watch_memory(self, recorder):
        """Note which arrays from outside are written to, which of them share memory, and whose place was asked for."""
        program, outside = self.program, [*self.inputs, *self.captured]
        written = {v.root for i in program.instructions for v in i.writes}
        self.written = []                                  # (number of an array from outside, how often)
        for root in dict.fromkeys(v.root for v in outside if v.root in written):
            times = max(recorder.writes_to(owner(root.example)), recorder.noticed.get(root, True))
            self.written.append((next(n for n, v in enumerate(outside) if v.root is root), times))
        groups = {v.root for v in outside if v.root in written}
        self.sharing = Sharing([v.example for v in outside],
                               [n for n, v in enumerate(outside) if v.root in groups]) if groups else None
        self.placed = [(n, into(v.example), owner(v.example).nbytes)
                       for n, v in enumerate(outside) if id(owner(v.example)) in recorder.addressed]
        impure = any(not i.pure for i in program.instructions)
        self.repeatable = not self.written and not impure and not self.leaves

    # -- running -------------------------------------------------------------------------------------------
    def fits(self, tensors):
        """True if what the function uses from outside is still of the same kind."""
        if not all(map(is_, map(array_of, self.tensors), self.arrays)):
            for t, shape, dtype, strides, _ in self.relied:
                a = t.array
                if a is None or a.shape != shape or a.dtype is not dtype or a.strides != strides:
                    return False
            self.arrays = [t.array for t in self.tensors]  # these need no other look next time
        for t, *_, needs_grad in self.relied:
            if t.needs_grad is not needs_grad:
                return False
        for t, none, needs_grad in self.leaves:
            if ((t._grad is None) is not none or t.needs_grad is not needs_grad
                    or (t.hooks is not None and has_hooks(t))):
                return False
        for t in self.hookless:
            if t.hooks is not None and has_hooks(t):
                return False
        if (self.sharing is not None or self.placed) and not self.fits_memory(tensors):
            return False
        return not trace.active and (self.surroundings.none or self.surroundings.same())

    def noted(self, tensors, circumstances):
        """Note of what kind the arguments are that it serves, all plain tensors; itself, or None if they are not."""
        if not all([x.__class__ is Tensor and x.node is None for x in tensors]):
            return None
        self.kinds = [(x.array.shape, x.array.dtype, x.array.strides, x.needs_grad) for x in tensors]
        self.circumstances = circumstances
        return self

    def takes(self, tensors):
        """Whether arguments are of the kinds noted last: a quicker look than at their signature."""
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

    def fits_memory(self, tensors):
        """True if what is written to shares memory as in the trace, and lies where it matters as it did."""
        tensors = [*tensors, *self.tensors]
        for n, offset, nbytes in self.placed:
            a = tensors[n].array
            if owner(a).nbytes != nbytes or into(a) != offset:
                return False
        if self.sharing is None:
            return True
        for n, _ in self.written:                          # then eager runs raise errors, or change the base's graph
            t = tensors[n]
            base = getattr(t, "_base", None)
            if base is not None and base.needs_grad and grad_mode.enabled:
                return False
            if isinstance(t, Tensor) and t.is_inference() and not grad_mode.inference:
                return False
        return self.sharing.same([t.array for t in tensors])

    def run(self, tensors):
        """Run the program on the arrays of `tensors` and on those that it uses from outside."""
        arrays = [t.array for t in tensors]
        if self.tensors:
            arrays += [t.array for t in self.tensors]
        if self.simple:
            return wrap(self.function(*arrays)[0] if self.graph is None else self.graph.run(arrays)[0], self.base)
        try:                                               # `arrays` holds gradients that may go in the meantime
            results = self.function(*arrays) if self.graph is None else self.graph.run(arrays)
        finally:
            if self.written:
                bump([(arrays[n], times) for n, times in self.written], self.name)
        if self.targets:
            rest = iter(results[len(results) - sum(self.made):])
            for t, made in zip(self.targets, self.made):
                t._grad = wrap(next(rest), self.base) if made else None
        made = [wrap(a, self.base) for a in results[:self.count]]
        shown = self.results
        if shown.versions or shown.inference:
            shown.mark(made, self.name)
        if self.backward is not None:
            n = len(self.program.outputs)
            self.backward.attach(self, made, tensors, self.backward.gather(arrays, results[self.count:n]))
        elif self.freed:
            for i in self.freed:
                FreedNode(self, made[i])
        return shown.build(made, tensors)


def reason_at_once(tensors, base, surroundings):
    """Why a function cannot be traced at all; None if it can."""
    if any(t.backend is not base for t in tensors):
        return "its arguments are on several devices"
    if surroundings.arrays:
        return "it reads an array of NumPy's, whose values may change"
    if surroundings.strange:
        return f"an argument is a {surroundings.strange}"
    return None


class Backward:
    """The second program of a plan whose results need gradients."""

    def __init__(self, seeds, live, wanted):
        self.seeds, self.live, self.wanted = seeds, live, wanted
        self.outputs: list[Value | None] = []
        self.first, self.function = 0, None

    def split(self, plan, program):
        """Take the instructions of the backward pass out of the joint program; find what they read of the forward."""
        self.program = Program()
        self.program.in_c = program.in_c
        self.program.instructions = [i for i in program.instructions if i.part]
        program.instructions = [i for i in program.instructions if not i.part]
        found = program.outputs[self.first:]
        self.program.outputs = found
        rest = iter(range(len(found)))
        self.which = [None if v is None else next(rest) for v in self.outputs]
        made = {r for i in self.program.instructions for r in i.results}
        read = dict.fromkeys(v for i in self.program.instructions for v in i.operands())
        read.update(dict.fromkeys(found))
        self.saved = [v for v in read if v not in made and v.kind != "constant" and v not in self.seeds]
        outside = [*plan.inputs, *plan.captured]
        self.sources = [outside.index(v) if v in outside else None for v in self.saved]
        kept = [v for v, source in zip(self.saved, self.sources) if source is None]
        program.outputs = program.outputs[:self.first] + kept

    def gather(self, arrays, kept):
        """The arrays that the backward program will read."""
        rest = iter(kept)
        return [next(rest) if source is None else arrays[source] for source in self.sources]

    def attach(self, plan, leaves, tensors, saved):
        """Put a node behind the results that need gradients."""
        node = CompiledNode()
        node.op, node.plan, node.saved, node.hooks = Description, plan, tuple(saved), None
        node.parents = tuple((t.node or t) if t.needs_grad else None
                             for t in [tensors[x] if isinstance(x, int) else x for x in self.wanted])
        node.shape = tuple(leaves[i].array.shape for i in self.live)
        node.backend, node.time = plan.base, graph.version_counter
        for k, i in enumerate(self.live):
            leaves[i].node, leaves[i].needs_grad = OutputNode(node, k), True


# ------------------------------------------------------------------ arguments that belong to another graph
class GraphEnd(Node):
    """Stands in front of the node of an argument while the function is traced, so that the trace can end there."""

    __slots__ = ()

    def __init__(self, t):
        self.op, self.parents, self.saved, self.shape = Description, (t.node,), (), t.array.shape
        self.backend, self.time, self.hooks = t.backend, graph.version_counter, None

    def pull(self, g, create_graph):
        return (g,)

    def release(self):
        pass


class GraphEnds:
    """The `GraphEnd`s of the arguments that are no leaves."""

    def __init__(self, tensors):
        self.ends = [(i, t, t.node, GraphEnd(t)) for i, t in enumerate(tensors) if t.node is not None]
        for _, t, _, end in self.ends:
            t.node = end

    def leave(self, recorder):
        """Give the arguments their nodes back, unless the function gave them others or put hooks there."""
        for _, t, node, end in self.ends:
            if end.hooks is not None:
                recorder.give_up("it registers a hook on an argument, or retains its gradient")
                if t.node is end and node.hooks is None:   # they are for gradients from before the call, too
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


def is_freed(t):
    """Whether a backward pass from a tensor meets a node whose values were freed, so that it raises."""
    _, order = engine.count_uses([t.node])
    return any(node.saved._saved is None if isinstance(node, FunctionNode) else
               node.saved is None and getattr(node.op, "saves_arrays", False) for node in order if node.parents)


# ------------------------------------------------------------------ what comes from outside
def changed_gradients(recorder, before):
    """(leaf, Value or None) for the tensors that have another `grad` than before the trace, or got one for a step."""
    stepped = {id(t) for i in recorder.program.instructions if i.kind == "effect" for t, _ in i.args[1]}
    found = []
    for t, grad in before.values():
        if t._grad is not grad or id(t) in stepped:
            found.append((t, None if t._grad is None else recorder.value_of(t._grad.array)))
    return found


def parameters_of(program, modules):
    """The ids of the parameters of modules and of optimisers that step, which look at those without gradient, too."""
    groups = [g for i in program.instructions if i.kind == "effect" for g in getattr(i.args[0], "param_groups", ())]
    return {id(p) for found in (*[g["params"] for g in groups], *[m.parameters() for m in modules]) for p in found}


def concerns(program, t):
    """True if the program leaves a gradient at `t`, or gives one to an optimiser."""
    return (any(x is t for x, _ in program.gradients) or
            any(x is t for i in program.instructions if i.kind == "effect" for x, _ in i.args[1]))


def getter(tensor, grads):
    """The holder of a captured tensor's array in later runs: itself, or `Grad` of a leaf for a gradient."""
    for t, grad in grads.values():
        if grad is tensor:
            return Grad(t)
    return tensor


class Grad:
    """The gradient of a leaf, whatever tensor it is by then."""

    def __init__(self, leaf):
        self.leaf = leaf

    hooks = None
    array = property(lambda self: None if self.leaf._grad is None else self.leaf._grad.array)
    needs_grad = property(lambda self: self.leaf._grad is not None and self.leaf._grad.needs_grad)


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


def left_by_step(program, t, v):
    """True if an optimiser's step leaves this value as the gradient of `t`."""
    steps = [i for i in program.instructions if i.kind == "effect"]
    return bool(steps) and v is not None and any(x is t and g is v for x, g in steps[-1].args[1])


def heading(name, program):
    """The name of a program's function, and its first line."""
    name = identifier(name, "run")
    return name, f"{name}, as minitorch.compile has traced it: {len(program.instructions)} array calls."


def defined(source, scope):
    """The function that a source defines."""
    global count
    count += 1
    filename = f"<compiled {source.name} {count}>"
    scope = {**scope, "__name__": "minitorch.generated"}   # whose warnings are filtered as the package's
    scope.setdefault("set_gradients", set_gradients)
    exec(compile(source.text, filename, "exec"), scope)
    lines = [line + "\n" for line in source.text.splitlines()]
    linecache.cache[filename] = (len(source.text), None, lines, filename)
    return scope[source.name]
