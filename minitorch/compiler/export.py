"""`export_c`: an inference function as one C file that needs nothing but a C99 compiler and its
mathematics library.

The loops are those of ``compile(backend="c")``; products are loops, too. Weights are constant
arrays of the file, and intermediate results lie in static arrays, one for each type, where their
lifetimes allow it: nothing is allocated.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from .. import Tensor
from ..backends.native import HEADERS
from ..extend import is_half, recording
from ..nn import Module
from ..utils._pytree import tree_leaves
from . import c, c_words
from .arena import arena, refs_of, simplify
from .compiled import Compiled
from .emit import identifier
from .guards import signature
from .items import Call, NoLowering
from .lower import Lowering
from .module import CompiledModule
from .plan import programs_of
from .program import Value
from .recording import record
from .surroundings import Surroundings
from .unit import Unit

__all__ = ["export_c"]

WIDTH = 116                # of lines of numbers
SAMPLES = 1 << 16          # numbers up to which the example program has inputs and results
DOT = """/* The sum of products along two lines of memory, in eight parts. */
static {kind} {letter}dot(const {kind} *a, i64 s, const {kind} *b, i64 t, i64 n) {{
  {kind} sum[8] = {{0}};
  i64 k = 0;
  for (; k + 8 <= n; k += 8)
    for (int m = 0; m < 8; m++) sum[m] += a[(k + m) * s] * b[(k + m) * t];
  for (; k < n; k++) sum[0] += a[k * s] * b[k * t];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}}
"""


def export_c(model, example, path, name=None):
    """Write an inference function as a C file without dependencies, a header and a program that
    tries it.

    `model` is a module (in the mode in which it is: call ``eval()`` first), a function of tensors,
    or a compiled one; `example` the tensor or the tuple of tensors that it is called
    with, whose shapes and dtypes become those of the C function: float32, float64, integers and
    bools. `path` ends in ".c"; `name` is that of the function, by default the file's. Written are

    - ``net.c``: weights, loops and ``int net(const float *x, float *out)``, which returns 0, 1 for
      an index and 2 for a class that does not exist. Arrays are without gaps, in the order of the
      results. Nothing is allocated; static memory makes a second call wait for the first: do not
      call it from two threads at once. - ``net.h``: its declaration. - ``net_example.c``: the
      example and its results, as a program that compares and returns 0 if they agree.

    All of it is C99: ``cc -O2 -std=c99 net.c net_example.c -lm``. Returns the path of the C file.
    ValueError, with its name, if an op has no loop in C or writes to an argument;
    RuntimeError if the function cannot be traced. Only the forward pass is written.

    >>> import minitorch as torch, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> print(torch.export_c(net, torch.zeros(1, 4), folder + "/net.c").name)
    net.c
    """
    path = Path(path)
    if path.suffix != ".c":
        raise ValueError(f"export_c() writes a file whose name ends in .c, got {str(path)!r}")
    name = path.stem if name is None else name
    if identifier(name, "") != name or name in RESERVED:
        raise ValueError(f"export_c(): {name!r} cannot be the name of a C function; "
                         "give another as name=")
    args = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    function = function_of(model)
    if not callable(function) or not args or not all(isinstance(x, Tensor) for x in args):
        raise TypeError("export_c() takes a function or a module, and a tensor or a tuple of "
                        "tensors to call it with")
    with recording(False):
        file = File(name, function, tuple([x.detach().cpu().contiguous().clone() for x in args]))
    path.write_text(file.text(), encoding="utf-8")
    path.with_suffix(".h").write_text(file.header(), encoding="utf-8")
    path.with_name(f"{path.stem}_example.c").write_text(file.example(path.stem), encoding="utf-8")
    return path


RESERVED = set("auto break case char const continue default do double else enum extern float for "
               "goto if inline int long register restrict return short signed sizeof static struct "
               "switch typedef union unsigned void volatile while main".split())


def function_of(model):
    """The function or module that a compiled one was made from."""
    if isinstance(model, CompiledModule):
        return model.compiled.function
    return getattr(model, "function", model) if isinstance(model, Compiled) else model


class ForFile(Lowering):
    """The items of a program without calls."""

    most_products = most_of_short_rows = 1 << 62

    @staticmethod
    def multiplies(shape, strides):
        return True                                        # by loops, any layout


class FileFunction(c.Function):
    """Kernels whose scratch memory is their own."""

    def number_of_parts(self):
        return 1

    def room(self, kind, name, count, itemsize):
        return f"  static {kind} {name}[{count}];"


class Body(Unit):
    """The functions of the kernels, and the lines that call them."""

    def __init__(self, items, offsets, names):
        self.names = names
        super().__init__(items, offsets, 0, ())

    def run(self, items, number):
        return self.statements(items).lines

    def function(self, kernel):
        return FileFunction(kernel, "@NAME").printed()

    def pointer(self, ref):
        name = self.names[ref.anchor]
        return name + (f" + {ref.offset}" if ref.offset else "")

    def one_product(self, indent, letter, sizes, alpha, a, b, out):
        (pa, sa, ta), (pb, sb, tb), (pc, row), (m, n, k) = a, b, out, sizes
        scaled = "" if alpha in ("1.0f", "1.0") else f"{alpha} * "
        dot = f"{letter}dot({pa} + i * {sa}, {ta}, {pb} + j * {tb}, {sb}, {k})"
        return [f"{indent}for (i64 i = 0; i < {m}; i++)",
                f"{indent}  for (i64 j = 0; j < {n}; j++)",
                f"{indent}    ({pc})[i * {row} + j] = {scaled}{dot};"]


class File:
    """The texts of one function."""

    def __init__(self, name, function, args):
        self.name, self.args = name, args
        programs, self.results = traced(function, args)
        part = programs.parts[0]
        self.inputs = part.inputs
        outside = {*part.inputs, *part.captured}
        check_program(part.program, outside, self.results)
        lowering = ForFile(part.program, programs.base, outside)
        self.items = lowering.items
        self.outputs = [self.output(lowering, v) for v in part.program.outputs]
        check_lowering(lowering)
        simplify(self.items, {*outside, *self.outputs})
        refs = [r for i in self.items for r in refs_of(i)]
        if any(r.dtype != r.anchor.dtype for r in refs):
            raise ValueError("export_c(): memory that is looked at in two types has no C here")
        self.names = argument_names(self.inputs, self.outputs)
        self.memory = self.place(refs, outside)
        self.data = [v for v in dict.fromkeys(r.anchor for r in refs) if v not in self.names]
        self.names |= names_of_data(self.data, {*self.names.values()})

    def output(self, lowering, v):
        """The array of a result, without gaps, which the program fills last."""
        fresh = v.root is v and v.kind == "made" and v not in self.inputs
        if fresh and v.example.flags.c_contiguous:
            return v
        out = Value("made", np.empty(v.shape, v.dtype))
        try:
            items = lowering.copied(v, out)
        except NoLowering as why:
            raise ValueError(f"export_c(): no C for a result: {why}") from None
        for item in items:
            lowering.emit(item)
        return out

    def place(self, refs, outside):
        """Name intermediate results: parts of static arrays, one for each dtype; their sizes."""
        memory = {}
        for dtype in sorted({r.root.dtype for r in refs if r.root.kind == "made"}, key=str):
            others = {r.root for r in refs if r.root.dtype != dtype} | {*self.outputs} | outside
            offsets, size = arena(self.items, others)
            if size:
                memory[dtype] = size // dtype.itemsize
                self.names |= {v: f"(memory_{dtype.name} + {at // dtype.itemsize})"
                               for v, at in offsets.items()}
        return memory

    # -- texts -------------------------------------------------------------------------------------
    def signature(self):
        inputs = [f"const {typed(v)} *{self.names[v]}" for v in self.inputs]
        outputs = [f"{typed(v)} *{self.names[v]}" for v in self.outputs]
        return f"int {self.name}({', '.join([*inputs, *outputs])})"

    def head(self):
        shapes = [f"{self.names[v]} {'x'.join(map(str, v.shape)) or 'a number'}"
                  for v in (*self.inputs, *self.outputs)]
        return f"{self.name}: {', '.join(shapes)}"

    def text(self):
        body = Body(self.items, {}, self.names)
        lines = [line for run in body.runs for line in run]
        functions = [plain(t) + "\n" for t in body.texts]
        for kind, letter in (("float", "s"), ("double", "d")):
            if any(f"{letter}dot(" in line for line in lines):
                functions.insert(0, DOT.format(kind=kind, letter=letter))
        memory = [f"static {c_words.TYPES[dtype.name]} memory_{dtype.name}[{size}];"
                  for dtype, size in self.memory.items()]
        return "\n".join([
            f"/* {self.head()}. Written by minitorch.export_c; C99, needs libm alone. */",
            "#include <math.h>", "#include <stdint.h>", "#include <string.h>", "",
            "typedef int64_t i64;", self.signature() + ";", "", helpers("\n".join(functions)),
            *map(self.constant, self.data), *memory, "", *functions,
            self.signature() + " {", "  i64 wrong[3] = {0};", "  char *scratch = 0;",
            "  (void)scratch;", *lines, "  return (int)wrong[0];", "}", ""])

    def constant(self, v):
        """A weight as an array of the file: all elements from its first to its last in memory."""
        a = v.example
        reach = sum((n - 1) * s for n, s in zip(a.shape, a.strides)) // a.itemsize + 1
        start = a.reshape(-1)[:1] if a.flags.c_contiguous else first_of(a)
        flat = np.lib.stride_tricks.as_strided(start, (reach,), (a.itemsize,))
        return (f"static const {typed(v)} {self.names[v]}[{flat.size}] = {{    "
                f"/* {' x '.join(map(str, v.shape))} */\n{numbers(flat)}\n}};")

    def header(self):
        guard = f"{self.name.upper()}_H"
        declaration = self.signature().replace("i64", "int64_t") + ";"
        return "\n".join([
            f"/* {self.head()}. Returns 0, 2 for a wrong class, another number for a wrong index. "
            "*/",
            f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", "",
            "#ifdef __cplusplus", 'extern "C" {', "#endif", declaration,
            "#ifdef __cplusplus", "}", "#endif", "#endif", ""])

    def example(self, stem):
        """A program that calls the function with the example."""
        pairs = [*zip(self.inputs, self.args), *zip(self.outputs, self.results)]
        if sum(t.numel() for _, t in pairs) > SAMPLES:
            return (f"/* The example has more than {SAMPLES} numbers. */\n"
                    "int main(void) { return 0; }\n")
        lines = [f"/* Calls {self.name} with the example that it was written with, and compares. "
                 "*/",
                 "#include <math.h>", "#include <stdint.h>", "#include <stdio.h>",
                 f'#include "{stem}.h"', ""]
        for v, t in pairs:
            kind, size = typed(v).replace("i64", "int64_t"), max(1, t.numel())
            expected = v not in self.inputs
            lines.append(f"static const {kind} {'expected_' * expected}{self.names[v]}[{size}] = "
                         f"{{\n{numbers(t.detach().numpy().reshape(-1))}\n}};")
            lines += [f"static {kind} {self.names[v]}[{size}];"] * expected
        call = f"{self.name}({', '.join(self.names[v] for v, _ in pairs)})"
        lines += ["", "int main(void) {", "  double worst = 0, largest = 1;",
                  f"  int code = {call};"]
        for v, t in pairs[len(self.inputs):]:
            name = self.names[v]
            lines += [f"  for (int i = 0; i < {t.numel()}; i++) {{",
                      f"    double a = (double){name}[i], b = (double)expected_{name}[i];",
                      "    if (fabs(b) > largest) largest = fabs(b);",
                      "    if (a != b && !(a != a && b != b) && !(fabs(a - b) <= worst)) "
                      "worst = fabs(a - b);", "  }"]
        return "\n".join([
            *lines, '  printf("returned %d, largest difference %g\\n", code, worst);',
            "  return code || !(worst <= 1e-5 * largest);", "}", ""])


# ------------------------------------------------------------------ what can be written
def traced(function, args):
    """The program of a function, and the tensors that it returns."""
    tensors, others, _ = signature(args, {})
    if len(tensors) != len(args):
        raise ValueError("export_c(): the same tensor is given twice; give copies")
    modules = [*function.modules()] if isinstance(function, Module) else []
    recorded = record(function, args, {}, tensors, parameter_names(function),
                      Surroundings(function, others))
    if recorded.reason is not None:
        raise RuntimeError(f"export_c() cannot trace the function: {recorded.reason}")
    results = [x for x in tree_leaves(recorded.result) if isinstance(x, Tensor)]
    return programs_of(recorded, modules), results


def check_program(program, outside, results):
    """ValueError unless a program only makes new tensors."""
    if any(v.root in outside for i in program.instructions for v in i.writes):
        raise ValueError("export_c(): the function writes to an argument, a parameter or a buffer, "
                         "as batch_norm does in training; call eval() first")
    if len(program.outputs) != len(results) or not results:
        raise ValueError("export_c(): the function returns something other than new tensors, each "
                         "of them once; return copies (clone) of arguments and of what is returned "
                         "twice")


def check_lowering(lowering):
    """ValueError if something stays a call of Python."""
    reasons = [why for i in lowering.items if isinstance(i, Call)
               for why, found in lowering.called.items() if i.instruction in found]
    if reasons:
        raise ValueError("export_c(): there is no C for " + "; ".join(dict.fromkeys(reasons)))


# ------------------------------------------------------------------ names
def argument_names(inputs, outputs):
    """The parameters of the C function: named as in Python, where these names are different."""
    numbered = [f"x{n}" for n in range(len(inputs))]
    names = [identifier(v.name) if v.name else x for v, x in zip(inputs, numbered)]
    if len({*names}) < len(names) or RESERVED & {*names}:
        names = numbered
    results = [f"out{n}" for n in range(len(outputs))] if len(outputs) > 1 else ["out"]
    return dict(zip([*inputs, *outputs], [*names, *results]))


def names_of_data(data, taken):
    """A name for each constant array, after the parameter that it is."""
    names = {}
    for v in data:
        stem, n = identifier(v.name or "constant"), 1
        stem = f"{stem}_" if stem in RESERVED else stem
        while (name := stem if n == 1 else f"{stem}_{n}") in taken:
            n += 1
        taken.add(name)
        names[v] = name
    return names


def typed(v):
    """The type of C of a value's elements."""
    return c_words.TYPES[v.dtype.name]


# ------------------------------------------------------------------ texts
def first_of(a):
    """The memory of an array from its first element on, as one dimension."""
    return np.lib.stride_tricks.as_strided(a, (1,), (a.itemsize,))


def parameter_names(function):
    """The names of a function's parameters, or of those of a module's `forward`."""
    code = getattr(getattr(function, "forward", function), "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    return names[1:] if isinstance(function, Module) else names


def plain(text):
    """The text of a function without extensions that only gcc and clang are sure to know."""
    text = re.sub(r"^#pragma omp simd.*\n", "", text, flags=re.MULTILINE)
    return text.replace("static __attribute__((noinline)) void", "static void")


def helpers(text):
    """The functions of the headers that a text calls, and those that these call."""
    source = "\n".join((HEADERS / name).read_text(encoding="utf-8")
                       for name in ("prelude.h", "functions.h"))
    several_lines = re.MULTILINE | re.DOTALL
    definition = re.compile(r"^INLINE [^\n]*?(\w+)\([^\n]*\{(?:[^\n]*\}$|.*?^\})", several_lines)
    macro = re.compile(r"^#define ([A-Z]+) .*", re.MULTILINE)
    table = re.compile(r"^static const \w+ (\w+)\[[^\n]*?= \{.*?\};", several_lines)
    found = {m.group(1): m.group(0).replace("INLINE", "static inline", 1)
             for m in definition.finditer(source)}
    found |= {m.group(1): m.group(0) for m in macro.finditer(source) if m.group(1) != "INLINE"}
    found |= {m.group(1): m.group(0) for m in table.finditer(source)}
    wanted, todo = set(), [text]
    while todo:
        words = set(re.findall(r"\w+", todo.pop())) & set(found)
        todo += [found[w] for w in words - wanted]
        wanted |= words

    def place(w):
        found = re.search(rf"^(#define|INLINE|static const)[^(\n]*\b{w}\b", source, re.MULTILINE)
        return found.start()
    order = sorted(wanted, key=place)
    return "\n".join(found[w] for w in order) + "\n"


def numbers(flat):
    """Numbers as the lines of an initialiser."""
    if is_half(flat.dtype):                                # as they lie in memory
        flat = flat.view(np.uint16)
    is_float = flat.dtype.kind == "f"                      # bfloat16 is among the halves above
    texts = [short(x) if is_float else c_words.number(x, flat.dtype) for x in flat]
    lines, line = [], ""
    for text in texts or ["0"]:
        if len(line) + len(text) > WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += text + ", "
    return "\n".join([*lines, line.rstrip(", ")])


def short(x):
    """A float as its shortest text that is read as the same number."""
    if not math.isfinite(x):
        return c_words.number(x, x.dtype)
    if x and not 1e-4 <= abs(x) < 1e6:
        text = np.format_float_scientific(x, trim="-")
    else:
        text = np.format_float_positional(x, trim="0")
    text = text if "." in text or "e" in text else text + ".0"
    return text + "f" * (x.dtype.itemsize == 4)
