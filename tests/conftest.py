"""What all tests share: where CUDA kernels run.

Tests of kernels use the simulator (device "sim"); ``pytest --device cuda`` runs the same ones on a GPU.
"""

import os

import pytest


def pytest_addoption(parser):
    parser.addoption("--device", default=None, help="where kernels are tested: sim (default), cuda, cuda:1 ...")


def pytest_configure(config):
    given = config.getoption("--device")
    if given:                                              # read by tests/kernel_checks.py, in workers too
        os.environ["MINITORCH_TEST_DEVICE"] = given


@pytest.fixture(scope="session")
def device():
    """The name of the device on which kernels are tested; a skip that says why where there is none."""
    from minitorch import backends
    name = os.environ.get("MINITORCH_TEST_DEVICE", "sim")
    try:
        backends.get(name)
    except (ImportError, AssertionError, RuntimeError) as error:
        pytest.skip(f"no device {name!r}: {error}")
    return name
