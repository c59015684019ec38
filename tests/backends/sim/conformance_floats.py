"""Conformance: floats of all sizes, conversions, mathematical functions."""

from fractions import Fraction

import numpy as np

from .conformance import (
    DTYPES,
    each,
    elementwise,
    exactly,
    flushed,
    instruction,
    of_bf16,
    predicate,
    rounded,
    to_bf16,
    wrap,
)

MODES = ("rn", "rz", "rm", "rp")
OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}


def define():
    arithmetic()
    halves()
    conversions()
    functions()


def arithmetic():
    for t in ("f32", "f64"):
        for name, f in OPERATIONS.items():
            signature = f"{t} {t} {t} -> {t}" if name == "fma" else f"{t} {t} -> {t}"
            for mode in MODES:
                instruction(f"{name}.{mode}.{t}", signature, exactly(f, t, mode), "finite")
            if name != "fma":
                instruction(f"{name}.{t}", signature, f)
        instruction(f"div.rn.{t}", f"{t} {t} -> {t}", np.divide)
        instruction(f"div.rz.{t}", f"{t} {t} -> {t}", exactly(lambda a, b: a / b, t, "rz"), "finite")
        instruction(f"rcp.rn.{t}", f"{t} -> {t}", lambda a: (1 / a).astype(a.dtype))
        instruction(f"rcp.rp.{t}", f"{t} -> {t}", exactly(lambda a: 1 / a, t, "rp"), "finite")
        instruction(f"sqrt.rn.{t}", f"{t} -> {t}", np.sqrt)
        instruction(f"sqrt.rm.{t}", f"{t} -> {t}", sqrt_down, "positive")
        instruction(f"min.{t}", f"{t} {t} -> {t}", lambda a, b: signed_zero(np.fmin, a, b))
        instruction(f"max.{t}", f"{t} {t} -> {t}", lambda a, b: signed_zero(np.fmax, a, b))
        instruction(f"neg.{t}", f"{t} -> {t}", np.negative)
        instruction(f"abs.{t}", f"{t} -> {t}", np.abs)
        instruction(f"copysign.{t}", f"{t} {t} -> {t}", lambda a, b: np.copysign(b, a))
        tests = {
            "finite": np.isfinite,
            "infinite": np.isinf,
            "notanumber": np.isnan,
            "number": lambda a: ~np.isnan(a),
            "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
            "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
        }
        for name, f in tests.items():
            predicate(f"testp.{name}.{t}", t, f)
    for name in ("add", "sub", "mul"):
        f = OPERATIONS[name]
        instruction(f"{name}.ftz.f32", "f32 f32 -> f32", lambda a, b, f=f: flushed(f(flushed(a), flushed(b))))
        instruction(f"{name}.sat.f32", "f32 f32 -> f32", lambda a, b, f=f: saturated(f(a, b)))
    instruction(
        "fma.rn.sat.f32",
        "f32 f32 f32 -> f32",
        lambda a, b, c: saturated(exactly(OPERATIONS["fma"], "f32")(a, b, c)),
        "finite",
    )
    instruction("min.NaN.f32", "f32 f32 -> f32", lambda a, b: signed_zero(np.minimum, a, b))
    instruction("max.NaN.f32", "f32 f32 -> f32", lambda a, b: signed_zero(np.maximum, a, b))
    # Both kinds of flushing in one kernel: the f64 addition keeps its subnormals.
    elementwise(
        "mixed_ftz",
        "f32 f32 f64 -> f64",
        'float s; asm("add.ftz.f32 %0, %1, %2;" : "=f"(s) : "f"(a), "f"(b)); asm("add.f64 %0, %1, %2;" : '
        '"=d"(r) : "d"(c), "d"((double)s)); r = r;',
        lambda a, b, c: c + flushed(flushed(a) + flushed(b)).astype("f8"),
    )


def sqrt_down(a):
    y = np.sqrt(a)
    exact = [Fraction(float(v)) ** 2 > Fraction(float(x)) for v, x in zip(y, a)]
    return np.where(exact, np.nextafter(y, y.dtype.type(0)), y)


def signed_zero(f, a, b):
    """Minimum or maximum where -0 is less than +0, which NumPy leaves open."""
    r = f(a, b)
    zeros = (a == 0) & (b == 0)
    either, both = np.signbit(a) | np.signbit(b), np.signbit(a) & np.signbit(b)
    negative = either if f in (np.fmin, np.minimum) else both
    return np.where(zeros, np.where(negative, -0.0, 0.0).astype(a.dtype), r)


def saturated(x):
    return np.where(np.isnan(x) | (x <= 0), np.float32(0), np.minimum(x, np.float32(1))).astype("f4")


def on_bf16(f):
    return lambda *arrays: to_bf16(f(*map(of_bf16, arrays)))


def on_f16(f):
    return lambda *arrays: f(*(a.astype("f4") for a in arrays)).astype("f2")


def halves():
    plain = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
    for t, wrapped in (("f16", on_f16), ("bf16", on_bf16)):
        for name, f in plain.items():
            instruction(f"{name}.{t}", f"{t} {t} -> {t}", nan_safe(wrapped(f), t))
        instruction(f"fma.rn.{t}", f"{t} {t} {t} -> {t}", exactly(OPERATIONS["fma"], t), "small")
        instruction(f"min.{t}", f"{t} {t} -> {t}", nan_safe(wrapped(lambda a, b: signed_zero(np.fmin, a, b)), t))
        instruction(f"max.NaN.{t}", f"{t} {t} -> {t}", nan_safe(wrapped(lambda a, b: signed_zero(np.maximum, a, b)), t))
        instruction(f"neg.{t}", f"{t} -> {t}", lambda a: (a.view("u2") ^ 0x8000).view(a.dtype))
        instruction(f"abs.{t}", f"{t} -> {t}", lambda a: (a.view("u2") & 0x7FFF).view(a.dtype))
        code = "fma.rn.relu." + t
        relu = lambda a, b, c, t=t: relu_of(exactly(OPERATIONS["fma"], t)(a, b, c), t)
        instruction(code, f"{t} {t} {t} -> {t}", relu, "small")
    elementwise(
        "hadd2",
        "f32 f32 f32 f32 -> f32",
        "__half2 x = __hadd2(__floats2half2_rn(a, b), __floats2half2_rn(c, d)); "
        "r = __low2float(x) - 2 * __high2float(x);",
        lambda a, b, c, d: (
            (a.astype("f2") + c.astype("f2")).astype("f4") - 2 * (b.astype("f2") + d.astype("f2")).astype("f4")
        ),
        "small",
    )
    elementwise(
        "hgt2",
        "f32 f32 f32 f32 -> f32",
        "__half2 x = __hgt2(__floats2half2_rn(a, b), __floats2half2_rn(c, d)); "
        "r = __low2float(x) + 2 * __high2float(x);",
        lambda a, b, c, d: (a.astype("f2") > c.astype("f2")) + 2.0 * (b.astype("f2") > d.astype("f2")),
        "small",
    )
    elementwise(
        "hfma2_bf16",
        "f32 f32 f32 -> f32",
        "__nv_bfloat162 x = __hfma2(__float2bfloat162_rn(a), __float2bfloat162_rn(b), __float2bfloat162_rn(c)); "
        "r = __low2float(x) + __high2float(x);",
        lambda a, b, c: 2 * of_bf16(exactly(OPERATIONS["fma"], "bf16")(to_bf16(a), to_bf16(b), to_bf16(c))),
        "small",
    )
    for name, f in (
        ("hexp", np.exp),
        ("hsqrt", np.sqrt),
        ("hlog", np.log),
        ("hrcp", lambda x: 1 / x),
        ("htanh", np.tanh),
    ):
        elementwise(
            f"f16_{name}",
            "f32 -> f32",
            f"__half2float({name}(__float2half_rn(a)))",
            lambda a, f=f: f(a.astype("f2").astype("f4")).astype("f2").astype("f4"),
            "positive" if name != "hexp" else "small",
            atol=2e-3,
            ulps=2**14,
        )
    for t in ("f16", "bf16"):
        f = {"f16": on_f16, "bf16": on_bf16}[t]
        instruction(f"tanh.approx.{t}", f"{t} -> {t}", f(np.tanh), "small", ulps=4, atol=0 if t == "f16" else 2)
    instruction("ex2.approx.f16", "f16 -> f16", on_f16(np.exp2), "small", ulps=2)


def nan_safe(f, t):
    """bfloat16 is compared by bits: NaN as the hardware's canonical one, 0x7fff."""
    if t == "f16":
        return f
    return lambda *arrays: np.where(np.isnan(of_bf16(f(*arrays))), np.uint16(0x7FFF), f(*arrays))


def relu_of(x, t):
    return np.where((x.view("u2") & 0x8000) != 0, np.uint16(0), x.view("u2")).view(x.dtype)


def limits(t):
    info = np.iinfo(DTYPES[t])
    return info.min, info.max


def to_whole(mode):
    """A float to a whole Python number; infinities and NaN stay."""
    f = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    return lambda x: f(x)


def conversions():
    for source in ("f32", "f64", "f16"):
        for target in ("s16", "u16", "s32", "u32", "s64", "u64"):
            for mode in ("rni", "rzi", "rmi", "rpi"):
                low, high = limits(target)

                def convert(x, low=low, high=high, mode=mode):
                    if x != x:
                        return 0
                    y = float(to_whole(mode)(np.float64(x)))
                    return low if y <= low else high if y >= high else int(y)

                instruction(f"cvt.{mode}.{target}.{source}", f"{source} -> {target}", each(convert))
    for target in ("f32", "f64", "f16"):
        for source in ("s16", "u16", "s32", "u32", "s64", "u64"):
            for mode in MODES if target != "f16" else ("rn",):
                instruction(
                    f"cvt.{mode}.{target}.{source}",
                    f"{source} -> {target}",
                    each(lambda x, t=target, m=mode: rounded(Fraction(x), t, m)),
                )
    for mode in MODES:
        instruction(f"cvt.{mode}.f32.f64", "f64 -> f32", exactly(lambda x: x, "f32", mode), "finite")
        if mode in ("rn", "rz"):
            instruction(f"cvt.{mode}.f16.f32", "f32 -> f16", exactly(lambda x: x, "f16", mode), "finite")
            elementwise(
                f"cvt_{mode}_bf16_f32",
                "f32 -> bf16",
                f'asm("cvt.{mode}.bf16.f32 %0, %1;" : "=h"(r) : "f"(a)); r = r;',
                lambda a, m=mode: to_bf16(np.array([rounded(Fraction(float(x)), "bf16", m) for x in a], "f4")),
                "finite",
            )
    for mode, f in (("rd", "rm"), ("ru", "rp")):
        elementwise(
            f"float2half_{mode}",
            "f32 -> f16",
            f"__half_as_ushort(__float2half_{mode}(a))",
            exactly(lambda x: x, "f16", f),
            "finite",
        )
        elementwise(
            f"float2bfloat_{mode}",
            "f32 -> bf16",
            f"__bfloat16_as_ushort(__float2bfloat16_{mode}(a))",
            lambda a, m=f: to_bf16(np.array([rounded(Fraction(float(x)), "bf16", m) for x in a], "f4")),
            "finite",
        )
    instruction("cvt.f64.f32", "f32 -> f64", lambda a: a.astype("f8"))
    instruction("cvt.f32.f16", "f16 -> f32", lambda a: a.astype("f4"))
    elementwise("cvt_f32_bf16", "bf16 -> f32", "__bfloat162float(__ushort_as_bfloat16(a))", of_bf16)
    instruction("cvt.rn.f16.f32", "f32 -> f16", lambda a: a.astype("f2"))
    instruction(
        "cvt.rn.f16x2.f32",
        "f32 f32 -> u32",
        lambda a, b: a.astype("f2").view("u2").astype("u4") << 16 | b.astype("f2").view("u2"),
        "finite",
    )
    instruction(
        "cvt.rn.relu.bf16x2.f32",
        "f32 f32 -> u32",
        lambda a, b: to_bf16(np.maximum(a, 0)).astype("u4") << 16 | to_bf16(np.maximum(b, 0)),
        "finite",
    )
    instruction("cvt.rna.tf32.f32", "f32 -> u32", lambda a: (a.view("u4") + 0x1000) & 0xFFFFE000, "finite")
    for mode in ("rni", "rzi", "rmi", "rpi"):
        instruction(f"cvt.{mode}.f32.f32", "f32 -> f32", to_whole(mode))
        instruction(f"cvt.{mode}.f64.f64", "f64 -> f64", to_whole(mode))
    instruction("cvt.sat.f32.f32", "f32 -> f32", saturated)
    instruction("cvt.ftz.f64.f32", "f32 -> f64", lambda a: flushed(a).astype("f8"))
    for source in ("s32", "u32", "s64", "u64", "s16", "u16"):
        for target in ("s16", "u16", "s32", "u32", "s64", "u64"):
            if source != target:
                instruction(f"cvt.{target}.{source}", f"{source} -> {target}", each(lambda a: a))
                low, high = limits(target)
                if low <= limits(source)[0] and limits(source)[1] <= high:
                    continue                               # nothing to saturate: no such instruction
                instruction(
                    f"cvt.sat.{target}.{source}",
                    f"{source} -> {target}",
                    each(lambda a, l=low, h=high: max(l, min(h, a))),
                )
    for target in ("s8", "u8"):
        low, high = limits(target)
        elementwise(
            f"cvt_{target}_s32",
            "s32 -> s32",
            f'asm("cvt.{target}.s32 %0, %1;" : "=r"(r) : "r"(a)); r = r;',
            each(lambda a, t=target: int(wrap([a], t)[0])),
        )
        elementwise(
            f"cvt_sat_{target}_s32",
            "s32 -> s32",
            f'asm("cvt.sat.{target}.s32 %0, %1;" : "=r"(r) : "r"(a)); r = r;',
            each(lambda a, l=low, h=high: max(l, min(h, a))),
        )
    elementwise(
        "to_s8",
        "f32 -> s8",
        "(signed char)fmaxf(fminf(a, 127.f), -128.f)",
        each(lambda a: int(max(min(a, 127), -128))),
        "small",
    )
    elementwise(
        "to_u8", "f32 -> u8", "(unsigned char)fminf(fabsf(a), 255.f)", each(lambda a: int(min(abs(a), 255))), "small"
    )


def functions():
    for name, f, error in (
        ("ex2", np.exp2, 2),
        ("lg2", np.log2, 2),
        ("rsqrt", lambda x: 1 / np.sqrt(x), 2),
        ("sqrt", np.sqrt, 1),
        ("rcp", lambda x: 1 / x, 1),
    ):
        wide = lambda a, f=f: f(a.astype("f8")).astype("f4")
        instruction(
            f"{name}.approx.f32",
            "f32 -> f32",
            wide,
            "positive" if name not in ("ex2", "rcp") else "small",
            ulps=error,
            atol=2.0**-22,
        )
        instruction(
            f"{name}.approx.ftz.f32",
            "f32 -> f32",
            lambda a, f=wide: flushed(f(flushed(a))),
            "all",
            ulps=error,
            atol=2.0**-22,
        )
    for name, f in (("sin", np.sin), ("cos", np.cos)):
        instruction(
            f"{name}.approx.f32", "f32 -> f32", lambda a, f=f: f(a.astype("f8")).astype("f4"), "small", atol=1e-3
        )
    instruction("tanh.approx.f32", "f32 -> f32", lambda a: np.tanh(a.astype("f8")).astype("f4"), "small", ulps=2**13)
    instruction("div.full.f32", "f32 f32 -> f32", np.divide, "small", ulps=2)
    instruction("div.approx.f32", "f32 f32 -> f32", np.divide, "small", ulps=2)
    single = {
        "expf(a)": np.exp,
        "logf(fabsf(a))": lambda x: np.log(np.abs(x)),
        "sinf(a)": np.sin,
        "cosf(a)": np.cos,
        "tanhf(a)": np.tanh,
        "exp2f(a)": np.exp2,
        "log1pf(fabsf(a))": lambda x: np.log1p(np.abs(x)),
        "expm1f(a)": np.expm1,
        "cbrtf(a)": np.cbrt,
        "atanf(a)": np.arctan,
        "asinhf(a)": np.arcsinh,
        "rsqrtf(fabsf(a))": lambda x: 1 / np.sqrt(np.abs(x)),
        "powf(fabsf(a), 1.7f)": lambda x: np.abs(x) ** np.float64(np.float32(1.7)),
        "tanf(a)": np.tan,
        "fmodf(a, 0.75f)": lambda x: np.fmod(x, 0.75),
        "rintf(a)": np.rint,
        "floorf(a)": np.floor,
        "sinf(a * 1e6f)": lambda x: np.sin((x.astype("f4") * np.float32(1e6)).astype("f8")),
    }
    for n, (expression, f) in enumerate(single.items()):
        elementwise(
            f"math_f32_{n}",
            "f32 -> f32",
            expression,
            lambda a, f=f: f(a.astype("f8")).astype("f4"),
            "small",
            ulps=8,
            atol=1e-37,
        )
    double = {
        "exp(a)": np.exp,
        "log(fabs(a))": lambda x: np.log(np.abs(x)),
        "sin(a)": np.sin,
        "cos(a * 1e5)": lambda x: np.cos(x * 1e5),
        "tanh(a)": np.tanh,
        "pow(fabs(a), 1.7)": lambda x: np.abs(x) ** 1.7,
        "sqrt(fabs(a)) / (a + 300)": lambda x: np.sqrt(np.abs(x)) / (x + 300),
    }
    for n, (expression, f) in enumerate(double.items()):
        elementwise(f"math_f64_{n}", "f64 -> f64", expression, f, "small", ulps=8)
