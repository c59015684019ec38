"""Tensors made with a layout in memory, and writes along diagonals, for drawn shapes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as T

some = settings(max_examples=25, deadline=None, database=None, derandomize=True)
sizes = st.lists(st.integers(0, 4), max_size=4)


@st.composite
def layouts(draw):
    """A size and strides that lay its dimensions out in a drawn order, with gaps."""
    size = draw(sizes)
    order, step, stride = draw(st.permutations(range(len(size)))), draw(st.integers(1, 2)), {}
    for d in order:
        stride[d] = step
        step *= max(size[d], 1) + draw(st.integers(0, 1))
    return size, [stride[d] for d in range(len(size))]


@given(layout=layouts())
@some
def test_empty_tensors_have_the_strides_that_are_asked_for(layout):
    size, stride = layout
    like = T.ones(2, dtype=T.float64)
    asked = T.empty_strided(size, stride, dtype=T.float64)
    for made in (asked, like.new_empty_strided(size, stride)):
        assert list(made.shape) == size and made.dtype is T.float64
        assert list(made.stride()) == stride or not made.numel()
        made.fill_(0)
        for count, place in enumerate(itertools.product(*map(range, size))):
            made[place] = count                            # no two elements share memory
        assert made.reshape(-1).tolist() == [*range(made.numel())]
    for wrong in ([*size, 1], size[1:] if size else [2, 2]):
        with pytest.raises(RuntimeError, match="dimensionality of sizes"):
            T.empty_strided(wrong, stride)


@given(size=sizes, same=st.booleans(), wrap=st.booleans())
@some
def test_diagonals_are_filled_as_numpy_fills_them(size, same, wrap):
    size = size[:1] * len(size) if same else size
    x, wanted = T.zeros(size), np.zeros(size, np.float32)
    if len(size) < 2 or len(size) > 2 and len({*size}) > 1:
        with pytest.raises(RuntimeError, match="dimensions"):
            x.fill_diagonal_(5, wrap)
        return
    assert x.fill_diagonal_(5, wrap) is x
    if wanted.size:
        np.fill_diagonal(wanted, 5, wrap and len(size) == 2)
    assert x.tolist() == wanted.tolist()


@given(order=st.permutations(range(4)))
@some
def test_dimensions_are_ordered_as_they_lie_in_memory(order):
    found = T.empty(2, 3, 4, 5).permute(order).dim_order()
    assert found == tuple(order.index(d) for d in range(4))
