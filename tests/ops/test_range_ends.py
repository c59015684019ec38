"""Values of functions at the ends of the floating point range, where intermediate results overflow."""

import math

import pytest

import minitorch as torch

LARGEST, SMALL = torch.finfo(torch.float64).max, torch.finfo(torch.float64).smallest_normal / 4


@pytest.mark.parametrize("name, at, expected", [
    ("angle", [math.inf, -math.inf, -0.0, math.nan], [0, math.pi, 0, math.nan]),
    ("lgamma", [-LARGEST, -1e10, -3], [math.inf] * 3), ("digamma", [SMALL, -SMALL], [-math.inf, math.inf]),
    ("i0", [LARGEST, -LARGEST], [math.inf] * 2), ("special.i1", [LARGEST, -LARGEST], [math.inf, -math.inf]),
    ("special.i0e", [LARGEST], [1 / math.sqrt(2 * math.pi) / math.sqrt(LARGEST)]),
    ("special.i1e", [-LARGEST], [-1 / math.sqrt(2 * math.pi) / math.sqrt(LARGEST)])])
def test_limits(name, at, expected):
    """PyTorch's values; here some were NaN, or -0 for 0."""
    function = getattr(torch.special if "." in name else torch, name.removeprefix("special."))
    found = function(torch.tensor(at, dtype=torch.float64)).tolist()
    assert found == pytest.approx(expected, nan_ok=True, rel=1e-14)
    assert [math.copysign(1, x) for x, y in zip(found, expected) if y == 0] == [1] * expected.count(0)
