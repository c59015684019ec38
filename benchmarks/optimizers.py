"""Workloads: one step of an optimiser, beside PyTorch's default of the same name."""

import numpy as np

from .rows import row

SIZES = {"1 x 1,000": (1, 1_000), "148 x 1,000": (148, 1_000), "1 x 100,000": (1, 100_000),
         "1 x 10,000,000": (1, 10_000_000)}
OPTIMIZERS = {"Adam": ("Adam", {}), "AdamW": ("AdamW", {}), "SGD, momentum": ("SGD", {"momentum": 0.9})}
GATES = {("Adam", "148 x 1,000"): (0.3, 0.1), ("Adam", "1 x 10,000,000"): (1.0, 0.8)}


def make(torch, name, options, count, size):
    """The step of an optimiser of `count` matrices of `size` float32 elements with gradients."""
    rng = np.random.default_rng(0)

    def tensor():
        return torch.from_numpy(rng.standard_normal((size // 10, 10), dtype=np.float32))

    params = [torch.nn.Parameter(tensor()) for _ in range(count)]
    for p in params:
        p.grad = tensor()
    return getattr(torch.optim, name)(params, lr=1e-4, **options).step


for title, (name, options) in OPTIMIZERS.items():
    for text, (count, size) in SIZES.items():
        row(f"{name}/{count}x{size}", "optimisers", f"{title}, {text} parameters", *GATES.get((title, text), ()))(
            lambda torch, how=(name, options, count, size): make(torch, *how))
