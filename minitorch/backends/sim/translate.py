"""PTX to C++: each function becomes a C++ function, each register a variable, each instruction a statement.

`translate(ptx)` gives the C++ text and the `Program` that describes it: the kernels with their parameters, shared
memory and limits, and the sites: the source line of each instruction that the runtime may report.
What the instructions do stands in `opcodes.py` (arithmetic), `opcodes_memory.py` (memory and synchronisation) and
`opcodes_tensor.py` (tensor cores and asynchronous copies).
"""

import re
from dataclasses import asdict, dataclass, field

from . import opcodes_memory, opcodes_tensor, ptx  # noqa: F401  (they fill the table of opcodes)
from .errors import Unsupported
from .flow import Indices, accumulators, is_move, sources
from .names import C_TYPES, split_address, symbol
from .opcodes import EMITTERS, call
from .ptx import SIZES, Instruction, Label, Registers, Variable

SHARED_GAP = 128               # bytes between shared variables, so that running over the end of one is noticed
SPECIAL = {"%laneid": "self.lane", "%warpid": "self.warp", "WARP_SZ": "32u", "%smid": "0u", "%nsmid": "1u",
           "%gridid": "0ull", "%clock": "(u32)sim_clock()", "%clock64": "sim_clock()", "%clock_hi": "0u",
           "%globaltimer": "sim_clock()", "%globaltimer_lo": "(u32)sim_clock()",
           "%nwarpid": "((sim_grid.ntid[0] * sim_grid.ntid[1] * sim_grid.ntid[2] + 31) / 32)",
           "%lanemask_eq": "(1u << self.lane)", "%lanemask_lt": "((1u << self.lane) - 1)",
           "%lanemask_le": "(2u * (1u << self.lane) - 1)", "%lanemask_gt": "~(2u * (1u << self.lane) - 1)",
           "%lanemask_ge": "~((1u << self.lane) - 1)", "%dynamic_smem_size": "sim_grid.dynamic_shared",
           "%total_smem_size": "(sim_grid.static_shared + sim_grid.dynamic_shared)",
           "%cluster_ctarank": "sim_grid.cluster_ctarank", "%cluster_nctarank": "sim_grid.cluster_nctarank",
           "%is_explicit_cluster": "sim_grid.is_cluster"}
for _i, _axis in enumerate("xyz"):
    SPECIAL[f"%tid.{_axis}"] = f"self.tid[{_i}]"
    for _name in ("ntid", "ctaid", "nctaid", "cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid"):
        SPECIAL[f"%{_name}.{_axis}"] = f"sim_grid.{_name}[{_i}]"


@dataclass
class Entry:
    """A kernel: sizes and alignments of its parameters, threads per block at most (0: no limit), shared memory."""

    name: str
    symbol: str
    parameters: list[tuple[int, int]]
    max_threads: int
    static_shared: int
    variables: list[tuple[str, int, int]]   # name, begin, end of each static shared variable
    granule: int                            # the smallest access, in bytes
    partial_sync: bool                      # whether it has barriers that not all threads take part in
    flush: bool                             # whether subnormal f32 are zero throughout
    dynamic: bool = False                   # whether it declares dynamic shared memory
    registers: int = 0                      # limit of .maxnreg, or 0
    min_blocks: int = 1                     # of .minnctapersm
    sets_registers: bool = False            # whether it has setmaxnreg
    cluster: tuple = (0, 0, 0)              # blocks of a cluster along each axis; zeros if unknown


@dataclass
class Program:
    """Facts about a translated module besides its code."""

    target: str
    files: dict[int, str]
    entries: dict[str, Entry] = field(default_factory=dict)
    globals: list[tuple[str, str, int, bool]] = field(default_factory=list)   # name, C++ name, bytes, constant
    sites: list[tuple] = field(default_factory=lambda: [(0, 0, 0, 0, "")])    # file, line, file, line inlined at; PTX

    def to_dict(self):
        """As JSON takes it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        entries = {name: Entry(**entry) for name, entry in data.pop("entries").items()}
        files = {int(number): name for number, name in data.pop("files").items()}
        return cls(files=files, entries=entries, **data)


def translate(text):
    """C++ for all functions of a PTX text, and the `Program` that describes it."""
    module = ptx.parse(text)
    program = Program(module.target, module.files)
    out = ['#include "arithmetic.h"\n']
    names = {}
    for variable in module.variables.values():
        if variable.space in ("global", "const"):
            out.append(declare_global(variable, names, program))
    functions = [f for f in module.functions.values() if f.body is not None]
    shared = shared_variables(module)
    out += [signature(f) + ";\n" for f in functions if not f.is_entry]
    for function in functions:
        out.append(Writer(module, function, program, names, shared).run())
    out.append(globals_table(program))
    return "".join(out), program


def declare_global(variable, names, program):
    name = names[variable.name] = symbol(variable.name)
    values = variable.values if variable.values.startswith("{") else "{" + variable.values + "}"
    if re.search(r"[A-Za-z_$]", re.sub(r"0[fFdDxX][0-9a-fA-F]+", "", values)):
        raise Unsupported(f"variable {variable.name}, initialised by an address")
    values = re.sub(r"0[fF]([0-9a-fA-F]{8})", r"bits_as<f32>(0x\1u)", values)
    values = re.sub(r"0[dD]([0-9a-fA-F]{16})", r"bits_as<f64>(0x\1ull)", values)
    if variable.length is None:
        raise Unsupported(f"variable {variable.name} without a size")
    program.globals.append((variable.name, name, variable.length * SIZES[variable.type], variable.space == "const"))
    return f"alignas({max(16, variable.align)}) static {C_TYPES[variable.type]} {name}[{variable.length}] = {values};\n"


def globals_table(program):
    rows = "".join(f"(void*){c_name}, " for _, c_name, _, _ in program.globals)
    return f'extern "C" {{ void* sim_globals[] = {{{rows}nullptr}}; }}\n'


def signature(function):
    """``static void f(const SimThread& self, char* P_result, char* P_parameter ...)``."""
    names = [v.name for v in (*function.results, *function.parameters)]
    parameters = "".join(f", char* {symbol(name)}" for name in names)
    return f"static void {symbol(function.name)}(const SimThread& self{parameters})"


class Writer:
    """Writes one function.

    The rules for opcodes use: `read(operand, type)` and `write(operand, type, value)`, which give C++ text and convert
    between the type of the instruction and that of the register; `address`; `site`.
    """

    def __init__(self, module, function, program, names, shared):
        self.module, self.function, self.program, self.globals = module, function, program, names
        self.registers = [{}]                           # for each open scope: PTX name -> (type, C++ name)
        self.memory = [{}]                              # for each open scope: name -> C++ name of .local and .param
        self.scopes, self.scope_count = [0], 0
        self.lines, self.here = [], None
        self.granule, self.partial_sync = 4, False
        self.local_bytes = None                         # (C++ name, size) of the local memory, if there is one piece
        self.used = used_names(function.body)
        self.called = called_functions(module, function)
        self.shared, self.static_shared, self.dynamic = {}, 0, False
        self.accumulators, self.indices = accumulators(function.body), Indices(function.body)
        self.place_shared(*shared)
        self.labels = label_scopes(function.body)
        self.seen_labels = set()
        self.flush_all = all(flushes(f) for f in self.called)
        self.carry = any(re.match(r"(add|sub|mad|madc|addc|subc)\.\w*\.?cc|addc|subc|madc", i.opcode)
                         for i in function.body if isinstance(i, Instruction))

    # -- the whole function -----------------------------------------------------------------------------------
    def run(self):
        """The C++ text."""
        function = self.function
        for statement in function.body:
            self.statement(statement)
        body = "\n".join(self.lines)
        if not function.is_entry:
            return f"{signature(function)} {{\n{'bool CC = false;' if self.carry else ''}{body}\n}}\n"
        self.describe_entry()
        head = "".join(f"char* {symbol(v.name)} = P[{i}];\n" for i, v in enumerate(function.parameters))
        return (f'extern "C" void K_{symbol(function.name)}(const SimThread& self, char** P) {{\n{head}'
                f"{'bool CC = false;' if self.carry else ''}{body}\n}}\n")

    def describe_entry(self):
        function = self.function
        if "cluster" in function.directives and int(re.sub(r"\D", "", self.program.target) or 90) < 90:
            raise Unsupported(f"{function.name}: clusters are of sm_90 and newer, this is {self.program.target}")
        every = [i for f in self.called for i in f.body if isinstance(i, Instruction)]
        sizes = [4] + [SIZES.get(i.parts[-1], 4) for i in every if i.parts[0] in ("ld", "st", "atom", "red", "ldu")]
        partial = any(i.parts[0] == "mbarrier" or i.parts[0] in ("bar", "barrier") and
                      not {"warp", "cluster"} & {*i.parts} and
                      ("arrive" in i.parts or len(i.operands) > 1 + 2 * ("red" in i.parts)) for i in every)
        parameters = [(SIZES[v.type] * v.length, v.align) for v in function.parameters]
        variables = [(name, begin, begin + size) for name, (begin, size) in self.shared.items() if size is not None]
        self.program.entries[function.name] = Entry(
            function.name, "K_" + symbol(function.name), parameters, function.max_threads, self.static_shared,
            variables, min(sizes), partial, self.flush_all, self.dynamic, directive(function, "maxnreg", 0),
            directive(function, "minnctapersm", 1), any(i.parts[0] == "setmaxnreg" for i in every),
            cluster_of(function, every))

    def place_shared(self, shared, all_alike):
        """Give each shared variable that the function uses its offset; the dynamic part comes last."""
        known = {name: v for name, v in shared.items() if all_alike or name in self.used}
        offset, dynamic_align = 0, 16
        for name, variable in known.items():
            if variable.length is None:
                dynamic_align = max(dynamic_align, variable.align)
                self.dynamic = True
                continue
            offset += -offset % variable.align
            size = variable.length * SIZES[variable.type]
            self.shared[name] = offset, size
            offset += size + SHARED_GAP
        offset = max(0, offset - SHARED_GAP)
        self.static_shared = offset + (-offset % dynamic_align)
        for name, variable in known.items():
            if variable.length is None:
                self.shared[name] = self.static_shared, None

    # -- statements -------------------------------------------------------------------------------------------
    def statement(self, s):
        if s == "{":
            self.registers.append({})
            self.memory.append({})
            self.scope_count += 1
            self.scopes.append(self.scope_count)
            self.lines.append("{")
        elif s == "}":
            self.registers.pop()
            self.memory.pop()
            self.scopes.pop()
            self.lines.append(";}")
        elif isinstance(s, Label):
            self.seen_labels.add((s.name, self.scopes[-1]))
            self.lines.append(f"{self.label(s.name)}:;")
        elif isinstance(s, Registers):
            self.declare_registers(s)
        elif isinstance(s, Variable):
            self.declare_memory(s)
        else:
            self.instruction(s)

    def declare_registers(self, s):
        names = [name for name in s.names if name in self.used]
        for name in names:
            self.registers[-1][name] = s.type, "R" + re.sub(r"\W", "_", name)
        if names:
            self.lines.append(f"{C_TYPES[s.type]} " + ", ".join(self.registers[-1][n][1] for n in names) + ";")
        for c_type, prefix, followed in (("f64", "E", self.indices.exact), ("bool", "T", self.indices.marked)):
            if beside := [prefix + self.registers[-1][n][1] + " = 0" for n in names if n in followed]:
                self.lines.append(f"{c_type} {', '.join(beside)};")

    def declare_memory(self, v):
        if v.space == "shared":
            return
        size = SIZES[v.type] * (v.length or 1)
        self.memory[-1][v.name] = symbol(v.name)
        self.lines.append(f"alignas({max(16, v.align)}) char {symbol(v.name)}[{size}];")
        if v.space == "local":
            self.local_bytes = (symbol(v.name), size) if self.local_bytes is None else ("", 0)

    def instruction(self, i):
        self.here = i
        emitter = EMITTERS.get(i.parts[0])
        if emitter is None:
            raise Unsupported(self.message(f"instruction {i.opcode}"))
        try:
            code = emitter(self, i)
        except (KeyError, IndexError, StopIteration, TypeError, ValueError) as error:
            raise Unsupported(self.message(f"instruction {i} ({type(error).__name__}: {error})")) from error
        code = self.early_reads(i) + code + self.indices.bookkeeping(self, i)
        if i.guard:
            condition = self.read(i.guard, "pred")
            code = f"if ({condition}) {{ {code} }}"
        self.lines.append(code)

    def early_reads(self, i):
        """C++ that looks whether an instruction reads sums of a wgmma under way, where it may."""
        if not self.accumulators or is_move(i) or i.parts[0] == "wgmma":
            return ""
        read = [x for x in sources(i) if x in self.accumulators]
        marks = " || ".join(f"under_way({self.register(x)[1]})" for x in dict.fromkeys(read))
        return f"if ({marks}) sim_wgmma_early({self.site()});" if read else ""

    def message(self, what):
        """`what`, where it stands in the source."""
        place = self.here.place
        return f"{self.function.name}: {what}, made for {self.module.files.get(place.file, '?')}:{place.line}"

    # -- labels -----------------------------------------------------------------------------------------------
    def label(self, name):
        """The C++ label that `name` means here: the innermost scope that has it."""
        for scope in reversed(self.scopes):
            if (name, scope) in self.labels:
                return f"L{scope}_" + re.sub(r"\W", "_", name)
        raise Unsupported(self.message(f"branch to unknown label {name}"))

    def is_backward(self, name):
        return any((name, scope) in self.seen_labels for scope in self.scopes)

    # -- operands ---------------------------------------------------------------------------------------------
    def register(self, name):
        """(type, C++ name) of a register, or None."""
        for scope in reversed(self.registers):
            if name in scope:
                return scope[name]
        return None

    def local_name(self, name):
        """The C++ name of a .local or .param variable, or of a parameter of the function, or None."""
        for scope in reversed(self.memory):
            if name in scope:
                return scope[name]
        if any(v.name == name for v in (*self.function.parameters, *self.function.results)):
            return symbol(name)
        return None

    def read(self, operand, type):
        """C++ for the value of an operand, as the C++ type of `type`."""
        operand, c_type = operand.strip(), C_TYPES[type]
        if operand.startswith("!"):
            return "!" + self.read(operand[1:], type)
        number = immediate(operand, type)
        if number is not None:
            return number
        if operand in SPECIAL:
            return f"({c_type}){SPECIAL[operand]}"
        register = self.register(operand)
        if register:
            return convert(register[1], register[0], type)
        if operand in self.shared:
            return f"({c_type}){self.shared[operand][0]}u"
        if operand in self.globals:
            return f"({c_type})(u64){self.globals[operand]}"
        memory = self.local_name(operand)
        if memory:
            return f"({c_type})(u64){memory}"
        sum_ = re.fullmatch(r"([$\w%.]+)\s*\+\s*(-?\w+)", operand)
        if sum_:
            return f"({self.read(sum_[1], type)} + ({c_type}){sum_[2]})"
        if operand.startswith("%"):
            raise Unsupported(self.message(f"special register {operand}"))
        raise Unsupported(self.message(f"operand {operand}"))

    def write(self, operand, type, value):
        """C++ that assigns `value`, of the C++ type of `type`, to a register. "_" takes any value and keeps none."""
        operand = operand.strip()
        if operand == "_":
            return f"(void)({value});"
        register = self.register(operand)
        if register is None:
            raise Unsupported(self.message(f"register {operand}"))
        to, name = register
        if C_TYPES[to] == C_TYPES[type]:
            return f"{name} = {value};"
        if SIZES[to] == SIZES[type]:
            return f"{name} = bits_as<{C_TYPES[to]}>(({C_TYPES[type]})({value}));"
        if type in ("f16", "bf16"):
            return f"{name} = ({C_TYPES[to]})({C_TYPES[type]}({value})).bits;"
        return f"{name} = ({C_TYPES[to]})({C_TYPES[type]})({value});"     # sign-extends signed types

    def address(self, operand, space):
        """C++ of type char* for "[%rd4+8]" in a state space ("generic" if none was named)."""
        base, offset = split_address(operand)
        memory = self.local_name(base)
        if memory:
            return f"({memory} + ({offset}))"
        if space == "shared::cluster":
            return call("sim_cluster_address", self.window(operand), self.site())
        if space.startswith("shared"):
            register = self.register(base)
            value = convert(register[1], register[0], "u64") if register else self.read(base, "u32")
            return f"(sim_shared + (u32)({value} + {offset}))"
        if base in self.globals:
            return f"((char*){self.globals[base]} + ({offset}))"
        return f"(char*)({self.read(base, 'u64')} + (s64){offset})"

    def shared_offset(self, operand):
        """C++ of type u32: the offset in shared memory that an operand like "[%r4+8]" means."""
        return f"(u32)({self.address(operand, 'shared')} - sim_shared)"

    def window(self, operand):
        """C++ of type u32: the address in the window of shared memory of a cluster that "[%r4+8]" means."""
        base, offset = split_address(operand)
        register = self.register(base)
        return f"(u32)({convert(register[1], register[0], 'u64') if register else self.read(base, 'u32')} + {offset})"

    def site(self):
        """The number of the present instruction's place, for what the runtime may have to say of it."""
        place = self.here.place
        inlined = place.inlined or (0, 0)
        row = place.file, place.line, inlined[0], inlined[1], str(self.here)
        self.program.sites.append(row)
        return len(self.program.sites) - 1


def immediate(text, type):
    """C++ for a number: 12, -1, 0x1F, 0f3F800000 (the bits of a float), 0d... (of a double). None if it is none."""
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", text):
        bits = f"0x{text[2:]}u"
        if type in ("b32", "u32", "s32"):
            return bits
        return f"{'(f64)' if type == 'f64' else ''}bits_as<f32>({bits})"
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", text):
        bits = f"0x{text[2:]}ull"
        return bits if type in ("b64", "u64", "s64") else f"bits_as<f64>({bits})"
    if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text):
        return None
    value = int(text.rstrip("U"), 0 if not re.fullmatch(r"-?0\d+U?", text) else 8)
    if type in ("f32", "f64"):
        return f"({type}){value}"
    if type == "pred":
        return str(bool(value)).lower()
    size = SIZES[type]
    value &= (1 << 8 * size) - 1
    if type in ("f16", "bf16"):
        return f"bits_as<{type}>((u16){value}u)"
    return f"({C_TYPES[type]}){value}" + ("ull" if size == 8 else "u")


def convert(name, have, want):
    """C++ for register `name` of type `have` taken as `want`: the same bits, the low ones if it is narrower."""
    if C_TYPES[have] == C_TYPES[want]:
        return name
    if want == "pred":
        return f"(bool){name}"
    have_size, want_size = SIZES[have], SIZES[want]
    integers = "bus"
    plain = have[0] in integers and want[0] in integers and "f16" not in have + want
    if have_size == want_size:
        return f"({C_TYPES[want]}){name}" if plain else f"bits_as<{C_TYPES[want]}>({name})"
    if want_size < have_size:
        bits = name if plain or C_TYPES[have][0] == "u" else f"bits_as<u{8 * have_size}>({name})"
        narrow = f"(u{8 * want_size}){bits}"
        by_value = want[0] in integers and "f16" not in want
        return f"({C_TYPES[want]}){narrow}" if by_value else f"bits_as<{C_TYPES[want]}>({narrow})"
    return f"({C_TYPES[want]}){name}"


# ---- what a function uses ------------------------------------------------------------------------------------------

def used_names(body):
    """The names of all registers and variables that instructions mention."""
    names = set()
    for statement in body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                names.update(re.findall(r"[%$\w]+", operand))
            names.add(statement.guard.lstrip("!"))
    return names


def shared_variables(module):
    """The variables in shared memory by name, and whether they must lie at the same place for all kernels.

    They must where device functions use some: those are translated once, whoever calls them.
    """
    inner = [v for f in module.functions.values() for v in f.body or ()
             if isinstance(v, Variable) and v.space == "shared"]
    known = {v.name: v for v in (*module.variables.values(), *inner) if v.space == "shared"}
    alike = any(used_names(f.body) & known.keys() for f in module.functions.values() if not f.is_entry)
    return known, alike


def label_scopes(body):
    """{(label, number of the scope it stands in)}; scopes are numbered in the order in which they open."""
    labels, stack, count = set(), [0], 0
    for statement in body:
        if statement == "{":
            count += 1
            stack.append(count)
        elif statement == "}":
            stack.pop()
        elif isinstance(statement, Label):
            labels.add((statement.name, stack[-1]))
    return labels


def called_functions(module, function):
    """The function and all that it calls, directly or not."""
    found, todo = {function.name: function}, [function]
    while todo:
        for i in todo.pop().body:
            if not isinstance(i, Instruction) or i.parts[0] != "call":
                continue
            for operand in i.operands:
                other = module.functions.get(operand)
                if other is not None and other.body is not None and other.name not in found:
                    found[other.name] = other
                    todo.append(other)
    return list(found.values())


def directive(function, name, default):
    """The number that a directive such as ``.maxnreg 128`` gives a function."""
    return int(ptx.find(rf"\.{name}\s+(\d+)", function.directives, str(default)))


def cluster_of(function, instructions):
    """The blocks of a cluster along each axis: by `__cluster_dims__`, or one if only instructions
    mention clusters."""
    dims = re.search(r"\.reqnctapercluster\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", function.directives)
    if dims:
        return tuple(int(n or 1) for n in dims.groups())
    if re.search(r"\.(explicitcluster|maxclusterrank)", function.directives):
        raise Unsupported(f"{function.name}: the launch says how large clusters are; write __cluster_dims__")
    speaks = any(i.parts[0] in ("mapa", "getctarank") or i.parts[:2] == ["barrier", "cluster"] or
                 i.parts[0] in ("ld", "st", "atom", "red", "cvta") and "shared::cluster" in i.parts
                 for i in instructions)
    return (1, 1, 1) if speaks else (0, 0, 0)


COMPUTES = {"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "min", "max",
            "setp", "set", "testp", "cvt"}
HALVES = {"f16", "f16x2", "bf16", "bf16x2"}


def flushes(function):
    """True if all float arithmetic takes subnormals as zero (`.ftz`), so that the processor can be
    set to do it."""
    for i in function.body:
        if isinstance(i, Instruction) and i.parts[0] in COMPUTES and "ftz" not in i.parts:
            types = set(i.parts[1:])
            if i.parts[0] == "cvt" and (types & HALVES or not i.parts[-1].startswith("f")):
                continue                                  # made by moving bits, or exact
            if types & {"f32", "f64", "bf16", "bf16x2"}:
                return False
    return True
