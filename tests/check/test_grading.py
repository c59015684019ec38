"""The grader: a hand-in may do what it likes to its own process, and changes no grade but its own."""

import csv
import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minitorch.check import exercises, grading, judge, notebook
from tests import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits on a process are Unix's")

STRIDES = '''
def strides(shape):
    found, step = [], 1
    for n in reversed(shape):
        found.insert(0, step)
        step *= n
    return tuple(found)
'''
CALL = "\ncheck.nb03.strides(strides)\n"
HEAD = "from minitorch import check\nimport sys"


def hand_in(folder, *parts, name="ada.py"):
    path = folder / name
    path.write_text("".join(f"# %%\n{textwrap.dedent(part).strip()}\n" for part in (HEAD, *parts)), encoding="utf-8")
    return path


def graded(folder, *parts, **options):
    options.setdefault("seconds", 20)
    return grading.grade_hand_in(hand_in(folder, *parts), lesson=3, **options)


def test_right_wrong_and_absent(tmp_path):
    found = graded(tmp_path, STRIDES + CALL, "1 / 0", "check.nb03.windows(lambda x, k: x)",
                   "def unbroadcast(grad, shape):\n    raise NotImplementedError\ncheck.nb03.unbroadcast(unbroadcast)",
                   points={"nb03.strides": 3})
    states = {name: row["state"] for name, row in found.checks.items()}
    assert states.pop("nb03.strides") == "ok" and states.pop("nb03.windows") == "wrong"
    assert states.pop("nb03.unbroadcast") == "missing" and set(states.values()) == {"absent"}
    assert found.points == 3 and found.of == 2 + len(found.checks) and found.ended == ""
    assert found.errors == ["cell 2: ZeroDivisionError: division by zero"]


def test_a_misconception_is_named(tmp_path):
    found = graded(tmp_path, "check.nb03.strides(lambda shape: tuple(shape))",
                   STRIDES + "check.nb03.windows(lambda x, k: x.unfold(0, k, 1) if len(x) < 5 else x)", partial=True)
    strides, windows = found.checks["nb03.strides"], found.checks["nb03.windows"]
    assert strides["misconception"] == "shape_itself" and "that is the shape" in strides["words"]
    assert 0 < windows["share"] < 1 and windows["points"] == windows["share"] == found.points


HOSTILE = {                                                # cells: what is said about it, points of a right function
    "ends the process": (["sys.exit(0)"], "", 1),
    "ends it for good": (["import os; os._exit(0)"], "ended its own process", 0),
    "never ends": (["while True: pass"], "stopped after", 0),
    "needs all memory": (["import numpy as np\nx = [np.ones(10 ** 8) for _ in range(99)]"], "", 1),
    "replaces the check": (["check.Exercise.__call__ = lambda self, f: True"], "", 0),
    "replaces examples and comparison": (["check.Exercise._examples = lambda self, seed=None: []\n"
                                          "check.Exercise.same = lambda self, a, b: True"], "", 1),
    "is not Python": (["def broken(:"], "", 1),
    "prints without end": (["for i in range(10 ** 6): print('x' * 100)"], "", 1),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_hand_ins(tmp_path, what):
    cells, said, points = HOSTILE[what]
    limits = {"seconds": 3 if "never" in what else 20, "megabytes": 3000}
    found = graded(tmp_path, *cells, STRIDES + CALL, **limits)
    assert said in found.ended and bool(said) == bool(found.ended), found.ended
    assert found.points == points, str(found)


def test_truths_are_not_solutions(tmp_path):
    found = graded(tmp_path, "check.nb03.strides(check.nb03.strides._truth)",
                   "check.nb03.windows(list(check.nb03.windows.mistakes.values())[0][1])",
                   "check.nb03.diagonal._run = lambda f, *a: check.nb03.diagonal._truth(*a)",
                   "check.nb03.diagonal(lambda x: x)")
    assert found.points == 0 and len(found.errors) == 1    # no mistakes are there
    assert [found.checks[f"nb03.{name}"]["state"] for name in ("strides", "windows", "diagonal")] == [
        "missing", "absent", "wrong"]


def test_a_seed_draws_other_examples(tmp_path):
    """A function that knows the examples of the lesson's own check by heart."""
    one = exercises(3)["nb03.strides"]
    table = {tuple(args[0]): one._truth(*args) for args in one._examples()}
    heart = f"table = {table!r}\ncheck.nb03.strides(lambda shape: table.get(tuple(shape), ()))"
    assert graded(tmp_path, heart).points == 1
    assert graded(tmp_path, heart, seed="autumn").points == 0


def test_kernels_are_text(tmp_path):
    found = grading.judged(next(iter(exercises(12).values())),
                           {"state": "text", "text": "your code here"}, None, 60)
    assert found["state"] == "missing"


def test_a_solved_lesson_gets_all_points(tmp_path):
    source = next(ROOT.joinpath("notebooks").glob("03_*.py"))
    path = tmp_path / "solved.ipynb"
    path.write_text(notebook.to_ipynb(notebook.solved(source.read_text(encoding="utf-8"))), encoding="utf-8")
    found = grading.grade_hand_in(path, seed="x")
    assert found.points == found.of > 3, str(found)


def test_the_command(tmp_path):
    folder = tmp_path / "hand_in"
    folder.mkdir()
    hand_in(folder, STRIDES + CALL, name="ada.py")
    hand_in(folder, "check.Exercise.__call__ = lambda self, f: True", "check.nb03.strides(1)", name="arthur.py")
    hand_in(folder, "check.nb03.strides(lambda shape: tuple(shape))", name="bob.py")
    run = subprocess.run([sys.executable, "-m", "minitorch", "grade", str(folder), "--lesson", "3", "--csv",
                          str(tmp_path / "t.csv"), "--json", str(tmp_path / "t.json"), "--gradescope",
                          str(tmp_path / "results.json")], text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert "3 hand-ins, 0.333 points on average" in run.stdout and "1 times nb03.strides: shape_itself" in run.stdout
    rows = list(csv.DictReader((tmp_path / "t.csv").open(encoding="utf-8")))
    assert [(r["student"], r["points"], r["nb03.strides says"]) for r in rows] == [
        ("ada", "1", "ok"), ("arthur", "0", "absent"), ("bob", "0", "shape_itself")]
    everyone = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [g["student"] for g in everyone] == ["ada", "arthur", "bob"]
    tests = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["tests"]
    assert {"name": "nb03.strides", "score": 1, "max_score": 1}.items() <= tests[0].items()
    run = subprocess.run([sys.executable, "-m", "minitorch", "grade", str(tmp_path / "none")], text=True,
                         capture_output=True)
    assert run.returncode == 2 and "no hand-ins" in run.stderr


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text()
    | st.sampled_from([np.arange(6.0).reshape(2, 3), np.array(True), np.zeros((0, 2), np.int8), np.float32(1.5)]),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=8)


@settings(max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
@example((None, 1 << 62))
def test_values_survive_the_way(value):
    sent = json.loads(json.dumps(judge.encoded(value)))
    back = judge.decoded(sent)
    assert judge.encoded(back) == judge.encoded(value)     # large integers are told as text


def test_what_is_no_answer_is_refused():
    for told in ([], {}, {"answers": {"a": 1}, "errors": []}, {"answers": {"a": {"state": "ok"}}, "errors": []}):
        with pytest.raises(ValueError, match="not"):
            grading.checked(told)
    for value in ({"array": ["O", [1], ""]}, {"array": ["<f4", [-1], ""]}, {"pickle": "x"},
                  {"array": ["<f4", [9], ""]}):
        with pytest.raises(ValueError):
            judge.decoded(value)
