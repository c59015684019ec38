"""C++ to shared libraries by g++, kept on disk: by the text, the compiler and its flags.

Several processes may build the same thing at once: each writes to a name of its own and renames at the end. A library
that is damaged is built again, before anybody loads it.
"""

import functools
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from ..cache import cache_folder, checksum_of, is_kept, keep, scratch_folder
from .errors import Missing, SimulatorError
from .translate import Program, translate

RUNTIME = Path(__file__).with_name("runtime")


@functools.cache
def compiler():
    """(path, version) of g++, or of what $CXX names. Missing if there is none."""
    if not sys.platform.startswith("linux"):
        raise Missing(f"the simulator runs on Linux (x86-64 or AArch64), not on {sys.platform}")
    path = shutil.which(os.environ.get("CXX") or "g++")
    if path is None:
        raise Missing("the simulator needs g++ (12 or newer) to compile kernels: apt install g++ (Fedora: dnf install "
                      "gcc-c++), or let the environment variable CXX name one")
    return path, output_of(path, "-dumpfullversion", "-dumpversion").stdout.strip()


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True)


@functools.cache
def machine_flags():
    """Flags for this processor: fused multiply-add and conversions to half precision in one instruction."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    try:
        flags = set(next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split())
    except (OSError, StopIteration):
        return ()
    return ("-march=x86-64-v3",) if {"avx2", "fma", "f16c", "bmi2", "movbe"} <= flags else ()


def compile_library(key, flags, sources, notes=None):
    """The path of the shared library of `sources`.

    `key` (a string) says what it is made from; `sources` are files, or a function that gives C++ text and is only
    called if the library is not there yet. `notes()` is then text to keep beside it, in a file that ends in .json.
    """
    path, version = compiler()
    options = ["-std=c++17", "-fPIC", "-shared", *machine_flags(), *flags]
    name = hashlib.sha256(repr((version, platform.machine(), options, key)).encode()).hexdigest()[:32]
    library = cache_folder("sim") / f"{name}.so"
    beside = library.with_suffix(".json")
    if is_kept(library) and (notes is None or is_kept(beside)):
        return library
    with scratch_folder(library.parent) as scratch:
        if callable(sources):
            file = Path(scratch) / "kernels.cpp"
            file.write_text(sources())
            sources = [file]
        out = Path(scratch) / library.name
        done = output_of(path, *options, f"-I{RUNTIME}", "-o", str(out), *map(str, sources))
        if done.returncode:
            raise SimulatorError(f"{path} {version} refused the code:\n{done.stderr[:4000]}")
        if notes is not None:
            keep(beside, notes().encode())
        keep(library, out.read_bytes())
    return library


def digest(*files):
    """A fingerprint of files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def runtime_library():
    """The path of the runtime."""
    sources = sorted(RUNTIME.glob("*.cpp"))
    key = digest(*sources, *sorted(RUNTIME.glob("*.h")))
    return compile_library(key, ("-O2", "-ffp-contract=off", "-fno-strict-aliasing"), sources)


def runtime_files():
    """The runtime and its checksum as they lie in the cache: files that may be copied to another
    cache on the same machine, where g++ then need not build them."""
    library = runtime_library()
    return library, checksum_of(library)


# Most of the time of tests of kernels is g++'s, little is spent in what it makes: so -Og.
KERNEL_FLAGS = ("-Og", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
                "-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-nostartfiles", "-nodefaultlibs", "-lm")


@functools.cache
def translator_digest():
    names = "ptx", "names", "flow", "translate", "opcodes", "opcodes_memory", "opcodes_tensor"
    return digest(*(Path(__file__).with_name(f"{name}.py") for name in names),
                  RUNTIME / "abi.h", RUNTIME / "arithmetic.h")


def kernel_library(text):
    """The path of the library of the kernels of a PTX text, and the `Program` that describes them."""
    made = []

    def code():
        made[:] = translate(text)
        return made[0]
    library = compile_library(translator_digest() + text, KERNEL_FLAGS, code, lambda: json.dumps(made[1].to_dict()))
    return library, made[1] if made else Program.from_dict(json.loads(library.with_suffix(".json").read_text()))
