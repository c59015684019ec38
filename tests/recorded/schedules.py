"""Learning rates, and momenta, of thirty steps of each schedule."""

import math

from tests.recorded import some

PLANS = {
    "LambdaLR": [lambda L, o: L.LambdaLR(o, lambda t: 1 / (1 + t)),
                 lambda L, o: L.LambdaLR(o, [lambda t: 0.5**t, lambda t: 1 + t])],
    "MultiplicativeLR": [lambda L, o: L.MultiplicativeLR(o, lambda t: 0.9 + 0.01 * t)],
    "StepLR": [lambda L, o: L.StepLR(o, 3), lambda L, o: L.StepLR(o, 1, gamma=0.7)],
    "MultiStepLR": [lambda L, o: L.MultiStepLR(o, [2, 5, 5, 9], 0.3)],
    "ConstantLR": [lambda L, o: L.ConstantLR(o), lambda L, o: L.ConstantLR(o, 0.25, 7)],
    "LinearLR": [lambda L, o: L.LinearLR(o), lambda L, o: L.LinearLR(o, 0.25, 0.75, 8)],
    "ExponentialLR": [lambda L, o: L.ExponentialLR(o, 0.8)],
    "PolynomialLR": [lambda L, o: L.PolynomialLR(o), lambda L, o: L.PolynomialLR(o, 9, 2.5)],
    "CosineAnnealingLR": [lambda L, o: L.CosineAnnealingLR(o, 6, 0.01), lambda L, o: L.CosineAnnealingLR(o, 1)],
    "CosineAnnealingWarmRestarts": [lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
                                    lambda L, o: L.CosineAnnealingWarmRestarts(o, 4)],
    "CyclicLR": [lambda L, o: L.CyclicLR(o, 0.01, 0.2, 3), lambda L, o: L.CyclicLR(o, 0.01, 0.2, 3, 5, "triangular2"),
                 lambda L, o: L.CyclicLR(o, [0.01, 0.02], [0.2, 0.4], 4, None, "exp_range", 0.9),
                 lambda L, o: L.CyclicLR(o, 0.01, 0.2, 3, scale_fn=lambda k: 1 / k, cycle_momentum=False),
                 lambda L, o: L.CyclicLR(o, 0.01, 0.2, 2, scale_fn=lambda k: 0.9**k, scale_mode="iterations",
                                         base_momentum=0.6, max_momentum=0.8)],
    "OneCycleLR": [lambda L, o: L.OneCycleLR(o, 0.3, 31),
                   lambda L, o: L.OneCycleLR(o, [0.3, 0.6], 35, three_phase=True),
                   lambda L, o: L.OneCycleLR(o, 0.3, epochs=4, steps_per_epoch=8, pct_start=0.5,
                                             anneal_strategy="linear", div_factor=5,
                                             final_div_factor=10, base_momentum=0.7, max_momentum=0.9),
                   lambda L, o: L.OneCycleLR(o, 0.3, 32, cycle_momentum=False)],
    "SequentialLR": [lambda L, o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 9), L.ExponentialLR(o, 0.5)], [4]),
                     lambda L, o: L.SequentialLR(o, [L.LinearLR(o, 0.1, 1, 5), L.CosineAnnealingLR(o, 10),
                                                     L.ConstantLR(o, 0.5, 3)], [5, 15])],
    "ChainedScheduler": [lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 4), L.ExponentialLR(o, 0.9),
                                                          L.StepLR(o, 7)])],
}
CURVE = [1.0, 0.9, 0.8995, 0.9, 0.91, 0.7, 0.70001, 0.7, 0.72, 0.71, 0.69999, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.29, 0.3,
         0.3, 0.3, -0.1, -0.2, -0.19, -0.2001, -0.2, -0.2, -0.2, -0.2, math.nan, -0.2, -0.2]
PLATEAU = [{}, {"patience": 1}, {"patience": 0, "factor": 0.5, "cooldown": 2}, {"mode": "max", "patience": 2},
           {"patience": 1, "threshold": 0.05, "threshold_mode": "abs"}, {"patience": 1, "threshold": 0.2},
           {"mode": "max", "patience": 0, "threshold": 0.01, "threshold_mode": "abs", "factor": 0.9},
           {"patience": 0, "min_lr": [0.01, 0.3], "factor": 0.3}, {"patience": 0, "eps": 0.02, "factor": 0.5},
           {"patience": 0, "eps": 1e-3, "factor": 0.9}]


def lrs(T):
    return T.optim.lr_scheduler


def optimizer(T, kind="SGD", lr=0.1):
    options = {"momentum": 0.9} if kind == "SGD" else {}
    params = [T.nn.Parameter(some(T, 1, seed=k)) for k in range(2)]
    return getattr(T.optim, kind)([{"params": params[:1]}, {"params": params[1:], "lr": 0.4}], lr=lr, **options)


def numbers(o):
    return [[float(group["lr"]), float(group.get("momentum", group.get("betas", [0])[0]))] for group in o.param_groups]


def rates(plan, kind="SGD", tensor=False):
    def run(T):
        o = optimizer(T, kind, T.tensor(0.1, dtype=T.float64) if tensor else 0.1)
        schedule = plan(lrs(T), o)
        seen = [numbers(o)]
        for _ in range(30):
            o.step()
            schedule.step()
            seen.append(numbers(o))
        return [seen, [float(x) for x in schedule.get_last_lr()]]
    return run


def jumps(plan):
    """Given epochs instead of the next one."""
    def run(T):
        o, seen = optimizer(T), []
        schedule = plan(lrs(T), o)
        for epoch in (0, 3, 4, 7.5, 2, 20):
            o.step()
            whole = not isinstance(schedule, lrs(T).CosineAnnealingWarmRestarts)
            schedule.step(int(epoch) if whole else epoch)
            seen.append(numbers(o))
        return seen
    return run


def plateau(options):
    def run(T):
        o, seen = optimizer(T), []
        schedule = lrs(T).ReduceLROnPlateau(o, **options)
        for metric in CURVE:
            schedule.step(metric)
            seen.append([group["lr"] for group in o.param_groups])
        found = schedule.state_dict()
        return [seen, found["best"], found["num_bad_epochs"], found["cooldown_counter"], found["last_epoch"]]
    return run


def averaging(T, strategy, epochs):
    o = optimizer(T)
    schedule, seen = T.optim.swa_utils.SWALR(o, 0.01, epochs, strategy), []
    for _ in range(8):
        o.step()
        schedule.step()
        seen.append(numbers(o))
    return seen


CASES = {f"{name} {n}": rates(plan) for name, plans in PLANS.items() for n, plan in enumerate(plans)}
CASES |= {f"{name} {n} of Adam": rates(plan, "Adam") for name in ("CyclicLR", "OneCycleLR")
          for n, plan in enumerate(PLANS[name])}
CASES |= {f"{name} of a tensor": rates(plans[0], tensor=True) for name, plans in PLANS.items()}
CASES |= {f"{name} jumps": jumps(PLANS[name][0])
          for name in ("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR",
                       "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "LambdaLR")}
CASES |= {f"ReduceLROnPlateau {n}": plateau(options) for n, options in enumerate(PLATEAU)}
CASES |= {f"SWALR {strategy} {epochs}": lambda T, s=strategy, n=epochs: averaging(T, s, n)
          for strategy in ("cos", "linear") for epochs in (0, 5)}
