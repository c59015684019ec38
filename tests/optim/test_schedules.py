"""Learning-rate schedules: closed forms, state dicts, warnings and errors. Sequences: parity/test_optim.py."""

import copy
import warnings

import pytest

import minitorch as mt
from minitorch import nn, optim
from minitorch.optim import lr_scheduler as lrs
from minitorch.optim.swa_utils import SWALR


def optimizer(lr=0.1, groups=1, kind="SGD", **options):
    if kind == "SGD":
        options.setdefault("momentum", 0.9)
    groups = [{"params": [mt.nn.Parameter(mt.zeros(1))]} for _ in range(groups)]
    return getattr(optim, kind)(groups, lr=lr, **options)


def run(opt, schedule, n, *metrics):
    seen = [schedule.get_last_lr()]
    for k in range(n):
        opt.step()
        schedule.step(*(metrics[k:k + 1]))
        seen.append(schedule.get_last_lr())
    return seen


CLOSED = {"StepLR": dict(step_size=3), "MultiStepLR": dict(milestones=[2, 5, 5, 9]), "ConstantLR": dict(),
          "LinearLR": dict(start_factor=0.25, total_iters=6), "ExponentialLR": dict(gamma=0.7),
          "PolynomialLR": dict(total_iters=7, power=2.0), "CosineAnnealingLR": dict(T_max=6, eta_min=0.01)}
OTHERS = {"LambdaLR": dict(lr_lambda=lambda t: 1 / (1 + t)), "MultiplicativeLR": dict(lr_lambda=lambda t: 0.9),
          "CosineAnnealingWarmRestarts": dict(T_0=3, T_mult=2),
          "CyclicLR": dict(base_lr=0.01, max_lr=0.1, step_size_up=3, mode="exp_range", gamma=0.9),
          "OneCycleLR": dict(max_lr=0.1, total_steps=12)}


@pytest.mark.parametrize("name", CLOSED)
def test_recursion_equals_closed_form(name):
    one, two = optimizer(groups=2), optimizer(groups=2)
    chained, closed = getattr(lrs, name)(one, **CLOSED[name]), getattr(lrs, name)(two, **CLOSED[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epoch in range(1, 14):
            chained.step()
            closed.step(epoch)
            assert chained.get_last_lr() == pytest.approx(closed.get_last_lr(), abs=1e-12)


@pytest.mark.parametrize("name", [*CLOSED, *OTHERS])
def test_resuming(name):
    make = getattr(lrs, name)
    options = {**CLOSED, **OTHERS}[name]
    one = optimizer()
    schedule = make(one, **options)
    run(one, schedule, 5)
    two = optimizer()
    again = make(two, **options)
    two.load_state_dict(one.state_dict())
    again.load_state_dict(copy.deepcopy(schedule.state_dict()))
    assert run(one, schedule, 6) == run(two, again, 6)
    assert one.param_groups[0]["momentum"] == two.param_groups[0]["momentum"]
    assert "optimizer" not in schedule.state_dict()


def test_resuming_needs_initial_lr():
    with pytest.raises(KeyError, match="initial_lr"):
        lrs.StepLR(optimizer(), 3, last_epoch=4)
    opt = optimizer()
    opt.param_groups[0]["initial_lr"] = 0.1
    assert lrs.StepLR(opt, 3, last_epoch=4).last_epoch == 5


class Halves:
    """A callable object whose state belongs into the state dict."""

    def __init__(self):
        self.calls = 0

    def __call__(self, epoch):
        self.calls += 1
        return 0.5**epoch


def test_callable_objects_are_saved():
    one, two = optimizer(), optimizer()
    schedule = lrs.LambdaLR(one, Halves())
    run(one, schedule, 3)
    saved = schedule.state_dict()
    assert saved["lr_lambdas"] == [{"calls": 4}]
    again = lrs.LambdaLR(two, Halves())
    again.load_state_dict(saved)
    assert again.lr_lambdas[0].calls == 4 and "lr_lambdas" in saved
    assert lrs.LambdaLR(optimizer(), lambda t: 1).state_dict()["lr_lambdas"] == [None]
    cyclic = lrs.CyclicLR(optimizer(), 0.1, 0.2, scale_fn=Halves(), scale_mode="iterations")
    assert cyclic.state_dict()["_scale_fn_custom"]["calls"] == 1


def test_sequential_and_chained():
    opt = optimizer(lr=1.0)
    schedule = lrs.SequentialLR(opt, [lrs.ConstantLR(opt, 0.1, 3), lrs.ExponentialLR(opt, 0.5)], [2])
    assert [lr for lr, in run(opt, schedule, 4)] == pytest.approx([0.1, 0.1, 1.0, 0.5, 0.25])
    opt = optimizer(lr=1.0)
    schedule = lrs.ChainedScheduler([lrs.ConstantLR(opt, 0.1, 2), lrs.ExponentialLR(opt, 0.5)])
    assert [lr for lr, in run(opt, schedule, 3)] == pytest.approx([0.1, 0.05, 0.25, 0.125])


def test_plateau():
    opt = optimizer(lr=1.0, groups=2)
    schedule = lrs.ReduceLROnPlateau(opt, "max", factor=0.5, patience=0, cooldown=1, min_lr=[0.0, 0.6])
    seen = run(opt, schedule, 5, 1.0, 1.0, 1.0, 1.0, 2.0)
    assert seen == [[1.0, 1.0], [1.0, 1.0], [0.5, 0.6], [0.5, 0.6], [0.25, 0.6], [0.25, 0.6]]
    opt.add_param_group({"params": [mt.nn.Parameter(mt.zeros(1))]})
    with pytest.raises(RuntimeError, match="min_lrs"):
        schedule.step(0.0)


def test_momentum_cycles_with_betas():
    opt = optimizer(kind="Adam")
    schedule = lrs.OneCycleLR(opt, max_lr=0.1, total_steps=10)
    assert opt.param_groups[0]["betas"] == (0.95, 0.999)
    run(opt, schedule, 2)
    assert opt.param_groups[0]["betas"][0] == pytest.approx(0.85)
    with pytest.raises(ValueError, match="momentum or beta1"):
        lrs.OneCycleLR(optimizer(kind="Adagrad"), max_lr=0.1, total_steps=10)


def test_swalr():
    opt = optimizer(lr=1.0)
    schedule = SWALR(opt, 0.5, anneal_epochs=4, anneal_strategy="linear")
    assert [lr for lr, in run(opt, schedule, 5)] == pytest.approx([1.0, 0.875, 0.75, 0.625, 0.5, 0.5])


@pytest.mark.parametrize("make, error, message", [
    (lambda opt: lrs.StepLR("no optimizer", 3), TypeError, "is not an Optimizer"),
    (lambda opt: lrs.LambdaLR(opt, [len, len]), ValueError, "Expected 1 lr_lambdas, but got 2"),
    (lambda opt: lrs.MultiplicativeLR(opt, 0.5), TypeError, "should be a function"),
    (lambda opt: lrs.ConstantLR(opt, 1.5), ValueError, "between 0 and 1"),
    (lambda opt: lrs.LinearLR(opt, 0), ValueError, "greater than 0"),
    (lambda opt: lrs.LinearLR(opt, end_factor=2), ValueError, "between 0 and 1"),
    (lambda opt: lrs.CosineAnnealingWarmRestarts(opt, 0), ValueError, "positive integer T_0"),
    (lambda opt: lrs.CosineAnnealingWarmRestarts(opt, 3, 1.5), ValueError, "T_mult >= 1"),
    (lambda opt: lrs.CosineAnnealingWarmRestarts(opt, 3).step(-1), ValueError, "non-negative epoch"),
    (lambda opt: lrs.CyclicLR(opt, 0.1, 0.2, mode="square"), ValueError, "mode is invalid"),
    (lambda opt: lrs.CyclicLR(opt, [0.1, 0.1], 0.2), ValueError, "must have the same length"),
    (lambda opt: lrs.OneCycleLR(opt, 0.1), ValueError, "total_steps OR"),
    (lambda opt: lrs.OneCycleLR(opt, 0.1, total_steps=0), ValueError, "positive integer total_steps"),
    (lambda opt: lrs.OneCycleLR(opt, 0.1, total_steps=5, pct_start=2.0), ValueError, "pct_start"),
    (lambda opt: lrs.OneCycleLR(opt, 0.1, total_steps=5, anneal_strategy="x"), ValueError, "'cos' or 'linear'"),
    (lambda opt: lrs.ReduceLROnPlateau(opt, factor=1.0), ValueError, "Factor should be < 1.0"),
    (lambda opt: lrs.ReduceLROnPlateau(opt, "best"), ValueError, "mode best is unknown"),
    (lambda opt: lrs.ReduceLROnPlateau(opt, min_lr=[0, 0]), ValueError, "expected 1 min_lrs"),
    (lambda opt: lrs.SequentialLR(opt, [], []), ValueError, "at least one scheduler"),
    (lambda opt: lrs.SequentialLR(opt, [lrs.StepLR(opt, 1)], [3]), ValueError, "number of schedulers"),
    (lambda opt: lrs.SequentialLR(opt, [lrs.StepLR(optimizer(), 1)], []), ValueError, "same optimizer"),
    (lambda opt: lrs.ChainedScheduler([lrs.ReduceLROnPlateau(opt)]), ValueError, "ReduceLROnPlateau"),
    (lambda opt: lrs.ChainedScheduler([3]), TypeError, "should have `optimizer`"),
    (lambda opt: SWALR(opt, 0.1, anneal_strategy="x"), ValueError, "'cos' or 'linear'"),
    (lambda opt: SWALR(opt, 0.1, anneal_epochs=-1), ValueError, "equal or greater than 0"),
])
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make(optimizer())


def test_one_cycle_ends():
    opt = optimizer()
    schedule = lrs.OneCycleLR(opt, 0.1, total_steps=3)
    run(opt, schedule, 3)
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        schedule.step()


# ------------------------------------------------------------------ warnings
def test_the_usual_order_does_not_warn():
    opt = optimizer()
    schedule = lrs.StepLR(opt, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(opt, schedule, 3)


def test_order_of_steps():
    opt = optimizer()
    opt.step()                                             # does not count: it was before the schedule began
    schedule = lrs.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()


def test_overridden_step():
    opt = optimizer()
    schedule = lrs.StepLR(opt, 1)
    opt.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()


def test_epoch_argument_and_direct_get_lr():
    opt = optimizer()
    schedule = lrs.StepLR(opt, 1)
    opt.step()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(3)
    assert schedule.get_last_lr() == pytest.approx([0.1**4])
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()


def test_cyclic_rates_do_not_decay_unless_asked():
    optimizer = mt.optim.SGD([nn.Parameter(mt.ones(1))], lr=0.1, momentum=0.9)
    schedule = mt.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, 2, mode="exp_range")
    seen = []
    for _ in range(8):
        optimizer.step()
        schedule.step()
        seen.append(round(schedule.get_last_lr()[0], 6))
    assert seen == [0.15, 0.2, 0.15, 0.1] * 2


def plain_optimizer():
    return optim.SGD([nn.Parameter(mt.ones(1))], lr=0.5)


@pytest.mark.parametrize("mult", [2, 3])
def test_a_jump_to_an_epoch_is_all_steps_to_it(mult):
    steps = optim.lr_scheduler.CosineAnnealingWarmRestarts(plain_optimizer(), 2, mult)
    for epoch in range(1, 90):
        steps.step()
        jump = optim.lr_scheduler.CosineAnnealingWarmRestarts(plain_optimizer(), 2, mult)
        jump.step(epoch)
        assert jump.get_last_lr() == pytest.approx(steps.get_last_lr(), abs=1e-12)
        assert (jump.T_i, jump.T_cur) == (steps.T_i, pytest.approx(steps.T_cur))


SCHEDULES = {"MultiStepLR": ([2],), "StepLR": (2,), "ExponentialLR": (0.9,), "ConstantLR": (), "LinearLR": (),
             "CosineAnnealingLR": (5,), "PolynomialLR": (), "LambdaLR": (lambda e: 0.9,),
             "MultiplicativeLR": (lambda e: 0.9,), "OneCycleLR": (0.1, 9), "CyclicLR": (0.1, 0.2),
             "CosineAnnealingWarmRestarts": (2,)}


@pytest.mark.parametrize("name", SCHEDULES)
def test_get_lr_is_not_for_users(name):
    made = optim.SGD([nn.Parameter(mt.ones(1))], lr=0.5, momentum=0.5)
    schedule = getattr(optim.lr_scheduler, name)(made, *SCHEDULES[name])
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.step()
        schedule.step()
