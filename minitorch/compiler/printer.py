"""The one printer of row kernels: expressions, values of rows, and passes over their columns.

A `Dialect` spells types, numbers and scalar functions (`c_words.py`, `cuda_words.py`). A `Printer`
writes one kernel: its subclasses are the functions of C (`c.py`) and the grids of CUDA (`cuda.py`),
which say how rows and columns are gone over and where sums are gathered. Each `Pass` holds what is
known in one loop only.
"""

from __future__ import annotations

import math

from ..extend import is_half
from .schedule import Schedule

__all__ = ["INFIX", "Dialect", "Pass", "Printer", "indented", "place"]

# The operators of NumPy's functions, in Python as in C.
INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "==",
         "not_equal": "!=", "greater": ">", "less": "<", "greater_equal": ">=", "less_equal": "<="}


def place(ref):
    """A key that refs to the same memory, of the same type, have in common."""
    return ref.anchor, ref.offset, ref.dtype


def indented(lines, indent="  "):
    return [indent + line for line in lines]


class Dialect:
    """The spellings in which languages differ: `x` is text, `n` a node, `e` an effect."""

    keeper = "row"             # the first letters of arrays that keep values for later passes
    kept_by = "j"              # the number by which a pass looks these up

    def ctype(self, n):
        """The type of a node's value."""
        raise NotImplementedError

    def number(self, value, dtype):
        """A number of a dtype."""
        raise NotImplementedError

    def widened(self, x, dtype):
        """A 16-bit float of memory as a float."""
        raise NotImplementedError

    def narrowed(self, x, dtype):
        """A float as a 16-bit float of memory."""
        raise NotImplementedError

    def converted(self, x, n):
        """A value in the type of a node."""
        raise NotImplementedError

    def scalar(self, n, x):
        """A scalar function of operands."""
        raise NotImplementedError

    def cost(self, n):
        """The rough cost of a scalar function, an addition being 1."""
        raise NotImplementedError

    def start(self, kind, dtype, ctype):
        """The value of a reduction of a dtype, of a type of C, before the first element."""
        raise NotImplementedError

    def collected(self, e, cell, x):
        """The statement that combines an effect with a value."""
        raise NotImplementedError

    def total_type(self, e):
        """The type in which an effect gathers values: sums as exact as NumPy's."""
        if e.kind in ("max", "min"):
            return self.ctype(e.x)
        return "i64" if e.ref.dtype.kind in "iub" else "double"


class Printer:
    """Writes one kernel."""

    dialect: Dialect
    pass_type: type                                        # of `Pass`

    def __init__(self, kernel, name):
        kernel.prune()
        kernel.collapse()
        self.kernel, self.dims, self.name = kernel, kernel.dims, name
        self.loops = [f"i{d}" for d in range(len(self.dims) - 1)] + ["j"]
        self.params: list = []                             # the refs that are arguments
        self.memory: dict = {}                             # place of a ref -> its name
        for ref in (*kernel.reads(), *kernel.writes()):
            if place(ref) not in self.memory:
                self.memory[place(ref)] = f"a{len(self.params)}"
                self.params.append(ref)
        self.schedule = Schedule(kernel, self.dialect.cost)
        self.rows: dict = {}                               # values of a row -> their names
        self.kept: dict = {}                               # values kept for later -> their arrays
        self.count = 0

    def fresh(self, letter="t"):
        """A new name."""
        self.count += 1
        return f"{letter}{self.count}"

    # -- expressions -------------------------------------------------------------------------------
    def cell(self, ref, further=None):
        """The elements of memory, or those that lie as much `further` on as an expression says."""
        parts = [] if further is None else [further]
        parts += [v if s == 1 else f"{v} * {s}" for v, s in zip(self.loops, ref.strides) if s]
        return f"{self.memory[place(ref)]}[{' + '.join(parts) or '0'}]"

    def read(self, ref, further=None):
        """The elements of memory as a value."""
        cell = self.cell(ref, further)
        if is_half(ref.dtype):
            return self.dialect.widened(cell, ref.dtype)
        return f"{cell} != 0" if ref.dtype == bool else cell

    def put(self, ref, x, further=None):
        """The statement that stores a value."""
        value = self.dialect.narrowed(x, ref.dtype) if is_half(ref.dtype) else x
        return f"{self.cell(ref, further)} = {value};"

    def expression(self, n, x):
        """A node whose operands are spelt `x`."""
        dialect = self.dialect
        if n.op in ("load", "gather"):
            return self.read(n.ref, *x)
        if n.op == "column":
            return dialect.converted("j", n)
        if n.op != "cast":
            return dialect.scalar(n, x)
        if is_half(n.dtype):
            return dialect.widened(dialect.narrowed(x[0], n.dtype), n.dtype)
        return f"({x[0]} != 0)" if n.dtype == bool else dialect.converted(x[0], n)

    # -- statements --------------------------------------------------------------------------------
    def spell(self, n):
        """A number, or a value of a row."""
        return self.dialect.number(n.value, n.dtype) if n.op == "const" else self.rows[n]

    def define(self, n, text):
        """The statement that names a value of a row."""
        self.rows[n] = self.fresh("r")
        return f"const {self.dialect.ctype(n)} {self.rows[n]} = {text};"

    def row(self):
        """The statements for one row: passes, and before each what comes once a row."""
        lines = []
        for at in range(self.schedule.passes + 1):
            lines += self.between_passes(at)
            lines += self.pass_type(self, at).statements()
        return lines

    def between_passes(self, at):
        """The values and effects that come once a row, as soon as they can be computed."""
        lines = [self.define(n, self.expression(n, [self.spell(a) for a in n.args]))
                 for n in self.schedule.row_values(at)]
        for e in self.schedule.effects_in(at, wide=False):
            lines += self.row_effect(e)
        return lines

    def row_effect(self, e):
        """The statements of an effect that comes once a row."""
        raise NotImplementedError

    def by_row(self, e):
        """True if a row leaves one number of an effect."""
        return e.ref.strides[-1] == 0

    def cells(self, e):
        """How many numbers a sum leaves."""
        return math.prod(n for n, s in zip(self.dims, e.ref.strides) if s)

    def cell_of(self, e, array):
        """The cell of a sum in an array that has the dimensions of the result without gaps."""
        parts, stride = [], 1
        for v, n, s in reversed([*zip(self.loops, self.dims, e.ref.strides)]):
            if s:
                parts.append(v if stride == 1 else f"{v} * {stride}")
                stride *= n
        return f"{array}[{' + '.join(reversed(parts)) or '0'}]"


class Pass:
    """One loop over the columns of a row, and the statements around it."""

    def __init__(self, printer, at):
        schedule = printer.schedule
        self.printer, self.dialect, self.at = printer, printer.dialect, at
        self.reductions = schedule.reductions(at)
        self.effects = schedule.effects_in(at, wide=True)
        self.carry = schedule.carried_from(at)
        self.names: dict = {}                              # values of elements -> their names
        self.front: list = []                              # statements before the loop
        self.inner: list = []                              # in it
        self.behind: list = []                             # after it
        self.reduced: dict = {}                            # reductions -> their final values

    def statements(self):
        """The whole pass; nothing if it has nothing to do."""
        if not (self.reductions or self.effects or self.carry):
            return []
        for n in self.reductions:
            self.begin(n)
        for n in self.reductions:
            self.reduce(n)
        self.read()
        for e in self.effects:
            self.effect(e)
        for n in self.carry:
            self.keep(n)
        loop = self.loop()
        defined = [self.printer.define(n, text) for n, text in self.reduced.items()]
        return [*self.front, *loop, *defined, *self.behind]

    def begin(self, n):
        """The variables of a reduction, before any is computed."""

    def reduce(self, n):
        """The statements of a reduction within the loop, and its value after the loop."""
        raise NotImplementedError

    def effect(self, e):
        """The statements of an effect within the loop."""
        raise NotImplementedError

    def loop(self):
        """The loop around the inner statements."""
        raise NotImplementedError

    def read(self):
        """Compute all values, before anything is overwritten."""
        for e in self.effects:
            self.need(e.x)
            if e.row is not None:
                self.need(e.row)
        for n in self.carry:
            self.need(n)

    def keep(self, n):
        """Keep a value for later passes."""
        printer, x = self.printer, self.need(n)
        printer.kept[n] = printer.fresh(self.dialect.keeper)
        self.inner.append(f"{printer.kept[n]}[{self.dialect.kept_by}] = {x};")

    def need(self, n):
        """The name of a value in this pass, computed there if need be."""
        if n.level != "e":
            return self.printer.spell(n)
        if n not in self.names:
            text = self.found_again(n) or self.computed(n)
            self.names[n] = self.printer.fresh()
            self.inner.append(f"const {self.dialect.ctype(n)} {self.names[n]} = {text};")
        return self.names[n]

    def found_again(self, n):
        """A value that an earlier pass has stored or kept; None if there is none."""
        printer = self.printer
        if printer.schedule.stage[n] >= self.at:
            return None
        if n in printer.schedule.stored:
            return printer.read(printer.schedule.stored[n])
        return f"{printer.kept[n]}[{self.dialect.kept_by}]" if n in printer.kept else None

    def computed(self, n):
        """A value as an expression of its operands."""
        return self.printer.expression(n, [self.need(a) for a in n.args])
