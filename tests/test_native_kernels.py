"""Native kernels of eager calls: each against its reference, because it exists, and in what programs do with them.

The comparison is that of `test_kernels.py`, with every size sent to the native kernels.
"""

import random

import numpy as np
import pytest
from test_kernels import Large, call, cast, compare, layouts

from minitorch.backends import native
from minitorch.backends.cpu.backend import cpu
from minitorch.core.backend import widened
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw

if native.reason() is not None:
    pytest.skip(f"native kernels need a compiler: {native.reason()}", allow_module_level=True)

from minitorch.backends.native import eager, ops  # noqa: E402,F401

each_kernel = pytest.mark.parametrize("name", sorted(eager.kernel.found))
DTYPES = ["float64", "float32"]


@pytest.fixture(autouse=True)
def on(monkeypatch):
    """Native kernels, for arrays of any size."""
    monkeypatch.setattr(eager.limits, "least", 1)
    with native.enabled():
        yield


# ---- each kernel against its reference ---------------------------------------------------------------------
def samples_of(name, dtype):
    rng, row, own = random.Random(name), OPS[name], eager.kernel.found[name].sample
    draws = [Draw(rng).op_sample(row) for _ in range(3)] + [Large(rng).op_sample(row) for _ in range(2)]
    draws += [own(Draw(rng)) for _ in range(6 if own else 0)]
    for inputs, attrs in draws:
        yield [cast(x, dtype) for x in inputs], attrs


def kernel_of(name, lean=False):
    found = eager.kernel.found[name]
    function = (found.lean if lean else found).__get__(cpu)
    row = OPS[name]
    return function if found.takes_halves or not row.promotion or row.native else widened(cpu, function, not lean
                                                                                          and row.keeps)


@each_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_agrees_with_its_reference(name, dtype):
    reference, lean = getattr(cpu.reference, name), eager.kernel.found[name].lean
    for inputs, attrs in samples_of(name, dtype):
        for arrays in layouts(inputs):
            before = [x.copy() if isinstance(x, np.ndarray) else x for x in arrays]
            expected = call(reference, arrays, attrs)
            compare(name, call(kernel_of(name), arrays, attrs), expected, arrays)
            if lean:
                compare(name, call(kernel_of(name, True), arrays, attrs), expected[:1], arrays)
            for x, old in zip(arrays, before):
                assert not isinstance(x, np.ndarray) or np.array_equal(x, old, x.dtype.kind == "f"), "input written to"


@each_kernel
def test_samples_reach_the_native_code(name, monkeypatch):
    """Not only what lies under it."""
    reached = []
    original = eager.compiled

    def noted(file, function, *rest):
        reached.append(function)
        return original(file, function, *rest)
    monkeypatch.setattr(eager, "compiled", noted)
    for dtype in DTYPES:
        reached.clear()
        for inputs, attrs in samples_of(name, dtype):
            call(kernel_of(name), inputs, attrs)
        assert reached, f"all samples are refused: give kernel({name!r}) a sample="
