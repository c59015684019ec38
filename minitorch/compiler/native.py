"""A program as one C file: functions of C for the lowered items, and Python between them.

    run = Native(program, inputs, captured, base, "step")
    run.function(*arrays)              # like the NumPy source's function
    run.c_source                       # the C; run.text: the Python that calls it

Intermediate arrays lie in one piece of memory, the arena, where their lifetimes allow; results and
gradients are new arrays in every run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backends.native import build, shared
from ..extend import wrap
from . import c_words
from .arena import arena, refs_of, simplify
from .emit import Source
from .indexed import ELEMENT, FLAT, PROBABILITY
from .items import Call, NoLowering, Product
from .loops import REDUCTIONS, Kernel
from .lower import Lowering
from .reuse import LARGE, reused
from .steps import Step, kernels_of
from .unit import Unit

__all__ = ["Native", "Piece"]


class Piece(NamedTuple):
    """A part of a program that runs as a unit."""

    kind: str                  # "loops", "product" or "call"
    names: tuple               # of its ops
    dims: tuple                # its domain; of products M, N and K at the end
    origin: tuple              # the instructions of the program that it does
    reductions: tuple          # of its rows

    @classmethod
    def of(cls, item):
        """An item of a lowered program."""
        names, origin = tuple(dict.fromkeys(item.names)), tuple(dict.fromkeys(item.origin))
        if isinstance(item, Kernel):
            reductions = tuple(n.op for n in item.nodes if n.op in REDUCTIONS)
            return cls("loops", names, item.dims, origin, reductions)
        if isinstance(item, Product):
            return cls("product", names, (*item.shape, item.inner), origin, ())
        return cls("call", names, (), origin, ())


class Stepping(NamedTuple):
    """An optimiser's step in C."""

    optimizer: object
    groups: list
    arrays: list               # its arguments but for the gradients
    line: object               # of the program that calls it
    parts: list                # `Phases.parts`


TAKEN = {"np", "F", "s", "i", "plain", "arena", "complain", "relaid", "reused", "wrap", "base",
         "wrong", "empty", "numbers", *c_words.TYPES, "bool_"}          # names of the Python text


class Native(Source):
    """A program made native: `function`, `text` (Python), `c_source`, `notes`."""

    lowered_by: type = Lowering
    printed_by: type = Unit

    def __init__(self, program, inputs, captured, backend, name="run", summary="",
                 tensor_names=None, plain=None, sized=False):
        self.backend, self.tensor_names, self.on_cpu = backend, tensor_names or {}, backend.xp is np
        self.program, self.inputs, self.captured, self.name = program, inputs, captured, name
        self.scope, self.names, self.setup, self.counts = {"plain": plain}, {}, [], {}
        self.taken = {name, *TAKEN}
        self.groups, self.places, self.sizes, self.phase = {}, {}, [], "forward"
        self.parameters = (*inputs, *captured)
        self.lowering = self.lowered_by(program, backend, {*self.parameters})
        self.unit = self.print(self.lowering.items, sized)
        self.lasting = self.held() | self.written() | {v.root for v in self.read_by_c}
        for v in self.parameters:
            self.names[v] = self.fresh(v.name or "x")
        self.defined = set(self.names)
        self.stepping: list = []
        body = self.body()
        self.c_source = self.unit.text()
        self.arena_bytes = self.unit.size + self.unit.scratch + 64
        self.text = "\n".join([f'"""{summary}"""', *self.imports(body), "", *self.setup, "",
                               f"def {name}({self.parameter_names()}):", *body, ""])
        self.notes = self.say()

    def print(self, items, sized):
        """Choose the items that are left and where their arrays lie; the C of them."""
        lasting = {*self.held(), *self.parameters, *(v.root for v in self.parameters)}
        simplify(items, lasting)
        results = [r for i in items if isinstance(i, Call) for r in i.instruction.results]
        self.called = {r for r in results if r.root is r}
        self.offsets, size = arena(items, self.called | lasting)
        self.read_by_c = {r.anchor for i in items if not isinstance(i, Call) for r in refs_of(i)}
        sources = [v for v in self.parameters if v in self.read_by_c]
        return self.printed_by(items, self.offsets, size, sources, sized)

    def parameter_names(self):
        return ", ".join(self.names[v] for v in self.parameters)

    def load(self):
        """Build the C, and define the objects that the Python text names."""
        library = build(self.c_source, wait=False)
        memory = np.empty(self.arena_bytes + 64, np.uint8)
        start = -memory.ctypes.data % 64
        scope = {**self.scope, "numbers": np.array(self.unit.numbers, np.int64), "relaid": relaid,
                 "arena": memory[start:start + self.arena_bytes], "complain": complain}
        for n in range(len(self.unit.orders)):
            scope[f"run{n}"] = shared(library, f"run{n}", "o", "i", self.unit.phases[n])
        for n, s in enumerate(self.stepping):
            step = shared(library, f"step{n}", "op", "", s.parts)
            scope[f"step{n}"] = Step(s.optimizer, s.groups, step, s.arrays, s.line)
        return scope

    def pieces(self):
        """The items as they run."""
        items = [i for s in self.unit.segments for i in (s if isinstance(s, list) else [s])]
        return [Piece.of(i) for i in items]

    def say(self):
        kinds = [p.kind for p in self.pieces()]
        lines = [f"C: {kinds.count('loops')} loops and {kinds.count('product')} products in "
                 f"{len(self.unit.orders)} pieces, {kinds.count('call')} calls of Python"]
        left = {s.instruction for s in self.unit.segments if isinstance(s, Call)}
        for why, instructions in self.lowering.called.items():
            count = sum(i in left for i in instructions)
            if count and not why.endswith("it happens outside arrays"):
                lines.append(f"called, {count} times: {why}")
        if self.unit.sized:
            lines.append("sizes are parameters of the C, which other shapes can share")
        return lines + self.lowering.notes

    # -- statements --------------------------------------------------------------------------------
    def effect(self, i):
        """An optimiser's step: in C if possible, else by the optimiser itself."""
        lines, (optimizer, pairs) = super().effect(i), i.args
        if not pairs or any(v.root is not v or v.root in self.offsets for _, v in pairs):
            return lines
        try:
            groups, kernels = kernels_of(optimizer, pairs)
        except NoLowering as why:
            self.lowering.notes.append(f"{type(optimizer).__name__}.step is Python's: {why}")
            return lines
        number, gradients = len(self.stepping), [v for _, v in pairs]
        order, parts = self.unit.step(kernels, number, gradients)
        arrays = [v.example for v in order if v not in gradients]
        used = [v for v in order if v in gradients]
        self.stepping.append(Stepping(optimizer, groups, arrays, i.line, parts))
        self.scope["wrap"], self.scope["base"] = wrap, self.backend
        tensors = [f"{self.spell(p)}._grad = wrap({self.name_of(g)}, base)" for p, g in pairs]
        return [*tensors, f"if not step{number}({', '.join(map(self.name_of, used))}):",
                "    " + lines[-1]]

    def number_in(self, v):
        """C leaves a number in an array."""
        return super().number_in(v) if v.kind == "constant" else (
            f"{v.number.__name__}({self.name_of(v)})")

    def body(self):
        lines, number = [], 0
        for segment in self.unit.segments:
            if isinstance(segment, Call):
                found = self.call(segment.instruction)
            else:
                found = self.c_call(number)
                number += 1
            lines += ["    " + line for text in found for line in text.split("\n")]
        for v in self.program.kept():
            lines += ["    " + line for line in self.defining(v)]
        return [*lines, self.returning()]

    def c_call(self, number):
        order, lines = self.unit.orders[number], []
        for v in order:
            lines += self.defining(v)
        names = ["arena", *map(self.name_of, order), *["numbers"] * self.unit.sized]
        comma = "," if len(names) == 1 else ""
        lines += [f"wrong = run{number}(({', '.join(names)}{comma}))", "if wrong:"]
        if number == 0 and self.unit.outside:
            lines += ["    if wrong < 0:    # memory that is not aligned",
                      "        " + self.not_aligned()]
        return [*lines, f"    complain(arena[{self.unit.size}:], wrong)"]

    def not_aligned(self):
        """The statement for arguments that C cannot read: run Python, if nothing is done yet."""
        if isinstance(self.unit.segments[0], list):
            return f"return plain({self.parameter_names()})"
        return "raise RuntimeError('a compiled function was given memory that is not aligned')"

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
            if not v.shape and self.on_cpu:                # C would take a number for an array
                lines.append(f"{name} = np.asarray({name}, {self.spell(v.dtype)})")
            elif v.shape and v.example.size:
                how = f"{v.example.strides!r}, {self.spell(v.dtype)}"
                lines.append(f"if ({name}.strides, {name}.dtype) != ({how}): "
                             f"{name} = relaid({name}, {how})")
        return lines

    def defining(self, v):
        """The statements that give a value its name, if it has none yet."""
        if v in self.defined or v.kind == "constant":
            return []
        self.defined.add(v)
        if v.root is v:
            if v in self.offsets:
                self.names[v] = self.numbered("b")
                text = self.in_arena(v.example, self.offsets[v])       # which may add a line
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
        if spelt(v.dtype) not in self.scope:           # bound once: small arrays are made in 0.2 us
            self.scope[spelt(v.dtype)], self.scope["empty"] = v.dtype, np.empty
        if dense:
            made = f"empty({v.shape!r}, {spelt(v.dtype)})"
        else:
            made = f"np.empty_like({self.like(v)})"
        if dense and v.nbytes >= LARGE:
            pool = self.numbered("pool")
            self.setup.append(f"{pool} = []")
            made = f"reused({pool}, {v.shape!r}, {spelt(v.dtype)})"
            self.scope["reused"] = reused
        return [f"{self.name_of(v)} = {made}"]

    def like(self, v):
        """An array with the layout of a value, on almost no memory."""
        name = self.numbered("like")
        one = np.empty(1, v.dtype)
        self.scope[name] = np.lib.stride_tricks.as_strided(one, v.shape, v.example.strides)
        return name


def spelt(dtype):
    return "bool_" if dtype.kind == "b" else dtype.name


def complain(memory, code):
    """Raise the error for a wrong index, or another wrong value, that C found."""
    _, index, n = memory[:24].view(np.int64).tolist()
    dim, kind = divmod(code, 8)
    if kind == 1:
        raise IndexError(f"index out of range in self: indices go from 0 to {n - 1}, got {index}")
    if kind == 2:
        raise IndexError(f"Target {index} is out of bounds: class indices go from 0 to {n - 1}")
    if kind == FLAT:
        raise IndexError(
            f"out of range: tried to access index {index} on a tensor of {n} elements.")
    if kind == PROBABILITY:
        raise RuntimeError("all elements of input should be between 0 and 1")
    raise (RuntimeError if kind == ELEMENT else IndexError)(
        f"index {index} is out of bounds for dimension {dim} with size {n}")


def relaid(array, strides, dtype):
    """A copy laid out, and of the type, as it was in the trace."""
    memory = np.empty(array.size * np.dtype(dtype).itemsize, np.uint8)
    made = np.ndarray(array.shape, dtype, memory, 0, strides)
    made[...] = array
    return made
