"""Writes docs/mutants.md from the results of the last run and the explanations of what survived."""

import json
import sys

from tests.mutation import kernels
from tests.mutation.run import EXPLAINED, PACKAGES, RESULTS, ROOT, SEED, UNSEEN, rows_of

PAGE = ROOT / "docs" / "mutants.md"
HEAD = """# Planted bugs

A test suite is as good as the bugs that it notices. `tests/mutation` plants small ones in the library, one at a time,
made mechanically from the syntax tree with a fixed seed ({seed}): it flips a comparison or moves its border, swaps an
operator or two arguments, drops a `not` or a minus, changes a constant by one, makes a condition always or never true,
deletes a statement. Then it runs the tests that call the changed code, without PyTorch. The
simulator and the CUDA kernels have their own runs; the lessons' checks, the drawings, the command
line and code that only ranks in separate processes run are left out.

**{killed} of {real} are noticed ({percent:.1f} %)**; {equivalent} more of the {total} make no difference: the program
means the same, or differs in speed or memory only. `tests/mutation/test_mutation.py` runs a sample
with the suite.

```
python -m tests.mutation.run cover FOLDER     # which test calls which function
python -m tests.mutation.run run FOLDER       # an hour or less on one core
python -m tests.mutation.run report           # this page
```

{unseen}
| package | planted | noticed | no difference | unnoticed |
|---|---:|---:|---:|---:|
"""


UNSEEN_MUTANTS = """Others are drawn with seed {seed} from the whole library as it was at {commit}, each
as likely as any other; the first {total} outside of `distributed` were tried before
anything was done for them: **{first} of {real} were noticed ({first_percent:.1f} %)**, and
{equivalent} make no difference. With tests for what the rest had in common it is {killed} of {real}
({percent:.1f} %). The larger sample above has been seen: its rate says less.
"""


KERNELS = """
## CUDA kernels

`tests/mutation/kernels.py` does the same with the `.cu` and `.cuh` files: a comparison, an operator, a constant, two
arguments, a statement (barriers and fences too), and runs the tests of the kernels in that file on the simulator.
**{killed} of {real} are noticed ({percent:.1f} %)**, {late} of them by what tests or simulator were given after a run
had shown what was missing; {equivalent} more make no difference, {invalid} did not compile. The run tried {tried}; of
the sources as they are now the seed picks {planned}, {old} of the run's are of older sources, and {new} are untried.
{unseen}`tests/mutation/test_kernels.py` runs a sample with the suite.

```
python -m tests.mutation.kernels run FOLDER   # FOLDER keeps what is compiled
python -m tests.mutation.run report           # this page
```
"""


UNSEEN_KERNELS = """From {total} others that compile, picked by a second seed and tried before
anything was done for them, {killed} of {real} were noticed ({percent:.1f} %);
{equivalent} make no difference.
"""


def kernel_rows(results=kernels.RESULTS):
    return json.loads(results.read_text()) if results.exists() else []


def kernel_reasons():
    return json.loads(kernels.EXPLAINED.read_text()) if kernels.EXPLAINED.exists() else {}


def kernel_counts(results=kernels.RESULTS):
    """How many mutants of kernels compile, how many of them were killed, how many make no difference."""
    found = [row for row in kernel_rows(results) if row["verdict"] != "invalid"]
    fates = [fate(row, kernel_reasons()) for row in found]
    return len(fates), fates.count("killed"), fates.count("equivalent")


def kernel_section():
    total, killed, equivalent = kernel_counts()
    real = max(1, total - equivalent)
    tried, planned = {row["name"] for row in kernel_rows()}, {mutant.name for mutant in kernels.chosen()}
    yield KERNELS.format(killed=killed, real=real, percent=100 * killed / real, equivalent=equivalent,
                         invalid=len(kernel_rows()) - total, tried=len(tried), planned=len(planned),
                         late=sum(row["again"] and row["verdict"] == "killed" for row in kernel_rows()),
                         old=len(tried - planned), new=len(planned - tried), unseen=unseen_kernels())
    for verdict, title in (("unnoticed", "Unnoticed in kernels"), ("equivalent", "No difference in kernels")):
        found = [row["name"] for row in kernel_rows()
                 if row["verdict"] != "invalid" and fate(row, kernel_reasons()) == verdict]
        yield from [f"\n### {title}\n\n"] if found else ()
        yield from (f"- {name}: {kernel_reasons().get(name, ['', 'not explained yet'])[1]}\n" for name in found)


def unseen_kernels():
    """A sentence on the sample of a second seed, if there is one."""
    total, killed, equivalent = kernel_counts(kernels.UNSEEN)
    real = total - equivalent
    return real and UNSEEN_KERNELS.format(total=total, killed=killed, real=real, percent=100 * killed / real,
                                          equivalent=equivalent) or ""


def rows(results=RESULTS):
    return rows_of(results)


def explained():
    """{mutant: [verdict, reason]}; the verdict is "equivalent" or "unnoticed"."""
    return json.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}


def fate(row, reasons):
    return "killed" if row["verdict"] == "killed" else reasons.get(row["name"], ["unnoticed"])[0]


def counts(found):
    """How many there are, how many were killed, how many make no difference."""
    fates = [fate(row, explained()) for row in found]
    return len(fates), fates.count("killed"), fates.count("equivalent")


def unseen_mutants():
    """A paragraph on the sample of another seed, if there is one."""
    if not UNSEEN.exists():
        return ""
    total, killed, equivalent = counts(rows(UNSEEN))
    real, run = total - equivalent, json.loads(UNSEEN.read_text())
    first = sum(row["first"] == "killed" for row in run["mutants"])
    return UNSEEN_MUTANTS.format(
        total=total, real=real, first=first, killed=killed, equivalent=equivalent, seed=run["seed"],
        commit=run["commit"], first_percent=100 * first / real, percent=100 * killed / real)


def named(found, verdict, title):
    """A list of the mutants with a fate, and why they have it."""
    chosen = [row for row in found if fate(row, explained()) == verdict]
    yield from [f"\n## {title}\n\n"] if chosen else ()
    for row in chosen:
        yield (f"- `{row['name']}` in `{row['function'] or 'the module'}`: "
               f"{explained().get(row['name'], ['', 'not explained yet'])[1]}\n")


def write():
    found = rows()
    total, killed, equivalent = counts(found)
    real = total - equivalent
    text = [HEAD.format(seed=SEED, killed=killed, real=real, percent=100 * killed / real, equivalent=equivalent,
                        total=total, unseen=unseen_mutants())]
    for package in PACKAGES:
        part = [row for row in found if row["package"] == package]
        one, two, three = counts(part)
        text.append(f"| {package or 'top of the package'} | {one} | {two} | {three} | {one - two - three} |\n")
    others = rows(UNSEEN) if UNSEEN.exists() else []
    for part, of in ((found, ""), (others, " of the other seed")):
        text += named(part, "unnoticed", f"Unnoticed{of}")
        text += named(part, "equivalent", f"No difference{of}")
    text += kernel_section() if kernels.RESULTS.exists() else ()
    PAGE.write_text("".join(text))
    print(f"{killed} of {real} noticed, {equivalent} of {total} make no difference", file=sys.stderr)
