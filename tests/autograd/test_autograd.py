"""The tape and the engine: gradients, hooks, modes, freed graphs, memory, writes in place."""

import gc
import pickle
import threading
import time
import weakref

import pytest

import minitorch as torch
from minitorch.autograd import Function, Variable
from minitorch.autograd.api import grad


def leaf(*values):
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.float64, requires_grad=True)


# ---- gradients ---------------------------------------------------------------------------------------------
def test_two_paths_add_up():
    x = leaf(3.0)
    (x * x + x ** 3).backward()
    assert x.grad.item() == 33
    y = leaf(5.0)
    (2 * y + 5 * y).backward()
    assert y.grad.item() == 7


def test_diamond_sixty_deep_takes_no_time():
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0 ** 60


@pytest.mark.parametrize("n", [100_000])
def test_long_chain_needs_no_recursion(n):
    x = leaf(1.0)
    y = x
    for _ in range(n):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1
    del y                                                  # taking the graph apart must not recurse either


def test_time_is_linear_in_the_ops():
    def seconds(n):
        x = leaf(1.0)
        y = x
        for _ in range(n):
            y = y * 1.0
        start = time.process_time()
        y.backward()
        return time.process_time() - start
    seconds(1000)
    short, long = min(seconds(4000) for _ in range(3)), min(seconds(32000) for _ in range(3))
    assert long < 8 * 4 * short, "eight times the ops may take eight times as long, not its square"


def test_accumulates_and_keeps_the_array():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and x.grad.tolist() == [5, 5]


def test_gradients_are_unaliased():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (a + b).backward(torch.ones(2, dtype=torch.float64))
    a.grad += 1
    assert b.grad.tolist() == [1, 1]
    seed = torch.ones(2, dtype=torch.float64)
    a.grad = None
    (a + 0).backward(seed)
    a.grad.zero_()
    assert seed.tolist() == [1, 1]


def test_second_backward_raises_unless_retained():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8, "no stale gradients of inner tensors are added"
    with pytest.raises(RuntimeError, match="backward through the graph a second time.*retain_graph=True"):
        y.backward()


def test_other_graphs_are_not_freed():
    x = leaf(2.0)
    first, second = x * x, x * x * x
    second.backward()
    first.backward()
    assert x.grad.item() == 16


def test_backward_needs_a_scalar_or_a_gradient():
    y = leaf(1.0, 2.0) * 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        y.backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(()).backward()


def test_backward_with_inputs_leaves_the_others_alone():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 3 and b.grad is None


def test_higher_orders():
    x = leaf(3.0)
    y = x ** 4
    for wanted in (108, 108, 72, 24):
        (y,) = grad(y, x, create_graph=True)
        assert y.item() == wanted


def test_grad_of_inner_tensors_and_several_outputs():
    a, b = leaf(2.0), leaf(3.0)
    c = a * b
    d, e = c * c, c + a
    gc_, ga = grad([d, e], [c, a])
    assert gc_.item() == 2 * 6 + 1 and ga.item() == (12 + 1) * 3 + 1
    assert a.grad is None
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert c.grad is None


def test_unused_inputs():
    a, b = leaf(2.0), leaf(3.0)
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad(a * a, [a, b])
    assert grad(a * a, [a, b], allow_unused=True)[1] is None
    assert grad(a * a, [a, b], materialize_grads=True)[1].item() == 0
    with pytest.raises(ValueError):
        grad(a * a, [a], allow_unused=False, materialize_grads=True)


def test_unused_parts_are_not_run():
    class Boom(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("not on the way to the input that was asked for")
    a, b = leaf(1.0), leaf(2.0)
    assert grad(a * Boom.apply(b), a)[0].item() == 2


def test_broadcast_gradients():
    a, b, c = (torch.ones(s, dtype=torch.float64, requires_grad=True) for s in ((3, 1), (1, 4), (2, 3, 4)))
    (a * b * c).sum().backward()
    assert a.grad.tolist() == [[8.0]] * 3 and b.grad.tolist() == [[6.0] * 4] and c.grad.shape == (2, 3, 4)


# ---- hooks and leaves --------------------------------------------------------------------------------------
def test_tensor_hooks_see_and_replace_the_gradient():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 2)
    y.sum().backward(retain_graph=True)
    assert seen == [[1, 1]] and x.grad.tolist() == [6, 6]
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [12, 12]


def test_leaf_hook_and_post_accumulate_hook():
    x, events = leaf(1.0), []
    x.register_hook(lambda g: events.append("hook") or g * 10)
    handle = x.register_post_accumulate_grad_hook(lambda p: events.append(p.grad.item()))
    (x * 2).backward()
    assert events == ["hook", 20]
    handle.remove()
    (x * 2).backward()
    assert events == ["hook", 20, "hook"]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)
    x.register_post_accumulate_grad_hook(lambda p: p).remove()
    x.register_post_accumulate_grad_hook(lambda p: p.data.sub_(1.0))
    with pytest.raises(RuntimeError, match="should return None"):
        (x * 2).backward()


def test_node_hooks():
    x = leaf(2.0)
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5, None))
    y.backward()
    assert x.grad.item() == 15


def test_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not y.is_leaf
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8]


def test_grad_fn_names_and_edges():
    x = leaf(1.0)
    y = x * 2 + x.sin()
    assert y.grad_fn.name() == "AddBackward0"
    names = [node.name() for node, _ in y.grad_fn.next_functions]
    assert names == ["MulBackward0", "SinBackward0"]
    accumulate = y.grad_fn.next_functions[0][0].next_functions[0][0]
    assert accumulate.variable is x


# ---- modes -------------------------------------------------------------------------------------------------
def test_modes_as_contexts_and_decorators():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
        assert not torch.is_grad_enabled()
    assert not torch.no_grad()(lambda: x * 2)().requires_grad
    assert not torch.no_grad(lambda: x * 2)().requires_grad
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        y = torch.ones(2)
        assert y.is_inference() and not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad_()


def test_modes_survive_errors_and_generators():
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def numbers():
        assert not torch.is_grad_enabled()
        yield 1
        assert not torch.is_grad_enabled()
    for _ in numbers():
        assert torch.is_grad_enabled()


def test_modes_are_per_thread():
    found = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: found.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


# ---- memory ------------------------------------------------------------------------------------------------
def test_no_reference_cycles():
    """With the collector off, everything a step makes is gone at its end."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.randn(16, 4)
    gc.collect()
    gc.disable()
    try:
        def step():
            out = model(x)
            piece = out[3:5]
            loss = (out * out).mean() + piece.sum()
            refs = [weakref.ref(out), weakref.ref(out.grad_fn), weakref.ref(loss.grad_fn)]
            (g,) = grad(loss, model[0].weight, create_graph=True)
            (loss + (g * g).sum()).backward()
            return refs
        assert all(ref() is None for ref in step())
        before = len(gc.get_objects())
        for _ in range(5):
            step()
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_forwards_without_backward_leave_nothing():
    x = leaf(1.0)
    refs = [weakref.ref((x * 2).grad_fn) for _ in range(100)]
    assert not any(ref() for ref in refs)


# ---- writes in place ---------------------------------------------------------------------------------------
def test_leaf_that_requires_grad_refuses_writes():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 5.0), lambda: x[0].mul_(2), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            write()
    assert x.tolist() == [1, 2]
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3] and x.is_leaf


def test_saved_value_that_was_written_to_raises_with_op_and_line():
    x = leaf(1.0, 2.0)
    y = x * x
    with torch.no_grad():
        x[0] = 100.0                                       # this line is named
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*saved by mul\(\).*__setitem__ at "
                                           r".*test_autograd.py:\d+"):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda x: x.detach().mul_(2), lambda x: x.detach()[0:1].zero_(),
                                   lambda x: x.detach().copy_(x.detach() * 3)], ids=["mul_", "view", "copy_"])
def test_writes_through_other_names_are_noticed(write):
    x = leaf(1.0, 2.0)
    y = x * x
    write(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda x: x.data.add_(1), lambda x: x.data[0:1].zero_(),
                                   lambda x: x.data.copy_(x.detach() * 3)], ids=["add_", "view", "copy_"])
def test_writes_through_data_are_noticed_in_anomaly_mode(write):
    x = leaf(1.0, 2.0)
    y = x * x
    write(x)
    y.sum().backward()                                     # with the new values, as PyTorch
    assert x.grad.tolist() == (2 * x).tolist() and x._version == 0
    with torch.autograd.detect_anomaly():
        y = x * x
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_writes_that_do_not_matter_do_not_raise():
    x = leaf(1.0, 2.0)
    y = x * 2                                              # saves the 2, not x
    other = torch.zeros(2)
    other.add_(1)
    with torch.no_grad():
        x.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_partial_pass_frees_only_what_it_ran():
    x = leaf(1.0, 2.0)
    h = x * x
    y = (h * h).sum()
    assert torch.autograd.grad(y, h)[0].tolist() == [2, 8]
    h.sum().backward()                                     # behind h nothing was freed
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_recorded_writes():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(3).add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    z = (x.detach().requires_grad_() * 1)
    z.exp_()
    z.sum().backward()


def test_recorded_writes_over_constants():
    """The slope of the operand is the value that was there before."""
    x, z = leaf(3.0, 4.0), torch.tensor([5.0, 6.0], dtype=torch.float64)
    z.mul_(x)
    z.sum().backward()
    assert z.tolist() == [15, 24] and x.grad.tolist() == [5, 6]
    x.grad, z = None, torch.tensor([6.0, 8.0], dtype=torch.float64)
    z /= x
    z.sum().backward()
    assert x.grad.tolist() == [-6 / 9, -8 / 16]


def test_overwritten_values_have_no_slope():
    for write in (lambda y: y.zero_(), lambda y: y.fill_(2.0), lambda y: y.copy_(torch.tensor(3.0))):
        x = leaf(1.0)
        y = x * 1
        write(y)
        (y * float("inf")).backward()
        assert x.grad.item() == 0, "infinity times nothing"


def test_views_made_in_no_grad_refuse_recorded_writes():
    y = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        view = y[:1]
        view.mul_(2)                                       # both inside: fine
    with pytest.raises(RuntimeError, match="view was created in no_grad mode"):
        view.mul_(2)


def test_retain_grad_follows_a_tensor_through_writes():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3] and x.grad.tolist() == [30, 30]


def test_write_to_a_view_changes_the_base_in_the_graph():
    w = leaf(1.0, 2.0, 3.0)
    base = torch.zeros(3, 3, dtype=torch.float64)
    row, column = base[1], base[:, 0]
    base[1] = w * 2
    assert base.requires_grad and row.requires_grad and column.requires_grad
    assert base.grad_fn is not None and row.tolist() == [2, 4, 6]
    (row * row).sum().backward(retain_graph=True)
    assert w.grad.tolist() == [8, 16, 24]
    w.grad = None
    (column.sum() * 10).backward()
    assert w.grad.tolist() == [20, 0, 0]


def test_view_written_in_place_cuts_what_it_overwrites():
    a, b = leaf(1.0, 2.0, 3.0), leaf(10.0)
    y = a * 2
    y[0] = b
    y.sum().backward()
    assert a.grad.tolist() == [0, 2, 2] and b.grad.tolist() == 1


def test_writes_are_counted():
    x = torch.zeros(3)
    view = x[1:]
    x.add_(1)
    view.mul_(2)
    x.detach()[0] = 5
    assert x._version == view._version == 3
    assert x.clone()._version == 0


def test_an_expanded_tensor_refuses_writes():
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1).expand(3).add_(1)


def test_in_place_keeps_shape_and_dtype():
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.zeros(1).add_(torch.ones(3))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.zeros(2, dtype=torch.int64).add_(0.5)


def test_out_writes_and_refuses_gradients():
    out = torch.empty(3)
    assert torch.add(torch.ones(3), 2, out=out) is out and out.tolist() == [3, 3, 3]
    with pytest.raises(RuntimeError, match="out=... arguments don't support automatic differentiation"):
        torch.mul(leaf(1.0), 2, out=torch.empty(()))


def test_a_seed_of_another_dtype_becomes_the_results():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(2, dtype=dtype, requires_grad=True)
        (x * 3).backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
        assert x.grad.dtype is dtype and x.grad.tolist() == [3, 6]


def test_inference_mode_records_nothing_and_can_be_off():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not (x * 2).requires_grad and torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.inference_mode(False):
        assert (x * 2).requires_grad and not torch.is_inference_mode_enabled()
    assert not torch.inference_mode()(lambda: x * 2)().requires_grad and (x * 2).requires_grad
    assert not torch.inference_mode(lambda: x * 2)().requires_grad


def test_variables_are_tensors():
    x = torch.ones(2)
    for v in (Variable(x), Variable(x, True), Variable(x, requires_grad=True)):
        assert isinstance(v, Variable) and isinstance(x, Variable) and v.is_leaf and v.data_ptr() == x.data_ptr()
    assert Variable(x, True).requires_grad and not Variable((x * 2).requires_grad_()).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed") as noted:
        assert not Variable(x, volatile=True).requires_grad
    assert noted[0].filename == __file__
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.raises(RuntimeError, match="require gradients"):
        Variable(torch.tensor([1]), requires_grad=True)
    assert Variable().shape == (0,) and not isinstance(1.0, Variable)


def test_integers_never_require_grad_after_a_write():
    x = torch.ones(2, requires_grad=True)
    for dtype in (torch.bool, torch.int32, torch.int64):
        target = torch.zeros(2, 2, dtype=dtype)
        target[0].copy_(x)
        target[1] = x
        target[:, 0] = x[0]
        assert not target.requires_grad and not target[0].requires_grad and target.all()


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_a_tensor_see_one_tensor(create_graph):
    x, seen = torch.ones(2, requires_grad=True), []
    y = x * 3

    def note(g):
        g.word = "left"
        seen.append(g)

    def replace(g):
        seen.append(g)
        made = g * 2
        seen.append(made)
        return made
    for hook in (note, replace, seen.append):
        y.register_hook(hook)
    y.sum().backward(create_graph=create_graph)
    assert seen[0] is seen[1] and seen[1].word == "left" and seen[2] is seen[3] and x.grad.tolist() == [6, 6]


def test_methods_from_higher_modules_have_the_names_of_their_attributes():
    """Errors, profiles and pickles name a method as users call it, wherever it is written."""
    assert torch.Tensor.backward.__qualname__ == "Tensor.backward"
    assert torch.Tensor.__new__.__qualname__ == "Tensor.__new__"
    assert pickle.loads(pickle.dumps(torch.Tensor.backward)) is torch.Tensor.backward
    with pytest.raises(TypeError, match=r"Tensor.__new__\(\) got an unexpected keyword"):
        torch.Tensor([1], dtype=torch.int8)


@pytest.mark.parametrize("write", [
    lambda y: y.gt_(0.5), lambda y: y.eq_(1), lambda y: y.logical_not_(), lambda y: y.fill_(3),
    lambda y: y.heaviside_(torch.tensor(0.5))], ids=["gt_", "eq_", "logical_not_", "fill_", "heaviside_"])
def test_no_gradient_flows_to_a_constant_that_was_written(write):
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    y = x * 2
    write(y[1:])
    assert y.requires_grad
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6, 0, 0]
