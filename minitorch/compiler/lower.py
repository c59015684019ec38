"""Lowering: from the instructions of a program to row kernels, matrix products, copies and calls.

There is one formulation of every op, its reference: an op that is one instruction is run on the arrays of the trace by
its reference, and what that did is lowered in its place. What has no lowering stays a call: of NumPy, or of the op's
own kernel. Targets of losses and rows of embeddings are looked up by loops written here, since their references decide
by values.
"""

from __future__ import annotations

import itertools

import numpy as np

from ..backends.native.eager import kernel
from ..core import graph
from ..core.arrays import is_half, is_inexact, owner
from ..core.backend import Backend, Float32Compute
from ..core.registry import OPS
from ..utils._pytree import tree_leaves, tree_map
from . import c_words
from .indexed import Indexed
from .items import Call, NoLowering, Product, into, is_basic, is_number, weak
from .lookups import Lookups
from .loops import Kernel, Ref
from .program import Instruction, Value, values_in
from .sums import ALIASES, Sums
from .trace import Recorder
from .traced import Traced, Tracer, arrays_in

__all__ = ["Lowering"]

UFUNCS = {"true_divide": "divide", "fabs": "absolute", "bitwise_not": "invert", "conjugate": "positive"}
COPIES = ("array", "copy", "ascontiguousarray", "asarray")
CONSTANT = 1 << 22         # bytes up to which what is the same in every run is computed now


def is_called(i):
    """Whether an op has a native kernel for its arguments that is to be called."""
    found = kernel.found.get(i.name[2:].removeprefix("full_"))
    if found is None or not found.called:
        return False
    args, kwargs = tree_map(lambda v: v.example if isinstance(v, Value) else v, (i.args, i.kwargs))
    return all([asked is True or asked(None, *args, **kwargs) for asked in (found.called, found.supports)])


class ReferenceTracer(Tracer):
    """A backend that traces the references of all ops, past the kernels."""

    def __init__(self, base, recorder):
        super().__init__(base, recorder)
        self.kernels = {}

    def __getattr__(self, name):
        if name.removeprefix("full_") in OPS:
            # one function in C, many calls of NumPy; or one that would check its indices here
            whole = name in c_words.SCALAR and not hasattr(np, name) or hasattr(Indexed, "op_" + name)
            found = self.opaque(name, getattr(self.base, name)) if whole else self.find(name, {})
            setattr(self, name, found)
            return found
        return Backend.__getattr__(self, name)


class Lowering(Sums, Lookups):
    """The items of one program, fused; `notes` say what is called, and why."""

    most_products = 1          # of a reference that is taken in place of a kernel
    printer = c_words          # the module that says which scalar functions there are

    def __init__(self, program, base, outside=()):
        self.program, self.base, self.outside = program, base, set(outside)
        self.items: list = []
        self.notes: list[str] = []
        self.makers: dict = {}
        self.written = {v.root for i in program.instructions for v in i.writes}
        self.kept = {v.root for v in program.held()}
        self.called: dict = {}
        self.summed: dict = {}                             # a sum -> what was summed, over which dimensions
        self.constants: list = []                          # values that became constants in what is being lowered
        for i in program.instructions:
            for item in self.lowered_or_called(i):
                self.emit(item)
        items, self.items = self.items, []                 # once more: by now kernels have more in common
        for item in items:
            self.emit(item)

    # -- one instruction -----------------------------------------------------------------------------------
    def lowered_or_called(self, i):
        try:
            items = self.lowered(i)
            for item in items:
                item.origin = [i]
            return items
        except NoLowering as why:
            self.note(i, str(why))
            self.makers.update((r, i) for r in i.results)
            return [] if self.is_view(i) else [Call(i)]

    def note(self, i, why):
        self.called.setdefault(f"{i.name}: {why}", []).append(i)

    def is_view(self, i):
        return i.pure and not i.writes and len(i.results) == 1 and i.results[0].root is not i.results[0]

    def lowered(self, i):
        """The items of an instruction; NoLowering if it must be called."""
        if i.kind == "effect" or not i.pure:
            raise NoLowering("it happens outside arrays")
        self.makers.update((r, i) for r in i.results)
        if self.is_view(i) or self.folded(i):
            return []
        if i.name.startswith("F.") and i.name[2:].removeprefix("full_") in OPS:
            if self.program.in_c and is_called(i):
                raise NoLowering("its kernel is in C")
            handler = getattr(self, "op_" + i.name[2:].removeprefix("full_"), None)
            if handler is None:
                return self.expanded(i, i.name[2:], i.args, i.kwargs)
            return handler(i, *i.args, **i.kwargs)
        name = i.name.removeprefix("np.")
        if i.kind == "write":
            return self.assign(*i.args)
        if i.kind == "index":
            return self.read_at(i, *i.args)
        if i.kind == "call" and name.endswith(".at"):
            return self.combined_at(name[:-3], *i.args)
        if i.kind == "call" and name.endswith(".reduce"):
            return self.reduction(i, UFUNCS.get(name[:-7], name[:-7]), *i.args, **i.kwargs)
        if i.kind == "call" and name.endswith(".accumulate"):
            return self.running(i, UFUNCS.get(name[:-11], name[:-11]), *i.args, **i.kwargs)
        if i.kind in ("call", "method") and name in ALIASES and i.name != "np.copy":
            return self.reduction(i, ALIASES[name], *i.args, **i.kwargs)
        if i.kind == "call" and isinstance(getattr(np, name, None), np.ufunc) and name != "matmul":
            return self.elementwise(i, name)
        handler = getattr(self, "np_" + name, None)
        if handler is not None and i.kind in ("call", "method"):
            return handler(i, *i.args, **i.kwargs)
        raise NoLowering("there is no loop for it")

    def folded(self, i):
        """Take what is the same in every run for a constant."""
        if i.writes or not i.results or i.name in ("np.empty", "np.empty_like") or (i.op and i.op.by_values):
            return False
        for v in i.operands():
            if v.kind != "constant":
                return False
        if any(r.root in self.written or r.root in self.kept or r.nbytes > CONSTANT for r in i.results):
            return False
        if any(r.root is not r for r in i.results) or isinstance(i.template, tuple):
            return False
        for r in i.results:
            r.kind = "constant"
            self.constants.append(r)
        return True

    # -- memory --------------------------------------------------------------------------------------------
    def place(self, v):
        """(what its memory begins at, offset in bytes)."""
        if v.kind != "made" or v.root is v or v in self.outside:
            return v, 0
        maker = self.makers.get(v)
        if maker is None:
            raise NoLowering("a view that nobody made")
        source = next((u for u in maker.operands() if u.root is v.root), None)
        if source is None:
            raise NoLowering("a view of something else")
        anchor, offset = self.place(source)
        return anchor, offset + into(v.example) - into(source.example)

    def ref(self, v, shape=None, strides=None):
        """A value as broadcast to a shape."""
        size = v.dtype.itemsize
        if v.dtype.name not in c_words.TYPES or not v.dtype.isnative:
            raise NoLowering(f"no C type for {v.dtype}")
        anchor, offset = self.place(v)
        if anchor.kind != "constant" and not getattr(anchor.example.flags, "aligned", True):
            raise NoLowering("memory that is not aligned")
        shape = v.shape if shape is None else shape
        if strides is None:
            lead = len(shape) - len(v.shape)
            if lead < 0 or any(n not in (1, m) for n, m in zip(v.shape, shape[lead:])):
                raise NoLowering(f"{v.shape} against {shape}")
            if any(s % size for s in v.example.strides) or offset % size:
                raise NoLowering("strides between elements")
            strides = [0] * lead + [0 if n == 1 else s // size for n, s in zip(v.shape, v.example.strides)]
        return Ref(v.root, anchor, offset // size, strides, v.dtype)

    def free_of(self, out, refs, shape):
        """NoLowering if writing to `out` may change what the others still read."""
        for r in refs:
            if not r.same(out) and not r.apart(shape, out, shape):
                raise NoLowering("operands overlap what is written")

    # -- fusion --------------------------------------------------------------------------------------------
    def emit(self, item):
        """Add an item; a kernel goes into the earliest kernel it reads from that can take it."""
        if isinstance(item, Kernel):
            reads, writes = item.roots_read(), item.roots_written()
            for n in range(len(self.items) - 1, max(-1, len(self.items) - 40), -1):
                other = self.items[n]
                if isinstance(other, Call) and other.barrier:
                    break
                theirs = other.roots_written()
                if isinstance(other, Kernel) and (theirs & reads or other.roots_read() & reads):
                    both = self.joined(other, item)
                    if both is not None:
                        self.items[n] = both
                        return
                if theirs & (reads | writes) or other.roots_read() & writes:
                    break
        self.items.append(item)

    @staticmethod
    def joined(one, two):
        """Both kernels as one; None if they do not go together."""
        pairs = ((one, two.expressed(one.dims)), (one.expressed(two.dims), two))
        for a, b in pairs:
            if a is not None and b is not None and a.takes(b):
                a.take(b)
                return a
        return None

    # -- elementwise ---------------------------------------------------------------------------------------
    def op_erf(self, i, x):
        return self.scalar(i, "erf", x)

    def op_sigmoid(self, i, x):
        return self.scalar(i, "sigmoid", x)

    def scalar(self, i, op, x):
        """An op that is one function of C."""
        out = i.results[0]
        if x.dtype != out.dtype or out.dtype.char not in "fd":
            raise NoLowering(f"no scalar function for {x.dtype}")
        return self.map(op, out, [x], lambda kernel, x: kernel.add(op, [x], out.dtype))

    def map(self, name, out, args, body, shape=None):
        """One kernel: ``out = body(kernel, *args)``; args are values, numbers are left to `body`."""
        shape = out.shape if shape is None else shape
        if 0 in shape:
            return []
        target = self.ref(out)
        order = sorted(range(len(shape)), key=lambda d: (-abs(target.strides[d]) if shape[d] != 1 else 0, d))
        order = [d for d in order if shape[d] != 1] or order[-1:]
        dims = tuple(shape[d] for d in order) or (1,)

        def turned(ref):
            return ref.moved([ref.strides[d] for d in order] or [0])
        kernel = Kernel(dims, name)
        refs = [turned(self.ref(a, shape)) if isinstance(a, Value) and not is_number(a) else None for a in args]
        target = turned(target)
        self.free_of(target, [r for r in refs if r is not None], dims)
        nodes = [kernel.load(r) if r is not None else a for a, r in zip(args, refs)]
        kernel.store(target, body(kernel, *nodes))
        return [kernel]

    def operand(self, kernel, x, dtype):
        """A node of a dtype, from a node, a number or a constant of one element."""
        if isinstance(x, Value):
            x = self.base.to_host(x.example).reshape(())[()]
        if hasattr(x, "level"):
            return kernel.cast(x, dtype)
        if isinstance(x, np.generic) and is_half(x.dtype):
            x = float(x)
        if isinstance(x, complex) or (isinstance(x, np.generic) and x.dtype.kind not in "fiub"):   # no bfloat16
            raise NoLowering("a number of another kind")
        return kernel.const(x, dtype)

    def elementwise(self, i, name):
        """A ufunc."""
        ufunc, kwargs = getattr(np, name), dict(i.kwargs)
        out = kwargs.pop("out", None)
        args = list(i.args)
        if len(args) > ufunc.nin:
            args, out = args[:ufunc.nin], args[ufunc.nin]
        dtype = kwargs.pop("dtype", None)
        if kwargs or ufunc.nout != 1 or ufunc.signature or len(args) != ufunc.nin:
            raise NoLowering("arguments")
        out = i.results[0] if out is None else out
        if not isinstance(out, Value):
            raise NoLowering("several results")
        kinds = [weak(a) for a in args]
        try:
            *loop, result = ufunc.resolve_dtypes((*kinds, np.dtype(dtype) if dtype is not None else None))
        except TypeError:
            raise NoLowering("operands of these types")
        if dtype is not None and np.dtype(dtype) != result:
            raise NoLowering("dtype")
        if i.results and out is i.results[0] and out.dtype != result:
            raise NoLowering("a result of another type")
        op = UFUNCS.get(name, name)
        if not self.printer.supported(op, loop[-1]) or result.name not in c_words.TYPES:
            raise NoLowering(f"no scalar function for {loop[-1]}")
        f32 = np.dtype(np.float32)
        wide = f32 if is_half(result) else result          # computed so, and rounded

        def body(kernel, *nodes):
            nodes = [self.operand(kernel, x, t) for x, t in zip(nodes, loop)]
            return kernel.add(op, [kernel.cast(x, f32) if is_half(x.dtype) else x for x in nodes], wide)
        return self.map(i.name.removeprefix("np."), out, args, body)

    def np_where(self, i, condition, x, y):
        out = i.results[0]

        def body(kernel, a, x, y):
            return kernel.add("select", [self.operand(kernel, a, np.dtype(bool)), self.operand(kernel, x, out.dtype),
                                         self.operand(kernel, y, out.dtype)], out.dtype)
        self.kind(out)
        return self.map("where", out, [condition, x, y], body)

    def kind(self, *values):
        for v in values:
            if v.dtype.name not in c_words.TYPES:
                raise NoLowering(f"no C type for {v.dtype}")

    def np_clip(self, i, x, low=None, high=None, out=None, **kwargs):
        low, high = kwargs.pop("min", low), kwargs.pop("max", high)
        if kwargs or (low is None and high is None):
            raise NoLowering("arguments")
        out = i.results[0] if out is None else out
        self.kind(out)

        def body(kernel, x, low, high):
            x = self.operand(kernel, x, out.dtype)
            for op, end in (("maximum", low), ("minimum", high)):
                if end is not None:
                    x = kernel.add(op, [x, self.operand(kernel, end, out.dtype)], out.dtype)
            return x
        return self.map("clip", out, [x, low, high], body)

    def np_astype(self, i, x, dtype=None, order="K", **kwargs):
        if set(kwargs) - {"copy"}:
            raise NoLowering("arguments")
        return self.copied(x, i.results[0])

    def copied(self, x, out):
        """A copy, of another type if need be."""
        if isinstance(x, Value) and is_inexact(x.dtype) and out.dtype.kind in "iu":
            raise NoLowering("from floats to integers")    # C leaves open what becomes of those outside the range
        self.kind(out)
        return self.map("copy", out, [x], lambda kernel, x: self.operand(kernel, x, out.dtype))

    def np_array(self, i, x, dtype=None, **kwargs):
        if not isinstance(x, Value) or set(kwargs) - {"order", "copy"} or (dtype is not None and i.name in (
                "np.copy", "copy") and dtype not in ("C", "K", "A", "F")):
            raise NoLowering("arguments")
        return self.copied(x, i.results[0])

    np_copy = np_ascontiguousarray = np_array

    def np_reshape(self, i, x, *shape, **kwargs):
        """One that has to copy: elements in the order of the indices."""
        if kwargs:
            raise NoLowering("arguments")
        out = i.results[0]
        self.kind(out)
        if 0 in x.shape:
            return []
        kernel = Kernel(tuple(n for n in x.shape if n != 1) or (1,), "reshape")
        keep = [d for d, n in enumerate(x.shape) if n != 1]
        dense, stride = [], 1
        for n in reversed(kernel.dims):
            dense.append(0 if n == 1 else stride)
            stride *= n
        if not out.example.flags.c_contiguous:
            raise NoLowering("layout")
        a, b = self.ref(x), self.ref(out, x.shape, dense[::-1])
        kernel.store(b, kernel.load(a.moved([a.strides[d] for d in keep] or [0])))
        return [kernel]

    np_ravel = np_flatten = np_reshape

    def assign(self, target, index, value):
        """``target[index] = value`` for slices and numbers."""
        if any(isinstance(v, Value) for v in tree_leaves(index)):
            return self.write_at(target, index, value)
        if not is_basic(index):
            raise NoLowering("an index by lists")
        return self.store_into(self.view(target, index), value)

    def store_into(self, view, value):
        if isinstance(value, Value) and is_inexact(value.dtype) and view.dtype.kind in "iu":
            raise NoLowering("from floats to integers")
        if isinstance(value, Value) and len(value.shape) > len(view.shape):
            raise NoLowering("shapes")
        if not (isinstance(value, (Value, bool, int, float, np.generic))
                and isinstance(view.example, self.base.ndarray)):
            raise NoLowering("a value of another kind")
        self.kind(view)
        return self.map("copy", view, [value], lambda kernel, x: self.operand(kernel, x, view.dtype))

    def np_copyto(self, i, target, value, casting=None, **kwargs):
        if kwargs:
            raise NoLowering("arguments")
        return self.store_into(target, value)

    def np_fill(self, i, target, value):
        return self.store_into(target, value)

    def filled(self, i, value):
        return self.fill(i.results[0], value)

    def fill(self, out, value):
        self.kind(out)
        return self.map("fill", out, [value], lambda kernel, x: self.operand(kernel, x, out.dtype))

    def np_zeros(self, i, *args, **kwargs):
        return self.filled(i, 0)

    def np_ones(self, i, *args, **kwargs):
        return self.filled(i, 1)

    np_zeros_like, np_ones_like = np_zeros, np_ones

    def np_full(self, i, shape, value, *args, **kwargs):
        return self.filled(i, value)

    np_full_like = np_full

    def np_empty(self, i, *args, **kwargs):
        self.kind(i.results[0])
        return []

    np_empty_like = np_empty

    def np_concatenate(self, i, pieces, axis=0, **kwargs):
        if kwargs or axis is None:
            raise NoLowering("arguments")
        out, at, found = i.results[0], 0, []
        for p in pieces:
            index = (slice(None),) * (axis % len(out.shape)) + (slice(at, at + p.shape[axis]),)
            found += self.assign(out, index, p)
            at += p.shape[axis]
        return found

    def np_stack(self, i, pieces, axis=0, **kwargs):
        if kwargs:
            raise NoLowering("arguments")
        lead = (slice(None),) * (axis % len(i.results[0].shape))
        return [item for n, p in enumerate(pieces) for item in self.assign(i.results[0], (*lead, n), p)]

    def np_roll(self, i, x, shift, axis=None):
        """Slices that go to other places, those at the end of a dimension to its beginning."""
        out, found = i.results[0], []
        shifts, axes = (s if isinstance(s, tuple) else (s,) for s in (shift, axis))
        if axis is None or len(shifts) != len(axes) or len({a % len(x.shape) for a in axes}) < len(axes):
            raise NoLowering("arguments")
        if 0 in x.shape:
            return []
        cuts = []                                          # for each dimension (from, to) in pairs
        for d, n in enumerate(x.shape):
            by = sum(s for s, a in zip(shifts, axes) if a % len(x.shape) == d) % n
            cuts.append([(slice(0, n - by), slice(by, n)), (slice(n - by, n), slice(0, by))][:1 + bool(by)])
        for cut in itertools.product(*cuts):
            piece = self.view(x, tuple(a for a, _ in cut))
            found += self.assign(out, tuple(b for _, b in cut), piece)
        return found

    def view(self, x, index):
        """A basic index of a value, as a new one."""
        v = Value("made", x.example[index], root=x.root)
        self.makers[v] = Instruction("index", "getitem", (x, index), results=[v])
        return v

    def np_tril(self, i, x, k=0):
        return self.triangle(i, x, np.tri(*x.shape[-2:], k, bool))

    def np_triu(self, i, x, k=0):
        return self.triangle(i, x, ~np.tri(*x.shape[-2:], k - 1, bool))

    def triangle(self, i, x, mask):
        if mask.nbytes > CONSTANT or len(x.shape) < 2:
            raise NoLowering("a large mask")
        return self.np_where(i, Value("constant", self.base.from_host(mask)), x, 0)

    # -- references ----------------------------------------------------------------------------------------
    def expanded(self, i, name, args, kwargs):
        """The items of an op's reference, in place of the op."""
        recorder = Recorder(self.base.ndarray)
        tracer = ReferenceTracer(self.base, recorder)
        for v in values_in((args, kwargs)):
            recorder.roots.setdefault(id(owner(v.example)), (owner(v.example), v.root))
        if any(recorder.roots[id(owner(v.example))][1] is not v.root for v in values_in((args, kwargs))):
            raise NoLowering("operands whose memory was found to be another's")

        def traced(v):
            if not isinstance(v, Value):
                return v
            made = Traced(v.example, recorder)
            made.value = v
            return made
        halves = any(is_half(v.dtype) for v in values_in((args, kwargs)))
        function = getattr(Float32Compute(tracer) if halves else tracer, name)
        try:
            with np.errstate(all="ignore"):
                result = function(*tree_map(traced, args), **tree_map(traced, kwargs))
        except Exception as error:                         # it looks at values that are not those of the trace any more
            raise NoLowering(f"its reference fails ({type(error).__name__})")
        finally:
            for x in recorder.owners.values():             # which share the versions of the arrays
                graph.versions.pop(id(x), None)
        if recorder.broken is not None:
            raise NoLowering(recorder.broken.split(", at ")[0])
        return self.as_results(i, recorder, arrays_in(result) if not isinstance(result, Traced) else [result])

    def as_results(self, i, recorder, results):
        """Lower what a reference did; its results become those of the instruction."""
        if len(results) != len(i.results):
            raise NoLowering("another number of results")
        made = {v for j in recorder.program.instructions for v in j.results}
        before, items, copies, mapping = dict(self.makers), [], [], {}
        for r, x in zip(i.results, results):
            v = recorder.value_of(x)
            same = r.shape == v.shape and r.dtype == v.dtype and r.root is r
            if not same:
                raise NoLowering("results of another kind")
            if v in made and v.root is v and v.example.strides == r.example.strides and v not in mapping:
                mapping[v] = r
            else:
                copies.append((v, r))
        roots = {w.root for j in recorder.program.instructions for w in j.writes}
        written, self.written = self.written, self.written | roots | {mapping[r] for r in roots if r in mapping}
        folded, self.constants = self.constants, []
        try:
            for j in recorder.program.instructions:
                j.replace(mapping)
                j.results = [mapping.get(r, r) for r in j.results]
                j.template = mapping.get(j.template, j.template) if isinstance(j.template, Value) else j.template
                for r in j.results:
                    r.root = mapping.get(r.root, r.root)
                items += self.lowered(j)
            for v, r in copies:
                items += self.copied(v, r)
            if sum(isinstance(item, Product) for item in items) > self.most_products:
                raise NoLowering("its kernel knows better")
        except NoLowering as why:
            self.makers = before
            for r in self.constants:
                r.kind = "made"
            raise NoLowering(str(why) if "knows better" in str(why) else f"{j.name} in its reference: {why}")
        finally:
            self.written, self.constants = written, folded
        for item in items:
            item.names = [i.name.removeprefix("F.").removeprefix("full_")]
        return items
