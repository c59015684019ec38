"""The state of optimisers: loading leaves the caller's alone, and old pickles get later options."""

import copy

import minitorch as torch
from minitorch import nn, optim


def test_loading_leaves_the_callers_state_alone():
    p = nn.Parameter(torch.ones(2))
    one = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = torch.ones(2)
    one.step()
    saved = one.state_dict()
    kept = copy.deepcopy(saved)
    q = nn.Parameter(torch.ones(2))
    two = torch.optim.SGD([q], lr=0.7)
    two.load_state_dict(saved)
    two.param_groups[0]["lr"] = 99.0
    two.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
    q.grad = torch.ones(2)
    two.step()
    assert saved["param_groups"] == kept["param_groups"] and list(saved["state"]) == list(kept["state"])
    assert one.param_groups[0]["lr"] == 0.1


def test_optimisers_of_old_pickles_get_later_options():
    optimizer = torch.optim.Adam([nn.Parameter(torch.ones(1))])
    state = copy.deepcopy(optimizer.__getstate__())
    for group in state["param_groups"]:
        for name in ("maximize", "foreach", "fused", "differentiable"):
            group.pop(name, None)
    old = torch.optim.Adam.__new__(torch.optim.Adam)
    old.__setstate__(state)
    group = old.param_groups[0]
    assert group["maximize"] is False and group["foreach"] is None
    group["params"][0].grad = torch.ones(1)
    old.step()


def test_N_13_an_optimizer_step_keeps_the_parameters():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight                      # tied
    before = {name: id(p) for name, p in model.named_parameters()}
    for make in (lambda p: optim.SGD(p, lr=0.1), lambda p: optim.Adam(p)):
        optimizer = make(model.parameters())
        alias = model[0].weight
        old = alias.clone()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        assert {name: id(p) for name, p in model.named_parameters()} == before and len(before) == 3
        assert alias is model[1].weight and alias.is_leaf and not torch.equal(alias, old)
        optimizer.zero_grad()
        assert alias.grad is None


def test_D_14_steps_write_in_place_and_record_nothing():
    w = torch.ones(4, requires_grad=True)
    view = w.detach()[:2]
    optimizer = optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    assert w.grad_fn is None and not torch.equal(view, torch.ones(2)) and torch.equal(view, w.detach()[:2])
    assert not hasattr(w, "exp_avg") and "exp_avg" in optimizer.state[w]
