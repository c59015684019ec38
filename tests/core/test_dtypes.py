"""Data types: PyTorch's promotion table, the dtypes of actual results, casts, limits, the default dtype.

`tables` asks a library for its promotion table; ``data/promotion.json`` holds PyTorch's answer, which
``parity/test_dtypes.py`` compares with the PyTorch that is installed. With PyTorch,
``python -m tests.core.test_dtypes`` writes the file again.
"""

import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from tests import DATA

# One letter for each dtype, NumPy's where it has one; "!" where PyTorch raises.
LETTERS = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H",
           "uint32": "I", "uint64": "Q", "float16": "e", "bfloat16": "E", "float32": "f", "float64": "d",
           "complex64": "F", "complex128": "D"}
ALL = list(LETTERS)
NAMES = [name for name in ALL if name not in ("uint16", "uint32", "uint64")]   # those PyTorch computes with
LETTERS["complex32"] = "F"                                 # which only PyTorch has: complex64 takes its place
NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 1 + 2j}
BINARY = ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "maximum", "eq", "bitwise_and", "where",
          "result_type")
UNARY = ("neg", "abs", "sin", "exp", "sqrt", "sigmoid", "sign", "square", "reciprocal", "floor", "logical_not",
         "bitwise_not", "isnan", "sum", "prod", "mean", "cumsum", "var", "amax", "argmax", "any", "softmax",
         "relu")
# Ops that PyTorch has no kernel for in some cases, where the dtype that we return is the promoted one all the same.
LENIENT = {"sub": "PyTorch refuses x - True where x is a float tensor",
           "div": "PyTorch has no kernel for complex32", "pow": "the same; and it takes True ** True",
           "var": "we have no variance of complex numbers"}
ORDERED = ("maximum", "sign", "amax", "argmax", "relu")    # PyTorch refuses complex numbers there
FILE = DATA / "promotion.json"


def letter(compute, *args):
    """The letter of the dtype of what `compute` returns, "!" if it raises."""
    try:
        found = compute(*args)
    except (RuntimeError, TypeError, NotImplementedError):
        return "!"
    return LETTERS[str(getattr(found, "dtype", found)).removeprefix("torch.")]


def operands(torch, dimensions, names):
    """A tensor of ones of every dtype."""
    return [torch.ones((1,) * dimensions, dtype=getattr(torch, name)) for name in names]


def binary(torch, name, a, b):
    if name == "where":
        return torch.where(torch.ones((1,), dtype=torch.bool), a, b)
    return getattr(torch, name)(a, b)


def unary(torch, name, x):
    if name in ("cumsum", "softmax"):
        return getattr(torch, name)(x, 0)
    return getattr(torch, name)(x)


def tables(torch):
    """{"op kind kind": [a row of letters for each dtype of the first operand]}, by asking `torch`."""
    out = {"promote_types": ["".join(letter(torch.promote_types, getattr(torch, a), getattr(torch, b)) for b in ALL)
                             for a in ALL]}
    for op in BINARY:
        full, zero = [operands(torch, n, ALL if op == "result_type" else NAMES) for n in (1, 0)]
        for kind, left, right in (("tensor tensor", full, full), ("tensor 0-d", full, zero),
                                  ("0-d tensor", zero, full), ("tensor number", full, NUMBERS.values()),
                                  ("0-d number", zero, NUMBERS.values())):
            out[f"{op} {kind}"] = ["".join(letter(binary, torch, op, a, b) for b in right) for a in left]
    for op in UNARY:
        out[op] = ["".join(letter(unary, torch, op, x) for x in operands(torch, 1, NAMES))]
    return out


STORED = json.loads(FILE.read_text()) if FILE.exists() else {}


# ---- promotion ---------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def ours():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # var() of one element
        return tables(torch)


def agree(op, got, want):
    """True if one letter of our table will do."""
    if "!" in (got, want) and op in LENIENT:
        return True
    return got == want or (want == "!" and op in ORDERED)


@pytest.mark.parametrize("name", STORED)
def test_promotion_is_that_of_pytorch(ours, name):
    op, names = name.split()[0], ALL if len(STORED[name]) == len(ALL) else NAMES
    columns = list(NUMBERS) if name.endswith("number") else names
    wrong = [f"{op} of {a} {b} gives {got}, in PyTorch {want}"
             for a, row, wanted in zip([""] if op in UNARY else names, ours[name], STORED[name])
             for b, got, want in zip(columns, row, wanted) if not agree(op, got, want)]
    assert not wrong, "\n".join(wrong)


def test_everything_was_compared(ours):
    assert set(ours) == set(STORED)
    assert len(STORED) == 1 + 5 * len(BINARY) + len(UNARY)


def test_python_numbers_do_not_widen():
    for name in ("float16", "bfloat16", "float32"):
        x = torch.ones(2, dtype=getattr(torch, name))
        for y in (x + 1, x * 2.5, 2.5 - x, x / 3, x ** 2, 1.5 ** x, torch.where(x > 0, x, 0.0), x.clamp(0, 0.5)):
            assert y.dtype is x.dtype
    assert (torch.arange(3) * 1.5).dtype is torch.float32 and (torch.arange(3) / 2).dtype is torch.float32
    assert (torch.tensor([True]) + True).dtype is torch.bool and (torch.tensor([True]) + 1).dtype is torch.int64
    assert (torch.ones(2) * 1j).dtype is torch.complex64


def test_gradients_come_back_in_each_inputs_dtype():
    xs = [torch.ones(2, dtype=d, requires_grad=True)
          for d in (torch.float16, torch.bfloat16, torch.float32, torch.float64)]
    y = (xs[0] * xs[1] + xs[2]) * xs[3]
    y.sum().backward()
    assert y.dtype is torch.float64
    assert [x.grad.dtype for x in xs] == [x.dtype for x in xs]


@given(st.lists(st.sampled_from(ALL), min_size=2, max_size=2))
@settings(deadline=None, database=None, derandomize=True)
def test_promotion_is_symmetric_and_holds_both(names):
    a, b = (getattr(torch, name) for name in names)
    try:
        found = torch.promote_types(a, b)
    except RuntimeError as error:
        assert "uint16, uint32, uint64" in str(error)
        return
    assert found is torch.promote_types(b, a)
    assert torch.can_cast(a, found) and torch.can_cast(b, found)
    assert torch.promote_types(found, a) is found


def test_can_cast():
    assert torch.can_cast(torch.float64, torch.float32) and torch.can_cast(torch.int64, torch.float16)
    for a, b in ((torch.float32, torch.int64), (torch.complex64, torch.float64), (torch.int64, torch.bool)):
        assert not torch.can_cast(a, b)


# ---- the dtype objects -------------------------------------------------------------------------------------
def test_names_and_attributes():
    assert torch.float is torch.float32 and torch.double is torch.float64 and torch.half is torch.float16
    assert torch.long is torch.int64 and torch.int is torch.int32 and torch.short is torch.int16
    assert torch.cfloat is torch.complex64 and torch.cdouble is torch.complex128
    assert repr(torch.float32) == str(torch.float32) == "torch.float32" and repr(torch.bool) == "torch.bool"
    assert [getattr(torch, n).itemsize for n in ("bool", "int16", "bfloat16", "complex128")] == [1, 2, 2, 16]
    assert torch.bfloat16.is_floating_point and not torch.int8.is_floating_point and torch.complex64.is_complex
    assert not torch.uint8.is_signed and not torch.bool.is_signed and torch.int8.is_signed and torch.float16.is_signed
    assert torch.float64.to_complex() is torch.complex128 and torch.complex64.to_real() is torch.float32


def test_they_are_pickled_copied_and_hashed_by_name():
    import copy
    for name in ALL:
        d = getattr(torch, name)
        assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d and copy.copy(d) is d
        assert {d: 1}[d] == 1


@pytest.mark.parametrize("wrong", ["float32", np.float32, object, 3], ids=repr)
def test_what_is_no_dtype(wrong):
    with pytest.raises(TypeError, match="dtype"):
        torch.zeros(2, dtype=wrong)


def test_python_types_stand_for_dtypes():
    assert [torch.zeros(1, dtype=t).dtype for t in (bool, int, float, complex)] == [
        torch.bool, torch.int64, torch.float64, torch.complex128]
    assert torch.ones(1).to(float).dtype is torch.float64


# ---- limits ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo(name):
    found, wanted = torch.finfo(getattr(torch, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        value = getattr(found, field)
        assert type(value) in (int, float) and value == float(getattr(wanted, field)), field
    assert found.dtype == name and found.resolution == {"float16": 1e-3, "float32": 1e-6, "float64": 1e-15}[name]


def test_finfo_of_bfloat16_complex_and_the_default():
    assert torch.finfo(torch.bfloat16).eps == 2.0 ** -7 and torch.finfo(torch.bfloat16).bits == 16
    assert torch.finfo(torch.bfloat16).max == 3.3895313892515355e+38
    assert torch.finfo(torch.complex64).eps == torch.finfo().eps == 2.0 ** -23
    with pytest.raises(TypeError, match="iinfo"):
        torch.finfo(torch.int32)


def test_iinfo():
    for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"):
        found, wanted = torch.iinfo(getattr(torch, name)), np.iinfo(name)
        assert (found.min, found.max, found.bits) == (wanted.min, wanted.max, wanted.bits)
    assert repr(torch.iinfo(torch.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    with pytest.raises(TypeError, match="finfo"):
        torch.iinfo(torch.float32)


# ---- the default dtype -------------------------------------------------------------------------------------
def test_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        made = [torch.tensor(1.0), torch.tensor([1.0]), torch.zeros(2), torch.rand(2), torch.randn(2),
                torch.linspace(0, 1, 2), torch.arange(0.0, 2.0), torch.eye(2), torch.full((1,), 1.0), torch.empty(1),
                torch.arange(3) / 2, torch.arange(3) * 1.5, torch.arange(3).sqrt(), torch.Tensor([1.0])]
        assert {x.dtype for x in made} == {torch.float64}
        assert torch.tensor(1j).dtype is torch.complex128 and torch.tensor(1).dtype is torch.int64
        assert (torch.ones(1, dtype=torch.float32) * 1.5).dtype is torch.float32
        assert torch.result_type(torch.arange(2), 1.5) is torch.float64
        assert torch.nn.Linear(2, 2).weight.dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.arange(3) * 1.5).dtype is torch.float32
    for wrong in (torch.int64, torch.complex64, float):
        with pytest.raises(TypeError, match="floating"):
            torch.set_default_dtype(wrong)


# ---- casts -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_casts(name):
    d = getattr(torch, name)
    x = torch.tensor([0.0, 1.0, 2.5, 100.0])
    y = x.to(d)
    assert y.dtype is d and y.shape == (4,) and y.to(d) is y and y.to(d, copy=True) is not y
    assert y.tolist() == ([False, True, True, True] if name == "bool" else [0, 1, 2 if "int" in name else 2.5, 100])


def test_short_forms():
    x = torch.tensor([1.7, -1.7])
    for form, d in dict(float="float32", double="float64", half="float16", bfloat16="bfloat16", int="int32",
                        long="int64", short="int16", char="int8", byte="uint8", bool="bool", cfloat="complex64",
                        cdouble="complex128").items():
        assert getattr(x.abs(), form)().dtype is getattr(torch, d)
    assert x.long().tolist() == [1, -1] and x.bool().tolist() == [True, True]
    assert x.type(torch.float64).dtype is torch.float64 and x.type("torch.IntTensor").dtype is torch.int32
    assert x.type() == "torch.FloatTensor" and x.type_as(torch.ones(1, dtype=torch.int8)).dtype is torch.int8
    assert x.float() is x


def test_sixteen_bit_floats_round_once():
    """Ops on 16-bit floats compute in float32, as PyTorch's do."""
    for name in ("float16", "bfloat16"):
        x = torch.full((1000,), 0.1, dtype=getattr(torch, name))
        assert abs(x.sum().item() - 1000 * x[0].item()) < 0.3, "summed in the narrow type it would drift"
        y = torch.tensor([3.14159], dtype=getattr(torch, name))
        assert y.exp().item() == y.float().exp().to(y.dtype).item()


def test_bfloat16_prints_and_comes_back():
    x = torch.tensor([1.0, 2.5], dtype=torch.bfloat16)
    assert repr(x) == "tensor([1.0000, 2.5000], dtype=torch.bfloat16)"
    assert x.tolist() == [1.0, 2.5] and x[1].item() == 2.5 and (x @ x).item() == 7.25
    assert pickle.loads(pickle.dumps(x)).dtype is torch.bfloat16


def test_complex_numbers():
    x = torch.tensor([1 + 2j, 3.0])
    assert x.dtype is torch.complex64 and x.is_complex() and not x.is_floating_point()
    assert ((x * x) / 2 - 1).tolist() == [-2.5 + 2j, 3.5] and x.abs().dtype is torch.float32
    assert (x + torch.ones(2, dtype=torch.float64)).dtype is torch.complex128
    assert repr(x) == "tensor([1.+2.j, 3.+0.j])" and x[0].item() == 1 + 2j and complex(x[0]) == 1 + 2j
    assert x.requires_grad_().requires_grad


# ---- numbers that do not fit -------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [lambda x, d: torch.tensor([x], dtype=d), lambda x, d: torch.full((1,), x, dtype=d),
                                  lambda x, d: torch.zeros(1, dtype=d).fill_(x),
                                  lambda x, d: torch.zeros(1, dtype=d).__setitem__(0, x),
                                  lambda x, d: torch.zeros(1, dtype=d).masked_fill(torch.tensor([True]), x)],
                         ids=["tensor", "full", "fill_", "setitem", "masked_fill"])
@pytest.mark.parametrize("number, dtype", [(300, torch.uint8), (200, torch.int8), (-200, torch.int8),
                                           (float("nan"), torch.int64), (float("inf"), torch.int32),
                                           (1 + 2j, torch.float32)], ids=str)
def test_numbers_out_of_range_are_refused(request, make, number, dtype):
    if type(number) is complex and "tensor]" in request.node.name:     # data, where PyTorch asks Python for a float
        with pytest.raises(TypeError, match="must be real number, not complex"):
            make(number, dtype)
        return
    with pytest.raises(RuntimeError, match="value cannot be converted to type .* without overflow"):
        make(number, dtype)


def test_operands_wrap_around_as_in_pytorch():
    x = torch.tensor([250], dtype=torch.uint8)
    assert (x + 10).item() == 4 and (x * 300).item() == 250 * 300 % 256
    assert (torch.tensor([100], dtype=torch.int8) + 100).item() == -56
    assert torch.tensor([-1], dtype=torch.uint8).item() == torch.full((1,), -1, dtype=torch.uint8).item() == 255


if __name__ == "__main__":
    import torch as pytorch
    rows = tables(pytorch)
    FILE.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")


def test_complex32_is_a_name_without_tensors():
    assert torch.complex32 is torch.chalf and torch.complex32.is_complex and torch.complex32.to_real() is torch.float16
    for make in (lambda: torch.zeros(2, dtype=torch.complex32), lambda: torch.ones(2).to(torch.complex32)):
        with pytest.raises(NotImplementedError, match="use complex64"):
            make()


def test_results_of_several_arrays_are_tensors_of_their_dtype():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        found = torch.tensor([0.1, 0.3], dtype=dtype).tolist()
        assert [type(v) for v in found] == [float, float]
        assert found == [torch.tensor(v, dtype=dtype).item() for v in (0.1, 0.3)]
    assert torch.tensor([0.1], dtype=torch.float64).tolist() == [0.1]
