"""Two ranks beside PyTorch with gloo: ``python -m benchmarks.distributed``.

    python -m benchmarks.distributed --ranks 2 --rounds 5

Both libraries run in turns, `rounds` times, in processes that our launcher starts; a figure is the best of all rounds
(for steps: of their medians), so that other work on the machine counts little. Rows: all-reduce of float32, and a
training step of `DistributedDataParallel` with and without averaging. What averaging adds is what could not be hidden
of the time that the same all-reduces take alone. On a busy machine elapsed times are those of the scheduler, too:
processor time of a rank stands beside them. Writes benchmarks/results/distributed.json with ``--save``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).with_name("results") / "distributed.json"
MODELS = ("MLP", "CNN", "GPT")
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


def seconds(function, times, prepare=None):
    """Elapsed times of calls, and the processor time of one in the mean."""
    found, used = [], 0.0
    for _ in range(times):
        if prepare is not None:
            prepare()
        begin, before = time.perf_counter(), time.process_time()
        function()
        found.append(time.perf_counter() - begin)
        used += time.process_time() - before
    return found, used / times


def entry(found, choose=statistics.median):
    """A row: what `choose` makes of elapsed times, and processor time."""
    times, used = found
    return [choose(times), used]


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
        rows[name] = entry(seconds(lambda x=x: dist.all_reduce(x), 200 if n < 1e6 else 30, dist.barrier), min)
    torch.manual_seed(0)
    for name, (model, loss_of) in models(torch).items():
        model = parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), 1e-3)

        def step(model=model, optimizer=optimizer, loss_of=loss_of):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
        seconds(step, 3)
        rows[f"step {name}"] = entry(seconds(step, 20))
        with model.no_sync():
            rows[f"step {name}, not averaged"] = entry(seconds(step, 20))
        gradients = torch.zeros(sum(p.numel() for p in model.parameters()))
        rows[f"all_reduce of {name}'s gradients"] = entry(seconds(lambda x=gradients: dist.all_reduce(x), 20,
                                                                  dist.barrier))
        dist.barrier()
    if dist.get_rank() == 0:
        print(json.dumps(rows))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true", help=f"write {RESULTS.name}")
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
                rows[name] = [min(pair) for pair in zip(value, rows.get(name, value))]
    ours, theirs = best["minitorch"], best["torch"]
    print(f"| {options.ranks} ranks | minitorch | PyTorch, gloo | ratio | processor time | |  ratio |\n"
          "|---|---:|---:|---:|---:|---:|---:|")
    for name in ours:
        cells = [f"{x[i] * 1e3:.3f} ms" if x is not None else f"{ours[name][i] / theirs[name][i]:.2f}"
                 for i in (0, 1) for x in (ours[name], theirs[name], None)]
        print(f"| {name} | {' | '.join(cells)} |")
    for name in MODELS:
        print(f"hidden of {name}'s averaging: "
              + ", ".join(f"{library} {hidden(rows, name):.0%}" for library, rows in best.items()))
    if options.save:
        RESULTS.write_text(json.dumps(best, indent=1) + "\n")
    return 0


def hidden(rows, name):
    """The share of a model's all-reduces that a step hides behind the backward pass."""
    extra = rows[f"step {name}"][0] - rows[f"step {name}, not averaged"][0]
    return min(1.0, max(0.0, 1 - extra / rows[f"all_reduce of {name}'s gradients"][0]))


if __name__ == "__main__":
    sys.exit(main())
