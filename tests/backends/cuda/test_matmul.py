"""The CUDA kernels of matrix products against NumPy in float64: layouts, sizes, dtypes, tiles, barriers, resources."""

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
from minitorch.backends.cuda import matmul
from minitorch.backends.cuda.ops import hopper, product
from minitorch.backends.cuda.runtime.kernel import Kernel
from minitorch.testing.strategies import draws
from tests.backends.cuda.kernel_checks import (
    DEVICE,
    DTYPES,
    close,
    device,
    launches,
    put,
    rounding,
    same_in_every_order,
    smallest,
    unit,
)

f16, bf16, f32, f64 = DTYPES.values()
rng = np.random.default_rng(0)


def numbers(*shape, dtype=f32):
    return rng.uniform(-1, 1, shape).astype(dtype)


def bound(a, b, out, tf32=False):
    """How far a result may be from the exact one: gamma_n |a| |b|, some roundings more for what is done to the sum, and
    that of the stored number. TF32 rounds each operand by 2^-11 of itself. Tensor cores cut off where they add, which
    is an error of twice a rounding's."""
    sizes = abs(a.astype("f8")) @ abs(b.astype("f8"))
    u = 2 * unit(out.dtype)
    return ((a.shape[-1] + 4) * u + (2.0**-10 if tf32 else 0)) * (sizes + abs(out)) + 2 * rounding(out.dtype) * abs(
        out) + smallest(out.dtype)


def place(x, layout):
    """A host array on the device: as `put` does, or "columns", with its matrices transposed in memory."""
    return put(np.ascontiguousarray(x.swapaxes(-1, -2))).swapaxes(-1, -2) if layout == "columns" else put(x, layout)


def check(a, b, addend=None, *, layout_a="dense", layout_b="dense", alpha=1, beta=1, tf32=False, activation=None):
    """The product of host arrays on the device, checked; and the names of what was launched."""
    def compute():
        c = None if addend is None else put(addend)
        return [device.to_host(product.product(device, place(a, layout_a), place(b, layout_b), c, alpha=alpha,
                                               beta=beta, tf32=tf32, activation=activation))]
    with launches() as names:
        got, = compute()
    wanted = alpha * (a.astype("f8") @ b.astype("f8")) + (0 if addend is None else beta * addend.astype("f8"))
    allowed = bound(a, b, got.astype(got.dtype), tf32) if not activation else bound(a, b, got, tf32) + 1e-6
    close(got, activated(wanted, activation), allowed + (0 if addend is None else 4 * unit(got.dtype) * abs(wanted)))
    assert got.dtype == a.dtype
    if len(names) < 3:
        same_in_every_order(compute, [got])
    return names


def activated(x, name):
    if name is None:
        return x
    tensor = minitorch.tensor(x)
    return {"relu": minitorch.relu, "silu": minitorch.nn.functional.silu, "gelu": minitorch.nn.functional.gelu,
            "gelu_tanh": lambda t: minitorch.nn.functional.gelu(t, approximate="tanh")}[name](tensor).numpy()


@pytest.fixture
def multiprocessors(monkeypatch):
    """A function that says how many multiprocessors the device counts as having: large tiles are for few."""
    def say(n):
        monkeypatch.setattr(product, "multiprocessors", lambda machine: n)
        product.plan.cache_clear()
    yield say
    product.plan.cache_clear()


# ---- CUDA cores ----------------------------------------------------------------------------------------------
# Sizes are ragged for the tiles; aligned ones are multiples of four.
@pytest.mark.parametrize(("n", "k", "m", "layouts", "dtype", "few"), [
    (37, 21, 35, "dense dense", f32, 132), (36, 20, 40, "dense transposed", f32, 132),
    (132, 20, 136, "transposed dense", f32, 1), (70, 20, 68, "dense dense", f64, 2),
    (33, 17, 34, "gaps offset", f32, 132), (32, 20, 36, "dense dense", np.dtype("int32"), 132)], ids=str)
def test_layouts_and_tiles(multiprocessors, n, k, m, layouts, dtype, few):
    multiprocessors(few)
    a, b = [(9 * numbers(*s)).astype(dtype) for s in ((n, k), (k, m))]
    layout_a, layout_b = layouts.split()
    assert check(a, b, layout_a=layout_a, layout_b=layout_b) == ["matmul_simt"]


def test_batches_and_addends(multiprocessors):
    a, b = numbers(3, 37, 21), numbers(21, 35)
    assert check(a, b, numbers(35)) == ["matmul_simt"]     # one tall product
    check(numbers(2, 3, 2, 37, 21), numbers(2, 1, 2, 21, 35), numbers(37, 1), alpha=0.5, beta=-2)
    check(numbers(2, 1, 37, 21).transpose(1, 0, 2, 3), numbers(2, 1, 21, 35), numbers(2, 2, 37, 35))


def test_batches_that_lie_too_irregularly_are_copied():
    a = numbers(2, 1, 2, 1, 2, 5, 7)
    b = numbers(2, 2, 1, 2, 1, 7, 3)
    got = device.to_host(product.product(device, put(a), put(b)))
    close(got, a.astype("f8") @ b.astype("f8"), bound(a, b, a @ b))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_activations(activation):
    check(3 * numbers(1, 5), numbers(5, 9), numbers(9), activation=activation)


@pytest.mark.parametrize(("n", "k", "m"), [(5, 0, 5), (0, 3, 5), (4, 3, 0), (0, 0, 0)])
def test_empty(n, k, m):
    addend = numbers(m)
    got = device.to_host(product.product(device, put(numbers(n, k)), put(numbers(k, m)), put(addend)))
    assert (got == np.zeros((n, m), "f") + addend).all() and got.shape == (n, m)


@pytest.mark.parametrize(("shape_a", "shape_b", "layouts", "names"), [
    ((40, 24), (24, 1), "dense dense", ["matvec_along"]), ((1, 24), (24, 40), "dense dense", ["matvec_across"]),
    ((41, 23), (23, 1), "transposed gaps", ["matvec_across"]),
    ((3, 41, 23), (3, 23, 1), "gaps dense", ["matvec_along"]),
    ((1, 1030), (1030, 1), "dense dense", ["matvec_along", "combine"])], ids=str)
def test_vectors(shape_a, shape_b, layouts, names):
    layout_a, layout_b = layouts.split()
    a, b = numbers(*shape_a), numbers(*shape_b)
    assert check(a, b, numbers(shape_a[-2], 1), layout_a=layout_a, layout_b=layout_b) == names


def test_deep_sums_are_cut_and_added_in_order():
    assert check(numbers(2, 35, 1041), numbers(2, 1041, 39), numbers(39), alpha=0.5) == ["matmul_simt", "combine"]
    assert check(numbers(36, 1040, dtype=f16), numbers(1040, 40, dtype=f16), numbers(40, dtype=f16)) == [
        "matmul_mma", "combine"]


# ---- tensor cores --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "k", "m", "layouts", "dtype", "few"), [
    (72, 56, 80, "transposed transposed", bf16, 132), (71, 45, 67, "dense dense", f16, 132),
    (136, 40, 152, "transposed dense", f16, 1), (72, 44, 80, "transposed dense", f32, 132),
    (71, 45, 67, "dense transposed", f32, 132)], ids=str)
def test_tensor_cores(multiprocessors, monkeypatch, n, k, m, layouts, dtype, few):
    monkeypatch.setattr(product, "capability", lambda machine: 80)
    multiprocessors(few)
    layout_a, layout_b = layouts.split()
    a, b = numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype)
    assert check(a, b, numbers(m, dtype=dtype), layout_a=layout_a, layout_b=layout_b, tf32=True) == ["matmul_mma"]
    check(a, b, layout_a=layout_a, layout_b=layout_b, alpha=0.5, tf32=True)


@pytest.mark.parametrize(("n", "k", "m", "layouts"), [(72, 44, 80, "transposed dense"),
                                                      (71, 45, 67, "dense transposed")])
def test_operands_are_rounded_to_tf32_not_cut_off(multiprocessors, monkeypatch, n, k, m, layouts):
    monkeypatch.setattr(product, "capability", lambda machine: 80)
    multiprocessors(132)
    operands = numbers(n, k), numbers(k, m)
    nearest = [((x.view("u4") + 0x1000) & 0xFFFFE000).view("f4") for x in operands]
    found = [device.to_host(product.product(device, *map(place, pair, layouts.split()), tf32=True))
             for pair in (operands, nearest)]
    assert (found[0] == found[1]).all()


def in_one_block(monkeypatch):
    """Let products run in a single block, or a single cluster of blocks, so that it goes through all tiles."""
    plan = product.plan

    def one_block(*args):
        made = plan(*args)
        return made._replace(first=made.first._replace(grid=made.first.constants.get("CLUSTER", 1)))
    one_block.cache_clear = plan.cache_clear
    monkeypatch.setattr(product, "plan", one_block)


# A block goes through four tiles of two stages each, more than the ring has; or through one tile of 256 columns.
@pytest.mark.parametrize(("n", "k", "m", "layouts", "dtype"), [
    (136, 72, 136, "dense transposed", bf16), (136, 72, 136, "transposed dense", f16),
    (8, 200, 264, "dense dense", bf16)], ids=str)
def test_hopper(multiprocessors, monkeypatch, n, k, m, layouts, dtype):
    multiprocessors(1 if m > 256 else 4)
    monkeypatch.setattr(hopper, "CLUSTER", 1)
    in_one_block(monkeypatch)
    layout_a, layout_b = layouts.split()
    a, b = numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype)
    assert check(a, b, numbers(m, dtype=dtype), layout_a=layout_a, layout_b=layout_b) == ["matmul_hopper"]
    check(a, b, layout_a=layout_a, layout_b=layout_b, alpha=-2)


def test_hopper_takes_batches_and_declines_what_the_copying_unit_cannot_reach(multiprocessors):
    multiprocessors(4)
    a, b = numbers(2, 16, 72, dtype=bf16), numbers(2, 72, 136, dtype=bf16)
    assert check(a, b, numbers(136, dtype=bf16), layout_b="columns") == ["matmul_hopper"]
    describe, machine = product.describe, device.machine
    for x, taken in ((put(b), True), (put(b)[:, :, ::2], False), (put(b)[:, :, 1:129], False), (put(b)[:, :64], True),
                     (put(numbers(2, 72, 131, dtype=bf16)), False), (put(numbers(2, 264, 72, dtype=bf16)).mT, True)):
        left = put(numbers(2, 512, x.shape[1], dtype=bf16))
        out = device.empty((2, 512, x.shape[2]), bf16)
        made = product.plan(machine, bf16, describe(left), describe(x), None, describe(out), 1, 1, None, False)
        assert (made.first.kernel is hopper.KERNEL) == taken


def test_tf32_only_where_it_is_allowed(monkeypatch):
    chosen = []
    monkeypatch.setattr(product, "run", lambda F, launch, *arrays: chosen.append(launch.kernel.entry))
    assert not matmul.allow_tf32
    a, b = put(numbers(8, 8)), put(numbers(8, 8))
    try:
        for allowed, kernel, precision in ((True, "matmul_mma", "high"), (False, "matmul_simt", "highest")):
            matmul.allow_tf32 = allowed
            assert minitorch.get_float32_matmul_precision() == precision
            device.kernels["mm"](device, a, b)
            assert chosen.pop() == kernel
    finally:
        minitorch.set_float32_matmul_precision("highest")


def test_older_devices_have_no_use_for_tensor_cores(multiprocessors, monkeypatch):
    monkeypatch.setattr(product, "capability", lambda machine: 75)
    multiprocessors(132)
    assert check(numbers(36, 20, dtype=f16), numbers(20, 40, dtype=f16)) == ["matmul_simt"]


# ---- ops -----------------------------------------------------------------------------------------------------
SHAPES = [((7, 5), (5, 3)), ((5,), (5, 3)), ((7, 5), (5,)), ((5,), (5,)), ((2, 7, 5), (5, 3)), ((2, 7, 5), (5,)),
          ((5,), (2, 5, 3)), ((2, 1, 7, 5), (3, 5, 3))]


@settings(max_examples=30, deadline=None)
@given(draws())
def test_matmul_and_dot_as_numpy(d):
    left, right = d.choice(SHAPES)
    a, b = numbers(*left), numbers(*right)
    xs = [put(x, d.choice(["dense", "offset", "gaps"])) for x in (a, b)]
    for function, reference in ((device.xp.matmul, np.matmul), (device.xp.dot, np.dot)):
        got, wanted = device.to_host(function(*xs)), reference(a.astype("f8"), b.astype("f8"))
        close(got, wanted, 20 * 2.0**-24 * 5)


def test_out_may_have_any_strides():
    a, b = numbers(4, 7), numbers(7, 5)
    room = device.xp.zeros((5, 8), "f")
    assert device.xp.matmul(put(a), put(b), out=room[:, ::2].T) is not None
    close(device.to_host(room)[:, ::2].T, a.astype("f8") @ b.astype("f8"), bound(a, b, a @ b))
    assert (device.to_host(room)[:, 1::2] == 0).all()


@pytest.mark.parametrize("dtype", [minitorch.float32, minitorch.bfloat16])
def test_linear_through_autograd(dtype):
    """A layer with its gradients, beside the CPU's in float64."""
    values = [numbers(3, 8, 16), numbers(24, 16), numbers(24), numbers(3, 8, 24)]
    found = []
    for where, kind in (("cpu", minitorch.float64), (device.device, dtype)):
        x, w, bias, g = [minitorch.tensor(t).to(dtype).to(device=where, dtype=kind) for t in values]
        x.requires_grad_(), w.requires_grad_(), bias.requires_grad_()
        with launches() as names:
            out = minitorch.nn.functional.linear(x, w, bias)
            out.backward(g)
        found.append([t.detach().cpu().double().numpy() for t in (out, x.grad, w.grad)])
    for a, b in zip(*found):                               # sums of 24 products, each rounded once
        assert abs(a - b).max() <= (2.0**-8 if dtype is minitorch.bfloat16 else 30 * 2.0**-24) * abs(a).max()
    kernel = "matmul_mma" if dtype is minitorch.bfloat16 else "matmul_simt"
    assert [name for name in names if name.startswith("matmul")] == [kernel] * 3


def test_addmm_is_one_kernel():
    x, a, b = numbers(5), numbers(4, 6), numbers(6, 5)
    with launches() as names:
        got = device.kernels["addmm"](device, put(x), put(a), put(b), beta=2, alpha=0.5)
    assert names == ["matmul_simt"]
    close(device.to_host(got), 2 * x + 0.5 * (a.astype("f8") @ b), bound(a, b, a @ b + 3))


def test_errors():
    with pytest.raises(ValueError, match="dimension mismatch"):
        product.product(device, put(numbers(2, 3)), put(numbers(4, 2)))
    x = minitorch.ones(2, 3, device=device.device)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        x @ x
    with pytest.raises(ValueError, match="must be one of own, cublas, auto, got 'mkl'"):
        matmul.library = "mkl"


# ---- barriers and resources ----------------------------------------------------------------------------------
BARRIERS = [("SIMT", "simt.cuh", 0, f32), ("SIMT", "simt.cuh", 1, f32), ("ACROSS", "matvec.cu", 0, f32),
            ("MMA", "mma.cuh", 0, f16), ("MMA", "mma.cuh", 1, f16),
            *[("hopper", "matmul_hopper.cu", i, bf16) for i in range(11)]]
WAITS = ("__syncthreads();", "wait_copies<RING - 2>();", "wait(shared.full(ring.stage), ring.parity);",
         "wait(shared.empty(ring.stage), ring.parity ^ 1);", "wait_products<1>(sums);",
         "wait_products<0>(sums);", "if (thread == 0) wait_stores<PIECES - 1>();", "sync_threads(1 + consumer, 128);",
         "show_writes();", "sync_cluster<CLUSTER>();", "if (CLUSTER > 1) sync_cluster<CLUSTER>();",
         "if (STORE && thread == 0) wait_stores<0>();")


def without(source, file, number):
    """A source without the `number`-th barrier or wait of one of its files; and how many of them there are."""
    texts = dict(source.includes) | {source.name: source.text}
    lines = texts[file].split("\n")
    at = [i for i, line in enumerate(lines) if line.split("//")[0].strip() in WAITS]
    lines[at[number]] = ""
    texts[file] = "\n".join(lines)
    return source._replace(text=texts.pop(source.name), includes=tuple(texts.items())), len(at)


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
@pytest.mark.parametrize(("kernel", "file", "number", "dtype"), BARRIERS, ids=str)
def test_every_barrier_is_needed(multiprocessors, monkeypatch, kernel, file, number, dtype):
    from minitorch.backends.sim import SimulatorError
    where, name = (hopper, "KERNEL") if kernel == "hopper" else (product, kernel)
    original = getattr(where, name)
    source, count = without(original.source, file, number)
    assert count == sum(b[1] == file for b in BARRIERS)
    signature = hopper.SIGNATURE if kernel == "hopper" else product.ARGUMENTS
    monkeypatch.setattr(where, name, Kernel(source, original.entry, signature, original.arch))
    multiprocessors(4 if kernel == "hopper" else 132)
    if kernel == "hopper":
        in_one_block(monkeypatch)
    n, k, m = {"ACROSS": (1, 192, 32), "hopper": (136, 264, 136)}.get(kernel, (32, 192, 32))
    with pytest.raises((SimulatorError, AssertionError)):
        check(numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype))


def constants(**given):
    return dict(A_ALONG_K=1, B_ALONG_K=0, ACTIVATION=0, **given)


def tiles_of(t, *names):
    return dict(zip(("TILE_M", "TILE_N", *names), t))


# The variants of each kernel that take most resources; docs/build_kernels.py looks at all that the
# tests ran.
INSTANTIATIONS = [
    (product.SIMT, (f32, f32), product.LARGE, ["80"], dict(
        **tiles_of(product.LARGE, "THREAD_M", "THREAD_N", "DEPTH"), VECTOR_A=4, VECTOR_B=4, VECTOR_OUT=4)),
    (hopper.KERNEL, (bf16, bf16), product.Tiles(128, 256, 0, 0, 0, 384), ["90"], dict(
        TILE_N=256, STAGES=4, CLUSTER=2, STAGGER=1, ADDEND=2, STORE=1,
        VECTOR_OUT=2)),
    (product.MMA, (f16, f16), product.MMA_LARGE, ["80"], dict(
        **tiles_of(product.MMA_LARGE, "WARP_M", "WARP_N"), DEPTH=32, STAGES=4, ALIGNED_A=0, ALIGNED_B=0, VECTOR_OUT=1)),
]


@pytest.mark.parametrize(("kernel", "dtypes", "tiles", "architectures", "given"), INSTANTIATIONS,
                         ids=lambda x: getattr(x, "entry", None))
def test_resources(kernel, dtypes, tiles, architectures, given):
    for arch in architectures:
        found = kernel.resources(arch, dtypes, **constants(**given))
        assert found.spills == found.stack == 0, (arch, found)
        assert found.registers * tiles.threads <= 65536 and found.shared <= 48 * 1024
