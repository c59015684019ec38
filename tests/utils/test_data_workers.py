"""The DataLoader's worker processes: order, determinism, shared memory, and every way in which they may end."""

import errno
import gc
import glob
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import minitorch
from minitorch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    channel,
    get_worker_info,
    multiprocess,
    worker,
)

POSIX = os.name == "posix"


@pytest.fixture(autouse=True)
def little_patience(monkeypatch):
    """Do not wait two seconds for a worker that a test has put to sleep."""
    monkeypatch.setattr(multiprocess, "_GRACE", 0.3)


@pytest.fixture(autouse=True)
def enough_processors(monkeypatch):
    monkeypatch.setattr(DataLoader, "_warn_of_too_many_workers", lambda self: None)


@pytest.fixture(autouse=True)
def fork_where_there_is_fork(monkeypatch):
    """Most data sets below are made of lambdas, which cannot be pickled. Python 3.14 would start a fork server."""
    if POSIX:
        monkeypatch.setattr(multiprocess, "get_context", lambda: multiprocessing.get_context("fork"))


class Rows(Dataset):
    """Samples with something of every kind a batch may hold."""

    def __init__(self, n=23):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {
            "x": minitorch.full((3, 4), i, dtype=minitorch.float32),
            "y": i,
            "name": str(i),
            "array": np.arange(i, i + 2, dtype=np.int16),
            "scalar": minitorch.tensor(i * 0.5),
        }


class Calls(Dataset):
    """Sample ``i`` is ``function(i)``."""

    def __init__(self, function, n=8):
        if not POSIX:
            pytest.skip("a function inside a test cannot be sent to a new process")
        self.function, self.n = function, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return self.function(i)


class Counting(IterableDataset):
    """Numbers below ``n``, shared out between the workers as alternating or as unequal parts."""

    def __init__(self, n, sizes=None):
        self.n, self.sizes = n, sizes

    def __iter__(self):
        info = get_worker_info()
        if self.sizes is not None:
            return iter(range(100 * info.id, 100 * info.id + self.sizes[info.id]))
        return iter(range(info.id, self.n, info.num_workers))


def plain(value):
    if isinstance(value, (minitorch.Tensor, np.ndarray)):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids, seconds=30.0):
    """True if all of these processes end in time."""
    deadline = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def pids(loader_iterator):
    return [worker.process.pid for worker in loader_iterator._workers]


def blocks(pid=None):
    """The blocks of shared memory with a name, of this process or of another, on Linux."""
    return glob.glob(f"/dev/shm/minitorch_{pid or os.getpid()}_*")


# Order and contents


@pytest.mark.parametrize("arguments", [{}, {"shuffle": True}, {"drop_last": True}, {"batch_size": None}])
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_give_what_one_process_gives(arguments, workers):
    def epochs(**more):
        minitorch.manual_seed(4)
        loader = DataLoader(Rows(), **{"batch_size": 4, **arguments}, **more)
        return [plain(list(loader)) for _ in range(2)]

    assert epochs(num_workers=workers, prefetch_factor=3) == epochs()
    persistent = epochs(num_workers=workers, persistent_workers=True)
    # Like PyTorch, persistent workers get no new seed in a later epoch, which then shuffles differently.
    assert persistent[0] == epochs()[0] and (persistent == epochs() or "shuffle" in arguments)


def test_batches_come_in_order_however_long_they_take():
    data = Calls(lambda i: time.sleep(0.05 * (i % 3 == 0)) or i, n=9)
    batches = list(DataLoader(data, num_workers=3))
    assert [batch.item() for batch in batches] == list(range(9))


def test_out_of_order_on_demand():
    another_came = multiprocessing.get_context("fork" if POSIX else None).Event()
    batches = []
    for batch in DataLoader(Calls(lambda i: (i or another_came.wait(60)) and i, n=6), num_workers=2, in_order=False):
        batches.append(batch.item())
        another_came.set()
    assert sorted(batches) == list(range(6)) and batches[0] != 0


@pytest.mark.parametrize("in_order", [True, False])
def test_streams_are_shared_out_by_their_datasets(in_order):
    loader = DataLoader(Counting(11), batch_size=2, num_workers=3, in_order=in_order)
    for _ in range(2):
        assert sorted(i for batch in loader for i in batch.tolist()) == list(range(11))


def test_streams_of_unequal_length_alternate_and_end():
    loader = DataLoader(Counting(0, sizes=[1, 5, 3]), batch_size=2, num_workers=3, persistent_workers=True)
    for _ in range(2):
        assert [batch.tolist() for batch in loader] == [[0], [100, 101], [200, 201], [102, 103], [202], [104]]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_started_anew(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork server on this system")
    loader = DataLoader(Rows(5), batch_size=2, num_workers=1, multiprocessing_context=method)
    assert plain(list(loader)) == plain(list(DataLoader(Rows(5), batch_size=2)))
    assert sum(1 for _ in DataLoader(Big(), batch_size=4, num_workers=1, multiprocessing_context=method)) == 3
    assert not blocks()


def test_what_cannot_be_pickled_cannot_be_spawned():
    loader = DataLoader(Calls(lambda i: i), num_workers=1, multiprocessing_context="spawn")
    with pytest.warns(UserWarning, match="cannot be pickled"), pytest.raises((AttributeError, TypeError, Exception)):
        iter(loader)


# Seeds and what a worker knows


def test_worker_info_and_init_function():
    def look(i):
        info = get_worker_info()
        return info.id, info.num_workers, info.seed, info.dataset.mark

    def init(number):
        get_worker_info().dataset.mark = 10 + number

    batches = list(DataLoader(Calls(look, 4), batch_size=None, num_workers=2, worker_init_fn=init))
    ids, counts, seeds, marks = zip(*batches)
    assert ids == (0, 1, 0, 1) and counts == (2,) * 4 and marks == (10, 11, 10, 11)
    assert seeds[1] == seeds[0] + 1
    assert get_worker_info() is None


def test_each_worker_has_seeds_of_its_own_and_the_run_can_be_repeated():
    def draw(i):
        return random.random(), np.random.rand(), minitorch.rand(()).item()

    def run():
        minitorch.manual_seed(7)
        return [tuple(batch) for batch in DataLoader(Calls(draw, 4), batch_size=None, num_workers=2)]

    first = run()
    assert len(set(first)) == 4 and run() == first


def test_persistent_workers_live_on():
    loader = DataLoader(Calls(lambda i: os.getpid(), 4), num_workers=2, persistent_workers=True)
    epochs = [{batch.item() for batch in loader} for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2] and len(epochs[0]) == 2
    del loader
    assert gone(epochs[0])


def test_an_epoch_given_up_leaves_nothing_in_the_next():
    loader = DataLoader(Rows(40), batch_size=3, num_workers=2, persistent_workers=True, prefetch_factor=4)
    for batch in loader:
        assert batch["y"].tolist() == [0, 1, 2]
        break
    assert [y for batch in loader for y in batch["y"].tolist()] == list(range(40))


# Shared memory


BIG = 200_000


class Big(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return minitorch.full((BIG,), float(i)), np.full((2, BIG), i, np.uint8).T


def test_large_batches_go_through_a_few_blocks_and_belong_to_the_program(monkeypatch):
    iterator = iter(DataLoader(Big(), batch_size=2, num_workers=2, prefetch_factor=2))
    batches = list(iterator)
    for i, (x, array) in enumerate(batches):
        assert (x[0] == 2 * i).all() and (x[1] == 2 * i + 1).all()
        x += 1  # memory of its own, and it may be written to
        assert (array[1] == 2 * i + 1).all()
    assert not blocks()


def test_blocks_are_used_again():
    loader = DataLoader(Big(), batch_size=1, num_workers=1, prefetch_factor=2, persistent_workers=True)
    for _ in range(3):
        assert sum(1 for _ in loader) == 12
    for _ in range(6):
        next(iter(loader))  # an epoch given up, with batches on their way
    assert len(list(loader)) == 12
    assert len(loader._iterator._receiver._blocks) <= 5


def test_the_order_of_strides_is_kept():
    data = Calls(lambda i: (minitorch.zeros(300, 200).t(), np.zeros((300, 200)).T, minitorch.zeros(0, 3)), 1)
    x, array, empty = next(iter(DataLoader(data, batch_size=None, num_workers=1)))
    assert x.stride() == (1, 200) and x.shape == (200, 300) and empty.shape == (0, 3)
    assert array.stride() == (1, 200)


def refuse(size):
    raise OSError("No space left on device")


@pytest.mark.skipif(not POSIX, reason="needs fork, for the worker to see what is patched here")
def test_without_shared_memory_the_pipe_serves(monkeypatch):
    monkeypatch.setattr(channel, "_new_block", refuse)
    loader = DataLoader(Big(), batch_size=2, num_workers=1, multiprocessing_context="fork")
    with pytest.warns(UserWarning, match="no shared memory for a batch") as caught:
        assert [x[1, 0].item() for x, _ in loader] == [1, 3, 5, 7, 9, 11]
    assert len(caught) == 1


@pytest.mark.skipif(not os.path.exists("/dev/shm"), reason="Linux")
def test_a_block_beyond_what_the_system_has_is_refused_at_once():
    whole = os.statvfs("/dev/shm")
    with pytest.raises(OSError):
        channel._new_block(whole.f_blocks * whole.f_frsize + (1 << 30))
    assert not blocks()


def test_gradients_do_not_cross_processes():
    leaf = Calls(lambda i: minitorch.ones(2, requires_grad=True), 1)
    assert next(iter(DataLoader(leaf, batch_size=None, num_workers=1))).requires_grad
    recorded = Calls(lambda i: minitorch.ones(2, requires_grad=True) * 2, 1)
    with pytest.raises(RuntimeError, match="grad_fn.*detach"):
        next(iter(DataLoader(recorded, batch_size=None, num_workers=1)))


# Errors in a worker


class TwoArguments(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def fail_with(make):
    def sample(i):
        if i == 1:
            raise make()
        return i

    return Calls(sample, 4)


def local_error():
    class Local(Exception):
        pass

    return Local("here")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: ValueError("bad sample"), ValueError),
        (lambda: KeyError("bad key"), KeyError),
        (lambda: TwoArguments("bad", "worse"), RuntimeError),
        (local_error, RuntimeError),
    ],
)
def test_an_exception_comes_with_the_workers_traceback(make, kind):
    iterator = iter(DataLoader(fail_with(make), num_workers=2))
    assert next(iterator).item() == 0
    with pytest.raises(kind) as caught:
        next(iterator)
    name = type(make()).__name__
    assert f"Caught {name} in DataLoader worker process 1.\nOriginal Traceback" in str(caught.value)
    assert "raise make()" in str(caught.value) and "\\n" not in str(caught.value)
    assert [batch.item() for batch in iterator] == [2, 3]


def test_an_exception_in_the_init_function():
    def init(number):
        raise ArithmeticError("no start")

    with pytest.raises(ArithmeticError, match="no start"):
        next(iter(DataLoader(Rows(), num_workers=1, worker_init_fn=init)))


def test_a_batch_that_cannot_be_pickled():
    loader = DataLoader(Calls(lambda i: lambda: i, 1), batch_size=None, num_workers=1)
    with pytest.raises(Exception, match="in DataLoader worker process 0") as caught:
        next(iter(loader))
    assert "pickle" in str(caught.value)


# The end of a worker


@pytest.mark.skipif(not POSIX, reason="signals")
def test_a_worker_that_is_killed_is_reported():
    def sample(i):
        if i == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    iterator = iter(DataLoader(Calls(sample), num_workers=2))
    others = pids(iterator)
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly.*SIGKILL") as caught:
        list(iterator)
    assert str(others[0]) in str(caught.value)
    assert gone(others)
    assert list(iterator) == []


@pytest.mark.skipif(not POSIX, reason="signals")
def test_killing_a_worker_from_outside_while_it_works(monkeypatch):
    monkeypatch.setattr(multiprocess, "_CHECK", 60.0)  # noticed when it happened, not at some later check
    iterator = iter(DataLoader(Calls(lambda i: time.sleep(60)), num_workers=2))
    victim = pids(iterator)[0]
    subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -9 {victim}"])
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"\(pid\(s\) {victim}\) exited unexpectedly: killed by signal SIGKILL"):
        next(iterator)
    assert time.monotonic() - started < 30


def test_a_worker_that_exits_is_reported():
    loader = DataLoader(Calls(lambda i: sys.exit(3)), num_workers=1)
    with pytest.raises(RuntimeError, match="exited unexpectedly: exit code 3"):
        next(iter(loader))


@pytest.mark.skipif(not POSIX, reason="signals")
def test_a_loader_with_persistent_workers_recovers_after_a_kill():
    loader = DataLoader(Rows(6), num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 6
    os.kill(pids(loader._iterator)[1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)
    assert len(list(loader)) == 6


def test_a_slow_worker_runs_into_the_timeout():
    iterator = iter(DataLoader(Calls(lambda i: time.sleep(60)), num_workers=1, timeout=0.2))
    workers = pids(iterator)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.2 seconds"):
        next(iterator)
    del iterator
    assert gone(workers)


def test_after_a_timeout_the_batch_can_still_be_had():
    may_go_on = multiprocessing.get_context("fork" if POSIX else None).Event()
    iterator = iter(DataLoader(Calls(lambda i: may_go_on.wait(60) and i, 1), num_workers=1, timeout=0.1))
    with pytest.raises(RuntimeError, match="timed out"):
        next(iterator)
    may_go_on.set()
    assert iterator._workers[0].connection.poll(60)  # the batch is there
    assert next(iterator).item() == 0


def test_leaving_the_loop_early_ends_the_workers():
    for _ in DataLoader(Big(), num_workers=2, prefetch_factor=3):
        break
    iterator = iter(DataLoader(Big(), num_workers=2))
    workers = pids(iterator)
    next(iterator)
    del iterator
    assert gone(workers) and not blocks()


def in_the_loop(batch):
    raise ArithmeticError("in the loop")


def fails(*arguments):
    raise ArithmeticError("in a worker")


def failing_sampler():
    yield 0
    raise ArithmeticError("in the sampler")


@pytest.mark.skipif(not POSIX, reason="signals")
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "sample, options, body",
    [
        (lambda i: i, {}, in_the_loop),
        (fails, {}, None),
        (lambda i: i, {"collate_fn": fails}, None),
        (lambda i: i, {"worker_init_fn": fails}, None),
        (lambda i: i, {"sampler": failing_sampler}, None),
        (lambda i: time.sleep(60), {"timeout": 0.05}, None),
        (lambda i: os.kill(os.getpid(), signal.SIGKILL), {}, None),
    ],
    ids=["loop", "dataset", "collate", "init", "sampler", "timeout", "killed"],
)
def test_an_epoch_that_ends_by_an_error(sample, options, body, persistent, monkeypatch):
    """A retry loop: not even a cycle that the collector finds may keep the workers of a round."""
    monkeypatch.setattr(multiprocess, "_GRACE", 0.01)
    gc.collect()
    gc.disable()
    before = set(multiprocessing.active_children())
    try:
        for _ in range(2):
            given = {k: v() if k == "sampler" else v for k, v in options.items()}
            given["persistent_workers"] = persistent
            loader = DataLoader(Calls(sample), num_workers=1, **given)
            try:
                for batch in loader:
                    body(batch)
                pytest.fail("it ended well")
            except (ArithmeticError, RuntimeError):
                pass
            del loader
            assert set(multiprocessing.active_children()) <= before
    finally:
        gc.enable()


@pytest.mark.skipif(not POSIX, reason="what is patched here reaches workers by fork")
def test_workers_listen_on_whatever_passes(monkeypatch):
    """Each fault of the system that passes, once at each call by which a worker hears of tasks."""
    from multiprocessing.connection import Connection

    numbers = [errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM]
    left, main = [(name, number) for name in ("poll", "recv") for number in numbers], os.getpid()

    def wrapped(name, call):
        def called(self, *arguments):
            if os.getpid() != main and left and left[0][0] == name:
                number = left.pop(0)[1]
                raise OSError(number, os.strerror(number))
            return call(self, *arguments)

        return called

    for name in ("poll", "recv"):
        monkeypatch.setattr(Connection, name, wrapped(name, getattr(Connection, name)))
    monkeypatch.setattr(worker, "_PAUSE", 0.001)
    told = list(DataLoader(Calls(lambda i: len(left), 20), batch_size=None, num_workers=1))
    assert len(told) == 20 and told[-1] == 0


def test_a_worker_stuck_in_its_batch_is_ended():
    deaf = multiprocessing.get_context("fork" if POSIX else None).Event()

    def stubborn(i):
        if POSIX:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        deaf.set()
        time.sleep(60)

    iterator = iter(DataLoader(Calls(stubborn), num_workers=1))
    workers = pids(iterator)
    assert deaf.wait(60)
    del iterator
    assert gone(workers)


# The end of the main process


SCRIPT = """
import os, signal, sys, time, warnings
warnings.filterwarnings("ignore", "This DataLoader will create 2 worker processes")  # of a machine with one processor
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent that ignores it (nohup, some CI) bequeaths that
import minitorch
from minitorch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        time.sleep({sleep})
        return minitorch.zeros(100_000)

{first}
loader = DataLoader(Slow(), batch_size=1, num_workers=2, persistent_workers={persistent})
iterator = iter(loader)
print(*[worker.process.pid for worker in iterator._workers], flush=True)
{then}
"""


def start(sleep=0.01, persistent=False, first="", then="for _ in iterator: pass"):
    code = textwrap.dedent(SCRIPT).format(sleep=sleep, persistent=persistent, first=first, then=then)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # its workers are in its process group, we are not
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return process, [int(pid) for pid in process.stdout.readline().split()]


@pytest.mark.skipif(not POSIX, reason="signals")
@pytest.mark.parametrize(
    "arguments", [{}, {"persistent": True}, {"first": "os.register_at_fork(after_in_child=lambda: time.sleep(1))"}]
)
def test_ctrl_c_leaves_no_process_behind(arguments):
    """Also where it comes before the workers have begun to run."""
    process, workers = start(**arguments)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (1, -signal.SIGINT) and "\nKeyboardInterrupt" in errors
    assert errors.count("Traceback") == 1, errors  # the workers say nothing
    assert len(workers) == 2 and gone(workers)


@pytest.mark.skipif(not POSIX, reason="signals")
@pytest.mark.parametrize("sleep", [0.01, 60])
def test_workers_end_when_the_main_process_is_killed(sleep):
    process, workers = start(sleep=sleep)
    time.sleep(0.3)
    process.kill()
    process.communicate(timeout=60)
    assert len(workers) == 2 and gone(workers)
    deadline = time.monotonic() + 20
    while blocks(process.pid) and time.monotonic() < deadline:  # the resource tracker tidies up last
        time.sleep(0.02)
    assert not blocks(process.pid)


@pytest.mark.skipif(not POSIX, reason="signals")
def test_the_program_may_handle_ctrl_c_and_go_on():
    then = """
import signal
asked = []
signal.signal(signal.SIGINT, lambda *_: asked.append(1))
for i, batch in enumerate(iterator):
    if i == 5: os.killpg(0, signal.SIGINT)
    if i == 20: break
print("done", len(asked))
"""
    process, workers = start(then=then)
    out, errors = process.communicate(timeout=60)
    assert out.strip() == "done 1" and not errors
    assert gone(workers)


def test_the_program_may_end_with_a_loader_open():
    process, workers = start(persistent=True, then="next(iterator)")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and not errors
    assert gone(workers)


def test_tensor_dataset_in_workers():
    data = TensorDataset(minitorch.arange(20).reshape(10, 2), minitorch.arange(10))
    batches = list(DataLoader(data, batch_size=4, num_workers=2))
    assert [y.tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
