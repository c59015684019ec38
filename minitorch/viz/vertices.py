"""The vertices of a graph as one picture: a box for each, with its words, and lines between them."""

from ..extend import OutputNode
from . import drawing
from .drawing import brief, clipped, element, shape_text, text
from .layers import arrange

__all__ = ["LIMIT", "LONG", "draw_vertices", "lines_of"]

LIMIT, LONG = 150, 32                      # vertices in one picture, characters in a line


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


# ---- drawing
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
