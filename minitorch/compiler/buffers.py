"""Buffers for the arrays of a program: arrays that are not alive at the same time share one.

A large array allocated in every run costs page faults or cache misses; with ``out=`` a result goes
to a buffer that was allocated once. The result of an elementwise function may also replace an
operand that is read for the last time. Arrays that leave the program (results, gradients) and views
get no buffer: they are new in every run, as in an eager one.
"""

import numpy as np

__all__ = ["SMALL", "plan", "last_uses", "is_elementwise"]

# bytes; below this NumPy's own cache of small arrays is as fast as an argument `out`
SMALL = 1 << 12


def is_elementwise(instruction):
    """True if it is a plain call of a ufunc with one result."""
    ufunc = getattr(np, instruction.what, None) if instruction.kind == "ufunc" else None
    return (ufunc is not None and ufunc.signature is None and ufunc.nout == 1
            and not instruction.kwargs and not instruction.writes
            and len(instruction.args) == ufunc.nin)


def takes_out(instruction):
    if instruction.kwargs or instruction.writes or len(instruction.results) != 1:
        return False
    return is_elementwise(instruction) or instruction.key in (("call", "dot"), ("ufunc", "matmul"))


def last_uses(program):
    """For each root, the number of the last instruction that reads or writes its memory."""
    last = {}
    for n, i in enumerate(program.instructions):
        for v in (*i.operands(), *i.results, *i.writes):
            last[v.root] = n
    for v in program.held():
        last[v.root] = len(program.instructions)
    return last


def plan(program, skip=(), ends_of_loops=None):
    """For each planned value the number of its buffer, and the sizes of the buffers in bytes.

    `skip`: values that have a place already. `ends_of_loops`: for instructions that will run in a
    loop over blocks the number of the loop's last one, until which everything that the loop reads
    must stay.
    """
    loop = ends_of_loops or {}
    last = {root: loop.get(n, n) for root, n in last_uses(program).items()}
    free: list = []
    sizes: list = []
    places: dict = {}
    ends: dict = {}  # number of an instruction -> buffers that are free after it
    for n, i in enumerate(program.instructions):
        for v in i.results:
            if v in skip or v.root is not v or not takes_out(i) or v.scalar or v.nbytes < SMALL:
                continue
            if last[v] >= len(program.instructions) or not v.example.flags.c_contiguous:
                continue
            buffer = in_place_of(i, v, last, n, places) if is_elementwise(i) else None
            if buffer is None:
                buffer = best_fit(free, sizes, v.nbytes)
            else:
                ends[n].remove(buffer)
            if buffer is None:
                buffer = len(sizes)
                sizes.append(v.nbytes)
            places[v] = buffer
            ends.setdefault(last[v], []).append(buffer)
        free += ends.pop(n, [])
    return places, sizes


def in_place_of(instruction, result, last, n, places):
    """The buffer of an operand that dies here and has the result's shape and size."""
    operands = instruction.operands()
    for v in operands:
        alone = sum(o.root is v.root for o in operands) == 1
        dies = v in places and last[v.root] == n and alone
        if dies and v.shape == result.shape and v.nbytes == result.nbytes:
            return places[v]
    return None


def best_fit(free, sizes, nbytes):
    """Take the smallest free buffer that is large enough, but not more than twice too large."""
    fitting = [b for b in free if nbytes <= sizes[b] <= 2 * nbytes]
    if not fitting:
        return None
    best = min(fitting, key=lambda b: sizes[b])
    free.remove(best)
    return best
