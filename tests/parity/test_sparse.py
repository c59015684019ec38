"""Sparse tensors beside PyTorch's: values, layouts of results and gradients, what is refused, text, files."""

import io
import warnings

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch")
LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc"]


def sparse(lib, layout, dense=((0, 2.0, 0), (3, 0, 4), (0, 0, 0), (0, 5, 0))):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = lib.tensor(dense, dtype=lib.float64).to_sparse(layout=getattr(lib, layout))
    return found.detach().requires_grad_()


def other(lib, *shape):
    return lib.tensor(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape), dtype=lib.float64, requires_grad=True)


# Functions of the library, a sparse matrix (4, 3), a dense one (3, 2) and one like the first.
FUNCTIONS = {
    "mm": lambda lib, s, d, e: lib.mm(s, d), "matmul": lambda lib, s, d, e: s @ d,
    "mv": lambda lib, s, d, e: s.mv(d[:, 0]),
    "dense mm": lambda lib, s, d, e: e.t() @ s, "sparse.mm": lambda lib, s, d, e: lib.sparse.mm(s, d),
    "sparse.mm of dense": lambda lib, s, d, e: lib.sparse.mm(e.t(), s), "addmm": lambda lib, s, d, e: lib.addmm(
        d.new_ones(4, 2), s, d, beta=2, alpha=3), "sparse.addmm": lambda lib, s, d, e: lib.sparse.addmm(
        d.new_ones(4, 2), s, d, beta=2, alpha=3), "hspmm": lambda lib, s, d, e: lib.hspmm(s.detach(), d.detach()),
    "smm": lambda lib, s, d, e: lib.smm(s.detach(), d.detach()), "spmm": lambda lib, s, d, e: lib.spmm(s, d),
    "sampled_addmm": lambda lib, s, d, e: lib.sparse.sampled_addmm(s, e, d @ d.t(), beta=2, alpha=3),
    "mean": lambda lib, s, d, e: lib.sparse.mm(s, d, "mean"), "amax": lambda lib, s, d, e: lib.sparse.mm(s, d, "amax"),
    "amin": lambda lib, s, d, e: lib.sparse.mm(s, d, "amin"), "ss": lambda lib, s, d, e: lib.mm(s, s.t()),
    "linear": lambda lib, s, d, e: lib.nn.functional.linear(s, d.t()),
    "dense linear": lambda lib, s, d, e: lib.nn.functional.linear(e, s),
    "add": lambda lib, s, d, e: s + s.detach() * 2, "dense add": lambda lib, s, d, e: e + s,
    "sub": lambda lib, s, d, e: s - 3 * s, "mul": lambda lib, s, d, e: s * s.detach(),
    "dense mul": lambda lib, s, d, e: s * e,
    "number": lambda lib, s, d, e: s * 2, "0-d": lambda lib, s, d, e: s * d.sum(),
    "div": lambda lib, s, d, e: s / 2,
    "pow": lambda lib, s, d, e: s**2,
    "floor": lambda lib, s, d, e: s.detach() // 2, "plus 1": lambda lib, s, d, e: s + 1,
    "neg": lambda lib, s, d, e: -s, "abs": lambda lib, s, d, e: s.abs(), "relu": lambda lib, s, d, e: s.relu(),
    "sum": lambda lib, s, d, e: s.sum(), "sum all": lambda lib, s, d, e: s.detach().sum((0, 1), keepdim=True),
    "sum 1": lambda lib, s, d, e: s.detach().sum(1, keepdim=True), "sparse.sum": lambda lib, s, d, e: lib.sparse.sum(s),
    "sparse.sum 0": lambda lib, s, d, e: lib.sparse.sum(s, 0), "softmax": lambda lib, s, d, e: lib.sparse.softmax(s, 1),
    "log_softmax": lambda lib, s, d, e: lib.sparse.log_softmax(s, 0), "t": lambda lib, s, d, e: s.t(),
    "to_dense": lambda lib, s, d, e: s.to_dense(), "whole": lambda lib, s, d, e: s.to_dense(masked_grad=False),
    "csr": lambda lib, s, d, e: s.to_sparse_csr(), "csc": lambda lib, s, d, e: s.to_sparse_csc(),
    "coo": lambda lib, s, d, e: s.to_sparse(), "values": lambda lib, s, d, e: s.values(),
    "clone": lambda lib, s, d, e: s.clone(), "float": lambda lib, s, d, e: s.float(),
    "index_select": lambda lib, s, d, e: s.detach().index_select(0, lib.tensor([1, 3, 1])),
    "select": lambda lib, s, d, e: s.detach()[1], "element": lambda lib, s, d, e: s.detach()[1, 2],
    "slice": lambda lib, s, d, e: s[:2], "index": lambda lib, s, d, e: s[lib.tensor([0])],
    "cat": lambda lib, s, d, e: lib.cat([s.detach(), s.detach()], 1), "stack": lambda lib, s, d, e: lib.stack([s, s]),
    "unsqueeze": lambda lib, s, d, e: s.detach().unsqueeze(1), "reshape": lambda lib, s, d, e: s.reshape(3, 4),
    "zeros_like": lambda lib, s, d, e: lib.zeros_like(s), "ones_like": lambda lib, s, d, e: lib.ones_like(s),
    "mask": lambda lib, s, d, e: e.detach().sparse_mask(s), "eq": lambda lib, s, d, e: s == s,
    "isnan": lambda lib, s, d, e: s.isnan(), "exp": lambda lib, s, d, e: s.exp(),
    "mean all": lambda lib, s, d, e: s.mean(),
    "argmax": lambda lib, s, d, e: s.argmax(), "clamp": lambda lib, s, d, e: s.clamp(0),
    "view": lambda lib, s, d, e: s.view(12)}


def answer(lib, name, layout):
    """The result of a function and the gradients of its inputs, or the error."""
    s, d, e = sparse(lib, layout), other(lib, 3, 2), other(lib, 4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = FUNCTIONS[name](lib, s, d, e)
        except RuntimeError as error:
            return error, None
        grads = None
        if out.grad_fn is not None:
            try:
                out.backward(lib.ones_like(out) if out.layout == lib.strided else out.detach().clone())
                grads = [x.grad for x in (s, d, e)]
            except RuntimeError as error:
                grads = error
    return out, grads


def agree(a, b):
    """True if a tensor is PyTorch's `b`: layout, dtype and elements."""
    assert (a is None) == (b is None)
    if a is not None:
        assert repr(a.layout) == str(b.layout) or a.layout == minitorch.strided and b.layout == torch.strided
        assert repr(a.dtype) == str(b.dtype) and tuple(a.shape) == tuple(b.shape)
        assert np.allclose(a.detach().to_dense().numpy(), b.detach().to_dense().numpy())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_and_gradients(name, layout):
    theirs, their_grads = answer(torch, name, layout)
    ours, grads = answer(minitorch, name, layout)
    if isinstance(theirs, Exception):                      # what PyTorch refuses of COO tensors is refused
        assert isinstance(ours, Exception) or layout != "sparse_coo"
        return
    if isinstance(ours, Exception):
        assert layout == "sparse_csc" and name in ("index_select",)
        return
    agree(ours, theirs)
    if isinstance(their_grads, list):
        assert isinstance(grads, list)
        for a, b in zip(grads, their_grads):
            agree(a, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_text_and_files(layout):
    for dense in (((0, 2.0, 0), (3, 0, 4)), ((0.0, 0.0), (0.0, 0.0)), ((1e-9, 12345.678), (0.5, 0.0))):
        ours, theirs = [sparse(lib, layout, dense) for lib in (minitorch, torch)]
        for a, b in ((ours, theirs), (ours.detach().float(), theirs.detach().float())):
            assert repr(a) == repr(b)
        for writer, reader, x in ((torch, minitorch, theirs), (minitorch, torch, ours)):
            file = io.BytesIO()
            writer.save({"x": x.detach()}, file)
            file.seek(0)
            found = reader.load(file, weights_only=True)["x"]
            assert str(found.layout) == str(x.layout)
            assert found.to_dense().tolist() == x.to_dense().tolist()


@pytest.mark.parametrize("make", [
    lambda lib, p: lib.optim.SparseAdam(p, lr=0.1), lambda lib, p: lib.optim.SparseAdam(p, maximize=True),
    lambda lib, p: lib.optim.SGD(p, 0.1, momentum=0.9, dampening=0.1),
    lambda lib, p: lib.optim.Adagrad(p, 0.1, lr_decay=0.1),
    lambda lib, p: lib.optim.SGD(p, 0.1, momentum=0.9, nesterov=True)])
def test_optimisers(make):
    tables = []
    for lib in (torch, minitorch):
        start = other(lib, 6, 3).detach().clone()
        table = lib.nn.Embedding.from_pretrained(start, freeze=False, sparse=True, padding_idx=2)
        optimizer = make(lib, table.parameters())
        for index in ([1, 2, 2, 5], [0, 1], [5, 5, 5], [1, 2]):
            optimizer.zero_grad()
            (table(lib.tensor(index)) ** 2).sum().backward()
            grad = table.weight.grad
            optimizer.step()
        assert grad.is_sparse and grad._nnz() == 1
        tables.append(table.weight.detach().numpy())
    assert np.allclose(*tables)
