"""Tensor cores and asynchronous copies: mma, ldmatrix, wgmma, cp.async, TMA, mbarriers.

What they do stands in runtime/tensor.cpp, wgmma.cpp and async.cpp; the rules here bring registers and addresses there.
"""

from .errors import Unsupported
from .names import split_address
from .opcodes import block, boolean, call, emits
from .ptx import split

ELEMENTS = ("f16", "bf16", "tf32", "s8", "u8")            # as in runtime/abi.h


def registers(operand):
    """The registers of "{%r1, %r2}"."""
    return split(operand[1:-1])


def array(w, name, operands, type="b32", size=None):
    """C++ that declares an array of the values of registers."""
    c_type = "f32" if type == "f32" else "u32"
    return f"{c_type} {name}[{size or len(operands)}] = {{{', '.join(w.read(x, type) for x in operands)}}};"


def writes_of(w, name, operands, type="b32"):
    """C++ that assigns the elements of an array to registers."""
    return " ".join(w.write(x, type, f"{name}[{n}]") for n, x in enumerate(operands))


def unsupported(w, i):
    return Unsupported(w.message(f"instruction {i.opcode}"))


# ---- matrices -------------------------------------------------------------------------------------------------------

@emits("mma")
def mma(w, i):
    shape, layout = i.parts[3], i.parts[4:6]
    d_type, a_type, b_type, _ = [p for p in i.parts[6:] if p != "satfinite"][:4]
    if not shape.startswith("m16n8k") or layout != ["row", "col"] or a_type != b_type or a_type not in ELEMENTS:
        raise unsupported(w, i)
    d, a, b, c = map(registers, i.operands)
    run = call("sim_mma", ELEMENTS.index(a_type), shape[6:], boolean(d_type == "f16"), "a", "b", "c", "d", w.site())
    return block(array(w, "a", a, size=4), array(w, "b", b, size=2), array(w, "c", c, size=4), "u32 d[4];", run + ";",
                 writes_of(w, "d", d))


def matrix_address(w, i, operand):
    return w.address(operand, "shared" if any(part.startswith("shared") for part in i.parts) else "generic")


@emits("ldmatrix")
def ldmatrix(w, i):
    if "m8n8" not in i.parts:
        raise unsupported(w, i)
    to = registers(i.operands[0])
    row = matrix_address(w, i, i.operands[1])
    return block("u32 v[4];", call("sim_ldmatrix", "v", row, len(to), boolean("trans" in i.parts), w.site()) + ";",
                 writes_of(w, "v", to))


@emits("stmatrix")
def stmatrix(w, i):
    values = registers(i.operands[1])
    row = matrix_address(w, i, i.operands[0])
    return block(array(w, "v", values, size=4),
                 call("sim_stmatrix", "v", row, len(values), boolean("trans" in i.parts), w.site()) + ";")


@emits("movmatrix")
def movmatrix(w, i):
    return w.write(i.operands[0], "b32", call("sim_movmatrix", w.read(i.operands[1], "b32"), w.site()))


@emits("wgmma")
def wgmma(w, i):
    kind = i.parts[1]
    if kind == "fence":
        return "sim_wgmma_fence();"
    if kind == "commit_group":
        return "sim_wgmma_commit();"
    if kind == "wait_group":
        arrived = "".join(f" settle({found[1]});" for found in map(w.register, sorted(w.accumulators)) if found)
        return f"sim_wgmma_wait({i.operands[0]});{arrived}"
    shape = next(p for p in i.parts if p.startswith("m64n"))
    d_type, a_type, b_type = i.parts[-3:]
    if "sp" in i.parts or a_type != b_type or a_type not in ("f16", "bf16", "tf32"):
        raise unsupported(w, i)
    d, a, b, accumulate, *flags = i.operands
    in_registers = a.startswith("{")
    scale_a, scale_b, *transposed = [int(f, 0) for f in flags]
    transpose_a, transpose_b = [0, 0, *transposed][-2:] if not in_registers else [0, *transposed, 0][:2]
    type, to = "b32" if d_type == "f16" else "f32", registers(d)
    run = call("sim_wgmma", ELEMENTS.index(a_type), shape[4:shape.index("k")], boolean(d_type == "f16"), "d",
               "a" if in_registers else "nullptr", 0 if in_registers else w.read(a, "u64"), w.read(b, "u64"),
               w.read(accumulate, "pred"), scale_a, scale_b, boolean(transpose_a), boolean(transpose_b), w.site())
    return block(array(w, "a", registers(a) if in_registers else ["0"]), array(w, "d", to, type), run + ";",
                 writes_of(w, "d", to, type))


# ---- copies ---------------------------------------------------------------------------------------------------------

@emits("cp")
def cp(w, i):
    if "bulk" in i.parts:
        return bulk(w, i)
    kind = i.parts[2]
    if kind == "commit_group":
        return "sim_copy_commit();"
    if kind in ("wait_group", "wait_all"):
        return call("sim_copy_wait", i.operands[0] if i.operands else "~0u", w.site()) + ";"
    if kind == "mbarrier":
        return call("sim_copy_arrive", w.shared_offset(i.operands[0]), boolean("noinc" not in i.parts), w.site()) + ";"
    to, source, size, *rest = i.operands
    if "cache_hint" in i.opcode:
        rest.pop()
    register = w.register(rest[0]) if rest else None
    if register and register[0] == "pred":                # ignore-src: take nothing where it is true
        taken = f"({w.read(rest[0], 'pred')} ? 0 : {size})"
    else:
        taken = w.read(rest[0] if rest else size, "u32")
    return call("sim_copy_async", w.address(to, "shared"), w.address(source, "global"), size, taken, w.site()) + ";"


def coordinates(w, operand):
    """C++ for the address of the map and the coordinates of "[%rd1, {%r1, %r2}]", and how many coordinates."""
    map, at = split(operand[1:-1])
    base, offset = split_address(f"[{map}]")
    at = registers(at)
    return f"(void*)({w.read(base, 'u64')} + {offset})", ", ".join(w.read(x, "s32") for x in at), len(at)


BULK_ELSEWHERE = ("im2col", "cta_group", "tile::")


def bulk(w, i):
    """cp.async.bulk: copies by the copy engine, of boxes of tensors (TMA) or of plain bytes."""
    parts, site = i.parts, w.site()
    if "commit_group" in parts:
        return "sim_bulk_commit();"
    if "wait_group" in parts:
        return call("sim_bulk_wait", i.operands[0], boolean("read" in parts), site) + ";"
    if "prefetch" in parts:
        return ";"
    if any(part.startswith(BULK_ELSEWHERE) for part in parts) or "reduce" in parts and "tensor" not in parts:
        raise unsupported(w, i)
    to, source, *rest = i.operands
    spaces = [part.split("::")[0] for part in parts if part.split("::")[0] in ("shared", "global")]
    to_shared = spaces[0] == "shared"
    multicast = "multicast::cluster" in parts
    if "tensor" not in parts:
        size = w.read(rest[0], "u32")
        if to_shared:
            inside = "shared" in spaces[1:]
            places = w.window(to), w.address(source, spaces[1]), size, w.window(rest[1])
            blocks = w.read(rest[2], "u16") if multicast else 0
            return call("sim_bulk_load", *places, blocks, boolean(inside), site) + ";"
        return call("sim_bulk_store", w.address(to, "global"), w.shared_offset(source), size, site) + ";"
    map, at, rank = coordinates(w, source if to_shared else to)
    if to_shared:
        blocks = w.read(rest[1], "u16") if multicast else 0
        run = call("sim_tensor_load", w.window(to), map, w.window(rest[0]), rank, "at", blocks, site)
    else:
        if "reduce" in parts and "add" not in parts:
            raise unsupported(w, i)
        run = call("sim_tensor_store", map, w.shared_offset(source), rank, "at", boolean("reduce" in parts), site)
    return block(f"s32 at[5] = {{{at}}};", run + ";")


# ---- mbarriers ------------------------------------------------------------------------------------------------------

@emits("mbarrier")
def mbarrier(w, i):
    kind, site = i.parts[1], w.site()
    has_result = not i.operands[0].startswith("[")
    result, (address, *rest) = (i.operands[0], i.operands[1:]) if has_result else ("_", i.operands)
    offset, wide = w.window(address), boolean("cluster" in i.parts)
    if kind == "init":
        return call("sim_mbarrier_init", offset, w.read(rest[0], "u32"), site) + ";"
    if kind == "inval":
        return call("sim_mbarrier_invalidate", offset, site) + ";"
    if kind in ("expect_tx", "complete_tx"):
        sign = "-" if kind == "complete_tx" else ""
        return call("sim_mbarrier_expect", offset, f"{sign}{w.read(rest[0], 's32')}", site) + ";"
    if kind in ("arrive", "arrive_drop"):
        number = w.read(rest[0], "u32") if rest else "1"
        arrivals, expected = ("1", number) if "expect_tx" in i.parts else (number, "0")
        drops = boolean(kind == "arrive_drop")
        return w.write(result, "b64", call("sim_mbarrier_arrive", offset, arrivals, expected, drops, wide, site))
    if kind in ("test_wait", "try_wait"):
        parity = "parity" in i.parts
        phase = w.read(rest[0], "u32" if parity else "u64")
        wait = call("sim_mbarrier_wait", offset, phase, boolean(parity), wide, site)
        return w.write(result, "pred", wait)
    raise unsupported(w, i)
