"""Draw the pictures of the README: ``python docs/build_pictures.py`` writes them to docs/pictures.

A graph of a loss with its gradients, a still of the replay of a backward pass, the memory accesses of a kernel with a
race, and what ``python -m minitorch demo`` leaves (which trains for some seconds and needs the extra ``demo``).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import minitorch as torch
from minitorch import viz

PICTURES = Path(__file__).resolve().parent / "pictures"


def loss():
    """A loss that uses `w` twice."""
    x, w, b = (torch.tensor(v, requires_grad=True) for v in (1.5, -2.0, 0.5))
    h = (w * x + b).tanh()
    return (h * w - 1) ** 2, {"x": x, "w": w, "b": b, "h": h}


def graph():
    """The graph after its backward pass; drawn before it too, so that the values of constants are known."""
    y, names = loss()
    viz.graph(y, params=names)
    y.backward()
    return viz.graph(y, params=names)


def replay():
    """Each place of a backward pass with the gradient that came together there."""
    y, names = loss()
    return viz.replay(y, params=names)


def turned(t, x, y, tile):
    """A transpose through shared memory without its barrier."""
    row, column = t.thread // 4, t.thread % 4
    tile[4 * row + column] = x[4 * row + column]
    y[4 * row + column] = tile[4 * column + row]


def kernel():
    """Who touches which words: sixteen threads, and the race between them."""
    accesses = viz.emulate(turned, 1, 16, {"x": [1.0] * 16, "y": [0.0] * 16}, {"tile": 16})
    return viz.kernel(accesses, turned, "transpose")


DRAWN = {"graph": graph, "replay": replay, "kernel": kernel}


def draw(folder):
    """Write the drawings as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in DRAWN.items():
        make().save(folder / f"{name}.svg")


def demo(target):
    """Run the demonstration and keep its picture."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "minitorch", "demo", "--out", folder], check=True)
        target.write_bytes((Path(folder) / "digits.png").read_bytes())


if __name__ == "__main__":
    draw(PICTURES)
    demo(PICTURES / "demo.png")
    print("wrote", *sorted(path.name for path in PICTURES.iterdir()))
