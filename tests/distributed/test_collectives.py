"""Collectives, messages and groups, on ranks that are threads: every answer is compared with NumPy's."""

import sys
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import threads

few = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128")
Op = dist.ReduceOp


@st.composite
def cases(draw, least=1):
    """Ranks, dtype, shape, layout and a generator of values that all ranks share."""
    size = draw(st.integers(2, 8))
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    shape = draw(st.one_of(st.lists(st.integers(0, 5), max_size=3).map(tuple),
                           st.sampled_from([(0,), (1,), (7,), (1000,), (100_000,)])))
    return size, dtype, shape, draw(st.booleans()), draw(st.integers(0, 2**32 - 1))


def values(case, rank, extra=()):
    """The values of a rank, as float64, complex128 or integers that its dtype holds exactly."""
    _, dtype, shape, _, seed = case
    rng = np.random.default_rng([seed, rank])
    found = rng.integers(0 if not dtype.is_signed else -4, 5, (*extra, *shape))
    if dtype.is_complex:
        return found + 1j * rng.integers(-4, 5, found.shape)
    return found % 2 == 1 if dtype is torch.bool else found


def tensor(case, array):
    """A tensor of the case's dtype, contiguous or not."""
    made = torch.tensor(array.tolist(), dtype=case[1]).reshape(array.shape)
    if case[3] and made.dim() and made.numel():
        made = torch.stack([made, made], -1)[..., 0]
        assert not made.is_contiguous() or made.numel() == 1
    return made


def same(found, expected):
    if found.dtype in (torch.bfloat16, torch.float16):
        found = found.float()
    np.testing.assert_array_equal(found.numpy(), expected.astype(found.numpy().dtype))


def ranks(case, program):
    return threads.run(program, case[0], timeout=timedelta(seconds=90))


NUMPY = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum, "BAND": np.bitwise_and,
         "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}


@few
@given(cases(), st.sampled_from(sorted(NUMPY)), st.booleans())
def test_all_reduce_and_reduce(case, name, async_op):
    size, dtype, shape = case[:3]
    kind = np.dtype(dtype.np).kind
    if name[0] == "B" and kind not in "biu" or kind == "c" and name != "SUM" or kind in "iu" and name == "PRODUCT":
        name = "SUM"
    brought = [values(case, r) for r in range(size)]
    if name == "PRODUCT" and kind != "b":
        brought = [np.sign(b) for b in brought]
    expected = brought[0]
    for b in brought[1:]:
        expected = NUMPY[name](expected, b)
    if kind == "u":
        expected = expected.astype(dtype.np)

    def program(rank):
        x, y = tensor(case, brought[rank]), tensor(case, brought[rank])
        before = x._version
        work = dist.all_reduce(x, getattr(Op, name), async_op=async_op)
        assert (work is not None) == async_op
        if async_op:
            assert work.wait() and work.is_completed() and work.is_success() and work.result()[0] is x
        assert x._version == before + 1
        dist.reduce(y, size - 1, getattr(Op, name))
        return x, y
    for rank, (x, y) in enumerate(ranks(case, program)):
        same(x, expected)
        same(y, expected if rank == size - 1 else brought[rank])


@few
@given(cases(), st.integers(0, 7))
def test_broadcast_gather_scatter(case, root):
    size, root = case[0], root % case[0]
    brought = [values(case, r) for r in range(size)]

    def program(rank):
        x = tensor(case, brought[rank])
        dist.broadcast(x, root)
        all_ = [tensor(case, np.zeros_like(brought[0])) for _ in range(size)]
        dist.all_gather(all_, tensor(case, brought[rank]))
        some = [tensor(case, np.zeros_like(brought[0])) for _ in range(size)] if rank == root else None
        dist.gather(tensor(case, brought[rank]), some, dst=root)
        own = tensor(case, np.zeros_like(brought[0]))
        dist.scatter(own, [tensor(case, b) for b in brought] if rank == root else None, src=root)
        joined = torch.empty((size, *case[2]), dtype=case[1])
        dist.all_gather_into_tensor(joined, tensor(case, brought[rank]))
        return x, all_, some, own, joined
    for rank, (x, all_, some, own, joined) in enumerate(ranks(case, program)):
        same(x, brought[root])
        same(own, brought[rank])
        same(joined, np.stack(brought))
        for found in (all_, some) if rank == root else (all_,):
            for t, b in zip(found, brought):
                same(t, b)


@few
@given(cases())
def test_reduce_scatter_and_all_to_all(case):
    size = case[0]
    brought = [values(case, r, (size,)) for r in range(size)]
    total = sum(b.astype(int) for b in brought) > 0 if case[1] is torch.bool else sum(brought[1:], brought[0])

    def program(rank):
        out, flat = torch.empty(case[2], dtype=case[1]), torch.empty(case[2], dtype=case[1])
        parts = [tensor(case, b) for b in brought[rank]]
        dist.reduce_scatter(out, parts)
        dist.reduce_scatter_tensor(flat, tensor(case, brought[rank]))
        got = [torch.empty(case[2], dtype=case[1]) for _ in range(size)]
        dist.all_to_all(got, parts)
        single = torch.empty((size, *case[2]), dtype=case[1])
        dist.all_to_all_single(single, tensor(case, brought[rank]))
        return out, flat, got, single
    for rank, (out, flat, got, single) in enumerate(ranks(case, program)):
        expected = total[rank].astype(case[1].np) if np.dtype(case[1].np).kind == "u" else total[rank]
        same(out, expected)
        same(flat, expected)
        same(single, np.stack([b[rank] for b in brought]))
        for r, t in enumerate(got):
            same(t, brought[r][rank])


@few
@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from([1, 400_000]))
def test_all_to_all_of_different_sizes(size, seed, width):
    rows = np.random.default_rng(seed).integers(0, 4, (size, size))       # [from, to]

    def program(rank):
        x = torch.full((int(rows[rank].sum()), width), float(rank))
        out = torch.empty(int(rows[:, rank].sum()), width)
        dist.all_to_all_single(out, x, rows[:, rank].tolist(), rows[rank].tolist())
        return out[:, 0], bool((out == out[:, :1]).all())
    for rank, (found, equal) in enumerate(threads.run(program, size)):
        assert equal
        np.testing.assert_array_equal(found.numpy(), np.repeat(np.arange(size), rows[:, rank]))


def test_long_arrays_go_in_several_steps():
    n = 700_001                                            # float64: six slots

    def program(rank):
        x = torch.arange(n, dtype=torch.float64) + rank
        y = x.clone()
        dist.all_reduce(x)
        dist.broadcast(y, 2)
        z, mean = torch.empty(n // 3, dtype=torch.float64), torch.ones(n)
        dist.reduce_scatter_tensor(z, torch.arange(n // 3 * 3, dtype=torch.float64))
        dist.all_reduce(mean, Op.AVG)
        return x, y, z, bool((mean == 1).all())
    for rank, (x, y, z, ones) in enumerate(threads.run(program, 3)):
        np.testing.assert_array_equal(x.numpy(), 3 * np.arange(n) + 3.0)
        np.testing.assert_array_equal(y.numpy(), np.arange(n) + 2.0)
        np.testing.assert_array_equal(z.numpy(), 3.0 * np.arange(n // 3 * 3).reshape(3, -1)[rank])
        assert ones


def test_means_and_scaled_sums():
    def program(rank):
        half, whole = torch.full((3,), 0.1 * (rank + 1), dtype=torch.bfloat16), torch.tensor([rank * -3, 5, -1])
        dist.all_reduce(half, Op.AVG)
        dist.all_reduce(whole, Op.AVG)
        scaled, single = torch.tensor([1.5]), torch.tensor([3])
        dist.all_reduce(scaled, dist._make_nccl_premul_sum(2.0))
        dist.all_reduce(single, Op.PRODUCT)
        return half.tolist(), whole.tolist(), scaled.item(), single.item()
    exact = torch.tensor(np.mean([torch.tensor(0.1 * i, dtype=torch.bfloat16).item() for i in (1, 2, 3)])).bfloat16()
    assert threads.run(program, 3) == [([exact.item()] * 3, [-3, 5, -1], 9.0, 27)] * 3


# ---- messages ----------------------------------------------------------------------------------------------
@few
@given(cases(), st.booleans())
def test_messages_around_a_ring(case, batch):
    size = case[0]

    def program(rank):
        x, y = tensor(case, values(case, rank)), torch.empty(case[2], dtype=case[1])
        right, left = (rank + 1) % size, (rank - 1) % size
        if batch:
            works = dist.batch_isend_irecv([dist.P2POp(dist.irecv, y, left), dist.P2POp(dist.isend, x, right)])
        else:
            works = [dist.isend(x, right), dist.irecv(y, left)]
        assert all(work.wait() for work in works)
        return y
    for rank, y in enumerate(ranks(case, program)):
        same(y, values(case, (rank - 1) % size))


def test_tags_choose_and_order_is_kept():
    def program(rank):
        if rank == 0:
            for value, tag in ((1, 0), (2, 7), (3, 0), (4, 7)):
                dist.send(torch.tensor([value]), 1, tag=tag)
            dist.send(torch.arange(300_000), 1, tag=2)
            return None
        found = []
        for tag in (7, 0, 7, 0):
            x = torch.empty(1, dtype=torch.long)
            assert dist.recv(x, 0, tag=tag) == 0
            found.append(x.item())
        big = torch.empty(300_000, dtype=torch.long)
        dist.recv(big, 0, tag=2)
        return found, bool((big == torch.arange(300_000)).all())
    assert threads.run(program, 2)[1] == ([2, 1, 4, 3], True)


def test_anyone_may_send():
    def program(rank):
        if rank:
            dist.send(torch.tensor([rank * 10]), 0)
            return None
        x, found = torch.empty(1, dtype=torch.long), {}
        for _ in range(3):
            source = dist.recv(x)
            found[source] = x.item()
        return found
    assert threads.run(program, 4)[0] == {1: 10, 2: 20, 3: 30}


def test_objects():
    def program(rank):
        everything, mine, some = [None] * 3, [None], [None] * 3 if rank == 1 else None
        dist.all_gather_object(everything, {"rank": rank, "text": "x" * 1000 * rank})
        objects = [rank, "from"] if rank == 2 else [None, None]
        dist.broadcast_object_list(objects, src=2)
        dist.scatter_object_list(mine, [[0], [1, 1], [2] * 900] if rank == 0 else None, src=0)
        dist.gather_object(rank * 2, some, dst=1)
        if rank == 0:
            dist.send_object_list(["hello", 5], 1)
        if rank == 1:
            received = [None, None]
            assert dist.recv_object_list(received, 0) == 0 and received == ["hello", 5]
        return [len(x["text"]) for x in everything], objects, len(mine[0]), some
    found = threads.run(program, 3)
    assert [x[:3] for x in found] == [([0, 1000, 2000], [2, "from"], n) for n in (1, 2, 900)]
    assert found[1][3] == [0, 2, 4] and found[0][3] is None


# ---- groups ------------------------------------------------------------------------------------------------
@few
@given(st.integers(2, 6), st.data())
def test_groups(size, data):
    lists = data.draw(st.lists(st.sets(st.integers(0, size - 1), min_size=1), min_size=1, max_size=3))

    def program(rank):
        found = []
        for members in lists:
            group = dist.new_group(list(members))
            if rank not in members:
                assert group is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(group) == -1
                found.append(None)
                continue
            x = torch.tensor([float(2 ** rank)])
            dist.all_reduce(x, group=group)
            root = max(members)
            y = torch.tensor([rank])
            dist.broadcast(y, root, group=group)
            place = dist.get_rank(group)
            assert sorted(members)[place] == rank == dist.get_global_rank(group, place)
            assert dist.get_group_rank(group, rank) == place and dist.get_world_size(group) == len(members)
            found.append((x.item(), y.item(), dist.get_process_group_ranks(group)))
            dist.destroy_process_group(group)
        return found
    for rank, found in enumerate(threads.run(program, size)):
        assert found == [(sum(2.0 ** r for r in m), max(m), sorted(m)) if rank in m else None for m in lists]


def test_groups_of_neighbours_and_meshes():
    def program(rank):
        mine, every = dist.new_subgroups(2)
        part = dist.split_group(split_ranks=[[0, 2], [1, 3]])
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
        x = torch.tensor([rank])
        dist.all_reduce(x, group=mesh.get_group("rows"))
        y = torch.tensor([rank])
        dist.all_reduce(y, group=mesh["columns"].get_group())
        assert mesh.get_coordinate() == [rank // 2, rank % 2] and mesh.get_local_rank("rows") == rank // 2
        assert mesh.mesh.tolist() == [[0, 1], [2, 3]] and mesh["rows"].size() == 2 and len(every) == 2
        return dist.get_process_group_ranks(mine), part.ranks, x.item(), y.item()
    assert threads.run(program, 4) == [([0, 1], [0, 2], 2, 1), ([0, 1], [1, 3], 4, 1), ([2, 3], [0, 2], 2, 5),
                                       ([2, 3], [1, 3], 4, 5)]


def test_many_calls_under_way_keep_their_order():
    def program(rank):
        xs = [torch.full((1000,), float(i + rank)) for i in range(50)]
        works = [dist.all_reduce(x, async_op=True) for x in xs]
        last = torch.tensor([1.0])
        dist.all_reduce(last)                              # not before those that are under way
        assert all(work.is_completed() for work in works)
        following = works[3].get_future().then(lambda future: future.value()[0][0].item())
        return [x[-1].item() for x in xs], last.item(), following.wait()
    assert threads.run(program, 4) == [([4.0 * i + 6 for i in range(50)], 4.0, 18.0)] * 4


def test_views_and_subclasses_are_written_in_place():
    class Mine(torch.Tensor):
        pass

    def program(rank):
        base = torch.zeros(4, 3)
        column, rows = base[:, 1], base.t()
        column += rank + 1.0
        dist.all_reduce(column)
        dist.all_reduce(rows)
        mine, parameter = torch.ones(2).as_subclass(Mine), torch.nn.Parameter(torch.ones(2))
        dist.all_reduce(mine)
        with torch.no_grad():
            dist.broadcast(parameter.add_(rank), 1)
        return base.tolist(), mine.tolist(), parameter.tolist(), parameter.is_leaf
    assert threads.run(program, 2) == [([[0.0, 6.0, 0.0]] * 4, [2.0, 2.0], [2.0, 2.0], True)] * 2


def test_a_read_inside_of_a_graph_is_noticed():
    """The write of a collective counts: a value saved for the backward pass may not change."""
    def program(rank):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = (y * y).sum()
        dist.all_reduce(y.detach())
        with pytest.raises(RuntimeError, match="all_reduce"):
            z.backward()
    threads.run(program, 2)


def test_the_package_is_not_imported_with_minitorch():
    import subprocess
    code = "import sys, minitorch; print([m for m in sys.modules if 'distributed' in m or 'multiprocessing' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
