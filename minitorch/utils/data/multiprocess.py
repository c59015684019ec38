"""The iterator of a `DataLoader` with worker processes.

Each worker has a pipe of its own (a queue shared by the workers stays locked when one is killed while it writes). Tasks
are numbered and dealt out in turn, a few ahead of need; batches are handed out in the order of the numbers, whenever
they come. The main process waits on the pipes and on the ends of the processes at once, so a worker's death is noticed
when it happens. No thread and no signal handler is needed here.
"""

import itertools
import os
import pickle
import signal
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import Any

from . import channel, collate
from .forking import quiet_products
from .iterator import _BaseDataLoaderIter
from .worker import RESUME, ExceptionWrapper, Job, Result, main

_GRACE = 2.0  # seconds that a worker has to finish its batch when the loader closes, before SIGTERM
_CHECK = 5.0  # seconds after which to ask the system whether the workers live, should a wait not have told


class _Worker:
    """A worker process as the main process sees it."""

    def __init__(self, context, job: Job, number: int) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=main, args=(job, number, theirs), name=f"DataLoader worker {number}", daemon=True
        )
        self.process.start()
        theirs.close()  # so that the worker's death closes the connection
        self.done: list[str] = []  # its blocks of shared memory that may be used again
        self.begin()

    def begin(self) -> None:
        """Ready for an epoch."""
        self.active = True  # False once its stream has ended
        self.load = 0  # tasks it has been given, whose batches were not yet handed out

    def release(self, packed: Any) -> None:
        """The batch was copied, or nobody wants it."""
        if isinstance(packed, channel.Packed) and packed.name is not None:
            self.done.append(packed.name)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.prefetch_factor is None or loader.prefetch_factor <= 0:
            raise AssertionError(f"prefetch_factor must be greater than 0, got {loader.prefetch_factor}")
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        self._timeout = loader.timeout
        self._persistent = loader.persistent_workers
        self._numbers = itertools.count()  # never begins again, so that a late batch of an old epoch is known as such
        self._receiver = channel.Receiver()
        self._workers: list[_Worker] = []
        self._stop = weakref.finalize(self, _stop, self._workers, self._receiver, os.getpid())
        try:
            self._start(loader)
        except BaseException:
            self._stop()
            raise
        self._begin(loader)

    def _start(self, loader: Any) -> None:
        job = Job(
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            self._base_seed,
            loader.worker_init_fn,
            loader.num_workers,
        )
        context = loader.multiprocessing_context or get_context()
        channel.prepare()
        forks = context.get_start_method() == "fork"
        try:
            with _forking() if forks else nullcontext():
                for number in range(loader.num_workers):
                    self._workers.append(_Worker(context, job, number))
        except (TypeError, AttributeError, pickle.PicklingError):
            warnings.warn(
                "A DataLoader worker could not be started because the dataset, collate_fn or worker_init_fn cannot "
                f"be pickled, which the start method {context.get_start_method()!r} requires. Define them at the "
                "top level of a module, or pass multiprocessing_context='fork' where the system has it.",
                stacklevel=5,
            )
            raise

    @property
    def alive(self) -> bool:
        """True if the workers still run."""
        return self._stop.alive

    def reset(self, loader: Any) -> None:
        """Begin another epoch with the same workers."""
        self._num_yielded = 0
        self._promised = loader._promised
        for worker, packed in self._tasks.values():
            worker.release(packed)
        for worker in self._workers:
            worker.begin()
            self._send(worker, RESUME, None)
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._turns = itertools.cycle(self._workers)
        self._tasks: dict[int, tuple[_Worker, Any]] = {}  # number -> who does it, and the batch once it is there
        for _ in range(self._ahead):
            self._give_task()

    # Giving out work.

    def _give_task(self) -> None:
        index = next(self._sampler_iter, _NOTHING)
        if index is _NOTHING:
            return
        worker = self._next_worker()
        if worker is None:
            return
        number = next(self._numbers)
        self._tasks[number] = (worker, None)
        worker.load += 1
        self._send(worker, number, index)

    def _next_worker(self) -> _Worker | None:
        share = self._ahead // max(1, sum(worker.active for worker in self._workers))
        for worker in itertools.islice(self._turns, len(self._workers)):
            if worker.active and (self._in_order or worker.load < share):
                return worker
        return None

    def _send(self, worker: _Worker, task: int, index: Any) -> None:
        done, worker.done = worker.done, []
        try:
            worker.connection.send((task, index, done))
        except (BrokenPipeError, ConnectionResetError):
            self._fail([worker])

    # Taking in batches.

    def _next_data(self) -> Any:
        if not self.alive:
            raise StopIteration
        while (number := self._next_number()) is not None:
            worker, packed = self._tasks[number]
            if packed is not None:
                del self._tasks[number]
                return self._unpack(worker, packed)
            self._receive()
        if not self._persistent:
            self._stop()
        raise StopIteration

    def _next_number(self) -> int | None:
        """The task whose batch comes next, there or not; None when there is nothing more to come."""
        for number, (worker, packed) in list(self._tasks.items()):
            if packed is not None:
                return number
            if not worker.active:
                del self._tasks[number]  # its stream ended before
            elif self._in_order:
                return number
        return next(iter(self._tasks), None)

    def _unpack(self, worker: _Worker, packed: Any) -> Any:
        worker.load -= 1
        if isinstance(packed, ExceptionWrapper):
            self._give_task()
            packed.reraise()
        data = self._receiver.unpack(packed)
        worker.release(packed)
        self._give_task()
        return collate.pin_memory(data) if self._pin_memory else data

    def _receive(self) -> None:
        """Wait until something comes from a worker, and take in all that is there."""
        working = [worker for worker in self._workers if worker.active]
        sources = [source for worker in working for source in (worker.connection, worker.process.sentinel)]
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else float("inf")
        while True:
            ready = wait(sources, min(_CHECK, max(0.0, deadline - time.monotonic())))
            heard = [worker for worker in working if worker.connection in ready]
            for worker in heard:
                self._hear(worker)
            if heard:
                return
            dead = [worker for worker in working if not worker.process.is_alive()]
            if dead:
                self._fail(dead)
            if time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _hear(self, worker: _Worker) -> None:
        try:
            result: Result = self._receiver.receive(worker.connection)
        except (EOFError, OSError):
            self._fail([worker])
        except BaseException:  # Ctrl-C may come in the middle of a message, whose rest would then be read as another
            self._stop()
            raise
        packed = result.packed
        if result.task not in self._tasks:  # of an epoch that was given up, or after the end of the stream
            worker.release(packed)
        elif packed is not None:
            self._tasks[result.task] = (worker, packed)
        else:
            del self._tasks[result.task]
            if worker.active:
                worker.active = False
                self._give_task()

    def _fail(self, dead: list[_Worker]) -> None:
        """Report workers that died, after ending the others."""
        for worker in dead:
            worker.process.join(_GRACE)
        pids = ", ".join(str(worker.process.pid) for worker in dead)
        reasons = ", ".join(dict.fromkeys(_reason(worker.process.exitcode) for worker in dead))
        self._stop()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {reasons}. "
            "Rerunning with num_workers=0 may give a better error trace."
        )


@contextmanager
def _forking() -> Iterator[None]:
    """A context for forking workers. Ctrl-C waits, in them until `worker.main` has said what it means there."""
    with quiet_products():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_NOTHING = object()


def _reason(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    hint = " (which the kernel does when memory runs out)" if name == "SIGKILL" else ""
    return f"killed by signal {name}{hint}"


def _stop(workers: list[_Worker], receiver: channel.Receiver, owner: int) -> None:
    """End the workers: by request, then by SIGTERM, then by SIGKILL. Runs at the latest when the interpreter exits."""
    if os.getpid() != owner:  # a process forked later has a copy of the iterator, but the workers are not its own
        return
    deadline = time.monotonic() + _GRACE
    for worker in workers:
        try:
            worker.connection.send(None)
        except OSError:
            pass
    for worker in workers:
        _drain(worker, receiver, deadline)
    for worker in workers:
        if worker.process.is_alive():
            worker.process.terminate()
    for worker in workers:
        worker.process.join(1.0)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()
    receiver.close()


def _drain(worker: _Worker, receiver: channel.Receiver, deadline: float) -> None:
    """Read what a worker still sends, which it must get rid of before it can end, until it has ended."""
    while (left := deadline - time.monotonic()) > 0:
        ready = wait([worker.connection, worker.process.sentinel], left)
        if worker.connection not in ready:
            return
        try:
            receiver.receive(worker.connection)
        except (EOFError, OSError, pickle.UnpicklingError):
            worker.process.join(left)
            return
