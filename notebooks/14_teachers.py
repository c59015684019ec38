# %% [markdown]
# # 14. For teachers: autograder and mutation lab
#
# You have read the notebooks; now you want to give them to forty students, add exercises of your own, and grade both
# their code and *their tests*. Everything here works without a server and without a network.
#
# **You will be able to**
# * keep student and solved versions in one source;
# * write a check that names misconceptions, in fifteen lines;
# * grade a folder of notebooks, and see what the whole class misunderstood;
# * grade students' tests by planting bugs in the library.
#
# You need: one of the lessons. Time: 45 minutes.

# %%
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from minitorch import check
from minitorch.check.mutation import MUTANTS, survivors
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## One source, two versions
#
# A lesson is a Python file in the percent format (JupyterLab with jupytext, VS Code and PyCharm open it as a notebook).
# Solutions stand between two marks. (The marks are assembled here with `+`, or this notebook would be taken apart
# itself.)

# %%
CELL, BEGIN, END = "# %" + "%", "# <" + "solution>", "# </" + "solution>"
source = f'''{CELL} [markdown]
# # Means
# Write the mean of each row.

{CELL}
from minitorch import check


def row_means(x):
    {BEGIN}
    return x.sum(1) / x.shape[1]
    {END}


check_row_means(row_means)
'''
print(check.student(source))

# %% [markdown]
# `check.solved(source)` gives the other one. `python notebooks/build.py` does this for a folder, and
# `python notebooks/build.py --solved DIR` writes the solved notebooks. Tests run both on every change: in the solved
# version all checks must pass; in the student's, every check must say what is missing, and nothing else may fail.
#
# ## A check of your own
#
# A check is declared: how to draw an example, the truth, and the mistakes people make, each written *as a student would
# write it*. Examples are tried from small to large; a mistake is named if it gives what the student's function gives,
# on every example. That is all the magic there is.

# %%
check_row_means = check.Exercise(
    "own.row_means", "The mean of each row of x, a tensor of shape (N, D): a tensor of shape (N,).",
    hints=("How many numbers come out?", "Along which axis is a row?", "x.mean(1)"))


@check_row_means.draw
def _(d):                               # d draws: arrays, integers, shapes, choices
    return (d.integers((d.int(1, 3), d.int(1, 3)), -3, 3).astype(float),)


@check_row_means.truth
def _(x):
    return x.mean(1)


check_row_means.slips(
    columns=("the wrong axis: those are the means of the *columns*", lambda x: x.mean(0)),
    everything=("one mean of everything: each row has its own", lambda x: x.mean()),
    summed=("missing 1/D: the sum of each row", lambda x: x.sum(1)),
    wrong_count=("divided by the number of rows, not by the length of a row", lambda x: x.sum(1) / x.shape[0]),
    kept=("an axis too many: (N, 1) where (N,) is asked for (it will broadcast, some day, against (N,))",
          lambda x: x.mean(1, keepdim=True)),
    middle=("that is the median", lambda x: x.median(1).values))

check_row_means(lambda x: x.mean(0))

# %% [markdown]
# Test your check before your students do: every declared mistake must be named, and unusual right answers must pass.

# %%
for name, (_, function) in check_row_means.mistakes.items():
    assert check_row_means(function).misconception == name, name
assert check_row_means(lambda x: (x / x.shape[1]).sum(1)).ok
print("all", len(check_row_means.mistakes), "mistakes are named")

# %% [markdown]
# ## Grading a folder
#
# Three students hand in a lesson. (Real ones hand in `.ipynb` files; `grade` takes those, and percent-format files.) A
# cell that fails does not stop the rest.

# %%
handed_in = {
    "ada": "def unbroadcast(grad, shape):\n    return grad.sum_to_size(shape)",
    "bob": "def unbroadcast(grad, shape):\n    return grad",
    "eve": "def unbroadcast(grad, shape):\n    raise NotImplementedError('no time')\n\n# %%\n1 / 0"}
folder = Path(tempfile.mkdtemp())
for name, code in handed_in.items():
    text = (f"# %%\nfrom minitorch import check\n\n# %%\n{code}\n\n# %%\ncheck.nb03.unbroadcast(unbroadcast)\n\n"
            "# %%\ncheck.nb03.strides(lambda shape: shape)\n")
    (folder / f"{name}.py").write_text(text, encoding="utf-8")

grades = {path.stem: check.grade(path) for path in sorted(folder.glob("*.py"))}
for name, grade in grades.items():
    results = json.loads(grade.to_json())
    print(f"{name}: {sum(r['ok'] for r in results)} of {len(results)} solved;",
          ", ".join(f"{r['check']} {r['misconception'] or r['state']}" for r in results), grade.errors or "")

# %% [markdown]
# (The code runs with your rights: grade strangers' work in a container. `MINITORCH_HINTS=0` switches the hints off.)
#
# JSON in, statistics out: what did the class *misunderstand*? That is next week's lecture.

# %%
found = {}
for grade in grades.values():
    for r in json.loads(grade.to_json()):
        if r["misconception"]:
            found[f"{r['check']}: {r['misconception']}"] = found.get(f"{r['check']}: {r['misconception']}", 0) + 1
figure, axis = plt.subplots(figsize=(7, 1.2 + 0.3 * len(found)))
axis.barh(list(found), list(found.values()), color="#b34700")
axis.set(xlabel="students", title="named misconceptions")
plt.tight_layout()
show_figure(figure, "Bars, one for each misconception and as long as many students have it: " + "; ".join(
    f"{name} {count}" for name, count in found.items()))
assert found == {"nb03.strides: shape_itself": 3, "nb03.unbroadcast: not_summed": 1}

# %% [markdown]
# ## The mutation lab
#
# Whoever can write a test that notices a bug has understood the thing. So turn it round: students write tests, and you
# plant bugs. A test is a function of the library, `test(torch)`, with assertions. These mutants wait for it:

# %%
for name in MUTANTS:
    print("-", name)

# %% [markdown]
# A first try, as most people write it: it looks at values, with nice small numbers.

# %%
def first_try(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.relu(x).tolist() == x.tolist()
    assert torch.mean(x).item() == 2.5
    assert abs(torch.softmax(x, 1).sum().item() - 2) < 1e-6
    assert torch.clone(x).tolist() == x.tolist()


alive = survivors(first_try)
print(f"{len(alive)} of {len(MUTANTS)} survive:")
print("\n".join(f"  {name}" for name in alive))
assert len(alive) == len(MUTANTS)

# %% [markdown]
# All of them. Four assertions, not one bug found, and a coverage tool would report 100 %.
#
# ## Exercise: kill them all
#
# Use `torch.relu`, `torch.mean(x, dim)`, `torch.softmax(x, dim)`, `torch.index_select(x, 0, index)` and
# `torch.clone(x)`, their values and their gradients.


# %%
def test(torch):
    """Passes for minitorch (and PyTorch), fails for every mutant."""
    # <solution>
    def slopes(f, x):
        x = torch.tensor(x, requires_grad=True)
        y = f(x)
        (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
        return x.grad

    def near(a, b):
        return torch.allclose(a, torch.tensor(b), atol=1e-6)

    x = torch.tensor([[-1.0, 2.0, 5.0], [3.0, -4.0, 1.0]])
    assert near(torch.relu(x), [[0.0, 2.0, 5.0], [3.0, 0.0, 1.0]])
    assert near(torch.mean(x, 1), [2.0, 0.0])
    assert near(torch.softmax(torch.tensor([[500.0, 500.0]]), 1), [[0.5, 0.5]])
    assert near(slopes(torch.relu, [-1.0, 2.0]), [0.0, 2.0])
    assert near(slopes(lambda x: torch.mean(x, 1), [[1.0, 2.0]]), [[0.5, 0.5]])
    assert near(slopes(lambda x: torch.softmax(x, 1), [[0.0, 0.0]]), [[-0.25, 0.25]])
    assert near(slopes(lambda x: torch.index_select(x, 0, torch.tensor([1, 1])), [1.0, 2.0]), [0.0, 3.0])
    copy = torch.clone(x)
    copy.zero_()
    assert x[0, 1].item() == 2.0
    # </solution>


check.nb14.tests(test)

# %% [markdown]
# ## In real PyTorch
#
# A good test of minitorch is a test of PyTorch, as both promise the same.


# %%
def your_test(torch):
    if not check.passed("nb14.tests"):
        return "not written yet"
    test(torch)
    return "passes"


check.in_pytorch(your_test)

# %%
check.report()

# %% [markdown]
# **Remember**
# * One source; the student's version is generated, never edited.
# * A check that names the mistake teaches; a number does not. Test the check with the mistakes.
# * Coverage says what was run. Mutants say what was looked at.
#
# `docs/teaching.md` has a twelve-week plan, and how to run all this in Colab, JupyterLab, VS Code and offline.
