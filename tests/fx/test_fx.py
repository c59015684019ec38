"""Traced programs: graphs, their code, modules made of them, interpreters, rewriting."""

import copy
import importlib
import pickle
import random
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import fx, nn
from minitorch.utils import _pytree
from tests.fx.fx_programs import checked, programs
from tests.helpers.pages import run_examples

PROGRAMS = programs(torch)
torch.fx.wrap("size_of")
torch.fx.wrap("len")


def size_of(x):
    return x.shape[0]


@torch.fx.wrap
def scaled(x, k=2):
    return x * k


def wrapping(x):
    return size_of(x) + len(x) + scaled(x, k=3)


def same(a, b):
    """True if two nested results have equal leaves, NaN equal to NaN; lists may be immutable
    ones."""
    a, b = _pytree.tree_leaves(a), _pytree.tree_leaves(b)
    return len(a) == len(b) and all(torch.equal(x, y) or torch.allclose(x, y, equal_nan=True) if torch.is_tensor(x)
                                    else x == y for x, y in zip(a, b))


# ---- whole programs ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program, args = PROGRAMS[name]
    traced = fx.symbolic_trace(program)
    traced.graph.lint()
    want = program(*args)
    assert same(traced(*args), want)
    for other in (copy.deepcopy(traced), copy.copy(traced), pickle.loads(pickle.dumps(traced))
                  if "slices" != name else traced):
        assert same(other(*args), want) and other.code.count("\n") == traced.code.count("\n")
    if name != "starred":
        assert same(fx.Interpreter(traced).run(*args), want)
        assert same(fx.Transformer(traced).transform()(*args), want)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_programs(seed):
    rng = random.Random(seed)
    kinds = {"+": lambda u, v: u + v, "*": lambda u, v: u * v, "relu": lambda u, v: torch.relu(u),
             "add": lambda u, v: u.add(v, alpha=0.5), "cat": lambda u, v: torch.cat([u, v], dim=0)[:2],
             "places": lambda u, v: u[:, [1, 0, 2]], "sum": lambda u, v: u.sum(dim=0, keepdim=True) - v}
    steps = [(rng.choice(list(kinds)), rng.randrange(n + 2), rng.randrange(n + 2)) for n in range(8)]

    def program(x, y):
        values = [x, y]
        for kind, a, b in steps:
            values.append(kinds[kind](values[a], values[b]))
        return values[-1], {"half": values[5]}
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    traced = fx.symbolic_trace(program)
    want = program(x, y)
    assert same(traced(x, y), want)
    traced.graph.eliminate_dead_code()
    traced.graph.lint()
    traced.recompile()
    assert same(traced(x, y), want)
    used = set()
    for node in traced.graph.nodes:
        assert set(node.all_input_nodes) <= used and all(node in n.users for n in node.all_input_nodes)
        used.add(node)


def test_gradients_and_transforms():
    net, (x,) = PROGRAMS["net"]
    traced = fx.symbolic_trace(net)
    assert {"blocks.0.scale", "blocks.0.shift", "blocks.0.constant"} <= set(traced.state_dict())
    assert all(p is q for p, q in zip(sorted(net.parameters(), key=id), sorted(traced.parameters(), key=id)))
    want = torch.autograd.grad(net(x).sum(), net.blocks[0].scale)[0]
    assert torch.equal(torch.autograd.grad(traced(x).sum(), net.blocks[0].scale)[0], want)
    params = dict(traced.named_parameters())
    found = torch.func.grad(lambda p: torch.func.functional_call(traced, p, (x,)).sum())(params)
    assert torch.equal(found["blocks.0.scale"], want)
    rows = torch.func.vmap(traced)(x)
    assert torch.allclose(rows, net(x))
    with torch.no_grad():
        assert not traced(x).requires_grad
    half = copy.deepcopy(traced).bfloat16()
    assert half(x.bfloat16()).dtype is torch.bfloat16 and net(x).dtype is torch.float32


def test_wrapped_functions():
    traced = fx.symbolic_trace(wrapping)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][:3] == [size_of, len,
                                                                                     sys.modules["operator"].add]
    assert same(traced(torch.ones(3, 2)), wrapping(torch.ones(3, 2)))
    assert traced.code.count("torch.fx._symbolic_trace.wrap(") == 3
    assert str(fx.symbolic_trace(traced).graph) == str(traced.graph)       # not looked into the second time, either
    again = pickle.loads(pickle.dumps(traced))
    assert "len(x)" in again.code and same(again(torch.ones(3, 2)), wrapping(torch.ones(3, 2)))
    with pytest.raises(RuntimeError, match="callable or string"):
        fx.wrap(3)
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("x")
    assert size_of(torch.ones(4)) == 4 and len([1]) == 1       # nothing stays exchanged


def test_tracing_leaves_other_threads_alone():
    seen = []

    class Slow(nn.Module):
        def forward(self, x):
            thread = threading.Thread(target=lambda: seen.append(PROGRAMS["net"][0](PROGRAMS["net"][1][0])))
            thread.start()
            thread.join()
            return x + 1
    before = nn.Module.__call__, nn.Module.__getattr__
    traced = fx.symbolic_trace(Slow())
    assert torch.is_tensor(seen[0]) and traced.code.count("=") == 2
    assert (nn.Module.__call__, nn.Module.__getattr__) == before


# ---- concrete arguments ------------------------------------------------------------------------------------
def test_concrete_arguments():
    def program(x, flag, c=3, d=None):
        y = x + c if flag else x * c
        return y if d is None else y + d
    traced = fx.symbolic_trace(program, concrete_args={"flag": True, "d": None})
    assert traced(torch.zeros(1), True).tolist() == [3.0] and traced(torch.zeros(1), True, 5).tolist() == [5.0]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        traced(torch.zeros(1), False)
    with pytest.raises(AssertionError, match="d has been specialized to have value None"):
        traced(torch.zeros(1), True, 3, 4)

    def nested(d, y):
        return {"s": d["a"] + d["b"][0] * y, "t": (y,)}
    traced = fx.symbolic_trace(nested, concrete_args={"d": {"a": fx.PH, "b": [fx.PH]}})
    args = {"a": torch.ones(2), "b": [torch.ones(2)]}, torch.tensor(3.0)
    assert same(traced(*args), nested(*args)) and same(fx.Interpreter(traced).run(*args), nested(*args))
    with pytest.raises(ValueError, match="nested as"):
        traced({"a": args[1]}, args[1])
    with pytest.raises(NotImplementedError, match="pickled"):
        pickle.dumps(traced)


# ---- refusals ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("program, error, text", [
    (lambda x: x if x.sum() > 0 else -x, fx.proxy.TraceError, "control flow"),
    (lambda x: list(x), fx.proxy.TraceError, "cannot be iterated"),
    (lambda x: 3 in x, fx.proxy.TraceError, "cannot be iterated"),
    (lambda x: int(x), TypeError, "int"),
    (lambda x: {x: 1}, RuntimeError, "Keys for dictionaries"),
    (lambda x: nn.Linear(2, 2)(x), NameError, "not installed as a submodule"),
    (lambda x: torch.add(x, object()), NotImplementedError, "argument of type"),
    (lambda x: x.__len__(), RuntimeError, "wrap")])
def test_refused_programs(program, error, text):
    with pytest.raises(error, match=text):
        fx.symbolic_trace(program)
    assert not fx._symbolic_trace.is_fx_tracing()


def test_tracer_options():
    class Functional(fx.Tracer):
        check_mutable_operations = True

    class Asserting(fx.Tracer):
        trace_asserts = True
        record_stack_traces = True
    with pytest.raises(RuntimeError, match="mutable operation"):
        Functional().trace(lambda x: x.add_(1))
    assert len(Functional().trace(lambda x: x.add(1)).nodes) == 3
    traced = fx.GraphModule({}, Asserting().trace(checked))
    assert traced(torch.ones(2)).tolist() == [2.0, 2.0] and "fx_programs.py" in traced.print_readable(False)
    with pytest.raises(AssertionError, match="two rows"):
        traced(torch.ones(3))

    class Shapes(fx.Tracer):
        def __init__(self):
            super().__init__(param_shapes_constant=True)

    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x @ self.weight if self.weight.shape[0] == 2 else x
    assert "matmul" in str(Shapes().trace(Weighted()))


# ---- graphs by hand ----------------------------------------------------------------------------------------
def test_graphs_made_and_changed_by_hand():
    graph = fx.Graph()
    x = graph.placeholder("x")
    cos = graph.call_function(torch.cos, (x,))
    with graph.inserting_before(cos):
        neg = graph.call_function(torch.neg, (x,))
    with graph.inserting_after(cos):
        first, second = graph.call_method("exp", (cos,)), graph.call_method("abs", (cos,))
    graph.output((first, [second]))
    assert [n.name for n in graph.nodes] == ["x", "neg", "cos", "exp", "abs_1", "output"]
    assert [n.name for n in reversed(graph.nodes)][:2] == ["output", "abs_1"] and len(graph.nodes) == 6
    cos.replace_input_with(x, neg)
    assert list(x.users) == [neg] and list(neg.users) == [cos] and cos.all_input_nodes == [neg]
    made = fx.GraphModule({}, graph)
    assert same(made(torch.ones(1)), (torch.ones(1).neg().cos().exp(), [torch.ones(1).neg().cos().abs()]))
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(neg)
    assert first.replace_all_uses_with(second) == [graph.output_node()]
    graph.erase_node(first)
    assert "exp" not in made.recompile().src and made(torch.zeros(1))[0].tolist() == [1.0]
    second.append(cos)
    with pytest.raises(RuntimeError, match="before it has been defined"):
        graph.lint()
    for change in (lambda: cos.args[0].append(1), lambda: second.args[0].users[0], lambda: graph.create_node("f", "x"),
                   lambda: graph.call_function("x"), lambda: graph.call_method(torch.cos),
                   lambda: fx.Graph().erase_node(x), lambda: copy.deepcopy(x), lambda: fx.map_arg(1, 2),
                   lambda: fx.Graph().output_node(), lambda: fx.Graph().inserting_before(x)):
        with pytest.raises((AttributeError, KeyError, AssertionError, ValueError, RuntimeError, TypeError)):
            change()
    node = graph.call_function(torch.cat, ([x, cos],), {"dim": 0})
    with pytest.raises(TypeError, match="does not support mutation"):
        node.args[0].append(x)
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["dim"] = 1
    node.update_kwarg("dim", 1)
    node.insert_arg(1, 5)
    node.update_arg(1, 6)
    assert node.args[1] == 6 and node.kwargs == {"dim": 1} and hash(node.kwargs)


def test_nodes_erased_and_added_during_a_walk():
    def program(x):
        return x.relu().relu().neg().relu()
    traced = fx.symbolic_trace(program)
    for node in traced.graph.nodes:
        if node.op == "call_method" and node.target == "relu":
            with traced.graph.inserting_after(node):
                new = traced.graph.call_method("abs", (node.args[0],))
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    traced.graph.lint()
    assert traced.recompile() and traced(torch.tensor([-2.0])).tolist() == [2.0]
    assert [n.target for n in traced.graph.nodes][1:-1] == ["abs", "abs", "neg", "abs"]


def test_dead_code_keeps_what_is_done_beside_the_result():
    def program(x, y):
        unused = x.exp()
        y.add_(1)
        torch.nn.functional.relu(x, inplace=True)
        torch.rand(2)
        torch.add(x, 1, out=y)
        return x + 0 * unused.detach()[0] if False else x
    graph = fx.symbolic_trace(program).graph
    assert graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "y", "add_", "relu", "add", "output"]

    def kept(x):
        return print("called")
    fx.has_side_effect(kept)
    graph.inserting_before(graph.output_node())
    graph.call_function(kept, (next(iter(graph.nodes)),))
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda n: n.target is not kept)


def test_generated_code_can_be_changed():
    traced = fx.symbolic_trace(lambda_free)
    with traced.graph.on_generate_code(lambda before: lambda lines: ["x = x + 1\n", *lines]):
        traced.recompile()
        assert traced(torch.zeros(1)).tolist() == [4.0]
    traced.recompile()
    assert traced(torch.zeros(1)).tolist() == [2.0]


def lambda_free(x):
    return (x + 1) * 2


# ---- modules of graphs -------------------------------------------------------------------------------------
def test_submodules(tmp_path):
    net, (x,) = PROGRAMS["net"]
    traced = fx.symbolic_trace(net)
    want = net(x)
    assert traced.add_submodule("extra.deep", nn.ReLU()) and not traced.add_submodule("blocks.0.scale.no", nn.ReLU())
    traced.delete_all_unused_submodules()
    assert not hasattr(traced.extra, "deep") if hasattr(traced, "extra") else True
    assert traced.delete_submodule("named.out") and not traced.delete_submodule("named.out")
    with pytest.raises(RuntimeError, match="nonexistent attribute"):
        traced.graph.lint()
    traced.add_submodule("named.out", net.named["out"])
    assert torch.equal(traced(x), want)
    traced.to_folder(tmp_path / "folder_of_net", "Written")
    sys.path.insert(0, str(tmp_path))
    try:
        assert torch.equal(importlib.import_module("folder_of_net").Written()(x), want)
    finally:
        sys.path.remove(str(tmp_path))
    with pytest.raises(RuntimeError, match="not provided in ``root``"):
        fx.GraphModule({}, traced.graph)
    with pytest.raises(RuntimeError, match="Unsupported type"):
        fx.GraphModule(3, traced.graph)
    assert type(traced).__name__ == "Net" and "def forward" in str(traced)
    assert type(fx.symbolic_trace(net)) is not type(traced)


def test_hooks_and_errors(capsys):
    traced, seen = fx.symbolic_trace(PROGRAMS["net"][0]), []
    handle = traced.heads.get_submodule("0").register_forward_hook(lambda m, args, out: seen.append(out.shape))
    traced(PROGRAMS["net"][1][0])
    handle.remove()
    assert seen == [(2, 2)]
    with pytest.raises(AttributeError):
        fx.symbolic_trace(lambda_method)(3)
    assert "<--- HERE" in capsys.readouterr().err
    with pytest.raises(AttributeError, match="While executing %relu"):
        fx.Interpreter(fx.symbolic_trace(lambda_method)).run(3)
    with pytest.raises(RuntimeError, match="one was not passed in"):
        fx.Interpreter(fx.symbolic_trace(lambda_method)).run()


def lambda_method(x):
    return x.relu()


def test_shapes_of_all_values():
    from minitorch.fx.passes.shape_prop import ShapeProp
    traced = fx.symbolic_trace(PROGRAMS["unpacked"][0])
    ShapeProp(traced).propagate(*PROGRAMS["unpacked"][1])
    shapes = {n.name: n.meta["tensor_meta"] for n in traced.graph.nodes if "tensor_meta" in n.meta}
    assert shapes["x"].shape == (2, 3) and shapes["getitem_3"].dtype is torch.int64 and len(shapes["chunk"]) == 2


# ---- rewriting ---------------------------------------------------------------------------------------------
def test_patterns():
    def host(x, a, b):
        return x + torch.cat([a, b]).sum() + torch.cat([b, a]).sum()
    traced = fx.symbolic_trace(host)
    matches = fx.replace_pattern(traced, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]).max())
    traced.graph.lint()
    a, b = torch.ones(2), torch.ones(2) * 3
    assert [str(m.anchor) for m in matches] == ["sum_1", "sum_2"] and traced(0, a, b) == 6
    chain = fx.symbolic_trace(lambda x: torch.relu(torch.relu(torch.relu(torch.relu(torch.relu(x))))))
    assert len(fx.replace_pattern(chain, lambda x: torch.relu(torch.relu(x)), lambda x: torch.neg(x))) == 2
    assert chain(torch.tensor(2.0)) == 2 and len(chain.graph.nodes) == 5
    leaking = fx.symbolic_trace(lambda x, y: ((x + y) * 2, x + y))
    assert len(fx.replace_pattern(leaking, lambda a, b: (a + b) * 2, lambda a, b: a - b)) == 1

    def used(x, y):
        z = x + y
        return z * 2, z
    assert not fx.replace_pattern(fx.symbolic_trace(used), lambda a, b: (a + b) * 2, lambda a, b: a - b)
    both = fx.symbolic_trace(lambda x: x.clamp(0, 1) + x.clamp(0, 2))
    assert len(fx.replace_pattern(both, lambda x: x.clamp(0, 1), lambda x: x.relu())) == 1
    from minitorch.fx.subgraph_rewriter import replace_pattern_with_filters
    assert len(replace_pattern_with_filters(both, lambda x: x.clamp(0, 7), lambda x: x, ignore_literals=True)) == 1
    assert not replace_pattern_with_filters(both, lambda x, y: x + y, lambda x, y: x, [lambda m, g, p: False])
    with pytest.raises(AssertionError, match="parameters"):
        fx.replace_pattern(both, lambda x, y: x + y, lambda x: x)


def test_patterns_with_modules():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.extra = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.extra(self.linear(x).relu())

    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.act = nn.Linear(2, 2), nn.Tanh()

        def forward(self, x):
            return self.act(self.linear(x))

    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x).relu()
    model = Twice()
    traced = fx.symbolic_trace(model)
    assert len(fx.replace_pattern(traced, Pattern(), Other())) == 1
    x = torch.randn(1, 2)
    assert torch.equal(traced(x), model.extra(model.linear(x).tanh()))


def test_the_inverse_of_a_program_and_fused_layers():
    inverse = {torch.sin: torch.arcsin, torch.cos: torch.arccos}
    graph, new, env = fx.symbolic_trace(lambda x: torch.sin(torch.cos(x))).graph, fx.Graph(), {}
    steps = [n for n in graph.nodes if n.op == "call_function"]
    value = new.placeholder("y")
    for node in reversed(steps):
        value = env[node] = new.call_function(inverse[node.target], (value,))
    new.output(value)
    x = torch.tensor([0.25])
    assert torch.allclose(fx.GraphModule({}, new)(torch.sin(torch.cos(x))), x)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())
    model[1].running_mean.uniform_()
    model.eval()
    traced = fx.symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], nn.BatchNorm2d):
            before = node.args[0]
            fused = nn.utils.fusion.fuse_conv_bn_eval(modules[before.target], modules[node.target])
            traced.set_submodule(before.target, fused)
            node.replace_all_uses_with(before)
            traced.graph.erase_node(node)
    traced.recompile()
    image = torch.randn(1, 2, 5, 5)
    assert len(traced.graph.nodes) == 4 and torch.allclose(traced(image), model(image), atol=1e-5)


def test_proxies_by_hand_and_mixed_tracers():
    graph, other = fx.Graph(), fx.Graph()
    x, y = fx.Proxy(graph.placeholder("x")), fx.Proxy(other.placeholder("y"))
    assert repr(torch.relu(x) + 2) == "Proxy(add)" and isinstance(x.foo, fx.proxy.Attribute)
    assert repr(x.shape[0]) == "Proxy(getitem)"
    with pytest.raises(RuntimeError, match="different tracers"):
        torch.add(x, y)
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(x)


def test_the_page_about_it():
    assert run_examples("fx.md") == 19
