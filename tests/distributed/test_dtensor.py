"""DTensors: their values and gradients are those of one process, wherever they lie."""

import copy
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.backends.cpu.backend import cpu
from minitorch.core.registry import OPS
from minitorch.distributed import DeviceMesh, init_device_mesh
from minitorch.distributed import tensor as dt
from minitorch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from minitorch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from minitorch.distributed.tensor.rules import Call, cuts
from minitorch.distributed.tensor.sharded import Sharded
from minitorch.ops.dims import is_along
from minitorch.testing.strategies import Draw
from tests.distributed.sharded_cases import Case, close, numbers, run

few = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
R, S, P = Replicate, Shard, Partial


@pytest.mark.parametrize("name", OPS)
def test_every_definition(name):
    Case(OPS[name], 0).check(2)


@pytest.mark.parametrize("name", ["cross_entropy", "matmul", "linear", "reshape", "sum", "layer_norm", "embedding",
                                  "scaled_dot_product_attention", "total_norm", "einsum", "cat", "sum_to", "addmm",
                                  "slice"])
def test_uneven_parts(name):
    for seed in range(1, 6):
        Case(OPS[name], seed).check(3)


# ------------------------------------------------------------------ from one placement to another
@st.composite
def moves(draw):
    """A shape, the sizes of a mesh, and two placements of a tensor on it."""
    shape = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple))
    sizes = draw(st.sampled_from([(2,), (3,), (2, 2)]))
    place = st.sampled_from([R(), *[S(d) for d in range(len(shape))]])
    source = draw(st.tuples(*[st.one_of(place, st.just(P())) for _ in sizes]))
    return shape, sizes, source, draw(st.tuples(*[place for _ in sizes]))


@few
@given(moves())
def test_redistribution(case):
    shape, sizes, source, target = case
    whole = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    weights = torch.arange(float(whole.size)).reshape(shape)

    def program(rank):
        mesh = init_device_mesh("cpu", sizes)
        x = distribute_tensor(torch.tensor(whole), mesh, [R() if p == P() else p for p in source])
        for m, p in enumerate(source):                     # a sum: one of its terms is all of it
            if p == P():
                local = x.to_local() * float(mesh.get_coordinate()[m] == 0)
                x = DTensor.from_local(local, mesh, [*x.placements[:m], p, *x.placements[m + 1:]], shape=shape)
        x = x.detach().requires_grad_()
        assert x.placements == source and x.shape == shape
        y = x.redistribute(placements=target)
        assert y.placements == target and tuple(y.to_local().shape) == dt.placement_types.local_part(
            shape, mesh, target)[0]
        (y * distribute_tensor(weights, mesh, target)).sum().backward()
        return y.full_tensor().detach().numpy(), x.grad.full_tensor().numpy()
    for y, grad in run(program, int(np.prod(sizes))):
        np.testing.assert_array_equal(y, whole)
        np.testing.assert_array_equal(grad, weights.numpy())


@pytest.mark.parametrize("way", ["graph", "leaf", "array"])
def test_gradients_that_lie_differently_are_added_up(way):
    """Terms of one gradient: a part, a sum over ranks, a whole; the array that has been added to stays the same."""
    x0 = torch.arange(15.0).reshape(3, 5)
    terms = [lambda x: (x * x).sum(), lambda x: (x.sum(0) * x.sum(1).sum()).sum(), lambda x: x.sum()]

    def total(x):
        y = x * 1 if way == "graph" else x
        if way != "leaf":
            return sum([f(y) for f in terms]).backward()
        for f in terms:
            f(x).backward()
    plain = x0.clone().requires_grad_()
    total(plain)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        if way == "array":
            for a in (R(), S(0), S(1), P()):
                for b in (R(), S(0), S(1), P()):
                    x, y = [distribute_tensor(x0, mesh, [R()]) if p == P() else distribute_tensor(x0, mesh, [p])
                            for p in (a, b)]
                    x, y = [DTensor.from_local(t.to_local(), mesh, [p]) if p == P() else t for t, p in ((x, a), (y, b))]
                    before = x.array
                    before += y.array
                    assert x.placements == (a,)
                    np.testing.assert_array_equal(numbers(x.full_tensor()), numbers(x0) * sum(
                        [2 if p == P() else 1 for p in (a, b)]))
        found = []
        for place in (R(), S(0), S(1)):
            x = distribute_tensor(x0, mesh, [place]).requires_grad_()
            total(x)
            found.append(numbers(x.grad.full_tensor()))
        return found
    for found in run(program, 2):
        close(found, [numbers(plain.grad)] * 3)


def test_reductions_of_partial_tensors():
    def program(rank):
        mesh = init_device_mesh("cpu", (3,))
        local = torch.tensor([float(rank), -rank, 2.0])
        return {op: DTensor.from_local(local, mesh, [P(op)]).full_tensor().tolist()
                for op in ("sum", "avg", "max", "min", "product")}
    for found in run(program, 3):
        assert found == {"sum": [3, -3, 6], "avg": [1, -1, 2], "max": [2, 0, 2], "min": [0, -2, 2],
                         "product": [0, 0, 8]}
    with pytest.raises(ValueError, match="reduce_op must be"):
        P("median")


def test_cross_entropy_refuses_what_does_not_fit_in_the_words_of_plain_tensors():
    def errors(given):
        logits, target, other = [given(x) for x in (torch.zeros(4, 3), torch.arange(4) % 3,
                                                    torch.arange(5) % 3)]
        for args in ((logits, other), (logits, target.float()), (logits, target, logits[0, :2])):
            with pytest.raises((ValueError, RuntimeError)) as found:
                F.cross_entropy(*args)
            yield str(found.value)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        return list(errors(lambda x: distribute_tensor(x, mesh, [S(0)])))
    assert run(program, 2) == [list(errors(lambda x: x))] * 2


def test_from_local_and_back():
    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        local = torch.arange(4.0).reshape(2, 2).requires_grad_()
        x = DTensor.from_local(local, mesh, [S(-1)])
        assert x.shape == (2, 4) and x.placements == (S(1),)
        assert isinstance(x, DTensor) and not isinstance(local, DTensor)
        y = x.to_local()
        (y * (rank + 1)).sum().backward()
        uneven = DTensor.from_local(torch.zeros(3 - rank, 2), mesh, [S(0)], shape=(5, 2))
        assert uneven.full_tensor().shape == (5, 2)
        with pytest.raises(ValueError, match="has a part of shape"):
            DTensor.from_local(torch.zeros(2, 2), mesh, [S(0)], shape=(9, 2))
        whole = DTensor.from_local(torch.full((2,), float(rank)), mesh, run_check=True)
        assert whole.to_local().tolist() == [0, 0]
        # a whole tensor that each rank uses for its part of the loss: gradients are terms of a sum
        w = distribute_tensor(torch.ones(2), mesh).requires_grad_()
        (w.to_local(grad_placements=[P()]) * (rank + 1)).sum().backward()
        return local.grad.tolist(), w.grad.full_tensor().tolist()
    assert run(program, 2) == [([[1, 1], [1, 1]], [3, 3]), ([[2, 2], [2, 2]], [3, 3])]


def test_the_first_rank_counts():
    def program(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        mine = torch.arange(10.0).reshape(5, 2) + 100 * rank
        own = distribute_tensor(mine, mesh["b"], [S(0)], src_data_rank=None)
        return (distribute_tensor(mine, mesh, [S(0), S(1)]).full_tensor().tolist(),
                distribute_tensor(mine, mesh["b"], [S(0)], src_data_rank=1).full_tensor()[0, 0].item(),
                own.full_tensor()[-1, -1].item())
    plain = torch.arange(10.0).reshape(5, 2).tolist()
    assert run(program, 4) == [(plain, 100, 109), (plain, 100, 109), (plain, 300, 309), (plain, 300, 309)]


def test_tensors_of_data():
    def program(rank):
        mesh = init_device_mesh("cpu", (3,))
        with mesh:
            assert dt.ones(4, 5, placements=[S(0)]).full_tensor().tolist() == torch.ones(4, 5).tolist()
            assert dt.zeros((2, 3)).placements == (R(),) and dt.empty(3).shape == (3,)
            assert dt.full((2,), 7, dtype=torch.int64).full_tensor().tolist() == [7, 7]
            drawn = dt.rand(7, 2, placements=[S(0)]), dt.randn(7, requires_grad=True)
        assert drawn[1].requires_grad and drawn[1].is_leaf
        with pytest.raises(RuntimeError, match="No device mesh"):
            dt.ones(3)
        same = torch.zeros_like(drawn[0]), torch.ones_like(drawn[0]), drawn[0].clone()
        assert all(x.placements == (S(0),) and isinstance(x, DTensor) for x in same)
        dropped = F.dropout(dt.ones(1000, device_mesh=mesh, placements=[S(0)]), 0.5)
        return [x.full_tensor().tolist() for x in drawn], dropped.full_tensor().tolist(), drawn[1].to_local().tolist()
    found = run(program, 3)
    assert all(x[:2] == found[0][:2] for x in found) and all(x[2] == x[0][1] for x in found)
    rows = found[0][0][0]
    assert len({tuple(row) for row in rows}) == 7 and all(0 <= v < 1 for row in rows for v in row)
    assert set(found[0][1]) == {0, 2} and 350 < found[0][1].count(0) < 650


def test_as_a_tensor():
    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        start = torch.arange(12.0).reshape(4, 3)
        x = distribute_tensor(start, mesh, [S(0)])
        text = repr(x)
        assert text.startswith("DTensor(local_tensor=tensor([[") and text.endswith("placements=(Shard(dim=0),))")
        p = nn.Parameter(x)
        assert isinstance(p, DTensor) and isinstance(p, nn.Parameter) and repr(p).startswith("Parameter containing:")
        assert copy.deepcopy(p).placements == (S(0),) and p.detach().placements == (S(0),)
        assert x.to(torch.float64).full_tensor().dtype is torch.float64 and x.cpu() is x and x.device.type == "cpu"
        x[1] = 7                                           # in place, wherever the row lies
        x.add_(1).mul_(distribute_tensor(torch.tensor([1.0, 2, 3]), mesh))
        assert x._version >= 2
        start[1] = 7
        start.add_(1).mul_(torch.tensor([1.0, 2, 3]))
        assert x.full_tensor().tolist() == start.tolist() and x.placements == (S(0),)
        assert x.sum().item() == start.sum().item() and float(x.max()) == float(start.max())
        with pytest.raises(RuntimeError, match="got mixed torch.Tensor and DTensor"):
            x + start
        assert (x + torch.tensor(2.0)).full_tensor().tolist() == (start + 2).tolist()
        assert (torch.tensor(2.0) * x).full_tensor().tolist() == (start * 2).tolist()
        with pytest.raises(RuntimeError, match="full_tensor"):
            x.tolist()
        with pytest.raises(RuntimeError, match="view of a DTensor was brought"):
            x.transpose(0, 1).reshape(12).fill_(1)
        with pytest.raises(AttributeError, match="placements"):
            assert start.placements
        assert not hasattr(start, "full_tensor") and hasattr(x, "full_tensor")
        with pytest.raises(RuntimeError, match="pickle"):
            torch.save(x, "/nowhere")
        with pytest.raises(ValueError, match="same length"):
            distribute_tensor(start, mesh, [S(0), R()])
        with pytest.raises(ValueError, match="Sharding dim"):
            distribute_tensor(start, mesh, [S(2)])
        x[:, 1:].zero_()                                   # a view that lies as the tensor does is one
        return x.full_tensor()[:, 1:].abs().sum().item()
    assert run(program, 2) == [0, 0]


def test_gradients_of_gradients_and_hooks():
    x0, w0 = torch.randn(4, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)

    def second(x, w):
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        seen = []
        x.register_hook(lambda g: seen.append(tuple(g.shape)))
        first, = torch.autograd.grad(F.linear(x, w).tanh().sum(), x, create_graph=True)
        first.square().sum().backward()
        with torch.no_grad():
            assert not F.linear(x, w).requires_grad
        return [first, x.grad, w.grad], seen
    expected, _ = second(x0, w0)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        found, seen = second(distribute_tensor(x0, mesh, [S(0)]), distribute_tensor(w0, mesh, [S(1)]))
        return [t.full_tensor().detach().numpy() for t in found], seen
    for found, seen in run(program, 2):
        close(found, [t.detach().numpy() for t in expected])
        assert seen == [(4, 3), (4, 3)]


def test_bfloat16():
    x0 = torch.randn(6, 8).to(torch.bfloat16)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(x0, mesh, [S(1)]).requires_grad_()
        y = F.cross_entropy(x * 2, distribute_tensor(torch.arange(6), mesh))
        y.backward()
        assert y.dtype is torch.bfloat16 and x.grad.dtype is torch.bfloat16 and x.grad.placements == (S(1),)
        return y.item(), x.grad.full_tensor().float().numpy()
    x = x0.clone().requires_grad_()
    y = F.cross_entropy(x * 2, torch.arange(6))
    y.backward()
    for value, grad in run(program, 2):
        assert abs(value - y.item()) < 0.02
        np.testing.assert_allclose(grad, x.grad.float().numpy(), atol=4e-3)


# ------------------------------------------------------------------ layers
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(8), nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.out, self.up, self.down = nn.Linear(8, 8), nn.Linear(8, 12), nn.Linear(12, 8)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = [p(h).reshape(*h.shape[:2], -1, 4).transpose(1, 2) for p in self.qkv]
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        x = x + self.out(h.reshape(*h.shape[:2], -1))
        return x + self.down(F.gelu(self.up(x)))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.blocks = nn.Embedding(10, 8), nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 10)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


PLAN = {"embedding": RowwiseParallel(input_layouts=R()), "blocks.*.qkv.*": ColwiseParallel(),
        "blocks.*.out": RowwiseParallel(), "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel(),
        "head": ColwiseParallel(use_local_output=False)}


def train(model, tokens, targets, make=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), steps=3):
    optimizer, losses = make(model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        logits = model(tokens)
        wanted = distribute_tensor(targets, logits.device_mesh) if isinstance(logits, DTensor) else targets
        with loss_parallel():
            loss = F.cross_entropy(logits.flatten(0, 1), wanted)
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append([x.full_tensor().item() if isinstance(x, DTensor) else x.item() for x in (loss, norm)])
    return losses, [numbers(p.full_tensor() if isinstance(p, DTensor) else p) for p in model.parameters()], optimizer


@pytest.fixture(scope="module")
def transformer():
    torch.manual_seed(0)
    return Transformer(), torch.randint(0, 10, (4, 5)), torch.randint(0, 10, (20,))


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                                  lambda p: torch.optim.AdamW(p, 0.01, eps=1e-3)])
def test_tensor_parallel_training(transformer, make):
    start, tokens, targets = transformer
    losses, expected, _ = train(copy.deepcopy(start), tokens, targets, make)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = copy.deepcopy(start)
        parallelize_module(model, mesh, PLAN)
        for module in model.modules():                     # norms: whole, on DTensors between plain tensors
            if isinstance(module, nn.LayerNorm):
                parallelize_module(distribute_module(module, mesh), mesh, PrepareModuleInputOutput(
                    input_layouts=R(), desired_input_layouts=R(), output_layouts=R(), desired_output_layouts=R()))
        found, parameters, optimizer = train(model, tokens, targets, make)
        state = optimizer.state[model.blocks[0].up.weight]
        assert all(t.placements == (S(0),) for t in state.values() if t is not None and t.dim())
        return found, parameters, model.blocks[0].up.weight.to_local().shape
    for found, parameters, shape in run(program, 2):
        np.testing.assert_allclose(found, losses, rtol=1e-5)
        close(parameters, expected)
        assert shape == (6, 8)


def test_sequence_parallel(transformer):
    start, tokens, targets = transformer
    block = start.blocks[0]
    x0 = torch.randn(2, 6, 8)
    x = x0.clone().requires_grad_()
    reference = copy.deepcopy(block)
    out = F.dropout(reference.down(reference.up(reference.norm(x))), 0.0)
    out.square().sum().backward()

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        part = copy.deepcopy(block)
        parallelize_module(part, mesh, {
            "norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=S(1)),
            "down": RowwiseParallel(output_layouts=S(1), use_local_output=False)})
        x = x0[:, rank * 3:rank * 3 + 3].clone().requires_grad_()
        y = part.down(part.up(part.norm(x)))
        assert y.placements == (S(1),)
        y.square().sum().backward()
        assert part.norm.weight.grad.placements == (P(),)
        return [numbers(t) for t in (y.full_tensor(), x.grad, part.norm.weight.grad.full_tensor(),
                                     part.up.weight.grad.full_tensor(), part.down.bias.grad.full_tensor())]
    for rank, found in enumerate(run(program, 2)):
        close(found, [numbers(t) for t in (out, x.grad[:, rank * 3:rank * 3 + 3], reference.norm.weight.grad,
                                           reference.up.weight.grad, reference.down.bias.grad)])


def test_preparing_inputs_and_outputs():
    class Two(nn.Module):
        def forward(self, a, b, *, c=None):
            self.seen = [x.placements if isinstance(x, DTensor) else None for x in (a, b, c)]
            return a, b

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        module = Two()
        parallelize_module(module, mesh, PrepareModuleInput(
            input_layouts=(S(0), None), desired_input_layouts=(R(), None), input_kwarg_layouts={"c": S(0)},
            desired_input_kwarg_layouts={"c": S(1)}))
        parallelize_module(module, mesh, PrepareModuleOutput(output_layouts=(R(), None),
                                                             desired_output_layouts=(S(1), None)))
        a, b = module(torch.ones(2, 4), torch.ones(1), c=torch.ones(2, 4))
        assert module.seen == [(R(),), None, (S(1),)] and a.shape == (4, 2) and b.shape == (1,)
        with pytest.raises(NotImplementedError, match="nn.Linear and nn.Embedding"):
            parallelize_module(nn.ReLU(), mesh, ColwiseParallel())
        assert "input_layouts=(Replicate(),)" in repr(ColwiseParallel())
    run(program, 2)


def test_a_plan_that_finds_nothing():
    def program(rank):                                     # one rank: warnings are caught for all threads at once
        with pytest.warns(UserWarning, match="could not be resolved"):
            parallelize_module(nn.Sequential(nn.Linear(2, 2)), init_device_mesh("cpu", (1,)), {"5": ColwiseParallel()})
    run(program, 1)


def test_modules_are_replicated_by_default():
    start, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), torch.randn(6, 3)

    def program(rank):
        mesh = init_device_mesh("cpu", (2,))
        net, plain = copy.deepcopy(start), copy.deepcopy(start)

        def split(name, module, mesh):
            if isinstance(module, nn.Linear):
                module.register_parameter("weight", nn.Parameter(distribute_tensor(module.weight, mesh, [S(0)])))
        distribute_module(net, mesh, split, lambda m, inputs, mesh: distribute_tensor(inputs[0], mesh, [S(0)]),
                          lambda m, out, mesh: out.full_tensor())
        assert [p.placements[0] for p in net.parameters()] == [S(0), R(), R(), R()]
        y, expected = net(x), plain(x)
        (y * torch.arange(4.0)).sum().backward()
        (expected * torch.arange(4.0)).sum().backward()
        close([numbers(y), numbers(net[1].running_mean.full_tensor())],
              [numbers(expected), numbers(plain[1].running_mean)])
        close([numbers(p.grad.full_tensor()) for p in net.parameters()], [numbers(p.grad) for p in plain.parameters()])
        with pytest.raises(RuntimeError, match="only be called once"):
            distribute_module(net, mesh)
    run(program, 2)


def test_two_meshes_do_not_mix():
    def program(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        x, y = dt.ones(4, device_mesh=mesh["a"]), dt.ones(4, device_mesh=mesh["b"])
        with pytest.raises(RuntimeError, match="two meshes"):
            x + y
        same = dt.ones(4, device_mesh=mesh["a"], placements=[S(0)]) + x
        outside = None
        part = DeviceMesh("cpu", [0, 1])
        if rank > 1:
            with pytest.raises(RuntimeError, match="is not in"):
                dt.ones(2, device_mesh=part)
        return same.full_tensor().tolist(), outside
    assert run(program, 4) == [([2, 2, 2, 2], None)] * 4


@pytest.mark.parametrize("op", [op for op in OPS.values() if is_along(op)], ids=lambda op: op.name)
def test_ops_along_a_dimension_know_which_dimensions_stay(op):
    """Also those without an attribute `keepdim`: what is cut has the size that the rule says."""
    mesh = SimpleNamespace(size=lambda: 2, ndim=1)
    for seed in range(6):
        (x,), attrs = Draw(random.Random(seed)).op_sample(op)
        if x.ndim < 2:
            continue
        attrs = dict(op.attrs) | attrs
        fake = object.__new__(Sharded)
        fake.value, fake.shape, fake.ndim, fake.dtype = x, x.shape, x.ndim, x.dtype
        fake.placements, fake.kept = (), None
        found = getattr(cpu, op.name)(x, **attrs)
        for y in found if isinstance(found, tuple) else (found,):
            for _, out in cuts(Call(SimpleNamespace(mesh=mesh), op, [fake], attrs)):
                out = out[0] if isinstance(out, list) else out
                if isinstance(out, tuple):
                    cut, size = out
                    assert y.shape[cut.dim] == size, (op.name, attrs, x.shape)
