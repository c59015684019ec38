"""`testing.assert_close`: what can be compared."""

import pytest

import minitorch as torch


@pytest.mark.parametrize("a, b", [(1, "a"), ("a", "a"), ("a", torch.ones(1)), ([1], ["a"]), (object(), 1)])
def test_values_without_numbers_are_not_compared(a, b):
    with pytest.raises(TypeError, match="No comparison pair"):
        torch.testing.assert_close(a, b)


def test_tensors_without_dimensions_are_scalars():
    with pytest.raises(AssertionError, match=r"Scalars are not close!\n\nExpected 1\.0 but got inf"):
        torch.testing.assert_close(torch.tensor(float("inf")), torch.tensor(1.0))
