"""Rules for the project as a whole: its name, what its pages say, and traps that stay closed."""

import re
import threading

import numpy as np
import pytest

import minitorch as torch
from minitorch.backends import register
from minitorch.core import device as devices
from minitorch.core.backend import Backend
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


def test_the_promise_is_one_that_can_be_kept():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "weekend" not in readme + project() and "at most 2,500 lines that you can read in a day" in readme


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "CHANGELOG.md", "docs/architecture.md",
                                  "docs/teaching.md", "docs/programs.md", "docs/kernels.md"])
def test_code_is_fenced(page):
    """A fence stands on a line of its own, and is closed."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if "```" in line]
    assert all(re.fullmatch(r" *```\w*", line) for line in fences) and len(fences) % 2 == 0


# ---- devices as contexts ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def two():
    """Two devices of our own, "left" and "right"."""
    types = list(devices.TYPES)
    for name in ("left", "right"):
        register(name, lambda index, name=name: Backend(torch.device(name), np))
    yield torch.device("left"), torch.device("right")
    devices.TYPES[:] = types
    for name in ("left", "right"):
        devices.MAKERS.pop(name), devices.MADE.pop((name, None), None)


@pytest.fixture(autouse=True)
def the_default_stays():
    yield
    assert where() == "cpu" and devices.outer.get() == ()


def where():
    """The device of new tensors."""
    assert str(torch.empty(1).device) == str(torch.get_default_device())
    return torch.empty(1).device.type


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_a_device_can_be_entered_inside_itself(two):
    left, _ = two
    with left:
        with left, left:
            assert where() == "left"
        assert where() == "left"
    assert where() == "cpu"


def test_devices_nest(two):
    left, right = two
    with left:
        with right:
            with left:
                assert where() == "left"
            assert where() == "right"
        assert where() == "left"


def test_an_exception_leaves_the_device(two):
    left, right = two
    with left:
        with pytest.raises(KeyError), right, left:
            raise KeyError
        assert where() == "left"
    assert where() == "cpu"


def test_a_device_without_backend_is_not_entered(two):
    devices.TYPES.append("nowhere")                        # `two` takes it away again
    with pytest.raises(RuntimeError, match="no backend"), torch.device("nowhere"):
        pass
    assert where() == "cpu"


def test_other_threads_do_not_see_it(two):
    left, right = two

    def inside():
        with right:
            return where()
    with left:
        assert in_thread(where) == "cpu" and in_thread(inside) == "right" and where() == "left"


def test_two_threads_share_one_device_object(two):
    """Each leaves to where it was, in whatever order they enter and leave."""
    left, right = two
    entered, leave = threading.Event(), threading.Event()

    def other():
        with right:
            with left:
                entered.set()
                leave.wait(5)
            found.append(where())
        found.append(where())
    found, thread = [], threading.Thread(target=other)
    with left:
        thread.start()
        entered.wait(5)
    assert where() == "cpu"
    leave.set()
    thread.join()
    assert found == ["right", "cpu"]


def test_the_default_device_is_set_for_one_thread(two):
    try:
        torch.set_default_device("left")
        assert where() == "left" and in_thread(where) == "cpu"
        with two[1]:
            assert where() == "right"
        assert where() == "left"
    finally:
        torch.set_default_device(None)


def test_the_default_device_set_inside_a_block_ends_with_it(two):
    """As in PyTorch, where it takes effect at once and the end of the block brings back what was before."""
    left, right = two
    with left:
        torch.set_default_device(right)
        assert where() == "right"
    assert where() == "cpu"


def test_a_generator_keeps_its_block_open(two):
    """As in PyTorch: a block is of the thread, not of the function, and ends when the generator does."""
    def blocks():
        with two[0]:
            yield where()
            yield where()
    generator = blocks()
    assert next(generator) == "left" == where()
    assert list(generator) == ["left"]
    assert where() == "cpu"


def test_it_is_like_pytorch(two):
    """The same program in both libraries; PyTorch's second device is "meta"."""
    theirs = pytest.importorskip("torch")

    def program(library, device):
        now = lambda: library.empty(1).device.type
        with device:
            with device:
                yield now()
            yield now()
            with library.device("cpu"):
                yield now()
                with device:
                    yield now()
            yield now()
            yield in_thread(now)
        yield now()
    ours = [x.replace("left", "meta") for x in program(torch, two[0])]
    assert ours == list(program(theirs, theirs.device("meta")))


# ---- NumPy's names on devices ----------------------------------------------------------------------------------
@pytest.fixture
def namespace():
    """NumPy's names on a device, all of them entered."""
    pytest.importorskip("minitorch.backends.cuda.kernels", exc_type=ImportError)
    from minitorch.backends.cuda.arrays import namespace
    return namespace


def test_no_function_of_numpys_is_entered_twice(namespace):
    for name, function in namespace.OURS.items():
        with pytest.raises(TypeError, match="already"):
            namespace.ours(function, name=name)


def test_what_is_entered_is_numpys(namespace):
    """A misspelt name would never be found; but indexing has no function there, and casts only in newer versions."""
    names = {*namespace.OURS, *namespace.HOT} - {"getitem", "setitem", "astype"}
    assert len(namespace.OURS) > 50 and [name for name in names if not hasattr(np, name)] == []


def test_what_is_imported_by_name_exists():
    """A list of modules that are imported by name, such as PARTS, has no module that is gone."""
    for name in torch.PARTS:
        assert getattr(torch, name).__name__ == f"minitorch.{name}"


def test_errors_name_the_public_function():
    """The weights of attention are an internal op: a user has never called it."""
    q = torch.ones(1, 1, 2, 4)
    with pytest.raises(RuntimeError, match=r"^scaled_dot_product_attention\(\): ") as caught:
        torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(3, 5))
    assert "_weights" not in str(caught.value)
