"""The levers that make the CPU fast, each with a way to do without: for benchmarks, and for tests that results agree.

    with without("blocks"):
        ...

What each does, and what it brings, is in docs/performance.md. `python -m benchmarks --levers` measures them.
"""

import contextlib

from ..backends.cpu import blocks, embedding, reduce, softmax, threads
from ..backends.cpu.backend import cpu
from ..core import engine
from ..core.registry import OPS
from ..optim import pieces

__all__ = ["LEVERS", "without"]


def add_at(xp, index, rows, n):
    out = xp.zeros((n, rows.shape[1]), rows.dtype)
    xp.add.at(out, index, rows)
    return out


def no_matrix(x):
    return False


def plain_total(F, x, dim):
    return F.xp.add.reduce(x, dim, keepdims=True)


# name: [(object, attribute, what it is without the lever)]
LEVERS = {
    "blocks": [(cpu, "block", None)],
    "one thread": [(threads, "_wanted", 1)],
    "rows without buffers": [(blocks, "BUFFERED", (0, 0))],
    "lean forward passes": [(kernel, "lean", None) for kernel in cpu.kernels.values() if kernel.lean is not None],
    "one shift for a block": [(softmax, "LEVEL", (0, 0))],
    "sums as products": [(reduce, "is_matrix", no_matrix), (softmax, "total", plain_total)],
    "gradients added in place": [(engine, "ALONE", -1)],
    "rows added by rank": [(embedding, "sum_rows", add_at)],
    "kernels": [(cpu, "kernels", {})],
    "optimiser in blocks": [(pieces, "BLOCK", 1 << 24)],
    "small parameters side by side": [(pieces, "SMALL", 0)],
}


@contextlib.contextmanager
def without(name):
    """Inside, the lever of that name is not used. What a backend or an optimiser has already chosen is forgotten."""
    before = [(where, attribute, getattr(where, attribute)) for where, attribute, _ in LEVERS[name]]
    forget()
    try:
        for where, attribute, value in LEVERS[name]:
            setattr(where, attribute, value)
        yield
    finally:
        for where, attribute, value in before:
            setattr(where, attribute, value)
        forget()


def forget():
    """Let the CPU look up its functions anew."""
    for name in [*vars(cpu)]:
        if name.removeprefix("full_") in OPS or name == "wide":
            delattr(cpu, name)
