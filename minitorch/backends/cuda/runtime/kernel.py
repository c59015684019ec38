"""`Kernel`: the typed launcher of a CUDA kernel, compiled when it is first needed.

    ROWS = Kernel("softmax.cu", "softmax_rows", "T* out, const T* input, i64 rows, i64 columns")
    ROWS(F.machine, grid, block, out, input, rows, columns, shared=0, COLUMNS_PER_THREAD=4)

The signature is written in the kernel's own words: a wrong type or an array of another device, which CUDA does not
check, is a Python error here.
"""

from typing import NamedTuple

import numpy as np

from ....core.dtypes import bfloat16
from . import compile as compiler
from .parameters import Late

__all__ = ["TYPES", "Kernel", "c_name"]

# Types in signatures: how they are called here, in C++ and in NumPy.
TYPES = {"f16": ("__half", "float16"), "bf16": ("__nv_bfloat16", "bfloat16"), "f32": ("float", "float32"),
         "f64": ("double", "float64"), "i8": ("signed char", "int8"), "u8": ("unsigned char", "uint8"),
         "i16": ("short", "int16"), "u16": ("unsigned short", "uint16"), "i32": ("int", "int32"),
         "u32": ("unsigned int", "uint32"), "i64": ("long long", "int64"),
         "u64": ("unsigned long long", "uint64"), "bool": ("bool", "bool")}
C_NAMES = {numpy_name: c for c, numpy_name in TYPES.values()}
HEADERS = {"float16": "-DNEEDS_FP16", "bfloat16": "-DNEEDS_BF16"}      # types.cuh then includes CUDA's headers
SCALARS = {short: np.dtype(name).type for short, (_, name) in TYPES.items() if name not in ("float16", "bfloat16")}
SCALARS["f16"] = np.float16
NULL = np.uint64(0)                                        # a null pointer
MAX_THREADS, MAX_GRID = 1024, (2**31 - 1, 65535, 65535)


def c_name(dtype):
    """A NumPy dtype as CUDA C++ calls it."""
    return C_NAMES[dtype.name]


class Parameter(NamedTuple):
    """One parameter of a kernel: its name, its type's word, and whether it is an array, only read, may be None."""

    name: str
    type: str
    is_array: bool = False
    is_const: bool = False
    is_optional: bool = False


def parse_signature(text):
    """``"T* out, const T* input?, i64 n"`` as a list of `Parameter`s."""
    return [parse_parameter(part) for part in text.split(",")] if text.strip() else []


def parse_parameter(text):
    words = text.replace("*", " * ").split()
    is_const = words[0] == "const"
    words = words[is_const:]
    is_array = "*" in words
    words = [w for w in words if w != "*"]
    if len(words) != 2:
        raise ValueError(f"a kernel's parameter is written as `const f32* name` or `i64 n`, got {text.strip()!r}; "
                         f"types: {', '.join(TYPES)}, T, U, V, or the name of a struct")
    return Parameter(words[1].rstrip("?"), words[0], is_array, is_const, words[1].endswith("?"))


class Kernel:
    """A kernel of a source: ``Kernel(source, entry, signature, arch=None)``; a file of `src/`, or a text of some lines.

    `signature` names each parameter's type: f16 bf16 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool; T, U and V are types
    that follow the arrays passed, under these names in the source; ``*`` is an array of the device (``any*`` of any
    type), ``const`` one that is only read, a name that ends in ``?`` may be None (a null pointer); any other type is a
    struct, passed as a NumPy record. `arch` is given where the kernel needs more than the device's own ("90a").

    A call is ``kernel(machine, grid, block, *arguments, shared=0, **constants)``: `grid` and `block` are ints or tuples
    of up to three, `shared` bytes of dynamic shared memory; each constant, in capitals, becomes a macro, as do T=, U=
    and V= (NumPy dtypes) where no array says them. Each combination of types and constants is compiled once. Nothing is
    launched for a grid of 0 blocks. TypeError for a wrong argument, RuntimeError for an array of another device,
    ValueError for an impossible grid.
    """

    def __init__(self, source, entry, signature, arch=None):
        self.file, self.entry, self.arch = source, entry, arch
        self.parameters = parse_signature(signature)
        self.generic = [(p.type, i) for i, p in enumerate(self.parameters) if p.is_array and p.type in "TUV"]
        self.ready = {}

    def __repr__(self):
        return f"<kernel {self.entry} of {self.source.name}>"

    @property
    def source(self):
        """The source with what it includes."""
        if isinstance(self.file, compiler.Source):
            return self.file
        return compiler.from_text(self.entry, self.file) if "\n" in self.file else compiler.from_file(self.file)

    def __call__(self, machine, grid, block, *arguments, shared=0, **constants):
        function, values = self.checked(machine, arguments, constants)
        grid = (grid,) if grid.__class__ is int else grid
        if 0 in grid:
            return
        block = (block,) if block.__class__ is int else block
        check_launch(self, grid, block)
        machine.launch(function, grid, block, values, shared)

    def checked(self, machine, arguments, constants):
        """The loaded function, and the values passed to it for these arguments."""
        dtypes = tuple([None if arguments[i] is None else arguments[i].dtype for _, i in self.generic]
                       if len(arguments) == len(self.parameters) else self.complain(arguments))
        key = machine, dtypes, tuple(constants.items())
        try:
            function, converters = self.ready[key]
        except KeyError:
            found = self.prepare(machine.real, dtypes, constants, arguments)
            function, converters = self.ready[(machine.real,) + key[1:]] = found
        return function, tuple([f(x) for f, x in zip(converters, arguments)])

    def complain(self, arguments):
        names = ", ".join(p.name for p in self.parameters)
        raise TypeError(f"kernel {self.entry} takes {len(self.parameters)} arguments ({names}), got {len(arguments)}")

    def prepare(self, machine, dtypes, constants, arguments):
        """Compile for these types and constants; the function, and a converter of the argument for each parameter."""
        types = self.bind(dtypes, constants, arguments)
        converters = [self.converter(machine, p, types) for p in self.parameters]
        for f, x in zip(converters, arguments):            # before compiling: a wrong argument costs nothing
            f(x)
        return machine.load(self.source, self.macros(types, constants), self.arch, self.entry), converters

    def bind(self, dtypes, constants, arguments):
        """The dtypes that T, U and V stand for."""
        types = {k: np.dtype(v) for k, v in constants.items() if k in ("T", "U", "V")}
        for (letter, i), dtype in zip(self.generic, dtypes):
            if dtype is None:
                continue
            if types.setdefault(letter, dtype) != dtype:
                raise TypeError(f"kernel {self.entry}: {self.parameters[i].name} must be {types[letter]}, which the "
                                f"other {letter} arrays are, got {dtype}")
            if dtype.name not in C_NAMES:
                raise TypeError(f"kernel {self.entry}: {self.parameters[i].name} is {dtype}, for which there are no "
                                f"kernels; {', '.join(C_NAMES)} will do")
        return types

    def macros(self, types, constants):
        """The options for the compiler that define this specialisation."""
        headers = {HEADERS[d.name] for d in types.values() if d.name in HEADERS}
        headers |= {HEADERS[TYPES[p.type][1]] for p in self.parameters if p.type in ("f16", "bf16")}
        given = {f"TYPE_{k}": c_name(v) for k, v in types.items()}
        given |= {k: int(v) if isinstance(v, (bool, np.integer)) else v for k, v in constants.items()
                  if k not in types}
        return (*sorted(headers), *[f"-D{k}={v}" for k, v in sorted(given.items())])

    def converter(self, machine, p, types):
        """A function that checks one argument and returns the value to pass."""
        if not p.is_array:
            return self.record if p.type not in TYPES else SCALARS[p.type]
        ndarray = machine.ndarray
        if p.type == "any":
            return lambda x: self.check_array(x, p, ndarray, getattr(x, "dtype", None))
        dtype = types[p.type] if p.type in types else np.dtype(numpy_name(p.type)) if p.type in TYPES else None

        def check(x):
            if x.__class__ is ndarray and x.dtype is dtype:
                return x
            return self.check_array(x, p, ndarray, dtype)
        return check

    def check_array(self, x, p, ndarray, dtype):
        if x is None and p.is_optional:
            return NULL
        if not isinstance(x, ndarray):
            where = "cpu" if isinstance(x, np.ndarray) else getattr(getattr(type(x), "backend", None), "device", None)
            if where is None:
                raise TypeError(f"kernel {self.entry}: {p.name} must be an array on the device, got "
                                f"{type(x).__name__}")
            raise RuntimeError(f"kernel {self.entry}: {p.name} is on {where}, the kernel runs on "
                               f"{ndarray.backend.device}: move one of them with .to()")
        if x.dtype != dtype:
            raise TypeError(f"kernel {self.entry}: {p.name} must be {dtype}, got {x.dtype}")
        return x

    def record(self, x):
        if isinstance(x, Late):                            # whose `size` is of bytes
            return x
        if not isinstance(x, (np.ndarray, np.void)) or x.dtype.kind != "V" or getattr(x, "size", 1) != 1:
            raise TypeError(f"kernel {self.entry}: a struct is passed as a NumPy record, got {x!r}")
        return x

    def resources(self, arch="90", dtypes=(), **constants):
        """The resources that this kernel takes on `arch` (registers, spilled bytes, shared memory); needs no GPU.

        `dtypes` are NumPy dtypes for T, U and V, in this order, of those that the signature has.
        """
        letters = sorted({letter for letter, _ in self.generic} | {k for k in constants if k in ("T", "U", "V")})
        types = {k: np.dtype(d) for k, d in [*zip(letters, dtypes), *constants.items()] if k in letters}
        found = compiler.resources(self.source, self.macros(types, constants), self.arch or arch)
        return found[self.entry]


def numpy_name(word):
    """The NumPy name of a type in a signature; bfloat16 is loaded with it."""
    name = TYPES[word][1]
    if name == "bfloat16":
        return bfloat16.np
    return name


def check_launch(kernel, grid, block):
    """ValueError for a grid or a block that no GPU can run."""
    threads = 1
    for n in block:
        threads *= n
    if not 0 < threads <= MAX_THREADS or any([n > limit for n, limit in zip(grid, MAX_GRID)]) or min(grid) < 0:
        raise ValueError(f"kernel {kernel.entry}: a block has 1 to {MAX_THREADS} threads and a grid at most {MAX_GRID} "
                         f"blocks, got a grid of {grid} and blocks of {block}")
