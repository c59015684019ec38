"""CUDA of row kernels: the loops that `c.py` prints as C, spread over threads.

    no reduction, no sum         a thread for each element, over the whole domain
    otherwise                    a team for each row, a warp or a block, whose threads have every T-th column each;
                                 a reduction of a row is a shuffle; teams go over rows with a fixed step
    sums over rows               each team adds up its own rows in double; a second kernel adds the teams in their order

So results do not depend on the order in which blocks run, nor on the number of multiprocessors. Scalar functions are
the functors of the device's own elementwise kernels. What a later pass over a row needs again is computed again if that
is cheap, else kept by the thread that made it.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from ..backends.cuda.arrays.functors import FUNCTORS, SAME_AS
from ..backends.cuda.runtime.compile import with_includes
from ..backends.cuda.runtime.kernel import TYPES as WORDS
from ..backends.cuda.runtime.kernel import Kernel as Launcher
from ..backends.cuda.runtime.kernel import c_name
from ..core.arrays import is_half
from . import c, c_words
from .loops import REDUCTIONS, SPECIAL, Effect, level_of

__all__ = ["Fused", "Printed", "printed", "supported"]

WARP = 32
FLAT = 256                 # threads of a block where each element is on its own
MOST_BLOCKS = 1 << 16      # of a grid; threads then take several elements or rows
TEAMS = 512                # that share a sum over rows
PARTIAL = 1 << 22          # numbers that all teams together may hold of such a sum
LONG = 64                  # columns of one thread from which on its part of a sum is kept in double
WHOLE = 1 << 14            # columns from which on the sum of a row is shared by several blocks
SHORT = {name: word for word, (_, name) in WORDS.items()}
COMBINED = {"sum": ("Add", "{0} + {1}", "0"), "rowsum": ("Add", "{0} + {1}", "0"), "prod": ("Times", "{0} * {1}", "1"),
            "max": ("Max", "op::greater_of<{2}>({0}, {1})", "op::lowest<{2}>()"),       # functor, statement, beginning
            "min": ("Least", "op::lesser_of<{2}>({0}, {1})", "op::highest<{2}>()")}
INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "==", "not_equal": "!=",
         "greater": ">", "less": "<", "greater_equal": ">=", "less_equal": "<="}
FUNCTORS_OF = {"min": """struct Least {        // NaN counts as the least
  template <class A> __device__ __forceinline__ A operator()(A a, A b) const { return a < b || a != a ? a : b; }
};
""", "prod": """struct Times {
  template <class A> __device__ __forceinline__ A operator()(A a, A b) const { return a * b; }
};
"""}


def functor(op, dtype):
    """The functor of a scalar function for operands of a dtype; None if it has none."""
    kind = "f" if is_half(dtype) else dtype.kind
    if op.startswith("op::"):
        return op[4:] if kind == "f" else None             # bfloat16 and float16 too
    name, kinds, _ = FUNCTORS.get(SAME_AS.get(op, op), (None, "", 0))
    if kind == "b" and op == "invert":
        return "logical_not"
    return name if kind in kinds else None


def supported(op, dtype):
    """Whether a scalar function has CUDA for operands of a dtype."""
    return op == "select" or functor(op, dtype) is not None


def number(value, dtype):
    """A number as CUDA C++."""
    if dtype.kind == "b":
        return str(bool(value)).lower()
    if dtype.kind in "iu":
        return "op::lowest<long long>()" if int(value) == -1 << 63 else c_words.number(value, dtype)
    with np.errstate(all="ignore"):
        value = dtype.type(value)
    if is_half(dtype):
        value, dtype = np.float32(value), np.dtype(np.float32)
    kind = c_name(dtype)
    if math.isnan(value):
        return f"static_cast<{kind}>(__int_as_float(0x7fffffff))"
    return f"({'-' if value < 0 else ''}op::highest<{kind}>())" if math.isinf(value) else c_words.number(value, dtype)


# ------------------------------------------------------------------ kernels in the form that suits a device
def on_columns(kernel):
    """Where rows have one column, let their last dimension be the columns: threads lie along them."""
    while kernel.dims[-1] == 1 and len(kernel.dims) > 1 and not any(
            n.op in SPECIAL for n in kernel.nodes):
        kernel.dims, moved = kernel.dims[:-1], {}
        for n in kernel.nodes:
            if n.ref is not None:
                n.ref = moved.setdefault(n.ref, n.ref.moved(n.ref.strides[:-1]))
                n.level = kernel.level(n.ref)
            elif n.args:
                n.level = level_of(n.args)
        kernel.effects = [Effect("sum" if e.kind == "rowsum" else e.kind, moved.setdefault(e.ref, e.ref.moved(
            e.ref.strides[:-1])), e.x, e.row) for e in kernel.effects]


def share_sums(kernel):
    """Few long rows: a reduction that is only stored becomes one that several blocks share."""
    if math.prod(kernel.dims[:-1]) > TEAMS or kernel.dims[-1] < WHOLE:
        return
    read = {a for n in kernel.nodes for a in n.args}
    for n in [n for n in kernel.nodes if n.op in REDUCTIONS and n not in read]:
        kernel.effects = [Effect(n.op, e.ref, n.args[0]) if e.x is n and e.kind == "store" and distinct(e.ref, kernel)
                          else e for e in kernel.effects]


def distinct(ref, kernel):
    """Whether a ref has a place of its own for each row."""
    return all(s for n, s in zip(kernel.dims[:-1], ref.strides) if n > 1)


class Printed(NamedTuple):
    """A kernel as text: the arrays that are passed, and how; its launches; its numbers of scratch memory."""

    text: str
    anchors: list
    signature: str
    launches: list                                         # (entry, grid, block)
    partials: int


def printed(kernel, name="fused"):
    """The CUDA of a row kernel, under a name."""
    kernel.prune()
    kernel.collapse()
    on_columns(kernel)
    share_sums(kernel)
    return Printer(kernel, name).printed()


class Printer(c.Printer):
    """Writes one kernel, and the one that adds up what its teams have summed."""

    def __init__(self, kernel, name):
        super().__init__(kernel, name)
        self.rows_count, self.columns = math.prod(self.dims[:-1]), self.dims[-1]
        self.reduces = any(n.op in REDUCTIONS for n in self.k.nodes)
        self.summing = [e for e in self.k.effects if e.kind in c.COLLECT]
        read = {n.ref.root for n in self.k.nodes if n.op == "load" and n.level == "r"}
        self.awaited = {e.ref.root for e, *_ in self.effects if e.kind == "store"} & read
        self.flat = not (self.reduces or self.summing or (self.awaited and self.columns > 1))
        self.anchors = list(dict.fromkeys(r.anchor for r in self.params))
        self.sums, self.sums_of, self.locations, self.partials = {}, {}, {}, 0
        self.before, self.after = [], []
        self.shared: dict = {}                             # C type -> its array for reductions over a block
        self.index = "int" if self.reach() < 1 << 30 else "i64"
        self.point()
        self.spread()

    def reach(self):
        ends = [abs(x) for r in self.params for x in r.extent(self.dims)]
        return max([math.prod(self.dims), *ends])

    def spread(self):
        """How many threads a team has, how many teams and columns there are for each block and thread."""
        columns = self.columns
        if self.reduces or self.awaited:
            self.threads = WARP if columns <= 512 else min(1024, max(64, 1 << (-(-columns // 8) - 1).bit_length()))
            self.items, self.tiles = -(-columns // self.threads), 1
        else:
            self.threads = WARP if columns <= 256 else 256
            self.items = min(-(-columns // self.threads), 8 if columns <= 256 else max(4, -(-columns // (1 << 23))))
            self.tiles = -(-columns // (self.threads * self.items))
        self.teams = 256 // WARP if self.threads == WARP else 1
        groups = self.rows_count
        if self.summing:
            cells = max(self.cells(e) * self.shares(e) for e in self.summing)
            groups = min(groups, max(1, TEAMS // self.tiles), max(1, PARTIAL // cells))
        self.grid = min(-(-groups // self.teams), MOST_BLOCKS)
        self.groups = self.grid * self.teams

    def cells(self, e):
        """How many numbers a sum leaves."""
        return math.prod(n for n, s in zip(self.dims, e.ref.strides) if s)

    def shares(self, e):
        """How many blocks share the columns of what a sum adds up."""
        return self.tiles if self.by_row(e) else 1

    def number_of_parts(self):
        return 1                                           # threads share rows in another way

    def kept(self, n):
        return f"{self.carried[n]}[k]"

    def own_cost(self, n):
        known = c_words.SCALAR.get(n.op, {}) if n.op != "cast" else {"": (0, 1)}
        return max([cost for _, cost in known.values()], default=12)       # others are functors of whole ops

    def by_row(self, e):
        """Whether a row leaves one number of it."""
        return e.ref.strides[-1] == 0 or self.columns == 1

    def ctype(self, n):
        return "float" if is_half(n.dtype) else c_name(n.dtype)

    def widened(self, x, dtype):
        return f"widen({x})"

    def narrowed(self, x, dtype):
        return f"narrow<{c_name(dtype)}>({x})"

    def converted(self, x, n):
        return f"static_cast<{self.ctype(n)}>({x})"

    def first(self, e):
        return COMBINED[e.kind][2].format("", "", self.total_type(e))

    def collected(self, e, cell, x):
        return f"{cell} = {COMBINED[e.kind][1].format(cell, x, self.total_type(e))};"

    number = staticmethod(number)

    def scalar(self, n, x):
        if n.op == "select":
            return f"{x[0]} ? {x[1]} : {x[2]}"
        a, kind = n.args[0].dtype, self.ctype(n.args[0])
        if n.op in INFIX and a.kind != "b":
            return f"{x[0]} {INFIX[n.op]} {x[1]}"
        numbers = [number(v, a) for v in n.value] if n.value else [f"{kind}(0)"] * 2
        return f"op::{functor(n.op, a)}()({', '.join(x + numbers)})"

    # -- the text ------------------------------------------------------------------------------------------
    def printed(self):
        body = self.elements() if self.flat else self.teams_over_rows()
        used = {*[n.op for n in self.k.nodes], *[e.kind for e in self.k.effects]}
        lines = [f'#include "functors.cuh"    // {", ".join(self.k.names)}', "",
                 *[text for op, text in FUNCTORS_OF.items() if op in used], *self.head(""), *body, "}"]
        if self.flat:
            blocks = min(-(-math.prod(self.dims) // FLAT), MOST_BLOCKS)
            launches = [(self.name, (blocks,), (FLAT,))]
        else:
            launches = [(self.name, (self.grid, self.tiles), (self.threads, self.teams))]
        if self.summing:
            lines += ["", *self.finish()]
            grid = max(self.blocks_of(e) for e in self.summing), len(self.summing)
            launches.append((self.name + "_finish", grid, (WARP, 8)))
        signature = self.signature(lambda dtype: SHORT[dtype.name])
        return Printed("\n".join([*lines, ""]), self.anchors, signature, launches, self.partials)

    def signature(self, word):
        """The parameters, with a function's words for dtypes."""
        written = {e.ref.anchor for e in self.k.effects}
        parts = [f"{'' if a in written else 'const '}{word(a.dtype)}* x{k}" for k, a in enumerate(self.anchors)]
        return ", ".join([*parts, *[f"{word(np.dtype(np.float64))}* partials"] * bool(self.summing)])

    def head(self, suffix):
        bound = FLAT if self.flat else self.threads * self.teams
        lines = [f'extern "C" __global__ void __launch_bounds__({bound if not suffix else WARP * 8})',
                 f"{self.name}{suffix}({self.signature(c_name)}) {{"]
        return lines + [line for r, line in self.moved if (r in self.targets) is bool(suffix)]

    def point(self):
        """Name the memory of each ref: a parameter, or a pointer into one."""
        self.targets = {self.place(e.ref) for e in self.summing}
        self.moved = []
        for r in self.params:
            kind, name = c_name(r.dtype), f"x{self.anchors.index(r.anchor)}"
            constant = "" if r.anchor in {e.ref.anchor for e in self.k.effects} else "const "
            self.names[self.place(r)], source = name, name
            if r.anchor.dtype != r.dtype:
                source = f"reinterpret_cast<{constant}{kind}*>({source})"
            if r.offset:
                source += f" + {r.offset}"
            if source != name:
                self.names[self.place(r)] = name = f"a{len(self.moved)}"
                self.moved.append((self.place(r), f"  {constant}{kind}* const {name} = {source};"))

    def coordinates(self, row, indent):
        """The coordinates of a row."""
        lines, rest = [], self.rows_count
        for d, n in enumerate(self.dims[:-1]):
            rest //= n
            text = f"{row} / {rest}" if rest > 1 else row
            whole = math.prod(self.dims[:d]) == 1
            lines.append(f"{indent}const {self.index} i{d} = " + (
                "0" if n == 1 else text if whole else f"({text}) % {n}") + ";")
        return lines

    def elements(self):
        """A thread for each element."""
        size, step = math.prod(self.dims), min(-(-math.prod(self.dims) // FLAT), MOST_BLOCKS) * FLAT
        body: list = []
        self.at, self.inner, self.local, self.rows_done, self.effects_done = 0, body, {}, set(), set()
        self.rows(0, body, "")
        for e, wide, _ in self.effects:                    # all is read before anything is overwritten
            if wide:
                self.need(e.x)
        for e, wide, _ in self.effects:
            if wide:
                body.append(self.put(e.ref, self.need(e.x)))
        rows = f"at / {self.columns}" if self.columns > 1 else "at"
        loop = f"for ({self.index} at = blockIdx.x * {FLAT}{'LL' if self.index == 'i64' else ''} + threadIdx.x; "
        lines = [f"  {loop}at < {size}; at += {step}) {{"]
        if self.rows_count > 1:
            lines.append(f"    const {self.index} row = {rows};")
        lines += [f"    const {self.index} j = {f'at % {self.columns}' if self.rows_count > 1 else 'at'};"]
        lines += self.coordinates("row" if self.rows_count > 1 else "0", "    ")
        return [*lines, *["    " + x for x in body], "  }"]

    def teams_over_rows(self):
        """A team for each row."""
        for number_of, e in enumerate(self.summing):
            self.begin_sum(number_of, e)
        body, indent = [], "    "
        self.rows_done, self.effects_done = set(), set()
        for at in range(self.passes):
            self.rows(at, body, indent)
            self.one_pass(at, body, indent)
        self.rows(self.passes + 1, body, indent)
        first = f"{self.index} first = " + (f"blockIdx.y * {self.threads * self.items} + " if self.tiles > 1 else "")
        lines = [f"  __shared__ {kind} {name}[{WARP}];" for kind, name in self.shared.items()]
        lines += [f"  const {first}threadIdx.x;",
                  f"  const int group = blockIdx.x{f' * {self.teams} + threadIdx.y' if self.teams > 1 else ''};"]
        for n, name in self.carried.items():
            if name:
                body.insert(0, f"{indent}{self.ctype(n)} {name}[{self.items}];")
        lines += [*self.before, f"  for ({self.index} row = group; row < {self.rows_count}; row += {self.groups}) {{",
                  *self.coordinates("row", indent), *body, "  }", *self.after]
        return lines

    def alone(self):
        """The condition that a thread is the one that speaks for its row."""
        return "threadIdx.x == 0" + (" && blockIdx.y == 0" if self.tiles > 1 else "")

    def team(self, x, kind, how):
        """A reduction over a team, in all of its threads."""
        functor, _, empty = COMBINED[how]
        if self.threads == WARP:
            return f"warp_reduce({x}, {functor}())"
        shared = self.shared.setdefault(kind, f"shared{len(self.shared)}")
        return f"block_reduce({x}, {functor}(), static_cast<{kind}>({empty.format('', '', kind)}), {shared})"

    # -- sums over rows ------------------------------------------------------------------------------------
    def begin_sum(self, n, e):
        """Where the teams keep a sum: in registers where its place does not depend on the row."""
        kind, cells, parts = self.total_type(e), self.cells(e), self.shares(e)
        space = self.partials
        self.partials += cells * parts * self.groups
        mine = "group" if parts == 1 else f"(group * {parts} + blockIdx.y)"
        memory = f"partials + {space}" if kind == "double" else f"reinterpret_cast<{kind}*>(partials + {space})"
        lead = any(s for s, m in zip(e.ref.strides[:-1], self.dims) if m > 1)
        name = f"sum{n}"
        if not lead and self.by_row(e):
            self.before.append(f"  {kind} {name} = {self.first(e)};")
            self.after += [f"  {name} = {self.team(name, kind, e.kind)};",
                           f"  if (threadIdx.x == 0) ({memory})[{mine}] = {name};"]
            self.sums_of[e] = "thread", name
        elif not lead:
            clear = self.for_items("  ", [f"{name}[k] = {self.first(e)};"], False)
            self.before += [f"  {kind} {name}[{self.items}];", *clear]
            self.after += self.for_items("  ", [f"({memory})[group * {cells} + j] = {name}[k];"])
            self.sums_of[e] = "columns", name
        else:
            self.before += [f"  {kind}* const {name} = {memory} + {mine} * i64({cells});"]
            self.zeroed(e, name, cells)
            self.sums_of[e] = "memory", name
        self.sums[e], self.locations[e] = name, (space, cells, parts * self.groups, memory)

    def zeroed(self, e, name, cells):
        """A team clears its own part: the cells of its columns, or all of them."""
        lines = []
        if self.by_row(e):
            loop = f"for ({self.index} cell = threadIdx.x; cell < {cells}; cell += {self.threads})"
            lines = [f"  {loop} {name}[cell] = {self.first(e)};"]
        else:
            lines = self.for_items("  ", [f"for ({self.index} cell = j; cell < {cells}; cell += {self.columns}) "
                                          f"{name}[cell] = {self.first(e)};"])
        self.before += [*lines, "  " + self.barrier()]

    def blocks_of(self, e):
        cells, count = self.locations[e][1:3]
        return -(-cells // (8 if count > 8 else 8 * WARP))

    def finish(self):
        """The kernel that adds up what the teams have summed, in their order: a warp or a thread for each number."""
        lines = [*self.head("_finish"), "  const int lane = threadIdx.x;"]
        for n, e in enumerate(self.summing):
            space, cells, count, memory = self.locations[e]
            kind, by_warp = self.total_type(e), count > 8
            cell = "blockIdx.x * 8 + threadIdx.y" if by_warp else f"(blockIdx.x * 8 + threadIdx.y) * {WARP} + lane"
            lines += [f"  if (blockIdx.y == {n}) {{", f"    const {self.index} cell = {cell};",
                      f"    if (cell >= {cells}) return;", f"    {kind} sum = {self.first(e)};",
                      f"    for (int k = {'lane' if by_warp else '0'}; k < {count}; k += {WARP if by_warp else 1})",
                      "      " + self.collected(e, "sum", f"({memory})[k * i64({cells}) + cell]")]
            if by_warp:
                lines += [f"    sum = warp_reduce(sum, {COMBINED[e.kind][0]}());", "    if (lane) return;"]
            place, rest = [], cells
            for size, s in zip(self.dims, e.ref.strides):
                if s:
                    rest //= size
                    place.append(f"cell / {rest} % {size} * {s}")
            found = f"static_cast<{c_name(e.ref.dtype)}>(sum)"
            if is_half(e.ref.dtype):
                found = self.narrowed("static_cast<float>(sum)", e.ref.dtype)
            lines += [f"    {self.names[self.place(e.ref)]}[{' + '.join(place) or '0'}] = {found};", "  }"]
        return [*lines, "}"]

    # -- rows ----------------------------------------------------------------------------------------------
    def row_effect(self, e):
        if e.kind != "store":
            where, name = self.sums_of[e]
            cell = self.sum_cell(e) if where == "memory" else name
            return [f"if ({self.alone()}) {self.collected(e, cell, self.spell(e.x))}"]
        store = self.put(e.ref, self.spell(e.x))
        if self.flat:
            return [f"if (j == 0) {store}" if self.columns > 1 else store]
        wait = [self.barrier()] if e.ref.root in self.awaited else []      # all have read what is overwritten now
        return [*wait, f"if ({self.alone()}) {store}"]

    def barrier(self):
        return "__syncwarp();" if self.threads == WARP else "__syncthreads();"

    def for_items(self, indent, lines, guard=True):
        """A loop over the columns of one thread."""
        whole = self.items * self.threads * self.tiles == self.columns
        if self.items == 1:
            text = "\n".join(lines)
            head = ["constexpr int k = 0;"] * ("[k]" in text) + [f"const {self.index} j = first;"] * bool(
                re.search(r"\bj\b", text))
            return [f"{indent}{'' if whole or not guard else f'if (first < {self.columns}) '}{{",
                    *[f"{indent}  {line}" for line in head + lines], f"{indent}}}"]
        text = [f"{indent}#pragma unroll {min(self.items, 8)}",
                f"{indent}for (int k = 0; k < {self.items}; k++) {{",
                f"{indent}  const {self.index} j = first + k * {self.threads};"]
        if guard and not whole:
            text.append(f"{indent}  if (j >= {self.columns}) break;")
        return [*text, *[f"{indent}  {line}" for line in lines], f"{indent}}}"]

    def one_pass(self, at, body, indent):
        """One loop over the columns."""
        wanted = [n for n in self.k.nodes if n.op in REDUCTIONS and self.stage[n] == at + 1]
        effects = [e for e, wide, stage in self.effects if wide and stage == at]
        carry = [n for n in self.carried if self.stage[n] == at]
        if not (wanted or effects or carry):
            return
        self.local, self.inner, self.at, after, reduced = {}, [], at, [], []
        for n in wanted:
            x, kind, name = self.need(n.args[0]), self.ctype(n), self.fresh("s" if n.op == "sum" else "m")
            floats = n.dtype.kind == "f"                   # bfloat16 is float32 within kernels
            long = n.op in ("sum", "prod") and floats and self.items > LONG
            part = "double" if long else kind
            _, how, first = COMBINED[n.op]
            body.append(f"{indent}{part} {name} = {first.format('', '', part)};")
            self.inner.append(f"{name} = {how.format(name, x, part)};")
            reduced.append((n, f"static_cast<{kind}>({self.team(name, part, n.op)})"))
        for x in [*[e.x for e in effects], *carry]:        # all is read before anything is overwritten
            self.need(x)
        for e in effects:
            self.wide_effect_of(e, body, after, indent)
        for n in carry:
            x = self.need(n)
            self.carried[n] = self.fresh("kept")
            self.inner.append(f"{self.carried[n]}[k] = {x};")
        if any(e.kind == "store" and e.ref.root in self.awaited for e in effects):
            body.append(indent + self.barrier())
        body += self.for_items(indent, self.inner)
        for n in self.local:
            del self.ident[n]
        for n, text in reduced:
            self.ident[n] = self.fresh("r")
            body.append(f"{indent}const {self.ctype(n)} {self.ident[n]} = {text};")
        body += [f"{indent}{line}" for line in after]

    def wide_effect_of(self, e, body, after, indent):
        """A store or a sum in the loop over the columns."""
        x = self.need(e.x)
        if e.kind == "store":
            self.inner.append(self.put(e.ref, x))
            return
        where, name = self.sums_of[e]
        if where == "thread":
            self.inner.append(self.collected(e, name, x))
        elif where == "columns":
            self.inner.append(self.collected(e, f"{name}[k]", x))
        elif not self.by_row(e):
            self.inner.append(self.collected(e, self.sum_cell(e), x))
        else:
            part, kind = self.fresh("s"), self.total_type(e)
            body.append(f"{indent}{kind} {part} = {self.first(e)};")
            self.inner.append(self.collected(e, part, x))
            after += [f"{part} = {self.team(part, kind, e.kind)};",
                      f"if (threadIdx.x == 0) {self.collected(e, self.sum_cell(e), part)}"]


class Fused:
    """A printed kernel, compiled when it is first called: ``kernel(*arrays)``, all on one device."""

    def __init__(self, F, source, signature, launches, partials=0):
        name = launches[0][0]
        text = with_includes(name + ".cu", source)
        self.machine, self.scratch = F.machine, (F.empty((partials,), np.dtype(np.float64)),) if partials else ()
        self.constants = {f"NEEDS_{word.upper()}": 1 for word, (name, _) in WORDS.items() if word in ("f16", "bf16")
                          and name in source and word not in signature}      # only rounded: no parameter asks for it
        self.launches = [(Launcher(text, entry, signature), grid, block) for entry, grid, block in launches]

    def __call__(self, *arrays):
        for kernel, grid, block in self.launches:
            kernel(self.machine, grid, block, *arrays, *self.scratch, **self.constants)
