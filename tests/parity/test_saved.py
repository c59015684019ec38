"""Tensors kept for the backward pass: recorded data and second derivatives are PyTorch's, and
memory is not more."""

import numpy as np
import pytest

import minitorch
from minitorch.core.arrays import owner
from tests.autograd import saved_cases
from tests.autograd.saved_cases import CASES

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")

# Second derivatives that are not comparable: the function sees one triangle, or a symmetric part, of its matrix.
TRIANGLES = ("torch.linalg.eigh(S)", "torch.linalg.eigvalsh(S)", "torch.cholesky_inverse(L)",
             "torch.cholesky_solve(B, L)")


@pytest.mark.parametrize("case", CASES)
def test_recorded_data_is_pytorch_s(case):
    found = saved_cases.recorded()[case]
    assert found == dict(writes=saved_cases.all_writes(torch, case), second=saved_cases.second(torch, case))


@pytest.mark.parametrize("case", [case for case in CASES if case not in TRIANGLES])
def test_second_derivatives_are_pytorch_s(case):
    try:
        wanted = saved_cases.second_derivatives(torch, case)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch: {error}")
    for name, value in saved_cases.second_derivatives(minitorch, case).items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-6, atol=1e-7, err_msg=name)


# ---- memory ------------------------------------------------------------------------------------------------
def mlp(nn):
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.0), nn.Linear(128, 128), nn.GELU(),
                         nn.LayerNorm(128), nn.Linear(128, 10)), (32, 64)


def cnn(nn):
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(2, 16), nn.ReLU(inplace=True),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)), (8, 3, 16, 16)


def transformer(nn):
    layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(), nn.Linear(32 * 12, 10)), (8, 12, 32)


def arithmetic(nn):
    class Standardised(nn.Module):
        def forward(self, x):
            y = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
            z = (y.exp() / y.exp().sum(1, keepdim=True)).clamp(min=0.01)
            return nn.functional.normalize(z / (1 + z), dim=1)[:, :10]
    return nn.Sequential(nn.Linear(64, 64), Standardised()), (32, 64)


def kept_by_pytorch(build):
    """The bytes of memory, each piece counted once, that a loss's graph keeps."""
    model, shape = build(torch.nn)
    kept = {}

    def pack(x):
        kept[x.untyped_storage().data_ptr()] = (x.untyped_storage().nbytes(), x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        loss = torch.nn.functional.cross_entropy(model(torch.rand(shape)), torch.zeros(shape[0], dtype=torch.long))
    assert loss.requires_grad
    return sum(size for size, _ in kept.values())


def kept_here(build):
    model, shape = build(minitorch.nn)
    loss = minitorch.nn.functional.cross_entropy(model(minitorch.rand(shape)),
                                                 minitorch.zeros(shape[0], dtype=minitorch.int64))
    kept, seen, nodes = {}, set(), [loss.node]
    while nodes:
        node = nodes.pop()
        if id(node) in seen or not node.parents:
            continue
        seen.add(id(node))
        nodes += [p for p in node.parents if p is not None]
        for value in node.saved:
            for x in value if isinstance(value, tuple) else (value,):
                if isinstance(x, np.ndarray):
                    kept[id(owner(x))] = owner(x).nbytes
    return sum(kept.values())


# GELU keeps its gate, and LayerNorm the standardised values beside its input: memory for time.
@pytest.mark.parametrize("build, factor", [(mlp, 1.25), (cnn, 1), (transformer, 1.25), (arithmetic, 1.01)])
def test_no_more_memory_is_kept_than_by_pytorch(build, factor):
    assert kept_here(build) <= factor * kept_by_pytorch(build)
