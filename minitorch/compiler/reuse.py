"""Memory of large results used again: a new array costs the system a page fault every 4,096 bytes.

A later run uses a result's array again if nothing else refers to it by then: no tensor, no view, no
graph node. Python counts references, so the array is free if its count is that of an array which
only the pool holds. Where counts are not exact (without a global interpreter lock), nothing is
reused.
"""

import sys

import numpy as np

from ..extend import versions

__all__ = ["LARGE", "reused"]

LARGE = 1 << 16            # bytes from which on it pays
counted = getattr(sys, "getrefcount", None)


def count_of(pool):
    """The reference count of the first array in a pool, seen as `reused` sees it."""
    for a in pool:
        return counted(a)


counts_say = counted is not None and getattr(sys, "_is_gil_enabled", lambda: True)()
FREE = count_of([np.empty(1)]) if counts_say else None


def reused(pool, shape, dtype):
    """An array with undefined values: an unused one of the `pool`, or a new one, which the pool
    keeps too.

    The pool keeps two: while a leaf holds the gradient of the last run, the next run writes to the
    other.
    """
    for a in pool:
        if counted(a) == FREE and versions.forget(a):
            return a
    made = np.empty(shape, dtype)
    if len(pool) < 2 and FREE is not None:
        pool.append(made)
    return made
