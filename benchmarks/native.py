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


def options(doc):
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression: rows whose name it is found in")
    parser.add_argument("--seconds", type=float, default=4.0, help="time for each row (default: 4)")
    return parser.parse_args()


def compare(args, rows, gates, libraries, path):
    """Measure rows beside PyTorch, print each as it is done, and keep all in a file.

    `libraries` maps the heading of a column to the contestant; the first of them, not counted as a column, is PyTorch.
    """
    found = json.loads(path.read_text()) if path.exists() else {}
    found["machine"], kept = compiler()[1].split(" flags")[0], found.setdefault("rows", {})
    players = [Contestant(library, "one") for library in ("torch", *libraries.values())]
    print(f"{'':24} {'torch':>10} {' '.join(f'{name:>7}' for name in libraries)} {'gate':>6}")
    for name in rows:
        if not re.search(args.pattern, name):
            continue
        took = duel(players, name, args.seconds)
        ratios = {column: round(took[library]["cpu_ratio"], 3) if "cpu_ratio" in took.get(library, ()) else None
                  for column, library in libraries.items()}
        kept[name] = {"torch_seconds": took["torch"]["cpu"], **ratios, "gate": gates.get(name)}
        shown = " ".join(f"{'-' if r is None else format(r, '.3f'):>7}" for r in ratios.values())
        print(f"{name:24} {took['torch']['cpu'] * 1e6:8.0f}us {shown} {gates.get(name, ''):>6}", flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
    for player in players:
        player.close()


def main():
    compare(options(__doc__), ROWS, GATES, {"numpy": "minitorch", "native": "minitorch native"}, RESULTS)


if __name__ == "__main__":
    main()
