"""Functions of lists of tensors (`_foreach_*`)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch


@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.sampled_from(["add", "sub", "mul", "div", "maximum"]))
def test_functions_of_lists_are_those_of_each(sizes, name):
    xs, ys = [torch.arange(1.0, n + 1) for n in sizes], [torch.full((n,), 2.0) for n in sizes]
    expected = [getattr(torch, name)(x, y) for x, y in zip(xs, ys)]
    assert all(map(torch.equal, getattr(torch, f"_foreach_{name}")(xs, ys), expected))
    assert getattr(torch, f"_foreach_{name}_")(xs, ys) is xs and all(map(torch.equal, xs, expected))


def test_functions_of_lists_take_numbers_and_lists_of_them():
    xs = [torch.ones(2), torch.full((3,), 2.0)]
    assert [x.tolist() for x in torch._foreach_mul(xs, 3)] == [[3.0] * 2, [6.0] * 3]
    assert [x.tolist() for x in torch._foreach_add(xs, [1.0, 2.0])] == [[2.0] * 2, [4.0] * 3]
    assert [x.tolist() for x in torch._foreach_add(xs, xs, alpha=2)] == [[3.0] * 2, [6.0] * 3]
    assert [x.item() for x in torch._foreach_norm(xs, 1)] == [2.0, 6.0]
    assert [x.tolist() for x in torch._foreach_addcdiv(xs, xs, xs, torch.tensor([1.0, 2.0]))] == [[2.0] * 2, [4.0] * 3]
    torch._foreach_addcmul_(xs, xs, xs, -1.0)
    torch._foreach_lerp_(xs, [torch.ones(2), torch.ones(3)], 0.5)
    assert [x.tolist() for x in xs] == [[0.5] * 2, [-0.5] * 3]
    torch._foreach_zero_(xs)
    assert not torch.cat(xs).any() and [x.item() for x in torch._foreach_pow(2.0, [torch.tensor(3.0)])] == [8.0]
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        torch._foreach_add(xs, [torch.ones(2)])
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        getattr(torch, "_foreach_nothing")                 # noqa: B009


def test_numbers_stand_for_tensors_in_extrema():
    x = [torch.tensor([1.0, 4.0]), torch.tensor([3.0])]
    assert [y.tolist() for y in torch._foreach_maximum(x, 2.0)] == [[2, 4], [3]]
    assert [y.tolist() for y in torch._foreach_minimum(x, [2.0, 5])] == [[1, 2], [3]]
    assert [y.tolist() for y in torch._foreach_maximum(x, [x[1], x[1]])] == [[3, 4], [3]]
    assert torch._foreach_minimum_(x, 0) is x and x[0].tolist() == [0, 0]
