"""C of row kernels: scalar functions, passes over rows, loops.

    for each row
      pass 0: max
      pass 1: exp(x - max), sum
      pass 2: divide, store

`#pragma omp simd` marks loops without dependences. Sums of long rows are added up in pieces, in
double, so that they are as exact as NumPy's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..backends.native import count_parts
from .c_words import EXTREMES, SIGNS, TYPES, C
from .loops import AT, REDUCTIONS
from .printer import Pass, Printer, indented, place
from .schedule import COLLECT

__all__ = ["Function", "Printed", "function"]

PART = 4096                # columns whose sum is kept in the elements' own type
MOST_SCRATCH = 1 << 22  # bytes of the sums of all parts: with more a kernel is not cut into parts


class Printed(NamedTuple):
    """A kernel as C: its text, the refs that are its arguments, bytes of scratch memory.

    `parts` is the number of parts that threads can share; `gathers` is True if a second function,
    called name_end, gathers the results of the parts.
    """

    text: str
    params: list
    scratch: int
    parts: int
    gathers: bool


def function(kernel, name):
    """The C function of a kernel."""
    return Function(kernel, name).printed()


# ------------------------------------------------------------------ a loop over columns
class Loop(Pass):
    """A pass as one loop of C; of a long row, a loop over pieces of `PART` columns."""

    def __init__(self, printer, at):
        super().__init__(printer, at)
        self.columns = self.printer.dims[-1]
        self.long = self.columns > PART and (
            any(n.op == "sum" and n.dtype.char in "fd" for n in self.reductions)
            or any(e.kind == "sum" and printer.by_row(e) for e in self.effects))
        self.partial: dict = {}                            # reduction -> its variable in the loop
        self.clauses: list = []                            # of the pragma
        self.before: list = []                         # statements before each piece of a long row
        self.after: list = []                              # after it
        self.running: list = []                            # the variables of running sums
        self.in_order = False                              # one element may be changed twice

    def begin(self, n):
        fresh, kind = self.printer.fresh, self.dialect.ctype(n)
        s = self.partial[n] = self.reduced[n] = fresh("s" if n.op == "sum" else "m")
        self.clauses.append(f"reduction({SIGNS[n.op]}:{s})")
        if self.long and n.op == "sum" and n.dtype.char in "fd":
            whole = fresh("s")
            self.front.append(f"double {whole} = 0;")
            self.in_pieces(kind, s, whole)
            self.reduced[n] = f"({kind}){whole}"
        else:
            self.front.append(f"{kind} {s} = {self.dialect.start(n.op, n.dtype, kind)};")

    def in_pieces(self, kind, s, whole):
        """Let `s` be a sum of each piece of a long row, and add it to the whole."""
        self.before.append(f"{kind} {s} = 0;")
        self.after.append(f"{whole} += {s};")

    def reduce(self, n):
        x, s = self.need(n.args[0]), self.partial[n]
        if n.op in ("sum", "prod"):
            self.inner.append(f"{s} {SIGNS[n.op]}= {x};")
            return
        sign = ">" if n.op == "max" else "<"
        self.inner.append(f"{s} = {x} {sign} {s} ? {x} : {s};")
        if n.dtype.char in "fd":                       # NaN wins; the clause `max` would lose it
            nan = self.printer.fresh("nan")
            self.front.append(f"int {nan} = 0;")
            self.inner.append(f"{nan} |= {x} != {x};")
            self.clauses.append(f"reduction(|:{nan})")
            self.reduced[n] = f"{nan} ? NAN : {s}"

    def effect(self, e):
        x, printer = self.need(e.x), self.printer
        if e.kind == "store":
            self.inner.append(printer.put(e.ref, x))
        elif e.kind in AT:
            self.change(e, x)
        elif printer.by_row(e):
            self.sum_row(e, x)
        else:
            self.inner.append(self.dialect.collected(e, printer.sum_cell(e), x))

    def change(self, e, x):
        """Change an element that is looked up."""
        further = self.need(e.row)
        if e.kind != "put":
            old = self.printer.cell(e.ref, further)
            x = self.dialect.function(e.kind, e.ref.dtype, old, x)
        self.inner.append(self.printer.put(e.ref, x, further))
        if e.row.level == "e" or not e.ref.strides[-1]:
            self.in_order = True

    def sum_row(self, e, x):
        """Add up a row, and add that to a total or to a running sum."""
        s, target = self.printer.fresh("s"), self.printer.sum_cell(e)
        kind = "i64" if e.ref.dtype.kind in "iub" else TYPES[e.ref.dtype.name]
        self.clauses.append(f"reduction(+:{s})")
        self.inner.append(f"{s} += {x};")
        if self.long:
            self.in_pieces(kind, s, target)
        else:
            self.front.append(f"{kind} {s} = 0;")
            self.behind.append(f"{target} += {s};")

    def computed(self, n):
        return self.run(n) if n.op in ("running", "across") else super().computed(n)

    def run(self, n):
        """The sum of a row up to this column, its product or extreme, or that of a column up to
        this row.

        Sums and products are in double, exact as NumPy's.
        """
        x, name = self.need(n.args[0]), self.printer.fresh("run")
        kind = self.dialect.ctype(n)
        wide = kind if n.value in EXTREMES else "double" if n.dtype.kind in "fV" else "i64"
        start = self.dialect.start(n.value, n.dtype, wide)
        if n.op == "running":
            self.running.append(f"{wide} {name} = {start};")
            before = name
        else:
            self.printer.across.append((wide, name))
            name += "[j]"
            before = f"({self.printer.loops[-2]} ? {name} : {start})"
        if n.value in EXTREMES:
            found = self.dialect.function(EXTREMES[n.value], n.dtype, before, x)
        elif n.value == "logaddexp":
            found = f"d_logaddexp({before}, {x})"
        else:
            found = f"{before} {SIGNS[n.value]} {x}"
        return f"({kind})({name} = {found})"

    def loop(self):
        first, last = self.printer.ends("j", self.columns)
        pragma = [] if self.running or self.in_order else [
            f"#pragma omp simd {' '.join(self.clauses)}".rstrip()]
        if self.columns == 1:
            lines = ["{ const i64 j = 0;", *indented(self.inner), "}"]
        elif self.long:
            end = f"j0 + {PART} < {last} ? j0 + {PART} : {last}"
            lines = [f"for (i64 j0 = {first}; j0 < {last}; j0 += {PART}) {{",
                     *indented(self.before),
                     f"  const i64 j1 = {end};",
                     *pragma,
                     "  for (i64 j = j0; j < j1; j++) {",
                     *indented(self.inner, "    "),
                     "  }",
                     *indented(self.after),
                     "}"]
        else:
            lines = [*pragma, f"for (i64 j = {first}; j < {last}; j++) {{",
                     *indented(self.inner), "}"]
        return [*self.running, *lines]


# ------------------------------------------------------------------ a function
class Gathered:
    """Where an effect gathers values: a variable, or an array of scratch memory."""

    def __init__(self, name, kind, count):
        self.name, self.kind, self.count = name, kind, count       # a variable's count is None
        self.place = ""                                    # in scratch memory


class Function(Printer):
    """One kernel as a function of C."""

    dialect, pass_type = C(), Loop

    def __init__(self, kernel, name):
        super().__init__(kernel, name)
        self.scratch = 0
        self.cut = "i0" if self.dims[0] > 1 else "j"       # the loop that is cut into parts
        self.parts = self.number_of_parts()
        self.across: list = []                             # (type, name) of sums up to a row
        collecting = [e for e in kernel.effects if e.kind in COLLECT]
        sums = [e for e in collecting if any(e.ref.strides)]
        totals = [e for e in collecting if not any(e.ref.strides)]
        total_type = self.dialect.total_type
        self.sums = {e: Gathered(f"sums{k}", total_type(e), self.cells(e))
                     for k, e in enumerate(sums)}
        self.totals = {e: Gathered(f"total{k}", total_type(e), None) for k, e in enumerate(totals)}

    def printed(self):
        text = self.text()                                 # which finds the scratch memory
        gathers = self.parts > 1 and bool(self.sums or self.totals)
        return Printed(text, self.params, self.scratch, self.parts, gathers)

    def text(self):
        """The text of the function."""
        row = self.row()
        lines = [*self.variables(), *self.over_rows(row)]
        if self.parts > 1:
            return "\n".join(self.in_parts(lines))
        return "\n".join([self.head(), *lines, *self.finish(), "}"])

    def head(self, suffix=""):
        """The first line of the function; with a suffix that of the one that gathers."""
        size = math.prod(self.dims)
        how = "static __attribute__((noinline))" if size > 4096 else "static"
        written = {place(e.ref) for e in self.kernel.effects}
        arguments = [("" if place(r) in written else "const ")
                     + f"{TYPES[r.dtype.name]} *{self.memory[place(r)]}" for r in self.params]
        arguments.append("char *scratch")
        if not suffix:
            arguments.append("i64 *wrong")
            if any(n.op == "coefficient" for n in self.kernel.nodes):
                arguments.append("const double *H")
            if self.parts > 1:
                arguments.append("const int part")
        return f"{how} void {self.name}{suffix}({', '.join(arguments)}) {{"

    def over_rows(self, row):
        """The loops over rows, around the statements for one row."""
        lines, indents = [], ["  " * (d + 1) for d in range(len(self.dims))]
        for loop, n, indent in zip(self.loops[:-1], self.dims, indents):
            first, last = self.ends(loop, n)
            lines.append(f"{indent}for (i64 {loop} = {first}; {loop} < {last}; {loop}++) {{")
        lines += [line if line.startswith("#") else indents[-1] + line for line in row]
        return lines + [indent + "}" for indent in indents[-2::-1]]

    def ends(self, loop, n):
        """From where to where a loop goes, as C."""
        return ("first", "last") if self.parts > 1 and loop == self.cut else (0, n)

    # -- parts -------------------------------------------------------------------------------------
    def number_of_parts(self):
        """How many parts of the rows, or of the only row, threads can share.

        The number depends on sizes alone: one thread computes the same parts, and results are the
        same to the bit.
        """
        parts = count_parts(math.prod(self.dims))
        if not self.has_separate_parts() or any(
                8 * parts * self.cells(e) > MOST_SCRATCH        # each part has sums of its own
                for e in self.kernel.effects if e.kind in COLLECT):
            return 1
        return min(parts, self.dims[0]) if self.cut == "i0" else parts

    def has_separate_parts(self):
        """True if no part of the loop that would be cut needs a result of another one."""
        ops = {n.op for n in self.kernel.nodes}
        if any(e.kind in AT for e in self.kernel.effects):
            return False
        if len(self.dims) == 2 and "across" in ops:
            return False
        if self.cut == "i0":
            return True
        wide = all(wide for _, wide, _ in self.schedule.effects)
        return wide and len(self.dims) == 2 and not ops & {*REDUCTIONS, "running"}

    def in_parts(self, lines):
        """The function of one part, and one that gathers the results of all, in their order."""
        for g in self.totals.values():
            g.place = f"({g.kind} *)(scratch + {self.take(8)})"
            lines.append(f"  *{g.place} = {g.name};")
        n, size = self.dims[0] if self.cut == "i0" else self.dims[-1], self.scratch
        first, last = (f"{n}LL * {part} / {self.parts}" for part in ("part", "(part + 1)"))
        function = [self.head(), f"  const i64 first = {first}, last = {last};",
                    f"  scratch += part * {size}LL;", *lines]
        gathered = {**self.sums, **self.totals}
        if not gathered:
            return [*function, "}"]
        gathering = [line for e, g in gathered.items() for line in self.gather(e, g, size)]
        return [*function, "}", "", self.head("_end"), *gathering, *self.finish(), "}"]

    def gather(self, e, g, size):
        """Statements that gather the results of all parts, each in `size` bytes of scratch.

        Arrays are gathered in that of the first part.
        """
        if g.count is None:
            cell, start = g.name, 0
            variable = f"  {g.kind} {g.name} = {self.start(e)};"
        else:
            cell, start = f"{g.name}[n]", 1
            variable = f"  {g.kind} *{g.name} = {g.place};"
        other = g.place.replace("scratch", f"scratch + part * {size}LL")
        found = self.dialect.collected(e, cell, f"({other})[n]")
        return [variable, f"  for (int part = {start}; part < {self.parts}; part++)",
                f"    for (i64 n = 0; n < {g.count or 1}; n++) {found}"]

    # -- sums --------------------------------------------------------------------------------------
    def variables(self):
        """Statements in front of the loops: totals, scratch for sums and for values of a row."""
        lines = [f"  {g.kind} {g.name} = {self.start(e)};" for e, g in self.totals.items()]
        for e, g in self.sums.items():
            g.place = f"({g.kind} *)(scratch + {self.scratch})"
            lines.append(self.room(g.kind, g.name, g.count, 8))
            lines.append(
                f"  memset({g.name}, 0, {g.count * 8});" if e.kind in ("sum", "rowsum") else
                f"  for (i64 j = 0; j < {g.count}; j++) {g.name}[j] = {self.start(e)};")
        for n in self.schedule.carried:
            if n in self.kept:
                kind = "uint8_t" if n.dtype == bool else self.dialect.ctype(n)
                size = max(4, n.dtype.itemsize)
                lines.append(self.room(kind, self.kept[n], self.dims[-1], size))
        return lines + [self.room(kind, name, self.dims[-1], 8) for kind, name in self.across]

    def start(self, e):
        """The value of an effect before the first element."""
        return self.dialect.start(e.kind, e.x.dtype, None)

    def room(self, kind, name, count, itemsize):
        """An array of scratch memory, as C."""
        return f"  {kind} *{name} = (void *)(scratch + {self.take(count * itemsize)});"

    def take(self, nbytes):
        """Where so many bytes of scratch memory begin."""
        at = self.scratch
        self.scratch += -(-nbytes // 64) * 64
        return at

    def row_effect(self, e):
        x = self.spell(e.x)
        if e.kind == "store":
            return [self.put(e.ref, x)]
        return [self.dialect.collected(e, self.sum_cell(e), x)]

    def sum_cell(self, e):
        """The place where an effect gathers values."""
        return self.totals[e].name if e in self.totals else self.cell_of(e, self.sums[e].name)

    def finish(self):
        """Statements after the loops: sums become results."""
        return [line for e in self.kernel.effects if e.kind in COLLECT
                for line in self.finish_sum(e)]

    def finish_sum(self, e):
        kind = TYPES[e.ref.dtype.name]
        if e in self.totals:
            return [f"  {self.memory[place(e.ref)]}[0] = ({kind}){self.totals[e].name};"]
        lines, indent = [], "  "
        for v, n, s in zip(self.loops, self.dims, e.ref.strides):
            if s:
                lines.append(f"{indent}for (i64 {v} = 0; {v} < {n}; {v}++)")
                indent += "  "
        return [*lines, f"{indent}{self.cell(e.ref)} = ({kind}){self.sum_cell(e)};"]
