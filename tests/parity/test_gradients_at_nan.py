"""Gradients at NaN: PyTorch in the cases of autograd/test_gradients_at_nan.py, but for those that differ by place."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.autograd import test_gradients_at_nan as ours  # noqa: E402

BY_PLACE = ("relu6", "hardshrink", "elu", "hardswish")      # PyTorch's vectors and the rest of them differ


@pytest.mark.parametrize("case", [case for case in ours.CASES if case[0] not in BY_PLACE], ids=lambda case: case[0])
def test_pytorch_agrees(case, monkeypatch):
    monkeypatch.setattr(ours, "torch", torch)
    monkeypatch.setattr(ours, "F", torch.nn.functional)
    _, function, expected = case
    found = ours.gradient(function if case[0] not in ("relu", "threshold") else lambda x: getattr(
        torch.nn.functional, case[0])(x, *((0, 5) if case[0] == "threshold" else ())))
    np.testing.assert_allclose(found, np.broadcast_to(np.array(expected, "float32"), found.shape), rtol=1e-6)
