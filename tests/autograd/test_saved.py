"""Tensors kept for the backward pass: a program may write to the same ones as in PyTorch.

A gradient is right or refused, never silently wrong; `saved_cases.py` has the calls, `data/saved.json` what PyTorch
does with them.
"""

import random

import numpy as np
import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.autograd import api
from minitorch.backends.cpu.backend import cpu
from minitorch.core.hooks import NodeHook, add_node_hook, remove_node_hook
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.testing.strategies import Draw
from tests.autograd import saved_cases
from tests.autograd.saved_cases import CASES
from tests.helpers.op_calls import outputs_of

RECORDED = saved_cases.recorded()
DIFFERENTIABLE = [op for op in OPS.values() if op.differentiable]

# Where a write is refused and PyTorch's is not: the reason (docs/differences_from_pytorch.md has them too).
REFUSED = {
    "x.take_along_dim(i, 1)": "the index itself is kept, not a copy",
    "torch.ldexp(x, y)": "a product with a power, whose factors are kept",
    "torch.special.ndtr(x)": "the input itself is kept, not a scaled copy",
    "torch.einsum('ij,jk->ik', A, B)": "all operands are kept, whichever requires gradients",
    "torch.einsum('i,i,i->', v, w, v)": "all operands are kept, whichever requires gradients",
    **dict.fromkeys(("torch.linalg.svdvals(A)", "torch.linalg.eigvalsh(S)", "torch.linalg.matrix_norm(A, 'nuc')",
                     "torch.linalg.norm(A, 2)", "torch.linalg.cond(S)"),
                    "the matrix is kept and decomposed again, not the vectors of all decompositions"),
    "F.rms_norm(x, (3,), v)": "one op, which keeps its inputs as layer_norm does",
    "F.instance_norm(img, None, None, g4, c4)": "the weight itself is kept, not a copy for each sample",
    "F.scaled_dot_product_attention(qa, ka, va, attention_mask)": "query and key are kept, not scaled copies",
}
# Where gradients do not require gradients and PyTorch's do.
FLAT = {
    "F.conv_transpose2d(img, wtt, v)": "the bias is added by an op of its own, as in `x + b`",
    "F.instance_norm(img, None, None, g4, c4)": "the bias is added by an op of its own",
}


@pytest.mark.parametrize("case", CASES)
def test_a_write_afterwards_is_allowed_where_pytorch_allows_it(case):
    wanted = RECORDED[case]["writes"]
    found = saved_cases.all_writes(minitorch, case)
    assert found.keys() == wanted.keys()
    refused = []
    for who, verdicts in found.items():
        assert verdicts.keys() == wanted[who].keys()
        for target, verdict in verdicts.items():
            assert verdict in ("right", "refused", "unwritable"), f"{target} after {case}: {verdict}"
            if verdict != "right" and wanted[who][target] == "right":
                refused.append(target)
    assert bool(refused) == (case in REFUSED), f"refused after {case}: {refused}"


@pytest.mark.parametrize("case", CASES)
def test_gradients_require_gradients_where_pytorch_s_do(case):
    """A second derivative that is zero is zero, not an error."""
    wanted, found = RECORDED[case]["second"], saved_cases.second(minitorch, case)
    assert found.keys() == wanted.keys()
    assert all(on or not wanted[name] for name, on in found.items()) != (case in FLAT)
    for value in saved_cases.second_derivatives(minitorch, case).values():
        assert np.isfinite(value).all()


def test_the_calls_reach_every_definition():
    found = set()

    class Names(NodeHook):
        def recorded(self, node, result):
            found.add(getattr(node.op, "name", None))

    hook = Names()
    add_node_hook(hook)
    try:
        for case in CASES:
            saved_cases.second_derivatives(minitorch, case)
    finally:
        remove_node_hook(hook)
    assert {op.name for op in DIFFERENTIABLE} - found <= LINEAR | OTHERS


# The backward ops of linear maps are part of no graph here, since the gradients that reach them require none.
LINEAR = {"as_strided_backward", "as_strided_take", "as_strided_zero", "embedding_backward",
          "embedding_double_backward", "gather_backward", "index_select_backward", "interpolate_backward",
          "masked_select_backward", "max_pool_backward", "nll_loss_backward", "outer_index_backward", "pad_flat",
          "put_along_dim", "take_along_dim", "take_first", "threshold_backward"}
# These PyTorch does not have, draw random numbers, have no derivative, or are reached by detached views, writes and
# 16-bit floats (`vdot`: by complex numbers) only.
OTHERS = {"add_layer_norm", "alias", "as_strided_scatter", "attention_dropout", "dropout", "rope", "rstd",
          "scaled_dot_product_attention", "scaled_dot_product_attention_backward", "unique", "vdot",
          "_dirichlet_grad", "_standard_gamma_grad", "weight_int8pack_mm"}


# ---- every definition, on its own samples ------------------------------------------------------------------
def sample(op, seed):
    """Inputs as leaves, and attributes."""
    arrays, attrs = Draw(random.Random(seed)).op_sample(op)
    kinds = [op.inputs[0]] * len(arrays) if op.inputs[0].kind == "variadic" else op.inputs
    tensors = []
    for x, kind in zip(arrays, kinds):
        live = isinstance(x, np.ndarray) and x.dtype.kind == "f" and kind.kind != "other"
        tensors.append(wrap(x.copy(), cpu).requires_grad_(live) if isinstance(x, np.ndarray) else x)
    return tensors, attrs


def gradients(outputs, tensors):
    live = [t for t in tensors if isinstance(t, Tensor) and t.requires_grad]
    outs = [t for t in outputs if t.requires_grad]
    if not live or not outs:
        return []
    seeds = [wrap(np.linspace(1, 2, t.array.size).reshape(t.array.shape).astype(t.array.dtype), cpu) for t in outs]
    try:
        return [g if g is None else g.array for g in api.grad(outs, live, seeds, allow_unused=True)]
    except NotImplementedError:                            # of a derivative that nobody has
        return []


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_no_gradient_is_silently_wrong_after_a_write(op):
    for seed in range(3):
        tensors, attrs = sample(op, seed)
        results = outputs_of(op, tensors, attrs)
        count = sum(isinstance(t, Tensor) for t in tensors) + len(results)
        wanted = gradients(results, tensors)
        for place in range(count):
            tensors, attrs = sample(op, seed)
            results = outputs_of(op, tensors, attrs)
            target = [t for t in [*tensors, *results] if isinstance(t, Tensor)][place]
            with minitorch.no_grad():
                try:
                    saved_cases.write(minitorch, target)
                except RuntimeError:                       # its elements overlap
                    continue
            try:
                found = gradients(results, tensors)
            except RuntimeError as error:
                assert "modified by an inplace operation" in str(error)
                continue
            for a, b in zip(found, wanted):
                np.testing.assert_array_equal(a, b, err_msg=f"{op.name}, {attrs}: a write to tensor {place}")


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if op.together], ids=lambda op: op.name)
def test_gradients_together_are_those_one_by_one(op):
    for seed in range(8):
        tensors, attrs = sample(op, seed)
        together = gradients(outputs_of(op, tensors, attrs), tensors)
        for i, wanted in enumerate(together):
            tensors = [t.detach().requires_grad_(k == i) for k, t in enumerate(sample(op, seed)[0])]
            found, = gradients(outputs_of(op, tensors, attrs), tensors)
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


# ---- programs ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pool", [nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d(2), nn.AvgPool2d(2),
                                  nn.AdaptiveMaxPool2d((3, 2))], ids=str)
def test_pooling_then_relu_in_place(pool):
    """The usual order of a network's layers."""
    minitorch.manual_seed(0)
    conv, x = nn.Conv2d(1, 4, 3), minitorch.randn(2, 1, 8, 8)
    grads = []
    for inplace in (True, False):
        conv.zero_grad()
        nn.Sequential(conv, pool, nn.ReLU(inplace=inplace))(x).sum().backward()
        grads.append(conv.weight.grad.clone())
    assert grads[0].equal(grads[1]) and grads[0].abs().sum() > 0


@pytest.mark.parametrize("function", [
    lambda x: x / x.norm(), lambda x: 1 / x, lambda x: 2 / x, F.normalize, F.softsign,
    lambda x: (x - x.mean()) / x.std(), lambda x: x.exp() / x.exp().sum(), lambda x: x.max(1).values,
    lambda x: x.sort().values, lambda x: x.topk(2).values, lambda x: x.cummax(1).values],
    ids=["norm", "reciprocal", "number", "normalize", "softsign", "standardise", "softmax", "max", "sort", "topk",
         "cummax"])
def test_results_may_be_written_to(function):
    x = minitorch.tensor([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]], requires_grad=True)
    weights = minitorch.arange(1.0, 7).reshape(2, 3)
    y = function(x)
    (y.mul(2) * weights[:, :y.shape[-1]].reshape(-1)[:y.numel()].reshape(y.shape)).sum().backward()
    wanted, x.grad = x.grad, None
    y = function(x)
    y.mul_(2)
    (y * weights[:, :y.shape[-1]].reshape(-1)[:y.numel()].reshape(y.shape)).sum().backward()
    assert x.grad.allclose(wanted)


def test_a_divisor_may_be_written_to_after_its_reciprocal():
    x = minitorch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    y = x * 1
    z = 1 / y
    y.add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [-1.0, -0.25, -0.0625]


def test_the_first_derivative_of_relu_can_be_differentiated():
    gradient = api.grad
    x = minitorch.ones(3, requires_grad=True)
    g, = gradient(F.relu(x).sum(), x, create_graph=True)
    assert g.requires_grad
    assert gradient(g.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]
    g, = gradient(F.relu(x).sum(), x, create_graph=True)   # a sum with a derivative that is not zero
    (g.sum() * 2 + (x * x).sum()).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_second_backward_pass_accumulates_zeros():
    """As PyTorch's, so that an optimiser's weight decay and momentum see these parameters."""
    layers = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    x = minitorch.ones(1, 3, requires_grad=True)
    g, = api.grad(layers(x).sum(), x, create_graph=True)
    (g * g).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 0.0]]
    assert layers[0].bias.grad.tolist() == [0.0, 0.0]
    assert layers[2].bias.grad is None                     # the gradient does not depend on it at all


def test_the_gradient_of_zero_derivatives_keeps_shapes():
    """Broadcast weights, inputs of other shapes than the gradient that is tied to them."""
    image, weight = minitorch.rand(2, 3, 5, 5, requires_grad=True), minitorch.rand(4, 3, 3, 3, requires_grad=True)
    bias = minitorch.rand(4, requires_grad=True)
    g, = api.grad(F.conv2d(image, weight, bias).sum(), bias, create_graph=True)
    found = api.grad(g.sum(), [image, weight, bias])
    assert [x.shape for x in found] == [image.shape, weight.shape, bias.shape]
    assert not any(x.any() for x in found)


@pytest.mark.parametrize("norm", [lambda x: F.layer_norm(x, (0,)), lambda x: F.rms_norm(x, (0,))],
                         ids=["layer_norm", "rms_norm"])
def test_second_derivatives_over_no_elements(norm):
    x = minitorch.ones(2, 0, requires_grad=True)
    g, = api.grad(norm(x).sum(), x, create_graph=True)
    assert api.grad(g.sum(), x)[0].shape == (2, 0)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_second_derivative_of_normalize_at_zero(p):
    """Near a zero vector it divides by eps: a linear map, whose second derivative is zero."""
    x = minitorch.zeros(3, requires_grad=True)
    g, = api.grad(F.normalize(x, p=p, dim=0).sum(), x, create_graph=True)
    assert api.grad((g * minitorch.arange(3.0)).sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("unique", [minitorch.unique, minitorch.unique_consecutive])
def test_unique_says_that_it_has_no_derivative(unique):
    x = minitorch.tensor([1.0, 2.0, 1.0], requires_grad=True)
    y = unique(x)
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="derivative for 'unique' is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize("write", [lambda y: y.add_(1), lambda y: y.mul_(2)], ids=["add", "mul"])
def test_a_write_to_windows_that_overlap_passes_each_gradient_once(write):
    """Elements that share memory hold one value, which came from one of them."""
    x = minitorch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    base = x.clone()
    y = base.as_strided((2, 2), (1, 1))
    write(y)
    y.backward(minitorch.tensor([[1.0, 10.0], [100.0, 1000.0]]))
    slope = (write(minitorch.ones(2)) - write(minitorch.zeros(2)))[0]
    assert (x.grad / slope).tolist() == [1.0, 110.0, 1000.0, 0.0]


@pytest.mark.parametrize("call", [lambda a: F.l1_loss(a, a * 0.3), lambda a: F.gelu(a), lambda a: 2 / a],
                         ids=["l1_loss", "gelu", "rdiv"])
def test_what_is_kept_of_numbers_is_an_array(call):
    """NumPy makes a scalar of a result without dimensions; a recorded pass needs what was kept as a tensor."""
    a = minitorch.tensor(0.5, dtype=minitorch.float64, requires_grad=True)
    recorded, = minitorch.autograd.grad(call(a), a, create_graph=True)
    call(a).backward()
    assert recorded.item() == pytest.approx(a.grad.item())
