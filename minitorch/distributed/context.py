"""Which job the calling rank belongs to: of a thread that is a rank, its own; else the process's."""

import threading


class Local(threading.local):
    """Of the current thread: its job, and what `threads.run` told it."""

    world = launch = None


local = Local()
process = None                                             # the job of a process that is a rank


def find():
    """The job of the calling rank; None before `init_process_group`."""
    return local.world or (None if local.launch is not None else process)


def put(world, own):
    """Enter a job: of this thread (`own`) or of the process."""
    global process
    if own:
        local.world = world
    else:
        process = world
