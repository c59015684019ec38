"""Collectives, messages, groups and stores, on ranks that are threads: every answer is compared with NumPy's."""

import re
import sys
import threading
import time
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import threads
from minitorch.distributed.record import calls
from minitorch.distributed.world import current_world

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
    """What a rank brings along, as float64, complex128 or integers that its dtype holds exactly."""
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
    return threads.run(program, case[0], timeout=timedelta(seconds=20))


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


# ---- errors ------------------------------------------------------------------------------------------------
def test_before_and_after_there_is_a_group():
    with pytest.raises(ValueError, match="has not been initialized, please make sure to call init_process_group"):
        dist.all_reduce(torch.ones(2))
    with pytest.raises(ValueError, match="Unknown backend type foo"):
        dist.init_process_group("foo")
    with pytest.raises(ValueError, match="MASTER_ADDR"):
        dist.init_process_group("gloo", rank=0, world_size=1)
    with pytest.raises(RuntimeError, match="No rendezvous handler for foo://"):
        dist.init_process_group("gloo", init_method="foo://x", rank=0, world_size=1)
    with pytest.raises(ValueError, match="rank parameter missing"):
        dist.init_process_group("gloo", init_method="tcp://localhost:1")
    with pytest.raises(TypeError, match="timedelta"):
        dist.init_process_group("gloo", timeout=3)
    assert not dist.is_initialized() and dist.is_available()
    with pytest.raises(AssertionError):
        dist.destroy_process_group()


x3, x4 = torch.ones(3), torch.ones(4)
WRONG = [
    (lambda: dist.all_reduce(3), TypeError, "Expected parameter `tensor` of type torch.Tensor"),
    (lambda: dist.all_reduce([x3]), TypeError, "got <class 'list'>"),
    (lambda: dist.all_reduce(x3, "sum"), TypeError, "ReduceOp.SUM"),
    (lambda: dist.all_reduce(x3, Op.BAND), RuntimeError, "Cannot use ReduceOp.BAND with non-integral dtype"),
    (lambda: dist.all_reduce(x3 + 0j, Op.MAX), ValueError, "does not support RedOpType.MAX on complex tensors"),
    (lambda: dist.all_gather([x4], x3), RuntimeError, r"expected \(3,\), got \(4,\)"),
    (lambda: dist.all_gather([x3] * 2, x3), RuntimeError, "expected length 1, as the group's, got 2"),
    (lambda: dist.all_gather([x3.double()], x3), ValueError, "different dtypes"),
    (lambda: dist.all_gather_into_tensor(x4, x3), RuntimeError, "expected 1 x 3 elements, got 4"),
    (lambda: dist.broadcast(x3), ValueError, "Must specify global_rank or group_rank"),
    (lambda: dist.broadcast(x3, 5), ValueError, "rank 5 is not part of group"),
    (lambda: dist.gather(x3), ValueError, "``gather_list`` must be specified on destination rank"),
    (lambda: dist.scatter(x3, None, src=0), ValueError, "``scatter_list`` must be specified on source rank"),
    (lambda: dist.scatter(x3, [x3, x3], src=0), RuntimeError, "expected length 1"),
    (lambda: dist.reduce_scatter(x3, [x3, x3]), RuntimeError, "expected length 1"),
    (lambda: dist.reduce_scatter_tensor(x3, x4), RuntimeError, "expected 1 x 3, got 4"),
    (lambda: dist.all_to_all([x3], [x3, x3]), RuntimeError, "expected length 1"),
    (lambda: dist.all_to_all_single(x3, x3, [2], [3]), RuntimeError, "Split sizes doesn't match total dim 0 size"),
    (lambda: dist.send(x3, 0), ValueError, "should not be the same as the rank of the current process"),
    (lambda: dist.new_group([0, 1]), ValueError, "less or equal to the world size"),
    (lambda: dist.new_group([]), ValueError, "cannot be empty"),
    (lambda: dist.batch_isend_irecv([]), ValueError, "P2POp"),
    (lambda: dist.P2POp(3, x3, 0), ValueError, "torch.distributed.isend"),
    (lambda: dist.get_group_rank(dist.group.WORLD, 4), ValueError, "Global rank 4 is not part of group"),
    (lambda: dist.init_process_group("gloo"), ValueError, "twice"),
    (lambda: dist.DeviceMesh("cpu", [[0, 1]]), RuntimeError, "bigger than default world size 1"),
]


def test_wrong_arguments():
    def program(rank):
        for call, error, text in WRONG:
            with pytest.raises(error, match=text):
                call()
        dist.all_reduce(x3)                                # nothing is broken by them
        assert dist.all_reduce(x3, group=dist.GroupMember.NON_GROUP_MEMBER) is None
        return x3.tolist(), dist.get_backend(), repr(Op.SUM)
    with pytest.warns(UserWarning, match="does not belong to the given group"):
        assert threads.run(program, 1) == [([1.0] * 3, "threaded", "<RedOpType.SUM: 0>")]


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


# ---- faults: named by rank, call and line on every rank ----------------------------------------------------
def messages_of(program, size=4, seconds=20.0):
    """What each rank was told; an error if they hang."""
    told: list = [None] * size

    def noted(rank):
        try:
            program(rank)
        except BaseException as error:
            told[rank] = f"{type(error).__name__}: {error}"
            raise
    begin = time.monotonic()
    with pytest.raises((RuntimeError, KeyError)):
        threads.run(noted, size, timeout=timedelta(seconds=seconds))
    assert time.monotonic() - begin < 5
    return told


HERE = r"\(test_distributed\.py:\d+\)"


def test_another_collective_is_named():
    def program(rank):
        dist.barrier()
        if rank == 1:
            dist.broadcast(torch.zeros(500), 0)
        else:
            dist.all_reduce(torch.zeros(1000))
    for text in messages_of(program):
        assert re.fullmatch(
            rf"DistBackendError: rank 1 is in broadcast #2 float32 \[500\] from 0 {HERE}; ranks 0, 2 and 3 wait in "
            rf"all_reduce #2 float32 \[1000\] sum {HERE}", text)


@pytest.mark.parametrize("of_rank_2", [torch.zeros(5), torch.zeros(4, dtype=torch.float64)])
def test_another_shape_or_dtype_is_named(of_rank_2):
    def program(rank):
        dist.all_reduce(of_rank_2.clone() if rank == 2 else torch.zeros(4))
    for text in messages_of(program, 3):
        assert "rank 2 is in all_reduce #1 " + of_rank_2.dtype.name in text
        assert "ranks 0 and 1 wait in all_reduce #1 float32 [4] sum" in text


def test_an_exception_is_named():
    def program(rank):
        dist.barrier()
        if rank == 1:
            raise KeyError("no such column")
        dist.all_reduce(torch.zeros(3))
    told = messages_of(program)
    assert told[1] == "KeyError: 'no such column'"
    for rank in (0, 2, 3):
        assert "rank 1 failed: KeyError: 'no such column' (test_distributed.py:" in told[rank]
        assert "wait in all_reduce #2 float32 [3] sum" in told[rank] or "waits in" in told[rank]


def test_a_rank_that_ends_is_named():
    def program(rank):
        dist.barrier()
        if rank:
            dist.all_reduce(torch.zeros(3))
    told = messages_of(program, 3)
    assert told[0] is None and all("rank 0 has ended after barrier #1 (test_distributed.py:" in t for t in told[1:])


def test_a_rank_that_sleeps_is_named_with_its_line():
    def program(rank):
        dist.barrier()
        if rank == 3:
            time.sleep(1.8)                                # here it is
        dist.all_reduce(torch.zeros(3))
    told = messages_of(program, seconds=1.0)
    for text in told:
        assert "rank 3 has not called #2 for 1" in text and "(time.sleep(1.8)                                #" in text
        assert "ranks 0, 1 and 2 wait in all_reduce #2 float32 [3] sum (test_distributed.py:" in text


def test_two_ranks_that_wait_for_each_other_are_named():
    def program(rank):
        dist.recv(torch.zeros(3), 1 - rank)
    for text in messages_of(program, 2, seconds=1.0):
        assert "rank 0 waits in recv float32 [3] from 1" in text and "rank 1 waits in recv float32 [3] from 0" in text


def test_a_message_of_another_size_is_named():
    def program(rank):
        if rank:
            dist.send(torch.zeros(4), 0)
            dist.barrier()
        else:
            dist.recv(torch.zeros(3), 1)
    for text in messages_of(program, 2):
        assert "rank 0 expects a message of 12 bytes from rank 1, which has sent 16 bytes" in text


def test_an_asynchronous_call_that_fails_says_so_when_waited_for():
    def program(rank):
        work = dist.all_reduce(torch.zeros(3 + rank), async_op=True)
        with pytest.raises(dist.DistBackendError, match="all_reduce #1 float32"):
            work.wait()
        assert work.is_completed() and not work.is_success() and isinstance(work.exception(), dist.DistBackendError)
        with pytest.raises(dist.DistBackendError, match="all_reduce #1"):      # the group is of no use any more
            dist.barrier()
    threads.run(program, 2)


def test_the_record():
    def program(rank):
        for n in range(70):
            dist.all_reduce(torch.zeros(n))
        return calls(current_world().record)
    found = threads.run(program, 2)[1]
    assert len(found) == 64 and found[-1][:2] == (70, "all_reduce float32 [69] sum")
    assert found[0][0] == 7 and found[0][2].startswith("test_distributed.py:")


# ---- stores ------------------------------------------------------------------------------------------------
@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request, tmp_path):
    """Two ends of one store."""
    if request.param == "hash":
        store = dist.HashStore()
        yield store, store
    elif request.param == "prefix":
        store = dist.HashStore()
        yield dist.PrefixStore("a", store), dist.PrefixStore("a", store)
    elif request.param == "file":
        yield dist.FileStore(str(tmp_path / "f"), 2), dist.FileStore(str(tmp_path / "f"), 2)
    else:
        server = dist.TCPStore("127.0.0.1", 0, is_master=True)
        yield server, dist.TCPStore("127.0.0.1", server.port)
        server.close()


def test_stores(stores):
    one, two = stores
    one.set("key", "value")
    assert two.get("key") == b"value" and two.check(["key"]) and not two.check(["key", "other"])
    assert one.add("n", 3) == 3 and two.add("n", -1) == 2 and one.get("n") == b"2"
    two.append("key", b"\x00!")
    assert one.get("key") == b"value\x00!"
    assert one.compare_set("c", "", "first") == b"first" and two.compare_set("c", "no", "second") == b"first"
    assert two.compare_set("c", "first", "second") == b"second"
    two.multi_set(["p", "q"], [b"1", "2"])
    assert one.multi_get(["q", "p"]) == [b"2", b"1"]
    assert one.delete_key("p") and not two.delete_key("p") and not two.check(["p"])
    with pytest.raises(dist.DistStoreError, match="keys: nowhere"):
        two.wait(["nowhere"], timedelta(seconds=0.05))
    threading.Timer(0.05, lambda: one.set("late", b"x")).start()
    assert two.get("late") == b"x"
    one.queue_push("jobs", b"a")
    one.queue_push("jobs", b"")
    assert two.queue_len("jobs") == 2 and two.queue_pop("jobs") == b"a" and one.queue_pop("jobs") == b""
    with pytest.raises(dist.QueueEmptyError):
        two.queue_pop("jobs", block=False)
    with pytest.raises(TypeError, match="str or bytes"):
        one.set("key", 1.5)


def test_a_store_survives_what_is_no_rank(capsys):
    import socket
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\x01\0\0\0\3\0\0\0\xff\xfe\xfd", b"\2\0\0\0\1\0\0\0x\0\0\0\0"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(junk)
    server.set("a", "b")
    assert server.get("a") == b"b" and capsys.readouterr().err == ""
    server.close()


def test_a_store_that_nobody_serves():
    with pytest.raises(dist.DistNetworkError, match="Does rank 0 run there"):
        dist.TCPStore("127.0.0.1", 1, timeout=timedelta(seconds=0.05))


def test_threads_meet_by_a_store(tmp_path):
    found = [None] * 3

    def rank_of(rank):
        dist.init_process_group("threaded", init_method=f"file://{tmp_path}/store", rank=rank, world_size=3)
        x = torch.tensor([rank])
        dist.all_reduce(x)
        found[rank] = x.item(), dist.get_rank()
        dist.destroy_process_group()
    started = [threading.Thread(target=rank_of, args=(r,)) for r in range(3)]
    [t.start() for t in started]
    [t.join(20) for t in started]
    assert found == [(3, 0), (3, 1), (3, 2)] and not (tmp_path / "store").exists()


def test_the_package_is_not_imported_with_minitorch():
    import subprocess
    code = "import sys, minitorch; print([m for m in sys.modules if 'distributed' in m or 'multiprocessing' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
