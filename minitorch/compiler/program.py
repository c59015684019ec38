"""A traced program: values and the instructions that make them, in order, and what is done to shorten it.

An instruction is one call of an array function (``np.add``, ``F.conv2d``), one method or index of an array, a write in
place, or an effect outside arrays (an optimiser's step). Nothing here runs anything: `trace` makes a program, `emit`
turns it into source.
"""

from __future__ import annotations

from typing import Any

from ..core.arrays import pointer
from ..core.registry import OPS
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["Value", "Instruction", "Program"]


class Value:
    """One array of the program.

    `kind` is "input" (an argument), "captured" (a tensor that the function uses from outside), "constant" (an array
    that never changes) or "made" (by an instruction). `root` is the value whose memory it looks at, itself if it owns
    its memory; `example` the array that it was in the trace; only its shape, dtype and layout are relied on.
    """

    def __init__(self, kind, example, root=None, source: Any = None, name=""):
        self.kind, self.example, self.source, self.name = kind, example, source, name
        self.root: Value = root or self
        self.scalar = False                                # whether NumPy may make a scalar here, not an array
        self.fixed = kind == "constant"                    # of a root: whether it is the same in every run

    shape = property(lambda self: self.example.shape)
    dtype = property(lambda self: self.example.dtype)
    nbytes = property(lambda self: self.example.nbytes)

    def __repr__(self):
        return f"<{self.kind} {self.name or hex(id(self))} {self.dtype} {list(self.shape)}>"


class Instruction:
    """`kind` ("call", "method", "index", "write", "effect"), the name of what is called, its operands, its results.

    `args` and `kwargs` hold Values, plain Python data and pytrees of them. `writes` are the values written in place.
    `pure` says that the same operands give the same result and nothing else happens. `phase` is the part of the run
    that it comes from, for the reader.
    """

    def __init__(self, kind, name, args=(), kwargs=None, results=(), writes=(), pure=True, phase="forward"):
        self.kind, self.name, self.args, self.kwargs = kind, name, args, kwargs or {}
        self.results, self.writes, self.pure, self.phase = list(results), list(writes), pure, phase
        self.template: Any = None                          # the nest of results, if it is not one array
        self.fixed = False                                 # whether what it computes is the same in every run
        self.line: Any = None                              # of an effect: the file and line of the caller
        self.part = 0                                      # 1: of a backward pass that is to be a program of its own

    @property
    def op(self):
        """The definition of the op that it calls; None if it calls anything else."""
        return OPS.get(self.name[2:]) if self.name.startswith("F.") else None

    def operands(self):
        """The values that it reads, without repetition, in order."""
        found: dict = {}
        for x in (*self.args, *self.kwargs.values()):
            for v in values_in(x):
                found[v] = None
        return list(found)

    def replace(self, mapping):
        """Read other values in place of some."""
        self.args = substitute(self.args, mapping)
        self.kwargs = substitute(self.kwargs, mapping)
        self.writes = [mapping.get(v, v) for v in self.writes]

    def __repr__(self):
        return f"{self.results} = {self.name}{self.args}"


def values_in(x):
    """The values in a pytree."""
    return [v for v in tree_leaves(x) if isinstance(v, Value)]


def substitute(x, mapping):
    """A pytree with some values exchanged."""
    return tree_map(lambda v: mapping.get(v, v) if isinstance(v, Value) else v, x)


class Program:
    """`instructions` in order; `outputs`, which must exist at the end; `gradients`: (leaf, Value or None) to leave.

    `in_c`: traced with the native kernels that programs in C call, which may keep other values than NumPy's do.
    """

    in_c = False

    def __init__(self):
        self.instructions: list[Instruction] = []
        self.outputs: list[Value] = []
        self.gradients: list[tuple[Any, Value | None]] = []
        self.notes: list[str] = []

    def kept(self):
        """The values that are needed after the last instruction: results, and gradients that tensors hold by then."""
        return [*self.outputs, *(v for _, v in self.gradients if v is not None)]

    def held(self):
        """`kept`, and the gradients that were given to an optimiser: tensors may hold them for longer than the run."""
        return [*self.kept(), *(v for i in self.instructions if i.kind == "effect" for v in i.operands())]

    def simplify(self):
        """Share what is computed twice, remove what nobody reads."""
        before = len(self.instructions)
        self.fold_constants()
        self.merge_views()
        self.share_common()
        self.remove_dead()
        self.remove_copies()
        self.notes.append(f"{before} instructions traced, {len(self.instructions)} left")

    def separate(self):
        """Take values from outside that share memory for separate ones if nothing is written to it.

        Then the program does not rely on their sharing it, as parameters that lie in one array may cease to.
        """
        written = {v.root for i in self.instructions for v in i.writes}
        values = dict.fromkeys((*self.all_values(self.instructions), *self.kept()))
        origin = {v: v for v in values if v.kind in ("input", "captured") and v.root not in written}
        for i in self.instructions:
            for r in i.results:
                if r.root is not r and r.root not in written and r not in origin:
                    origin[r] = next((origin[v] for v in i.operands() if v.root is r.root and v in origin), r.root)
        for v, root in origin.items():
            v.root = root

    def share_common(self):
        """Compute the same pure call of the same operands once, as long as nothing is written in between.

        A write changes memory, not values: after one to a root, calls that read this root are new. Results that are
        written to are never shared, nor are the program's own results with its backward pass: whoever has them may
        write to them first, as eagerly, where the backward pass computes such a value itself.
        """
        written = {v.root for i in self.instructions for v in i.writes}
        mapping: dict[Value, Value] = {}
        epochs: dict[Value, int] = {}
        effects, seen, left = 0, {}, []
        kept, returned = {v.root for v in self.held()}, {v.root for v in self.outputs}
        for instruction in self.instructions:
            instruction.replace(mapping)
            for v in instruction.writes:
                epochs[v.root] = epochs.get(v.root, 0) + 1
            effects += instruction.kind == "effect"
            key = None
            if instruction.pure and not instruction.writes and not any(r.root in written for r in instruction.results):
                epoch = tuple(epochs.get(v.root, 0) for v in instruction.operands())
                key = (instruction.kind, instruction.name, frozen(instruction.args), frozen(instruction.kwargs), epoch,
                       effects)
            found = seen.get(key) if key is not None else None
            if found is not None and instruction.phase == "backward" and any(v.root in returned for v in found):
                found = None
            if found is not None and not any(r.root in kept for r in instruction.results):
                mapping.update(zip(instruction.results, found))
                continue
            if key is not None:
                seen[key] = instruction.results
            left.append(instruction)
        for v in self.all_values(left):
            v.root = mapping.get(v.root, v.root)
        self.instructions = left

    @staticmethod
    def all_values(instructions):
        for i in instructions:
            yield from i.results
            yield from i.operands()

    def remove_dead(self):
        """Drop pure calls whose results are not read, and writes to memory that nobody looks at afterwards."""
        needed = {v.root for v in self.kept()}
        left = []
        for i in reversed(self.instructions):
            lives = not i.pure or any(r.root in needed for r in i.results)     # (random numbers: a draw moves a stream)
            lives = lives or any(v.root in needed or v.root.kind in ("captured", "input") for v in i.writes)
            if lives:
                left.append(i)
                needed.update(v.root for v in i.operands())
                needed.update(v.root for v in i.writes)
        self.instructions = left[::-1]

    def fold_constants(self):
        """Small values that are the same in every run are computed now."""
        written = {v.root for i in self.instructions for v in i.writes}
        kept, left = {v.root for v in self.held()}, []
        for i in self.instructions:
            same = i.pure and not i.writes and not i.name.startswith("F.") and i.name != "np.empty"
            same = same and all(v.kind == "constant" for v in i.operands()) and not isinstance(i.template, tuple)
            copied = i.name == "np.array" and not i.kwargs and len(i.args) == 1      # of a constant: no more memory
            if same and all((copied or r.nbytes <= 256) and r.root not in written and r.root not in kept
                            for r in i.results):
                for r in i.results:
                    r.kind, r.example = "constant", r.example.copy("K")
            else:
                left.append(i)
        self.instructions = left

    def merge_views(self):
        """Views that look at the same elements in the same way are one: ``x.T.T`` is `x`, a reshape may be nothing."""
        seen: dict[Any, Value] = {}
        mapping: dict[Value, Value] = {}
        left = []
        for i in self.instructions:
            for v in i.operands():
                seen.setdefault(look(v), v)
            i.replace(mapping)
            is_view = i.pure and not i.writes and len(i.results) == 1 and i.results[0].root is not i.results[0]
            v = i.results[0] if is_view else None
            found = seen.setdefault(look(v), v) if v is not None else None
            if found is v or found is None:
                left.append(i)
            else:
                mapping[v] = found
        self.instructions = left
        self.outputs = [mapping.get(v, v) for v in self.outputs]
        self.gradients = [(t, mapping.get(v, v)) for t, v in self.gradients]

    def remove_copies(self):
        """Where an array is copied when its memory is read for the last time, let the copy be the array itself."""
        last: dict[Value, int] = {}
        makers: dict[Value, Instruction] = {}
        for n, i in enumerate(self.instructions):
            for v in (*i.operands(), *i.writes):
                last[v.root] = n
            makers.update((r, i) for r in i.results)
        kept, mapping = {v.root for v in self.held()}, {}
        for n, i in enumerate(self.instructions):
            i.replace(mapping)
            if i.name not in ("np.array", "copy") or len(i.args) != 1 or i.kwargs or not isinstance(i.args[0], Value):
                continue
            v = i.args[0]
            maker = makers.get(v.root)
            if maker is None or maker.kind not in ("call", "method") or maker.part != i.part:
                continue
            if v.root in kept or last[v.root] != n:
                continue
            if v.example.flags.c_contiguous and v.nbytes == v.root.nbytes:
                mapping[i.results[0]] = v
                kept.add(v.root)
                i.name = ""
        self.instructions = [i for i in self.instructions if i.name]
        self.outputs = [mapping.get(v, v) for v in self.outputs]
        self.gradients = [(t, mapping.get(v, v)) for t, v in self.gradients]
        for v in {*self.all_values(self.instructions), *self.kept()}:
            while v.root in mapping:                       # a view of the copy is one of the original now
                v.root = mapping[v.root].root


def look(v):
    """How a value looks at its memory."""
    a = v.example
    return v.root, pointer(a), a.shape, a.strides, a.dtype, a.flags.writeable


def frozen(x):
    """A pytree as a dictionary key. Classes of leaves count (1 is not 1.0); unhashable leaves count by identity."""
    if isinstance(x, (tuple, list)):
        return type(x).__name__, tuple(map(frozen, x))
    if isinstance(x, dict):
        return tuple((k, frozen(v)) for k, v in x.items())
    if isinstance(x, slice):
        return "slice", frozen((x.start, x.stop, x.step))
    if isinstance(x, float):
        return "float", repr(x)                            # 0.0 and -0.0, NaN
    try:
        hash(x)
    except TypeError:
        return "object", id(x)
    return type(x).__name__, x
