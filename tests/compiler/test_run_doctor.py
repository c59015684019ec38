"""The run doctor watches compiled steps."""

import minitorch as torch
import minitorch.nn.functional as F
from tests.testing.doctor_cases import blobs, examine, mlp


def test_compiled_and_two_optimisers():
    torch.manual_seed(0)
    net = mlp()
    step = torch.compile(lambda x, t: F.cross_entropy(net(x), t))

    def compiled():
        one = torch.optim.SGD(net[:2].parameters(), lr=0.1)
        two = torch.optim.Adam(net[2:].parameters(), lr=0.01)
        for _ in range(12):
            one.zero_grad()
            two.zero_grad()
            step(*blobs()).backward()
            one.step()
            two.step()
    assert examine(compiled).findings == []
