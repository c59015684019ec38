"""The classroom in a browser: its notebooks, and a wheel that any machine takes."""

import importlib.util
import json
import zipfile

import pytest

from tests import ROOT


@pytest.fixture
def lite(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "notebooks"))
    import lite
    return lite


def test_each_lesson_begins_by_installing_the_package(lite, tmp_path):
    lite.lessons(tmp_path / "lessons")
    made = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "lessons").iterdir()}
    assert set(made) == {path.name for path in (ROOT / "notebooks" / "student").glob("*.ipynb")}
    for book in made.values():
        assert "%pip install -q minitorch-eager" in "".join(book["cells"][1]["source"])
        assert book["metadata"]["kernelspec"]["name"] == "python"


def test_the_wheel_has_no_native_parts(lite, tmp_path):
    for module in ("build", "hatchling"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install -e '.[lite]'")
    wheel = lite.wheel(tmp_path)
    assert wheel.name.startswith("minitorch_eager-") and wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd", ".dylib", ".dll"))]
    assert "minitorch/lessons/01_derivatives.ipynb" in names and "minitorch/datasets/digits.npz" in names
