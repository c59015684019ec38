"""From a program to source: one readable function of NumPy calls, which runs on its own.

The text is what is executed: ``compiled.source`` shows it. Large results go to buffers that are
allocated once (see `buffers`), and runs of elementwise calls on large arrays become a loop over
blocks that stay in the processor's cache.
"""

from __future__ import annotations

import keyword
import math
import re

import numpy as np

from ..extend import is_floating, wrap
from . import buffers, printer
from .program import Instruction, Value

__all__ = ["Source"]

INFIX = {f"np.{name}": sign for name, sign in {**printer.INFIX, "matmul": "@"}.items()}
NUMPYS = "fiub"            # kinds of dtypes that have a name in NumPy, as bfloat16 has not
LARGE = 1 << 16            # elements from which a run of elementwise calls is done block by block
BLOCK = 1 << 15        # elements in a block: a few float32 blocks fit into the second-level cache


class Source:
    """Writes the source of one program; ``text``, and in ``scope`` the objects that it names."""

    offsets: dict = {}         # where arrays lie in an arena: the names of these are global

    def __init__(self, program, inputs, captured, backend, name="run", summary="",
                 tensor_names=None):
        self.backend, self.tensor_names = backend, tensor_names or {}
        self.on_cpu = backend.xp is np
        self.program, self.inputs, self.captured, self.name = program, inputs, captured, name
        self.scope, self.names, self.setup, self.counts = {}, {}, [], {}
        self.taken = {"np", "F", "s", "i", name}
        self.groups = find_groups(program, buffers.last_uses(program))
        inner = {v for g in self.groups.values() for v in g.inner}
        ends = {n: first + len(g.instructions) - 1 for first, g in self.groups.items()
                for n in range(first, first + len(g.instructions))}
        self.lasting = self.held() | self.written()
        self.places, self.sizes = buffers.plan(program, inner, ends)
        for v in (*inputs, *captured):
            self.names[v] = self.fresh(v.name or "x")
        body = self.body()
        parameters = ", ".join(self.names[v] for v in (*inputs, *captured))
        self.text = "\n".join([f'"""{summary}"""', *self.imports(body), "", *self.allocations(), "",
                               f"def {name}({parameters}):", *body, ""])

    def held(self):
        """The memory that outlives a run."""
        return {v.root for v in self.program.held()}

    def written(self):
        """The memory to which instructions write in place."""
        return {w.root for i in self.program.instructions for w in i.writes}

    def imports(self, body):
        text = "\n".join(body)
        lines = ["import numpy as np"] if self.on_cpu else [
            "from minitorch.extend import get_backend", "",
            f"F = get_backend({str(self.backend.device)!r})",
            "np = F.xp    # NumPy's names, for the arrays of this device"]
        if "set_gradients(" in text:
            lines += ["", "from minitorch.compiler.emit import set_gradients"]
        if "F." in text and self.on_cpu:
            backend = "from minitorch.extend import get_backend; F = get_backend('cpu')"
            if self.program.in_c:
                backend = "from minitorch.backends.native import called; F = called()"
            lines += ["", f"{backend}   # ops that are more than a NumPy call"]
        return lines

    def allocations(self):
        memory = [f"memory{i} = np.empty(({n},), np.uint8)" for i, n in enumerate(self.sizes)]
        return memory + self.setup

    # -- names -------------------------------------------------------------------------------------
    def fresh(self, wanted):
        """A name that is not taken yet, as near as possible to the wanted one."""
        stem = identifier(wanted)
        name, n = stem, 1
        while name in self.taken:
            n += 1
            name = f"{stem}_{n}"
        self.taken.add(name)
        return name

    def name_of(self, v):
        if v not in self.names:
            if v.kind == "constant":
                self.names[v] = self.constant(v.example)
            else:
                self.names[v] = self.numbered("g" if self.phase == "backward" else "v")
        return self.names[v]

    def numbered(self, letter):
        """The next name such as v12."""
        self.counts[letter] = self.counts.get(letter, 0) + 1
        return self.fresh(f"{letter}{self.counts[letter]}")

    def constant(self, value):
        """The name of an object that the source cannot spell."""
        if (isinstance(value, np.ndarray) and 0 < value.size <= 8 and value.dtype.kind in NUMPYS
                and value.flags.c_contiguous and value.dtype.isnative):
            text = f"np.array({value.tolist()!r}, np.{value.dtype.name})"
            name = self.fresh(f"c{value.item():g}" if value.size == 1 else f"c{len(self.taken)}")
            self.setup.append(f"{name} = " + text.replace("nan", "np.nan").replace("inf", "np.inf"))
        else:
            name, kind = self.describe(value)
            self.setup.append(f"# {name}: {kind}")
            self.scope[name] = value
        return name

    def describe(self, value):
        """A name for an object of the caller, and a description."""
        if isinstance(value, np.ndarray):
            return self.numbered("k"), f"a constant, {value.dtype} {list(value.shape)}"
        if hasattr(value, "param_groups"):
            return self.fresh("optimizer"), f"the {comment(type(value).__name__)} optimiser"
        if hasattr(value, "get_last_lr"):
            return self.fresh("schedule"), f"a {comment(type(value).__name__)}"
        if hasattr(value, "needs_grad"):
            name = self.tensor_names.get(id(value), "leaf") + "_tensor"
            return self.fresh(name), f"the tensor, {list(value.shape)}"
        return self.numbered("k"), comment(repr(value))

    # -- expressions -------------------------------------------------------------------------------
    def spell(self, x):
        """An operand as source."""
        if isinstance(x, Value):
            return self.number_in(x) if x.number else self.name_of(x)
        found = plain(x)
        if found is not None:
            return found
        if isinstance(x, tuple) and not hasattr(x, "_fields"):
            return f"({as_tuple(map(self.spell, x))})"
        if isinstance(x, list):
            return "[" + ", ".join(map(self.spell, x)) + "]"
        if isinstance(x, slice):
            return f"slice({self.spell(x.start)}, {self.spell(x.stop)}, {self.spell(x.step)})"
        if isinstance(x, np.generic):
            return self.constant(np.asarray(x))
        for name, known in self.scope.items():
            if known is x:
                return name
        return self.constant(x)

    def number_in(self, v):
        """A value that is a Python number."""
        return repr(v.sample) if v.kind == "constant" else self.name_of(v)

    def index(self, x):
        """An index as it stands between brackets."""
        def part(i):
            if isinstance(i, slice):
                ends = ["" if e is None else self.spell(e) for e in (i.start, i.stop)]
                return ":".join(ends if i.step is None else [*ends, self.spell(i.step)])
            return self.spell(i)
        if isinstance(x, tuple):
            return as_tuple(map(part, x)) or "()"
        return part(x)

    def arguments(self, args, kwargs):
        texts = [self.spell(x) for x in args]
        return ", ".join(texts + [f"{k}={self.spell(v)}" for k, v in kwargs.items()])

    def scalar_operands(self, i):
        """The operands of a ufunc, numbers as 0-d arrays, which NumPy converts faster."""
        if not buffers.is_elementwise(i) or not self.on_cpu:
            return i.args
        arrays = [a for a in i.args if isinstance(a, Value)]
        kind = arrays[0].dtype if arrays else None
        if kind is None or not is_floating(kind) or any(a.dtype != kind for a in arrays):
            return i.args
        return tuple(self.number(a, kind) if isinstance(a, (int, float))
                     and not isinstance(a, bool) else a for a in i.args)

    def number(self, x, dtype):
        key = "number", repr(x), dtype
        if key not in self.names:
            value = Value("constant", np.array(x, dtype))
            self.names[key] = value
        return self.names[key]

    def expression(self, i, out=None):
        """The right-hand side of an instruction."""
        kind, args = i.kind, self.scalar_operands(i)
        if kind == "index":
            return f"{self.spell(args[0])}[{self.index(args[1])}]"
        if kind == "attribute":
            return f"{self.spell(args[0])}.{i.name}"
        if kind == "method":
            return f"{self.spell(args[0])}.{i.name}({self.arguments(args[1:], i.kwargs)})"
        if out is None and i.name in INFIX and len(args) == 2 and not i.kwargs:
            return f"{self.spell(args[0])} {INFIX[i.name]} {self.spell(args[1])}"
        extra = f", out={out}" if out else ""
        return f"{i.name}({self.arguments(args, i.kwargs)}{extra})"

    # -- statements --------------------------------------------------------------------------------
    def body(self):
        lines, self.phase = [], None
        skip = {i for g in self.groups.values() for i in g.instructions}
        for n, i in enumerate(self.program.instructions):
            if i.phase != self.phase:
                self.phase = i.phase
                lines.append(f"    # {self.phase}")
            if n in self.groups:
                lines += ["    " + line for line in self.block_loop(self.groups[n])]
            elif i not in skip:
                lines += ["    " + line for text in self.statement(i) for line in text.split("\n")]
        return [*lines, self.returning()]

    def returning(self):
        """The last statement: the kept values of the program, as a tuple."""
        return f"    return ({''.join(self.name_of(v) + ', ' for v in self.program.kept())})"

    def statement(self, i: Instruction):
        if i.kind == "effect":
            return self.effect(i)
        if i.kind == "write":
            return [f"{self.spell(i.args[0])}[{self.index(i.args[1])}] = {self.spell(i.args[2])}"]
        if not i.results:
            if not self.is_augmented(i):
                return [self.expression(i)]
            target, operand = i.kwargs["out"], self.scalar_operands(i)[1]
            return [f"{self.spell(target)} {INFIX[i.name]}= {self.spell(operand)}"]
        target = self.targets(i)
        place = self.places.get(i.results[0])
        if place is not None:
            text = self.expression(i, self.buffer(place, i.results[0]))
            return [f"{target} = {text}    {self.remark(i)}"]
        text = self.expression(i)
        if i.results[0].scalar and i.template is i.results[0] and self.must_be_array(i.results[0]):
            text = f"np.asarray({text})"
        return [f"{target} = {text}    {self.remark(i)}"]

    def is_augmented(self, i):
        """True for ``x += y``; not where x is global, which would make its name a local one."""
        target = i.kwargs.get("out")
        if target is None or target in self.offsets or i.name not in INFIX:
            return False
        return i.args[0] is target and len(i.kwargs) == 1

    def remark(self, i):
        v = i.results[0]
        return f"# {'x'.join(map(str, v.shape)) or 'number'}"

    def must_be_array(self, v):
        """True if a number must be an array: it is written to, viewed, or leaves the program."""
        return v.root in self.lasting

    def targets(self, i):
        """The left-hand side of an instruction: a name, or names as the results are nested."""
        def spell(t):
            if isinstance(t, Value):
                return self.name_of(t)
            return f"({as_tuple(map(spell, t))})" if isinstance(t, tuple) else "_"
        if isinstance(i.template, tuple):
            return as_tuple(map(spell, i.template))
        return self.name_of(i.template)

    def buffer(self, place, v):
        """The name of a buffer's memory as an array like `v`."""
        key = place, v.shape, v.dtype
        if key not in self.names:
            self.names[key] = self.numbered("b")
            memory = f"memory{place}[:{v.nbytes}].view({self.spell(v.dtype)})"
            self.setup.append(f"{self.names[key]} = {memory}.reshape({v.shape!r})")
        return self.names[key]

    def effect(self, i):
        """An optimiser's step: the gradients are put where it looks for them."""
        optimizer, grads = i.args
        name = self.spell(optimizer)
        if not grads:
            return [f"{name}.step()"]
        pairs = [f"({self.spell(p)}, {self.spell(g)})" for p, g in grads]
        self.scope["set_gradients"] = set_gradients
        return ["set_gradients([" + ",\n               ".join(pairs) + "])", f"{name}.step()"]

    # -- blocks ------------------------------------------------------------------------------------
    def block_loop(self, group):
        """A run of elementwise calls as a loop over blocks of the leading dimension."""
        rows, height = group.shape[0], group.height
        lines = [f"{self.name_of(v)} = {self.result_of_loop(v)}" for v in group.outer]
        cut = [v for i in group.instructions for v in i.operands() if group.cuts(v)]
        blocks = {v: f"{self.name_of(v)}[s]" for v in cut}
        remark = f"# {len(group.instructions)} elementwise steps in blocks that stay in the cache"
        lines += [f"for i in range(0, {rows}, {height}):    {remark}",
                  f"    s = slice(i, i + {height})"]
        saved = dict(self.names)
        blocks |= {v: f"{saved[v]}[s]" for v in group.outer}
        self.names |= {v: blocks[v] for v in cut}
        for i in group.instructions:
            lines.append("    " + self.step_of_loop(group, i, blocks))
        self.names.update(saved)
        for v in group.inner:
            self.names.pop(v, None)
        return lines

    def result_of_loop(self, v):
        """The memory of a result that is read after the loop."""
        place = self.places.get(v)
        if place is not None:
            return self.buffer(place, v)
        return f"np.empty({v.shape!r}, np.{v.dtype.name})"

    def step_of_loop(self, group, i, blocks):
        """One call on blocks; `blocks` are those that results go to."""
        v = i.results[0]
        if is_fusible(i):                                  # it makes an array of its own
            target = blocks.get(v) or self.numbered("t")
            text = f"{target} = {self.expression(i)}"
        else:
            target = blocks.get(v) or self.scratch_block(group, v, i)
            text = self.expression(i, target)
        self.names[v] = target
        for u in group.dying(i):
            group.free.setdefault(u.dtype, []).append(group.scratch[u])
        return text

    def scratch_block(self, group, v, i):
        """A block-sized array for a result that is only read in the loop."""
        free = group.free.setdefault(v.dtype, [])
        dying = [u for u in group.dying(i) if u.dtype == v.dtype]
        if dying:                                          # take an operand's place
            name = group.scratch.pop(dying[0])
        elif free:
            name = free.pop()
        else:
            shape = (group.height, *group.shape[1:])
            name = self.numbered("t")
            self.setup.append(f"{name} = np.empty({shape!r}, np.{v.dtype.name})")
        group.scratch[v] = name
        rows, height = group.shape[0], group.height
        return name if rows % height == 0 else f"{name}[:min({height}, {rows} - i)]"


def plain(x):
    """An object whose source is the same everywhere; None if it is none of these."""
    if type(x) is float and not math.isfinite(x):
        return {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}[repr(x)]
    if x is Ellipsis:
        return "..."
    if x is None or type(x) in (bool, int, float, str):
        return repr(x)
    if isinstance(x, np.dtype) and x.kind in NUMPYS and x.isnative:
        return f"np.{'bool_' if x.kind == 'b' else x.name}"
    if isinstance(x, type) and issubclass(x, np.generic):
        return f"np.{x.__name__}"
    return None


def as_tuple(texts):
    """The inner text of a tuple."""
    texts = [*texts]
    return ", ".join(texts) + ("," if len(texts) == 1 else "")


def identifier(text, otherwise="_"):
    """A name for generated source, as near as possible to `text`.

    In ASCII: Python takes some other letters for each other.
    """
    name = re.sub(r"[^0-9A-Za-z_]", "_", text)
    if otherwise != "_":
        fits = name == text and name.isidentifier() and not keyword.iskeyword(name)
        return name if fits else otherwise
    return "_" + name if not name or name[0].isdigit() or keyword.iskeyword(name) else name


def comment(text):
    """A text of the caller as part of a comment, forced into one line."""
    return "".join([c if c.isprintable() else " " for c in text])[:60]


def set_gradients(pairs):
    """Put arrays where an optimiser looks for gradients."""
    for p, g in pairs:
        p._grad = wrap(g if isinstance(g, p.backend.ndarray) else p.backend.asarray(g), p.backend)


# ------------------------------------------------------------------ runs of elementwise calls
class Group:
    """Consecutive elementwise instructions with results of one shape."""

    def __init__(self, instructions, shape, outer, height):
        self.instructions, self.shape, self.outer, self.height = instructions, shape, outer, height
        self.made = {i.results[0] for i in instructions}
        self.inner = self.made - set(outer)
        self.scratch: dict = {}                        # results of the loop alone -> their arrays
        self.free: dict = {}                               # dtype -> arrays that are free again
        self.last = {v: i for i in instructions for v in i.operands()}

    def cuts(self, v):
        """True for an operand from outside that the loop takes block by block."""
        same = len(v.shape) == len(self.shape) and v.shape[:1] == self.shape[:1]
        return same and v not in self.made

    def dying(self, i):
        """The operands in scratch that an instruction is the last to read."""
        return [u for u in i.operands() if u in self.scratch and self.last[u] == i]


def find_groups(program, last):
    """The runs of elementwise calls on large arrays: number of the first instruction -> Group."""
    groups, run = {}, []

    def close(end):
        if len(run) > 1:
            shape = run[0][1].results[0].shape
            inside = [i.results[0] for _, i in run]
            outer = [v for v in inside if last[v] >= end or read_as_view(program, v, run)]
            height = max(1, min(shape[0], BLOCK // max(1, math.prod(shape[1:]))))
            groups[run[0][0]] = Group([i for _, i in run], shape, outer, height)
        run.clear()

    for n, i in enumerate(program.instructions):
        fits = is_blockable(i) and (not run or i.results[0].shape == run[0][1].results[0].shape)
        if not fits:
            close(n)
            fits = is_blockable(i)
        if fits:
            run.append((n, i))
    close(len(program.instructions))
    return groups


def read_as_view(program, value, run):
    members = {i for _, i in run}
    return any(v.root is value and v is not value for i in program.instructions if i not in members
               for v in i.operands())


def is_fusible(i):
    """True for an op as one instruction that can join a loop of elementwise calls."""
    return i.op is not None and i.op.fusible


def is_blockable(i):
    """True for an elementwise call whose operands can be cut along the leading dimension."""
    if is_fusible(i) and i.template is i.results[0]:
        fits = same_shape
    elif buffers.is_elementwise(i):
        fits = broadcasts_in_blocks
    else:
        return False
    v = i.results[0]
    return can_be_cut(v) and all(fits(o.shape, v.shape) for o in i.operands())


def can_be_cut(v):
    """True for a large result whose blocks are arrays that the loop can make."""
    if math.prod(v.shape) < LARGE or math.prod(v.shape[1:]) > BLOCK or v.root is not v:
        return False
    return v.example.flags.c_contiguous and v.dtype.kind in NUMPYS


def same_shape(shape, result):
    return shape == result


def broadcasts_in_blocks(shape, result):
    """True if a block of the result needs a block of an operand, or the same of it each time."""
    if len(shape) != len(result):
        return len(shape) < len(result)
    return shape == result or shape[0] in (1, result[0])
