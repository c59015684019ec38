"""Files for nbgrader, otter, Gradescope and GitHub Classroom: they are whole, and what they run gives the points."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from minitorch.check import classroom, copies, exercises, grading, notebook
from tests import ROOT

if not any(place.is_dir() for place in classroom.PLACES):
    pytest.skip("the student notebooks are not in this installation", allow_module_level=True)
SOLUTIONS = {path.name[:2]: path for path in
             (ROOT / "notebooks").glob("[0-9][0-9]_*.py")}
STRIDES = """def strides(shape):
    found, step = [], 1
    for n in reversed(shape):
        found.insert(0, step)
        step *= n
    return tuple(found)
"""


@pytest.mark.parametrize("lesson", range(1, 19))
def test_each_exercise_of_a_lesson_is_asked_for(lesson):
    asked = classroom.asked(lesson)
    assert asked.keys() == exercises(lesson).keys() and all(name.isidentifier() for name in asked.values())


def test_gradescope(tmp_path):
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"a wheel")
    written = classroom.write("gradescope", tmp_path / "out", 3, install=str(wheel), points={"nb03.strides": 4},
                              seed="autumn")
    with zipfile.ZipFile(tmp_path / "out" / written[0]) as archive:
        assert archive.namelist() == ["setup.sh", "run_autograder", "points.json", "x.whl"]
        assert archive.getinfo("run_autograder").external_attr >> 16 == 0o755
        assert "x.whl'" in archive.read("setup.sh").decode()
        archive.extractall(tmp_path / "source")
    (tmp_path / "submission").mkdir()
    script, results = tmp_path / "source" / "run_autograder", tmp_path / "results" / "results.json"
    env = {**os.environ, "AUTOGRADER": str(tmp_path), "PYTHON": sys.executable,
           "PYTHONPATH": str(Path(grading.__file__).resolve().parents[2])}
    if sys.platform == "win32":
        return
    assert subprocess.run(["bash", "-n", str(tmp_path / "source" / "setup.sh")]).returncode == 0
    subprocess.run(["bash", str(script)], env=env, check=True)
    assert "no notebook" in results.read_text()
    (tmp_path / "submission" / "ada.py").write_text(
        f"# %%\nfrom minitorch import check\n# %%\n{STRIDES}\ncheck.nb03.strides(strides)\n")
    subprocess.run(["bash", str(script)], env=env, check=True, capture_output=True)
    tests = {test["name"]: test for test in json.loads(results.read_text())["tests"]}
    assert tests["nb03.strides"]["score"] == 4 and sum(test["score"] for test in tests.values()) == 4
    assert len(tests) == len(exercises(3))


def test_github_classroom(tmp_path):
    written = classroom.write("github", tmp_path, 3, install="git+https://example.org/minitorch")
    text = (tmp_path / written[0]).read_text(encoding="utf-8")
    assert "{" not in text.replace("${{", "").replace("{name", "").split("permissions")[0]
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(text)["jobs"]["grade"]["steps"]
    tests = [step["with"] for step in steps if "command-grader" in step.get("uses", "")]
    assert [test["test-name"] for test in tests] == list(exercises(3)) and steps[-1]["with"]["runners"].count(",") == 5
    assert all(test["command"].endswith(f"--check {test['test-name']}") for test in tests)
    grades = [{"checks": {"nb03.strides": {"state": "ok", "words": "right"}}}]
    (tmp_path / "grades.json").write_text(json.dumps(grades))
    assert grading.main([str(tmp_path / "grades.json"), "--check", "nb03.strides"]) == 0
    assert grading.main([str(tmp_path / "grades.json"), "--check", "nb03.windows"]) == 1


def test_nbgrader(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    written = classroom.write("nbgrader", tmp_path, 3, points={"nb03.views": 2})
    book = nbformat.read(tmp_path / written[0], as_version=4)
    nbformat.validate(book)
    graded = [cell for cell in book.cells if "nbgrader" in cell.metadata]
    assert [cell.metadata.nbgrader.points for cell in graded] == [1, 1, 1, 2, 1, 1]
    assert all(cell.metadata.nbgrader.locked and not cell.metadata.nbgrader.solution for cell in graded)
    for right in (True, False):
        space = {"check": __import__("minitorch.check").check}
        exec(STRIDES if right else "def strides(shape):\n    return shape", space)
        if right:
            exec(graded[0].source, space)
        else:
            with pytest.raises(AssertionError):
                exec(graded[0].source, space)


def test_otter(tmp_path):
    written = classroom.write("otter", tmp_path, 3, install="some.whl")
    space: dict = {}
    exec((tmp_path / written[1]).read_text(encoding="utf-8"), space)
    case, = space["test"]["suites"][0]["cases"]
    code = case["code"].replace(">>> ", "")
    assert space["OK_FORMAT"] and case["points"] == 1 and (tmp_path / "requirements.txt").read_text() == "some.whl\n"
    found = {"check": __import__("minitorch.check").check}
    exec(STRIDES, found)
    exec(code, found)
    found["strides"] = tuple
    with pytest.raises(AssertionError, match="that is the shape"):
        exec(code, found)


def test_what_cannot_be_written_is_refused(tmp_path):
    for change, message in (({"lesson": 99}, "lesson 99"), ({"kind": "moodle"}, "moodle"),
                            ({"install": None}, "install"), ({"points": {"nb04.gather": 1}}, "no checks nb04.gather"),
                            ({"seed": "$(rm)"}, "seed")):
        given = {"kind": "otter", "lesson": 3, "install": "x.whl", "points": None, "seed": None, **change}
        with pytest.raises(ValueError, match=message):
            classroom.write(given.pop("kind"), tmp_path / "none", given.pop("lesson"), **given)
    assert not (tmp_path / "none").exists()


def test_the_command(tmp_path, capsys):
    assert classroom.main(["nbgrader", str(tmp_path), "--lesson", "4"]) == 0
    assert "lesson_04" in capsys.readouterr().out and (tmp_path / "nbgrader_config.py").exists()


def test_one_thread_for_linear_algebra_unless_said():
    assert copies.quiet({"OMP_NUM_THREADS": "4", "HOME": "x"}) == {
        "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1",
        "HOME": "x"}


def test_hidden_tests_are_the_notebooks():
    """The notebooks that students get hold no solution."""
    source = SOLUTIONS.get("03")
    if source is not None:
        _, book = classroom.notebook_of(3)
        assert json.loads(notebook.to_ipynb(notebook.student(source.read_text(encoding="utf-8")))) == book
