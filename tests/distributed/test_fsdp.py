"""fully_shard: training with sharded parameters is that of one process with the batch of all ranks."""

import copy
import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.distributed import init_device_mesh
from minitorch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from minitorch.distributed.fsdp.group import notes
from minitorch.distributed.tensor import DTensor, Shard
from minitorch.utils.checkpoint import checkpoint
from tests.distributed.sharded_cases import close, numbers, run


class Layer(nn.Module):
    def __init__(self, width=6, saves=True):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 7), nn.Linear(7, width)
        self.register_buffer("scale", torch.tensor(0.5))
        self.saves = saves

    def forward(self, x):
        return x + self.down(self.up(self.norm(x)).tanh()) * self.scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head, self.unused = nn.ModuleList([Layer(), Layer()]), nn.Linear(6, 5), nn.Linear(2, 2)

    def forward(self, x, skip=0):
        for layer in self.layers[skip:]:
            x = layer(x)
        return self.head(x)

    def features(self, x):
        return self.layers[0](x)


def net():
    torch.manual_seed(0)
    return Net()


def batch(step=0):
    rng = np.random.default_rng(step)
    return torch.tensor(rng.standard_normal((12, 6)).astype(np.float32)), torch.tensor(rng.integers(0, 5, 12))


def shard(model, **options):
    for layer in model.layers:
        fully_shard(layer, **options)
    return fully_shard(model, **options)


OPTIMIZERS = {"sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
              "adam": lambda p: torch.optim.Adam(p, 0.01, eps=1e-3)}


def train(model, rows=slice(None), make=OPTIMIZERS["sgd"], steps=3, parts=1, clip=0.5):
    """Losses, norms and the optimiser; with several `parts` of a batch, gradients are added up before a step."""
    optimizer, norms = make(model.parameters()), []
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(parts):
            if isinstance(model, FSDPModule):
                model.set_requires_gradient_sync(part == parts - 1)
            x, y = batch(step * parts + part)
            F.cross_entropy(model(x[rows]), y[rows]).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        norms.append((norm.full_tensor() if isinstance(norm, DTensor) else norm).item())
        optimizer.step()
    return norms, optimizer


def wholes(model):
    return [numbers(p.full_tensor()) for p in model.parameters()]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("reshard", [None, True, False])
@pytest.mark.parametrize("make", OPTIMIZERS)
def test_as_one_process(ranks, reshard, make):
    start, make = net(), OPTIMIZERS[make]
    plain = copy.deepcopy(start)
    norms, _ = train(plain, make=make)
    before = dict(notes.memories)

    def program(rank):
        model = shard(copy.deepcopy(start), reshard_after_forward=reshard)
        assert type(model).__name__ == "FSDPNet" and isinstance(model, (Net, FSDPModule))
        assert all(isinstance(p, DTensor) and isinstance(p, nn.Parameter) and p.placements == (Shard(0),)
                   for p in model.parameters())
        found, optimizer = train(model, slice(rank, None, ranks), make)
        assert all(isinstance(p, DTensor) for p in model.state_dict().values() if p.dim())
        assert model.unused.weight.grad is None and model.head.weight.grad.placements == (Shard(0),)
        state = optimizer.state[model.head.weight]
        assert all(isinstance(t, DTensor) and t.shape == (5, 6) for t in state.values() if t is not None and t.dim())
        return found, wholes(model), list(model.state_dict())
    for found, parameters, names in run(program, ranks):
        np.testing.assert_allclose(found, norms, rtol=1e-4)
        close(parameters, [numbers(p) for p in plain.parameters()])
        assert names == list(plain.state_dict())
    assert notes.memories == before and notes.running == 0


def test_gradients_are_added_up_without_sync():
    start = net()
    plain = copy.deepcopy(start)
    norms, _ = train(plain, parts=3)

    def program(rank):
        model = shard(copy.deepcopy(start))
        return train(model, slice(rank, None, 2), parts=3)[0], wholes(model)
    for found, parameters in run(program, 2):
        np.testing.assert_allclose(found, norms, rtol=1e-4)
        close(parameters, [numbers(p) for p in plain.parameters()])


def test_gradients_of_two_synchronised_passes_are_added_up():
    start = net()
    x, y = batch()
    plain = copy.deepcopy(start)
    for _ in range(2):
        F.cross_entropy(plain(x), y).backward()

    def program(rank):
        model = shard(copy.deepcopy(start))
        for _ in range(2):
            F.cross_entropy(model(x[rank::2]), y[rank::2]).backward()
        return [numbers(p.grad.full_tensor()) for p in model.parameters() if p.grad is not None]
    for found in run(program, 2):
        close(found, [numbers(p.grad) for p in plain.parameters() if p.grad is not None])


def test_memory_is_let_go_of_between_the_passes():
    start = net()
    x, _ = batch()

    def program(rank):
        model = shard(copy.deepcopy(start))
        full = []
        model.layers[0].up.register_forward_hook(lambda m, i, o: full.append(weakref.ref(m.weight.array)))
        loss = model(x).square().sum()
        gc.collect()
        assert len(full) == 1 and full[0]() is None        # neither the module nor the graph has it
        assert not model.layers[0]._fsdp.group.is_full and model._fsdp.group.is_full
        assert isinstance(model.layers[0].up.weight, DTensor) and not isinstance(model.head.weight, DTensor)
        loss.backward()
        assert not model._fsdp.group.is_full and isinstance(model.head.weight, DTensor)
        with torch.no_grad():
            model(x)
        assert not model._fsdp.group.is_full
        return numbers(model.layers[0].up.weight.grad.full_tensor())
    plain = copy.deepcopy(start)
    plain(x).square().sum().backward()
    for grad in run(program, 2):
        np.testing.assert_allclose(grad, numbers(plain.layers[0].up.weight.grad), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduce_dtype", [None, torch.float32])
def test_mixed_precision(reduce_dtype):
    start = net()
    x, y = batch()

    def program(rank):
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce_dtype)
        model, seen = copy.deepcopy(start), []
        model.layers[1].up.register_forward_hook(lambda m, i, o: seen.append((i[0].dtype, m.weight.dtype, o.dtype)))
        for layer in model.layers:
            fully_shard(layer, mp_policy=policy)
        fully_shard(model, mp_policy=replace(policy, output_dtype=torch.float32))
        out = model(x[rank::2])
        F.cross_entropy(out, y[rank::2]).backward()
        assert out.dtype is torch.float32 and seen == [(torch.bfloat16,) * 3]
        assert all(p.dtype is torch.float32 and (p.grad is None or p.grad.dtype is torch.float32)
                   for p in model.parameters())
        torch.optim.SGD(model.parameters(), 0.1).step()
        return numbers(model.head.weight.grad.full_tensor())
    plain = copy.deepcopy(start)
    F.cross_entropy(plain(x), y).backward()
    for grad in run(program, 2):
        np.testing.assert_allclose(grad, numbers(plain.head.weight.grad), atol=5e-3)


def test_other_dimensions_and_modules_together():
    start = net()
    x, y = batch()
    plain = copy.deepcopy(start)
    F.cross_entropy(plain(x), y).backward()

    def program(rank):
        model = copy.deepcopy(start)
        ignored = {model.layers[0].norm.weight}
        fully_shard([model.layers[0], model.layers[1]], mesh=init_device_mesh("cpu", (2,)), ignored_params=ignored,
                    shard_placement_fn=lambda p: Shard(-1) if p.shape == (7, 6) else None)
        fully_shard(model)
        assert model.layers[0]._fsdp is model.layers[1]._fsdp and not isinstance(model.layers[0].norm.weight, DTensor)
        weight = model.layers[0].up.weight
        assert weight.placements == (Shard(1),) and weight.to_local().shape == (7, 3)
        F.cross_entropy(model(x[rank::2]), y[rank::2]).backward()
        return {name: numbers(p.grad.full_tensor()) for name, p in model.named_parameters()
                if isinstance(p, DTensor) and p.grad is not None}
    for found in run(program, 2):
        wanted = dict(plain.named_parameters())
        assert len(found) == 13
        for name, grad in found.items():
            np.testing.assert_allclose(grad, numbers(wanted[name].grad), rtol=1e-3, atol=1e-5, err_msg=name)


def test_shared_parameters_other_methods_and_prefetch():
    x, _ = batch()
    torch.manual_seed(1)
    start = net()
    start.layers[1].up.weight = start.layers[0].up.weight
    plain = copy.deepcopy(start)
    (plain(x).sum() + plain.features(x).sum()).backward()

    def program(rank):
        model = copy.deepcopy(start)
        fully_shard(model.layers[0].norm)
        fully_shard(model)
        register_fsdp_forward_method(model, "features")
        model.set_modules_to_forward_prefetch([model.layers[0].norm])
        model.set_modules_to_backward_prefetch([model.layers[0].norm])
        assert model.layers[0].up.weight is model.layers[1].up.weight
        (model(x).sum() + model.features(x).sum()).backward()
        assert model.layers[0].up.weight is model.layers[1].up.weight
        handle = model.unshard(async_op=True)
        handle.wait()
        assert model.head.weight.shape == (5, 6) and not isinstance(model.head.weight, DTensor)
        model.reshard()
        assert isinstance(model.head.weight, DTensor)
        return [numbers(p.grad.full_tensor()) for p in model.parameters() if p.grad is not None]
    for found in run(program, 2):
        close(found, [numbers(p.grad) for p in plain.parameters() if p.grad is not None])


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_with_checkpoints(use_reentrant):
    start = net()
    x, _ = batch()
    plain = copy.deepcopy(start)
    plain(x).square().sum().backward()

    def program(rank):
        model = shard(copy.deepcopy(start))
        h = x.clone().requires_grad_()
        for layer in model.layers:
            h = checkpoint(layer, h, use_reentrant=use_reentrant)
        model.unshard()
        model.head(h).square().sum().backward()
        return [numbers(p.grad.full_tensor()) for p in model.parameters() if p.grad is not None]
    for found in run(program, 2):
        close(found[:12], [numbers(p.grad) for p in plain.parameters() if p.grad is not None][:12])


def test_parts_of_a_model_and_frozen_parameters():
    start = net()
    x, y = batch()
    start.layers[0].requires_grad_(False)
    plain = copy.deepcopy(start)

    def program(rank):
        model = shard(copy.deepcopy(start))
        F.cross_entropy(model(x[rank::2], skip=rank * 0 + 1), y[rank::2]).backward()      # layer 0 does not take part
        F.cross_entropy(model(x[rank::2]), y[rank::2]).backward()
        model.set_gradient_divide_factor(1.0)
        return [None if p.grad is None else numbers(p.grad.full_tensor()) for p in model.parameters()]
    F.cross_entropy(plain(x, skip=1), y).backward()
    F.cross_entropy(plain(x), y).backward()
    for found in run(program, 2):
        for a, p in zip(found, plain.parameters()):
            assert (a is None) == (p.grad is None)
            if a is not None:
                np.testing.assert_allclose(a, numbers(p.grad), rtol=1e-3, atol=1e-5)


def test_sums_instead_of_means_and_input_gradients():
    start = net()
    x, _ = batch()
    h = x.clone().requires_grad_()
    plain = copy.deepcopy(start)
    plain(h).sum().backward()

    def program(rank):
        model = shard(copy.deepcopy(start))
        model.set_gradient_divide_factor(1.0)
        model.set_reshard_after_backward(False)
        part = x[rank::2].clone().requires_grad_()
        model(part).sum().backward()
        assert model._fsdp.group.is_full
        model.reshard()
        return numbers(part.grad), numbers(model.head.bias.grad.full_tensor())
    for rank, (found, bias) in enumerate(run(program, 2)):
        np.testing.assert_allclose(found, numbers(h.grad)[rank::2], rtol=1e-4)
        np.testing.assert_allclose(bias, numbers(plain.head.bias.grad), rtol=1e-4)


def test_states_are_loaded():
    start, other = net(), net()
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1)

    def program(rank):
        model, source = shard(copy.deepcopy(start)), shard(copy.deepcopy(other))
        model.load_state_dict(source.state_dict())
        model.to(torch.float64)
        assert model.head.weight.dtype is torch.float64 and model(batch()[0].double()).dtype is torch.float64
        model.reshard()
        return wholes(model)
    for found in run(program, 2):
        for a, p in zip(found, other.parameters()):
            np.testing.assert_allclose(a, numbers(p), rtol=1e-6)


def test_after_an_error():
    start = net()
    x, y = batch()

    def program(rank):
        model = shard(copy.deepcopy(start))
        with pytest.raises(RuntimeError):
            model(x[:, :3])
        model.reset_iter_state()
        assert all(isinstance(p, DTensor) for p in model.parameters())
        F.cross_entropy(model(x), y).backward()
        return numbers(model.head.weight.grad.full_tensor())
    plain = copy.deepcopy(start)
    F.cross_entropy(plain(x), y).backward()
    for found in run(program, 2):
        np.testing.assert_allclose(found, numbers(plain.head.weight.grad), rtol=1e-4, atol=1e-6)
    assert notes.running == 0


def test_refusals():
    def program(rank):
        model = shard(net())
        with pytest.raises(AssertionError, match="already been applied"):
            fully_shard(model)
        with pytest.raises(AssertionError, match="deepcopy"):
            copy.deepcopy(model)
        with pytest.raises(ValueError, match="containers"):
            fully_shard(nn.ModuleList([nn.Linear(2, 2)]))
        with pytest.raises(ValueError, match="1D or 2D DeviceMesh"):
            fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (1, 1, 2)))
        with pytest.raises(NotImplementedError, match="uneven sharding on dim 1"):
            fully_shard(nn.Linear(3, 2), shard_placement_fn=lambda p: Shard(1) if p.dim() > 1 else None)
        scalar = nn.Module()
        scalar.p = nn.Parameter(torch.tensor(1.0))
        with pytest.raises(ValueError, match="scalar parameters"):
            fully_shard(scalar)
        with pytest.raises(ValueError, match="Expects FSDPModule"):
            model.set_modules_to_forward_prefetch([nn.Linear(2, 2)])
        with pytest.raises(ValueError, match="should be a bool"):
            model.set_reshard_after_forward(2)
        with pytest.raises(NotImplementedError, match="takes a bool"):
            fully_shard(nn.Linear(2, 2), reshard_after_forward=2)
        assert isinstance(fully_shard(nn.Linear(2, 2), offload_policy=CPUOffloadPolicy()), FSDPModule)
        model.set_reshard_after_forward(False)
        model.set_unshard_in_backward(True)
    run(program, 2)
