"""Forking worker processes beside threads that multiply matrices.

OpenBLAS ends its threads when a process forks. If it does so while several threads wait for a product, they wait for
ever, and with them the fork. So new products are told to do without these threads, and those under way are awaited.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...backends.cpu.threads import NAME
from ...settings import blas

_PATIENCE = 10.0  # seconds; other libraries may have threads that are never idle
_PAUSE = 0.002
_one_at_a_time = threading.Lock()


@contextmanager
def quiet_products() -> Iterator[None]:
    """A context in which no matrix product uses OpenBLAS's threads: processes may be forked."""
    found = blas() if _others() else None
    if found is None:
        yield
        return
    set_number, number = found
    with _one_at_a_time:
        before = number()
        set_number(1)
        try:
            _await_idle()
            yield
        finally:
            set_number(before)


def _others() -> bool:
    """True if other threads may multiply matrices meanwhile."""
    me = threading.current_thread()
    return any(thread is not me and not thread.name.startswith(NAME) for thread in threading.enumerate())


def _await_idle() -> None:
    """Return when the threads that are not Python's sleep: those of OpenBLAS look out for work a little longer."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and not (_idle() and _idle()):
        time.sleep(_PAUSE)


def _idle() -> bool:
    known = {thread.native_id for thread in threading.enumerate()}
    try:
        tasks = [name for name in os.listdir("/proc/self/task") if int(name) not in known]
    except OSError:  # not on Linux
        return True
    return not any(_runs(name) for name in tasks)


def _runs(task: str) -> bool:
    try:
        with open(f"/proc/self/task/{task}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "R"
    except OSError:  # it has ended
        return False
