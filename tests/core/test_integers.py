"""Integers of 32 and 64 bits, which generated calls compute with as quickly as with floats: the same results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.core.call import general
from minitorch.core.registry import OPS
from minitorch.core.template import WHOLE, takes_out

HARD = ("floor_divide", "remainder", "fmod", "maximum", "pow")
QUICK = sorted(name for name, op in OPS.items() if op.promotion in WHOLE and len(op.inputs) == 2 and takes_out(op)
               and "i" not in op.refuses and all(x.kind in ("tensor", "number") for x in op.inputs)
               and not op.attrs and (op.forward is None or name in HARD))
SMALL = settings(max_examples=150, deadline=None, derandomize=True, database=None)
NUMBERS = st.one_of(st.integers(-5, 5), st.integers(-2**40, 2**40), st.booleans(), st.floats(-3, 3))


def outcome(call):
    """A result's dtype and values, or the class of the error."""
    try:
        found = call()
    except Exception as error:
        return type(error)
    return found.dtype, found.tolist()


def tensors(data):
    dtype = data.draw(st.sampled_from([torch.int32, torch.int64, torch.int64, torch.uint8, torch.bool]))
    shape = data.draw(st.sampled_from([(), (3,), (2, 3)]))
    values = data.draw(st.lists(st.integers(-4, 4), min_size=6, max_size=6))
    return torch.tensor(np.array(values)[:int(np.prod(shape))].reshape(shape)).to(dtype)


def test_there_are_such_operations():
    assert {"add", "sub", "mul", "eq", "lt", "bitwise_and", "floor_divide", "remainder", "pow"} <= set(QUICK)


@SMALL
@given(st.data())
def test_a_quick_call_is_the_general_one(data):
    op, x = OPS[data.draw(st.sampled_from(QUICK))], tensors(data)
    other = data.draw(NUMBERS) if data.draw(st.booleans()) else tensors(data)
    pair = (other, x) if data.draw(st.booleans()) else (x, other)
    assert outcome(lambda: op.call(*pair)) == outcome(lambda: general(op, pair, {}))


@SMALL
@given(st.data())
def test_a_write_in_place_is_the_result_written(data):
    name = data.draw(st.sampled_from(["add", "sub", "mul", "floor_divide", "remainder", "bitwise_and", "pow"]))
    x = tensors(data)
    other = data.draw(NUMBERS) if data.draw(st.booleans()) else tensors(data)
    view = torch.stack([x, x])[1]
    version = view._version

    def expected():
        result = getattr(x, name)(other)
        if result.shape != x.shape or not torch.can_cast(result.dtype, x.dtype):
            raise RuntimeError
        return result.to(x.dtype)
    found, wanted = outcome(lambda: getattr(view, name + "_")(other)), outcome(expected)
    assert found == wanted and (isinstance(wanted, type) or view._version > version)


@pytest.mark.parametrize("name", ["hypot", "nextafter"])
def test_functions_of_floats_refuse_integers_in_place_too(name):
    x = torch.ones(2, dtype=torch.int64)
    for call in (getattr(torch, name), getattr(torch.Tensor, name), getattr(torch.Tensor, name + "_")):
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            call(x, x)


@settings(max_examples=30)
@given(st.integers(-2**66, 2**66), st.sampled_from([torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]))
def test_integers_wrap_around_up_to_64_bits_and_not_beyond(n, dtype):
    x = torch.ones(1, dtype=dtype)
    if -2**63 <= n < 2**64:
        bits = 8 * dtype.itemsize
        want = (n + 1) % 2**bits
        assert (x + n).item() == (want - 2**bits if dtype.is_signed and want >= 2**(bits - 1) else want)
    else:
        with pytest.raises(OverflowError):
            x + n
