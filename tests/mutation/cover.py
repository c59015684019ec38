"""A pytest plugin that writes down which functions of the library each test calls: `run` asks it which tests to try.

    MUTATION_COVER=cover.pickle python -m pytest -p tests.mutation.cover -n 0 tests

The file holds {test: (seconds, {(file, first line of a function)})}. PyTorch is hidden, as from all mutation runs.
"""

import os
import pathlib
import pickle
import sys
import threading
import time

import pytest

ROOT = str(pathlib.Path(__file__).parents[2] / "minitorch") + os.sep
FILE = os.environ.get("MUTATION_COVER")
found, failed = {}, set()                                  # tests that passed; those that did not, or were skipped


def pytest_configure():
    sys.modules["torch"] = None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Profile setting up and calling: fixtures of a module count for its first test only."""
    codes, start = set(), time.perf_counter()
    add = codes.add

    def note(frame, event, arg):
        if event == "call":
            add(frame.f_code)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    where = {(code.co_filename[len(ROOT):], code.co_firstlineno) for code in codes
             if code.co_filename.startswith(ROOT)}
    if item.nodeid not in failed:
        found[item.nodeid] = time.perf_counter() - start, where


def pytest_runtest_logreport(report):
    if report.outcome != "passed":
        failed.add(report.nodeid)


def pytest_sessionfinish(session):
    if FILE:
        pathlib.Path(FILE).write_bytes(pickle.dumps(found))
