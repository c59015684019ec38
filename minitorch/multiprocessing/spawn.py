"""`spawn`: start processes that call a function with their number, and wait for them."""

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.spawn
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback

from ..distributed.supervise import Watch, end_with_parent, is_aliased
from ..distributed.world import note_failure

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "spawn", "start_processes"]


class ProcessException(Exception):
    """A process that `spawn` has started failed."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended by an exception, which the text shows."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code that is not 0."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def body(function, number, args, error_file):
    """The work of a started process."""
    end_with_parent()
    try:
        function(number, *args)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        note_failure(error)
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """The started processes: `join`, `pids`."""

    def __init__(self, processes, error_files, watch, folder):
        self.processes, self.error_files, self.watch, self.folder = processes, error_files, watch, folder
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """The numbers of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait up to `timeout` seconds; True if all have ended, False if some still run.

        If one failed, the others are ended, and what it raised is raised here.
        """
        if self.watch is None:
            return True
        end = None if timeout is None else time.monotonic() + timeout
        while not (done := self.watch.look()) and self.watch.first is None:
            left = 0.1 if end is None else min(0.1, end - time.monotonic())
            if left <= 0:
                break
            running = [s for s, i in self.sentinels.items() if self.processes[i].exitcode is None]
            multiprocessing.connection.wait(running, timeout=left)     # not for long: others may hold a sentinel open
        if self.watch.first is None:
            if done:
                self.close()
            return done
        self.watch.stop(5.0 if grace_period is None else grace_period)
        cause = self.watch.cause()
        try:
            self.fail(cause)
        finally:
            self.close()

    def fail(self, rank):
        """Raise what happened to a process."""
        process, file = self.processes[rank], self.error_files[rank]
        if os.path.exists(file) and os.path.getsize(file):
            with open(file, "rb") as found:
                text = pickle.load(found)
            raise ProcessRaisedException(f"\n\n-- Process {rank} terminated with the following error:\n{text}", rank,
                                         process.pid)
        code, words = process.exitcode, self.watch.message()
        words = f": {words}" if words else ""
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {rank} terminated with signal {name}{words}", rank, process.pid,
                                         code, name)
        raise ProcessExitedException(f"process {rank} terminated with exit code {code}{words}", rank, process.pid, code)

    def close(self):
        self.watch.close()
        self.folder.cleanup()
        self.watch = None


class SpawnContext(ProcessContext):
    """The same, under its old name."""


def aliased_command_line(**kwargs):
    """The command that starts a process in which ``import torch`` means minitorch, too."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
    return [multiprocessing.spawn.get_executable(), "-c",
            f"import minitorch.cli.alias as alias; alias.install(); from multiprocessing.spawn import spawn_main; "
            f"spawn_main({arguments})", "--multiprocessing-fork"]


@contextlib.contextmanager
def environment(values):
    """Environment variables for the processes that are started in the block."""
    before, command = {name: os.environ.get(name) for name in values}, multiprocessing.spawn.get_command_line
    os.environ.update(values)
    if is_aliased():
        multiprocessing.spawn.get_command_line = aliased_command_line
    try:
        yield
    finally:
        multiprocessing.spawn.get_command_line = command
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", numa_options=None):
    """Call ``fn(i, *args)`` in `nprocs` processes; see `spawn`."""
    context, folder = multiprocessing.get_context(start_method), tempfile.TemporaryDirectory(prefix="minitorch-errors-")
    processes: list = []

    def kill(rank, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(processes[rank].pid, number)
    watch = Watch(nprocs, lambda rank: processes[rank].exitcode, kill)
    files = [os.path.join(folder.name, str(i)) for i in range(nprocs)]
    try:
        with environment(watch.environment):
            for i in range(nprocs):
                processes.append(context.Process(target=body, args=(fn, i, args, files[i]), daemon=daemon))
                processes[-1].start()
    except BaseException:
        for process in processes:
            if process.pid:
                process.kill()
        watch.close()
        folder.cleanup()
        raise
    found = ProcessContext(processes, files, watch, folder)
    if not join:
        return found
    try:
        while not found.join():
            pass
    except BaseException:
        if found.watch is not None:                        # Ctrl-C
            watch.stop()
            found.close()
        raise
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Call ``fn(i, *args)`` for i = 0 ... nprocs - 1, each in a process of its own.

    With `join`, wait for all; if one fails, the others are ended and `ProcessRaisedException`, with the traceback, or
    `ProcessExitedException` is raised. Without, returns a `ProcessContext`. `fn` must be importable by the processes.
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
