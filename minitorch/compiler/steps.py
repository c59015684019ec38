"""Steps of optimisers in C: the rule of the flat family, traced once on symbolic arrays, as one pass over memory.

A step is C as long as it would do the same in Python: same parameters, arrays and states, no hooks, options that lead
through the same branches of the rule. Learning rates, decays and counters are read anew in each step. In all other
cases the optimiser takes its step itself.
"""

from __future__ import annotations

import ctypes
from operator import eq, gt, is_, lt

import numpy as np

from ..core.arrays import counted, pointer
from ..core.graph import bump_versions
from ..optim import optimizer as optimisers
from ..optim.flat import Elementwise
from . import c_words
from .items import NoLowering, weak
from .loops import Kernel, Ref
from .program import Value

__all__ = ["Group", "Step", "kernels_of"]


PLAIN = (type(None), bool, int, float, str)


class Cell:
    """A symbolic flat array: the value that it has by now."""

    def __init__(self, node):
        self.node = node

    def __setitem__(self, index, x):
        if index is not Ellipsis:
            raise NoLowering("an index")
        self.node = x.node


class Coefficient:
    """A symbolic coefficient: a node, and its value in this step, on which branches may depend."""

    def __init__(self, xp, node, value):
        self.xp, self.node, self.value = xp, node, value

    def compare(self, relation, other):
        """The condition of a branch: its value now, which is looked at again in each step."""
        if self.value is None:
            raise NoLowering("a branch by more than a coefficient")
        found = relation(self.value, other)
        self.xp.assumed.append((self.node.value, relation, other, found))
        return found

    def __eq__(self, other):
        return self.compare(eq, other)

    def __gt__(self, other):
        return self.compare(gt, other)

    def __lt__(self, other):
        return self.compare(lt, other)

    def __bool__(self):
        return not self == 0

    __hash__ = None                                        # type: ignore[assignment]

    def combine(self, op, a, b):
        return Coefficient(self.xp, self.xp.apply(np.dtype(self.node.dtype), op, a, b).node, None)

    def __sub__(self, x):
        return self.combine("subtract", self, x)

    def __rsub__(self, x):
        return self.combine("subtract", x, self)

    def __add__(self, x):
        return self.combine("add", self, x)

    def __mul__(self, x):
        return self.combine("multiply", self, x)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, x):
        return self.combine("divide", self, x)


class Symbolic:
    """The array module that a rule computes with, on one kernel."""

    def __init__(self, kernel, dtype):
        self.kernel, self.dtype, self.assumed = kernel, dtype, []

    def __getattr__(self, name):
        ufunc = getattr(np, name)
        if not isinstance(ufunc, np.ufunc):
            raise NoLowering(f"np.{name}")

        def call(*args, out=None):
            args, more = args[:ufunc.nin], args[ufunc.nin:]
            out = more[0] if more else out
            made = self.apply(self.dtype, name, *args)
            if out is None:
                return made
            out.node = self.kernel.cast(made.node, self.dtype)
            return out
        return call

    def where(self, condition, x, y):
        nodes = [self.node(condition, np.dtype(bool)), self.node(x, self.dtype), self.node(y, self.dtype)]
        return Cell(self.kernel.add("select", nodes, self.dtype))

    def node(self, x, dtype):
        if isinstance(x, (Cell, Coefficient)):
            return self.kernel.cast(x.node, dtype)
        return self.kernel.const(x, dtype)

    def apply(self, dtype, name, *args):
        ufunc = getattr(np, name)
        *loop, result = ufunc.resolve_dtypes((*[x.node.dtype if isinstance(x, (Cell, Coefficient)) else weak(x)
                                                for x in args], None))
        if not c_words.supported(ufunc.__name__, loop[-1]):
            raise NoLowering(f"np.{name}")
        return Cell(self.kernel.add(ufunc.__name__, [self.node(x, t) for x, t in zip(args, loop)], result))


class Group:
    """The parameters of one group that a step moves, their arrays, and what the C relies on."""

    def __init__(self, optimizer, group, members, first):
        self.optimizer, self.group, self.members, self.first = optimizer, group, members, first
        self.slots = tuple(optimizer.slots(group))
        self.names = (*optimizer.counters, *self.slots)
        self.arrays = optimizer._arrays(members, self.names)
        if self.arrays is None:
            raise NoLowering("a state is missing")
        n, k = len(members), len(optimizer.counters)
        self.n, self.counters = n, [self.arrays[n * (1 + j):n * (2 + j)] for j in range(k)]
        self.params = self.arrays[:n]
        self.states = [self.arrays[n * (1 + k + j):n * (2 + k + j)] for j in range(len(self.slots))]
        self.maximize = bool(group.get("maximize"))
        self.whole = members if len(members) == len(group["params"]) else None
        self.options, self.plain = list(group), None
        self.memories = list({id(counted(a)): counted(a) for a in self.params}.values())
        self.numbers = self.now()
        if self.numbers is None:
            raise NoLowering("its parameters have taken different numbers of steps")

    def now(self):
        """(counters after a step, coefficients, shrink, decay), as `Elementwise` has them; None if counters differ."""
        counts = [[x.item() for x in column] for column in self.counters]
        if any([column.count(column[0]) != len(column) for column in counts]):
            return None
        group = self.group
        after, numbers = self.optimizer.coefficients(group, False, *[column[0] for column in counts])
        return after, numbers, *self.optimizer.shrink_and_decay(group)

    def check(self, gradients):
        """NoLowering unless all arrays are of one dtype and without gaps, none is empty, and parameters lie apart."""
        dtype = self.params[0].dtype
        arrays = [*self.params, *[a for s in self.states for a in s]]
        if dtype.name not in ("float32", "float64") or not all([p.size for p in self.params]):
            raise NoLowering(f"parameters of {dtype}, or without elements")
        for a in arrays:
            if a.dtype != dtype or not a.flags.c_contiguous or not a.flags.aligned or type(a) is not np.ndarray:
                raise NoLowering("arrays of several kinds")
        for p, g in zip(self.params, gradients):
            if g.shape != p.shape or g.dtype != dtype or not g.example.flags.c_contiguous:
                raise NoLowering("a gradient is laid out otherwise")
        spans = sorted((pointer(a), pointer(a) + a.nbytes) for a in arrays)
        if any(b > c for (_, b), (c, _) in zip(spans, spans[1:])):
            raise NoLowering("parameters share memory")

    def kernel(self, k, gradient):
        """The update of parameter `k`, as a kernel."""
        dtype, shape = self.params[k].dtype, (self.params[k].size,)
        values = [Value("captured", a) for a in (self.params[k], *[s[k] for s in self.states])]
        kernel = Kernel(shape, self.optimizer.rule.__name__)
        xp = Symbolic(kernel, dtype)
        refs = [Ref(v, v, 0, (1,) if shape[0] > 1 else (0,), dtype) for v in (*values, gradient)]
        p, *states, g = (Cell(kernel.load(r)) for r in refs)
        before = [x.node for x in (p, *states)]
        _, numbers, shrink, decay = self.numbers

        def coefficient(j, value):
            node = kernel.add("coefficient", (), dtype, value=self.first + j)
            return Coefficient(xp, node, value)
        fields = []
        for j, value in enumerate(numbers):
            if isinstance(value, (float, np.floating)):
                fields.append(coefficient(j, value))
            else:
                fields.append(value)
                xp.assumed.append((self.first + j, eq, value, True))
        count = len(numbers)
        if shrink is not None:
            xp.multiply(p, coefficient(count, shrink), p)
        if decay:
            s = xp.multiply(p, coefficient(count + 1, decay))
            g = (xp.subtract if self.maximize else xp.add)(s, g)
        elif self.maximize:
            g = xp.negative(g)
        type(self.optimizer).rule(xp, p, g, states, [Cell(None) for _ in range(self.optimizer.scratch)],
                                  type(numbers)(*fields))
        for x, old, r in zip((p, *states), before, refs):
            if x.node is not old:
                kernel.store(r, x.node)
        self.assumed = [(j - self.first, *rest) for j, *rest in xp.assumed]
        return kernel

    def fits(self):
        """The numbers of this step; None if the optimiser has to take it itself."""
        optimizer, group = self.optimizer, self.group
        if self.whole is not None and all(map(is_, group["params"], self.whole)) and len(group["params"]) == self.n:
            params = self.members                          # which have just been given their gradients
        else:
            params = [p for p in group["params"] if p._grad is not None]
            if len(params) != self.n or not all(map(is_, params, self.members)):
                return None
        arrays = optimizer._arrays(params, self.names)
        if arrays is None or not all(map(is_, arrays, self.arrays)):
            return None
        if self.plain is not None and len(group) == len(self.options) and all(
                map(is_, map(group.get, self.options), self.plain)):
            return self.numbers                            # the same options, and nothing that counts: the same step
        if tuple(optimizer.slots(group)) != self.slots or bool(group.get("maximize")) is not self.maximize:
            return None
        found = self.now()
        if found is None:
            return None
        _, numbers, shrink, decay = found
        if (shrink is None) is not (self.numbers[2] is None) or bool(decay) is not bool(self.numbers[3]):
            return None
        for j, relation, value, expected in self.assumed:
            if relation(numbers[j], value) is not expected:
                return None
        if not self.counters:
            values = [group[k] for k in self.options]
            self.plain = values if all([isinstance(v, PLAIN) or v is group["params"] for v in values]) else None
            self.numbers = found
        return found


def kernels_of(optimizer, pairs):
    """The groups of a step on (parameter, gradient) pairs, and a kernel for each parameter.

    NoLowering if C cannot take the step.
    """
    if not isinstance(optimizer, Elementwise) or getattr(type(optimizer).step, "__wrapped__", None) is not \
            getattr(Elementwise.step, "__wrapped__", None):
        raise NoLowering("it has a step of its own")
    gradients, groups, kernels, first = {id(p): g for p, g in pairs}, [], [], 0
    for group in optimizer.param_groups:
        members = [p for p in group["params"] if p._grad is not None]
        if not members:
            continue
        if len({id(p) for p in members}) < len(members) or any(id(p) not in gradients for p in members):
            raise NoLowering("other parameters than those of the program")
        found = Group(optimizer, group, members, first)
        found.check([gradients[id(p)] for p in members])
        kernels += [found.kernel(k, gradients[id(p)]) for k, p in enumerate(members)]
        groups.append(found)
        first += len(found.numbers[1]) + 2
    if not groups:
        raise NoLowering("it moves nothing")
    return groups, kernels


class Step:
    """One step in C: ``step(grads)`` is True, or False if the optimiser has to take it itself."""

    def __init__(self, optimizer, groups, run, arrays, line):
        self.optimizer, self.groups, self.run, self.arrays, self.line = optimizer, groups, run, arrays, line
        self.numbers = (ctypes.c_double * (sum(len(g.numbers[1]) + 2 for g in groups)))()
        self.last: list = []                               # of a step without counters: what it took
        self.memories = [m for g in groups for m in g.memories]
        self.address = ctypes.addressof(self.numbers)
        self.name, self.others = f"{type(optimizer).__name__}.step", len(optimizer.param_groups)

    def __call__(self, *gradients):
        optimizer = self.optimizer
        if (optimisers._global_pre_hooks or optimisers._global_post_hooks or optimizer._optimizer_step_pre_hooks
                or optimizer._optimizer_step_post_hooks or "step" in optimizer.__dict__
                or len(optimizer.param_groups) != self.others):
            return False
        if len(self.groups) != self.others and sum(any(p._grad is not None for p in g["params"])
                                                   for g in optimizer.param_groups) != len(self.groups):
            return False
        found = []
        for g in self.groups:
            if not any([g.group is x for x in optimizer.param_groups]):
                return False
            found.append(g.fits())
            if found[-1] is None:
                return False
        if any([a is not b for a, b in zip(found, self.last)]) or not self.last:
            self.count(found)
        self.run((*self.arrays, *gradients), self.address)
        if optimizer._opt_called is False:
            optimizer._opt_called = True
        bump_versions(self.memories, self.name, self.line)
        return True

    def count(self, found):
        """Move counters on, and give C the coefficients."""
        at, self.last = 0, [] if any(g.counters for g in self.groups) else found
        for g, (after, numbers, shrink, decay) in zip(self.groups, found):
            for column, value in zip(g.counters, after):
                for x in column:
                    x[()] = value
            n = len(numbers)
            self.numbers[at:at + n + 2] = (*numbers, 1.0 if shrink is None else shrink, decay)
            at += n + 2
