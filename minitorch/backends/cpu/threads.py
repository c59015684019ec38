"""Threads for elementwise work on large arrays: NumPy releases the GIL while it computes.

Matrix products have threads of their own, OpenBLAS's; `set_num_threads` sets the number of both.
"""

import os
from collections import deque

from .tuning import tuning

NAME = "minitorch"         # with which the names of these threads begin
ENOUGH = 1 << 19           # elements from which on it pays to wake another thread

_pool: tuple = (None, 0)               # the threads, and the process that they live in


def set_number(n):
    """Share work among `n` threads."""
    tuning.threads = n


def number():
    """The number of threads: the one set, else OMP_NUM_THREADS, else the processor's cores."""
    if tuning.threads is None:
        text = os.environ.get("OMP_NUM_THREADS", "")
        set_number(int(text) if text.isdigit() and int(text) else usable_cores())
    return tuning.threads


def usable_cores():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:                                 # not on Linux
        return os.cpu_count() or 1


def share(function, parts, size, enough=ENOUGH):
    """``function(part)`` for all `parts`, which cover `size` elements: in order, or by several threads at a time.

    By several from `enough` elements on; by this one alone where no thread can be started, as in a browser.
    """
    n = min(number(), len(parts)) if size >= enough else 1
    if n < 2:
        for part in parts:
            function(part)
        return
    left = deque(parts)
    jobs = started(n - 1, function, left)
    try:
        run(function, left)
    finally:
        errors = [job.exception() for job in jobs]         # waits: nobody may still be writing when this returns
    for error in filter(None, errors):
        raise error


def run(function, left):
    """Call the function with what is left, one by one; the threads take from the same list."""
    while True:
        try:
            part = left.popleft()
        except IndexError:
            return
        function(part)


def started(n, function, left):
    """The work of `n` more threads. Where one cannot be started, all later work is done without."""
    jobs = []
    try:
        for _ in range(n):
            jobs.append(pool().submit(run, function, left))
    except RuntimeError:                                   # can't start new thread; or the interpreter is ending
        set_number(1)
    return jobs


def pool():
    """The threads; new ones after a fork, which does not copy them."""
    global _pool
    if _pool[1] != os.getpid():
        from concurrent.futures import ThreadPoolExecutor
        _pool = ThreadPoolExecutor(thread_name_prefix=NAME), os.getpid()
    return _pool[0]
