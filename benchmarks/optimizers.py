"""Time of one optimiser step beside PyTorch's default, as a Markdown table: ``python benchmarks/optimizers.py``.

Both libraries take turns in one process, so that whatever else the machine does meets both. A row gives the median
time of a step and the median of the ratios of neighbouring steps (below 1: faster than PyTorch), for PyTorch on one
thread and on two; the steps here run on one.
"""

import argparse
import statistics
import time

import numpy as np
import torch

import minitorch

SIZES = {"1 x 1,000": (1, 1_000), "148 x 1,000": (148, 1_000), "1 x 100,000": (1, 100_000),
         "1 x 1,000,000": (1, 1_000_000), "1 x 10,000,000": (1, 10_000_000)}
OPTIMIZERS = {"Adam": ("Adam", {}), "AdamW": ("AdamW", {}), "SGD": ("SGD", {}),
              "SGD, momentum": ("SGD", {"momentum": 0.9})}


def make(library, name, options, count, size):
    """An optimiser of `count` float32 matrices of `size` elements with gradients, that has done one step."""
    rng = np.random.default_rng(0)

    def tensor():
        return library.from_numpy(rng.standard_normal((size // 10, 10), dtype=np.float32))

    params = [library.nn.Parameter(tensor()) for _ in range(count)]
    for p in params:
        p.grad = tensor()
    optimizer = getattr(library.optim, name)(params, lr=1e-4, **options)
    optimizer.step()
    return optimizer


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def duel(ours, theirs, budget):
    """(median seconds of ours, of theirs, median ratio) from pairs of steps during `budget` seconds."""
    pairs, end = [], time.perf_counter() + budget
    while len(pairs) < 5 or time.perf_counter() < end:
        pairs.append((seconds(ours.step), seconds(theirs.step)))
    mine, other = zip(*pairs)
    return statistics.median(mine), statistics.median(other), statistics.median(a / b for a, b in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each duel (default: 1)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="PyTorch's threads (default: 1 2)")
    args = parser.parse_args()
    heads = [f"PyTorch, {n} thread{'s' * (n > 1)} | ratio" for n in args.threads]
    print(f"| optimizer | parameters | minitorch | {' | '.join(heads)} |")
    print("|---|---|---|" + "---|---|" * len(args.threads))
    for title, (name, options) in OPTIMIZERS.items():
        for text, (count, size) in SIZES.items():
            ours, theirs = (make(library, name, options, count, size) for library in (minitorch, torch))
            row = []
            for threads in args.threads:
                torch.set_num_threads(threads)
                mine, other, ratio = duel(ours, theirs, args.seconds)
                row = row or [f"{mine * 1e3:.3g} ms"]      # beside PyTorch on the fewest threads
                row.append(f"{other * 1e3:.3g} ms | {ratio:.2f}")
            print(f"| {title} | {text} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
