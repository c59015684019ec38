"""Checkpoints of sharded models: they load on another number of ranks, sharded or not, and training goes on."""

import copy

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.distributed import checkpoint, init_device_mesh
from minitorch.distributed.checkpoint import state_dict as states
from minitorch.distributed.fsdp import fully_shard
from minitorch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from minitorch.nn.parallel import DistributedDataParallel
from tests.distributed.sharded_cases import close, numbers, run

torch.manual_seed(0)
START = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))      # threads share the random numbers


def net():
    return copy.deepcopy(START)


def sharded_net():
    model = net()
    fully_shard(model[0])
    return fully_shard(model)


def adam(model):
    return torch.optim.Adam(model.parameters(), 0.01, eps=1e-3)


def step(model, optimizer, steps=2, start=0):
    for i in range(start, start + steps):
        rng = np.random.default_rng(i)
        x, y = torch.tensor(rng.standard_normal((4, 5)).astype(np.float32)), torch.tensor(rng.integers(0, 3, 4))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def whole(x):
    return numbers(x.full_tensor() if isinstance(x, DTensor) else x).copy()


@pytest.fixture(scope="module")
def trained():
    """The parameters after two steps and after four, in one process."""
    model = net()
    optimizer = adam(model)
    step(model, optimizer)
    two = [numbers(p).copy() for p in model.state_dict().values()]
    step(model, optimizer, start=2)
    return two, [numbers(p) for p in model.state_dict().values()]


def save_and_load(path, save, load, writers, readers):
    if writers:
        run(save, writers)
    else:
        save(0)
    return run(load, readers) if readers else [load(0)]


@pytest.mark.parametrize("writers, readers", [(2, 3), (3, 1), (2, 0), (0, 2)])
def test_training_goes_on_on_another_number_of_ranks(tmp_path, trained, writers, readers):
    path = tmp_path / "checkpoint"

    def save(rank):
        model = sharded_net() if writers else net()
        optimizer = adam(model)
        step(model, optimizer)
        checkpoint.save({"model": model, "optimizer": optimizer, "step": 2}, checkpoint_id=path)

    def load(rank):
        model = sharded_net() if readers else net()
        optimizer = adam(model)
        state = {"model": model, "optimizer": optimizer, "step": 0}
        checkpoint.load(state, checkpoint_id=path)
        two = [whole(p) for p in model.state_dict().values()]
        step(model, optimizer, start=state["step"])
        return two, [whole(p) for p in model.state_dict().values()]
    for two, four in save_and_load(path, save, load, writers, readers):
        close(two, trained[0])
        close(four, trained[1])


class App:
    """The state of a program, as tutorials write it."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = states.get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer}

    def load_state_dict(self, state):
        states.set_state_dict(self.model, self.optimizer, model_state_dict=state["model"],
                              optim_state_dict=state["optim"])


@pytest.mark.parametrize("writers, readers", [(2, 3), (0, 2)])
@pytest.mark.parametrize("by_object", [True, False])
def test_states_by_name(tmp_path, trained, writers, readers, by_object):
    path = tmp_path / "checkpoint"

    def save(rank):
        model = sharded_net() if writers else net()
        optimizer = adam(model)
        step(model, optimizer)
        checkpoint.save({"app": App(model, optimizer)}, storage_writer=checkpoint.FileSystemWriter(path))

    def load(rank):
        model = sharded_net()
        optimizer = torch.optim.Adam([{"params": list(model.parameters())[::-1]}], 0.5, eps=1e-3)  # in another order
        app = App(model, optimizer)
        if by_object:
            checkpoint.load({"app": app}, storage_reader=checkpoint.FileSystemReader(path))
        else:
            state = {"app": app.state_dict()}
            checkpoint.load(state, checkpoint_id=path)
            app.load_state_dict(state["app"])
        assert optimizer.param_groups[0]["lr"] == 0.01
        assert all(isinstance(t, DTensor) for s in optimizer.state.values() for k, t in s.items() if k != "step")
        step(model, optimizer, start=2)
        return [whole(p) for p in model.state_dict().values()]
    for four in save_and_load(path, save, load, writers, readers):
        close(four, trained[1])


@pytest.mark.parametrize("places", [(Shard(0), Shard(1)), (Shard(1), Shard(1)), (Replicate(), Shard(0))])
def test_any_placement_into_any_other(tmp_path, places):
    x0 = torch.arange(35.0).reshape(5, 7)
    path = tmp_path / "checkpoint"

    def save(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        checkpoint.save({"x": distribute_tensor(x0, mesh, places)}, checkpoint_id=path)
        with pytest.raises(checkpoint.CheckpointException, match="Partial"):
            checkpoint.chunks_of(DTensor.from_local(x0, mesh, [Partial(), Replicate()]), None)

    def load(rank):
        mesh = init_device_mesh("cpu", (3,))
        found = []
        for place in (Shard(0), Shard(1), Replicate()):
            state = {"x": distribute_tensor(torch.zeros(5, 7), mesh, [place])}
            checkpoint.load(state, checkpoint_id=path)
            found.append(numbers(state["x"].full_tensor()))
        state = {"x": torch.zeros(5, 7, dtype=torch.float64)}
        checkpoint.load(state, checkpoint_id=path)
        with pytest.raises(checkpoint.CheckpointException, match=r"has shape \[2\]"):
            checkpoint.load({"x": distribute_tensor(torch.zeros(2), mesh, [Shard(0)])}, checkpoint_id=path)
        return [*found, numbers(state["x"])]
    run(save, 4)
    sizes = [p.stat().st_size for p in path.iterdir() if p.name.startswith("part")]
    assert len(sizes) == 4
    for found in run(load, 3):
        for x in found:
            np.testing.assert_array_equal(x, numbers(x0))


def test_full_states():
    def program(rank):
        model = sharded_net()
        optimizer = adam(model)
        step(model, optimizer)
        options = states.StateDictOptions(full_state_dict=True)
        full, optim = states.get_state_dict(model, optimizer, options=options)
        assert not any(isinstance(t, DTensor) for t in full.values()) and full["0.weight"].shape == (7, 5)
        assert optim["state"]["0.weight"]["exp_avg"].shape == (7, 5)
        alone = states.get_model_state_dict(
            model, options=states.StateDictOptions(full_state_dict=True, cpu_offload=True))
        assert bool(alone) == (rank == 0)
        other = sharded_net()
        with torch.no_grad():
            for p in other.parameters():
                p.zero_()
        twin = adam(other)
        options = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        keys = states.set_state_dict(other, twin, model_state_dict=full if rank == 0 else {},
                                     optim_state_dict=optim if rank == 0 else {}, options=options)
        assert not keys.missing_keys and not keys.unexpected_keys
        step(model, optimizer, start=2)
        step(other, twin, start=2)
        close([whole(p) for p in other.parameters()], [whole(p) for p in model.parameters()])
        with pytest.raises(ValueError, match="full_state_dict must be True"):
            states.get_model_state_dict(model, options=states.StateDictOptions(broadcast_from_rank0=True))
        with pytest.raises(RuntimeError, match="that the model lacks"):
            states.get_optimizer_state_dict(model, adam(net()))
        plain = DistributedDataParallel(net())
        assert list(states.get_model_state_dict(plain)) == list(full)
        plain.module[0].requires_grad_(False)
        assert "0.weight" not in states.get_model_state_dict(
            plain, options=states.StateDictOptions(ignore_frozen_params=True))
        assert list(states.get_model_state_dict(plain, submodules={plain.module[2]})) == ["2.weight", "2.bias"]
        dist.barrier()
    run(program, 2)


def test_a_place_is_needed():
    with pytest.raises(ValueError, match="needs a place"):
        checkpoint.save({})
