"""All hand-written kernels by op name, from the modules that have some.

Each module's `KERNELS` maps an op's name to a function ``(F, *inputs, **attributes)`` with the result of the op's
reference forward pass, which may decline a case by calling the reference.
"""

from importlib import import_module, util

__all__ = ["KERNELS"]

MODULES = ("elementwise", "activation", "reduce", "copy", "matmul", "convolve", "attention", "softmax", "normalise",
           "cross_entropy", "embedding", "scatter", "optim", "random", "cumulative", "pool", "resize",
           "rope", "recurrent")


def collect():
    found = {}
    for name in MODULES:
        if util.find_spec(f"{__package__}.{name}"):
            found |= getattr(import_module(f".{name}", __package__), "KERNELS", {})
    return found


KERNELS = collect()
