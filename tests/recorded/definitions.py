"""Samples of every public op definition that PyTorch has a function for: results, and gradients of their squares.

The inputs lie in `data/recorded/inputs.json`, drawn once as the derived tests draw theirs, so that they stay what they
were when a definition's ``sample`` changes. ``record.py inputs`` redraws them.
"""

import functools
import json
import random

from tests.recorded import FOLDER

SAMPLES = 2
SKIP = ("empty_like", "dropout", "bernoulli", "poisson", "kthvalue")   # random, undefined
# PyTorch has no derivative for these, or a symbolic zero, or another one where they are flat.
NO_GRADIENT = ("floor_divide", "heaviside", "sgn", "igamma", "igammac", "special.zeta", "special.gammainc",
               "special.gammaincc")


def draw():
    """{name: [[arguments], {attributes}]} of all rows, of those that JSON can hold and both libraries take."""
    import torch

    from minitorch.core.registry import FUNCTIONS, OPS
    from minitorch.testing.strategies import Draw
    found = {}
    for (namespace, name), public in sorted(FUNCTIONS.items(), key=str):
        row, path = getattr(public.call, "op", None), f"{namespace or ''}.{name}".strip(".")
        if row not in OPS.values() or name in SKIP or row.inputs[0].kind == "variadic" or not twin(torch, path):
            continue
        for n in range(SAMPLES):
            arrays, attrs = Draw(random.Random(f"{path} {n}")).op_sample(row)
            case = [[stored_array(x) for x in arrays], {k: v for k, v in attrs.items() if v is not None}]
            try:
                json.dumps(case)
                twin(torch, path)(*map(functools.partial(tensor, torch), case[0]), **case[1])
            except (TypeError, RuntimeError):
                continue
            found[f"{path} {n}"] = case
    return found


def twin(library, path):
    """The function of a dotted name, or None."""
    try:
        return functools.reduce(getattr, path.split("."), library)
    except AttributeError:
        return None


def stored_array(x):
    """An array as a dict of lists, its numbers of four decimals."""
    if not hasattr(x, "dtype"):
        return x
    values = [round(v, 4) if isinstance(v, float) else v for v in x.reshape(-1).tolist()]
    return {"dtype": str(x.dtype), "shape": list(x.shape), "values": values}


def tensor(T, x, requires_grad=False):
    if not isinstance(x, dict):
        return x
    made = T.tensor(x["values"], dtype=getattr(T, x["dtype"])).reshape(x["shape"])
    return made.requires_grad_() if requires_grad and x["dtype"] == "float64" else made


def sample(name, arguments, attrs):
    path = name.split(" ")[0]

    def run(T):
        given = [tensor(T, x, True) for x in arguments]
        out = twin(T, path)(*given, **attrs)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        live = [o for o in outs if hasattr(o, "detach") and o.requires_grad]
        leaves = [x for x in given if hasattr(x, "detach") and x.requires_grad]
        if not live or not leaves or path in NO_GRADIENT:
            return outs
        grads = T.autograd.grad(sum((o * o).sum() for o in live), leaves, allow_unused=True)
        return [outs, [T.zeros(x.shape, dtype=x.dtype) if g is None else g for g, x in zip(grads, leaves)]]
    return run


INPUTS = FOLDER / "inputs.json"
ROWS = json.loads(INPUTS.read_text()) if INPUTS.exists() else {}
CASES = {name: sample(name, *case) for name, case in ROWS.items()}
