"""Sizes of CUDA kernels that depend on the GPU, and the table of those that were measured to be best on one.

    {"device": "NVIDIA H200", "values": {"rows.long_threads": 1024}}

is such a table, a file of JSON. `tuned/` has one for each GPU that ``python -m benchmarks.gpu_tools tune`` was run on,
under the GPU's name ("nvidia-h200.json"); the environment variable MINITORCH_CUDA_TUNING names another file, and only
that is read on the simulator. A GPU without a table has the values of the modules below, which are estimates.

Tables are read when the first device of a kind is asked for, before anything is launched, and hold for the process.
"""

import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

__all__ = ["PARAMETERS", "Parameter", "adopt", "apply", "file_of", "read"]

FOLDER = Path(__file__).with_name("tuned")


class Parameter(NamedTuple):
    """A size: the module of this package and the name there that has it, what to try, and on which rows of the GPU
    programme (a regular expression of their names)."""

    module: str
    name: str
    candidates: tuple
    rows: str


PARAMETERS = {
    "rows.items": Parameter("ops.rows", "ITEMS", (16, 32, 64), "^(softmax|log_softmax|layer_norm|rms_norm)"),
    "rows.long_threads": Parameter("ops.rows", "LONG_THREADS", (256, 512, 1024), "16384$|cross_entropy"),
    "product.stages": Parameter("ops.product", "STAGES", (3, 4, 5), "matmul.*(tf32|float16)"),
    "product.shortest_split": Parameter("ops.product", "SHORTEST_SPLIT", (128, 256, 512), "matmul 512"),
    "product.cluster": Parameter("ops.hopper", "CLUSTER", (1, 2), "matmul.*(tf32|float16)"),
    "product.stagger": Parameter("ops.hopper", "STAGGER", (0, 1), "matmul.*(tf32|float16)"),
    "reduce.blocks": Parameter("arrays.reduce", "ENOUGH_BLOCKS", (512, 1024, 2048), "sum"),
    "reduce.segment": Parameter("arrays.reduce", "SEGMENT", (2048, 4096, 8192), "sum of 64M|sums, 4096"),
    "optimiser.chunk": Parameter("arrays.foreach", "CHUNK", (8192, 16384, 32768, 65536), "AdamW"),
}


def file_of(device):
    """Where the table of a GPU of this name lies."""
    return FOLDER / (re.sub(r"\W+", "-", device).strip("-").lower() + ".json")


def read(path):
    """The values of a table. ValueError for a name that there is not, or a value that was never a candidate."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    values = found.get("values") if isinstance(found, dict) else None
    if not isinstance(values, dict):
        raise ValueError(f"{path} is not a table of tuned sizes: it lacks \"values\", "
                         f"an object of names and numbers")
    for name, value in values.items():
        if name not in PARAMETERS:
            raise ValueError(f"{path}: there is no size {name!r}, there are {', '.join(PARAMETERS)}")
        if value not in PARAMETERS[name].candidates:
            raise ValueError(f"{path}: {name} is {value!r}, expected one of {PARAMETERS[name].candidates}")
    return values


def apply(values):
    """Let the kernels have these sizes from now on; returns those of before, by the same names."""
    before = {}
    for name, value in values.items():
        parameter = PARAMETERS[name]
        module = import_module(f".{parameter.module}", __package__)
        before[name] = getattr(module, parameter.name)
        setattr(module, parameter.name, value)
    return before


def adopt(device=None):
    """Apply the table of a GPU of this name, or the one that MINITORCH_CUDA_TUNING names; returns its values."""
    given = os.environ.get("MINITORCH_CUDA_TUNING")
    path = Path(given) if given else file_of(device) if device else None
    if path is None or not given and not path.exists():
        return {}
    values = read(path)
    apply(values)
    return values
