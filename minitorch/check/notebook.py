'''Notebooks from percent-format sources: the student's and the solved version, and a grader that needs no Jupyter.

A source is a Python file whose cells begin with ``# %%`` (code) or ``# %% [markdown]``. Solutions stand between marks:

    def double(x):
        """Twice x."""
        # <solution>
        return 2 * x
        # </solution>

The student's version has ``raise NotImplementedError("your code here")`` there, or the lines that follow the opening
mark with ``# |`` before them:

    # <solution>
    # | answer = ...
    answer = 42
    # </solution>
'''

import ast
import json
import re
from pathlib import Path

from .exercise import RESULTS, report

__all__ = ["cells", "grade", "run", "solved", "student", "to_ipynb"]

STUB = 'raise NotImplementedError("your code here")'
SOLUTION = re.compile(r"^(?P<indent>[ \t]*)# <solution>\n(?P<stub>(?:[ \t]*# \|[^\n]*\n)*)(?P<code>.*?)"
                      r"^[ \t]*# </solution>\n", re.MULTILINE | re.DOTALL)


def student(source):
    """The source with stubs in place of solutions."""
    return SOLUTION.sub(lambda m: re.sub(r"# \| ?", "", m["stub"]) or f"{m['indent']}{STUB}\n", source)


def solved(source):
    """The source with its solutions, without the marks."""
    return SOLUTION.sub(lambda m: m["code"], source)


def cells(source):
    """The cells of a percent-format source, or of an .ipynb text: pairs ("markdown" or "code", text)."""
    if source.lstrip().startswith("{"):
        return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(source)["cells"]]
    found = []
    for head, body in re.findall(r"^# %%([^\n]*)\n(.*?)(?=^# %%|\Z)", source, re.MULTILINE | re.DOTALL):
        kind = "markdown" if "[markdown]" in head else "code"
        if kind == "markdown":
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        found.append((kind, body.strip("\n")))
    return found


def to_ipynb(source):
    """The text of an .ipynb file (nbformat 4.5) with the cells of `source` and no outputs."""
    made = []
    for number, (kind, text) in enumerate(cells(source)):
        cell = {"cell_type": kind, "id": f"cell-{number:02}", "metadata": {}, "source": text.splitlines(keepends=True)}
        made.append(cell | {"execution_count": None, "outputs": []} if kind == "code" else cell)
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5},
                      indent=1, ensure_ascii=False) + "\n"


def run(source, keep_going=False, show=None):
    """Run the code cells in one fresh namespace, as a notebook would, without Jupyter.

    The last expression of a cell goes to `show`. Gives the namespace and a list of (cell number, error); without
    `keep_going` the first error is raised.
    """
    space, errors = {"__name__": "__main__"}, []
    for number, (kind, text) in enumerate(cells(source)):
        if kind != "code":
            continue
        try:
            value = _run_cell(text, space, f"<cell {number}>")
            if show is not None and value is not None:
                show(value)
        except Exception as error:
            if not keep_going:
                raise
            errors.append((number, error))
    return space, errors


def _run_cell(text, space, name):
    import linecache
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)      # for tracebacks
    tree = ast.parse(text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    return None if text.rstrip().endswith(";") else value


def grade(path):
    """Run a student's notebook (.ipynb, or percent-format .py), going on after errors; the report of its checks.

    The notebook's code runs in this process with your rights: grade strangers' work in a container.
    """
    mine = dict(RESULTS)
    RESULTS.clear()
    try:
        _, errors = run(Path(path).read_text(encoding="utf-8"), keep_going=True)
        found = report()
    finally:
        RESULTS.clear()
        RESULTS.update(mine)
    found.errors = [(number, f"{type(error).__name__}: {error}") for number, error in errors]
    return found
