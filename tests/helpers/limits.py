"""Limits of time and memory for single statements, for tests of files that ask for too much of both."""

import contextlib
import sys
import time

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


@contextlib.contextmanager
def within(seconds):
    """The block takes no more than that of this process's own time."""
    begun = time.process_time()
    yield
    assert time.process_time() - begun < seconds


@contextlib.contextmanager
def within_memory(megabytes):
    """The block gets no more address space than that; MemoryError if it wants more."""
    import resource
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
