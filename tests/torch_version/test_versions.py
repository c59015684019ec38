"""`torch.torch_version`: versions that compare as numbers."""

from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.torch_version import TorchVersion

SMALL = settings(max_examples=30, deadline=None, derandomize=True, database=None)
NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=4)


@SMALL
@given(NUMBERS, NUMBERS)
def test_versions_compare_as_their_numbers(a, b):
    def ordered(numbers):
        return numbers + [0] * (4 - len(numbers))
    x, y = TorchVersion(".".join(map(str, a))), ".".join(map(str, b))
    for other in (y, tuple(b), TorchVersion(y)):
        assert (x < other, x == other, x > other, x <= other, x >= other, x != other) == (
            ordered(a) < ordered(b), ordered(a) == ordered(b), ordered(a) > ordered(b), ordered(a) <= ordered(b),
            ordered(a) >= ordered(b), ordered(a) != ordered(b))


def test_stages_of_versions_are_ordered():
    order = ["1.0.dev3", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0+cpu", "1.0.post1", "1.1.dev0", "1!0.5"]
    assert sorted(map(TorchVersion, reversed(order))) == order
    assert torch.version.__version__ > (2, 12) and torch.version.__version__.split("+")[1] == "minitorch"
    assert TorchVersion("no version") > "a" and {TorchVersion("1.0"): 1}["1.0"] == 1
