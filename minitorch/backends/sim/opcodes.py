"""The arithmetic instructions of PTX as C++: a table from the first part of an opcode to a rule.

A rule is given the `Writer` of the function and the instruction, and returns C++ statements. `w.read(operand, type)` is
an expression of the C++ type of `type`; `w.write(operand, type, value)` assigns. Functions such as `funnel` or `lesser`
stand in runtime/arithmetic.h. The rules follow the PTX ISA; where the hardware's result is only approximate (`.approx`)
ours is the C library's.
"""

import re
from collections.abc import Callable

from .errors import Unsupported
from .names import c_name
from .ptx import SIZES, split

EMITTERS: dict[str, Callable] = {}
FLOATS = ("f32", "f64")
HALVES = ("f16", "bf16", "f16x2", "bf16x2")
ROUNDINGS = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}
OPERATIONS = {"add": 0, "sub": 1, "mul": 2, "fma": 3, "mad": 3, "div": 4, "sqrt": 5}


def emits(*names):
    """Enter a rule for these opcodes."""
    def enter(rule):
        EMITTERS.update(dict.fromkeys(names, rule))
        return rule
    return enter


def block(*statements):
    """C++ statements in braces."""
    return "{ " + " ".join(filter(None, statements)) + " }"


def call(function, *arguments):
    """A C++ call."""
    return f"{function}({', '.join(map(str, arguments))})"


def boolean(value):
    """A truth value in C++."""
    return "true" if value else "false"


def unsigned(type):
    """The type of as many bits without a sign."""
    return "u" + type[1:]


def float_in(w, i, number, type):
    """Operand `number` as a float: a subnormal as zero, where `.ftz` says so and the processor does not do it."""
    value = w.read(i.operands[number], type)
    return f"flush({value})" if type == "f32" and "ftz" in i.parts and not w.flush_all else value


def float_out(w, i, type, value):
    """Assign the float `value` to operand 0, saturated or flushed as the instruction says."""
    if "sat" in i.parts:
        value = f"saturate({value})"
    if type == "f32" and "ftz" in i.parts and not w.flush_all:
        value = f"flush({value})"
    return w.write(i.operands[0], type, value)


# ---- moving ---------------------------------------------------------------------------------------------------------

@emits("mov")
def mov(w, i):
    type, (to, value) = i.parts[-1], i.operands
    bits = 8 * SIZES[type]
    if to.startswith("{"):                                # unpack
        parts = split(to[1:-1])
        each = bits // len(parts)
        writes = (w.write(part, f"b{each}", f"(u{each})(v >> {each * n})") for n, part in enumerate(parts))
        return f"{{ {'u128' if bits == 128 else f'u{bits}'} v = {w.read(value, f'b{bits}')}; {' '.join(writes)} }}"
    if value.startswith("{"):                             # pack
        parts = split(value[1:-1])
        each, whole = bits // len(parts), "u128" if bits == 128 else f"u{bits}"
        packed = " | ".join(f"(({whole}){w.read(part, f'b{each}')} << {each * n})" for n, part in enumerate(parts))
        return w.write(to, f"b{bits}", f"({whole})({packed})")
    return w.write(to, type, w.read(value, type))


@emits("selp")
def selp(w, i):
    type, (to, a, b, p) = i.parts[-1], i.operands
    return w.write(to, type, f"({w.read(p, 'pred')} ? {w.read(a, type)} : {w.read(b, type)})")


@emits("slct")
def slct(w, i):
    type, (to, a, b, c) = i.parts[-2], i.operands
    return w.write(to, type, f"({w.read(c, i.parts[-1])} >= 0 ? {w.read(a, type)} : {w.read(b, type)})")


# ---- comparing ------------------------------------------------------------------------------------------------------

COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">",
           "hs": ">="}


def comparison(name, x, y, is_float):
    """C++ for ``x <name> y``. Names that end in u are true where an operand is NaN, the others (and ne) false."""
    if name == "nan":
        return f"(__builtin_isnan({x}) || __builtin_isnan({y}))"
    if name == "num":
        return f"!(__builtin_isnan({x}) || __builtin_isnan({y}))"
    if name in COMPARE:
        return f"({x} < {y} || {x} > {y})" if name == "ne" and is_float else f"({x} {COMPARE[name]} {y})"
    return f"(__builtin_isunordered({x}, {y}) || {x} {COMPARE[name.removesuffix('u')]} {y})"


def compare(w, i, type):
    """C++ for the comparison of a setp or set, combined with the predicate that it may also be given."""
    x, y = float_in(w, i, 1, type), float_in(w, i, 2, type)
    if type in ("f16", "bf16"):
        x, y = f"(f32){x}", f"(f32){y}"
    result = comparison(i.parts[1], x, y, "f" in type)
    combine = next((c for c in ("and", "or", "xor") if c in i.parts[2:]), None)
    if combine:
        symbol = {"and": "&&", "or": "||", "xor": "!="}[combine]
        return result, f"({{}} {symbol} {w.read(i.operands[3], 'pred')})"
    return result, "{}"


@emits("setp")
def setp(w, i):
    type = i.parts[-1]
    targets = [t.strip() for t in i.operands[0].split("|")]
    if type in ("f16x2", "bf16x2"):
        base = type[:-2]
        code = f"{{ u32 x = {w.read(i.operands[1], 'b32')}, y = {w.read(i.operands[2], 'b32')}; "
        for n, target in enumerate(targets):
            half = [f"(f32)bits_as<{base}>((u16)({v} >> {16 * n}))" for v in "xy"]
            code += w.write(target, "pred", comparison(i.parts[1], *half, True))
        return code + " }"
    result, combine = compare(w, i, type)
    if len(targets) == 1:
        return w.write(targets[0], "pred", combine.format(result))
    writes = w.write(targets[0], "pred", combine.format("v")) + w.write(targets[1], "pred", combine.format("!v"))
    return f"{{ bool v = {result}; {writes} }}"


@emits("set")
def set_(w, i):
    to, type = i.parts[-2:]
    if type in ("f16x2", "bf16x2"):
        base, true = type[:-2], "0x3c00" if type == "f16x2" else "0x3f80"
        if to != type:
            true = "0xffff"
        test = comparison(i.parts[1], "(f32)x", "(f32)y", True)
        function = f"[]({base} x, {base} y, {base}) {{ return bits_as<{base}>((u16)({test} ? {true} : 0)); }}"
        values = (w.read(x, "b32") for x in i.operands[1:])
        return w.write(i.operands[0], "b32", call(f"map_pair<{base}>", function, *values))
    result, combine = compare(w, i, type)
    truth = {"f32": "1.0f", "f16": "f16(1.0f)", "bf16": "bf16(1.0f)"}.get(to, "-1")
    zero = {"f16": "f16(0.0f)", "bf16": "bf16(0.0f)"}.get(to, "0")
    return w.write(i.operands[0], to, f"({c_name(to)})({combine.format(result)} ? {truth} : {zero})")


@emits("testp")
def testp(w, i):
    x = w.read(i.operands[1], i.parts[-1])
    test = {"finite": "__builtin_isfinite({})", "infinite": "__builtin_isinf({})", "notanumber": "__builtin_isnan({})",
            "number": "!__builtin_isnan({})", "normal": "__builtin_isnormal({})",
            "subnormal": "(__builtin_fpclassify(0, 1, 2, 3, 4, {}) == 3)"}[i.parts[1]]
    return w.write(i.operands[0], "pred", test.format(x))


# ---- bits -----------------------------------------------------------------------------------------------------------

@emits("and", "or", "xor")
def logic(w, i):
    type, (to, a, b) = i.parts[-1], i.operands
    symbol = {"and": "&", "or": "|", "xor": "^"}[i.parts[0]]
    return w.write(to, type, f"({w.read(a, type)} {symbol} {w.read(b, type)})")


@emits("not")
def not_(w, i):
    type = i.parts[-1]
    return w.write(i.operands[0], type, ("!" if type == "pred" else "~") + w.read(i.operands[1], type))


@emits("cnot")
def cnot(w, i):
    return w.write(i.operands[0], i.parts[-1], f"({w.read(i.operands[1], i.parts[-1])} == 0)")


@emits("shl", "shr")
def shift(w, i):
    type, (to, a, n) = i.parts[-1], i.operands
    name = {"shl": "shift_left", "shr": "shift_right"}[i.parts[0]]
    return w.write(to, type, f"{name}({w.read(a, type)}, {w.read(n, 'u32')})")


@emits("shf")
def shf(w, i):
    to, *abc = i.operands
    flags = f"{str(i.parts[1] == 'l').lower()}, {str('clamp' in i.parts).lower()}"
    return w.write(to, "b32", f"funnel({flags}, {', '.join(w.read(x, 'u32') for x in abc)})")


@emits("lop3")
def lop3(w, i):
    if "|" in i.operands[0] or len(i.operands) > 5:
        raise Unsupported(w.message(f"lop3 with a predicate: {i}"))
    to, a, b, c, table = i.operands
    return w.write(to, "b32", f"logic3({w.read(a, 'u32')}, {w.read(b, 'u32')}, {w.read(c, 'u32')}, {table})")


@emits("prmt")
def prmt(w, i):
    to, *abc = i.operands
    arguments = ", ".join(w.read(x, "u32") for x in abc)
    if i.parts[-1] != "b32":
        mode = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16").index(i.parts[-1])
        return w.write(to, "b32", f"permute_mode({arguments}, {mode})")
    return w.write(to, "b32", f"permute({arguments})")


@emits("popc", "clz")
def count(w, i):
    name = {"popc": "count_bits", "clz": "leading_zeros"}[i.parts[0]]
    return w.write(i.operands[0], "u32", f"{name}({w.read(i.operands[1], i.parts[-1])})")


@emits("brev")
def brev(w, i):
    return w.write(i.operands[0], i.parts[-1], f"reverse_bits({w.read(i.operands[1], i.parts[-1])})")


@emits("bfind")
def bfind(w, i):
    shiftamt = str("shiftamt" in i.parts).lower()
    return w.write(i.operands[0], "u32", f"find_leading({w.read(i.operands[1], i.parts[-1])}, {shiftamt})")


@emits("bfe")
def bfe(w, i):
    type, (to, a, at, n) = i.parts[-1], i.operands
    return w.write(to, type, f"extract_bits({w.read(a, type)}, {w.read(at, 'u32')}, {w.read(n, 'u32')})")


@emits("bfi")
def bfi(w, i):
    type, (to, a, b, at, n) = i.parts[-1], i.operands
    return w.write(to, type, call("insert_bits", w.read(a, type), w.read(b, type), w.read(at, "u32"), w.read(n, "u32")))


@emits("szext")
def szext(w, i):
    type, (to, a, n) = i.parts[-1], i.operands
    count = f"({w.read(n, 'u32')} & 31)" if "wrap" in i.parts else w.read(n, "u32")
    return w.write(to, type, f"extract_bits({w.read(a, type)}, 0, {count})")


@emits("bmsk")
def bmsk(w, i):
    at, n = (w.read(x, "u32") + (" & 31" if "wrap" in i.parts else "") for x in i.operands[1:])
    return w.write(i.operands[0], "u32", f"insert_bits(~0u, 0u, {at}, {n})")


# ---- integers -------------------------------------------------------------------------------------------------------

def is_float(type):
    return type in FLOATS or type in HALVES


@emits("add", "sub")
def add(w, i):
    name, type, parts = i.parts[0], i.parts[-1], i.parts
    if is_float(type):
        return float_arithmetic(w, i)
    to, a, b = i.operands
    if "sat" in parts:
        exact = f"(s64){w.read(a, type)} {'+-'[name == 'sub']} (s64){w.read(b, type)}"
        return w.write(to, type, f"clamp_integer<s32>({exact})")
    u = unsigned(type)
    if "cc" in parts:
        return with_carry(w, to, u, w.read(a, u), w.read(b, u), "0", name == "sub", True)
    return w.write(to, u, f"({c_name(u)})({w.read(a, u)} {'+-'[name == 'sub']} {w.read(b, u)})")


@emits("addc", "subc")
def addc(w, i):
    u, (to, a, b) = unsigned(i.parts[-1]), i.operands
    return with_carry(w, to, u, w.read(a, u), w.read(b, u), "CC", i.parts[0] == "subc", "cc" in i.parts)


def with_carry(w, to, type, a, b, carry_in, subtract, sets):
    """Add or subtract with the carry flag CC; `sets` it too where asked."""
    bits = 8 * SIZES[type]
    symbol = "-" if subtract else "+"
    code = f"{{ u128 v = (u128){a} {symbol} (u128){b} {symbol} (u128)({carry_in}); "
    if sets:
        code += f"CC = (bool)((v >> {bits}) & 1); "
    return code + w.write(to, type, f"({c_name(type)})v") + " }"


@emits("mul", "mad")
def mul(w, i):
    name, type = i.parts[0], i.parts[-1]
    if is_float(type):
        return float_arithmetic(w, i)
    to, a, b, *c = i.operands
    u = unsigned(type)
    if "wide" in i.parts:
        wide = type[0] + str(16 * SIZES[type])
        value = f"({c_name(wide)}){w.read(a, type)} * ({c_name(wide)}){w.read(b, type)}"
        result = unsigned(wide)
        return w.write(to, result, f"(u{16 * SIZES[type]})({value})" + (f" + {w.read(c[0], result)}" if c else ""))
    if "hi" in i.parts:
        value = f"({c_name(u)})multiply_high({w.read(a, type)}, {w.read(b, type)})"
    else:
        value = f"({c_name(u)})({w.read(a, u)} * {w.read(b, u)})"
    if "cc" in i.parts:
        return with_carry(w, to, u, value, w.read(c[0], u), "0", False, True)
    if "sat" in i.parts:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    return w.write(to, u, f"({c_name(u)})({value} + {w.read(c[0], u)})" if name == "mad" else value)


@emits("madc")
def madc(w, i):
    type, (to, a, b, c) = i.parts[-1], i.operands
    u = unsigned(type)
    value = f"({c_name(u)})multiply_high({w.read(a, type)}, {w.read(b, type)})" if "hi" in i.parts else \
        f"({c_name(u)})({w.read(a, u)} * {w.read(b, u)})"
    return with_carry(w, to, u, value, w.read(c, u), "CC", False, "cc" in i.parts)


@emits("mul24", "mad24")
def mul24(w, i):
    type, (to, a, b, *c) = i.parts[-1], i.operands
    low = [f"((s64)({c_name(type)})({w.read(x, 'u32')} << 8) >> 8)" for x in (a, b)]
    value = f"(u32)({low[0]} * {low[1]} >> {16 if 'hi' in i.parts else 0})"
    return w.write(to, "u32", value + (f" + {w.read(c[0], 'u32')}" if c else ""))


@emits("sad")
def sad(w, i):
    type, (to, a, b, c) = i.parts[-1], i.operands
    x, y, u = w.read(a, type), w.read(b, type), unsigned(type)
    c_type = c_name(u)
    return w.write(to, u, f"({c_type})({x} > {y} ? ({c_type}){x} - {y} : ({c_type}){y} - {x}) + {w.read(c, u)}")


@emits("dp4a", "dp2a")
def dp4a(w, i):
    to, a, b, c = i.operands
    x, y = i.parts[-2:]
    if i.parts[0] == "dp4a":
        value = f"dot_bytes<{x[0]}8, {y[0]}8>({w.read(a, 'u32')}, {w.read(b, 'u32')})"
    else:
        value = f"dot_halves<{x[0]}16, {y[0]}8>({w.read(a, 'u32')}, {w.read(b, 'u32')}, {str('hi' in i.parts).lower()})"
    return w.write(to, "u32", f"(u32)({value} + {w.read(c, 's32')})")


@emits("rem")
def rem(w, i):
    type, (to, a, b) = i.parts[-1], i.operands
    return w.write(to, type, f"remainder({w.read(a, type)}, {w.read(b, type)})")


@emits("min", "max")
def min_max(w, i):
    name, type = i.parts[0], i.parts[-1]
    if type in HALVES:
        return half_arithmetic(w, i)
    if type in FLOATS:
        x, y = float_in(w, i, 1, type), float_in(w, i, 2, type)
        value = f"{'lesser' if name == 'min' else 'greater'}({x}, {y})"
        if len(i.operands) > 3:
            value = f"{'lesser' if name == 'min' else 'greater'}({value}, {float_in(w, i, 3, type)})"
        if "xorsign" in i.parts:
            raise Unsupported(w.message(f"instruction {i.opcode}"))
        return float_out(w, i, type, f"or_nan({x}, {y}, {value})" if "NaN" in i.parts else value)
    if type in ("u16x2", "s16x2") or "relu" in i.parts:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    x, y = w.read(i.operands[1], type), w.read(i.operands[2], type)
    return w.write(i.operands[0], type, f"({x} {'<' if name == 'min' else '>'} {y} ? {x} : {y})")


@emits("neg", "abs")
def neg(w, i):
    name, type = i.parts[0], i.parts[-1]
    if type in HALVES:
        mask = {"neg": "^ 0x8000", "abs": "& 0x7fff"}[name]
        if type.endswith("x2"):
            mask = mask.replace("8000", "80008000u").replace("7fff", "7fff7fffu")
        bits = "b32" if type.endswith("x2") else "b16"
        return w.write(i.operands[0], bits, f"({w.read(i.operands[1], bits)} {mask})")
    if type in FLOATS:
        x = w.read(i.operands[1], type)
        value = f"-{x}" if name == "neg" else f"__builtin_fabs{'f' if type == 'f32' else ''}({x})"
        return w.write(i.operands[0], type, f"flush({value})" if "ftz" in i.parts else value)
    u = unsigned(type)
    x, y = w.read(i.operands[1], u), w.read(i.operands[1], "s" + type[1:])
    return w.write(i.operands[0], u, f"({c_name(u)})({'1' if name == 'neg' else f'{y} < 0'} ? 0 - {x} : {x})")


# ---- floats ---------------------------------------------------------------------------------------------------------

@emits("fma")
def float_arithmetic(w, i):
    """add, sub, mul, fma of f32, f64 and the 16-bit floats, in any rounding."""
    name, type = i.parts[0], i.parts[-1]
    if type in HALVES or any(part in HALVES for part in i.parts[1:]):
        return half_arithmetic(w, i)
    name = "fma" if name == "mad" else name
    values = [float_in(w, i, n, type) for n in range(1, len(i.operands))]
    mode = next((ROUNDINGS[p] for p in i.parts[1:] if p in ROUNDINGS), 0)
    if mode:
        arguments = ", ".join(values + ["0"] * (3 - len(values)))
        value = f"sim_round_{type}({OPERATIONS[name]}, {arguments}, {mode})"
    elif name == "fma":
        value = f"__builtin_fma{'f' if type == 'f32' else ''}({', '.join(values)})"
    else:
        value = f"({values[0]} {dict(add='+', sub='-', mul='*')[name]} {values[1]})"
    return float_out(w, i, type, value)


def half_arithmetic(w, i):
    """Operations of f16, bf16 and pairs of them: in f32 and rounded once; fma in f64."""
    name, type = i.parts[0], i.parts[-1]
    base, pair = type.removesuffix("x2"), type.endswith("x2")
    x, y = "(f32)x", "(f32)y"
    body = {"add": f"{base}({x} + {y})", "sub": f"{base}({x} - {y})", "mul": f"{base}({x} * {y})",
            "fma": "fma_half(x, y, z)", "mad": "fma_half(x, y, z)", "min": f"{base}(lesser({x}, {y}))",
            "max": f"{base}(greater({x}, {y}))", "ex2": f"{base}(__builtin_exp2f({x}))",
            "tanh": f"{base}(__builtin_tanhf({x}))"}[name]
    if "NaN" in i.parts:
        body = f"{base}(or_nan({x}, {y}, (f32){body}))"
    if "relu" in i.parts:
        body = f"{base}(greater((f32){body}, 0.f))"
    if "sat" in i.parts:
        body = f"{base}(saturate((f32){body}))"
    bits = "b32" if pair else "b16"
    function = f"[]({base} x, {base} y, {base} z) {{ return {body}; }}"
    apply = f"{'map_pair' if pair else 'map_half'}<{base}>"
    return w.write(i.operands[0], bits, call(apply, function, *(w.read(x, bits) for x in i.operands[1:])))


@emits("div")
def div(w, i):
    type = i.parts[-1]
    if type not in FLOATS:
        return w.write(i.operands[0], type, f"divide({w.read(i.operands[1], type)}, {w.read(i.operands[2], type)})")
    x, y = float_in(w, i, 1, type), float_in(w, i, 2, type)
    mode = next((ROUNDINGS[p] for p in i.parts[1:] if p in ROUNDINGS), 0)
    return float_out(w, i, type, in_mode(type, "div", x, y, mode) if mode else f"({x} / {y})")


def in_mode(type, operation, a, b, mode):
    """C++ for an operation in a rounding other than to the nearest."""
    return call(f"sim_round_{type}", OPERATIONS[operation], a, b, 0, mode)


@emits("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def function(w, i):
    name, type = i.parts[0], i.parts[-1]
    if type in HALVES:
        return half_arithmetic(w, i)
    x, suffix = w.read(i.operands[1], type), "f" if type == "f32" else ""
    x = f"flush({x})" if "ftz" in i.parts else x          # the C library looks at bits, whatever the processor does
    mode = next((ROUNDINGS[p] for p in i.parts[1:] if p in ROUNDINGS), 0)
    if mode and name in ("sqrt", "rcp"):
        operands = ("sqrt", x, 0) if name == "sqrt" else ("div", 1, x)
        return float_out(w, i, type, in_mode(type, *operands, mode))
    value = {"rcp": f"(({type})1 / {x})", "rsqrt": f"({type})(1 / __builtin_sqrt((f64){x}))"}.get(name)
    builtin = {"ex2": "exp2", "lg2": "log2"}.get(name, name)
    return float_out(w, i, type, value or f"__builtin_{builtin}{suffix}({x})")


@emits("copysign")
def copysign(w, i):
    type, (to, a, b) = i.parts[-1], i.operands
    suffix = "f" if type == "f32" else ""
    return w.write(to, type, f"__builtin_copysign{suffix}({w.read(b, type)}, {w.read(a, type)})")


# ---- conversions ----------------------------------------------------------------------------------------------------

WHOLE = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@emits("cvt")
def cvt(w, i):
    to, have = i.parts[-2:]
    modes = i.parts[1:-2]
    rounding = next((ROUNDINGS[m] for m in modes if m in ROUNDINGS), 0)
    if any(re.match(r"e\dm\d", t) for t in (to, have)) or "pack" in modes or "rs" in modes:
        raise Unsupported(w.message(f"conversion {i.opcode}"))
    if to in ("f16x2", "bf16x2"):                         # two floats: the first goes into the upper half
        base = to[:-2]
        values = [f"(u32){narrowed(w.read(x, 'f32'), base, modes, rounding)}.bits" for x in i.operands[1:]]
        return w.write(i.operands[0], "b32", f"({values[0]} << 16 | {values[1]})")
    if to == "tf32":
        value = w.read(i.operands[1], "f32")
        exact = f"to_tf32({value})" if "rna" in modes else f"(bits_as<u32>(narrow_tf32({value}, {rounding})))"
        return w.write(i.operands[0], "b32", exact)
    if is_float(have):
        x = float_in(w, i, 1, have) if have in FLOATS else f"(f32){w.read(i.operands[1], have)}"
        return float_out(w, i, to, from_float(x, have, to, modes, rounding)) if to in FLOATS else \
            w.write(i.operands[0], to, from_float(x, have, to, modes, rounding))
    x = w.read(i.operands[1], have)
    if to in FLOATS:
        wide = "s64" if have[0] == "s" else "u64"
        value = f"sim_{to}_of_{wide}(({wide}){x}, {rounding})" if rounding else f"({to}){x}"
        return float_out(w, i, to, value)
    if to in ("f16", "bf16"):
        return w.write(i.operands[0], to, narrowed(f"(f64){x}", to, modes, rounding, SIZES[have] == 8))
    return w.write(i.operands[0], to, f"clamp_integer<{c_name(to)}>({x})" if "sat" in modes else f"({c_name(to)}){x}")


def narrowed(value, to, modes, rounding, odd=False):
    """C++ for a float or double as a 16-bit float."""
    if "relu" in modes:
        value = f"greater({value}, 0.f)"
    if "sat" in modes:
        value = f"saturate({value})"
    return f"narrow_half<{to}>({value}, {rounding})" if rounding else f"{to}({value})"


def from_float(x, have, to, modes, rounding):
    """C++ for the float `x` as another float or an integer."""
    whole = next((WHOLE[m] for m in modes if m in WHOLE), None)
    if to in FLOATS or to in HALVES:
        if whole:
            x = f"__builtin_{whole}{'' if have == 'f64' else 'f'}({x})"
        if to in HALVES:
            return narrowed(x, to, modes, rounding)
        return f"sim_narrow({x}, {rounding})" if rounding and to == "f32" and have == "f64" else f"({to}){x}"
    return f"to_integer<{c_name(to)}>(__builtin_{whole or 'trunc'}((f64){x}))"
