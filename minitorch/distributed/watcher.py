"""A process beside the ranks that mpiexec has started on this node: it names who was killed.

MPI ends all ranks as soon as one is killed, mostly before they can say what they know. This process is told of the ends
of ranks by file descriptors of their processes, and notes them in the record. When all have ended and none has said
why, it writes the message that the others would have written. It also removes what MPI leaves in memory when it ends a
job. The signal can be seen until MPI takes leave of the process, which may be too soon.

It is started as a file, not as a module: until something goes wrong it needs Python's library only.
"""

import json
import mmap
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

__all__: list = []

RUNNING, FAILED, KILLED = 1, 2, 4                          # the record's states, and its sign for an unknown signal
UNKNOWN = -1


def start(folder, pids, row):
    """Start a watcher of processes whose record, rows of a NumPy dtype, is in `folder`; returns whether it can be."""
    if not hasattr(os, "pidfd_open"):
        return False
    layout = {name: row.fields[name][1] for name in ("state", "signal", "when")}
    file = os.open(os.path.join(folder, "record"), os.O_RDWR)
    events, places = ends_of(pids)
    try:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        told = dict(file=file, folder=folder, pids=pids, row=row.itemsize, layout=layout, left=left_by_mpi(),
                    events=events.fileno(), places=places)
        subprocess.Popen([sys.executable, __file__, json.dumps(told)], pass_fds=[file, events.fileno(), *places],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                         env={**os.environ, "PYTHONPATH": paths})
    finally:
        for descriptor in (file, events.fileno(), *places):
            os.close(descriptor)
    return True


def left_by_mpi():
    """The files in memory that MPI has made for this job, and leaves there if it is not finalized."""
    with open("/proc/self/maps") as maps:
        return sorted({line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line})


def signal_of(pid):
    """The signal that has ended a process; 0 where none did, or where its parent has already taken leave of it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[-1]) & 127 if fields[0] == "Z" else 0


def ends_of(pids):
    """An epoll object of the ends of processes, and the place in `pids` of each descriptor in it.

    It is made before the watcher starts, and handed to it: Python takes longer to start than a job to end. An epoll
    object keeps the order of events, which poll does not.
    """
    events, places = select.epoll(), {}
    for place, pid in enumerate(pids):
        file = os.pidfd_open(pid)
        places[file] = place
        events.register(file, select.EPOLLIN | select.EPOLLONESHOT)
    return events, places


def in_order(events, places):
    """Yield the places of processes in the order in which they end."""
    ended = 0
    while ended < len(places):
        for file, _ in events.poll():
            ended += 1
            yield places[file]


def main(file, folder, pids, row, layout, left, events, places):
    """Wait for the ranks, note their ends, and write a message if it is ours to write."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)              # for the ranks; this process ends after them
    memory, killed = mmap.mmap(file, 0), []
    for place in in_order(select.epoll.fromfd(events), {int(file): place for file, place in places.items()}):
        number = signal_of(pids[place])
        at = {name: place * row + offset for name, offset in layout.items()}
        if struct.unpack_from("i", memory, at["state"])[0] == RUNNING:
            struct.pack_into("i", memory, at["signal"], number or UNKNOWN)
            struct.pack_into("d", memory, at["when"], time.time())
            struct.pack_into("i", memory, at["state"], KILLED)
            killed.append(place)
    states = [struct.unpack_from("i", memory, place * row + layout["state"])[0] for place in range(len(pids))]
    if killed and FAILED not in states:
        print(f"minitorch.distributed: {message_of(memory, killed[0])}", file=sys.stderr, flush=True)
    for path in left:
        if os.path.exists(path):
            os.unlink(path)
    shutil.rmtree(folder, ignore_errors=True)


def message_of(memory, place):
    """The cause of the job's end: the end of a rank, and the calls that the others were in."""
    import numpy as np

    from minitorch.distributed.record import ROW, Rows
    rows = np.frombuffer(memory, ROW).copy()
    others = (rows["state"] == KILLED) & (np.arange(len(rows)) != place)
    rows["state"][others] = RUNNING                        # until MPI ended them, too
    return Rows(rows).of_failure(place)


if __name__ == "__main__":
    sys.path.pop(0)                                        # the folder of this file, which is none of modules
    main(**json.loads(sys.argv[1]))
