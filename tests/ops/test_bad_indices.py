"""An index that is out of bounds is the one that the error names, wherever it stands among good ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as t
import minitorch.nn.functional as F

some = settings(max_examples=6, deadline=None, database=None, derandomize=True)
# Calls with a matrix and a row of indices into its columns, and True where -1 is the last column.
CALLS = {
    "gather": (lambda x, i: x.gather(1, i[None]), False),
    "scatter": (lambda x, i: x.scatter(1, i[None], 1.0), False),
    "scatter_add": (lambda x, i: x.scatter_add(1, i[None], t.ones(1, len(i))), False),
    "scatter_reduce": (lambda x, i: x.scatter_reduce(1, i[None], t.ones(1, len(i)), "amax"), False),
    "index_select": (lambda x, i: x.index_select(1, i), False),
    "index_add": (lambda x, i: x.index_add(1, i, t.ones(len(x), len(i))), False),
    "index_copy": (lambda x, i: x.index_copy(1, i, t.ones(len(x), len(i))), False),
    "index_reduce": (lambda x, i: x.index_reduce(1, i, t.ones(len(x), len(i)), "amax"), False),
    "embedding": (lambda x, i: F.embedding(i, x.T), False),
    "embedding_bag": (lambda x, i: F.embedding_bag(i[None], x.T), False),
    "getitem": (lambda x, i: x[:, i], True),
    "setitem": (lambda x, i: x.__setitem__((slice(None), i), 1.0), True),
    "index_put": (lambda x, i: x.index_put((t.tensor(0), i), t.tensor(1.0)), True),
}


@pytest.mark.parametrize("name", CALLS)
@given(data=st.data())
@some
def test_errors_name_the_index_that_is_out_of_bounds(name, data):
    call, negative = CALLS[name]
    n = data.draw(st.integers(2, 6), "columns")
    good = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n), "good")
    lowest = -n if negative else 0
    bad = data.draw(st.integers(n, 99) | st.integers(-99, lowest - 1), "bad")
    place = data.draw(st.integers(0, len(good)), "place")
    x, index = t.ones(3, n), [*good[:place], bad, *good[place:]][:n]
    if bad in index:
        with pytest.raises((IndexError, RuntimeError), match=rf"(index|got) {bad}\b"):
            call(x, t.tensor(index))
    call(x, t.tensor(good))
