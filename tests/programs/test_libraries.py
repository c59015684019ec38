"""Programs of other libraries, run on minitorch: they print what they print on PyTorch.

Libraries that are not installed are skipped: docs/programs.md says how to install them without PyTorch.
"""

import importlib.util
import os

import pytest

from tests import ROOT
from tests.programs.libraries.record import RECORDED, needed, printed, programs
from tests.programs.libraries.shown import differences


@pytest.mark.parametrize("name", programs())
def test_program(name, tmp_path, monkeypatch):
    missing = [module for module in needed(name) if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    found = printed(name, tmp_path, "-m", "minitorch")
    expected = (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    assert not differences(found, expected), f"PyTorch printed otherwise:\n{differences(found, expected)}"


def test_differences_see_numbers_and_words():
    assert not differences("loss: 1.00001 3\n", "loss: 1.0 3\n") and not differences("x: nan", "x: nan")
    for other in ("loss: 1.01 3", "loss: 1.0 4", "less: 1.0 3", "loss: 1.0", "loss: 1.0 3\nmore: 1", "loss: nan 3"):
        assert differences("loss: 1.0 3", other), other
