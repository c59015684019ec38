"""Ranks as threads of one process: for tests, for lessons, for a look at a distributed program in a debugger.

`run(function, nprocs)` runs a program, ``init_process_group`` and all, in each of several threads. Such ranks share
all that belongs to a process (the default generator, the default dtype, files, environment variables); the process
group, the rank and everything that a rank computes are its own.
"""

import threading

from . import context
from .errors import DistBackendError
from .node import Launch, ThreadNode
from .record import RUNNING, Record, failure_text
from .store import HashStore
from .world import destroy_process_group, init_process_group

__all__ = ["run"]


def run(function, nprocs, args=(), *, init=True, timeout=None):
    """Call ``function(rank, *args)`` in `nprocs` threads, each of them a rank; returns the list of the results.

    init: join the ranks to a process group before, and destroy it after; with False, `function`
    calls ``init_process_group`` itself, with whatever backend: the ranks are threads all the same.
    `timeout`: a timedelta for the calls of the group. If a rank fails, the others are told, and the
    first error is raised.
    """
    node, store = ThreadNode(nprocs), HashStore()
    results, errors = [None] * nprocs, [None] * nprocs

    def body(rank):
        context.local.launch = Launch(rank, nprocs, store, node)
        try:
            if init:
                init_process_group("threaded", timeout=timeout)
            results[rank] = function(rank, *args)
            world = context.find()
            if world is not None:
                world.record.finish()
                if init:
                    destroy_process_group()
        except BaseException as error:
            errors[rank] = error
            world = context.find()
            if world is not None:
                world.record.fail(failure_text(rank, error))
            else:                                          # before it joined: the others wait for it
                row = node.rows[rank]
                row["state"] = RUNNING
                Record(node.rows, rank).fail(failure_text(rank, error))
        finally:
            context.local.world = context.local.launch = None

    threads = [threading.Thread(target=body, args=(rank,), name=f"rank {rank}", daemon=True) for rank in range(nprocs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [error for error in errors if error is not None]
    if failed:
        raise next((e for e in failed if not isinstance(e, DistBackendError)), failed[0])
    return results
