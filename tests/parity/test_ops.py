"""Every public row of the op table against the function of the same name in PyTorch: values, types, gradients.

The inputs are those of the derived gradient tests (`Draw.op_sample`), in float64 and float32, and as integers where
both libraries take them; gradients are weighted by the same numbers.
"""

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.core.registry import FUNCTIONS, OPS
from minitorch.testing.strategies import Draw

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

# Attributes that only our rows have, and functions whose results are random or not defined.
SKIP = {"empty_like": "uninitialised memory", "dropout": "random", "bernoulli": "random", "poisson": "random",
        "kthvalue": "the index of equal elements is not defined"}
# PyTorch has no derivative for these, or a symbolic zero; ours are zero where the function is flat.
NO_DERIVATIVE = ("floor_divide", "heaviside", "sgn", "igamma", "igammac", "special.zeta", "special.gammainc",
                 "special.gammaincc")
few = settings(max_examples=6, deadline=None, database=None, derandomize=True,
               suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])


def twin(namespace, name):
    """PyTorch's function, or None."""
    try:
        return functools.reduce(getattr, [*(namespace.split(".") if namespace else []), name], torch)
    except AttributeError:
        return None


CASES = [(f"{namespace}.{name}".lstrip("."), public.call.op, twin(namespace, name))
         for (namespace, name), public in FUNCTIONS.items()
         if getattr(public.call, "op", None) in OPS.values() and name not in SKIP and twin(namespace, name)
         and public.call.op.inputs[0].kind != "variadic"]


def both(x, dtype, requires_grad=False):
    """One input for each library."""
    if not isinstance(x, np.ndarray):
        return x, x
    x = x.astype(dtype) if x.dtype == np.float64 else x
    ours, theirs = minitorch.from_numpy(x.copy()), torch.from_numpy(x.copy())
    if requires_grad and x.dtype.kind == "f":
        ours.requires_grad_(), theirs.requires_grad_()
    return ours, theirs


def listed(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def compare(ours, theirs, dtype):
    rtol, atol = (1e-9, 1e-11) if dtype == np.float64 else (2e-5, 2e-5)
    for a, b in zip(listed(ours), listed(theirs)):
        b = b.detach().numpy() if isinstance(b, torch.Tensor) else np.asarray(b)
        a = a.detach().numpy() if isinstance(a, minitorch.Tensor) else np.asarray(a)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * max(1, np.abs(b[np.isfinite(b)]).max(initial=0)))


def energy(x):
    """A real number that depends on all elements, of complex ones too."""
    return (x * x.conj()).real.sum() if x.is_complex() else (x * x).sum()


@pytest.mark.parametrize("name, row, function", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64], ids=lambda d: d.__name__)
@given(rng=st.randoms(use_true_random=False))
@few
def test_same_as_pytorch(name, row, function, dtype, rng):
    arrays, attrs = Draw(rng).op_sample(row)
    pairs = [both(x, dtype, requires_grad=True) for x in arrays]
    ours, theirs = [p[0] for p in pairs], [p[1] for p in pairs]
    words = {k: v for k, v in attrs.items() if not isinstance(v, np.ndarray)}
    if words.get("sorted") is False:
        words["sorted"] = True                             # the order is not defined otherwise
    try:
        wanted = function(*theirs, **words)
    except (RuntimeError, TypeError, IndexError, NotImplementedError) as error:
        wanted_refusal = dtype == np.int64 and not isinstance(error, TypeError) and not name.endswith("round")
        if wanted_refusal:                                 # what PyTorch refuses, we refuse (but rounding to decimals)
            with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)):
                row.call(*ours, **words)
            return
        pytest.skip(f"PyTorch's {name} takes other arguments: {error}".splitlines()[0])
    found = row.call(*ours, **words)
    if name == "topk" and dtype == np.int64:               # which of several equal elements is not defined
        found, wanted = found.values, wanted.values
    compare(found, wanted, dtype)
    live = [(a, b) for a, b in zip(ours, theirs) if isinstance(a, minitorch.Tensor) and a.requires_grad]
    outs = [(a, b) for a, b in zip(listed(found), listed(wanted))
            if isinstance(a, minitorch.Tensor) and b.requires_grad]
    if live and outs and name not in NO_DERIVATIVE:
        assert all(a.requires_grad for a, _ in outs)
        sum(energy(a) for a, _ in outs).backward()
        sum(energy(b) for _, b in outs).backward()
        for a, b in live:
            if b.grad is not None:
                compare(a.grad, b.grad, dtype)
