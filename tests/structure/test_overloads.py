"""Every overload of PyTorch's functions is taken, with its defaults: `overloads.py` made the calls.
"""

import minitorch
from tests.structure import overloads

# Functions that differ, and why.
OTHERWISE = {
    "as_strided_scatter": "elements that overlap are written in no particular order: refused",
    "group_norm(A, 1, weight=None": "cudnn_enabled is not taken: there is no cuDNN",
    "layer_norm(A, [2, 2], weight=None": "cudnn_enable is not taken: there is no cuDNN",
    "cholesky_ex": "where it fails the factor is NaN, not half of one",
}


def test_overloads_and_defaults_are_pytorchs():
    rows = [line.split("\t") for line in overloads.FILE.read_text().splitlines()]
    found = {text: overloads.evaluated(minitorch, text) for text, _ in rows}
    wrong = {text: f"{found[text]}, PyTorch: {answer}" for text, answer in rows
             if found[text] != answer}
    new = [f"{text}: {answer}" for text, answer in wrong.items()
           if not any(x in text for x in OTHERWISE)]
    assert not new, "\n".join(new)
    assert all(any(x in text for text in wrong) for x in OTHERWISE) and len(rows) > 1500
