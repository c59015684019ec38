"""Losses of pairs by one launch for the values and one for their sum: all types, weights, shapes that broadcast."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch.core.registry import OPS
from tests.backends.cuda.kernel_checks import DTYPES, close, device, launches, put, rounding, unit

F = minitorch.nn.functional
SHAPES = [((3, 5), (3, 5)), ((7,), (1,)), ((2, 1, 4), (3, 1)), ((), ()), ((2, 0), (2, 0)), ((70, 41), (70, 41))]
ATTRS = {"mse_loss": {}, "smooth_l1_loss": dict(delta=0.7, scale=1.5), "binary_cross_entropy_with_logits": {},
         "binary_cross_entropy": {}}


def check(name, shapes, dtype, reduction, weighted, seed):
    rng = np.random.default_rng(seed)
    draw = rng.random if name == "binary_cross_entropy" else rng.standard_normal
    x, y = draw(shapes[0]), rng.random(shapes[1])
    arrays = [np.asarray(a, dtype) for a in (x, y)]
    if weighted and name.startswith("binary"):
        arrays.append(np.asarray(rng.random(shapes[0]) + 0.5, dtype))
    attrs = dict(ATTRS[name], reduction=reduction)
    with launches() as names:
        got = device.kernels[name](device, *map(put, arrays), **attrs)
    wanted = OPS[name].forward(minitorch.backends.get("cpu"), *[a.astype("f8") for a in arrays], **attrs)
    assert got.dtype == dtype and got.shape == np.shape(wanted)
    size, count = np.abs(np.nan_to_num(wanted)), max(x.size, y.size)
    close(device.to_host(got), wanted, rounding(dtype) * size + unit(dtype) * 30 * (size + (count if reduction == "sum"
                                                                                         else 1)))
    if count and len(arrays) == 2 and reduction != "none":
        assert len(names) == 2


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.sampled_from(list(ATTRS)), st.sampled_from(SHAPES), st.sampled_from(list(DTYPES)),
       st.sampled_from(["mean", "sum", "none"]), st.booleans(), st.integers(0, 2**32 - 1))
def test_losses(name, shapes, dtype, reduction, weighted, seed):
    check(name, shapes, DTYPES[dtype], reduction, weighted, seed)


@pytest.mark.parametrize("name", ATTRS)
def test_halves_are_not_rounded_before_they_are_added_up(name):
    check(name, SHAPES[-1], DTYPES["bf16"], "mean", False, 0)


def test_logarithms_are_at_least_minus_100():
    x, y = minitorch.tensor([0.0, 1.0, 1.0, 0.0]), minitorch.tensor([1.0, 0.0, 1.0, 0.0])
    found = F.binary_cross_entropy(x.to(device.device), y.to(device.device), reduction="none")
    assert found.tolist() == [100, 100, 0, 0]
    big = minitorch.tensor([1e4, -1e4], device=device.device)
    assert F.binary_cross_entropy_with_logits(big, big * 0, reduction="none").tolist() == [1e4, 0]


def test_nan_stays_and_what_is_no_probability_is_refused_where_the_host_sees_it():
    x = minitorch.tensor([0.5, float("nan")], device=device.device)
    assert F.mse_loss(x, x * 0).isnan() and F.huber_loss(x, x * 0).isnan()
    assert F.binary_cross_entropy_with_logits(x, x * 0).isnan()
    if device.machine.kind == "sim":
        for _ in range(3):                                 # the last time by a plan
            with pytest.raises(RuntimeError, match="between 0 and 1"):
                F.binary_cross_entropy(minitorch.tensor([0.5, 1.5], device=device.device), x[:1].expand(2))


def test_a_weight_of_the_positive_class_goes_to_the_reference():
    x, y, w = [minitorch.tensor(v, device=device.device) for v in ([0.5, -1.0], [1.0, 0.0], [2.0, 3.0])]
    found = F.binary_cross_entropy_with_logits(x, y, pos_weight=w)
    assert found.cpu().allclose(F.binary_cross_entropy_with_logits(x.cpu(), y.cpu(), pos_weight=w.cpu()))


def test_numbers_that_are_no_probabilities_give_nan_on_a_gpu(monkeypatch):
    monkeypatch.setattr(type(device.machine), "look", lambda *given: None)       # as there: nothing waits for values
    x = minitorch.tensor([-0.5, 1.5, float("inf"), -1e-30, 0.5], device=device.device)
    for y in (0.0, 0.3, 1.0):
        found = F.binary_cross_entropy(x, minitorch.full_like(x, y), reduction="none")
        assert found.isnan().tolist() == [True, True, True, True, False], y
