"""The simulator's reports besides right and wrong: cost of accesses, traces, memory; the cache of compiled kernels."""

import gc
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from minitorch.backends.cache import checksum_of
from minitorch.backends.sim import build
from tests import ROOT
from tests.backends.sim.harness import compile_module, empty, launch, sim, to_device, values

TRANSPOSE = """extern "C" __global__ void transpose(const float* x, float* y, int n) {
  __shared__ float s[32][32 + PAD];
  int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32 + threadIdx.y;
  s[threadIdx.y][threadIdx.x] = x[j * n + i];
  __syncthreads();
  i = blockIdx.y * 32 + threadIdx.x; j = blockIdx.x * 32 + threadIdx.y;
  y[j * n + i] = s[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void strided(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * 8];
}
extern "C" __global__ void wide(const float4* x, float* y, int n) {
  float4 v = x[threadIdx.x];
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
"""


def rows_of(report):
    return {(row.site.line, row.space, row.kind): row for row in report.rows}


@pytest.mark.parametrize("pad, ratio", [(0, 32), (1, 1)])
def test_transpose_has_bank_conflicts_unless_padded(pad, ratio):
    module = compile_module(TRANSPOSE.replace("PAD", str(pad)), "transpose.cu")
    x = np.arange(64 * 64, dtype="f4").reshape(64, 64)
    y = empty(x.shape)
    with sim.report() as report:
        launch(module, "transpose", (2, 2), (32, 32), to_device(x), y, np.int32(64))
    np.testing.assert_array_equal(values(y, "f4", x.shape), x.T)
    rows = rows_of(report)
    assert rows[7, "shared", "load"].ratio == ratio
    for key in ((4, "global", "load"), (4, "shared", "store"), (7, "global", "store")):
        assert rows[key].ratio == 1 and rows[key].requests == 4 * 32
    assert rows[4, "global", "load"].per_request == 4 and rows[4, "global", "load"].bytes == x.nbytes
    assert report.worst("shared") == ratio and report.worst("global") == 1
    assert f"{ratio:.2f}x  y[j * n + i] = s[threadIdx.x][threadIdx.y];" in str(report)


def test_strided_and_wide_reads():
    module = compile_module(TRANSPOSE.replace("PAD", "1"), "transpose.cu")
    x, y = to_device(np.zeros(4096, "f4")), empty(512)
    with sim.report() as report:
        launch(module, "strided", 4, 128, x, y, np.int32(512))
        launch(module, "wide", 1, 128, x, y, np.int32(512))
    rows = rows_of(report)
    assert rows[11, "global", "load"].ratio == 8 and rows[11, "global", "load"].per_request == 32
    assert rows[11, "global", "store"].ratio == 1
    assert rows[14, "global", "load"].ratio == 1 and rows[14, "global", "load"].per_request == 16
    with sim.report() as other:
        pass
    assert other.rows == []


def test_trace():
    module = compile_module(TRANSPOSE.replace("PAD", "1"), "transpose.cu")
    x, y = to_device(np.arange(64 * 64, dtype="f4")), empty(64 * 64)
    with sim.trace(block=(1, 0, 0)) as trace:
        launch(module, "transpose", (2, 2), (32, 32), x, y, np.int32(64))
    assert len(trace) == 5 * 1024
    load, store, barrier, load_shared, store_global = trace.of((3, 2, 0), (1, 0, 0))
    assert [e.kind for e in (load, store, barrier, load_shared, store_global)] == [
        "load",
        "store",
        "barrier",
        "load",
        "store",
    ]
    assert (load.line, load.space, load.bytes, load.array, load.offset) == (4, "global", 4, x.label, 4 * (2 * 64 + 35))
    assert (store.space, store.address) == ("shared", 4 * (2 * 33 + 3)) and barrier.line == 5
    assert load_shared.offset == 4 * (3 * 33 + 2) and store_global.offset == 4 * ((32 + 2) * 64 + 3)
    assert load.site.text == "s[threadIdx.y][threadIdx.x] = x[j * n + i];" and "ld.global" in load.site.instruction
    with sim.trace(limit=10) as short:
        launch(module, "strided", 1, 32, x, y, np.int32(32))
        launch(module, "strided", 1, 32, x, y, np.int32(32))
    assert len(short) == 10 and short.events[0].thread == (0, 0, 0)


def test_trace_can_be_drawn():
    viz = pytest.importorskip("minitorch.viz")
    module = compile_module(TRANSPOSE.replace("PAD", "0"), "transpose.cu")
    with sim.trace(block=(0, 0, 0)) as trace:
        launch(module, "transpose", (1, 1), (32, 32), to_device(np.zeros(1024, "f4")), empty(1024), np.int32(32))
    view = viz.kernel(trace)
    words = str(view)
    assert type(view.threads) is int and view.threads == 1024 and view.svg().count(">warp ") == 256 // 32
    assert "no races" in words and "32 turns instead of 1" in words


def test_memory():
    memory = sim.allocate(1001, "weights")
    assert memory.pointer % 256 == 0 and len(memory.bytes) == 1001
    for dtype in ("f2", "f4", "f8"):
        assert np.isnan(memory.bytes[:1000].view(dtype)).all()
    assert sim.locate(memory.pointer + 40) == ("weights", 40)
    pointer = memory.pointer
    del memory
    gc.collect()
    assert sim.locate(pointer) is None
    with pytest.raises(ValueError, match="no device memory begins"):
        sim.unregister(pointer)
    mine = np.zeros(64, "u1")
    sim.register(mine.ctypes.data, 64, "mine")
    assert sim.locate(mine.ctypes.data + 63) == ("mine", 63) and sim.locate(mine.ctypes.data + 64) is None
    sim.unregister(mine.ctypes.data)
    assert sim.allocate(0).nbytes == 0
    with pytest.raises(ValueError, match="-1"):
        sim.allocate(-1)


def test_memory_owns_cupy_arrays():
    import cupy

    memory = sim.allocate(400)
    array = cupy.ndarray(
        (10, 10), "f4", cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(memory.pointer, 400, memory, 0), 0)
    )
    pointer = memory.pointer
    del memory
    gc.collect()
    assert sim.locate(pointer) is not None and array.T.data.ptr == pointer
    del array
    gc.collect()
    assert sim.locate(pointer) is None


def test_tensor_map_refuses_what_the_driver_refuses():
    good = dict(pointer=4096, itemsize=2, shape=(64, 8), strides=(128,), box=(64, 8))
    assert len(sim.tensor_map(**good)) == 128
    for change, match in (
        (dict(pointer=4100), "multiple of 16"),
        (dict(strides=(100,)), "strides"),
        (dict(box=(64, 300)), "1 to 256"),
        (dict(box=(65, 8)), "multiple of 16 bytes"),
        (dict(box=(128, 8)), "fit the swizzle"),
        (dict(shape=(64,)), "as many"),
        (dict(swizzle=100), "swizzle is"),
    ):
        with pytest.raises(sim.BadLaunch, match=match):
            sim.tensor_map(**{**good, **change})


KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = threadIdx.x + %d; }'
CHILD = """
import sys; sys.path.insert(0, {root!r})
from tests.backends.sim.harness import *
x = empty(32)
launch(compile_module({source!r}, "race.cu"), "k", 1, 32, x)
assert values(x)[3] == 8
"""


def test_processes_may_build_at_once(tmp_path):
    code = CHILD.format(root=str(ROOT), source=KERNEL % 5)
    environment = {**os.environ, "MINITORCH_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    (tmp_path / "cache" / "sim").mkdir(parents=True)
    for file in (build.runtime_library(), checksum_of(build.runtime_library())):  # it takes seconds to build
        shutil.copy(file, tmp_path / "cache" / "sim")
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE) for _ in range(2)
    ]
    assert [p.communicate()[1].decode() for p in running] == ["", ""]
    left = sorted(p.name for p in (tmp_path / "cache" / "sim").iterdir())
    assert not any(name.startswith("build-") for name in left) and sum(name.endswith(".json") for name in left) == 1


def test_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    build.compiler.cache_clear()
    try:
        with pytest.raises(sim.Missing, match=r"needs g\+\+ .* apt install g\+\+"):
            build.compiler()
    finally:
        monkeypatch.undo()
        build.compiler.cache_clear()


def test_ptx_without_lines():
    module = compile_module(KERNEL % 1, "lines.cu")
    assert module.entries["k"].max_threads == 0
    ptx = """
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry f(.param .u64 p)
        {
            .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [p];
            st.global.u32 [%rd1+64], 5;
            ret;
        }"""
    bare = sim.load(ptx)
    x = sim.allocate(64)
    with pytest.raises(sim.OutOfBounds, match=r"the PTX instruction `st.global.u32 \[%rd1\+64\], 5`"):
        bare.launch("f", 1, 1, [np.uint64(x.pointer).tobytes()])
