"""Fixtures of all tests: where CUDA kernels run, and a heap that looks small.

Tests of kernels use the simulator (device "sim"); ``pytest --device cuda`` runs the same ones on a GPU.
"""

import gc
import importlib.util
import json
import os
import sys
import tempfile

import pytest

collect_ignore = ["data", "programs/libraries",            # mistakes, for type checkers; programs on torch
                  "parity/public_prelude.py",              # run before programs
                  "distributed/sharded_ranks.py"]          # a program
if importlib.util.find_spec("torch") is None:
    collect_ignore.append("parity/ranks.py")               # a program for PyTorch, no test


def pytest_addoption(parser):
    parser.addoption("--device", default=None, help="where kernels are tested: sim (default), cuda, cuda:1 ...")


def pytest_configure(config):
    config.pluginmanager.register(SmallHeap())             # by itself: doctests of the package are not under this file
    share_bytecode(config)
    if config.getoption("--hypothesis-seed", None) is None:
        draw_the_same()
    given = config.getoption("--device")
    if given:                                              # backends/cuda/kernel_checks.py reads it, in workers
        os.environ["MINITORCH_TEST_DEVICE"] = given
    if os.environ.get("MINITORCH_KERNEL_LOG"):
        log_kernels(os.environ["MINITORCH_KERNEL_LOG"])


def share_bytecode(config):
    """Where no bytecode may be written beside the sources, have the processes that tests start share a folder for it.

    They are hundreds, and to compile what a program imports takes each of them half a second. Not the workers of
    pytest-xdist, whose bytecode of other libraries lies beside these.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix:
        return
    if "MINITORCH_TEST_BYTECODE" not in os.environ:
        made = tempfile.TemporaryDirectory(prefix="minitorch-bytecode-", ignore_cleanup_errors=True)
        config.add_cleanup(made.cleanup)
        os.environ["MINITORCH_TEST_BYTECODE"] = made.name
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        os.environ["PYTHONPYCACHEPREFIX"] = os.environ["MINITORCH_TEST_BYTECODE"]
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def draw_the_same():
    """Have each test of properties try the same cases in each run; ``pytest --hypothesis-seed=N`` draws others.

    Hypothesis also tries constants that it reads in the source of the modules loaded so far. Which these are depends
    on the tests that a worker has run before, and each one more changes all later draws: none is read here.
    """
    from hypothesis import HealthCheck, settings
    settings.register_profile("the same", derandomize=True, deadline=None,         # on a busy machine, too
                              suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("the same")
    try:
        from hypothesis.internal.conjecture import providers
    except ImportError:                                    # older ones read none
        return
    if hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


class SmallHeap:
    """Freezes all objects whenever another file of tests begins.

    They are a million, the tests themselves and what others have left, and `compile` and `memory.explain` look at all
    that the garbage collector lists.
    """

    file = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if item.path != self.file:
            self.file = item.path
            gc.collect()                                   # of what came since the last time: the rest is frozen
            gc.freeze()
            if importlib.util.find_spec("minitorch.compiler"):
                from minitorch.compiler.living import living_objects
                living_objects()                           # or the first trace would freeze what a test has just made


def log_kernels(folder):
    """Write down each specialisation of a kernel that a test compiles, for docs/build_kernels.py."""
    from minitorch.backends.cuda.runtime.kernel import Kernel
    prepare = Kernel.prepare

    def logged(self, machine, dtypes, constants, arguments):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[0].split("/")[-1]
        row = (self.source.name, self.entry, [d and d.name for d in dtypes],
               sorted((k, getattr(v, "name", v)) for k, v in constants.items()), test)
        with open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as file:
            file.write(json.dumps(row, default=int) + "\n")
        return prepare(self, machine, dtypes, constants, arguments)
    Kernel.prepare = logged


def backend_for_kernels(name):
    """The backend of the device on which kernels are tested; an error that says why where none can run.

    The simulator compiles a kernel when it is launched, so a missing g++ would only show then: ask for it here.
    """
    from minitorch import backends
    backend = backends.get(name)
    if backend.device.type == "sim":
        from minitorch.backends.sim.build import compiler
        compiler()
    return backend


@pytest.fixture(scope="session")
def device():
    """The name of the device on which kernels are tested; a skip that says why where there is none."""
    name = os.environ.get("MINITORCH_TEST_DEVICE", "sim")
    try:
        backend_for_kernels(name)
    except (ImportError, AssertionError, RuntimeError) as error:
        pytest.skip(f"no device {name!r}: {error}")
    return name
