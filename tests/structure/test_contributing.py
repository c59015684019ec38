"""CONTRIBUTING.md, followed literally in a copy of the checkout: each addition touches one file, and works."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## Add (?:an?) ([\w ]+)\n(.*?)(?=^## )", TEXT, re.M | re.S))
ADDED = ["op", "CPU kernel", "CUDA kernel", "layer", "optimiser", "interpretation"]


def blocks(title, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", SECTIONS[title], re.M | re.S)
    return [code for of, code in found if of == language]


def example(title):
    """(file, code) of the only example in a section."""
    (code,) = blocks(title, "python")
    head, code = code.split("\n", 1)
    return head.removeprefix("# "), code


def add(root, title):
    """Do what the section says: append the code to the file, or make the file; enter a class in `__all__`."""
    file, code = example(title)
    path = root / file
    old = path.read_text(encoding="utf-8").rstrip("\n") + "\n\n\n" if path.exists() else ""
    if "`__all__` of" in SECTIONS[title]:
        for name in re.findall(r"^class (\w+)", code, re.M):
            old, times = re.subn(r"^__all__ = \[", f'__all__ = ["{name}", ', old, count=1, flags=re.M)
            assert times == 1, f"{file} has no __all__ at its head"
    path.write_text(old + code, encoding="utf-8")
    return path


def run(root, *command):
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], cwd=root, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A checkout with all additions, made in the order of the page."""
    root = tmp_path_factory.mktemp("newcomer")
    skip = shutil.ignore_patterns("__pycache__")
    for folder in ("minitorch", "docs", "tests", "examples"):
        shutil.copytree(ROOT / folder, root / folder, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", root)
    for title in ADDED:
        add(root, title)
    for command in generating():
        run(root, *command)
    return root


def generating():
    """The commands of the page that write generated files."""
    return [[line.split()[1]] for line in TEXT.splitlines()
            if re.fullmatch(r"python docs/build_\w+\.py", line) and (ROOT / line.split()[1]).exists()]


def command_of(title):
    """The pytest command of a section, as a list of arguments."""
    (command,) = [x for x in blocks(title, "") if "pytest" in x]
    return shlex.split(command.replace("\\\n", ""))[1:]


def test_each_addition_is_one_file():
    assert list(SECTIONS)[:6] == ADDED
    for title in ADDED:
        file, _ = example(title)
        assert file.startswith(("minitorch/", "examples/")) and (ROOT / file).parent.is_dir()


def test_the_additions_work(copy):
    out = run(copy, "-c", """if True:
        import math
        import minitorch as torch
        from minitorch import nn, optim
        from minitorch.backends.cpu.backend import cpu
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        y = x.gaussian()
        y.sum().backward()
        print(torch.allclose(y, torch.exp(-x * x)), torch.allclose(x.grad, -2 * x * y), "gaussian" in cpu.kernels)
        out = torch.empty(2)
        print(torch.gaussian(x.detach(), out=out) is out, torch.ones(2).gaussian_().shape)
        net = nn.Scale(2)
        optimizer = optim.SignSGD(net.parameters(), lr=0.25)
        net(torch.ones(2)).sum().backward()
        optimizer.step()
        print(net, net.weight.tolist(), nn.modules.Scale is nn.Scale, "SignSGD" in optim.__all__)""")
    assert out.splitlines() == ["True True True", "True torch.Size([2])",
                                "Scale(features=2) [0.75, 0.75] True True"]


@pytest.mark.parametrize("title", ADDED)
def test_its_tests_exist_because_it_does(copy, title, request):
    if title == "CUDA kernel":
        request.getfixturevalue("device")                  # or a skip that says what is missing
    out = run(copy, *command_of(title), "-n", "0", "-vv")
    named = {"layer": "Scale", "optimiser": "SignSGD", "interpretation": "intervals"}.get(
        title, "gaussian")
    passed = [line for line in out.splitlines() if "PASSED" in line and named in line]
    assert passed, out


OPS = '''

@op(DECLARED promotion="float", input=lambda F, g: g - F.mean(g))
def centered(F, input):
    """``input`` without its mean."""
    return input - input.mean()


@op(dims="*", promotion="float", input=lambda F, g: g)
def plus_one(F, input):
    """``input + 1``."""
    return input + 1
'''


@pytest.mark.parametrize(("declared", "noticed"), [
    ("", None), ('dims="*",', r"centered does not work as dims='\*'")])
def test_what_an_op_declares_is_tested(copy, beside, declared, noticed):
    """An op among elementwise ones: right without the column, noticed with a wrong one."""
    beside("minitorch/ops/elementwise/pointwise.py", OPS.replace("DECLARED", declared))
    command = [*command_of("op")[:-1], "centered", "-n", "0"]
    if noticed is not None:
        with pytest.raises(AssertionError, match=noticed):
            run(copy, *command)
        return
    run(copy, *command)
    out = run(copy, "-c", """if True:
        import minitorch as torch
        x = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
        print(torch.vmap(torch.centered)(x).tolist())
        nested = torch.nested.nested_tensor([x[0], x[1, :1]], layout=torch.jagged)
        masked = torch.masked.masked_tensor(x, x > 1)
        for y in nested, masked:
            try:
                print(torch.centered(y))
            except (NotImplementedError, TypeError) as error:
                print("refused" if "centered() is not supported" in str(error) else error)
        from minitorch import func
        print(func.jvp(torch.centered, (x[0],), (torch.tensor([1.0, 0.0]),))[1].tolist())""")
    assert out.splitlines() == ["[[-0.5, 0.5], [-5.0, 5.0]]", "refused", "refused", "[0.5, -0.5]"]


def test_a_tangent_that_formulas_do_not_show_is_noticed(copy, beside):
    """A formula that reads nothing says that the op is linear; this one adds a constant."""
    beside("minitorch/ops/elementwise/pointwise.py", OPS.replace("DECLARED", ""))
    with pytest.raises(AssertionError, match="of plus_one, whose tangent is derived as 'linear'"):
        run(copy, *command_of("op")[:-1], "plus_one", "-n", "0")


LION = '''

class LionCoefficients(NamedTuple):
    """Coefficients of one step of `lion`."""

    lr: float
    decay: float


def lion(xp, p, g, states, scratch, c):
    """``p <- p - lr (sign(0.9 m + 0.1 g) + decay p)``, then ``m <- 0.99 m + 0.01 g``."""
    m, = states
    p -= c.lr * (xp.sign(0.9 * m + 0.1 * g) + c.decay * p)
    m += 0.01 * (g - m)


class Lion(Elementwise):
    """Steps of the signs of an average; its rule decays p itself."""

    rule = staticmethod(lion)
    DECLARED
    counters = ()

    def __init__(self, params, lr=1e-4, weight_decay=0):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))

    def slots(self, group):
        return {"exp_avg": 0.0}

    def coefficients(self, group, fresh):
        return (), LionCoefficients(float(group["lr"]), float(group["weight_decay"]))
'''


@pytest.fixture
def beside(copy):
    """A function that appends text to a file of the checkout, which is as before afterwards."""
    before = {}

    def append(file, code, exported=None):
        path = copy / file
        before.setdefault(path, path.read_text(encoding="utf-8"))
        head = before[path]
        if exported:
            head = head.replace("__all__ = [", f'__all__ = ["{exported}", ', 1)
        path.write_text(head + code, encoding="utf-8")
    yield append
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("declared", "noticed"), [
    ("decay = None", None), ('decay = "l2"', "Lion decays twice"),
    ('decay = "decoupled"', "Lion decays twice"), ("", "Lion must say what weight_decay means")])
def test_what_an_optimiser_declares_is_tested(copy, beside, declared, noticed):
    """A rule that decays by itself, by the page's command: w = 1 - 0.1 (-1 + 0.1) after a step."""
    beside("minitorch/optim/sgd.py", LION.replace("DECLARED", declared), exported="Lion")
    command = [*command_of("optimiser")[:-1], "Lion", "-n", "0"]
    if noticed is not None:
        with pytest.raises(AssertionError, match=noticed):
            run(copy, *command)
        return
    run(copy, *command)
    out = run(copy, "-c", """if True:
        import minitorch as torch
        w = torch.tensor([1.0], requires_grad=True)
        w.grad = torch.tensor([-0.05])
        torch.optim.Lion([w], lr=0.1, weight_decay=0.1).step()
        print(round(w.item(), 6))""")
    assert out == "1.09\n"


def test_a_new_file_is_found_by_itself(copy):
    """An op or a CPU kernel in a file of its own."""
    neighbour = (copy / "minitorch/ops/elementwise/pointwise.py").read_text(encoding="utf-8")
    imported = re.search(r"^from \S+ import .*\bop\b.*\n", neighbour, re.M)[0]
    (copy / "minitorch/ops/elementwise/newcomer.py").write_text(
        imported + '\n\n@op(input=lambda F, g: g)\ndef newcomer(F, input):\n    """A copy."""\n'
        "    return input.copy()\n")
    (copy / "minitorch/backends/cpu/newcomer.py").write_text(
        'from .backend import kernel\n\n\n@kernel("newcomer")\ndef newcomer(F, input):\n    return input + 0\n')
    assert run(copy, "-c", "import minitorch as t; print(t.newcomer(t.ones(1)).item(), "
               "'newcomer' in t.backends.get('cpu').kernels)").split() == ["1.0", "True"]


def test_every_new_kind_is_shown():
    """A file of layers or optimisers with an ``__all__`` has its line in the package's face."""
    from minitorch import nn, optim
    for package, folder, internal in ((nn, "nn/modules", ()), (optim, "optim", ("flat", "stepping", "optimizer"))):
        for path in sorted((ROOT / "minitorch" / folder).glob("*.py")):
            found = re.search(r"^__all__ = \[(.*?)\]", path.read_text(encoding="utf-8"), re.M | re.S)
            if found and path.stem not in ("__init__", "swa_utils", *internal):
                for name in re.findall(r'"(\w+)"', found[1]):
                    assert hasattr(package, name), f"{path.name}: {name} is not in {package.__name__}"
