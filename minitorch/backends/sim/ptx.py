"""Read PTX, the assembly language that NVRTC writes, into statements.

PTX is text: directives (``.reg``, ``.shared`` ...), labels, braces that open scopes, and instructions such as
``@%p1 ld.global.v2.f32 {%f1, %f2}, [%rd4+8];`` (a guard, an opcode of parts, operands). `.loc`
directives give the source file and line of the instructions that follow. `parse` keeps all that and
understands nothing of what the instructions do: that is the business of `translate.py`.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import Unsupported


class Place(NamedTuple):
    """A line of a source file (its number in the module's `files`) and the call it was inlined from, if it was."""

    file: int
    line: int
    inlined: "Place | None" = None


class Instruction(NamedTuple):
    """``@!%p1 opcode operands;`` and the source line it was made for."""

    guard: str                     # "", "%p1" or "!%p1"
    opcode: str                    # "ld.global.v2.f32"
    operands: tuple[str, ...]      # "{%f1, %f2}", "[%rd4+8]"
    place: Place

    @property
    def parts(self):
        """The opcode's parts: ("ld", "global", "v2", "f32")."""
        return self.opcode.split(".")

    def __str__(self):
        return f"{self.guard and '@' + self.guard + ' '}{self.opcode} {', '.join(self.operands)}"


class Label(NamedTuple):
    """A place to branch to."""

    name: str


class Registers(NamedTuple):
    """``.reg .f32 %f<3>``: type "f32", names ("%f0", "%f1", "%f2")."""

    type: str
    names: tuple[str, ...]


class Variable(NamedTuple):
    """A named piece of memory, or a parameter: `length` elements of `type`; `values` is its initialiser."""

    space: str                     # global, const, shared, local or param
    name: str
    type: str
    align: int
    length: int | None             # None: as long as the launch says (``extern __shared__ float x[]``)
    values: str = ""


@dataclass
class Function:
    """A kernel (`.entry`) or a device function (`.func`). `body` is None for one that is only declared."""

    name: str
    is_entry: bool
    results: list[Variable]
    parameters: list[Variable]
    body: list | None
    max_threads: int = 0           # 0: no limit but the device's
    directives: str = ""


@dataclass
class Module:
    """All that one PTX text holds."""

    target: str = ""
    files: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STATEMENT = re.compile(r"""\s*(?:
    (?P<brace>[{}])
  | (?P<loc>\.loc\b[^\n]*)
  | (?P<label>[$%\w]+)\s*:(?!:)
  | (?P<text>[^\s;{}][^;{}]*(?:\{[^{}]*\}[^;{}]*)*);
)""", re.X)
FUNCTION = re.compile(r"""
    \.(?P<kind>entry|func)\s*(?:\((?P<results>[^)]*)\))?\s*(?P<name>[\w$%]+)\s*
    (?:\((?P<parameters>[^)]*)\))?(?P<directives>[^{;]*)(?P<end>[{;])
""", re.X)
VARIABLE = re.compile(r"""
    \.(?P<space>global|const|shared|local|param)\b
    (?P<attributes>(?:\s*\.(?:align\s+\d+|ptr|global|shared|const|local|attribute\s*\([^)]*\)))*)
    \s*\.(?P<type>\w+)
    (?:\s*\.ptr(?:\s*\.(?:global|shared|const|local))?(?:\s*\.align\s+\d+)?)?
    \s+(?P<name>[\w$%]+)\s*(?P<extent>\[\s*\d*\s*\])?\s*(?:=\s*(?P<values>.*))?$
""", re.X | re.S)
SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
         "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "tf32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}


def parse(text):
    """The `Module` of a PTX text. Unsupported for what is not understood."""
    text = COMMENTS.sub(" ", text)
    module = Module(target=find(r"\.target\s+(\w+)", text))
    for number, name in re.findall(r'\.file\s+(\d+)\s+"([^"]*)"', text):
        module.files[int(number)] = name
    outside, end = [], 0
    while header := FUNCTION.search(text, end):
        outside.append(text[end:header.start()])
        function, end = parse_function(header, text)
        known = module.functions.get(function.name)
        if known is None or known.body is None:
            module.functions[function.name] = function
    outside.append(text[end:])
    for statement in " ".join(outside).split(";"):
        if re.search(r"\.(global|const|shared)\b", statement) and ".section" not in statement:
            variable = parse_variable(statement)
            module.variables[variable.name] = variable
    return module


def find(pattern, text, default=""):
    found = re.search(pattern, text)
    return found.group(1) if found else default


def parse_function(header, text):
    """The function that begins at `header`, and where it ends."""
    lists = [[parse_variable(p) for p in split(header[group] or "")] for group in ("results", "parameters")]
    directives = header["directives"].strip()
    threads = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
    limit = 1
    for number in threads.groups() if threads else ():
        limit *= int(number or 1)
    function = Function(header["name"], header["kind"] == "entry", *lists, None, limit if threads else 0, directives)
    if header["end"] == ";":
        return function, header.end()
    depth, end = 1, header.end()
    while depth:
        brace = re.compile(r"[{}]").search(text, end)
        depth, end = depth + (1 if brace[0] == "{" else -1), brace.end()
    function.body = list(parse_body(text[header.end():end - 1]))
    return function, end


def parse_variable(statement):
    """The `Variable` that ``.space .align n .type name[count] = values`` declares."""
    found = VARIABLE.search(statement.strip())
    if not found:
        raise Unsupported(f"declaration: {statement.strip()[:80]}")
    extent = (found["extent"] or "[1]").strip("[] \t\n")
    align = int(find(r"align\s+(\d+)", found["attributes"], "0")) or SIZES[found["type"]]
    count = int(extent) if extent else None
    return Variable(found["space"], found["name"], found["type"], align, count, (found["values"] or "").strip())


def parse_body(text):
    """Yield the statements of a function: "{", "}", or one of the classes above."""
    place, position, end = Place(0, 0), 0, len(text.rstrip())
    while position < end:
        found = STATEMENT.match(text, position)
        if not found:
            raise Unsupported(f"PTX near: {text[position:position + 80].strip()}")
        position = found.end()
        if found["brace"]:
            yield found["brace"]
        elif found["loc"]:
            place = parse_place(found["loc"])
        elif found["label"]:
            yield Label(found["label"])
        else:
            statement = parse_statement(found["text"].strip(), place)
            if statement is not None:
                yield statement


def parse_place(text):
    """``.loc 1 7 3, function_name $x, inlined_at 1 15 3``: line 7 of file 1, inlined at its line 15."""
    numbers = [int(n) for n in re.match(r"\.loc\s+(\d+)\s+(\d+)", text).groups()]
    inlined = re.search(r"inlined_at\s+(\d+)\s+(\d+)", text)
    return Place(*numbers, Place(int(inlined[1]), int(inlined[2])) if inlined else None)


IGNORED = (".pragma", ".file", ".section", ".branchtargets", ".maxnreg", ".minnctapersm", ".maxntid")


def parse_statement(text, place):
    if text.startswith(".reg"):
        type_, names = re.match(r"\.reg\s*(?:\.v\d\s*)?\.(\w+)\s+(.*)", text, re.S).groups()
        return Registers(type_, tuple(name for item in split(names) for name in expand(item)))
    if re.match(r"\.(local|shared|param)\b", text):
        return parse_variable(text)
    if text.startswith(IGNORED):
        return None
    if text.startswith("."):
        raise Unsupported(f"directive {text.split()[0]}")
    guard = re.match(r"@(!?%?[\w$]+)\s+", text)
    if guard:
        text = text[guard.end():]
    opcode, operands = re.match(r"([\w.:]+)\s*(.*)", text, re.S).groups()
    return Instruction(guard[1] if guard else "", opcode, tuple(split(operands)), place)


def expand(item):
    """``%r<3>``: %r0, %r1, %r2."""
    many = re.fullmatch(r"(%?[\w$]+)<(\d+)>", item)
    return [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [item]


def split(text):
    """Operands: split at the commas that stand in no bracket.

    >>> split("{%f1, %f2}, [%rd4+8]")
    ['{%f1, %f2}', '[%rd4+8]']
    """
    if not any(bracket in text for bracket in "{[("):
        return [item.strip() for item in text.split(",") if item.strip()]
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    return [item.strip() for item in (*parts, text[begin:]) if item.strip()]
