"""Join: loops of different length, for several objects that communicate in each iteration."""

import copy

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch import nn
from minitorch.distributed.algorithms.join import Join, Joinable, JoinHook
from minitorch.distributed.optim import ZeroRedundancyOptimizer
from minitorch.nn.parallel import DistributedDataParallel
from tests.distributed.sharded_cases import close, numbers, run


class Counter(Joinable):
    """Counts the ranks at work, as PyTorch's tutorial does."""

    def __init__(self, group):
        self.group, self.counts, self.main, self.post = group, [], 0, []

    def __call__(self):
        Join.notify_join_context(self)
        count = torch.ones(1)
        dist.all_reduce(count, group=self.group)
        self.counts.append(count.item())

    def join_hook(self, **kwargs):
        counter = self

        class Hook(JoinHook):
            def main_hook(self):
                counter.main += 1
                dist.all_reduce(torch.zeros(1), group=counter.group)

            def post_hook(self, is_last_joiner):
                counter.post.append((is_last_joiner, kwargs))
        return Hook()

    join_device = torch.device("cpu")

    @property
    def join_process_group(self):
        return self.group


def test_the_tutorial():
    def program(rank):
        counter = Counter(dist.group.WORLD)
        with Join([counter], sync_max_count=True):
            for _ in range(2 + rank):
                counter()
        counter()                                          # outside of the block there is nobody to notify
        return counter.counts, counter.main, counter.post
    said = {"sync_max_count": True}
    assert run(program, 3) == [([3, 3, 3], 2, [(False, said)]), ([3, 3, 2, 3], 1, [(False, said)]),
                               ([3, 3, 2, 1, 3], 0, [(True, said)])]


@pytest.mark.parametrize("views", [False, True])
def test_a_model_and_its_sharded_optimiser(views):
    torch.manual_seed(0)
    start, counts = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), [1, 3]
    x = torch.randn(2, 3, 5, 3)
    plain = copy.deepcopy(start)
    optimizer = torch.optim.Adam(plain.parameters(), 0.05, eps=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        (sum(plain(x[r, step]).square().mean() for r in range(2) if step < counts[r]) / 2).backward()
        optimizer.step()

    def program(rank):
        model = DistributedDataParallel(copy.deepcopy(start), gradient_as_bucket_view=views)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.05, eps=1e-2)
        with Join([model, optimizer]):
            for step in range(counts[rank]):
                optimizer.zero_grad(set_to_none=not views)
                model(x[rank, step]).square().mean().backward()
                optimizer.step()
        return [numbers(p) for p in model.parameters()]
    for found in run(program, 2):
        close(found, [numbers(p) for p in plain.parameters()])


def test_refusals_and_early_ends():
    def program(rank):
        with pytest.raises(ValueError, match="at least one joinable"):
            Join([])
        other = dist.new_group([0, 1])
        with pytest.raises(ValueError, match="multiple process groups"):
            Join([Counter(dist.group.WORLD), Counter(other)])
        counter = Counter(dist.group.WORLD)
        with Join([counter], enable=False):
            counter()
        assert counter.main == 0 and counter.post == []
        with pytest.raises(RuntimeError, match="Rank 0 exhausted all inputs" if rank == 0 else "Throwing across all"):
            with Join([counter], throw_on_early_termination=True):
                for _ in range(1 + rank):
                    counter()
        with pytest.raises(KeyError):                      # an error of the loop is not waited with
            with Join([counter]):
                raise KeyError(rank)
        return counter.counts
    assert run(program, 2) == [[2, 2], [2, 2]]
    assert np.isscalar(Joinable._join_config.enable)
    with pytest.raises(NotImplementedError, match="join_hook"):
        Joinable().join_hook()
