"""Every public function shows its source, and a formula where it has one."""

import pytest

import minitorch
from minitorch.core.registry import FUNCTIONS


@pytest.mark.parametrize("key", FUNCTIONS, ids=".".join)
def test_every_public_function_has_a_source(key):
    call = FUNCTIONS[key].call
    text = str(call.source)
    assert "def " in text and repr(call.source) == text
    compile(text, "source", "exec")


def test_a_definition_shows_the_generated_call():
    assert str(minitorch.mul.source).startswith("def mul(input, other, *, out=None):\n    try:")
    assert str(minitorch.Tensor.mul.source) == str(minitorch.mul.source)


def test_a_composite_shows_what_was_written():
    assert "return _add(input, scaled(input, other, alpha), out=out)" in str(minitorch.add.source)
    assert str(minitorch.Tensor.add.source) == str(minitorch.add.source)


def test_an_in_place_function_shows_what_it_writes():
    assert str(minitorch.exp_.source) == str(minitorch.exp.source)


def test_a_composite_that_hands_over_shows_the_formula_of_the_definition():
    assert str(minitorch.add.formula).splitlines()[1:] == [
        "hands over to the definition add: ``input + other``.", "  d input = g", "  d other = g"]
    assert "d input = softmax_backward(g, out, dim=dim)" in str(minitorch.softmax.formula)


def test_a_composite_of_others_names_them():
    assert str(minitorch.square.formula).splitlines()[1] == "made of: pow"
