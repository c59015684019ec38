"""The job of the calling rank: its own if the rank is a thread, else the process's."""

import threading


class Local(threading.local):
    """The job of the current thread, and its place there, as `threads.run` told it."""

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
