"""Compiled functions that read and change Python state, beside the functions: see `python_state`."""

import random

import pytest

import minitorch as torch
from tests.compiler.python_state import KINDS, Case, any_case, check


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_state(kind):
    """Changed by the function after it is read, and from outside."""
    for where, style in (("inside", "closure"), ("outside", "globals")):
        check(Case(((kind, where, False),), style))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_with_state(seed):
    check(any_case(random.Random(seed)))


def test_the_note_names_the_line_and_other_lines_do_not_matter():
    source = Case((("count", "inside", False),), "globals").source()
    note = check(Case((("count", "inside", False),), "globals"))
    line = next(n for n, text in enumerate(source.split("\n"), 1) if "next(s0)" in text)
    assert "`s0`, a count, whose state cannot be watched" in note and note.endswith(f":{line}")
    # what is watched becomes a program, which is traced again after a change
    for kind in ("set", "bytearray", "slot", "namespace", "property", "default argument"):
        assert check(Case(((kind, "outside", False),), "closure")) == "program", kind


def test_settings_that_cannot_be_asked_for():
    """A function may name a setting of a device that this machine does not have."""
    def seeded(x, on_gpu):
        if on_gpu:
            return x + torch.cuda.initial_seed()
        return x * 2

    x = torch.ones(3)
    assert torch.compile(seeded)(x, False).equal(x * 2)
