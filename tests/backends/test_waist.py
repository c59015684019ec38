"""The waist: every op runs on a backend whose arrays refuse to be mixed with NumPy's, as a GPU's arrays do.

`Foreign` arrays are NumPy's underneath, but an op that takes a host array and one of these together raises TypeError,
as CuPy's do: so that an op which reaches around its backend, for `numpy` itself, is found without a GPU.
"""

import random
import types

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch import backends
from minitorch.autograd import api
from minitorch.backends.cpu.backend import CPU
from minitorch.core.backend import Backend
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import each, outputs_of


# ---- a library of arrays that do not mix -------------------------------------------------------------------
class Foreign(np.ndarray):
    """An array of another library."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        refuse_host_arrays((*inputs, *out))
        if out:
            options["out"] = tuple(map(to_host, out))
        result = getattr(ufunc, method)(*map(to_host, inputs), **{k: to_host(v) for k, v in options.items()})
        if method == "at":
            return None
        return (out[0] if len(out) == 1 else out) if out else to_foreign(result)

    def __array_function__(self, function, types, args, kwargs):
        return foreign_call(function)(*args, **kwargs)


def to_host(x):
    return each(lambda v: v.view(np.ndarray) if isinstance(v, Foreign) else v, x)


def to_foreign(x):
    return each(lambda v: np.asarray(v).view(Foreign) if isinstance(v, (np.ndarray, np.generic)) else v, x)


def refuse_host_arrays(arguments):
    for x in arguments:
        if isinstance(x, (tuple, list)):
            refuse_host_arrays(x)
        elif type(x) is np.ndarray and x.ndim:
            raise TypeError(f"a host array among device arrays: {x.dtype} of shape {x.shape}")


def foreign_call(function):
    def call(*args, **kwargs):
        refuse_host_arrays((*args, *kwargs.values()))
        return to_foreign(function(*to_host(args), **{k: to_host(v) for k, v in kwargs.items()}))
    return call


class Library:
    """NumPy's functions, for `Foreign` arrays."""

    ndarray = Foreign

    def __getattr__(self, name):
        found = getattr(np, name)
        if isinstance(found, (np.ufunc, type, types.ModuleType)) or not callable(found):
            return found
        return lambda *args, **kwargs: to_foreign(found(*args, **kwargs)) if name == "asarray" else foreign_call(found)(
            *args, **kwargs)


class Device(CPU):
    """The parts that a new backend brings: an array module, its array type, and what differs between array modules."""

    def __init__(self):
        Backend.__init__(self, torch.device("foreign"), Library())

    def strided(self, array, shape, strides):
        return np.lib.stride_tricks.as_strided(array, shape, strides, subok=True)

    def of_memory(self, array, *layout):
        memory = np.ndarray(array.shape, array.dtype, array.base if array.base is not None else array, 0, array.strides)
        return to_foreign(super().of_memory(memory, *layout))

    def from_host(self, array):
        return to_foreign(np.array(array))

    def to_host(self, array):
        return to_host(array)


backends.register("foreign", lambda index: Device())
foreign = backends.get("foreign")
ROWS = [row for row in OPS.values() if row.sample or not any(x.kind == "variadic" for x in row.inputs)]


# ---- every row of the table --------------------------------------------------------------------------------
def as_foreign(x):
    return each(lambda v: foreign.from_host(v) if isinstance(v, np.ndarray) else v, x)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_op_and_its_rules_stay_on_their_device(row):
    if row.name.startswith("as_strided"):
        pytest.skip("about memory, which NumPy's arrays hide under these")
    for seed in range(3):
        arrays, attrs = Draw(random.Random(seed)).op_sample(row)
        tensors = [wrap(as_foreign(x), foreign).requires_grad_(x.dtype.kind in "fc")
                   if isinstance(x, np.ndarray) else x for x in arrays]
        attrs = {k: as_foreign(v) if k in ("index", "edges") else v for k, v in attrs.items()}   # others are plans
        outputs = outputs_of(row, tensors, attrs)
        assert all(type(t.array) is Foreign and t.backend is foreign for t in outputs)
        live = [t for t in outputs if t.needs_grad]
        if not live:
            continue
        wanted = [t for t in tensors if isinstance(t, Tensor) and t.needs_grad]
        seeds = [wrap(foreign.from_host(np.ones(t.shape, t.dtype.np)), foreign) for t in live]
        try:
            grads = api.grad(live, wanted, seeds, allow_unused=True)
        except NotImplementedError:                        # a derivative that nobody knows
            continue
        assert all(g is None or type(g.array) is Foreign for g in grads)


# ---- what users do -----------------------------------------------------------------------------------------
@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(4, 3, 8, 8, device="foreign", requires_grad=True)


labels = torch.tensor([0, 2, 1, 1], device="foreign")


@pytest.mark.parametrize("compute", [
    # indices
    lambda x: x[1:, ::2], lambda x: x[[0, 0, 1]], lambda x: x[:, [0, 1], [1, 2]], lambda x: x[x > 0],
    lambda x: x[labels.cpu()], lambda x: x[labels, :, None], lambda x: x[True, 0],
    # reductions, order, shapes
    lambda x: x.max(1).values, lambda x: x.sort().values, lambda x: x.topk(2).values, lambda x: x.std(),
    lambda x: x.norm(), lambda x: x.cumsum(0), lambda x: x.pow(2).mean((2, 3)), lambda x: torch.quantile(x, 0.3),
    lambda x: x.median(1).values, lambda x: x.kthvalue(2).values, lambda x: torch.histc(x) + 0 * x.sum(),
    lambda x: torch.cat([x, x], 1), lambda x: x.flip(0).roll(1), lambda x: x.repeat_interleave(2, 0),
    lambda x: torch.cartesian_prod(x[0, 0, 0], x[0, 0, 1]), lambda x: torch.combinations(x[0, 0, 0]),
    lambda x: x.tril() + x.triu(1), lambda x: x[0, 0].diagonal(), lambda x: F.unfold(x, 3),
    # elementwise, choosing and scattering
    lambda x: x + 1 / x, lambda x: x.clamp(0, 1), lambda x: torch.where(x > 0, x, 0.0),
    lambda x: x.masked_select(x > 0),
    lambda x: x.gather(0, torch.zeros_like(x).long()), lambda x: x.index_add(0, labels, x), lambda x: x.take(labels),
    lambda x: x.put(labels, x[0, 0, 0, :4]), lambda x: x.scatter_reduce(0, torch.zeros_like(x).long(), x, "mean"),
    # matrices
    lambda x: torch.einsum("nchw,nchw->nc", x, x), lambda x: torch.cdist(x[0, 0], x[0, 1]), lambda x: F.pdist(x[0, 0]),
    lambda x: torch.linalg.inv(x[0, 0]), lambda x: torch.linalg.svdvals(x[0, 0]),
    lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    # activations, norms, embeddings
    lambda x: x.softmax(1), lambda x: F.gelu(x), lambda x: F.rrelu(x, training=True), lambda x: F.dropout(x, 0.5),
    lambda x: F.layer_norm(x, (8, 8)), lambda x: F.embedding(labels, x[0, 0]),
    lambda x: F.one_hot(labels, 3) * x[:, :, 0, 0],
    lambda x: F.embedding_bag(labels, x[0, 0], torch.tensor([0, 2], device="foreign")),
    lambda x: F.embedding_bag(labels[None], x[0, 0], mode="max"),
    # images
    lambda x: F.interpolate(x, scale_factor=2), lambda x: F.pad(x, (1, 1, 2, 0), mode="reflect"),
    lambda x: F.conv_transpose2d(x, x[:3, :2]), lambda x: F.adaptive_avg_pool2d(x, 3),
    lambda x: F.fractional_max_pool2d(x, 2, 4),
    lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    lambda x: F.grid_sample(x, F.affine_grid(torch.eye(2, 3, device="foreign").expand(4, 2, 3), [4, 3, 5, 5])),
    # losses
    lambda x: F.cross_entropy(x[:, :, 0, 0], labels), lambda x: F.mse_loss(x, x * 2),
    lambda x: F.multi_margin_loss(x[:, :, 0, 0], labels), lambda x: F.triplet_margin_loss(x, x + 1, x * 2),
    lambda x: F.multilabel_margin_loss(x[:, :, 0, 0], torch.tensor([[0, -1, 1]], device="foreign").expand(4, 3)),
    lambda x: F.cosine_embedding_loss(x[:, 0, 0], x[:, 1, 0], labels * 0 + 1),
    lambda x: F.ctc_loss(x[0, :, :, :5].log_softmax(2), labels[:1].expand(8, 1) + 1, [3] * 8, [1] * 8)])
def test_functions_and_their_gradients(x, compute):
    y = compute(x)
    assert y.device.type == "foreign" and type(y.array) is Foreign
    y.sum().backward()
    assert type(x.grad.array) is Foreign and x.grad.shape == x.shape


def test_layers_and_optimizers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                          nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 8), nn.LayerNorm(8), nn.Dropout(0.1),
                          nn.Tanh(), nn.Linear(8, 3))
    model.to("foreign")
    assert all(p.device.type == "foreign" for p in [*model.parameters(), *model.buffers()])
    images, target = torch.randn(4, 3, 8, 8, device="foreign"), labels
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        optimizer = make(model.parameters(), lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(model(images), target).backward()
            optimizer.step()
    assert all(type(p.array) is Foreign and p.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("layer", [nn.LSTM(3, 4), nn.GRU(3, 4), nn.MultiheadAttention(4, 2),
                                   nn.TransformerEncoderLayer(4, 2, 8)],
                         ids=lambda layer: type(layer).__name__)
def test_recurrent_layers_and_attention(layer):
    layer.to("foreign")
    x = torch.randn(5, 2, 3 if isinstance(layer, nn.RNNBase) else 4, device="foreign")
    out = layer(x, x, x) if isinstance(layer, nn.MultiheadAttention) else layer(x)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_writes_and_copies_between_devices():
    y = torch.zeros(3, 2, device="foreign")
    y[0] = torch.tensor([1.0, 2.0])
    y[1:, 0] = 5
    y[y == 0] = torch.tensor(7.0)
    y += torch.tensor(1.0)
    assert y.tolist() == [[2, 3], [6, 8], [6, 8]] and type(y.array) is Foreign
    w = torch.ones(2, requires_grad=True)
    (y * w.to("foreign")).sum().backward()
    assert w.grad.tolist() == [14, 19] and w.grad.device.type == "cpu"
    assert repr(y[0]) == "tensor([2., 3.], device='foreign')"


def test_devices_do_not_mix_but_for_numbers():
    x = torch.ones(2, device="foreign", requires_grad=True)
    s = torch.tensor(3.0, requires_grad=True)
    (x * s + torch.tensor(1.0)).sum().backward()           # 0-d tensors of the CPU stand for numbers
    assert s.grad.item() == 2 and s.grad.device.type == "cpu" and x.grad.tolist() == [3, 3]
    for mix in (lambda: x + torch.ones(2), lambda: x @ torch.ones(2), lambda: torch.cat([x, torch.ones(2)]),
                lambda: x + torch.ones(1)):
        with pytest.raises(RuntimeError, match="same device.*foreign.*cpu|same device.*cpu.*foreign"):
            mix()
