"""`testing.make_tensor`: random tensors for tests."""

import minitorch as t
from minitorch.testing import make_tensor


def test_made_integers_have_the_signs_of_their_type():
    assert make_tensor(500, dtype=t.uint8, device="cpu").max() < 10
    for dtype in (t.int8, t.int64):
        found = make_tensor(500, dtype=dtype, device="cpu")
        assert found.min() == -9 and found.max() == 9
