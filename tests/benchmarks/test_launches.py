"""How often training steps launch: exact counts, on a GPU whose driver does nothing (`benchmarks.launches`)."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch.backends.cuda.ops import hopper
from minitorch.backends.cuda.runtime import parameters
from minitorch.backends.cuda.runtime.sizes import LARGEST, size_class
from minitorch.core.device import MADE, MAKERS

pytest.importorskip("cupy", reason="arrays of a device are CuPy's")
launches = pytest.importorskip("benchmarks.launches", reason="only beside the sources")


@pytest.fixture(scope="module")
def machine():
    before, encode = MAKERS["cuda"], hopper.encode
    there = {key: MADE.pop(key) for key in list(MADE) if key[0] == "cuda"}
    try:
        yield launches.install()
    finally:
        MAKERS["cuda"], hopper.encode = before, encode
        for key in [key for key in MADE if key[0] == "cuda"]:
            del MADE[key]
        MADE.update(there)


# The limits of the design: what a step may launch. Fewer are welcome: write the new number here.
@pytest.mark.parametrize("name, count", [("mlp", 13), ("gpt", 149), ("gpt bf16", 149)])
def test_launches_of_a_step(machine, name, count):
    assert launches.launches_of(machine, launches.STEPS[name](minitorch)).total() == count


# One launch for all other ops of the list: a convolution turns images and weights to channels last, cross entropy adds
# up in a second launch, batch norm has one for sums, one for what it does with them, one for running statistics.
# Losses of pairs are values and their mean; a sum is one more.
SEVERAL = {"conv2d": 3, "cross_entropy": 2, "batch_norm": 3, "mse_loss": 2, "bce_with_logits": 2,
           "exp, both ways": 3, "elu, both ways": 9, "std, both ways": 10, "mse_loss, both ways": 7}


@pytest.mark.parametrize("name", list(launches.OPS))
def test_launches_of_an_op(machine, name):
    assert launches.launches_of(machine, launches.OPS[name][0](minitorch)).total() == SEVERAL.get(name, 1)


def test_a_planned_call_asks_for_no_python_of_its_kernel(machine, monkeypatch):
    from minitorch.backends.cuda.runtime.kernel import Kernel
    work = launches.OPS["layer_norm"][0](minitorch)
    for _ in range(3):
        work()
    monkeypatch.setattr(Kernel, "__call__", None)
    work()


def test_a_buffer_is_what_the_driver_takes():
    """``extra`` of `cuLaunchKernel`: (1, address of the parameters, 2, address of their size, 0)."""
    buffers = parameters.Buffers([(b"abcdefgh" * 2, [(0, 8), (8, 8)]), (b"12345678", [(0, 8)])], "<16s48xQ",
                                 parameters.words_for_driver)
    memory, first, *extras, kept = buffers.take()
    buffers.format.pack_into(memory, first, b"ABCDEFGH" * 2, 77)
    for extra, expected in zip(extras, (b"ABCDEFGH" * 2, (77).to_bytes(8, "little"))):
        one, pointer, two, size, end = (ctypes.c_uint64 * 5).from_address(extra)
        length = ctypes.c_size_t.from_address(size).value
        assert (one, two, end) == (1, 2, 0) and pointer % parameters.LINE == 0
        assert ctypes.string_at(pointer, length) == expected


@given(st.integers(1, 2 * LARGEST))
def test_sizes_are_rounded_up_by_at_most_a_quarter(n):
    found = size_class(n)
    assert found == n > LARGEST or found % 512 == 0 and n <= found <= max(1.25 * n, n + 511)
    assert size_class(found) == found and size_class(n + 1) >= found or n == LARGEST
