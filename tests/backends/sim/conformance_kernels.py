"""Conformance: memory, atomics, warps, blocks, tensor cores, device functions.

The kernels stand in conformance.cu, or are made here where several follow one pattern. Each takes its inputs, ``out``
and the number of its elements.
"""

import numpy as np

from .conformance import custom, to_bf16

LANE = np.arange(32)


def define():
    rng = np.random.default_rng(7)
    memory(rng)
    functions()
    atomics(rng)
    warps(rng)
    blocks(rng)
    matrices(rng)
    copies(rng)


def kernel(name, parameters, body):
    return f'extern "C" __global__ void {name}({parameters}, int n) {{ int t = threadIdx.x; {body} }}'


def in_file(name, inputs, expected, **attributes):
    """A kernel of conformance.cu."""
    custom(name, "", inputs, expected, **attributes)


def memory(rng):
    x = rng.standard_normal(256).astype("f4")
    in_file("vector_loads", (x,), x.reshape(64, 4)[:, ::-1].ravel(), block=64)
    signed = rng.integers(-128, 128, 256).astype("i1")
    shorts = (signed.reshape(64, 4).astype("i2") * np.array([1, 1, 2, 1], "i2")).ravel()
    in_file("byte_vectors", (signed,), shorts, block=64)
    doubles = rng.standard_normal(128)
    in_file("double_vectors", (doubles,), doubles[::2] - doubles[1::2], block=64)
    in_file("bool_bytes", (signed > 0, signed.view("u1")), (signed > 0) != (signed.view("u1") > 100), block=256)
    t = np.arange(64)
    in_file("constants", (), (2.0 ** (t & 7) + np.array([3, 1, 2, 0])[t & 3]).astype("f4"), block=64)
    in_file("local_array", (x[:16],), local_array(x[:16]), block=32, ulps=40, atol=1e-3)
    in_file(
        "shared_static_and_dynamic",
        (t.astype("i4"),),
        ((t + 1) % 64 + 2 * (63 - t) + t % 3).astype("i4"),
        block=64,
        shared=256,
    )
    in_file(
        "special_registers",
        (),
        np.array([b * 1000 + t + 300000 for b in range(6) for t in range(60)], "u4"),
        grid=(2, 3),
        block=(5, 4, 3),
    )


def local_array(x):
    out = []
    for t in range(32):
        a = np.zeros(16)
        for k in range(16):
            a[(k * 5) & 15] = np.float64(x[k]) * t
        out.append(sum(a[(k + t) & 15] * k for k in range(32)))
    return np.array(out, "f4")


def functions():
    t = np.arange(64, dtype="i4")
    in_file("device_function", (t,), np.array([1000 * min(v, 1) + collatz(v) for v in range(64)], "i4"), block=64)
    in_file("recursion", (), np.array([0, 1, 1, 2, 3, 5, 8, 13], "i4"), block=8)
    in_file("struct_by_value", (np.ones(4, "f4"),), np.array([9, 10, 9], "f4"), block=3)
    cases = [[5, t, -t, t * t, 1, t // 2, 9][t % 7] for t in range(64)]
    in_file("switches", (), np.array(cases, "i4"), block=64)


def collatz(n):
    steps = 0
    while n > 1:
        n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
    return steps


ATOMICS = {
    "add": ("atomicAdd", np.add.reduce),
    "min": ("atomicMin", np.min),
    "max": ("atomicMax", np.max),
    "and": ("atomicAnd", np.bitwise_and.reduce),
    "or": ("atomicOr", np.bitwise_or.reduce),
    "xor": ("atomicXor", np.bitwise_xor.reduce),
}
INTEGERS = {"int": "i4", "unsigned": "u4", "long long": "i8", "unsigned long long": "u8"}


def atomics(rng):
    for c_type, dtype in INTEGERS.items():
        x = rng.integers(0 if dtype[0] == "u" else -1000, 1000, 256).astype(dtype)
        for name, (function, f) in ATOMICS.items():
            if (c_type, name) == ("long long", "add"):  # CUDA has none
                continue
            start = {"min": 2000, "and": -1}.get(name, 0)
            body = (
                f"__shared__ {c_type} s; if (t == 0) s = out[0] = ({c_type}){start}; __syncthreads(); "
                f"{function}(&s, x[t]); {function}(out, x[t]); __syncthreads(); if (t == 0) out[1] = s;"
            )
            label = f"atomic_{name}_{dtype}"
            result = f(np.append(x, np.array([start]).astype(dtype)))
            custom(
                label,
                kernel(label, f"const {c_type}* x, {c_type}* out", body),
                (x,),
                np.full(2, result, dtype),
                block=256,
            )
    for c_type, dtype in (("float", "f4"), ("double", "f8")):
        x = rng.integers(-50, 50, 256).astype(dtype)
        label = f"atomic_add_{dtype}"
        body = "if (t == 0) out[0] = 0; __syncthreads(); atomicAdd(out, x[t]);"
        custom(label, kernel(label, f"const {c_type}* x, {c_type}* out", body), (x,), x.sum(keepdims=True), block=256)
    sums = np.array([64, 96], "f4")
    for c_type, pair, make, want in (
        ("__half", "__half2", "__float2half", sums.astype("f2")),
        ("__nv_bfloat16", "__nv_bfloat162", "__float2bfloat16", to_bf16(sums)),
    ):
        body = (
            f"if (t == 0) out[0] = out[1] = {make}(0.f); __syncthreads(); "
            f"atomicAdd(({pair}*)out, {pair}({make}(1.f), {make}(2.f))); atomicAdd(out, {make}(1.f)); __syncthreads(); "
            f"atomicAdd(out + 1, {make}(1.f));"
        )
        label = f"atomic_add_{c_type.strip('_')}"
        custom(label, kernel(label, f"{c_type}* out", body), (), want, block=32)
    in_file("atomic_exchange", (), np.array([5, 7, 9, 11, 11, 12], "i4"), block=32)
    in_file("atomic_max_by_cas", (), np.full(32, 31, "f4"), block=32)
    in_file("atomic_cas_64", (), np.array([2 * t if t != 3 else (1 << 40) + 3 for t in range(32)], "u8"), block=32)


SHUFFLES = {
    "idx": ("__shfl_sync(~0u, x[t], t * 3)", LANE * 3 % 32),
    "idx8": ("__shfl_sync(~0u, x[t], t + 3, 8)", LANE // 8 * 8 + (LANE + 3) % 8),
    "up": ("__shfl_up_sync(~0u, x[t], 5)", np.where(LANE < 5, LANE, LANE - 5)),
    "up16": ("__shfl_up_sync(~0u, x[t], 3, 16)", np.where(LANE % 16 < 3, LANE, LANE - 3)),
    "down": ("__shfl_down_sync(~0u, x[t], 7)", np.where(LANE > 24, LANE, LANE + 7)),
    "down4": ("__shfl_down_sync(~0u, x[t], 2, 4)", np.where(LANE % 4 > 1, LANE, LANE + 2)),
    "xor": ("__shfl_xor_sync(~0u, x[t], 9)", LANE ^ 9),
    "xor8": ("__shfl_xor_sync(~0u, x[t], 5, 8)", LANE ^ 5),
}


def warps(rng):
    x = rng.integers(-100, 100, 32).astype("i4")
    u = x.view("u4")
    for name, (call, source) in SHUFFLES.items():
        label = f"shuffle_{name}"
        custom(label, kernel(label, "const int* x, int* out", f"out[t] = {call};"), (x,), x[source], block=32)
    doubles = rng.standard_normal(32)
    in_file("shuffle_double", (doubles,), doubles[LANE ^ 1], block=32)
    in_file("partial_mask", (x,), np.where(LANE < 16, x[LANE ^ 15], x), block=32)
    ballot = np.array(sum(1 << i for i in range(32) if x[i] > 0), "u4").view("i4")
    in_file("votes", (x,), np.full(32, ballot ^ 2), block=32)
    alike = [sum(1 << int(j) for j in LANE if x[j] & 3 == x[i] & 3) for i in LANE]
    in_file("match", (x,), np.array(alike, "u4"), block=32)  # and a match of all: 2**32 - 1, and 1
    for name, f in (("add", np.add.reduce), ("min", np.min), ("max", np.max)):
        label = f"reduce_{name}"
        custom(
            label,
            kernel(label, "const int* x, int* out", f"out[t] = __reduce_{name}_sync(~0u, x[t]);"),
            (x,),
            np.full(32, f(x), "i4"),
            block=32,
        )
    bits = [int(f.reduce(u)) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.maximum)]
    total = (3 * bits[0] + 5 * bits[1] + 7 * bits[2] + bits[3]) & 0xFFFFFFFF
    in_file("reduce_bits", (u,), np.full(32, total, "u4"), block=32)
    in_file("elect", (), (LANE == 0).astype("u4") + 0xFFFFFFFF % 7, block=32)
    in_file("warp_sum", (np.arange(96, dtype="i4"),), np.arange(96).reshape(3, 32).sum(1).astype("i4"), block=96)


def blocks(rng):
    x = rng.integers(0, 2, 128).astype("i4")
    t = np.arange(128)
    in_file("barrier_reductions", (x,), np.full(128, 100 * x.sum() + 1, "i4"), block=128)
    in_file("named_barriers", (), (t // 64 * 64 + 63 - t % 64).astype("i4"), block=128)
    in_file("arrive_and_sync", (), (3 * LANE).astype("i4"), block=64)
    in_file("last_block", (x,), np.array([x.sum(), *x.reshape(4, 32).sum(1)], "i4"), grid=4, block=32)


# (element, k, result in f16)
PRODUCTS = {
    "f16": ("f16", 16, False),
    "f16_k8": ("f16", 8, False),
    "bf16": ("bf16", 16, False),
    "bf16_k8": ("bf16", 8, False),
    "tf32": ("tf32", 8, False),
    "tf32_k4": ("tf32", 4, False),
    "f16_f16": ("f16", 16, True),
    "s8": ("s8", 32, False),
    "u8_k16": ("u8", 16, False),
}
STORE = {
    "f16": lambda v: v.astype("f2"),
    "bf16": lambda v: to_bf16(v.astype("f4")),
    "tf32": lambda v: v.astype("f4"),
    "s8": lambda v: v.astype("i1"),
    "u8": lambda v: v.astype("u1"),
}


def matrices(rng):
    for name, (element, k, half_result) in PRODUCTS.items():
        product(rng, f"mma_{name}", element, k, half_result)
    tiles = rng.integers(0, 1000, (4, 8, 8)).astype("u2")
    for transposed in ("", ".trans"):
        turned = (tiles.transpose(0, 2, 1) if transposed else tiles).copy()
        for count in (1, 2, 4):
            ldmatrix(tiles, turned, count, transposed)
        stmatrix(tiles, turned, transposed)
    in_file("movmatrix", (tiles[0].view("u4"),), tiles[0].T.copy().view("u4").ravel(), block=32)


def registers(first, n):
    return "{" + ", ".join(f"%{first + i}" for i in range(n)) + "}"


def operands(kind, array, n):
    return ", ".join(f'"{kind}"({array}[{i}])' for i in range(n))


def product(rng, name, element, k, half_result):
    """D = A B + C from fragments that the kernel reads at the places the PTX ISA gives."""
    integer, low = element in ("s8", "u8"), 0 if element == "u8" else -4
    a, b, c = rng.integers(low, 5, (16, k)), rng.integers(low, 5, (k, 8)), rng.integers(-9, 9, (16, 8))
    result, code = ("i4", "s32") if integer else ("f2", "f16") if half_result else ("f4", "f32")
    words = k * STORE[element](a).itemsize // 4  # of a row of A, or a column of B
    n_a, n_b, n_c = words // 2, words // 4, 2 if half_result else 4
    place = "(g + 8 * r) * 4 + t" if half_result else "(g + 8 * (r >> 1)) * 8 + 2 * t + (r & 1)"
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.{code}.{element}.{element}.{code}"
    text = (
        f"{opcode} {registers(0, n_c)}, {registers(n_c, n_a)}, {registers(n_c + n_a, n_b)}, "
        f"{registers(n_c + n_a + n_b, n_c)};"
    )
    inputs = ", ".join((operands("r", "a", n_a), operands("r", "b", n_b), operands("r", "c", n_c)))
    body = (
        f"int g = t >> 2; t &= 3; unsigned a[4], b[2], c[4], d[4]; "
        f"for (int r = 0; r < {n_a}; r++) a[r] = x[(g + 8 * (r & 1)) * {words} + t + 4 * (r >> 1)]; "
        f"for (int r = 0; r < {n_b}; r++) b[r] = y[g * {words} + t + 4 * r]; "
        f"for (int r = 0; r < {n_c}; r++) c[r] = z[{place}]; "
        f'asm volatile("{text}" : {operands("=r", "d", n_c)} : {inputs}); '
        f"for (int r = 0; r < {n_c}; r++) out[{place}] = d[r];"
    )
    parameters = "const unsigned* x, const unsigned* y, const unsigned* z, unsigned* out"
    custom(
        name,
        kernel(name, parameters, body),
        (STORE[element](a), STORE[element](b.T.copy()), c.astype(result)),
        (a @ b + c).astype(result),
        block=32,
    )


def ldmatrix(tiles, turned, count, transposed):
    name = f"ldmatrix_x{count}{transposed.replace('.', '_')}"
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {registers(0, count)}, [%{count}];"
    body = (
        "__shared__ uint4 s[32]; s[t] = x[t]; __syncwarp(); unsigned v[4]; "
        f'asm volatile("{text}" : {operands("=r", "v", count)} : "r"((unsigned)__cvta_generic_to_shared(s + t)) '
        f': "memory"); '
        f"for (int m = 0; m < {count}; m++) out[m * 32 + t] = v[m];"
    )
    custom(
        name, kernel(name, "const uint4* x, unsigned* out", body), (tiles,), turned[:count].view("u4").ravel(), block=32
    )


def stmatrix(tiles, turned, transposed):
    name = f"stmatrix{transposed.replace('.', '_')}"
    text = f"stmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 [%0], {registers(1, 4)};"
    body = (
        "__shared__ __align__(16) unsigned s[128]; unsigned v[4]; for (int m = 0; m < 4; m++) v[m] = x[m * 32 + t]; "
        f'asm volatile("{text}" :: "r"((unsigned)__cvta_generic_to_shared(s + t * 4)), {operands("r", "v", 4)} '
        f': "memory"); '
        "__syncwarp(); for (int m = 0; m < 4; m++) out[m * 32 + t] = s[m * 32 + t];"
    )
    custom(
        name,
        kernel(name, "const unsigned* x, unsigned* out", body),
        (tiles.view("u4"),),
        turned.view("u4").ravel(),
        block=32,
    )


def copies(rng):
    x = rng.standard_normal(256).astype("f4")
    for size, kind in ((4, "ca"), (8, "ca"), (16, "cg")):
        each, name = size // 4, f"cp_async_{size}"
        text = f"cp.async.{kind}.shared.global [%0], [%1], {size}, %2;"
        body = (
            f"__shared__ __align__(16) float s[{64 * each}]; unsigned a = __cvta_generic_to_shared(s + t * {each}); "
            f'asm volatile("{text}" :: "r"(a), "l"(x + t * {each}), "r"(t & 1 ? {size} : {size // 2}) : "memory"); '
            'asm volatile("cp.async.commit_group;" ::: "memory"); asm volatile("cp.async.wait_group 0;" ::: "memory"); '
            f"__syncthreads(); for (int k = 0; k < {each}; k++) out[k * 64 + t] = s[k * 64 + t];"
        )
        custom(
            name,
            kernel(name, "const float* x, float* out", body),
            (x[: 64 * each],),
            zero_filled(x[: 64 * each], each),
            block=64,
        )
    in_file("mbarrier", (x,), x[::-1], block=256)
    in_file("bulk_store", (), np.arange(64, dtype="f4"), block=64)


def zero_filled(x, each):
    """cp.async that takes half of what it writes where t is even: the rest is zeros."""
    pieces = x.reshape(64, each).copy().view("u1").reshape(64, 4 * each)
    pieces[::2, 2 * each :] = 0
    return pieces.view("f4").ravel()
