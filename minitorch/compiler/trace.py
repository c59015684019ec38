"""Tracing: run a function once, for real, while every array operation is written down.

For the time of the trace the tensors of one backend hold `Traced` arrays, which stand in front of the real ones: an
operation on them is carried out and recorded. So a trace is an ordinary eager run of the function, with its results
and side effects; should the function turn out to depend on the data (``if loss > 3``), the run goes on and the
recording is given up, with the reason.

What is recorded are calls of the array module (``np.add``), methods and indices of arrays, and, for ops that are more
than a few array calls (`conv2d`, `softmax`), the op itself (``F.conv2d``).
"""

from __future__ import annotations

import functools
import gc
import operator

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..autograd.hooks import NodeHook, add_node_hook, remove_node_hook
from ..core.arrays import owner
from ..core.backend import Backend
from ..core.device import replace
from ..core.graph import calling_line
from ..core.registry import OPS
from ..core.tensor import Tensor
from ..optim import stepping
from ..utils._pytree import tree_leaves, tree_map
from .program import Instruction, Program, Value

__all__ = ["Recorder", "Traced", "Tracing"]

class Recorder:
    """Writes down one run: the program so far, and the names of the arrays in it."""

    def __init__(self, ndarray=np.ndarray):
        self.ndarray = ndarray
        self.program, self.broken, self.phase, self.ran_backward = Program(), None, "forward", False
        self.roots = {}                                    # id of an array that owns memory -> (it, its root Value)
        self.owners = {}                                   # the same -> the Traced array that owns it
        self.closed = False

    def give_up(self, reason):
        """Stop recording: from here on the run is an ordinary one."""
        if self.broken is None:
            line = calling_line()
            self.broken = f"{reason}, at {line if isinstance(line, str) else ':'.join(map(str, line))}"

    # -- values --------------------------------------------------------------------------------------------
    def known(self, array, kind, source=None):
        """The Value of an array: a view of memory that the program knows, or a piece of its own."""
        base = owner(array)
        found = self.roots.get(id(base))
        value = Value(kind, array, root=found[1] if found else None, source=source)
        if not found:
            self.roots[id(base)] = base, value
        return value

    def value_of(self, x):
        """The Value of an operand."""
        if isinstance(x, Traced):
            if x.value is None:
                x.value = self.known(x.array, "constant" if x.tensor is None else "captured", x.tensor)
            return x.value
        if id(owner(x)) in self.roots:
            if self.roots[id(owner(x))][1].kind != "constant":
                self.give_up("an array of the program was read past the trace")
        return self.known(x, "constant")

    def lift(self, x):
        """A pytree of operands with Values in place of arrays. Named tuples stay: they are the same in every run."""
        def value_or_constant(leaf):
            if isinstance(leaf, (Traced, self.ndarray)):
                return self.value_of(leaf)
            if is_named_tuple(leaf) and arrays_in(leaf):
                self.give_up(f"a {type(leaf).__name__} holds arrays of the program")
            return leaf
        return tree_map(value_or_constant, x, is_leaf=is_named_tuple)

    # -- instructions --------------------------------------------------------------------------------------
    def call(self, kind, name, function, args, kwargs, writes=(), pure=True):
        """Carry out a call on the real arrays; record it; return its results as traced arrays."""
        result = function(*bare(args), **bare(kwargs))
        if self.closed:
            return result
        if result is None and not writes:                  # np.copyto, np.put_along_axis: what else could it have done
            writes = args[:1]
        if self.broken is not None:
            return self.wrap(result, None)
        instruction = Instruction(kind, name, self.lift(tuple(args)), self.lift(dict(kwargs)), phase=self.phase,
                                  pure=pure, writes=[self.value_of(w) for w in writes])
        if any(v.root.kind == "constant" for v in instruction.writes):
            self.give_up("a tensor whose values Python brought along is written in place")
        same = [x for x in arrays_in((args, kwargs)) if bare(x) is result]
        if same:                                           # a write, or a call that returned what it was given
            if writes:
                self.program.instructions.append(instruction)
            return same[0]
        wrapped = self.wrap(result, instruction)
        if instruction.results or not pure or writes:
            self.program.instructions.append(instruction)
        return wrapped

    def wrap(self, result, instruction):
        """Arrays of a result as traced ones; with an instruction they become its results."""
        if isinstance(result, (self.ndarray, np.generic)):
            traced = Traced(np.asarray(result) if isinstance(result, np.generic) else result, self)
            if instruction is not None:
                traced.value = self.known(traced.array, "made")
                traced.value.scalar = isinstance(result, np.generic)
                instruction.results.append(traced.value)
                instruction.template = traced.value
            return traced
        if isinstance(result, (tuple, list)):
            made, templates = [], []
            for r in result:
                made.append(self.wrap(r, instruction))
                templates.append(made[-1].value if isinstance(made[-1], Traced) else
                                 instruction and instruction.template if isinstance(r, (tuple, list)) else r)
            if instruction is not None:
                instruction.template = tuple(templates)
            return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
        if instruction is not None and not isinstance(result, (type(None), bool, int, float, str, np.dtype)):
            self.give_up(f"{instruction.name} returns a {type(result).__name__}")
        return result

    def write(self, name, target, function, args):
        """Record a write in place to `target`."""
        self.call("write", name, function, args, {}, writes=(target,))
        return target

    def effect(self, name, function, objects):
        """Record something that happens outside arrays: an optimiser's step."""
        if self.broken is None:
            self.program.instructions.append(Instruction("effect", name, tuple(objects), pure=False, phase="update"))
        return function()


def bare(x):
    """A pytree with the real arrays in place of traced ones."""
    return tree_map(lambda v: v.array if isinstance(v, Traced) else v, x)


def arrays_in(x):
    """The traced arrays in a pytree."""
    return [v for v in tree_leaves(x) if isinstance(v, Traced)]


def is_named_tuple(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


# ------------------------------------------------------------------ arrays that write down what is done to them
class Traced(NDArrayOperatorsMixin):
    """A real array and its place in the program. It has NumPy's methods and operators; each one is recorded."""

    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, array, recorder, tensor=None):
        self.array, self.recorder, self.tensor, self.value = array, recorder, tensor, None
        if array.base is None:
            recorder.owners[id(array)] = self

    # what is the same in every run with the same shapes
    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    strides = property(lambda self: self.array.strides)
    itemsize = property(lambda self: self.array.itemsize)
    nbytes = property(lambda self: self.array.nbytes)
    flags = property(lambda self: self.array.flags)

    @property
    def base(self):
        """None for an array that owns its memory, else the traced array that does."""
        memory = owner(self.array)
        if memory is self.array:
            return None
        found = self.recorder.owners.get(id(memory))
        return Traced(memory, self.recorder) if found is None else found

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return (self[i] for i in range(len(self.array)))

    # what depends on the data
    def read(self, how):
        self.recorder.give_up(f"Python reads a value ({how})")
        return self.array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.read("as a NumPy array"), dtype)

    def __bool__(self):
        return bool(self.read("bool"))

    def __int__(self):
        return int(self.read("int"))

    def __float__(self):
        return float(self.read("float"))

    def __index__(self):
        return operator.index(self.read("index"))

    def item(self, *args):
        return self.read("item").item(*args)

    def tolist(self):
        return self.read("tolist").tolist()

    @property
    def ctypes(self):
        return self.read("address").ctypes

    # operations
    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        name = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
        writes = tuple(x for x in out if x is not None) + ((inputs[0],) if method == "at" else ())
        if out:
            kwargs["out"] = out if len(out) > 1 else out[0]
        return self.recorder.call("call", name, getattr(ufunc, method), inputs, kwargs, writes)

    def __array_function__(self, function, types, args, kwargs):
        name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
        return self.recorder.call("call", name, function, args, kwargs, out_of(kwargs))

    def __getitem__(self, index):
        return self.recorder.call("index", "getitem", operator.getitem, (self, index), {})

    def __setitem__(self, index, value):
        self.recorder.write("setitem", self, operator.setitem, (self, index, value))

    def __getattr__(self, name):
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a traced array has no attribute {name!r}")
        if name in ("T", "real", "imag", "mT"):
            return self.recorder.call("attribute", name, lambda x: getattr(x, name), (self,), {})
        writes = name in ("fill", "sort", "partition", "put", "resize", "itemset")
        return lambda *args, **kwargs: self.recorder.call(
            "method", name, lambda x, *a, **k: getattr(x, name)(*a, **k), (self, *args), kwargs,
            (self,) if writes else out_of(kwargs))


def out_of(kwargs):
    out = kwargs.get("out")
    return () if out is None else out if isinstance(out, tuple) else (out,)


# ------------------------------------------------------------------ a backend that writes down what it is asked for
class TracedModule:
    """The array module: its functions record themselves, its types and constants are what they are."""

    def __init__(self, module, recorder, name="np"):
        self._module, self._recorder, self._name = module, recorder, name

    ndarray = Traced

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if isinstance(getattr(np, name, None), np.ufunc) and self._name == "np":
            return TracedUfunc(found, name, self._recorder)
        if hasattr(found, "__path__") or (hasattr(found, "__name__") and found.__class__.__name__ == "module"):
            return TracedModule(found, self._recorder, f"{self._name}.{name}")
        if isinstance(found, type) or not callable(found):
            return found
        path, recorder = f"{self._name}.{name}", self._recorder
        if name in ("shape", "ndim", "size", "result_type", "promote_types", "can_cast", "iinfo", "finfo",
                    "broadcast_shapes"):
            return lambda *args, **kwargs: found(*bare(args), **bare(kwargs))
        if name == "asarray":                              # of what is one already: itself
            return lambda x, *args, **kwargs: (
                x if isinstance(x, Traced) and not args and not kwargs else
                recorder.call("call", path, found, (x, *args), kwargs))
        return lambda *args, **kwargs: recorder.call("call", path, found, args, kwargs, out_of(kwargs))


class TracedUfunc:
    """One ufunc of the array module, and its methods (`reduce`, `at`, ...)."""

    def __init__(self, ufunc, name, recorder):
        self._ufunc, self._recorder = ufunc, recorder
        self._name, self._nin = getattr(np, name).__name__, getattr(np, name).nin

    def __call__(self, *inputs, **kwargs):
        inputs, out = inputs[:self._nin], inputs[self._nin:]
        if out:
            kwargs["out"] = out[0] if len(out) == 1 else out
        return self._recorder.call("call", f"np.{self._name}", self._ufunc, inputs, kwargs, out_of(kwargs))

    def __getattr__(self, name):
        found = getattr(self._ufunc, name)
        if not callable(found):
            return found
        path = f"np.{self._name}.{name}"

        def call(*args, **kwargs):
            writes = (args[0],) if name == "at" else out_of(kwargs)
            if name == "reduce" and len(args) > 3 and args[3] is not None:
                writes = (args[3],)
            return self._recorder.call("call", path, found, args, kwargs, writes)
        return call


class Tracer(Backend):
    """A backend of traced arrays in front of a real one."""

    def __init__(self, base, recorder):
        inline = {name: kernel for name, kernel in base.kernels.items() if base.on_host and OPS[name].inline}
        super().__init__(base.device, TracedModule(base.xp, recorder), inline)
        self.base, self.recorder, self.block = base, recorder, None
        self.ndarray = Traced

    def __getattr__(self, name):
        plain = name.removeprefix("full_")
        row = OPS.get(plain)
        if row is None:
            return super().__getattr__(name)
        inline = row.inline and (self.base.on_host or plain not in self.base.kernels)
        found = self.find(name) if row.xp_name or row.view or inline else self.opaque(name, getattr(self.base, name))
        setattr(self, name, found)
        return found

    def opaque(self, name, function):
        """An op as one instruction."""
        return lambda *args, **kwargs: self.recorder.call("call", f"F.{name}", function, args, kwargs)

    def strided(self, array, shape, strides):
        return self.recorder.call("call", "F.strided", self.base.strided, (array, shape, strides), {})

    def of_memory(self, array, size, stride, offset):
        return self.recorder.call("call", "F.of_memory", self.base.of_memory, (array, size, stride, offset), {})

    def fill_random(self, array, sampler, generator, args):
        self.recorder.call("call", "F.fill_random", self.base.fill_random, (array, sampler, generator, args), {},
                           writes=(array,), pure=False)

    def from_host(self, array):
        """Values that Python brings along: the same in every later run."""
        if isinstance(array, Traced):
            return array
        return Traced(self.base.from_host(array), self.recorder)

    def to_host(self, array):
        return self.base.to_host(array.read("on the host") if isinstance(array, Traced) else array)


class Tracing(NodeHook):
    """``with Tracing(base) as recorder``: all tensors of the backend `base` record what is done to them.

    For that they hold `Traced` arrays meanwhile, and so do those made in the trace, until its end. Layers at the
    backend interface do not suffice for a trace: derivative formulas, the engine's sums and some composites compute
    with operators on arrays, past every layer, and arrays made there would pass for constants. And a layer sees arrays,
    while a program has to find the tensor again whose array it read, since ``w.data = ...`` may give it another.
    Nothing leads from an array or a backend to the tensors on it, as a list of all would cost every call something; so
    the garbage collector is asked for them, at the beginning, at the end, and around steps of optimisers.
    """

    def __init__(self, base):
        self.base, self.recorder = base, Recorder(base.ndarray)
        self.tracer = Tracer(base, self.recorder)
        self.tensors, self.steppers = tensors_of(base), {id(x): x for x in stepping.living}

    def __enter__(self):
        self.outer = stepping.observe(self.step)
        add_node_hook(self)
        self.start(self.tensors)
        return self.recorder

    def __exit__(self, *exc):
        self.recorder.closed = True
        self.stop()
        remove_node_hook(self)
        stepping.observe(self.outer)

    def start(self, tensors, held=()):
        """Put the tracer in the place of the backend; those in `held` get back the arrays they had."""
        held = dict(held)
        replace(self.base, self.tracer)
        for t in tensors:
            traced = held.get(id(t))
            same = traced is not None and traced.array is t.array
            t.backend, t.array = self.tracer, traced if same else Traced(t.array, self.recorder, t)

    def stop(self):
        """Put the backend back; returns the traced arrays that tensors had."""
        held = {}
        replace(self.tracer, self.base)
        for t in tensors_of(self.tracer):
            if isinstance(t.array, Traced):
                held[id(t)] = t.array
                t.array = t.array.array
            t.backend = self.base
        return held

    def backward(self, run):
        """A backward pass is a phase of its own."""
        recorder = self.recorder
        phase, recorder.phase, recorder.ran_backward = recorder.phase, "backward", True
        try:
            run()
        finally:
            recorder.phase = phase

    def step(self, x, run, has_arguments):
        """The step of an optimiser or a schedule, as one instruction; inside, nothing is recorded."""
        if self.outer is not None:                         # the trace of a function that called this one
            run = functools.partial(self.outer, x, run, has_arguments)
        if id(x) not in self.steppers:                     # one that the function itself has made: arrays as others
            return run()
        if has_arguments:
            self.recorder.give_up(f"{type(x).__name__}.step is given arguments")
        params = [p for group in getattr(x, "param_groups", ()) for p in group["params"]]
        grads = [(p, self.recorder.value_of(p._grad.array)) for p in params
                 if p._grad is not None and isinstance(p._grad.array, Traced)]
        held = self.stop()
        try:
            return self.recorder.effect("step", run, (x, grads))
        finally:
            self.start(tensors_of(self.base), held)


def tensors_of(backend):
    """All living tensors of a backend that have memory; uninitialized parameters have none."""
    return [x for x in gc.get_objects() if issubclass(type(x), Tensor)
            and x.__dict__.get("backend") is backend and "array" in x.__dict__]
