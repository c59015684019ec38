"""The C of one program: functions of its kernels, and for each piece a function that calls them.

A piece is what runs at once, without Python; it is given a tuple of arrays, whose data C finds.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from . import c, c_words
from .emit import identifier
from .items import Call
from .loops import Kernel
from .sized import Numbers

__all__ = ["Phases", "Unit"]

SMALL = 1024               # multiplications up to which a product is a loop and no call of BLAS
# A right matrix that lies turned slows OpenBLAS down by up to two thirds; a copy of it costs less,
# if it is used often enough and stays in the cache. Measured on an AMD EPYC: 64x32x64 in 0.64 of
# the time, 64x784x128 in 0.83.
TURNED_ROWS, TURNED_COLUMNS, TURNED_MOST = 16, 16, 1 << 17
ROW_MAJOR, AS_IT_LIES, TURNED = 101, 111, 112          # CBLAS's words


class Phases:
    """The statements of a function of C, in phases that threads finish together."""

    def __init__(self):
        self.lines: list = []                              # of the phase that is being written
        self.done: list = []
        self.parts = [1]                               # of each phase, 1 if threads cannot share it

    def cut(self, parts, call):
        """End a phase, and let one of several parts follow."""
        self.done += [self.lines, [call]]
        self.parts += [parts, 1]
        self.lines = []

    def arguments(self):
        return ", int phase, int part" if self.done else ""

    def text(self):
        """The statements, for the phase that is asked for; for all of them if that is below 0."""
        if not self.done:
            return self.lines
        found = []
        for n, (lines, parts) in enumerate(zip([*self.done, self.lines], self.parts)):
            if parts > 1:
                found += [f"  if (phase < 0) for (part = 0; part < {parts}; part++)",
                          "  " + lines[0], f"  if (phase == {n})", "  " + lines[0]]
            elif lines:
                found += [f"  if (phase < 0 || phase == {n}) {{",
                          *["  " + line for line in lines], "  }"]
        return found


class Unit:
    """The C of one program.

    `segments` are lists of items that are one C function each, and calls between them. `offsets`
    says where arrays lie in the arena of `size` bytes, and `sources` are inputs, whose alignment
    the first function checks. With `sized` the C reads its numbers from a table.
    """

    def __init__(self, items, offsets, size, sources, sized=False):
        self.offsets, self.size, self.outside = offsets, size, sources
        self.sized, self.numbers = sized, [0]              # the first number is that of `scratch`
        self.functions: dict = {}                          # text -> name
        self.texts: list = []
        self.scratch, self.blas, self.turns = 0, False, False
        self.order: list = []                          # the values of the function being written
        self.orders: list = []                             # those in the tuple of each C function
        self.phases: list = []                             # of each: `Phases.parts`
        self.segments, self.runs, self.steps = in_segments(items), [], []
        for segment in self.segments:
            if isinstance(segment, list):
                self.runs.append(self.run(segment, len(self.orders)))

    def text(self):
        runs, self.numbers[0] = [*self.runs, *self.steps], self.size
        lines = ["#define PRODUCTS"] if self.blas else []
        if self.turns:
            lines += ["#define T float", "#define IS_DOUBLE 0", '#include "turn.h"']
        lines += ['#include "prelude.h"', layout_macros(), *[t + "\n" for t in self.texts]]
        lines += [line.replace("@SCRATCH", str(self.size)) for run in runs for line in run]
        return "\n".join(lines)

    # -- functions of pieces -----------------------------------------------------------------------
    def run(self, items, number):
        """The lines of the function of a piece."""
        self.order = list(self.outside) if not number else []
        checked = list(self.order)
        phases = self.statements(items)
        n = len(self.order)
        head = [f"int run{number}(void *objects{phases.arguments()}) {{",
                "  char *A = at(objects, 0); i64 wrong[3] = {0}; (void)A;",
                *check_alignment(checked)]
        if self.sized:
            head.append(f"  const i64 *N = (const i64 *)at(objects, {n + 1});")
        head += [f"  char *scratch = A + {'N[0]' if self.sized else '@SCRATCH'}; char *P[{n + 1}];",
                 f"  for (int k = 0; k <= {n}; k++) P[k] = at(objects, k);"]
        self.orders.append(self.order)
        self.phases.append(phases.parts)
        end = ["  if (wrong[0]) memcpy(scratch, wrong, sizeof wrong);",
               "  return (int)wrong[0];", "}", ""]
        return [*head, *map(self.statement, phases.text()), *end]

    def statements(self, items):
        """The calls of kernels and products."""
        phases = Phases()
        for i in items:
            if isinstance(i, Kernel):
                self.kernel(i, self.function(i), phases, self.sized)
            else:
                phases.lines += self.product(i)
        return phases

    def statement(self, line):
        """A statement of a run, whose numbers may be in the table."""
        if not self.sized:
            return line
        numbers = Numbers()
        text = numbers.of_statement(line, len(self.numbers))
        self.numbers += numbers.values
        return text.replace("N + @", "N + ")

    def step(self, kernels, number, last):
        """One step of an optimiser as a C function.

        Returns the values in its tuple, those in `last` at the end, and `Phases.parts`.
        """
        functions, phases = [self.function(k) for k in kernels], Phases()
        anchors = dict.fromkeys(r.anchor for f in functions for r in f.params)
        self.order = sorted(anchors, key=lambda v: v in last)
        for k, function in zip(kernels, functions):
            self.kernel(k, function, phases)
        n = len(self.order)
        self.steps.append([
            f"void step{number}(void *objects, const double *H{phases.arguments()}) {{",
            "  char *scratch = 0; i64 *wrong = 0;",
            f"  char *P[{n + 1}];",
            f"  for (int k = 0; k < {n}; k++) P[k + 1] = at(objects, k);",
            *phases.text(), "}", ""])
        return self.order, phases.parts

    # -- calls of kernels --------------------------------------------------------------------------
    def pointer(self, ref):
        """Where a ref begins, as C."""
        kind = c_words.TYPES[ref.dtype.name]
        if ref.anchor in self.offsets:
            text = f"({kind} *)(A + {self.offsets[ref.anchor]})"
        else:
            if ref.anchor not in self.order:
                self.order.append(ref.anchor)
            text = f"({kind} *)P[{self.order.index(ref.anchor) + 1}]"
        return text + (f" + {ref.offset}" if ref.offset else "")

    def function(self, kernel):
        """The C of a kernel."""
        return c.function(kernel, "@NAME")

    def kernel(self, k, function, phases, sized=False):
        """Call a kernel: at once, or, if it is large, part by part in a phase of its own."""
        text, params, scratch, parts, gathers = function
        extra = ", H" if any(n.op == "coefficient" for n in k.nodes) else ""
        more = ""
        if sized:
            numbers = Numbers()
            text, more = numbers.of_function(text), f", N + @{len(self.numbers)}"
            self.numbers += numbers.values
        self.scratch = max(self.scratch, scratch * parts)
        name = self.name_of(k, text)
        pointers = ", ".join(map(self.pointer, params))
        size = f"// {' x '.join(map(str, k.dims))}"
        if parts == 1:
            phases.lines.append(f"  {name}({pointers}, scratch, wrong{extra}{more});    {size}")
            return
        call = f"  {name}({pointers}, scratch, wrong{extra}, part{more});    {size}"
        phases.cut(parts, call)
        if gathers:
            phases.lines.append(f"  {name}_end({pointers}, scratch{more});")

    def name_of(self, k, text):
        """The name of a kernel's function; kernels of the same text share one."""
        if text not in self.functions:
            words = "_".join(dict.fromkeys(identifier(n) for n in k.names))[:60]
            name = self.functions[text] = f"k{len(self.functions)}_{words}"
            self.texts.append(text.replace("@NAME", name))
        return self.functions[text]

    # -- products ----------------------------------------------------------------------------------
    def product(self, g):
        """Loops over the leading dimensions of a stack of products, around one of them."""
        lines, shape, lead = [], g.shape, len(g.shape) - 2
        sizes = (*shape[-2:], g.inner)
        a, b, out = ([0 if n == 1 and d < lead else s for d, (s, n) in enumerate(
            zip(r.strides, shape))] for r in (g.a, g.b, g.c))
        indent, terms = "  ", ["", "", ""]
        for d, count in enumerate(shape[:lead]):
            if count > 1:
                lines.append(f"{indent}for (i64 n{d} = 0; n{d} < {count}; n{d}++)")
                indent += "  "
                terms = [t + (f" + n{d} * {s[d]}" if s[d] else "")
                         for t, s in zip(terms, (a, b, out))]
        pa, pb, pc = (self.pointer(r) + t for r, t in zip((g.a, g.b, g.c), terms))
        alpha = c_words.number(g.alpha, g.c.dtype)
        letter = "s" if g.c.dtype.itemsize == 4 else "d"
        row = out[-2] or shape[-1]
        return lines + self.one_product(indent, letter, sizes, alpha, (pa, *a[-2:]), (pb, *b[-2:]),
                                        (pc, row))

    def one_product(self, indent, letter, sizes, alpha, a, b, out):
        """A product of matrices, each given as a pointer and its strides."""
        m, n, k = sizes
        if m * n * k <= SMALL:
            operands = ", ".join(map(str, (*a, *b, *out)))
            return [f"{indent}{letter}product({m}, {n}, {k}, {alpha}, {operands});"]
        self.blas = True
        (ta, lda), (tb, ldb) = layout(m, k, *a[1:]), layout(k, n, *b[1:])
        pb, copy = b[0], ""
        if tb == TURNED and letter == "s" and is_worth_turning(m, n, k):
            self.turns, self.scratch = True, max(self.scratch, 4 * n * k)
            copy = f"turn({pb}, {ldb}, (float *)scratch, {n}, {n}, {k}), "
            pb, tb, ldb = "(float *)scratch", AS_IT_LIES, n
        return [f"{indent}{copy}{letter}gemm({ROW_MAJOR}, {ta}, {tb}, {m}, {n}, {k}, {alpha}, "
                f"{a[0]}, {lda}, {pb}, {ldb}, 0, {out[0]}, {out[1]});"]


def is_worth_turning(m, n, k):
    """True if copying a right matrix (k, n) that lies turned costs less than it gains."""
    return m >= TURNED_ROWS and n >= TURNED_COLUMNS and n * k <= TURNED_MOST


def layout(rows, columns, s, t):
    """CBLAS's word for how a matrix lies, and its leading dimension."""
    if (t == 1 or columns == 1) and (s >= columns or rows == 1):
        return AS_IT_LIES, max(s, columns)
    return TURNED, max(t, rows)


def in_segments(items):
    """Calls, and lists of the other items between them."""
    segments: list = []
    for i in items:
        if isinstance(i, Call):
            segments.append(i)
        elif segments and isinstance(segments[-1], list):
            segments[-1].append(i)
        else:
            segments.append([i])
    return segments


def check_alignment(values):
    """Statements that return -1 unless the first arrays of the tuple are aligned."""
    if not values:
        return []
    sizes = ", ".join(str(v.dtype.itemsize) for v in values)
    return [f"  static const unsigned char sizes[] = {{{sizes}}};",
            f"  for (int k = 0; k < {len(values)}; k++)",
            "    if ((uintptr_t)at(objects, k + 1) % sizes[k]) return -1;    // not aligned"]


@functools.lru_cache(maxsize=1)
def layout_macros():
    """C that finds the data of the arrays in a tuple.

    By the layout of Python's objects, which is checked here.
    """
    items, data = tuple.__basicsize__, object.__basicsize__
    probe = np.arange(3.0)
    pair = (None, probe)
    place = ctypes.c_void_p.from_address(id(pair) + items + ctypes.sizeof(ctypes.c_void_p)).value
    if place != id(probe) or ctypes.c_void_p.from_address(place + data).value != probe.ctypes.data:
        raise RuntimeError("arrays of this Python are not where they are elsewhere")
    return ("/* the data of the array that is item k of a tuple: "
            "PyTupleObject.ob_item, PyArrayObject.data */\n"
            "static inline char *at(void *objects, int k) {\n"
            f"  return *(char **)(((char **)((char *)objects + {items}))[k] + {data});\n}}\n")
