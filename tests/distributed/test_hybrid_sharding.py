"""fully_shard on two dimensions of a mesh (copies of shards), and on tensor parallelism: training of one process."""

import copy

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.distributed import checkpoint, init_device_mesh
from minitorch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from minitorch.distributed.tensor import (
    DTensor,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from minitorch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInputOutput,
    RowwiseParallel,
    parallelize_module,
)
from minitorch.distributed.tensor.placement_types import _StridedShard, local_part
from tests.distributed.sharded_cases import close, numbers, run
from tests.distributed.test_dtensor import PLAN, Transformer
from tests.distributed.test_fsdp import OPTIMIZERS, batch, net, shard, train, wholes

R, S = Replicate, Shard
NAMES = ("replicate", "shard")


@pytest.mark.parametrize("make, sizes", [("adam", (2, 2)), ("sgd", (1, 2)), ("adam", (2, 1))])
def test_copies_of_shards(make, sizes):
    start, make = net(), OPTIMIZERS[make]
    plain = copy.deepcopy(start)
    norms, _ = train(plain, make=make, parts=2)
    ranks = sizes[0] * sizes[1]

    def program(rank):
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=NAMES)
        model = shard(copy.deepcopy(start), mesh=mesh)
        assert {p.placements for p in model.parameters()} == {(R(), S(0))}
        found, optimizer = train(model, slice(rank, None, ranks), make, parts=2)
        assert model.head.weight.grad.placements == (R(), S(0))
        state = optimizer.state[model.head.weight]
        assert all(t.placements == (R(), S(0)) for t in state.values() if t is not None and t.dim())
        return found, wholes(model)
    for found, parameters in run(program, ranks):
        np.testing.assert_allclose(found, norms, rtol=1e-4)
        close(parameters, [numbers(p) for p in plain.parameters()])


def test_copies_average_their_gradients_when_they_are_asked_to():
    start = net()
    plain = copy.deepcopy(start)
    for i in range(2):
        x, y = batch(i)
        F.cross_entropy(plain(x), y).backward()

    def program(rank):
        model = shard(copy.deepcopy(start), mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=NAMES))
        for i in range(2):
            model.set_requires_all_reduce(i == 1)
            x, y = batch(i)
            F.cross_entropy(model(x[rank::4]), y[rank::4]).backward()
            assert (model.head.weight.grad is None) == (i == 0)
        return [numbers(p.grad.full_tensor()) for p in model.parameters() if p.grad is not None]
    for found in run(program, 4):
        close(found, [numbers(p.grad) for p in plain.parameters() if p.grad is not None])


# ------------------------------------------------------------------ on tensor parallelism
def split(model, mesh):
    """Tensor parallelism along `mesh`; norms are whole, on DTensors between plain tensors."""
    parallelize_module(model, mesh, PLAN)
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            parallelize_module(distribute_module(module, mesh), mesh, PrepareModuleInputOutput(
                input_layouts=R(), desired_input_layouts=R(), output_layouts=R(), desired_output_layouts=R()))
    return model


def steps(model, tokens, targets, make, count=3):
    optimizer, norms = make(model.parameters()), []
    for _ in range(count):
        optimizer.zero_grad()
        logits = model(tokens).flatten(0, 1)
        wanted = distribute_tensor(targets, logits.device_mesh) if isinstance(logits, DTensor) else targets
        F.cross_entropy(logits, wanted).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        norms.append((norm.full_tensor() if isinstance(norm, DTensor) else norm).item())
        optimizer.step()
    return norms, optimizer


@pytest.fixture(scope="module")
def transformer():
    torch.manual_seed(0)
    return Transformer(), torch.randint(0, 10, (8, 5)), torch.randint(0, 10, (8, 5))


@pytest.mark.parametrize("make, sizes, names", [("adam", (2, 2), ("dp", "tp")),
                                                ("sgd", (2, 1, 2), ("replicate", "shard", "tp"))])
def test_parameters_that_are_split_already(transformer, make, sizes, names, tmp_path):
    start, tokens, targets = transformer
    make, plain = OPTIMIZERS[make], copy.deepcopy(start)
    norms, _ = steps(plain, tokens, targets.flatten(), make)

    def program(rank):
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=names)
        data = mesh[names[:-1]] if len(names) > 2 else mesh["dp"]
        model = split(copy.deepcopy(start), mesh["tp"])
        for block in model.blocks:
            fully_shard(block, mesh=data)
        fully_shard(model, mesh=data)
        copies = (R(),) * (len(sizes) - 2)
        assert model.blocks[0].up.weight.placements == (*copies, _StridedShard(0, split_factor=2), S(0))
        assert model.blocks[0].down.weight.placements == (*copies, S(0), S(1))
        assert model.norm.weight.placements == (*copies, S(0), R())
        np.testing.assert_array_equal(numbers(model.blocks[0].up.weight.full_tensor()),
                                      numbers(start.blocks[0].up.weight))
        half = slice(rank // 2, None, 2)
        found, optimizer = steps(model, tokens[half], targets[half].flatten(), make)
        p = model.blocks[0].up.weight
        assert all(t.placements == p.placements for t in optimizer.state[p].values() if t is not None and t.dim())
        state = {"model": model, "optimizer": optimizer}
        checkpoint.save(state, checkpoint_id=tmp_path / "saved")
        before = wholes(model)
        with torch.no_grad():
            for p in model.parameters():
                p.zero_()
        checkpoint.load(state, checkpoint_id=tmp_path / "saved")
        return found, before, wholes(model)
    for found, parameters, loaded in run(program, 4):
        np.testing.assert_allclose(found, norms, rtol=1e-4)
        close(parameters, [numbers(p) for p in plain.parameters()])
        close(loaded, parameters)
    one = {"model": copy.deepcopy(start), "optimizer": make(plain.parameters())}
    checkpoint.load({"model": one["model"]}, checkpoint_id=tmp_path / "saved")          # on one process, unsharded
    close([numbers(p) for p in one["model"].parameters()], parameters)


def test_memory_is_let_go_of_and_gathered_again(transformer):
    start, tokens, _ = transformer

    def program(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        layer = nn.Sequential(nn.Linear(8, 6), nn.Linear(6, 8))
        layer.load_state_dict({k: torch.ones_like(v) for k, v in layer.state_dict().items()})
        parallelize_module(layer, mesh["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
        fully_shard(layer, mesh=mesh["dp"], reshard_after_forward=True,
                    mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
        x = torch.ones(2, 8, requires_grad=True)
        y = layer(x)
        assert y.dtype is torch.bfloat16 and not layer._fsdp.group.is_full
        y.sum().backward()
        assert layer[0].weight.grad.dtype is torch.float32 and not layer._fsdp.group.is_full
        return [numbers(t.full_tensor()) for t in (layer[0].weight.grad, layer[1].bias.grad)] + [numbers(x.grad)]
    for found in run(program, 4):
        close(found, [np.full((6, 8), 16.0, np.float32), np.full(8, 2.0, np.float32), np.full((2, 8), 48, np.float32)])


@pytest.mark.parametrize("shape", [(8, 2), (5, 3), (7, 1), (2, 2)])
def test_what_is_cut_last_stands_first(shape):
    whole = torch.arange(float(np.prod(shape))).reshape(shape)

    def program(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        places = (_StridedShard(0, split_factor=2), S(0))
        x = distribute_tensor(whole, mesh, places)
        coordinate = mesh.get_coordinate()
        step = -(-shape[0] // 2)
        rows = whole[coordinate[1] * step:(coordinate[1] + 1) * step]
        step = -(-rows.shape[0] // 2)
        assert x.to_local().tolist() == rows[coordinate[0] * step:(coordinate[0] + 1) * step].tolist()
        assert tuple(x.to_local().shape) == local_part(shape, mesh, places)[0]
        y = (x * 2 + 1).tanh()
        assert y.placements == places
        back = y.redistribute(placements=(S(0), S(1))).redistribute(placements=places)
        x.mul_(x)
        return [numbers(t.full_tensor()) for t in (y, back, x, y.sum(0), x @ x.T)], repr(places[0])
    y = (whole * 2 + 1).tanh()
    for found, text in run(program, 4):
        close(found, [numbers(t) for t in (y, y, whole * whole, y.sum(0), (whole * whole) @ (whole * whole).T)])
        assert text == "_StridedShard(dim=0, sf=2)"


def test_refusals():
    def program(rank):
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))
        layer = parallelize_module(nn.Linear(2, 2), mesh["tp"], ColwiseParallel())
        with pytest.raises(RuntimeError, match="derived from different"):
            fully_shard(layer, mesh=init_device_mesh("cpu", (2,)))
        with pytest.raises(AssertionError, match="mesh_dim_names"):
            fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (1, 2)))
    run(program, 2)
