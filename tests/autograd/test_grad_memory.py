"""Gradients that `autograd.grad` returns: memory of their own, without a copy where nobody else has it."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch

counted = pytest.mark.skipif(not hasattr(sys, "getrefcount"), reason="without counts of references all are copied")


@counted
def test_a_gradient_that_was_just_made_is_not_copied(monkeypatch):
    x = torch.randn(50, 60, requires_grad=True)
    y, made = x.softmax(1), []
    kernel = y.backend.softmax_backward

    def noted(*args, **kwargs):
        found = kernel(*args, **kwargs)
        made.append(found.ctypes.data)
        return found
    monkeypatch.setattr(y.backend, "softmax_backward", noted)
    g, = torch.autograd.grad(y, x, torch.ones_like(y))
    assert made == [g.data_ptr()]


STEPS = [lambda x: x * 2, lambda x: x + x, lambda x: x.t(), lambda x: x.reshape(-1).view(x.shape), lambda x: x.exp(),
         lambda x: x.sum(0).expand(x.shape), lambda x: x.clone(), lambda x: x - x.mean(), lambda x: x.relu(),
         lambda x: torch.cat([x[:1], x[1:]])]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=5), st.booleans())
def test_gradients_share_no_memory(program, twice):
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    held = [x]
    for i in program:
        held.append(STEPS[i](held[-1]))
    seed = torch.full((3, 3), 0.5)
    wanted = [*held, *held[:1]] if twice else held
    found = torch.autograd.grad(held[-1], wanted, seed, retain_graph=True)
    before = [g.numpy().copy() for g in found]
    arrays = [g.array for g in found]
    for i, a in enumerate(arrays):
        for other in [*arrays[:i], seed.array, *[t.detach().array for t in held]]:
            assert not np.shares_memory(a, other)
        a += 1                                             # nor does the graph see it
    again = torch.autograd.grad(held[-1], wanted, seed)
    assert all(np.array_equal(g.numpy(), b) for g, b in zip(again, before)) and (seed == 0.5).all()
