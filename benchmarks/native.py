"""Eager calls with native kernels and without: ``python -m benchmarks.native [PATTERN] [--seconds N]``.

Writes benchmarks/results/native.json: for each row the medians of the ratios of processor time, one thread each, and
the machine. The three libraries take turns (see `measure.py`).
"""

import argparse
import json
import re
from pathlib import Path

from minitorch.backends.native.toolchain import compiler

from .measure import Contestant, duel

ROWS = ("softmax/1e6/both", "layer_norm/1e6/both", "gelu/1e6/both", "softmax/1e4/both", "layer_norm/1e4/both",
        "gelu/1e4/both", "lstm", "gru", "gpt", "lenet", "resnet_block", "resnet20", "Adam/1x10000000", "SGD/1x10000000",
        "conv/5x5/1-16/28x28", "conv/5x5/16-32/12x12", "conv/3x3/16-16/32x32", "conv/3x3/64-64/32x32",
        "conv/1x1/256-64/16x16", "conv/7x7/stride/2/3-64/112x112", "images/max_pool", "images/max_pool_3x3",
        "images/avg_pool_3x3", "images/batch_norm", "images/group_norm", "embedding/50000x256", "embedding/65x128")
# Ratios to PyTorch that eager calls with native kernels must reach (issue 13)
GATES = {"softmax/1e6/both": 1.0, "layer_norm/1e6/both": 0.9, "gelu/1e6/both": 0.6, "lstm": 1.0, "lenet": 0.95,
         "resnet_block": 0.75, "resnet20": 1.0}
RESULTS = Path(__file__).with_name("results") / "native.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found["machine"], rows = compiler()[1].split(" flags")[0], found.setdefault("rows", {})
    players = [Contestant(library, "one") for library in ("torch", "minitorch", "minitorch native")]
    print(f"{'':24} {'torch':>10} {'NumPy':>7} {'native':>7} {'gate':>6}")
    for name in ROWS:
        if not re.search(args.pattern, name):
            continue
        took = duel(players, name, args.seconds)
        rows[name] = {"torch_seconds": took["torch"]["cpu"], "numpy": round(took["minitorch"]["cpu_ratio"], 3),
                      "native": round(took["minitorch native"]["cpu_ratio"], 3), "gate": GATES.get(name)}
        print(f"{name:24} {took['torch']['cpu'] * 1e6:8.0f}us {rows[name]['numpy']:7.2f} {rows[name]['native']:7.2f} "
              f"{GATES.get(name, ''):>6}", flush=True)
    for player in players:
        player.close()
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
