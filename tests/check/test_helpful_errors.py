"""Errors that the checks of lessons pass on."""

import minitorch as torch
from minitorch.check import nb15


def test_a_grad_that_is_none_is_explained_by_checks():
    def forgets_backward(parameters, lr):
        with torch.no_grad():
            for p in parameters:
                p -= lr * torch.zeros(2, requires_grad=True).grad.abs()
    assert "a .grad is None until backward() has run" in str(nb15.sgd_step(forgets_backward))
