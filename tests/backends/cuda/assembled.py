"""Assembles CUDA kernels as for a GPU.

    python -m tests.backends.cuda.assembled [--arch 80,90,100] [--only REGEX]

The simulator runs PTX and never asks the assembler, which knows more rules. Here ptxas takes what the tests of the op
table, the rows of the GPU programme and its training steps launch, all specialisations of it, and the simulator's
conformance suite. Needs CuPy, NVRTC and ptxas, but no GPU: launches are collected on device "dry". Takes minutes;
`test_assembled.py` takes one specialisation of each source.
"""

import argparse
import re
from contextlib import suppress

import minitorch  # noqa: E402
from benchmarks import dry, sass  # noqa: E402
from minitorch.backends.cuda.runtime.compile import CompileError, compile_source, with_includes  # noqa: E402
from tests.backends.cuda.test_table import ROWS, run  # noqa: E402
from tests.backends.sim import (  # noqa: E402
    conformance,
    conformance_floats,
    conformance_integers,
    conformance_kernels,
)

CONFORMANCE = conformance_integers, conformance_floats, conformance_kernels


def codes_of_ops(rows=ROWS):
    """The code of all kernels that samples of ops launch, forward and backward."""
    with dry.launches() as found:
        for row in rows:
            with suppress(RuntimeError, IndexError, ValueError):       # of values, which are nonsense: what came before
                run(row, minitorch.backends.get("dry"), 0)
    return list(dict.fromkeys(launch.code for launch in found))


def one_of_each(codes):
    """One code for each source: the last. The text that the assembler is given has all of the source's kernels."""
    return list({code.source.name: code for code in codes}.values())


def complaint(code, arch, options=()):
    """The complaint of the compiler or ptxas about a code on an architecture; "" if there is
    none."""
    if code.arch != "90" and not arch.startswith(code.arch.rstrip("af")):
        return ""                                          # for one architecture only
    if int(arch) < 90 and any(macro.startswith("-DCLUSTER=") for macro in code.macros):
        return ""                                          # clusters are of 9.0 and newer
    arch = code.arch if code.arch != "90" else arch
    try:
        return sass.assemble(compile_source(code.source, code.macros, arch, "ptx"), arch, options)
    except CompileError as error:
        return str(error)


def conformance_codes():
    """The three programs of the simulator's conformance suite."""
    for module in CONFORMANCE:
        text = conformance.program(conformance.cases_of(module))
        name = f"conformance_{module.__name__.rpartition('_')[2]}.cu"
        yield dry.Code(with_includes(name, text), (), "90", name)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.backends.cuda.assembled",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="80,90,100")
    parser.add_argument("--only", default="", help="kernels whose name has this regular expression")
    args = parser.parse_args()
    codes = [*conformance_codes(), *dict.fromkeys([*dry.codes_of_programme(), *codes_of_ops()])]
    codes = list({(c.source, c.macros, c.arch): c for c in codes if re.search(args.only, c.entry)}.values())
    bad = 0
    for arch in args.arch.split(","):
        for code in codes:
            if code.entry.startswith("conformance") and int(arch) < 90:
                continue                                   # bfloat16 arithmetic and clusters are of 9.0
            said = complaint(code, arch)
            if said:
                bad += 1
                print(f"{code.entry} {' '.join(code.macros)} on sm_{arch}: {said[:400]}", flush=True)
        print(f"sm_{arch}: {len(codes)} texts", flush=True)
    raise SystemExit(f"{bad} are refused" if bad else 0)


if __name__ == "__main__":
    main()
