"""Accesses of a kernel's threads to memory, as plain records, and what they show: steps, races, conflicts, costs.

A record is an `Access`, or a dict or object with its fields. They come from the simulator's trace, from `emulate`,
which runs a kernel written in Python, or by hand.
"""

import inspect
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Access", "KernelStep", "as_accesses", "steps_of", "races_of", "emulate", "Thread"]

WARP, BANKS, WORD, SECTOR, LINE = 32, 32, 4, 32, 128      # threads; banks; bytes of a bank's word, a sector, a line
KINDS = {"load": "load", "read": "load", "store": "store", "write": "store", "atomic": "atomic", "modify": "atomic",
         "barrier": "barrier", "sync": "barrier"}


class Access(NamedTuple):
    """One access of one thread, in the order of its program.

    `kind` is "load", "store", "atomic" or "barrier" (then the rest says nothing); `space` "global" or "shared";
    `address` in bytes, in shared memory from its beginning; `array` a name for what is there, where it is known.
    """

    block: int
    thread: int
    line: int
    kind: str
    space: str = "global"
    address: int = 0
    bytes: int = 4
    array: str = ""


def as_accesses(records):
    """Records as a list of Access; ValueError for a kind that there is not. Indices may be (x, y, z): they become one
    number each, x first."""
    fields = (*Access._fields, "kernel")
    raw = [record if isinstance(record, dict) else {k: getattr(record, k) for k in fields if hasattr(record, k)}
           for record in records]
    kernels = list(dict.fromkeys(r["kernel"] for r in raw if r.get("kernel")))
    if len(kernels) > 1:
        raise ValueError(f"these are records of several kernels, {', '.join(kernels)}: choose one, as in "
                         f"[e for e in trace if e.kernel == {kernels[0]!r}]")
    sizes = {what: extent([r[what] for r in raw if isinstance(r.get(what), (tuple, list))])
             for what in ("block", "thread")}
    made = []
    for r in raw:
        if r.get("kind") not in KINDS:
            raise ValueError(f"a record's kind must be one of {', '.join(KINDS)}, got {r.get('kind')!r}")
        known = {k: r[k] for k in Access._fields if k in r}
        made.append(Access(**{**known, "kind": KINDS[r["kind"]], "block": flat(r["block"], sizes["block"]),
                              "thread": flat(r["thread"], sizes["thread"])}))
    return made


def extent(indices):
    return [max((i[k] for i in indices if k < len(i)), default=0) + 1 for k in range(3)]


def flat(index, sizes):
    if isinstance(index, int):
        return index
    total, step = 0, 1                                     # in Python's numbers: NumPy's small ones would wrap around
    for i, n in zip(index, sizes):
        total, step = total + int(i) * step, step * int(n)
    return total


# ------------------------------------------------------------------ steps
@dataclass
class KernelStep:
    """Accesses of the threads of one block at a time: the same one of the same line.

    `sectors` is how many 32-byte pieces of global memory are moved and `ideal` how few would do, warp by warp;
    `conflict` how many turns the worst warp needs for its access to shared memory (1: no conflict).
    """

    block: int
    line: int
    kind: str
    space: str
    accesses: list = field(repr=False)
    sectors: int = 0
    ideal: int = 0
    conflict: int = 1
    races: list = field(default_factory=list, repr=False)


def steps_of(accesses):
    """The steps of all blocks, one block after the other.

    Threads that are at the same line for the same time go together; where they have parted, those that are behind,
    by times and then by lines, go first. A barrier waits for all.
    """
    made, blocks = [], {}
    for a in accesses:
        blocks.setdefault(a.block, {}).setdefault(a.thread, []).append(a)
    for block in sorted(blocks):
        threads = {t: numbered(found) for t, found in sorted(blocks[block].items())}
        at = dict.fromkeys(threads, 0)
        while True:
            heads = {t: threads[t][at[t]] for t in threads if at[t] < len(threads[t])}
            if not heads:
                break
            moving = {t: h for t, h in heads.items() if h[1].kind != "barrier"} or heads
            times, line = min((h[0], h[1].line) for h in moving.values())
            kind, space = next((h[1].kind, h[1].space) for h in moving.values() if (h[0], h[1].line) == (times, line))
            together = {t: h[1] for t, h in moving.items() if (h[0], h[1].line, h[1].kind, h[1].space)
                        == (times, line, kind, space)}
            for t in together:
                at[t] += 1
            made.append(KernelStep(block, line, kind, space, list(together.values()), *cost(together.values())))
    return made


def numbered(accesses):
    """(how often this thread was at this line before, access) for each access of a thread."""
    counts, made = {}, []
    for a in accesses:
        n = counts[a.line] = counts.get(a.line, -1) + 1
        made.append((n, a))
    return made


def cost(accesses):
    """(sectors, ideal, conflict) of accesses that are made together."""
    sectors, ideal, conflict, warps = 0, 0, 1, {}
    for a in accesses:
        if a.kind != "barrier":
            warps.setdefault(a.thread // WARP, []).append(a)
    for warp in warps.values():
        touched = {b for a in warp for b in range(a.address, a.address + a.bytes)}
        if warp[0].space == "shared":
            words = {b // WORD for b in touched}
            banks = [sum(w % BANKS == bank for w in words) for bank in {w % BANKS for w in words}]
            conflict = max(conflict, max(banks, default=1))
        else:
            sectors += len({b // SECTOR for b in touched})
            ideal += -(-len(touched) // SECTOR)
    return sectors, ideal, conflict


# ------------------------------------------------------------------ races
def races_of(accesses):
    """Pairs of accesses (one, other) to the same bytes that nothing puts in order, at least one of them a write.

    Threads of a block are put in order by barriers, different blocks by nothing; two atomics are
    not a race. One pair is given for each two lines and piece of memory.
    """
    phase, seen, found = {}, {}, {}
    for a in accesses:
        thread = a.block, a.thread
        if a.kind == "barrier":
            phase[thread] = phase.get(thread, 0) + 1
            continue
        now = phase.get(thread, 0)
        for byte in range(a.address, a.address + a.bytes):
            where = (a.space, a.block if a.space == "shared" else None, byte)
            for other, then in seen.setdefault(where, []):
                if conflicting(a, now, other, then):
                    found.setdefault((a.line, other.line, a.array, a.address - a.address % a.bytes, a.space),
                                     (other, a))
                    break
            if len(seen[where]) < 64 and not any(o.thread == a.thread and o.block == a.block and o.kind == a.kind
                                                 and then == now for o, then in seen[where]):
                seen[where].append((a, now))
    return list(found.values())


def conflicting(a, now, other, then):
    if (a.block, a.thread) == (other.block, other.thread) or "store" not in (a.kind, other.kind) and (
            a.kind == other.kind):
        return False
    return a.block != other.block or now == then


# ------------------------------------------------------------------ kernels in Python
class Thread:
    """Facts that a kernel in Python has of itself: `block`, `thread`, `blocks` and `threads` (how many), `index`."""

    def __init__(self, block, thread, blocks, threads):
        self.block, self.thread, self.blocks, self.threads = block, thread, blocks, threads
        self.index = block * threads + thread


class Watched:
    """An array whose elements are recorded as they are read and written; `add` is an atomic addition."""

    def __init__(self, name, values, space, base, itemsize, records):
        self.name, self.values, self.space, self.base, self.itemsize = name, values, space, base, itemsize
        self.records, self.who = records, None

    def note(self, kind, i):
        if not 0 <= i < len(self.values):
            raise IndexError(f"{self.name}[{i}] of {len(self.values)} elements, by thread {self.who[1]} of block "
                             f"{self.who[0]}: a kernel must guard its last threads, as in `if i < n:`")
        line = sys._getframe(2).f_lineno
        self.records.append(Access(*self.who, line, kind, self.space, self.base + i * self.itemsize, self.itemsize,
                                   self.name))

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        self.note("load", i)
        return self.values[i]

    def __setitem__(self, i, value):
        self.note("store", i)
        self.values[i] = value

    def add(self, i, value):
        """Add to an element in one piece, as ``atomicAdd`` does; returns what was there."""
        self.note("atomic", i)
        before = self.values[i]
        self.values[i] += value
        return before


def emulate(kernel, blocks, threads, arrays, shared=None, itemsize=4):
    """Run a kernel written in Python, thread by thread, and return the records of its accesses.

    ``kernel(t, **arrays)`` is called for each thread with a `Thread` and the arrays (sequences of one dimension, which
    it changes in place); `shared` maps names to sizes of arrays that each block has for itself. A kernel with barriers
    is a generator that says ``yield`` where CUDA says ``__syncthreads()``; every thread must then reach it.

    >>> out = [0, 0]
    >>> def double(t, x, y):
    ...     y[t.index] = 2 * x[t.index]
    >>> [(r.kind, r.address) for r in emulate(double, 1, 2, {"x": [3, 4], "y": out})]
    [('load', 0), ('store', 256), ('load', 4), ('store', 260)]
    >>> out
    [6, 8]
    """
    records, base, watched = [], 0, {}
    for name, values in arrays.items():
        watched[name] = Watched(name, values, "global", base, itemsize, records)
        base += -(-len(values) * itemsize // 256) * 256     # as an allocator aligns them
    for block in range(blocks):
        start, local = 0, {}
        for name, size in (shared or {}).items():
            local[name] = Watched(name, [0.0] * size, "shared", start, itemsize, records)
            start += size * itemsize
        run_block(kernel, block, blocks, threads, {**watched, **local}, records)
    return records


def run_block(kernel, block, blocks, threads, arrays, records):
    """All threads of a block, each up to its next barrier, until all are done."""
    running = {}
    for thread in range(threads):
        for array in arrays.values():
            array.who = (block, thread)
        made = kernel(Thread(block, thread, blocks, threads), **arrays)
        if inspect.isgenerator(made):
            running[thread] = made
    count = len(running)
    while running:
        for thread, made in list(running.items()):
            for array in arrays.values():
                array.who = (block, thread)
            try:
                next(made)
                records.append(Access(block, thread, made.gi_frame.f_lineno, "barrier"))
            except StopIteration:
                del running[thread]
        if running and len(running) < count:
            raise RuntimeError(f"{count - len(running)} of {count} threads of block {block} ended while the others "
                               f"wait at a barrier: every thread must reach every yield")
