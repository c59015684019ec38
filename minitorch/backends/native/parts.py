"""Work in C as parts over Python's threads: ctypes lets go of the lock while C runs.

How work is divided depends on its size only, never on the number of threads, so that one thread and several give the
same bits.
"""

import functools

from ..cpu.threads import share

__all__ = ["count_parts", "in_parts"]

ENOUGH = 1 << 17           # elements of each part, at least: below, waking another thread costs more than it saves
MOST = 16                  # parts, whatever the size


def count_parts(size):
    """How many parts `in_parts` makes of work on `size` elements."""
    return max(1, min(size // ENOUGH, MOST))


def in_parts(function, size, *arguments):
    """``function(part, parts, *arguments)`` for each part of work on `size` elements, with `set_num_threads` threads.

    The function computes the rows ``[n * part / parts, n * (part + 1) / parts)`` of its n rows.
    """
    parts = count_parts(size)
    if parts == 1:
        function(0, 1, *arguments)
    else:
        share(functools.partial(run, function, parts, arguments), range(parts), size, ENOUGH)


def run(function, parts, arguments, part):
    function(part, parts, *arguments)
