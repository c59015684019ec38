"""Files for the systems in which classes hand in: nbgrader, otter, Gradescope and GitHub Classroom.

    python -m minitorch classroom gradescope FOLDER --lesson 3 --install dist/minitorch_eager-....whl
    python -m minitorch classroom github FOLDER --lesson 3 --install git+https://...
    python -m minitorch classroom nbgrader FOLDER --lesson 3
    python -m minitorch classroom otter FOLDER --lesson 3

Each writes into FOLDER what that system reads, from the lesson's student notebook and its checks. Gradescope and GitHub
run `python -m minitorch grade`, with its limits and a process for each hand-in; nbgrader and otter run cells in their
own process, and call the checks there.
"""

import argparse
import json
import re
import zipfile
from pathlib import Path

from ..extend import worded
from . import exercises
from .copies import PLACES

__all__ = ["KINDS", "main", "write"]

CALL = re.compile(r"^check\.(nb\d\d\.\w+)\((\w+)\)[ \t]*$", re.MULTILINE)

SETUP = """#!/usr/bin/env bash
set -e
apt-get update && apt-get install -y python3 python3-pip python3-venv{compiler}
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install {install}
"""

RUN = """#!/usr/bin/env bash
# Grades /autograder/submission, and writes /autograder/results/results.json, whatever the hand-in does.
root="${{AUTOGRADER:-/autograder}}"
python="${{PYTHON:-$root/venv/bin/python}}"
mkdir -p "$root/results"
file=$(find "$root/submission" \\( -name "*.ipynb" -o -name "*.py" \\) | sort | head -n 1)
if [ -z "$file" ]; then
  echo '{{"score": 0, "output": "There is no notebook in the hand-in."}}' > "$root/results/results.json"
  exit 0
fi
"$python" -m minitorch grade "$file" --lesson {lesson} {options}--points "$root/source/points.json" \\
  --gradescope "$root/results/results.json" \\
  || echo '{{"score": 0, "output": "The grader failed: tell your teacher."}}' > "$root/results/results.json"
"""

WORKFLOW = """# GitHub Classroom: grades on every push. Each check is a test with its points.
name: Autograding
on: [push]
permissions: {{checks: write, actions: read, contents: read}}
jobs:
  grade:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.12"}}
      - run: pip install {install}
      - run: python -m minitorch grade {notebook} --lesson {lesson} {options}--json grades.json
{steps}      - uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}        with:
          runners: {runners}
"""

STEP = """      - id: {id}
        uses: classroom-resources/autograding-command-grader@v1
        with: {{test-name: {name}, command: "python -m minitorch grade grades.json --check {name}", timeout: 1,
               max-score: {points}}}
"""


def notebook_of(lesson):
    """The student notebook of a lesson, as a dict.

    Raises:
        FileNotFoundError: it is not in this installation.
    """
    found = [path for place in PLACES for path in sorted(place.glob(f"{int(lesson):02}_*.ipynb"))]
    if not found:
        raise worded(FileNotFoundError(f"the notebook of lesson {lesson} is not in this installation"))
    return found[0].name, json.loads(found[0].read_text(encoding="utf-8"))


def text_of(cell):
    """The text of a cell."""
    return "".join(cell["source"])


def asked(lesson):
    """{check: the name that students give their solution} of a lesson, in order."""
    _, book = notebook_of(lesson)
    return {name: given for cell in book["cells"] if cell["cell_type"] == "code"
            for name, given in CALL.findall(text_of(cell))}


def gradescope(folder, lesson, install, points, seed):
    """``autograder.zip``: set-up, the script that grades, points, and the wheel if `install` is one."""
    wheel = Path(install) if install.endswith(".whl") and Path(install).is_file() else None
    address = f"/autograder/source/{wheel.name}" if wheel else install
    options = f"--seed {seed} " if seed else ""
    files = {"setup.sh": SETUP.format(install=f"'{address}'", compiler=" g++" if int(lesson) == 12 else ""),
             "run_autograder": RUN.format(lesson=lesson, options=options), "points.json": json.dumps(points, indent=1)}
    with zipfile.ZipFile(folder / "autograder.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            info.external_attr = (0o755 if name != "points.json" else 0o644) << 16
            archive.writestr(info, text)
        if wheel:
            archive.write(wheel, wheel.name)
    return ["autograder.zip"]


def github(folder, lesson, install, points, seed):
    """The student's notebook, and a workflow in which each check is a test with points."""
    ids = {name: name.replace(".", "_") for name in points}
    steps = "".join(STEP.format(id=ids[name], name=name, points=worth) for name, worth in points.items())
    results = "".join(f"          {one.upper()}_RESULTS: ${{{{steps.{one}.outputs.result}}}}\n" for one in ids.values())
    path = folder / ".github" / "workflows" / "classroom.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    name, book = notebook_of(lesson)
    path.write_text(WORKFLOW.format(install=f"'{install}'", notebook=name, lesson=lesson, steps=steps, results=results,
                                    options=f"--seed {seed} " if seed else "", runners=",".join(ids.values())),
                    encoding="utf-8")
    (folder / name).write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return [".github/workflows/classroom.yml", name]


def nbgrader(folder, lesson, install, points, seed):
    """``source/lesson_NN/...ipynb``, in which a locked cell with points follows each exercise; and a configuration.

    Cells of exercises are left as they are: students fill in the stub.
    """
    name, book = notebook_of(lesson)
    cells = []
    for cell in book["cells"]:
        cells.append(cell)
        for check, given in CALL.findall(text_of(cell)) if cell["cell_type"] == "code" else ():
            grade_id = "grade_" + check.replace(".", "_")
            text = f"# graded: do not change this cell\nfound = check.{check}({given})\nprint(found)\nassert found.ok"
            cells.append({"cell_type": "code", "id": grade_id, "execution_count": None, "outputs": [],
                          "source": text.splitlines(keepends=True), "metadata": {"nbgrader": {
                              "grade": True, "grade_id": grade_id, "locked": True, "points": points[check],
                              "schema_version": 3, "solution": False, "task": False, "cell_type": "code"}}})
    path = folder / "source" / f"lesson_{int(lesson):02}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**book, "cells": cells}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    config = folder / "nbgrader_config.py"
    config.write_text("c = get_config()\nc.CourseDirectory.course_id = 'minitorch'\n"
                      "c.ExecutePreprocessor.timeout = 300\n", encoding="utf-8")
    return [str(path.relative_to(folder)), config.name]


def otter(folder, lesson, install, points, seed):
    """The student's notebook and ``tests/nb03_strides.py`` ..., for ``otter check`` and ``otter generate``."""
    name, book = notebook_of(lesson)
    (folder / name).write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "tests").mkdir(exist_ok=True)
    written = [name]
    for check, given in asked(lesson).items():
        file = f"tests/{check.replace('.', '_')}.py"
        case = {"code": f">>> found = check.{check}({given})\n>>> assert found.ok, found\n", "hidden": False,
                "locked": False, "points": points[check]}
        suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
        (folder / file).write_text(f"OK_FORMAT = True\n\ntest = {{'name': {Path(file).stem!r}, 'points': "
                                   f"{points[check]!r}, 'suites': [{suite!r}]}}\n", encoding="utf-8")
        written.append(file)
    (folder / "requirements.txt").write_text(f"{install}\n", encoding="utf-8")
    return [*written, "requirements.txt"]


KINDS = {"gradescope": gradescope, "github": github, "nbgrader": nbgrader, "otter": otter}


def write(kind, folder, lesson, *, install=None, points=None, seed=None):
    """Write the files of a system into a folder; returns their names.

    kind: one of `KINDS`. lesson: its number. install: what pip is given there: the address of a wheel or repository,
    or for Gradescope a wheel file, which is packed. points: a dict from checks to points, 1 by default. seed: of the
    hidden examples, where `grade` runs (students can read a workflow of GitHub: its seed hides nothing).

    Raises:
        ValueError: there is no such lesson, system or check, or nothing to install.
    """
    known = asked(lesson) if exercises(lesson) else {}
    if kind not in KINDS or not known:
        raise worded(ValueError(f"files are written for {', '.join(KINDS)} and lessons with checks, not for {kind} and "
                                f"lesson {lesson}"))
    if install is None and kind != "nbgrader":
        raise worded(ValueError(f"say what {kind} installs: a wheel, its address or a repository, as in --install "
                                "git+https://..."))
    if points and points.keys() - known.keys():
        raise worded(ValueError(f"lesson {lesson} has no checks {', '.join(sorted(points.keys() - known.keys()))}"))
    if seed is not None and not re.fullmatch(r"[\w.-]+", str(seed)):
        raise worded(ValueError("a seed for a script has letters, digits, dots and hyphens only"))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return KINDS[kind](folder, int(lesson), install, {name: (points or {}).get(name, 1) for name in known}, seed)


def main(argv):
    """``python -m minitorch classroom KIND FOLDER``."""
    parser = argparse.ArgumentParser("python -m minitorch classroom", description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("folder", help="where the files are written; it may exist")
    parser.add_argument("--lesson", required=True, help="its number")
    parser.add_argument("--install", metavar="WHEEL", help="what pip installs there: a wheel "
                        "file (Gradescope), the address of one, or git+https://...")
    parser.add_argument("--points", help="a JSON file: {check: points}; 1 for each by default")
    parser.add_argument("--seed", help="of the hidden examples")
    given = parser.parse_args(argv)
    points = json.loads(Path(given.points).read_text(encoding="utf-8")) if given.points else None
    try:
        written = write(given.kind, given.folder, given.lesson, install=given.install, points=points, seed=given.seed)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(f"written to {given.folder}: {', '.join(written)}")
    return 0
