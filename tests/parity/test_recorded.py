"""The data in `tests/data/recorded` is what the PyTorch that is installed gives: see `tests/recorded`."""

import pytest

from tests.recorded import SUBJECTS, cases, differences, outcome, stored

torch = pytest.importorskip("torch", reason="asks PyTorch again")


@pytest.mark.parametrize("subject", SUBJECTS)
def test_recorded_data_is_still_that_of_pytorch(subject):
    """To the last digits, in which processors and releases may differ."""
    wanted = stored(subject)
    wrong = [text for name, case in cases(subject).items()
             for text in differences(outcome(case, torch), wanted[name], 1e-6, name)]
    assert not wrong, "\n".join(wrong[:20])
