"""Programs of several ranks, written for PyTorch, after its DDP tutorial, its examples of DDP and minGPT-DDP.

    python ranks.py tutorial OUT                       starts its ranks itself, by ``mp.spawn``
    torchrun --nproc-per-node 2 ranks.py NAME OUT      NAME: example, mnist or gpt

Each rank writes what it saw to OUT.<rank>.json: the indices of its samples, its losses, the averaged gradients of every
step, and the parameters at the end.
"""

import json
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
from torch.utils.data.distributed import DistributedSampler


class Seen:
    """The record that a rank writes."""

    def __init__(self):
        self.samples, self.losses, self.gradients, self.parameters = [], [], [], []

    def step(self, loss, model):
        self.losses.append(loss.item())
        self.gradients.append(flat(p.grad for p in model.parameters()))

    def write(self, path, model):
        self.parameters = flat(t.detach() for t in model.state_dict().values())
        with open(f"{path}.{dist.get_rank()}.json", "w") as file:
            json.dump(vars(self), file)


def flat(tensors):
    return [x for t in tensors for x in t.double().flatten().tolist()]


class Toy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1, self.relu, self.net2 = nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def toy_steps(seen, model, count):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(count):
        optimizer.zero_grad()
        loss = nn.MSELoss()(model(torch.randn(20, 10)), torch.randn(20, 5))
        loss.backward()
        optimizer.step()
        seen.step(loss, model)


def tutorial(rank, size, port, out):
    """The tutorial: ranks by `spawn`, a toy, a checkpoint that rank 0 writes and all load."""
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.manual_seed(rank)                                # different models, until DDP takes rank 0's
    seen, model = Seen(), DDP(Toy())
    toy_steps(seen, model, 2)
    path = out + ".checkpoint"
    if rank == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    model = DDP(Toy())
    model.load_state_dict(torch.load(path, map_location={"cuda:0": "cpu"}))
    toy_steps(seen, model, 2)
    if rank == 0:
        os.remove(path)
    seen.write(out, model)
    dist.destroy_process_group()


def example(seen):
    """Examples' smallest: rank and size by the launcher, one step."""
    assert {key: int(os.environ[key]) for key in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")} == {
        "RANK": dist.get_rank(), "LOCAL_RANK": dist.get_rank(), "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    model = DDP(Toy())
    toy_steps(seen, model, 1)
    return model


class Images(Dataset):
    """Small pictures of ten kinds, made of a seed."""

    def __init__(self, n):
        generator = torch.Generator().manual_seed(5)
        self.kinds = torch.randint(0, 10, (n,), generator=generator)
        self.pictures = torch.randn(n, 1, 12, 12, generator=generator) + self.kinds.view(-1, 1, 1, 1) / 5

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return self.pictures[i], self.kinds[i], i


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.norm = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(8 * 16, 16), nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.norm(self.conv2(F.relu(self.conv1(x)))))
        x = torch.flatten(self.dropout1(F.max_pool2d(x, 2)), 1)
        return F.log_softmax(self.fc2(self.dropout2(F.relu(self.fc1(x)))), dim=1)


def mnist(seen):
    """A convolutional network: samplers, dropout, buffers, a schedule, accuracy over all ranks."""
    data = Images(101)
    sampler = DistributedSampler(data, seed=3)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DDP(Net())
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(2):
        model.train()
        sampler.set_epoch(epoch)
        for pictures, kinds, places in loader:
            seen.samples += places.tolist()
            optimizer.zero_grad()
            loss = F.nll_loss(model(pictures), kinds)
            loss.backward()
            optimizer.step()
            seen.step(loss, model)
        schedule.step()
        model.eval()
        with torch.no_grad():
            found = torch.zeros(2)
            for pictures, kinds, _ in loader:
                out = model(pictures)
                found += torch.stack([F.nll_loss(out, kinds, reduction="sum"), (out.argmax(1) == kinds).sum().float()])
        dist.all_reduce(found)
        seen.losses += found.tolist()
    return model


class Block(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.register_buffer("mask", torch.triu(torch.ones(length, length), 1).bool())

    def forward(self, x):
        h, n = self.ln1(x), x.shape[1]
        x = x + self.attn(h, h, h, attn_mask=self.mask[:n, :n])[0]
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, kinds, width=16, heads=2, depth=2, length=8):
        super().__init__()
        self.tokens, self.places = nn.Embedding(kinds, width), nn.Parameter(torch.zeros(1, length, width))
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.Sequential(*[Block(width, heads, length) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, kinds, bias=False)

    def forward(self, idx, targets):
        x = self.drop(self.tokens(idx) + self.places[:, :idx.shape[1]])
        logits = self.head(self.norm(self.blocks(x)))
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-1)


def gpt(seen):
    """A small GPT on characters: a split of the data, groups with and without decay, clipping, two batches a step."""
    text = "the ring of ranks sums what each rank has, and each rank has the sum. " * 2
    kinds = sorted(set(text))
    codes = torch.tensor([kinds.index(c) for c in text])
    rows = codes.unfold(0, 9, 1)
    train, _ = random_split(TensorDataset(rows[:, :-1], rows[:, 1:]), [120, len(rows) - 120],
                            generator=torch.Generator().manual_seed(1))
    loader = DataLoader(train, batch_size=10, sampler=DistributedSampler(train))
    model = GPT(len(kinds))
    decay = [p for name, p in model.named_parameters() if p.dim() == 2 and "tokens" not in name]
    rest = [p for p in model.parameters() if all(p is not q for q in decay)]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=3e-3, betas=(0.9, 0.95), eps=1e-6)     # some gradients are rounding only
    model = DDP(model)
    for i, (x, y) in enumerate(loader):
        if i % 2 == 0:
            optimizer.zero_grad(set_to_none=True)
            with model.no_sync():
                model(x, y)[1].backward()
            continue
        loss = model(x, y)[1]
        loss.backward()
        seen.losses.append(float(nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        optimizer.step()
        seen.step(loss, model)
    return model


def main(name, out):
    if name == "tutorial":
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        mp.spawn(tutorial, args=(2, port, out), nprocs=2)
        return
    dist.init_process_group("gloo")
    for program in (example, mnist, gpt):
        if name in (program.__name__, "all"):
            torch.manual_seed(dist.get_rank())
            seen = Seen()
            seen.write(f"{out}.{program.__name__}", program(seen))
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
