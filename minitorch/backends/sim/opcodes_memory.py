"""Memory, control flow, barriers and warp operations: the PTX instructions that go through the runtime.

Every load, store and atomic operation tells the runtime (`sim_access` in runtime/abi.h) its address, size and site
before it is made.
"""

from .errors import Unsupported
from .names import c_name, split_address, symbol
from .opcodes import block, boolean, call, emits
from .ptx import SIZES, split

LOAD, STORE, ATOMIC, MODIFY, CONSTANT = 0, 1, 2, 4, 8     # as in runtime/abi.h
ORDERED = {"relaxed", "acquire", "release", "acq_rel"}    # accesses made to meet others: atomic
SHARED_WINDOW = 228 << 10
NOTHING = ("griddepcontrol", "prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "pmevent")


def space(i):
    """The state space an access names; "generic" if none."""
    for part in i.parts[1:]:
        if part.split("::")[0] in ("global", "shared", "local", "param", "const"):
            return part if part == "shared::cluster" else part.split("::")[0]
    return "generic"


def is_atomic(i):
    """ATOMIC for a load or store made to meet others; a volatile one of global memory is relaxed, says the PTX ISA."""
    meets = ORDERED & set(i.parts) or "volatile" in i.parts and "global" in i.parts
    return ATOMIC if meets else 0


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
        return call("sim_local", "A", size, name, total, w.site()) + ";" if name else ""
    base = split_address(next(x for x in i.operands if x.startswith("[")))[0]
    overflow = f"if (T{w.register(base)[1]}) sim_overflow({w.site()});" if base in w.indices.marked else ""
    return "if (sim_watching) { " + overflow + call("sim_access", "A", size, how, value, w.site()) + "; }"


def copy(to, source, size):
    """C++ that copies bytes, whatever the types."""
    return f"__builtin_memcpy({to}, {source}, {size});"


def as_list(operand):
    """The registers of "{%r1, %r2}", or of "%r1"."""
    return split(operand[1:-1]) if operand.startswith("{") else [operand]


# ---- loads, stores, atomics -----------------------------------------------------------------------------------------

@emits("ld", "ldu")
def ld(w, i):
    type, count = i.parts[-1], vector(i)
    size = SIZES[type] * count
    how = LOAD | is_atomic(i) | (CONSTANT if "nc" in i.parts else 0)
    writes = (w.write(to, type, f"v[{n}]") for n, to in enumerate(as_list(i.operands[0])))
    return block(f"char* A = {w.address(i.operands[1], space(i))};", check(w, i, size, how),
                 f"{c_name(type)} v[{count}];", copy("v", "A", size), *writes)


@emits("st")
def st(w, i):
    if "async" in i.parts:
        return store_async(w, i)
    type, count = i.parts[-1], vector(i)
    size = SIZES[type] * count
    how = STORE | is_atomic(i)
    values = ", ".join(w.read(value, type) for value in as_list(i.operands[1]))
    return block(f"char* A = {w.address(i.operands[0], space(i))};", f"{c_name(type)} v[{count}] = {{{values}}};",
                 release(i), check(w, i, size, how, "v"), copy("A", "v", size))


def store_async(w, i):
    """st.async: a store into a block of the cluster, whose arrival an mbarrier there counts."""
    to, values, mbarrier = i.operands
    type, count = i.parts[-1], vector(i)
    values = ", ".join(w.read(value, type) for value in as_list(values))
    run = call("sim_store_async", w.window(to), "v", SIZES[type] * count, w.window(mbarrier), w.site())
    return block(f"{c_name(type)} v[{count}] = {{{values}}};", run + ";")


def release(i):
    """C++ for the fence that an instruction with release semantics implies."""
    return "sim_fence();" if {"release", "acq_rel"} & set(i.parts) else ""


UPDATES = {"exch": "v", "and": "o & v", "or": "o | v", "xor": "o ^ v", "inc": "(o >= v ? 0 : o + 1)",
           "dec": "(o == 0 || o > v ? v : o - 1)", "cas": "(o == v ? c : o)"}


def updated(operation, type, o="o", v="v"):
    """C++ for the value after an atomic operation on the old one `o` with `v` (and `c`, the value that cas puts in)."""
    if type in ("f16x2", "bf16x2"):
        base = type[:-2]
        half = updated(operation, base, "x", "y")
        return f"map_pair<{base}>([]({base} x, {base} y, {base}) {{ return {half}; }}, o, v)"
    if type in ("f16", "bf16"):
        o, v = f"(f32){o}", f"(f32){v}"
        return f"{type}({dict(add=f'{o} + {v}', min=f'lesser({o}, {v})', max=f'greater({o}, {v})')[operation]})"
    if operation == "add":
        return "o + v" if type in ("f32", "f64") else f"({c_name(type)})((u{type[1:]})o + (u{type[1:]})v)"
    if operation in ("min", "max"):
        return f"(o {'<' if operation == 'min' else '>'} v ? o : v)"
    return UPDATES[operation]


@emits("atom", "red")
def atom(w, i):
    """The old values go to `o`, the new ones are made element by element; one access for all of a vector."""
    returns, type = i.parts[0] == "atom", i.parts[-1]
    if "async" in i.parts:
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    operation = next(p for p in i.parts[1:] if p in ("add", "min", "max", *UPDATES))
    to, address, value, *other = i.operands if returns else ("", *i.operands)
    type = "u" + type[1:] if type.startswith("b") and type[1:].isdigit() else type
    size, c_type, values = SIZES[type], c_name(type), as_list(value)
    c = w.read(other[0], type) if operation == "cas" else ""
    results = (w.write(name, type, f"old[{n}]") for n, name in enumerate(as_list(to) if returns else ()))
    step = block(f"{c_type} o = old[k], v = in[k];", f"{c_type} n = {updated(operation, type)};",
                 copy(f"A + {size} * k", "&n", size), f"sim_changes += __builtin_memcmp(&n, &o, {size}) != 0;")
    return block(f"char* A = {w.address(address, space(i))};",
                 f"{c_type} old[{len(values)}], in[{len(values)}] = {{{', '.join(w.read(x, type) for x in values)}}};",
                 f"{c_type} c = {c};" if c else "", release(i),
                 check(w, i, size * len(values), STORE | ATOMIC | MODIFY), copy("old", "A", size * len(values)),
                 f"for (int k = 0; k < {len(values)}; k++) {step}", *results)


@emits("cvta")
def cvta(w, i):
    type, (to, address) = i.parts[-1], i.operands
    value = w.read(address, type)
    if "shared::cluster" in i.parts:
        value = call("sim_cluster_window", f"(void*){value}", w.site()) if "to" in i.parts else \
            call("(u64)sim_cluster_address", f"(u32){value}", w.site())
    elif any(part.startswith("shared") for part in i.parts):
        value = f"({value} {'-' if 'to' in i.parts else '+'} (u64)sim_shared)"
    return w.write(to, type, value)


@emits("isspacep")
def isspacep(w, i):
    where = i.parts[1].split("::")[0]
    if i.parts[1] == "shared::cluster":
        inside = call("sim_in_cluster", f"(void*){w.read(i.operands[1], 'u64')}")
        return w.write(i.operands[0], "pred", inside)
    if where not in ("shared", "global"):
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    inside = "<" if where == "shared" else ">="
    address = w.read(i.operands[1], "u64")
    return w.write(i.operands[0], "pred", f"({address} - (u64)sim_shared {inside} {SHARED_WINDOW})")


# ---- control flow ---------------------------------------------------------------------------------------------------

@emits("bra")
def bra(w, i):
    jump = f"goto {w.label(i.operands[0])};"
    if not w.is_backward(i.operands[0]):
        return jump
    return block(f"if (__builtin_expect(--sim_budget < 0, 0)) sim_tick({w.site()});", jump)


@emits("ret", "exit")
def ret(w, i):
    if i.parts[0] == "exit" and not w.function.is_entry:
        raise Unsupported(w.message("exit inside a device function"))
    return "return;"


@emits("trap", "brkpt")
def trap(w, i):
    return f'sim_trap({w.site()}, "the kernel trapped (__trap())");'


@emits("call")
def call_function(w, i):
    """Results and arguments are pieces of .param memory; the C++ function is given where they lie."""
    results = split(i.operands[0][1:-1]) if i.operands[0].startswith("(") else []
    name, *rest = i.operands[bool(results):]
    arguments = split(rest[0][1:-1]) if rest else []
    places = [w.local_name(a) for a in (*results, *arguments)]
    if name == "vprintf":
        result, text, values = places
        return f"*(int*){result} = sim_printf(*(char**){text}, *(char**){values}, {w.site()});"
    if name == "__assertfail":
        text, file, line, function, _ = places
        strings = [f"*(char**){place}" for place in (text, file, function)]
        return call("sim_assert_fail", *strings[:2], f"*(u32*){line}", strings[2], w.site()) + ";"
    function = w.module.functions.get(name)
    if function is None or function.body is None:
        raise Unsupported(w.message(f"call of {name}"))
    return call(symbol(name), "self", *places) + ";"


@emits(*NOTHING)
def nothing(w, i):
    return ";"


@emits("createpolicy")
def createpolicy(w, i):
    return w.write(i.operands[0], "b64", "0ull")


@emits("setmaxnreg")
def setmaxnreg(w, i):
    return call("sim_set_registers", i.operands[0], boolean("inc" in i.parts), w.site()) + ";"


@emits("membar", "fence")
def fence(w, i):
    if "mbarrier_init" in i.parts:
        return "sim_mbarrier_fence();"
    if "proxy" in i.parts:
        return "sim_proxy_fence();" if any(part.startswith("async") for part in i.parts) else ";"
    return "sim_fence();" if "cta" not in i.parts else ";"


# ---- clusters -------------------------------------------------------------------------------------------------------

def in_window(w, i, operand):
    """C++ for an operand, of shared memory of a cluster or a generic address of it, as an address of its window."""
    value = w.read(operand, i.parts[-1])
    return value if "shared::cluster" in i.parts else call("sim_cluster_window", f"(void*){value}", w.site())


@emits("mapa")
def mapa(w, i):
    to, address, rank = i.operands
    value = call("sim_mapa", in_window(w, i, address), w.read(rank, "u32"), w.site())
    if "shared::cluster" not in i.parts:
        value = call("(u64)sim_cluster_address", value, w.site())
    return w.write(to, i.parts[-1], value)


@emits("getctarank")
def getctarank(w, i):
    rank = call("sim_cluster_rank", in_window(w, i, i.operands[1]))
    return w.write(i.operands[0], "u32", rank)


def barrier_cluster(w, i):
    if "arrive" in i.parts:
        return call("sim_cluster_arrive", boolean("relaxed" not in i.parts), w.site()) + ";"
    return call("sim_cluster_wait", w.site()) + ";"


# ---- barriers and warp operations -----------------------------------------------------------------------------------

@emits("bar", "barrier")
def bar(w, i):
    operands = i.operands
    if "cluster" in i.parts:
        return barrier_cluster(w, i)
    if "warp" in i.parts:
        return call("sim_warp_barrier", w.read(operands[0], "u32"), w.site()) + ";"
    if "red" in i.parts:
        to, number, *count, predicate = operands
        kind = {"and": 1, "or": 2, "popc": 3}[i.parts[i.parts.index("red") + 1]]
        numbers = w.read(number, "u32"), w.read(count[0], "u32") if count else 0
        result = w.write(to, "u32", "v") if kind == 3 else w.write(to, "pred", "v != 0")
        run = call("sim_barrier_reduce", *numbers, kind, w.read(predicate, "pred"), w.site())
        return block(f"u32 v = {run};", result)
    threads = w.read(operands[1], "u32") if len(operands) > 1 else 0
    name = "sim_barrier_arrive" if "arrive" in i.parts else "sim_barrier"
    return call(name, w.read(operands[0], "u32"), threads, w.site()) + ";"


def with_flag(operand):
    """("%r1", "%p1") of "%r1|%p1"; the second is "_" where it is not asked for."""
    to, _, flag = operand.partition("|")
    return to.strip(), flag.strip() or "_"


@emits("shfl")
def shfl(w, i):
    to, flag = with_flag(i.operands[0])
    kind = ("idx", "up", "down", "bfly").index(i.parts[2])
    numbers = (w.read(x, "u32") for x in i.operands[1:])
    return block("bool p; u32 v = " + call("sim_shuffle", kind, *numbers, "&p", w.site()) + ";",
                 w.write(to, "b32", "v"), w.write(flag, "pred", "p"))


VOTES = ("ballot", "all", "any", "uni", "match_any", "match_all", "elect", "add", "min_s", "max_s", "min_u", "max_u",
         "and", "or", "xor")


def vote_of(w, kind, value, mask, *writes):
    """C++ for a vote: the result is `v`, a flag that some have is `p`."""
    vote = call("sim_vote", VOTES.index(kind), value, w.read(mask, "u32"), "&p", w.site())
    return block(f"bool p; u32 v = (u32){vote};", *writes)


@emits("vote")
def vote(w, i):
    to, value, mask = i.operands
    kind = i.parts[2]
    result = w.write(to, "b32", "v") if kind == "ballot" else w.write(to, "pred", "v != 0")
    return vote_of(w, kind, w.read(value, "pred"), mask, result)


@emits("match")
def match(w, i):
    to, value, mask = i.operands
    to, flag = with_flag(to)
    writes = w.write(to, "b32", "v"), w.write(flag, "pred", "p")
    return vote_of(w, f"match_{i.parts[1]}", w.read(value, i.parts[-1]), mask, *writes)


@emits("redux")
def redux(w, i):
    to, value, mask = i.operands
    operation, type = i.parts[2], i.parts[-1]
    if type not in ("u32", "s32", "b32"):
        raise Unsupported(w.message(f"instruction {i.opcode}"))
    kind = f"{operation}_{type[0]}" if operation in ("min", "max") else operation
    return vote_of(w, kind, w.read(value, "u32"), mask, w.write(to, "b32", "v"))


@emits("elect")
def elect(w, i):
    to, flag = with_flag(i.operands[0])
    return vote_of(w, "elect", 0, i.operands[1], w.write(to, "b32", "v"), w.write(flag, "pred", "p"))


@emits("activemask")
def activemask(w, i):
    return w.write(i.operands[0], "b32", f"sim_active_mask({w.site()})")

