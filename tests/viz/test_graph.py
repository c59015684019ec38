"""Views of graphs and backward passes, the layout of their nodes, and the wrong orders that they show."""

import xml.etree.ElementTree as ElementTree

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import minitorch as torch
from minitorch import nn, viz
from minitorch.viz import layers
from tests.helpers.own_functions import Double
from tests.helpers.view_checks import check, diamond


# ------------------------------------------------------------------ layered layout
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.randoms(use_true_random=False))
def test_layout_of_graphs(n, random):
    """Lines lead down and boxes of a layer do not overlap."""
    edges = [(random.randrange(v), v) for v in range(1, n) for _ in range(random.randrange(3))]
    sizes = {k: (random.randrange(20, 150), 30) for k in range(n)}
    made = layers.arrange(sizes, edges)
    for (u, v), route in zip(edges, made.routes):
        assert made.places[u][1] < made.places[v][1]
        assert route[0] == made.places[u] and route[-1] == made.places[v]
    for a in range(n):
        (x, y), (w, h) = made.places[a], sizes[a]
        assert x - w / 2 >= -1e-6 and x + w / 2 <= made.width + 1e-6 and y + h / 2 <= made.height + 1e-6
        for b in range(a):
            if made.places[b][1] == y:
                assert abs(made.places[b][0] - x) >= (w + sizes[b][0]) / 2 - 1e-6


def test_layout_refuses_cycles():
    with pytest.raises(ValueError, match="cycle"):
        layers.arrange({1: (9, 9), 2: (9, 9)}, [(1, 2), (2, 1)])


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 10)), min_size=1, max_size=8))
def test_spacing_keeps_gaps_and_the_mean(pairs):
    wanted, gaps = [w for w, _ in pairs], [g for _, g in pairs[1:]]
    found = layers.spaced(wanted, gaps)
    assert all(b - a >= g - 1e-6 for a, b, g in zip(found, found[1:], gaps))
    assert abs(sum(found) - sum(wanted)) < 1e-6 * (1 + sum(map(abs, wanted))) + 1e-6 or gaps


# ------------------------------------------------------------------ the graph
def test_graph_names_shapes_and_state():
    x, a, y = diamond()
    view = y.graph()
    check(view)
    text = str(view)
    assert "x: leaf [] = 3" in text and "a: mul(v0, other=2) [] = 6" in text and "y: mul(v1, v1) [] = 36" in text
    assert "backward has not run" in text and "backward has not run" in view.html() and "not yet" in view.svg()
    y.backward()
    assert "backward has run" in str(y.graph()) and "grad 24" in str(y.graph())


def test_a_value_that_is_used_twice_has_two_lines():
    _, _, y = diamond()
    ends = [p.get("d") for p in ElementTree.fromstring(y.graph().svg()).iter("path") if p.get("data-k") == "v1-v2"]
    assert len(set(ends)) == 2


def test_graph_shows_kept_gradients_of_computed_tensors():
    x, a, y = diamond()
    a.retain_grad()
    y.backward()
    assert [v.grad.item() for v in y.graph().vertices if v.name == "a"] == [12.0]


def test_graph_without_calls():
    with pytest.raises(RuntimeError, match="no recorded call made it"):
        viz.graph(torch.ones(2))


def test_graph_names_parameters_and_shows_shapes():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    view = viz.graph(net(torch.randn(5, 4)).sum(), net)
    assert {v.name for v in view.vertices if v.kind == "leaf"} == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert "8\u00d74" in view.svg() and "5\u00d73" in view.svg()
    names = viz.graph(net(torch.randn(5, 4)).sum(), params={"first": net[0].weight}).vertices
    assert "first" in {v.name for v in names}
    assert "net.0.bias" in {v.name for v in names}                            # a variable of this function


def test_graph_values_are_true_or_absent():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = (x * 3).exp()
    y = (h + x).sum()
    fresh = ((x * 3).exp() + x).sum()
    values = {v.label: v.value for v in y.graph().vertices}
    np.testing.assert_allclose(values["exp"], np.exp([3.0, 6.0]), rtol=1e-6)
    np.testing.assert_allclose(values["mul"], [3.0, 6.0]) if values["mul"] is not None else None
    with torch.no_grad():
        x.mul_(2)
    made = viz.tape.read(y, viz.tape.Names())
    found, = [v.value for v in made if v.label == "add"]                      # not computed again from new values:
    np.testing.assert_allclose(found, np.exp([3.0, 6.0]) + [1.0, 2.0], rtol=1e-6)        # kept since it was drawn
    assert [v.value for v in viz.tape.read(fresh, viz.tape.Names()) if v.label == "add"] == [None]


def test_collapse_joins_the_calls_of_a_module():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return x + self.b(self.a(x).relu())

    net = nn.Sequential(Block(), Block())
    x = torch.randn(2, 4, requires_grad=True)
    view = viz.graph(net(x).sum(), net).collapse("Module")
    boxes = [v for v in view.vertices if v.kind == "module"]
    assert [b.label for b in boxes] == ["0", "1"] and "linear, relu" in boxes[0].note
    check(view)
    inner = viz.graph(net(x).sum(), net).collapse("Module", depth=2)
    assert [v.label for v in inner.vertices if v.kind == "module"] == ["0.a", "0.b", "1.a", "1.b"]
    with pytest.raises(ValueError, match="Module"):
        view.collapse("Function")


def test_collapse_of_a_model_with_parameters_of_its_own():
    attend = nn.MultiheadAttention(8, 2)
    x = torch.randn(4, 1, 8)
    view = viz.graph(attend(x, x + 1, x + 2)[0].sum(), attend).collapse()
    check(view)
    labels = [v.label for v in view.vertices]
    assert "MultiheadAttention" in labels and "out_proj" in labels and "leaf" not in {v.kind for v in view.vertices}
    block = nn.TransformerEncoderLayer(8, 2, 16)
    whole = viz.graph(block(x).sum(), block).collapse()
    assert "leaf" not in {v.kind for v in whole.vertices}                     # parameters are inside of the boxes
    assert [v.label for v in whole.vertices if v.kind == "module"] == ["self_attn", "norm1", "linear1", "linear2",
                                                                       "norm2"]
    seen = set()
    for v in view.vertices:                                                   # each after what it reads
        assert all(p.key in seen for p, _ in v.parents if p is not None)
        seen.add(v.key)


def test_collapse_wants_a_model():
    with pytest.raises(ValueError, match="model"):
        diamond()[2].graph().collapse()


def test_collapse_of_a_module_used_again_after_others():
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    net = nn.ModuleDict({"a": a, "b": b})
    x = torch.randn(1, 3, requires_grad=True)
    h = a(x)
    view = viz.graph((a(b(h)) + h).sum(), net).collapse()
    labels = [v.label for v in view.vertices]
    assert labels.count("a") == 2 and labels.count("b") == 1                  # one box would have been its own input
    check(view)


def test_large_graphs_are_elided_in_words():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.0
    view = y.sum().graph()
    check(view)
    assert "more" in str(view) and len(view.vertices) < 200
    with pytest.raises(RuntimeError, match="at most"):
        viz.replay(y.sum())


def test_graph_of_several_outputs_and_own_functions():
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y = (Double.apply(x).sort()[0] * torch.tensor([1.0, 10.0, 100.0])).sum()
    view = viz.replay(y)
    check(view)
    assert "DoubleBackward" in str(view) and "output 0" in str(view)
    np.testing.assert_allclose(next(iter(view.gradients.values())), [200.0, 2.0, 20.0])


# ------------------------------------------------------------------ the backward pass
def test_replay_and_the_two_wrong_orders():
    x, a, y = diamond()
    view = viz.replay(y)
    source = check(view)
    results = {name: found[view.vertices[0]].item() for name, found in view.results.items()}
    assert results == {"right order": 24.0, "naive recursion": 36.0, "visited once, depth first": 12.0}
    assert "g * other" in source and "\u2717 wrong" in source
    assert "naive recursion would give x 36" in str(view)
    assert x.grad is None
    y.backward()                                                              # the graph is still whole
    assert x.grad.item() == 24.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        viz.replay(y)


def test_replay_tells_how_gradients_add_up():
    x = torch.tensor(3.0, requires_grad=True)
    step = viz.replay(x * x).steps[0]
    assert [(a.sent.item(), None if a.before is None else a.before.item(), a.after.item(), a.rule)
            for a in step.arrivals] == [(3.0, None, 3.0, "g * other"), (3.0, 3.0, 6.0, "g * input")]


def random_dag(random, shapes=((), (3,), (2, 3))):
    leaves = [torch.tensor(np.array([random.uniform(0.5, 1.5) for _ in range(int(np.prod(s)))]).reshape(s),
                           requires_grad=True) for s in shapes for _ in range(random.randrange(1, 3))]
    made = list(leaves)
    steps = [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a.tanh(), torch.maximum,
             lambda a, b: a.exp() - b, lambda a, b: a.sum(), lambda a, b: a.mean() * b]
    for _ in range(random.randrange(1, 9)):
        made.append(random.choice(steps)(random.choice(made), random.choice(made)))
    return leaves, sum(m.sum() for m in made[len(leaves):])


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False))
def test_replay_gives_the_real_gradients(random):
    leaves, y = random_dag(random)
    view = viz.replay(y)
    real = torch.autograd.grad(y, leaves, allow_unused=True)
    found = {v.place: g for v, g in view.gradients.items()}
    for leaf, g in zip(leaves, real):
        if g is None:
            assert leaf not in found
        else:
            np.testing.assert_allclose(found[leaf], g.numpy(), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_wrong_orders_are_right_on_trees(random):
    parts = [torch.tensor(random.uniform(0.5, 1.5), requires_grad=True) for _ in range(6)]
    made = list(parts)
    while len(made) > 1:
        a, b = made.pop(random.randrange(len(made))), made.pop(random.randrange(len(made)))
        made.append(random.choice([a * b, a + b, a / b]).sin())
    view = viz.replay(made[0])
    assert not any(view.wrong(name) for name in view.orders)


def test_replay_of_a_network_is_small_enough():
    net = nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU())])
    loss = nn.functional.mse_loss(net(torch.randn(4, 6)), torch.randn(4, 6))
    check(viz.replay(loss, net))
    check(loss.graph(net))
    check(loss.graph(net).collapse())


def test_replay_wants_a_number_or_a_gradient():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="gradient="):
        viz.replay(x * 2)
    view = viz.replay(x * 2, gradient=torch.tensor([1.0, 5.0]))
    assert list(next(iter(view.gradients.values()))) == [2.0, 10.0]
