"""A program as one C file: what was lowered in functions of C, the rest in Python between them.

    run = Native(program, inputs, captured, base, "step")
    run.function(*arrays)              # like the NumPy source's function
    run.c_source                       # the C; run.text: the Python that calls it

Intermediate arrays lie in one piece of memory, the arena, where their lifetimes allow; results and gradients are new
arrays in every run. C finds the data of arrays by itself: it is given a tuple of them.
"""

from __future__ import annotations

import ctypes
import functools
import re
from typing import NamedTuple

import numpy as np

from ..backends.native import build
from ..backends.native.parts import shared
from ..core.tensor import wrap
from . import c, c_words
from .emit import Source, identifier
from .indexed import ELEMENT, FLAT, PROBABILITY
from .items import Call, NoLowering, Product
from .loops import REDUCTIONS, Kernel
from .lower import Lowering
from .reuse import LARGE, reused
from .sized import Numbers
from .steps import Step, kernels_of

__all__ = ["Native", "Piece"]

SMALL = 1024               # multiplications up to which a product is a loop and no call of BLAS
# A right matrix that lies turned slows OpenBLAS down by up to two thirds; a copy of it costs less, if it is used often
# enough and stays in the cache. Measured on an AMD EPYC: 64x32x64 in 0.64 of the time, 64x784x128 in 0.83.
TURNED_ROWS, TURNED_COLUMNS, TURNED_MOST = 16, 16, 1 << 17


# ------------------------------------------------------------------ which items are left, and where arrays lie
def remove_dead(items, lasting):
    """Drop effects on memory that nobody reads afterwards. `lasting`: what is read after the program."""
    live, left = set(lasting), []
    for i in reversed(items):
        if isinstance(i, Kernel):
            i.effects = [e for e in i.effects if e.ref.root in live]
            i.prune()
            if not i.effects:
                continue
        elif isinstance(i, Product) and i.c.root not in live:
            continue
        live |= i.roots_read()
        left.append(i)
    items[:] = left[::-1]


def elide_copies(items, lasting):
    """A product that is only copied is written where the copy would be."""
    for k in reversed(list(items)):
        if not (isinstance(k, Kernel) and len(k.effects) == 1 and len(k.nodes) == 1 and k.nodes[0].op == "load"):
            continue
        source, target = k.nodes[0].ref, k.effects[0].ref
        root = source.root
        if root.kind != "made" or root in lasting or target.root.kind != "made" or k.effects[0].kind != "store":
            continue
        writers = [i for i in items if root in i.roots_written()]
        readers = [i for i in items if root in i.roots_read()]
        if len(writers) != 1 or not isinstance(writers[0], Product) or readers != [k]:
            continue
        product, start, end = writers[0], items.index(writers[0]), items.index(k)
        if product.c.root is not root or any(target.root in (*i.roots_read(), *i.roots_written())
                                             for i in items[start:end]):
            continue
        strides = followed(product.c, product.shape, source, target, k.dims)
        rows, columns = product.shape[-2:]
        if strides is not None and (strides[-1] == 1 or columns == 1) and (strides[-2] >= columns or rows == 1):
            product.c = type(target)(target.root, target.anchor, target.offset, strides, target.dtype)
            items.remove(k)


def followed(c_ref, shape, source, target, dims):
    """The strides that the dimensions of a product have in what it is copied to; None if a copy splits one."""
    if source.offset != 0 or int(np.prod(dims)) != int(np.prod(shape)):
        return None
    steps = {s: (n, t) for n, s, t in zip(dims, source.strides, target.strides) if n > 1}
    found = []
    for n, s in zip(shape, c_ref.strides):
        if n == 1:
            found.append(0)
            continue
        base = max((b for b, (m, _) in steps.items() if b and s % b == 0 and s // b < m), default=None)
        if base is None:
            return None
        m, t = steps[base]
        if (s // base) * n > m:
            return None
        found.append(t * (s // base))
    return found


def arena(items, fixed):
    """Places of arrays that live within one run, by first fit over their lifetimes: root -> offset; and the size."""
    first, last = {}, {}
    for n, i in enumerate(items):
        for r in (*i.roots_read(), *i.roots_written()):
            first.setdefault(r, n)
            last[r] = n
    busy, offsets, size = [], {}, 0
    for r in sorted(first, key=first.get):
        if r.kind != "made" or r in fixed:
            continue
        need = -(-max(r.nbytes, 1) // 64) * 64
        busy = [b for b in busy if last[b[2]] >= first[r]]
        at = 0
        for low, high, _ in sorted(busy, key=lambda b: b[0]):
            if at + need <= low:
                break
            at = max(at, high)
        busy.append((at, at + need, r))
        offsets[r] = at
        size = max(size, at + need)
    return offsets, size


# ------------------------------------------------------------------ the text of C
class Phases:
    """The statements of a function of C, in phases: `parts` of each, 1 if it is not cut into parts for threads."""

    def __init__(self):
        self.lines: list = []                              # of the phase that is being written
        self.done: list = []
        self.parts = [1]

    def cut(self, parts, call):
        """End a phase, and let one of several parts follow."""
        self.done += [self.lines, [call]]
        self.parts += [parts, 1]
        self.lines = []

    def arguments(self):
        return ", int phase, int part" if self.done else ""

    def text(self):
        """The statements; with phases those of the one that is asked for, or all of them if it is below 0."""
        if not self.done:
            return self.lines
        found = []
        for n, (lines, parts) in enumerate(zip([*self.done, self.lines], self.parts)):
            if parts > 1:
                found += [f"  if (phase < 0) for (part = 0; part < {parts}; part++)", "  " + lines[0],
                          f"  if (phase == {n})", "  " + lines[0]]
            elif lines:
                found += [f"  if (phase < 0 || phase == {n}) {{", *["  " + line for line in lines], "  }"]
        return found


class Unit:
    """The C of one program. `segments`: lists of items that are one C function each, and calls between them."""

    def __init__(self, items, offsets, size, sources, sized=False):
        self.offsets, self.size, self.outside = offsets, size, sources
        self.sized, self.numbers = sized, [0]              # a table of numbers; the first is that of `scratch`
        self.functions, self.texts, self.scratch, self.blas, self.turns = {}, [], 0, False, False
        self.segments: list = []
        self.orders: list = []                             # the values in the tuple of each C function
        self.phases: list = []                             # of each: `Phases.parts`
        self.steps: list = []
        for i in items:
            if isinstance(i, Call):
                self.segments.append(i)
            elif self.segments and isinstance(self.segments[-1], list):
                self.segments[-1].append(i)
            else:
                self.segments.append([i])
        self.runs = []
        for segment in self.segments:
            if isinstance(segment, list):
                self.runs.append(self.run(segment, len(self.orders)))

    def text(self):
        runs, self.numbers[0] = [*self.runs, *self.steps], self.size
        lines = ["#define PRODUCTS"] if self.blas else []
        lines += ["#define T float", "#define IS_DOUBLE 0", '#include "turn.h"'] if self.turns else []
        lines += ['#include "prelude.h"', layout_macros(), *[t + "\n" for t in self.texts]]
        return "\n".join([*lines, *[line.replace("@SCRATCH", str(self.size)) for r in runs for line in r]])

    def run(self, items, number):
        self.order = list(self.outside) if not number else []
        checked = len(self.order)
        phases = Phases()
        for i in items:
            if isinstance(i, Kernel):
                self.kernel(i, phases, self.sized)
            else:
                phases.lines += self.product(i)
        head = [f"int run{number}(void *objects{phases.arguments()}) {{",
                "  char *A = at(objects, 0); i64 wrong[3] = {0}; (void)A;"]
        if checked:
            sizes = ", ".join(str(v.dtype.itemsize) for v in self.order[:checked])
            head += [f"  static const unsigned char sizes[] = {{{sizes}}};",
                     f"  for (int k = 0; k < {checked}; k++)", "    if ((uintptr_t)at(objects, k + 1) % sizes[k]) "
                     "return -1;    // not aligned"]
        if self.sized:
            head.append(f"  const i64 *N = (const i64 *)at(objects, {len(self.order) + 1});")
        head.append(f"  char *scratch = A + {'N[0]' if self.sized else '@SCRATCH'}; char *P[{len(self.order) + 1}];")
        head.append(f"  for (int k = 0; k <= {len(self.order)}; k++) P[k] = at(objects, k);")
        self.orders.append(self.order)
        self.phases.append(phases.parts)
        end = ["  if (wrong[0]) memcpy(scratch, wrong, sizeof wrong);", "  return (int)wrong[0];", "}", ""]
        return [*head, *map(self.statement, phases.text()), *end]

    def statement(self, line):
        """A statement of a run, whose numbers may be in the table."""
        if not self.sized:
            return line
        numbers = Numbers()
        text = numbers.of_statement(line, len(self.numbers))
        self.numbers += numbers.values
        return text.replace("N + @", "N + ")

    def step(self, kernels, number):
        """One step of an optimiser as a C function; returns the values in its tuple, and `Phases.parts`."""
        self.order, phases = [], Phases()
        for k in kernels:
            self.kernel(k, phases)
        self.steps.append([f"void step{number}(void *objects, const double *H{phases.arguments()}) {{",
                           "  char *scratch = 0; i64 *wrong = 0;",
                           f"  char *P[{len(self.order) + 1}];",
                           f"  for (int k = 0; k < {len(self.order)}; k++) P[k + 1] = at(objects, k);", *phases.text(),
                           "}", ""])
        return self.order, phases.parts

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
        return c.function(kernel, "@NAME")

    def kernel(self, k, phases, sized=False):
        """Call a kernel: at once, or, if it is large, part by part in a phase of its own."""
        text, params, scratch, parts, gathers = self.function(k)
        extra = ", H" if any(n.op == "coefficient" for n in k.nodes) else ""
        more = ""
        if sized:
            numbers = Numbers()
            text, more = numbers.of_function(text), f", N + @{len(self.numbers)}"
            self.numbers += numbers.values
        self.scratch = max(self.scratch, scratch * parts)
        name = self.functions.get(text)
        if name is None:
            words = "_".join(dict.fromkeys(identifier(n) for n in k.names))[:60]
            name = self.functions[text] = f"k{len(self.functions)}_{words}"
            self.texts.append(text.replace("@NAME", name))
        pointers = ", ".join(map(self.pointer, params))
        size = f"// {' x '.join(map(str, k.dims))}"
        if parts == 1:
            phases.lines.append(f"  {name}({pointers}, scratch, wrong{extra}{more});    {size}")
            return
        phases.cut(parts, f"  {name}({pointers}, scratch, wrong{extra}, part{more});    {size}")
        if gathers:
            phases.lines.append(f"  {name}_end({pointers}, scratch{more});")

    def product(self, g):
        lines, shape = [], g.shape
        m, n, k = shape[-2], shape[-1], g.inner
        a, b, out = ([0 if size == 1 and d < len(shape) - 2 else s for d, (s, size) in enumerate(zip(r.strides, shape))]
                     for r in (g.a, g.b, g.c))
        indent, terms = "  ", ["", "", ""]
        for d, count in enumerate(shape[:-2]):
            if count > 1:
                lines.append(f"{indent}for (i64 n{d} = 0; n{d} < {count}; n{d}++)")
                indent += "  "
                terms = [t + (f" + n{d} * {s[d]}" if s[d] else "") for t, s in zip(terms, (a, b, out))]
        pa, pb, pc = (self.pointer(r) + t for r, t in zip((g.a, g.b, g.c), terms))
        alpha, letter = c_words.number(g.alpha, g.c.dtype), "s" if g.c.dtype.itemsize == 4 else "d"
        row = out[-2] or n
        return lines + self.one_product(indent, letter, (m, n, k), alpha, (pa, *a[-2:]), (pb, *b[-2:]), (pc, row))

    def one_product(self, indent, letter, sizes, alpha, a, b, out):
        """A product of matrices, each given as a pointer and its strides."""
        m, n, k = sizes
        if m * n * k <= SMALL:
            operands = ", ".join(map(str, (*a, *b, *out)))
            return [f"{indent}{letter}product({m}, {n}, {k}, {alpha}, {operands});"]
        self.blas = True
        (ta, lda), (tb, ldb), copy = turned(m, k, *a[1:]), turned(k, n, *b[1:]), ""
        if tb == 112 and letter == "s" and m >= TURNED_ROWS and n >= TURNED_COLUMNS and n * k <= TURNED_MOST:
            self.turns, self.scratch = True, max(self.scratch, 4 * n * k)
            copy = f"turn({b[0]}, {ldb}, (float *)scratch, {n}, {n}, {k}), "
            b, tb, ldb = ("(float *)scratch",), 111, n
        return [f"{indent}{copy}{letter}gemm(101, {ta}, {tb}, {m}, {n}, {k}, {alpha}, {a[0]}, {lda}, {b[0]}, {ldb}, 0, "
                f"{out[0]}, {out[1]});"]


def turned(rows, columns, s, t):
    """CBLAS's word for how a matrix lies, and its leading dimension."""
    if (t == 1 or columns == 1) and (s >= columns or rows == 1):
        return 111, max(s, columns)
    return 112, max(t, rows)


@functools.lru_cache(maxsize=1)
def layout_macros():
    """C that finds the data of the arrays in a tuple: by the layout of Python's objects, which is checked here."""
    items, data = tuple.__basicsize__, object.__basicsize__
    probe = np.arange(3.0)
    pair = (None, probe)
    place = ctypes.c_void_p.from_address(id(pair) + items + ctypes.sizeof(ctypes.c_void_p)).value
    if place != id(probe) or ctypes.c_void_p.from_address(place + data).value != probe.ctypes.data:
        raise RuntimeError("arrays of this Python are not where they are elsewhere")
    return ("/* the data of the array that is item k of a tuple: PyTupleObject.ob_item, PyArrayObject.data */\n"
            "static inline char *at(void *objects, int k) {\n"
            f"  return *(char **)(((char **)((char *)objects + {items}))[k] + {data});\n}}\n")


# ------------------------------------------------------------------ the Python around it
class Piece(NamedTuple):
    """Part that runs at once: `kind` ("loops", "product", "call"), the `names` of its ops, its domain (of products M,
    N and K at the end), the instructions of the program that it does, the `reductions` of its rows."""

    kind: str
    names: tuple
    dims: tuple
    origin: tuple
    reductions: tuple


class Native(Source):
    """A program made native: `function`, `text` (Python), `c_source`, `notes`."""

    lowered_by: type = Lowering
    printed_by: type = Unit

    def __init__(self, program, inputs, captured, backend, name="run", summary="", tensor_names=None, plain=None,
                 sized=False):
        self.backend, self.tensor_names, self.on_cpu = backend, tensor_names or {}, backend.xp is np
        self.program, self.inputs, self.captured, self.name = program, inputs, captured, name
        self.scope, self.names, self.setup, self.counts = {"plain": plain}, {}, [], {}
        self.taken = {"np", "F", "s", "i", name, "plain", "arena", "complain", "relaid", "reused", "wrap", "base",
                      "wrong", "empty", "numbers", *c_words.TYPES, "bool_"}
        self.groups, self.places, self.sizes, self.phase = {}, {}, [], "forward"
        outside = {*inputs, *captured}
        lowering = self.lowering = self.lowered_by(program, backend, outside)
        items, kept = lowering.items, {v.root for v in program.held()}
        lasting = {*kept, *outside, *(v.root for v in outside)}
        remove_dead(items, lasting)
        elide_copies(items, lasting)
        called = {r for i in items if isinstance(i, Call) for r in i.instruction.results if r.root is r}
        self.called = called
        self.offsets, size = arena(items, called | lasting)
        used = {r.anchor for i in items if not isinstance(i, Call) for r in refs_of(i)}
        self.read_by_c = used
        sources = [v for v in (*inputs, *captured) if v in used]
        self.unit = self.printed_by(items, self.offsets, size, sources, sized)
        self.lasting = {v.root for v in program.held()} | {w.root for i in program.instructions for w in i.writes} | {
            v.root for v in used}
        for v in (*inputs, *captured):
            self.names[v] = self.fresh(v.name or "x")
        self.defined = set(self.names)

        self.stepping: list = []
        body = self.body()
        self.c_source = self.unit.text()
        self.arena_bytes = size + self.unit.scratch + 64
        arguments = ", ".join(self.names[v] for v in (*inputs, *captured))
        self.text = "\n".join([f'"""{summary}"""', *self.imports(body), "", *self.setup, "",
                               f"def {name}({arguments}):", *body, ""])
        self.notes = self.say()

    def load(self):
        """Build the C; what the Python text names."""
        library = build(self.c_source)
        memory = np.empty(self.arena_bytes + 64, np.uint8)
        start = -memory.ctypes.data % 64
        scope = {**self.scope, "numbers": np.array(self.unit.numbers, np.int64), "relaid": relaid,
                 "arena": memory[start:start + self.arena_bytes], "complain": complain}
        for n in range(len(self.unit.orders)):
            scope[f"run{n}"] = shared(library, f"run{n}", "o", "i", self.unit.phases[n])
        for n, (optimizer, groups, arrays, line, parts) in enumerate(self.stepping):
            scope[f"step{n}"] = Step(optimizer, groups, shared(library, f"step{n}", "op", "", parts), arrays, line)
        return scope

    def pieces(self):
        """The items as they run."""
        items = [i for s in self.unit.segments for i in (s if isinstance(s, list) else [s])]
        return [Piece("loops" if isinstance(i, Kernel) else "product" if isinstance(i, Product) else "call",
                      tuple(dict.fromkeys(i.names)), i.dims if isinstance(i, Kernel) else
                      (*i.shape, i.inner) if isinstance(i, Product) else (), tuple(dict.fromkeys(i.origin)),
                      tuple(n.op for n in i.nodes if n.op in REDUCTIONS) if isinstance(i, Kernel) else ())
                for i in items]

    def say(self):
        kernels = [i for s in self.unit.segments if isinstance(s, list) for i in s]
        lines = [f"C: {sum(isinstance(i, Kernel) for i in kernels)} loops and "
                 f"{sum(isinstance(i, Product) for i in kernels)} products in {len(self.unit.orders)} pieces, "
                 f"{sum(isinstance(s, Call) for s in self.unit.segments)} calls of Python"]
        left = {s.instruction for s in self.unit.segments if isinstance(s, Call)}
        for why, instructions in self.lowering.called.items():
            count = sum(i in left for i in instructions)
            if count and not why.endswith("it happens outside arrays"):
                lines.append(f"called, {count} times: {why}")
        if self.unit.sized:
            lines.append("sizes are parameters of the C, which other shapes can share")
        return lines + self.lowering.notes

    # -- statements ----------------------------------------------------------------------------------------
    def effect(self, i):
        """An optimiser's step: in C while it can be, else it takes it itself."""
        lines, (optimizer, pairs) = super().effect(i), i.args
        if not pairs or any(v.root is not v or v.root in self.offsets for _, v in pairs):
            return lines
        try:
            groups, kernels = kernels_of(optimizer, pairs)
        except NoLowering as why:
            self.lowering.notes.append(f"{type(optimizer).__name__}.step is Python's: {why}")
            return lines
        order, parts = self.unit.step([k for k, _ in kernels], len(self.stepping))
        gradients = [v for _, v in pairs]
        arrays = [v for v in order if v not in gradients]
        used = [v for v in order if v in gradients]
        renumbered = {f"P[{n + 1}]": f"P[{k + 1}]" for k, v in enumerate([*arrays, *used])
                      for n, w in enumerate(order) if w is v}
        text = "\n".join(self.unit.steps[-1])
        self.unit.steps[-1] = re.sub(r"P\[\d+\]", lambda m: renumbered.get(m.group(), m.group()), text).split("\n")
        self.stepping.append((optimizer, groups, [v.example for v in arrays], i.line, parts))
        self.scope["wrap"], self.scope["base"] = wrap, self.backend
        tensors = [f"{self.spell(p)}._grad = wrap({self.name_of(g)}, base)" for p, g in pairs]
        return [*tensors, f"if not step{len(self.stepping) - 1}({', '.join(map(self.name_of, used))}):",
                "    " + lines[-1]]

    def body(self):
        lines, number = [], 0
        for segment in self.unit.segments:
            if isinstance(segment, Call):
                found = self.call(segment.instruction)
            else:
                found = self.c_call(number)
                number += 1
            lines += ["    " + line for text in found for line in text.split("\n")]
        returned = []
        for v in self.program.kept():
            returned += self.defining(v)
        results = [self.name_of(v) for v in self.program.kept()]
        return [*lines, *["    " + line for line in returned], f"    return ({''.join(r + ', ' for r in results)})"]

    def c_call(self, number):
        order, lines = self.unit.orders[number], []
        for v in order:
            lines += self.defining(v)
        names = ["arena", *map(self.name_of, order), *["numbers"] * self.unit.sized]
        lines += [f"wrong = run{number}(({', '.join(names)}{',' if len(names) == 1 else ''}))", "if wrong:"]
        if number == 0 and self.unit.outside:
            first = isinstance(self.unit.segments[0], list)
            arguments = ", ".join(self.names[v] for v in (*self.inputs, *self.captured))
            lines += ["    if wrong < 0:    # memory that is not aligned", f"        return plain({arguments})" if first
                      else "        raise RuntimeError('a compiled function was given memory that is not aligned')"]
        return [*lines, f"    complain(arena[{self.unit.size}:], wrong)"]

    def call(self, i):
        """An instruction that stays Python."""
        lines = []
        for v in (*i.operands(), *i.writes):
            lines += self.defining(v)
        lines += self.statement(i)
        for v in i.results:
            self.defined.add(v)
            if v.root is not v or v not in self.read_by_c:
                continue
            name = self.name_of(v)
            if not v.shape and self.on_cpu:                # may be a number, which C would take for an array
                lines.append(f"{name} = np.asarray({name}, {self.spell(v.dtype)})")
            elif v.shape and v.example.size:
                how = f"{v.example.strides!r}, {self.spell(v.dtype)}"
                lines.append(f"if ({name}.strides, {name}.dtype) != ({how}): {name} = relaid({name}, {how})")
        return lines

    def defining(self, v):
        """The statements that give a value its name, if it has none yet."""
        if v in self.defined or v.kind == "constant":
            return []
        self.defined.add(v)
        if v.root is v:
            if v in self.offsets:
                self.names[v] = self.numbered("b")
                text = self.in_arena(v.example, self.offsets[v])      # which may take a line of its own
                self.setup.append(f"{self.names[v]} = {text}")
                return []
            return [] if v in self.called else self.made(v)
        maker = self.lowering.makers.get(v)
        lines = []
        for u in maker.operands():
            lines += self.defining(u)
        return [*lines, *self.statement(maker)]

    def in_arena(self, a, offset):
        """An array like `a` in the arena, as Python."""
        return f"np.ndarray({a.shape!r}, {self.spell(a.dtype)}, arena, {offset}, {a.strides!r})"

    def made(self, v):
        """The statement that makes the array of a value, new in each run."""
        dense = v.example.flags.c_contiguous
        if spelt(v.dtype) not in self.scope:               # bound once: small arrays are made in 0.2 us
            self.scope[spelt(v.dtype)], self.scope["empty"] = v.dtype, np.empty
        made = f"empty({v.shape!r}, {spelt(v.dtype)})" if dense else f"np.empty_like({self.like(v)})"
        if dense and v.nbytes >= LARGE:
            pool = self.numbered("pool")
            self.setup.append(f"{pool} = []")
            made = f"reused({pool}, {v.shape!r}, {spelt(v.dtype)})"
            self.scope["reused"] = reused
        return [f"{self.name_of(v)} = {made}"]

    def like(self, v):
        """An array laid out as a value: it takes no memory of its own to speak of."""
        name = self.numbered("like")
        self.scope[name] = np.lib.stride_tricks.as_strided(np.empty(1, v.dtype), v.shape, v.example.strides)
        return name


def spelt(dtype):
    return "bool_" if dtype.kind == "b" else dtype.name


def refs_of(item):
    return [*item.reads(), *item.writes()] if isinstance(item, Kernel) else [item.a, item.b, item.c]


def complain(memory, code):
    """Raise the error for a wrong index, or another wrong value, that C found."""
    _, index, n = memory[:24].view(np.int64).tolist()
    dim, kind = divmod(code, 8)
    if kind == 1:
        raise IndexError(f"index out of range in self: indices go from 0 to {n - 1}, got {index}")
    if kind == 2:
        raise IndexError(f"Target {index} is out of bounds: class indices go from 0 to {n - 1}")
    if kind == FLAT:
        raise IndexError(f"out of range: tried to access index {index} on a tensor of {n} elements.")
    if kind == PROBABILITY:
        raise RuntimeError("all elements of input should be between 0 and 1")
    raise (RuntimeError if kind == ELEMENT else IndexError)(
        f"index {index} is out of bounds for dimension {dim} with size {n}")


def relaid(array, strides, dtype):
    """A copy laid out, and of the type, as it was in the trace."""
    made = np.ndarray(array.shape, dtype, np.empty(array.size * np.dtype(dtype).itemsize, np.uint8), 0, strides)
    made[...] = array
    return made
