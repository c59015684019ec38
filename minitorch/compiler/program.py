"""A traced program: values and the instructions that make them, in order, and its simplification.

An instruction is one call of an array function (``np.add``, ``F.conv2d``), one method or index of
an array, a write in place, or an effect outside arrays (an optimiser's step). Nothing here runs
anything: `trace` makes a program, `emit` turns it into source.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..extend import OPS, pointer
from ..utils._pytree import tree_leaves, tree_map

__all__ = ["Value", "Instruction", "Program"]

SMALL = 256  # bytes up to which the result of a call on constants is kept in its place
UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
OF_BACKEND = ("op", "full op", "backend")


class Value:
    """One array of the program.

    `kind` is "input" (an argument), "captured" (a tensor that the function uses from outside),
    "constant" (an array that never changes) or "made" (by an instruction). `root` is the value
    whose memory it looks at, itself if it owns its memory; `example` the array that it was in the
    trace; only its shape, dtype and layout are relied on.
    """

    def __init__(self, kind, example, root=None, source: Any = None, name=""):
        self.kind, self.example, self.source, self.name = kind, example, source, name
        self.root: Value = root or self
        self.number: type | None = None  # the type of a Python number, in place of an array
        self.scalar = False  # True if NumPy may make a scalar here, not an array
        self.fixed = kind == "constant"  # True for a root that is the same in every run

    shape = property(lambda self: self.example.shape)
    dtype = property(lambda self: self.example.dtype)
    nbytes = property(lambda self: self.example.nbytes)
    sample = property(lambda self: self.example.item() if self.number else self.example)

    def __repr__(self):
        return f"<{self.kind} {self.name or hex(id(self))} {self.dtype} {list(self.shape)}>"


# How the kinds of instructions are called in source; a method or an attribute has a name alone.
SPELLED = {"op": "F.{}", "full op": "F.full_{}", "backend": "F.{}", "ufunc": "np.{}",
           "call": "np.{}", **{method: "np.{}." + method for method in UFUNC_METHODS}}


class Instruction:
    """One call of an array function, one method or index of an array, a write in place or an
    effect.

    `what` names the called function, and `kind` its kind: a definition in the registry ("op"; "full
    op" if it also returns kept values), another function of the backend ("backend"), a ufunc
    ("ufunc"), one of its methods ("reduce", "accumulate", "at", ...), another function of the array
    module ("call"), a "method" or an "attribute" of an array, its brackets ("index", "write"), or
    an effect outside of arrays ("effect").

    `args` and `kwargs` hold Values, plain Python data and pytrees of them. `writes` are the values
    written in place. `pure` is True if the same operands give the same result and there is no other
    effect. `phase` is the part of the run that it comes from, for the reader.
    """

    def __init__(self, kind, what, args=(), kwargs=None, results=(), writes=(), pure=True,
                 phase="forward"):
        self.kind, self.what, self.args, self.kwargs = kind, what, args, kwargs or {}
        self.name = SPELLED.get(kind, "{}").format(what)
        self.results, self.writes, self.pure, self.phase = list(results), list(writes), pure, phase
        self.template: Any = None  # the nest of results, if it is not one array
        self.fixed = False  # True if its result is the same in every run
        self.line: Any = None  # of an effect: the file and line of the caller
        self.part = 0  # 1: of a backward pass that is to be a program of its own

    @property
    def op(self):
        """The definition of the op that it calls; None if it calls anything else."""
        return OPS[self.what] if self.kind == "op" else None

    @property
    def key(self):
        return self.kind, self.what

    def is_view(self):
        """True if its result is a view of another value's memory."""
        return self.pure and not self.writes and len(self.results) == 1 and (
            self.results[0].root is not self.results[0])

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
    """`instructions` in order; `outputs`, which must exist at the end; `gradients`: (leaf, Value or
    None) to leave.

    `in_c`: traced with the native kernels that programs in C call, which may keep other values than
    NumPy's do.
    """

    in_c = False

    def __init__(self):
        self.instructions: list[Instruction] = []
        self.outputs: list[Value] = []
        self.gradients: list[tuple[Any, Value | None]] = []
        self.notes: list[str] = []

    def kept(self):
        """The values that are needed after the last instruction: results, and gradients that
        tensors hold by then."""
        return [*self.outputs, *(v for _, v in self.gradients if v is not None)]

    def held(self):
        """`kept`, and the gradients that were given to an optimiser: tensors may hold them for
        longer than the run."""
        return [*self.kept(), *(v for i in self.effects() for v in i.operands())]

    def effects(self):
        """The instructions that act outside of arrays: steps of optimisers and schedules."""
        return [i for i in self.instructions if i.kind == "effect"]

    def stepped(self):
        """(leaf, gradient) for all leaves that optimisers step."""
        return [pair for i in self.effects() for pair in i.args[1]]

    def simplify(self):
        """Remove repeated computations and unused results."""
        before = len(self.instructions)
        self.fold_constants()
        self.merge_views()
        self.share_common()
        self.remove_dead()
        self.remove_copies()
        self.notes.append(f"{before} instructions traced, {len(self.instructions)} left")

    def separate(self):
        """Treat values from outside that share memory as separate if nothing is written to it.

        Then the program does not rely on their sharing it, as parameters that lie in one array may
        cease to.
        """
        written = self.written()
        values = dict.fromkeys((*self.all_values(self.instructions), *self.kept()))
        origin = {v: v for v in values if v.kind in ("input", "captured") and v.root not in written}
        for i in self.instructions:
            for r in i.results:
                if r.root is not r and r.root not in written and r not in origin:
                    sources = (origin[v] for v in i.operands() if v.root is r.root and v in origin)
                    origin[r] = next(sources, r.root)
        for v, root in origin.items():
            v.root = root

    def share_common(self):
        """Compute the same pure call of the same operands once, as long as nothing is written in
        between.

        A write changes memory, not values: after one to a root, calls that read this root are new.
        Results that are written to are never shared. Neither are the program's own results with its
        backward pass: the caller may write to them first, and in an eager run the backward pass
        would still compute the value itself.
        """
        written = self.written()
        held, returned = {v.root for v in self.held()}, {v.root for v in self.outputs}

        def may_replace(found, i):
            if i.phase == "backward" and any(v.root in returned for v in found):
                return False
            return not any(r.root in held for r in i.results)

        mapping: dict[Value, Value] = {}
        writes: Counter = Counter()                        # so far, to each root
        effects, seen, left = 0, {}, []
        for i in self.instructions:
            i.replace(mapping)
            writes.update(v.root for v in i.writes)
            effects += i.kind == "effect"
            if not i.pure or i.writes or any(r.root in written for r in i.results):
                left.append(i)
                continue
            epoch = tuple(writes[v.root] for v in i.operands())
            key = (*i.key, frozen(i.args), frozen(i.kwargs), epoch, effects)
            if key in seen and may_replace(seen[key], i):
                mapping.update(zip(i.results, seen[key]))
            else:
                seen[key] = i.results
                left.append(i)
        for v in self.all_values(left):
            v.root = mapping.get(v.root, v.root)
        self.instructions = left

    def written(self):
        """The roots that are written to."""
        return {v.root for i in self.instructions for v in i.writes}

    @staticmethod
    def all_values(instructions):
        for i in instructions:
            yield from i.results
            yield from i.operands()

    def remove_dead(self):
        """Drop pure calls whose results are not read, and writes to memory that is not read
        afterwards."""
        needed = {v.root for v in self.kept()}
        left = []
        for i in reversed(self.instructions):
            # (random numbers: a draw moves a stream)
            lives = not i.pure or any(r.root in needed for r in i.results)
            lives = lives or any(v.root in needed or v.root.kind in ("captured", "input")
                                 for v in i.writes)
            if lives:
                left.append(i)
                needed.update(v.root for v in i.operands())
                needed.update(v.root for v in i.writes)
        self.instructions = left[::-1]

    def fold_constants(self):
        """Compute small run-invariant values now."""
        lasting = self.written() | {v.root for v in self.held()}
        left = []
        for i in self.instructions:
            if is_constant(i) and not any(r.root in lasting for r in i.results):
                for r in i.results:
                    r.kind, r.example = "constant", r.example.copy("K")
            else:
                left.append(i)
        self.instructions = left

    def merge_views(self):
        """Merge views of the same elements with the same layout: ``x.T.T`` is `x`, and a reshape
        may
        be `x` too."""
        seen: dict[Any, Value] = {}
        mapping: dict[Value, Value] = {}
        left = []
        for i in self.instructions:
            for v in i.operands():
                seen.setdefault(look(v), v)
            i.replace(mapping)
            v = i.results[0] if i.is_view() else None
            found = seen.setdefault(look(v), v) if v is not None else None
            if found is v or found is None:
                left.append(i)
            else:
                mapping[v] = found
        self.instructions = left
        self.rename(mapping)

    def remove_copies(self):
        """Replace a copy of an array by the array itself, if its memory is not read afterwards."""
        last: dict[Value, int] = {}
        makers: dict[Value, Instruction] = {}
        for n, i in enumerate(self.instructions):
            last.update((v.root, n) for v in (*i.operands(), *i.writes))
            makers.update((r, i) for r in i.results)
        kept, mapping, left = {v.root for v in self.held()}, {}, []
        for n, i in enumerate(self.instructions):
            i.replace(mapping)
            v = i.args[0] if is_copy(i) else None
            if v is None or v.root in kept or last[v.root] != n or not (
                    is_whole(v) and makes_memory(makers.get(v.root), i.part)):
                left.append(i)
            else:
                mapping[i.results[0]] = v
                kept.add(v.root)
        self.instructions = left
        self.rename(mapping)
        for v in {*self.all_values(self.instructions), *self.kept()}:
            while v.root in mapping:  # a view of the copy is one of the original now
                v.root = mapping[v.root].root

    def rename(self, mapping):
        """Give other values in place of some at the end."""
        self.outputs = [mapping.get(v, v) for v in self.outputs]
        self.gradients = [(t, mapping.get(v, v)) for t, v in self.gradients]


# ------------------------------------------------------------------ questions about instructions an
def is_constant(i):
    """True if an instruction makes the same in every run, and no more memory than a constant may
    take."""
    if not i.pure or i.writes or i.kind in OF_BACKEND or i.key == ("call", "empty"):
        return False
    if isinstance(i.template, tuple) or any(v.kind != "constant" for v in i.operands()):
        return False
    copied = i.key == ("call", "array") and not i.kwargs and len(i.args) == 1
    # a copy of a constant takes no more memory
    return copied or all(r.nbytes <= SMALL for r in i.results)


def is_copy(i):
    """True for a plain copy of an array, of the same type and in the same order."""
    return (i.key in (("call", "array"), ("method", "copy")) and len(i.args) == 1 and not i.kwargs
            and isinstance(i.args[0], Value))


def is_whole(v):
    """True if a value is all of its memory, in the order of the indices."""
    return v.example.flags.c_contiguous and v.nbytes == v.root.nbytes


def makes_memory(maker, part):
    """True if the instruction that makes an array is known, lies in this part of the program, and
    is not a view of another array."""
    return maker is not None and maker.kind not in ("index", "attribute") and maker.part == part


def look(v):
    """A key for the way in which a value views its memory."""
    a = v.example
    return v.root, pointer(a), a.shape, a.strides, a.dtype, a.flags.writeable


def frozen(x):
    """A pytree as a dictionary key. Classes of leaves count (1 is not 1.0); unhashable leaves count
    by identity."""
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
