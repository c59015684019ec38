"""Arguments of a wrong type: PyTorch is asked again, and about functions that are not stored yet."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from tests.explain import test_wrong_types_recorded as everywhere  # noqa: E402
from tests.explain import wrong_types  # noqa: E402


def test_what_is_stored_is_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [f"{call}: {letter}" for function, entry in everywhere.STORED.items() if entry
                 for call, letter in wrong_types.calls(function, entry)
                 if wrong_types.letter(wrong_types.error(call, torch)) != letter]
    assert not wrong, "run tests/explain/wrong_types.py: " + "\n".join(wrong)


def test_functions_that_are_not_stored():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = dict(wrong_types.search(torch, everywhere.STORED))
    found = list(everywhere.answers(new))
    assert not everywhere.differences(found) and not everywhere.odd_words(found)
