"""The checks of all lessons, checked: every planted mistake is named, unusual right answers pass, stubs are missing."""

import json
import math
import re

import numpy as np
import pytest

import minitorch as torch
from minitorch import check
from minitorch.check import notebook

EXERCISES = check.exercises()
PLANTED = [(name, mistake) for name, exercise in EXERCISES.items() for mistake in exercise.mistakes]


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise(name):
    exercise = EXERCISES[name]
    assert len(exercise.mistakes) >= 6 and len(exercise.hints) == 3 and exercise.task.endswith(".")
    result = exercise(exercise._truth)
    assert result.ok or result.needs and "The check needs" in str(result), result

    def stub(*args, **kwargs):
        raise NotImplementedError("your code here")
    result = exercise(stub)
    assert result.state == "missing" and "missing" in str(result) and "missing" in result._repr_html_()
    assert exercise(...).state == exercise(None).state == "missing"


@pytest.mark.parametrize("name, mistake", PLANTED, ids=[f"{n}-{m}" for n, m in PLANTED])
def test_mistake_is_named(name, mistake):
    words, function = EXERCISES[name].mistakes[mistake]
    result = EXERCISES[name](function)
    if result.needs:
        pytest.skip(result.needs)
    assert result.state == "wrong" and result.misconception == mistake, result
    assert words in str(result) and json.loads(result.to_json())["misconception"] == mistake
    page = result._repr_html_()
    assert page.count("<div") == page.count("</div>") and not re.search(r"https?:|<script|src=", page)


# Wrong answers in words other than those that the checks declare: a mistake is known by what it does.
def sums_from_the_end(grad, shape):
    extra = grad.dim() - len(shape)
    if extra:
        grad = grad.sum(dim=tuple(range(grad.dim() - extra, grad.dim())))
    ones = [i for i, n in enumerate(shape) if n == 1]
    return grad.sum(dim=ones, keepdim=True) if ones else grad


def visits_in_order(root):
    found = []

    def go(node):
        if any(node is other for other in found):
            return
        found.append(node)
        for parent in node.parents:
            go(parent)
    go(root)
    return found


def overwrites(node):
    messages = [pull(node.grad) for pull in node.pulls]
    for parent, message in zip(node.parents, messages):
        parent.grad = 0.0
        parent.grad += message


def python_loop(g, index, n):
    found = [0.0] * n
    for k, i in enumerate(index.tolist()):
        found[i] = g[k].item()
    return np.array(found)


def forgets_to_clear(model, optimizer, x, y, steps):
    for _ in range(steps):
        loss = (model(x).flatten() - y).square().mean()
        loss.backward()
        optimizer.step()


def pairs_all(model, optimizer, x, y, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x).expand(-1, len(y)), y.expand(len(y), -1)).backward()
        optimizer.step()


def by_probability(logits, target):
    p = torch.nn.functional.softmax(logits, dim=-1)
    return torch.nn.functional.nll_loss(p.log(), target)


def tf_momentum(p, g, v, lr, mu):
    v = mu * v + g * (1 - mu)
    return p - v * lr, v


def adam_with_l2(p, g, m, v, t, lr, b1, b2, eps, wd):
    g = g + p * wd
    m, v = m * b1 + g * (1 - b1), v * b2 + g * g * (1 - b2)
    return p - lr * (m / (1 - b1 ** t)) / (eps + (v / (1 - b2 ** t)) ** 0.5), m, v


def keeps_biased(x, mean, var, momentum, eps):
    batch_mean, batch_var = x.mean(0), ((x - x.mean(0)) ** 2).mean(0)
    y = (x - batch_mean) * (batch_var + eps) ** -0.5
    return y, mean + momentum * (batch_mean - mean), var + momentum * (batch_var - var)


@pytest.mark.parametrize("name, wrong, mistake", [
    ("nb01.central", lambda f, x, h: f(x + h) / h - f(x) / h, "forward"),
    ("nb01.best_step", lambda eps: math.sqrt(2 * eps), "square_root"),
    ("nb02.send", overwrites, "assigned"),
    ("nb02.order", visits_in_order, "preorder"),
    ("nb02.power", lambda g, x, n: 2 * x * g, "always_two"),
    ("nb03.strides", lambda shape: torch.empty(shape[::-1]).stride()[::-1], "columns_first"),
    ("nb03.unbroadcast", sums_from_the_end, "from_the_right"),
    ("nb04.gather", python_loop, "assigned"),
    ("nb04.cumprod", lambda g, x, y: [float(sum(g[k] * y[k] for k in range(i, len(x))) / x[i]) if x[i] else math.nan
                                      for i in range(len(x))], None),
    ("nb05.train", forgets_to_clear, "no_zero_grad"),
    ("nb05.train", pairs_all, "broadcast"),
    ("nb05.cross_entropy", by_probability, "log_of_softmax"),
    ("nb06.momentum", tf_momentum, "averaged"),
    ("nb06.adamw", adam_with_l2, "coupled"),
    ("nb06.clip", lambda grads, limit: [g * limit / max(limit, float(g.norm())) for g in grads], "one_by_one"),
    ("nb07.batch_norm", keeps_biased, "biased_kept"),
    ("nb07.scale", lambda fan_in, slope: 1 / math.sqrt(fan_in), "no_half"),
    ("nb15.sum_pull", lambda g, shape, axis: torch.zeros(shape, dtype=g.dtype) + g, "no_axis"),
    ("nb17.per_sample", lambda loss, w, x, y: torch.stack([*map(torch.func.grad(loss), [w] * len(x), x, y)]), "looped"),
    ("nb17.hvp", lambda f, x, v: torch.func.jacrev(torch.func.grad(f))(x) @ v, "whole_hessian")])
def test_mistakes_in_other_words(name, wrong, mistake):
    result = EXERCISES[name](wrong)
    assert result.state == "wrong" and result.misconception == mistake, result


def test_example_is_small():
    result = EXERCISES["nb03.unbroadcast"](lambda grad, shape: grad)
    assert len(result.example) < 40 and result.example.startswith("unbroadcast([")


def test_functions_that_write_into_their_arguments_are_told():
    def zeroes(x, weight, eps):
        y = torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)
        x.zero_()
        return y
    assert EXERCISES["nb07.rms_norm"](zeroes).misconception == "changed_inputs"


def test_nothing_returned_and_errors():
    assert EXERCISES["nb02.tanh"](lambda g, x, y: None).misconception == "returned_none"

    def raises(g, x, y):
        return [][1]
    assert "IndexError" in str(EXERCISES["nb02.tanh"](raises))


def test_hints(monkeypatch):
    exercise = EXERCISES["nb03.unbroadcast"]
    assert len({str(exercise.hint(level)) for level in (1, 2, 3)}) == 3 and exercise.hint(7) == exercise.hint(3)
    check.allow_hints(False)
    try:
        assert "switched off" in exercise.hint(1) and "hint(" not in str(exercise(lambda *a: None))
    finally:
        check.allow_hints(True)


def test_solutions_are_never_shown():
    for exercise in EXERCISES.values():
        _, function = next(iter(exercise.mistakes.values()))
        page = exercise(function)._repr_html_()
        assert exercise.hints[2] not in page and exercise.hints[1] not in page


def test_grading(tmp_path):
    path = tmp_path / "ada.ipynb"
    path.write_text(notebook.to_ipynb(
        "# %%\nfrom minitorch import check\n# %%\n1 / 0\n# %%\ncheck.nb03.strides(lambda shape: shape)\n"
        "# %%\ndef windows(x, k):\n    # <solution>\n    return x.unfold(0, k, 1)\n    # </solution>\n\n\n"
        "check.nb03.windows(windows)\n"), encoding="utf-8")
    found = check.grade(path)
    states = {r["check"]: (r["state"], r["misconception"]) for r in json.loads(found.to_json())}
    assert states == {"nb03.strides": ("wrong", "shape_itself"), "nb03.windows": ("ok", None)}
    assert found.errors == [(1, "ZeroDivisionError: division by zero")] and "1 of 2" in str(found)


def test_versions():
    source = ("# %%\ndef f(x):\n    # <solution>\n    return x\n    # </solution>\n\n\n# <solution>\n# | answer = ...\n"
              "answer = 42\n# </solution>\n")
    assert notebook.student(source) == (
        '# %%\ndef f(x):\n    raise NotImplementedError("your code here")\n\n\nanswer = ...\n')
    assert notebook.solved(source) == "# %%\ndef f(x):\n    return x\n\n\nanswer = 42\n"
    assert notebook.cells("# %% [markdown]\n# # Title\n#\n# words\n# %%\nx = 1\n") == [
        ("markdown", "# Title\n\nwords"), ("code", "x = 1")]
