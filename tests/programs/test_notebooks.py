"""Every notebook runs: solved, and all checks pass; as students get it, and every check says what is missing.

The solved version runs in this process; the student's goes through nbclient and a real kernel, which has neither
PyTorch nor scikit-learn and reaches no network. Pictures and views are made in both.
"""

import os
import re
import runpy
import socket
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minitorch.__main__ import main
from minitorch.check import exercise, notebook
from minitorch.check.pytorch import Comparison
from minitorch.viz import pictures
from tests import ROOT
from tests.programs.forked_kernels import NAME, Forker

pytest.importorskip("matplotlib", reason="the notebooks draw their curves with it")
FOLDER = ROOT / "notebooks"
if not FOLDER.exists():
    pytest.skip("the notebooks are part of the source distribution, not of an installation", allow_module_level=True)
build = runpy.run_path(str(FOLDER / "build.py"))
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in build["sources"]()}
LARGEST_VIEW = 200_000
LAST_DESCRIBED = 25                                        # of the lessons whose figures all have words


def lesson(name):
    return f"nb{name[:2]}"


def exercises(source):
    """The exercises that a notebook asks for, in order: ["nb03.strides", ...]."""
    return re.findall(r"^check\.(nb\d\d\.\w+)\(", source, re.MULTILINE)


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("notebooks must work without a network")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def test_what_is_committed_is_current():
    assert build["stale"]() == [], "run `python notebooks/build.py`"


def test_command_copies_them_and_keeps_work(tmp_path, capsys):
    main(["notebooks", str(tmp_path / "mine"), "--no-open"])
    copied = sorted(path.stem for path in (tmp_path / "mine").iterdir())
    assert copied == sorted(path.stem for path in (FOLDER / "student").glob("*.ipynb"))
    assert f"{len(copied)} notebooks" in capsys.readouterr().out
    work = tmp_path / "mine" / f"{copied[0]}.ipynb"
    work.write_text("my work", encoding="utf-8")
    main(["notebooks", str(tmp_path / "mine"), "--no-open"])
    assert work.read_text(encoding="utf-8") == "my work" and "left as they are" in capsys.readouterr().out
    main(["notebooks", str(tmp_path / "mine"), "--no-open", "--overwrite"])
    assert work.read_text(encoding="utf-8") != "my work"


@pytest.mark.parametrize("name", SOURCES)
def test_source(name):
    source = SOURCES[name]
    first, = [text for kind, text in notebook.cells(source)][:1]
    assert first.startswith("# ") and "You will be able to" in first, "a title and goals come first"
    assert "In real PyTorch" in source
    assert "<solution>" not in notebook.student(source) + notebook.solved(source)
    asked = set(exercises(source))
    module = getattr(__import__("minitorch.check", fromlist=["check"]), lesson(name), None) if asked else None
    declared = {e.name for e in vars(module).values() if isinstance(e, exercise.Exercise)} if module else set()
    assert asked == declared, "each check of the lesson is used by it"
    for kind, text in notebook.cells(notebook.student(source)):
        if kind == "code":
            compile(text, name, "exec")


def test_jupytext_reads_the_same_cells():
    jupytext = pytest.importorskip("jupytext")
    for source in SOURCES.values():
        read = jupytext.reads(source, fmt="py:percent")
        assert [(c.cell_type, c.source) for c in read.cells] == notebook.cells(source)


def empty_axes(figure):
    """The axes of a figure that show nothing, or lines and points that mostly are not finite."""
    def shows(axis):
        found = [np.asarray(line.get_xydata(), float) for line in axis.lines]
        found += [np.asarray(points.get_offsets(), float) for points in axis.collections]
        found = [xy for xy in found if xy.size > 2]
        return bool(axis.images or axis.patches or axis.texts) or sum(
            np.isfinite(xy).sum() for xy in found) > 0.5 * sum(xy.size for xy in found)
    return [axis for axis in figure.axes if not shows(axis)]


def test_an_empty_picture_is_noticed():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    figure, (left, middle, right) = plt.subplots(1, 3)
    left.plot([1, 3, 2, 5])
    middle.plot([1, np.inf, np.nan, np.nan], [0, 1, np.nan, np.nan])
    assert empty_axes(figure) == [middle, right]
    with pytest.raises(ValueError, match="text alternative"):
        pictures.show_figure(figure, "a curve")
    plt.close(figure)


@pytest.mark.parametrize("name", [name for name in SOURCES if int(name[:2]) <= LAST_DESCRIBED])
def test_figures_have_words(name):
    """Figures are shown with a text alternative of a sentence, slides with what they show."""
    source = SOURCES[name]
    assert "plt.show(" not in source
    assert len(re.findall(r"\bslides\(", source)) == len(re.findall(r'\bslides\((?:[^"]|"[^"]*")*?,\s+"[A-Z]', source))


def test_a_figure_in_words():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.close("all")                                       # what another test left open
    _, axes = plt.subplots(1, 2)
    page = pictures.Picture(pictures.drawn(axes[0].figure, 40), 'two "empty" frames')
    assert 'alt="two &quot;empty&quot; frames"' in page._repr_html_() and page._repr_png_()[:4] == b"\x89PNG"
    assert repr(page) == '[picture: two "empty" frames]'
    pictures.show_figure(axes, "Two empty frames side by side.")
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", SOURCES)
def test_solved(name, offline, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)                 # a notebook leaves nothing behind
    monkeypatch.setenv("MINITORCH_LESSON_STEPS", "12")      # of the training that takes minutes
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    source = notebook.solved(SOURCES[name])
    exercise.RESULTS.clear()
    plt.close("all")                            # what other tests left open
    shown, empty = [], []
    monkeypatch.setattr(pictures, "display", lambda picture, figure: empty.extend(empty_axes(figure)))

    def show(value):
        if isinstance(value, Comparison):
            assert value.ok, value
        if hasattr(value, "_repr_html_"):
            page = value._repr_html_()
            assert len(page) < LARGEST_VIEW, f"a view of {len(page)} characters"
            shown.append(page)
    notebook.run(source, show=show)
    assert not plt.get_fignums() or int(name[:2]) > LAST_DESCRIBED, "figures are shown by show_figure, with words"
    plt.close("all")
    assert not empty, "a picture shows nothing"
    results = {name: r for name, r in exercise.report().results.items() if name.startswith("nb")}
    assert list(results) == exercises(source)
    assert all(r.ok or r.needs for r in results.values()), exercise.report()
    assert not any(re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(http""", page) for page in shown)
    needs = {r.needs for r in results.values() if r.needs}
    if needs:
        pytest.skip(f"run to its end, but not checked without {needs.pop()}")


SITE = '''
import socket, sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name in ("torch", "sklearn"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Missing)
connect = socket.socket.connect
def local_only(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost", "::1"):
        raise OSError("notebooks must work without a network")
    return connect(self, address)
socket.socket.connect = local_only
'''


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The name of kernels as students have them, which start soon where processes can be forked."""
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in {"PYTHONPATH": os.pathsep.join([str(folder), str(FOLDER.parent),
                                                               os.environ.get("PYTHONPATH", "")]),
                                "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JUPYTER_PATH": str(folder),
                                "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR",
                                                               str(Path.home() / ".cache" / "matplotlib"))}.items():
            patch.setenv(variable, value)
        if not sys.platform.startswith("linux"):
            yield "python3"
            return
        with closing(Forker(folder, dict(os.environ))):
            yield NAME


@pytest.mark.parametrize("name", SOURCES)
def test_student(name, tmp_path, monkeypatch, kernels):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.reads(notebook.to_ipynb(notebook.student(SOURCES[name])), as_version=4)
    nbformat.validate(book)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=120, kernel_name=kernels, resources=where).execute()
    asked = exercises(SOURCES[name])
    said = [text for cell in book.cells for output in cell.get("outputs", ())
            for text in [output.get("data", {}).get("text/plain", "")] if ": still missing" in text]
    assert [text.split(":")[0] for text in said] == asked


def test_slides_show_one_figure_at_a_time():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.close("all")                                       # what other tests left open
    from minitorch.viz.slides import slides
    view = slides((f"step {i} <", plt.figure(figsize=(1, 1))) for i in range(3))
    page = view._repr_html_()
    assert page.count("<img") == 3 and page.count("display:none") == 2 and "step 1 &lt;" in page
    assert str(view) == "step 0 <\nstep 1 <\nstep 2 <" and not plt.get_fignums()
