"""The first steps of each optimiser, with all its options: parameters and state after steps 1, 2 and 5."""

from tests.recorded import some

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "nesterov": True},
            {"lr": 0.5, "momentum": 0.5, "weight_decay": 0.2, "maximize": True}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.5, 0.9), "eps": 0.1}, {"eps": 1e-2, "lr": 0.3},
             {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"lr": 0.1, "betas": (0.0, 0.5)}],
    "AdamW": [{}, {"amsgrad": True, "weight_decay": 0.3, "lr": 0.1}, {"lr": 0.05, "weight_decay": 0.5, "eps": 0.1}],
    "NAdam": [{}, {"momentum_decay": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.2, "lr": 0.1}],
    "RAdam": [{}, {"betas": (0.9, 0.9)}, {"betas": (0.5, 0.5), "lr": 0.1, "eps": 0.1},
              {"decoupled_weight_decay": True, "weight_decay": 0.2, "lr": 0.1}],
    "Adamax": [{}, {"betas": (0.5, 0.6), "eps": 0.1, "lr": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2, "lr": 0.2}, {"eps": 0.1, "lr": 0.2}],
    "Adadelta": [{}, {"rho": 0.5, "eps": 0.01, "lr": 0.5}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True}, {"momentum": 0.9, "centered": True, "alpha": 0.7},
                {"eps": 0.1, "lr": 0.1}],
    "Rprop": [{}, {"etas": (0.3, 1.7), "step_sizes": (1e-3, 0.05)}, {"lr": 0.1, "step_sizes": (0.05, 0.12)}],
    "ASGD": [{"lr": 0.02}, {"t0": 2, "lambd": 0.1, "lr": 0.1}, {"t0": 1, "alpha": 0.5, "lr": 0.2}],
    "Adafactor": [{}, {"d": 2.0, "eps": (1e-4, 1e-2), "weight_decay": 0.1}, {"beta2_decay": -0.3, "lr": 0.3},
                  {"d": 0.1, "eps": (0.5, 0.5), "lr": 0.2}],
    "Muon": [{}, {"momentum": 0.5, "nesterov": False, "lr": 0.1}, {"weight_decay": 0.3, "ns_steps": 2, "lr": 0.2},
             {"adjust_lr_fn": "match_rms_adamw", "lr": 0.1}, {"eps": 1.0, "ns_coefficients": (2.0, -1.5, 0.5)}],
}
COMMON = [{}, {"weight_decay": 0.1}, {"maximize": True}]
SHAPES = {"Muon": [(2, 3), (4, 2)], "Adafactor": [(2, 3), (3,), ()]}


def parameters(T, shapes, dtype="float64"):
    return [T.nn.Parameter(some(T, *shape, seed=k, dtype=dtype)) for k, shape in enumerate(shapes)]


def step(T, optimizer, params, k, without=()):
    for i, p in enumerate(params):
        p.grad = None if i in without else some(T, *p.shape, seed=100 * k + i).to(p.dtype)
    optimizer.step()


def state(optimizer):
    """Numbers of the state, by parameter; the names too."""
    return {i: {key: value for key, value in entries.items() if value is not None}
            for i, entries in optimizer.state_dict()["state"].items()}


def trajectory(name, options):
    def run(T):
        params = parameters(T, SHAPES.get(name, [(2, 2), (3,), ()]))
        optimizer, seen = getattr(T.optim, name)(params, **options), []
        for k in range(1, 6):
            step(T, optimizer, params, k)
            if k in (1, 2, 5):
                seen.append([p.detach().clone() for p in params])
        return [seen, state(optimizer)]
    return run


def low_precision(name):
    def run(T):
        params = parameters(T, SHAPES.get(name, [(2, 2), (3,)]), "float32")
        optimizer = getattr(T.optim, name)(params, lr=0.1)
        for k in range(1, 4):
            step(T, optimizer, params, k)
        return [params, state(optimizer)]
    return run


def pauses(name):
    """Parameters without a gradient in some steps, a changed learning rate, a group that comes later."""
    def run(T):
        params = parameters(T, SHAPES.get(name, [(2,), (3,)])[:2])
        optimizer = getattr(T.optim, name)(params, lr=0.1)
        step(T, optimizer, params, 1, without=[1])
        optimizer.param_groups[0]["lr"] = 0.01
        step(T, optimizer, params, 2)
        params.append(T.nn.Parameter(some(T, 2, 2, seed=9)))
        optimizer.add_param_group({"params": params[2:], "lr": 0.5})
        step(T, optimizer, params, 3, without=[0])
        step(T, optimizer, params, 4)
        return [params, state(optimizer)]
    return run


def handed_over(first, second):
    """One optimiser continues from the state of another class."""
    def run(T):
        params = parameters(T, [(2, 2), (3,)])
        one = getattr(T.optim, first)(params, lr=0.1, weight_decay=0.2)
        step(T, one, params, 1)
        saved = one.state_dict()
        two = getattr(T.optim, second)(params, lr=0.3)
        two.load_state_dict(saved)
        step(T, two, params, 2)
        group = {key: value for key, value in two.param_groups[0].items() if key not in ("params", "differentiable")}
        return [params, {key: group[key] for key in sorted(group)}]
    return run


def lbfgs(**options):
    """On Rosenbrock's function of four numbers."""
    def run(T):
        p = T.nn.Parameter(T.tensor([-1.2, 1.0, -0.5, 0.8], dtype=T.float64))
        optimizer, losses, scales = T.optim.LBFGS([p], **options), [], []

        def closure():
            optimizer.zero_grad()
            a, b = p[:-1], p[1:]
            loss = ((1 - a) ** 2 + 10 * (b - a * a) ** 2).sum()
            loss.backward()
            return loss
        for _ in range(3):
            losses.append(optimizer.step(closure).item())
            found = optimizer.state_dict()["state"][0]
            scales.append(float(found["H_diag"]))
        return [losses, p, found["n_iter"], found["func_evals"], len(found["old_dirs"] or []), scales]
    return run


CASES = {}
for name, several in OPTIONS.items():
    for n, options in enumerate(several):
        for m, common in enumerate(COMMON):
            if n == 0 or m == 0:
                if not (name in ("Rprop",) and "weight_decay" in common or name == "Muon" and "maximize" in common):
                    CASES[f"{name} {n}.{m}"] = trajectory(name, {**options, **common})
    CASES[f"{name} float32"] = low_precision(name)
    CASES[f"{name} pauses"] = pauses(name)
for pair in (("Adam", "AdamW"), ("AdamW", "Adam"), ("Adam", "Adam"), ("SGD", "SGD"), ("NAdam", "NAdam")):
    CASES["state of {} for {}".format(*pair)] = handed_over(*pair)
for n, options in enumerate([{}, {"lr": 0.5, "max_iter": 5}, {"line_search_fn": "strong_wolfe", "max_iter": 6},
                             {"history_size": 2, "max_iter": 8, "lr": 0.1}, {"max_iter": 9, "max_eval": 4, "lr": 0.01},
                             {"tolerance_grad": 3.0, "lr": 0.1}, {"tolerance_change": 0.05, "lr": 0.1},
                             {"line_search_fn": "strong_wolfe", "max_eval": 7}, {"max_iter": 1}]):
    CASES[f"LBFGS {n}"] = lbfgs(**options)
