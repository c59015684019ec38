"""Derivative formulas with plans: the gradients are those of the formulas themselves, bit by bit."""

import random

import numpy as np
import pytest

import minitorch
from minitorch.backends.cuda import formulas
from minitorch.core import layers
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.testing.strategies import Draw
from tests.backends.cuda.kernel_checks import device
from tests.backends.cuda.test_table import ROWS
from tests.helpers.op_calls import each, outputs_of

# Formulas of many ops, of several inputs, several outputs, with shapes of their own, with random numbers, with views.
NAMES = """
    div pow where elu hardswish softplus std var vector_norm amax cumprod logsumexp matmul bmm addmm
    linear mse_loss gather scatter_add dropout max_pool prelu mul sum expand reshape group_norm
    batch_norm unbind cat clamp minimum prod dist
""".split()


def gradients(row, seed, dtype="float32"):
    """The gradients of a sample of a row, as bytes."""
    arrays, attrs = Draw(random.Random(seed)).op_sample(row)

    def there(v):
        return device.from_host(v.astype(dtype) if v.dtype == "float64" else v) if isinstance(v, np.ndarray) else v
    tensors = [wrap(there(x), device).requires_grad_(x.dtype == np.float64) if isinstance(x, np.ndarray) else x
               for x in arrays]
    attrs = {k: each(there, v) if k in ("index", "edges") else v for k, v in attrs.items()}
    minitorch.manual_seed(0)
    live = [t for t in outputs_of(row, tensors, attrs) if t.needs_grad]
    wanted = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
    if not live or not wanted:
        return []
    rng = np.random.default_rng(seed)
    seeds = [wrap(device.from_host(np.asarray(rng.standard_normal(t.shape), t.array.dtype)), device) for t in live]
    grads = minitorch.autograd.grad(live, wanted, seeds, allow_unused=True)
    return [None if g is None else (g.shape, g.array.dtype, device.to_host(g.array).tobytes()) for g in grads]


def check(row, dtype="float32"):
    """Twice to be planned, then the plan; then other values of the same kinds, whatever they are."""
    for seed in (0, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(device), "pull_of", None)
            expected = gradients(row, seed, dtype)
        for _ in range(4):
            assert gradients(row, seed, dtype) == expected, (row.name, seed)


@pytest.mark.parametrize("name", [n for n in NAMES if n in OPS])
def test_gradients_by_plans_are_those_of_the_formulas(name):
    check(OPS[name])


def backward(function):
    x = minitorch.ones(3, 4, device=device.device, requires_grad=True)
    function(x).sum().backward()
    return x.grad


def test_numbers_that_change_from_step_to_step_make_no_plans():
    before = len(device.plans)
    for k in range(8):
        for _ in range(3):
            y = minitorch.ones(3, 4, device=device.device, requires_grad=True)
            pull = device.pull_of((y * (k + 0.25)).node, False)
            pull(device, y.array, (k + 0.25, None), (y, None))
    assert not [key for key in list(device.plans)[before:] if isinstance(key[0], tuple) and key[0][0] == "mul"]


def test_a_layer_sees_the_ops_of_formulas():
    for _ in range(4):
        backward(lambda x: x.std(1))
    seen = []
    with layers.observed(lambda name, *_: seen.append(name), lambda *_: None):
        backward(lambda x: x.std(1))
    planned = list(seen)
    with pytest.MonkeyPatch.context() as patch, layers.observed(lambda name, *_: seen.append(name), lambda *_: None):
        patch.setattr(type(device), "pull_of", None)
        backward(lambda x: x.std(1))
    assert seen == 2 * planned and "std" in planned


def test_a_formula_of_one_call_and_that_of_a_view_have_no_plans_of_their_own():
    assert formulas.is_one_call(OPS["softmax"]) and not formulas.is_one_call(OPS["elu"])
    assert device.pulls[OPS["transpose"], type(device)] is OPS["transpose"].pull


def test_a_freed_graph_says_so_and_a_retained_one_runs_again():
    for _ in range(4):
        x = minitorch.ones(3, 4, device=device.device, requires_grad=True)
        y = (x / (x + 1)).sum()
        y.backward(retain_graph=True)
        y.backward()
        assert np.allclose(x.grad.cpu().numpy(), 0.5)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


if __name__ == "__main__":                                 # all definitions, some minutes
    for row in ROWS:
        for dtype in ("float32", "float64", "bfloat16"):
            try:
                check(row, minitorch.bfloat16.np if dtype == "bfloat16" else dtype)
            except NotImplementedError:
                print("no derivative:", row.name)
