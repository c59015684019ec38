"""Memory, control flow, synchronisation, tensor cores: the PTX instructions that go through the runtime (runtime/abi.h).

Every load, store and atomic operation tells the runtime (`sim_access`) its address, size and site before it is made.
"""

from .errors import Unsupported
from .opcodes import c_name, emits
from .ptx import SIZES, split
from .translate import split_address

LOAD, STORE, ATOMIC, MODIFY = 0, 1, 2, 4                  # as in runtime/abi.h
ORDERED = {"relaxed", "acquire", "release", "acq_rel"}    # accesses made to meet others: atomic
NOTHING = ("griddepcontrol", "prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "setmaxnreg", "pmevent")


def space(i):
    """The state space an access names; "generic" if none."""
    for part in i.parts[1:]:
        if part.split("::")[0] in ("global", "shared", "local", "param", "const"):
            if part == "shared::cluster" and i.parts[0] in ("ld", "st", "atom", "red"):
                raise Unsupported(f"{i.opcode}: memory of other blocks of a cluster")
            return part.split("::")[0]
    return "generic"


def vector(i):
    """The number of values that a load or store moves."""
    return next((int(part[1:]) for part in i.parts if part in ("v2", "v4", "v8")), 1)


def check(w, i, size, how, value="nullptr"):
    """C++ that reports an access at `A` to the runtime."""
    where = space(i)
    if where == "param":
        return ""
    if where == "local":
        name, total = w.local_bytes or ("", 0)
        return f"sim_local(A, {size}, {name}, {total}, {w.site()}); " if name else ""
    return f"if (sim_watching) sim_access(A, {size}, {how}, {value}, {w.site()}); "


def as_list(operand):
    """The registers of "{%r1, %r2}", or of "%r1"."""
    return split(operand[1:-1]) if operand.startswith("{") else [operand]


# ---- loads, stores, atomics -----------------------------------------------------------------------------------------

@emits("ld", "ldu")
def ld(w, i):
    type, count = i.parts[-1], vector(i)
    size = SIZES[type]
    how = LOAD | (ATOMIC if ORDERED & set(i.parts) else 0)
    writes = " ".join(w.write(to, type, f"v[{n}]") for n, to in enumerate(as_list(i.operands[0])))
    return (f"{{ char* A = {w.address(i.operands[1], space(i))}; {check(w, i, size * count, how)}"
            f"{c_name(type)} v[{count}]; __builtin_memcpy(v, A, {size * count}); {writes} }}")


@emits("st")
def st(w, i):
    type, count = i.parts[-1], vector(i)
    size = SIZES[type]
    how = STORE | (ATOMIC if ORDERED & set(i.parts) else 0)
    values = ", ".join(w.read(value, type) for value in as_list(i.operands[1]))
    fence = "sim_fence(); " if "release" in i.parts else ""
    return (f"{{ char* A = {w.address(i.operands[0], space(i))}; {c_name(type)} v[{count}] = {{{values}}}; "
            f"{fence}{check(w, i, size * count, how, 'v')}__builtin_memcpy(A, v, {size * count}); }}")


UPDATES = {"min": "(o < v ? o : v)", "max": "(o > v ? o : v)", "exch": "v", "and": "o & v", "or": "o | v", "xor": "o ^ v",
           "inc": "(o >= v ? 0 : o + 1)", "dec": "(o == 0 || o > v ? v : o - 1)"}


def updated(operation, type):
    """C++ for the value after an atomic operation on the old one `o` with `v` (and `c`, the value cas puts in)."""
    if type in ("f16x2", "bf16x2"):
        base = type[:-2]
        return f"map_pair<{base}>([]({base} x, {base} y, {base}) {{ return {updated(operation, base).replace('o', 'x').replace('v', 'y')}; }}, o, v)"
    if type in ("f16", "bf16"):
        return {"add": f"{type}((f32)o + (f32)v)", "min": f"{type}(lesser((f32)o, (f32)v))", "max": f"{type}(greater((f32)o, (f32)v))"}[operation]
    if operation == "add":
        return "o + v" if type in ("f32", "f64") else f"({c_name(type)})((u{type[1:]})o + (u{type[1:]})v)"
    return "(o == v ? c : o)" if operation == "cas" else UPDATES[operation]


@emits("atom", "red")
def atom(w, i):
    returns, where, type = i.parts[0] == "atom", space(i), i.parts[-1]
    if "async" in i.parts:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    operation = next(p for p in i.parts[1:] if p in ("add", "cas", *UPDATES))
    if i.parts[1] == "async" or vector(i) > 1:
        return atom_vector(w, i, operation, type)
    to, address, value, *other = i.operands if returns else ("_", *i.operands)
    bits = {"b16": "u16", "b32": "u32", "b64": "u64", "b128": "u128"}.get(type, type)
    size = SIZES[type]
    c = f", c = {w.read(other[0], bits)}" if operation == "cas" else ""
    fence = "sim_fence(); " if {"release", "acq_rel"} & set(i.parts) else ""
    result = w.write(to, bits, "o") if to != "_" else ""
    return (f"{{ char* A = {w.address(address, where)}; {c_name(bits)} o, v = {w.read(value, bits)}{c}; "
            f"{fence}{check(w, i, size, STORE | ATOMIC | MODIFY)}"
            f"__builtin_memcpy(&o, A, {size}); {c_name(bits)} n = {updated(operation, bits)}; __builtin_memcpy(A, &n, {size}); {result} }}")


def atom_vector(w, i, operation, type):
    """red.global.add.v4.f32 and the like: each element on its own, one access for all."""
    returns = i.parts[0] == "atom"
    address, values = i.operands[returns], as_list(i.operands[returns + 1])
    size, count, c_type = SIZES[type], len(values), c_name(type)
    results = "".join(w.write(to, type, f"old[{n}]") for n, to in enumerate(as_list(i.operands[0]))) if returns else ""
    return (f"{{ char* A = {w.address(address, space(i))}; {c_type} old[{count}], in[{count}] = {{{', '.join(w.read(x, type) for x in values)}}}; "
            f"{check(w, i, size * count, STORE | ATOMIC | MODIFY)}"
            f"for (int k = 0; k < {count}; k++) {{ {c_type} o, v = in[k]; __builtin_memcpy(&o, A + {size} * k, {size}); old[k] = o; "
            f"{c_type} n = {updated(operation, type)}; __builtin_memcpy(A + {size} * k, &n, {size}); }} {results} }}")


@emits("cvta")
def cvta(w, i):
    type, (to, address) = i.parts[-1], i.operands
    value = w.read(address, type)
    if any(part.startswith("shared") for part in i.parts):
        value = f"({value} - (u64)sim_shared)" if "to" in i.parts else f"({value} + (u64)sim_shared)"
    return w.write(to, type, value)


@emits("isspacep")
def isspacep(w, i):
    where, address = i.parts[1], w.read(i.operands[1], "u64")
    if where.startswith("shared"):
        return w.write(i.operands[0], "pred", f"({address} - (u64)sim_shared < {228 << 10})")
    if where == "global":
        return w.write(i.operands[0], "pred", f"({address} - (u64)sim_shared >= {228 << 10})")
    raise Unsupported(w.message(f"instruction {i.opcode}"))


# ---- control flow ---------------------------------------------------------------------------------------------------

@emits("bra")
def bra(w, i):
    name = i.operands[0]
    jump = f"goto {w.label(name)};"
    if not w.is_backward(name):
        return jump
    return f"{{ if (__builtin_expect(--sim_budget < 0, 0)) sim_tick({w.site()}); {jump} }}"


@emits("ret", "exit")
def ret(w, i):
    if i.parts[0] == "exit" and not w.function.is_entry:
        raise Unsupported(w.message("exit inside a device function"))
    return "return;"


@emits("trap", "brkpt")
def trap(w, i):
    return f'sim_trap({w.site()}, "the kernel trapped (__trap())");'


@emits("call")
def call(w, i):
    from .translate import symbol
    results = split(i.operands[0][1:-1]) if i.operands[0].startswith("(") else []
    name, *rest = i.operands[bool(results):]
    arguments = split(rest[0][1:-1]) if rest else []
    places = [w.local_name(a) for a in (*results, *arguments)]
    if name == "vprintf":
        result, text, values = places
        return (f"{{ char *F, *V; __builtin_memcpy(&F, {text}, 8); __builtin_memcpy(&V, {values}, 8); "
                f"*(int*){result} = sim_printf(F, V, {w.site()}); }}")
    if name == "__assertfail":
        text, file, line, function, _ = places
        return (f"{{ char *M, *N, *G; u32 L; __builtin_memcpy(&M, {text}, 8); __builtin_memcpy(&N, {file}, 8); "
                f"__builtin_memcpy(&G, {function}, 8); __builtin_memcpy(&L, {line}, 4); sim_assert_fail(M, N, L, G, {w.site()}); }}")
    function = w.module.functions.get(name)
    if function is None or function.body is None:
        raise Unsupported(w.message(f"call of {name}"))
    return f"{symbol(name)}(self{''.join(f', {place}' for place in places)});"


@emits(*NOTHING)
def nothing(w, i):
    return ";"


@emits("createpolicy")
def createpolicy(w, i):
    return w.write(i.operands[0], "b64", "0ull")


@emits("membar", "fence")
def fence(w, i):
    return "sim_fence();" if "proxy" not in i.opcode and "cta" not in i.parts else ";"


@emits("mapa", "getctarank")
def cluster(w, i):
    raise Unsupported(w.message(f"{i.opcode}: thread block clusters are not simulated"))


# ---- barriers and warp operations -----------------------------------------------------------------------------------

@emits("bar", "barrier")
def bar(w, i):
    if "cluster" in i.parts:
        raise Unsupported(w.message(f"{i.opcode}: thread block clusters are not simulated"))
    operands = i.operands
    if "warp" in i.parts:
        return f"sim_warp_barrier({w.read(operands[0], 'u32')}, {w.site()});"
    if "red" in i.parts:
        to, number, *count, predicate = operands
        kind = {"and": 1, "or": 2, "popc": 3}[i.parts[i.parts.index("red") + 1]]
        threads = w.read(count[0], "u32") if count else "0"
        result = w.write(to, "u32", "v") if kind == 3 else w.write(to, "pred", "v != 0")
        return f"{{ u32 v = sim_barrier_reduce({w.read(number, 'u32')}, {threads}, {kind}, {w.read(predicate, 'pred')}, {w.site()}); {result} }}"
    threads = w.read(operands[1], "u32") if len(operands) > 1 else "0"
    name = "sim_barrier_arrive" if "arrive" in i.parts else "sim_barrier"
    return f"{name}({w.read(operands[0], 'u32')}, {threads}, {w.site()});"


@emits("shfl")
def shfl(w, i):
    to, value, lane, clamp, mask = i.operands
    to, *valid = (t.strip() for t in to.split("|"))
    kind = {"idx": 0, "up": 1, "down": 2, "bfly": 3}[i.parts[2]]
    flag = w.write(valid[0], "pred", "p") if valid else ""
    numbers = ", ".join(w.read(x, "u32") for x in (value, lane, clamp, mask))
    return f"{{ bool p; u32 v = sim_shuffle({kind}, {numbers}, &p, {w.site()}); {w.write(to, 'b32', 'v')} {flag} }}"


VOTES = ("ballot", "all", "any", "uni", "match_any", "match_all", "elect", "add", "min_s", "max_s", "min_u", "max_u", "and", "or", "xor")


def vote_call(w, kind, value, mask):
    return f"sim_vote({VOTES.index(kind)}, {value}, {mask}, &p, {w.site()})"


@emits("vote")
def vote(w, i):
    to, value, mask = i.operands
    kind = i.parts[2]
    code = vote_call(w, kind, w.read(value, "pred"), w.read(mask, "u32"))
    return f"{{ bool p; u32 v = (u32){code}; " + (w.write(to, "b32", "v") if kind == "ballot" else w.write(to, "pred", "v != 0")) + " }"


@emits("match")
def match(w, i):
    to, value, mask = i.operands
    to, *valid = (t.strip() for t in to.split("|"))
    code = vote_call(w, f"match_{i.parts[1]}", w.read(value, i.parts[-1]), w.read(mask, "u32"))
    return f"{{ bool p; u32 v = (u32){code}; {w.write(to, 'b32', 'v')} {w.write(valid[0], 'pred', 'p') if valid else ''} }}"


@emits("redux")
def redux(w, i):
    to, value, mask = i.operands
    operation, type = i.parts[2], i.parts[-1]
    if type not in ("u32", "s32", "b32"):
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    kind = f"{operation}_{type[0]}" if operation in ("min", "max") else operation
    return f"{{ bool p; u32 v = (u32){vote_call(w, kind, w.read(value, 'u32'), w.read(mask, 'u32'))}; {w.write(to, 'b32', 'v')} }}"


@emits("elect")
def elect(w, i):
    to, flag = (t.strip() for t in i.operands[0].split("|"))
    code = vote_call(w, "elect", "0", w.read(i.operands[1], "u32"))
    return f"{{ bool p; u32 v = (u32){code}; {w.write(to, 'b32', 'v')} {w.write(flag, 'pred', 'p')} }}"


@emits("activemask")
def activemask(w, i):
    return w.write(i.operands[0], "b32", f"sim_active_mask({w.site()})")


# ---- tensor cores ---------------------------------------------------------------------------------------------------

ELEMENTS = {"f16": 0, "bf16": 1, "tf32": 2, "s8": 3, "u8": 4}


@emits("mma")
def mma(w, i):
    shape, (d_type, a_type, b_type, c_type) = i.parts[3], [p for p in i.parts[6:] if p != "satfinite"][:4]
    if not shape.startswith("m16n8k") or a_type != b_type or a_type not in ELEMENTS or i.parts[4:6] != ["row", "col"]:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    d, a, b, c = [split(operand[1:-1]) for operand in i.operands]
    words = [", ".join(w.read(x, "b32") for x in operand) for operand in (a, b, c)]
    half = str(d_type == "f16").lower()
    writes = " ".join(w.write(x, "b32", f"d[{n}]") for n, x in enumerate(d))
    return (f"{{ u32 a[4] = {{{words[0]}}}, b[2] = {{{words[1]}}}, c[4] = {{{words[2]}}}, d[4]; "
            f"sim_mma({ELEMENTS[a_type]}, {shape.removeprefix('m16n8k')}, {half}, a, b, c, d, {w.site()}); {writes} }}")


@emits("ldmatrix")
def ldmatrix(w, i):
    if "m8n8" not in i.parts:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    registers = split(i.operands[0][1:-1])
    transposed = str("trans" in i.parts).lower()
    writes = " ".join(w.write(x, "b32", f"v[{n}]") for n, x in enumerate(registers))
    return (f"{{ u32 v[4]; sim_ldmatrix(v, {w.address(i.operands[1], space_of_matrix(i))}, {len(registers)}, {transposed}, {w.site()}); {writes} }}")


def space_of_matrix(i):
    return "shared" if any(part.startswith("shared") for part in i.parts) else "generic"


@emits("stmatrix")
def stmatrix(w, i):
    registers = split(i.operands[1][1:-1])
    values = ", ".join(w.read(x, "b32") for x in registers)
    transposed = str("trans" in i.parts).lower()
    return (f"{{ u32 v[4] = {{{values}}}; sim_stmatrix(v, {w.address(i.operands[0], space_of_matrix(i))}, {len(registers)}, {transposed}, {w.site()}); }}")


@emits("movmatrix")
def movmatrix(w, i):
    return w.write(i.operands[0], "b32", f"sim_movmatrix({w.read(i.operands[1], 'b32')}, {w.site()})")


@emits("wgmma")
def wgmma(w, i):
    if i.parts[1] == "fence":
        return ";"
    if i.parts[1] == "commit_group":
        return "sim_wgmma_commit();"
    if i.parts[1] == "wait_group":
        return f"sim_wgmma_wait({i.operands[0]});"
    shape = next(p for p in i.parts if p.startswith("m64n"))
    n = int(shape[4:shape.index("k")])
    d_type, a_type, b_type = i.parts[-3:]
    if "sp" in i.parts or a_type != b_type or a_type not in ("f16", "bf16", "tf32"):
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    d, a, b, accumulate, *flags = i.operands
    registers = split(d[1:-1])
    flags = [int(f, 0) for f in flags] + [0] * (4 - len(flags))
    from_registers = a.startswith("{")
    if from_registers and len(i.operands) > 6:            # only B may be transposed then
        flags = [*flags[:2], 0, flags[2]]
    words = ", ".join(w.read(x, "b32") for x in split(a[1:-1])) if from_registers else "0"
    c_type = "u32" if d_type == "f16" else "f32"
    type = "b32" if d_type == "f16" else "f32"
    arguments = (f"{ELEMENTS[a_type]}, {n}, {str(d_type == 'f16').lower()}, d, {'a' if from_registers else 'nullptr'}, "
                 f"{'0' if from_registers else w.read(a, 'u64')}, {w.read(b, 'u64')}, (bool)({w.read(accumulate, 'pred')}), "
                 f"{flags[0]}, {flags[1]}, {flags[2]}, {flags[3]}, {w.site()}")
    return (f"{{ u32 a[4] = {{{words}}}; {c_type} d[{len(registers)}] = {{{', '.join(w.read(x, type) for x in registers)}}}; "
            f"sim_wgmma({arguments}); {' '.join(w.write(x, type, f'd[{k}]') for k, x in enumerate(registers))} }}")


# ---- copies and mbarriers -------------------------------------------------------------------------------------------

@emits("cp")
def cp(w, i):
    if "bulk" in i.parts:
        return bulk(w, i)
    kind = i.parts[2]
    if kind == "commit_group":
        return "sim_copy_commit();"
    if kind in ("wait_group", "wait_all"):
        return f"sim_copy_wait({i.operands[0] if i.operands else '~0u'}, {w.site()});"
    if kind == "mbarrier":
        increment = str("noinc" not in i.parts).lower()
        return f"sim_copy_arrive({w.shared_offset(i.operands[0])}, {increment}, {w.site()});"
    to, source, size, *rest = i.operands
    given = w.read(rest[0], "u32") if rest and "cache_hint" not in i.opcode or len(rest) > 1 else w.read(size, "u32")
    if rest and (register := w.register(rest[0])) and register[0] == "pred":       # ignore-src
        given = f"({w.read(rest[0], 'pred')} ? 0 : {size})"
    return (f"sim_copy_async({w.address(to, 'shared')}, {w.address(source, 'global')}, {w.read(size, 'u32')}, {given}, {w.site()});")


def coordinates(w, operand):
    """The tensor map and the coordinates of "[%rd1, {%r1, %r2}]"."""
    map, at = split(operand[1:-1])
    base, offset = split_address(f"[{map}]")
    return f"(void*)({w.read(base, 'u64')} + {offset})", ", ".join(w.read(x, "s32") for x in split(at[1:-1])), len(split(at[1:-1]))


def bulk(w, i):
    """cp.async.bulk: copies by the copy engine, of boxes of tensors (TMA) or of plain bytes."""
    parts = i.parts
    if "commit_group" in parts:
        return "sim_bulk_commit();"
    if "wait_group" in parts:
        return f"sim_bulk_wait({i.operands[0]}, {str('read' in parts).lower()}, {w.site()});"
    if "prefetch" in parts:
        return ";"
    if any(p.startswith(("multicast", "im2col", "cta_group", "tile::")) for p in parts):
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    to_shared = parts[parts.index("tensor") + 2 if "tensor" in parts else parts.index("bulk") + 1].startswith("shared")
    if "tensor" not in parts:
        if parts[-1] in ELEMENTS or parts[1] == "reduce" or parts[0:2] == ["cp", "reduce"]:
            raise Unsupported(w.message(f"instruction {i.opcode}"))
        to, source, size, *rest = i.operands
        if to_shared:
            return (f"sim_bulk_load({w.shared_offset(to)}, {w.address(source, 'global')}, {w.read(size, 'u32')}, "
                    f"{w.shared_offset(rest[0])}, {w.site()});")
        return f"sim_bulk_store({w.address(to, 'global')}, {w.shared_offset(source)}, {w.read(size, 'u32')}, {w.site()});"
    if to_shared:
        to, source, barrier, *_ = i.operands
        map, at, rank = coordinates(w, source)
        return (f"{{ s32 at[5] = {{{at}}}; sim_tensor_load({w.shared_offset(to)}, {map}, {w.shared_offset(barrier)}, {rank}, at, {w.site()}); }}")
    to, source, *_ = i.operands
    map, at, rank = coordinates(w, to)
    if "reduce" in parts:
        if "add" not in parts:
            raise Unsupported(w.message(f"instruction {i.opcode}"))
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    return f"{{ s32 at[5] = {{{at}}}; sim_tensor_store({map}, {w.shared_offset(source)}, {rank}, at, 0, {w.site()}); }}"


@emits("mbarrier")
def mbarrier(w, i):
    kind, operands = i.parts[1], i.operands
    if kind == "init":
        return f"sim_mbarrier_init({w.shared_offset(operands[0])}, {w.read(operands[1], 'u32')}, {w.site()});"
    if kind == "inval":
        return f"sim_mbarrier_invalidate({w.shared_offset(operands[0])}, {w.site()});"
    if kind in ("expect_tx", "complete_tx"):
        sign = "-" if kind == "complete_tx" else ""
        return f"sim_mbarrier_expect({w.shared_offset(operands[0])}, {sign}(s32){w.read(operands[1], 'u32')}, {w.site()});"
    if kind in ("arrive", "arrive_drop"):
        state = operands[0] if not operands[0].startswith("[") else "_"
        address, *count = operands if operands[0].startswith("[") else operands[1:]
        if "shared::cluster" in i.parts:
            raise Unsupported(w.message(f"{i.opcode}: thread block clusters are not simulated"))
        number = w.read(count[0], "u32") if count else "1"
        arrivals, expected = ("1", number) if "expect_tx" in i.parts else (number, "0")
        drop = str(kind == "arrive_drop").lower()
        return w.write(state, "b64", f"sim_mbarrier_arrive({w.shared_offset(address)}, {arrivals}, {expected}, {drop}, {w.site()})")
    if kind in ("test_wait", "try_wait"):
        to, address, phase, *_ = operands
        parity = "parity" in i.parts
        value = w.read(phase, "u32" if parity else "u64")
        return w.write(to, "pred", f"sim_mbarrier_wait({w.shared_offset(address)}, {value}, {str(parity).lower()}, "
                                   f"{str(kind == 'try_wait').lower()}, {w.site()})")
    raise Unsupported(w.message(f"instruction {i.opcode}"))
