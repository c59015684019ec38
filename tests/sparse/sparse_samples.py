"""The sparse samples of PyTorch's own list of ops beside ours: ``python -m tests.sparse.sparse_samples [NAMES]``.

Values, layouts and gradients of all ops that PyTorch computes on COO, CSR and CSC tensors, up to 40 samples each.
Batches of compressed matrices and blocks, which are not here, are counted. Loading PyTorch's list alone takes ten
seconds.
"""

import sys
import warnings
from collections import Counter
from itertools import islice
from unittest import SkipTest

import numpy as np

import minitorch

LAYOUTS = {"sparse_coo": "supports_sparse", "sparse_csr": "supports_sparse_csr", "sparse_csc": "supports_sparse_csc"}


def converted(torch, x):
    """An argument of PyTorch's as ours; LookupError for batches and blocks."""
    if isinstance(x, (torch.dtype, torch.layout)):
        return getattr(minitorch, str(x).removeprefix("torch."))
    if isinstance(x, (list, tuple)):
        return type(x)(converted(torch, y) for y in x)
    if not isinstance(x, torch.Tensor):
        return x
    if x.layout == torch.strided:
        found = minitorch.tensor(x.detach().numpy())
    elif x.layout == torch.sparse_coo:
        found = minitorch.sparse_coo_tensor(x._indices().numpy(), x._values().detach().numpy(), tuple(x.shape),
                                            is_coalesced=x.is_coalesced() or None)
    else:
        if x.layout not in (torch.sparse_csr, torch.sparse_csc):
            raise LookupError(x.layout)
        rows = x.layout == torch.sparse_csr
        indices = (x.crow_indices(), x.col_indices()) if rows else (x.ccol_indices(), x.row_indices())
        if indices[0].ndim > 1:
            raise LookupError("a batch")
        found = minitorch.sparse_compressed_tensor(*[i.numpy() for i in indices], x.values().detach().numpy(),
                                                   tuple(x.shape), layout=converted(torch, x.layout))
    return found.requires_grad_() if x.requires_grad else found


def differs(torch, ours, theirs):
    """The difference between two results, in words, or None."""
    if repr(ours.dtype) != str(theirs.dtype) or tuple(ours.shape) != tuple(theirs.shape):
        return f"{ours.dtype} {tuple(ours.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
    if f"torch.{ours.layout.name}" != str(theirs.layout):
        return f"{ours.layout.name}, not {theirs.layout}"
    if not np.allclose(ours.detach().to_dense().numpy(), theirs.detach().to_dense().numpy(), equal_nan=True):
        return "values"


def compare(torch, op, sample):
    """One word or two about a sample."""
    inputs = [sample.input, *sample.args]
    try:
        args = [converted(torch, x) for x in inputs]
        kwargs = {name: converted(torch, x) for name, x in sample.kwargs.items()}
    except LookupError:
        return "batch or blocks"
    try:
        expected = op(*inputs, **sample.kwargs)
    except RuntimeError:
        return "refused by PyTorch"
    function = minitorch
    for part in op.name.split("."):
        function = getattr(function, part, None)
    try:
        found = (function or getattr(minitorch.Tensor, op.name))(*args, **kwargs)
    except (RuntimeError, AttributeError, TypeError) as error:
        return f"refused: {type(error).__name__}: {str(error)[:60]}"
    if not isinstance(expected, torch.Tensor):
        return "no tensor"
    wrong = differs(torch, found, expected)
    if wrong or not expected.requires_grad:
        return wrong or "same"
    for x in inputs:                                       # samples share tensors
        if isinstance(x, torch.Tensor):
            x.grad = None
    try:
        seed = torch.ones_like(expected) if expected.layout == torch.strided else expected.detach().clone()
        expected.backward(seed)
    except RuntimeError:
        return "same, without PyTorch's gradient"
    found.backward(converted(torch, seed))
    grads = [(a.grad, b.grad) for a, b in zip(args, inputs) if isinstance(b, torch.Tensor) and b.grad is not None]
    return next((f"gradient: {w}" for a, b in grads if (w := differs(torch, a, b))), "same, with gradients")


def main(names):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    warnings.simplefilter("ignore")
    for layout, supported in LAYOUTS.items():
        for op in op_db:
            if not getattr(op, supported) or names and op.name not in names:
                continue
            try:
                samples = islice(op.sample_inputs_sparse(getattr(torch, layout), "cpu", torch.float64,
                                                         requires_grad=op.supports_autograd), 40)
                counts = Counter(compare(torch, op, sample) for sample in samples)
            except (NotImplementedError, SkipTest):
                continue                                   # PyTorch has no samples
            print(f"{layout} {op.name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
