"""Programs of `compile` in C that call native kernels: images and sequences."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.backends import native
from tests.compiler.test_native import agree

if native.reason() is not None:
    pytest.skip(f"native kernels need a compiler: {native.reason()}", allow_module_level=True)

from minitorch.backends.native import eager  # noqa: E402


def test_images_go_through_native_kernels(monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(16, 16, 3, padding=1), nn.AvgPool2d(2))

    def step(x):
        return (model(x) ** 2).mean()
    found = agree(step, np.random.default_rng(0).standard_normal((4, 3, 12, 12)).astype("f"))
    for name in ("convolution", "full_batch_norm", "max_pool", "avg_pool"):
        assert f"F.{name}: its kernel is in C" in str(found.notes) and f"F.{name}(" in found.source


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_go_through_native_kernels(mode, monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 1)
    torch.manual_seed(0)
    model = getattr(nn, mode)(4, 6, 2, bidirectional=True)
    found = agree(lambda x: model(x)[0], np.random.default_rng(0).standard_normal((5, 3, 4)).astype("f"))
    assert "rnn_layer: its kernel is in C" in str(found.notes)


def test_small_images_are_lowered_as_before():
    found = agree(lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2), np.random.default_rng(0).standard_normal(
        (2, 3, 4, 4)).astype("f"))
    assert "its kernel is in C" not in str(found.notes)


@pytest.mark.parametrize("on", [False, True])
def test_native_kernels_of_eager_calls_may_be_on_or_off(on, monkeypatch):
    monkeypatch.setattr(eager.limits, "least", 1)
    model = nn.Sequential(nn.Conv1d(2, 8, 3), nn.BatchNorm1d(8), nn.GroupNorm(2, 8))
    with native.enabled(on):
        agree(lambda x: F.softmax(model(x), -1) * F.gelu(x[:, :1, 2:]), np.random.default_rng(0).standard_normal(
            (3, 2, 20)).astype("f"), rtol=2e-4)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_compiled_functions_run_with_native_kernels_on(backend):
    x = torch.randn(30, 40)
    f = torch.compile(lambda x: torch.softmax(torch.nn.functional.gelu(x), -1).sum(0),
                          backend=backend)
    for _ in range(3):
        torch.testing.assert_close(f(x), torch.softmax(torch.nn.functional.gelu(x), -1).sum(0))
