"""A micro-kernel for each instruction family, its inputs and what NumPy says the result is.

`cases_of(module)` and `program(cases)` are all one needs to run the same on a GPU: compile the program, for each case
copy its `inputs` there, launch ``case.name<<<case.grid, case.block, case.shared>>>(inputs..., out, n)``, where `out`
is as large as `case.expected` and n the number of its elements, and compare by `case.check(out)`. The modules are
conformance_integers, conformance_floats and conformance_kernels.
"""

import zlib
from fractions import Fraction
from math import frexp, inf, ldexp, nan
from pathlib import Path
from typing import NamedTuple

import numpy as np

N = 192
C_NAMES = {
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "f32": "float",
    "f64": "double",
    "s8": "signed char",
    "u8": "unsigned char",
    "s16": "short",
    "u16": "unsigned short",
    "s32": "int",
    "u32": "unsigned",
    "s64": "long long",
    "u64": "unsigned long long",
}
DTYPES = {
    "f16": "f2",
    "bf16": "u2",
    "f32": "f4",
    "f64": "f8",
    "s8": "i1",
    "u8": "u1",
    "s16": "i2",
    "u16": "u2",
    "s32": "i4",
    "u32": "u4",
    "s64": "i8",
    "u64": "u8",
}
CONSTRAINTS = {
    "f16": "h",
    "bf16": "h",
    "s16": "h",
    "u16": "h",
    "s32": "r",
    "u32": "r",
    "s64": "l",
    "u64": "l",
    "f32": "f",
    "f64": "d",
}
HEAD = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"


class Case(NamedTuple):
    """One kernel and what it must compute: off by `ulps` units in the last place plus `atol` at most."""

    name: str
    source: str
    inputs: tuple
    expected: np.ndarray
    ulps: float = 0
    atol: float = 0
    grid: int = 1
    block: int = N
    shared: int = 0

    def check(self, got):
        """AssertionError that says where the result is not what NumPy gives."""
        want = self.expected
        assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
        if want.dtype.kind == "f":
            both_nan = np.isnan(got) & np.isnan(want)
            bits = f"u{want.itemsize}"
            with np.errstate(all="ignore"):
                room = self.ulps * np.spacing(np.abs(want)) + self.atol if self.ulps or self.atol else 0
                near = (got == want) | (np.abs(got - want) <= room)
            wrong = ~both_nan & ~near if self.ulps or self.atol else ~both_nan & (got.view(bits) != want.view(bits))
        else:
            wrong = got != want
        if wrong.any():
            at = np.flatnonzero(wrong.ravel())[:5]
            shown = [
                (i, [x.ravel()[i] for x in self.inputs if x.size == got.size], got.ravel()[i], want.ravel()[i])
                for i in at
            ]
            raise AssertionError(
                f"{self.name}: {wrong.sum()} of {wrong.size} wrong, (index, inputs, got, expected): {shown}"
            )


CASES: list[Case] = []


def program(cases):
    """The CUDA text with the kernels of these cases."""
    written = [] if all(case.source for case in cases) else [Path(__file__).with_name("conformance.cu").read_text()]
    return HEAD + "\n".join(written + [case.source for case in cases])


def cases_of(module):
    """The cases that a module's `define()` makes."""
    CASES.clear()
    module.define()
    return list(CASES)


# ---- inputs --------------------------------------------------------------------------------------------------------

FLOAT_SPECIALS = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, 1.5, 2.5, -2.5, 127.5, 3e9, -3e9, 65504.0, 65520.0]


def draw(type, seed, kind="all"):
    """N values of a type: random ones of all sizes, and special ones unless `kind` is "finite" or "small"."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(DTYPES[type])
    if type in ("f16", "bf16", "f32", "f64"):
        reach = {"f16": 4, "bf16": 20, "f32": 20, "f64": 60}[type] if kind != "small" else 2
        x = rng.standard_normal(N) * 10.0 ** rng.uniform(-reach, reach, N)
        if kind == "all":
            x[: len(FLOAT_SPECIALS)] = rng.permutation(FLOAT_SPECIALS)
            tiny = {"f16": 2.0**-20, "bf16": 1e-39, "f32": 1e-40, "f64": 1e-310}[type]
            x[20:24] = [tiny, -tiny, 3 * tiny, 1.1754943508222875e-38]
        if kind == "positive":
            x = np.abs(x) + 1e-30
        with np.errstate(over="ignore"):
            return to_bf16(x.astype("f4")) if type == "bf16" else x.astype(dtype)
    info = np.iinfo(dtype)
    bits = rng.integers(0, dtype.itemsize * 8, N)
    x = rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True) >> bits.astype(dtype)
    x[:6] = [0, 1, info.max, info.min, info.max >> 1, 3]
    if kind == "nonzero":
        x[x == 0] = 7
    if kind == "shift":
        x = rng.integers(0, 80, N).astype(dtype)
    return rng.permutation(x)


def to_bf16(x):
    """float32 to the bits of bfloat16, to the nearest, ties to even."""
    u = np.asarray(x, "f4").view("u4")
    rounded = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype("u2")
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def of_bf16(bits):
    """The bits of bfloat16 as float32."""
    return (np.asarray(bits).astype("u4") << 16).view("f4")


# ---- exact arithmetic ----------------------------------------------------------------------------------------------

FORMATS = {
    "f16": (11, -24, 65504.0),
    "bf16": (8, -133, 3.3895313892515355e38),
    "f32": (24, -149, 3.4028234663852886e38),
    "f64": (53, -1074, 1.7976931348623157e308),
}


def rounded(x, type, mode="rn"):
    """The number of a format next to a Fraction (finite), in the rounding rn, rz, rm or rp."""
    bits, lowest, largest = FORMATS[type]
    if x == 0:
        return 0.0
    exponent = frexp(float(x))[1] if abs(x) > Fraction(1, 2**1000) else -1000
    while abs(x) >= Fraction(2) ** exponent:
        exponent += 1
    while abs(x) < Fraction(2) ** (exponent - 1):
        exponent -= 1
    unit = Fraction(2) ** max(exponent - bits, lowest)
    floor, rest = divmod(x, unit)
    up = {
        "rm": False,
        "rp": rest > 0,
        "rz": rest > 0 and x < 0,
        "rn": rest * 2 > unit or rest * 2 == unit and floor % 2 == 1,
    }[mode]
    n = int(floor) + up
    value = n * unit
    if abs(value) > Fraction(largest):
        grows = mode == "rn" or (mode == "rp") == (x > 0) and mode != "rz"
        return float(np.copysign(inf if grows else largest, float(x > 0) - 0.5))
    if value == 0:
        return -0.0 if x < 0 else 0.0
    return ldexp(n, unit.numerator.bit_length() - unit.denominator.bit_length())


def exactly(function, type, mode="rn"):
    """A reference that computes with Fractions and rounds once; inputs must be finite."""

    def reference(*arrays):
        arrays = [of_bf16(a) if type == "bf16" else a for a in arrays]
        out = np.array(
            [rounded(Fraction(function(*(Fraction(float(x)) for x in xs))), type, mode) for xs in zip(*arrays)]
        )
        return to_bf16(out.astype("f4")) if type == "bf16" else out.astype(DTYPES[type])

    return reference


def each(function):
    """A reference from a function of Python numbers."""
    return lambda *arrays: [function(*(x.item() for x in xs)) for xs in zip(*arrays)]


def wrap(values, type):
    """Python integers modulo 2**bits, as the type."""
    dtype = np.dtype(DTYPES[type])
    mask = (1 << 8 * dtype.itemsize) - 1
    return np.array([int(v) & mask for v in values], f"u{dtype.itemsize}").view(dtype)


def flushed(x):
    """Subnormal float32 as zeros."""
    return np.where((np.abs(x) < 2.0**-126) & (x != 0), np.copysign(np.float32(0), x), x).astype("f4")


# ---- making cases --------------------------------------------------------------------------------------------------
def elementwise(name, signature, expression, reference, kind="all", ulps=0, atol=0):
    """``out[i] = expression`` of a[i], b[i], c[i], of a signature like "f32 f32 -> f32"; kind: one for all or each."""
    types, out = signature.split("->")
    types, out = types.split(), out.strip()
    kinds = kind.split() if " " in kind else [kind] * len(types)
    inputs = tuple(draw(t, zlib.crc32(f"{name}{i}".encode()), k) for i, (t, k) in enumerate(zip(types, kinds)))
    with np.errstate(all="ignore"):
        want = reference(*inputs)
    want = np.asarray(want).astype(DTYPES[out]) if not isinstance(want, list) or out[0] in "fb" else wrap(want, out)
    parameters = "".join(f"const {C_NAMES[t]}* A{i}, " for i, t in enumerate(types))
    loads = " ".join(f"{C_NAMES[t]} {'abcd'[i]} = A{i}[i];" for i, t in enumerate(types))
    body = expression if "r =" in expression else f"r = {expression};"
    source = (
        f'extern "C" __global__ void {name}({parameters}{C_NAMES[out]}* out, int n) {{ int i = blockIdx.x * '
        f'blockDim.x + threadIdx.x; '
        f"if (i >= n) return; {loads} {C_NAMES[out]} r; {body} out[i] = r; }}"
    )
    CASES.append(Case(name, source, inputs, want, ulps, atol))


def instruction(opcode, signature, reference, kind="all", ulps=0, atol=0, tail=""):
    """One PTX instruction of the operands of the signature; `tail` is appended to the operands."""
    types, out = signature.split("->")
    names = ", ".join(["%0", *(f"%{i + 1}" for i in range(len(types.split())))]) + tail
    inputs = ", ".join(f'"{CONSTRAINTS[t]}"({"abcd"[i]})' for i, t in enumerate(types.split()))
    code = f'asm volatile("{opcode} {names};" : "={CONSTRAINTS[out.strip()]}"(r) : {inputs}); r = r;'
    elementwise(identifier(opcode + tail), signature, code, reference, kind, ulps, atol)


def identifier(opcode):
    name = "".join(c if c.isalnum() else "_" for c in opcode).strip("_")
    while any(case.name == name for case in CASES):
        name += "x"
    return name


def predicate(opcode, signature, reference, kind="all"):
    """A PTX instruction that sets a predicate; the kernel writes it as 0 or 1."""
    types = signature.split()
    operands = ", ".join(f"%{i + 1}" for i in range(len(types)))
    inputs = ", ".join(f'"{CONSTRAINTS[t]}"({"abcd"[i]})' for i, t in enumerate(types))
    code = (f'asm volatile("{{ .reg .pred p, q; setp.ne.u32 q, 0, 1; {opcode} p, {operands}; selp.u32 %0, 1, 0, '
        f'p; }}" : "=r"(r) : {inputs}); r = r;')
    elementwise(identifier(opcode), f"{signature} -> u32", code, reference, kind)


def custom(name, source, inputs, expected, **attributes):
    """A kernel written out: parameters are the inputs, the output and its size."""
    CASES.append(
        Case(name, source, tuple(np.ascontiguousarray(x) for x in inputs), np.ascontiguousarray(expected), **attributes)
    )
