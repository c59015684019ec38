"""Assignment to elements and parts, as count tables do it: what is written, what is refused, what is remembered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.core.memory import may_overlap
from minitorch.ops.shapes.memory import is_same_memory

some = settings(max_examples=60, deadline=None, database=None, derandomize=True)
bound = st.none() | st.integers(-3, 3)
part = st.integers(-3, 2) | st.builds(slice, bound, bound)


@some
@given(places=st.lists(st.tuples(part, part), max_size=6), dtype=st.sampled_from(["int32", "float32", "int64", "bool"]))
def test_parts_are_added_to_as_numpy_adds(places, dtype):
    x, y = minitorch.zeros((3, 3), dtype=getattr(minitorch, dtype)), np.zeros((3, 3), dtype)
    for i, j in places:
        if dtype == "bool":
            x[i, j] = ~x[i, j]
            y[i, j] = ~y[i, j]
        else:
            x[i, j] += 1
            y[i, j] += 1
        assert x.tolist() == y.tolist()


def test_an_element_written_back_is_not_taken_for_an_overlap():
    for dtype in (minitorch.complex64, minitorch.complex128, minitorch.bfloat16, minitorch.float32, minitorch.uint8):
        x = minitorch.ones(3, dtype=dtype)
        x[1] *= 2
        x[2] = x[1]
        assert x.real.float().tolist() == [1, 2, 2]


def test_complex_elements_that_overlap_by_half_are_not_the_same():
    memory = minitorch.arange(6.0, dtype=minitorch.float64)
    a, b = (minitorch.view_as_complex(memory[i:i + 2]) for i in (0, 1))
    assert may_overlap(a.array, b.array) and not is_same_memory(a.array, b.array)
    assert is_same_memory(a.array, minitorch.view_as_complex(memory[0:2]).array)


def test_what_overlaps_otherwise_is_refused_and_neighbours_are_not():
    x = minitorch.arange(6.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:] = x[:-1]
    x[:3] = x[3:]
    assert x.tolist() == [3, 4, 5, 3, 4, 5]


def test_assigned_parts_are_not_noted_as_views_and_writes_are_counted():
    x = minitorch.zeros(4, 4)
    kept, before = x[0], x._version
    for i in range(8):
        x[0, i % 4] = i
    assert x._version == before + 8 and kept.tolist() == [4, 5, 6, 7]
    assert [r() is kept for r in x._views] == [True]


def test_a_saved_value_notices_an_assignment():
    w = minitorch.ones(3, requires_grad=True)
    x = minitorch.ones(3)
    y = (w * x).sum()
    x[1] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_errors_of_assigned_parts_name_the_index():
    x = minitorch.zeros(2, 3)
    with pytest.raises(IndexError, match="out of bounds|out of range"):
        x[2, 0] = 1
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0] = 1
    with pytest.raises(RuntimeError, match="shape mismatch|expanded|must match"):
        x[0] = minitorch.ones(2)
    leaf = minitorch.zeros(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[0] = 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_weights_that_multinomial_refuses(dtype):
    def draw(*weights):
        return minitorch.multinomial(minitorch.tensor(weights, dtype=getattr(minitorch, dtype)), 1)
    for bad in ([float("nan"), 1.0], [float("inf"), 1.0], [-1.0, 2.0]):
        with pytest.raises(RuntimeError, match="inf"):
            draw(*bad)
        with pytest.raises(RuntimeError, match="inf"):
            draw([1.0, 1.0], bad)
    with pytest.raises(RuntimeError, match="sum of probabilities"):
        draw(0.0, 0.0)
    with pytest.raises(RuntimeError, match="sum of probabilities"):
        draw([1.0, 0.0], [0.0, 0.0])
    assert draw(0.0, 3.0).tolist() == [1] and draw([0.0, 1.0], [2.0, 0.0]).tolist() == [[1], [0]]


@given(st.lists(st.booleans(), min_size=3, max_size=3), st.integers(0, 3), st.booleans())
def test_leading_dimensions_of_size_1_have_no_say_in_an_assignment(mask, lead, recorded):
    x, value = minitorch.zeros(3), minitorch.full((1,) * lead, 5.0)
    if recorded:
        value.requires_grad_()
    x[minitorch.tensor(mask)] = value
    assert x.tolist() == [5.0 if m else 0.0 for m in mask]
    rows = minitorch.zeros(3, 2)
    rows[minitorch.tensor([0, 2])] = minitorch.ones(1, 1, 2, 2)
    assert rows.tolist() == [[1, 1], [0, 0], [1, 1]]
