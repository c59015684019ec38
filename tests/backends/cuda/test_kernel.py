"""The launcher: types, checks, constants, caches; layouts; kernels of your own; what kernels take of a GPU."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.backends.cuda import load_kernel
from minitorch.backends.cuda.arrays.layout import magic, nocopy_strides, plan
from minitorch.backends.cuda.runtime import compile as compiler
from minitorch.backends.cuda.runtime.compile import CompileError
from minitorch.backends.cuda.runtime.kernel import Kernel, parse_signature
from tests.backends.cuda.kernel_checks import DEVICE, DTYPES, device

TWICE = """extern "C" __global__ void twice(T* out, const T* x, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + x[i];
}"""
F = device


def test_signatures():
    first, second, third = parse_signature("T* out, const f32 * x?, i64 n")
    assert (first.name, first.type, first.is_array, first.is_const) == ("out", "T", True, False)
    assert (second.name, second.type, second.is_const, second.is_optional) == ("x", "f32", True, True)
    assert (third.name, third.type, third.is_array) == ("n", "i64", False)
    with pytest.raises(ValueError, match="a kernel's parameter is written as"):
        parse_signature("f32*")


def test_numbers_structs_and_null_pointers():
    source = compiler.with_includes("numbers.cu", """
        struct Pair { int first; double second; };
        extern "C" __global__ void numbers(double* out, const float* x, int a, float b, double c, bool d, long long e,
                                           const __grid_constant__ Pair pair) {
          out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = pair.first; out[6] = pair.second;
          out[7] = x == nullptr ? -1 : x[0] * SCALE;
        }""")
    kernel = Kernel(source, "numbers", "f64* out, const f32* x?, i32 a, f32 b, f64 c, bool d, i64 e, Pair pair")
    record = np.array((3, 0.25), np.dtype([("first", "i4"), ("second", "f8")], align=True))
    out = F.empty((8,), np.dtype("f8"))
    kernel(F.machine, 1, 1, out, None, -7, 0.1, 0.1, True, 2**40, record, SCALE=2)
    assert F.to_host(out).tolist() == [-7, float(np.float32(0.1)), 0.1, 1, 2**40, 3, 0.25, -1]
    kernel(F.machine, 1, 1, out, F.from_host(np.float32([4])), 0, 0, 0, False, 0, record, SCALE=3)
    assert F.to_host(out)[7] == 12
    with pytest.raises(TypeError, match="a struct is passed as a NumPy record"):
        kernel(F.machine, 1, 1, out, None, 0, 0, 0, False, 0, 5, SCALE=3)


def test_types_follow_the_arrays():
    kernel = Kernel(compiler.with_includes("twice.cu", TWICE), "twice", "T* out, const T* x, i64 n")
    for dtype in ("f4", "f8", "i1", "i8", "f2"):
        x = np.arange(10).astype(dtype)
        out = F.empty(x.shape, x.dtype)
        kernel(F.machine, 1, 32, out, F.from_host(x), 10)
        np.testing.assert_array_equal(F.to_host(out), x + x)
    assert len(kernel.ready) == 5


def test_wrong_calls():
    twice = load_kernel(TWICE, "twice", "T* out, const T* x, i64 n")
    x = minitorch.arange(8.0, device=DEVICE)
    out = minitorch.zeros_like(x)
    for call, error, words in (
            (lambda: twice(1, 32, out, x), TypeError, "takes 3 arguments .out, x, n., got 2"),
            (lambda: twice(1, 32, out, x.double(), 8), TypeError, "x must be float32.*got float64"),
            (lambda: twice(1, 32, out, x.cpu(), 8), RuntimeError, "x is on cpu, the kernel runs on"),
            (lambda: twice(1, 32, out, None, 8), TypeError, "x must be an array on the device, got NoneType"),
            (lambda: twice(1, 32, x.cpu(), x.cpu(), 8), RuntimeError, "runs on device 'cuda' or 'sim'"),
            (lambda: twice(1, 2048, out, x, 8), ValueError, "a block has 1 to 1024 threads"),
            (lambda: twice((1, 1, 70000), 32, out, x, 8), ValueError, "a grid at most"),
            (lambda: twice(1, 32, out.cfloat(), x.cfloat(), 8), TypeError, "complex64, for which there are no")):
        with pytest.raises(error, match=words):
            call()
    twice(0, 32, out, x, 8)                                # no blocks: nothing happens
    assert out.tolist() == [0] * 8


def test_your_own_kernel(tmp_path):
    path = tmp_path / "twice.cu"
    path.write_text(TWICE)
    twice = load_kernel(path, "twice", "T* out, const T* x, i64 n")
    x = minitorch.arange(1000.0, device=DEVICE)
    out = minitorch.empty_like(x)
    before = out._version
    twice(4, 256, out, x, 1000)
    assert (out == 2 * x).all() and out._version == before + 1 and x._version == 0
    assert twice.resources("90", ["float32"]).spills == 0
    with pytest.raises(CompileError, match="twice.cu.*\n.*identifier \"y\" is undefined"):
        load_kernel(TWICE.replace("+ x[i]", "+ y[i]"), "twice", "T* out, const T* x, i64 n")(1, 32, out, x, 1)


@pytest.mark.skipif(DEVICE != "sim", reason="only the simulator sees every access")
def test_the_simulator_explains_your_kernel():
    from minitorch.backends.sim import OutOfBounds
    twice = load_kernel(TWICE, "twice", "T* out, const T* x, i64 n")
    x = minitorch.arange(1000.0, device=DEVICE)
    out = minitorch.empty_like(x)
    with pytest.raises(OutOfBounds, match=r"twice.*\n.*twice.cu:3(.|\n)*out\[i\] = x\[i\]"):
        twice(4, 256, out, x, 1024)
    assert out.tolist()[:3] == [0, 2, 4]                   # the process, and the memory, can go on
    report = str(twice.report(4, 256, out, x, 1000))
    assert "global load" in report and "1.00x" in report


def test_an_overwritten_tensor_is_noticed():
    twice = load_kernel(TWICE, "twice", "T* out, const T* x, i64 n")
    x = minitorch.ones(4, device=DEVICE, requires_grad=True)
    y = x * 2
    z = y * y
    twice(1, 32, y.detach(), x.detach(), 4)
    with pytest.raises(RuntimeError, match="kernel twice"):
        z.sum().backward()


# ---- layouts -------------------------------------------------------------------------------------------------
@settings(max_examples=300, deadline=None)
@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_division_by_multiplication(divisor, n):
    m, shift = magic(divisor)
    assert (((n * m) >> 32) + n & 0xFFFFFFFF) >> shift == n // divisor


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.permutations(range(12)), st.integers(0, 3))
def test_a_plan_visits_each_element_once(shape, order, sliced):
    """The places in a plan's launches are those of a permuted, sliced array, in any number of dimensions."""
    order = [d for d in order if d < len(shape)]
    parent = np.arange(math.prod(shape) << 1).reshape(*shape[:-1], shape[-1] * 2)
    view = parent[..., sliced % 2:sliced % 2 + shape[-1]].transpose(order)
    _, pieces = plan(view.shape, (view.strides,), (8,), 1)
    found = []
    for (offset,), record, size in pieces:
        dims = int(record["dims"])
        index = np.unravel_index(np.arange(size), record["shape"][:dims])
        found.append(offset + sum(i * s for i, s in zip(index, record["strides"][0, :dims].tolist())))
    assert np.array_equal(np.sort(np.concatenate(found) + sliced % 2), np.sort(view, None))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_views_of_another_shape(shape, random):
    from minitorch.testing.strategies import Draw
    d = Draw(random)
    x = np.arange(math.prod(shape) * 2).reshape(*shape, 2)[..., d.choice([slice(None), slice(0, 1)])]
    x = x.transpose(sorted(range(x.ndim), key=lambda _: d.int(0, 9)))
    new, left = [], x.size
    while left > 1:
        new.append(d.choice([n for n in range(2, left + 1) if left % n == 0]))
        left //= new[-1]
    found = nocopy_strides(x.shape, x.strides, tuple(new))
    wanted = x.reshape(new)
    if found is None:
        assert not np.shares_memory(wanted, x)
    else:
        assert np.array_equal(np.lib.stride_tricks.as_strided(x, new, found), wanted)


def test_more_than_2_to_the_31_elements():
    """Cut along the first dimension so that each launch counts in 32 bits; offsets in 64."""
    _, pieces = plan((3, 2**30 + 8), ((2**34, 4), (0, 4)), (4, 4), 4)
    assert sum(int(record["size"]) * 4 for _, record, _ in pieces) == 3 * (2**30 + 8)
    assert [offsets for offsets, _, _ in pieces] == [[k * 2**32, 0] for k in range(len(pieces))]


# ---- what kernels take ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("arch", ["80", "90", "100"])
def test_resources(arch):
    from minitorch.backends.cuda.arrays.copy import TRANSPOSE
    from minitorch.backends.cuda.arrays.launch import MAPS
    from minitorch.backends.cuda.arrays.reduce import COLUMNS, ROWS
    f32, bf16 = DTYPES["f32"], DTYPES["bf16"]
    cases = [(MAPS[2][1], dict(OP="add", ARITY=2, FLAT=1, VECTOR=4, T=f32, U=f32, V=f32)),
             (MAPS[1][1], dict(OP="gelu", ARITY=1, FLAT=1, VECTOR=8, T=bf16, U=bf16)),
             (MAPS[3][0], dict(OP="where", ARITY=3, VECTOR=4, T=f32, U=f32, V=np.dtype("?"))),
             (TRANSPOSE, dict(VECTOR=4, TRANSPOSE=1, T=np.dtype("u4")))]
    both = dict(FIRST=1, LAST=1, T=f32, U=f32)
    cases += [(ROWS, dict(OP=op, ROWS=1, DENSE=1, VECTOR=4, BLOCK=1, **both)) for op in ("total", "variance")]
    cases += [(COLUMNS, dict(OP="total", COLUMNS=1, VECTOR=4, **both))]
    for kernel, constants in cases:
        found = kernel.resources(arch, **constants)
        assert found.spills == 0 and found.stack == 0, (kernel, constants, found)
        assert found.registers <= 64 and found.shared <= 48 << 10, (kernel, constants, found)


def test_the_cache_has_a_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MINITORCH_CACHE", str(tmp_path))
    source = compiler.with_includes("empty.cu", 'extern "C" __global__ void empty() {}')
    for form in ("ptx", "cubin"):
        path = compiler.compile_source(source, (), "90", form)
        assert path.parent == tmp_path / "kernels" and path.stat().st_size > 0
    written = path.stat().st_mtime_ns
    compiler.compile_source.cache_clear()
    assert compiler.compile_source(source, (), "90", "cubin") == path and path.stat().st_mtime_ns == written
