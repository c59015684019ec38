"""Programs of sharded tensors, written for PyTorch: `fully_shard`, tensor parallelism, both, DTensors, checkpoints.

    torchrun --nproc-per-node 4 sharded_ranks.py OUT CHECKPOINT NAME...    each rank writes OUT.NAME.RANK.json

NAME "plain" is the training of a rank by itself. Models begin alike on all ranks and in both libraries; the programs
train on the same batches, divided by ranks. What is written down are losses, norms and gradients of each step, and in
the end parameters and states of the optimiser, whole.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional as F

WIDTH, KINDS = 8, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 16), nn.Linear(16, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.layers = nn.Embedding(KINDS, WIDTH), nn.ModuleList([Layer(), Layer()])
        self.head = nn.Linear(WIDTH, KINDS)

    def forward(self, x):
        x = self.tokens(x).mean(1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


PLAN = {"tokens": RowwiseParallel(input_layouts=Replicate()), "layers.*.up": ColwiseParallel(),
        "layers.*.down": RowwiseParallel(), "head": ColwiseParallel(output_layouts=Replicate())}


def whole(x):
    return (x.full_tensor() if isinstance(x, DTensor) else x).detach()


def flat(tensors):
    return [x for t in tensors for x in whole(t).double().flatten().tolist()]


def started():
    torch.manual_seed(3)
    return Net()


def trained(model, shares=1, mine=0, steps=3, start=0, optimizer=None):
    """Train on this rank's share of each batch; returns what was seen, and the optimiser."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-4)
    seen = {"losses": [], "gradients": [], "norms": []}
    for step in range(start, start + steps):
        x, y = batch(step)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[mine::shares]), y[mine::shares])
        loss.backward()
        seen["losses"].append(loss.item())
        seen["gradients"].append(flat([p.grad for p in model.parameters()]))
        seen["norms"] += flat([nn.utils.clip_grad_norm_(model.parameters(), 0.5)])
        optimizer.step()
    seen["parameters"] = flat(model.parameters())
    seen["states"] = flat(optimizer.state[p][k] for p in model.parameters() for k in ("exp_avg", "exp_avg_sq"))
    return seen, optimizer


def sharded(mesh, model=None):
    model = started() if model is None else model
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def plain(checkpoint):
    """The run that the others are compared with."""
    model = started()
    seen, optimizer = trained(model)
    return seen | {"later": trained(model, start=3, optimizer=optimizer)[0]}


def fsdp(checkpoint):
    """Each rank has a part of each parameter; the ranks of a job of 4 save what they have."""
    n = dist.get_world_size()
    model = sharded(init_device_mesh("cpu", (n,)))
    seen, optimizer = trained(model, n, dist.get_rank())
    if n == 4:
        dcp.save({"model": model.state_dict(), "optimizer": optimizer_state(model, optimizer)},
                 checkpoint_id=checkpoint)
    return seen


def optimizer_state(model, optimizer):
    return {name: dict(optimizer.state[p]) for name, p in model.named_parameters()}


def resumed(checkpoint):
    """A checkpoint of 4 ranks is loaded by any other number."""
    n = dist.get_world_size()
    model = sharded(init_device_mesh("cpu", (n,)))
    _, optimizer = trained(model, n, dist.get_rank(), steps=1)         # makes states, which are replaced
    state = {"model": model.state_dict(), "optimizer": optimizer_state(model, optimizer)}
    dcp.load(state, checkpoint_id=checkpoint)
    model.load_state_dict(state["model"])
    for name, p in model.named_parameters():
        optimizer.state[p].update(state["optimizer"][name])
    return trained(model, n, dist.get_rank(), start=3, optimizer=optimizer)[0]


def hybrid(checkpoint):
    """Copies of shards."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))
    return trained(sharded(mesh), dist.get_world_size(), dist.get_rank())[0]


def split(checkpoint):
    """Tensor parallelism: all ranks have all samples."""
    model = started()
    parallelize_module(model, init_device_mesh("cpu", (dist.get_world_size(),)), PLAN)
    return trained(model)[0]


def both(checkpoint):
    """Layers that are split, and sharded over the ranks that have other samples."""
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("dp", "tp"))
    model = started()
    parallelize_module(model, mesh["tp"], PLAN)
    return trained(sharded(mesh["dp"], model), 2, mesh.get_local_rank("dp"))[0]


class Stage(nn.Module):
    """Half of a model, in which sequences of activations become vectors."""

    def __init__(self, net, is_first):
        super().__init__()
        self.tokens, self.layer = (net.tokens, net.layers[0]) if is_first else (None, net.layers[1])
        self.head = None if is_first else net.head

    def forward(self, x):
        return self.layer(self.tokens(x).mean(1)) if self.head is None else self.head(self.layer(x))


def pipelined(checkpoint):
    """Two stages of two layers, by both schedules."""
    seen, rank = {}, dist.get_rank()
    for kind in ScheduleGPipe, Schedule1F1B:
        stage = PipelineStage(Stage(started(), rank == 0), rank, 2, torch.device("cpu"))
        schedule = kind(stage, 4, loss_fn=F.cross_entropy)
        optimizer = torch.optim.AdamW(stage.submod.parameters(), lr=0.01, eps=1e-4)
        found = []
        for step in range(3):
            x, y = batch(step)
            optimizer.zero_grad()
            losses = []
            if rank == 0:
                schedule.step(x)
            else:
                found += flat([schedule.step(target=y, losses=losses), *losses])
            found += flat([p.grad for p in stage.submod.parameters()])
            optimizer.step()
        seen[kind.__name__] = found + flat(stage.submod.parameters())
    return seen


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randint(0, KINDS, (8, 5), generator=generator), torch.randint(0, KINDS, (8,), generator=generator)


def dtensors(checkpoint):
    """Ops on DTensors, with gradients."""
    mesh, seen = init_device_mesh("cpu", (dist.get_world_size(),)), {}
    torch.manual_seed(1)
    x0, w0, target = torch.randn(6, 5), torch.randn(5, 7), torch.tensor([0, 6, 3, 2, 1, 5])
    for a, b in (0, 0), (0, 1), (1, 0), (None, 1):
        x, w = [distribute_tensor(t, mesh, [Replicate() if d is None else Shard(d)]).requires_grad_()
                for t, d in ((x0, a), (w0, b))]
        y = torch.relu(x @ w)
        z = F.layer_norm(y, (7,)).softmax(-1).transpose(0, 1)
        total = (z * y.t()).sum() + y.mean() + (x.sum(0) * w.sum(1)).sum()
        loss = F.cross_entropy(y, distribute_tensor(target, mesh, [Replicate()]))
        (total + loss).backward()
        seen[f"{a} {b}"] = flat([y, z, total, loss, x.grad, w.grad])
    mine = DTensor.from_local(x0 * (dist.get_rank() + 1), mesh, [Partial()])
    seen["sum"] = flat([mine, mine.redistribute(placements=[Shard(1)]), mine * 2])
    return seen


def main(out, checkpoint, *names):
    dist.init_process_group("gloo")
    for name in names:
        seen = globals()[name](checkpoint)
        with open(f"{out}.{name}.{os.environ.get('RANK', os.environ.get('PMI_RANK', 0))}.json", "w") as file:
            json.dump(seen, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
