"""DTensors within other transformations, and those of DTensors, on two ranks: at all placements."""

import pytest

import minitorch as torch
from minitorch.distributed import init_device_mesh
from minitorch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from minitorch.func import grad, jvp, vmap
from tests.distributed.sharded_cases import run

PLACES = [Shard(0), Shard(1), Replicate(), Partial(), Partial("avg"), Partial("max")]
LOSSES = {
    "product": lambda x: (x @ x.mT).sum(),
    "mean": lambda x: x.exp().mean(0).sum(),
    "row": lambda x: x.softmax(1)[1:, ::2].square().sum(),
    "expand": lambda x: x[:, None].expand(-1, 2, -1).square().sum(),
    "diagonal": lambda x: x.diagonal().square().sum(),
    "unfold": lambda x: x.unfold(1, 2, 1).square().sum(),
    "parts": lambda x: x.split(2, 1)[1].square().sum() + x.unbind(1)[0].square().sum(),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0).square().sum(),
    "index": lambda x: x[torch.tensor([0, 0, 2])].square().sum(),
    "norm": lambda x: torch.nn.functional.layer_norm(x, (4,)).pow(3).sum(),
}


def here(rank, *shape):
    """Numbers that differ between ranks."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape).sin() + rank


def whole(x, placement):
    """The whole DTensor of these parts, by another placement, and this rank's part."""
    x = DTensor.from_local(x, placements=[placement])
    return x.redistribute(placements=[Shard(0)]).full_tensor(), x.to_local()


@pytest.mark.parametrize("placement", PLACES, ids=str)
def test_crossings_within_other_transformations(placement):
    def program(rank):
        with init_device_mesh("cpu", (2,)):
            rows, t = here(rank, 3, 2, 4), here(-rank, 2, 4)
            found = vmap(lambda x: whole(x, placement))(rows)
            for n, y in enumerate(zip(*[whole(x, placement) for x in rows])):
                assert torch.equal(found[n], torch.stack(y))
            both = vmap(vmap(lambda x: whole(x, placement)[0]), 1, 1)(here(rank, 2, 3, 2, 4))
            assert torch.equal(both[1, 2], whole(here(rank, 2, 3, 2, 4)[1, 2], placement)[0])
            if placement.is_partial("max"):
                with pytest.raises(NotImplementedError, match=r"forward AD .* Partial\(max\)"):
                    jvp(lambda x: whole(x, placement), (rows[0],), (t,))
                return
            for y, z in zip(jvp(lambda x: whole(x, placement), (rows[0],), (t,))[1],
                            whole(t, placement)):
                assert torch.equal(y, z)
            twice = grad(lambda x: jvp(lambda x: whole(x * x, placement)[0].sum(), (x,), (t,))[1])
            once = grad(lambda x: whole(2 * x * t, placement)[0].sum())
            assert torch.allclose(twice(rows[0]), once(rows[0]))
    run(program, 2)


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_of_a_dtensor(name):
    """Where the batch is cut, each rank computes its part of it."""
    loss, x = LOSSES[name], here(0, 4, 3, 4).double()

    def program(rank):
        with init_device_mesh("cpu", (2,)):
            for f in (loss, grad(loss)):
                wanted = torch.stack([f(row) for row in x])
                for placement in (Shard(0), Shard(1), Replicate()):
                    found = vmap(f)(distribute_tensor(x, placements=[placement]))
                    assert torch.allclose(found.full_tensor(), wanted)
                    if placement == Shard(0) and f is loss:
                        assert found.placements == (Shard(0),)
    run(program, 2)


def test_a_tensor_on_several_backends_is_a_dtensor():
    masked = pytest.importorskip("minitorch.masked")

    def program(rank):
        with init_device_mesh("cpu", (2,)) as mesh:
            seen = []

            def f(x):
                seen.append((isinstance(x, DTensor), x.device_mesh == mesh, x.placements))
                return x * 2.0
            x = distribute_tensor(torch.ones(2, 3), placements=[Shard(1)])
            jvp(f, (x,), (x,))
            f(masked.as_masked_tensor(x, x > 0))
            with pytest.raises(RuntimeError, match=r"vmap: to_local\(\) of a DTensor that is map"):
                vmap(lambda x: x.to_local())(x)
            assert seen == [(True, True, (Shard(1),))] * 2
    run(program, 2)
