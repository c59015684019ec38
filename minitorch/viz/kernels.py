"""A kernel, thread by thread: who acts, which memory is touched, races and bank conflicts, what each line costs."""

from . import drawing
from .accesses import BANKS, LINE, WARP, as_accesses, races_of, steps_of
from .drawing import COLOURS, FAINT, INK, PAPER, TINTS, Picture, element, text
from .stepper import script_for, style_for

__all__ = ["Kernel", "kernel"]

STEPS, BLOCKS, THREADS, MEMORY = 120, 3, 256, 16           # what is drawn at most; MEMORY in lines of 128 bytes


def kernel(records, source=None, title="kernel"):
    """Step through what a kernel did: ``viz.kernel(sim.trace(...))``, or records of `viz.emulate`, or made by hand.

    Each record is one access of one thread (see `minitorch.viz.Access`). `source` is the kernel's text, or a function
    in Python, whose lines the records number; it is shown with the cost of each line. Of a large launch the first
    steps are drawn; races and costs are those of all records.

    >>> from minitorch.viz import Access
    >>> print(kernel([Access(0, t, 7, "store", "shared", 128 * t) for t in range(4)]))
    1 block, 4 threads, 1 step
    line 7: store shared, 4 accesses, bank conflicts: 4 turns instead of 1
    no races
    """
    return Kernel(records, source, title)


class Kernel(Picture):
    """Result of `kernel`: `steps`, `races` (pairs of records), `lines` (line -> Costs), and the picture."""

    def __init__(self, records, source=None, title="kernel"):
        records = list(records)
        self.title, self.records = title, as_accesses(records)
        self.source = source_lines(source, records)        # number -> line
        self.steps, self.races = steps_of(self.records), races_of(self.records)
        self.lines = costs_of(self.steps)
        self.threads = 1 + max((a.thread for a in self.records), default=-1)
        self.blocks = sorted({a.block for a in self.records})

    # -- words -----------------------------------------------------------------------------------------------
    def text(self):
        """The costs of each line and the races, in words."""
        lines = [", ".join((many(len(self.blocks), "block"), many(self.threads, "thread"),
                            many(len(self.steps), "step")))]
        lines += [f"line {n}: {cost.words()}" for n, cost in self.lines.items()]
        lines += [f"race: {words}" for words in self.race_lines()] or ["no races"]
        return "\n".join(lines)

    def say(self, step):
        """One step in words."""
        who = f"block {step.block}, {many(len(step.accesses), 'thread')}"
        if step.kind == "barrier":
            return f"line {step.line}: {who} wait at the barrier"
        words = f"line {step.line}: {who} {step.kind} {step.space} memory"
        if step.space == "shared":
            words += f"; bank conflict, {step.conflict} turns" if step.conflict > 1 else "; no bank conflict"
        else:
            words += f"; {step.sectors} sectors of 32 bytes, {step.ideal} would do"
        racing = [pair for pair in self.races if any(a in step.accesses for a in pair)]
        return words + (f"\nRACE: {race_words(*racing[0])}" if racing else "")

    # -- the picture -----------------------------------------------------------------------------------------
    def svg(self):
        """Threads and memory, with all that was touched."""
        drawn, shown = [], self.blocks[:BLOCKS]
        y = 14
        for block in shown:
            drawn.append(text(10, y, f"block {block}", 12, "start", font_weight="bold"))
            part, y = self.draw_threads(block, y + 8)
            drawn.append(part)
            y += 16
        if len(self.blocks) > len(shown):
            drawn.append(text(10, y, f"and {len(self.blocks) - len(shown)} more blocks", 11, "start", FAINT))
            y += 18
        for space, block in [("global", None), *[("shared", b) for b in shown]]:
            part, y = self.draw_memory(space, block, y)
            drawn.append(part)
        return drawing.svg_root(90 + BANKS * CELL + 60, y + 8, f"Memory accesses of {self.title}", self.text(), *drawn)

    def html(self):
        """The picture with its steps, the source with its costs, and the races."""
        key = drawing.new_id()
        steps = [{"on": self.lit(step), "say": self.say(step)} for step in self.steps[:STEPS]
                 if step.block in self.blocks[:BLOCKS]]
        left = len(self.steps) - len(steps)
        note = [element("p", f"{left} more steps are not drawn")] if left > 0 else []
        return drawing.frame(key, element("div", class_="controls"), self.svg(), *note, self.table_of_lines(),
                             self.table_of_races(), script_for(key, {"steps": steps} if steps else {}),
                             style=style_for(key), title=f"Kernel: {self.title}")

    def lit(self, step):
        cells = [f"t{a.block}-{a.thread}" for a in step.accesses]
        for a in step.accesses if step.kind != "barrier" else ():
            cells += [cell_key(a.space, a.block, w) for w in words_of(a)]
        return [*in_runs(dict.fromkeys(cells)), f"line{step.line}"]

    def draw_threads(self, block, top):
        """A cell for each thread of a block, a warp in each line."""
        cells, labels, shown = [], [], min(self.threads, THREADS)
        for t in range(shown):
            x, y = 66 + CELL * (t % WARP), top + CELL * (t // WARP)
            cells.append(element("g", square(x, y), element("text", str(t), x=x + CELL // 2 - 1, y=y + 12, fill=INK,
                                                            stroke="none"), data_k=f"t{block}-{t}"))
        for w in range(-(-shown // WARP)):
            labels.append(text(60, top + CELL * w + 12, f"warp {w}", 9, "end", FAINT))
        bottom = top + CELL * -(-shown // WARP)
        if shown < self.threads:
            labels.append(text(66, bottom + 10, f"and {self.threads - shown} more threads", 10, "start", FAINT))
            bottom += 14
        return element("g", *cells, fill=PAPER, stroke=INK, font_size=8, text_anchor="middle") + "".join(labels), bottom

    def draw_memory(self, space, block, top):
        """The 128-byte lines of one memory that were touched, a cell for each word of 4 bytes."""
        here = [a for a in self.records if a.space == space and a.kind != "barrier" and block in (None, a.block)]
        if not here:
            return "", top
        racing = {w for pair in self.races for a in pair if a in here for w in words_of(a)}
        used = {w: a.array for a in here for w in words_of(a)}
        names = list(dict.fromkeys(a.array for a in here))
        rows = sorted({w // BANKS for w in used})
        shown = some_of_each(rows, used)
        title = "global memory" if space == "global" else f"shared memory of block {block}"
        what = "lines of 128 bytes" if space == "global" else "32 banks from left to right"
        parts, y = [text(10, top + 8, f"{title}: {what}", 12, "start", font_weight="bold")], top + 14
        for row in shown:
            words = {w: used[w] for w in range(row * BANKS, (row + 1) * BANKS) if w in used}
            parts.append(label_of_row(row, words, y))
            parts.append(draw_row(words, y, names, racing, lambda w: cell_key(space, here[0].block, w)))
            y += CELL + 2
        if len(rows) > len(shown):
            parts.append(text(66, y + 10, f"and {len(rows) - len(shown)} more lines", 10, "start", FAINT))
            y += 14
        return "".join(parts), y + 20

    def table_of_lines(self):
        rows, keys = [], []
        for n, line in sorted({**dict.fromkeys(self.lines, ""), **self.source}.items())[:200]:
            cost = self.lines.get(n)
            rows.append([n, line, *(cost.cells() if cost else [""] * 4)])
            keys.append(f"line{n}")
        return drawing.table(rows, ["line", "source", "accesses", "sectors", "at best", "bank turns"],
                             "What each line costs", keys)

    def race_lines(self):
        """The races in words, those between the same two lines and on the same array together."""
        found = {}
        for one, other in self.races:
            found.setdefault((one.array, one.space, *sorted((one.line, other.line))), []).append((one, other))
        return [race_words(*pairs[0]) + (f" (and at {len(pairs) - 1} more places)" if len(pairs) > 1 else "")
                for pairs in found.values()]

    def table_of_races(self):
        if not self.races:
            return element("p", "no races")
        return drawing.table([[words] for words in self.race_lines()[:20]], ["race"],
                             "Races: the result depends on who comes first")


CELL = 20                                                  # pixels


def square(x, y, **more):
    return element("rect", x=x, y=y, width=CELL - 2, height=CELL - 2, **more)


def label_of_row(row, words, y):
    """The name of the array in a line of memory, or the line's address."""
    name = next(iter(words.values())) or f"{row * LINE:#x}"
    return text(60, y + 12, name if len(name) < 10 else "\u2026" + name[-8:], 9, "end", FAINT)


def draw_row(words, y, names, racing, key):
    """One line of memory; `words` maps those that were touched to their array's name."""
    size = CELL - 2
    empty = "".join(f"M{66 + CELL * k},{y}h{size}v{size}h-{size}z" for k in range(BANKS))
    parts = [element("path", d=empty, fill="none", stroke="#dddddd")]
    for name in dict.fromkeys(words.values()):
        cells = []
        for w in [w for w, owner in words.items() if owner == name]:
            x, race = 66 + CELL * (w % BANKS), w in racing
            mark = text(x + size / 2, y + 13, "!", 11, font_weight="bold", stroke="none")
            cells.append(element("g", square(x, y, stroke=COLOURS[1], stroke_width=3), mark, data_k=key(w)) if race
                         else square(x, y, data_k=key(w)))
        parts.append(element("g", *cells, fill=TINTS[names.index(name) % len(TINTS)], stroke=INK))
    return "".join(parts)


def some_of_each(rows, used):
    """The lines of memory to draw: at most MEMORY, the first ones of each array."""
    if len(rows) <= MEMORY:
        return rows
    by_array = {}
    for row in rows:
        name = next(used[w] for w in range(row * BANKS, (row + 1) * BANKS) if w in used)
        by_array.setdefault(name, []).append(row)
    return sorted(row for found in by_array.values() for row in found[:max(MEMORY // len(by_array), 1)])


class Costs:
    """Costs of a line of a kernel over all steps."""

    def __init__(self):
        self.accesses = self.sectors = self.ideal = 0
        self.conflict, self.what = 1, {}

    def add(self, step):
        self.accesses += len(step.accesses)
        self.sectors, self.ideal = self.sectors + step.sectors, self.ideal + step.ideal
        self.conflict = max(self.conflict, step.conflict)
        self.what[f"{step.kind} {step.space}" if step.kind != "barrier" else "barrier"] = True

    def words(self):
        parts = [", ".join(self.what), f"{self.accesses} accesses"]
        if self.sectors:
            parts.append(f"{self.sectors} sectors, {self.ideal} would do")
        if self.conflict > 1:
            parts.append(f"bank conflicts: {self.conflict} turns instead of 1")
        return ", ".join(parts)

    def cells(self):
        return [self.accesses, self.sectors or "", self.ideal or "", self.conflict if self.conflict > 1 else ""]


def in_runs(keys):
    """Keys, with runs such as t0, t1, t2 as ``t0:2``, in the stepper's spelling."""
    made = []                                              # [stem, first, last]
    for key in keys:
        digits = len(key) - len(key.rstrip("0123456789"))
        stem, n = key[:-digits], int(key[-digits:])
        if made and made[-1][0] == stem and made[-1][2] == n - 1:
            made[-1][2] = n
        else:
            made.append([stem, n, n])
    return [f"{stem}{a}" if a == b else f"{stem}{a}:{b}" for stem, a, b in made]


def costs_of(steps):
    """Line -> Costs."""
    found = {}
    for step in steps:
        found.setdefault(step.line, Costs()).add(step)
    return dict(sorted(found.items()))


def source_lines(source, records):
    """Number -> line of a kernel's text or Python function; of neither, of what the records of a simulator know."""
    if callable(source):
        import inspect
        lines, first = inspect.getsourcelines(source)
        return {first + i: line.rstrip("\n") for i, line in enumerate(lines)}
    if source is not None:
        return dict(enumerate(source.splitlines(), 1))
    known = {r.line: getattr(r.site, "text", "") for r in records if hasattr(r, "site")}
    return dict(sorted(known.items()))


def many(n, word):
    """``1 step``, ``2 steps``."""
    return f"{n} {word}{'' if n == 1 else 's'}"


def words_of(a):
    """The 4-byte words that an access touches."""
    return range(a.address // 4, (a.address + max(a.bytes, 1) - 1) // 4 + 1)


def cell_key(space, block, word):
    return f"g{word}" if space == "global" else f"s{block}-{word}"


def race_words(one, other):
    place = f"{one.array} at byte {one.address}" if one.array else f"{one.space} byte {one.address}"
    return (f"{place}: {one.kind} in line {one.line} by thread {one.thread} of block {one.block}, {other.kind} in line "
            f"{other.line} by thread {other.thread} of block {other.block}, and nothing says which comes first")
