"""Words: formulas and explanations from the op table, errors that draw and name lines, anomaly mode."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import formula, nn
from minitorch.core.registry import FUNCTIONS, OPS


# ------------------------------------------------------------------ formulas
@pytest.mark.parametrize("name, rules", [
    ("mul", {"input": "g * other", "other": "g * input"}),
    ("tanh", {"input": "g * (1 - out * out)"}),
    ("exp", {"input": "g * out"}),
    ("sub", {"input": "g", "other": "-g"}),
    ("sum", {"input": "expanded(g, dim, keepdim, input.shape)"}),
])
def test_rules_are_read_from_the_table(name, rules):
    assert formula.rules_of(OPS[name]) == rules


def test_every_rule_has_a_text():
    """And it is that of the rule itself: an expression that can be parsed, of names that the rule knows."""
    for row in OPS.values():
        for name, text in formula.rules_of(row).items():
            compile(text, row.name, "eval")
            assert "F." not in text, (row.name, name)


def test_two_rules_on_one_line_are_told_apart():
    from minitorch.core.op import parameters_of
    for row in OPS.values():
        for i, x in enumerate(row.inputs):
            rule = row.vjps[x.name]
            if rule is not None and rule.__name__ == "<lambda>" and not row.joint:
                text = formula.rule_text(row, i)
                used = set(re.findall(r"[A-Za-z_]\w*", text))
                for asked in parameters_of(rule)[2:]:
                    shown = asked.removesuffix("_shape").removesuffix("_dtype")
                    assert asked in used or shown in used, (row.name, text, asked)


def test_functions_and_methods_have_formulas():
    assert str(torch.tanh.formula) == str(torch.Tensor.tanh.formula)
    assert str(torch.tanh.formula).splitlines()[1] == "  d input = g * (1 - out * out)"
    assert "hands over to the definition softmax" in str(torch.softmax.formula)
    for public in FUNCTIONS.values():
        assert str(public.call.formula).strip() and public.call.explain().strip()


def test_explain_tells_the_whole_story():
    text = torch.nn.functional.linear.explain()
    assert text.startswith("linear(input, weight, bias=None") and "d weight = linear_weight(" in text
    assert "Kept for it by the graph: " in text and "linear_weight: ``g.T @ input``" in text
    assert "d input = softmax_backward(g, out, dim=dim)" in torch.softmax.explain()
    assert "No gradient: the result is not differentiable." in torch.argmax.explain()
    assert repr(torch.exp.explain()) == str(torch.exp.explain())              # a prompt shows it without quotes


# ------------------------------------------------------------------ shapes, devices, types
@pytest.mark.parametrize("call, lines", [
    (lambda: torch.ones(5, 4) + torch.ones(3, 4, 2),
     ["The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 2",
      "  a:    5  4", "  b: 3  4  2", "        ^  ^"]),
    (lambda: torch.ones(5, 4) @ torch.ones(30, 2),
     ["    mat1: 5  4", "             ^", "    mat2: 30  2", "          ^^"]),
    (lambda: torch.ones(5, 4) @ torch.ones(2, 4), ["  with the second one transposed, a @ b.mT, it fits: 5x4 and 4x2"]),
    (lambda: torch.ones(4, 5) @ torch.ones(4, 2), ["  with the first one transposed, a.mT @ b, it fits: 5x4 and 4x2"]),
    (lambda: torch.ones(2, 5, 4) @ torch.ones(3, 4, 2), ["  a: 2", "  b: 3", "     ^"]),
    (lambda: nn.Linear(3, 2)(torch.ones(5, 4)),
     ["   input: 5  4", "  weight: 2  3", "  the layer takes 3 features, the input has 4 in its last dimension"]),
])
def test_shape_errors_draw_the_shapes(call, lines):
    with pytest.raises(RuntimeError) as found:
        call()
    shown = str(found.value).split("\n")
    for line in lines:
        assert line in shown or shown[0].startswith(line), (line, shown)


def test_dtype_errors_name_the_inputs():
    with pytest.raises(RuntimeError, match="float32 != float64 in linear.*input is float32, weight is float64; cast"):
        nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3, dtype=torch.float64))


# ------------------------------------------------------------------ lines
def line_of(word):
    """The number of the line of this file that has `word` as a comment."""
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if f"# {word}" in line)


def test_overwritten_values_name_both_lines_in_anomaly_mode():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = x.exp()  # saves
        y.add_(1)  # overwrites
        with pytest.raises(RuntimeError) as found:
            y.sum().backward()
    assert re.search(rf"ExpBackward0 at .*test_words.py:{line_of('saves')}\), was written by add_ at "
                     rf".*test_words.py:{line_of('overwrites')}", str(found.value))
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="detect_anomaly"):
        y.sum().backward()


def test_a_second_backward_names_both_lines_in_anomaly_mode():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = (x * x).sum()  # recorded
        y.backward()  # freed
        with pytest.raises(RuntimeError) as found:
            y.backward()
    text = str(found.value)
    assert f"called at {__file__}:{line_of('recorded')}" in text
    assert f"the backward pass at {__file__}:{line_of('freed')} has freed them" in text


def test_anomaly_mode_names_the_first_bad_value():
    x = torch.tensor([0.0, -1.0, 2.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        a = x.log()  # first
        b = a * 2
        with pytest.raises(RuntimeError) as found:
            (b * b).sum().backward()
    first, second = str(found.value).split("\n")
    assert first.startswith("Function 'MulBackward0' returned nan values in its 0th output")
    assert second == ("The first value that was not finite was the result of LogBackward0: 1 NaN and 1 infinite of 3 "
                      f"elements, called at {__file__}:{line_of('first')}.")


def test_anomaly_mode_lets_infinite_masks_pass():
    x = torch.randn(4, requires_grad=True)
    with torch.autograd.detect_anomaly():
        mask = torch.tensor([False, True, False, False])
        x.masked_fill(mask, -float("inf")).softmax(0).max().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_anomaly_mode_says_when_only_the_derivative_is_bad():
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="All values of the forward pass were fin"):
        (x.sqrt() * 0).sum().backward()
    with torch.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()


def test_anomaly_mode_speaks_only_of_what_lies_behind():
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        torch.zeros(1, requires_grad=True).log().sum()     # infinite, but elsewhere
        y = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError) as error:
            y.backward()
    assert "All values of the forward pass were finite" in str(error.value)


def test_documentation_has_no_places_left_to_fill_in():
    for space in (torch, F, nn):
        for name in dir(space):
            try:
                text = getattr(getattr(space, name), "__doc__", None) or ""
            except ModuleNotFoundError as error:           # of a guest that this copy lacks
                assert find_spec(".".join(error.name.split(".")[:2])) is None
                continue
            assert "{shape}" not in text and "{name}" not in text, name


def test_errors_name_the_public_function():
    """The weights of attention are an internal op: a user has never called it."""
    q = torch.ones(1, 1, 2, 4)
    with pytest.raises(RuntimeError, match=r"^scaled_dot_product_attention\(\): ") as caught:
        torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(3, 5))
    assert "_weights" not in str(caught.value)
