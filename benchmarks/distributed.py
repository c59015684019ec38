"""Two ranks beside PyTorch with gloo: ``python -m benchmarks.distributed``.

    python -m benchmarks.distributed --ranks 2 --rounds 5

Both libraries run in turns, `rounds` times, in processes that our launcher starts; a figure is the best of all rounds
(for steps: of their medians), so that other work on the machine counts little. Rows: all-reduce of float32, and a
training step of `DistributedDataParallel` with and without averaging: what averaging adds is what could not be hidden.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

SIZES = {"all_reduce 4 kB": 1_000, "all_reduce 1 MB": 250_000, "all_reduce 25 MB": 6_250_000}


def models(torch):
    """Name -> (model, function of the model that returns a loss)."""
    nn, F = torch.nn, torch.nn.functional
    mlp = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    cnn = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(),
                        nn.Linear(32 * 169, 10))
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    gpt = nn.Sequential(nn.Embedding(256, 128), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                        nn.Linear(128, 256))
    x, image, tokens = torch.randn(64, 256), torch.randn(16, 3, 32, 32), torch.randint(0, 256, (8, 64))
    y, z = torch.randint(0, 10, (64,)), torch.randint(0, 10, (16,))
    return {"MLP": (mlp, lambda m: F.cross_entropy(m(x), y)), "CNN": (cnn, lambda m: F.cross_entropy(m(image), z)),
            "GPT": (gpt, lambda m: F.cross_entropy(m(tokens).reshape(-1, 256), tokens.reshape(-1)))}


def seconds(function, times):
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        found.append(time.perf_counter() - begin)
    return found


def worker(library):
    """One rank: measures all rows; rank 0 prints them."""
    torch = __import__(library)
    dist = __import__(f"{library}.distributed", fromlist=["x"])
    parallel = __import__(f"{library}.nn.parallel", fromlist=["x"])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rows = {}
    for name, n in SIZES.items():
        x = torch.ones(n)

        def call(x=x):
            dist.barrier()
            begin = time.perf_counter()
            dist.all_reduce(x)
            return time.perf_counter() - begin
        rows[name] = min(call() for _ in range(200 if n < 1e6 else 30))
    torch.manual_seed(0)
    for name, (model, loss_of) in models(torch).items():
        model = parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)

        def step(model=model, optimizer=optimizer, loss_of=loss_of):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
        seconds(step, 3)
        rows[f"step {name}"] = statistics.median(seconds(step, 20))
        with model.no_sync():
            rows[f"step {name}, not averaged"] = statistics.median(seconds(step, 20))
        dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(rows))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", help="for the ranks: which library")
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    best: dict = {"minitorch": {}, "torch": {}}
    for _ in range(options.rounds):
        for library, rows in best.items():
            out = subprocess.run([sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node",
                                  str(options.ranks), "-m", "benchmarks.distributed", "--worker", library],
                                 capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            if out.returncode:
                sys.exit(out.stderr)
            for name, value in json.loads(out.stdout.strip().splitlines()[-1]).items():
                rows[name] = min(value, rows.get(name, value))
    print(f"| {options.ranks} ranks | minitorch | PyTorch, gloo | ratio |\n|---|---:|---:|---:|")
    for name, ours in best["minitorch"].items():
        theirs = best["torch"][name]
        print(f"| {name} | {ours * 1e3:.3f} ms | {theirs * 1e3:.3f} ms | {ours / theirs:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
