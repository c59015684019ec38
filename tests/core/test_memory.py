"""`memory.explain` names who keeps an array alive: each test plants one holder and asks."""

import gc

import numpy as np
import pytest

import minitorch as torch
from minitorch import memory, nn
from tests.helpers.own_functions import Square


def reasons(t, kind=None):
    found = memory.explain(t).holders
    return [h.words for h in found if kind in (None, h.kind) and "`t` of reasons()" not in h.words.split(", ")[0]]


def test_a_variable():
    x = torch.ones(3)
    assert reasons(x) == ["the variable `x` of test_a_variable()"]
    y = x
    assert len(reasons(y)) == 2


def test_a_value_that_nobody_holds():
    text = str(memory.explain(torch.ones(3) * 2))
    assert text == "[3] float32, 12 bytes of memory: nothing else was found that keeps it alive"


KEPT = []


def test_a_global_container():
    global KEPT
    KEPT = [{"history": [None, torch.ones(3)]}]            # a new list: the old one is frozen
    try:
        found = reasons(KEPT[0]["history"][1])
        assert any(w.startswith("the global variable `KEPT[0]['history'][1]` of the module") for w in found), found
    finally:
        KEPT.clear()


def test_losses_in_a_list_keep_their_graphs():
    w, losses = torch.ones(3, requires_grad=True), []

    def step():
        hidden = (w * 2).exp()
        losses.append((hidden * hidden).sum())
        return reasons(hidden, "graph")

    found = step()
    assert any(words.startswith("saved by exp() (ExpBackward0) for the backward pass") and "`losses[0]`" in words
               for words in found), found
    assert any(words.startswith("saved by mul() (MulBackward0)") for words in found)
    losses[0].backward()                                   # which frees what was saved
    gc.collect()
    hidden = (w * 2).exp()
    assert len(reasons(hidden, "graph")) == 1              # its own exp() only
    del hidden


def test_anomaly_mode_gives_the_line():
    w = torch.ones(3, requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = w.exp()
    assert f"called at {__file__}:" in reasons(y, "graph")[0]


def test_parameters_and_their_gradients():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)))
    assert reasons(net[0].weight) == [
        "the variable `net[0].weight` of test_parameters_and_their_gradients(), a parameter"]
    assert any("`net[1][0].running_mean`" in words for words in reasons(net[1][0].running_mean))
    net(torch.ones(4, 2)).sum().backward()
    assert any("`net[0].bias.grad`" in words for words in reasons(net[0].bias.grad))


def test_views_and_twins():
    base = torch.zeros(1000)
    corner, twin = base[:2], base.detach()
    found = reasons(base)
    assert "a view, the variable `corner` of test_views_and_twins()" in found
    assert any("`twin`" in words for words in found)
    number = [corner]
    del base, twin
    found = memory.explain(number[0])
    assert found.nbytes == 4000 and "4,000 bytes of memory" in str(found)     # two elements keep a thousand


def test_numpy_arrays():
    x = torch.zeros(4)
    outside = x.numpy()[1:]
    found = reasons(x)
    assert any("`outside`" in words and "NumPy array that views it" in words for words in found), found
    assert isinstance(outside, np.ndarray)


def test_attributes_and_closures():
    class Trainer:
        pass

    trainer = Trainer()
    trainer.best = torch.ones(2)
    assert any("`trainer.best`" in words for words in reasons(trainer.best))

    def make():
        hidden = torch.ones(5)
        return lambda: hidden

    get = make()
    assert any("`get.__closure__[0]`" in words for words in reasons(get()))


def test_own_functions_save_too():
    x = torch.ones(3, requires_grad=True)
    h = x * 1.0
    y = Square.apply(h)
    assert any("SquareBackward" in words and "`y`" in words for words in reasons(h, "graph"))
    assert y is not None


def test_many_holders_are_cut():
    x = torch.ones(2)
    views = [x[:] for _ in range(40)]
    text = str(memory.explain(x))
    assert "more" in text and len(text.splitlines()) <= memory.MOST + 2
    assert views


@pytest.mark.parametrize("depth", [500])
def test_long_graphs_need_no_recursion(depth):
    w = torch.ones(1, requires_grad=True)
    first = y = w.exp()
    for _ in range(depth):
        y = y * 1.5
    assert any("ExpBackward0" in words and "`y`" in words for words in reasons(first, "graph"))
