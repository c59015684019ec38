"""Figures of the kernels' machine code, without a GPU: ``python -m benchmarks.cubins``.

    python -m benchmarks.cubins                            # every row of the GPU programme, for compute capability 9.0
    python -m benchmarks.cubins --only 'gelu|softmax' --arch 80 --verbose
    python -m benchmarks.cubins --write                    # and the table into docs/kernels.md

Each row of the GPU programme (benchmarks/gpu_rows.py) is run at full size on device "dry", which launches nothing: so
the kernels, constants, grids and shared memory are those of a GPU. Each is compiled by NVRTC, its registers and spills
read from the assembler's report, its occupancy computed, and its machine code taken apart by nvdisasm. Instructions
are counted in the code, in the innermost loop that works most (or the straight code); so they are exact, but what a
branch skips is counted too. The last column is an estimate: how much of the device's memory bandwidth these
instructions leave time for, if every instruction unit is always busy and nothing else limits.
"""

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import minitorch
from minitorch.backends.cuda.runtime.compile import compile_source, resources

from . import dry, sass
from .gpu_rows import ROWS
from .report import put_between

PAGE = Path(__file__).parent.parent / "docs" / "kernels.md"
MARKERS = "<!-- cubins -->", "<!-- end of cubins -->"
BYTES_A_CYCLE = 4.8e12 / (132 * 1.98e9)                    # of one multiprocessor of an H200, at its highest clock


class Limits(NamedTuple):
    """Limits of one multiprocessor: warps, blocks, bytes of shared memory, and those that each block costs besides."""

    warps: int = 64
    blocks: int = 32
    shared: int = 228 << 10
    reserved: int = 1 << 10
    registers: int = 1 << 16


LIMITS = {"75": Limits(32, 16, 64 << 10, 0), "80": Limits(shared=164 << 10), "90": Limits(), "100": Limits()}


class Figures(NamedTuple):
    """One kernel of a row: its launch, its resources, the blocks that fit on a multiprocessor and what limits them, and
    the part of the code that works, None where there is no disassembler; whether the row is limited by memory."""

    row: str
    launch: dry.Launch
    used: Any
    blocks: int
    limit: str
    part: Any
    bandwidth: bool


def occupancy(threads, registers, shared, limits):
    """The blocks that fit on one multiprocessor, and what limits them (CUDA's occupancy calculator).

    Registers are given to warps by 256, shared memory by 128 bytes.
    """
    warps = -(-threads // 32)
    register_bytes = -(-registers * 32 // 256) * 256
    fits = {"blocks": limits.blocks, "warps": limits.warps // warps,
            "registers": limits.registers // register_bytes // warps,
            "shared memory": limits.shared // (-(-shared // 128) * 128 + limits.reserved) if shared else limits.blocks}
    limit = min(fits, key=fits.get)
    return fits[limit], limit


def figures(row, launch, disassemble=True):
    """`Figures` of one launch of a row."""
    code = launch.code
    used = resources(code.source, code.macros, code.arch)[code.entry]
    blocks, limit = occupancy(launch.threads, used.registers, used.shared + launch.shared,
                              LIMITS[code.arch.rstrip("af")])
    part = None
    if disassemble:
        part = sass.main_part(*sass.code_of(compile_source(code.source, code.macros, code.arch, "cubin"), code.entry))
    return Figures(row.name, launch, used, blocks, limit, part, row.ceiling == "copy")


def launches_of(row, device="dry"):
    """The different launches that the work of a row makes, until it asks CuPy for something."""
    work, _ = row.make(minitorch, device, False)
    with dry.launches(device) as found, suppress(dry.NoLibrary):
        work()
    return list(dict.fromkeys(found))


# ---- words -------------------------------------------------------------------------------------------------
HEAD = ["row", "kernel", "blocks x threads", "registers", "shared, static + dynamic", "spills + stack",
        "blocks an SM (limit)", "warps of 64", "instructions in the part that works", "bytes", "issues for"]


def cells(f):
    """One row of the table."""
    warps = f.blocks * -(-f.launch.threads // 32)
    outside = f.used.spills + f.used.stack                 # of the registers
    out = [f.row, f"`{f.launch.entry}`", f"{f.launch.blocks} x {f.launch.threads}", str(f.used.registers),
           f"{f.used.shared} + {f.launch.shared}", f"{f.used.spills} + {f.used.stack}" if outside else "",
           f"{f.blocks} ({f.limit})", str(warps)]
    if f.part is None:
        return [*out, "", "", ""]
    kinds = sass.mix(f.part)
    words = ", ".join(f"{kind} {kinds[kind]}" for kind in sass.CLASSES if kinds[kind])
    share = f.part.bytes / sass.cycles(f.part) / BYTES_A_CYCLE
    return [*out, f"{f.part.what} of {len(f.part.instructions)}: {words}", str(f.part.bytes or ""),
            f"{min(share, 9.99):.0%}" if f.part.bytes and f.bandwidth else ""]


def table(found):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(cells(f)) + " |" for f in found]
    return "\n".join(lines)


def page(found, arch):
    """The section of docs/kernels.md."""
    return f"""## Machine code of the rows of the GPU programme, sm_{arch}

Written by `python -m benchmarks.cubins --write`, without a GPU. Registers, spills and stack are the assembler's,
occupancy is computed, instructions are counted by nvdisasm in the innermost loop that works most, or in the straight
code (what branches skip is counted, too); bytes of global memory are a thread's, in one pass over it. "Issues for" is
**an estimate**: the share of 4.8 TB/s for which the instruction units of 132 multiprocessors at 1.98 GHz suffice, if
nothing else limits.

{table(found)}
"""


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cubins", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name has this regular expression")
    parser.add_argument("--kernel", default="", help="kernels whose name has this regular expression")
    parser.add_argument("--arch", default="90", help="80, 90 (the default) or 100")
    parser.add_argument("--verbose", action="store_true", help="print the constants and the instructions, too")
    parser.add_argument("--write", action="store_true", help="write the table into docs/kernels.md")
    args = parser.parse_args()
    minitorch.backends.get("dry").machine.arch = args.arch
    try:
        disassemble = bool(sass.tool("nvdisasm"))
    except FileNotFoundError as error:
        if args.write:
            raise SystemExit(f"the table would lack the instructions: {error}") from None
        print(f"no instructions are counted: {error}")
        disassemble = False
    found = []
    for row in ROWS:
        if re.search(args.only, row.name):
            for launch in launches_of(row):
                if re.search(args.kernel, launch.entry):
                    found.append(figures(row, launch, disassemble))
                    show(found[-1], args.verbose)
    if args.write:
        put_between(PAGE, MARKERS, page(found, args.arch))


def show(f, verbose):
    print("\n" + f.row)
    print("\n".join(f"  {head}: {cell}" for head, cell in zip(HEAD[1:], cells(f)[1:]) if cell), flush=True)
    if verbose:
        print("  macros:", " ".join(f.launch.code.macros))
        for i in f.part.instructions if f.part else ():
            print(f"    {i.kind:8} {i.predicate:5} {i.word} {i.operands.strip()}")


if __name__ == "__main__":
    main()
