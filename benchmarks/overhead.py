"""What a call costs beyond the arithmetic: ops on tiny tensors, against PyTorch eager in the same run.

    python -m benchmarks.overhead [--json FILE]

Recorded ops, so an input requires grad. One thread on each side.
"""

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from .measure import compare  # noqa: E402

CHAIN = 1000


def workloads(torch):
    """Name -> function without arguments, on one of the two libraries."""
    def leaf(*shape):
        return torch.from_numpy(np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)
                                ).requires_grad_()
    a, b, m = leaf(4), leaf(4), leaf(4, 4)
    p = a.detach()
    one = torch.ones_like(p)

    def chain():
        y = a
        for _ in range(CHAIN // 2):
            y = y * 1.0001
            y = y + b
        y.backward(one)

    def no_grad():
        with torch.no_grad():
            return a + b

    return {
        "a + b": lambda: a + b,
        "a * b": lambda: a * b,
        "a * 2.0": lambda: a * 2.0,
        "a - b": lambda: a - b,
        "a.sin()": lambda: a.sin(),
        "a.sum()": lambda: a.sum(),
        "4x4 matmul": lambda: m @ m,
        "m.reshape(2, 8)": lambda: m.reshape(2, 8),
        "m[1]": lambda: m[1],
        "a + b, nothing requires grad": lambda: p + one,
        "a + b, no_grad block": no_grad,
        f"{CHAIN}-op chain, forward and backward": chain,
    }


GATED = ("a + b", "a * b", "a * 2.0", "a.sin()", "a.sum()", "4x4 matmul", f"{CHAIN}-op chain, forward and backward")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    import torch

    import minitorch
    torch.set_num_threads(1)
    ours, theirs = workloads(minitorch), workloads(torch)
    print("| call | minitorch, us | PyTorch, us | ratio |\n|---|---:|---:|---:|")
    rows = {}
    for name in ours:
        x, y, ratio = compare(ours[name], theirs[name])
        rows[name] = {"minitorch_us": x * 1e6, "pytorch_us": y * 1e6, "ratio": ratio}
        print(f"| `{name}` | {x * 1e6:.2f} | {y * 1e6:.2f} | {ratio:.2f} |", flush=True)
    worst = max(rows[name]["ratio"] for name in GATED)
    print(f"\nworst ratio of the gated rows: {worst:.2f} (gate 1.0, target 0.7)")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"pytorch": torch.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
