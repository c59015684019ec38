"""Work in C as parts over Python's threads: ctypes lets go of the lock while C runs.

How work is divided depends on its size only, never on the number of threads, so that one thread and several give the
same bits.
"""

import functools

from ..cpu.threads import number, share

__all__ = ["count_parts", "in_parts", "shared"]

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


def shared(library, name, arguments, result, phases):
    """A function of a library as a Python function of `arguments`, whose large loops several threads share.

    `phases` are the numbers of parts of its phases. If there are several, the C function takes two more arguments: the
    number of a phase, below 0 for all in order, and that of a part. The result is the first one that is not 0.
    """
    if len(phases) == 1:
        return library.function(name, arguments, result)
    function = library.function(name, arguments + "ii", result)

    def call(*objects):
        if number() < 2:
            return function(*objects, -1, 0)
        for phase, parts in enumerate(phases):
            found = [function(*objects, phase, 0)] if parts == 1 else phase_of(function, objects, phase, parts)
            wrong = next(filter(None, found), None)
            if wrong:
                return wrong
        return 0
    return call


def phase_of(function, objects, phase, parts):
    """The results of all parts of a phase."""
    found = []
    share(lambda part: found.append(function(*objects, phase, part)), range(parts), parts, 1)
    return found
