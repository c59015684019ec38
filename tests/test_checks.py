"""The checks of all lessons, checked: every planted mistake is named, unusual right answers pass, stubs are missing."""

import json
import re

import pytest

from minitorch import check

EXERCISES = check.exercises()
PLANTED = [(name, mistake) for name, exercise in EXERCISES.items() for mistake in exercise.mistakes]


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise(name):
    exercise = EXERCISES[name]
    assert len(exercise.mistakes) >= 6 and len(exercise.hints) == 3 and exercise.task.endswith(".")
    assert exercise(exercise._truth).ok, exercise(exercise._truth)

    def stub(*args, **kwargs):
        raise NotImplementedError("your code here")
    result = exercise(stub)
    assert result.state == "missing" and "missing" in str(result) and "missing" in result._repr_html_()
    assert exercise(...).state == exercise(None).state == "missing"


@pytest.mark.parametrize("name, mistake", PLANTED, ids=[f"{n}-{m}" for n, m in PLANTED])
def test_mistake_is_named(name, mistake):
    words, function = EXERCISES[name].mistakes[mistake]
    result = EXERCISES[name](function)
    assert result.state == "wrong" and result.misconception == mistake, result
    assert words in str(result) and json.loads(result.to_json())["misconception"] == mistake
    page = result._repr_html_()
    assert page.count("<div") == page.count("</div>") and not re.search(r"https?:|<script|src=", page)
