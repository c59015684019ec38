"""A program of a device: fused instructions become kernels printed by `cuda.py`, the others stay
calls of the device's own kernels.

Lowering, items and arena are the same as for programs in C, with three differences. Products stay
calls. So do ops whose own kernel holds a row in registers over several reductions, such as softmax.
An instruction that was fused with nothing stays a call, since its own kernel is compiled already.
"""

from __future__ import annotations

import functools

import numpy as np

from ..backends.cuda import functor_call
from . import cuda, cuda_words
from .items import Call, NoLowering, is_number
from .loops import REDUCTIONS, Kernel
from .lower import Lowering
from .native import Native
from .program import Value
from .schedule import COLLECT

__all__ = ["Launched", "OnDevice"]

EFFECTS = ("store", *COLLECT)
REFUSED = ("index", "gather", "coefficient", "running", "across")


class OnDevice(Lowering):
    """The items of a program of a device."""

    printer = cuda_words

    def __init__(self, program, base, outside=()):
        super().__init__(program, base, outside)
        alone = {}                     # an instruction -> its items, if they are of nothing else
        for item in self.items:
            for i in item.origin if isinstance(item, Kernel) else ():
                alone.setdefault(i, []).append(item)
        alone = {i: items for i, items in alone.items() if all(k.origin == [i] for k in items)}
        items, self.items = self.items, []
        for item in items:
            first = item.origin[0] if isinstance(item, Kernel) else None
            if first not in alone:
                self.items.append(item)
            elif item is alone[first][0]:
                self.items.append(Call(first))
        self.fused = [i for item in self.items if isinstance(item, Kernel) for i in item.origin]

    def lowered(self, i):
        items = self.functor(i) or super().lowered(i)
        for item in items:
            if not isinstance(item, Kernel):
                raise NoLowering("products are the device's own")
            if (any(n.op in REFUSED for n in item.nodes)
                    or any(e.kind not in EFFECTS for e in item.effects)):
                raise NoLowering("lookups and running sums are the device's own")
        if i.op is not None and i.what in self.base.kernels and sum(
                n.op in REDUCTIONS for item in items for n in item.nodes) > 1:
            raise NoLowering("its kernel holds rows in registers")
        return items

    def functor(self, i):
        """An op with a functor as one scalar function; None if it is something else."""
        if i.op is None or not i.op.functor:
            return None
        if len(i.results) != 1 or i.template is not i.results[0]:
            return None
        functor, attributes = functor_call(i.op)
        out = i.results[0]
        numbers = tuple([i.kwargs.get(a, default) for a, default in attributes.items()])
        arrays = [a for a in i.args if isinstance(a, Value)]
        if set(i.kwargs) - set(attributes) or len(arrays) != len(i.args):
            return None
        kinds = out.dtype, np.dtype(bool)
        if out.dtype.char not in "fd" or any(a.dtype not in kinds or is_number(a) for a in arrays):
            return None

        def body(kernel, *nodes):
            return kernel.add("op::" + functor, nodes, out.dtype, value=(*numbers, 0, 0)[:2])
        return self.map(i.op.name, out, arrays, body)

    def ref(self, v, shape=None, strides=None):
        found = super().ref(v, shape, strides)
        if found.anchor.dtype.name not in cuda.SHORT:
            raise NoLowering(f"no type for {found.anchor.dtype}")
        return found


class Kernels:
    """The kernels of a program's items; of the `segments` of `native.Unit` each kernel is one."""

    sized = False

    def __init__(self, items, offsets, size, sources, sized=False):
        self.offsets, self.size, self.outside, self.scratch = offsets, size, (), 0
        self.segments = [i if isinstance(i, Call) else [i] for i in items]
        self.orders, self.steps = [], []
        self.printed: list = []                        # (kernel, its text, the number of that text)
        texts: dict = {}
        for k in items:
            if isinstance(k, Kernel):
                found = cuda.printed(k)
                self.printed.append((k, found, texts.setdefault(found.text, len(texts) + 1)))
                self.orders.append(found.anchors)

    def text(self):
        return ""


class Launched(Native):
    """A program made of launches: `text` (Python, with the CUDA in it), `scope`, `notes`."""

    lowered_by, printed_by = OnDevice, Kernels

    def __init__(self, *args):
        super().__init__(*args)
        self.scope["relaid"] = functools.partial(relaid, self.backend)

    def imports(self, body):
        kernels = ["", "from minitorch.compiler.cuda import Fused"] * bool(self.unit.printed)
        arena = ["", f"arena = np.empty(({self.unit.size},), np.uint8)"] * bool(self.unit.size)
        return [*super().imports(body), *kernels, *arena]

    def say(self):
        count, fused = len(self.unit.printed), len(self.lowering.fused)
        calls = sum(isinstance(s, Call) for s in self.unit.segments)
        return [f"CUDA: {count} kernels in place of {fused} calls, {calls} calls",
                *self.lowering.notes]

    def effect(self, i):
        return super(Native, self).effect(i)

    def c_call(self, number):
        """The launch of a fused kernel."""
        kernel, found, n = self.unit.printed[number]
        lines = [line for v in found.anchors for line in self.defining(v)]
        if f"fused{n}" not in self.taken:
            self.taken.add(f"fused{n}")
            self.setup += ["", f"fused{n} = Fused(F, r'''{found.text}''', {found.signature!r}, "
                               f"{found.launches!r}, {found.partials})"]
        dims = " x ".join(map(str, kernel.dims))
        return [*lines, f"fused{n}({', '.join(map(self.name_of, found.anchors))})    "
                f"# {dims}, in place of {len(kernel.names)} calls"]

    def in_arena(self, a, offset):
        return layout("F", a, f"arena[{offset}:{offset + span(a)}].view({self.spell(a.dtype)})")

    def made(self, v):
        a = v.example
        if a.flags.c_contiguous:
            return [f"{self.name_of(v)} = F.empty({a.shape!r}, {self.spell(a.dtype)})"]
        memory = f"F.empty(({span(a) // a.itemsize},), {self.spell(a.dtype)})"
        return [f"{self.name_of(v)} = " + layout("F", a, memory)]


def span(a):
    """The bytes that the elements of an array reach over."""
    return (sum((n - 1) * s for n, s in zip(a.shape, a.strides)) + a.itemsize) if a.size else 0


def layout(F, a, memory):
    """An array like `a` over memory, as Python."""
    if a.flags.c_contiguous:
        return f"{memory}.reshape({a.shape!r})"
    return f"{F}.strided({memory}, {a.shape!r}, {a.strides!r})"


def relaid(F, array, strides, dtype):
    """A copy laid out, and of the type, as it was in the trace."""
    reach = sum((n - 1) * s for n, s in zip(array.shape, strides)) // np.dtype(dtype).itemsize + 1
    made = F.strided(F.empty((reach,), dtype), array.shape, strides)
    made[...] = array
    return made
