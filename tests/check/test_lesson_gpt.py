"""The stored training of lesson 21's GPT: its page is current, its code is the lesson's, its losses are PyTorch's."""

import json

import pytest

pytest.importorskip("benchmarks", reason="only beside the sources")
lesson_gpt = pytest.importorskip("benchmarks.lesson_gpt")
if not lesson_gpt.LESSON.exists():
    pytest.skip("the lessons are part of the source distribution, not of an installation", allow_module_level=True)
FOUND = json.loads(lesson_gpt.RESULTS.read_text())


def test_page_says_what_was_measured():
    assert lesson_gpt.PAGE.read_text() == lesson_gpt.page(FOUND), "run `python -m benchmarks.lesson_gpt --report`"


def test_losses_are_pytorchs():
    ours, theirs = (FOUND[name]["losses"] for name in ("minitorch", "torch"))
    assert len(ours) == len(theirs) == 2000
    assert max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-3
    assert sum(ours[-100:]) / 100 < 2 and FOUND["minitorch"]["held_out_bits"] < 1.9


@pytest.mark.parametrize("library", ["minitorch", "torch"])
def test_program_is_the_lesson_without_its_checks(library):
    code = lesson_gpt.program(library)
    compile(code, library, "exec")
    assert "check" not in code and ("minitorch" in code) == (library == "minitorch")
    assert code.count("class GPT(nn.Module)") == code.count("def choose(") == 1
