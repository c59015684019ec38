"""The output of the programs beside this file, for comparison, and how it is read."""

import re

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)(?![\w.])")


def show(label, *values):
    """Print ``label: values`` on a line: tensors, arrays, lists and dicts flattened, floats with seven digits."""
    print(f"{label}:", *(text for value in values for text in flattened(value)), flush=True)


def flattened(value):
    if hasattr(value, "detach"):
        value = value.detach().double() if value.is_floating_point() else value.detach()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return [text for key in value for text in (str(key), *flattened(value[key]))]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in flattened(part)]
    return [f"{value:.7g}" if isinstance(value, float) else str(value)]


def differences(found, expected, rtol=1e-4, atol=2e-6):
    """The lines that differ otherwise than by rounding, as (found, expected)."""
    found, expected = found.splitlines(), expected.splitlines()
    lines = max(len(found), len(expected))
    padded = zip(found + ["(nothing)"] * (lines - len(found)), expected + ["(nothing)"] * (lines - len(expected)))
    return [pair for pair in padded if not same(*pair, rtol, atol)]


def same(found, expected, rtol, atol):
    if NUMBER.sub("0", found) != NUMBER.sub("0", expected):
        return False
    for a, b in zip(NUMBER.findall(found), NUMBER.findall(expected)):
        a, b = float(a), float(b)
        if not (a == b or abs(a - b) <= atol + rtol * abs(b) or a != a and b != b):
            return False
    return True
