"""Conformance: memory, atomics, warps, blocks, tensor cores, device functions: kernels written out.

Each takes its inputs, then ``out`` and the number of its elements.
"""

import numpy as np

from .conformance import CASES, custom, to_bf16

HEAD = 'extern "C" __global__ void '


def define():
    rng = np.random.default_rng(7)
    memory(rng)
    functions(rng)
    atomics(rng)
    warps(rng)
    blocks(rng)
    matrices(rng)
    copies(rng)


def f32(rng, *shape):
    return rng.standard_normal(shape).astype("f4")


def memory(rng):
    x = f32(rng, 256)
    custom("vector_loads", HEAD + "vector_loads(const float4* x, float2* out, int n) { int i = threadIdx.x; float4 v = x[i]; "
           "out[2 * i] = make_float2(v.w, v.z); out[2 * i + 1] = make_float2(v.y, v.x); }",
           (x,), x.reshape(64, 4)[:, ::-1].ravel(), block=64)
    bytes_ = rng.integers(-128, 128, 256).astype("i1")
    custom("byte_vectors", HEAD + "byte_vectors(const char4* x, short4* out, int n) { char4 v = x[threadIdx.x]; "
           "out[threadIdx.x] = make_short4(v.x, v.y, v.z * 2, v.w); }", (bytes_,),
           (bytes_.reshape(64, 4).astype("i2") * np.array([1, 1, 2, 1], "i2")).ravel(), block=64)
    d = rng.standard_normal(128)
    custom("double_vectors", HEAD + "double_vectors(const double2* x, double* out, int n) { double2 v = __ldg(x + threadIdx.x); "
           "out[threadIdx.x] = v.x - v.y; }", (d,), d[::2] - d[1::2], block=64)
    custom("bool_bytes", HEAD + "bool_bytes(const bool* x, const unsigned char* y, bool* out, int n) { int i = threadIdx.x; out[i] = x[i] != (y[i] > 100); }",
           (bytes_ > 0, bytes_.view("u1")), (bytes_ > 0) != (bytes_.view("u1") > 100), block=256)
    custom("constants", "__constant__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};\n__device__ int offsets[4] = {3, 1, 2, 0};\n" + HEAD +
           "constants(float* out, int n) { out[threadIdx.x] = table[threadIdx.x & 7] + offsets[threadIdx.x & 3]; }", (),
           (2.0 ** (np.arange(64) & 7) + np.array([3, 1, 2, 0])[np.arange(64) & 3]).astype("f4"), block=64)
    custom("local_array", HEAD + "local_array(const float* x, float* out, int n) { float a[16]; for (int k = 0; k < 16; k++) a[(k * 5) & 15] = x[k] * threadIdx.x; "
           "float s = 0; for (int k = 0; k < n; k++) s += a[(k + threadIdx.x) & 15] * k; out[threadIdx.x] = s; }", (x[:16],),
           local_array(x[:16]), block=32, ulps=40, atol=1e-3)
    custom("shared_static_and_dynamic", HEAD + "shared_static_and_dynamic(const int* x, int* out, int n) { __shared__ int a[64]; __shared__ char c[3]; "
           "extern __shared__ int b[]; int i = threadIdx.x; a[i] = x[i]; b[63 - i] = 2 * x[i]; if (i < 3) c[i] = i; __syncthreads(); "
           "out[i] = a[(i + 1) & 63] + b[i] + c[i % 3]; }", (np.arange(64, dtype="i4"),),
           ((np.arange(64) + 1) % 64 + 2 * (63 - np.arange(64)) + np.arange(64) % 3).astype("i4"), block=64, shared=256)
    custom("special_registers", HEAD + "special_registers(unsigned* out, int n) { unsigned b = blockIdx.x + gridDim.x * blockIdx.y, "
           "t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), lane, below; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(lane)); "
           "asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(below)); out[b * 60 + t] = b * 1000 + t + (lane == (t & 31)) * 100000 + (__popc(below) == lane) * 200000; }",
           (), np.array([b * 1000 + t + 300000 for b in range(6) for t in range(60)], "u4"), grid=(2, 3), block=(5, 4, 3))


def local_array(x):
    out = []
    for t in range(32):
        a = np.zeros(16)
        for k in range(16):
            a[(k * 5) & 15] = np.float64(x[k]) * t
        out.append(sum(a[(k + t) & 15] * k for k in range(32)))
    return np.array(out, "f4")


def functions(rng):
    x = np.arange(64, dtype="i4")
    custom("device_function", "__device__ __noinline__ int collatz(int n, int* steps) { *steps = 0; while (n > 1) { n = n & 1 ? 3 * n + 1 : n / 2; ++*steps; } return n; }\n"
           + HEAD + "device_function(const int* x, int* out, int n) { int s; int r = collatz(x[threadIdx.x], &s); out[threadIdx.x] = 1000 * r + s; }",
           (x,), np.array([1000 * min(v, 1) + collatz(v) for v in range(64)], "i4"), block=64)
    custom("recursion", "__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n" + HEAD +
           "recursion(int* out, int n) { out[threadIdx.x] = fib(threadIdx.x); }", (), np.array([0, 1, 1, 2, 3, 5, 8, 13], "i4"), block=8)
    custom("struct_by_value", "struct Pair { double a; short b; float c[3]; };\n__device__ __noinline__ Pair twice(Pair p) { p.a *= 2; p.b *= 2; p.c[1] *= 2; return p; }\n"
           + HEAD + "struct_by_value(const float* x, float* out, int n) { Pair p = {x[0], 3, {x[1], x[2], x[3]}}; p = twice(p); out[threadIdx.x] = "
           "p.a + p.b + p.c[threadIdx.x]; }", (f32(rng, 4) * 0 + 1,), np.array([9, 10, 9], "f4"), block=3)
    custom("switches", HEAD + "switches(int* out, int n) { int t = threadIdx.x, r; switch (t % 7) { case 0: r = 5; break; case 1: r = t; break; case 2: r = -t; break; "
           "case 3: r = t * t; break; case 4: r = 1; break; case 5: r = t / 2; break; default: r = 9; } out[t] = r; }", (),
           np.array([[5, t, -t, t * t, 1, t // 2, 9][t % 7] for t in range(64)], "i4"), block=64)


def collatz(n):
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
    return steps


ATOMICS = {"add": ("atomicAdd", np.add.reduce), "min": ("atomicMin", np.min), "max": ("atomicMax", np.max), "and": ("atomicAnd", np.bitwise_and.reduce),
           "or": ("atomicOr", np.bitwise_or.reduce), "xor": ("atomicXor", np.bitwise_xor.reduce)}


def atomics(rng):
    for c_type, dtype in (("int", "i4"), ("unsigned", "u4"), ("long long", "i8"), ("unsigned long long", "u8")):
        x = rng.integers(0 if dtype[0] == "u" else -1000, 1000, 256).astype(dtype)
        for name, (function, f) in ATOMICS.items():
            if c_type == "long long" and name == "add":
                continue
            label = f"atomic_{name}_{dtype}"
            start = {"min": 2000, "and": -1}.get(name, 0)
            custom(label, f"{HEAD}{label}(const {c_type}* x, {c_type}* out, int n) {{ __shared__ {c_type} s; if (threadIdx.x == 0) {{ s = ({c_type}){start}; "
                   f"out[0] = ({c_type}){start}; }} __syncthreads(); {function}(&s, x[threadIdx.x]); {function}(out, x[threadIdx.x]); __syncthreads(); "
                   "if (threadIdx.x == 0) out[1] = s; }", (x,),
                   np.full(2, f(np.append(x, np.array([start]).astype(dtype))), dtype), block=256)
    for c_type, dtype in (("float", "f4"), ("double", "f8")):
        x = rng.integers(-50, 50, 256).astype(dtype)
        custom(f"atomic_add_{dtype}", f"{HEAD}atomic_add_{dtype}(const {c_type}* x, {c_type}* out, int n) {{ if (threadIdx.x == 0) out[0] = 0; __syncthreads(); "
               "atomicAdd(out, x[threadIdx.x]); }", (x,), x.sum(keepdims=True), block=256)
    for c_type, convert, dtype in (("__half", "__float2half", "f2"), ("__nv_bfloat16", "__float2bfloat16", "u2")):
        label, two = f"atomic_add_{c_type.strip('_')}", c_type + "2" if c_type == "__half" else "__nv_bfloat162"
        want = np.array([64, 96], "f4")
        custom(label, f"{HEAD}{label}({c_type}* out, int n) {{ if (threadIdx.x == 0) out[0] = out[1] = {convert}(0.f); __syncthreads(); "
               f"atomicAdd(({two}*)out, {two}({convert}(1.f), {convert}(2.f))); if (threadIdx.x < 32) atomicAdd(out, {convert}(1.f)); "
               f"__syncthreads(); if (threadIdx.x < 32) atomicAdd(out + 1, {convert}(1.f)); }}", (),
               np.array([64, 96]).astype("f2") if dtype == "f2" else to_bf16(want), block=32)
    custom("atomic_exchange", HEAD + "atomic_exchange(int* out, int n) { if (threadIdx.x == 0) out[0] = 7; __syncthreads(); if (threadIdx.x == 5) out[1] = atomicExch(out, 9); "
           "__syncthreads(); if (threadIdx.x == 6) { out[2] = atomicCAS(out, 9, 11); out[3] = atomicCAS(out, 9, 12); } __syncthreads(); "
           "if (threadIdx.x == 7) { out[4] = atomicInc((unsigned*)out, 20); out[5] = atomicDec((unsigned*)out, 5); } }",
           (), np.array([5, 7, 9, 11, 11, 12], "i4"), block=32)
    custom("atomic_max_by_cas", "__device__ void grow(float* p, float v) { int old = __float_as_int(*(volatile float*)p), seen; do { seen = old; "
           "if (__int_as_float(seen) >= v) return; old = atomicCAS((int*)p, seen, __float_as_int(v)); } while (old != seen); }\n" + HEAD +
           "atomic_max_by_cas(float* out, int n) { __shared__ float s; if (threadIdx.x == 0) s = 0; __syncthreads(); "
           "for (int t = 0; t < 32; t++) { if (threadIdx.x == t) grow(&s, (t * 7) % 32); __syncwarp(); } out[threadIdx.x] = s; }", (), np.full(32, 31, "f4"), block=32)
    custom("atomic_cas_64", HEAD + "atomic_cas_64(unsigned long long* out, int n) { out[threadIdx.x] = threadIdx.x; unsigned long long old = "
           "atomicCAS(out + threadIdx.x, 3ull, 1ull << 40); out[threadIdx.x] += old; }", (),
           np.array([2 * t if t != 3 else (1 << 40) + 3 for t in range(32)], "u8"), block=32)


def warps(rng):
    lane = np.arange(32)
    x = rng.integers(-100, 100, 32).astype("i4")
    for name, call, source in (("idx", "__shfl_sync(~0u, x[t], t * 3)", lane * 3 % 32), ("up", "__shfl_up_sync(~0u, x[t], 5)", np.where(lane < 5, lane, lane - 5)),
                               ("down", "__shfl_down_sync(~0u, x[t], 7)", np.where(lane > 24, lane, lane + 7)), ("xor", "__shfl_xor_sync(~0u, x[t], 9)", lane ^ 9),
                               ("idx8", "__shfl_sync(~0u, x[t], t + 3, 8)", lane // 8 * 8 + (lane + 3) % 8),
                               ("up16", "__shfl_up_sync(~0u, x[t], 3, 16)", np.where(lane % 16 < 3, lane, lane - 3)),
                               ("down4", "__shfl_down_sync(~0u, x[t], 2, 4)", np.where(lane % 4 > 1, lane, lane + 2)),
                               ("xor32_in_8", "__shfl_xor_sync(~0u, x[t], 5, 8)", lane ^ 5)):
        custom(f"shuffle_{name}", f"{HEAD}shuffle_{name}(const int* x, int* out, int n) {{ int t = threadIdx.x; out[t] = {call}; }}", (x,), x[source], block=32)
    d = rng.standard_normal(32)
    custom("shuffle_double", HEAD + "shuffle_double(const double* x, double* out, int n) { out[threadIdx.x] = __shfl_xor_sync(~0u, x[threadIdx.x], 1); }",
           (d,), d[lane ^ 1], block=32)
    half = "if (threadIdx.x < 16) "
    custom("partial_mask", f"{HEAD}partial_mask(const int* x, int* out, int n) {{ int t = threadIdx.x, v = x[t]; {half}v = __shfl_xor_sync(0xffffu, v, 15); "
           "out[t] = v; }", (x,), np.where(lane < 16, x[lane ^ 15], x), block=32)
    custom("votes", HEAD + "votes(const int* x, int* out, int n) { int t = threadIdx.x; bool p = x[t] > 0; out[t] = (int)__ballot_sync(~0u, p) ^ "
           "(__any_sync(~0u, x[t] > 1000) ? 1 : 0) ^ (__all_sync(~0u, x[t] > -1000) ? 2 : 0); }", (x,),
           np.full(32, np.array(sum(1 << i for i in range(32) if x[i] > 0), "u4").view("i4") ^ 2), block=32)
    custom("match", HEAD + "match(const int* x, unsigned* out, int n) { int p; out[threadIdx.x] = __match_any_sync(~0u, x[threadIdx.x] & 3); "
           "out[threadIdx.x] += __match_all_sync(~0u, 5, &p) + p; }", (x,),
           np.array([(sum(1 << j for j in lane if x[j] & 3 == x[i] & 3) + 0xFFFFFFFF + 1) & 0xFFFFFFFF for i in lane], "u4"), block=32)
    for name, f in (("add", np.add.reduce), ("min", np.min), ("max", np.max)):
        custom(f"reduce_{name}", f"{HEAD}reduce_{name}(const int* x, int* out, int n) {{ out[threadIdx.x] = __reduce_{name}_sync(~0u, x[threadIdx.x]); }}",
               (x,), np.full(32, f(x), "i4"), block=32)
    u = x.view("u4")
    custom("reduce_bits", HEAD + "reduce_bits(const unsigned* x, unsigned* out, int n) { unsigned v = x[threadIdx.x]; out[threadIdx.x] = "
           "__reduce_and_sync(~0u, v) * 3 + __reduce_or_sync(~0u, v) * 5 + __reduce_xor_sync(~0u, v) * 7 + __reduce_max_sync(~0u, v); }", (x.view("u4"),),
           np.full(32, (3 * int(np.bitwise_and.reduce(u)) + 5 * int(np.bitwise_or.reduce(u)) + 7 * int(np.bitwise_xor.reduce(u)) + int(u.max()))
                   & 0xFFFFFFFF, "u4"), block=32)
    custom("elect", HEAD + 'elect(unsigned* out, int n) { unsigned r, p; asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" '
           ': "=r"(r), "=r"(p)); out[threadIdx.x] = r * 10 + p + __activemask() % 7; }', (), (lane == 0).astype("u4") + 0xFFFFFFFF % 7, block=32)
    custom("warp_sum", HEAD + "warp_sum(const int* x, int* out, int n) { int v = x[threadIdx.x]; for (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k); "
           "if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v; }", (np.arange(96, dtype="i4"),), np.arange(96).reshape(3, 32).sum(1).astype("i4"), block=96)


def blocks(rng):
    x = rng.integers(0, 2, 128).astype("i4")
    custom("barrier_reductions", HEAD + "barrier_reductions(const int* x, int* out, int n) { int p = x[threadIdx.x], a = __syncthreads_count(p), b = __syncthreads_and(p), "
           "c = __syncthreads_or(p); out[threadIdx.x] = 100 * a + 10 * (b != 0) + (c != 0); }", (x,), np.full(128, 100 * x.sum() + 1, "i4"), block=128)
    custom("named_barriers", HEAD + "named_barriers(int* out, int n) { __shared__ int s[128]; int t = threadIdx.x, half = t / 64; s[t] = t; "
           'asm volatile("bar.sync %0, 64;" :: "r"(half + 1) : "memory"); out[t] = s[half * 64 + 63 - t % 64]; }', (),
           (np.arange(128) // 64 * 64 + 63 - np.arange(128) % 64).astype("i4"), block=128)
    custom("arrive_and_sync", HEAD + "arrive_and_sync(int* out, int n) { __shared__ int s[32]; int t = threadIdx.x; if (t < 32) { s[t] = 3 * t; "
           'asm volatile("bar.arrive 1, 64;" ::: "memory"); } else { asm volatile("bar.sync 1, 64;" ::: "memory"); out[t - 32] = s[t - 32]; } }', (),
           (3 * np.arange(32)).astype("i4"), block=64)
    custom("last_block", "__device__ unsigned arrived;\n" + HEAD + "last_block(const int* x, int* out, int n) { __shared__ bool last; int t = threadIdx.x, b = blockIdx.x; "
           "if (t == 0) { int s = 0; for (int k = 0; k < 32; k++) s += x[32 * b + k]; out[1 + b] = s; __threadfence(); "
           "last = atomicAdd(&arrived, 1) == gridDim.x - 1; } __syncthreads(); if (last && t == 0) { __threadfence(); int s = 0; "
           "for (int k = 0; k < gridDim.x; k++) s += ((volatile int*)out)[1 + k]; out[0] = s; arrived = 0; } }", (x,),
           np.array([x.sum(), *x.reshape(4, 32).sum(1)], "i4"), grid=4, block=32)


MMA = """__device__ __forceinline__ unsigned word(const void* p, int i) { return ((const unsigned*)p)[i]; }
"""


def matrices(rng):
    for name, element, k, half_result in (("f16", "f16", 16, False), ("f16_k8", "f16", 8, False), ("bf16", "bf16", 16, False), ("bf16_k8", "bf16", 8, False),
                                          ("tf32", "tf32", 8, False), ("tf32_k4", "tf32", 4, False), ("f16_f16", "f16", 16, True),
                                          ("s8", "s8", 32, False), ("u8_k16", "u8", 16, False)):
        mma(rng, name, element, k, half_result)
    x = rng.integers(0, 1000, (32, 8)).astype("u2")
    for count in (1, 2, 4):
        for transposed in (False, True):
            ldmatrix(x, count, transposed)
    tiles = x.reshape(4, 8, 8)
    stored = 'asm volatile("stmatrix.sync.aligned.m8n8.x4{t}.shared.b16 [%0], {{%1, %2, %3, %4}};" :: "r"(a), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");'
    for label, t in (("stmatrix", ""), ("stmatrix_transposed", ".trans")):
        custom(label, HEAD + f"{label}(const unsigned* x, unsigned* out, int n) {{ __shared__ __align__(16) unsigned s[128]; int t = threadIdx.x; unsigned v[4], "
               "a = __cvta_generic_to_shared(s + t * 4); for (int m = 0; m < 4; m++) v[m] = x[m * 32 + t]; " + stored.format(t=t) +
               " __syncwarp(); for (int m = 0; m < 4; m++) out[m * 32 + t] = s[m * 32 + t]; }", (x.view("u4"),),
               (tiles if not t else tiles.transpose(0, 2, 1)).copy().view("u4").ravel(), block=32)
    custom("movmatrix", HEAD + 'movmatrix(const unsigned* x, unsigned* out, int n) { unsigned r; asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : '
           '"r"(x[threadIdx.x])); out[threadIdx.x] = r; }', (tiles[0].view("u4"),), tiles[0].T.copy().view("u4").ravel(), block=32)


def mma(rng, name, element, k, half_result):
    """D = A B + C from fragments that the kernel reads at the places the PTX ISA gives."""
    per = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}[element]
    integer = element in ("s8", "u8")
    a, b = rng.integers(0 if element == "u8" else -4, 5, (16, k)), rng.integers(0 if element == "u8" else -4, 5, (k, 8))
    c = rng.integers(-9, 9, (16, 8))
    store = {"f16": lambda v: v.astype("f2"), "bf16": lambda v: to_bf16(v.astype("f4")), "tf32": lambda v: v.astype("f4"), "s8": lambda v: v.astype("i1"),
             "u8": lambda v: v.astype("u1")}[element]
    result = np.dtype("i4" if integer else "f2" if half_result else "f4")
    n_a, n_b, n_c = k // (2 * per), k // (4 * per), 2 if half_result else 4
    code = "s32" if integer else "f16" if half_result else "f32"
    regs = lambda first, n: "{" + ", ".join(f"%{first + i}" for i in range(n)) + "}"
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.{code}.{element}.{element}.{code}"
    outputs = ", ".join(f'"=r"(d[{i}])' for i in range(n_c))
    inputs = ", ".join([f'"r"(a[{i}])' for i in range(n_a)] + [f'"r"(b[{i}])' for i in range(n_b)] + [f'"r"(c[{i}])' for i in range(n_c)])
    text = f"{opcode} {regs(0, n_c)}, {regs(n_c, n_a)}, {regs(n_c + n_a, n_b)}, {regs(n_c + n_a + n_b, n_c)};"
    row_words, c_words = k // per, 4 if half_result else 8
    body = (f"int t = threadIdx.x & 3, g = threadIdx.x >> 2; unsigned a[4], b[2], c[4], d[4]; "
            f"for (int r = 0; r < {n_a}; r++) a[r] = x[(g + 8 * (r & 1)) * {row_words} + t + 4 * (r >> 1)]; "
            f"for (int r = 0; r < {n_b}; r++) b[r] = y[g * {row_words} + t + 4 * r]; ")
    if half_result:
        place = f"(g + 8 * r) * {c_words} + t"
    else:
        place = f"(g + 8 * (r >> 1)) * {c_words} + 2 * t + (r & 1)"
    body += f"for (int r = 0; r < {n_c}; r++) c[r] = z[{place}]; asm volatile(\"{text}\" : {outputs} : {inputs}); for (int r = 0; r < {n_c}; r++) out[{place}] = d[r];"
    custom(f"mma_{name}", f"{HEAD}mma_{name}(const unsigned* x, const unsigned* y, const unsigned* z, unsigned* out, int n) {{ {body} }}",
           (store(a), store(b.T.copy()), c.astype(result)), (a @ b + c).astype(result), block=32)


def ldmatrix(x, count, transposed):
    tiles = x.reshape(4, 8, 8)
    name = f"ldmatrix_x{count}{'_transposed' if transposed else ''}"
    outputs = ", ".join(f'"=r"(v[{i}])' for i in range(count))
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16 {{{', '.join(f'%{i}' for i in range(count))}}}, [%{count}];"
    source = (f"{HEAD}{name}(const uint4* x, unsigned* out, int n) {{ __shared__ uint4 s[32]; int t = threadIdx.x; s[t] = x[t]; __syncwarp(); unsigned v[4]; "
              f'asm volatile("{text}" : {outputs} : "r"((unsigned)__cvta_generic_to_shared(s + t)) : "memory"); '
              f"for (int m = 0; m < {count}; m++) out[m * 32 + t] = v[m]; }}")
    source = "" if any(case.name == name for case in CASES) else source
    want = (tiles.transpose(0, 2, 1) if transposed else tiles)[:count].copy().view("u4").ravel()
    custom(name, source, (x,), want, block=32)


def copies(rng):
    x = f32(rng, 256)
    for size, kind in ((4, "ca"), (8, "ca"), (16, "cg")):
        each = size // 4
        custom(f"cp_async_{size}", f"{HEAD}cp_async_{size}(const float* x, float* out, int n) {{ __shared__ __align__(16) float s[{64 * each}]; int t = threadIdx.x; "
               f"unsigned a = __cvta_generic_to_shared(s + t * {each}); int take = t & 1 ? {size} : {size // 2}; "
               f'asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size}, %2;" :: "r"(a), "l"(x + t * {each}), "r"(take) : "memory"); '
               'asm volatile("cp.async.commit_group;" ::: "memory"); asm volatile("cp.async.wait_group 0;" ::: "memory"); __syncthreads(); '
               f"for (int k = 0; k < {each}; k++) out[k * 64 + t] = s[k * 64 + t]; }}", (x[:64 * each],), zero_filled(x[:64 * each], each), block=64)
    custom("mbarrier", HEAD + "mbarrier(const float* x, float* out, int n) { __shared__ __align__(16) float s[256]; __shared__ unsigned long long bar; int t = threadIdx.x; "
           "unsigned b = __cvta_generic_to_shared(&bar), a = __cvta_generic_to_shared(s); "
           'if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory"); __syncthreads(); '
           'if (t == 0) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(b) : "memory"); '
           'asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" :: "r"(a), "l"(x), "r"(b) : "memory"); } '
           'asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" :: "r"(b) : "memory"); '
           "out[t] = s[255 - t]; }", (x,), x[::-1], block=256)
    custom("bulk_store", HEAD + "bulk_store(float* out, int n) { __shared__ __align__(16) float s[64]; int t = threadIdx.x; s[t] = t; "
           'asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads(); if (t == 0) { '
           'asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" :: "l"(out), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory"); '
           'asm volatile("cp.async.bulk.commit_group;" ::: "memory"); asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); } }',
           (), np.arange(64, dtype="f4"), block=64)


def zero_filled(x, each):
    """cp.async that takes half of what it writes where t is even: the rest is zeros."""
    pieces = x.reshape(64, each).copy().view("u1").reshape(64, 4 * each)
    pieces[::2, 2 * each:] = 0
    return pieces.view("f4").ravel()

