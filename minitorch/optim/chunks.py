"""The plan of a step: how the elements of many parameters are cut and gathered into chunks of some 32,768.

A `Plan` is made for the arrays of one parameter group and kept as long as they are the same ones. It sorts the
parameters into `Bucket`s, which share dtype, backend and step count, and each bucket into `Chunk`s: slices of large
parameters, and runs of small ones.
"""

from operator import is_

import numpy as np

from ..backends.cpu.tuning import tuning
from ..core.arrays import counted, is_floating, is_half, pointer


def is_small(array):
    return array.size <= tuning.small_parameter


class Workspace:
    """Scratch arrays by name and dtype, shared by all chunks of an optimiser so that they stay in the cache."""

    def __init__(self):
        self.arrays = {}

    def get(self, xp, dtype, name, n):
        """An array of `n` elements with undefined values; the same memory for the same name."""
        key = xp, dtype, name
        found = self.arrays.get(key)
        if found is None or found.size < n:
            found = self.arrays[key] = xp.empty(max(n, tuning.optimizer_block), dtype)
        return found[:n]


class Plan:
    """The buckets and chunks of one step of a group.

    `arrays` holds the parameters' arrays and then those of their states by name; `counts` the values of the states
    that are counters, one list for each; `fresh` the parameters whose state is new in this step; `scratch` is the
    number of scratch arrays that the update `rule` needs.
    """

    def __init__(self, params, arrays, counts, fresh, names, scratch, workspace, rule):
        n = len(params)
        self.arrays, self.shapes, self.repeated = arrays, [a.shape for a in arrays[:n]], []
        columns = [arrays[k * n:(k + 1) * n] for k in range(1 + len(names))]
        slots = dict(zip(names[len(counts):], columns[1 + len(counts):]))
        self.check_shapes(slots)
        self.memories = [counted(a) for a in columns[0]]     # where the step writes
        self.complex = [i for i, a in enumerate(columns[0]) if a.dtype.kind == "c"]
        for column in (columns[0], *slots.values()) if self.complex else ():
            for i in self.complex:
                column[i] = parts(column[i], params[i].backend)
        self.leaders, seen, buckets = list(range(n)), set(), {}
        for i, p in enumerate(params):
            if p in seen:
                self.repeated.append(p)
                continue
            seen.add(p)
            key = p.backend, working_dtype(columns[0][i].dtype), p in fresh, *(column[i] for column in counts)
            members = buckets.setdefault(key, [])
            members.append(i)
            self.leaders[i] = members[0]
        self.buckets = [Bucket(backend, dtype, members, columns[0], list(slots.values()), scratch, workspace, rule)
                        for (backend, dtype, *_), members in buckets.items()]

    def check_shapes(self, slots):
        for name, column in slots.items():
            for shape, array in zip(self.shapes, column):
                if array.shape != shape:
                    raise RuntimeError(f"the optimizer's state {name!r} has shape {list(array.shape)}, but its "
                                       f"parameter {list(shape)}: delete optimizer.state[p] after replacing the data "
                                       f"of p by data of another shape")

    def fits(self, arrays, counts):
        """True if the arrays are still the same ones, and counters that were equal still are."""
        return (len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays))
                and all([column[i] for i in self.leaders] == column for column in counts))

    def gradients(self, params):
        """The gradients' arrays; flat and of the dtype of the computation where chunks take slices of them."""
        grads = [p._grad.array for p in params]
        if [g.shape for g in grads] != self.shapes:
            p, g = next((p, g) for p, g in zip(params, grads) if p.array.shape != g.shape)
            raise RuntimeError(f"a gradient has shape {list(g.shape)}, but its parameter {list(p.array.shape)}: was "
                               f"the parameter's data replaced after backward()?")
        for i in self.complex:
            grads[i] = parts(grads[i], params[i].backend)
        for bucket in self.buckets:
            for i in bucket.sliced:
                grads[i] = grads[i].reshape(-1).astype(bucket.dtype, copy=False)
        return grads


def working_dtype(dtype):
    """The dtype of an update's arithmetic: the parameter's, float32 for the 16-bit ones."""
    if is_floating(dtype):
        return np.dtype(np.float32) if is_half(dtype) else dtype
    raise RuntimeError(f"optimizers update floating-point and complex parameters, got one of dtype {dtype}")


def parts(array, backend):
    """The parts of a complex array along a last dimension of two, in the same memory: what is updated in its place, as
    in PyTorch. A real array itself.
    """
    if array.dtype.kind != "c":
        return array
    return backend.strided(array.real, (*array.shape, 2), (*array.strides, array.itemsize // 2))


class Bucket:
    """Parameters of one backend and dtype whose counters are equal, so that the rule's coefficients are equal too.

    `members` are their indices, `sliced` those of them whose chunks take slices of the gradient. There are no chunks
    where the backend has a kernel for the rule that deals with all members at once (`at_once`).
    """

    def __init__(self, backend, dtype, members, params, slots, scratch, workspace, rule):
        xp = backend.xp
        self.xp, self.dtype, self.members, self.params, self.slots = xp, dtype, members, params, slots
        self.machine = getattr(backend, "machine", None)
        self.sliced, self.chunks, self.coefficients, self.made = [], [], None, None
        own, *states = [[column[i] for i in members] for column in (params, *slots)]
        self.at_once = backend.step_at_once(getattr(rule, "kernel", None), own, states)
        if self.at_once:
            return
        self.work = lambda name, n: workspace.get(xp, dtype, name, n)
        self.scratch = scratch
        run, size, block = [], 0, tuning.optimizer_block
        for i in members:
            n = params[i].size
            flat = all(a[i].flags.c_contiguous for a in (params, *slots))
            if n > tuning.small_parameter and flat:
                self.cut(i)
                continue
            if run and size + n > block:
                self.gather(run, size)
                run, size = [], 0
            run.append(i)
            size += n
        if len(run) == 1 and all(a[run[0]].flags.c_contiguous for a in (params, *slots)):
            self.cut(run[0])
        elif run:
            self.gather(run, size)

    @property
    def capture(self):
        """The graph that is being captured on the parameters' device, if any."""
        return None if self.machine is None else self.machine.capture

    def operand(self, x):
        """A coefficient as the rule gets it. NumPy takes 0-d arrays faster than Python floats, and in their dtype."""
        return np.array(x, self.dtype) if self.xp is np and isinstance(x, (float, np.floating)) else x

    def operands(self, coefficients):
        """The coefficients of one step as operands; those of the last step again, if they are the same."""
        if coefficients != self.coefficients:
            self.coefficients, self.made = coefficients, coefficients._make(map(self.operand, coefficients))
        return self.made

    def cut(self, i):
        """Add the chunks of one contiguous parameter, in its own memory where the dtype is that of the computation."""
        self.sliced.append(i)
        block = tuning.optimizer_block
        memory = [a[i].reshape(-1) for a in (self.params, *self.slots)]
        for start in range(0, memory[0].size, block):
            part, moves = slice(start, start + block), []
            p, *states = [self.held(k, a[part], moves) for k, a in enumerate(memory)]
            self.chunks.append(Chunk(self, p, states, moves, i, part))

    def held(self, name, memory, moves):
        """`memory` itself, or scratch of the right dtype that is to be filled from it and copied back."""
        if memory.dtype == self.dtype:
            return memory
        scratch = self.work(name, memory.size)
        moves.append((scratch, memory))
        return scratch

    def gather(self, run, n):
        """Add a chunk of several whole parameters, or of one that is not contiguous, side by side in scratch memory."""
        moves = []
        p = self.work(0, n)
        moves += zip(self.views(p, run), [self.params[i] for i in run])
        states = []
        for k, column in enumerate(self.slots, 1):
            column = [column[i] for i in run]
            state = adjacent(column)
            if state is not None:
                state = self.held(k, state, moves)
            else:
                state = self.work(k, n)
                moves += zip(self.views(state, run), column)
            states.append(state)
        sources = list(zip(self.views(self.work("g", n), run), run))
        self.chunks.append(Chunk(self, p, states, moves, sources=sources))

    def views(self, flat, run):
        """Parts of `flat` in the shapes of the parameters of `run`."""
        start = 0
        for i in run:
            stop = start + self.params[i].size
            yield flat[start:stop].reshape(self.params[i].shape)
            start = stop


def adjacent(arrays):
    """One flat view of arrays that follow each other in a common buffer; None if they do not."""
    base, start = arrays[0].base, pointer(arrays[0])
    if getattr(base, "ndim", None) != 1 or not base.flags.c_contiguous or base.dtype != arrays[0].dtype:
        return None
    stop = start
    for a in arrays:
        if a.base is not base or not a.flags.c_contiguous or (a.size and pointer(a) != stop):
            return None
        stop += a.nbytes
    origin = pointer(base)
    return base[(start - origin) // base.itemsize:(stop - origin) // base.itemsize]


class Chunk:
    """Elements that one call of a rule updates: `p`, the `states` and the gradient as flat arrays of equal length.

    What is not a tensor's own memory is scratch: `moves` are pairs (scratch, memory), copied in by `load` and out by
    `store`. The gradient is either slice `part` of the one with index `index`, or gathered into `g` from `sources`,
    pairs (view of `g`, index).
    """

    __slots__ = ("p", "g", "states", "scratch", "moves", "sources", "index", "part")

    def __init__(self, bucket, p, states, moves, index=None, part=None, sources=()):
        self.p, self.states, self.moves, self.sources, self.index, self.part = p, states, moves, sources, index, part
        self.g = bucket.work("g", p.size)
        self.scratch = [bucket.work(f"scratch {k}", p.size) for k in range(bucket.scratch)]

    def load(self, grads):
        """Fill the scratch; returns the gradient, which the caller must not write to."""
        for scratch, memory in self.moves:
            scratch[...] = memory
        if self.index is not None:
            return grads[self.index][self.part]
        for scratch, i in self.sources:
            scratch[...] = grads[i]
        return self.g

    def store(self):
        """Write back what was computed in scratch."""
        for scratch, memory in self.moves:
            memory[...] = scratch
