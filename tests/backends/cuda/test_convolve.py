"""The CUDA kernels of convolution and its gradients against the reference in float64: geometries, groups, tiles."""

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch.backends import cudnn
from minitorch.backends.cuda.ops import convolve, patches, product
from minitorch.backends.cuda.runtime import compile as compiler
from minitorch.backends.cuda.runtime.kernel import Kernel
from minitorch.ops.nn.conv import Geometry
from tests.backends.cuda import kernel_checks
from tests.backends.cuda.kernel_checks import (
    DEVICE,
    DTYPES,
    close,
    device,
    put,
    reference,
    rounding,
    run,
    same_in_every_order,
)
from tests.backends.cuda.test_matmul import without

f16, bf16, f32, f64 = DTYPES.values()
TASKS = ("convolution", "convolution_backward_input", "convolution_backward_weight")


@pytest.fixture(autouse=True)
def no_tf32():
    """Float32 as it is; `cudnn.flags` in a test allows TF32."""
    with cudnn.flags(allow_tf32=False):
        yield


def tasks(images, channels, outputs, size, kernel, geometry, dtype, seed=0):
    """The name, inputs and attributes of the three ops of one convolution."""
    rng = np.random.default_rng(seed)
    x, w, b, y = [rng.normal(size=s).astype(dtype) for s in (
        (images, channels, *size), (outputs, channels // geometry.groups, *kernel), (outputs,),
        (images, outputs, *geometry.out_size(size, kernel)))]
    return {"convolution": ([x, w, b], dict(geometry=geometry)),
            "convolution_backward_input": ([y, w], dict(geometry=geometry, size=size)),
            "convolution_backward_weight": ([x, y], dict(geometry=geometry, size=kernel))}


def check(name, arrays, attrs, layout="dense"):
    """A task by its kernel; no further from the exact result than gamma_n times the sums of sizes."""
    got, names = run(name, arrays, attrs, layout)
    wanted, = reference(name, arrays, attrs)
    sizes, = reference(name, [abs(x) for x in arrays], attrs)
    n = arrays[0].size if name == "convolution_backward_weight" else arrays[1].size
    assert got[0].dtype == arrays[0].dtype
    allowed = 2 * (n + 2) * kernel_checks.unit(got[0].dtype) * sizes + rounding(got[0].dtype) * abs(wanted) + 1e-30
    if {"convolve_mma", "convolve_hopper"} & set(names) and got[0].dtype == f32:   # each operand is rounded by 2^-11
        allowed += 2.0**-10 * sizes
    close(got[0], wanted, allowed)                         # twice: tensor cores cut off where they add
    same_in_every_order(lambda: run(name, arrays, attrs, layout)[0], got)
    return names


PLAIN = (2, 5, 8, (9, 10), (3, 3), Geometry((1, 1), (1, 1), (1, 1), 1), f32)
UNEVEN = (2, 8, 10, (9, 7), (3, 2), Geometry((2, 1), (1, 0), (1, 2), 2), f32)
DEPTHWISE = (2, 6, 6, (8, 7), (3, 3), Geometry((2, 2), (1, 1), (1, 1), 6), f16)
HALVES = (2, 16, 20, (9, 7), (3, 2), Geometry((2, 1), (1, 0), (1, 2), 2), f16)
ROWS = (3, 4, 6, (17,), (5,), Geometry((1,), (2,), (1,), 1), f64)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("case", "kernels"), [(PLAIN, ["convolve"] * 3), (UNEVEN, ["convolve"] * 3),
                                               (DEPTHWISE, ["convolve_direct"] * 2 + ["convolve_direct_weight"]),
                                               (HALVES, ["convolve_mma"] * 3), (ROWS, ["convolve"] * 3)],
                         ids=["plain", "uneven", "depthwise", "halves", "rows"])
def test_geometries(case, kernels, task):
    names = check(task, *tasks(*case)[task])
    assert kernels[TASKS.index(task)] in names


def test_other_layouts_and_sizes_of_the_same_kernels():
    wide = (1, 5, 12, (6, 6), *PLAIN[4:])
    for case, layout in ((PLAIN, "transposed"), (wide, "gaps")):
        for task in TASKS:
            check(task, *tasks(*case, seed=1)[task], layout)


CUBE = (1, 10, 6, (4, 5, 6), (2, 3, 2), Geometry((1, 2, 1), (1, 1, 0), (1, 1, 2), 1), bf16)
STRIDED = (2, 6, 5, (7, 9), (1, 3), Geometry((2, 3), (0, 2), (1, 2), 1), f32)       # residues without taps


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("case", "layout"), [(CUBE, "dense"), (STRIDED, "transposed"), (PLAIN, "gaps")],
                         ids=["cube", "strided", "plain"])
def test_tensor_cores(case, layout, task):
    """In three dimensions, and float32 where TF32 is allowed."""
    with cudnn.flags(allow_tf32=True):
        names = check(task, *tasks(*case)[task], layout)
    assert "convolve_mma" in names and not {"convolve", "convolve_direct"} & set(names)


def test_images_with_their_channels_last_are_taken_as_they_are():
    arrays, attrs = tasks(2, 16, 16, (5, 6), (3, 3), PLAIN[5], f16)["convolution"]
    x, w = [device.from_host(np.ascontiguousarray(a.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2) for a in arrays[:2]]
    with kernel_checks.launches() as names:
        got = device.to_host(device.kernels["convolution"](device, x, w, put(arrays[2]), **attrs))
    assert names == ["convolve_mma"]
    assert (got == run("convolution", arrays, attrs)[0][0]).all()


def test_large_tiles_and_pieces_on_tensor_cores(monkeypatch):
    monkeypatch.setattr(patches, "capability", lambda machine: 80)
    monkeypatch.setattr(patches, "multiprocessors", lambda machine: 1)
    big = (1, 72, 70, (13, 12), (1, 3), Geometry((1, 1), (0, 1), (1, 1), 1), bf16)
    for task in TASKS:
        check(task, *tasks(*big)[task])
    monkeypatch.setattr(patches, "multiprocessors", lambda machine: 132)
    deep = (3, 8, 10, (17, 16), (3, 2), Geometry((1, 1), (1, 0), (1, 1), 2), f16)
    assert "combine" in check(TASKS[2], *tasks(*deep)[TASKS[2]])


def test_tf32_is_allowed_as_in_pytorch():
    arrays, attrs = tasks(*PLAIN)["convolution"]
    with cudnn.flags(allow_tf32=True):
        assert run("convolution", arrays, attrs)[1][-1] == "convolve_mma"
    assert run("convolution", arrays, attrs)[1][-1] == "convolve"


def test_large_tiles_and_pieces(monkeypatch):
    monkeypatch.setattr(patches, "multiprocessors", lambda machine: 1)
    big = (2, 70, 72, (17, 16), (1, 1), Geometry((1, 1), (0, 0), (1, 1), 1), f32)
    assert check("convolution", *tasks(*big)["convolution"]) == ["convolve"]
    monkeypatch.setattr(patches, "multiprocessors", lambda machine: 132)
    assert check("convolution_backward_weight", *tasks(*big)["convolution_backward_weight"])[-2:] == ["convolve",
                                                                                                      "combine"]


BLOCK = (1, 6, 8, (4, 3, 5), (2, 1, 3), Geometry((1, 2, 2), (1, 0, 1), (2, 1, 1), 1), f32)
DEEP = (2, 3, 3, (4, 3, 5), (2, 2, 2), Geometry((1, 2, 1), (0, 1, 1), (1, 1, 2), 3), f64)


@pytest.mark.parametrize("task", TASKS)
def test_three_dimensions_on_cuda_cores(task):
    assert check(task, *tasks(*BLOCK)[task])[-1] == "convolve"
    direct = "convolve_direct_weight" if task == TASKS[2] else "convolve_direct"
    assert check(task, *tasks(*DEEP)[task], "gaps")[-1] == direct


@pytest.mark.parametrize("shape", [(0, 2, 3, 4, 4), (2, 0, 3, 4, 4), (2, 2, 0, 4, 4)], ids=str)
def test_empty(shape):
    n, c, o, *size = shape
    case = (n, c, o, tuple(size), (3, 3), PLAIN[5], f32)
    for task in TASKS:
        arrays, attrs = tasks(*case)[task]
        got = device.to_host(device.kernels[task](device, *map(put, arrays), **attrs))
        shape = {TASKS[0]: (n, o, *size), TASKS[1]: (n, c, *size), TASKS[2]: (o, c, 3, 3)}[task]
        wanted = arrays[2][:, None, None] if task == TASKS[0] else 0
        assert got.shape == shape and (got == wanted).all()


def test_through_autograd():
    (x, w, b), _ = tasks(*PLAIN)["convolution"]
    (_, g), _ = tasks(*PLAIN)["convolution_backward_weight"]
    found = []
    for where, dtype in (("cpu", minitorch.float64), (device.device, minitorch.float32)):
        xs = [minitorch.tensor(t, dtype=dtype, device=where, requires_grad=True) for t in (x, w, b)]
        out = F.conv2d(*xs, padding=1)
        out.backward(minitorch.tensor(g, dtype=dtype, device=where))
        found.append([t.detach().cpu().double().numpy() for t in (out, *[t.grad for t in xs])])
    for a, b in zip(*found):                               # sums of up to 180 products of numbers below 5
        assert abs(a - b).max() < 180 * 2.0**-24 * 100


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
@pytest.mark.parametrize("number", [0, 1])
def test_every_barrier_is_needed(monkeypatch, number):
    """Barriers of `convolve_mma.cu`; those of `convolve.cu` are in `simt.cuh`, see test_matmul.py."""
    from minitorch.backends.sim import SimulatorError
    source, count = without(compiler.from_file("convolve_mma.cu"), "mma.cuh", number)
    assert count == 2
    monkeypatch.setattr(patches, "MMA", Kernel(source, "convolve_mma", patches.ARGUMENTS))
    with pytest.raises((SimulatorError, AssertionError)):
        check("convolution", *tasks(*HALVES)["convolution"])


@pytest.mark.parametrize(("task", "tiles", "dtype", "arch"), [
    (1, product.LARGE, f32, "80"), (2, product.LARGE, f32, "90")], ids=str)
def test_resources(task, tiles, dtype, arch):
    kernel_checks.check_resources(convolve.GEMM, [dtype, dtype], [arch], TASK=task, KD=1, KH=3, KW=3, VOLUME=0,
                    **convolve.tile_constants(tiles, 1, 1))
