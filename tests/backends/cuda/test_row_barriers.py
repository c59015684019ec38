"""Barriers of the row kernels deleted one at a time: the simulator objects, or the result is wrong."""

import re

import numpy as np
import pytest

from minitorch.backends import sim
from minitorch.backends.cuda.ops import cumulative, normalise, softmax, sort
from minitorch.backends.cuda.runtime.compile import from_file
from minitorch.backends.cuda.runtime.kernel import Kernel
from tests.backends.cuda.kernel_checks import device, orders, put, reference, run

if device.machine.kind != "sim":
    pytest.skip("a GPU does not report races", allow_module_level=True)

BARRIER = re.compile(r"__sync(?:threads|warp)\(\);")
rng = np.random.default_rng(0)


def agrees(name, *arrays, **attrs):
    for got, wanted in zip(run(name, arrays, attrs)[0], reference(name, arrays, attrs)):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def sorts():
    keys = rng.integers(0, 300, 3000).astype("uint32")
    found = [device.to_host(x) for x in sort.sorted_places(device, put(keys), 300)]
    assert (found[1] == np.argsort(keys, kind="stable")).all()


def row_sorts():
    x = rng.integers(0, 40, (2, 300)).astype("i2")
    places = device.to_host(sort.sorted_rows(device, put(x))[1])
    assert (places == np.argsort(x, kind="stable")).all()


def selections():
    x = rng.integers(0, 400, (2, 3000)).astype("i2")
    places = device.to_host(sort.selected_rows(device, put(x), (2, 30))[1])
    assert (places == np.argsort(x, kind="stable")[:, :30]).all()


def normals(*shape):
    return rng.normal(size=shape).astype("f")


x, y, rows = normals(2, 9, 40), normals(2, 9, 40), normals(9, 100)
# The file that is changed: whose kernels include it, and what finds the change.
RUNS = {
    "rows.cuh": (softmax, [lambda: agrees("softmax", normals(2, 2050), dim=1)]),
    "softmax.cu": (softmax, [lambda: agrees("softmax_backward", x, y, dim=1)]),
    "channels.cu": (normalise, [lambda: agrees("dot_channels", normals(70, 5), normals(70, 5))]),
    "normalise.cu": (normalise, [lambda: agrees("affine_norm_backward", rows, rows, rows[0], dims=(1,), eps=0.1)]),
    "sort.cu": (sort, [sorts]),
    "sort_rows.cu": (sort, [row_sorts, selections]),
    "digits.cuh": (sort, [row_sorts]),
    "lookback.cuh": (sort, [sorts]),
    "cumulative.cu": (cumulative, [lambda: agrees("cumsum", normals(2, 9001), dim=1),
                                   lambda: agrees("cumsum", x, dim=1)]),
}


def kernels_of(module, file):
    return [k for k in vars(module).values() if isinstance(k, Kernel) and file in (
        k.source.name, *[name for name, _ in k.source.includes])]


def mutants():
    for file, (module, _) in RUNS.items():
        source = kernels_of(module, file)[0].source
        text = source.text if source.name == file else dict(source.includes)[file]
        for i, found in enumerate(BARRIER.finditer(text)):
            yield pytest.param(file, i, id=f"{file}-{text[:found.start()].count(chr(10)) + 1}")


def without(source, file, i):
    """A source in which barrier `i` of `file` does nothing."""
    def change(text):
        found = list(BARRIER.finditer(text))[i]
        return text[:found.start()] + ";" + text[found.end():]
    if source.name == file:
        return source._replace(text=change(source.text))
    return source._replace(includes=tuple((n, change(t) if n == file else t) for n, t in source.includes))


@pytest.mark.parametrize("checks", [checks for _, checks in RUNS.values()], ids=RUNS)
def test_nothing_is_noticed_otherwise(checks):
    for check in checks:
        check()


@pytest.mark.parametrize(("file", "i"), list(mutants()))
def test_a_deleted_barrier_is_noticed(file, i, monkeypatch):
    module, checks = RUNS[file]
    for kernel in kernels_of(module, file):
        monkeypatch.setattr(kernel, "file", without(kernel.source, file, i))
        monkeypatch.setattr(kernel, "ready", {})
    with pytest.raises((sim.SimulatorError, AssertionError)):
        for check in checks:
            check()
            for order in orders():
                with order():
                    check()


def test_all_sources_are_looked_through():
    own = [name for name in ("softmax.cu", "cross_entropy.cu", "normalise.cu", "channels.cu", "scatter.cu", "sort.cu",
                             "optim.cu", "random.cu", "cumulative.cu", "pool.cu", "rows.cuh", "exponentials.cuh",
                             "moments.cuh", "lookback.cuh", "sort_rows.cu", "digits.cuh")
           if BARRIER.search(from_file(name).text)]
    assert sorted(own) == sorted(RUNS)
