"""One program run by PyTorch and by minitorch, compared after every line, and shortened."""

import copy
import importlib
import warnings

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

FLOATS = ("float32", "float64", "bfloat16", "float16")
SHORT = {"float16": "half", "bfloat16": "bfloat16"}
TOLERANCE = {"float32": 2e-4, "float64": 1e-9, "bfloat16": 0.06, "float16": 8e-3}


# ---- running -----------------------------------------------------------------------------------------------
def is_float(t):
    return t.dtype.is_floating_point


def works(test, t):
    """True if a test is true; PyTorch refuses questions about a view whose memory was written to in
    another's name."""
    try:
        return test(t)
    except RuntimeError:
        return False


def scope_of(library):
    return {"torch": library, "F": library.nn.functional, "nn": library.nn, "copy": copy,
            "checkpoint": importlib.import_module(f"{library.__name__}.utils.checkpoint").checkpoint}


def run_line(line, scope):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(line, scope)


# ---- comparing ---------------------------------------------------------------------------------------------
def facts(t):
    """The properties of a tensor that can be compared, values excepted."""
    return dict(dtype=str(t.dtype).partition(".")[2], shape=tuple(t.shape), requires_grad=t.requires_grad,
                contiguous=t.is_contiguous(), leaf=t.is_leaf)


def values(t):
    t = t.detach()
    kind = complex if t.dtype.is_complex else float
    return np.asarray((t.double() if t.dtype.is_floating_point else t).tolist(), dtype=kind)


def differ(a, b, tolerance):
    """How minitorch's tensor `b` differs from PyTorch's `a`; None if it does not."""
    theirs, ours = facts(a), facts(b)
    for key in theirs:
        if theirs[key] != ours[key]:
            return f"{key} is {theirs[key]}, got {ours[key]}"
    x, y = values(a), values(b)
    if x.size:
        finite = np.isfinite(x)
        scale = max(1.0, np.abs(x[finite]).max(initial=0.0))
        limit = tolerance * scale if is_float(a) or a.is_complex() else 0
        both = finite & np.isfinite(y)
        distance = np.abs(np.where(both, x, 0) - np.where(both, y, 0))
        same = np.where(both, distance <= limit, (np.isnan(x) & np.isnan(y)) | (x == y))
        if not same.all():
            return f"values are {x.ravel()[:6]}, got {y.ravel()[:6]}"
    return None


def why(t):
    """PyTorch's error for a view whose memory was written to in another's name."""
    try:
        return str(t.is_leaf)
    except RuntimeError as error:
        return str(error).partition("\n")[0][:250]


def compare(lines):
    """(line, how it differs) of the first line after which the libraries disagree; None if they never do."""
    theirs, ours = scope_of(torch), scope_of(minitorch)
    tolerance = max(TOLERANCE[dtype] for dtype in FLOATS if dtype == "float32" or any(
        dtype in line or f".{SHORT.get(dtype)}()" in line for line in lines))     # of the coarsest type that takes part
    for line in lines:
        errors = []
        for scope in (theirs, ours):
            try:
                run_line(line, scope)
                errors.append(None)
            except Exception as error:
                errors.append(error)
        a, b = errors
        if a and b and "backward" in line:
            return None                                    # how far it came, nobody promises
        if (a is None) != (b is None):
            shown = a if b is None else b
            words = str(shown).partition("\n")[0][:250]
            return line, f"{'PyTorch' if b is None else 'minitorch'} raises {type(shown).__name__}: {words}"
        for name in [k for k in theirs if k[0] == "t" and k[1:].isdigit()]:
            if (theirs[name] is None) != (ours.get(name) is None):
                return line, f"{name} is {theirs[name]}, got {ours.get(name)}"
            if theirs[name] is None:
                continue
            if not works(lambda t: t.is_leaf or True, theirs[name]):
                return line, f"PyTorch raises RuntimeError: {why(theirs[name])}"
            found = differ(theirs[name], ours[name], tolerance)
            if found:
                return line, f"{name}: {found}"
            if theirs[name].is_leaf:
                g, h = theirs[name].grad, ours[name].grad
                if (g is None) != (h is None):
                    there = ("None", "there")
                    return line, f"{name}.grad is {there[g is not None]}, got {there[h is not None]}"
                found = g is not None and differ(g, h, tolerance)
                if found:
                    return line, f"{name}.grad: {found}"
    return None


def shortened(lines):
    """The program without the lines that the difference does not need."""
    found = compare(lines)
    i = len(lines) - 1
    while i >= 1:                                          # the first line seeds the generator
        shorter = lines[:i] + lines[i + 1:]
        again = compare_quietly(shorter)
        if again and kind(again) == kind(found):
            lines, found = shorter, again
        i -= 1
    return lines, found


def compare_quietly(lines):
    try:
        return compare(lines)
    except Exception:
        return None


def kind(found):
    words = found[1]
    return words.partition(" raises ")[2][:25] or words.partition(": ")[2].partition(" is ")[0] or words[-20:]
