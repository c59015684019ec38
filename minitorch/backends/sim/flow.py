"""Where values come from and go to in a function: the sums of wgmma, and the indices of addresses.

Both are found without running anything, by register names alone. `accumulators` are the registers that may hold a sum
which is still under way. `Indices` follows addresses back to the 32-bit arithmetic that they are made of: beside each
such register the translated code keeps its exact value (`E_...`, a double; NaN where nobody can tell whether a number
loaded from somewhere has a sign), and where a register is widened to 64 bits, whether the two differ (`T_...`). Only
an access with such an address is a mistake: hashes and random numbers overflow all the time, but go through shifts,
masks or remainders, which make the value exact again; comparisons may read any register.
"""

import re

from .ptx import SIZES, Instruction

REGISTER = re.compile(r"%[\w$]+")
LANES = {"st": None, "red": None}                          # instructions without a result


def instructions(body):
    return [s for s in body or () if isinstance(s, Instruction)]


def is_move(i):
    """True if an instruction copies one 32-bit register."""
    return i.parts[0] == "mov" and SIZES.get(i.parts[-1]) == 4 and "{" not in "".join(i.operands)


def accumulators(body):
    """The registers that may hold a sum of a wgmma under way: its own, and those that these are copied to."""
    code = instructions(body)
    found = {r for i in code if i.opcode.startswith("wgmma.mma_async") for r in REGISTER.findall(i.operands[0])}
    moves = [i for i in code if is_move(i)] if found else ()
    while new := {i.operands[0] for i in moves if i.operands[1] in found} - found:
        found |= new
    return found


def sources(i):
    """The registers that an instruction reads, without those of its guard."""
    return REGISTER.findall(" ".join(i.operands if i.parts[0] in LANES else i.operands[1:]))


# ---- indices --------------------------------------------------------------------------------------------------------

INTEGERS = ("s32", "u32", "b32")
WIDE = ("s64", "u64", "b64")
MEMORY = ("ld", "ldu", "st", "atom", "red")


def arithmetic(i):
    """(what it does, operands) of 32-bit arithmetic whose exact value can be told, else None."""
    kind, type = i.parts[0], i.parts[-1]
    if type not in INTEGERS or any(p in i.parts for p in ("cc", "hi", "wide", "sat")):
        return None
    if kind in ("add", "sub", "mul", "mad", "shl", "mov", "selp", "neg", "min", "max"):
        return (kind, i.operands[1:]) if "{" not in "".join(i.operands) else None
    return None


def is_computed(i):
    """True if 32-bit arithmetic makes a value that its bits do not tell: a sum, a product, a
    negative constant."""
    if i.parts[0] == "mov":
        return i.operands[1].startswith("-")
    return arithmetic(i) is not None and i.parts[0] not in ("selp", "min", "max")


def widening(i):
    """The 32-bit operands that an instruction widens to 64 bits, and whether with their sign; None if it does not."""
    if i.parts[0] == "cvt" and i.parts[-2] in WIDE and i.parts[-1] in ("s32", "u32"):
        return i.operands[1:2], i.parts[-1] == "s32"
    if i.parts[0] in ("mul", "mad") and "wide" in i.parts and i.parts[-1] in ("s32", "u32"):
        return i.operands[1:3], i.parts[-1] == "s32"
    return None


def address_arithmetic(i):
    """The 64-bit operands from which an instruction makes an address, () if it makes none."""
    kind, type = i.parts[0], i.parts[-1]
    if kind in ("add", "sub", "mov", "cvta", "shl", "selp", "mul", "mad") and type in WIDE and "hi" not in i.parts:
        return [x for x in i.operands[1:] if REGISTER.fullmatch(x)]
    return i.operands[3:] if kind == "mad" and "wide" in i.parts else ()


def bases_of(code):
    """The registers that hold addresses of global memory which instructions read or write."""
    return {r for i in code
            if i.parts[0] in MEMORY and not {"shared", "local", "param"} & set(i.parts)
            for x in i.operands if x.startswith("[") for r in REGISTER.findall(x)}


def makers_of(code):
    """The instructions that write each register."""
    makers: dict[str, list] = {}
    for i in code:
        if i.operands and i.parts[0] not in LANES:
            makers.setdefault(i.operands[0], []).append(i)
    return makers


class Indices:
    """The registers of a function that need an exact value (`exact`), and the addresses made of them (`marked`)."""

    def __init__(self, body):
        code = instructions(body)
        makers = makers_of(code)
        wide = closure(bases_of(code), makers, address_arithmetic)
        narrow = {x for r in wide for i in makers.get(r, ()) for x in (widening(i) or ((),))[0]}
        self.remainders = {i for i in code if is_remainder(i, makers)} if narrow else set()

        def operands(i):
            return () if i in self.remainders else (arithmetic(i) or (0, ()))[1]
        narrow = closure(narrow & makers.keys(), makers, operands)
        made = {r for r in narrow for i in makers[r] if is_computed(i) and i not in self.remainders}
        self.small = {r for r in narrow if bound(r, makers) < 2**31}      # what their bits say is exact
        self.exact = spread(made - self.small, narrow - self.small, makers, operands)
        begun = {r for r in wide for i in makers.get(r, ()) if self.exact & set((widening(i) or ((),))[0])}
        self.marked = spread(begun, wide, makers, address_arithmetic)

    def bookkeeping(self, w, i):
        """C++ that follows an instruction, to keep exact values and marks."""
        to = i.operands[0] if i.operands and i.parts[0] not in LANES else ""
        if to in self.exact and w.register(to):
            return f"E{w.register(to)[1]} = {self.exact_value(w, i, to)};"
        if to in self.marked and w.register(to):
            marks = [f"T{w.register(x)[1]}" for x in address_arithmetic(i) if x in self.marked]
            operands, signed = widening(i) or ((), False)
            c_type = "s32" if signed else "u32"
            marks += [f"is_off(E{w.register(x)[1]}, (f64)({c_type}){w.register(x)[1]})"
                      for x in operands if x in self.exact]
            return f"T{w.register(to)[1]} = {' | '.join(marks) or 'false'};"
        return ""

    def exact_value(self, w, i, to):
        kind, operands = arithmetic(i) or ("", ())
        kind = "" if i in self.remainders else kind
        if kind == "selp":
            return f"({w.read(operands[2], 'pred')} ? {self.value(w, operands[0])} : {self.value(w, operands[1])})"
        x, y, z = [*(self.value(w, x) for x in operands), "0", "0"][:3] if kind else ("0", "0", "0")
        if kind == "shl":
            return f"({x} * (f64)(1ull << ({w.read(operands[1], 'u32')} & 31)))"
        if kind in ("min", "max"):                         # one of the two, whichever it is: no exact value is needed
            return f"leaf((u32){w.register(to)[1]})"
        return {"add": f"({x} + {y})", "sub": f"({x} - {y})", "mul": f"({x} * {y})", "mad": f"({x} * {y} + {z})",
                "mov": x, "neg": f"(-{x})"}.get(kind) or f"leaf((u32){w.register(to)[1]})"

    def value(self, w, operand):
        """C++ for the exact value of an operand."""
        if operand in self.exact:
            return f"E{w.register(operand)[1]}"
        if re.fullmatch(r"-?\d+", operand):
            return f"(f64)({operand})"
        return f"(f64){w.read(operand, 's32')}" if operand in self.small else f"leaf({w.read(operand, 'u32')})"


def bound(x, makers, depth=8):
    """No 32-bit operand's exact value is above this."""
    if re.fullmatch(r"-?\d+", x):
        return abs(int(x))
    if re.match(r"%(tid|ntid|laneid|warpid)\b", x):
        return 1024
    made = makers.get(x, ())
    if len(made) != 1 or not depth:
        return float("inf")
    kind, *_, type = made[0].parts
    y, z, w = [bound(y, makers, depth - 1) for y in (*made[0].operands[1:], "0", "0")[:3]]
    if type not in INTEGERS or any(p in made[0].parts for p in ("hi", "wide", "cc")):
        return float("inf")
    if kind == "and":
        return min(y, z)
    if kind == "shr" and type != "s32" and z < 32:
        return 2**32 >> z
    return {"mov": y, "add": y + z, "sub": y + z, "mul": y * z, "mad": y * z + w,
            "shl": y * 2.0**z if z < 32 else float("inf")}.get(kind, float("inf"))


def is_remainder(i, makers):
    """True if an instruction subtracts from a number a multiple of its quotient, as ``x % 100``
    does.

    The exact value of x plays no part then: a remainder starts afresh, as the result of `rem` does.
    """
    kind, operands = arithmetic(i) or ("", ())
    if kind not in ("sub", "add", "mad"):
        return False
    for taken in operands:
        made_of = closure({taken} & makers.keys(), makers, lambda i: (arithmetic(i) or (0, ()))[1])
        quotients = {q for q in made_of for m in makers[q] if arithmetic(m) is None and m.parts[0] != "ld"}
        if (closure(quotients, makers, sources) - {taken}) & set(operands):
            return True
    return False


def closure(found, makers, operands):
    """The registers `found`, and those that they are made of."""
    found, todo = set(found), list(found)
    while todo:
        for i in makers.get(todo.pop(), ()):
            new = {x for x in operands(i) if x in makers} - found
            found |= new
            todo += new
    return found


def spread(found, among, makers, operands):
    """The registers `found`, and those `among` others that are made of them."""
    found = set(found)
    while new := {r for r in among - found for i in makers.get(r, ()) if found & set(operands(i))}:
        found |= new
    return found
