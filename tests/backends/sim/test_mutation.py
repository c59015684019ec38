"""Barriers and waits deleted one at a time: each is missed by a check, or the result is wrong."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.backends.sim.conformance import of_bf16, to_bf16
from tests.backends.sim.harness import compile_module, empty, launch, sim, to_device, values

TEXT = Path(__file__).with_name("mutation.cu").read_text()
NEEDED = re.compile(
    r"^ +(?:if \(.*\) )?"
    r"(__syncthreads\(\);|wait_copies<1>\(\);|wait\((?:full|empty) .*\);|"
    r"asm volatile\(\"(?:wgmma.wait_group|wgmma.fence|fence.mbarrier_init).*;)",
    re.M,
)
PARTS = TEXT.split("// ----")


def kernel_text(name):
    """The source with the part that holds a kernel, at the lines where it stands."""
    return "// ----".join(
        part if i == 0 or f" {name}(" in part else "\n" * part.count("\n") for i, part in enumerate(PARTS)
    )


def run_softmax(module):
    x = np.random.default_rng(1).standard_normal((3, 300)).astype("f4")
    y = empty(x.shape)
    launch(module, "softmax", 3, 128, to_device(x), y, np.int32(300))
    want = np.exp(x - x.mean(1, keepdims=True))
    np.testing.assert_allclose(values(y, "f4", x.shape), want / want.sum(1, keepdims=True), rtol=1e-5)


def run_product(module, entry="product"):
    a, b = np.random.default_rng(2).standard_normal((2, 48, 48)).astype("f4")
    c = empty((48, 48))
    launch(module, entry, (3, 3), (16, 16), to_device(a), to_device(b), c, np.int32(48))
    np.testing.assert_allclose(values(c, "f4", (48, 48)), a @ b, rtol=1e-4, atol=1e-4)


def run_pipelined(module):
    run_product(module, "pipelined")


def run_hopper(module):
    a, b = (to_bf16(x) for x in np.split(np.random.default_rng(3).standard_normal((144, 320)).astype("f4"), [128]))
    device_a, device_b, c = to_device(a), to_device(b), empty((128, 16))
    maps = [
        sim.tensor_map(m.pointer, 2, (320, rows), (640,), (64, box))
        for m, rows, box in ((device_a, 128, 64), (device_b, 16, 8))
    ]
    launch(module, "hopper", (2, 2), 160, *maps, c, np.int32(16), np.int32(320), shared=2 * (64 + 8) * 128 + 32)
    np.testing.assert_allclose(values(c, "f4", (128, 16)), of_bf16(a) @ of_bf16(b).T, rtol=1e-4, atol=1e-3)


RUNS = {"softmax": run_softmax, "product": run_product, "pipelined": run_pipelined, "hopper": run_hopper}


def module_of(name, text):
    if name == "hopper":
        return compile_module(text, "mutation.cu", arch="90a", macros=("-DHOPPER",))
    return compile_module(text, "mutation.cu")


@pytest.mark.parametrize("order", sim.device.ORDERS)
@pytest.mark.parametrize("name", RUNS)
def test_kernel_is_correct(name, order):
    with sim.settings(order=order):
        RUNS[name](module_of(name, kernel_text(name)))


def mutants():
    for name in RUNS:
        text = kernel_text(name)
        for found in NEEDED.finditer(text):
            line = text[: found.start(1)].count("\n") + 1
            if f" {name}(" in text:
                yield pytest.param(name, text[: found.start(1)] + ";" + text[found.end(1) :], id=f"{name}-{line}")


MUTANTS = list(mutants())


@pytest.mark.parametrize("name, text", MUTANTS)
def test_deleted_barrier_is_noticed(name, text):
    module = module_of(name, text)
    for order in ("ascending", "descending"):
        with sim.settings(order=order):
            try:
                RUNS[name](module)
            except (sim.SimulatorError, AssertionError):
                return
    pytest.fail("nothing was noticed")


def test_enough_is_deleted():
    assert len(MUTANTS) == 13
