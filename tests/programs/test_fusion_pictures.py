"""`viz.fusion`: the calls of a trace and the loops that they went into."""

import re
import xml.dom.minidom

import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import viz
from minitorch.backends import native
from tests import ROOT

needs_compiler = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")


@needs_compiler
def test_what_was_fused(tmp_path):
    f = torch.compile(lambda x, w: F.relu((x @ w) * 2 + 1).sort(-1).values, backend="c")
    f(torch.randn(4, 3), torch.randn(3, 5))
    found = viz.fusion(f)
    assert [(p.kind, p.dims) for p in found.pieces[:2]] == [("product", (4, 5, 3)), ("loops", (1, 20))]
    assert found.pieces[1].names == ("multiply", "add", "relu")
    assert "loops 1×20: multiply, add, relu" in str(found) and "call: sort" in str(found)
    root = xml.dom.minidom.parse(str(found.save(tmp_path / "fusion.svg")))
    lines = list(root.getElementsByTagName("path"))
    assert len(lines) == sum(len(p.origin) for p in found.pieces)


@needs_compiler
def test_forward_and_backward_are_both_there():
    f = torch.compile(lambda x: (x.exp() * x).sum(-1), backend="c")
    f(torch.ones(3, 4, requires_grad=True)).sum().backward()
    found = viz.fusion(f)
    assert [name for name, _ in found.programs] == ["run", "lambda_backward"]
    assert any("sum" in p.reductions for p in found.pieces)


def test_without_loops():
    f = torch.compile(lambda x: x * 2)
    with pytest.raises(RuntimeError, match="no program yet"):
        viz.fusion(f)
    f(torch.ones(3))
    f = torch.compile(lambda x: x * 2, backend="numpy")
    f(torch.ones(3))
    with pytest.raises(ValueError, match="NumPy calls"):
        viz.fusion(f)


@needs_compiler
def test_the_page_on_the_compiler_runs(capsys):
    page = (ROOT / "docs" / "compile.md").read_text(encoding="utf-8")
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "compile.md", "exec"), scope)
    assert scope["path"].exists() and "cross_entropy" in scope["step"].c_source
