"""Writes through ``x.data``: the memory is shared, the count of writes is not."""

import numpy as np
import pytest

import minitorch as torch
from minitorch.core.arrays import counted, owner

MADE = {
    "plain": lambda: torch.ones(3, 4), "transposed": lambda: torch.ones(4, 3).t(),
    "steps": lambda: torch.ones(6, 8)[1::2, ::2], "bfloat16": lambda: torch.ones(3, 4, dtype=torch.bfloat16),
    "number": lambda: torch.tensor(1.0), "complex": lambda: torch.ones(3, 4, dtype=torch.complex64),
    "channels last": lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "from NumPy": lambda: torch.from_numpy(np.ones((3, 4), order="F")), "twice": lambda: torch.ones(3, 4).data.data}


@pytest.mark.parametrize("name", MADE)
def test_data_is_the_same_memory_with_its_own_count(name):
    x = MADE[name]().requires_grad_()
    before, d = x._version, x.data
    assert (d.stride(), d.dtype, d.data_ptr(), d.storage_offset()) == (
        x.stride(), x.dtype, x.data_ptr(), x.storage_offset()) and d.is_leaf and not d.requires_grad
    assert d.untyped_storage() == x.untyped_storage() and owner(d.array) is owner(x.array)
    d.add_(1)
    d[...].mul_(2)
    d.as_strided((1,), (1,), d.storage_offset()).mul_(2)
    assert (x._version, d._version, d.detach()._version) == (before, 3, 3)
    assert x.detach().flatten()[0].item() == 8 and x.detach().flatten()[-1].item() in (4, 8)
    x.data = x.data                                        # its own memory again, under its own count
    assert counted(x.array) is not counted(x.data.array)
    with torch.no_grad():
        x.zero_()
    assert x._version == before + 1 and (d == 0).all()


def test_a_value_in_data_itself_is_guarded():
    d, w = torch.ones(3, requires_grad=True).data, torch.ones(3, requires_grad=True)
    y = (d * w).sum()
    d.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_solver_fills_a_buffer_behind_the_graph():
    class Assign(torch.autograd.Function):                 # as ODE solvers keep their stages
        @staticmethod
        def forward(ctx, buffer, value, index):
            ctx.index = index
            buffer.data[index] = value
            return buffer

        @staticmethod
        def backward(ctx, g):
            return g, g[ctx.index], None

    x = torch.ones(2, requires_grad=True)
    stages, total = torch.empty(2, 3), 0.0
    for n in range(3):
        stages = Assign.apply(stages, x * (n + 1), (..., n))
        total = total + (stages[..., :n + 1] * torch.arange(1.0, n + 2)).sum()
    total.backward()
    assert x.grad.tolist() == [20.0, 20.0]                 # 1 + (1 + 4) + (1 + 4 + 9)
