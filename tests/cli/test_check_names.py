"""``python -m minitorch --check``: the names that a program uses and minitorch lacks, from its source."""

import textwrap

import pytest

from minitorch.__main__ import main
from minitorch.cli.check import missing
from tests.cli.test_command_line import ROOT


def lacking(tmp_path, source, **others):
    """{name: lines} of a program, with other files beside it."""
    for name, text in {"program": source, **others}.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    found, _ = missing(tmp_path / "program.py")
    return {name: [line for _, line in places] for name, places in found.items()}


@pytest.mark.parametrize("source, name", [
    ("import torch\ntorch.nonsense(1)", "torch.nonsense"),
    ("import torch.nn.functional as F\nF.nonsense", "torch.nn.functional.nonsense"),
    ("from torch import nn as layers\nlayers.Nonsense(3)", "torch.nn.Nonsense"),
    ("from torch.nn import Linear, Nonsense", "torch.nn.Nonsense"),
    ("import torch.nonsense.more", "torch.nonsense"),
    ("from torch.nonsense import thing", "torch.nonsense"),
    ("from torch.nn import *\nModule.nonsense", "torch.nn.Module.nonsense"),
    ("import torch\nnn = torch.nn\nnn.Nonsense", "torch.nn.Nonsense"),
    ("import torch\ntorch.ones(2).exp().nonsense()", "torch.Tensor.nonsense"),
    ("import torch\nx = torch.randn(3) * 2\ny = x[0].T\ny.nonsense", "torch.Tensor.nonsense"),
    ("import torch\ndef f(x: torch.Tensor, y):\n    y.fine\n    return x.nonsense", "torch.Tensor.nonsense"),
    ("from torch import Tensor\nx: Tensor = f()\nx.nonsense", "torch.Tensor.nonsense"),
    ("import torch\nif (y := torch.zeros(1)) is not None:\n    y.nonsense", "torch.Tensor.nonsense"),
    ("import torch\nclass A(torch.nn.Nonsense):\n    pass", "torch.nn.Nonsense"),
    ("import torch\n@torch.nonsense\ndef f(x=torch.ones(1)):\n    pass", "torch.nonsense"),
    ("import torch\nprint(torch.nonsense.more.and_more)", "torch.nonsense"),
    ("import torchvision\ntorchvision.nonsense", "torchvision.nonsense")])
def test_what_is_missing_is_found(tmp_path, source, name):
    assert list(lacking(tmp_path, source)) == [name]


@pytest.mark.parametrize("source", [
    "import torch\nprint(torch.version.cuda, torch.__version__, torch.pi, torch.cuda.is_available())",
    "import torch\ntry:\n    torch.nonsense\nexcept (AttributeError, KeyError):\n    pass",
    "try:\n    from torch.nonsense import x\nexcept ImportError:\n    x = None",
    "import torch\nif hasattr(torch, 'nonsense'):\n    torch.nonsense()\nk = torch.q if hasattr(torch, 'q') else 1",
    "import torch\ndef f(torch):\n    return torch.nonsense",
    "import torch\nx = torch.ones(1)\nx = 3\nx.nonsense\nfor x in y:\n    x.nonsense",
    "import torch\nprint([t.nonsense for t in range(3)], (lambda torch: torch.nonsense))",
    "import torch\nx = torch.ones(1).max(0)\nx.values, x.nonsense",
    "import torch\nm = torch.nn.Linear(1, 1)\nm.mine = 3\nm.mine",
    "import torch\ntorch.ops.mylib.op(1)\ntorch.backends.cudnn.benchmark = True\ntorch.jit.script",
    "import numpy as torch\ntorch.nonsense"])
def test_what_is_there_or_dealt_with_is_not(tmp_path, source):
    assert lacking(tmp_path, source) == {}


def test_files_beside_the_program_are_read(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("from . import inner\n")
    (tmp_path / "package" / "inner.py").write_text("import torch\ntorch.first\nimport program\n")
    beside = "import torch\n\ntorch.second\n"
    found = lacking(tmp_path, "from package import thing\nimport beside, sys\n", beside=beside)
    assert found == {"torch.first": [2], "torch.second": [3]}


def test_the_command_tells_and_exits(tmp_path, capsys):
    (tmp_path / "bad.py").write_text("import torch\ntorch.ones(1)\ntorch.nonsense\n\ntorch.nonsense\n")
    (tmp_path / "broken.py").write_text("import torch torch\n")
    assert main(["--check", str(tmp_path / "bad.py")]) == 1
    out = capsys.readouterr().out
    assert "lacks 1 of the 3 names" in out and "torch.nonsense: " in out and "line 3, 5" in out
    assert main(["--check", str(ROOT / "examples" / "gpt.py"), str(ROOT / "examples" / "vae.py")]) == 0
    assert "has all of the" in capsys.readouterr().out
    assert main(["--check", str(tmp_path / "broken.py")]) == main(["--check", str(tmp_path / "none.py")]) == 2
    assert main(["--check"]) == 2 and "needs programs" in capsys.readouterr().err
