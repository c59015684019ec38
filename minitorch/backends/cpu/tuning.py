"""Tuning parameters of the CPU's kernels: one object, whose fields they read in each call.

    from .tuning import tuning
    ...
    if tuning.sums_as_products and is_matrix(x):

The values were measured to be best (docs/performance.md). `tuning.changed(block=None)` is a context that changes
some: for benchmarks, and for tests that results agree (`minitorch/testing/switches.py`). All threads see
the change.
"""

from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Tuning", "tuning"]


@dataclass
class Tuning:
    """See the head of this file."""

    # Elements at a time that keep a chain of elementwise steps in the cache; None: all at once.
    block: int | None = 1 << 15
    # Threads that share work on large arrays; None: OMP_NUM_THREADS, else the processor's cores (see `threads`).
    threads: int | None = None
    # Widths of rows (from, to) that NumPy would copy into buffers, which takes longer than to read them where they are.
    buffered_rows: tuple = (256, 8192)
    # Widths of rows up to which softmax tries one shift for a block of rows: always, or if the first rows allow it.
    shared_shift: tuple = (512, 2048)
    # Sums over rows or columns of a matrix as products with ones, which are several times as fast.
    sums_as_products: bool = True
    # Rows are added to those of a table by their rank among the rows of one index, and not by `np.add.at`.
    rows_by_rank: bool = True
    # Elements that an optimiser updates at a time: 128 KiB of float32; some six arrays fit in a level-2 cache.
    optimizer_block: int = 1 << 15
    # Parameters up to this size are updated side by side; beyond it the copies cost more than they save.
    small_parameter: int = 8192

    @contextmanager
    def changed(self, **values):
        """Within the block, some fields have other values; TypeError for one that does not exist."""
        unknown = set(values) - set(vars(self))
        if unknown:
            raise TypeError(f"unknown tuning {sorted(unknown)}: "
                            f"expected some of {', '.join(vars(self))}")
        before = {name: getattr(self, name) for name in values}
        vars(self).update(values)
        try:
            yield self
        finally:
            vars(self).update(before)


tuning = Tuning()
