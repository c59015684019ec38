"""Convolution by wgmma, the kernel for compute capability 9.0, against the reference in float64."""

import pytest

from minitorch.backends import cudnn
from minitorch.backends.cuda.ops import patches
from minitorch.backends.cuda.runtime import compile as compiler
from minitorch.backends.cuda.runtime.kernel import Kernel
from minitorch.ops.nn.conv import Geometry
from tests.backends.cuda.kernel_checks import DEVICE, DTYPES
from tests.backends.cuda.test_convolve import TASKS, check, tasks

f16, bf16, f32, f64 = DTYPES.values()


@pytest.fixture
def multiprocessors(monkeypatch):
    """A function that says how many multiprocessors the device counts as having: large tiles are for few."""
    def say(n):
        monkeypatch.setattr(patches, "multiprocessors", lambda machine: n)
    say(1)
    return say


# images, channels, outputs, size, kernel, geometry, dtype. With 74 outputs in two groups tiles have 64 rows, with 150
# there are two tiles of 128, which one block computes one after the other.
GROUPED = (2, 10, 74, (9, 8), (3, 2), Geometry((2, 1), (1, 0), (1, 2), 2), f16)
SOLID = (1, 8, 150, (2, 7, 9), (2, 1, 3), Geometry((1, 2, 1), (1, 0, 1), (1, 1, 2), 1), bf16)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("case", "layout"), [(GROUPED, "dense"), (SOLID, "transposed")], ids=["groups", "solid"])
def test_geometries(multiprocessors, case, layout, task):
    names = check(task, *tasks(*case)[task], layout)
    assert "convolve_hopper" in names and "convolve_mma" not in names


@pytest.mark.parametrize("task", TASKS[:2])
def test_float32_is_rounded_to_tf32(multiprocessors, task):
    rounded = 2, 12, 66, (5, 6), (3, 3), Geometry((1, 1), (1, 1), (1, 1), 1), f32
    with cudnn.flags(allow_tf32=True):
        assert "convolve_hopper" in check(task, *tasks(*rounded)[task])


def test_pieces_of_a_long_sum_and_square_tiles(multiprocessors):
    multiprocessors(6)
    long = (3, 88, 70, (350,), (3,), Geometry((1,), (1,), (1,), 1), bf16)    # tiles within an image, and over its end
    assert "convolve_hopper" in check(TASKS[0], *tasks(*long)[TASKS[0]])
    assert check(TASKS[2], *tasks(*long)[TASKS[2]])[-2:] == ["convolve_hopper", "combine"]


def test_tiles_and_pieces_are_chosen_by_size():
    def choose(*args):
        return patches.choose_tensor_cores(Machine, *args)

    class Machine:
        arch = "90"
    many = 64 * 56 * 56
    assert choose(False, bf16, 1, 128, many, 1152) == (patches.WIDE, 1, 1152)
    assert choose(False, f16, 1, 64, many, 576) == (patches.FLAT, 1, 576)
    assert choose(False, bf16, 1, 512, 64 * 49, 4608) == (patches.SQUARE, 1, 4608)     # 52 blocks of 256 columns
    assert choose(False, bf16, 1, 128, 49, 1152)[0] not in patches.HOPPER_STAGES
    assert choose(False, f32, 1, 128, many, 1152)[0] is patches.WIDE
    assert choose(True, f32, 1, 128, 1152, many)[0] not in patches.HOPPER_STAGES       # TF32 along the depth only
    tiles, pieces, chunk = choose(True, bf16, 1, 128, 1152, many)
    assert tiles is patches.WIDE and 5 * pieces <= 132 < 5 * (pieces + 1) and chunk % 64 == 0
    assert (pieces - 1) * chunk < many <= pieces * chunk
    Machine.arch = "100"
    assert choose(False, bf16, 1, 128, many, 1152)[0] not in patches.HOPPER_STAGES


WAITS = ("wait(shared.empty(ring.stage), ring.parity ^ 1);", "show_writes();", "__syncwarp();",
         "wait(shared.full(ring.stage), ring.parity);", "wait_products<1>(sums);", "wait_products<0>(sums);",
         "__syncthreads();", "wait_copies<BEHIND>();", "wait_copies<0>();")


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
@pytest.mark.parametrize("wait", WAITS)
def test_every_barrier_is_needed(multiprocessors, monkeypatch, wait):
    from minitorch.backends.sim import SimulatorError
    source = compiler.from_file("convolve_hopper.cu")
    lines = source.text.split("\n")
    at, = [i for i, line in enumerate(lines) if line.split("//")[0].strip() == wait]
    lines[at] = ""
    monkeypatch.setattr(patches, "HOPPER", Kernel(source._replace(text="\n".join(lines)), "convolve_hopper",
                                                  patches.ARGUMENTS, arch="90a"))
    deep = (1, 64, 66, (3, 3), (3, 3), Geometry((1, 1), (1, 1), (1, 1), 1), bf16)
    with pytest.raises((SimulatorError, AssertionError)):
        check(TASKS[0], *tasks(*deep)[TASKS[0]])
