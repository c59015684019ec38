"""`checkpoint`, both ways: gradients, nested structures, the second call, its checks and its surroundings."""

import contextlib
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.utils import checkpoint as module
from minitorch.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

both = pytest.mark.parametrize("reentrant", [True, False])
F = nn.functional


def ones(*shape):
    return torch.ones(*shape, requires_grad=True)


OPS = ["sin", "exp", "tanh", "sigmoid", "square", "abs", "neg"]


@given(st.lists(st.sampled_from(OPS), min_size=1, max_size=6), st.integers(0, 5), st.booleans(), st.booleans())
def test_gradients_are_those_of_the_function(names, split, reentrant, nested):
    def run(x, part):
        for name in part:
            x = getattr(x, name)() * 0.5
        return x

    def checkpointed(x):
        if nested:
            return checkpoint(lambda v: checkpoint(run, run(v, names[:split]), names[split:], use_reentrant=reentrant),
                              x, use_reentrant=reentrant)
        return checkpoint(run, x, names, use_reentrant=reentrant)
    x, y = torch.tensor([0.3, -1.2], requires_grad=True), torch.tensor([0.3, -1.2], requires_grad=True)
    run(x, names).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # of the inner one: the outer runs it unrecorded
        checkpointed(y).sum().backward()
    assert y.grad.tolist() == pytest.approx(x.grad.tolist())


def test_results_and_arguments_may_be_nested():
    w = nn.Parameter(torch.ones(2))
    x, y = ones(2), ones(2)
    out = checkpoint(lambda d, n: {"k": d["x"].sin() * w, "l": [d["y"][0].exp(), n]}, {"x": x, "y": [y]}, 3,
                     use_reentrant=False)
    assert out["k"].requires_grad and out["l"][0].requires_grad and out["l"][1] == 3
    (out["k"].sum() + out["l"][0].sum()).backward()
    assert w.grad is not None and x.grad.tolist() == pytest.approx([0.5403] * 2, abs=1e-4)
    assert y.grad.tolist() == pytest.approx([2.7183] * 2, abs=1e-4)


def test_results_require_grad_where_the_functions_do():
    a, b = checkpoint(lambda x: (x.sin(), x.detach().cos()), ones(2), use_reentrant=False)
    assert a.requires_grad and not b.requires_grad
    assert not checkpoint(lambda x: x * 2, torch.ones(2), use_reentrant=False).requires_grad
    with torch.no_grad():
        assert not checkpoint(lambda x: x * 2, ones(2), use_reentrant=False).requires_grad
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        assert not checkpoint(lambda x: x * 2, torch.ones(2), use_reentrant=True).requires_grad


@both
def test_values_are_computed_twice_and_random_numbers_drawn_once(reentrant):
    layer, calls = nn.Linear(3, 3), []

    def run(x):
        calls.append(1)
        return F.dropout(layer(x).tanh(), 0.5)
    x = torch.randn(4, 3, requires_grad=True)
    torch.manual_seed(7)
    want = torch.autograd.grad(run(x).sum(), x)[0]
    torch.manual_seed(7)
    out = checkpoint(run, x, use_reentrant=reentrant)
    torch.manual_seed(8)
    before = torch.get_rng_state()
    out.sum().backward()
    assert len(calls) == 3 and x.grad.tolist() == want.tolist()
    assert torch.get_rng_state().tolist() == before.tolist()               # what follows is drawn as without it


@both
def test_the_second_call_casts_as_the_first(reentrant):
    x = ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = checkpoint(lambda v: (v @ v).sin(), x, use_reentrant=reentrant)
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()
    y = ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = (y @ y).sin()
    out.float().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_the_other_ways_of_a_backward_pass():
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)

    def run(v):
        return checkpoint(lambda u: (u.sin() * u).exp(), v, use_reentrant=False)
    assert torch.autograd.gradcheck(run, (x,)) and torch.autograd.gradgradcheck(run, (x,))
    y = run(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    once = torch.autograd.grad(run(x).sum(), x)[0]
    assert x.grad.tolist() == pytest.approx((2 * once).tolist())
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    for backward in (lambda v: torch.autograd.grad(v, x), lambda v: v.backward(inputs=[x])):
        with pytest.raises(RuntimeError, match="use_reentrant=False"):
            backward(checkpoint(torch.sin, x, use_reentrant=True).sum())


def test_a_backward_pass_inside_the_function():
    x = ones(2)

    def run(v):
        z = v.sin().cos()
        g, = torch.autograd.grad(z.sum(), v, retain_graph=True)
        return g * z
    want = torch.autograd.grad(run(x).sum(), x)[0]
    for early in (True, False):
        found = torch.autograd.grad(checkpoint(run, x, use_reentrant=False, early_stop=early).sum(), x)[0]
        assert found.tolist() == want.tolist()


def test_the_second_call_stops_when_all_is_there():
    def run(v, seen):
        out = v.sin()
        seen.append("sin")
        out = out.exp()
        seen.append("exp")
        return out * 2
    for early, seen in ((True, []), (False, [])):
        with module.set_checkpoint_early_stop(early):
            out = checkpoint(run, ones(2), seen, use_reentrant=False)
        out.sum().backward()
        assert seen == ["sin", "exp", "sin"] + ([] if early else ["exp"])


def changing(first, second):
    """A function that does something else when it is called again."""
    calls = []

    def run(x):
        calls.append(1)
        return first(x) if len(calls) == 1 else second(x)
    return run


DIFFERENT = {
    "fewer": (changing, lambda x: x.sin().exp().tanh(), lambda x: x.sin(), "different number"),
    "shapes": (changing, lambda x: x.sin().exp(), lambda x: torch.cat([x, x]).sin().exp(), "different metadata"),
    "dtypes": (changing, lambda x: x.sin().exp(), lambda x: x.double().sin().exp(), "different metadata"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_function_that_changes_is_noticed(name):
    make, first, second, match = DIFFERENT[name]
    out = checkpoint(make(first, second), ones(2), use_reentrant=False)
    with pytest.raises(CheckpointError, match=match):
        out.sum().backward()
    out = checkpoint(make(first, second), ones(2), use_reentrant=False, debug=True)
    with pytest.raises(CheckpointError, match="SinBackward0"):
        out.sum().backward()


def test_more_tensors_than_before_are_noticed_without_early_stop():
    run = changing(lambda x: x.sin(), lambda x: x.sin().exp())
    with pytest.raises(CheckpointError, match="more tensors"):
        checkpoint(run, ones(2), use_reentrant=False, early_stop=False).sum().backward()


def test_an_argument_that_was_written_to_is_noticed():
    x = ones(2) * 1
    out = checkpoint(lambda v: v.sin().exp(), x, use_reentrant=False)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_contexts_around_both_calls():
    seen = []

    @contextlib.contextmanager
    def note(name):
        seen.append(name)
        yield
    checkpoint(lambda v: v.sin().exp(), ones(2), use_reentrant=False,
               context_fn=lambda: (note("first"), note("second"))).sum().backward()
    assert seen == ["first", "second"]


def test_options_are_checked():
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        checkpoint(torch.sin, ones(2))
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.sin, ones(2), use_reentrant=True, foo=1)
    with pytest.raises(ValueError, match="only supported when"):
        checkpoint(torch.sin, ones(2), use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check should be"):
        checkpoint(torch.sin, ones(2), use_reentrant=False, determinism_check="maybe")
    with pytest.raises(ValueError, match="incompatible"):
        checkpoint(torch.sin, ones(2), use_reentrant=False, debug=True, context_fn=lambda: None)
    with pytest.raises(ValueError, match="Unexpected keyword"):
        checkpoint_sequential([torch.sin], 1, ones(2), use_reentrant=False, foo=1)


@both
def test_a_chain_in_segments(reentrant):
    model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)])
    x, y = ones(2, 3), ones(2, 3)
    checkpoint_sequential(model, 2, x, use_reentrant=reentrant).sum().backward()
    found = [p.grad.tolist() for p in model.parameters()]
    model.zero_grad()
    model(y).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() and found == [p.grad.tolist() for p in model.parameters()]


def test_no_values_are_kept():
    alive = []

    def run(x):
        for _ in range(5):
            x = x.exp()
            x.register_hook(lambda g: None)
        alive.append(x.grad_fn)
        return x.sum()
    checkpoint(run, ones(3), use_reentrant=False)
    node = alive[0]
    assert not any([hasattr(value, "dtype") for value in node.saved])


def test_results_of_checkpoints_that_need_no_gradient():
    x = torch.ones(2, requires_grad=True)
    double, constant = checkpoint(lambda x: (x * 2, x.detach() + 1), x, use_reentrant=True)
    (double + constant.detach()).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("debug", [False, True])
def test_checkpoints_tell_how_to_see_more(debug):
    calls = []

    def changing(x):
        calls.append(1)
        return x.sin().exp() if len(calls) == 1 else x.sin()
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(torch.utils.checkpoint.CheckpointError) as raised:
        checkpoint(changing, x, use_reentrant=False, debug=debug).sum().backward()
    assert ("Tip: " in str(raised.value)) is not debug
