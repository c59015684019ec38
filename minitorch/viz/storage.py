"""Where a tensor's elements are: the buffer, the shape and strides that read it, and who else reads it.

`layout` shows one tensor: its memory as a strip of cells, the tensor as a grid, and which cell is which element.
`alias` shows several: which of them look at the same memory, and at which elements of it.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..extend import owner
from . import drawing, tape
from .drawing import COLOURS, FAINT, INK, PAPER, TINTS, Picture, clipped, element, number, text
from .stepper import script_for, style_for

__all__ = ["Layout", "layout", "Alias", "alias"]

CELLS = 192                                                # of a longer buffer, the ends of what is read are drawn
ROWS, COLUMNS, SLICES = 12, 16, 4                          # of the grid
WIDE, HIGH, STRIP = 44, 30, 16                             # a cell in pixels, and cells in a line of the strip


@dataclass
class Memory:
    """Facts about a tensor's memory, all in elements but `nbytes` and `step` (bytes of an element)."""

    shape: tuple
    strides: tuple
    offset: int
    step: int
    size: int
    nbytes: int
    owner: Any
    contiguous: bool
    version: int
    dtype: str

    @classmethod
    def of(cls, tensor):
        """The memory of a tensor."""
        offset, size = tensor.storage_range()
        return cls(tuple(tensor.array.shape), tensor.stride(), offset, tensor.array.itemsize, size,
                   owner(tensor.array).nbytes, owner(tensor.array), tensor.is_contiguous(), tensor._version,
                   tensor.dtype.name)

    def position(self, index):
        """Where in memory the element at `index`, a tuple, is."""
        return self.offset + sum(i * s for i, s in zip(index, self.strides))

    def span(self):
        """The first position that is read, and the one after the last."""
        if 0 in self.shape:
            return self.offset, self.offset
        ends = [s * (n - 1) for n, s in zip(self.shape, self.strides)]
        return self.offset + sum(e for e in ends if e < 0), self.offset + sum(e for e in ends if e > 0) + 1

    def words(self):
        """The facts, as (name, words) pairs."""
        in_bytes = tuple(s * self.step for s in self.strides)
        return [("shape", str(self.shape)), ("dtype", f"{self.dtype}, {self.step} bytes an element"),
                ("storage", f"#{short_id(self.owner)}, {self.size:,} elements, {self.nbytes:,} bytes"),
                ("offset", f"{self.offset} elements"), ("strides", f"{self.strides} elements = {in_bytes} bytes"),
                ("contiguous", "yes" if self.contiguous else "no"),
                ("version", f"{self.version} write{'' if self.version == 1 else 's'} in place")]


def short_id(memory):
    """A short name for a piece of memory, the same for all who look at it."""
    return f"{id(memory) >> 4 & 0xFFFF:04x}"


def values_at(tensor, first, last):
    """The elements of a tensor's memory from position `first` up to `last`, on the host."""
    found = tensor.backend.of_memory(tensor.array, (last - first,), (1,), first)
    found = tensor.backend.to_host(found)
    return found.astype(np.float32) if found.dtype.kind == "V" else found


# ------------------------------------------------------------------ one tensor
def layout(tensor, name=None):
    """Storage and strides of `tensor`, as a picture; ``x.layout()`` does the same.

    The strip is the memory, cell by cell in the order of addresses, the grid is the tensor; an element has the same
    colour in both, and lights up in both under the pointer or step by step. Of much memory the ends are drawn.

    >>> import minitorch
    >>> print(minitorch.viz.layout(minitorch.arange(6).reshape(2, 3).t()).memory.strides)
    (1, 3)
    """
    return Layout(tensor, name or names_of("layout", [tensor])[0])


def names_of(function, tensors):
    """Names that the calling code has for the tensors that it gives to `function`: a variable, or as it spells them."""
    known, spelled = tape.Names(scope=tape.calling_scope()).of, tape.spelled_arguments(function)
    given = spelled if len(spelled) == len(tensors) else [f"tensor {i}" for i in range(len(tensors))]
    return [known.get(t.node or t) or clipped(words, 24) for t, words in zip(tensors, given)]


class Layout(Picture):
    """Result of `layout`: `memory` (the facts) and the picture."""

    title = "Memory layout"

    def __init__(self, tensor, name="tensor"):
        self.tensor, self.name, self.memory = tensor, name, Memory.of(tensor)
        self.grids, self.left_out = grids_of(self.memory.shape)

    def elements(self):
        """(index, position) for each element that is drawn, in the order of indices."""
        n = len(self.memory.shape)
        for place, rows, columns in self.grids:
            for i, j in itertools.product(rows, columns):
                index = (*place, i, j)[-n:] if n else ()
                yield index, self.memory.position(index)

    def text(self):
        """The facts, and the drawn elements with their positions."""
        lines = [f"{self.name}: memory layout"] + [f"  {k}: {v}" for k, v in self.memory.words()]
        shown = list(self.elements())[:24]
        lines.append("  element -> position: " + ", ".join(f"{list(i)} -> {p}" for i, p in shown) + (
            " ..." if self.tensor.numel() > len(shown) else ""))
        return "\n".join(lines)

    def svg(self):
        """Facts, strip and grid as one SVG."""
        facts, top = draw_facts(self.memory.words(), 18)
        runs = shown_runs(self.memory.size, *self.memory.span())
        rows = rows_at(self.memory, runs)
        title = text(10, top + 12, "memory, in the order of addresses", 12, "start", font_weight="bold")
        strip, top = draw_strip(self.tensor, runs, rows, top + 22)
        grid, bottom, width = self.draw_grids(top + 18)
        return drawing.svg_root(max(width, 60 + STRIP * WIDE), bottom + 8, f"Memory layout of {self.name}", self.text(),
                                facts, title, strip, grid)

    _repr_svg_ = svg

    def draw_grids(self, top):
        parts = [text(10, top, f"{self.name}, by index", 12, "start", font_weight="bold")]
        y, width = top + 8, 0
        for place, rows, columns in self.grids:
            if place:
                parts.append(text(10, y + 14, f"[{', '.join(map(str, place))}, :, :]", 11, "start", FAINT))
                y += 18
            part, y, right = self.draw_grid(place, rows, columns, y)
            parts.append(part)
            width = max(width, right)
        if self.left_out:
            parts.append(text(10, y + 16, self.left_out, 11, "start", FAINT))
            y += 22
        return "".join(parts), y, width + 20

    def draw_grid(self, place, rows, columns, top):
        """One matrix of elements, each with its value and, small, its position in memory."""
        parts, n = [], len(self.memory.shape)
        array = self.tensor.array
        for j, column in enumerate(columns):
            if n:
                parts.append(text(64 + WIDE * j, top + 14, column, 10, fill=FAINT))
        for i, row in enumerate(rows):
            if n > 1:
                parts.append(text(34, top + 24 + HIGH * i + 15, row, 10, "end", FAINT))
            for j, column in enumerate(columns):
                index = (*place, row, column)[-n:] if n else ()
                position = self.memory.position(index)
                value = self.tensor.backend.to_host(array[index + (...,)])
                line = index[max(n - 2, 0)] if n else 0
                parts.append(cell(42 + WIDE * j, top + 20 + HIGH * i, value, position, tint(line)))
        return "".join(parts), top + 24 + HIGH * len(rows), 42 + WIDE * len(columns)

    def html(self):
        """The picture; an element and its memory light up together."""
        key = drawing.new_id()
        steps = [{"on": [f"p{p}"], "say": f"{self.name}{list(i)} is at {self.way(i)} = position {p}"}
                 for i, p in list(self.elements())[:CELLS]]
        return drawing.frame(key, element("div", class_="controls"), self.svg(),
                             script_for(key, {"elements": steps} if steps else {}), style=style_for(key),
                             title=self.title)

    def way(self, index):
        """How the position of an element comes about: ``offset 2 + 1*3 + 0*1``."""
        return " + ".join([f"offset {self.memory.offset}", *[f"{i}*{s}" for i, s in zip(index, self.memory.strides)]])


def grids_of(shape):
    """The matrices to draw, as (leading index, rows, columns), and words for what is left out."""
    rows, columns = (1, 1, *shape)[-2:]
    lead = shape[:-2]
    count = int(np.prod(lead)) if lead else 1
    places = [tuple(map(int, np.unravel_index(k, lead))) for k in range(min(count, SLICES))] if lead else [()]
    left = []
    if count > SLICES:
        left.append(f"{count - SLICES:,} more matrices")
    if rows > ROWS:
        left.append(f"{rows - ROWS:,} more rows")
    if columns > COLUMNS:
        left.append(f"{columns - COLUMNS:,} more columns")
    grids = [] if 0 in shape else [(p, range(min(rows, ROWS)), range(min(columns, COLUMNS))) for p in places]
    return grids, "not drawn: " + ", ".join(left) if left else "" if 0 not in shape else "no elements"


MOST = 1 << 20                                             # elements: of larger tensors, rows are not looked up


def rows_at(memory, runs):
    """Position -> index of the row of the element that is there, for positions in `runs` that the tensor reads."""
    if not 0 < int(np.prod(memory.shape, dtype=np.int64)) <= MOST:
        return {}
    at, row = np.array(memory.offset), np.array(0)
    for k, (n, s) in enumerate(zip(memory.shape, memory.strides)):
        at = np.add.outer(at, np.arange(n) * s)
        row = np.add.outer(row, np.arange(n) * (k == max(len(memory.shape) - 2, 0)))
    near = np.zeros(at.shape, bool)
    for begin, end in runs:
        near |= (at >= begin) & (at < end)
    return dict(zip(at[near][::-1].tolist(), row[near][::-1].tolist()))       # the first of several elements there


def tint(row):
    """The colour of an element, by its row, so that rows can be found in memory; white for memory not read."""
    return PAPER if row is None else TINTS[row % len(TINTS)]


def shown_runs(size, first, last, most=CELLS):
    """The stretches of memory to draw, as (begin, end): all, or what is near the ends of what is read."""
    if size <= most:
        return [(0, size)]
    begin, end = max(first - 4, 0), min(last + 4, size)
    if end - begin <= most:
        return [(begin, end)]
    half = most // 2
    return [(begin, begin + half), (end - half, end)]


def draw_facts(words, top):
    """The facts, one a line."""
    parts = []
    for i, (name, value) in enumerate(words):
        parts.append(text(10, top + 17 * i, name, 12, "start", FAINT))
        parts.append(text(100, top + 17 * i, value, 12, "start"))
    return "".join(parts), top + 17 * len(words)


def draw_strip(tensor, runs, rows, top):
    """Cells of memory in lines of STRIP; what is left out between and around the runs in words."""
    parts, y, size = [], top, tensor.storage_range()[1]
    for k, (begin, end) in enumerate(runs):
        left = begin - (runs[k - 1][1] if k else 0)
        if left:
            parts.append(text(48, y + 8, f"... {left:,} elements ...", 10, "start", FAINT))
            y += 14
        values = values_at(tensor, begin, end)
        for line in range(begin, end, STRIP):
            for p in range(line, min(line + STRIP, end)):
                x = 42 + WIDE * (p - line)
                parts.append(cell(x, y, values[p - begin], p, tint(rows.get(p)), read=p in rows))
            y += HIGH + 14
    if runs and size - runs[-1][1]:
        parts.append(text(48, y + 8, f"... {size - runs[-1][1]:,} elements ...", 10, "start", FAINT))
        y += 14
    return "".join(parts), y


def cell(x, y, value, position, fill, read=True):
    """One element: its value, and small its position; dashed if the tensor does not read it."""
    rect = element("rect", x=x, y=y, width=WIDE - 3, height=HIGH - 2, fill=fill, rx=2, stroke=INK if read else FAINT,
                   stroke_width=1, stroke_dasharray=None if read else "2 2")
    return element("g", rect, text(x + (WIDE - 3) / 2, y + 13, clipped(short_number(value), 6), 11),
                   text(x + (WIDE - 3) / 2, y + 24, position, 8, fill=FAINT), data_k=f"p{position}")


def short_number(value):
    value = np.asarray(value).item() if np.asarray(value).dtype.kind != "V" else float(value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and np.isfinite(value):
        return min(f"{value:.3g}", f"{value:.1e}", key=len) if len(f"{value:.3g}") > 6 else f"{value:.3g}"
    return number(value)


# ------------------------------------------------------------------ several tensors
def alias(*tensors, **named):
    """Which of these tensors look at the same memory, and where: ``viz.alias(a, b, c)`` or ``viz.alias(x=a, y=b)``.

    One strip for each piece of memory, and under it a line for each tensor that marks the elements it reads.

    >>> import minitorch
    >>> a = minitorch.arange(4)
    >>> print(minitorch.viz.alias(a=a, b=a[1:3], c=a.clone()))
    a, b share memory: b lies in a; a write to one is seen by the other
    c has memory of its own
    """
    pairs = list(zip(names_of("alias", tensors) if tensors else (), tensors)) + list(named.items())
    if not pairs:
        raise TypeError("alias() wants tensors, as in alias(a, b)")
    return Alias(pairs)


class Alias(Picture):
    """Result of `alias`: `groups`, lists of (name, tensor, memory) that share one storage."""

    title = "Who shares memory with whom"

    def __init__(self, pairs):
        found = {}
        for name, tensor in pairs:
            memory = Memory.of(tensor)
            found.setdefault(id(memory.owner), []).append((name, tensor, memory))
        self.groups = list(found.values())

    def pairs(self):
        """(name, other name, bytes in common) for each two that look at the same storage."""
        for group in self.groups:
            for i, (a, _, x) in enumerate(group):
                for b, _, y in group[i + 1:]:
                    yield a, b, len(bytes_read(x) & bytes_read(y))

    def text(self):
        """In words, one line for each two that share, and for each that is alone."""
        lines = []
        for group in self.groups:
            if len(group) == 1:
                lines.append(f"{group[0][0]} has memory of its own")
        shared = []
        for group in self.groups:
            for i, (a, _, x) in enumerate(group):
                shared += [f"{a}, {b} {relation(a, x, b, y)}" for b, _, y in group[i + 1:]]
        return "\n".join(shared + lines)

    def svg(self):
        """The strips, and who reads what of them."""
        parts, y = [], 14
        for group in self.groups:
            drawn, y = self.draw_group(group, y)
            parts.append(drawn)
        lines = self.text().split("\n")
        parts += [text(10, y + 8 + 16 * i, line, 12, "start") for i, line in enumerate(lines)]
        width = max(92 + STRIP * WIDE, *[drawing.width_of(line) + 20 for line in lines])
        return drawing.svg_root(width, y + 16 + 16 * len(lines), "Who shares memory with whom", self.text(), *parts)

    _repr_svg_ = svg

    def html(self):
        """The picture; elements light up wherever they appear."""
        key = drawing.new_id()
        return drawing.frame(key, self.svg(), script_for(key), style=style_for(key), title=self.title)

    def draw_group(self, group, top):
        """One storage: its cells in lines, and under each line a bar for each tensor."""
        tensor, step = group[0][1], min(m.step for _, _, m in group)
        memory = group[0][2]
        parts = [text(10, top, f"storage #{short_id(memory.owner)}, {memory.nbytes:,} bytes: "
                      + ", ".join(name for name, _, _ in group), 12, "start", font_weight="bold")]
        first = min(m.span()[0] * m.step for _, _, m in group) // memory.step
        last = -(-max(m.span()[1] * m.step for _, _, m in group) // memory.step)
        reads = [bytes_read(m) for _, _, m in group]
        y = top + 10
        for begin, end in shown_runs(memory.size, first, last, CELLS // 2):
            values = values_at(tensor, begin, end)
            for line in range(begin, end, STRIP):
                here = range(line, min(line + STRIP, end))
                parts += [cell(92 + WIDE * (p - line), y, values[p - begin], p,
                               PAPER, any(p * memory.step in r for r in reads)) for p in here]
                y += HIGH + 2
                for k, ((name, _, m), read) in enumerate(zip(group, reads)):
                    parts.append(text(86, y + 8, clipped(name, 13), 10, "end", COLOURS[k % len(COLOURS)]))
                    parts += [bar(92 + WIDE * (p - line), y, m, k, p) for p in here
                              if any(b in read for b in range(p * memory.step, (p + 1) * memory.step, step))]
                    y += 13
                y += 10
        if memory.size > sum(b - a for a, b in shown_runs(memory.size, first, last, CELLS // 2)):
            parts.append(text(92, y + 4, f"part of {memory.size:,} elements", 10, "start", FAINT))
            y += 16
        return "".join(parts), y + 18


def bar(x, y, memory, k, position):
    return element("g", element("rect", x=x, y=y, width=WIDE - 3, height=8, fill=COLOURS[k % len(COLOURS)],
                                rx=1), data_k=f"m{short_id(memory.owner)}-{k}-{position}")


MOST_BYTES = 1 << 20


def bytes_read(memory):
    """The first byte of each element that is read, in steps of the element's bytes, as offsets into the storage."""
    count = int(np.prod(memory.shape)) if memory.shape else 1
    if count > MOST_BYTES:
        raise ValueError(f"alias() looks at tensors of up to {MOST_BYTES:,} elements, one has {count:,}")
    at = np.array(memory.offset * memory.step)
    for n, s in zip(memory.shape, memory.strides):
        at = np.add.outer(at, np.arange(n) * s * memory.step)
    return set((np.unique(at)[:, None] + np.arange(memory.step)).ravel().tolist())


def relation(a, x, b, y):
    """How two tensors on one storage stand to each other, in words."""
    one, two = bytes_read(x), bytes_read(y)
    if not one & two:
        return "are pieces of one storage without an element in common"
    seen = "a write to one is seen by the other"
    if one == two:
        same = (x.shape, x.strides) == (y.shape, y.strides)
        return f"share memory: the same elements{'' if same else ' in another order or shape'}; {seen}"
    if two < one:
        return f"share memory: {b} lies in {a}; {seen}"
    if one < two:
        return f"share memory: {a} lies in {b}; {seen}"
    return f"share memory: {len(one & two) // min(x.step, y.step)} elements in common; {seen} there"
