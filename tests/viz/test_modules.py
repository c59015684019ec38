"""Modules and their summaries in notebooks."""

import minitorch as torch
from minitorch import nn
from tests.nn.test_summary import Twice


def test_summary_is_a_table():
    shown = nn.summary(Twice(), torch.randn(2, 3, 8, 8), times=2)._repr_html_()
    assert "<table" in shown and "http" not in shown


def test_module_html_is_a_tree():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Sequential(nn.Linear(8, 2), nn.LazyLinear(3)))
    net[0].weight.requires_grad_(False)
    source = net._repr_html_()
    assert "<b>0</b>: Linear(in_features=4" in source and "40 parameters, 32 frozen" in source
    assert source.count("<details") == source.count("</details>") == 2 and "weight [8, 4]" in source
    assert "not made yet" in source and len(source) < 20_000
    torch.set_printoptions(html=False)
    try:
        assert net._repr_html_() is None
    finally:
        torch.set_printoptions(html=True)
    big = nn.Sequential(*[nn.ReLU() for _ in range(1000)])
    assert "more modules are not shown" in big._repr_html_() and len(big._repr_html_()) < 100_000
