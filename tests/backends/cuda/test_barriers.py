"""Each barrier of the core's kernels is needed: without it the simulator, or the result, says so."""

import re

import numpy as np
import pytest

from minitorch.backends.cuda.arrays.copy import TRANSPOSE
from minitorch.backends.cuda.arrays.reduce import COLUMNS, ROWS
from minitorch.backends.cuda.runtime import compile as compiler
from minitorch.backends.cuda.runtime.kernel import Kernel
from tests.backends.cuda.kernel_checks import DEVICE, device

if DEVICE != "sim":
    pytest.skip("deleted barriers are found by the simulator only", allow_module_level=True)

X = np.random.default_rng(0).integers(-9, 9, (70, 2000)).astype("f4")


def sums(axis):
    found = device.to_host(device.xp.sum(device.from_host(X), axis))
    return np.array_equal(found, X.sum(axis))


def variances():
    return np.allclose(device.to_host(device.xp.var(device.from_host(X), 1)), X.var(1))


def transposed():
    return np.array_equal(device.to_host(device.from_host(X).T.copy()), X.T)


# file: (kernel, a computation that uses every barrier, barriers that this kernel does not need and why)
CASES = {"common.cuh": (ROWS, lambda: sums(1) and variances(),
                        {0: "block_reduce may be called twice; this kernel calls it once"}),
         "reduce.cu": (COLUMNS, lambda: sums(0), {}),
         "copy.cu": (TRANSPOSE, transposed, {})}


def barriers():
    for file in CASES:
        text = (compiler.SOURCES / file).read_text()
        for k in range(len(re.findall(r"__syncthreads\(\);", text))):
            yield pytest.param(file, k, id=f"{file}-{k}")


@pytest.mark.parametrize("file, k", list(barriers()))
def test_without_this_barrier(file, k, monkeypatch):
    from minitorch.backends.sim import SimulatorError
    kernel, compute, spare = CASES[file]
    assert compute()
    text = (compiler.SOURCES / file).read_text()
    places = [m.span() for m in re.finditer(r"__syncthreads\(\);", text)]
    begin, end = places[k]
    changed = text[:begin] + ";" + text[end:]
    source = kernel.source
    if file == source.name:
        source = source._replace(text=changed)
    else:
        source = source._replace(includes=tuple((n, changed if n == file else t) for n, t in source.includes))
    monkeypatch.setattr(Kernel, "source", property(lambda self: source))
    monkeypatch.setattr(kernel, "ready", {})
    device.plans.clear()                                   # of the kernel as it was, and then of the changed one
    try:
        noticed = not compute()
    except SimulatorError:
        noticed = True
    finally:
        device.plans.clear()
    assert noticed is (k not in spare), spare.get(k, "nothing notices that this barrier is missing")
