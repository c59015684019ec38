"""Convolutions, pooling, norms by channel and indices on DTensors: no sample is sent, values are one process's."""

import copy

import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.backends import native
from minitorch.core.registry import OPS
from minitorch.distributed import init_device_mesh
from minitorch.distributed.tensor import (
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from tests.distributed.sharded_cases import Case, close, numbers, run

NAMES = ("convolution", "convolution_backward_input", "convolution_backward_weight", "max_pool", "max_pool_backward",
         "avg_pool", "avg_pool_backward", "max_unpool", "batch_norm", "affine_norm_backward", "batch_norm_inference",
         "dot_channels", "group_norm", "gather", "gather_backward", "scatter", "scatter_add", "index_select",
         "index_select_backward", "index_add", "index_copy", "index_fill")


@pytest.mark.parametrize("name", NAMES)
def test_uneven_parts(name):
    for seed in range(1, 4):
        Case(OPS[name], seed).check(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.second = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 6, 2)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = F.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        x = F.avg_pool2d(self.second(x), 2)
        return self.head(x.flatten(1))


@pytest.mark.parametrize("samples", [8, 5])
def test_samples_stay_where_they_are(samples):
    start, x, y = Net(), torch.randn(samples, 2, 6, 6), torch.randint(0, 3, (samples,))
    plain = copy.deepcopy(start)
    F.cross_entropy(plain(x), y).backward()

    def program(rank):
        mesh, seen = init_device_mesh("cpu", (2,)), []
        model = distribute_module(copy.deepcopy(start), mesh)
        for module in model.children():
            module.register_forward_hook(lambda m, args, out: seen.append(out.placements))
        out = model(distribute_tensor(x, mesh, [Shard(0)]))
        F.cross_entropy(out, distribute_tensor(y, mesh, [Shard(0)])).backward()
        if samples % 2 == 0:                               # else `flatten` brings all samples to all ranks
            assert seen == [(Shard(0),)] * 4
            assert all(p.grad.placements == (Partial(),) for p in (model.conv.weight, model.second.weight))
        assert seen[:3] == [(Shard(0),)] * 3
        return [numbers(t.full_tensor()) for t in [p.grad for p in model.parameters()] + list(model.buffers())]
    for found in run(program, 2):
        close(found, [numbers(t) for t in [p.grad for p in plain.parameters()] + list(plain.buffers())])


def test_channels_stay_where_they_are():
    x, w, second = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 2, 2), torch.randn(3, 4, 2, 2)
    scale = torch.rand(4)

    def forward(x, w, second, scale):
        y = F.batch_norm(F.conv2d(x, w), None, None, scale, scale, training=True)
        return y, F.conv2d(y.relu(), second)
    tensors = [t.requires_grad_() for t in (x, w, second, scale)]
    y, z = forward(*tensors)
    z.square().sum().backward()

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        places = Replicate(), Shard(0), Shard(1), Shard(0)
        own = [distribute_tensor(t.detach(), mesh, [p]).requires_grad_() for t, p in zip(tensors, places)]
        found = forward(*own)
        assert [t.placements for t in found] == [(Shard(1),), (Partial(),)]
        found[1].redistribute(placements=[Replicate()]).square().sum().backward()
        assert own[1].grad.placements == (Shard(0),) and own[2].grad.placements == (Shard(1),)
        return [numbers(t.full_tensor()) for t in (*found, *[t.grad for t in own])]
    for found in run(program, 2):
        close(found, [numbers(t) for t in (y, z, *[t.grad for t in tensors])])


LAYERS = [(F.layer_norm, (4, 6, 8), lambda x: ((8,), x[0, 0])),
          (F.rms_norm, (4, 6, 8), lambda x: ((8,), x[0, 0])),
          (F.group_norm, (4, 6, 8), lambda x: (2, x[0, :, 0])),
          (F.batch_norm, (4, 6, 8), lambda x: (None, None, x[0, :, 0], None, True)),
          (F.scaled_dot_product_attention, (2, 4, 6, 8), lambda x: (x * 2, x)),
          (F.gelu, (4, 6), lambda x: ())]


@pytest.mark.skipif(native.reason() is not None, reason="native kernels need a compiler")
@pytest.mark.parametrize("layer, shape, rest", LAYERS, ids=[layer.__name__ for layer, *_ in LAYERS])
def test_what_a_kernel_keeps_in_its_own_way_is_not_moved(layer, shape, rest, monkeypatch):
    """Native kernels keep means where NumPy's keep deviations, in other shapes."""
    from minitorch.backends.native import eager
    monkeypatch.setattr(eager.limits, "least", 1)
    x, seed = torch.randn(*shape), torch.randn(*shape)

    def grads(x, seed):
        x = x.detach().requires_grad_()
        y = layer(x, *rest(x))
        return [numbers(t.full_tensor() if hasattr(t, "full_tensor") else t)
                for t in (y, *torch.autograd.grad(y, x, seed))]
    expected = grads(x, seed)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        places = [Replicate(), *[Shard(d) for d in range(len(shape))]]
        return [grads(distribute_tensor(x, mesh, [a]), distribute_tensor(seed, mesh, [b]))
                for a in places for b in places]
    with native.enabled():
        for found in run(program, 2):
            for case in found:
                close(case, expected)
