"""The transport of GPUs on the simulator, with a stand-in for ``cupy.cuda.nccl``: no NCCL, no GPU.

`Communicator` does what NCCL's documentation says of its calls: counts in elements, types and operations by number,
buffers by address; a call waits for all ranks, a send for its receive, unless both are in a group. It refuses calls
that do not fit together, which would hang or crash a GPU.
"""

import ctypes
import threading

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch import nn
from minitorch.distributed import nccl, threads
from minitorch.nn.parallel import DistributedDataParallel as DDP

pytest.importorskip("cupy")

TYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]
OPS = [np.add, np.multiply, np.maximum, np.minimum, np.add]
SECONDS = 60                                               # kernels are compiled meanwhile, on a busy machine


def memory(address, count, kind):
    nbytes = count * np.dtype(TYPES[kind]).itemsize
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), TYPES[kind])


class Job:
    """State shared by the ranks of one communicator."""

    def __init__(self, size):
        self.size, self.barrier, self.given = size, threading.Barrier(size), [None] * size
        self.mail, self.condition = {}, threading.Condition()


class Communicator:
    def __init__(self, ndev, commId, rank):
        assert isinstance(commId, tuple) and len(commId) == 128 and all(-128 <= n < 128 for n in commId)
        with fake.lock:
            self.job = fake.jobs.setdefault(commId, Job(ndev))
        assert self.job.size == ndev and 0 <= rank < ndev and not fake.local.depth
        self.rank, self.alive = rank, True
        self.job.barrier.wait(SECONDS)                     # all make it together

    def all(self, call, give):
        """The arguments of all ranks to a call, which must be the same call."""
        assert self.alive and not fake.local.depth, "a collective within a group of sends and receives"
        job = self.job
        job.given[self.rank] = call, give
        job.barrier.wait(SECONDS)
        found = list(job.given)
        job.barrier.wait(SECONDS)
        assert {c for c, _ in found} == {call}, f"calls differ: {found}"
        fake.count(call[0])
        return [g for _, g in found]

    def allReduce(self, send, receive, count, kind, op, stream):
        found = self.all(("allReduce", count, kind, op), memory(send, count, kind).copy())
        memory(receive, count, kind)[...] = reduced(found, op)

    def reduce(self, send, receive, count, kind, op, root, stream):
        found = self.all(("reduce", count, kind, op, root), memory(send, count, kind).copy())
        if self.rank == root:
            memory(receive, count, kind)[...] = reduced(found, op)

    def broadcast(self, send, receive, count, kind, root, stream):
        found = self.all(("broadcast", count, kind, root), memory(send, count, kind).copy())
        memory(receive, count, kind)[...] = found[root]

    def allGather(self, send, receive, count, kind, stream):
        found = self.all(("allGather", count, kind), memory(send, count, kind).copy())
        memory(receive, count * self.job.size, kind)[...] = np.concatenate(found)

    def reduceScatter(self, send, receive, count, kind, op, stream):
        n = self.job.size
        found = self.all(("reduceScatter", count, kind, op), memory(send, n * count, kind).copy())
        memory(receive, count, kind)[...] = reduced(found, op).reshape(n, count)[self.rank]

    def send(self, address, count, kind, peer, stream):
        self.message("send", address, count, kind, peer)

    def recv(self, address, count, kind, peer, stream):
        self.message("recv", address, count, kind, peer)

    def message(self, what, *arguments):
        assert self.alive
        fake.local.waiting.append((self, what, *arguments))
        if not fake.local.depth:
            fake.carry_out()

    def destroy(self):
        self.alive = False


def reduced(found, op):
    total = OPS[op].reduce(found)
    return total / len(found) if op == 4 else total


class Local(threading.local):
    def __init__(self):
        self.depth, self.waiting = 0, []


class Fake:
    """The module."""

    available, NcclCommunicator = True, Communicator

    def __init__(self):
        self.jobs, self.lock, self.local, self.made, self.calls = {}, threading.Lock(), Local(), 0, {}

    def get_unique_id(self):
        with self.lock:
            self.made += 1
            return tuple((self.made * 37 + i * 11) % 256 - 128 for i in range(128))

    def count(self, name):
        with self.lock:
            self.calls[name] = self.calls.get(name, 0) + 1

    def groupStart(self):
        self.local.depth += 1

    def groupEnd(self):
        self.local.depth -= 1
        if not self.local.depth:
            self.carry_out()

    def carry_out(self):
        """All sends of a group are handed over at once; each waits until it is taken, as a GPU's stream would."""
        waiting, self.local.waiting = self.local.waiting, []
        sent = []
        for communicator, what, address, count, kind, peer in waiting:
            if what == "send":
                job, key = communicator.job, (communicator.rank, peer)
                with job.condition:
                    job.mail.setdefault(key, []).append(memory(address, count, kind).copy())
                    job.condition.notify_all()
                sent.append((job, key))
                self.count("send")
        for communicator, what, address, count, kind, peer in waiting:
            if what == "recv":
                job, key = communicator.job, (peer, communicator.rank)
                with job.condition:
                    assert job.condition.wait_for(lambda: job.mail.get(key), SECONDS), "nobody sends"  # noqa: B023
                    found = job.mail[key].pop(0)
                    job.condition.notify_all()
                assert found.size == count, f"a message of {found.size} for {count}"
                memory(address, count, kind)[...] = found
        for job, key in sent:
            with job.condition:
                assert job.condition.wait_for(lambda: not job.mail.get(key), SECONDS), "nobody receives"  # noqa: B023


fake = Fake()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    fake.__init__()
    monkeypatch.setattr(nccl, "library", lambda: fake)


def run(program, size, backend="nccl"):
    def body(rank):
        dist.init_process_group(backend)
        try:
            return program(rank)
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()
    return threads.run(body, size, init=False)


def values(rank, dtype, n=7):
    rng = np.random.default_rng(rank)
    found = rng.integers(0, 2 if dtype is torch.bool else 5, n)
    return found + 1j * rng.integers(0, 5, n) if dtype.is_complex else found


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64], ids=str)
def test_collectives(dtype):
    size = 3
    of = [values(r, dtype).astype(dtype.np) for r in range(size)]
    total = np.logical_or.reduce(of) if dtype is torch.bool else sum(of)

    def program(rank):
        def x(offset=0):
            return torch.tensor(of[(rank + offset) % size]).to(f"sim:{rank}")

        def empty():
            return torch.zeros(7, dtype=dtype, device=f"sim:{rank}")
        found = {}
        y = found["all_reduce"] = x()
        dist.all_reduce(y)
        y = found["async"] = x()
        work = dist.all_reduce(y, async_op=True)
        assert work.wait() and work.is_completed()
        y = found["broadcast"] = x()
        dist.broadcast(y, 2)
        y = found["reduce"] = x()
        dist.reduce(y, 1)
        ys = found["all_gather"] = [empty() for _ in range(size)]
        dist.all_gather(ys, x())
        y = found["into"] = torch.zeros(size * 7, dtype=dtype, device=f"sim:{rank}")
        dist.all_gather_into_tensor(y, x())
        ys = found["gather"] = [empty() for _ in range(size)] if rank == 2 else None
        dist.gather(x(), ys, 2)
        y = found["scatter"] = empty()
        dist.scatter(y, [x(i) for i in range(size)] if rank == 0 else None, 0)
        y = found["reduce_scatter"] = empty()
        dist.reduce_scatter(y, [x()] * size)
        ys = found["all_to_all"] = [empty() for _ in range(size)]
        dist.all_to_all(ys, [x()] * size)
        y = found["sent"] = empty()
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x(), (rank + 1) % size),
                                            dist.P2POp(dist.irecv, y, (rank - 1) % size)]):
            work.wait()
        host = torch.tensor(of[rank])                      # tensors of the host: by the host's transport
        dist.all_reduce(host)
        found["host"] = host
        return {k: None if v is None else [t.cpu().numpy() for t in v] if isinstance(v, list) else v.cpu().numpy()
                for k, v in found.items()}
    for rank, found in enumerate(run(program, size, "cpu:gloo,cuda:nccl")):
        expected = {"all_reduce": total, "async": total, "broadcast": of[2], "reduce": total if rank == 1 else of[rank],
                    "all_gather": of, "into": np.concatenate(of), "gather": of if rank == 2 else None,
                    "scatter": of[rank], "all_to_all": of, "sent": of[rank - 1], "host": total,
                    "reduce_scatter": total}
        for name, value in expected.items():
            assert (found[name] is None) is (value is None), name
            if value is not None:
                np.testing.assert_array_equal(found[name], value, name)
    assert fake.calls["allReduce"] == 2 * size and fake.calls["reduceScatter"] == size and fake.calls["send"] > 0


def test_means_views_and_what_nccl_does_not_do():
    def program(rank):
        device = f"sim:{rank}"
        x = torch.full((3,), rank + 1.0, device=device)
        dist.all_reduce(x, dist.ReduceOp.AVG)
        view = torch.zeros(3, 2, device=device)
        view[:, 1] = rank + 1.0
        dist.all_reduce(view[:, 1])                        # not contiguous: by way of a copy
        with pytest.raises(ValueError, match="Cannot use ReduceOp.BXOR with NCCL"):
            dist.all_reduce(torch.ones(2, dtype=torch.int32, device=device), dist.ReduceOp.BXOR)
        with pytest.raises(TypeError, match="not supported for NCCL process group: int16"):
            dist.all_reduce(torch.ones(2, dtype=torch.int16, device=device))
        group = dist.new_group([1])
        if rank:
            dist.all_reduce(x, group=group)
        return x.tolist(), view.tolist(), x._version
    for found in run(program, 2):
        assert found[:2] == ([1.5] * 3, [[0.0, 3.0]] * 3) and found[2] > 0


def test_another_call_is_named_before_a_device_waits():
    told = [None] * 2

    def program(rank):
        x = torch.ones(4, device=f"sim:{rank}")
        dist.all_reduce(x)
        try:
            dist.all_reduce(x) if rank else dist.broadcast(x, 0)
        except dist.DistBackendError as error:
            told[rank] = str(error)
            raise
    with pytest.raises(dist.DistBackendError):
        run(program, 2)
    for text in told:
        assert "rank 1 is in all_reduce #2 float32 [4] sum (test_nccl.py:" in text
        assert "rank 0 waits in broadcast #2 float32 [4] from 0 (test_nccl.py:" in text
    assert fake.calls == {"allReduce": 2}


@pytest.mark.parametrize("views", [False, True])
def test_a_model_on_devices(views):
    torch.manual_seed(0)
    start = nn.Linear(4, 3)
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32))
    start(x).square().mean().backward()
    expected = [p.grad.clone() for p in start.parameters()]

    def program(rank):
        model = nn.Linear(4, 3)
        model.load_state_dict(start.state_dict())
        model = DDP(model.to(f"sim:{rank}"), gradient_as_bucket_view=views)
        for _ in range(2):
            model.zero_grad()
            model(x[rank::2].to(f"sim:{rank}")).square().mean().backward()
        return [p.grad.cpu() for p in model.parameters()]
    for found in run(program, 2):
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert fake.calls == {"allReduce": 4}                  # each rank one bucket in each step
