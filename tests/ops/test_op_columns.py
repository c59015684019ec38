"""The columns of op definitions: documented, written as they are read, and refused where one is missing."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import minitorch as torch
from minitorch.autograd.dual.calls import kind_of
from minitorch.backends.batched.classes import class_of
from minitorch.backends.cuda.arrays.functors import functor_call
from minitorch.core.op import Op
from minitorch.core.registry import FUNCTIONS, OPS
from minitorch.ops.define import OPTIONS, op
from minitorch.ops.dims import is_elementwise

PACKAGE = Path(torch.__file__).parent


# ------------------------------------------------------------------ the columns themselves
def test_every_column_is_documented():
    listed = re.findall(r"^- `(\w+)`:", inspect.cleandoc(Op.__doc__), re.M)
    assert sorted(listed) == sorted(f.name for f in fields(Op))
    assert {"name", "forward", "inputs", "attrs", "vjps", "doc"} | OPTIONS == set(listed)


def test_no_input_has_the_name_of_a_column():
    """Its derivative formula would be taken for that column."""
    assert [(row.name, x.name) for row in OPS.values() for x in row.inputs if x.name in OPTIONS] == []


def test_nothing_is_known_of_an_op_that_says_nothing():
    """Wherever its definition lies, and whatever its attributes are called."""
    for row in OPS.values():
        if row.dims is None:
            assert class_of(row) == "reference" and not is_elementwise(row.call), row.name
            assert kind_of(row) != "symmetric" or row.tangent == "symmetric", row.name


def test_autocast_is_one_of_its_words():
    """Both for definitions and composites, by type of device perhaps; on no type twice."""
    calls = [public.call for public in FUNCTIONS.values()]
    columns = {row.autocast for row in OPS.values()} | {getattr(call, "autocast", None) for call in calls}
    for column in columns - {None}:
        parts = [part.partition(" on ") for part in column.split(", ")]
        assert {word for word, _, _ in parts} <= {"lower", "float32", "promote", "off"}
        places = [place for _, _, place in parts]
        assert len(set(places)) == len(places) and set(places) <= {"cpu", "cuda"} or places == [""]


def test_a_functor_takes_attributes_of_its_op():
    """And exists under that name in the CUDA sources."""
    functors = (PACKAGE / "backends/cuda/src/functors.cuh").read_text(encoding="utf-8")
    rows = [row for row in OPS.values() if row.functor]
    assert rows
    for row in rows:
        name, numbers = functor_call(row)
        assert len(numbers) <= 2 and set(numbers) <= {k for k, _ in row.attrs}, row.name
        assert re.search(rf"\b{name}\b", functors), f"{row.name}: no functor {name}"


def test_out_may_be_an_input_where_elements_stay_in_place():
    x = torch.tensor([3.0, 1.0, 2.0])
    torch.exp(x, out=x)
    for call in (lambda: torch.take(x, torch.tensor([2, 0, 1]), out=x), lambda: torch.cat([x], out=x),
                 lambda: torch.gather(x, 0, torch.tensor([2, 0, 1]), out=x),
                 lambda: torch.index_select(x, 0, torch.tensor([2, 0, 1]), out=x),
                 lambda: torch.masked_select(x, x > 2, out=x)):
        with pytest.raises(RuntimeError, match="single memory location"):
            call()


# ------------------------------------------------------------------ what a definition must say
def test_an_attribute_called_dtype_must_be_explained():
    """The first input is cast to it, or it is the forward pass's own."""
    def forward(F, input, *, dtype=None):
        return input

    with pytest.raises(TypeError, match="op forward has an attribute dtype: say casts=True"):
        op(namespace=None)(forward)
    assert "forward" not in OPS


def test_a_name_that_means_another_op_is_refused():
    """``F.full_exp`` is `exp` with what it keeps: an op of that name would never be called."""
    def forward(F, input):
        return input * 2

    with pytest.raises(ValueError, match="must not start with full_, got 'full_exp'"):
        op(namespace=None, name="full_exp")(forward)


def test_dims_of_another_number_of_inputs_are_refused():
    from minitorch import extend
    with pytest.raises(TypeError, match="op lonely: dims='n, n -> n' describes 2 inputs, it has 1"):
        @extend.op(namespace=None, dims="n, n -> n")
        def lonely(F, input):
            return input
