"""The stored promotion table is still PyTorch's; limits and casts are compared with PyTorch's own."""

import warnings

import numpy as np
import pytest

import minitorch
from tests.core.test_dtypes import ALL, NAMES, STORED, tables

torch = pytest.importorskip("torch", reason="parity tests compare with PyTorch")


def test_the_stored_table_is_that_of_the_installed_pytorch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # var() of one element
        assert tables(torch) == STORED


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_finfo(name):
    ours, theirs = minitorch.finfo(getattr(minitorch, name)), torch.finfo(getattr(torch, name))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(name):
    ours, theirs = minitorch.iinfo(getattr(minitorch, name)), torch.iinfo(getattr(torch, name))
    assert (ours.min, ours.max, ours.bits, ours.dtype) == (theirs.min, theirs.max, theirs.bits, theirs.dtype)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", ALL)
def test_attributes(name):
    ours, theirs = getattr(minitorch, name), getattr(torch, name)
    for field in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs) and str(ours) == str(theirs)


def test_can_cast():
    for a in ALL:
        for b in ALL:
            assert minitorch.can_cast(getattr(minitorch, a), getattr(minitorch, b)) == torch.can_cast(
                getattr(torch, a), getattr(torch, b)), (a, b)


@pytest.mark.parametrize("source", NAMES)
def test_casts_give_the_same_numbers(source):
    values = [0, 1, 2, 100] if source != "bool" else [False, True]
    if source.startswith(("float", "bfloat", "int")):
        values = values + [-1, -3]
    if "float" in source:
        values = values + [2.5, -0.75, 0.1]
    x, y = [t.tensor(values, dtype=getattr(t, source)) for t in (torch, minitorch)]
    for target in NAMES:
        if source.startswith("complex") and not target.startswith("complex"):
            continue                                       # both drop the imaginary part, with a warning each
        a, b = x.to(getattr(torch, target)), y.to(getattr(minitorch, target))
        assert b.tolist() == a.tolist(), target


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
def test_data_of_every_kind_gets_pytorchs_dtype():
    for data in (1, 1.5, True, 1j, [1, 2.5], [True, 2], [1, 2j], np.float64(1), np.float32(1), np.int16(1), [],
                 [np.float64(1)], [np.float32(1), 2.0], [np.float32(1), np.float64(1)], [np.int32(1), 2], [np.int8(1)],
                 np.zeros(2, np.float16), np.zeros(2, bool), [[1], [2.0]], [np.zeros(2), np.ones(2)], (1, 2),
                 [True, np.float32(1)], [1, np.float16(1)]):
        assert str(minitorch.tensor(data).dtype) == str(torch.tensor(data).dtype), data
