"""Training steps (forward, backward, update) of small models, against PyTorch eager in the same run.

    python -m benchmarks.training [--threads N] [--json FILE]

The same code runs on both libraries; processor time is compared with one thread on each side, which other programs on
the machine disturb least.
"""

import argparse
import json
import os
import statistics
import time


def article(torch):
    """The starting article's network: 1-10-1, sigmoid, one sample, SGD."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(1, 10), nn.Sigmoid(), nn.Linear(10, 1))
    return model, torch.optim.SGD(model.parameters(), lr=1e-3), torch.ones(1, 1), torch.ones(1, 1), nn.MSELoss()


def mlp(torch):
    """784-128-10, Adam, batch 64."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return (model, torch.optim.Adam(model.parameters()), torch.randn(64, 784), torch.randint(0, 10, (64,)),
            nn.CrossEntropyLoss())


def wide_mlp(torch):
    """784-1024-1024-10, Adam, batch 256."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return (model, torch.optim.Adam(model.parameters()), torch.randn(256, 784), torch.randint(0, 10, (256,)),
            nn.CrossEntropyLoss())


def lenet(torch):
    """Two 5x5 convolutions with pooling and two linear layers on 28x28, batch 64, SGD with momentum."""
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 10))
    return (model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), torch.randn(64, 1, 28, 28),
            torch.randint(0, 10, (64,)), nn.CrossEntropyLoss())


def gpt(torch):
    """A transformer of 4 layers, width 128, context 64, batch 16, AdamW."""
    nn = torch.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(64, 128), nn.Embedding(64, 128)
            self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(
                128, 4, 512, dropout=0.0, activation="gelu", batch_first=True, norm_first=True) for _ in range(4)])
            self.head = nn.Linear(128, 64)

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(64)
            h = self.tokens(x) + self.places(torch.arange(64))
            for block in self.blocks:
                h = block(h, src_mask=mask, is_causal=True)
            return self.head(h).reshape(-1, 64)
    model = GPT()
    return (model, torch.optim.AdamW(model.parameters()), torch.randint(0, 64, (16, 64)),
            torch.randint(0, 64, (16 * 64,)), nn.CrossEntropyLoss())


WORKLOADS = [article, mlp, wide_mlp, lenet, gpt]


def step_of(torch, make):
    torch.manual_seed(0)
    model, optimizer, x, y, criterion = make(torch)

    def step():
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    return step


def ratios(ours, theirs, seconds=4.0):
    """Interleaved turns for about `seconds`: medians of (processor time, wall time) of both, and of their ratios."""
    for f in (ours, theirs, ours, theirs):
        f()
    start = time.perf_counter()
    ours(), theirs()
    n = max(1, int(0.05 / (time.perf_counter() - start)))
    rows, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(rows) < 5:
        row = []
        for f in (ours, theirs) if len(rows) % 2 else (theirs, ours):
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(n):
                f()
            row.append(((time.process_time() - cpu) / n, (time.perf_counter() - wall) / n))
        rows.append(row if len(rows) % 2 else row[::-1])
    middle = statistics.median
    return {"cpu_ms": middle(r[0][0] for r in rows) * 1e3, "pytorch_cpu_ms": middle(r[1][0] for r in rows) * 1e3,
            "cpu_ratio": middle(r[0][0] / r[1][0] for r in rows), "wall_ratio": middle(r[0][1] / r[1][1] for r in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(args.threads)               # before either library is imported
    import torch

    import minitorch
    torch.set_num_threads(args.threads)
    print(f"{args.threads} thread(s)\n\n| step | minitorch, CPU ms | PyTorch, CPU ms | CPU ratio | wall ratio |\n"
          f"|---|---:|---:|---:|---:|")
    rows = {}
    for make in WORKLOADS:
        row = rows[make.__name__] = ratios(step_of(minitorch, make), step_of(torch, make))
        print(f"| {make.__doc__.rstrip('.')} | {row['cpu_ms']:.2f} | {row['pytorch_cpu_ms']:.2f} | "
              f"{row['cpu_ratio']:.2f} | {row['wall_ratio']:.2f} |", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"pytorch": torch.__version__, "threads": args.threads, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
