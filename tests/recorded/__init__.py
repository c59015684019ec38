"""Small programs whose results PyTorch gave once, in `tests/data/recorded`: they hold us to its
numbers without it.

A subject is a module with ``CASES``, {name: function of a library, ``T``}; results are plain data
or tensors. Those of the kernel are here. ``test_recorded.py`` runs them on this library,
``parity/test_recorded.py`` on PyTorch: the data must still be its own. ``python -m
tests.recorded.record`` writes the data again, where PyTorch is installed.
"""

import importlib
import json
import math
import warnings

from tests import DATA

FOLDER = DATA / "recorded"
OF_KERNEL = ("optimisers", "schedules", "promotion", "definitions", "functions", "layers", "printing", "streams",
             "refusals", "misfits")
SUBJECTS = {name: f"{__name__}.{name}" for name in OF_KERNEL}
SUBJECTS["distributions"] = "tests.distributions.recorded_cases"
DIGITS = 8
COARSE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "complex64": 2e-6}


def cases(subject):
    """{name: function of a library} of a subject."""
    return importlib.import_module(SUBJECTS[subject]).CASES


def stored(subject):
    """{name: what PyTorch gave}."""
    path = FOLDER / f"{subject}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def outcome(case, library):
    """The result of a case, as data that JSON keeps; the class of the error where there is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(case(library))
        except Exception as error:
            return "raises " + next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


def plain(value):
    """`value` as lists, numbers and words; a tensor is a dict of its dtype, shape and numbers."""
    if hasattr(value, "detach"):
        value = value.detach()
        numbers = [plain(v) for v in value.reshape(-1).tolist()]
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "values": numbers}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return float(f"{value:.{DIGITS}g}")
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def differences(found, wanted, tolerance=1e-6, where=""):
    """Where `found` is not `wanted`, in words; numbers may differ by `tolerance`, of the largest one in a tensor,
    and by more in less precise dtypes; not at all if it is 0.
    """
    if isinstance(wanted, dict) and wanted.keys() == {"dtype", "shape", "values"} and isinstance(found, dict):
        coarse = COARSE.get(wanted["dtype"], 0) if tolerance else 0
        for key in ("dtype", "shape"):
            if found.get(key) != wanted[key]:
                yield f"{where}: {key} {found.get(key)} for {wanted[key]}"
                return
        yield from numbers(found["values"], wanted["values"], max(tolerance, coarse), where)
    elif isinstance(wanted, dict) and isinstance(found, dict):
        if list(found) != list(wanted):
            yield f"{where}: keys {list(found)} for {list(wanted)}"
            return
        for key in wanted:
            yield from differences(found[key], wanted[key], tolerance, f"{where}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            yield f"{where}: {found} for {wanted}"
            return
        for i, (a, b) in enumerate(zip(found, wanted)):
            yield from differences(a, b, tolerance, f"{where}[{i}]")
    elif isinstance(wanted, float) and type(found) is float:
        yield from numbers([found], [wanted], tolerance, where)
    elif type(found) is not type(wanted) or found != wanted:
        yield f"{where}: {found!r} for {wanted!r}"


def numbers(found, wanted, tolerance, where):
    """Where two lists of numbers differ."""
    pairs = list(zip(flat(found), flat(wanted), strict=True))
    size = max([abs(b) for _, b in pairs if type(b) in (int, float)], default=0)
    for i, (a, b) in enumerate(pairs):
        close = type(b) is float and type(a) is float and abs(a - b) <= tolerance * max(1e-3, size)
        if not (close or (a == b and type(a) is type(b))):
            yield f"{where}: number {i} is {a!r} for {b!r}"
            return


def flat(values):
    """Numbers of a list, those of complex ones one after the other."""
    return [x for v in values for x in (v if isinstance(v, list) else [v])]


def some(T, *shape, seed=0, dtype="float64", lo=-2.0, hi=2.0):
    """A tensor of different numbers that depend on nothing but `seed`."""
    n = math.prod(shape)
    values = [lo + (hi - lo) * ((k * 7919 + 104729 * (seed + 1)) % 10007) / 10007 for k in range(1, n + 1)]
    return T.tensor(values, dtype=T.float64).reshape(shape).to(getattr(T, dtype))
