"""Errors that the checks of lessons pass on."""

import linecache

import minitorch as torch
from minitorch.check import nb15


def test_a_grad_that_is_none_is_explained_by_checks():
    def forgets_backward(parameters, lr):
        with torch.no_grad():
            for p in parameters:
                p -= lr * torch.zeros(2, requires_grad=True).grad.abs()
    assert "a .grad is None until backward() has run" in str(nb15.sgd_step(forgets_backward))


def test_the_line_is_found_in_a_folder_with_the_librarys_name():
    """A learner's own file may lie under a folder called minitorch."""
    file, line = "/home/me/minitorch/mine.py", "    return parameters[0].nonesuch()"
    source = f"def forgets(parameters, lr):\n{line}\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names = {}
    exec(compile(source, file, "exec"), names)
    assert f"`{line.strip()}`" in str(nb15.sgd_step(names["forgets"]))
