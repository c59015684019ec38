"""Rendered digits, and the canvas: what is exported, and that a browser computes what the library does."""

import json
import re
import shutil
import subprocess
from html import unescape

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn, viz
from minitorch.datasets import RenderedDigits
from minitorch.datasets.rendered import SIDE, placed, render
from minitorch.datasets.strokes import FORMS, POINTS, paths
from minitorch.viz.canvases import EXAMPLE, traced
from minitorch.viz.contact_sheet import BROWSERS
from tests.helpers.view_checks import OUTSIDE

BROWSER = next((found for found in map(shutil.which, BROWSERS) if found), None)


# Digits
def test_digits_are_those_of_their_seed():
    one, two, other = (RenderedDigits(train=False, size=60, seed=seed) for seed in (0, 0, 1))
    assert one.data.shape == (60, 28, 28) and one.data.dtype == torch.uint8 and one.targets.dtype == torch.int64
    assert torch.equal(one.data, two.data) and torch.equal(one.writers, two.writers)
    assert not torch.equal(one.data, other.data)
    assert torch.bincount(one.targets).tolist() == [6] * 10
    image, label = one[3]
    assert np.array_equal(np.asarray(image), one.data[3].numpy()) and label == one.targets[3].item()
    x, y = one.tensors()
    assert x.shape == (60, 1, 28, 28) and x.dtype == torch.float32 and 0.9 < x.max() <= 1 and y is one.targets
    assert repr(one).startswith("Dataset RenderedDigits") and "Split: Test" in repr(one)


def test_nobody_wrote_for_both_parts():
    train, test = RenderedDigits(size=300), RenderedDigits(train=False, size=300)
    assert train.writers.max() < 400 <= test.writers.min() and test.writers.max() < 600
    assert len(RenderedDigits(size=0)) == 0 and RenderedDigits(size=0).data.shape == (0, 28, 28)
    with pytest.raises(ValueError, match="size must be a number of images"):
        RenderedDigits(size=-1)


def test_digits_lie_as_in_mnist():
    """Twenty pixels in the larger direction, but for the pen's width, and the middle of the mass in the middle."""
    x = RenderedDigits(size=200).data.numpy().astype(float)
    assert x[:, [0, -1]].mean() < 8 and x[:, :, [0, -1]].mean() < 2, "little ink at the edges"
    grid = np.arange(SIDE)
    mass = x.sum((1, 2))
    for axis in (1, 2):
        middle = (x.sum(3 - axis) @ grid) / mass
        assert np.abs(middle - 13.5).max() < 1.2
    assert 20 < mass.mean() / 255 < 160


def test_a_writer_keeps_his_forms():
    """Images of one digit by one writer are more alike than those of two."""
    digits = RenderedDigits(size=1500)
    x, y, w = digits.data.numpy().reshape(1500, -1) / 255, digits.targets.numpy(), digits.writers.numpy()
    same, other = [], []
    for i in range(400):
        alike = np.flatnonzero((y == y[i]) & (np.arange(1500) != i))
        mine = alike[w[alike] == w[i]]
        if len(mine):
            same.append(((x[mine[0]] - x[i]) ** 2).sum())
            other.append(((x[alike[w[alike] != w[i]][0]] - x[i]) ** 2).sum())
    assert len(same) > 50 and np.mean(same) < 0.8 * np.mean(other)


def test_paths():
    table, first, count = paths()
    assert table.shape == (sum(map(len, FORMS.values())), POINTS, 3) == (31, 72, 3)
    assert set(np.unique(table[..., 2])) == {0.0, 1.0} and (table[:, -1, 2] == 0).all()
    assert count.tolist() == [len(FORMS[d]) for d in range(10)] and first[0] == 0
    assert table[..., :2].min() > -0.15 and table[..., 0].max() < 1.15 and table[..., 1].max() < 1.55


def test_a_line_is_as_dark_as_promised():
    """In the middle of a straight line the density is 1, so the grey value 1 - exp(-2.5)."""
    for pen in (0.8, 1.0, 1.4):
        points = np.stack([np.linspace(4, 24, 60), np.full(60, 14.0)], 1)[None]
        image = render(points, np.ones((1, 60)), [pen])[0]
        assert image.shape == (28, 28) and abs(image[14, 14] - (1 - np.exp(-2.5))) < 1e-3
        assert image[2].max() < 1e-6 and abs(image[14, 14] - image[14, 10]) < 1e-3


# The canvas, on this side
def small(*last):
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Sequential(nn.Conv2d(4, 6, (3, 2), bias=False), nn.ReLU()), nn.Flatten(), nn.Dropout(0.5),
                         nn.Linear(6 * 5 * 6, 10), *last)


@settings(derandomize=True, max_examples=15, deadline=None)
@given(st.floats(0.2, 3), st.floats(-50, 50), st.floats(-50, 50))
def test_size_and_place_of_a_drawing_do_not_matter(scale, dx, dy):
    view = viz.canvas(small())
    moved = [[(x * scale + dx, y * scale + dy) for x, y in stroke] for stroke in EXAMPLE]
    assert np.allclose(view.image(moved).numpy(), view.image(EXAMPLE).numpy(), atol=1e-5)


def test_nothing_drawn_is_an_empty_image():
    view = viz.canvas(small())
    for strokes in ([], [[]], [[(3, 4)]], [[(3, 4), (3, 4)]]):
        assert view.image(strokes).abs().max() == 0


def test_the_number_of_points_of_a_path_matters_little():
    """A fast hand gives few points, a slow one many."""
    few = [[(40, 40), (200, 40), (120, 240)]]
    many = [[tuple(p) for p in traced(few)[0]]]
    view = viz.canvas(small())
    assert (view.image(few) - view.image(many)).abs().max() < 0.05
    points, ink = traced(few)
    assert render(placed(points[None], ink[None]), ink[None], [1.0]).max() < 1


def test_what_the_view_says():
    model = small().train()
    view = viz.canvas(model, list("abcdefghij"))
    assert model.training, "the mode is left as it was"
    judged = view.judged(EXAMPLE)
    assert abs(sum(p for _, p in judged) - 1) < 1e-9 and judged[0][1] >= judged[-1][1]
    page, words = view.html(), view.text()
    assert "parameters" in words and judged[0][0] in words and words == str(view)
    assert page.count("<script>") == 1 and "polyline" in page and not OUTSIDE.search(page)
    before = view.layers[0]["w"]
    with torch.no_grad():
        model[0].weight += 1
    assert view.layers[0]["w"] == before


@pytest.mark.parametrize("model, error, words", [
    (nn.Linear(784, 10), TypeError, "takes a Sequential"),
    (nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.Tanh()), TypeError, "layer 2 is a Tanh"),
    (nn.Sequential(nn.Conv2d(1, 2, 3, dilation=2)), ValueError, "dilation=1"),
    (nn.Sequential(nn.Conv2d(1, 2, 3, padding="same")), ValueError, "given in numbers"),
    (nn.Sequential(nn.MaxPool2d(2, ceil_mode=True)), ValueError, "ceil_mode"),
    (nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False)), ValueError, "running statistics"),
    (nn.Sequential(nn.Conv2d(1, 2, 3)), ValueError, "expected a model that gives")])
def test_networks_that_the_page_cannot_run(model, error, words):
    with pytest.raises(error, match=words):
        viz.canvas(model)


def test_as_many_classes_as_scores():
    with pytest.raises(ValueError, match="10 scores, and there are 2 classes"):
        viz.canvas(small(), ["a", "b"])


# The canvas, in a browser
DRAWINGS = [EXAMPLE, [[(10, 10), (200, 30), (90, 250)]], [[(100, 20), (40, 140), (100, 260), (160, 140), (100, 20)]],
            [[(5, 5), (6, 250)], [(80, 40), (90, 45)]], [[(50, 50)], [(60, 60), (70, 200)]], []]
DEEDS = """<script>
var root = document.querySelector(".minitorch-view"), paper = root.querySelector("canvas.paper"), log = {};
function said() { return root.querySelector("[aria-live]").textContent; }
function pointer(kind, x, y) {
  var box = paper.getBoundingClientRect();
  paper.dispatchEvent(new PointerEvent(kind, {clientX: box.left + x, clientY: box.top + y, bubbles: true}));
}
function key(k) { paper.dispatchEvent(new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true})); }
log.judged = DRAWINGS.map(function (s) { return root.judge(s); });
log.still = root.querySelectorAll(".still").length;
log.empty = said();
DRAWINGS[0].forEach(function (s) {
  s.forEach(function (p, i) { pointer(i ? "pointermove" : "pointerdown", p[0], p[1]); });
  pointer("pointerup", 0, 0);
});
log.drawn = said();
log.shares = Array.from(root.querySelectorAll(".bars > span:nth-child(3n)"), function (e) { return e.textContent; });
log.pixels = Array.from(root.querySelector("canvas.seen").getContext("2d").getImageData(0, 0, 28, 28).data);
key("Delete"); log.cleared = said();
key(" "); for (var i = 0; i < 6; i++) key("ArrowDown"); key(" "); key("ArrowRight");
log.keyboard = said(); key("Backspace"); log.undone = said();
var out = document.createElement("pre"); out.id = "log"; out.textContent = JSON.stringify(log);
document.body.appendChild(out);
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs an installed Chromium")
def test_a_browser_judges_as_the_library_does(tmp_path):
    model = small()
    with torch.no_grad():
        model(torch.rand(16, 1, 28, 28))                   # running statistics that are not 0 and 1
    view = viz.canvas(model, mean=0.13, std=0.31)
    page = tmp_path / "canvas.html"
    deeds = DEEDS.replace("DRAWINGS", json.dumps(DRAWINGS))
    page.write_text(f"<!DOCTYPE html><html><body>{view.html()}{deeds}</body></html>", encoding="utf-8")
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync",
                           f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(unescape(re.search(r'<pre id="log">(.*?)</pre>', done.stdout, re.DOTALL).group(1)))
    for strokes, judged in zip(DRAWINGS, found["judged"]):
        assert np.allclose(judged["image"], view.image(strokes).numpy().ravel(), atol=1e-5)
        assert np.allclose(judged["scores"], view.scores(strokes).numpy(), atol=1e-4)
    name, share = view.judged(EXAMPLE)[0]
    assert found["still"] == 0 and found["empty"] == "Draw something." == found["cleared"] == found["undone"]
    assert found["drawn"] == f"I see {name} ({round(100 * share)} %)"
    shares = (100 * view.scores(EXAMPLE).double().softmax(0)).round().int().tolist()
    assert found["shares"] == [f"{s} %" for s in shares]
    assert np.abs(np.array(found["pixels"]).reshape(784, 4)[:, 0] - 255 * view.image(EXAMPLE).numpy().ravel()).max() < 1
    assert found["keyboard"].startswith("I see ")
