"""The autograd graph as a picture: which calls made a tensor, out of what, and which gradients have arrived."""

from . import drawing, tape
from .drawing import Picture, brief, element
from .groups import folded, grouped
from .replays import Replay
from .stepper import script_for, style_for
from .vertices import LIMIT, draw_vertices, lines_of

__all__ = ["Graph", "graph"]


def graph(tensor, model=None, params=None):
    """The graph behind `tensor`, as a picture: ``loss.graph()`` in a notebook, ``print(loss.graph())`` elsewhere.

    Boxes with square corners are calls, round ones leaves (parameters and inputs), lines carry their shapes. Leaves
    are named by `model` (a Module), by `params` (a dict of tensors) and by the variables of the calling code.
    Gradients appear after ``backward()``, and the words say so before. ``.collapse("Module")`` shows each module as
    one box, ``.step()`` goes through the backward pass. Of large graphs the part nearest to `tensor` is drawn, and
    blocks that repeat are folded (``.unfold()`` draws all).
    RuntimeError for a tensor that no recorded call made.

    >>> import minitorch
    >>> w = minitorch.tensor(2.0, requires_grad=True)
    >>> y = w * 3
    >>> print(y.graph(params={"w": w, "y": y}))
    v0  w: leaf [] = 2
    v1  y: mul(v0, other=3) [] = 6
    backward has not run: no gradient is there yet
    """
    names = tape.Names(model, params, tape.calling_scope())
    return Graph(tensor, names)


class Graph(Picture):
    """Result of `graph`: `vertices`, inputs first, and the picture of them."""

    title = "Autograd graph"

    def __init__(self, tensor, names, depth=None, fold=True):
        self.tensor, self.names, self.depth = tensor, names, depth
        self.vertices = tape.read(tensor, names, LIMIT if depth is None else None)
        self.state = state_of(self.vertices)
        if depth is not None:
            self.vertices = grouped(self.vertices, depth, names.kinds)
        if fold:
            self.vertices = folded(self.vertices)
        self.vertices = self.vertices if depth is None else self.vertices[-LIMIT:]

    def collapse(self, what="Module", depth=1):
        """The same graph with the calls of each module in one box; `depth` parts of a module's path are told apart.

        Calls between two of a module's own are counted as its; calls of modules without parameters stay themselves.
        """
        if what != "Module":
            raise ValueError(f'collapse() knows "Module", got {what!r}')
        if not self.names.modules:
            raise ValueError("collapse() needs to know the modules: pass the model, as in loss.graph(model)")
        return Graph(self.tensor, self.names, depth + self.names.prefixes)

    def unfold(self):
        """The same graph with every block that repeats drawn: long chains are folded at first."""
        return Graph(self.tensor, self.names, self.depth, fold=False)

    def step(self):
        """The backward pass through this graph, step by step: `minitorch.viz.replay`."""
        return Replay(self.tensor, self.names)

    def svg(self):
        """The picture as an SVG element."""
        return draw_vertices(self.vertices, "Autograd graph", self.text(), lambda v: lines_of(v, self.state))

    _repr_svg_ = svg

    def html(self):
        """The picture with its words, as an HTML fragment; what belongs together lights up under the pointer."""
        key = drawing.new_id()
        words = element("p", drawing.escape(self.state.words), style="margin:4px 0")
        return drawing.frame(key, words, self.svg(), script_for(key), style=style_for(key), title=self.title)

    def text(self):
        """The graph in words, one line a vertex."""
        return "\n".join([line_of(v) for v in self.vertices] + [self.state.words])


class State:
    """The state of a graph: `ran` (a backward pass has run, as the tape shows), and `words`."""

    def __init__(self, ran, words):
        self.ran, self.words = ran, words


def state_of(vertices):
    freed = any(v.freed for v in vertices)
    grads = any(v.grad is not None for v in vertices if v.kind == "leaf")
    inner = any(v.grad is not None for v in vertices if v.kind in ("op", "module"))
    if freed and grads:
        return State(True, "backward has run: leaves show what has been added up in .grad"
                     + ", computed values the gradient that came by in the last pass" * inner)
    if freed:
        return State(True, "backward has run, and no gradient is kept here: .grad was cleared or autograd.grad used")
    if grads:
        return State(True, "leaves have a .grad; this graph is still whole, so it came from a backward pass with "
                           "retain_graph=True or from another graph")
    return State(False, "backward has not run: no gradient is there yet")


# ------------------------------------------------------------------ words
def line_of(v):
    """A vertex as one line of text."""
    name = f"{v.name}: " if v.name else ""
    if v.kind == "leaf":
        what = "leaf"
    else:
        inside = [p.key for p, _ in v.parents if p is not None] + (v.note.split("\n") if v.note else [])
        what = f"{v.label}({', '.join(inside)})"
    value = "" if v.value is None or v.value.size > 4 else f" = {brief(v.value)}"
    grad = "" if v.grad is None else f", grad {brief(v.grad)}"
    return f"{v.key.ljust(3)} {name}{what} {list(v.shape)}{value}{grad}"
