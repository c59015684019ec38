"""How tests compare a compiled function with the function itself."""

import numpy as np

import minitorch as torch


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-5, atol=1e-6)


def eagerly(f):
    return any("eagerly" in note for note in f.notes)


def agrees(f, *calls, kept=True):
    """Compiled and eager runs of `f` agree, with gradients; `kept`: and there is a program for it."""
    compiled = torch.compile(f)
    for make in calls:
        x, y = make(), make()
        a, b = f(*x), compiled(*y)
        same(a, b)
        if a.requires_grad:
            a.sum().backward(), b.sum().backward()
        for u, v in zip(x, y):
            same(u, v)
            assert (u.grad is None) is (v.grad is None) and u._version == v._version
            if u.grad is not None:
                same(u.grad, v.grad)
    assert eagerly(compiled) is not kept, compiled.notes
    return compiled
