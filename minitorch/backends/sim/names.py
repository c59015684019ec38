"""Names of PTX as C++ writes them: types, variables, addresses."""

import re

C_TYPES = {"pred": "bool", "b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64", "b128": "u128", "f16x2": "u32",
           "bf16x2": "u32", "tf32": "u32"}
C_TYPES.update({name: name for name in
                ("u8", "s8", "u16", "s16", "f16", "bf16", "u32", "s32", "f32", "u64", "s64", "f64")})


def c_name(type):
    """The C++ type of a type of PTX."""
    return C_TYPES[type]


def symbol(name):
    """A PTX name as a C++ one."""
    return "N_" + name.replace("$", "_S_").replace("%", "_P_")


def split_address(operand):
    """("%rd4", "8") of "[%rd4+8]"."""
    inner = operand.strip()[1:-1].strip()
    found = re.fullmatch(r"([^+\s]+)\s*(?:\+\s*(-?\w+))?", inner)
    if found is None:
        raise ValueError(f"address {operand}")
    return found[1], found[2] or "0"
