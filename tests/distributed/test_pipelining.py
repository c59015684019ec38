"""Stages on several ranks: losses and gradients are those of the whole model on one process."""

import copy

import pytest

import minitorch as torch
import minitorch.distributed as dist
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.distributed import optim, rpc
from minitorch.distributed.fsdp import fully_shard
from minitorch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    TensorChunkSpec,
    pipeline,
)
from minitorch.distributed.pipelining.microbatch import merge_chunks, split_args_kwargs_into_chunks
from minitorch.nn.parallel import DistributedDataParallel
from tests.distributed.sharded_cases import close, numbers, run


class First(nn.Module):
    """Tokens, which have no gradient, are passed on beside activations."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(7, 6)

    def forward(self, x):
        return self.tokens(x), x


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, h, x, *, scale=None):
        h = h + torch.tanh(self.layer(h)) * (x.unsqueeze(-1) > 2)
        return h if scale is None else h * scale, x


class Last(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 5)

    def forward(self, h, x):
        return self.head(h.mean(1))


def stages(count):
    torch.manual_seed(0)
    return [First(), *[Middle() for _ in range(count - 2)], Last()]


X, Y = torch.arange(24).reshape(8, 3) * 5 % 7, torch.arange(8) * 3 % 5


@pytest.mark.parametrize("kind", [ScheduleGPipe, Schedule1F1B])
@pytest.mark.parametrize("ranks, parts", [(2, 1), (2, 4), (3, 4), (4, 3)])
def test_as_one_process(kind, ranks, parts):
    plain, start = stages(ranks), stages(ranks)
    even = 8 % parts == 0
    for _ in range(2):
        h = X
        for i, stage in enumerate(plain):
            h = stage(*h) if i else stage(h)
        F.cross_entropy(h, Y, reduction="mean" if even else "sum").backward()
    expected = h

    def program(rank):
        losses = []
        stage = PipelineStage(copy.deepcopy(start[rank]), rank, ranks, "cpu")
        schedule = kind(stage, parts, loss_fn=lambda y, t, **how: F.cross_entropy(y, t, **how), scale_grads=False)
        assert stage.is_first == (rank == 0) and stage.is_last == (rank == ranks - 1)
        for _ in range(2):
            how = dict(loss_kwargs={"reduction": "mean" if even else "sum"})
            out = schedule.step(*[X] * stage.is_first, target=Y if stage.is_last else None, losses=losses, **how)
        again = schedule.eval(*[X] * stage.is_first)
        assert (again is None) == (out is None) == (not stage.is_last) and len(losses) == parts * stage.is_last
        if even:
            stage.scale_grads(parts)
        return ([numbers(p.grad) for p in stage.submod.parameters()],
                None if out is None else [numbers(out), numbers(again)])
    for rank, (grads, outs) in enumerate(run(program, ranks)):
        close(grads, [numbers(p.grad) for p in plain[rank].parameters()])
        if outs:
            close(outs, [numbers(expected)] * 2)


def test_fewer_microbatches_are_held_by_1f1b():
    start = stages(3)                                      # once: threads share the random numbers

    def program(rank):
        held = []
        stage = PipelineStage(start[rank], rank, 3, "cpu")
        really = stage.forward

        def forward(*args):
            held.append(len(stage.kept))
            return really(*args)
        stage.forward = forward
        Schedule1F1B(stage, 8, F.cross_entropy).step(*[X] * (rank == 0), target=Y if rank == 2 else None)
        return max(held) + 1
    assert run(program, 3) == [3, 2, 1]


def test_keywords_specs_and_sharded_stages():
    plain = stages(3)
    h = plain[1](*plain[0](X), scale=torch.full((8, 1, 6), 0.5))
    F.cross_entropy(plain[2](*h), Y).backward()
    start = stages(3)

    def program(rank):
        module = start[rank]
        if rank == 1:
            fully_shard(module, mesh=dist.DeviceMesh("cpu", [1]))
        else:
            dist.DeviceMesh("cpu", [1])                    # all ranks of the job make it
        stage = PipelineStage(module, rank, 3, "cpu")
        schedule = ScheduleGPipe(stage, 4, F.cross_entropy, kwargs_chunk_spec=TensorChunkSpec.from_dict({"scale": 0}))
        schedule.step(*[X] * (rank == 0), target=Y if rank == 2 else None,
                      **({"scale": torch.full((8, 1, 6), 0.5)} if rank == 1 else {}))
        return [numbers(p.grad.full_tensor() if rank == 1 else p.grad) for p in module.parameters()]
    for rank, grads in enumerate(run(program, 3)):
        close(grads, [numbers(p.grad) for p in plain[rank].parameters()])


def test_microbatches():
    x, y = torch.arange(12.0).reshape(2, 6), torch.arange(4)
    args, kwargs = split_args_kwargs_into_chunks((x, {"y": y, "n": 3}), {"z": y}, 2, (TensorChunkSpec(1), None))
    assert args[1][0].tolist() == x[:, 3:].tolist() and args[1][1]["y"].tolist() == [2, 3] and args[0][1]["n"] == 3
    assert [k["z"].tolist() for k in kwargs] == [[0, 1], [2, 3]]
    assert merge_chunks([(a[0], 5) for a in args], TensorChunkSpec.from_tuple((1, 0)))[0].tolist() == x.tolist()
    with pytest.raises(ValueError, match="cannot be divided into 5"):
        split_args_kwargs_into_chunks((y,), {}, 5)
    with pytest.raises(ValueError, match="2 arguments has 2 entries"):
        split_args_kwargs_into_chunks((x, y), {}, 2, (TensorChunkSpec(0),))


def test_refusals():
    start = stages(2)

    def program(rank):
        stage = PipelineStage(start[rank], rank, 2, "cpu")
        with pytest.raises(RuntimeError, match="must be equal"):
            PipelineStage(nn.Linear(2, 2), rank, 4, "cpu")
        with pytest.raises(ValueError, match="out of range"):
            PipelineStage(nn.Linear(2, 2), 2, 2, "cpu")
        with pytest.raises(NotImplementedError, match="all_reduce"):
            PipelineStage(DistributedDataParallel(nn.Linear(2, 2)), rank, 2, "cpu")
        with torch.no_grad(), pytest.raises(RuntimeError, match=r"call eval\(\) instead"):
            ScheduleGPipe(stage, 2, F.cross_entropy).step()
        if rank:
            with pytest.raises(ValueError, match="first stage only"):
                ScheduleGPipe(stage, 2).step(X)
            with pytest.raises(ValueError, match="target="):
                ScheduleGPipe(stage, 2, F.cross_entropy).step()
        with pytest.raises(ValueError, match="at least 1"):
            Schedule1F1B(stage, 0)
    run(program, 2)
    for name, text in ((pipeline, "make each rank's part a module"), (rpc.init_rpc, "send_object_list"),
                       (optim.DistributedOptimizer, "fully_shard")):
        with pytest.raises(NotImplementedError, match=f"(?s)is not supported: .*{text}"):
            name("worker")
    assert not rpc.is_available()
