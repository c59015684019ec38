"""Worker processes and what goes on in the process that starts them: products in threads, signals, shared memory."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import minitorch
from minitorch.settings import blas
from minitorch.utils.data import DataLoader, Dataset, IterableDataset, forking

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork, /proc and /dev/shm")


class Threads(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        found = blas()
        return minitorch.get_num_threads(), found[1]() if found is not None else 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_multiply_with_one_thread(method):
    before = minitorch.get_num_threads()
    for ours, openblas in DataLoader(Threads(), num_workers=2, multiprocessing_context=method):
        assert ours.tolist() == openblas.tolist() == [1]
    assert minitorch.get_num_threads() == before


BESIDE_PRODUCTS = """
    import threading
    import numpy as np
    from minitorch.settings import blas
    from minitorch.utils.data import DataLoader
    x, stop, done = np.random.rand(700, 700).astype("f"), threading.Event(), [0, 0, 0]
    blas()[0](2)

    def multiply(k):
        while not stop.is_set():
            x @ x
            done[k] += 1
    threads = [threading.Thread(target=multiply, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert len(list(DataLoader(list(range(8)), num_workers=2, multiprocessing_context="fork"))) == 8
    stop.set()
    for thread in threads:
        thread.join()
    assert blas()[1]() == 2 and all(done)
    print("done")
"""


@pytest.mark.skipif(blas() is None, reason="NumPy without OpenBLAS")
def test_a_loader_starts_beside_running_products():
    """OpenBLAS lets a fork hang for ever that meets several waiting products."""
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(BESIDE_PRODUCTS)], capture_output=True, text=True,
                           timeout=120)
    assert found.stdout == "done\n", found.stderr


@pytest.mark.skipif(blas() is None, reason="NumPy without OpenBLAS")
def test_a_single_thread_pays_nothing_for_it(monkeypatch):
    monkeypatch.setattr(forking, "_await_idle", lambda: pytest.fail("waited for nobody"))
    monkeypatch.setattr(forking.threading, "enumerate", lambda: [forking.threading.current_thread()])
    with forking.quiet_products():
        pass


KILLED = """
    import os, signal, sys, time
    import minitorch
    from minitorch.utils.data import DataLoader, Dataset

    class Big(Dataset):
        def __len__(self):
            return 1000

        def __getitem__(self, i):
            return minitorch.full((100_000 + 10_000 * (i % 7),), float(i))
    print("ready", flush=True)
    end = time.monotonic() + 120                           # if the test itself is killed
    while time.monotonic() < end:
        for x in DataLoader(Big(), batch_size=None, num_workers=3, multiprocessing_context="fork"):
            pass
"""


def shared_files(group):
    """The files in shared memory that the processes of a group have mapped or open now."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if not entry.isdigit() or os.getpgid(int(entry)) != group:
                continue
            with open(f"/proc/{entry}/maps") as file:
                found += [line.split(maxsplit=5)[5].strip() for line in file if "/dev/shm/" in line]
            found += [os.readlink(f"/proc/{entry}/fd/{n}") for n in os.listdir(f"/proc/{entry}/fd")]
        except OSError:                                    # it has just ended
            pass
    return [name for name in found if name.startswith("/dev/shm/")]


def test_shared_memory_has_no_names_that_a_signal_could_leave():
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED)], stdout=subprocess.PIPE,
                               start_new_session=True)
    try:
        assert process.stdout.readline() == b"ready\n"
        seen = []
        deadline = time.monotonic() + 60
        while len(seen) < 200 and time.monotonic() < deadline:
            seen += shared_files(process.pid)
        assert len(seen) >= 200 and all(name.endswith(" (deleted)") for name in seen), seen
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)
        process.stdout.close()


def test_blocks_arrive_whatever_the_default_timeout_of_sockets():
    import socket
    data = [np.full(50_000 + 1000 * i, i) for i in range(20)]
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(5.0)
    try:
        loader = DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork")
        assert [int(x[0]) for x in loader] == list(range(20))
    finally:
        socket.setdefaulttimeout(before)


class Stops(Dataset):
    """Raises StopIteration, by a next() without a default, at index 5."""

    def __len__(self):
        return 16

    def __getitem__(self, i):
        return next(iter([i] if i != 5 else []))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 1, 4])
def test_stop_iteration_in_a_dataset_does_not_end_the_epoch(workers, batch_size):
    loader = DataLoader(Stops(), batch_size=batch_size, num_workers=workers, multiprocessing_context=workers and "fork"
                        or None)
    with pytest.raises(RuntimeError, match=r"StopIteration was raised in the dataset \(Stops\).*index .*5"):
        list(loader)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))


@pytest.mark.parametrize("workers", [0, 1])
def test_stop_iteration_in_collate_fn_does_not_end_a_stream(workers):
    def collate(samples):
        return samples if 5 not in samples else next(iter([]))
    options = dict(batch_size=2, num_workers=workers, multiprocessing_context="fork" if workers else None)
    with pytest.raises(RuntimeError, match="StopIteration was raised"):
        list(DataLoader(Stream(), collate_fn=collate, **options))
    assert len(list(DataLoader(Stream(), **options))) == 4
