"""PyTorch's recorded answers, `data/recorded`, are those of this library: no PyTorch is needed. See `recorded`."""

import json

import pytest

import minitorch
from tests.recorded import FOLDER, SUBJECTS, cases, defaults, differences, outcome, stored

# Text and results that are rounded once are the same to the last digit, but for cases that hold one of these words.
EXACT = {"printing": (), "promotion": ("pow", "alpha", "reductions")}


@pytest.mark.parametrize("subject, name", [(subject, name) for subject in SUBJECTS for name in cases(subject)])
def test_same_as_recorded(subject, name):
    exact = subject in EXACT and not any(word in name for word in EXACT[subject])
    found = outcome(cases(subject)[name], minitorch)
    wrong = list(differences(found, stored(subject)[name], 0 if exact else 1e-6))
    assert not wrong, "\n".join(wrong[:8])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_all_cases_are_recorded(subject):
    assert list(stored(subject)) == list(cases(subject)), "run tests/recorded/record.py"


# Parameters, PyTorch's default and ours, which means the same.
SPELLED_OTHERWISE = [
    ("dim", None, []), ("dim", None, -1),                  # all dimensions; the last one
    ("correction", 1, None),                               # 1 unless `unbiased` says otherwise
    ("nan", 0.0, None), ("weights_only", None, True), ("device", defaults.REQUIRED, None),
    ("device_type", defaults.REQUIRED, "cuda"),            # as their namesakes under cuda.amp
    ("mesh", None, defaults.REQUIRED), ("dtype", None, defaults.REQUIRED)]


def test_defaults_are_pytorchs():
    ours, wanted = defaults.recorded(minitorch), json.loads((FOLDER / "defaults.json").read_text())
    found = [(name, (key, value, ours[name][key])) for name, given in wanted.items() for key, value in given.items()]
    assert not [row for row in found if row[1][1] != row[1][2] and row[1] not in SPELLED_OTHERWISE]
    assert len(found) > 2500
