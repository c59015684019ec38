"""Steps of optimisers in C: the rule of the flat family as one pass over memory.

The rule is traced once on symbolic arrays. The C is valid as long as Python would take the same
step: same parameters, arrays and states, no hooks, options that lead through the same branches of
the rule. Learning rates, decays and counters are read again in each step. In all other cases the
optimiser takes its step itself.
"""

from __future__ import annotations

import ctypes
from operator import eq, gt, is_, lt

import numpy as np

from ..extend import Elementwise, pointer, versions
from ..optim import optimizer as optimisers
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

    def compare(self, other):
        raise NoLowering("its rule compares elements")

    __lt__ = __le__ = __gt__ = __ge__ = compare


class Coefficient:
    """A symbolic coefficient: a node, and its value in this step, on which branches may depend."""

    def __init__(self, xp, node, value):
        self.xp, self.node, self.value = xp, node, value

    def compare(self, relation, other):
        """The condition of a branch: its present value, which is checked again in each step."""
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
        nodes = [self.node(condition, np.dtype(bool)),
                 self.node(x, self.dtype), self.node(y, self.dtype)]
        return Cell(self.kernel.add("select", nodes, self.dtype))

    def node(self, x, dtype):
        if isinstance(x, (Cell, Coefficient)):
            return self.kernel.cast(x.node, dtype)
        return self.kernel.const(x, dtype)

    def apply(self, dtype, name, *args):
        ufunc = getattr(np, name)
        kinds = [x.node.dtype if isinstance(x, (Cell, Coefficient)) else weak(x) for x in args]
        *loop, result = ufunc.resolve_dtypes((*kinds, None))
        if not c_words.supported(ufunc.__name__, loop[-1]):
            raise NoLowering(f"np.{name}")
        nodes = [self.node(x, t) for x, t in zip(args, loop)]
        return Cell(self.kernel.add(ufunc.__name__, nodes, result))


class Group:
    """The parameters of one group that a step moves, their arrays, and the conditions for the C."""

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
        self.memories = list({id(versions.counted(a)): versions.counted(a) for a in self.params}.values())
        self.numbers = self.now()
        if self.numbers is None:
            raise NoLowering("its parameters have taken different numbers of steps")

    def now(self):
        """(counters after a step, coefficients, shrink, decay), as `Elementwise` has them.

        None if the parameters have taken different numbers of steps.
        """
        counts = [[x.item() for x in column] for column in self.counters]
        if any([column.count(column[0]) != len(column) for column in counts]):
            return None
        group = self.group
        first = [column[0] for column in counts]
        after, numbers = self.optimizer.coefficients(group, False, *first)
        return after, numbers, *self.optimizer.shrink_and_decay(group)

    def check(self, gradients):
        """NoLowering unless C can go over parameters, states and gradients as flat arrays.

        All are of one dtype and without gaps, none is empty, and no two share memory.
        """
        dtype = self.params[0].dtype
        arrays = [*self.params, *[a for s in self.states for a in s]]
        if dtype.name not in ("float32", "float64") or not all([p.size for p in self.params]):
            raise NoLowering(f"parameters of {dtype}, or without elements")
        if not all([is_flat(a, dtype) for a in arrays]):
            raise NoLowering("arrays of several kinds")
        if not all([g.shape == p.shape and g.dtype == dtype and g.example.flags.c_contiguous
                    for p, g in zip(self.params, gradients)]):
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
        self.apply_rule(xp, p, states, g)
        for x, old, r in zip((p, *states), before, refs):
            if x.node is not old:
                kernel.store(r, x.node)
        self.assumed = [(j - self.first, *rest) for j, *rest in xp.assumed]
        return kernel

    def apply_rule(self, xp, p, states, g):
        """Carry out the step on symbolic arrays: decay, then the optimiser's rule."""
        _, numbers, shrink, decay = self.numbers
        count, fields = len(numbers), self.symbolic(xp, numbers)
        if shrink is not None:
            xp.multiply(p, self.coefficient(xp, count, shrink), p)
        if decay:
            s = xp.multiply(p, self.coefficient(xp, count + 1, decay))
            g = (xp.subtract if self.maximize else xp.add)(s, g)
        elif self.maximize:
            g = xp.negative(g)
        scratch = [Cell(None) for _ in range(self.optimizer.scratch)]
        type(self.optimizer).rule(xp, p, g, states, scratch, fields)

    def symbolic(self, xp, numbers):
        """The coefficients of the rule: floats are read in each step, others have to stay."""
        fields = []
        for j, value in enumerate(numbers):
            if isinstance(value, (float, np.floating)):
                fields.append(self.coefficient(xp, j, value))
            else:
                fields.append(value)
                xp.assumed.append((self.first + j, eq, value, True))
        return type(numbers)(*fields)

    def coefficient(self, xp, j, value):
        """Number `j` of the group's numbers, which C reads in each step."""
        node = xp.kernel.add("coefficient", (), xp.dtype, value=self.first + j)
        return Coefficient(xp, node, value)

    # -- in each step ------------------------------------------------------------------------------
    def fits(self):
        """The numbers of this step; None if the optimiser has to take it itself."""
        params = self.moved()
        arrays = None if params is None else self.optimizer._arrays(params, self.names)
        if arrays is None or not all(map(is_, arrays, self.arrays)):
            return None
        if self.has_same_options():
            return self.numbers                            # nothing counts: the same step
        found = self.now() if self.has_same_rule() else None
        if found is None or not self.has_same_branches(found):
            return None
        if not self.counters:
            values = [self.group[k] for k in self.options]
            plain = [isinstance(v, PLAIN) or v is self.group["params"] for v in values]
            self.plain = values if all(plain) else None
            self.numbers = found
        return found

    def moved(self):
        """The parameters with gradients; None if they are others than when the C was written."""
        params = self.group["params"]
        if self.whole is not None and len(params) == self.n and all(map(is_, params, self.whole)):
            return self.members                            # these have just been given gradients
        params = [p for p in params if p._grad is not None]
        same = len(params) == self.n and all(map(is_, params, self.members))
        return params if same else None

    def has_same_options(self):
        """True if no option was replaced since a step without counters."""
        group, options = self.group, self.options
        return (self.plain is not None and len(group) == len(options)
                and all(map(is_, map(group.get, options), self.plain)))

    def has_same_rule(self):
        """True if the options still ask for the same states and the same direction."""
        return (tuple(self.optimizer.slots(self.group)) == self.slots
                and bool(self.group.get("maximize")) is self.maximize)

    def has_same_branches(self, found):
        """True if these numbers lead through the same branches as when the C was written."""
        _, numbers, shrink, decay = found
        _, _, old_shrink, old_decay = self.numbers
        if (shrink is None) is not (old_shrink is None) or bool(decay) is not bool(old_decay):
            return False
        return all([relation(numbers[j], value) is expected
                    for j, relation, value, expected in self.assumed])


def is_flat(array, dtype):
    """True if C can go over an array as one line of memory."""
    return (type(array) is np.ndarray and array.dtype == dtype
            and array.flags.c_contiguous and array.flags.aligned)


# ------------------------------------------------------------------ all groups of an optimiser
def kernels_of(optimizer, pairs):
    """The groups of a step on (parameter, gradient) pairs, and a kernel for each parameter.

    NoLowering if C cannot take the step.
    """
    own_step, step = (getattr(c.step, "__wrapped__", None) for c in (type(optimizer), Elementwise))
    if not isinstance(optimizer, Elementwise) or own_step is not step:
        raise NoLowering("it has a step of its own")
    gradients, groups, kernels, first = {id(p): g for p, g in pairs}, [], [], 0
    for group in optimizer.param_groups:
        members = [p for p in group["params"] if p._grad is not None]
        if not members:
            continue
        ids = {id(p) for p in members}
        if len(ids) < len(members) or not ids <= gradients.keys():
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
        self.optimizer, self.groups, self.line = optimizer, groups, line
        self.run, self.arrays = run, arrays
        self.numbers = (ctypes.c_double * (sum(len(g.numbers[1]) + 2 for g in groups)))()
        self.last: list = []                           # for a step without counters: its arguments
        self.memories = [m for g in groups for m in g.memories]
        self.address = ctypes.addressof(self.numbers)
        self.name, self.others = f"{type(optimizer).__name__}.step", len(optimizer.param_groups)

    def __call__(self, *gradients):
        optimizer = self.optimizer
        found = None if self.is_hooked() or not self.has_same_groups() else self.numbers_now()
        if found is None:
            return False
        if not self.last or any([a is not b for a, b in zip(found, self.last)]):
            self.count(found)
        self.run((*self.arrays, *gradients), self.address)
        if optimizer._opt_called is False:
            optimizer._opt_called = True
        versions.bump(self.memories, self.name, self.line)
        return True

    def is_hooked(self):
        """True if something else has to run with a step."""
        optimizer = self.optimizer
        return (optimisers._global_pre_hooks or optimisers._global_post_hooks
                or optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks
                or "step" in optimizer.__dict__)

    def has_same_groups(self):
        """True if the groups that have gradients are as many as when the C was written."""
        groups = self.optimizer.param_groups
        if len(groups) != self.others:
            return False
        return len(self.groups) == self.others or len(self.groups) == sum(
            any(p._grad is not None for p in g["params"]) for g in groups)

    def numbers_now(self):
        """The numbers of each group; None if the optimiser has to take the step itself."""
        found = []
        for g in self.groups:
            if not any([g.group is x for x in self.optimizer.param_groups]):
                return None
            numbers = g.fits()
            if numbers is None:
                return None
            found.append(numbers)
        return found

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
