"""Which kinds of numbers each function takes: where PyTorch raises an error, so do we, and where it answers, the same.

Complex numbers have no order, and many functions are defined for real numbers only: an answer would be garbage.
"""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch  # noqa: E402
from minitorch.core.registry import FUNCTIONS  # noqa: E402
from minitorch.testing.strategies import Draw  # noqa: E402

# Refused here and not in PyTorch, on purpose: complex statistics and logarithms of sums.
REFUSED = {"complex64": {"nan_to_num"}}


def converted(library, dtype, value):
    if isinstance(value, (list, tuple)):
        return [converted(library, dtype, x) for x in value]
    if isinstance(value, np.ndarray):
        if value.dtype == "float64":
            value = (value * (1 + 0.5j) if dtype == "complex64" else value * 3).astype(dtype)
        return library.from_numpy(np.array(value))
    return value


def outcome(function, inputs, attrs):
    """The values of a result, with their dtypes, or the error."""
    try:
        result = function(*inputs, **attrs)
    except Exception as error:
        return error
    result = result if isinstance(result, (tuple, list)) else (result,)
    return [(str(x.dtype).split(".")[-1], np.asarray(x.detach().numpy())) for x in result if hasattr(x, "detach")]


def same(ours, theirs):
    return len(ours) == len(theirs) and all(
        x[0] == y[0] and x[1].shape == y[1].shape and np.allclose(x[1], y[1], 1e-3, 1e-4, equal_nan=True)
        for x, y in zip(ours, theirs))


def public_ops():
    for (namespace, name), public in sorted(FUNCTIONS.items()):
        if namespace not in ("", "linalg", "special", "nn.functional"):
            continue
        place, op = torch, getattr(public.call, "op", None)
        for part in namespace.split(".") if namespace else ():
            place = getattr(place, part)
        if op is not None and hasattr(place, name):
            yield name, op, public.call, getattr(place, name)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["complex64", "bool", "int32"])
def test_the_same_kinds_of_numbers_are_refused(dtype):
    lenient, strict, different, answered = set(), set(), set(), 0
    for name, op, ours, theirs in public_ops():
        inputs, attrs = Draw(random.Random(0)).op_sample(op)
        variadic = op.inputs[0].kind == "variadic"
        found = []
        for library, function in (minitorch, ours), (torch, theirs):
            arrays = converted(library, dtype, inputs)
            found.append(outcome(function, [arrays] if variadic else arrays, attrs))
        failed = [isinstance(x, Exception) for x in found]
        if failed == [False, True]:
            lenient.add(name)
        elif failed == [True, False]:
            strict.add(name)
        elif failed == [False, False]:
            answered += 1
            if not same(*found):
                different.add(name)
    assert (lenient, strict, different) == (set(), REFUSED.get(dtype, set()), set())
    assert answered > 50


@pytest.mark.parametrize("call", [
    lambda t, x: t.max(x), lambda t, x: t.min(x), lambda t, x: t.max(x, 0), lambda t, x: t.max(x, x),
    lambda t, x: t.median(x), lambda t, x: t.median(x, 0), lambda t, x: t.nanmedian(x), lambda t, x: t.aminmax(x),
    lambda t, x: x < x, lambda t, x: x >= 1, lambda t, x: x.real < 1j if hasattr(x, "real") else x < 1j,
    lambda t, x: t.ones(2) > 1j, lambda t, x: x.argmax(), lambda t, x: x.argmin(0), lambda t, x: x.sort(),
    lambda t, x: x.clamp(min=0), lambda t, x: x.clone().clamp_(0, 1), lambda t, x: t.nn.functional.relu(x),
    lambda t, x: x.clone().relu_(), lambda t, x: t.argmax(x, out=t.zeros((), dtype=t.int64)),
    lambda t, x: t.sign(x), lambda t, x: x.topk(1), lambda t, x: x.signbit(), lambda t, x: t.isposinf(x)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_an_order_of_complex_numbers_is_refused(call, dtype):
    x = np.array([1 + 2j, 3 - 1j], dtype)
    for library in torch, minitorch:
        with pytest.raises(RuntimeError):
            call(library, library.from_numpy(x.copy()))


@pytest.mark.parametrize("call", [
    lambda t, x: t.sgn(x), lambda t, x: x.sgn(), lambda t, x: x.clone().sgn_(), lambda t, x: t.norm(x),
    lambda t, x: x.norm(dim=0), lambda t, x: t.norm(x, 1), lambda t, x: t.norm(x, 3, 0),
    lambda t, x: t.linalg.vector_norm(x, float("inf")), lambda t, x: t.linalg.vector_norm(x, 0),
    lambda t, x: t.vdot(x[0], x[1]), lambda t, x: x[0].vdot(x[1]), lambda t, x: x[0].dot(x[1]),
    lambda t, x: t.float_power(x, 2), lambda t, x: x.float_power(x + 5), lambda t, x: t.float_power(x, 0.5),
    lambda t, x: t.float_power(t.ones(2), 2j), lambda t, x: t.matrix_exp(x), lambda t, x: t.linalg.matrix_exp(x)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_of_complex_numbers_see_their_imaginary_parts(call, dtype):
    x = np.array([[1 + 2j, 0], [3 - 1j, -2j]], dtype)
    ours, theirs = [outcome(lambda y, t=t: call(t, y), [t.from_numpy(x.copy())], {}) for t in (minitorch, torch)]
    assert same(ours, theirs), (ours, theirs)
