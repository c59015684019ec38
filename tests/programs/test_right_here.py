"""The programs of docs/right_here.md, one test each; run as a program it tells what the `torch`
that is installed does with them."""

import re
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "right_here.md"
ENTRY = re.compile(r"^### (\d+)\. \[#(\d+)\]\((\S+)\)(.*?)```python\n(.*?)```", re.M | re.S)


def entries():
    """(number, report, program) of each entry of the page."""
    return [(int(number), report, program)
            for number, report, _, _, program in ENTRY.findall(PAGE.read_text())]


def names(torch):
    """The names that a program finds."""
    def near(found, expected):
        expected = torch.as_tensor(expected).to(found.dtype)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    def raises(kind, call):
        try:
            call()
        except kind:
            return
        raise AssertionError(f"{kind.__name__} was expected")
    func = torch.func
    return dict(__name__="__main__", torch=torch, nn=torch.nn, F=torch.nn.functional,
                jvp=func.jvp, grad=func.grad, jacfwd=func.jacfwd, jacrev=func.jacrev,
                hessian=func.hessian, near=near, raises=raises)


def run(torch, program):
    exec(compile(program, str(PAGE), "exec"), names(torch))


@pytest.mark.parametrize("number, report, program", entries(),
                         ids=lambda value: f"{value}" if isinstance(value, (int, str)) and
                         len(f"{value}") < 9 else "")
def test_it_is_right(number, report, program):
    import minitorch
    import minitorch.utils.checkpoint  # found as an attribute
    run(minitorch, program)


def test_entries_are_numbered_and_cite_their_report():
    found = ENTRY.findall(PAGE.read_text())
    assert [int(number) for number, *_ in found] == list(range(1, len(found) + 1))
    assert all(link.endswith(f"/issues/{report}") for _, report, link, _, _ in found)
    assert len(found) == PAGE.read_text().count("```python")


if __name__ == "__main__":
    import torch
    import torch.utils.checkpoint
    print(torch.__version__)
    for number, report, program in entries():
        try:
            run(torch, program)
            told = "gives the expected result"
        except Exception as error:
            first = [*str(error).splitlines(), ""][0]
            told = f"{type(error).__name__}: {first[:90]}"
        print(f"{number:3} #{report}: {told}", file=sys.stdout, flush=True)
