"""``out=`` that lies between the elements of an input, on the device as on the processor."""

import pytest

import minitorch as torch
from tests.backends.cuda.kernel_checks import DEVICE


def test_out_may_lie_between_the_elements_of_an_input():
    for x in (torch.arange(8.0).view(4, 2).t(), torch.arange(8.0, device=DEVICE).view(4, 2).t()):
        torch.mul(x[:1], 2, out=x[1:])
        assert x.tolist() == [[0, 2, 4, 6], [0, 4, 8, 12]] and x._version == 1
        torch.cumsum(x[0], 0, out=x[1])
        assert x[1].tolist() == [0, 2, 6, 12]
    y = torch.arange(8.0)
    for refused in (lambda: torch.mul(y[:4], 2, out=y[2:6]), lambda: torch.cat([y[:4], y[:4]], out=y),
                    lambda: torch.gather(y, 0, torch.arange(8), out=y)):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            refused()
    assert torch.mul(y, 2, out=y).tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
