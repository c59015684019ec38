"""Optimisers and schedules beside PyTorch's: the same program runs in both libraries and all numbers are compared."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as mt
from minitorch.backends.cpu.tuning import tuning

torch = pytest.importorskip("torch", reason="compares with PyTorch")

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "nesterov": True}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.5, 0.9), "eps": 0.1}, {"weight_decay": 0.1,
                                                                       "decoupled_weight_decay": True}],
    "AdamW": [{}, {"amsgrad": True, "weight_decay": 0.3}],
    "NAdam": [{}, {"momentum_decay": 0.1}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"betas": (0.9, 0.9)}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "Adamax": [{}], "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2}],
    "Adadelta": [{}, {"rho": 0.5}],
    "RMSprop": [{}, {"momentum": 0.9}, {"centered": True}, {"momentum": 0.9, "centered": True, "alpha": 0.7}],
    "Rprop": [{}, {"etas": (0.3, 1.7), "step_sizes": (1e-3, 0.05)}],
    "ASGD": [{"lr": 0.02}, {"t0": 2, "lambd": 0.1}],
    "Adafactor": [{}, {"d": 2.0, "eps": (1e-4, 1e-2), "weight_decay": 0.1}],
}
CASES = [(name, options) for name, several in OPTIONS.items() for options in several]
# Adafactor and Muon apart, weight decay means the same everywhere that it exists.
DECAYING = [name for name in OPTIONS if name != "Rprop"]


class Pair:
    """One optimiser in each library, over the same parameters. Parameters are leaves made from NumPy arrays."""

    def __init__(self, name, arrays, options, groups=None):
        self.params, self.optimizers, self.reloaded = [[], []], [], False
        for k, library in enumerate((mt, torch)):
            self.params[k] = [leaf(library, a) for a in arrays]
            given = self.params[k]
            if groups:
                given = [{"params": [self.params[k][i] for i in members], **own} for members, own in groups]
            self.optimizers.append(getattr(library.optim, name)(given, **options))

    def add(self, arrays, options):
        for k, library in enumerate((mt, torch)):
            new = [leaf(library, a) for a in arrays]
            self.params[k] += new
            self.optimizers[k].add_param_group({"params": new, **options})

    def replace(self, i, array):
        for k, library in enumerate((mt, torch)):
            self.params[k][i].data = library.from_numpy(array.copy())

    def reload(self):
        """Both optimisers continue from the other library's state dict."""
        self.reloaded = isinstance(self.optimizers[0], (mt.optim.NAdam, mt.optim.ASGD))
        first, second = (copy.deepcopy(optimizer.state_dict()) for optimizer in self.optimizers)
        self.optimizers[0].load_state_dict(convert(second, torch, mt))
        self.optimizers[1].load_state_dict(convert(first, mt, torch))

    def step(self, active, seed):
        rng = np.random.default_rng(seed)
        for i, (p, q) in enumerate(zip(*self.params)):
            p.grad = q.grad = None
            if active is None or i in active:
                g = rng.standard_normal(tuple(p.shape)).astype(p.array.dtype)
                p.grad, q.grad = mt.from_numpy(g), torch.from_numpy(g.copy())
        for optimizer in self.optimizers:
            optimizer.step()

    def check(self, tolerance=1e-10):
        if self.reloaded:                                  # see `load_state_dict` of Optimizer: of NAdam and ASGD
            tolerance = max(tolerance, 1e-6)
        for p, q in zip(*self.params):
            close(p, q, tolerance)
        ours, theirs = (optimizer.state_dict() for optimizer in self.optimizers)
        assert list(ours["state"]) == list(theirs["state"])
        for i, entries in theirs["state"].items():
            assert list(ours["state"][i]) == list(entries)
            for key, value in entries.items():
                close(ours["state"][i][key], value, tolerance)
                if not (self.reloaded and key in ("mu_product", "eta", "mu")):       # which PyTorch casts
                    assert str(ours["state"][i][key].dtype) == str(value.dtype)
        for group, other in zip(ours["param_groups"], theirs["param_groups"], strict=True):
            assert set(group) ^ set(other) <= {"differentiable"}       # which loading adds to PyTorch's defaults


def leaf(library, array):
    return library.nn.Parameter(library.from_numpy(array.copy(order="K")))


def close(a, b, tolerance):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def convert(x, source, target):
    if isinstance(x, source.Tensor):
        return target.from_numpy(np.array(x.detach().numpy()))
    if isinstance(x, dict):
        return {k: convert(v, source, target) for k, v in x.items()}
    return type(x)(convert(v, source, target) for v in x) if isinstance(x, (list, tuple)) else x


def arrays(*shapes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("name, options", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
@pytest.mark.parametrize("common", [{}, {"weight_decay": 0.1}, {"maximize": True, "weight_decay": 0.1}],
                         ids=["plain", "decay", "uphill"])
def test_trajectories(name, options, common):
    common = {k: v for k, v in common.items() if k != "weight_decay" or name in DECAYING}
    empty = [] if name == "Adafactor" else [(0,)]          # PyTorch's Adafactor divides by its size
    pair = Pair(name, arrays((4, 3), (5,), (), (2, 3, 2), *empty, (100, tuning.small_parameter // 50)),
                {**options, **common})
    for k in range(12):
        pair.step(None, k)
    pair.check()


@pytest.mark.parametrize("name", OPTIONS)
def test_large_and_odd_layouts_in_float32(name):
    rows = arrays((tuning.optimizer_block // 64 + 3, 70), (3, 5), (tuning.optimizer_block + 1,), (200, 100),
                  dtype=np.float32)
    rows[3] = np.asfortranarray(rows[3])
    pair = Pair(name, rows, {"lr": 0.01})
    for k in range(3):
        pair.step(None, k)
    pair.check(2e-5)


SHAPES = [(3,), (2, 3), (1, 1), (tuning.small_parameter + 1,)]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(CASES), st.data())
def test_whatever_happens_between_steps(case, data):
    """Steps without some gradients, groups added, data and options replaced, states exchanged, in any order."""
    name, options = case
    shapes = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4), label="shapes")
    pair = Pair(name, arrays(*shapes), options)
    for k in range(data.draw(st.integers(1, 6), label="steps")):
        what = data.draw(st.sampled_from(["nothing", "add", "replace", "reload", "lr", "clone"]), label="event")
        n = len(pair.params[0])
        if what == "add":
            pair.add(arrays(data.draw(st.sampled_from(SHAPES)), seed=k), {"lr": 0.05})
        elif what == "replace":
            i = data.draw(st.integers(0, n - 1))
            pair.replace(i, arrays(pair.params[0][i].shape, seed=k)[0])
        elif what == "reload":
            pair.reload()
        elif what == "lr":
            for optimizer in pair.optimizers:
                optimizer.param_groups[0]["lr"] = 0.3 / (k + 1)
        elif what == "clone":
            for optimizer in pair.optimizers:
                for state in optimizer.state.values():
                    state.update({key: value.clone() for key, value in state.items()})
        n = len(pair.params[0])
        pair.step(data.draw(st.sets(st.integers(0, n - 1)), label="active"), k)
    pair.check()


# Whose default eps PyTorch rounds to 0 in float16, so that it divides by 0.
NEED_EPS = [name for name in OPTIONS if name not in ("SGD", "Rprop", "ASGD", "Adafactor")]


@pytest.mark.parametrize("name", OPTIONS)
def test_16_bit(name):
    """Within the error of PyTorch, which rounds after every operation; the states have the same dtypes."""
    rows = [a / 4 + 1 for a in arrays((8, 6), (5,))]
    pair = Pair(name, [a.astype(np.float16) for a in rows], {"eps": 1e-3} if name in NEED_EPS else {})
    for k in range(2):
        pair.step(None, k)
    for p, q in zip(*pair.params):
        assert p.dtype is mt.float16
        close(p, q, 5e-3)
    for (_, ours), (_, theirs) in zip(*(optimizer.state.items() for optimizer in pair.optimizers)):
        assert {k: str(v.dtype) for k, v in ours.items()} == {k: str(v.dtype) for k, v in theirs.items()}


def test_duplicate_parameters_move_twice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in "SGD", "Adam", "NAdam":
            pair = Pair(name, arrays((3,), (2,)), {"lr": 0.1}, groups=[([0, 1, 0], {})])
            for k in range(3):
                pair.step(None, k)
            pair.check()


def test_float64_default_makes_float64_counts():
    try:
        for library in (mt, torch):
            library.set_default_dtype(library.float64)
        for name in "Adam", "NAdam", "ASGD":
            pair = Pair(name, arrays((3,)), {})
            pair.step(None, 0)
            pair.check()
    finally:
        for library in (mt, torch):
            library.set_default_dtype(library.float32)


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}, {"ns_steps": 3}])
def test_muon(options):
    """Every rounding to bfloat16 as in PyTorch; a difference in the last bit may tip one of them now and then."""
    pair = Pair("Muon", arrays((6, 4), (4, 6), (5, 5)), {"lr": 0.02, **options})
    for k in range(5):
        pair.step(None, k)
    pair.check(1e-4)


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}, {"history_size": 3, "max_iter": 30},
                                     {"lr": 0.3, "line_search_fn": "strong_wolfe", "max_eval": 7}])
def test_lbfgs(options):
    """On a function with narrow curved valleys; the state dicts are exchanged on the way."""
    pair = Pair("LBFGS", arrays((4,), (2, 2)), options)

    def closure(k, library):
        def run():
            x = np.concatenate([p.detach().numpy().reshape(-1) for p in pair.params[k]])
            a, b = x[:-1], x[1:]
            g = np.zeros_like(x)
            g[:-1] += 2 * (a - 1) - 40 * a * (b - a * a)
            g[1:] += 20 * (b - a * a)
            start = 0
            for p in pair.params[k]:
                p.grad = library.from_numpy(g[start:start + p.numel()].reshape(tuple(p.shape)).copy())
                start += p.numel()
            return library.tensor(((1 - a) ** 2 + 10 * (b - a * a) ** 2).sum())
        return run

    for n in range(3):
        losses = [float(optimizer.step(closure(k, library)))
                  for k, (optimizer, library) in enumerate(zip(pair.optimizers, (mt, torch)))]
        assert losses[0] == pytest.approx(losses[1], rel=1e-6)
        for p, q in zip(*pair.params):
            close(p, q, 1e-6)
        ours, theirs = (optimizer.state_dict()["state"][0] for optimizer in pair.optimizers)
        assert set(ours) == set(theirs) and ours["n_iter"] == theirs["n_iter"]
        assert ours["func_evals"] == theirs["func_evals"]
        if n == 0:
            pair.reload()


@pytest.mark.parametrize("name", [*OPTIONS, "Muon", "LBFGS"])
def test_text_and_defaults(name):
    pair = Pair(name, arrays((2, 2)), {})
    assert repr(pair.optimizers[0]) == repr(pair.optimizers[1])
    assert pair.optimizers[0].defaults == pair.optimizers[1].defaults
    named = [getattr(library.optim, name)([("w", leaf(library, np.ones((2, 2))))]) for library in (mt, torch)]
    assert repr(named[0]) == repr(named[1])
    groups = [optimizer.state_dict()["param_groups"] for optimizer in named]
    assert groups[0] == groups[1]


# ------------------------------------------------------------------ schedules
SCHEDULES = {
    "LambdaLR": dict(lr_lambda=lambda t: 0.9**t), "MultiplicativeLR": dict(lr_lambda=lambda t: 0.95),
    "StepLR": dict(step_size=3), "MultiStepLR": dict(milestones=[2, 2, 7]), "ConstantLR": {}, "LinearLR": {},
    "ExponentialLR": dict(gamma=0.9), "PolynomialLR": dict(power=1.5), "CosineAnnealingLR": dict(T_max=4),
    "CosineAnnealingWarmRestarts": dict(T_0=3, T_mult=2), "CyclicLR": dict(base_lr=0.01, max_lr=0.2, step_size_up=3),
    "OneCycleLR": dict(max_lr=0.3, total_steps=30, three_phase=True), "SWALR": dict(swa_lr=0.01, anneal_epochs=4),
}


def schedule(library, name, optimizer, options):
    module = library.optim.swa_utils if name == "SWALR" else library.optim.lr_scheduler
    return getattr(module, name)(optimizer, **options)


def plain(x):
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("tensor", [False, True], ids=["number", "tensor"])
def test_schedules_and_their_state_dicts(name, tensor):
    sides = []
    for library in (mt, torch):
        params = [leaf(library, np.ones(2)) for _ in range(2)]
        lr = library.tensor(0.1, dtype=library.float64) if tensor else 0.1
        optimizer = library.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.2}], lr=lr, momentum=0.9)
        sides.append((optimizer, schedule(library, name, optimizer, SCHEDULES[name])))
    for k in range(20):
        for optimizer, plan in sides:
            optimizer.step()
            plan.step()
        for key in "lr", "momentum":
            ours, theirs = ([float(group[key]) for group in optimizer.param_groups] for optimizer, _ in sides)
            assert ours == pytest.approx(theirs, abs=1e-12)
        ours, theirs = ([float(x) for x in plan.get_last_lr()] for _, plan in sides)
        assert ours == pytest.approx(theirs, abs=1e-12)
        ours, theirs = (plan.state_dict() for _, plan in sides)
        assert set(ours) == set(theirs)
        if k == 10 and not tensor:                         # go on with the other library's state
            saved = copy.deepcopy(ours)
            sides[0][1].load_state_dict(copy.deepcopy(theirs))
            sides[1][1].load_state_dict(saved)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["ConstantLR", "LinearLR", "ExponentialLR", "CosineAnnealingLR", "StepLR",
                                 "CosineAnnealingWarmRestarts", "PolynomialLR"]), min_size=1, max_size=3),
       st.lists(st.integers(1, 9), min_size=2, max_size=2, unique=True), st.booleans())
def test_composed_schedules(names, milestones, chained):
    sides = []
    for library in (mt, torch):
        optimizer = library.optim.SGD([leaf(library, np.ones(2))], lr=0.5)
        parts = [schedule(library, name, optimizer, SCHEDULES[name]) for name in names]
        module = library.optim.lr_scheduler
        whole = module.ChainedScheduler(parts) if chained else module.SequentialLR(
            optimizer, parts, sorted(milestones)[:len(parts) - 1])
        sides.append((optimizer, whole))
    for _ in range(14):
        for optimizer, plan in sides:
            optimizer.step()
            plan.step()
        ours, theirs = (plan.get_last_lr() for _, plan in sides)
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    ours, theirs = (plan.state_dict() for _, plan in sides)
    assert set(ours) == set(theirs)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.1, 2), min_size=1, max_size=25), st.sampled_from(["min", "max"]),
       st.sampled_from(["rel", "abs"]), st.integers(0, 3), st.integers(0, 3))
def test_plateau(metrics, mode, threshold_mode, patience, cooldown):
    sides = []
    for library in (mt, torch):
        optimizer = library.optim.SGD([leaf(library, np.ones(2))], lr=0.5)
        sides.append(library.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, 0.5, patience, 0.1, threshold_mode, cooldown, min_lr=0.01))
    for metric in metrics:
        for plan in sides:
            plan.step(metric)
        assert sides[0].get_last_lr() == sides[1].get_last_lr()
    assert sides[0].state_dict() == sides[1].state_dict()


# ------------------------------------------------------------------ weight averaging
@pytest.mark.parametrize("kind", ["mean", "ema", "avg_fn", "ema_avg_fn"])
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_model(kind, use_buffers):
    rng, values = np.random.default_rng(0), []
    for _ in range(4):
        values.append([rng.standard_normal(shape).astype("f") for shape in ((3, 2), (3,), (3,), (3,))])
    results = []
    for library in (mt, torch):
        swa = library.optim.swa_utils
        options = {"mean": {}, "ema": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
                   "avg_fn": {"avg_fn": swa.get_swa_avg_fn()}, "ema_avg_fn": {"avg_fn": swa.get_ema_avg_fn(0.8)}}[kind]
        model = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.BatchNorm1d(3))
        averaged = swa.AveragedModel(model, use_buffers=use_buffers, **options)
        for k, row in enumerate(values):
            for p, value in zip(model.parameters(), row):
                p.data = library.from_numpy(value.copy())
            model[1].running_mean.fill_(k)
            averaged.update_parameters(model)
        results.append({key: value.numpy() for key, value in averaged.state_dict().items()})
    assert list(results[0]) == list(results[1])
    for key, value in results[1].items():
        np.testing.assert_allclose(results[0][key], value, rtol=1e-6, atol=1e-6, err_msg=key)
