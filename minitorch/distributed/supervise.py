"""The parent of ranks while they run: it tells the others how one ended, and leaves no process behind."""

import ctypes
import os
import secrets
import signal
import socket
import sys
import time

from . import peers
from .processes import FOLDER, Supervisor

__all__ = ["Watch", "free_port"]

GRACE = 6.0                                                # seconds in which the others may say what they know, and end


def free_port():
    """A port of this machine that nobody listens on, drawn from those that no connection is given by itself.

    (A port that the system chooses may be given to somebody's connection before it is listened on.)
    """
    while True:
        with socket.socket() as tried:
            port = 20_000 + secrets.randbelow(12_000)      # Linux gives 32768 to 60999, others 49152 and above
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def end_with_parent():
    """Called in a child: it is killed when its parent ends, of whatever. On Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))    # PR_SET_PDEATHSIG


def is_aliased():
    """True if ``import torch`` means minitorch in this process."""
    return any(type(finder).__module__ == "minitorch.cli.alias" for finder in sys.meta_path)


class Watch:
    """Several ranks while they run. `code(rank)` is the exit code of a rank, None while it runs; `kill(rank, signal)`;
    `nodes`, the `Round` of a job on several nodes, is told when one has ended.

    While the block is open, children that are started find the folder of the job in their environment.
    """

    def __init__(self, size, code, kill, nodes=None):
        self.size, self.code, self.kill, self.nodes, self.noted = size, code, kill, nodes, set()
        self.supervisor = Supervisor(size if nodes is None else nodes.size)
        self.before = 0 if nodes is None else nodes.first  # the number in the job of this node's first rank
        self.environment = {FOLDER: self.supervisor.folder}
        if nodes is None:                                  # else all launchers were given the same
            self.environment[peers.SECRET] = peers.drawn()
        self.first = None                                  # the rank that failed first

    def look(self):
        """Note who has ended; whether all have."""
        for rank in range(self.size):
            if rank not in self.noted and self.code(rank) is not None:
                self.noted.add(rank)
                self.supervisor.ended(self.before + rank, self.code(rank))
                if self.nodes is not None:
                    self.nodes.tell_end(self.before + rank, self.code(rank), self.supervisor.record.rows)
                if self.code(rank) and self.first is None:
                    self.first = rank
        return len(self.noted) == self.size

    def stop(self, patience=5.0):
        """End all that still run: let them say what they know, ask, then kill."""
        for number, seconds in ((None, GRACE), (signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
            if number is not None:
                for rank in range(self.size):
                    if self.code(rank) is None:
                        self.kill(rank, number)
            end = time.monotonic() + seconds
            while not self.look() and time.monotonic() < end:
                time.sleep(0.02)
            if len(self.noted) == self.size:
                return

    def cause(self):
        """The rank that failed first, by its own word or by its exit code; None if none did."""
        if self.first is not None and self.code(self.first) < 0:
            return self.before + self.first                # killed: the others fail because of it
        found = self.supervisor.first_failed()
        return found if found is not None or self.first is None else self.before + self.first

    def message(self):
        """The fault of the job in one line; None if none is noted."""
        if self.nodes is not None and self.first is not None:
            self.nodes.read(self.supervisor.record.rows)
        return self.supervisor.fault(self.cause())

    def close(self):
        self.supervisor.close()


def exit_text(code):
    """An exit code in words."""
    return f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit code {code}"


def cores():
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
