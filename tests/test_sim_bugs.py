"""Planted bugs: each is found, as the error it is, at the line it stands on; and correct kernels raise no alarm."""

import ctypes

import numpy as np
import pytest

from sim.harness import compile_module, empty, launch, sim, to_device, values

N = 256

# name: (kernel after `extern "C" __global__ void name`, grid, block, extra scalar or None, shared, error). "// here" marks
# the line that the message must name.
BUGS = {
    "missing_barrier": ("(float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t];\n"
                        "y[t] = s[255 - t]; }  // here", 1, 256, 0, sim.Race),
    "missing_barrier_one_way": ("(float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t];\n"
                                "y[t] = s[t ? t - 1 : 0]; }  // here", 1, 256, 0, sim.Race),
    "missing_second_barrier": ("(float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; float v = 0;\n"
                               "for (int k = 0; k < 3; k++) {\n s[t] = x[t] + k;  // here\n __syncthreads(); v += s[255 - t]; } y[t] = v; }",
                               1, 256, 0, sim.Race),
    "warp_without_syncwarp": ("(float* x, float* y, int n) { __shared__ float s[32]; int t = threadIdx.x; s[t] = x[t];\n"
                              "if (t < 16) s[t] += s[t + 16];  // here\n y[t] = s[0]; }", 1, 32, 0, sim.Race),
    "shuffle_is_no_barrier": ("(float* x, float* y, int n) { __shared__ float s[32]; int t = threadIdx.x; s[t] = x[t];\n"
                              "float v = __shfl_xor_sync(~0u, s[t], 1);\ny[t] = v + s[31 - t]; }  // here", 1, 32, 0, sim.Race),
    "read_past_end": ("(float* x, float* y, int n) { int t = threadIdx.x; y[t] = x[t + 1]; }  // here", 1, 256, 0, sim.OutOfBounds),
    "write_past_end": ("(float* x, float* y, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; if (t <= n) x[t] = 1; }  // here",
                       2, 256, 0, sim.OutOfBounds),
    "negative_index": ("(float* x, float* y, int n) { x[(int)threadIdx.x - 1] = 1; }  // here", 1, 256, 0, sim.OutOfBounds),
    "null_pointer": ("(float* x, float* y, int n) { float* p = (float*)(long long)(n - 256); p[threadIdx.x] = 1; }  // here", 1, 32, 0, sim.OutOfBounds),
    "wild_pointer": ("(float* x, float* y, int n) { float* p = x + (1ll << 44) * (n > 0); p[threadIdx.x] = 1; }  // here", 1, 32, 0, sim.OutOfBounds),
    "atomic_past_end": ("(float* x, float* y, int n) { atomicAdd(&x[n + threadIdx.x], 1.f); }  // here", 1, 32, 0, sim.OutOfBounds),
    "misaligned_vector": ("(float* x, float* y, int n) { int t = threadIdx.x; float4 v = *(float4*)(x + 1 + t * 4);  // here\n"
                          "y[t] = v.x + v.y + v.z + v.w; }", 1, 16, 0, sim.Misaligned),
    "barrier_in_branch": ("(float* x, float* y, int n) { int t = threadIdx.x; if (t < 100) { x[t] = 1;\n__syncthreads(); }\n"
                          "else { x[t] = 2; __syncthreads(); y[0] = 1; } }", 1, 256, 0, sim.DivergentBarrier),
    "return_before_barrier": ("(float* x, float* y, int n) { int t = threadIdx.x; if (t >= n - 56) return;\n__syncthreads();  // here\nx[t] = 1; }",
                              1, 256, 0, sim.DivergentBarrier),
    "shuffle_after_exit": ("(float* x, float* y, int n) { int t = threadIdx.x; if (t >= n - 206) return; float v = x[t];\n"
                           "v += __shfl_xor_sync(~0u, v, 16);  // here\nx[t] = v; }", 1, 64, 0, sim.DivergentBarrier),
    "shuffle_in_branch": ("(float* x, float* y, int n) { int t = threadIdx.x; float v = x[t]; if (t & 1)\nv += __shfl_xor_sync(~0u, v, 2);\n"
                          "x[t] = v; }", 1, 32, 0, sim.DivergentBarrier),
    "shuffle_from_outside_mask": ("(float* x, float* y, int n) { int t = threadIdx.x; float v = x[t]; if (t < 16)\n"
                                  "v += __shfl_down_sync(0xffffu, v, 8);  // here\nx[t] = v; }", 1, 32, 0, sim.DivergentBarrier),
    "lane_not_in_mask": ("(float* x, float* y, int n) { y[threadIdx.x] = __shfl_sync(0xffu, x[threadIdx.x], 0); }  // here", 1, 32, 0,
                         sim.DivergentBarrier),
    "unwritten_shared": ("(float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; if (t < 128) s[t] = x[t];\n"
                         "__syncthreads();\ny[t] = s[t]; }  // here", 1, 256, 0, sim.Uninitialised),
    "unwritten_global": ("(float* x, float* y, int n) { x[threadIdx.x] += y[threadIdx.x]; }  // here", 1, 32, 0, sim.Uninitialised),
    "atomic_on_unwritten": ("(float* x, float* y, int n) { atomicAdd(y, x[threadIdx.x]); }  // here", 1, 32, 0, sim.Uninitialised),
    "static_shared_overrun": ("(float* x, float* y, int n) { __shared__ float s[8][33]; __shared__ float other[64]; int t = threadIdx.x; other[t & 63] = 0;\n"
                              "s[t / 32][t % 32 + 2 * (t == 255)] = x[t];  // here\n__syncthreads(); y[t] = s[t / 32][t % 32] + other[t & 63]; }",
                              1, 256, 0, sim.OutOfBounds),
    "dynamic_shared_overrun": ("(float* x, float* y, int n) { extern __shared__ float d[];\nd[threadIdx.x] = 1;  // here\n__syncthreads(); "
                               "y[threadIdx.x] = d[255 - threadIdx.x]; }", 1, 256, 1020, sim.OutOfBounds),
    "local_array_overrun": ("(float* x, float* y, int n) { float a[4]; for (int k = 0; k < 4; k++) a[k] = x[k]; float s = 0;\n"
                            "for (int k = 0; k < n; k++) s += a[(k * 3) % 5];\ny[threadIdx.x] = s; }", 1, 32, 0, sim.OutOfBounds),
    "blocks_write_one_cell": ("(float* x, float* y, int n) {\nx[0] += 1; }  // here", 4, 1, 0, sim.Race),
    "scatter_without_atomics": ("(float* x, float* y, int n) { int t = threadIdx.x;\nx[t / 2] += 1; }  // here", 1, 256, 0, sim.Race),
    "reads_what_a_block_wrote": ("(float* x, float* y, int n) {\nif (threadIdx.x == 0) x[blockIdx.x + 1] = x[blockIdx.x] + 2; }  // here", 8, 32, 0,
                                 sim.Race),
    "plain_and_atomic": ("(float* x, float* y, int n) { atomicAdd(x, 1.f);\nif (threadIdx.x == 3) x[0] = 2; }", 1, 32, 0, sim.Race),
    "last_block_without_fence": ("(float* x, float* y, int n) { __shared__ bool last; if (threadIdx.x == 0) { y[blockIdx.x] = x[blockIdx.x]; "
                                 "last = atomicAdd(&count, 1) == 3; } __syncthreads();\n"
                                 "if (last) y[4 + threadIdx.x] = y[threadIdx.x % 4]; }  // here", 4, 32, 0, sim.Race),
    "copy_not_waited_for": ("(float* x, float* y, int n) { __shared__ __align__(16) float s[256]; int t = threadIdx.x;\n"
                            'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)), "l"(x + 4 * t) : "memory");\n'
                            'asm volatile("cp.async.commit_group;"); __syncthreads();\ny[t] = s[t]; }  // here', 1, 64, 0, sim.Race),
    "copy_waited_for_but_no_barrier": ("(float* x, float* y, int n) { __shared__ __align__(16) float s[256]; int t = threadIdx.x;\n"
                                       'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)), "l"(x + 4 * t) : "memory");\n'
                                       'asm volatile("cp.async.wait_all;" ::: "memory");\ny[t] = s[255 - t]; }  // here', 1, 64, 0, sim.Race),
    "waits_for_too_few": ("(float* x, float* y, int n) { int t = threadIdx.x; if (t < 32)\n"
                          '{ asm volatile("bar.sync 1, 96;" ::: "memory"); }\nx[t] = 1; }', 1, 64, 0, sim.Deadlock),
    "barrier_and_warp_wait_crosswise": ("(float* x, float* y, int n) { int t = threadIdx.x; if (t < 16)\n__syncthreads();\n"
                                        "else __syncwarp(); x[t] = 1; }", 1, 32, 0, sim.Deadlock),
    "endless_loop": ("(float* x, float* y, int n) { volatile float* p = x;\nwhile (p[0] >= 0) p[1] = 2; }  // here", 1, 1, 0, sim.Deadlock),
    "assertion": ("(float* x, float* y, int n) {\nassert(x[threadIdx.x] < 30); }  // here", 1, 32, 0, sim.Trap),
    "trap": ("(float* x, float* y, int n) {\nif (x[threadIdx.x] > 20) __trap(); }  // here", 1, 32, 0, sim.Trap),
    "writes_a_constant": ('(float* x, float* y, int n) { asm volatile("st.global.f32 [%0], %1;" :: "l"(&table[n & 1]), "f"(x[0])); }  // here', 1, 1, 0, sim.OutOfBounds),
    "stack_overflow": ("(float* x, float* y, int n) { y[0] = deep(n); }", 1, 1, 0, sim.OutOfBounds),
    "mbarrier_not_initialised": ("(float* x, float* y, int n) { __shared__ unsigned long long b;\n"
                                 'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(&b)) : "memory"); }  // here',
                                 1, 32, 0, sim.Uninitialised),
    "too_many_arrivals": ("(float* x, float* y, int n) { __shared__ unsigned long long b; unsigned a = __cvta_generic_to_shared(&b);\n"
                          'if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 6;" :: "r"(a) : "memory"); __syncthreads();\n'
                          'asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared::cta.b64 s, [%0], 4; }" :: "r"(a) : "memory"); }', 1, 32, 0,
                          sim.Deadlock),
}

CORRECT = {
    "reverse_through_shared": ("(float* x, float* y, int n) { __shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[255 - t]; }",
                               1, 256, 0, lambda x: x[::-1]),
    "with_syncwarp": ("(float* x, float* y, int n) { __shared__ float s[32]; int t = threadIdx.x; s[t] = x[t]; __syncwarp(); float v = 0; "
                      "if (t < 16) v = s[t] + s[t + 16]; __syncwarp(); if (t < 16) s[t] = v; __syncwarp(); y[t] = s[t & 15]; }",
                      1, 32, 0, lambda x: (x[:32] + np.roll(x[:32], 16))),
    "atomics_collide": ("(float* x, float* y, int n) { int t = threadIdx.x; y[t] = 0; __syncthreads(); atomicAdd(&y[t / 4], 1.f); }", 1, 256, 0,
                        lambda x: np.where(np.arange(256) < 64, 4, 0)),
    "same_value_twice": ("(float* x, float* y, int n) { int t = threadIdx.x; y[t % 16] = 5; if (t >= 16) y[t] = 5; }", 1, 256, 0, lambda x: 0 * x + 5),
    "bytes_side_by_side": ("(float* x, float* y, int n) { __shared__ char s[256]; int t = threadIdx.x; s[t] = t; __syncthreads(); y[t] = s[t ^ 1]; }", 1, 256, 0,
                           lambda x: (np.arange(256) ^ 1).astype("i1")),
    "global_bytes_side_by_side": ("(float* x, float* y, int n) { int t = threadIdx.x; ((char*)y)[blockIdx.x * 256 + t] = t; }", 4, 256, 0,
                                  lambda x: np.tile(np.arange(256).astype("u1"), 4).view("f4")),
    "named_barrier_pipeline": ("(float* x, float* y, int n) { __shared__ float s[64]; int t = threadIdx.x; for (int k = 0; k < 4; k++) { if (t < 64) { "
                               'if (k) asm volatile("bar.sync 2, 128;" ::: "memory"); s[t] = x[64 * k + t]; asm volatile("bar.arrive 1, 128;" ::: "memory"); } '
                               'else { asm volatile("bar.sync 1, 128;" ::: "memory"); y[64 * k + t - 64] = s[127 - t]; if (k < 3) asm volatile("bar.arrive 2, 128;" ::: "memory"); } } }',
                               1, 128, 0, lambda x: x.reshape(4, 64)[:, ::-1].ravel()),
    "two_consumers_of_an_mbarrier": (
        "(float* x, float* y, int n) { __shared__ float s[32]; __shared__ unsigned long long full, empty; int t = threadIdx.x; "
        "unsigned f = __cvta_generic_to_shared(&full), e = __cvta_generic_to_shared(&empty); "
        'if (t == 0) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(f) : "memory"); '
        'asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(e) : "memory"); } __syncthreads(); '
        "for (int k = 0; k < 8; k++) { if (t < 32) { if (k) WAIT(e, (k - 1) & 1); s[t] = x[32 * k + t]; ARRIVE(f); } "
        "else { WAIT(f, k & 1); float v = s[t & 31]; ARRIVE(e); if (t < 64) y[32 * k + t - 32] = v; } } }", 1, 96, 0, lambda x: x),
    "fenced_last_block": ("(float* x, float* y, int n) { __shared__ bool last; int t = threadIdx.x; y[64 * blockIdx.x + t] = 1; __threadfence(); __syncthreads(); "
                          "if (t == 0) last = atomicAdd(&count, 1) == 3; __syncthreads(); if (last) { float v = 0; __threadfence(); "
                          "for (int b = 0; b < 4; b++) v += y[64 * b + t]; __syncthreads(); y[t] = v; } }", 4, 64, 0, lambda x: np.where(np.arange(256) < 64, 4, 1)),
}

HEAD = """__constant__ float table[2] = {1, 2};
__device__ int count;
__device__ __noinline__ float deep(int n) { volatile float a[64]; for (int k = 0; k < 64; k++) a[k] = n; return n > 1000000 ? 0 : deep(n + 1) + a[n & 63]; }
#define WAIT(bar, phase) asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" :: "r"(bar), "r"(phase) : "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory")
"""
SOURCE = HEAD + "\n".join(f'extern "C" __global__ void {name}{kernel[0]}' for name, kernel in {**BUGS, **CORRECT}.items())


@pytest.fixture(scope="module")
def module():
    return compile_module(SOURCE, "bugs.cu")


def run(module, name, table):
    _, grid, block, shared, _ = table[name]
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    ctypes.memset(module.symbol("count")[0], 0, 4)
    launch(module, name, grid, block, x, y, np.int32(N), shared=shared)
    return values(y)


@pytest.mark.parametrize("order", ["ascending", "descending", "seeded"])
@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(module, name, order):
    error = BUGS[name][4]
    with sim.settings(order=order, time_limit=0.05 if name == "endless_loop" else 60), pytest.raises(error) as raised:
        run(module, name, BUGS)
    assert type(raised.value) is error
    message = str(raised.value)
    assert message.startswith(f"{name}<<<(")
    if "// here" in BUGS[name][0]:
        line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "// here" in text and in_kernel(name, n))
        assert f"bugs.cu:{line}, block (" in message or any(f"bugs.cu:{line}" in str(f.site) for f in raised.value.reports), message
        assert SOURCE.splitlines()[line - 1].strip()[:40] in message


def in_kernel(name, line):
    lines = SOURCE.splitlines()
    start = next(n for n, text in enumerate(lines, 1) if f" void {name}(" in text)
    end = next((n for n, text in enumerate(lines[start:], start + 1) if " void " in text), len(lines) + 1)
    return start <= line < end


@pytest.mark.parametrize("order", ["ascending", "descending", "seeded"])
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm(module, name, order):
    with sim.settings(order=order, seed=3):
        got = run(module, name, CORRECT)
    want = np.asarray(CORRECT[name][4](np.arange(N, dtype="f4")))
    np.testing.assert_array_equal(got[:want.size], want.astype("f4") if want.dtype != "f4" else want)


def test_launch_limits():
    module = compile_module('extern "C" __global__ void __launch_bounds__(128) k(float* x, int n) { __shared__ float s[1000]; s[threadIdx.x] = n; '
                            'x[threadIdx.x] = s[threadIdx.x]; }\nextern "C" __global__ void empty_one(float* x) { }', "limits.cu")
    x = to_device(np.zeros(128, "f4"))
    launch(module, "k", 1, 128, x, np.int32(3))
    np.testing.assert_array_equal(values(x), 3)

    def refused(match, entry, grid, block, *arguments, **options):
        with pytest.raises(sim.BadLaunch, match=match):
            launch(module, entry, grid, block, *arguments, **options)
    refused("__launch_bounds__ allows 128", "k", 1, 256, x, np.int32(1))
    refused("1 to 1024 threads", "empty_one", 1, 2048, x)
    refused("1 to 1024 threads", "empty_one", 1, (2, 2, 128), x)
    refused("1 to 1024 threads", "empty_one", 1, 0, x)
    refused("a grid has", "empty_one", (1, 70000), 32, x)
    refused("a grid has", "empty_one", 0, 32, x)
    refused("takes 2 arguments, got 1", "k", 1, 32, x)
    refused("argument 1 has 8 bytes, the parameter has 4", "k", 1, 32, x, np.float64(1))
    refused("dynamic shared memory, the limit is 49152", "empty_one", 1, 32, x, shared=50000, max_shared=48 << 10)
    refused("4000 static and 230000 dynamic", "k", 1, 32, x, np.int32(1), shared=230000)
    refused("has no kernel 'nope', it has k, empty_one", "nope", 1, 32)


def test_findings_are_data(module):
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    with pytest.raises(sim.OutOfBounds) as raised:
        launch(module, "read_past_end", 1, 256, x, y, np.int32(N))
    finding = raised.value.reports[0]
    assert (finding.block, finding.thread, finding.site.file.endswith("bugs.cu")) == ((0, 0, 0), (255, 0, 0), True)
    assert "offset 1024 of allocation" in finding.message and "ld.global" in finding.site.instruction


def test_checks_can_be_chosen(module):
    with sim.settings(checks=("memory",)):
        assert run(module, "missing_barrier_one_way", BUGS)[5] == 4
    with sim.settings(checks=False):
        run(module, "blocks_write_one_cell", BUGS)
    with pytest.raises(ValueError, match="'random', expected one of ascending"), sim.settings(order="random"):
        run(module, "trap", BUGS)
    with pytest.raises(TypeError, match="settings has no speed"), sim.settings(speed=1):
        pass


def test_printf(module, capsys):
    module = compile_module('extern "C" __global__ void hello(float* x) { printf("%d of %s: %.2f %llx %5.1e|%c%%\\n", threadIdx.x, "two", x[threadIdx.x], 1ull << 40, 1.5, 65); }', "hello.cu")
    launch(module, "hello", 1, 2, to_device(np.array([0.5, 2], "f4")))
    assert capsys.readouterr().out == "0 of two: 0.50 10000000000 1.5e+00|A%\n1 of two: 2.00 10000000000 1.5e+00|A%\n"


def test_unsupported_says_what_and_where():
    source = ('extern "C" __global__ void k(float* x) {\n unsigned r;\n asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));\n x[0] = r; }')
    with pytest.raises(sim.Unsupported, match=r"k: special register %cluster_ctarank, made for .*cluster.cu:3"):
        compile_module(source, "cluster.cu")
    with pytest.raises(sim.Unsupported, match="clusters"):
        compile_module('extern "C" __global__ void __cluster_dims__(2, 1, 1) k(float* x) { x[0] = 1; }', "dims.cu")


def test_damage_is_seen_without_checks(module):
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    with sim.settings(checks=False):
        launch(module, "write_past_end", 2, 256, x, y, np.int32(N))
    assert x.damaged and not y.damaged
