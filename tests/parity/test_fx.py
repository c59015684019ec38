"""Graphs and code of traced programs beside PyTorch's: the same text."""


import pytest

torch = pytest.importorskip("torch")
import minitorch  # noqa: E402
from tests.fx.fx_programs import programs  # noqa: E402

OURS, THEIRS = programs(minitorch), programs(torch)


@pytest.mark.parametrize("name", OURS)
def test_the_same_graph_and_code(name):
    ours, theirs = (library.fx.symbolic_trace(found[name][0])
                    for library, found in ((minitorch, OURS), (torch, THEIRS)))
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code.replace("operator_abs", "_operator_abs").replace(" -> torch.Tensor", "") == theirs.code.replace(
        " -> torch.Tensor", "")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    for node, other in zip(ours.graph.nodes, theirs.graph.nodes):
        assert [str(n) for n in node.users] == [str(n) for n in other.users]
        assert [str(n) for n in node.all_input_nodes] == [str(n) for n in other.all_input_nodes]
