"""The names that nodes and generated code give to functions."""

import pytest

import minitorch as torch
from minitorch import fx


@pytest.mark.parametrize("function, name, path", [
    (torch.linalg.norm, "linalg_norm", "torch.linalg.norm"), (torch.norm, "norm", "torch.norm"),
    (torch.fft.rfft, "fft_rfft", "torch.fft.rfft"), (torch.special.ndtr, "special_ndtr", "torch.special.ndtr"),
    (torch.erf, "erf", "torch.erf"), (torch.matmul, "matmul", "torch.matmul"), (torch.conv2d, "conv2d", "torch.conv2d"),
    (torch.nn.functional.gelu, "gelu", "torch.nn.functional.gelu"), (torch.abs, "abs_1", "torch.abs")])
def test_nodes_are_named_as_in_pytorch(function, name, path):
    """After the namespace for `linalg`, `fft` and what only `special` has; `torch` is preferred as the place."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(function, (x,))
    graph.output(node)
    assert node.name == name and f"{name} = {path}(x)" in graph.python_code("self").src


def test_no_mode_makes_proxies():
    from minitorch.fx.experimental.proxy_tensor import get_proxy_mode
    assert get_proxy_mode() is None
