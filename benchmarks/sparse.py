"""Workloads: products with a sparse matrix of a million entries, forward and with the gradient of the dense factor."""

import numpy as np

from .rows import row

ROWS, ENTRIES, COLUMNS = 100_000, 1_000_000, 64


def make(torch, layout, with_gradient):
    """`sparse.mm` of a random matrix and a dense one of 64 columns."""
    rng = np.random.default_rng(0)
    matrix = torch.sparse_coo_tensor(torch.from_numpy(rng.integers(0, ROWS, (2, ENTRIES))), torch.from_numpy(
        rng.standard_normal(ENTRIES, dtype=np.float32)), (ROWS, ROWS), check_invariants=False).coalesce()
    matrix = matrix.to_sparse_csr() if layout == "CSR" else matrix
    dense = torch.from_numpy(rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)).requires_grad_(with_gradient)
    g = torch.from_numpy(rng.standard_normal((ROWS, COLUMNS), dtype=np.float32))

    def step():
        dense.grad = None
        out = torch.sparse.mm(matrix, dense)
        if with_gradient:
            out.backward(g)
    return step


for layout in ("COO", "CSR"):
    for with_gradient in (False, True):
        what = "product and gradient" if with_gradient else "product"
        row(f"sparse/{layout.lower()}{'/gradient' if with_gradient else ''}", "sparse matrices",
            f"{layout}, {ROWS:,} x {ROWS:,}, {ENTRIES:,} entries, x {COLUMNS}, {what}")(
            lambda torch, how=(layout, with_gradient): make(torch, *how))
