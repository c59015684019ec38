"""A compiled function: what the trace wrote down, and the loops that it was fused into."""

from . import drawing
from .drawing import COLOURS, FAINT, INK, TINTS, Picture, clipped, element, shape_text, text
from .kernels import many

__all__ = ["Fusion", "fusion"]

LINE, LEFT, RIGHT, GAP = 18, 250, 330, 120                 # the height of a line; widths of the columns, in pixels
MOST = 400                                                 # instructions that are drawn


def fusion(compiled):
    """Which calls of a compiled function's trace were fused into which loops.

    On the left the calls of the program that was used last, in order, on the right what runs in their place: loops with
    their rows and columns, products, and calls that stayed. Views and constants run nothing. RuntimeError if the
    function has no program yet; ValueError if its program is NumPy's calls alone: give `compile` ``backend="c"``, or
    tensors of a device.

    >>> import minitorch as torch
    >>> f = torch.compile(lambda x: (x * 2 + 1).tanh().sum(-1), backend="c")
    >>> _ = f(torch.ones(3, 4))
    >>> print(fusion(f))                                             # doctest: +SKIP
    4 calls of the trace run as 1 piece
    loops 3x4 (sum): multiply, add, tanh, add.reduce
    """
    return Fusion(compiled)


class Fusion(Picture):
    """The result of `fusion`: `pieces`, in the order in which they run, and the picture."""

    title = "What was fused"

    def __init__(self, compiled):
        compiled = getattr(compiled, "compiled", compiled)
        compiled.source                                    # noqa: B018  (raises the error if there is no program)
        found = compiled._last.code.pieces
        if not found:
            reasons = [f"; {note}" for note in compiled.notes if note.startswith("NumPy, not C")]
            raise ValueError("fusion() shows loops, and this program is made of NumPy calls: compile(..., "
                             "backend=\"c\")" + "".join(reasons))
        self.programs = [(name, program.instructions) for name, program, _ in found]
        self.pieces = [piece for _, _, pieces in found for piece in pieces]
        self.calls = [i for _, instructions in self.programs for i in instructions]

    def text(self):
        """The pieces and the calls that each does, in words."""
        lines = [f"{many(len(self.calls), 'call')} of the trace run as {many(len(self.pieces), 'piece')}"]
        return "\n".join([*lines, *[f"{head(p)}: {', '.join(map(name_of, p.origin))}" for p in self.pieces]])

    def svg(self):
        """Calls on the left, pieces on the right, a line from each call to where it went."""
        shown = self.calls[:MOST]
        rows = {i: LINE * (n + 1.5) for n, i in enumerate(shown)}
        boxes, y, parts, lines = [], LINE * 0.75, [], []
        for n, p in enumerate(self.pieces):
            mine = [i for i in p.origin if i in rows]
            middle = sum(rows[i] for i in mine) / len(mine) if mine else y
            y = max(y, middle - LINE)
            boxes.append((p, y, mine, n))
            y += 2 * LINE + 8
        for p, top, mine, n in boxes:
            k = n % len(COLOURS) if p.kind == "loops" else None
            colour, tint = (FAINT, "#eeeeee") if k is None else (COLOURS[k], TINTS[k])
            x = LEFT + GAP
            for i in mine:
                bend = f"C{LEFT + GAP / 2} {rows[i]:.1f} {LEFT + GAP / 2} {top + LINE:.1f} {x} {top + LINE:.1f}"
                lines.append(element("path", d=f"M{LEFT} {rows[i]:.1f} {bend}", stroke=colour, fill="none",
                                     stroke_width=1.5))
                parts.append(element("rect", x=4, y=rows[i] - LINE / 2 - 1, width=LEFT - 4, height=LINE - 2, fill=tint,
                                     rx=3))
            parts.append(element("rect", x=x, y=top, width=RIGHT, height=2 * LINE, fill=tint, stroke=colour, rx=4,
                                 stroke_dasharray="4 3" if p.kind == "call" else None))
            parts.append(text(x + 8, top + LINE - 4, clipped(head(p), 44), anchor="start"))
            parts.append(text(x + 8, top + 2 * LINE - 6, clipped(", ".join(p.names), 52), 10, "start", FAINT))
        used = {i for p in self.pieces for i in p.origin}
        for i, at in rows.items():
            parts.append(text(10, at + 3, clipped(name_of(i), 22), 11, "start", INK if i in used else FAINT))
            parts.append(text(LEFT - 8, at + 3, shape_of(i) if i in used else "no work", 10, "end", FAINT))
        height = max(y, LINE * (len(shown) + 2))
        return drawing.svg_root(LEFT + GAP + RIGHT + 8, height, self.title, self.text(), *lines, *parts)

    _repr_svg_ = svg


def head(p):
    """A piece in a few words."""
    how = f" ({', '.join(dict.fromkeys(p.reductions))})" if p.reductions else ""
    return f"{p.kind} {shape_text(p.dims)}{how}".strip()


def name_of(i):
    return i.name.removeprefix("np.").removeprefix("F.").removeprefix("full_")


def shape_of(i):
    return shape_text(i.results[0].shape) if i.results else "write"
