"""The backward pass, step by step, with its numbers; and two orders in which it goes wrong.

The right order is the engine's: a place is done when all of its gradients are in. The first wrong order follows every
line as it finds it and passes on whatever has been added up so far, so what arrives by two ways is counted more than
once. The second visits each place only once, depth first, so what arrives later is never passed on.
"""

from dataclasses import dataclass

import numpy as np

from ..extend import Op, OutputNode
from ..formula import helper_lines, rule_text
from . import drawing, tape
from .drawing import Picture, brief, clipped, element
from .stepper import script_for, style_for
from .vertices import LIMIT, LONG, draw_vertices, lines_of

__all__ = ["Replay", "replay", "Step", "Arrival"]

ORDERS = ("right order", "naive recursion", "visited once, depth first")
MOST_STEPS = 400                                           # of a wrong order, which may take exponentially many
ROOM = 30_000                                              # characters in a picture for the steps of an order


@dataclass
class Arrival:
    """A gradient sent to one input: the `vertex` it goes to, the `rule` as text, what was sent, what is there now."""

    vertex: tape.Vertex
    input: str
    rule: str
    sent: np.ndarray
    before: np.ndarray | None
    after: np.ndarray


@dataclass
class Step:
    """One step of a backward pass: at `vertex`, with the gradient `incoming` of its result, `arrivals` are sent on."""

    vertex: tape.Vertex
    incoming: np.ndarray
    arrivals: list


def replay(loss, model=None, params=None, gradient=None):
    """The backward pass from `loss` as a stepper, forwards and back, without touching any ``.grad``.

    Each step shows a call's rule, the gradient that came in, what it sends to its inputs and how that adds up. Two
    wrong orders can be stepped too. `gradient` is that of `loss`, which may be left out if `loss` has one element.
    Names come as in `minitorch.viz.graph`. Hooks do not run.

    RuntimeError if there is no graph, if a backward pass has freed its values, or if it is too large to show.

    >>> import minitorch
    >>> x = minitorch.tensor(3.0, requires_grad=True)
    >>> print(minitorch.viz.replay(x * x, params={"x": x}))
    step 1: mul v1, gradient in 1
      input: g * other = 3 -> x: 3
      other: g * input = 3 -> x: 3 + 3 = 6
    gradients: x 6
    """
    return Replay(loss, tape.Names(model, params, tape.calling_scope()), gradient)


class Replay(Picture):
    """Result of `replay`: `steps` (of the right order), `orders` (name -> steps), `gradients`, `results`."""

    title = "Backward pass, step by step"

    def __init__(self, loss, names, gradient=None):
        self.vertices = tape.read(loss, names)
        if len(self.vertices) > LIMIT:
            raise RuntimeError(f"replay() shows graphs of at most {LIMIT} places, this one has {len(self.vertices)}: "
                               f"use fewer layers or steps; loss.graph() draws a part of it")
        if any(v.freed for v in self.vertices):
            raise RuntimeError("replay() needs the values that backward frees: call it before loss.backward(), or "
                               "call loss.backward(retain_graph=True)")
        self.root = self.vertices[-1]
        self.seed = seed_of(loss, gradient)
        self.at = {v.place: v for v in self.vertices}
        self.orders = {ORDERS[0]: self.in_right_order(), ORDERS[1]: self.recursive(), ORDERS[2]: self.preorder()}
        self.results = {name: self.leaf_gradients(steps) for name, steps in self.orders.items()}

    @property
    def steps(self):
        """The steps of the right order."""
        return self.orders[ORDERS[0]]

    @property
    def gradients(self):
        """Vertex of a leaf -> its gradient, in the right order."""
        return self.results[ORDERS[0]]

    # -- the orders ------------------------------------------------------------------------------------------
    def in_right_order(self):
        """The engine's: each place once, when every gradient that it will be sent is there."""
        uses = tape.uses_behind(self.root.place)
        grads, ready, steps = {self.root.place: self.seed}, [self.root.place], []
        while ready:
            place = ready.pop()
            g = grads.pop(place, None)
            if not place.parents:
                continue
            pulled = None if g is None else place.pull(g, False)
            arrivals = []
            for i, parent in enumerate(place.parents):
                if parent is None:
                    continue
                if pulled is not None and pulled[i] is not None:
                    arrivals.append(self.send(place, i, pulled[i], grads))
                uses[parent] -= 1
                if not uses[parent]:
                    ready.append(parent)
            if g is not None:
                steps.append(Step(self.at[place], held(g), arrivals))
        return steps

    def recursive(self):
        """Wrong: go on to each input at once, with all that has been added up there. Stops after MOST_STEPS."""
        return self.depth_first(once=False)

    def preorder(self):
        """Wrong: the same, but never visit a place again."""
        return self.depth_first(once=True)

    def depth_first(self, once):
        grads, seen, steps = {self.root.place: self.seed}, set(), []
        todo = [iter([(self.root.place, None)])]           # a stack of what is left to do at each level
        while todo and len(steps) < MOST_STEPS:
            place, deliver = next(todo[-1], (None, None))
            if place is None:
                todo.pop()
                continue
            if deliver is not None:
                deliver()
            if not place.parents or (once and place in seen):
                continue
            seen.add(place)
            g = grads[place]
            pulled, step = place.pull(g, False), Step(self.at[place], held(g), [])
            steps.append(step)
            todo.append(iter([(parent, self.delivery(place, i, pulled[i], grads, step))
                              for i, parent in enumerate(place.parents)
                              if parent is not None and pulled[i] is not None]))
        return steps

    def delivery(self, place, i, gradient, grads, step):
        """A function that sends one gradient on and notes it in `step`."""
        return lambda: step.arrivals.append(self.send(place, i, gradient, grads))

    def send(self, place, i, gradient, grads):
        """Add a gradient to those that arrived at input `i` of `place`; returns its Arrival."""
        parent, backend = place.parents[i], place.backend
        if isinstance(place, OutputNode):                    # the gradient of one of several outputs
            slots = grads.setdefault(parent, [None] * len(parent.shape))
            before = slots[place.op]
            slots[place.op] = after = gradient if before is None else before + gradient
        else:
            gradient = backend.asarray(gradient)
            if gradient.shape != tuple(parent.shape):      # the input was broadcast
                gradient = backend.sum_to(gradient, shape=tuple(parent.shape))
            before = grads.get(parent)
            grads[parent] = after = gradient if before is None else backend.asarray(before + gradient)
        return Arrival(self.at[parent], tape.input_name(place, i), rule_of(place, i), held(gradient), held(before),
                       held(after))

    def leaf_gradients(self, steps):
        """Vertex of a leaf -> what has arrived there; None if nothing has."""
        found = dict.fromkeys(v for v in self.vertices if v.kind == "leaf")
        for step in steps:
            found.update((a.vertex, a.after) for a in step.arrivals if a.vertex in found)
        return found

    # -- words -----------------------------------------------------------------------------------------------
    def text(self):
        """The right order in words."""
        lines = [line for i, step in enumerate(self.steps) for line in self.lines_of_step(i, step)]
        found = ", ".join(f"{v.label} {brief(g)}" for v, g in self.gradients.items() if g is not None)
        lines.append(f"gradients: {found}")
        for name in ORDERS[1:]:
            wrong = self.wrong(name)
            if wrong:
                lines.append(f"{name} would give " + ", ".join(
                    f"{v.label} {'nothing' if g is None else brief(g)}" for v, g in wrong.items()))
        return "\n".join(lines)

    def lines_of_step(self, i, step):
        return [f"step {i + 1}: {describe(step.vertex)}, gradient in {show(step.incoming)}",
                *[f"  {a.input + ': ' if a.input else ''}{a.rule} = {brief(a.sent)} -> {name_of(a.vertex)}: {sum_of(a)}"
                  for a in step.arrivals]]

    def wrong(self, order):
        """Leaf -> its gradient in a wrong order, where that is not the right one."""
        return {v: g for v, g in self.results[order].items() if not same(g, self.gradients[v])}

    # -- the picture -----------------------------------------------------------------------------------------
    def svg(self):
        """The graph with the gradient of each place, after the last step."""
        final = final_texts(self.steps)
        return draw_vertices(self.vertices, "Backward pass", self.text(), lambda v: [
            *lines_of(v, None)[:3], (clipped(final.get(f"{v.key}-g", "g: none"), LONG), False)])

    _repr_svg_ = svg

    def html(self):
        """The stepper: the graph, the steps in words, and what the wrong orders give."""
        key = drawing.new_id()
        final = final_texts(self.steps)
        graph = draw_vertices(self.vertices, "Backward pass", self.text(), lambda v: lines_of(v, None)[:3], ("g",))
        for place, words in final.items():                 # without the script: how it ends
            graph = graph.replace(f'data-k="{place}"> <', f'data-k="{place}">{drawing.escape(words)}<')
        tracks = {name: self.track(name) for name in ORDERS}
        return drawing.frame(
            key, element("div", class_="controls"), graph, self.table_of_results(), self.table_of_steps(),
            script_for(key, tracks), style=style_for(key), title=self.title)

    def track(self, name):
        """The steps of one order as the script wants them."""
        empty = {f"{v.key}-g": "" for v in self.vertices}
        start = {"say": f"{name}: before the first step, the gradient of {name_of(self.root)} is {show(self.seed)}",
                 "on": [self.root.key], "set": {**empty, f"{self.root.key}-g": f"g: {show(self.seed)}"}}
        made, steps, room = [start], self.orders[name], ROOM
        for i, step in enumerate(steps):
            lit = [step.vertex.key, f"row-{i}" if name == ORDERS[0] else ""]
            lit += [f"{a.vertex.key}-{step.vertex.key}" for a in step.arrivals]
            words = "\n".join([*self.lines_of_step(i, step), *meaning(step)])
            made.append({"on": lit, "was": [step.vertex.key], "say": words, "set": texts_of(step)})
            room -= len(words) + 80 * len(step.arrivals) + 60
            if room < 0:
                made.append({"say": f"{len(steps) - i - 1} more steps are not shown"})
                break
        made.append(self.verdict(name, len(steps)))
        return made

    def verdict(self, name, count):
        if name == ORDERS[0]:
            return {"say": "all gradients are in: " + self.text().split("gradients: ")[1].split("\n")[0]}
        wrong = self.wrong(name)
        if not wrong:
            return {"say": f"{name}: right on this graph, since no computed value is used twice"}
        cut = f" (given up after {count} steps)" if count >= MOST_STEPS else ""
        lines = [f"{v.label} gets {'nothing' if g is None else brief(g)}, right is {brief(self.gradients[v])}"
                 for v, g in wrong.items() if self.gradients[v] is not None]
        return {"say": f"{name} is wrong{cut}: " + "; ".join(lines[:4]), "on": [v.key for v in wrong]}

    def table_of_results(self):
        rows = [[v.label, *["nothing" if self.results[n][v] is None else brief(self.results[n][v]) + (
            "" if same(self.results[n][v], right) else "  \u2717 wrong") for n in ORDERS]]
            for v, right in self.gradients.items()]
        return drawing.table(rows, ["leaf", *ORDERS], "Gradients of the leaves, by the order of the backward pass")

    def table_of_steps(self):
        rows, keys, room = [], [], ROOM
        for i, step in enumerate(self.steps):
            for a in step.arrivals:
                rows.append([i + 1, describe(step.vertex), show(step.incoming), clipped(a.rule, 60), brief(a.sent),
                             f"{name_of(a.vertex)}: {sum_of(a)}"])
                keys.append(f"row-{i}")
                room -= sum(len(str(x)) for x in rows[-1]) + 80
            if room < 0:
                rows.append(["", f"{len(self.steps) - i - 1} more steps", "", "", "", ""])
                keys.append("rest")
                break
        return drawing.table(rows, ["step", "call", "g, its gradient", "rule", "is", "adds up to"],
                             "The steps in the right order", keys)


# ------------------------------------------------------------------ one step in words
def rule_of(place, i):
    """The rule for input `i` of a node, as text."""
    if isinstance(place, OutputNode):
        return "g"
    if isinstance(place.op, Op):
        return rule_text(place.op, min(i, len(place.op.inputs) - 1))
    return f"{place.op.__name__}.backward(ctx, g)[{i}]"


def name_of(v):
    return v.name or (v.label if v.kind == "leaf" else f"{v.label} {v.key}")


def describe(v):
    return f"{v.name} = {v.label}" if v.name else f"{v.label} {v.key}"


def sum_of(a):
    """How a gradient adds to what was there."""
    if a.before is None:
        return brief(a.after)
    if a.after.size == 1:
        return f"{brief(a.before)} + {brief(a.sent)} = {brief(a.after)}"
    return f"{brief(a.after)}, added up"


def show(g):
    if isinstance(g, list):
        return ", ".join("none" if x is None else brief(x) for x in g)
    return brief(g)


def meaning(step):
    """Lines on the functions that a step's rules call, one for each."""
    op = step.vertex.place.op
    lines = helper_lines(op, [a.rule for a in step.arrivals])[1:] if isinstance(op, Op) else []
    return [clipped(line, 150) for line in lines[:3]]


def texts_of(step):
    return {f"{a.vertex.key}-g": clipped(f"g: {brief(a.after)}", LONG) for a in step.arrivals}


def final_texts(steps):
    made = {f"{steps[0].vertex.key}-g": clipped(f"g: {show(steps[0].incoming)}", LONG)} if steps else {}
    for step in steps:
        made.update(texts_of(step))
    return made


# ------------------------------------------------------------------ numbers
def seed_of(loss, gradient):
    if gradient is not None:
        return gradient.array
    if loss.array.size != 1:
        raise RuntimeError(f"grad can be implicitly created only for scalar outputs: this one has shape "
                           f"{list(loss.shape)}; pass gradient=, as in replay(y, gradient=minitorch.ones_like(y))")
    return loss.backend.xp.ones_like(loss.array)


def held(g):
    """A copy, on the host, of a gradient, or of the list of gradients of several outputs."""
    if g is None:
        return None
    if isinstance(g, list):
        return [held(x) for x in g]
    return np.array(g if isinstance(g, (np.ndarray, np.generic)) else g.get())


def same(a, b):
    return a is b or (a is not None and b is not None and np.allclose(a, b, rtol=1e-5, atol=1e-12, equal_nan=True))
