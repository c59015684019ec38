"""Scenarios: small programs run on PyTorch and here, whose logs must be equal.

A scenario is a function of the library, ``T``, that returns plain data: what users do, and what they see of it.
"""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

import minitorch  # noqa: E402


def plain(value):
    """``value`` with tensors as nested lists, floats rounded."""
    if hasattr(value, "detach"):
        return plain(value.detach().tolist())
    if isinstance(value, dict):
        return [(k, plain(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return round(value, 4) + 0.0
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, (str, int, bool, type(None))):
        return value
    return str(value)


def error(fn):
    """The class of what ``fn`` raises."""
    try:
        fn()
    except Exception as e:
        return type(e).__name__
    return "nothing raised"


def message(fn):
    """The error that ``fn`` raises, in full."""
    with pytest.raises(Exception) as info:
        fn()
    return f"{info.type.__name__}: {info.value.args[0]}"


def assert_same(ours, theirs, path="log"):
    assert type(ours) is type(theirs), f"{path}: {ours} for {theirs}"
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), f"{path}: {ours} for {theirs}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            assert_same(a, b, f"{path}[{i}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=2e-4, nan_ok=True), path
    else:
        assert ours == theirs, path


def same_log(run):
    """Run a scenario on both libraries and compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(plain(run(minitorch)), plain(run(torch)))
