"""The page about nested tensors, which also shows masked ones."""

from tests.helpers.pages import run_examples


def test_the_page_about_it():
    assert run_examples("nested.md") == 15
