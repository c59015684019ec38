"""Wrong arguments, and faults of ranks that are threads: each is named by rank, call and line on every rank."""

import json
import re
import statistics
import threading
import time
from datetime import timedelta

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import threads
from minitorch.distributed.record import calls, failure_text
from minitorch.distributed.world import current_world

Op = dist.ReduceOp


# ---- wrong arguments ---------------------------------------------------------------------------------------
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


# ---- faults ------------------------------------------------------------------------------------------------
def messages_of(program, size=4, seconds=90.0):
    """The message that each rank was given; an error if they hang."""
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
    assert time.monotonic() - begin < 45                   # nobody has waited for the end of the time
    return told


HERE = r"\(test_faults\.py:\d+\)"


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
        assert "rank 1 failed: KeyError: 'no such column' (test_faults.py:" in told[rank]
        assert "wait in all_reduce #2 float32 [3] sum" in told[rank] or "waits in" in told[rank]


def test_a_rank_that_ends_is_named():
    def program(rank):
        dist.barrier()
        if rank:
            dist.all_reduce(torch.zeros(3))
    told = messages_of(program, 3)
    assert told[0] is None
    assert all("rank 0 has ended after barrier #1 (test_faults.py:" in t for t in told[1:])


def test_a_rank_that_sleeps_is_named_with_its_line():
    others_told = threading.Event()

    def program(rank):
        dist.barrier()
        if rank == 3:
            others_told.wait(60)                      # here it is
        try:
            dist.all_reduce(torch.zeros(3))
        finally:
            others_told.set()
    told = messages_of(program, seconds=1.0)
    for text in told:
        assert re.search(r"rank 3 has not called #2 for [\d.]+ s; it is at .*\(others_told.wait\(60\) +# here", text)
        assert "ranks 0, 1 and 2 wait in all_reduce #2 float32 [3] sum (test_faults.py:" in text


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


def test_parts_of_another_size_are_named():
    def program(rank):
        dist.all_to_all_single(torch.zeros(4 - rank), torch.zeros(3), [2, 1] if rank else [2, 2], [2, 1])
        dist.barrier()
    for text in messages_of(program, 2):
        assert "rank 1 expects 8 bytes of rank 0, which sends 4, in all_to_all #1: give both the same" in text


def test_an_asynchronous_call_that_fails_says_so_when_waited_for():
    def program(rank):
        work = dist.all_reduce(torch.zeros(3 + rank), async_op=True)
        with pytest.raises(dist.DistBackendError, match="all_reduce #1 float32"):
            work.wait()
        assert work.is_completed() and not work.is_success() and isinstance(work.exception(), dist.DistBackendError)
        with pytest.raises(dist.DistBackendError, match="all_reduce #1"):      # the group is of no use any more
            dist.barrier()
    threads.run(program, 2)


def out_of_memory_here():
    raise MemoryError


@pytest.mark.parametrize("fails", [
    lambda: out_of_memory_here(), lambda: np.tile(np.ones(1 << 20), 1 << 40),
    lambda: torch.ones(1 << 20).repeat(1 << 40), lambda: torch.zeros(1 << 60),
    lambda: json.loads("{"), lambda: statistics.mean([]), lambda: int("x")])
def test_the_line_of_an_exception_is_the_users(fails):
    """Wherever in NumPy, Python's library or this package it was raised."""
    in_a_function = "out_of_memory_here" in fails.__code__.co_names
    line = (out_of_memory_here.__code__.co_firstlineno + 1 if in_a_function
            else fails.__code__.co_firstlineno)
    with pytest.raises((MemoryError, RuntimeError, ValueError)) as found:
        fails()
    assert failure_text(1, found.value).endswith(f" (test_faults.py:{line})")
    assert "rank 1 failed: MemoryError (" in failure_text(1, MemoryError().with_traceback(found.tb))


def test_the_record():
    def program(rank):
        for n in range(70):
            dist.all_reduce(torch.zeros(n))
        return calls(current_world().record)
    found = threads.run(program, 2)[1]
    assert len(found) == 64 and found[-1][:2] == (70, "all_reduce float32 [69] sum")
    assert found[0][0] == 7 and found[0][2].startswith("test_faults.py:")
