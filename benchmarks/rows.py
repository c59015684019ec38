"""The table of workloads: each is written once and runs on any library that has PyTorch's names.

    @row("mlp", "models", "MLP 784-128-10, Adam, batch 64", gate=0.65, target=0.50)
    def mlp(torch):
        ...
        return step

`make(torch)` prepares everything and returns a function without arguments, which is what gets timed.
"""

import importlib

ROWS: dict = {}            # name -> Row
WORKLOADS = ("convolution", "elementwise", "embedding", "images", "matmul", "models", "optimizers", "overhead",
             "programs", "sparse", "vmap")                 # modules that enter rows; they import this one
GROUPS = ("models", "elementwise", "matrix products", "convolution", "embedding", "optimisers", "overhead",
          "transforms", "programs", "sparse matrices")


class Row:
    """One workload: its `name` and `title`, the `group` of the report that it belongs to, and `make`.

    `gate` and `target` are ratios of processor time to PyTorch's that it must and should reach with one thread on each
    side, `wall` the same of elapsed time with two threads (both None where nothing is asked). A call of what `make`
    returns does the work `steps` times.
    """

    def __init__(self, name, group, title, make, gate, target, wall, steps):
        self.name, self.group, self.title, self.make = name, group, title, make
        self.gate, self.target, self.wall, self.steps = gate, target, wall, steps


def row(name, group, title, gate=None, target=None, wall=None, steps=1):
    """Add a workload to the table."""
    def add(make):
        if name in ROWS:
            raise ValueError(f"there are two workloads called {name}")
        ROWS[name] = Row(name, group, title, make, gate, target, wall, steps)
        return make
    return add


def load_rows():
    """The table in the order of the report, with every module of workloads read."""
    for name in WORKLOADS:
        importlib.import_module(f"{__package__}.{name}")
    return dict(sorted(ROWS.items(), key=lambda item: GROUPS.index(item[1].group)))
