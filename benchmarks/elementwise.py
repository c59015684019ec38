"""Workloads: chains of elementwise steps and row reductions, on 100 to 10 million floats in rows of up to 1,000."""

import numpy as np

from .rows import row

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
# name: (function of the library, x, y, z, weight and bias; which of these get gradients; (gate, target) by size)
OPS = {
    "gelu": (lambda torch, x, y, z, w, b: torch.nn.functional.gelu(x, approximate="tanh"), "x",
             {1_000_000: (0.9, 0.7)}),
    "softmax": (lambda torch, x, y, z, w, b: torch.softmax(x, -1), "x", {1_000_000: (3, 2)}),
    "layer_norm": (lambda torch, x, y, z, w, b: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b), "xwb",
                   {1_000_000: (4, 2.5)}),
    "x*y+z": (lambda torch, x, y, z, w, b: x * y + z, "xyz", {10_000_000: (0.95, 0.8)}),
}


def operands(torch, size):
    """x, y, z, then a weight and a bias for each column, then the gradient of the result."""
    rng = np.random.default_rng(0)
    columns = min(size, 1000)
    x, y, z, g = [torch.from_numpy(rng.standard_normal((size // columns, columns), dtype=np.float32)) for _ in "xyzg"]
    w, b = [torch.from_numpy(rng.standard_normal(columns, dtype=np.float32)) for _ in "wb"]
    return x, y, z, w, b, g


def forward(torch, f, size):
    *inputs, _ = operands(torch, size)

    def step():
        with torch.no_grad():
            return f(torch, *inputs)
    return step


def both(torch, f, size, names):
    *inputs, g = operands(torch, size)
    leaves = [x.requires_grad_() for name, x in zip("xyzwb", inputs) if name in names]

    def step():
        for x in leaves:
            x.grad = None
        f(torch, *inputs).backward(g)
    return step


def add_rows():
    for name, (f, names, gates) in OPS.items():
        for size in SIZES:
            text = f"{size:.0e}".replace("e+0", "e")
            row(f"{name}/{text}/forward", "elementwise", f"{name} {text}, forward", *gates.get(size, ()))(
                lambda torch, f=f, size=size: forward(torch, f, size))
            row(f"{name}/{text}/both", "elementwise", f"{name} {text}, forward and backward")(
                lambda torch, f=f, size=size, names=names: both(torch, f, size, names))


add_rows()
