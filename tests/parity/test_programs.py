"""Random programs of several calls do in minitorch what they do in PyTorch: `programs.py` draws them."""

import pytest

pytest.importorskip("torch")

from . import programs  # noqa: E402


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_agree_with_pytorch_after_every_line(seed):
    for i in range(25):
        lines = programs.draw(7_000_000 + 25 * seed + i)
        if programs.compare(lines) is not None:
            lines, found = programs.shortened(lines)
            assert programs.is_meant(lines, *found), "\n".join([found[1], *lines])


def test_a_difference_is_found_and_shortened(monkeypatch):
    monkeypatch.setattr("minitorch.Tensor.sin", lambda self: self.cos())
    lines = ["torch.manual_seed(0)", "t0 = torch.randn(3)", "t1 = t0 + 1", "t2 = t0.sin()", "t3 = t2 * 2"]
    lines, (line, words) = programs.shortened(lines)
    assert lines[1:] == ["t0 = torch.randn(3)", "t2 = t0.sin()"]
    assert line == lines[-1] and "values are" in words and not programs.is_meant(lines, line, words)
