"""``python -m minitorch grade FOLDER``: hand-ins of a class, each run by itself within limits, and judged elsewhere.

A hand-in is a notebook (.ipynb) or a percent-format file (.py). It runs in a process of its own (`judge`) in which the
truths are absent. That process says what the student's functions gave on examples, with a seed that students do not
know if one is given; this one compares. What a hand-in does to its own process (ending it, never ending, replacing the
checks) changes no grade but its own.
"""

import argparse
import contextlib
import csv
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

from ..extend import worded
from . import exercises
from .exercise import Outcome
from .judge import decoded, outcome_of
from .naming import Tried, name_of
from .nb12 import lend_simulator

__all__ = ["Grade", "grade_folder", "grade_hand_in", "main"]

MOST = 64 << 20                                            # bytes of answers that are read


class Grade:
    """The grade of one hand-in: for each check its state, share of examples passed and misconception."""

    def __init__(self, student, checks, errors=(), ended=""):
        self.student, self.checks, self.errors, self.ended = student, checks, list(errors), ended

    @property
    def points(self):
        """The sum over all checks."""
        return round(sum(row["points"] for row in self.checks.values()), 4)

    @property
    def of(self):
        """The most points there are."""
        return sum(row["of"] for row in self.checks.values())

    def as_dict(self):
        """Plain values, for JSON."""
        return {"student": self.student, "points": self.points, "of": self.of, "ended": self.ended,
                "errors": self.errors, "checks": self.checks}

    def gradescope(self):
        """The contents of Gradescope's results.json."""
        tests = [{"name": name, "score": row["points"], "max_score": row["of"], "output": row["words"],
                  "visibility": "visible"} for name, row in self.checks.items()]
        return {"output": self.ended or "", "tests": tests}

    def __str__(self):
        head = f"{self.student}: {self.points:g} of {self.of:g}" + (f" ({self.ended})" if self.ended else "")
        return "\n".join([head, *(f"  {'+' if row['state'] == 'ok' else '-'} {name}: {row['words']}"
                                  for name, row in self.checks.items())])


def grade_folder(folder, **options):
    """The grades of all hand-ins in a folder, or of one file; options as for `grade_hand_in`.

    Raises:
        FileNotFoundError: nothing to grade there.
    """
    folder = Path(folder)
    files = [folder] if folder.is_file() else sorted(p for p in folder.rglob("*") if p.suffix in (".ipynb", ".py")
                                                     and ".ipynb_checkpoints" not in p.parts)
    if not files:
        raise worded(FileNotFoundError(f"no hand-ins: {folder} has no .ipynb and no .py files"))
    names = Counter(path.stem for path in files)
    for path in files:                                     # one folder per student, or one file
        student = path.stem if names[path.stem] == 1 else str(path.relative_to(folder).with_suffix(""))
        yield grade_hand_in(path, student=student, **options)


def grade_hand_in(path, *, student=None, lesson=None, seed=None, seconds=120, megabytes=4096, points=None,
                  partial=False):
    """The grade of one hand-in.

    lesson: its number, whose checks are expected; by default the one whose checks the hand-in calls most.
    seed: draws other examples than those that students see. seconds, megabytes: limits on the run.
    points: a dict from checks to points, 1 by default. partial: points for the share of examples passed.
    """
    source = Path(path).read_text(encoding="utf-8", errors="replace")
    lesson = lesson_of(source) if lesson is None else lesson
    expected, rows = exercises(lesson), {}
    if not expected:
        raise worded(ValueError(f"there is no lesson {lesson}"))
    told, ended = answers_to(path, lesson, seed, seconds, megabytes)
    for name, one in expected.items():
        row = judged(one, told.get("answers", {}).get(name), seed, seconds)
        row["of"] = (points or {}).get(name, 1)
        row["points"] = row["of"] * (row["share"] if partial else row["state"] == "ok")
        rows[name] = row
    return Grade(student or Path(path).stem, rows, told.get("errors", []), ended)


def lesson_of(source):
    """The number of the lesson whose checks a hand-in calls most."""
    called = Counter(re.findall(r"\bnb(\d\d)\.", source))
    if not called:
        raise worded(ValueError("the hand-in calls no checks: say which lesson it is of, as in --lesson 3"))
    return called.most_common(1)[0][0]


def answers_to(path, lesson, seed, seconds, megabytes):
    """The answers that the process of a hand-in has written, and in words its end if it did not end by itself."""
    with tempfile.TemporaryDirectory() as home:
        told = {"path": str(Path(path).resolve()), "answers": os.path.join(home, "answers.json"),
                "lesson": lesson, "seed": seed, "seconds": seconds, "megabytes": megabytes}
        code, err = bounded([sys.executable, "-m", "minitorch.check.judge", json.dumps(told)], home, seconds)
        try:
            with open(told["answers"], encoding="utf-8") as file:
                return checked(json.loads(file.read(MOST))), ""
        except (OSError, ValueError):
            return {}, ended_in_words(code, err, seconds)


def bounded(command, home, seconds):
    """Run a command in `home`, for at most so many seconds; returns its exit code, None for the clock, and errors."""
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "SYSTEMROOT", "LANG", "LD_LIBRARY_PATH",
                                                         "PYTHONPYCACHEPREFIX")}
    root = str(Path(__file__).resolve().parents[2])
    env = {**keep, "HOME": home, "PYTHONPATH": root, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1",
           "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "MINITORCH_HINTS": "0"}
    with open(os.path.join(home, "printed"), "wb") as out, open(os.path.join(home, "errors"), "w+b") as err:
        process = subprocess.Popen(command, cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   start_new_session=True)
        try:
            code = process.wait(timeout=seconds + 30)      # the limit on processor time comes first, if there is one
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if hasattr(os, "killpg"):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        err.seek(0)
        return code, err.read(100_000).decode(errors="replace")


def ended_in_words(code, err, seconds):
    """Why a process has written no answers."""
    limits = [-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)]
    if code is None or code in limits:
        return f"stopped after {seconds} s: does it end?"
    last = err.strip().splitlines()[-1][:200] if err.strip() else ""
    if "MemoryError" in err or "Unable to allocate" in err:
        return f"needs more memory than is allowed: {last}"
    return f"ended its own process (exit code {code}){': ' + last if last else ''}"


def checked(told):
    """The answers of a process that may say anything; ValueError for what `judge` does not write."""
    if not (isinstance(told, dict) and isinstance(told.get("answers"), dict) and isinstance(told.get("errors"), list)):
        raise ValueError("not the answers of a judge")
    for answer in told["answers"].values():
        if not isinstance(answer, dict) or answer.get("state") not in ("missing", "text", "tried"):
            raise ValueError("not an answer")
    told["errors"] = [f"cell {number}: {str(text)[:500]}" for number, text in told["errors"][:100]]
    return told


class Given(Exception):
    """An error that a student's function raised, known by the names of its classes."""


@functools.cache
def given(name):
    """The class that stands for errors of this name."""
    return type(name, (Given,), {})


class Sent:
    """An exercise whose outcomes are those that were sent: mistakes are tried here and compared as if they had been."""

    def __init__(self, one):
        self.mistakes, self.parts, self.composes = one.mistakes, one.parts, one.composes
        self.same, self.one = one.same, one

    def _outcome(self, function, args):
        return received(outcome_of(self.one._outcome(function, args)))


def received(told):
    """The outcome that was encoded."""
    if "error" in told:
        found = Outcome(error=given(str(told["error"][0] if told["error"] else "Exception"))(str(told.get("text", ""))))
    else:
        found = Outcome(decoded(told["value"]))
    found.changed_inputs = () if told.get("changed") else None
    return found


def judged(one, answer, seed, seconds):
    """A row for one check: its state, the share of examples passed, the misconception, and words."""
    if answer is None:
        return row("absent", "the hand-in does not call this check")
    if answer["state"] == "missing":
        return row("missing", "still missing")
    if answer["state"] == "text":
        return judged_text(one, answer["text"], seconds)
    sent, tried = Sent(one), []
    try:
        for args, told in zip(one._examples(seed), answer["tried"], strict=True):
            found, expected = received(told), sent._outcome(one._truth, args)
            tried.append(Tried(args, found, expected, found.changed_inputs is None and one.same(found, expected)))
    except (ValueError, TypeError, KeyError) as error:     # as many examples as there are, of values that are encoded
        return row("wrong", f"what the function gives cannot be compared: {error}")
    share = sum(example.right for example in tried) / max(len(tried), 1)
    first = next((example for example in tried if not example.right), None)
    if first is None:
        return row("ok", f"right: {len(tried)} examples agree", 1.0)
    name, looks = name_of(sent, tried) or (None, "")
    gave = "another value of its arguments" if first.found.changed_inputs is not None else brief(first.found)
    return row("wrong", f"{one.words(first.args)} gave {gave}, expected {brief(first.expected)}"
               + (f"; this looks like: {looks}" if looks else ""), share, name)


def brief(outcome):
    """An outcome as a line, cut between words."""
    return textwrap.shorten(str(outcome), 300, placeholder=" ...")


def row(state, words, share=0.0, misconception=None):
    """One check's part of a grade."""
    return {"state": state, "share": round(share, 4), "misconception": misconception, "words": words}


def judged_text(one, text, seconds):
    """A row for the text of a kernel, which runs in a process of its own: compiled code can do anything."""
    with tempfile.TemporaryDirectory() as home:
        program = ("import json, sys; from minitorch.check import exercises; name, text = json.loads(sys.stdin.read());"
                   "r = exercises(name[2:4])[name](text); print(json.dumps({**r.as_dict(), 'words': str(r)}))")
        Path(home, "text").write_text(json.dumps([one.name, text]), encoding="utf-8")
        lend_simulator(home)
        code, err = bounded([sys.executable, "-c", program.replace("sys.stdin", "open('text')")], home, seconds)
        lines = Path(home, "printed").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        try:
            found = json.loads(lines[-1])
            return row(str(found["state"]), str(found["words"])[:2000], float(found["ok"]), found["misconception"])
        except (IndexError, ValueError, KeyError):
            return row("wrong", f"the kernel could not be judged: {ended_in_words(code, err, seconds)}")


# ---- the command -------------------------------------------------------------------------------------------
def main(argv):
    """``python -m minitorch grade FOLDER``."""
    parser = argparse.ArgumentParser("python -m minitorch grade", description="Grade the hand-ins in a folder.")
    parser.add_argument("folder", help="a folder with .ipynb or .py files, or one file")
    parser.add_argument("--lesson", help="its number; by default the one whose checks a hand-in calls")
    parser.add_argument("--seed", help="draw other examples than students see")
    parser.add_argument("--seconds", type=int, default=120, help="of processor time for each hand-in (120)")
    parser.add_argument("--megabytes", type=int, default=4096, help="of memory for each hand-in (4096)")
    parser.add_argument("--points", help="a JSON file: {check: points}; 1 for each by default")
    parser.add_argument("--partial", action="store_true", help="points for the share of examples passed")
    parser.add_argument("--csv", help="write a table, one line for each hand-in")
    parser.add_argument("--json", help="write all there is to know")
    parser.add_argument("--gradescope", help="write Gradescope's results.json, for one hand-in")
    parser.add_argument("--check", metavar="NAME", help="exit with 1 unless this check is passed; FOLDER may be a file "
                        "that --json wrote before")
    parser.add_argument("--quiet", action="store_true", help="print the summary only")
    given = parser.parse_args(argv)
    if given.check and given.folder.endswith(".json"):
        return one_check(json.loads(Path(given.folder).read_text(encoding="utf-8")), given.check)
    points = json.loads(Path(given.points).read_text(encoding="utf-8")) if given.points else None
    grades = []
    try:
        for grade in grade_folder(given.folder, lesson=given.lesson, seed=given.seed, seconds=given.seconds,
                                  megabytes=given.megabytes, points=points, partial=given.partial):
            grades.append(grade)
            if not given.quiet:
                print(grade, flush=True)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    print(summary(grades))
    if given.csv:
        write_csv(given.csv, grades)
    if given.json:
        Path(given.json).write_text(json.dumps([g.as_dict() for g in grades], indent=1) + "\n", encoding="utf-8")
    if given.gradescope:
        Path(given.gradescope).write_text(json.dumps(grades[0].gradescope(), indent=1) + "\n", encoding="utf-8")
    return one_check([grade.as_dict() for grade in grades], given.check) if given.check else 0


def one_check(grades, name):
    """0 if all of these grades, as dicts, have passed the check, otherwise 1; its words are printed."""
    rows = [grade["checks"].get(name, row("absent", f"there is no check {name}")) for grade in grades]
    print(*(found["words"] for found in rows), sep="\n")
    return int(not rows or any(found["state"] != "ok" for found in rows))


def summary(grades):
    """The class in a few lines: how many solved each check, and the misconceptions by how often they were seen."""
    lines = [f"{len(grades)} hand-ins, {sum(g.points for g in grades) / max(len(grades), 1):.3g} points on average"]
    solved, of = Counter(), Counter()
    seen = Counter()
    for grade in grades:
        for name, found in grade.checks.items():
            of[name] += 1
            solved[name] += found["state"] == "ok"
            for one in (found["misconception"] or "").split(" + "):
                seen[name, one] += bool(one)
    lines += [f"  {name}: {solved[name]} of {of[name]}" for name in of]
    common = sorted(((count, *key) for key, count in seen.items() if count), reverse=True)
    return "\n".join([*lines, *(f"  {count} times {name}: {what}" for count, name, what in common)])


def write_csv(path, grades):
    """One line for each hand-in: student, points, the most there are, how it ended, and each check's points."""
    names = list(dict.fromkeys(name for grade in grades for name in grade.checks))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["student", "points", "of", "ended", *names, *(f"{name} says" for name in names)])
        for grade in grades:
            rows = [grade.checks.get(name) for name in names]
            writer.writerow([grade.student, grade.points, grade.of, grade.ended,
                             *(r["points"] if r else "" for r in rows),
                             *(r["misconception"] or r["state"] if r else "" for r in rows)])
