"""Rules for the project as a whole: its name, what its pages say, and traps that stay closed."""

import ast
import io
import re
import tokenize

import pytest

import minitorch as torch
from tests import ROOT

PACKAGE = ROOT / "minitorch"
NAME = "minitorch-eager"


# ---- the name of the distribution ------------------------------------------------------------------------------
def project():
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def texts():
    """All files that people read, or that print something."""
    kinds = ("*.md", "*.py", "*.ipynb", "*.toml", "*.pyi")
    folders = [PACKAGE, *(ROOT / x for x in ("docs", "notebooks", "examples", "benchmarks"))]
    files = [p for folder in folders for kind in kinds for p in sorted(folder.rglob(kind))]
    return [*files, *sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml", *(ROOT / ".ci").glob("*")]


# The name alone, as a requirement: no path, no other name that begins or ends with it.
ALONE = r"(?<![\w./-])minitorch(?![\w./-])"
WRONG = re.compile(rf"\b(?:pip3?|uv|pipx)\b[^\n]*\b(?:install|download|wheel|add)\b[^`\n&;|]*{ALONE}"
                   r"|(?<![\w./-])minitorch\[\w+\](?!\()")


def test_nothing_installs_the_strangers_package():
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path in texts()
             for match in WRONG.finditer(path.read_text(encoding="utf-8"))]
    assert not found, "on PyPI `minitorch` is somebody else's:\n" + "\n".join(found)


@pytest.mark.parametrize("text", ["pip install minitorch", "`%pip install -q minitorch`", "pip install numpy minitorch",
                                  "pip download minitorch -d wheels", "minitorch[sim]", '"minitorch[test]"',
                                  "pip install 'minitorch>=0.1'", "uv add minitorch"])
def test_such_a_line_is_found(text):
    assert WRONG.search(text)


@pytest.mark.parametrize("text", ["pip install '.[sim]'", "pip install dist/minitorch_eager-0.1.0-py3-none-any.whl",
                                  "pip install 'minitorch-eager[sim] @ file:///w'", "python -m minitorch demo",
                                  "pip install -e . && python -m minitorch", "import minitorch",
                                  "pip install ../minitorch"])
def test_others_are_not(text):
    assert not WRONG.search(text)


def test_the_distribution_refers_to_itself_by_its_own_name():
    assert re.search(r'^name = "([\w-]+)"', project(), re.M)[1] == NAME
    assert set(re.findall(r'"([\w-]+)\[\w+\]"', project())) == {NAME}
    assert 'packages = ["minitorch"]' in project()         # the import stays
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"`{NAME}`" in readme and "stranger" in readme


# ---- what the pages promise ------------------------------------------------------------------------------------
def test_the_op_of_the_readme_is_the_one_in_the_code():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = [code for code in re.findall(r"^```python\n(.*?)^```$", readme, re.M | re.S) if code.startswith("@op(")]
    assert any(shown in path.read_text(encoding="utf-8") for path in (PACKAGE / "ops").rglob("*.py")), shown


def lines_of_core():
    """The lines of the core, and how many of them are code: no docstrings, comments or blanks."""
    total = code = 0
    for path in (PACKAGE / "core").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        total += len(text.splitlines())
        texts = {line for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)
                 and isinstance(getattr(node.value, "value", None), str)
                 for line in range(node.lineno, node.end_lineno + 1)}
        code += len({line for token in tokenize.generate_tokens(io.StringIO(text).readline)
                     if token.type not in NO_CODE
                     for line in range(token.start[0], token.end[0] + 1)} - texts)
    return total, code


NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
           tokenize.ENDMARKER)


def test_the_promise_is_one_that_can_be_kept():
    """The README names the size of the core, rounded up to hundreds."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    total, code = [f"{-(-lines // 100) * 100:,}" for lines in lines_of_core()]
    promise = f"a core of {total} lines, {code} of them code, that you can read in a day"
    assert promise in readme, f"README.md should say: {promise}"
    assert "weekend" not in readme + project()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "CHANGELOG.md", "docs/architecture.md",
                                  "docs/teaching.md", "docs/programs.md", "docs/kernels.md"])
def test_code_is_fenced(page):
    """A fence stands on a line of its own, and is closed."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if "```" in line]
    assert all(re.fullmatch(r" *```\w*", line) for line in fences) and len(fences) % 2 == 0


def test_what_is_imported_by_name_exists():
    """A list of modules that are imported by name, such as PARTS, has no module that is gone."""
    for name in torch.PARTS:
        assert getattr(torch, name).__name__ == f"minitorch.{name}"
