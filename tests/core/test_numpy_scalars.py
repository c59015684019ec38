"""NumPy's scalars and tensors of one element stand for Python's numbers: in no argument do they change a dtype.

NumPy promotes float32 arrays by a float64 scalar to float64, so each place where one reaches an array is a mistake.
"""

import random

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.core.registry import OPS
from minitorch.testing.strategies import Draw

F = nn.functional
DEFINITIONS = [op for op in OPS.values() if op.sample or not any(x.kind == "variadic" for x in op.inputs)]
SCALARS = {float: np.float64, int: np.int64, bool: np.bool_}


def tensors(arrays):
    if isinstance(arrays, list):
        return [tensors(x) for x in arrays]
    if not isinstance(arrays, np.ndarray):
        return arrays
    return torch.from_numpy(arrays.astype("float32") if arrays.dtype == "float64" else arrays)


def results(out):
    return [(x.dtype, x.tolist()) for x in (out if isinstance(out, (tuple, list)) else (out,))
            if isinstance(x, torch.Tensor)]


@pytest.mark.parametrize("op", [op for op in DEFINITIONS if op.scalars], ids=lambda op: op.name)
@pytest.mark.parametrize("seed", range(3))
def test_attributes_of_definitions(op, seed):
    arrays, attrs = Draw(random.Random(seed)).op_sample(op)
    scalars = {k: np.float64(v) if k in op.scalars and v is not None else v for k, v in attrs.items()}
    assert str(results(op.call(*tensors(arrays), **scalars))) == str(results(op.call(*tensors(arrays), **attrs)))


@pytest.mark.parametrize("op", [op for op in DEFINITIONS if "dim" in dict(op.attrs) and op.inputs[0].kind == "tensor"],
                         ids=lambda op: op.name)
def test_dimensions_of_definitions(op):
    arrays, attrs = Draw(random.Random(0)).op_sample(op)
    scalars = {k: np.int64(v) if type(v) is int else v for k, v in attrs.items()}
    assert str(results(op.call(*tensors(arrays), **scalars))) == str(results(op.call(*tensors(arrays), **attrs)))


x, y = torch.arange(24.0).view(4, 6).sin(), torch.arange(24.0).view(4, 6).cos()
image = torch.arange(2 * 3 * 16.0).view(2, 3, 4, 4).sin()
CALLS = {
    "dropout": lambda c: F.dropout(x, c(0.5)), "alpha_dropout": lambda c: F.alpha_dropout(x, c(0.5), True),
    "normalize": lambda c: F.normalize(x, c(3.0), 1, c(1e-3)),
    "layer_norm": lambda c: F.layer_norm(x, (6,), eps=c(0.1)),
    "rms_norm": lambda c: F.rms_norm(x, (6,), eps=c(0.1)), "group_norm": lambda c: F.group_norm(image, 3, eps=c(0.1)),
    "batch_norm": lambda c: F.batch_norm(image, None, None, None, None, True, c(0.1), c(0.1)),
    "batch_norm in eval": lambda c: F.batch_norm(image, torch.zeros(3), torch.ones(3), eps=c(0.1)),
    "running statistics": lambda c: running(c(0.3)), "celu": lambda c: F.celu(x, c(1.3)),
    "threshold": lambda c: F.threshold(x, c(0.1), c(0.2)), "rrelu": lambda c: F.rrelu(x, c(0.1), c(0.3)),
    "gumbel_softmax": lambda c: F.gumbel_softmax(x, c(0.7)), "huber": lambda c: F.huber_loss(x, y, delta=c(0.5)),
    "smooth_l1": lambda c: F.smooth_l1_loss(x, y, beta=c(0.5)), "lerp": lambda c: x.lerp(y, c(0.3)),
    "cross_entropy": lambda c: F.cross_entropy(x, torch.tensor([0, 1, 2, 3]), label_smoothing=c(0.1)),
    "triplet": lambda c: F.triplet_margin_loss(x, y, x + 1, margin=c(0.4), p=c(2.0), eps=c(1e-6)),
    "pad": lambda c: F.pad(x, (1, 1), value=c(0.5)), "pdist": lambda c: F.pdist(x, c(3.0)),
    "lrn": lambda c: F.local_response_norm(image, 2, c(1e-2), c(0.7), c(1.1)), "norm": lambda c: x.norm(c(3.0)),
    "cdist": lambda c: torch.cdist(x, y, c(3.0)), "renorm": lambda c: x.renorm(c(3.0), 0, c(1.0)),
    "addmm": lambda c: torch.addmm(x, x[:, :4], y, beta=c(0.3), alpha=c(0.2)), "power": lambda c: x.abs() ** c(0.3),
    "add": lambda c: torch.add(x, y, alpha=c(0.3)), "clamp": lambda c: x.clamp(c(-0.1), c(0.3)),
    "quantile": lambda c: torch.quantile(x, c(0.3)), "std": lambda c: x.std(0, correction=c(1.0)),
    "normal_": lambda c: torch.empty(3).normal_(c(0.0), c(2.0)), "where": lambda c: torch.where(x > 0, x, c(0.3)),
    "where of numbers": lambda c: torch.where(x > 0, c(1.5), c(0.0)), "full": lambda c: torch.full((2,), c(0.3)),
    "attention": lambda c: F.scaled_dot_product_attention(image, image, image, dropout_p=c(0.3), scale=c(0.3)),
    "masked_fill": lambda c: x.masked_fill(x > 0, c(0.3)), "trapezoid": lambda c: torch.trapezoid(x, dx=c(0.3)),
    "reflected": lambda c: c(2.0) / x, "gradient": lambda c: torch.gradient(x, spacing=c(0.3)),
    "clip_grad_norm_": lambda c: clipped(c(0.3)),
    "kaiming": lambda c: nn.init.kaiming_normal_(torch.empty(3, 3), c(0.3)),
    "SGD": lambda c: stepped(torch.optim.SGD, lr=c(0.1), momentum=c(0.9), weight_decay=c(0.1)),
    "Adam": lambda c: stepped(torch.optim.Adam, lr=c(0.1), eps=c(1e-3), weight_decay=c(0.1)),
}


def running(momentum):
    statistics = torch.zeros(3), torch.ones(3)
    F.batch_norm(image, *statistics, training=True, momentum=momentum)
    return statistics


def clipped(max_norm):
    parameter = nn.Parameter(x.clone())
    parameter.grad = y.clone()
    return nn.utils.clip_grad_norm_([parameter], max_norm), parameter.grad


def stepped(optimizer, **options):
    parameter = nn.Parameter(x.clone())
    made = optimizer([parameter], **options)
    for _ in range(3):
        made.zero_grad()
        (parameter ** 2).sum().backward()
        made.step()
    return parameter


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_functions(name):
    found = []
    for scalar in (float, np.float64):
        torch.manual_seed(0)
        found.append(str(results(CALLS[name](scalar))))
    assert found[0] == found[1]


def test_tensors_of_one_element_as_attributes():
    half = torch.tensor(0.5, dtype=torch.float64)
    for call in (lambda c: F.leaky_relu(x, c), lambda c: F.celu(x, c), lambda c: F.softplus(x, c),
                 lambda c: torch.addcmul(x, y, y, value=c)):
        assert str(results(call(half))) == str(results(call(0.5)))


def test_result_type():
    assert torch.result_type(torch.ones(2), np.float64(1.0)) is torch.float32
    assert torch.result_type(torch.ones(2, dtype=torch.int8), np.int64(1)) is torch.int8
    assert torch.where(torch.tensor([True]), np.int32(1), 0).dtype is torch.int64
    assert torch.arange(np.int32(3)).dtype is torch.int64 and torch.arange(np.float32(3)).dtype is torch.float32
