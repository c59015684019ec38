"""Compiled functions with ranks, sparse and nested tensors, traces, profiles and distributions."""

import copy

import pytest

import minitorch as torch
import minitorch.distributed as dist
import minitorch.distributions as d
from minitorch import fx, nn
from minitorch.distributed import init_device_mesh, threads
from minitorch.distributed.fsdp import fully_shard
from minitorch.distributed.tensor import Shard as S
from minitorch.distributed.tensor import distribute_tensor
from minitorch.profiler import profile
from tests.distributed.sharded_cases import close, numbers, run
from tests.fx.test_fx import PROGRAMS
from tests.nested.test_nested import two
from tests.profiler.test_profiler import counts
from tests.sparse.test_sparse import close as close_to
from tests.sparse.test_sparse import small

Op = dist.ReduceOp


# ---- ranks -------------------------------------------------------------------------------------
def test_inside_of_a_compiled_function():
    """A collective ends the recording: the function goes on as an ordinary one, with the right values."""
    def program(rank):
        @torch.compile
        def step(x):
            y = x * 2
            dist.all_reduce(y, Op.AVG)
            return y + 1
        return [step(torch.full((3,), float(n))).tolist() for n in range(4)]
    assert threads.run(program, 1) == [[[2.0 * n + 1] * 3 for n in range(4)]]


def test_compiled_functions_run_eagerly_while_there_are_dtensors():
    start = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    product = torch.compile(lambda x, w: (x @ w).relu().sum(0))

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        x, w = torch.arange(6.0).reshape(2, 3), torch.ones(3, 2)
        found = [product(distribute_tensor(x + i, mesh, [S(0)]), distribute_tensor(w, mesh)).full_tensor().tolist()
                 for i in range(3)]
        model = fully_shard(copy.deepcopy(start))
        torch.compile(model)(x).sum().backward()
        with pytest.raises(RuntimeError, match="DTensors"):
            torch.compile(lambda x: x * 2, fullgraph=True)(distribute_tensor(x, mesh))
        return found, numbers(model[0].weight.grad.full_tensor())
    start(torch.arange(6.0).reshape(2, 3)).sum().backward()
    for found, grad in run(program, 2):
        assert found == [[15.0 + 6 * i] * 2 for i in range(3)]
        close([grad], [numbers(start[0].weight.grad)])
    assert "runs eagerly: there are DTensors" in product.notes[0]


# ---- tensors of other kinds --------------------------------------------------------------------
def test_sparse_tensors():
    s, d = small(), torch.rand(3, 2)
    with torch.no_grad():
        for function in (lambda x: (s @ x).relu(), lambda x: torch.sparse.mm(s, x).relu()):
            compiled = torch.compile(function)
            for x in (d, -d, d, 2 * d):
                close_to(compiled(x), (s.to_dense() @ x).relu())
        of_sparse = torch.compile(lambda s, x: s @ x)
        close_to(of_sparse(s, d), s @ d)
        close_to(of_sparse(s * 2, d), 2 * (s @ d))


def test_nested_tensors():
    nt, layer = two(), nn.Linear(4, 3)
    compiled = torch.compile(lambda x: layer(x).relu().sum(1))
    torch.testing.assert_close(compiled(nt), compiled(nt))


# ---- traces and profiles -----------------------------------------------------------------------
def test_traced_programs():
    net, (x,) = PROGRAMS["net"]
    compiled = torch.compile(fx.symbolic_trace(net))
    assert all(torch.allclose(compiled(x), net(x)) for _ in range(3))


def test_compiled_functions_are_one_event():
    @torch.compile
    def work(x):
        return (x * 2).exp().sum()

    x = torch.ones(5, requires_grad=True)
    work(x).backward()
    with profile() as prof:
        work(x).backward()
    found = counts(prof)
    assert found["compiled work"] == 1 and found["CompiledBackward0"] == 1 and "exp" not in found


def test_compiling_within_a_profile():
    x = torch.ones(5, requires_grad=True)
    with profile() as prof:
        work = torch.compile(lambda x: (x * 3).exp().sum())
        first, second = work(x), work(x)
        second.backward()
    torch.testing.assert_close(first, second)
    torch.testing.assert_close(x.grad, 3 * (x * 3).exp().detach())
    assert len(prof.events()) >= 1 and torch.ones(2).exp().shape == (2,)


# ---- distributions -----------------------------------------------------------------------------
def test_steps_that_draw():
    def step(logits, scale):
        policy = d.Categorical(logits=logits, validate_args=False)
        noise = d.Gamma(scale, 2.0, validate_args=False)
        action = policy.sample()
        return (policy.log_prob(action) * noise.rsample()).sum() + d.kl_divergence(
            d.Normal(scale, 1.0, validate_args=False), d.Normal(0.0, scale, validate_args=False)).sum()
    compiled = torch.compile(step)
    for seed in range(4):
        found = []
        for function in (step, compiled):
            torch.manual_seed(seed)
            logits, scale = torch.rand(3, 4, requires_grad=True), torch.rand(3).add(0.5).requires_grad_()
            loss = function(logits, scale)
            loss.backward()
            found.append((loss.detach(), logits.grad, scale.grad))
        for a, b in zip(*found):
            torch.testing.assert_close(a, b)

