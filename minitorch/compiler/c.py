"""C of row kernels: scalar functions, passes over rows, loops.

    for each row                          `#pragma omp simd` marks loops without dependences; sums of long rows are
      pass 0: max                         added up in parts, in double, so that they are as exact as NumPy's
      pass 1: exp(x - max), sum
      pass 2: divide, store
"""

from __future__ import annotations

import math

from ..backends.native.parts import count_parts
from ..core.arrays import is_half
from .c_words import HALVES, SCALAR, TYPES, kind_of, neutral, number
from .loops import AT, REDUCTIONS, Kernel

__all__ = ["COLLECT", "Printer", "function"]

PART = 4096                # columns whose sum is kept in the elements' own type
COLLECT = ("sum", "rowsum", "max", "min", "prod")           # effects that gather up values in an array of their own
MOST_SCRATCH = 1 << 22     # bytes of the sums of all parts: with more a kernel is not cut into parts
DEAR = 5                   # cost from which on a value is kept for a later pass over the row, and not computed again


def function(kernel: Kernel, name):
    """The C function of a kernel; the refs that are its arguments; bytes of scratch memory; `Printer.parts`, whether
    a second function, called name_end, gathers up what its parts have found."""
    printer = Printer(kernel, name)
    return *printer.done(), printer.parts, printer.parts > 1 and bool(printer.sums or printer.totals)


class Printer:
    """Writes one function."""

    def __init__(self, kernel, name):
        kernel.prune()
        kernel.collapse()
        self.k, self.dims = kernel, kernel.dims
        self.loops = [f"i{d}" for d in range(len(self.dims) - 1)] + ["j"]
        self.params: list = []
        self.names: dict = {}
        for ref in (*kernel.reads(), *kernel.writes()):
            if self.place(ref) not in self.names:
                self.names[self.place(ref)] = f"a{len(self.params)}"
                self.params.append(ref)
        self.written = {self.place(e.ref) for e in kernel.effects}
        self.ident: dict = {}
        self.count = 0
        self.scratch = 0
        self.name = name
        self.order()
        self.parts = self.number_of_parts()

    def number_of_parts(self):
        """How many parts of the rows, or of the only row, are computed on their own, so that threads can share them.

        The number depends on sizes alone: one thread computes the same parts, and results are the same to the bit.
        """
        parts, wide = count_parts(math.prod(self.dims)), all(wide for _, wide, _ in self.effects)
        self.cut = "i0" if self.dims[0] > 1 else "j"
        if self.cut == "j" and (len(self.dims) > 2 or not wide or any(n.op in (*REDUCTIONS, "running")
                                                                       for n in self.k.nodes)):
            return 1
        if any(e.kind in AT for e in self.k.effects):
            return 1
        if len(self.dims) == 2 and any(n.op == "across" for n in self.k.nodes):
            return 1
        for e in self.k.effects:                           # each part has sums of its own
            if e.kind in COLLECT and 8 * parts * math.prod(
                    n for n, s in zip(self.dims, e.ref.strides) if s) > MOST_SCRATCH:
                return 1
        return min(parts, self.dims[0] if self.cut == "i0" else parts)

    def ends(self, loop, n):
        """From where to where a loop goes, as C."""
        return ("first", "last") if self.parts > 1 and loop == self.cut else (0, n)

    @staticmethod
    def place(ref):
        return ref.anchor, ref.offset, ref.dtype

    def fresh(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    # -- which pass ----------------------------------------------------------------------------------------
    def order(self):
        """The pass over the row in which each value can be computed; what later passes need of earlier ones."""
        self.stage = {}
        for n in self.k.nodes:
            stage = max([self.stage.get(a, 0) for a in n.args], default=0)
            self.stage[n] = stage + 1 if n.op in REDUCTIONS else stage
        self.effects = []                                  # (effect, over all columns?, pass)
        for e in self.k.effects:
            values = [x for x in (e.x, e.row) if x is not None]
            stage = max(self.stage.get(x, 0) for x in values)
            wide = e.x.level == "e" or e.kind in AT or (e.ref.strides[-1] != 0 and self.dims[-1] > 1)
            wide = wide or (e.kind == "sum" and self.dims[-1] > 1)
            self.effects.append((e, wide, stage))
        self.passes = 1 + max([s for _, wide, s in self.effects if wide]
                              + [self.stage[n] - 1 for n in self.k.nodes if n.op in REDUCTIONS], default=-1)
        self.overwritten = {}                              # root -> the first pass in which something is stored there
        for e, _, stage in self.effects:
            self.overwritten[e.ref.root] = min(stage, self.overwritten.get(e.ref.root, stage))
        self.stored = {e.x: e.ref for e, wide, _ in self.effects if e.kind == "store" and wide and e.x.level == "e"
                       and e.x.op not in ("load", "column")}
        self.uses = self.last_uses()
        self.carried = {}                                  # what is kept for later passes -> the name of its array
        for n in self.k.nodes:
            if n.level == "e" and self.uses.get(n, 0) > self.stage[n] and n not in self.stored:
                if self.cost(n, self.uses[n]) >= DEAR:     # to which those before are cheap
                    self.carried[n] = None
        again = self.read_again()
        self.carried = {n: None for n in self.carried if n in again}

    def last_uses(self):
        """The last pass that needs each value of elements."""
        uses = {}
        for e, wide, stage in self.effects:
            for x in (e.x, e.row):
                if wide and x is not None and x.level == "e":
                    uses[x] = max(stage, uses.get(x, 0))
        for n in reversed(self.k.nodes):
            at = self.stage[n] - 1 if n.op in REDUCTIONS else uses.get(n)
            for a in n.args if at is not None else ():
                if a.level == "e":
                    uses[a] = max(at, uses.get(a, 0))
        return uses

    def read_again(self):
        """The values that a later pass looks up, and not just something that is made of them and looked up itself."""
        found, seen = set(), set()
        todo = [(x, at) for e, wide, at in self.effects if wide for x in (e.x, e.row) if x is not None]
        todo += [(a, self.stage[n] - 1) for n in self.k.nodes if n.op in REDUCTIONS for a in n.args]
        while todo:
            n, at = todo.pop()
            if n.level != "e" or n.op == "const" or (n, at) in seen:
                continue
            seen.add((n, at))
            if self.stage[n] < at and (n in self.stored or n in self.carried):
                found.add(n)
            else:
                todo += [(a, at) for a in n.args]
        return found

    def cost(self, n, at):
        """The cost of computing a value again in pass `at`."""
        if n.level != "e" or n.op == "const":
            return 0
        if n in self.carried or n in self.stored:
            return 1
        if n.op in ("load", "gather"):
            return 99 if self.overwritten.get(n.ref.root, at) < at else 1
        if n.op == "column":
            return 0
        if n.op in ("running", "across"):
            return 99
        return self.own_cost(n) + sum(self.cost(a, at) for a in dict.fromkeys(n.args))

    def own_cost(self, n):
        return 1 if n.op in ("cast", "index") else SCALAR[n.op][kind_of(n.args[-1].dtype)][1]

    # -- expressions ---------------------------------------------------------------------------------------
    def cell(self, ref, further=None):
        """The elements of memory, or those that lie as much `further` on as a value says."""
        parts = [] if further is None else [self.spell(further)]
        parts += [v if s == 1 else f"{v} * {s}" for v, s in zip(self.loops, ref.strides) if s]
        return f"{self.names[self.place(ref)]}[{' + '.join(parts) or '0'}]"

    def read(self, ref, further=None):
        """The elements of memory as a value."""
        cell = self.cell(ref, further)
        return self.widened(cell, ref.dtype) if is_half(ref.dtype) else f"{cell} != 0" if ref.dtype == bool else cell

    def put(self, ref, x, further=None):
        """The statement that stores a value."""
        return f"{self.cell(ref, further)} = {self.narrowed(x, ref.dtype) if is_half(ref.dtype) else x};"

    def spell(self, n):
        return self.number(n.value, n.dtype) if n.op == "const" else self.ident[n]

    def expression(self, n):
        if n.op == "load":
            return self.read(n.ref)
        if n.op == "gather":
            return self.read(n.ref, n.args[0])
        if n.op == "column":
            return self.converted("j", n)
        x = [self.spell(a) for a in n.args]
        if n.op == "cast" and is_half(n.dtype):
            return self.widened(self.narrowed(x[0], n.dtype), n.dtype)
        if n.op == "cast":
            return f"({x[0]} != 0)" if n.dtype == bool else self.converted(x[0], n)
        return self.scalar(n, x)

    # -- C's words, for which CUDA has others ----------------------------------------------------------------
    number = staticmethod(number)

    def widened(self, x, dtype):
        """A 16-bit float of memory as a float."""
        return f"{HALVES[dtype.name]}_widen({x})"

    def narrowed(self, x, dtype):
        return f"{HALVES[dtype.name]}_narrow({x})"

    def converted(self, x, n):
        """A value in the type of a node."""
        return f"({self.ctype(n)})({x})"

    def ctype(self, n):
        return "int" if n.dtype == bool else "float" if is_half(n.dtype) else TYPES[n.dtype.name]

    def scalar(self, n, x):
        """A scalar function, or what only C has."""
        if n.op == "coefficient":
            return f"({TYPES[n.dtype.name]})H[{n.value}]"
        if n.op == "index":
            return f"{n.value[0]}({', '.join([*x, *map(str, n.value[1:])])}, wrong)"
        return SCALAR[n.op][kind_of(n.args[-1].dtype)][0].format(*x)

    # -- statements ----------------------------------------------------------------------------------------
    def done(self):
        """The text of the function, its parameters, and the bytes of scratch that it uses."""
        body, indent = [], "  " * len(self.dims)
        self.rows_done, self.effects_done = set(), set()
        collect = [e for e, _, _ in self.effects if e.kind in COLLECT]
        totals = [e for e in collect if not any(e.ref.strides)]
        self.totals, self.across = {e: f"total{k}" for k, e in enumerate(totals)}, []
        self.sums = {e: f"sums{k}" for k, e in enumerate(e for e in collect if e not in self.totals)}
        for at in range(self.passes):
            self.rows(at, body, indent)
            self.one_pass(at, body, indent)
        self.rows(self.passes + 1, body, indent)
        lines = [self.head(), *self.variables()]
        for d in range(len(self.dims) - 1):
            first, last = self.ends(f"i{d}", self.dims[d])
            lines.append("  " * (d + 1) + f"for (i64 i{d} = {first}; i{d} < {last}; i{d}++) {{")
        lines += body
        for d in reversed(range(len(self.dims) - 1)):
            lines.append("  " * (d + 1) + "}")
        lines = self.in_parts(lines) if self.parts > 1 else [*lines, *self.finish()]
        return "\n".join([*lines, "}"]), self.params, self.scratch

    def variables(self):
        """What the loops need before they begin: totals, and scratch for sums and for values of a row."""
        lines = [f"  {self.total_type(e)} {name} = {self.first(e)};" for e, name in self.totals.items()]
        self.places, self.counts = {}, {}                  # of the sums in scratch
        for e, name in self.sums.items():
            size = math.prod(n for n, s in zip(self.dims, e.ref.strides) if s)
            self.counts[e] = size
            self.places[e] = f"({self.total_type(e)} *)(scratch + {self.scratch})"
            lines.append(self.room(self.total_type(e), name, size, 8))
            lines.append(f"  memset({name}, 0, {size * 8});" if e.kind in ("sum", "rowsum") else
                         f"  for (i64 j = 0; j < {size}; j++) {name}[j] = {self.first(e)};")
        for n, name in self.carried.items():
            if name:
                kind = "uint8_t" if n.dtype == bool else self.ctype(n)
                lines.append(self.room(kind, name, self.dims[-1], max(4, n.dtype.itemsize)))
        return lines + [self.room(kind, name, self.dims[-1], 8) for kind, name in self.across]

    def finish(self):
        return [line for e, _, _ in self.effects if e.kind in COLLECT for line in self.finish_sum(e)]

    def in_parts(self, lines):
        """The function of one part, and one that gathers up what all parts have found, in their order."""
        for e, name in self.totals.items():
            place = f"({self.total_type(e)} *)(scratch + {self.take(8)})"
            lines.append(f"  *{place} = {name};")
            self.places[e] = place
        n, size = self.dims[0] if self.cut == "i0" else self.dims[-1], self.scratch
        lines[1:1] = [f"  const i64 first = {n}LL * part / {self.parts}, last = {n}LL * (part + 1) / {self.parts};",
                      f"  scratch += part * {size}LL;"]
        gathered = []
        for e in self.places:
            kind, name, count = self.total_type(e), self.totals.get(e), self.counts.get(e, 1)
            if name is None:                               # into the sums of the first part
                name = self.sums[e]
                gathered.append(f"  {kind} *{name} = {self.places[e]};")
                cell, start = f"{name}[n]", 1
            else:
                gathered.append(f"  {kind} {name} = {self.first(e)};")
                cell, start = name, 0
            other = self.places[e].replace("scratch", f"scratch + part * {size}LL")
            gathered += [f"  for (int part = {start}; part < {self.parts}; part++)",
                         f"    for (i64 n = 0; n < {count}; n++) {self.collected(e, cell, f'({other})[n]')}"]
        if not gathered:
            return lines
        head = self.head().replace(f"{self.name}(", f"{self.name}_end(", 1).replace(", i64 *wrong", "").replace(
            ", const int part", "").replace(", const double *H", "")
        return [*lines, "}", "", head, *gathered, *self.finish()]

    def room(self, kind, name, count, itemsize):
        """An array of scratch memory, as C."""
        return f"  {kind} *{name} = (void *)(scratch + {self.take(count * itemsize)});"

    def take(self, nbytes):
        at = self.scratch
        self.scratch += -(-nbytes // 64) * 64
        return at

    def head(self):
        size = math.prod(self.dims)
        how = "static __attribute__((noinline))" if size > 4096 else "static"
        pointers = [("" if self.place(r) in self.written else "const ") + f"{TYPES[r.dtype.name]} *"
                    + self.names[self.place(r)] for r in self.params]
        more = ["const double *H"] if any(n.op == "coefficient" for n in self.k.nodes) else []
        more += ["const int part"] if self.parts > 1 else []
        return f"{how} void {self.name}({', '.join([*pointers, 'char *scratch', 'i64 *wrong', *more])}) {{"

    def total_type(self, e):
        if e.kind in ("max", "min"):
            return self.ctype(e.x)
        return "i64" if e.ref.dtype.kind in "iub" else "double"

    def first(self, e):
        """The value of an effect before the first element."""
        return neutral(e.kind, e.x.dtype) if e.kind in ("max", "min") else int(e.kind == "prod")

    def collected(self, e, cell, x):
        """The statement by which an effect takes up a value."""
        if e.kind in ("max", "min"):
            name = {"max": "maximum", "min": "minimum"}[e.kind]
            return f"{cell} = {SCALAR[name][kind_of(e.x.dtype)][0].format(cell, x)};"
        return f"{cell} {'*' if e.kind == 'prod' else '+'}= {x};"

    def sum_cell(self, e):
        """The place of a running sum: its array has the dimensions of the result without gaps."""
        parts, stride = [], 1
        for v, n, s in reversed([*zip(self.loops, self.dims, e.ref.strides)]):
            if s:
                parts.append(v if stride == 1 else f"{v} * {stride}")
                stride *= n
        return f"{self.sums[e]}[{' + '.join(reversed(parts)) or '0'}]"

    def finish_sum(self, e):
        c = TYPES[e.ref.dtype.name]
        if e in self.totals:
            return [f"  {self.names[self.place(e.ref)]}[0] = ({c}){self.totals[e]};"]
        lines, depth = [], 1
        for v, n, s in zip(self.loops, self.dims, e.ref.strides):
            if s:
                lines.append("  " * depth + f"for (i64 {v} = 0; {v} < {n}; {v}++)")
                depth += 1
        return [*lines, "  " * depth + f"{self.cell(e.ref)} = ({c}){self.sum_cell(e)};"]

    def rows(self, at, body, indent):
        """Values and effects that come once a row, as soon as they can be computed."""
        for n in self.k.nodes:
            if n.level != "e" and n not in self.rows_done and n.op not in REDUCTIONS and self.stage[n] <= at:
                self.rows_done.add(n)
                self.ident[n] = self.fresh("r")
                body.append(f"{indent}const {self.ctype(n)} {self.ident[n]} = {self.expression(n)};")
        for e, wide, stage in self.effects:
            if not wide and stage <= at and e not in self.effects_done:
                self.effects_done.add(e)
                body += [indent + line for line in self.row_effect(e)]

    def row_effect(self, e):
        """The statements of an effect that comes once a row."""
        if e.kind == "store":
            return [self.put(e.ref, self.spell(e.x))]
        return [self.collected(e, self.totals.get(e) or self.sum_cell(e), self.spell(e.x))]

    def one_pass(self, at, body, indent):
        """One loop over the columns."""
        wanted = [n for n in self.k.nodes if n.op in REDUCTIONS and self.stage[n] == at + 1]
        effects = [e for e, wide, stage in self.effects if wide and stage == at]
        carry = [n for n in self.carried if self.stage[n] == at]
        if not (wanted or effects or carry):
            return
        columns = self.dims[-1]
        long = columns > PART and (any(n.op == "sum" and n.dtype.char in "fd" for n in wanted) or any(
            e.kind == "sum" and self.by_row(e) for e in effects))
        self.local, self.inner, self.at, clauses, before, after = {}, [], at, [], [], []
        self.partial, self.finished, self.row_sums, self.started, self.ordered = {}, {}, [], [], False
        for n in wanted:
            clauses.append(self.begin(n, long, body, before, after, indent))
        for n in wanted:
            self.reduce(n, body, clauses, indent)
        for x in [*[x for e in effects for x in (e.x, e.row) if x is not None], *carry]:
            self.need(x)                                   # all is read before anything is overwritten
        for e in effects:
            self.wide_effect(e, long, body, before, after, clauses, indent)
        for n in carry:
            x = self.need(n)
            self.carried[n] = self.fresh("row")
            self.inner.append(f"{self.carried[n]}[j] = {x};")
        body += [indent + line for line in self.started]
        self.loop(body, indent, columns, long, clauses, before, after)
        for n in self.local:
            del self.ident[n]
        for n, text in self.finished.items():
            self.ident[n] = self.fresh("r")
            body.append(f"{indent}const {self.ctype(n)} {self.ident[n]} = {text};")
        body += [f"{indent}{line}" for line in self.row_sums]

    def reduce(self, n, body, clauses, indent):
        """The statements of a reduction within the loop."""
        x, s = self.need(n.args[0]), self.partial[n]
        if n.op in ("sum", "prod"):
            self.inner.append(f"{s} {'+*'[n.op == 'prod']}= {x};")
            return
        sign = ">" if n.op == "max" else "<"
        self.inner.append(f"{s} = {x} {sign} {s} ? {x} : {s};")
        if n.dtype.char in "fd":                           # NaN wins; the clause `max` would lose it
            nan = self.fresh("nan")
            body.append(f"{indent}int {nan} = 0;")
            self.inner.append(f"{nan} |= {x} != {x};")
            clauses.append(f"reduction(|:{nan})")
            self.finished[n] = f"{nan} ? NAN : {s}"

    def by_row(self, e):
        """Whether a sum is over the columns too."""
        return e.ref.strides[-1] == 0

    def begin(self, n, long, body, before, after, indent):
        """The variables of a reduction; returns its clause."""
        s, c = self.fresh("s" if n.op == "sum" else "m"), self.ctype(n) if n.dtype != bool else "int"
        self.partial[n] = s
        if n.op == "prod":
            body.append(f"{indent}{c} {s} = 1;")
            self.finished[n] = s
            return f"reduction(*:{s})"
        if n.op != "sum":
            body.append(f"{indent}{c} {s} = {neutral(n.op, n.dtype)};")
            self.finished[n] = s
            return f"reduction({n.op}:{s})"
        if long and n.dtype.char in "fd":
            whole = self.fresh("s")
            body.append(f"{indent}double {whole} = 0;")
            before.append(f"{c} {s} = 0;")
            after.append(f"{whole} += {s};")
            self.finished[n] = f"({c}){whole}"
        else:
            body.append(f"{indent}{c} {s} = 0;")
            self.finished[n] = s
        return f"reduction(+:{s})"

    def wide_effect(self, e, long, body, before, after, clauses, indent):
        """A store, sum or scatter in the loop over the columns."""
        x = self.need(e.x)
        if e.kind == "store":
            self.inner.append(self.put(e.ref, x))
        elif e.kind in AT:
            cell = self.cell(e.ref, e.row)
            if e.kind != "put":
                x = SCALAR[e.kind][kind_of(e.ref.dtype)][0].format(cell, x)
            self.inner.append(self.put(e.ref, x, e.row))
            self.ordered = self.ordered or e.row.level == "e" or not e.ref.strides[-1]     # one element twice
        elif not self.by_row(e):
            self.inner.append(self.collected(e, self.sum_cell(e), x))
        else:
            s, target = self.fresh("s"), self.totals.get(e) or self.sum_cell(e)
            c = "i64" if e.ref.dtype.kind in "iub" else TYPES[e.ref.dtype.name]
            clauses.append(f"reduction(+:{s})")
            self.inner.append(f"{s} += {x};")
            if long:
                before.append(f"{c} {s} = 0;")
                after.append(f"{target} += {s};")
            else:
                body.append(f"{indent}{c} {s} = 0;")
                self.row_sums.append(f"{target} += {s};")

    def need(self, n):
        """The name of a value in this pass, computed there if need be."""
        if n.op == "const" or n.level != "e" or n in self.local:
            return self.spell(n)
        if self.stage[n] < self.at and n in self.stored:
            text = self.read(self.stored[n])
        elif self.stage[n] < self.at and n in self.carried:
            text = self.kept(n)
        else:
            for a in n.args:
                self.need(a)
            text = self.run(n) if n.op in ("running", "across") else self.expression(n)
        self.local[n] = self.ident[n] = self.fresh()
        self.inner.append(f"const {self.ctype(n)} {self.ident[n]} = {text};")
        return self.ident[n]

    def kept(self, n):
        """A value that an earlier pass has kept."""
        return f"{self.carried[n]}[j]"

    def run(self, n):
        """The sum of a row up to this column, its product or extreme, or that of a column up to this row; sums and
        products in double, exact as NumPy's."""
        name = before = self.fresh("run")
        kind = "f" if n.dtype.kind in "fV" else "i"
        extreme, logs = n.value in ("max", "min"), n.value == "logaddexp"
        wide = self.ctype(n) if extreme else {"f": "double", "i": "i64"}[kind]
        x = self.spell(n.args[0])
        start = neutral(n.value, n.dtype) if extreme else "-INFINITY" if logs else int(n.value == "prod")
        if n.op == "running":
            self.started.append(f"{wide} {name} = {start};")
        else:
            self.across.append((wide, name))
            name += "[j]"
            before = f"({self.loops[-2]} ? {name} : {start})"
        if extreme:
            how = SCALAR["maximum" if n.value == "max" else "minimum"][kind_of(n.dtype)][0].format(before, x)
        elif logs:
            how = f"d_logaddexp({before}, {x})"
        else:
            how = f"{before} {'+*'[n.value == 'prod']} {x}"
        return f"({self.ctype(n)})({name} = {how})"

    def loop(self, body, indent, columns, long, clauses, before, after):
        in_order = self.started or self.ordered
        pragma = "" if in_order else ("#pragma omp simd " + " ".join(clauses)).rstrip()
        first, last = self.ends("j", columns)
        pragmas = [pragma] if pragma else []
        if columns == 1:
            body += [f"{indent}{{ const i64 j = 0;", *[f"{indent}  {line}" for line in self.inner], f"{indent}}}"]
        elif long:
            body.append(f"{indent}for (i64 j0 = {first}; j0 < {last}; j0 += {PART}) {{")
            body += [f"{indent}  {line}" for line in before]
            body += [f"{indent}  const i64 j1 = j0 + {PART} < {last} ? j0 + {PART} : {last};", *pragmas,
                     f"{indent}  for (i64 j = j0; j < j1; j++) {{"]
            body += [f"{indent}    {line}" for line in self.inner]
            body += [f"{indent}  }}", *[f"{indent}  {line}" for line in after], f"{indent}}}"]
        else:
            body += [*pragmas, f"{indent}for (i64 j = {first}; j < {last}; j++) {{",
                     *[f"{indent}  {line}" for line in self.inner], f"{indent}}}"]
