"""The CUDA kernels of optimisers, gradient norms and scaling against the library on the CPU."""

import random

import numpy as np
import pytest

import minitorch
from minitorch import nn
from minitorch.backends.cuda.arrays import foreach as optim
from minitorch.testing.strategies import Draw
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_resources,
    close,
    device,
    launches,
    orders,
    unit,
)

SHAPES = [(3, 5), (64,), (), (130, 131), (1,), (16, 4)]    # one larger than a chunk
RULES = [(minitorch.optim.AdamW, dict(lr=0.1, weight_decay=0.1)),
         (minitorch.optim.Adam, dict(lr=0.1, amsgrad=True, weight_decay=0.1, maximize=True)),
         (minitorch.optim.SGD, dict(lr=0.1)),
         (minitorch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)),
         (minitorch.optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.5, maximize=True)),
         (minitorch.optim.RMSprop, dict(lr=0.1, weight_decay=0.1)),
         (minitorch.optim.RMSprop, dict(lr=0.1, momentum=0.9, maximize=True)),
         (minitorch.optim.RMSprop, dict(lr=0.1, momentum=0.5, centered=True)),
         (minitorch.optim.RMSprop, dict(lr=0.1, centered=True)),
         (minitorch.optim.Adagrad, dict(lr=0.1, lr_decay=0.1, weight_decay=0.1)),
         (minitorch.optim.Adadelta, dict(lr=0.5, weight_decay=0.1)),
         (minitorch.optim.NAdam, dict(lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)),
         (minitorch.optim.RAdam, dict(lr=0.1, betas=(0.9, 0.5))),
         (minitorch.optim.RAdam, dict(lr=0.1, weight_decay=0.1)),
         (minitorch.optim.Adamax, dict(lr=0.1, maximize=True)),
         (minitorch.optim.Rprop, dict(lr=0.1))]


def trained(make, options, where, dtype, shapes=SHAPES, steps=3):
    """Parameters and states after some steps with the same gradients everywhere."""
    rng = np.random.default_rng(0)
    params = [minitorch.tensor(rng.normal(size=s), dtype=dtype, device=where, requires_grad=True) for s in shapes]
    optimizer = make(params, **options)
    for _ in range(steps):
        for p in params:
            p.grad = minitorch.tensor(rng.normal(size=p.shape), dtype=dtype, device=where)
        optimizer.step()
    states = [v for p in params for k, v in optimizer.state[p].items() if k != "step"]
    return [t.detach().cpu().numpy() for t in (*params, *states)]


@pytest.mark.parametrize(("make", "options"), RULES, ids=lambda x: x.__name__ if isinstance(x, type) else "-".join(x))
def test_steps(make, options):
    wanted = trained(make, options, "cpu", minitorch.float64)
    with launches() as names:
        got = trained(make, options, device.device, minitorch.float32)
    assert names.count("optimiser_step") == 3
    for a, b in zip(got, wanted, strict=True):             # three steps of a dozen roundings, of numbers below 10
        close(a, b, unit(a.dtype) * 3 * 12 * 10)
    for order in orders():
        with order():
            again = trained(make, options, device.device, minitorch.float32)
        assert all((a == b).all() for a, b in zip(got, again, strict=True))


def test_steps_that_rest_on_enough_others():
    """RAdam's sixth step is the first that is divided by the root of the mean square."""
    make, options = minitorch.optim.RAdam, dict(lr=0.1, betas=(0.9, 0.95))
    wanted = trained(make, options, "cpu", minitorch.float64, [(5,)], 8)
    for a, b in zip(trained(make, options, device.device, minitorch.float32, [(5,)], 8), wanted, strict=True):
        close(a, b, unit(a.dtype) * 8 * 12 * 10)


def test_steps_in_other_dtypes():
    for dtype, error in ((minitorch.float64, 1e-14), (minitorch.bfloat16, 0.1)):
        make, options = RULES[0]
        wanted = trained(make, options, "cpu", minitorch.float64, steps=1)
        got = trained(make, options, device.device, dtype, steps=1)
        for a, b in zip(got, wanted, strict=True):         # bfloat16: 8 bits of gradients, parameters and results
            close(a, b, error * (1 + abs(b)))


def test_more_tensors_than_go_along_with_one_launch():
    shapes = [(k % 3 + 1,) for k in range(250)]
    with launches() as names:
        got = trained(*RULES[0], device.device, minitorch.float32, shapes, 1)
    assert names.count("optimiser_step") == 3
    for a, b in zip(got, trained(*RULES[0], "cpu", minitorch.float64, shapes, 1), strict=True):
        close(a, b, unit(a.dtype) * 120)


def gradients(where, dtype=minitorch.float32, seed=0, shapes=SHAPES):
    d, params = Draw(random.Random(seed)), []
    for shape in shapes:
        p = minitorch.zeros(shape, dtype=dtype, device=where).requires_grad_()
        p.grad = minitorch.tensor(d.array(shape), dtype=dtype, device=where)
        params.append(p)
    return params


@pytest.mark.parametrize("order", [2.0, float("inf"), 3.0])
def test_norm_of_all_gradients(order):
    wanted = nn.utils.clip_grad_norm_(ours := gradients("cpu", minitorch.float64), 1.0, order)
    with launches() as names:
        got = nn.utils.clip_grad_norm_(theirs := gradients(device.device), 1.0, order)
    assert ("measure_all" in names and "scale_all" in names) == (order != 3)
    n = sum(p.numel() for p in ours)                       # summed by 512 threads, then in a tree
    close(got.cpu().numpy(), wanted.numpy(), unit(np.dtype("f")) * (n / 512 + 30) * wanted.item())
    for a, b in zip(theirs, ours, strict=True):
        close(a.grad.cpu().numpy(), b.grad.numpy(), unit(np.dtype("f")) * (n / 512 + 40) * 2)


def test_scaler_finds_what_is_not_finite():
    for value, skipped in ((1.0, False), (float("inf"), True), (float("nan"), True)):
        params = gradients(device.device)
        params[3].grad[100, 7] = value
        optimizer = minitorch.optim.SGD(params, lr=1.0)
        scaler = minitorch.amp.GradScaler(init_scale=4.0)
        scaler.scale(minitorch.ones(()))
        before = params[0].grad.cpu()
        with launches() as names:
            scaler.step(optimizer)
        assert names[-1] == "optimiser_step" if not skipped else "scale_all" in names
        assert (params[0].grad.cpu() * 4 == before).all()
        assert bool((params[0] == 0).all()) == skipped


def test_resources():
    check_resources(optim.STEP, [], RULE=0, LISTS=5, T=DTYPES["f32"])
