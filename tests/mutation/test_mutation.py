"""A sample of the mutation run: the tests notice bugs, and the run notices that they do. See `tests/mutation`."""

import os
import subprocess
import sys

import pytest

from tests import ROOT

PLANT = "from tests.mutation import sample; sample.main()"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants live in forked processes")
def test_planted_bugs_are_noticed():
    done = subprocess.run([sys.executable, "-c", PLANT], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    from tests.mutation.sample import SAMPLE
    assert said.pop("as it is") == "passes", done.stdout + done.stderr
    assert said == {file: test for file, *_, test in SAMPLE}, done.stdout + done.stderr


def test_mutants_change_one_place_and_keep_lines():
    from tests.mutation.mutate import mutants_of
    text = """def f(x, n):
    if x < 3 and not n:
        return g(x, n) + 1
    x[0] = (1 +
            2)
    return -x
"""
    found = {m.kind: m for m in mutants_of("f.py", text)}
    assert set(found) == {"and/or", "flip comparison", "move border", "other constant", "other operator", "drop not",
                          "drop minus", "swap arguments", "delete statement", "return early", "never"}
    for mutant in mutants_of("f.py", text):
        assert mutant.is_valid() and mutant.text != text and mutant.text.count("\n") == text.count("\n")
        assert (mutant.function, mutant.start) == ("f", 1)
    assert "return (g(n, x)) + 1" in found["swap arguments"].text and "(x <= 3) and" in found["move border"].text


def test_most_mutants_of_the_last_run_were_killed():
    """At least 95 % of those that make a difference, as the committed page says."""
    from tests.mutation.report import counts, rows
    found = rows()
    assert len(found) >= 200
    total, killed, equivalent = counts(found)
    assert killed >= 0.95 * (total - equivalent)
