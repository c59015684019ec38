"""The record that `plan` makes of a step, and its model's prediction for more ranks."""

import pickle

import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import threads
from minitorch.distributed.planning import LINKS, cost


def test_every_call_counts_with_the_bytes_it_moves():
    def program(rank):
        x, y, other = torch.ones(3, 5), torch.ones(7), 1 - rank

        def step():
            dist.all_reduce_coalesced([x, y])
            dist.all_gather_into_tensor(torch.empty(14), y)
            dist.all_to_all_single(torch.empty(4), torch.ones(4))
            dist.reduce_scatter_tensor(torch.empty(7), torch.ones(14))
            dist.broadcast(x, 0, async_op=True).wait()
            dist.all_gather_object([None, None], "text" * 10)
            (dist.send if rank else dist.recv)(y, other)
            dist.barrier()
        return dist.plan(step)
    text = len(pickle.dumps("text" * 10))
    for rank, found in enumerate(threads.run(program, 2)):
        calls = [(c.name, c.parts, c.asynchronous) for c in found.calls]
        *first, objects, message, last = calls
        assert first == [("all_reduce_coalesced", [("all_reduce", 60), ("all_reduce", 28)], False),
                         ("all_gather_into_tensor", [("all_gather", 28)], False),
                         ("all_to_all_single", [("all_to_all", 16)], False),
                         ("reduce_scatter_tensor", [("reduce_scatter", 28)], False),
                         ("broadcast", [("broadcast", 60)], True)]
        assert objects[0] == "all_gather_object" and abs(objects[1][-1][1] - text) < 16
        assert message == (("recv", "send")[rank], [(("recv", "send")[rank], 28)], False)
        assert last == ("barrier", [("barrier", 0)], False)


def test_the_time_of_a_coalesced_call_is_that_of_its_parts():
    def program(rank):
        xs = [torch.ones(1000), torch.ones(50_000)]
        return (dist.plan(lambda: dist.all_reduce_coalesced(xs)), dist.plan(lambda: [dist.all_reduce(x) for x in xs]))
    for together, apart in threads.run(program, 2):
        for ranks in (2, 64, 4096):
            assert together.communication(ranks) == pytest.approx(apart.communication(ranks))
            assert together.communication(ranks) == pytest.approx(
                sum(cost("all_reduce", size, ranks, LINKS["10GbE"]) for size in (4000, 200_000)))


def test_the_table_of_the_page():
    """docs/distributed.md: all-reduce of 496 MB."""
    size = 4 * 124e6
    found = [[cost("all_reduce", size, n, LINKS["10GbE"]), cost("all_reduce", size, n, LINKS["ib400"])]
             for n in (8, 64, 1024, 4096)]
    for row, expected in zip(found, [(0.74, 0.019), (0.84, 0.021), (0.91, 0.026), (1.09, 0.038)]):
        assert row == pytest.approx(expected, rel=0.03)


def test_costs_grow_with_the_size():
    from minitorch.distributed import planning
    link = planning.LINKS["100GbE"]
    for name in ("all_gather", "reduce_scatter", "all_to_all", "broadcast", "all_reduce"):
        small, large = [planning.cost(name, n, 4, link) for n in (1000, 10**9)]
        assert 0 < small < large
