"""CUDA of row kernels: the loops that `c.py` prints as C, spread over threads.

    no reduction, no sum   a thread for each element, over the whole domain
    otherwise              a team for each row, a warp or a block, whose threads have every T-th
                           column each; a reduction of a row is a shuffle; teams go over rows with a
                           fixed step
    sums over rows         each team adds up its own rows in double; a second kernel adds the teams
                           in their order

So results do not depend on the order in which blocks run, nor on the number of multiprocessors.
Scalar functions are the functors of the device's own elementwise kernels. A value that a later pass
over a row needs again is computed again if that is cheap, else kept by the thread that made it.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from ..backends.cuda import TYPES as WORDS
from ..backends.cuda import Kernel as Launcher
from ..backends.cuda import c_name, with_includes
from ..extend import is_half
from .cuda_words import COMBINED, FUNCTORS_OF, Cuda
from .loops import REDUCTIONS, SPECIAL, Effect, level_of
from .printer import Pass, Printer, indented, place
from .schedule import COLLECT

__all__ = ["Fused", "Printed", "printed"]

WARP = 32
FLAT = 256                 # threads of a block where each element is on its own
MOST_BLOCKS = 1 << 16      # of a grid; threads then take several elements or rows
TEAMS = 512                # that share a sum over rows
PARTIAL = 1 << 22          # numbers that all teams together may hold of such a sum
LONG = 64                  # columns of one thread from which on its part of a sum is kept in double
WHOLE = 1 << 14            # columns from which on the sum of a row is shared by several blocks
SHORT = {name: word for word, (_, name) in WORDS.items()}


# ---------------------------------------------------------- kernels in the form that suits a device
def on_columns(kernel):
    """If rows have one column, make their last dimension the columns, since threads lie along
    columns."""
    if any(n.op in SPECIAL for n in kernel.nodes):
        return
    while kernel.dims[-1] == 1 and len(kernel.dims) > 1:
        kernel.dims, moved = kernel.dims[:-1], {}
        for ref in (*kernel.reads(), *kernel.writes()):
            moved.setdefault(ref, ref.moved(ref.strides[:-1]))
        for n in kernel.nodes:
            if n.ref is not None:
                n.ref = moved[n.ref]
                n.level = kernel.level(n.ref)
            elif n.args:
                n.level = level_of(n.args)
        kernel.effects = [Effect("sum" if e.kind == "rowsum" else e.kind, moved[e.ref], e.x, e.row)
                          for e in kernel.effects]


def share_sums(kernel):
    """Few long rows: a reduction that is only stored becomes one that several blocks share."""
    if math.prod(kernel.dims[:-1]) > TEAMS or kernel.dims[-1] < WHOLE:
        return
    read = {a for n in kernel.nodes for a in n.args}
    for k, e in enumerate(kernel.effects):
        if (e.kind == "store" and e.x.op in REDUCTIONS and e.x not in read
                and is_distinct(e.ref, kernel)):
            kernel.effects[k] = Effect(e.x.op, e.ref, e.x.args[0])


def is_distinct(ref, kernel):
    """True if a ref has a place of its own for each row."""
    return all(s for n, s in zip(kernel.dims[:-1], ref.strides) if n > 1)


class Printed(NamedTuple):
    """A kernel as text, and how it is launched."""

    text: str
    anchors: list              # the arrays that are passed
    signature: str             # and how
    launches: list             # (entry, grid, block)
    partials: int              # numbers of scratch memory


def printed(kernel, name="fused"):
    """The CUDA of a row kernel, under a name."""
    kernel.prune()
    kernel.collapse()
    on_columns(kernel)
    share_sums(kernel)
    return Grid(kernel, name).printed()


# ------------------------------------------------------------------ a loop over columns
class TeamPass(Pass):
    """A pass of a team: each thread takes every T-th column."""

    def reduce(self, n):
        grid = self.printer
        x, kind = self.need(n.args[0]), self.dialect.ctype(n)
        name = grid.fresh("s" if n.op == "sum" else "m")
        floats = n.dtype.kind == "f"                       # bfloat16 is float32 within kernels
        long = n.op in ("sum", "prod") and floats and grid.team.items > LONG
        part = "double" if long else kind
        self.front.append(f"{part} {name} = {self.dialect.start(n.op, n.dtype, part)};")
        self.inner.append(self.dialect.combined(n.op, name, x, part))
        self.reduced[n] = f"static_cast<{kind}>({grid.reduced_by_team(name, part, n.op)})"

    def effect(self, e):
        x = self.need(e.x)
        if e.kind == "store":
            self.inner.append(self.printer.put(e.ref, x))
        else:
            self.sum(e, self.printer.sums[e], x)

    def sum(self, e, total, x):
        """Add a value to a sum: of a thread, of a column of a thread, or of the row."""
        if total.where == "memory" and self.printer.by_row(e):
            part = self.printer.fresh("s")
            self.front.append(f"{total.kind} {part} = {total.start};")
            self.inner.append(self.dialect.collected(e, part, x))
            self.behind += [f"{part} = {self.printer.reduced_by_team(part, total.kind, e.kind)};",
                            f"if (threadIdx.x == 0) {self.printer.summed(e, part)}"]
        else:
            self.inner.append(self.printer.summed(e, x))

    def loop(self):
        grid = self.printer
        waits = any(e.kind == "store" and e.ref.root in grid.awaited for e in self.effects)
        return [*[grid.barrier()] * waits, *grid.for_items(self.inner)]


# ------------------------------------------------------------------ a grid of threads
class Team(NamedTuple):
    """How the threads of a block share rows: those of a team, and how much each of them does."""

    threads: int               # of a team
    teams: int                 # of a block
    items: int                 # columns of a thread
    tiles: int                 # blocks that share a row

    @classmethod
    def of_whole_rows(cls, columns):
        """One block, or a part of it, has a whole row."""
        if columns <= 512:
            threads = WARP
        else:
            threads = min(1024, max(64, 1 << (-(-columns // 8) - 1).bit_length()))
        return cls(threads, 8 if threads == WARP else 1, -(-columns // threads), 1)

    @classmethod
    def of_columns(cls, columns):
        """Columns are independent: several blocks may share a row."""
        if columns <= 256:
            return cls(WARP, 8, min(-(-columns // WARP), 8), 1)
        threads = 256
        items = min(-(-columns // threads), max(4, -(-columns // (1 << 23))))
        return cls(threads, 1, items, -(-columns // (threads * items)))


class Sum(NamedTuple):
    """Where the teams keep a sum over rows: in registers if its place is the same for all."""

    name: str
    where: str                 # "thread" (one number), "columns" (one for each column) or "memory"
    kind: str                  # its type
    start: str                 # its value before the first element
    cells: int                 # numbers that it leaves
    copies: int                # how many times all of them are in scratch memory
    memory: str                # where they begin there
    mine: str                  # which of the copies is this block's


class Grid(Printer):
    """One kernel, and the one that adds up what its teams have summed."""

    dialect, pass_type = Cuda(), TeamPass

    def __init__(self, kernel, name):
        super().__init__(kernel, name)
        self.rows_count, self.columns = math.prod(self.dims[:-1]), self.dims[-1]
        self.summing = [e for e in kernel.effects if e.kind in COLLECT]
        self.awaited = self.overwritten_row_values()
        reduces = bool(self.schedule.reductions())
        self.flat = not (reduces or self.summing or (self.awaited and self.columns > 1))
        self.anchors = list(dict.fromkeys(r.anchor for r in self.params))
        self.written = {e.ref.anchor for e in kernel.effects}
        self.index = "int" if self.reach() < 1 << 30 else "i64"
        self.pointers = self.point()
        self.shared: dict = {}                     # C type -> its array for reductions over a block
        form = Team.of_whole_rows if reduces or self.awaited else Team.of_columns
        self.team = form(self.columns)
        self.blocks = self.number_of_blocks()
        # the teams of the grid, which share the rows
        self.groups = self.blocks * self.team.teams
        self.sums, self.partials = {}, 0               # effect -> Sum; numbers of scratch memory
        for e in self.summing:
            self.sums[e] = self.sum(e)

    def overwritten_row_values(self):
        """The memory from which all threads of a row read before one of them writes to it."""
        read = {n.ref.root for n in self.kernel.nodes if n.op == "load" and n.level == "r"}
        return {e.ref.root for e in self.kernel.effects if e.kind == "store"} & read

    def reach(self):
        """The largest number of an element, or of a thread."""
        ends = [abs(x) for r in self.params for x in r.extent(self.dims)]
        return max([math.prod(self.dims), *ends])

    def number_of_blocks(self):
        """How many blocks go over rows: few, where each team has sums of its own."""
        groups = self.rows_count
        if self.summing:
            cells = max(self.cells(e) * self.shares(e) for e in self.summing)
            groups = min(groups, max(1, TEAMS // self.team.tiles), max(1, PARTIAL // cells))
        return min(-(-groups // self.team.teams), MOST_BLOCKS)

    def shares(self, e):
        """The number of blocks that share the columns of a sum."""
        return self.team.tiles if self.by_row(e) else 1

    def by_row(self, e):
        return super().by_row(e) or self.columns == 1

    # -- the text ----------------------------------------------------------------------------------
    def printed(self):
        """The kernel as text, and how to launch it."""
        body = self.elements() if self.flat else self.teams_over_rows()
        used = {*[n.op for n in self.kernel.nodes], *[e.kind for e in self.kernel.effects]}
        lines = [f'#include "functors.cuh"    // {", ".join(self.kernel.names)}', "",
                 *[text for op, text in FUNCTORS_OF.items() if op in used],
                 *self.head(""), *body, "}"]
        team = self.team
        launches = [(self.name, (self.blocks_of_elements(),), (FLAT,)) if self.flat else
                    (self.name, (self.blocks, team.tiles), (team.threads, team.teams))]
        if self.summing:
            lines += ["", *self.finish()]
            grid = max(map(blocks_to_finish, self.sums.values())), len(self.summing)
            launches.append((self.name + "_finish", grid, (WARP, 8)))
        signature = self.signature(lambda dtype: SHORT[dtype.name])
        text = "\n".join([*lines, ""])
        return Printed(text, self.anchors, signature, launches, self.partials)

    def signature(self, word):
        """The parameters, with a function's words for dtypes."""
        parts = [f"{'' if a in self.written else 'const '}{word(a.dtype)}* x{k}"
                 for k, a in enumerate(self.anchors)]
        if self.summing:
            parts.append(f"{word(np.dtype(np.float64))}* partials")
        return ", ".join(parts)

    def head(self, suffix):
        """The beginning of a kernel: its bounds, its parameters, and pointers into these."""
        targets = {place(e.ref) for e in self.summing}     # which the finishing kernel alone writes
        if suffix:
            bound = WARP * 8
        else:
            bound = FLAT if self.flat else self.team.threads * self.team.teams
        return [f'extern "C" __global__ void __launch_bounds__({bound})',
                f"{self.name}{suffix}({self.signature(c_name)}) {{",
                *[line for at, line in self.pointers if (at in targets) is bool(suffix)]]

    def point(self):
        """Name the memory of each ref; returns (place, line) of those that point into a
        parameter."""
        pointers = []
        for r in self.params:
            kind, name = c_name(r.dtype), f"x{self.anchors.index(r.anchor)}"
            constant = "" if r.anchor in self.written else "const "
            source = name
            if r.anchor.dtype != r.dtype:
                source = f"reinterpret_cast<{constant}{kind}*>({source})"
            if r.offset:
                source += f" + {r.offset}"
            if source != name:
                name = f"a{len(pointers)}"
                pointers.append((place(r), f"  {constant}{kind}* const {name} = {source};"))
            self.memory[place(r)] = name
        return pointers

    def coordinates(self, row):
        """The coordinates of a row."""
        lines, rest = [], self.rows_count
        for d, n in enumerate(self.dims[:-1]):
            rest //= n
            text = f"{row} / {rest}" if rest > 1 else row
            if n == 1:
                text = "0"
            elif math.prod(self.dims[:d]) > 1:
                text = f"({text}) % {n}"
            lines.append(f"const {self.index} i{d} = {text};")
        return lines

    # -- a thread for each element -----------------------------------------------------------------
    def blocks_of_elements(self):
        return min(-(-math.prod(self.dims) // FLAT), MOST_BLOCKS)

    def elements(self):
        """A thread for each element."""
        row = self.between_passes(0)
        all_columns = TeamPass(self, 0)
        all_columns.read()
        for e in all_columns.effects:
            all_columns.effect(e)
        size, step = math.prod(self.dims), self.blocks_of_elements() * FLAT
        first = f"blockIdx.x * {FLAT}{'LL' if self.index == 'i64' else ''} + threadIdx.x"
        if self.rows_count > 1:
            row_number = f"at / {self.columns}" if self.columns > 1 else "at"
            where = [f"const {self.index} row = {row_number};",
                     f"const {self.index} j = at % {self.columns};", *self.coordinates("row")]
        else:
            where = [f"const {self.index} j = at;", *self.coordinates("0")]
        return [f"  for ({self.index} at = {first}; at < {size}; at += {step}) {{",
                *indented([*where, *row, *all_columns.inner], "    "), "  }"]

    # -- a team for each row -----------------------------------------------------------------------
    def teams_over_rows(self):
        """A team for each row."""
        before = [line for e in self.summing for line in self.before_rows(e)]
        after = [line for e in self.summing for line in self.after_rows(e)]
        row = self.row()
        kept = [f"{self.dialect.ctype(n)} {self.kept[n]}[{self.team.items}];"
                for n in self.schedule.carried if n in self.kept]
        team = self.team
        tile = f"blockIdx.y * {team.threads * team.items} + " if team.tiles > 1 else ""
        group = f"blockIdx.x * {team.teams} + threadIdx.y" if team.teams > 1 else "blockIdx.x"
        rows = f"{self.index} row = group; row < {self.rows_count}; row += {self.groups}"
        return indented([
            *[f"__shared__ {kind} {name}[{WARP}];" for kind, name in self.shared.items()],
            f"const {self.index} first = {tile}threadIdx.x;",
            f"const int group = {group};",
            *before,
            f"for ({rows}) {{",
            *indented([*self.coordinates("row"), *reversed(kept), *row]),
            "}",
            *after])

    def row_effect(self, e):
        if e.kind != "store":
            return [f"if ({self.speaks()}) {self.summed(e, self.spell(e.x))}"]
        store = self.put(e.ref, self.spell(e.x))
        if self.flat:
            return [f"if (j == 0) {store}" if self.columns > 1 else store]
        # all have read what is overwritten now
        wait = [self.barrier()] if e.ref.root in self.awaited else []
        return [*wait, f"if ({self.speaks()}) {store}"]

    def speaks(self):
        """The condition that a thread is the one that writes for its row."""
        return "threadIdx.x == 0" + (" && blockIdx.y == 0" if self.team.tiles > 1 else "")

    def barrier(self):
        """Let all threads of a team wait for each other."""
        return "__syncwarp();" if self.team.threads == WARP else "__syncthreads();"

    def reduced_by_team(self, x, kind, how):
        """A reduction over a team, in all of its threads."""
        functor = COMBINED[how][0]
        if self.team.threads == WARP:
            return f"warp_reduce({x}, {functor}())"
        shared = self.shared.setdefault(kind, f"shared{len(self.shared)}")
        empty = f"static_cast<{kind}>({self.dialect.start(how, None, kind)})"
        return f"block_reduce({x}, {functor}(), {empty}, {shared})"

    def for_items(self, lines, guard=True):
        """A loop over the columns of one thread."""
        items, threads, tiles = self.team.items, self.team.threads, self.team.tiles
        guard = guard and items * threads * tiles != self.columns
        if items == 1:
            text = "\n".join(lines)
            head = ["constexpr int k = 0;"] if "[k]" in text else []
            if re.search(r"\bj\b", text):
                head.append(f"const {self.index} j = first;")
            condition = f"if (first < {self.columns}) " if guard else ""
            return [f"{condition}{{", *indented(head + lines), "}"]
        check = [f"if (j >= {self.columns}) break;"] if guard else []
        return [f"#pragma unroll {min(items, 8)}",
                f"for (int k = 0; k < {items}; k++) {{",
                *indented([f"const {self.index} j = first + k * {threads};", *check, *lines]), "}"]

    # -- sums over rows ----------------------------------------------------------------------------
    def sum(self, e):
        """Where the teams keep a sum; takes scratch memory for it."""
        kind, cells, parts = self.dialect.total_type(e), self.cells(e), self.shares(e)
        space = self.partials
        self.partials += cells * parts * self.groups
        memory = f"partials + {space}"
        if kind != "double":
            memory = f"reinterpret_cast<{kind}*>({memory})"
        if any(s for s, n in zip(e.ref.strides[:-1], self.dims) if n > 1):
            where = "memory"
        else:
            where = "thread" if self.by_row(e) else "columns"
        mine = "group" if parts == 1 else f"(group * {parts} + blockIdx.y)"
        return Sum(f"sum{len(self.sums)}", where, kind, self.dialect.start(e.kind, None, kind),
                   cells, parts * self.groups, memory, mine)

    def summed(self, e, x):
        """The statement that adds a value to a team's sum."""
        total = self.sums[e]
        cell = {"thread": total.name, "columns": f"{total.name}[k]"}.get(total.where)
        return self.dialect.collected(e, cell or self.cell_of(e, total.name), x)

    def before_rows(self, e):
        """Statements in front of the rows: a sum begins."""
        total = self.sums[e]
        name, kind, start = total.name, total.kind, total.start
        if total.where == "thread":
            return [f"{kind} {name} = {start};"]
        if total.where == "columns":
            return [f"{kind} {name}[{self.team.items}];",
                    *self.for_items([f"{name}[k] = {start};"], False)]
        pointer = f"{kind}* const {name} = {total.memory} + {total.mine} * i64({total.cells});"
        return [pointer, *self.cleared(e, total), self.barrier()]

    def cleared(self, e, total):
        """A team clears its own part: the cells of its columns, or all of them."""
        first, step = ("threadIdx.x", self.team.threads) if self.by_row(e) else ("j", self.columns)
        loop = f"for ({self.index} cell = {first}; cell < {total.cells}; cell += {step})"
        line = f"{loop} {total.name}[cell] = {total.start};"
        return [line] if self.by_row(e) else self.for_items([line])

    def after_rows(self, e):
        """Statements behind the rows: a sum in registers goes to scratch memory."""
        total = self.sums[e]
        if total.where == "thread":
            found = self.reduced_by_team(total.name, total.kind, e.kind)
            return [f"{total.name} = {found};",
                    f"if (threadIdx.x == 0) ({total.memory})[{total.mine}] = {total.name};"]
        if total.where == "columns":
            cell = f"({total.memory})[group * {total.cells} + j]"
            return self.for_items([f"{cell} = {total.name}[k];"])
        return []

    def finish(self):
        """The kernel that adds up what the teams have summed, in their order."""
        lines = [*self.head("_finish"), "  const int lane = threadIdx.x;"]
        for k, e in enumerate(self.summing):
            lines += [f"  if (blockIdx.y == {k}) {{", *indented(self.finish_sum(e), "    "), "  }"]
        return [*lines, "}"]

    def finish_sum(self, e):
        """A warp adds up each number of a sum, or a thread where there are few copies."""
        total, cell, start, step = self.sums[e], "blockIdx.x * 8 + threadIdx.y", "lane", WARP
        by_warp = shared_by_warp(total)
        if not by_warp:
            cell, start, step = f"({cell}) * {WARP} + lane", 0, 1
        found = f"({total.memory})[k * i64({total.cells}) + cell]"
        lines = [f"const {self.index} cell = {cell};", f"if (cell >= {total.cells}) return;",
                 f"{total.kind} sum = {total.start};",
                 f"for (int k = {start}; k < {total.copies}; k += {step})",
                 "  " + self.dialect.collected(e, "sum", found)]
        if by_warp:
            lines += [f"sum = warp_reduce(sum, {COMBINED[e.kind][0]}());", "if (lane) return;"]
        found = f"static_cast<{c_name(e.ref.dtype)}>(sum)"
        if is_half(e.ref.dtype):
            found = self.dialect.narrowed("static_cast<float>(sum)", e.ref.dtype)
        return [*lines, f"{self.memory[place(e.ref)]}[{self.result_place(e)}] = {found};"]

    def result_place(self, e):
        """Where in the result number `cell` of a sum belongs."""
        parts, rest = [], self.cells(e)
        for size, s in zip(self.dims, e.ref.strides):
            if s:
                rest //= size
                parts.append(f"cell / {rest} % {size} * {s}")
        return " + ".join(parts) or "0"


def shared_by_warp(total):
    """True if there are enough copies of a sum for a warp to add them up."""
    return total.copies > 8


def blocks_to_finish(total):
    """The blocks of the finishing kernel that a sum takes."""
    return -(-total.cells // (8 if shared_by_warp(total) else 8 * WARP))


class Fused:
    """A printed kernel: ``kernel(*arrays)``, all on one device, compiles it at the first call."""

    def __init__(self, F, source, signature, launches, partials=0):
        name = launches[0][0]
        text = with_includes(name + ".cu", source)
        self.machine = F.machine
        self.scratch = (F.empty((partials,), np.dtype(np.float64)),) if partials else ()
        only_rounded = [word for word in ("f16", "bf16")       # no parameter asks for their header
                        if WORDS[word][0] in source and word not in signature]
        self.constants = {f"NEEDS_{word.upper()}": 1 for word in only_rounded}
        self.launches = [(Launcher(text, entry, signature), grid, block)
                         for entry, grid, block in launches]

    def __call__(self, *arrays):
        for kernel, grid, block in self.launches:
            kernel(self.machine, grid, block, *arrays, *self.scratch, **self.constants)
