"""Each cut that follows from an op's `dims`, computed in parts by ranks, equals the whole."""

import random
import warnings

import numpy as np
import pytest

import minitorch as torch
from minitorch.backends.cpu.backend import cpu
from minitorch.core.registry import OPS
from minitorch.distributed import init_device_mesh
from minitorch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from minitorch.distributed.tensor.backend import backend_of
from minitorch.distributed.tensor.rules import Call, cuts, localized
from minitorch.distributed.tensor.sharded import redistributed, replicated, sharded
from minitorch.ops.dims import is_elementwise
from minitorch.testing.strategies import Draw
from minitorch.utils._pytree import tree_leaves
from tests.distributed.sharded_cases import close, numbers, run

DRAWS = 12
# Nothing in the drawn calls of these can be cut: they have no batch, or need all dimensions whole.
WHOLE = set("""as_strided as_strided_backward as_strided_take as_strided_scatter as_strided_zero
    cofactors inv lu_factor masked_scatter masked_select_backward matrix_exp median_all
    pad_flat pinv put qr roll slogdet svd svdvals take_first tied total_norm""".split())


def calls_of(op):
    """Arrays and attributes of drawn calls, and the results; also with what the op keeps, if that
    is elementwise: kernels arrange the rest in their own way, which gradients show."""
    for seed in range(DRAWS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays, attrs = Draw(random.Random(seed)).op_sample(op)
        attrs = {k: getattr(x, "np", x) for k, x in (dict(op.attrs) | attrs).items()}  # raw dtypes
        for full in {False, bool(op.keeps) and is_elementwise(op)}:
            found = getattr(cpu, f"full_{op.name}" if full else op.name)(*arrays, **attrs)
            if op.inputs[0].kind != "variadic":
                arrays = [*arrays, *[None] * (len(op.inputs) - len(arrays))]
            yield arrays, attrs, full, [np.asarray(x) for x in tree_leaves(found) if x is not None]


def placed(F, x, place, rank):
    """An array at a placement; the terms of a sum are random."""
    if not isinstance(x, np.ndarray):
        return x
    if not isinstance(place, Partial):
        return redistributed(replicated(F, x), (place,))
    terms = np.random.default_rng(0).integers(-3, 4, (F.mesh.size(), *x.shape)).astype(x.dtype)
    terms[-1] = x - terms[:-1].sum(0)
    return sharded(F, np.asarray(terms[rank]), x.shape, (place,))


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.dims is not None])
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_cut(name, ranks):
    op, drawn = OPS[name], list(calls_of(OPS[name]))

    def program(rank):
        F, many = backend_of(init_device_mesh("cpu", (ranks,))), 0
        for arrays, attrs, full, expected in drawn:
            everywhere = [placed(F, x, Replicate(), rank) for x in arrays]
            for ins, outs in cuts(Call(F, op, everywhere, attrs, full)):
                parts = [placed(F, x, p, rank) for x, p in zip(arrays, ins)]
                call = Call(F, op, parts, attrs, full)
                found = F.in_parts(call, [ins], [outs], localized(call, [outs]))
                close([x.whole() for x in tree_leaves(found) if x is not None], expected)
                many += 1
        return many
    assert (run(program, ranks)[0] == 0) == (name in WHOLE)


def cut_results(function, tensors, places, ranks=2):
    """The placement and the values of ``function(*tensors)`` with tensors at these placements."""
    def program(rank):
        mesh = init_device_mesh("cpu", (ranks,))
        found = function(*[distribute_tensor(t, mesh, [p]) for t, p in zip(tensors, places)])
        return found.placements[0], numbers(found.full_tensor())
    found = run(program, ranks)
    close([values for _, values in found], [numbers(function(*tensors))] * ranks)
    return found[0][0]


X, EXCHANGED = torch.arange(20.0).reshape(5, 4) - 7, "cut along the other dimension first"


@pytest.mark.parametrize("function, place, result", [
    (lambda x: x.sum(0), Shard(0), Partial()),             # of 3 and 2 rows
    (lambda x: x.mean(0), Shard(0), EXCHANGED),
    (lambda x: x.mean(1), Shard(1), Partial("avg")),
    (lambda x: x.amax(0), Shard(0), Partial("max")),
    (lambda x: (x > 0).all(0), Shard(0), Partial("min")),
    (lambda x: x.prod(0), Shard(0), Partial("product")),
    (lambda x: x.to(torch.complex64).prod(0), Shard(0), EXCHANGED),
    (lambda x: x[:1].clone().amax(0), Shard(0), EXCHANGED),        # a part without rows
    (lambda x: x[0:5, 1:], Shard(0), Shard(0)),            # all rows
    (lambda x: x[1:], Shard(1), Shard(1)),
    (lambda x: x.reshape(20), Shard(0), Replicate()),      # parts of 12 and 8 elements
    (lambda x: x.reshape(10, 2), Shard(0), Replicate()),
    (lambda x: x[:4].reshape(2, 8), Replicate(), Replicate()),
    (lambda x: x.reshape(1, 5, 4), Shard(0), Shard(1)),
    (lambda x: x.flip(1), Shard(0), Shard(0)),
    (lambda x: x.sum(0).to(torch.int64), Shard(0), Replicate()),   # a sum of floats, then integers
])
def test_where_results_lie(function, place, result):
    assert cut_results(function, [X], [place]) == (Shard(0) if result == EXCHANGED else result)


def test_attributes_that_are_equal_may_differ():
    """``x.var(True)`` is over all dimensions, ``x.var(1)`` over one."""
    for dims in [(1, True), (True, 1)]:
        cut_results(lambda x, dims=dims: sum([x.var(dim).sum() for dim in dims]), [X], [Shard(0)])


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_an_index_of_fewer_rows_is_not_broadcast(rows):
    index, ones = torch.tensor([[2, 0, 1]]).repeat(rows, 1), torch.ones(rows, 3)
    for place in (Shard(0), Shard(1)):
        cut_results(lambda x, i: x.gather(1, i), [X, index], [place, Replicate()])
        cut_results(lambda x, i: x.gather(1, i), [X, index], [place, place])
        for name in ("scatter", "scatter_add"):
            cut_results(lambda x, i, y, name=name: getattr(x, name)(1, i, y), [X, index, ones],
                        [place, Replicate(), Replicate()])
