"""Workloads: products of square matrices, forward, and with both gradients."""

import numpy as np

from .rows import row


def matrices(torch, n):
    rng = np.random.default_rng(0)
    return [torch.from_numpy(rng.standard_normal((n, n), dtype=np.float32)) for _ in range(3)]


def forward(torch, n):
    a, b, _ = matrices(torch, n)

    def step():
        with torch.no_grad():
            return a @ b
    return step


def both(torch, n):
    a, b, g = matrices(torch, n)
    a.requires_grad_()
    b.requires_grad_()

    def step():
        a.grad = b.grad = None
        (a @ b).backward(g)
    return step


for n in (64, 128, 256, 512, 1024, 2048):
    row(f"matmul/{n}/forward", "matrix products", f"{n} x {n}, forward")(lambda torch, n=n: forward(torch, n))
    row(f"matmul/{n}/both", "matrix products", f"{n} x {n}, forward and backward")(lambda torch, n=n: both(torch, n))
