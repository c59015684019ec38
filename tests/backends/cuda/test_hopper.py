"""The products of compute capability 9.0: float32 as TF32, results that go by the copying unit, clusters of blocks."""

import numpy as np
import pytest
from hypothesis import given, settings

from minitorch.backends.cuda.ops import hopper, product
from minitorch.backends.cuda.runtime.kernel import Kernel
from minitorch.testing.strategies import draws
from tests.backends.cuda.kernel_checks import DEVICE, DTYPES, close, device, launches, put
from tests.backends.cuda.test_matmul import bound, check, in_one_block, multiprocessors, numbers

f16, bf16, f32, _ = DTYPES.values()
__all__ = ["multiprocessors"]                              # a fixture


# ---- TF32 ----------------------------------------------------------------------------------------------------
def rounded(x):
    """Float32 to 10 bits of mantissa, to the nearest, ties to the even one."""
    bits = x.view("u4").astype("u8")
    return ((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000).astype("u4").view("f4")


def test_float32_by_wgmma(multiprocessors, monkeypatch):
    """Four ragged tiles in two blocks, of four stages each; six are in a ring."""
    multiprocessors(4)
    in_one_block(monkeypatch)
    a, b = numbers(136, 100), numbers(100, 132)
    assert check(a, b, numbers(132), layout_b="columns", tf32=True) == ["matmul_hopper"]


def test_tf32_is_rounded_to_nearest_on_the_way_in(multiprocessors):
    """Whole numbers of 12 bits (TF32 keeps 11): sums are exact, so that the rounding is all there
    is."""
    multiprocessors(4)
    a, b = [np.random.default_rng(3).integers(0, 1 << 12, (128, 8)).astype("f4") for _ in range(2)]
    with launches() as names:
        got = device.to_host(product.product(device, put(a), put(b).T, tf32=True))
    assert names == ["matmul_hopper"]
    exact = rounded(a).astype("f8") @ rounded(b).astype("f8").T
    assert abs(got - exact).max() <= 2.0**-22 * exact.max()
    cut = (a.view("u4") & 0xffffe000).view("f4").astype("f8") @ b.astype("f8").T
    assert abs(got - cut).max() > 2.0**-14 * exact.max()   # truncation would be told from it


TRUNCATION = Kernel("""
    #include "common.cuh"
    #include "hopper.cuh"

    extern "C" __global__ void truncation(float* out, const float* a, const float* b) {
        __shared__ alignas(GROUP) char lines[72 * LINE];
        const int t = threadIdx.x;
        if (t < 72)
            for (int chunk = 0; chunk < 2; chunk++)
                store_vector((float*)(lines + t * LINE + (chunk ^ t % 8) * 16),
                             load_vector<float, 4>((t < 64 ? a + t * 8 : b + (t - 64) * 8) + chunk * 4));
        show_writes();
        __syncthreads();
        float s[4];
        begin_products();
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0,%1,%2,%3}, %4, %5, 0, 1, 1;"
                     : S4(0) : "l"(descriptor(lines, GROUP)), "l"(descriptor(lines + 64 * LINE, GROUP)));
        commit_products();
        wait_products<0>(s);
        for (int i = 0; i < 4; i++) out[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = s[i];
    }
""", "truncation", "f32* out, const f32* a, const f32* b", arch="90a")


def test_wgmma_itself_cuts_float32_off():
    """Products with the identity matrix: each operand comes out without its 13 lowest bits."""
    a, b = numbers(64, 8), numbers(8, 8)
    a[:8] = np.eye(8)
    for x, y, wanted in ((a, np.eye(8, dtype="f4"), a), (a, b, b.T)):
        out = device.empty((64, 8), f32)
        TRUNCATION(device.machine, 1, 128, out, put(x), put(y))
        rows = slice(0, len(wanted))
        assert (device.to_host(out)[rows] == (wanted.copy().view("u4") & 0xffffe000).view("f4")).all()


@pytest.mark.parametrize(("layouts", "copies"), [("dense dense", 1), ("columns columns", 1), ("columns dense", 2)])
def test_operands_across_the_depth_are_turned_where_that_is_worth_it(multiprocessors, monkeypatch, layouts, copies):
    multiprocessors(4)
    monkeypatch.setattr(product, "WORTH_A_COPY", 64)
    a, b = numbers(64, 36), numbers(36, 68)
    layout_a, layout_b = layouts.split()
    names = check(a, b, layout_a=layout_a, layout_b=layout_b, tf32=True)
    assert names[-1] == "matmul_hopper" and len(names) == 1 + copies


def test_what_is_not_turned(multiprocessors, monkeypatch):
    def kernel(n, k, m, dense=True):
        b = put(numbers(k, m)) if dense else device.xp.broadcast_to(put(numbers(k, 1)), (k, m))
        made = product.plan(device.machine, f32, product.describe(put(numbers(n, k))), product.describe(b), None,
                            product.describe(device.empty((n, m), f32)), 1, 1, None, True)
        return made.turned or made.first.kernel
    multiprocessors(4)
    assert kernel(64, 36, 68) is product.MMA               # too few rows
    multiprocessors(4)
    monkeypatch.setattr(product, "WORTH_A_COPY", 64)
    assert kernel(64, 36, 68) == (False, True)
    assert kernel(64, 34, 68) is product.MMA               # lines of 34 floats begin at no multiple of 16 bytes
    assert kernel(64, 36, 68, dense=False) is product.MMA  # one column, repeated


@pytest.mark.parametrize("dtype", [f32, bf16])
@pytest.mark.parametrize("arch", [80, 100, 120])
def test_other_devices_have_no_wgmma(multiprocessors, monkeypatch, arch, dtype):
    """Those after compute capability 9.0 neither: it is of that one alone."""
    multiprocessors(1)
    monkeypatch.setattr(product, "capability", lambda machine: arch)
    shapes = ((128, 64), (64, 128), (128, 128))
    a, b, out = [product.describe(device.empty(s, dtype)) for s in shapes]
    assert product.plan(device.machine, dtype, a, b, None, out, 1, 1, None, True).first.kernel is product.MMA


# ---- clusters ----------------------------------------------------------------------------------------------------
def test_a_block_of_a_cluster_may_have_no_rows(multiprocessors, monkeypatch):
    a, b = numbers(260, 72, dtype=bf16), numbers(72, 8, dtype=bf16)
    *inputs, order = [product.describe(x) for x in (put(a), put(b), device.empty((260, 8), bf16))]
    for uneven, blocks, cluster in ((4, 5, 1), (3, 4, 2)):             # five are two clusters, and one is left
        monkeypatch.setattr(hopper, "UNEVEN", uneven)
        multiprocessors(5)
        launch = product.plan(device.machine, bf16, *inputs, None, order, 1, 1, None, False).first
        assert (launch.grid, launch.constants["CLUSTER"]) == (blocks, cluster)
    assert check(a, b) == ["matmul_hopper"]


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
def test_a_stage_is_empty_only_when_both_blocks_have_done_with_it(multiprocessors, monkeypatch):
    """Without arrivals at the other block's barrier, its copies overwrite what is still read here."""
    from minitorch.backends.sim import SimulatorError
    source = hopper.KERNEL.source
    wrong = source.text.replace("if (thread < CLUSTER) arrive_at<CLUSTER>(shared.empty(stage), thread);",
                                "if (thread == 0) arrive(shared.empty(stage));")
    wrong = wrong.replace("shared.empty(i), CLUSTER * CONSUMERS", "shared.empty(i), CONSUMERS")
    monkeypatch.setattr(hopper, "KERNEL", Kernel(source._replace(text=wrong), "matmul_hopper", hopper.SIGNATURE, "90a"))
    multiprocessors(4)
    in_one_block(monkeypatch)
    with pytest.raises(SimulatorError, match="race"):
        check(numbers(136, 264, dtype=bf16), numbers(264, 136, dtype=bf16))


# ---- results by way of the copying unit ------------------------------------------------------------------------
@settings(max_examples=5, deadline=None)
@given(draws())
def test_ragged_results(d):
    """Any rows, depths and columns that the copying unit takes, with what is added, batches, and gaps in the result."""
    n, k, m = d.int(2, 140), 8 * d.int(1, 24), 8 * d.int(1, 20)
    batch = d.choice([(), (2,)])
    a, b = numbers(*batch, n, k, dtype=bf16), numbers(*batch, k, m, dtype=bf16)
    addend = d.choice([None, numbers(m, dtype=bf16), numbers(n, 1, dtype=bf16), numbers(n, m, dtype=bf16)])
    out = device.xp.zeros((*batch, n + 2, m + 16), bf16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "multiprocessors", lambda machine: 4)
        product.plan.cache_clear()
        in_one_block(patch)
        with launches() as names:
            product.product(device, put(a), put(b), put(addend) if addend is not None else None,
                            out=out[..., 1:n + 1, 8:m + 8])
    product.plan.cache_clear()
    assert names == ["matmul_hopper"]
    got = device.to_host(out).astype("f8")
    wanted = a.astype("f8") @ b.astype("f8") + (0 if addend is None else addend.astype("f8"))
    inside = got[..., 1:n + 1, 8:m + 8]
    close(inside, wanted, bound(a, b, inside.astype(bf16)) + 2.0**-22 * abs(wanted))
    inside[...] = 0
    assert (got == 0).all()                                # nothing else was written


def test_bias_and_activation(multiprocessors):
    multiprocessors(4)
    a, b = numbers(72, 136, dtype=f16), numbers(136, 72, dtype=f16)
    assert check(a, b, numbers(72, dtype=f16), activation="gelu") == ["matmul_hopper"]


def test_results_that_the_copying_unit_cannot_reach(multiprocessors, monkeypatch):
    multiprocessors(4)
    a, b = numbers(136, 72, dtype=bf16), numbers(72, 131, dtype=bf16)
    assert check(a, b, numbers(131, dtype=bf16), layout_b="columns") == ["matmul_hopper"]
    stored, run = [], product.run

    def noted(F, launch, *rest):
        stored.append(launch.constants["STORE"])
        run(F, launch, *rest)
    monkeypatch.setattr(product, "run", noted)
    room, wanted = device.xp.zeros((144, 288), bf16), a.astype("f8") @ b.astype("f8")
    for out in (room[:136, :131], room[:136, 1:132], room[:136, :262:2], room[:131, :136].T):
        product.product(device, put(a), put(np.ascontiguousarray(b.T)).T, out=out)
        got = device.to_host(out)
        close(got.astype("f8"), wanted, bound(a, b, got))
    assert stored == [True, False, False, False]           # aligned; begins beside; with gaps; transposed
