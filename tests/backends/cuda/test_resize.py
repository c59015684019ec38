"""The CUDA kernel of interpolation against the op's reference."""

import random

import numpy as np
import pytest
from hypothesis import given, settings

import minitorch
import minitorch.nn.functional as F
from minitorch.backends.cuda.ops import resize
from minitorch.ops.nn.resize import Taps
from minitorch.testing.strategies import Draw, draws
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    cast,
    check_resources,
    close,
    device,
    reference,
    rounding,
    run,
    same_in_every_order,
    unit,
)

FILTERS = ["linear", "cubic", "smooth linear"]


def check(d, dtype, size):
    taps = tuple(d.choice([None, Taps("mean", n, d.int(1, n)),
                           Taps(d.choice(FILTERS), n, d.int(1, 2 * n), None, d.bool())]) for n in size)
    out = tuple(n if t is None else t.out for n, t in zip(size, taps))
    for name, shape in (("interpolate", size), ("interpolate_backward", out)):
        x = cast(d.array((2, *shape)), dtype)
        wanted = reference(name, [x], dict(taps=taps))[0]
        got, launched = run(name, [x], dict(taps=taps))
        assert launched.count("resample") == sum(t is not None for t in taps)
        terms = 4 * max(*size, *out)                       # of a sum; weights are at most 2, and values
        close(got[0], wanted, unit(dtype) * 4 * len(size) * terms + rounding(dtype) * abs(wanted))
        same_in_every_order(lambda name=name, x=x: run(name, [x], dict(taps=taps))[0], got)


@settings(max_examples=20, deadline=None)
@given(draws())
def test_maps_of_any_kind(d):
    check(d, DTYPES["f32"], d.choice([(7,), (5, 6), (3, 4, 5)]))


@pytest.mark.parametrize("dtype", ["f16"])
def test_halves_are_rounded_once(dtype):
    for seed in range(3):
        check(Draw(random.Random(seed)), DTYPES[dtype], (5, 6))


def test_through_autograd():
    x = np.random.default_rng(0).normal(size=(2, 3, 6, 7))
    found = []
    for where in ("cpu", device.device):
        t = minitorch.tensor(x, dtype=minitorch.float32, device=where, requires_grad=True)
        (F.interpolate(t, scale_factor=2, mode="bilinear").square().sum()
         + F.interpolate(t, size=(4, 3), mode="bicubic").square().sum()
         + F.adaptive_avg_pool2d(t, (4, 5)).square().sum()).backward()
        found.append(t.grad.cpu())
    assert (found[0] - found[1]).abs().max() < 2.0**-24 * 2000


def test_resources():
    check_resources(resize.RESAMPLE, [DTYPES["f32"]] * 3)
