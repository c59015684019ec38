"""Errors and notes say which of the program's own names to change, and to what."""

import difflib
import pickle
import subprocess
import sys
import warnings

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.testing import doctor

F = nn.functional


def test_a_wrong_dtype_names_the_argument_and_the_dtype_to_cast_it_to():
    for dtype in (torch.int64, torch.float64):
        with pytest.raises(RuntimeError, match=r"as in `input.to\(torch.float32\)`"):
            nn.Linear(2, 2)(torch.ones(1, 2, dtype=dtype))
    with pytest.raises(RuntimeError, match=r"as in `input.to\('cpu'\)`"):
        nn.Linear(2, 2)(torch.ones(1, 2, device="sim"))


def test_channels_that_come_last_are_noticed():
    with pytest.raises(RuntimeError, match=r"put channels first, as input.permute\(0, 3, 1, 2\)"):
        nn.Conv2d(3, 2, 1)(torch.ones(1, 4, 4, 3))
    with pytest.raises(RuntimeError, match="channels instead$"):
        nn.Conv2d(3, 2, 1)(torch.ones(1, 4, 4, 5))


def test_an_empty_parameter_list_names_its_usual_causes():
    with pytest.raises(ValueError, match="optimizer got an empty parameter list: .*ModuleList.*items once"):
        torch.optim.SGD([], lr=0.1)


def test_a_missing_call_of_super_is_named():
    class Net(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call: write super\(\).__init__\(\) .*Net"):
        Net()


def test_a_misspelt_forward_is_named():
    class Net(nn.Module):
        def foward(self, x):
            return x
    with pytest.raises(NotImplementedError, match='missing the required "forward" function: it has `foward`'):
        Net()(1)


@pytest.mark.parametrize("wrong, right", [("nn.Linear(1, 1).weigth", "weight"), ("torch.zeross", "zeros"),
                                          ("torch.ones(1).requires_gard", "requires_grad"), ("nn.Linaer", "Linear")])
def test_python_suggests_the_right_name(wrong, right):
    code = f"import minitorch as torch; from minitorch import nn; {wrong}"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert f"Did you mean: '{right}'" in shown


# ---- the doctor --------------------------------------------------------------------------------------------
def notes_of(train):
    with warnings.catch_warnings(record=True) as shown, doctor() as patient:
        warnings.simplefilter("always")
        train()
    assert [str(w.message) for w in shown] == patient.notes
    return patient.notes


def training(*, zero=True, backward=True, none=True, accumulate=1, probabilities=False):
    model = nn.Linear(3, 4)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        if zero:
            optimizer.zero_grad(set_to_none=none)
        for _ in range(accumulate):
            out = model(torch.ones(2, 3))
            loss = F.cross_entropy(out.softmax(1) if probabilities else out, torch.tensor([0, 1]))
            if backward:
                loss.backward()
        optimizer.step()


def test_the_doctor_finds_nothing_in_a_right_loop():
    for right in ({}, dict(none=False), dict(accumulate=2)):
        assert notes_of(lambda right=right: training(**right)) == []


@pytest.mark.parametrize("mistake, words", [(dict(zero=False), "optimizer.zero_grad"),
                                            (dict(backward=False), "no gradients"),
                                            (dict(probabilities=True), "give it the logits")])
def test_the_doctor_names_a_mistake_once(mistake, words):
    [note] = notes_of(lambda: training(**mistake))
    assert words in note


def test_the_doctor_leaves_nothing_behind():
    from minitorch.core import graph, layers
    before = layers.stack, graph.node_hooks                # inference tensors that others keep have a hook
    notes_of(training)
    assert (layers.stack, graph.node_hooks) == before
    training(zero=False)


def test_an_integer_image_is_cast_to_the_type_of_the_weight():
    with pytest.raises(RuntimeError, match=r"as in `input.to\(torch.float32\)`"):
        nn.Conv2d(3, 2, 1)(torch.ones(1, 3, 4, 4, dtype=torch.uint8))


def test_misspelt_attributes_of_modules_are_suggested():
    layer = nn.Linear(2, 2)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weigth'. Did you mean: 'wei") as raised:
        print(layer.weigth)
    assert raised.value.name == "weigth" and type(raised.value) is AttributeError
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'xyz'$"):
        print(nn.Sequential(layer).xyz)
    assert not hasattr(layer, "nonsense") and getattr(layer, "nonsense", 3) == 3
    empty = nn.Module.__new__(nn.Linear)                   # as before `Module.__init__` has run
    with pytest.raises(AttributeError, match="attribute 'extra_rep'. Did you mean: 'extra_repr'"):
        print(empty.extra_rep)


def test_names_are_compared_only_when_the_error_is_read(monkeypatch):
    compared = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda *args: compared.append(args) or [])
    assert not hasattr(torch, "zeross") and getattr(torch, "__wrapped__", None) is None
    assert not hasattr(nn.Linear(1, 1), "weigth") and not compared
    with pytest.raises(AttributeError) as raised:
        print(torch.zeross)
    assert str(raised.value) == "module 'minitorch' has no attribute 'zeross'" and compared


def test_the_line_that_cut_the_graph_is_named():
    w = torch.ones(3, requires_grad=True)

    def by_detach():
        scale = 2.0
        y = (w * scale).detach()
        loss = y.sum()
        loss.backward()

    def under_no_grad():
        with torch.no_grad():
            loss = w.sum()
        loss.backward()

    def again():
        loss = torch.tensor((w * w).sum().item())
        return torch.autograd.grad(loss, w)

    def unknown():
        torch.ones(1).backward()
    for function, words in ((by_detach, r"Here it is `loss`. Look at line \d+, `y = \(w \* scale\).detach\(\)`.$"),
                            (under_no_grad, r"Look at line \d+, `with torch.no_grad\(\):`.$"),
                            (again, r"`loss = torch.tensor\(\(w \* w\).sum\(\).item\(\)\)`"),
                            (unknown, r"argmax or >.$")):
        with pytest.raises(RuntimeError, match=words):
            function()
