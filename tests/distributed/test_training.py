"""DistributedDataParallel, SyncBatchNorm and what belongs to them, on ranks that are threads.

The measure is one process with the batch of all ranks: its gradients, its parameters after some steps.
"""

import copy
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.distributed as dist
import minitorch.distributed.optim
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.distributed import planning, threads
from minitorch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from minitorch.distributed.nn import functional as through
from minitorch.distributed.reducer import buckets_of
from minitorch.nn.parallel import DistributedDataParallel as DDP

few = settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def run(program, size):
    return threads.run(program, size, timeout=timedelta(seconds=90))


def net(norm=None):
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 8), nn.Tanh(), nn.Linear(8, 3)]
    if norm is not None:
        layers.insert(1, norm(4))
    return nn.Sequential(*layers)


def batch(n, seed=0):
    rng = np.random.default_rng(seed)
    return (torch.from_numpy(rng.standard_normal((n, 2, 4, 4)).astype(np.float32)),
            torch.from_numpy(rng.integers(0, 3, n)))


def close(found, expected, tolerance=1e-5):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def one_process(model, steps, make=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), size=8):
    model = copy.deepcopy(model)
    optimizer = make(model.parameters())
    for step in range(steps):
        x, y = batch(size, step)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model


@pytest.mark.parametrize("options", [{}, {"bucket_cap_mb": 1e-4}, {"gradient_as_bucket_view": True},
                                     {"find_unused_parameters": True}, {"static_graph": True},
                                     {"static_graph": True, "bucket_cap_mb": 1e-3, "gradient_as_bucket_view": True}])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_as_one_process_with_the_whole_batch(options, set_to_none):
    start = net()
    expected = one_process(start, 4)

    def program(rank):
        model = copy.deepcopy(start)
        if rank:
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(rank)                           # rank 0's count
        model = DDP(model, **options)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for step in range(4):
            x, y = batch(8, step)
            optimizer.zero_grad(set_to_none=set_to_none)
            F.cross_entropy(model(x[rank::4]), y[rank::4]).backward()
            optimizer.step()
        assert all(name.startswith("module.") for name in model.state_dict())
        return list(model.module.parameters())
    found = run(program, 4)
    for parameters in found:
        close(parameters, list(expected.parameters()))
        for a, b in zip(parameters, found[0]):
            assert (a.detach().numpy() == b.detach().numpy()).all()          # bit for bit


@few
@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(1, 80), st.integers(1, 200))
def test_buckets(sizes, first, most):
    params = [nn.Parameter(torch.empty(n, dtype=torch.float32 if n % 3 else torch.float64)) for n in sizes]
    found = buckets_of(params, first, most)
    order = [p for bucket in found for p in bucket.params]
    assert sorted(map(id, order)) == sorted(map(id, params))
    for bucket in found:
        assert len({p.dtype for p in bucket.params}) == 1 and bucket.slices[-1][1] == bucket.size
        assert [b - a for a, b in bucket.slices] == [p.numel() for p in bucket.params]
        assert sum(p.nbytes for p in bucket.params[:-1]) < max(first, most)


def test_gradients_are_added_up_without_sync():
    start = net()
    x, y = batch(12)
    expected = copy.deepcopy(start)
    for part in range(3):
        F.cross_entropy(expected(x[part * 4:part * 4 + 4]), y[part * 4:part * 4 + 4]).backward()

    def program(rank):
        model = DDP(copy.deepcopy(start), bucket_cap_mb=1e-3)

        def backward(part):
            rows = slice(part * 4 + rank * 2, part * 4 + rank * 2 + 2)
            F.cross_entropy(model(x[rows]), y[rows]).backward()
        with model.no_sync():
            backward(0)
            backward(1)
        local = [p.grad.clone() for p in model.parameters()]
        backward(2)
        return local, [p.grad for p in model.parameters()]
    (local0, found0), (local1, found1) = run(program, 2)
    assert not np.allclose(local0[0].numpy(), local1[0].numpy())
    for found in (found0, found1):
        close(found, [p.grad for p in expected.parameters()])


class Branches(nn.Module):
    """Uses one of its branches, or both."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.never = nn.Linear(3, 2), nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x, which):
        return {"a": self.a(x) if "a" in which else None, "b": [self.b(x)] if "b" in which else None}


def loss_of(output):
    return sum(t.square().sum() for t in (output["a"], *(output["b"] or [None])) if t is not None)


@pytest.mark.parametrize("which", [("a", "a"), ("a", "b"), ("ab", "b"), ("ab", "ab")])
def test_unused_parameters_count_as_zeros(which):
    torch.manual_seed(1)
    start, x = Branches(), torch.randn(4, 3)
    expected = copy.deepcopy(start)
    for rank in range(2):
        (loss_of(expected(x[rank::2], which[rank])) / 2).backward()

    def program(rank):
        model = DDP(copy.deepcopy(start), find_unused_parameters=True)
        for _ in range(2):                                 # nothing is left over from the first
            model.zero_grad()
            loss_of(model(x[rank::2], which[rank])).backward()
        return [p.grad for p in model.parameters()]
    for found in run(program, 2):
        for g, p in zip(found, expected.parameters()):
            assert (g is None) == (p.grad is None)
            if g is not None:
                close([g], [p.grad])


def test_an_output_that_the_loss_does_not_use():
    start, x = Branches(), torch.ones(2, 3)

    def program(rank):
        model = DDP(copy.deepcopy(start), find_unused_parameters=True)
        for _ in range(3):
            model(x, "ab")["a"].sum().backward()
        return model.module.a.bias.grad.tolist(), model.module.b.bias.grad
    assert run(program, 2) == [([6.0, 6.0], None)] * 2


def test_unused_parameters_are_named():
    start, x = Branches(), torch.ones(2, 3)

    def program(rank):
        model = DDP(copy.deepcopy(start))
        loss_of(model(x, "b")).backward()
        with pytest.raises(RuntimeError, match=r"did not receive a gradient on rank \d: a.bias, a.weight, never.bias, "
                                               r"never.weight\. .*find_unused_parameters=True"):
            model(x, "b")
        dist.barrier()
    run(program, 2)


def test_two_backward_passes_of_one_forward():
    def program(rank):
        model = DDP(nn.Linear(3, 2), bucket_cap_mb=1e-6)
        out = model(torch.ones(2, 3))
        out.sum().backward(retain_graph=True)
        with model.no_sync():
            out.sum().backward()                           # after the reduction: added, not averaged, as in PyTorch
        branches = DDP(Branches())
        one = branches(torch.ones(2, 3), "ab")
        one["a"].sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match=r"ready only once: the parameter 'a\.\w+'"):
            one["a"].sum().backward()
        dist.barrier()
    run(program, 2)


def test_a_bucket_that_fails_while_the_pass_goes_on_fails_the_pass():
    def program(rank):
        model = DDP(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2)), bucket_cap_mb=1e-6)
        transport = model.process_group.transport

        def fails(array, op):
            del transport.all_reduce                       # the next buckets go well
            raise MemoryError("of the first bucket")
        transport.all_reduce = fails
        with pytest.raises(MemoryError, match="of the first bucket"):
            model(torch.ones(1, 3)).sum().backward()
    run(program, 1)


def test_buffers_come_from_rank_0():
    def program(rank):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        model[1].running_mean.fill_(rank)
        model = DDP(model)
        start = model.module[1].running_mean.tolist()
        for _ in range(2):
            model(torch.randn(4, 2) + 10 * rank).sum().backward()
        model(torch.zeros(4, 2))
        model.eval()
        own = DDP(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), broadcast_buffers=False)
        own.module[1].running_mean.fill_(rank)
        own(torch.zeros(4, 2))
        return start, model.module[1].num_batches_tracked.item(), own.module[1].running_mean[0].item() > 0.5
    assert [(a, b) for a, b, _ in run(program, 3)] == [([0.0, 0.0], 3)] * 3


def test_buffers_in_evaluation():
    """As in PyTorch: a pass in evaluation gives all ranks the buffers of rank 0, if gradients were averaged before."""
    def program(rank):
        parts = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        parts[1].running_mean.fill_(rank)
        models = DDP(copy.deepcopy(parts)), DDP(copy.deepcopy(parts), broadcast_buffers=False), DDP(
            copy.deepcopy(parts), forward_sync_buffers=False)
        begin = [m.module[1].running_mean[0].item() for m in models]
        found = []
        for model in models:
            model.module[1].running_mean.fill_(rank + 5)
            model.eval()
            with torch.no_grad():
                model(torch.zeros(4, 2))
                model.module[1].running_var.fill_(rank)
                model(torch.zeros(4, 2))
            found.append((model.module[1].running_mean[0].item(), model.module[1].running_var[0].item()))
        return begin, found
    for rank, found in enumerate(run(program, 2)):
        assert found == ([0.0, rank, 0.0], [(5.0, rank), (rank + 5, rank), (rank + 5, rank)])


def test_wrong_models():
    def program(rank):
        with pytest.raises(RuntimeError, match="doesn't have any parameters that require a gradient"):
            DDP(nn.ReLU())
        with pytest.raises(RuntimeError, match=r"rank 1 has \('weight', \(2, 4\), 'float32'\) where rank 0 has "
                                               r"\('weight', \(2, 3\)"):
            DDP(nn.Linear(3 + rank, 2))
        with pytest.raises(RuntimeError, match="uninitialized parameters"):
            with pytest.warns(UserWarning, match="Lazy modules"):
                DDP(nn.LazyLinear(3))
        with pytest.raises(ValueError, match="single element"):
            DDP(nn.Linear(1, 1), device_ids=[0, 1])
        model = DDP(nn.Linear(1, 1))
        with pytest.raises(TypeError, match="callable"):
            model.register_comm_hook(None, 3)
        model.register_comm_hook(None, lambda state, bucket: 5)
        with pytest.raises(TypeError, match="returns a Future"):
            model(torch.ones(1, 1)).sum().backward()
    run(program, 2)
    with pytest.raises(ValueError, match="init_process_group"):
        DDP(nn.Linear(1, 1))


# ---- communication hooks -----------------------------------------------------------------------------------
@pytest.mark.parametrize("hook, tolerance", [
    (default_hooks.allreduce_hook, 1e-6), (default_hooks.fp16_compress_hook, 2e-3),
    (default_hooks.bf16_compress_hook, 2e-2),
    (default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2)])
def test_communication_hooks(hook, tolerance):
    start, (x, y) = net(), batch(8)
    expected = copy.deepcopy(start)
    F.cross_entropy(expected(x), y).backward()
    seen = []

    def program(rank):
        model = DDP(copy.deepcopy(start), bucket_cap_mb=5e-4)

        def noted(state, bucket):
            seen.append((bucket.index(), bucket.is_last(), [tuple(g.shape) for g in bucket.gradients()]))
            assert sum(p.numel() for p in bucket.parameters()) == bucket.buffer().numel()
            return hook(state, bucket)
        model.register_comm_hook(None, noted)
        F.cross_entropy(model(x[rank::2]), y[rank::2]).backward()
        return [p.grad for p in model.parameters()]
    for found in run(program, 2):
        close(found, [p.grad for p in expected.parameters()], tolerance)
    numbers = [i for i, _, _ in seen]
    assert max(numbers) > 0 and sorted(numbers) == sorted(2 * list(range(max(numbers) + 1)))
    assert {i for i, last, _ in seen if last} == {max(numbers)}


@pytest.mark.parametrize("hook", [powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook])
def test_power_sgd(hook):
    """A gradient of rank 1 is sent exactly; an other one arrives over several steps, by error feedback."""
    torch.manual_seed(2)
    start = nn.Linear(24, 20, bias=False)
    constant = [torch.randn(20, 24) for _ in range(2)]
    mean = (constant[0] + constant[1]) / 2

    def program(rank):
        model = DDP(copy.deepcopy(start))
        state = powerSGD_hook.PowerSGDState(matrix_approximation_rank=2, start_powerSGD_iter=2)
        model.register_comm_hook(state, hook)
        total, found = torch.zeros(20, 24), []
        for _ in range(60):
            model.zero_grad()
            model(torch.ones(1, 24))                       # the gradient is what we say
            (model.module.weight * constant[rank]).sum().backward()
            found.append(model.module.weight.grad.clone())
            total += found[-1]
        return found[0], total / 60, state.compression_stats()
    for first, average, (rate, before, sent) in run(program, 2):
        close([first], [mean])
        assert float((average - mean).norm() / mean.norm()) < 0.25
        assert rate > 2 and before == 58 * 480 and sent < before / 2
    with pytest.raises(ValueError, match="start_powerSGD_iter"):
        powerSGD_hook.PowerSGDState(start_powerSGD_iter=1)


# ---- batches of different number ---------------------------------------------------------------------------
@pytest.mark.parametrize("by_all", [True, False])
def test_join(by_all):
    start, steps = net(nn.BatchNorm2d), [4, 2, 3]

    def program(rank):
        model = DDP(copy.deepcopy(start), bucket_cap_mb=1e-3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with model.join(divide_by_initial_world_size=by_all):
            for step in range(steps[rank]):
                x, y = batch(2, 10 * step + rank)
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        return list(model.parameters()), model.module[1].num_batches_tracked.item()

    expected = copy.deepcopy(start)
    optimizer = torch.optim.SGD(expected.parameters(), 0.1)
    for step in range(4):
        active = [r for r in range(3) if step < steps[r]]
        optimizer.zero_grad()
        for r in active:
            x, y = batch(2, 10 * step + r)
            (F.cross_entropy(expected(x), y) / (3 if by_all else len(active))).backward()
        optimizer.step()
    found = run(program, 3)
    for parameters, _ in found:
        close(parameters, list(expected.parameters()), 1e-4)
    assert len({count for _, count in found}) == 1


def test_join_can_end_all():
    def program(rank):
        model = DDP(nn.Linear(2, 1))
        with pytest.raises(RuntimeError, match="Rank 0 exhausted all inputs" if rank == 0 else "exhausted inputs"):
            with model.join(throw_on_early_termination=True):
                for _ in range(1 + rank):
                    model(torch.ones(1, 2)).sum().backward()
    run(program, 2)


# ---- layers over all ranks, derivatives of collectives ------------------------------------------------------
@pytest.mark.parametrize("momentum", [0.1, None])
def test_sync_batch_norm(momentum):
    start, (x, _) = nn.BatchNorm2d(2, momentum=momentum), batch(7)
    expected, whole = copy.deepcopy(start), x.clone().requires_grad_()
    weights = torch.from_numpy(np.random.default_rng(3).standard_normal((7, 2, 4, 4)).astype(np.float32))
    rows = [slice(0, 4), slice(4, 5), slice(5, 7)]
    for _ in range(2):
        out = expected(whole)
    (out * weights).sum().backward()

    def program(rank):
        model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(copy.deepcopy(start)))
        assert isinstance(model[0], nn.SyncBatchNorm)
        part = x[rows[rank]].clone().requires_grad_()
        for _ in range(2):
            found = model(part)
        (found * weights[rows[rank]]).sum().backward()
        dist.all_reduce(model[0].weight.grad)
        return found, part.grad, model[0].running_mean, model[0].running_var, model[0].weight.grad
    for rank, (found, grad, mean, var, weight) in enumerate(run(program, 3)):
        close([found, grad, mean, var, weight], [out[rows[rank]], whole.grad[rows[rank]], expected.running_mean,
                                                 expected.running_var, expected.weight.grad], 1e-4)
    alone = nn.SyncBatchNorm(2)
    close([alone(x)], [nn.BatchNorm2d(2)(x)])


@few
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_derivatives_of_collectives(size, seed):
    """The derivative of the sum of all ranks' losses, by finite differences in float64."""
    rng = np.random.default_rng(seed)
    xs, weights = rng.standard_normal((2, size, size, 3))
    direction = rng.standard_normal((size, size, 3))

    def loss(rank, x):
        w = torch.from_numpy(weights[rank].copy())
        y = through.all_reduce(x * w).sin() + through.broadcast(x, size - 1) * w
        y = y + torch.stack(through.all_gather(x[0])) * w + through.all_reduce(x, dist.ReduceOp.AVG).exp()
        z = through.reduce_scatter(x[0], list(y.cos())) * through.reduce(x, 0).sum()
        z = z + torch.cat(through.all_to_all([x[0]] * size, list(x * x))).sum() + through.scatter(list(x.sin()), 1)
        parts = through.gather(x.square(), 0)
        return (z * w[0]).sum() + (torch.stack(parts) * w).sum() + (through.all_to_all_single(x, x) * w * w).sum()

    def program(rank):
        x = torch.from_numpy(xs[rank].copy()).requires_grad_()
        loss(rank, x).backward()
        sides = []
        for sign in (1, -1):
            with torch.no_grad():
                sides.append(loss(rank, torch.from_numpy(xs[rank] + sign * 1e-5 * direction[rank])).item())
        return (x.grad.numpy() * direction[rank]).sum(), (sides[0] - sides[1]) / 2e-5
    found = np.array(threads.run(program, size)).sum(0)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


def test_a_sampler_knows_its_rank():
    def program(rank):
        return list(torch.utils.data.DistributedSampler(range(10), shuffle=False))
    assert run(program, 3) == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]


# ---- optimisers and checkpoints of several ranks -------------------------------------------------------------
@pytest.mark.parametrize("make", [lambda p, c=torch.optim.Adam: (c, dict(lr=0.01, weight_decay=0.1)),
                                  lambda p, c=torch.optim.SGD: (c, dict(lr=0.1, momentum=0.9))])
def test_zero_redundancy(make):
    start = net()
    optimizer_class, options = make(None)
    expected = one_process(start, 6, lambda p: optimizer_class(p, **options))

    def program(rank, size, saved=None, steps=range(3)):
        model = DDP(copy.deepcopy(start))
        groups = [{"params": list(model.parameters())[:2]}, {"params": list(model.parameters())[2:]}]
        optimizer = dist.optim.ZeroRedundancyOptimizer(groups, optimizer_class, **options)
        if saved:
            model.module.load_state_dict(saved[0])
            optimizer.load_state_dict(saved[1])
        for step in steps:
            x, y = batch(8, step)
            optimizer.zero_grad()
            F.cross_entropy(model(x[rank::size]), y[rank::size]).backward()
            optimizer.step()
        optimizer.consolidate_state_dict(to=1)
        if rank != 1:
            with pytest.raises(RuntimeError, match="has not been consolidated on this rank"):
                optimizer.state_dict()
        whole = optimizer.state_dict() if rank == 1 else None
        return len(optimizer.state), copy.deepcopy(model.module.state_dict()), whole
    found = run(lambda rank: program(rank, 2), 2)
    assert sum(n for n, _, _ in found) == 6 and all(n < 6 for n, _, _ in found)
    saved = found[1][1:]
    plain = optimizer_class(copy.deepcopy(start).parameters(), **options)
    plain.add_param_group({"params": [nn.Parameter(torch.ones(1))]})
    assert sorted(saved[1]["state"]) == list(range(6)) and len(saved[1]["param_groups"]) == 2
    for _, state, _ in run(lambda rank: program(rank, 4, saved, range(3, 6)), 4):       # on another number of ranks
        close(list(state.values()), list(expected.state_dict().values()), 1e-4)


@pytest.mark.parametrize("writers, readers", [(2, 3), (3, 1), (1, 2)])
def test_checkpoints_load_on_another_number_of_ranks(tmp_path, writers, readers):
    from minitorch.distributed import checkpoint
    model = net(nn.BatchNorm2d)
    optimizer = torch.optim.Adam(model.parameters())
    x, y = batch(8)
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    state = {"model": model, "optimizer": optimizer, "epoch": 3, "more": [torch.tensor(2.5), (1, "a")],
             "half": torch.arange(5).bfloat16(), "empty": torch.empty(0, 2)}
    path = tmp_path / "checkpoint"

    def write(rank):
        for _ in range(2):                                 # the second takes the place of the first
            checkpoint.save(state, checkpoint_id=path)
    run(write, writers)
    assert {p.name for p in tmp_path.iterdir()} == {"checkpoint"} and len(list(path.iterdir())) == writers + 1

    def read(rank):
        other = net(nn.BatchNorm2d)
        with torch.no_grad():
            [p.zero_() for p in other.parameters()]
        found = {"model": other, "optimizer": torch.optim.Adam(other.parameters()), "epoch": 0,
                 "more": [torch.zeros(()), None], "half": torch.zeros(5).bfloat16(), "empty": torch.empty(0, 2)}
        checkpoint.load(found, checkpoint_id=path)
        with pytest.raises(checkpoint.CheckpointException, match="has no 'model.nothing'"):
            checkpoint.load({"model": {"nothing": torch.ones(1)}}, checkpoint_id=path)
        with pytest.raises(checkpoint.CheckpointException, match=r"'half' has shape \[3\], in the checkpoint \[5\]"):
            checkpoint.load({"half": torch.ones(3)}, checkpoint_id=path)
        return found
    for found in run(read, readers):
        close(list(found["model"].state_dict().values()), list(model.state_dict().values()), 0)
        assert found["epoch"] == 3 and found["more"][0].item() == 2.5 and found["more"][1] == (1, "a")
        assert found["half"].tolist() == [0, 1, 2, 3, 4]
        a, b = found["optimizer"].state_dict(), optimizer.state_dict()
        assert a["param_groups"] == b["param_groups"]
        for i in b["state"]:
            close(list(a["state"][i].values()), list(b["state"][i].values()), 0)
    with pytest.raises(checkpoint.CheckpointException, match="there is no checkpoint in"):
        checkpoint.load({}, checkpoint_id=tmp_path / "none")


# ---- the model of more ranks -----------------------------------------------------------------------------------
def test_costs_of_calls():
    link = dist.Link(1e-3, 1e6)
    assert planning.ring(4, 4e6, link) == pytest.approx(2 * 3 * (1e-3 + 1))
    assert planning.cost("all_reduce", 4, 1024, link) == pytest.approx(20 * (1e-3 + 4e-6))      # the tree
    assert planning.cost("all_reduce", 4e6, 1, link) == 0 and planning.cost("barrier", 0, 5, link) == 6e-3
    assert planning.cost("isend", 1e6, 8, link) == pytest.approx(1.001)
    assert planning.hierarchical(8, 8e6, link, 8, dist.Link(0, 1e9)) == pytest.approx(14 * 1e-3)


def test_calls_are_hidden_behind_computation():
    calls = [planning.Call(1.0, "all_reduce", [("all_reduce", 1_000_000)], True),
             planning.Call(0.5, "all_reduce", [("all_reduce", 1_000_000)], False)]
    found = planning.Plan(calls, 0.25, dist.Link(0, 1e6), 1, 0.0)
    assert found.seconds(1) == found.compute == 1.75
    assert found.communication(2) == 2.0 and found.seconds(2) == 1.0 + 1.0 + 1.0 + 0.25       # half of one is hidden
    slow = planning.Plan(calls, 0.25, dist.Link(0, 1e6), 1, 0.1)
    assert slow.seconds(4) < slow.seconds(64) and slow.seconds(1) == pytest.approx(1.75, rel=0.05)
    assert found.table((1, 2)).splitlines()[3] == "| 2 | 3250.00 ms | 2000.00 ms | 25% | 54% |"


def test_a_plan_of_a_training_step():
    start, (x, y) = net(), batch(8)

    def program(rank):
        model = DDP(copy.deepcopy(start), bucket_cap_mb=1e-3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step():
            optimizer.zero_grad()
            F.cross_entropy(model(x[rank::2]), y[rank::2]).backward()
            optimizer.step()
        with pytest.raises(ValueError, match="there is no link 'wire'"):
            dist.plan(step, link="wire")
        assert dist.plan(step, ranks=8) > 0
        return dist.plan(step)
    for found in run(program, 2):
        assert sum(c.size for c in found.calls if c.name == "all_reduce") == sum(p.nbytes for p in start.parameters())
        assert found.calls[0].asynchronous and not found.calls[-1].asynchronous
        assert found.seconds(4096) > found.seconds(2) > found.compute and "| 4,096 |" in str(found)


def test_a_group_of_some_ranks_trains_alone():
    from minitorch import distributed as dist
    from minitorch.distributed import threads
    from minitorch.nn.parallel import DistributedDataParallel

    def program(rank):
        groups = [dist.new_group([0]), dist.new_group([1, 2])]
        model = nn.Linear(1, 1, bias=False)
        model = DistributedDataParallel(model, process_group=groups[rank > 0])
        with torch.no_grad():
            model.module.weight.fill_(1.0)
        model(torch.full((1, 1), float(rank))).sum().backward()
        return model.module.weight.grad.item()
    assert threads.run(program, 3) == [0.0, 1.5, 1.5]

    def meshes(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        DistributedDataParallel(nn.Linear(1, 1), device_mesh=mesh)
        with pytest.raises(RuntimeError, match="both process_group and device_mesh"):
            DistributedDataParallel(nn.Linear(1, 1), device_mesh=mesh, process_group=mesh.get_group())
    threads.run(meshes, 2)


def test_the_output_of_a_parallel_model_is_written_to():
    def program(rank):
        model = DDP(torch.nn.Linear(2, 1))
        out = model(torch.ones(3, 2))
        out.mul_(rank + 1)
        out.sum().backward()
        return model.module.weight.grad.tolist()

    assert threads.run(program, 2, timeout=timedelta(seconds=20)) == [[[4.5, 4.5]]] * 2
