"""The memory that ranks share as processes of one node: files in memory, mapped by all.

A job has a folder in memory (``/dev/shm`` where there is one), made by the launcher or by rank 0. The file of the
record stays there while the job runs; the windows of groups are removed as soon as all of their ranks have mapped them,
so that nothing is left behind however a job ends. Each rank holds a lock on one byte of a file: the system lets go of
it when the process ends, of whatever, and so the others learn that it has.
"""

import contextlib
import faulthandler
import fcntl
import mmap
import os
import re
import shutil
import signal
import tempfile
import time

import numpy as np

from . import watcher
from .record import ABSENT, FAILED, KILLED, ROW, Record, Rows, is_of_python, note_end

__all__ = ["ProcessNode", "Supervisor"]

FOLDER = "MINITORCH_JOB"                                   # where the launcher has made the folder
ASK = getattr(signal, "SIGRTMAX", signal.SIGUSR2) - (1 if hasattr(signal, "SIGRTMAX") else 0)   # "where are you?"
PATIENCE = 2.0                                             # seconds that a rank on a busy machine has to answer


def shared_folder():
    """The folder in which files are memory."""
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def make_folder():
    return tempfile.mkdtemp(prefix="minitorch-", dir=shared_folder())


def mapped(path, nbytes):
    """The file's first `nbytes` as an array; made, of zeros, where it is not there."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(file).st_size < nbytes:
            os.ftruncate(file, nbytes)                     # by whoever comes first: the file only grows
        return np.frombuffer(mmap.mmap(file, nbytes), np.uint8)
    finally:
        os.close(file)


class Shared:
    """Files in the `folder` of a job, as memory that the ranks of a node share."""

    folder: str
    supervised: bool

    def memory(self, name, nbytes):
        """`nbytes` zeros, the same for all ranks that ask by this name."""
        while True:
            os.makedirs(self.folder, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):   # another rank removes the folder, empty as it was
                return mapped(os.path.join(self.folder, name), nbytes)

    def forget(self, name):
        """The memory of this name is not asked for any more."""
        os.unlink(os.path.join(self.folder, name))
        if not self.supervised:
            with contextlib.suppress(OSError):             # another group's may be there
                os.rmdir(self.folder)


class ProcessNode(Shared):
    """One rank's side of the memory that the processes of a node share."""

    def __init__(self, folder, rank, size, supervised):
        self.folder, self.rank, self.size, self.supervised = folder, rank, size, supervised
        self.rows = mapped(os.path.join(folder, "record"), ROW.itemsize * size).view(ROW)
        self.file = os.open(os.path.join(folder, "locks"), os.O_RDWR | os.O_CREAT, 0o600)
        self.stacks = os.open(os.path.join(folder, "stacks"), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.lockf(self.file, fcntl.LOCK_EX, 1, rank)
        faulthandler.register(ASK, self.stacks, all_threads=False)

    @classmethod
    def join(cls, rank, size, store, timeout, watched=False):
        """The node of a rank of `size`; `store` names the folder if no launcher does. `watched`: by
        `watcher`."""
        given = os.environ.get(FOLDER)
        supervised = given is not None and os.path.isdir(given)
        own, watched = rank == 0 and not supervised, watched and not supervised
        if rank == 0:
            folder = given if supervised else make_folder()
            listener = watcher.listener(folder, size) if watched else None
            store.set("folder", folder)
        node = cls(store.get("folder").decode(), rank, size, supervised)
        if watched:
            watcher.leave_connection(node.folder, rank)
        store.set(f"joined {rank}", str(os.getpid()))
        store.wait([f"joined {r}" for r in range(size)], timeout)
        if own:
            if watched:
                pids = [int(pid) for pid in store.multi_get([f"joined {r}" for r in range(size)])]
                store.set("watched", str(int(watcher.start(node.folder, pids, ROW, listener))))
            for name in ("record", "locks", "stacks"):     # all have opened them
                os.unlink(os.path.join(node.folder, name))
        if watched:
            node.supervised = store.get("watched") == b"1"
        return node

    def record(self, rank):
        return Record(self.rows, rank, self.where, self.alive, self.supervised)

    def alive(self, rank):
        if rank == self.rank or self.rows["state"][rank] == ABSENT:
            return True
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, rank)
        except OSError:
            return True
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, rank)
        return False

    def where(self, rank):
        """The line at which a rank is, as (file, line): a signal asks it, and Python's fault handler answers."""
        try:
            before, told, same = os.fstat(self.stacks).st_size, b"", 0
            os.kill(int(self.rows["pid"][rank]), ASK)
            end = time.monotonic() + PATIENCE
            while own_frame(told) is None and same < 20 and time.monotonic() < end:    # written piece by piece
                time.sleep(0.01)
                more = os.pread(self.stacks, 1 << 16, before).rpartition(b"\n")[0]     # the lines that are complete
                told, same = more, same + 1 if more and more == told else 0
            return own_frame(told) or next(frames_of(told), None)
        except OSError:
            return None

    def close(self, rank):
        faulthandler.unregister(ASK)
        os.close(self.stacks)
        os.close(self.file)                                # and with it the lock


def frames_of(stack):
    """Yield (file, line) of each frame that Python's fault handler has told, the innermost first."""
    for file, line in re.findall(r'File "(.*?)", line (\d+)', stack.decode(errors="replace")):
        yield file, int(line)


def own_frame(stack):
    """The innermost frame outside of this package and of Python's own files; None where there is none."""
    here = os.path.dirname(os.path.dirname(__file__))
    return next((frame for frame in frames_of(stack)
                 if not frame[0].startswith(here) and not is_of_python(frame[0])), None)


class Supervisor:
    """The parent's side of a job: it makes the folder, and notes by which signal a rank has ended."""

    def __init__(self, size):
        self.folder, self.size = make_folder(), size
        self.record = Rows(mapped(os.path.join(self.folder, "record"), ROW.itemsize * size).view(ROW))

    def ended(self, rank, code):
        """Note the exit code of a rank; negative for a signal."""
        note_end(self.record.rows[rank], code)

    def first_failed(self):
        """The rank that failed first, or None."""
        return self.record.first_failed()

    def fault(self, rank):
        """The message of a rank's fault; None if it has noted none."""
        failed = rank is not None and self.record.states[rank] in (FAILED, KILLED)
        return self.record.of_failure(rank) if failed else None

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
