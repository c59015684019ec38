"""Long all-reduces of two ranks go round a ring of pieces: with small slots, between other calls, at any pace."""

import functools
import random
import time

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import shared, threads, world


@pytest.fixture
def small_slots(monkeypatch):
    """Slots of 256 bytes: pieces of 64."""
    monkeypatch.setattr(world, "SLOT", 256)
    monkeypatch.setattr(world, "SharedTransport", functools.partial(shared.SharedTransport, slot=256))


@pytest.mark.parametrize("seed", range(3))
def test_ranks_may_be_apart(small_slots, monkeypatch, seed):
    really, sync = shared.reduce_arrays, random.Random(seed)

    def slowly(*args):
        if sync.random() < 0.05:
            time.sleep(sync.random() * 2e-3)
        really(*args)
    monkeypatch.setattr(shared, "reduce_arrays", slowly)
    calls = random.Random(seed)
    plan = [(calls.choice(["sum", "sum", "max", "gather", "barrier", "reduce"]), calls.choice([0, 5, 64, 65, 1003]),
             calls.choice([torch.float32, torch.bfloat16, torch.int16, torch.complex64])) for _ in range(25)]

    def program(rank):
        for i, (name, n, dtype) in enumerate(plan):
            values = [(np.arange(n) % 7 + 3 * r + i) for r in range(2)]
            x = torch.tensor(values[rank].tolist()).to(dtype)
            if name == "gather":
                found = [torch.empty_like(x) for _ in range(2)]
                dist.all_gather(found, x)
                for t, v in zip(found, values):
                    np.testing.assert_array_equal(t.to(torch.complex64).numpy(), v)
            elif name == "barrier":
                dist.barrier()
            elif name == "reduce":
                dist.reduce(x, i % 2)
                expected = sum(values) if rank == i % 2 else values[rank]
                np.testing.assert_array_equal(x.to(torch.complex64).numpy(), expected)
            else:
                largest = name == "max" and dtype is not torch.complex64
                dist.all_reduce(x, dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM)
                np.testing.assert_array_equal(x.to(torch.complex64).numpy(),
                                              np.maximum(*values) if largest else sum(values))
    threads.run(program, 2)


def test_one_that_ends_while_the_other_goes_round_is_named(small_slots):
    def program(rank):
        if rank:
            raise KeyError("no such column")
        dist.all_reduce(torch.ones(1000))
    with pytest.raises(KeyError, match="no such column"):
        threads.run(program, 2)

    def other(rank):
        dist.all_reduce(torch.ones(1000 + rank))
    with pytest.raises(dist.DistBackendError, match=r"rank . is in all_reduce #1 float32 \[100.\] sum"):
        threads.run(other, 2)
