"""The autograd graph as a picture: which calls made a tensor, out of what, and which gradients have arrived."""

from ..core.registry import guests
from ..extend import OutputNode
from . import drawing, tape
from .drawing import Picture, brief, clipped, element, shape_text, text
from .groups import folded, grouped
from .layers import arrange
from .stepper import script_for, style_for

__all__ = ["Graph", "graph", "draw_vertices"]

LIMIT, LONG = 150, 32                                      # vertices in one picture, characters in a line


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
        return guests.Replay(self.tensor, self.names)

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


def lines_of(v, state):
    """The lines in a vertex's box: (words, whether they are the heading)."""
    if v.kind == "more":
        return [(v.label, True), (v.note, False)]
    heading = v.label if v.kind == "leaf" or not v.name else f"{v.name} = {v.label}"
    lines = [(clipped(heading, LONG), True)]
    lines += [(clipped(note, LONG), False) for note in v.note.split("\n") if note]
    if v.value is not None:
        lines.append((clipped(brief(v.value), LONG), False))
    elif v.kind == "op" and not isinstance(v.place, OutputNode):
        where = "freed" if v.freed else "not kept"
        lines.append((clipped(f"{list(v.shape)}, value {where}".removeprefix("[], "), LONG), False))
    if v.grad is not None:
        lines.append((clipped(f"grad {brief(v.grad)}", LONG), False))
    elif state is not None and v.kind == "leaf":
        lines.append(("grad: none" if state.ran else "grad: not yet", False))
    return lines


# ------------------------------------------------------------------ drawing
LINE, PAD = 15, 7


def draw_vertices(vertices, title, description, lines_for, slots=()):
    """An SVG of vertices and the lines between them; `slots` names empty lines that a stepper fills in each box."""
    lines = {v.key: [*lines_for(v), *[(" ", False)] * len(slots)] for v in vertices}
    sizes = {v.key: box_size(lines[v.key], 150 if slots else 60) for v in vertices}
    edges = [(p, v, name) for v in vertices for p, name in v.parents if p is not None and p.key in sizes]
    placed = arrange(sizes, [(p.key, v.key) for p, v, _ in edges])
    shapes = any(v.shape for v in vertices)
    routes = beside(placed.routes, [(p.key, v.key) for p, v, _ in edges], sizes)
    drawn = [draw_edge(route, p, v) for route, (p, v, _) in zip(routes, edges)]
    drawn += [draw_label(route, p) for route, (p, v, _) in zip(routes, edges) if shapes and p.shape]
    drawn += [draw_box(v, placed.places[v.key], sizes[v.key], lines[v.key], slots) for v in vertices]
    margin = 12
    return drawing.svg_root(placed.width + 2 * margin, placed.height + 2 * margin, title, description,
                            element("g", *drawn, transform=f"translate({margin},{margin})"))


def box_size(lines, least):
    width = max(drawing.width_of(words, 12.5 if bold else 11) for words, bold in lines) + 2 * PAD
    return max(width, least), LINE * len(lines) + 2 * PAD - 2


LOOKS = {"leaf": (drawing.GREEN, drawing.TINTS[2], 14), "op": (drawing.BLUE, drawing.PAPER, 2),
         "module": (drawing.PURPLE, drawing.TINTS[3], 6), "more": (drawing.FAINT, "#eeeeee", 2)}


def draw_box(v, place, size, lines, slots):
    (x, y), (w, h) = place, size
    edge, fill, corner = LOOKS[v.kind]
    dashes = "5 3" if v.kind == "more" else None
    parts = [element("rect", x=x - w / 2, y=y - h / 2, width=w, height=h, rx=corner, fill=fill, stroke=edge,
                     stroke_width=2 if v.kind == "module" else 1.5, stroke_dasharray=dashes)]
    top = y - h / 2 + PAD + 10
    for i, (words, bold) in enumerate(lines):
        slot = i - (len(lines) - len(slots))
        parts.append(text(x, top + LINE * i, words, 12.5 if bold else 11, font_weight="bold" if bold else None,
                          data_k=f"{v.key}-{slots[slot]}" if slot >= 0 else None))
    return element("g", *parts, data_k=v.key)


def beside(routes, edges, sizes):
    """The routes from the lower edge of a box to the upper edge of another, those between the same two moved apart."""
    moved, seen = [], {}
    for route, edge in zip(routes, edges):
        i = seen[edge] = seen.get(edge, -1) + 1
        shift = 26 * (i - (edges.count(edge) - 1) / 2)     # a value may be used twice
        points = [(x + shift, y) for x, y in route]
        (x0, y0), (x1, y1) = points[0], points[-1]
        moved.append([(x0, y0 + sizes[edge[0]][1] / 2), *points[1:-1], (x1, y1 - sizes[edge[1]][1] / 2)])
    return moved


def draw_edge(route, parent, v):
    """A smooth line through the points of a route, and the tip of an arrow at its end."""
    path = f"M{spot(route[0])}"
    for (x0, y0), (x1, y1) in zip(route, route[1:]):
        half = (y1 - y0) / 2
        path += f"C{spot((x0, y0 + half))} {spot((x1, y1 - half))} {spot((x1, y1))}"
    x, y = route[-1]
    tip = element("path", d=f"M{spot((x - 4, y - 8))}h8l-4,8z", fill=drawing.FAINT)
    return element("path", d=path, fill="none", stroke=drawing.FAINT, stroke_width=1.4,
                   data_k=f"{parent.key}-{v.key}") + tip


def spot(point):
    return f"{point[0]:.0f},{point[1]:.0f}"


def draw_label(route, parent):
    (x0, y0), (x1, y1) = route[0], route[1]
    return text((x0 + x1) / 2, (y0 + y1) / 2 + 4, shape_text(parent.shape), 10, fill=drawing.FAINT, halo=True)
