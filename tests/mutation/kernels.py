"""Plants small bugs in the CUDA kernels, one at a time, and runs their tests on the simulator.

    python -m tests.mutation.kernels run FOLDER      # all; FOLDER keeps what is compiled. An hour on a quiet core
    python -m tests.mutation.kernels run FOLDER --only new           # those whose lines are new: or `survivors`
    python -m tests.mutation.kernels run FOLDER --files pool.cu sort.cu
    python -m tests.mutation.kernels run FOLDER --seed 18 --number 40     # a measure on others: kernel_unseen.json
    python -m tests.mutation.kernels list

Each changes one place of a `.cu` or `.cuh` file: a comparison flipped or its border moved, another operator, a constant
off by one, two arguments swapped, a statement deleted (barriers, waits and fences among them). A process of its own
sees the changed file and runs the tests of the kernels in it. The length of a file decides how many mutants it has; a
hash of `SEED` and the mutant's name decides which ones. The name has the text of the line, not its number, so mutants
and their results stay valid when a file changes elsewhere. Results are in `kernel_results.json`, and the reasons why a
survivor makes no difference in `kernels_explained.json`; `python -m tests.mutation.run report` prints both into
docs/mutants.md.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import time
from dataclasses import dataclass

from tests import ROOT

HERE = pathlib.Path(__file__).parent
SOURCES = ROOT / "minitorch" / "backends" / "cuda" / "src"
RESULTS, EXPLAINED = HERE / "kernel_results.json", HERE / "kernels_explained.json"
UNSEEN = HERE / "kernel_unseen.json"                       # results of another seed
SEED, LINES_EACH = 17, 45
# The files of tests that run what is in a source, those that say most first. Of others: those named like the source, or
# those of the sources that include it.
TESTS = {
    "async.cuh": "matmul long_rows", "attention.cu": "attention attention_dropout", "attention_mma.cuh": "attention",
    "attention_rows.cuh": "attention", "attention_simt.cuh": "attention",
    "attention_softmax.cuh": "attention attention_dropout attention_hopper",
    "attention_wgmma.cuh": "attention_hopper attention_hopper_backward", "channels.cu": "normalise row_barriers",
    "cluster.cuh": "cluster_rows", "combine.cu": "matmul convolve plans", "common.cuh": "elementwise reduce matmul",
    "convolve.cu": "convolve shapes", "convolve_hopper.cu": "convolve_hopper", "convolve_mma.cu": "convolve",
    "copy.cu": "copy barriers tiles", "cross_entropy.cu": "softmax", "cumulative.cu": "cumulative row_barriers sweeps",
    "elementwise.cu": "elementwise tiles shapes", "exponentials.cuh": "softmax elementwise", "few_rows.cu": "embedding",
    "functors.cuh": "elementwise reduce loss", "graph.cu": "graphs",
    "hopper.cuh": "hopper attention_hopper convolve_hopper",
    "lookback.cuh": "cumulative embedding sweeps", "matmul_hopper.cu": "hopper matmul", "matmul_mma.cu": "matmul plans",
    "matmul_simt.cu": "matmul shapes plans", "matvec.cu": "matmul", "mma.cuh": "matmul convolve attention",
    "moments.cuh": "normalise", "normal.cuh": "normal elementwise",
    "normalise.cu": "normalise row_barriers long_rows cluster_rows", "optim.cu": "optim",
    "packs.cuh": "normalise embedding", "patches.cuh": "convolve convolve_hopper", "pool.cu": "pool",
    "product.cuh": "matmul", "quick.cuh": "normal optim", "random.cu": "random dropout",
    "reduce.cu": "reduce barriers tiles", "reductions.cuh": "reduce softmax normalise", "resize.cu": "resize",
    "rope.cu": "rope", "rows.cuh": "softmax normalise long_rows cluster_rows",
    "scatter.cu": "embedding cumulative along", "search.cu": "along", "simt.cuh": "matmul shapes convolve",
    "softmax.cu": "softmax row_barriers long_rows cluster_rows",
    "sort.cu": "cumulative embedding shapes row_barriers sweeps", "windows.cuh": "pool convolve",
}
COMPARE = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
OTHER = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "|",
         "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+="}
OPERATOR = re.compile(r"(?<= )(<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|[-+*/%&|^<>])(?= )")
NUMBER = re.compile(r"(?<![\w.%\"])(\d+)(?![\w.])")
STATEMENT = re.compile(r"^( +)((?:[\w.\->\[\]]+ [-+*|&^]?= |\+\+|(?:\w+::)*\w+(?:<\w+>)?\()[^{}]*;)(?: *//.*)?$")
CALL = re.compile(r"\b(\w+)\((\w+), (\w+)\)")
SKIPPED = re.compile(r"^\s*(//|#|template|struct|static_assert|typedef|using|case .*:$)|asm volatile\(\"|\\$")


@dataclass
class Mutant:
    """One change of a source: the characters from `begin` to `end` become `after`."""

    file: str
    begin: int
    end: int
    kind: str
    after: str
    module: str                # the text of the source
    nth: int = 1               # which one, where several changes read the same

    @property
    def line(self):
        return self.module.count("\n", 0, self.begin) + 1

    @property
    def name(self):
        before = " ".join(self.module[self.begin:self.end].split())
        whole = " ".join(self.module.splitlines()[self.line - 1].split("//")[0].split())
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.file} {self.kind}: `{before}` -> `{self.after}` in `{whole}`{again}"

    def rank(self, seed):
        return hashlib.sha256(f"{seed} {self.name}".encode()).digest()

    @property
    def text(self):
        return self.module[:self.begin] + self.after + self.module[self.end:]


def mutants_of(file, text):
    """All mutants of a source."""
    found, offset, equal = [], 0, collections.Counter()
    for line in text.splitlines(keepends=True):
        code = line.split("//")[0]

        def add(match, kind, after, group=1, offset=offset):
            mutant = Mutant(file, offset + match.start(group), offset + match.end(group), kind, after, text)
            name = mutant.name
            equal[name] += 1
            mutant.nth = equal[name]
            found.append(mutant)
        statement = STATEMENT.match(line.rstrip("\n"))
        if statement and "return" not in statement[2]:
            add(statement, "delete statement", ";", 2)
        if not SKIPPED.search(line):
            for match in OPERATOR.finditer(code):
                for after in COMPARE.get(match[1], ()):
                    add(match, "comparison", after)
                if match[1] in OTHER:
                    add(match, "operator", OTHER[match[1]])
            for match in NUMBER.finditer(code):
                add(match, "constant", str(int(match[1]) + 1))
            for match in CALL.finditer(code):
                if match[2] != match[3] and match[1] not in ("if", "for", "min", "max", "while"):
                    add(match, "swap arguments", f"{match[1]}({match[3]}, {match[2]})", 0)
        offset += len(line)
    return found


def chosen(seed=SEED):
    """The mutants of a run, always the same ones for the same sources."""
    picked = []
    for path in sorted(SOURCES.glob("*.cu*")):
        text = path.read_text()
        number = -(-text.count("\n") // LINES_EACH)
        picked += sorted(mutants_of(path.name, text), key=lambda m: m.rank(seed))[:number]
    return sorted(picked, key=lambda m: m.rank(seed))      # of all files: a run that is broken off says something, too


def plant(texts, folder):
    """Let kernels be compiled from changed sources; for a process that has not compiled any.

    texts: {name of a source: its text}.
    """
    from minitorch.backends.cuda.runtime import compile as compiler
    for source in SOURCES.iterdir():
        if source.name in texts:
            (folder / source.name).write_text(texts[source.name])
        else:
            os.symlink(source, folder / source.name)
    compiler.SOURCES = folder


def tests_of(file):
    """The files of tests for a source."""
    if file in TESTS:
        return [f"tests/backends/cuda/test_{name}.py" for name in TESTS[file].split()]
    words = file.partition(".")[0].split("_")
    for last in range(len(words), 0, -1):                  # attention_new.cu: those of attention_new, or of attention
        test = f"tests/backends/cuda/test_{'_'.join(words[:last])}.py"
        if (ROOT / test).exists():
            return [test]
    including = [path.name for path in sorted(SOURCES.iterdir()) if f'#include "{file}"' in path.read_text()]
    return list(dict.fromkeys(test for source in including for test in tests_of(source)))


def run(seed, only, number, files):
    from tests.mutation import run as runner
    results = RESULTS if seed == SEED else UNSEEN
    part = results.with_suffix(".part")                    # where a run that was broken off is taken up
    kept = part if part.exists() else results if (only or files) and results.exists() else None
    old = {row["name"]: row for row in json.loads(kept.read_text())} if kept else {}
    reasons = json.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    mutants, rows, begin = chosen(seed)[:number], [], time.monotonic()
    runner.warm_up()
    from tests.backends.cuda import (
        kernel_checks,  # and with it the library: no kernel is compiled yet
    )
    assert kernel_checks.device
    for i, mutant in enumerate(mutants):
        row = old.get(mutant.name)
        if files and mutant.file not in files:
            rows += [row] if row else []
            continue
        if row is None or only == "survivors" and row["verdict"] == "survived" and mutant.name not in reasons:
            by = runner.outcome(mutant.file, mutant.text, tests_of(mutant.file))
            verdict = "survived" if not by else "invalid" if by == "does not compile" else "killed"
            row = {"name": mutant.name, "verdict": verdict, "by": by, "again": row is not None}
            print(f"{i + 1}/{len(mutants)} {time.monotonic() - begin:5.0f} s {row['verdict']:9}{mutant.name}   [{by}]",
                  flush=True)
        rows.append(row)
        done = {row["name"] for row in rows}
        part.write_text(json.dumps([*rows, *(row for name, row in old.items() if name not in done)], indent=0))
    results.write_text(json.dumps(rows, indent=0) + "\n")
    part.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "list"])
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", choices=["new", "survivors"])
    parser.add_argument("--number", type=int)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--files", nargs="*", help="only the mutants of these sources; results of others stay")
    given = parser.parse_args()
    if given.what == "list":
        print(*(f"{m.line}: {m.name}" for m in chosen(given.seed)), sep="\n")
        return
    os.environ["MINITORCH_CACHE"] = str(given.folder.resolve())
    run(given.seed, given.only, given.number, given.files)


if __name__ == "__main__":
    main()
