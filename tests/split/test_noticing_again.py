"""Cases that a run of planted bugs with another seed showed to be missing; see docs/mutants.md."""

import math
import warnings

import pytest

import minitorch as t
from minitorch import nn, optim
from minitorch.datasets import archives
from minitorch.testing import make_tensor


def optimizer():
    return optim.SGD([nn.Parameter(t.ones(1))], lr=0.5)


@pytest.mark.parametrize("mult", [2, 3])
def test_a_jump_to_an_epoch_is_all_steps_to_it(mult):
    steps = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 2, mult)
    for epoch in range(1, 90):
        steps.step()
        jump = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer(), 2, mult)
        jump.step(epoch)
        assert jump.get_last_lr() == pytest.approx(steps.get_last_lr(), abs=1e-12)
        assert (jump.T_i, jump.T_cur) == (steps.T_i, pytest.approx(steps.T_cur))


SCHEDULES = {"MultiStepLR": ([2],), "StepLR": (2,), "ExponentialLR": (0.9,), "ConstantLR": (), "LinearLR": (),
             "CosineAnnealingLR": (5,), "PolynomialLR": (), "LambdaLR": (lambda e: 0.9,),
             "MultiplicativeLR": (lambda e: 0.9,), "OneCycleLR": (0.1, 9), "CyclicLR": (0.1, 0.2),
             "CosineAnnealingWarmRestarts": (2,)}


@pytest.mark.parametrize("name", SCHEDULES)
def test_get_lr_is_not_for_users(name):
    made = optim.SGD([nn.Parameter(t.ones(1))], lr=0.5, momentum=0.5)
    schedule = getattr(optim.lr_scheduler, name)(made, *SCHEDULES[name])
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.step()
        schedule.step()


def test_made_integers_have_the_signs_of_their_type():
    assert make_tensor(500, dtype=t.uint8, device="cpu").max() < 10
    for dtype in (t.int8, t.int64):
        found = make_tensor(500, dtype=dtype, device="cpu")
        assert found.min() == -9 and found.max() == 9


def test_the_type_of_mixed_precision_is_the_one_that_was_asked_for():
    assert t.get_autocast_dtype("cpu") is t.bfloat16
    with t.autocast("cpu", dtype=t.float16):
        assert t.get_autocast_dtype("cpu") is t.float16
        with t.autocast("cpu", enabled=False):
            assert t.get_autocast_dtype("cpu") in (t.bfloat16, t.float16)
    assert t.get_autocast_dtype("cpu") is t.bfloat16


def test_gains():
    gains = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    assert {name: nn.init.calculate_gain(name) for name in gains} == gains


def test_output_padding_is_used_unless_a_size_is_asked_for():
    layer, x = nn.ConvTranspose2d(1, 1, 3, stride=2, output_padding=1), t.ones(1, 1, 3, 3)
    assert layer(x).shape == (1, 1, 8, 8) and layer(x, output_size=(7, 7)).shape == (1, 1, 7, 7)


def test_an_archive_may_unpack_to_just_the_most():
    archives._check_size(100, 100)
    with pytest.raises(ValueError, match="unpacks to more than"):
        archives._check_size(101, 100)
