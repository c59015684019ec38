"""All views on one page, to be looked at: ``python -m minitorch.viz contact-sheet DIR``.

The page and each view are written as HTML; where a Chromium is installed, as PNG too, drawn without a network.
"""

import shutil
import subprocess
import tempfile
from html import escape
from pathlib import Path

import minitorch
from minitorch import nn, viz

from ..profiler.profile import profile, record_function
from ..testing import doctor
from .drawing import page

__all__ = ["contact_sheet", "views", "screenshot"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def views():
    """Name -> a view, of examples like those of the lessons."""
    made = {}
    minitorch.manual_seed(0)
    x, b = minitorch.tensor(2.0, requires_grad=True), minitorch.tensor(-1.0, requires_grad=True)
    h = x * b + 3
    y = (h * h).tanh() + h.exp()
    names = {"x": x, "b": b, "h": h, "y": y}
    made["graph before backward"] = y.graph(params=names)
    made["replay of a number"] = viz.replay(y, params=names)
    y.backward()
    made["graph after backward"] = y.graph(params=names)
    made.update(network_views())
    made.update(memory_views())
    made.update(kernel_views())
    made.update(summary_views())
    return made


def network_views():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 3))
    data, labels = minitorch.randn(16, 4), minitorch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(net(data), labels)
    made = {"graph of a network": viz.graph(loss, net), "graph, modules": viz.graph(loss, net).collapse("Module"),
            "replay of a network": viz.replay(loss, net)}
    optimizer = minitorch.optim.Adam(net.parameters(), lr=0.05)
    with viz.flow(net) as flow:
        for _ in range(60):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(data), labels).backward()
            optimizer.step()
    words = "the cat sat on the mat".split()
    q, k, v = (minitorch.randn(6, 4) * 1.5 for _ in range(3))
    with doctor() as checkup:
        train_badly()
    made.update({"attention": viz.attention(q, k, v, is_causal=True, tokens=words), "run doctor": checkup,
                 "forward pass": viz.forward(transformer(), minitorch.randint(0, 20, (1, 6)), tokens=words),
                 "canvas": viz.canvas(nn.Sequential(nn.Flatten(), nn.Linear(784, 10)))})
    block = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    attended = block(minitorch.randn(2, 5, 8)).sum()
    return {**made, "flow": flow, "histograms of activations": flow.histograms(),
            "histograms of gradients": flow.histograms("gradients"),
            "graph of an encoder layer": viz.graph(attended, block),
            "graph of an encoder layer, modules": viz.graph(attended, block).collapse("Module")}


def transformer():
    """A small transformer, from tokens to scores."""
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)
    return nn.Sequential(nn.Embedding(20, 16), layers, nn.Linear(16, 20))


def train_badly():
    """A run with a learning rate far too high, for the doctor."""
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
    data, labels = minitorch.randn(64, 4), minitorch.randint(0, 3, (64,))
    optimizer = minitorch.optim.SGD(net.parameters(), lr=20.0)
    for _ in range(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(data), labels).backward()
        optimizer.step()


def memory_views():
    base = minitorch.arange(24.0).reshape(4, 6)
    turned, piece, copy = base.t(), base[1:3, ::2], base.clone()
    rows, cube = minitorch.arange(4).expand(3, 4), minitorch.arange(24).reshape(2, 3, 4)
    return {"layout, contiguous": base.layout(), "layout, transposed": turned.layout(),
            "layout, slice": piece.layout(), "layout, expanded": rows.layout(),
            "layout, three dimensions": cube.layout(),
            "layout, large": minitorch.zeros(100, 300)[10:90:2, 5:].layout(),
            "alias": viz.alias(base=base, turned=turned, piece=piece, copy=copy)}


def total(t, x, out, tile):
    """A sum by a tree in shared memory."""
    tile[t.thread] = x[t.index]
    yield
    step = t.threads // 2
    while step:
        if t.thread < step:
            tile[t.thread] += tile[t.thread + step]
        yield
        step //= 2
    if t.thread == 0:
        out.add(0, tile[0])


def turn(t, x, y, tile):
    """A transpose through a tile whose columns all lie in one bank, without the barrier that it needs."""
    row, column = t.thread // 8, t.thread % 8
    tile[32 * row + column] = x[8 * row + column]
    y[8 * row + column] = tile[32 * column + row]


def kernel_views():
    summed = viz.emulate(total, 2, 64, {"x": [1.0] * 128, "out": [0.0]}, {"tile": 64})
    turned = viz.emulate(turn, 1, 64, {"x": [1.0] * 64, "y": [0.0] * 64}, {"tile": 256})
    return {"kernel, a sum": viz.kernel(summed, total, "sum"),
            "kernel, a race and bank conflicts": viz.kernel(turned, turn, "transpose")}


def summary_views():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10))
    images = minitorch.randn(8, 1, 8, 8)
    with profile(profile_memory=True) as prof:
        for _ in range(2):
            with record_function("step"):
                net(images).sum().backward()
    return {"summary": nn.summary(net, images), "module": net, "profile": prof, "tensor": images[0, 0]}


LOOKS = {"light": (1100, 1300, False), "dark": (1100, 1300, True), "phone": (390, 844, False)}    # of the PNGs


def contact_sheet(folder):
    """Write all views to `folder`: ``index.html``, a page for each, and PNGs if there is a Chromium; its index.

    The PNGs are of light and dark pages, and of a screen as narrow as a phone's.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bodies = []
    for name, view in views().items():
        source = view._repr_html_()
        body = f"<h2>{escape(name)}</h2>\n{source}\n<details><summary>in words</summary><pre>" \
               f"{escape(str(view)[:1500])}</pre></details>"
        path = folder / (name.replace(", ", "-").replace(" ", "-") + ".html")
        path.write_text(page(name, body), encoding="utf-8")
        bodies.append(body)
        for look, (width, height, dark) in LOOKS.items():
            screenshot(path, path.with_suffix(f".{look}.png"), width, height, dark)
    index = folder / "index.html"
    index.write_text(page("minitorch: all views", "<h1>All views</h1>", *bodies), encoding="utf-8")
    return index


def screenshot(path, target, width=1100, height=1300, dark=False):
    """Draw a page as a PNG with a Chromium that is installed; False if none is."""
    browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                        "--disable-background-networking", "--disable-component-update", "--disable-sync",
                        *["--blink-settings=preferredColorScheme=0"] * dark,
                        f"--user-data-dir={profile}", f"--screenshot={target}", f"--window-size={width},{height}",
                        Path(path).resolve().as_uri()], check=True, capture_output=True, timeout=120)
    return True
