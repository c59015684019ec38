"""Workloads: rows looked up in a table, and their gradients added up."""

import numpy as np

from .rows import row


def make(torch, rows, width, count):
    rng = np.random.default_rng(0)
    table, g = [torch.from_numpy(rng.standard_normal((n, width), dtype=np.float32)) for n in (rows, count)]
    table.requires_grad_()
    ids = torch.from_numpy(rng.integers(0, rows, count))

    def step():
        table.grad = None
        torch.nn.functional.embedding(ids, table).backward(g)
    return step


for rows, width, count, gates in ((50_000, 256, 8192, (0.3, 0.13)), (5_000, 64, 20_000, ()), (65, 128, 1024, ())):
    row(f"embedding/{rows}x{width}", "embedding", f"{rows:,} x {width}, {count:,} ids, forward and backward", *gates)(
        lambda torch, rows=rows, width=width, count=count: make(torch, rows, width, count))
