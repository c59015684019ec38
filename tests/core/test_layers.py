"""The stack of layers at the backend interface, and the list of node hooks."""

import threading
from importlib import import_module

import numpy as np
import pytest

import minitorch as torch
from minitorch import backends
from minitorch.core import graph, layers
from minitorch.core.backend import Backend
from minitorch.core.device import TYPES
from minitorch.core.hooks import NodeHook, add_node_hook, remove_node_hook

cpu = backends.get("cpu")


class Names(layers.observed):
    """Notes the names of the ops that are called."""

    def __init__(self):
        self.names = []
        super().__init__(lambda name, arrays, attrs, backend: self.names.append(name), lambda token, result: None)


def doubled(name, function, backend):
    """A layer that doubles what `exp` returns."""
    return (lambda x: 2 * function(x)) if name == "exp" else function


# ---- layers ------------------------------------------------------------------------------------------------
def test_ops_are_told_of_while_the_layer_is_there():
    x = torch.ones(3, requires_grad=True)
    with Names() as seen:
        y = (x * 2).exp().sum()
    assert seen.names == ["mul", "exp", "sum"]
    y.backward()                                          # a graph that has outlived it
    assert seen.names == ["mul", "exp", "sum"]
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2.0), rtol=1e-6)


def test_results_and_errors_are_told():
    calls = []
    with layers.observed(lambda *call: call, lambda call, result: calls.append((*call, result))):
        torch.ones(2).sum(0, keepdim=True)
        with pytest.raises(RuntimeError):
            torch.ones(2) @ torch.ones(3)
    (name, arrays, attrs, backend, result), failed = calls
    assert name == "sum" and arrays[0].tolist() == [1, 1] and attrs["keepdim"] and backend is cpu
    assert result.tolist() == [2] and failed[0] == "matmul" and failed[-1] is None


def test_nothing_is_left_on_a_backend():
    torch.ones(2).exp(), torch.ones(2).half().sin()
    with pytest.raises(KeyError), layers.pushed(doubled):
        torch.ones(2).exp(), torch.ones(2).half().sin()
        assert "exp" in vars(cpu) and vars(cpu)["exp"] is not np.exp
        raise KeyError
    assert not layers.stack and not cpu.ops and "exp" not in vars(cpu)
    assert not cpu.fp32.ops and "sin" not in vars(cpu.fp32)
    torch.ones(2).exp()
    assert vars(cpu)["exp"] is np.exp                      # the common call: NumPy's function itself


def test_layers_nest_and_may_leave_in_any_order():
    x, outer, inner = torch.zeros(1), Names(), Names()
    with outer:
        with layers.pushed(doubled), inner, layers.pushed(doubled):
            assert x.exp().item() == 4
        assert x.exp().item() == 1
    assert outer.names == ["exp", "exp"] and inner.names == ["exp"]
    outer.__enter__(), inner.__enter__()
    outer.__exit__()
    x.sin()
    inner.__exit__()
    assert outer.names == ["exp", "exp"] and inner.names == ["exp", "sin"] and not layers.stack


def test_a_layer_beneath_the_others():
    def other(name, function, backend):
        return np.sin if name == "exp" else function
    with Names() as seen, layers.pushed(other, first=True):
        assert torch.zeros(1).exp().item() == 0
    assert seen.names == ["exp"]


def test_a_wide_backend_kept_by_a_graph_forgets_too():
    x = torch.ones(3, dtype=torch.float16, requires_grad=True)
    with Names() as seen:
        y = x.sin()
    y.sum().backward()
    assert seen.names == ["sin"]
    z = x.sin()
    with Names() as seen:
        z.sum().backward()
    assert "cos" in seen.names


def test_kernels_that_take_halves_still_do_under_a_layer():
    def half_exp(F, input):
        return input
    half_exp.takes_halves = True
    backend = Backend(torch.device("cpu"), np, {"exp": half_exp})
    x = np.ones(2, np.float16)
    with Names() as seen:
        assert backend.fp32.exp(x) is x
    assert backend.fp32.exp(x) is x and seen.names == ["exp"]


def test_a_function_that_somebody_kept():
    with Names() as seen:
        kept = cpu.exp
        kept(np.ones(1))
    assert kept(np.ones(1)) == np.exp(1) and seen.names == ["exp"]


def test_a_backend_that_is_made_meanwhile_has_the_layers(monkeypatch):
    device = import_module("minitorch.core.device")
    monkeypatch.setattr(device, "MAKERS", dict(device.MAKERS))
    monkeypatch.setattr(device, "MADE", dict(device.MADE))
    backends.register("late", lambda index: Backend(torch.device("late"), np))
    try:
        with Names() as seen:
            late = backends.get("late")
            late.exp(np.ones(2))
        late.exp(np.ones(2))
    finally:
        TYPES.remove("late")
    assert seen.names == ["exp"] and late.exp is np.exp


def test_threads_that_compute_while_layers_come_and_go():
    stop, failed = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                assert torch.zeros(1).exp().item() == 1 and torch.ones(2).sum().item() == 2
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(200):
        with Names():
            pass
    stop.set()
    for t in threads:
        t.join()
    torch.zeros(1).exp()
    assert not failed and vars(cpu)["exp"] is np.exp


# ---- node hooks --------------------------------------------------------------------------------------------
class Notes(NodeHook):
    def __init__(self):
        self.notes = []

    def recorded(self, node, result):
        self.notes.append(("recorded", node.name(), tuple(result.shape)))

    def run(self, node, pull):
        self.notes.append(("run", node.name()))
        return pull()

    def backward(self, run):
        self.notes.append(("backward",))
        run()
        self.notes.append(("done",))


def test_node_hooks_are_told_of_nodes_and_passes():
    hook, other, x = Notes(), Notes(), torch.ones(2, requires_grad=True)
    add_node_hook(hook)
    add_node_hook(other)
    try:
        (x * 3).sum().backward()
    finally:
        remove_node_hook(hook)
        remove_node_hook(other)
    assert graph.node_hooks is None and x.grad.tolist() == [3, 3]
    assert hook.notes == other.notes == [
        ("recorded", "MulBackward0", (2,)), ("recorded", "SumBackward0", ()), ("backward",), ("run", "SumBackward0"),
        ("run", "MulBackward0"), ("done",)]
    remove_node_hook(hook)                           # nothing happens


def test_a_node_hook_may_change_gradients():
    class Negative(NodeHook):
        def run(self, node, pull):
            return tuple(-g for g in pull())
    hook, x = Negative(), torch.ones(2, requires_grad=True)
    add_node_hook(hook)
    try:
        x.exp().backward(torch.ones(2))
    finally:
        remove_node_hook(hook)
    np.testing.assert_allclose(x.grad.numpy(), -np.exp(1.0), rtol=1e-6)
