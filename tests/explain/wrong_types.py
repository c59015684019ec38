"""Calls of all public functions with one argument of a wrong type, and the class of error that PyTorch raised.

`python -m tests.explain.wrong_types`, where PyTorch is installed, looks for arguments that each
function takes and replaces one
at a time: a tensor by a string, None, a number, a list and a dtype, a number by a float, a string and None. It keeps
the arguments and a letter for each error in `data/wrong_types.json`, so that the tests need neither the search nor
PyTorch.
"""

import inspect
import itertools
import json
import random
import warnings

import numpy as np

from minitorch.core.registry import FUNCTIONS, METHODS
from minitorch.testing.strategies import Draw
from tests import DATA

FILE = DATA / "wrong_types.json"
NAMESPACES = ("", "linalg", "special", "nn.functional", "fft")
NO_CALLS = ("set_", "manual_seed", "seed", "load", "save")  # they change the state of the program
TENSOR_FOR = ("'a'", "None", "3.5", "[1]", "lib.float32")
NUMBER_FOR = ("1.5", "'a'", "None")
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])
FIRST = [MATRIX, MATRIX[0], MATRIX[None], MATRIX[None, None], [MATRIX], np.array([1, 0]), 2, (2, 2)]
REST = [MATRIX, 0, 1, np.array([0, 1]), (2, 2), (0,), MATRIX[0], "sum", True, 0.5]
OF_METHODS = [MATRIX, 0, 1, np.array([0, 1]), (2, 2), 4, 0.5]


def text(x):
    """A value as an expression of a library `lib`."""
    if isinstance(x, (list, tuple)):
        inside = ", ".join(map(text, x))
        return f"[{inside}]" if isinstance(x, list) else f"({inside},)"
    if isinstance(x, np.ndarray):
        kind = "float32" if x.dtype == "float64" else x.dtype
        values = np.round(x, 3) if kind == "float32" else x
        return f"lib.tensor({values.tolist()}, dtype=lib.{kind})"
    return repr(x)


def written(function, args, kwargs):
    return f"{function}({', '.join([*args, *[f'{k}={x}' for k, x in kwargs.items()]])})"


def error(call, lib):
    """The error of a call, or None."""
    try:
        eval(call, {"lib": lib})
    except Exception as e:
        return e
    return None


def places(args, kwargs):
    """The arguments to be replaced, and what by."""
    for k, x in [*enumerate(args), *kwargs.items()]:
        if isinstance(x, np.ndarray) or isinstance(x, (list, tuple)) and x and isinstance(x[0], np.ndarray):
            yield k, TENSOR_FOR
        elif isinstance(x, (int, float)) and not isinstance(x, bool):
            yield k, NUMBER_FOR


def calls(function, entry):
    """The calls of a function by what is stored of it: (call, letter of PyTorch's error)."""
    for k, letters in entry["errors"].items():
        args, kwargs = list(entry["args"]), dict(entry["kwargs"])
        for bad, letter in zip(TENSOR_FOR if len(letters) == len(TENSOR_FOR) else NUMBER_FOR, letters, strict=True):
            if k.isdigit():
                args[int(k)] = bad
            else:
                kwargs[k] = bad
            yield written(function, args, kwargs), letter


CLASSES = {"T": TypeError, "R": RuntimeError, "V": ValueError, "I": IndexError, "A": AttributeError, "O": OverflowError,
           "N": NotImplementedError, "E": Exception}


def letter(error):
    """A letter for the class of an error, "." for none."""
    return "." if error is None else next(k for k, v in CLASSES.items() if type(error) is v or k == "E")


def agrees(error, letter):
    """True if an error is one that PyTorch's users would catch."""
    if error is None or letter == ".":
        return error is None and letter == "."
    return isinstance(error, CLASSES[letter]) or letter == "A" and isinstance(error, TypeError)


def samples(call):
    """Pairs of positional and named arguments that may be right for a function."""
    op = getattr(call, "op", None)
    if op is not None:
        try:
            args, kwargs = Draw(random.Random(0)).op_sample(op)
            return [([list(args)] if op.inputs[0].kind == "variadic" else list(args), kwargs)]
        except Exception:
            pass                                           # no sample: as any other function
    parameters = inspect.signature(call).parameters.values()
    need = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    if need:
        return [([x, *rest], {}) for x in FIRST
                for rest in itertools.islice(itertools.product(REST, repeat=len(need) - 1), 200)]
    return [([x], {}) for x in FIRST] if any(p.kind == p.VAR_POSITIONAL for p in parameters) else [([], {})]


def candidates():
    """All functions with the arguments that they may take, and which of these are asked about."""
    for (namespace, name), public in sorted(FUNCTIONS.items()):
        if namespace in NAMESPACES and not name.startswith(NO_CALLS):
            found = samples(public.call)
            yield ".".join(["lib", *filter(None, (namespace, name))]), found, 0
            if not namespace and isinstance(found[0][0][0] if found[0][0] else None, np.ndarray) and public.method:
                yield f"lib.Tensor.{name}", found, 1
    for name, method in sorted(METHODS.items()):
        parameters = list(inspect.signature(method).parameters.values())[1:]
        need = len([p for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD])
        need += any(p.kind == p.VAR_POSITIONAL for p in parameters)
        if need < 4:
            rest = itertools.product(OF_METHODS, repeat=need)
            yield f"lib.Tensor.{name}", [([MATRIX, *values], {}) for values in rest], 1


def search(theirs, known=()):
    """(function, what to store of it) for the functions that are not known; None where no call was found."""
    import minitorch as ours
    for function, found, first in candidates():
        if function in known:
            continue
        entry = None
        for args, kwargs in found:
            texts = [text(x) for x in args], {k: text(x) for k, x in kwargs.items()}
            call = written(function, *texts)
            if error(call, ours) is None and error(call, theirs) is None:
                entry = dict(args=texts[0], kwargs=texts[1], errors={})
                for k, wrong in places(args, kwargs):
                    if k not in range(first):
                        entry["errors"][str(k)] = "?" * len(wrong)
                asked = [letter(error(call, theirs)) for call, _ in calls(function, entry)]
                for k, letters in entry["errors"].items():
                    entry["errors"][k] = "".join(asked[:len(letters)])
                    del asked[:len(letters)]
                break
        yield function, entry


def main():
    import torch
    warnings.simplefilter("ignore")
    found = dict(search(torch))
    rows = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in found.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{len(found)} functions, {sum(len(list(calls(k, v))) for k, v in found.items() if v)} calls; no call of "
          f"{[k for k, v in found.items() if not v]}")


if __name__ == "__main__":
    main()
