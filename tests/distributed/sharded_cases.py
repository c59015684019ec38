"""Calls of definitions on DTensors with random placements, beside the same calls on plain tensors.

    python -m tests.distributed.sharded_cases --draws 20 --ranks 3 [names of definitions]
"""

import argparse
import random
import traceback
from datetime import timedelta

import numpy as np

import minitorch as torch
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor
from minitorch.distributed import init_device_mesh, threads
from minitorch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from minitorch.testing.strategies import Draw
from minitorch.utils._pytree import tree_leaves, tree_map


def run(program, size):
    return threads.run(program, size, timeout=timedelta(seconds=90))


def part_of(array, mesh, place, rank, seed=0):
    """A DTensor of the elements of `array`; a sum has random terms."""
    if not isinstance(place, Partial):
        return distribute_tensor(torch.tensor(array), mesh, [place], src_data_rank=None)
    terms = np.random.default_rng(seed).standard_normal((mesh.size(), *array.shape)).astype(array.dtype)
    terms[-1] = array - terms[:-1].sum(0)
    return DTensor.from_local(torch.tensor(terms[rank]), mesh, [place])


class Case:
    """A call of `op`: arrays, attributes, a placement for each array, and the gradients of the results."""

    def __init__(self, op, seed):
        self.rng = random.Random(f"{op.name} {seed}")
        self.op, (self.arrays, self.attrs) = op, Draw(self.rng).op_sample(op)
        self.variadic = op.inputs[0].kind == "variadic"
        kinds = [op.inputs[0]] * len(self.arrays) if self.variadic else op.inputs
        self.live = [isinstance(x, np.ndarray) and x.dtype.kind == "f" and k.kind != "other"
                     for x, k in zip(self.arrays, kinds)]
        self.places = [self.place(x.shape, live) if isinstance(x, np.ndarray) else None
                       for x, live in zip(self.arrays, self.live)]
        self.seeds, self.seed_places = [], []

    def place(self, shape, smooth):
        return self.rng.choice([Replicate(), Replicate(), *[Shard(d) for d in range(len(shape))] * 2,
                                *[Partial()] * smooth])

    def results(self, tensors, seeds_of):
        """The op's results for these tensors, and the gradients of those that have some."""
        tensors = [t.detach().requires_grad_() if live else t for t, live in zip(tensors, self.live)]
        found = self.op.call(tensors, **self.attrs) if self.variadic else self.op.call(*tensors, **self.attrs)
        outs = [x for x in tree_leaves(found) if isinstance(x, Tensor) and x.requires_grad]
        ins = [t for t, live in zip(tensors, self.live) if live]
        if not outs or any([getattr(f, "missing", False) for f in self.op.vjps.values()]):
            return found, []
        return found, torch.autograd.grad(outs, ins, seeds_of(outs), allow_unused=True)

    def plain_seeds(self, outs):
        rng = np.random.default_rng(1)
        for out in outs:
            self.seeds.append(rng.standard_normal(tuple(out.shape)).astype(out.dtype.np))
            self.seed_places.append(self.place(out.shape, not out.is_complex()))
        return [torch.tensor(seed) for seed in self.seeds]

    def check(self, ranks):
        """Assert that all ranks have the values and the gradients of one process."""
        tensors = [torch.tensor(x) if isinstance(x, np.ndarray) else x for x in self.arrays]
        expected = tree_map(numbers, self.results(tensors, self.plain_seeds))

        def program(rank):
            mesh = init_device_mesh("cpu", (ranks,))
            parts = [part_of(x, mesh, p, rank) if isinstance(x, np.ndarray) else x
                     for x, p in zip(self.arrays, self.places)]
            found = self.results(parts, lambda outs: [part_of(x, mesh, p, rank)
                                                      for x, p in zip(self.seeds, self.seed_places)])
            return tree_map(lambda t: numbers(t.full_tensor()) if isinstance(t, DTensor) else t, found)
        for found in run(program, ranks):
            close(tree_leaves(found), tree_leaves(expected))


def numbers(x):
    return x.detach().numpy() if isinstance(x, Tensor) else x


def close(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        else:
            assert a == b


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bad = 0
    for op_name in options.names or OPS:
        for draw in range(options.draws):
            try:
                Case(OPS[op_name], draw).check(options.ranks)
            except Exception:
                bad += 1
                print(op_name, draw, traceback.format_exc(limit=-1))
    print(f"{bad} of {len(options.names or OPS) * options.draws} differ")
