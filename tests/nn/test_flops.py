"""`FlopCounterMode`: floating point operations by module."""

import minitorch as torch
from minitorch import nn


def test_flops_by_module():
    from minitorch.nn.flops import FlopCounterMode
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 2)))
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(3, 4)).sum().backward()
    counts = {path: sum(ops.values()) for path, ops in counter.get_flop_counts().items()}
    assert counts["Sequential"] == 2 * 3 * (4 * 5 + 5 * 2) and counts["Sequential.2.0"] == 2 * 3 * 10
    assert counter.get_total_flops() == counts["Global"] > counts["Sequential"]
    assert "Sequential.0" in counter.get_table()
