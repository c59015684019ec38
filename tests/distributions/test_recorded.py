"""PyTorch's recorded answers about distributions are those of this library: see `tests/recorded`."""

import pytest

import minitorch
from tests.distributions.recorded_cases import CASES
from tests.recorded import differences, outcome, stored


@pytest.mark.parametrize("name", CASES)
def test_same_as_recorded(name):
    wrong = list(differences(outcome(CASES[name], minitorch), stored("distributions")[name]))
    assert not wrong, "\n".join(wrong[:8])


def test_all_cases_are_recorded():
    assert list(stored("distributions")) == list(CASES), "run tests/recorded/record.py"
