"""A hundred typical wrong answers: none is accepted, nearly all are named; and hints do not give solutions away."""

import math
import re

import pytest

import minitorch as torch
from minitorch import check
from minitorch.check import notebook
from minitorch.check.exercise import GAP
from tests import ROOT
from tests.check.wrong_answers import ONE, TWO

EXERCISES = check.exercises()
NOTEBOOKS = ROOT / "notebooks"


def judged(pairs):
    """(name, result) of each answer that can be checked here."""
    found = [(name, EXERCISES[name](function)) for name, function in pairs]
    return [(name, result) for name, result in found if not result.needs]


def test_typical_wrong_answers():
    """At least 95 of 100 are named, none is accepted; of two faults at once, both are, mostly."""
    one, two = judged(ONE), judged(TWO)
    assert len(ONE) + len(TWO) >= 100 and {name[:4] for name, _ in ONE} == {name[:4] for name in EXERCISES}
    accepted = [name for name, result in one + two if result.state != "wrong"]
    assert not accepted
    unnamed = [f"{name}: {result}" for name, result in one + two if not result.misconception]
    assert len(unnamed) <= 0.05 * len(one + two), "\n".join(unnamed)
    both = [" + " in result.misconception for name, result in two if result.misconception]
    assert sum(both) >= 0.75 * len(two)


def squeezed(text):
    """Code without blanks, comments and prefixes."""
    return re.sub(r"\s|torch\.|math\.|self\.|return", "", re.sub(r"#.*", "", text))


def solutions(source):
    """{exercise: (parameters of its function, lines of its solution)} of a lesson."""
    found = {}
    for kind, text in notebook.cells(source):
        called = re.findall(r"^check\.(nb\d\d\.\w+)\((\w+)\)", text, re.MULTILINE)
        for name, function in called if kind == "code" else ():
            code = "".join(match["code"] for match in notebook.SOLUTION.finditer(text))
            given = re.search(rf"^def {function}\((.*)\):", text, re.MULTILINE)
            found[name] = given and given[1], code.splitlines()
    return found


LESSONS = {} if not NOTEBOOKS.is_dir() else {
    name: found for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.py"))
    for name, found in solutions(path.read_text(encoding="utf-8")).items()}
needs_lessons = pytest.mark.skipif(not LESSONS, reason="the lessons are not part of an installation")


@needs_lessons
def test_no_hint_contains_a_line_that_decides():
    """A line of the solution that computes something stands in no hint; the last hint has gaps instead."""
    checked = 0
    for name, (_, lines) in LESSONS.items():
        hints = EXERCISES[name].hints
        assert GAP in hints[2] and GAP not in hints[0] + hints[1], name
        for line in lines:
            code = squeezed(line)
            core = code.split("=", 1)[-1] if re.match(r"\w+=[^=]", code) else code
            head = re.match(r"\s*(for|if|while|def|with)\b", line)
            if len(core) >= 12 and re.search(r"[-+*/@%(]", core) and not head:
                checked += 1
                assert not any(core in squeezed(hint) for hint in hints), (name, line)
    assert checked > 90


@needs_lessons
def test_a_hint_is_no_solution():
    """No piece of a hint, run as the body of the function that is asked for, passes the check."""
    tried = 0
    for name, (given, _) in LESSONS.items():
        for piece in (piece for hint in EXERCISES[name].hints for piece in re.split(r"[;:`]", hint)):
            try:
                body = re.sub(r"^\s*return\s", "", piece).strip(" .")
                function = eval(compile(f"lambda {given}: {body}", name, "eval"), {"torch": torch, "math": math,
                                                                                  **vars(torch)})
            except (SyntaxError, NameError):
                continue
            if given and GAP not in piece:
                tried += 1
                assert not EXERCISES[name](function).ok, (name, piece)
    assert tried > 3


def test_last_hints_are_shown_as_code():
    hint = EXERCISES["nb09.attention"].hint(3)
    assert "with gaps" in hint and "<code" in hint._repr_html_() and "____" in hint._repr_html_()


def test_parts_are_labelled_on_the_card():
    def biased(x, mean, var, momentum, eps):
        m, v = x.mean(0), x.var(0, correction=0)
        return (x - m) / (v + eps).sqrt(), (1 - momentum) * mean + momentum * m, (1 - momentum) * var + momentum * v
    result = EXERCISES["nb07.batch_norm"](biased)
    assert result.misconception == "biased_kept"
    page = result._repr_html_()
    assert "new running variance: " in page and str(result).count("differs") == 1


def test_parts_are_named_one_by_one():
    """One part has a known mistake, another an unknown one: the card says both."""
    def step(g, a, b):
        return g * b, -g * a / b ** 3
    result = EXERCISES["nb02.div"](step)
    assert result.misconception == "like_mul" and "wrong with the gradient for b" in result.words


def test_last_cards_are_short():
    def much(torch):
        return [torch.arange(60.0).reshape(3, 4, 5), *torch.rand(20, 30)]
    lines = str(check.in_pytorch(much)).splitlines()
    assert len(lines) < 20 and max(map(len, lines)) < 140 and any("more" in line for line in lines)
