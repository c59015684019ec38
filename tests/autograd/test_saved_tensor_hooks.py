"""Hooks on saved tensors, gradient edges, hooks on several gradients, and what hooks may return."""

import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.autograd import graph as G
from minitorch.autograd.inference import Guard
from minitorch.core import graph as core_graph

F = nn.functional


def ones(*shape):
    return torch.ones(*shape, requires_grad=True)


@pytest.fixture(autouse=True)
def no_hook_stays():
    yield
    assert not [h for h in core_graph.node_hooks or () if not isinstance(h, Guard)]        # which errors may keep alive


# ---- packing -------------------------------------------------------------------------------------------------
CALLS = {
    "mul": lambda x: x * x, "exp": lambda x: x.exp(), "softmax": lambda x: x.softmax(0), "norm": lambda x: x.norm(),
    "matmul": lambda x: x @ x.t(), "cat": lambda x: torch.cat([x, x.sin()]).cos(),
    "index": lambda x: x[[0, 0]] * x[:1],
    "max": lambda x: x.max(0)[0] * x.sum(), "split": lambda x: x.split(1)[1].tanh(),
    "sort": lambda x: x.sort()[0].exp(),
    "layer_norm": lambda x: F.layer_norm(x, (3,)).sin(), "where": lambda x: torch.where(x > 0, x * x, x),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True).sin(), "prod": lambda x: x.prod(1),
    "svd": lambda x: torch.linalg.svdvals(x), "conv": lambda x: F.conv1d(x[None], x[:, None, :2].expand(2, 2, 2).sin()),
    "pool": lambda x: F.max_pool1d(x[None], 2),
    "gather": lambda x: x.gather(1, torch.zeros(2, 1, dtype=torch.int64)) ** 2,
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1])),
    "half": lambda x: (x.half() * x.half()).float(),
    "bfloat16": lambda x: F.gelu(x.bfloat16()).float(),
    "in place": lambda x: (x * 2).sin_().mul_(x).exp(),
}


def gradients(call, create_graph=False):
    x = torch.tensor([[0.3, 1.2, -0.7], [2.0, 0.1, 0.9]], requires_grad=True)
    y = call(x)
    found, = torch.autograd.grad(y.square().sum(), x, create_graph=create_graph)
    return torch.autograd.grad(found.sum(), x, allow_unused=True)[0] if create_graph else found


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_do_not_depend_on_where_saved_tensors_wait(name, create_graph):
    def packed(x):
        with G.saved_tensors_hooks(lambda t: t.detach().clone().numpy() if t.dtype != torch.bfloat16 else t.detach(),
                                   lambda a: a if isinstance(a, torch.Tensor) else torch.from_numpy(a)):
            return CALLS[name](x)
    if name == "svd" and create_graph:
        pytest.skip("its second derivative reads more than is packed")
    want, got = gradients(CALLS[name], create_graph), gradients(packed, create_graph)
    assert (want is None) == (got is None)
    if want is not None:
        torch.testing.assert_close(got, want)


@given(st.lists(st.sampled_from(["sin", "exp", "tanh", "sigmoid", "square"]), min_size=1), st.integers(0, 6))
def test_each_tensor_that_is_saved_is_packed_once_and_unpacked_once(names, end):
    packed, unpacked = [], []
    x = ones(2)
    y = x
    for name in names[:end]:
        y = getattr(y, name)()
    inside = y
    with G.saved_tensors_hooks(lambda t: packed.append(1) or t.detach(), lambda t: unpacked.append(1) or t):
        for name in names[end:]:
            inside = getattr(inside, name)()
    assert len(packed) == len(names[end:]) and not unpacked
    inside.sum().backward()
    assert len(unpacked) == len(packed)


def test_pack_sees_leaves_themselves_and_results_without_their_graph():
    x, seen = ones(2), []
    with G.saved_tensors_hooks(lambda t: seen.append(t) or t.detach(), lambda t: t):
        y = x.sin()
        z = y.exp()
    assert seen[0] is x and seen[1].grad_fn is None and seen[1].tolist() == z.tolist()


def test_saved_values_of_a_function_are_packed():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, nothing, y = ctx.saved_tensors
            assert nothing is None and y.tolist() == (x * x).tolist()
            return 2 * x * g

    x, packed = ones(3), []
    with G.saved_tensors_hooks(lambda t: packed.append(1) or t.tolist(), torch.tensor):
        y = Square.apply(x)
    g, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert len(packed) == 2 and torch.autograd.grad(g.sum(), x)[0].tolist() == [2, 2, 2]


def test_only_the_innermost_hooks_are_asked_in_the_thread_that_entered_them():
    x, seen = ones(2), []
    with G.saved_tensors_hooks(lambda t: seen.append("outer") or t.detach(), lambda t: t):
        with G.saved_tensors_hooks(lambda t: seen.append("inner") or t.detach(), lambda t: t):
            x.sin()
        x.cos()
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert seen == ["inner", "outer"]


def test_a_packed_tensor_may_be_written_to():
    x = ones(2)
    y = x * 1
    with G.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        z = y.sin()
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == pytest.approx([0.5403, 0.5403], abs=1e-4)


def test_hooks_that_break_their_word_raise():
    x = ones(2)
    with G.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.sin()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        with G.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
            (x * 1).sin()
    with pytest.raises(ZeroDivisionError):
        with G.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
            x.sin()
    with pytest.raises(RuntimeError, match="not here"):
        with G.disable_saved_tensors_hooks("not here"):
            with G.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
    with pytest.raises(RuntimeError, match="not here"):
        with G.saved_tensors_hooks(lambda t: t, lambda t: t), G.disable_saved_tensors_hooks("not here"):
            pass


def test_a_freed_graph_with_packed_values_says_so():
    x = ones(2)
    with G.save_on_cpu():
        y = x.sin().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_save_on_cpu_and_allow_mutation():
    x = ones(2)
    with G.save_on_cpu(pin_memory=True):
        y = x.sin().exp()
    y.sum().backward()
    plain = ones(2)
    plain.sin().exp().sum().backward()
    assert x.grad.tolist() == plain.grad.tolist()
    with G.allow_mutation_on_saved_tensors():
        a = ones(2)
        b = a.clone()
        out = (b ** 2).sum()
        b.sin_()
        out.backward()
        late = (b ** 2).sum()
        assert a.grad.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="cannot be nested"), G.allow_mutation_on_saved_tensors():
            pass
    with pytest.raises(AssertionError, match="outside of"):
        late.backward()


def test_calls_are_generated_without_a_look_at_hooks():
    assert "saved" not in torch.mul.source.__str__().replace("node.saved", "")


def test_only_tensors_can_be_saved_for_the_backward_pass():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x * 2
    with pytest.raises(TypeError, match="argument 1 is of type int"):
        Wrong.apply(ones(2))
    with pytest.raises(RuntimeError, match="all inputs have to be"):
        torch.autograd.grad(ones(1) * 2, "x")


# ---- edges ---------------------------------------------------------------------------------------------------
def test_gradient_edges_stand_for_tensors():
    x = ones(3)
    y = x * 2
    edge, leaf = G.get_gradient_edge(y), G.get_gradient_edge(x)
    assert edge.node is y.grad_fn and isinstance(leaf.node, G.Node) and leaf.node.variable is x
    out = (y * y).sum()
    found = torch.autograd.grad(out, [edge, leaf], retain_graph=True)
    assert [g.tolist() for g in found] == [[4, 4, 4], [8, 8, 8]]
    assert torch.autograd.grad(edge, x, torch.full((3,), 5.0), retain_graph=True)[0].tolist() == [10, 10, 10]
    out = (y * y).sum()
    out.backward(inputs=[leaf])
    assert x.grad.tolist() == [8, 8, 8]
    with pytest.raises(RuntimeError, match="leaves only"):
        (y * y).sum().backward(inputs=[edge])
    with pytest.raises(RuntimeError, match="does not require"):
        G.get_gradient_edge(torch.ones(1))


@given(st.integers(0, 2))
def test_edges_of_calls_with_several_results(which):
    x = ones(3)
    parts = x.unbind(0)
    out = sum((i + 1) * part * part for i, part in enumerate(parts))
    edge = G.get_gradient_edge(parts[which])
    assert edge.output_nr == which and torch.autograd.grad(out, edge)[0].item() == 2 * (which + 1)
    out = sum((i + 1) * part * part for i, part in enumerate(parts))
    rebuilt = G.GradientEdge(edge.node, which)
    assert torch.autograd.grad(out, rebuilt)[0].item() == 2 * (which + 1)


def test_batched_gradients_are_those_of_the_rows():
    x = ones(3)
    y = x.exp() * x
    rows = torch.eye(3)
    found, = torch.autograd.grad(y, x, rows, is_grads_batched=True, retain_graph=True)
    want = torch.stack([torch.autograd.grad(y, x, row, retain_graph=True)[0] for row in rows])
    assert found.tolist() == want.tolist()


# ---- hooks on gradients ----------------------------------------------------------------------------------------
def test_multi_grad_hooks_wait_for_the_gradients_that_will_come():
    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(2, 3, requires_grad=True)
    c, d = a * b, a * b
    seen, first = [], []
    handle = G.register_multi_grad_hook((a, b, c, d), lambda gs: seen.append([g is not None for g in gs]))
    G.register_multi_grad_hook((a, b), lambda g: first.append(tuple(g.shape)), mode="any")
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    assert seen == [[True, True, True, False], [True, False, True, False], [True] * 4] and len(first) == 4
    with pytest.raises(ValueError, match="mode"):
        G.register_multi_grad_hook((a,), print, mode="some")


WRONG = {"text": ("a", TypeError), "number": (3, TypeError), "size": (torch.ones(2), RuntimeError),
         "dtype": (torch.ones(3, dtype=torch.float64), RuntimeError)}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_that_return_something_else_raise(name, create_graph):
    value, error = WRONG[name]
    x = ones(3)
    x.register_hook(lambda g: value)
    with pytest.raises(error, match="hook"):
        (x * 2).sum().backward(create_graph=create_graph)
    y = ones(3) * 2
    y.grad_fn.register_hook(lambda grads, outputs: (value, None))
    with pytest.raises(error, match="hook"):
        y.sum().backward(create_graph=create_graph)
    assert x.grad is None


@pytest.mark.parametrize("result, error, match", [
    (torch.ones(3), TypeError, "expected tuple"), ((torch.ones(3),), RuntimeError, "incorrect number"),
    ((torch.ones(3), torch.ones(3)), RuntimeError, "None gradient")])
def test_hooks_of_nodes_return_as_many_gradients_as_they_got(result, error, match):
    y = ones(3) * 2
    y.grad_fn.register_hook(lambda grads, outputs: result)
    with pytest.raises(error, match=match):
        y.sum().backward()


def test_hooks_on_the_node_of_a_leaf():
    x, seen = ones(3), []
    leaf = (x * 2).grad_fn.next_functions[0][0]
    assert leaf is (x * 3).grad_fn.next_functions[0][0] and type(leaf).__name__ == "AccumulateGrad"
    leaf.register_prehook(lambda grads: (grads[0] * 10,))
    leaf.register_hook(lambda *args: seen.append(args))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [30, 30, 30] and seen[0][0] == () and seen[0][1][0].tolist() == [30, 30, 30]


def test_hooks_on_a_node_with_several_results():
    a, b = ones(3).split([1, 2])
    seen = []
    assert a.grad_fn is b.grad_fn
    a.grad_fn.register_prehook(lambda grads: seen.append([g is not None for g in grads]))
    (a * 2).sum().backward()
    assert seen == [[True, False]]


def test_retained_gradients_add_up_and_count_once():
    x = ones(2)
    y = x * 2
    y.retain_grad()
    y.sum().backward(inputs=[x, y], retain_graph=True)
    assert y.grad.tolist() == [1, 1]
    y.sum().backward()
    assert y.grad.tolist() == [2, 2] and x.grad.tolist() == [4, 4]


def test_hooks_off_the_way_to_the_inputs_do_not_run():
    x, w, seen = ones(2), ones(2), []
    u = w * 2
    u.retain_grad()
    u.register_hook(lambda g: seen.append(g))
    (x * 2 * u).sum().backward(inputs=[x])
    assert not seen and u.grad is None and w.grad is None


@pytest.mark.parametrize("stop", [lambda x: x.requires_grad_(False), lambda x: x.detach_()])
def test_a_leaf_that_no_longer_requires_grad_gets_none(stop):
    x, w = ones(2), ones(2)
    y = x * w
    stop(x)
    y.sum().backward()
    assert x.grad is None and w.grad.tolist() == [1, 1]


# ---- what a tensor is ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [1, 0, None, "yes", torch.tensor(True)])
def test_requires_grad_is_a_bool(value):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="must be a bool"):
        x.requires_grad = value
    with pytest.raises(TypeError, match="must be bool"):
        x.requires_grad_(value)
    assert x.requires_grad is False


def test_data_of_a_leaf_stays_floating_and_may_not_grow_between_the_passes():
    x = ones(2)
    with pytest.raises(RuntimeError, match="floating point"):
        x.data = torch.ones(2, dtype=torch.int32)
    y = x * x
    x.data = torch.ones(3)
    with pytest.raises(RuntimeError, match="invalid gradient"):
        (y * 1).sum().backward()


@pytest.mark.parametrize("name, args", [("transpose_", (0, 1)), ("t_", ()), ("squeeze_", (0,)), ("unsqueeze_", (0,)),
                                        ("swapaxes_", (0, 1)), ("swapdims_", (0, 1)), ("resize_", (3,)),
                                        ("as_strided_", ((2,), (1,))), ("zero_", ()), ("add_", (1,))])
def test_changes_in_place_count_as_writes(name, args):
    x = torch.ones(1, 2)
    getattr(x, name)(*args)
    assert x._version == 1


def test_tensors_hash_by_identity():
    x, y = ones(2), ones(2)
    assert hash(x) == id(x) and {x: 1, y: 2}[y] == 2 and len({x, y, x}) == 2


NAMES = {"Select": lambda x: x[0], "Unsqueeze": lambda x: x[None], "Slice": lambda x: x[1:], "Alias": lambda x: x[...],
         "Mul": lambda x: x * 2, "Split": lambda x: x.split(1)[0], "Unbind": lambda x: x.unbind()[0],
         "Sort": lambda x: x.sort()[0]}


@pytest.mark.parametrize("name", NAMES)
def test_nodes_have_classes_of_pytorchs_names(name):
    node = NAMES[name](ones(2, 2)).grad_fn
    assert node.name() == type(node).__name__ == f"{name}Backward0" and isinstance(node, G.Node)
    assert type(node.next_functions[0][0]).__name__ == "AccumulateGrad"


def test_a_node_shows_what_it_saved():
    x = ones(2)
    y = x.exp() * x
    assert y.grad_fn._saved_other is x and y.grad_fn._saved_self.tolist() == x.exp().tolist()
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    assert not hasattr(y.grad_fn, "_saved_nonsense")
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = y.grad_fn._saved_self


# ---- inference tensors -----------------------------------------------------------------------------------------
USES = {
    "product": lambda i, w: i * w, "matmul": lambda i, w: i @ w, "view": lambda i, w: i[:1] * w[:1],
    "parameter": lambda i, w: nn.Parameter(i), "requires_grad": lambda i, w: i.requires_grad_(),
    "write": lambda i, w: i.add_(1), "write through a view": lambda i, w: i[:1].add_(1), "fill": lambda i, w: i.zero_(),
    "out": lambda i, w: torch.add(i, 1, out=i), "index": lambda i, w: i.__setitem__(0, 1),
    "version": lambda i, w: i._version,
}


@pytest.mark.parametrize("name", USES)
def test_inference_tensors_are_refused(name):
    with torch.inference_mode():
        i = torch.ones(2)
    assert i.is_inference() and i[:1].is_inference() and i.detach().is_inference() and not (i * 1).is_inference()
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        USES[name](i, ones(2))
    assert i.tolist() == [1, 1]
    assert (i + ones(2)).requires_grad and (i.clone() * ones(2)).requires_grad
    with torch.inference_mode():
        i.add_(1)
    assert i.tolist() == [2, 2]


def test_nothing_looks_at_graphs_once_inference_tensors_are_gone():
    gc.collect()
    with torch.inference_mode():
        i = torch.ones(2)
    assert core_graph.node_hooks
    del i
    assert core_graph.node_hooks is None and not core_graph.inference
