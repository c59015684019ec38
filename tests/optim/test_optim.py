"""Optimisers: what holds without a second library beside them. Trajectories are compared in parity/test_optim.py."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as mt
from minitorch import nn, optim
from minitorch.backends.cpu.tuning import tuning
from minitorch.optim.flat import Elementwise
from minitorch.optim.optimizer import required

BLOCK, SMALL = tuning.optimizer_block, tuning.small_parameter
OPTIONS = {"SGD": {"lr": 0.1, "momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}}
OTHERS = ("Optimizer", "LBFGS", "SparseAdam")              # no step of their own; needs a closure; sparse gradients


def options_by_name(base):
    """Each optimiser that is a `base`, those that are not written yet too, and what it is made with here."""
    found = [name for name in optim.__all__ if isinstance(getattr(optim, name), type) and name not in OTHERS]
    return {name: OPTIONS.get(name, {}) for name in found if issubclass(getattr(optim, name), base)}


ELEMENTWISE, ALL = options_by_name(Elementwise), options_by_name(optim.Optimizer)
each = pytest.mark.parametrize("name", ALL)
each_elementwise = pytest.mark.parametrize("name", ELEMENTWISE)


def parameter(*shape, seed=0, dtype=np.float32):
    array = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return mt.nn.Parameter(mt.from_numpy(array))


def set_grads(params, seed=0):
    rng = np.random.default_rng(seed)
    for p in params:
        p.grad = mt.from_numpy(rng.standard_normal(p.shape).astype(p.array.dtype))


def make(name, params, **options):
    return getattr(optim, name)(params, **{**ALL[name], **options})


def steps(optimizer, n, seed=0):
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for k in range(n):
        set_grads(params, seed + k)
        optimizer.step()
    return [p.array.copy() for p in params]


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


# ------------------------------------------------------------------ memory
@each
def test_step_writes_in_place_and_leaves_gradients_alone(name):
    p = parameter(4, 3)
    view, array = p.detach(), p.array
    optimizer = make(name, [p])
    set_grads([p])
    grad, before, version = p.grad.array.copy(), p.array.copy(), p._version
    optimizer.step()
    assert p.array is array and p._version > version
    assert np.array_equal(p.grad.array, grad)
    assert not np.array_equal(view.array, before) and np.array_equal(view.array, p.array)


def test_a_graph_that_saved_the_old_values_refuses_to_run():
    p = parameter(3)
    loss = (p * p).sum()
    optimizer = optim.SGD([p], lr=0.1)
    set_grads([p])
    optimizer.step()
    with pytest.raises(RuntimeError, match="SGD.step"):
        loss.backward()


@each
@pytest.mark.parametrize("zero", [True, False])
def test_parameters_without_gradient_stay(name, zero):
    p, q = parameter(2, 3), parameter(2, 3, seed=1)
    optimizer = make(name, [p, q])
    before = q.array.copy()
    for _ in range(3):
        set_grads([p])
        optimizer.step()
    assert np.array_equal(q.array, before)
    if name != "Adagrad":                                  # whose state exists from the start
        assert q not in optimizer.state


@each_elementwise
def test_layout_makes_no_difference(name):
    """The same numbers as one large parameter, in small chunks, transposed and in other company."""
    n = BLOCK + SMALL + 17
    whole = parameter(n)
    large = make(name, [whole])
    cuts = [0, 5, 5, 300, SMALL, SMALL + 1, 2 * SMALL + 2, n]
    parts = [mt.nn.Parameter(mt.from_numpy(whole.array[a:b].copy())) for a, b in zip(cuts, cuts[1:])]
    small = make(name, parts)
    flipped = mt.nn.Parameter(mt.from_numpy(whole.array[:6000].copy().reshape(60, 100).T))
    assert not flipped.is_contiguous()
    other = make(name, [flipped])
    for k in range(3):
        set_grads([whole], k)
        for p, a, b in zip(parts, cuts, cuts[1:]):
            p.grad = mt.from_numpy(whole.grad.array[a:b].copy())
        flipped.grad = mt.from_numpy(whole.grad.array[:6000].reshape(60, 100).T)
        for optimizer in (large, small, other):
            optimizer.step()
    assert np.array_equal(whole.array, np.concatenate([p.array for p in parts]))
    assert np.array_equal(whole.array[:6000], flipped.array.T.reshape(-1))


@each_elementwise
def test_small_states_share_memory(name):
    params = [parameter(3, 2), parameter(5, seed=1), parameter(SMALL + 1, seed=2)]
    optimizer = make(name, params)
    steps(optimizer, 2)
    for slot in optimizer.slots(optimizer.param_groups[0]):
        a, b, c = (optimizer.state[p][slot] for p in params)
        assert a.shape == params[0].shape and a.dtype == params[0].dtype
        assert a.array.base is b.array.base and c.array.base is not a.array.base


@each_elementwise
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(name, dtype):
    """16-bit parameters are updated as in float32 and rounded once; they may share a group with others."""
    start = mt.from_numpy(np.linspace(0.5, 2, 40, dtype=np.float32).reshape(4, 10))
    low = mt.nn.Parameter(start.to(getattr(mt, dtype)))
    full = mt.nn.Parameter(low.detach().to(mt.float32))
    for p, optimizer in (low, make(name, [low, parameter(3)])), (full, make(name, [full])):
        p.grad = mt.full((4, 10), 0.25, dtype=p.dtype)
        optimizer.step()
    assert low.dtype is getattr(mt, dtype)
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-6}[dtype]
    assert np.allclose(low.detach().to(mt.float32).array, full.array, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------ what a class says about itself
def numbers_of(optimizer, **options):
    """The rule's coefficients in a first step with these options of the group."""
    group = {**optimizer.param_groups[0], **options}
    counters = [optimizer.first(group, name) for name in optimizer.counters]
    return optimizer.coefficients(group, True, *counters)[1]


def by_hand(optimizer, p, g):
    """A first step of the rule alone, on arrays: the new parameter."""
    group, p = optimizer.param_groups[0], p.copy()
    states = [np.full_like(p, value) for value in optimizer.slots(group).values()]
    scratch = [np.empty_like(p) for _ in range(optimizer.scratch)]
    type(optimizer).rule(np, p, g.copy(), states, scratch, numbers_of(optimizer))
    return p


def first_step(name, start, grad, **options):
    """An optimiser after its first step on float64 numbers, and its parameter."""
    p = mt.nn.Parameter(mt.from_numpy(start.copy()))
    optimizer = make(name, [p], **options)
    p.grad = mt.from_numpy(grad.copy())
    optimizer.step()
    return optimizer, p.detach().array


@each_elementwise
def test_weight_decay_is_what_the_class_declares(name):
    """Either this class deals with it, and the rule knows nothing of it, or the rule does."""
    start = np.array([1.0, -2.0, 0.5])
    plain = make(name, [parameter(3)])
    if "weight_decay" not in plain.defaults:
        assert plain.decay is None, f"{name} has no option weight_decay: decay = None"
        return
    read = numbers_of(plain, weight_decay=0.0) != numbers_of(plain, weight_decay=0.25)
    assert not (plain.decay and read), (
        f"{name} decays twice: its coefficients depend on weight_decay, so say decay = None")
    assert plain.decay or read, f"{name} never decays: say decay = \"l2\" or \"decoupled\""
    for grad in (np.zeros(3), np.array([0.25, -0.5, 1.0])):
        optimizer, p = first_step(name, start, grad, weight_decay=0.25, lr=0.125)
        declared = optimizer.decay_of(optimizer.param_groups[0])
        assert declared == optimizer.decay, f"{name} made with its defaults"
        shrink = 1 - 0.125 * 0.25 if declared == "decoupled" else 1
        added = 0.25 * start if declared == "l2" else 0
        assert np.allclose(p, by_hand(optimizer, start * shrink, grad + added), rtol=1e-12)


@each_elementwise
def test_maximize_is_a_step_with_the_negated_gradient(name):
    if "maximize" in make(name, [parameter(3)]).defaults:
        start, grad = np.array([1.0, -2.0, 0.5]), np.array([0.25, -0.5, 1.0])
        assert np.array_equal(first_step(name, start, grad, maximize=True)[1],
                              first_step(name, start, -grad)[1])


@pytest.mark.parametrize("name", ["Adam", "NAdam", "RAdam"])
def test_an_option_may_choose_the_decay(name):
    start = np.array([1.0, -2.0])
    optimizer, p = first_step(name, start, np.zeros(2), weight_decay=0.5, lr=0.25,
                              decoupled_weight_decay=True)
    assert optimizer.decay_of(optimizer.param_groups[0]) == "decoupled"
    assert np.array_equal(p, start * (1 - 0.25 * 0.5))


def test_a_class_must_say_what_weight_decay_means():
    with pytest.raises(TypeError, match='Silent must say .*"l2".*"decoupled".*None.*nothing'):
        type("Silent", (Elementwise,), {})
    with pytest.raises(TypeError, match="got 'both'"):
        type("Silent", (Elementwise,), {"decay": "both"})
    without = type("Without", (Elementwise,), {"decay": "l2"})
    with pytest.raises(TypeError, match="no option weight_decay"):
        without([parameter(2)], {"lr": 0.1})


class LionCoefficients(NamedTuple):
    lr: float
    decay: float


class Lion(Elementwise):
    """Chen et al., "Symbolic discovery of optimization algorithms", 2023: it decays p itself."""

    decay = None
    counters = ()

    def __init__(self, params, lr, weight_decay):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))

    @staticmethod
    def rule(xp, p, g, states, scratch, c):
        """``p <- p - lr (sign(0.9 m + 0.1 g) + decay p)``, then ``m <- 0.99 m + 0.01 g``."""
        m, = states
        p -= c.lr * (xp.sign(0.9 * m + 0.1 * g) + c.decay * p)
        m += 0.01 * (g - m)

    def slots(self, group):
        return {"exp_avg": 0.0}

    def coefficients(self, group, fresh):
        return (), LionCoefficients(float(group["lr"]), float(group["weight_decay"]))


def test_a_rule_that_decays_by_itself():
    """By hand: the sign is -1, so p = 1 - 0.1 (-1 + 0.1). With L2 decay it would be 0.89."""
    p = mt.nn.Parameter(mt.tensor([1.0], dtype=mt.float64))
    optimizer = Lion([p], lr=0.1, weight_decay=0.1)
    p.grad = mt.tensor([-0.05], dtype=mt.float64)
    optimizer.step()
    assert p.item() == pytest.approx(1.09, abs=1e-12)


def test_kernels_are_those_of_the_rule_itself():
    """A rule of the name of another one has none of its kernels."""
    from minitorch.optim.adam import adam
    assert adam.kernel == "adam" and optim.AdamW.rule is adam

    def other(xp, p, g, states, scratch, c):
        p -= g

    asked, backend = [], mt.backends.get("cpu")
    other.__name__ = "adam"
    p = parameter(2)
    mine = type("Mine", (optim.Adam,), {"rule": staticmethod(other)})([p])
    backend.stepping = lambda F, rule, params, states: asked.append(rule)
    try:
        steps(mine, 1)
        steps(optim.Adam([p]), 1)
    finally:
        del backend.stepping
    assert asked == [None, "adam"]


# ------------------------------------------------------------------ what happens between two steps
@each
def test_replaced_data(name):
    p, q = parameter(3, 4), parameter(3, 4)
    one, two = make(name, [p]), make(name, [q])
    steps(one, 2), steps(two, 2)
    new = p.array.copy() + 1
    p.data = mt.from_numpy(new)                            # another array
    q.array[...] = new                                     # the same array, other values
    assert same(steps(one, 2, 7), steps(two, 2, 7))
    assert p.array is new


@each_elementwise
def test_replaced_and_deleted_states(name):
    params = [parameter(3, 4), parameter(5, seed=1)]
    optimizer = make(name, params)
    twin = copy.deepcopy(optimizer)
    steps(optimizer, 2), steps(twin, 2)
    for state in optimizer.state.values():                 # as programs do that move an optimiser to a device
        for key, value in state.items():
            state[key] = value.clone()
    assert same(steps(optimizer, 2, 5), steps(twin, 2, 5))
    fresh = make(name, twin.param_groups[0]["params"])
    optimizer.state.clear()
    assert same(steps(optimizer, 2, 9), steps(fresh, 2, 9))


def test_state_of_another_shape_is_an_error():
    p = parameter(3)
    optimizer = optim.Adam([p])
    steps(optimizer, 1)
    p.data = mt.zeros(4)
    set_grads([p])
    with pytest.raises(RuntimeError, match="exp_avg"):
        optimizer.step()


def test_gradient_of_another_shape_is_an_error():
    p = parameter(3)
    optimizer = optim.SGD([p], lr=0.1)
    steps(optimizer, 1)
    p.data = mt.zeros(4)
    with pytest.raises(RuntimeError, match="gradient has shape"):
        optimizer.step()


def test_states_are_live_tensors():
    p, q = parameter(3), parameter(3)
    one, two = optim.SGD([p], lr=0.1, momentum=0.9), optim.SGD([q], lr=0.1, momentum=0.9)
    steps(one, 2), steps(two, 1)
    one.state[p]["momentum_buffer"].zero_()
    two.state[q]["momentum_buffer"].zero_()
    q.data = p.detach().clone()
    assert same(steps(one, 1, 3), steps(two, 1, 3))


@each
def test_copies_and_pickles_continue_alike(name):
    optimizer = make(name, [parameter(3, 4), parameter(5, 2, seed=1)])
    steps(optimizer, 3)
    twins = [copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))]
    expected = steps(optimizer, 3, 5)
    for twin in twins:
        assert same(steps(twin, 3, 5), expected)


@each
def test_state_dict_round_trip(name):
    params = [parameter(3, 4), parameter(5, 2, seed=1)]
    optimizer = make(name, params)
    steps(optimizer, 3)
    twin = make(name, copy.deepcopy(params), lr=0.5)
    twin.load_state_dict(optimizer.state_dict())
    expected = steps(optimizer, 3, 5)
    assert same(steps(twin, 3, 5), expected)               # loading copied: the first optimiser's steps did no harm
    assert twin.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(ELEMENTWISE)), st.data())
def test_any_pattern_of_gradients_equals_separate_optimizers(name, data):
    """Parameters do not influence each other, whichever have gradients in which step."""
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 7, SMALL, SMALL + 1, BLOCK + 3]), min_size=1, max_size=5))
    params = [parameter(n, seed=n) for n in sizes]
    twins = [mt.nn.Parameter(p.detach().clone()) for p in params]
    together, alone = make(name, params), [make(name, [q]) for q in twins]
    for k in range(4):
        active = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
        for p, q, on in zip(params, twins, active):
            p.grad = q.grad = None
            if on:
                set_grads([p], k)
                q.grad = p.grad
        together.step()
        for optimizer in alone:
            optimizer.step()
    assert same([p.array for p in params], [q.array for q in twins])


# ------------------------------------------------------------------ the base class
def test_groups_and_defaults():
    p, q = parameter(2), parameter(2)
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.5}], lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    optimizer.add_param_group({"params": [parameter(3)], "momentum": 0.9})
    steps(optimizer, 2)
    assert list(optimizer.state_dict()["state"]) == [2]    # the only one with a momentum
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0], [1], [2]]


def test_named_parameters():
    layer = mt.nn.Linear(2, 3)
    optimizer = optim.Adam(layer.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == list(layer.parameters())
    with pytest.raises(ValueError, match="without names"):
        optimizer.add_param_group({"params": [parameter(2)]})


@pytest.mark.parametrize("params, error, message", [
    (lambda: parameter(2), TypeError, "iterable of Tensors or dicts"),
    (list, ValueError, "empty parameter list"),
    (lambda: [[1.0]], TypeError, "can only optimize Tensors"),
    (lambda: [parameter(2) * 2], ValueError, "non-leaf"),
    (lambda: [{"params": {parameter(2)}}], TypeError, "ordered collections"),
    (lambda: [("w", parameter(2)), parameter(2)], ValueError, "Some param names are missing"),
])
def test_bad_parameters(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params(), lr=0.1)


def test_bad_groups():
    p = parameter(2)
    optimizer = optim.SGD([p])
    with pytest.raises(TypeError, match="must be a dict"):
        optimizer.add_param_group([p])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [p]})
    with pytest.raises(ValueError, match="required optimization parameter rate"):
        optim.Optimizer([p], {"rate": required})


def test_differentiable_is_refused():
    with pytest.raises(NotImplementedError, match="create_graph=True"):
        optim.SGD([parameter(2)], differentiable=True)


@pytest.mark.parametrize("make", [optim.Adam, optim.Adagrad, optim.Rprop, lambda p: optim.SGD(p, 0.1, 0.9)])
def test_complex_parameters_move_as_their_parts(make):
    numbers = mt.tensor([[1 + 2j, -3j], [0.5, -1 + 1j]])
    whole, parts = numbers.clone().requires_grad_(), mt.view_as_real(numbers).clone().requires_grad_()
    first, second = make([whole]), make([parts])
    for _ in range(3):
        for p, optimizer in (whole, first), (mt.view_as_complex(parts), second):
            optimizer.zero_grad()
            ((p * (1 - 2j)).abs() ** 3).sum().backward()
            optimizer.step()
    assert mt.view_as_real(whole).equal(parts) and not whole.equal(numbers)


def test_zero_grad():
    p, q = parameter(2), parameter(2)
    optimizer = optim.SGD([p, q])
    set_grads([p])
    optimizer.zero_grad()
    assert p.grad is None
    set_grads([p])
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0, 0] and q.grad is None


def test_repr():
    assert repr(optim.SGD([parameter(2)], lr=0.5)) == """SGD (
Parameter Group 0
    dampening: 0
    differentiable: False
    foreach: None
    fused: None
    lr: 0.5
    maximize: False
    momentum: 0
    nesterov: False
    weight_decay: 0
)"""


@each
def test_closure(name):
    p = parameter(2, 2)
    optimizer = make(name, [p])

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with mt.no_grad():                                     # the closure records all the same
        first = optimizer.step(closure)
    assert first.item() > (p * p).sum().item()


def test_tensor_learning_rate():
    lr = mt.tensor(0.5)
    p, q = parameter(3), parameter(3)
    one, two = optim.Adam([p], lr=lr), optim.Adam([q], lr=0.5)
    schedule = optim.lr_scheduler.ExponentialLR(one, 0.5)
    steps(one, 1), steps(two, 1)
    schedule.step()
    two.param_groups[0]["lr"] = 0.25
    assert lr.item() == 0.25                               # written in place
    assert same(steps(one, 1, 3), steps(two, 1, 3))


# ------------------------------------------------------------------ hooks
def test_step_hooks():
    calls = []
    optimizer = optim.SGD([parameter(2)], lr=0.1)

    def note(text):
        return lambda opt, args, kwargs: calls.append((text, opt is optimizer and args[0] is optimizer))

    handles = [optim.register_optimizer_step_pre_hook(note("global pre")),
               optimizer.register_step_pre_hook(note("pre")),
               optimizer.register_step_post_hook(note("post")),
               optim.register_optimizer_step_post_hook(note("global post"))]
    steps(optimizer, 1)
    assert calls == [("global pre", True), ("pre", True), ("post", True), ("global post", True)]
    for handle in handles:
        handle.remove()
    steps(optimizer, 1)
    assert len(calls) == 4


def test_step_pre_hook_changes_arguments():
    optimizer = optim.SGD([parameter(2)], lr=0.1)
    handle = optimizer.register_step_pre_hook(lambda opt, args, kwargs: ((opt, lambda: 42), {}))
    assert optimizer.step() == 42
    handle.remove()
    optimizer.register_step_pre_hook(lambda opt, args, kwargs: "nonsense")
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_hooks_run_once_around_an_overridden_step():
    class Louder(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    calls = []
    optimizer = Louder([parameter(2)], lr=0.1)
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    steps(optimizer, 1)
    assert calls == [1]


def test_state_dict_hooks():
    optimizer, calls = optim.SGD([parameter(2)], lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda opt: calls.append("before"))
    optimizer.register_state_dict_post_hook(lambda opt, sd: {**sd, "extra": 1})
    optimizer.register_state_dict_post_hook(lambda opt, sd: {**sd, "extra": 0, "more": 2}, prepend=True)
    saved = optimizer.state_dict()
    assert calls == ["before"] and (saved["extra"], saved["more"]) == (1, 2)
    optimizer.register_load_state_dict_pre_hook(
        lambda opt, sd: {**sd, "param_groups": [{**sd["param_groups"][0], "lr": 9}]})
    optimizer.register_load_state_dict_post_hook(lambda opt: calls.append("after"))
    optimizer.load_state_dict(saved)
    assert calls[-1] == "after" and optimizer.param_groups[0]["lr"] == 9


@pytest.mark.parametrize("name", ["NAdam", "ASGD"])
def test_numbers_in_the_state_keep_their_precision(name):
    low = parameter(4, dtype=np.float16)
    one, two = make(name, [low]), make(name, [mt.nn.Parameter(low.detach().clone())])
    steps(one, 3), steps(two, 3)
    two.load_state_dict(two.state_dict())
    assert same(steps(one, 3, 5), steps(two, 3, 5))


def test_load_state_dict_errors():
    one, two = optim.SGD([parameter(2)]), optim.SGD([{"params": [parameter(2)]}, {"params": [parameter(2)]}])
    three = optim.SGD([parameter(2), parameter(2)])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        one.load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="doesn't match the size"):
        one.load_state_dict(three.state_dict())


# ------------------------------------------------------------------ LBFGS, SWA
def test_lbfgs_solves_rosenbrock():
    p = mt.nn.Parameter(mt.tensor([-1.5, 2.0], dtype=mt.float64))
    optimizer = optim.LBFGS([p], line_search_fn="strong_wolfe", max_iter=100, tolerance_change=0)

    def closure():
        optimizer.zero_grad()
        x, y = p[0], p[1]
        loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    assert np.allclose(p.array, 1, atol=1e-6)
    with pytest.raises(ValueError, match="parameter groups"):
        optimizer.add_param_group({"params": [parameter(2)]})
    optimizer.param_groups[0]["line_search_fn"] = "bisection"
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        optimizer.step(closure)


def test_lbfgs_continues_bit_for_bit():
    def make_one(start):
        p = mt.nn.Parameter(start)
        optimizer = optim.LBFGS([p], max_iter=3, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = ((p - 1) ** 2 * (p + 2) ** 2).sum()
            loss.backward()
            return loss
        return p, optimizer, closure

    p, one, closure = make_one(parameter(6).detach())
    one.step(closure)
    q, two, again = make_one(p.detach().clone())
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    for _ in range(2):
        one.step(closure), two.step(again)
    assert np.array_equal(p.array, q.array)


def test_averaged_model_and_update_bn():
    model = mt.nn.Sequential(mt.nn.Linear(2, 3), mt.nn.BatchNorm1d(3))
    mean, ema = optim.swa_utils.AveragedModel(model), optim.swa_utils.AveragedModel(
        model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.75))
    history = []
    for k in range(4):
        for p in model.parameters():
            p.data = mt.full(p.shape, float(2**k))
        mean.update_parameters(model)
        ema.update_parameters(model)
        history.append(2.0**k)
    average = history[0]
    for value in history[1:]:
        average = 0.75 * average + 0.25 * value
    assert np.allclose(mean.module[0].weight.array, np.mean(history))
    assert np.allclose(ema.module[0].weight.array, average)
    assert mean.n_averaged.item() == 4 and "n_averaged" in mean.state_dict()
    batches = [(mt.from_numpy(np.random.default_rng(k).standard_normal((8, 2)).astype("f")), 0) for k in range(3)]
    optim.swa_utils.update_bn(batches, mean)
    seen = [mean.module[0](x).detach().array for x, _ in batches]
    assert np.allclose(mean.module[1].running_mean.array, np.mean([x.mean(0) for x in seen], 0), atol=1e-5)
    assert mean.module[1].momentum == model[1].momentum and mean.training


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_betas_are_numbers_or_tensors(name):
    with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
        getattr(mt.optim, name)([nn.Parameter(mt.ones(1))], betas=(mt.tensor(0.9), 0.999))


def test_radam_is_rectified_from_its_sixth_step_on():
    p, lr, beta = nn.Parameter(mt.zeros(1, dtype=mt.float64)), 0.1, 0.999
    o, limit = optim.RAdam([p], lr=lr, eps=0.0), 2 / (1 - beta) - 1
    for step in range(1, 9):
        before, p.grad = p.item(), mt.ones(1, dtype=mt.float64)
        o.step()
        rho = limit - 2 * step * beta ** step / (1 - beta ** step)
        rectified = ((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho)) ** 0.5 if rho > 5 else 1
        assert before - p.item() == pytest.approx(lr * rectified, rel=1e-9)
    assert rho > 6


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, 0.9), lambda p: optim.Adagrad(p, 0.1),
                                  lambda p: optim.AdamW(p, 0.1), lambda p: optim.RMSprop(p, 0.1)])
def test_complex_parameters_move_as_pairs_of_numbers(make):
    whole = nn.Parameter(mt.tensor([1 + 2j, -0.5 + 1j]))
    pairs = nn.Parameter(mt.view_as_real(whole.detach()).clone())
    for k in range(1, 4):
        whole.grad = mt.tensor([0.3 * k - 1j, 0.2 + 0.1j * k])
        pairs.grad = mt.view_as_real(whole.grad).clone()
        if k == 1:
            steps = make([whole]), make([pairs])
        for o in steps:
            o.step()
    np.testing.assert_allclose(mt.view_as_real(whole.detach()).numpy(), pairs.detach().numpy(), rtol=1e-6)


def test_parameters_that_are_listed_twice_move_twice():
    p, q = nn.Parameter(mt.ones(2)), nn.Parameter(mt.ones(2))
    with pytest.warns(UserWarning, match="duplicate"):
        twice = optim.SGD([p, p], 0.1)
    once = optim.SGD([q], 0.2)
    p.grad, q.grad = mt.ones(2), mt.ones(2)
    twice.step()
    once.step()
    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)


nan, inf = float("nan"), float("inf")


def test_a_gradient_that_is_nan_moves_nothing_in_rprop():
    p = mt.ones(3, requires_grad=True)
    optimizer = mt.optim.Rprop([p], lr=0.1)
    p.grad = mt.tensor([nan, 1.0, -1.0])
    optimizer.step()
    assert p.tolist() == pytest.approx([1.0, 0.9, 1.1])
