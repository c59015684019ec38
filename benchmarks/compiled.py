"""Compiled functions as C and as NumPy calls: ``python -m benchmarks.compiled [PATTERN] [--seconds N] [--torch]``.

Writes benchmarks/results/compiled.json: for each row the medians of the ratios of processor time to PyTorch's eager
calls, one thread each, and the machine. The contestants take turns (see `measure.py`). With ``--torch``, torch.compile
is one of them: it compiles for minutes, and needs a C++ compiler.
"""

import sys
from pathlib import Path

from .native import compare, options

# Ratios that programs in C must reach (issue 13)
GATES = {"article": 0.05, "mlp": 0.40, "wide_mlp": 0.80, "gpt": 0.85, "lstm": 1.0, "lenet": 0.95,
         "resnet_block": 0.75, "resnet20": 1.0, "softmax/1e6/both": 0.85, "layer_norm/1e6/both": 0.85,
         "gelu/1e6/both": 0.4, "x*y+z/1e6/both": 0.6}
RESULTS = Path(__file__).with_name("results") / "compiled.json"


def main():
    others = {"torch.compile": "torch compiled"} if "--torch" in sys.argv else {}
    sys.argv = [a for a in sys.argv if a != "--torch"]
    columns = {"eager": "minitorch", "numpy": "minitorch compiled numpy", "c": "minitorch compiled c", **others}
    compare(options(__doc__), GATES, GATES, columns, RESULTS)


if __name__ == "__main__":
    main()
