"""The run doctor names planted faults, is silent about healthy runs, costs little and changes nothing."""

import threading
import warnings

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.testing import doctor
from minitorch.testing.runs.rules import FOLLOWS, ORDER, in_order
from minitorch.testing.runs.seen import Finding
from tests.helpers.own_functions import Square
from tests.testing.doctor_cases import FAULTS, HEALTHY, blobs, dropped, examine, loop, mlp


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_first(name):
    function, kind = FAULTS[name]
    found = examine(function).findings
    assert found and found[0].kind == kind, found
    assert {f.kind for f in found} <= set(ORDER)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_gets_no_alarm(name):
    patient = examine(HEALTHY[name])
    assert patient.findings == [] and "nothing wrong was found" in str(patient)


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 20 and len(HEALTHY) >= 12 and len({kind for _, kind in FAULTS.values()}) >= 20
    assert set(FOLLOWS) | set().union(*FOLLOWS.values()) <= set(ORDER)


@pytest.mark.parametrize("name, words", [("no_backward", "optimizer.step()"), ("log_of_zero", ".relu().log()"),
                                         ("root_at_zero", ".sqrt()"), ("softmax_in_the_model", "loss(net(x[at])"),
                                         ("eval_forgotten", "F.cross_entropy(net(x), t)"),
                                         ("exp_overflows", "(y * 500).exp()")])
def test_findings_have_the_line(name, words):
    where = examine(FAULTS[name][0]).findings[0].where
    assert where.startswith("doctor_cases.py:") and words in where


def test_a_line_is_found_in_a_step_that_was_not_watched():
    x, t = blobs()
    net = mlp(classes=1)

    def loss(y, t):
        shifted = y.squeeze(1) + bad["now"]
        return (shifted.log() - 1).pow(2).mean()
    bad = {"now": 1000.0}

    def spoil(i):
        bad["now"] = -1e6 if i == 18 else 1000.0           # steps 18 and 26 are watched, 19 is not
    patient = examine(lambda: loop(net, (x, t), loss, torch.optim.SGD(net.parameters(), lr=1e-6), each=spoil))
    [found] = [f for f in patient.findings if f.kind == "value not finite"]
    assert "log() gave NaN" in found.text and "shifted.log()" in found.where


def test_nothing_is_changed_and_nothing_left_behind():
    from minitorch.core import graph, layers
    from minitorch.nn.hooks import global_call_hooks
    before = layers.stack, graph.node_hooks, dict(global_call_hooks)

    def run():
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 4))
        loop(net, steps=25)
        assert not any(m._forward_pre_hooks or m._forward_hooks for m in net.modules()) or watched
        made.append((net, [p.detach().numpy().copy() for p in net.state_dict().values()], torch.randn(3).numpy()))
    made, watched = [], False
    run()
    watched = True
    examine(run)
    for a, b in zip(made[0][1], made[1][1]):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(made[0][2], made[1][2])
    assert (layers.stack, graph.node_hooks, dict(global_call_hooks)) == before
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in made[1][0].modules())


def test_an_error_in_the_loop_passes_through():
    def run():
        loop(mlp(), each=lambda i: 1 // (3 - i))
    with pytest.raises(ZeroDivisionError):
        examine(run)
    loop(mlp(), steps=2)


def test_it_warns_once_of_each_kind_and_says_what_it_returned():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        patient = doctor().examine(lambda n: FAULTS["no_backward"][0]() or n, 5)
    assert [str(w.message) for w in shown] == patient.notes and patient.result == 5


@pytest.mark.parametrize("every", [0, -1, 1.5, "2"])
def test_every_is_a_count(every):
    with pytest.raises(ValueError, match="whole number of steps"):
        doctor(every=every)


def test_every_chooses_the_steps():
    patient = examine(lambda: loop(mlp(), steps=13), every=4)
    assert [w.step for w in patient.seen.watched] == [0, 4, 8, 12]
    assert [len(w.updates) for w in patient.seen.watched] == [6] * 4


def test_what_is_seen_is_so():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    seen = []

    def run():
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(net(x), t).backward()
            before = net[4].weight.detach().numpy().copy()
            optimizer.step()
            moved = np.linalg.norm(net[4].weight.detach().numpy() - before) / np.linalg.norm(before)
            seen.append((moved, np.sqrt((net[4].weight.grad.numpy() ** 2).mean())))
    patient = examine(run, every=1)
    found = [next(u for u in w.updates if u.name == "4.weight") for w in patient.seen.watched]
    np.testing.assert_allclose([(u.ratio, u.grad) for u in found], seen, rtol=1e-5)
    assert [layer.path for layer in patient.seen.watched[0].layers] == ["0", "1", "2", "3", "4"]


def test_bfloat16_and_two_optimisers():
    torch.manual_seed(0)
    net = mlp().to(torch.bfloat16)
    x, t = blobs()
    assert examine(lambda: loop(net, (x.bfloat16(), t), steps=20)).findings == []
    net = mlp()

    def stepped():
        one = torch.optim.SGD(net[:2].parameters(), lr=0.1)
        two = torch.optim.Adam(net[2:].parameters(), lr=0.01)
        for _ in range(12):
            one.zero_grad()
            two.zero_grad()
            F.cross_entropy(net(x), t).backward()
            one.step()
            two.step()
    assert examine(stepped).findings == []


def test_order_is_from_cause_to_consequence():
    def kinds(*names):
        return [f.kind for f in in_order([Finding(n, n) for n in names])]
    assert kinds("dead units", "learning rate too high") == ["learning rate too high"]
    assert kinds("output independent of the input", "dead units") == ["dead units"]
    assert kinds("missing zero_grad", "inputs out of range") == ["inputs out of range", "missing zero_grad"]


# ------------------------------------------------------------------ what else may run inside
def scaled():
    """Loss scaling that overflows at first: steps are left out then."""
    net, (x, t) = mlp(), blobs()
    optimizer, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=2.0 ** 40)
    for _ in range(30):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(net(x), t)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def transformed():
    w, (x, t) = torch.zeros(8, 4), blobs()
    for _ in range(8):
        w = w - 0.1 * torch.func.grad(lambda w: F.cross_entropy(x @ w, t))(w)
        torch.func.vmap(torch.func.grad(lambda w, x, t: F.cross_entropy((x @ w)[None], t[None])), (None, 0, 0))(
            w, x[:4], t[:4])
    net = mlp()
    torch.func.jvp(net, (x,), (x,))


def penalised():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        points = x.clone().requires_grad_()
        loss = F.cross_entropy(net(points), t)
        slope, = torch.autograd.grad(loss, points, create_graph=True)
        (loss + slope.pow(2).sum()).backward()
        optimizer.step()


def recomputed():
    net, (x, t) = dropped(), blobs()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for reentrant in [False, True] * 6:
        optimizer.zero_grad()
        F.cross_entropy(torch.utils.checkpoint.checkpoint(net, x.requires_grad_(), use_reentrant=reentrant),
                        t).backward()
        optimizer.step()


def complex_numbers():
    w = torch.randn(4, dtype=torch.complex64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(12):
        optimizer.zero_grad()
        (w.abs() ** 2).sum().backward()
        optimizer.step()


def without_values():
    loop(mlp().to("meta"), (torch.zeros(256, 8, device="meta"), torch.zeros(256, dtype=torch.long, device="meta")),
         steps=4)


def in_threads():
    threads = [threading.Thread(target=loop, args=(mlp(),), kwargs=dict(steps=8)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loop(mlp(), steps=8)


@pytest.mark.parametrize("run", [scaled, transformed, penalised, recomputed, complex_numbers, without_values,
                                 in_threads], ids=lambda f: f.__name__)
def test_no_alarm_and_no_error_in(run):
    torch.manual_seed(0)
    assert examine(run).findings == []


def test_doctors_nest():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with doctor() as one, doctor(every=3) as other:
            loop(mlp(), steps=12)
    assert one.seen.steps == other.seen.steps == 12 and not one.findings and not other.findings


def test_functions_of_the_users_own_are_named():
    found = examine(lambda: loop(mlp(), loss=lambda y, t: F.cross_entropy(Square.apply(y * 1e30) * y, t), steps=3))
    assert "Square() gave inf" in found.findings[0].text
