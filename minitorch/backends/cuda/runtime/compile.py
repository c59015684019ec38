"""Compilation of CUDA C++ by NVRTC, with a cache on disk and one in the process.

`compile_source(source, ...)` gives PTX (for the simulator) or a cubin (for a GPU); neither needs a GPU. The options are
those that CuPy would pass, ``-ftz=true`` among them: denormal float32 numbers are flushed to zero on the GPU, and in
the simulator, which follows the PTX, as well.

Compiled code is kept in a folder by the platform's custom (``~/.cache/minitorch/kernels`` on Linux); the environment
variable MINITORCH_CACHE names another one. A file is found by a hash of its inputs: the source with its
includes, the options and the version of NVRTC.
"""

import functools
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from ...cache import cache_folder, is_kept, keep

__all__ = ["CompileError", "Source", "compile_source", "from_file", "resources",
           "with_includes"]

SOURCES = Path(__file__).parent.parent / "src"             # the .cu and .cuh files of this package
TYPES = "types.cuh"                                        # included before every source
HELP = "pip install 'cupy-cuda13x>=14' nvidia-cuda-nvrtc nvidia-cuda-runtime (or 'cupy-cuda12x>=14' " \
       "nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12 where the driver is of CUDA 12)"


class CompileError(RuntimeError):
    """NVRTC refused a source; the message has its log."""


class Source(NamedTuple):
    """A CUDA C++ text: its file name (for messages), the text, and the texts of what it includes, by name."""

    name: str
    text: str
    includes: tuple = ()


@functools.cache
def from_file(name):
    """The source of a file in the package's folder of sources."""
    return with_includes(name, (SOURCES / name).read_text(encoding="utf-8"))


@functools.cache
def from_text(entry, text):
    """The source of a kernel that is written beside its launcher."""
    return with_includes(f"{entry}.cu", text)


def with_includes(name, text):
    """A source with the texts that its ``#include "..."`` lines name, found in the package's folder of sources."""
    found, wanted = {TYPES: (SOURCES / TYPES).read_text(encoding="utf-8")}, [text]
    while wanted:
        for include in re.findall(r'^\s*#\s*include\s*"([^"]+)"', wanted.pop(), re.MULTILINE):
            path = SOURCES / include
            if include not in found and path.exists():     # NVRTC looks for others in the folders of CUDA
                found[include] = path.read_text(encoding="utf-8")
                wanted.append(found[include])
    return Source(name, text, tuple(sorted(found.items())))


# ---- NVRTC -------------------------------------------------------------------------------------------------
@functools.cache
def nvrtc():
    """CuPy's binding of NVRTC; ImportError that says what to install where one of the two is missing."""
    try:
        from cupy.cuda import nvrtc
    except ImportError as error:
        raise ImportError(f"CUDA kernels, also in the simulator, need CuPy: {HELP}") from error
    try:
        nvrtc.getVersion()
    except Exception as error:                             # a RuntimeError or an ImportError, by CuPy's version
        raise ImportError(f"CUDA kernels need the compiler library NVRTC, which CuPy did not find ({error}): "
                          f"{HELP}") from error
    return nvrtc


def options_for(macros, arch, form):
    """The command line for NVRTC."""
    from cupy._core import core
    given = core.assemble_cupy_compiler_options(("-std=c++17", *macros))
    kind = "compute" if form == "ptx" else "sm"
    return (*given, "-ftz=true", "--device-as-default-execution-space", "-lineinfo", f"--pre-include={TYPES}",
            f"-arch={kind}_{arch}")


def run_nvrtc(source, options, form):
    """Compile now: the code as bytes, and NVRTC's log."""
    library = nvrtc()
    program = library.createProgram(source.text, source.name, [text.encode() for _, text in source.includes],
                                    [name.encode() for name, _ in source.includes])
    try:
        library.compileProgram(program, options)
        log = library.getProgramLog(program)
        if form == "ptx":
            code = library.getPTX(program)
        else:
            code = library.getCUBIN(program) + b"\0"       # CuPy drops the last byte, without which tools complain
    except library.NVRTCError as error:
        log = library.getProgramLog(program).strip()
        raise CompileError(f"{source.name} does not compile ({error}):\n{log}") from None
    finally:
        library.destroyProgram(program)
    return code, log


@functools.cache
def compile_source(source, macros=(), arch="90", form="ptx"):
    """The path of the compiled code of a `Source`: "ptx" or "cubin" for an architecture such as "80" or "90a".

    `macros` is a tuple of options such as "-DT=float". CompileError has the compiler's messages.
    """
    options = options_for(macros, arch, form)
    path = place_of(source, options, form)
    if not is_kept(path):
        code, _ = run_nvrtc(source, options, form)
        keep(path, code if isinstance(code, bytes) else code.encode())
    return path


def place_of(source, options, ending):
    """Where in the cache lies what NVRTC made of a source with these options."""
    key = repr((source, [o for o in options if not o.startswith("-I")], nvrtc().getVersion()))
    name = hashlib.sha256(key.encode()).hexdigest()[:24]
    return cache_folder("kernels") / f"{Path(source.name).stem}-{name}.{ending}"


# ---- what a kernel takes -----------------------------------------------------------------------------------
class Resources(NamedTuple):
    """Resources of one kernel: registers a thread, bytes that did not fit into registers (spills), bytes of static
    shared memory, bytes of stack; whether the assembler has products by wgmma wait for each other, for want of
    registers or of order."""

    registers: int
    spills: int
    shared: int
    stack: int
    serial: bool = False


def resources(source, macros=(), arch="90"):
    """`Resources` of each kernel of a `Source` by name, as the assembler for `arch` reports them; needs no GPU."""
    options = *options_for(tuple(macros), arch, "cubin"), "--ptxas-options=-v"
    path = place_of(source, options, "log")                # the assembler takes seconds, and says the same again
    if not is_kept(path):
        keep(path, run_nvrtc(source, options, "cubin")[1].encode())
    log = path.read_text()
    serial = re.findall(r"wgmma\S* instructions are serialized .*'(\w+)'", log)
    found, name, stack, spills = {}, None, 0, 0
    for line in log.splitlines():
        entry = re.search(r"Compiling entry function '(\w+)'", line)
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line)
        used = re.search(r"Used (\d+) registers", line)
        if entry:
            name = entry.group(1)
        elif frame:
            stack, spills = map(int, frame.groups())
        elif used and name:
            shared = re.search(r"(\d+) bytes smem", line)
            found[name] = Resources(int(used.group(1)), spills, int(shared.group(1)) if shared else 0, stack,
                                    name in serial)
            name = None
    return found
