"""`testing.assert_close`: what can be compared."""

import pytest

import minitorch as torch


@pytest.mark.parametrize("a, b", [(1, "a"), ("a", "a"), ("a", torch.ones(1)), ([1], ["a"]), (object(), 1)])
def test_values_without_numbers_are_not_compared(a, b):
    with pytest.raises(TypeError, match="No comparison pair"):
        torch.testing.assert_close(a, b)
