"""A plan: the program of one function for one kind of arguments, ready to run.

Two sorts: a function whose result needs no gradient (inference, or a whole training step with its own `backward`) is
one program. Where the result needs a gradient, the trace goes on through the backward pass, and the plan has a second
program for it, which a node of the graph runs when a gradient arrives.
"""

from __future__ import annotations

import keyword
import linecache
from typing import Any

from ..autograd import api
from ..core import engine, graph
from ..core.device import get
from ..core.graph import MultiOutputNode, OutputNode
from ..core.tensor import Tensor, wrap
from ..explain.graphs import raise_freed
from ..utils._pytree import tree_map
from .emit import Source, set_gradients
from .guards import Leaf, flatten, rebuild
from .program import Program, Value
from .trace import Recorder, Traced, Tracing

__all__ = ["Plan"]

count = 0                                                  # of programs, for their file names in tracebacks


class Plan:
    """Made by `Plan.trace`; ``run(tensors)`` gives what the function would return."""

    reason: str | None = None
    backward: Any = None
    graph: Any = None                                      # a captured graph in place of the function

    # -- making --------------------------------------------------------------------------------------------
    @staticmethod
    def trace(function, args, kwargs, tensors, names, modules):
        """Run `function` once while recording; returns the plan and the function's result.

        If the recording had to be given up, ``plan.reason`` says why, and the result is good all the same.
        """
        plan = Plan()
        base = tensors[0].backend if tensors else get()
        plan.base, plan.name = base, getattr(function, "__name__", "run").strip("<>") or "run"
        if any(t.backend is not base for t in tensors):
            plan.reason = "its arguments are on several devices"
            return plan, function(*args, **kwargs)
        tracing = Tracing(base)
        grads = {id(t): (t, t._grad) for t in tracing.tensors}
        with tracing as recorder:
            inputs = plan.name_inputs(recorder, tensors, names)
            inner = Inner(tensors)
            result = function(*rebuild_arguments(args, inner), **rebuild_arguments(kwargs, inner))
            leaves: list[Tensor] = []
            plan.template = flatten(result, leaves)
            recorder.program.outputs = [recorder.value_of(t.array) for t in leaves]
            recorder.program.gradients = changed_gradients(recorder, grads)
            inner.pass_on(recorder)
            live = [] if recorder.ran_backward else [i for i, t in enumerate(leaves) if t.needs_grad]
            if recorder.broken is None and live:
                plan.trace_backward(recorder, leaves, live, tensors, inner)
        if recorder.broken is not None:
            plan.reason = recorder.broken
            return plan, result
        plan.finish(recorder, inputs, grads, modules, leaves)
        outputs = [v.example for v in recorder.program.outputs[:len(leaves)]]
        if plan.backward is not None:
            return plan, plan.wrapped(outputs, tensors, [v.example for v in plan.backward.saved])
        for t in leaves:
            t.node, t.needs_grad = (None, False) if recorder.ran_backward else (t.node, t.needs_grad)
        return plan, result

    @staticmethod
    def name_inputs(recorder: Recorder, tensors, names):
        values = []
        for i, t in enumerate(tensors):
            value = t.array.value = recorder.known(t.array.array, "input", i)
            value.name = names[i] if i < len(names) else f"x{i}"
            values.append(value)
        return values

    def trace_backward(self, recorder, leaves, live, tensors, inner):
        """Go on with the trace through the backward pass of the results."""
        outputs = [leaves[i] for i in live]
        roots = [t.node or t for t in outputs]
        order = [*dict.fromkeys([*roots, *engine.count_uses(roots)[0]])]
        wanted = [p for p in order if isinstance(p, Tensor)]
        if any(not isinstance(p, Tensor) and p.backend.backend is self.base for p in order):
            recorder.give_up("it uses a tensor of a graph that was recorded outside")
            return
        program = recorder.program
        seeds = []
        for t in outputs:
            seed = Traced(self.base.xp.ones(t.array.shape, t.array.dtype), recorder)
            seed.value = recorder.known(seed.array, "input", None)
            seed.value.name = "g"
            seeds.append(wrap(seed, t.backend))
        forward = len(program.instructions)
        try:                                               # retained: the result may yet have to do without a program
            found = api.grad(outputs, wanted, seeds, retain_graph=True, allow_unused=True)
        except Exception as error:
            recorder.give_up(f"its backward pass cannot be traced ({type(error).__name__}: {error})")
            return
        for i in program.instructions[forward:]:
            i.part = 1
        self.backward = Backward([t.array.value for t in seeds], live, [inner.outer(t) for t in wanted])
        self.backward.outputs = [None if g is None else recorder.value_of(g.array) for g in found]
        self.backward.first = len(program.outputs)
        program.outputs += [v for v in self.backward.outputs if v is not None]

    def finish(self, recorder, inputs, grads, modules, leaves):
        """Simplify the program, write its source, note what it relies on."""
        program = self.program = recorder.program
        program.simplify()
        program.gradients = [(t, v) for t, v in program.gradients if not left_by_step(program, t, v)]
        self.captured = [v for v in dict.fromkeys(Program.all_values(program.instructions)) if v.kind == "captured"]
        self.captured += [v for v in dict.fromkeys(program.kept()) if v.kind == "captured" and v not in self.captured]
        names = name_captured(self.captured, modules, grads)
        self.inputs, self.tensors = inputs, [getter(v.source, grads) for v in self.captured]
        self.relied = [(t, v.shape, v.dtype, v.example.strides) for t, v in zip(self.tensors, self.captured)]
        self.leaves_without = [(t, before is None) for t, before in grads.values() if concerns(program, t)]
        self.written = [t for t, v in zip(self.tensors, self.captured)
                        if any(w.root is v.root for i in program.instructions for w in i.writes)]
        if self.backward is not None:
            self.backward.split(self, program)
        self.targets = [t for t, _ in program.gradients]
        self.source, self.function = build(self.name, program, inputs, self.captured, names, self.base)
        if self.backward is not None:
            text, self.backward.function = build(self.name + "_backward", self.backward.program,
                                                 self.backward.seeds, self.backward.saved, names, self.base)
            self.source += "\n\n" + text
        self.count, self.made = len(leaves), [v is not None for _, v in program.gradients]

    # -- running -------------------------------------------------------------------------------------------
    def fits(self):
        """True if what the function uses from outside is still of the same kind."""
        for t, shape, dtype, strides in self.relied:
            a = t.array
            if a is None or a.shape != shape or a.dtype is not dtype or a.strides != strides:
                return False
        for t, none in self.leaves_without:
            if (t._grad is None) is not none:
                return False
        return True

    def run(self, tensors):
        """Run the program on the arrays of `tensors` and on those that it uses from outside."""
        arrays = [t.array for t in tensors]
        arrays += [t.array for t in self.tensors]
        results = self.function(*arrays) if self.graph is None else self.graph.run(arrays)
        if self.targets:
            rest = iter(results[len(results) - sum(self.made):])
            for t, made in zip(self.targets, self.made):
                t._grad = wrap(next(rest), self.base) if made else None
        for t in self.written:
            if t.array is not None:                        # a gradient may have gone in the meantime
                graph.bump_version(t, self.name)
        if self.backward is not None:
            n = len(self.program.outputs)
            return self.wrapped(results[:self.count], tensors, self.backward.gather(arrays, results[self.count:n]))
        if self.template.__class__ is Leaf:
            return wrap(results[0], self.base)
        return rebuild(self.template, [wrap(a, self.base) for a in results[:self.count]])

    def wrapped(self, outputs, tensors, saved):
        """The function's result, behind a node that runs the backward program."""
        leaves = [wrap(a, self.base) for a in outputs]
        self.backward.attach(self, leaves, tensors, saved)
        return rebuild(self.template, leaves)


class Backward:
    """The second program of a plan whose results need gradients."""

    def __init__(self, seeds, live, wanted):
        self.seeds, self.live, self.wanted = seeds, live, wanted
        self.outputs: list[Value | None] = []
        self.first, self.function = 0, None
        self.op = Description()

    def split(self, plan, program):
        """Take the instructions of the backward pass out of the joint program; find what they read of the forward."""
        self.program = Program()
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
        node.op, node.plan, node.saved, node.hooks = self.op, plan, tuple(saved), None
        node.parents = tuple((t.node or t) if t.needs_grad else None
                             for t in [tensors[x] if isinstance(x, int) else x for x in self.wanted])
        node.shape = tuple(leaves[i].array.shape for i in self.live)
        node.backend, node.time = plan.base, graph.version_counter
        for k, i in enumerate(self.live):
            leaves[i].node, leaves[i].needs_grad = OutputNode(node, k), True


class Description:
    """The part of an op that the graph reads from its nodes."""

    name = node_name = "CompiledBackward0"
    saves_arrays = True


class CompiledNode(MultiOutputNode):
    """One run of a plan, waiting for its gradients."""

    __slots__ = ("plan",)

    def pull(self, g, create_graph):
        if create_graph:
            raise RuntimeError("a compiled function can be differentiated once: for create_graph=True call the "
                               "function that was compiled")
        if self.saved is None:
            raise_freed(self)
        if self.time != graph.version_counter:
            self.check_unwritten()
        backward = self.plan.backward
        zeros = self.plan.base.xp.zeros
        seeds = [zeros(v.shape, v.dtype) if x is None else x for x, v in zip(g, backward.seeds)]
        results = backward.function(*seeds, *self.saved)
        return tuple(None if k is None or p is None else results[k] for k, p in zip(backward.which, self.parents))


# ------------------------------------------------------------------ arguments that belong to another graph
class Inner:
    """Stand-ins for arguments that are not leaves, so that the trace ends at them."""

    def __init__(self, tensors):
        self.tensors, self.twins = tensors, {}
        for i, t in enumerate(tensors):
            if t.node is not None:
                twin = wrap(t.array, t.backend)
                twin.needs_grad = True
                self.twins[id(t)] = i, twin

    def outer(self, leaf):
        """For a leaf of the trace: the number of an argument, or the tensor itself."""
        for i, twin in self.twins.values():
            if twin is leaf:
                return i
        return next((i for i, t in enumerate(self.tensors) if t is leaf), leaf)

    def pass_on(self, recorder):
        """If the function itself ran a backward pass to a stand-in, let it go on through the outer graph."""
        for i, twin in self.twins.values():
            if twin._grad is not None:
                recorder.give_up("it runs a backward pass beyond its arguments")
                self.tensors[i].backward(twin._grad)


def rebuild_arguments(x, inner):
    """Arguments with stand-ins in their places."""
    return tree_map(lambda v: inner.twins.get(id(v), (None, v))[1], x) if inner.twins else x


# ------------------------------------------------------------------ what comes from outside
def changed_gradients(recorder, before):
    """(leaf, Value or None) for the tensors that have another `grad` than before the trace, or got one for a step."""
    stepped = {id(t) for i in recorder.program.instructions if i.kind == "effect" for t, _ in i.args[1]}
    found = []
    for t, grad in before.values():
        if t._grad is not grad or id(t) in stepped:
            found.append((t, None if t._grad is None else recorder.value_of(t._grad.array)))
    return found


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

    array = property(lambda self: None if self.leaf._grad is None else self.leaf._grad.array)


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
        v.name = "p" + v.name if v.name[0].isdigit() else v.name
    return {id(v.source): v.name for v in captured}


def left_by_step(program, t, v):
    """True if an optimiser's step leaves this value as the gradient of `t`."""
    steps = [i for i in program.instructions if i.kind == "effect"]
    return bool(steps) and v is not None and any(x is t and g is v for x, g in steps[-1].args[1])


def build(name, program, inputs, captured, names, base):
    """The source of a program and the function that it defines."""
    global count
    count += 1
    summary = f"{name}, as minitorch.compile has traced it: {len(program.instructions)} array calls."
    if not name.isidentifier() or keyword.iskeyword(name):
        name = "run"
    source = Source(program, inputs, captured, base, name, summary, names)
    filename = f"<compiled {name} {count}>"
    scope = {"__name__": "minitorch.generated", **source.scope}    # whose warnings are filtered as the package's
    scope.setdefault("set_gradients", set_gradients)
    exec(compile(source.text, filename, "exec"), scope)
    linecache.cache[filename] = (len(source.text), None, [line + "\n" for line in source.text.splitlines()], filename)
    return source.text, scope[source.name]
