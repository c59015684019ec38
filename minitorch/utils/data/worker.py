"""The loop of a `DataLoader`'s worker process, and its view of the loader (`get_worker_info`).

A worker has two threads. One listens to the main process, so that process never waits to be heard, and notices when it
is gone; the other makes batches and sends them.
"""

import errno
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from ...random import manual_seed
from ...settings import set_num_threads
from .dataset import Dataset, IterableDataset
from .fetch import Fetcher

_PASSING = (errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE = 0.05  # seconds until a system out of something is asked again

RESUME = -1  # in place of the number of a task: a new epoch begins


class WorkerInfo(NamedTuple):
    """In a worker: its number ``id`` of ``num_workers``, the ``seed`` it got, and its copy of the ``dataset``."""

    id: int
    num_workers: int
    seed: int
    dataset: Dataset


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The `WorkerInfo` of this worker process, None in the main process.

    A dataset or a ``worker_init_fn`` uses it to read only this worker's share.
    """
    return _info


class Job(NamedTuple):
    """All that a worker has to know; pickled where the start method is not "fork"."""

    dataset: Dataset
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], None] | None
    num_workers: int

    def fetcher(self) -> Fetcher:
        return Fetcher(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


class Result(NamedTuple):
    """A worker's answer to a task. ``packed`` is a batch or an `ExceptionWrapper`, None where the stream has ended."""

    task: int
    packed: Any


class ExceptionWrapper:
    """The exception being handled, with its traceback as text, to be raised in another process."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import pickle

        kind, error, trace = exc_info or sys.exc_info()
        self.name = kind.__name__  # type: ignore[union-attr]
        self.text = "".join(traceback.format_exception(kind, error, trace))
        self.where = where
        try:
            pickle.dumps(kind)
            self.kind: type = kind  # type: ignore[assignment]
        except Exception:  # a class defined inside a function, say
            self.kind = RuntimeError

    def reraise(self):
        """Raise an exception of the same class, whose message ends in the original traceback."""
        message = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            message = _Verbatim(message)
        try:
            takes_keyword = getattr(self.kind, "message", None)
            error = self.kind(message=message) if takes_keyword else self.kind(message)
        except Exception:  # its constructor wants other arguments
            error = RuntimeError(message)
        try:
            raise error from None
        finally:
            del error  # lest its traceback, which holds the loader's iterator, hold itself


class _Verbatim(str):
    """KeyError shows the repr of its argument, which would put a traceback on one line."""

    def __repr__(self) -> str:
        return str(self)


def main(job: Job, number: int, connection) -> None:
    """The life of worker ``number``; returns when the main process says so."""
    # Ctrl-C goes to every process of the terminal; what it means is for the main process to say. (A handler instead of
    # SIG_IGN, since programs that the dataset starts would inherit that.) SIGTERM must end the worker even where the
    # program handles it: the handler came along with fork.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):  # Ctrl-C was blocked until now where the process was forked
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from .channel import Sender

    sender = Sender(connection)
    set_num_threads(1)  # or each of n workers would multiply matrices with all the processor's cores
    tasks: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    seed = _seed(job.base_seed, number)
    global _info
    _info = WorkerInfo(number, job.num_workers, seed, job.dataset)
    try:
        _work(job, number, sender, tasks)
    except (BrokenPipeError, ConnectionResetError):  # the loader was closed meanwhile
        pass


def _work(job: Job, number: int, sender, tasks: queue.SimpleQueue) -> None:
    where = f"in DataLoader worker process {number}"
    stream = isinstance(job.dataset, IterableDataset)
    fetcher, failure, ended = None, None, False
    try:
        if job.init_fn is not None:
            job.init_fn(number)
    except Exception:
        failure = ExceptionWrapper(where=where)

    while (message := tasks.get()) is not None:
        task, index, done = message
        sender.release(done)
        if task == RESUME:
            fetcher, ended = None, False
            continue
        packed: Any = None
        try:
            if failure is None and not ended:
                fetcher = fetcher or job.fetcher()
                packed = sender.pack(fetcher.fetch(index))
        except Exception as error:
            if stream and isinstance(error, StopIteration):
                ended = True
            else:
                packed = ExceptionWrapper(where=where)
        packed = failure or packed
        sender.send(Result(task, packed), packed)


def _seed(base_seed: int, number: int) -> int:
    """Seed three generators as PyTorch does in its workers: NumPy's with a mix, lest it draw what `random` does."""
    import random

    import numpy as np

    seed = base_seed + number
    random.seed(seed)
    manual_seed(seed)
    mixed = np.random.SeedSequence([number, base_seed & 0xFFFFFFFF, base_seed >> 32, 0])
    np.random.seed(mixed.generate_state(4))
    return seed


def _listen(connection, tasks: queue.SimpleQueue) -> None:
    """Put what the main process sends into ``tasks``; end this process, whatever it is at, once that one is gone.

    The end of the connection alone does not tell: under "fork" younger workers hold copies of its other end.
    """
    from multiprocessing import parent_process

    parent, home = parent_process(), os.getppid()

    def orphaned() -> bool:
        return os.getppid() != home or not parent.is_alive()  # type: ignore[union-attr]

    try:
        while not orphaned():
            try:
                if connection.poll(1.0):
                    tasks.put(connection.recv())
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                time.sleep(_PAUSE)
    except (EOFError, OSError):  # closed by the loader: end in peace, after the batch at hand
        tasks.put(None)
        while not orphaned():
            time.sleep(1.0)
    except BaseException:  # an index that cannot be unpickled here
        traceback.print_exc()
    os._exit(1)
