"""PyTorch's recorded answers, `data/recorded`, are those of this library: no PyTorch is needed. See `recorded`."""

import pytest

import minitorch
from tests.recorded import OF_KERNEL, cases, differences, outcome, stored
from tests.recorded.misfits import KNOWN, refused

# Text and results that are rounded once are the same to the last digit, but for cases that hold one of these words.
EXACT = {"printing": (), "promotion": ("pow", "alpha", "reductions")}


@pytest.mark.parametrize("subject, name", [(subject, name) for subject in OF_KERNEL for name in cases(subject)])
def test_same_as_recorded(subject, name):
    exact = subject in EXACT and not any(word in name for word in EXACT[subject])
    found = outcome(cases(subject)[name], minitorch)
    wrong = list(differences(found, stored(subject)[name], 0 if exact else 1e-6))
    assert not wrong, "\n".join(wrong[:8])


@pytest.mark.parametrize("subject", OF_KERNEL)
def test_all_cases_are_recorded(subject):
    assert list(stored(subject)) == list(cases(subject)), "run tests/recorded/record.py"


@pytest.mark.parametrize("line", KNOWN)
def test_misfits_that_differ_are_still_listed_as_they_are(line):
    """One that has been mended leaves `misfits.DIFFERENT`."""
    words = [case.partition(" ")[2] for case in KNOWN[line]]
    found = refused(minitorch, line)
    assert KNOWN[line] == [f"{'refuses' if word in found else 'takes'} {word}" for word in words]
