"""Conformance: integers, bits, comparisons."""

import numpy as np

from .conformance import each, elementwise, instruction, predicate


def trunc_div(a, b):
    """Division that rounds towards zero, as C's."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def clamp(x, bits):
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, x))


def define():
    arithmetic()
    bits()
    comparisons()
    carries()


def arithmetic():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        n = int(t[1:])
        two, three = f"{t} {t} -> {t}", f"{t} {t} {t} -> {t}"
        instruction(f"add.{t}", two, each(lambda a, b: a + b))
        instruction(f"sub.{t}", two, each(lambda a, b: a - b))
        instruction(f"mul.lo.{t}", two, each(lambda a, b: a * b))
        instruction(f"mul.hi.{t}", two, each(lambda a, b, n=n: (a * b) >> n))
        instruction(f"mad.lo.{t}", three, each(lambda a, b, c: a * b + c))
        instruction(f"mad.hi.{t}", three, each(lambda a, b, c, n=n: ((a * b) >> n) + c))
        instruction(f"div.{t}", two, each(trunc_div), "nonzero")
        instruction(f"rem.{t}", two, each(lambda a, b: a - b * trunc_div(a, b)), "nonzero")
        instruction(f"min.{t}", two, each(min))
        instruction(f"max.{t}", two, each(max))
        instruction(f"sad.{t}", three, each(lambda a, b, c: abs(a - b) + c))
        instruction(f"shr.{t}", f"{t} u32 -> {t}", each(lambda a, s: a >> s), "all shift")
        if n < 64:
            wide = f"{t[0]}{2 * n}"
            instruction(f"mul.wide.{t}", f"{t} {t} -> {wide}", each(lambda a, b: a * b))
            instruction(f"mad.wide.{t}", f"{t} {t} {wide} -> {wide}", each(lambda a, b, c: a * b + c))
        if t[0] == "s":
            instruction(f"neg.{t}", f"{t} -> {t}", each(lambda a: -a))
            instruction(f"abs.{t}", f"{t} -> {t}", each(abs))
    for name, f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b)):
        instruction(f"{name}.sat.s32", "s32 s32 -> s32", each(lambda a, b, f=f: clamp(f(a, b), 32)))
    instruction("mul24.lo.s32", "s32 s32 -> s32", each(lambda a, b: signed(a, 24) * signed(b, 24)))
    instruction("mul24.hi.u32", "u32 u32 -> u32", each(lambda a, b: ((a & 0xFFFFFF) * (b & 0xFFFFFF)) >> 16))
    instruction("mad24.lo.u32", "u32 u32 u32 -> u32", each(lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c))
    for x in "us":
        for y in "us":

            def dot(a, b, c, x=x, y=y):
                part = lambda v, k, s: signed(v >> 8 * k, 8) if s == "s" else v >> 8 * k & 255
                return sum(part(a, k, x) * part(b, k, y) for k in range(4)) + c

            def dot2(a, b, c, x=x, y=y, high=0):
                wide = lambda v, k: signed(v >> 16 * k, 16) if x == "s" else v >> 16 * k & 65535
                byte = lambda v, k: signed(v >> 8 * k, 8) if y == "s" else v >> 8 * k & 255
                return sum(wide(a, k) * byte(b, k + 2 * high) for k in range(2)) + c

            instruction(f"dp4a.{x}32.{y}32", "u32 u32 u32 -> u32", each(dot))
            instruction(f"dp2a.lo.{x}32.{y}32", "u32 u32 u32 -> u32", each(dot2))
            instruction(f"dp2a.hi.{x}32.{y}32", "u32 u32 u32 -> u32", each(lambda a, b, c, f=dot2: f(a, b, c, high=1)))
    elementwise("umulhi64", "u64 u64 -> u64", "__umul64hi(a, b)", each(lambda a, b: (a * b) >> 64))
    elementwise("mulhi64", "s64 s64 -> s64", "__mul64hi(a, b)", each(lambda a, b: (a * b) >> 64))
    elementwise("hadd", "s32 s32 -> s32", "__hadd(a, b)", each(lambda a, b: (a + b) >> 1))
    elementwise("divide_u8", "u8 u8 -> u8", "a / b + a % b", each(lambda a, b: a // b + a % b), "nonzero")


def bits():
    for t in ("b16", "b32", "b64"):
        u = "u" + t[1:]
        n = int(t[1:])
        instruction(f"and.{t}", f"{u} {u} -> {u}", each(lambda a, b: a & b))
        instruction(f"or.{t}", f"{u} {u} -> {u}", each(lambda a, b: a | b))
        instruction(f"xor.{t}", f"{u} {u} -> {u}", each(lambda a, b: a ^ b))
        instruction(f"not.{t}", f"{u} -> {u}", each(lambda a: ~a))
        instruction(f"cnot.{t}", f"{u} -> {u}", each(lambda a: int(a == 0)))
        instruction(f"shl.{t}", f"{u} u32 -> {u}", each(lambda a, s: a << s), "all shift")
        if n > 16:
            instruction(f"popc.{t}", f"{u} -> u32", each(lambda a: bin(a).count("1")))
            instruction(f"clz.{t}", f"{u} -> u32", each(lambda a, n=n: n - a.bit_length()))
            instruction(f"brev.{t}", f"{u} -> {u}", each(lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2)))
    for t in ("u32", "s32", "u64", "s64"):
        n = int(t[1:])

        def extract(a, at, count, t=t, n=n):
            at, count = at & 255, count & 255
            sign = 0 if t[0] == "u" or count == 0 else a >> min(at + count - 1, n - 1) & 1
            return sum((a >> at + k & 1 if k < count and at + k < n else sign) << k for k in range(n))

        def find(a, n=n):
            a = ~a if a < 0 else a
            return a.bit_length() - 1 if a else -1

        instruction(f"bfe.{t}", f"{t} u32 u32 -> {t}", each(extract), "all shift shift")
        instruction(f"bfind.{t}", f"{t} -> u32", each(find))
        instruction(
            f"bfind.shiftamt.{t}", f"{t} -> u32", each(lambda a, f=find, n=n: n - 1 - f(a) if f(a) >= 0 else -1)
        )
    for n in (32, 64):

        def insert(a, b, at, count, n=n):
            mask = sum(1 << at + k for k in range(count) if at + k < n)
            return b & ~mask | a << at & mask

        elementwise(
            f"bfi_b{n}",
            f"u{n} u{n} u32 u32 -> u{n}",
            f'asm("bfi.b{n} %0, %1, %2, %3, %4;" : "={"r" if n == 32 else "l"}"(r) : "{"r" if n == 32 else "l"}"(a), '
            f'"{"r" if n == 32 else "l"}"(b), "r"(c), "r"(d)); r = r;',
            each(insert),
            "all all shift shift",
        )
    for d in "lr":
        for mode in ("wrap", "clamp"):

            def funnel(a, b, s, d=d, mode=mode):
                s, both = s & 31 if mode == "wrap" else min(s, 32), b << 32 | a
                return (both << s) >> 32 if d == "l" else both >> s

            instruction(f"shf.{d}.{mode}.b32", "u32 u32 u32 -> u32", each(funnel), "all all shift")
    for table in (0x00, 0x96, 0xE8, 0xCA, 0x3C, 0x80, 0xFE, 0x1B):

        def logic(a, b, c, table=table):
            return sum((table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | c >> k & 1) & 1) << k for k in range(32))

        instruction("lop3.b32", "u32 u32 u32 -> u32", each(logic), tail=f", {table}")

    def permute(a, b, selector):
        data = [(b << 32 | a) >> 8 * k & 255 for k in range(8)]
        out = 0
        for k in range(4):
            s = selector >> 4 * k & 15
            out |= (data[s & 7] if s < 8 else 255 * (data[s & 7] >> 7)) << 8 * k
        return out

    instruction("prmt.b32", "u32 u32 u32 -> u32", each(permute))
    modes = {
        "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
        "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
        "rc8": (0, 0x1111, 0x2222, 0x3333),
        "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
        "ecr": (0, 0x1110, 0x2210, 0x3210),
        "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
    }
    for mode, rows in modes.items():
        instruction(
            f"prmt.b32.{mode}", "u32 u32 u32 -> u32", each(lambda a, b, c, rows=rows: permute(a, b, rows[c & 3]))
        )
    instruction("szext.wrap.s32", "s32 u32 -> s32", each(lambda a, n: signed(a, n & 31) if n & 31 else 0), "all shift")
    instruction(
        "bmsk.clamp.b32", "u32 u32 -> u32", each(lambda a, n: sum(1 << a + k for k in range(n) if a + k < 32)), "shift"
    )
    elementwise(
        "brev_ffs",
        "u32 -> u32",
        "__brev(a) + __ffs(a)",
        each(lambda a: int(f"{a:032b}"[::-1], 2) + ((a & -a).bit_length() if a else 0)),
    )
    elementwise("byte_perm", "u32 u32 -> u32", "__byte_perm(a, b, 0x5140)", each(lambda a, b: permute(a, b, 0x5140)))
    for t in ("u32", "s64", "u16"):
        instruction(f"slct.{t}.s32", f"{t} {t} s32 -> {t}", each(lambda a, b, c: a if c >= 0 else b))


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def comparisons():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        for name, f in COMPARE.items():
            predicate(f"setp.{name}.{t}", f"{t} {t}", lambda a, b, f=f: f(a, b))
    for name, same in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        predicate(f"setp.{name}.u32", "u32 u32", COMPARE[same])
    for t in ("f32", "f64", "f16"):
        for name, f in COMPARE.items():
            ordered = lambda a, b, f=f: f(a, b) & ~(np.isnan(a) | np.isnan(b))
            predicate(f"setp.{name}.{t}", f"{t} {t}", ordered)
            predicate(f"setp.{name}u.{t}", f"{t} {t}", lambda a, b, f=ordered: f(a, b) | np.isnan(a) | np.isnan(b))
        predicate(f"setp.nan.{t}", f"{t} {t}", lambda a, b: np.isnan(a) | np.isnan(b))
        predicate(f"setp.num.{t}", f"{t} {t}", lambda a, b: ~(np.isnan(a) | np.isnan(b)))
    for combine, f in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor)):
        code = (
            f'asm("{{ .reg .pred p, q; setp.ne.s32 q, %3, 0; setp.lt.{combine}.s32 p, %1, %2, q; selp.u32 %0, '
            f'1, 0, p; }}" : "=r"(r) '
            ': "r"(a), "r"(b), "r"(c)); r = r;'
        )
        elementwise(
            f"setp_{combine}", "s32 s32 s32 -> u32", code, lambda a, b, c, f=f: f(a < b, c != 0), "all all shift"
        )
        code = (
            f'asm("{{ .reg .pred p, q, s; setp.ne.s32 q, %3, 0; setp.lt.{combine}.s32 p|s, %1, %2, !q; selp.u32 '
            f'%0, 2, 0, s; '
            '@p add.u32 %0, %0, 1; }" : "=r"(r) : "r"(a), "r"(b), "r"(c)); r = r;'
        )
        elementwise(
            f"setp_{combine}_two",
            "s32 s32 s32 -> u32",
            code,
            lambda a, b, c, f=f: f(a < b, c == 0) + 2 * f(~(a < b), c == 0),
            "all all shift",
        )
    instruction("set.gt.u32.s32", "s32 s32 -> u32", lambda a, b: np.where(a > b, np.uint32(0xFFFFFFFF), 0))
    instruction("set.le.f32.f32", "f32 f32 -> f32", lambda a, b: (a <= b).astype("f4"))
    instruction(
        "set.neu.u32.f32",
        "f32 f32 -> u32",
        lambda a, b: np.where((a != b) | np.isnan(a) | np.isnan(b), np.uint32(0xFFFFFFFF), 0),
    )


def carries():
    """Numbers of 64 and 96 bits in pieces of 32, through the carry flag."""
    elementwise(
        "add_cc",
        "u64 u64 -> u64",
        'unsigned x = a, y = a >> 32, u = b, v = b >> 32; asm("add.cc.u32 %0, %0, %2; addc.u32 %1, %1, %3;" : '
        '"+r"(x), "+r"(y) : "r"(u), "r"(v)); '
        "r = (unsigned long long)y << 32 | x;",
        each(lambda a, b: a + b),
    )
    elementwise(
        "sub_cc",
        "u64 u64 -> u64",
        'unsigned x = a, y = a >> 32, u = b, v = b >> 32; asm("sub.cc.u32 %0, %0, %2; subc.u32 %1, %1, %3;" : '
        '"+r"(x), "+r"(y) : "r"(u), "r"(v)); '
        "r = (unsigned long long)y << 32 | x;",
        each(lambda a, b: a - b),
    )
    elementwise(
        "mad_cc",
        "u32 u32 u64 -> u64",
        'unsigned x = c, y = c >> 32; asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;" : '
        '"+r"(x), "+r"(y) : "r"(a), "r"(b)); '
        "r = (unsigned long long)y << 32 | x;",
        each(lambda a, b, c: a * b + c),
    )
