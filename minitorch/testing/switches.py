"""The optimisation switches of the CPU, each to be left out: for benchmarks, and for tests that results agree.

    with without("blocks"):
        ...

The gains are in docs/performance.md; `python -m benchmarks --switches` measures them. A switch is a context: a change
of `tuning`, the settings that kernels read, or a layer at the backend interface (`minitorch/core/layers.py`).
"""

from contextlib import contextmanager
from functools import partial

from ..backends.cpu.backend import cpu
from ..backends.cpu.tuning import tuning
from ..core import engine, layers
from ..core.backend import result_only
from ..core.registry import OPS

__all__ = ["SWITCHES", "without"]


def references(name, function, backend):
    """A layer: on the CPU, op definitions' references in the place of kernels."""
    if backend is not cpu or name.removeprefix("full_") not in cpu.kernels:
        return function
    return cpu.find(name, kernels={})


def full_forward_passes(name, function, backend):
    """A layer: on the CPU, forward passes that keep values for the backward pass even where nobody needs them."""
    if backend is not cpu or name not in OPS or not OPS[name].keeps:
        return function
    return result_only(cpu.find("full_" + name))


@contextmanager
def adding_out_of_place():
    """Within the block each sum of gradients is a new array."""
    before, engine.ALONE = engine.ALONE, -1
    try:
        yield
    finally:
        engine.ALONE = before


# The name of a switch -> a function that returns the context without it.
SWITCHES = {
    "blocks": partial(tuning.changed, block=None),
    "one thread": partial(tuning.changed, threads=1),
    "rows without buffers": partial(tuning.changed, buffered_rows=(0, 0)),
    "lean forward passes": partial(layers.pushed, full_forward_passes, first=True),
    "one shift for a block": partial(tuning.changed, shared_shift=(0, 0)),
    "sums as products": partial(tuning.changed, sums_as_products=False),
    "gradients added in place": adding_out_of_place,
    "rows added by rank": partial(tuning.changed, rows_by_rank=False),
    "kernels": partial(layers.pushed, references, first=True),
    "optimiser in blocks": partial(tuning.changed, optimizer_block=1 << 24),
    "small parameters side by side": partial(tuning.changed, small_parameter=0),
}


def without(name):
    """A context in which the switch of that name is off. An optimiser keeps the chunks that it has chosen before."""
    return SWITCHES[name]()
