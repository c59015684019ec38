"""Memory of large results used again: a new array costs the system a page fault every 4,096 bytes.

A result's array is taken again in a later run if nobody else refers to it by then: no tensor, no
view, no graph node. NumPy's arrays are counted by reference, so a count that is as low as that of
an array which only the pool knows says so. Where counts do not say it (without a global interpreter
lock), nothing is used again.
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
    """An array with undefined values: one of the `pool` that nobody looks at, or a new one, which
    the pool keeps too.

    Two are kept: while a leaf holds the gradient of the last run, the next one goes to the other.
    """
    for a in pool:
        if counted(a) == FREE and versions.forget(a):
            return a
    made = np.empty(shape, dtype)
    if len(pool) < 2 and FREE is not None:
        pool.append(made)
    return made
