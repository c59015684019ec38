"""Passes built on `fx`: graphs split into submodules, arguments in one form, layers fused."""

import operator

import pytest

import minitorch as torch
from minitorch import fx, nn
from minitorch.fx.experimental.optimization import (
    extract_subgraph,
    fuse,
    matches_module_pattern,
    remove_dropout,
)
from minitorch.fx.operator_schemas import (
    ArgsKwargsPair,
    check_for_mutable_operation,
    create_type_hint,
    get_signature_for_torch_op,
    normalize_function,
    normalize_module,
    type_matches,
)
from minitorch.fx.passes.infra.pass_base import PassBase, PassResult
from minitorch.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)
from minitorch.fx.passes.split_module import split_module
from minitorch.fx.passes.tools_common import legalize_graph
from minitorch.nn import functional as F


class Net(nn.Module):
    """The example of PyTorch's documentation of `split_module`."""

    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x, y):
        z = self.linear(x + self.param).clamp(min=0.0, max=1.0)
        w = self.linear(y).clamp(min=0.0, max=1.0)
        return z + w


def by_turns(n):
    count = iter(range(1000))
    return lambda node: next(count) % n


def test_a_module_split_by_turns():
    net = Net()
    names = {}
    split = split_module(fx.symbolic_trace(net), net, by_turns(3), qualname_map=names)
    x, y = torch.rand(3, 4), torch.rand(3, 4)
    torch.testing.assert_close(split(x, y), net(x, y))
    assert split.code.strip().splitlines() == [
        "def forward(self, x, y):", "    param = self.param",
        "    submod_0 = self.submod_0(x, param, y);  x = param = y = None",
        "    getitem = submod_0[0]", "    getitem_1 = submod_0[1];  submod_0 = None",
        "    submod_1 = self.submod_1(getitem, getitem_1);  getitem = getitem_1 = None",
        "    getitem_2 = submod_1[0]", "    getitem_3 = submod_1[1];  submod_1 = None",
        "    submod_2 = self.submod_2(getitem_2, getitem_3);  getitem_2 = getitem_3 = None", "    return submod_2"]
    assert names == {"submod_0.linear": "linear", "submod_1.linear": "linear"}
    assert split.submod_1.linear.weight is net.linear.weight
    split(x, y).sum().backward()
    assert net.linear.weight.grad is not None and net.param.grad is not None


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("options", [{}, {"keep_original_order": True}, {"tuple_return": True},
                                     {"keep_original_node_name": True, "keep_original_input_name": False}])
def test_split_modules_compute_the_same(parts, options):
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
            self.register_buffer("shift", torch.ones(3))

        def forward(self, x, scale=2.0):
            y = self.layers(x)
            z = torch.sin(y) * scale + self.shift
            return z.sum(1), {"y": y}
    net = Deep()
    traced = fx.symbolic_trace(net)
    nodes = [n for n in traced.graph.nodes if n.op not in ("placeholder", "output", "get_attr")]
    turn = {n: i * parts // len(nodes) for i, n in enumerate(nodes)}
    split = split_module(traced, net, turn.__getitem__, partition_affix="part", **options)
    x = torch.rand(2, 3)
    for ours, theirs in zip((split(x)[0], split(x, scale=3.0)[1]["y"]), (net(x)[0], net(x)[1]["y"]), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert [n for n, _ in split.named_children() if n.startswith("submod")] == [
        f"submod_part_{i}" for i in range(min(parts, len(nodes)))]
    split.graph.lint()
    assert split_module(split, split, lambda n: 0)(x)[0].shape == (2,)


def test_parts_that_need_each_other():
    def f(x):
        a = torch.sin(x)
        return torch.cos(a) + a
    traced = fx.symbolic_trace(f)
    with pytest.raises(RuntimeError, match="cycle"):
        split_module(traced, traced, lambda n: int(n.target is torch.cos))


# ------------------------------------------------------------------ arguments
def test_defaults_of_functions_of_nn_stand_in_nodes():
    """As in PyTorch, where those functions are Python; the others stand as they are given."""
    def f(x, w):
        return F.dropout(F.relu(F.linear(x, w)), 0.3) + F.softmax(x, -1) + F.conv2d(x, w, padding=1) + torch.relu(x)
    found = {n.name: (n.args[1:], dict(n.kwargs)) for n in fx.symbolic_trace(f).graph.nodes if n.op == "call_function"}
    assert found["relu"] == ((), {"inplace": False}) and found["relu_1"] == ((), {})
    assert found["dropout"] == ((), {"p": 0.3, "training": True, "inplace": False})
    assert found["softmax"] == ((), {"dim": -1, "_stacklevel": 3, "dtype": None})
    assert found["conv2d"][1] == {"padding": 1} and found["linear"][1] == {}
    g = fx.symbolic_trace(lambda x, y: F.cross_entropy(x, y))
    x, y = torch.rand(3, 4), torch.tensor([0, 1, 3])
    torch.testing.assert_close(g(x, y), F.cross_entropy(x, y))


def test_normalized_arguments():
    found = normalize_function(F.dropout, ("x", 0.2), {"inplace": True})
    assert found == ArgsKwargsPair(("x", 0.2), {"training": True, "inplace": True})
    assert normalize_function(torch.addmm, ("a", "b", "c"), normalize_to_only_use_kwargs=True).kwargs["mat2"] == "c"
    assert normalize_function(F.relu, (), {"nothing": 1}) is None and normalize_function(print, (1,)) is None
    net = nn.Sequential(nn.Conv2d(1, 1, 1), Net())
    assert normalize_module(net, "0", ("x",), normalize_to_only_use_kwargs=True) == ((), {"input": "x"})
    assert normalize_module(net, "1", ("x", "y")) is None
    with pytest.raises(RuntimeError, match="did not have that target"):
        normalize_module(net, "7", ())
    assert list(get_signature_for_torch_op(torch.clamp)[0].parameters)[:3] == ["input", "min", "max"]
    with pytest.raises(RuntimeError, match="mutable"):
        check_for_mutable_operation(torch.relu_, ("x",), {})
    check_for_mutable_operation(torch.relu, ("x",), {})


def test_types_of_arguments():
    assert create_type_hint([int, int]) == list[int] and create_type_hint((bool, int)) == tuple[int, ...]
    assert create_type_hint(int) is int and type_matches(int, bool) and type_matches(list[int], int)
    assert type_matches(list[int], list[bool]) and not type_matches(list[int], str) and not type_matches(int, str)


# ------------------------------------------------------------------ faster models
def test_fused_layers_and_dropout_left_out():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(),
                          nn.Linear(16, 5), nn.BatchNorm1d(5))
    x = torch.randn(6, 3, 4, 4)
    model(x)                                               # running statistics
    model.eval()
    fused = fuse(model)
    torch.testing.assert_close(fused(x), model(x), rtol=1e-5, atol=1e-5)
    kinds = [type(m).__name__ for m in (fused.get_submodule(n.target) for n in fused.graph.nodes
                                        if n.op == "call_module")]
    assert "BatchNorm2d" not in kinds and "BatchNorm1d" not in kinds and isinstance(model[1], nn.BatchNorm2d)
    light = remove_dropout(fused)
    assert not any("3" == n.target for n in light.graph.nodes)
    torch.testing.assert_close(light(x), model(x), rtol=1e-5, atol=1e-5)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)

        def forward(self, x):
            y = self.conv(x)
            return y + self.norm(y)
    twice = Twice().eval()
    kept = fuse(twice)
    assert any(n.target == "norm" for n in kept.graph.nodes)               # the convolution is used elsewhere
    nodes = list(fx.symbolic_trace(twice).graph.nodes)
    assert matches_module_pattern((nn.Conv1d, nn.BatchNorm1d), nodes[2], dict(twice.named_modules()))
    part = extract_subgraph(twice, nodes[1:3], nodes[:1], nodes[2:3])
    z = torch.randn(1, 2, 3)
    torch.testing.assert_close(part(z)[0], twice.norm(twice.conv(z)))
    assert nodes[3].target is operator.add


# ------------------------------------------------------------------ passes
class Replace(PassBase):
    """PyTorch's example: one function in the place of another."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def call(self, graph_module):
        found = [n for n in graph_module.graph.nodes if n.target is self.old]
        for n in found:
            n.target = self.new
        return PassResult(graph_module, bool(found))

    def requires(self, graph_module):
        graph_module.graph.lint()


def test_passes_run_in_order_until_nothing_changes():
    traced = fx.symbolic_trace(lambda x: torch.sin(x) + 1)
    first, second = Replace(torch.sin, torch.cos), Replace(torch.cos, torch.tanh)
    manager = PassManager([second, first], [this_before_that_pass_constraint(first, second)])
    result = manager(traced)
    assert result.modified and manager.passes == [first, second]
    x = torch.rand(3)
    torch.testing.assert_close(result.graph_module(x), torch.tanh(x) + 1)
    assert not manager(traced).modified
    rounds = []
    PassManager([pass_result_wrapper(lambda gm: rounds.append(1))], steps=3)(traced)
    assert len(rounds) == 3
    with pytest.raises(RuntimeError, match="violated"):
        PassManager([second, first], [this_before_that_pass_constraint(first, second)]).validate_constraints()
    circle = [this_before_that_pass_constraint(first, second), this_before_that_pass_constraint(second, first)]
    with pytest.raises(RuntimeError, match="Circular"):
        PassManager([first, second], circle)(traced)
    with pytest.raises(Exception, match="'<lambda>' pass after the following passes: \\['Replace'\\]"):
        PassManager([first, lambda gm: None])(traced)
    checked = PassManager([first], run_checks_after_each_pass=True)
    checked.add_checks(lambda gm: gm.graph.lint())
    checked(traced)
    with pytest.raises(TypeError, match="one variable"):
        checked.add_checks(lambda a, b: None)


def test_graphs_put_in_order():
    def f(x):
        return torch.sin(x) + torch.cos(x)
    traced = fx.symbolic_trace(f)
    sin, cos, add = [n for n in traced.graph.nodes if n.op == "call_function"]
    sin.prepend(add)                                       # the sum before its terms
    with pytest.raises(RuntimeError):
        traced.graph.lint()
    legalize_graph(traced).graph.lint()
    x = torch.rand(2)
    torch.testing.assert_close(traced(x), f(x))
    nodes = list(traced.graph.nodes)
    nodes[1].args = (nodes[3],)
    with pytest.raises(RuntimeError, match="cycles"):
        legalize_graph(traced)
