"""A process beside the ranks that mpiexec has started on this node: it names the rank that was
killed.

MPI ends all ranks as soon as one is killed, mostly before they can say what they know. This process
learns that ranks have ended from file descriptors of their processes, and notes it in the record.
When all have ended and none has said why, it writes the message that the others would have written:
a rank that knows the cause may be ended while it writes, so each notes when it has written all.
It also removes the files that MPI leaves in memory when it ends a job. The signal can be seen until
MPI takes leave of the process, which may be too soon.

A dying process closes its files some time before its end is told. mpiexec (MPICH's) listens to the connection that it
has with each rank: it could end the others so early that their ends are told first. Each rank therefore leaves the
watcher a duplicate of its connection, which is closed only when the watcher has noted the end: mpiexec comes second.

It is started as a file, not as a module: until something goes wrong it needs Python's library only.
"""

import contextlib
import json
import mmap
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

__all__: list = []

RUNNING, FAILED, KILLED = 1, 2, 4                          # the record's states, and its sign for an unknown signal
UNKNOWN = -1
PAUSE = 0.05                                               # seconds until the system is asked again
CONNECTION = "PMI_FD"                                      # names the file descriptor of a rank's connection, by MPICH
SOCKET = "connections"                                     # the file of the socket at which ranks leave them


def listener(folder, size):
    """A socket in `folder` at which `size` ranks leave duplicates of their connections to mpiexec."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(os.path.join(folder, SOCKET))
    made.listen(size)
    return made


def leave_connection(folder, rank):
    """Leave a duplicate of this rank's connection to mpiexec at the listener, which need not accept it at once."""
    if CONNECTION in os.environ:
        with socket.socket(socket.AF_UNIX) as to:
            to.connect(os.path.join(folder, SOCKET))
            socket.send_fds(to, [str(rank).encode()], [int(os.environ[CONNECTION])])


def connections_of(listener):
    """{rank: its connection to mpiexec} of the ranks that have left one; closes the listener."""
    found = {}
    with listener:
        listener.setblocking(False)
        while True:
            try:
                line, _ = listener.accept()
            except BlockingIOError:                        # all have come before
                return found
            with line:
                rank, files, _, _ = socket.recv_fds(line, 32, 1)
                found[int(rank)] = files[0]


def start(folder, pids, row, listener):
    """Start a watcher of processes whose record, rows of a NumPy dtype, is in `folder`; returns whether it can be."""
    os.unlink(os.path.join(folder, SOCKET))                # all ranks have been there
    if not hasattr(os, "pidfd_open"):
        listener.close()
        return False
    connections = connections_of(listener)
    layout = {name: row.fields[name][1] for name in ("state", "signal", "when", "told")}
    file = os.open(os.path.join(folder, "record"), os.O_RDWR)
    events, places = ends_of(pids)
    handed = [file, *places, *connections.values()]
    try:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        told = dict(file=file, folder=folder, pids=pids, row=row.itemsize, layout=layout, left=left_by_mpi(),
                    events=events.fileno(), places=places, connections=connections)
        subprocess.Popen([sys.executable, __file__, json.dumps(told)], pass_fds=[events.fileno(), *handed],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
                         env={**os.environ, "PYTHONPATH": paths})
    finally:
        events.close()
        for descriptor in handed:
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
        try:
            found = events.poll()
        except OSError:                                    # out of something: that passes
            time.sleep(PAUSE)
            continue
        for file, _ in found:
            ended += 1
            yield places[file]


def main(file, folder, pids, row, layout, left, events, places, connections):
    """Wait for the ranks, note their ends, and write a message if it is ours to write."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)              # for the ranks; this process ends after them
    memory = mmap.mmap(file, 0)
    for place in in_order(select.epoll.fromfd(events), {int(file): place for file, place in places.items()}):
        number = signal_of(pids[place])
        at = {name: place * row + offset for name, offset in layout.items()}
        if struct.unpack_from("i", memory, at["state"])[0] == RUNNING:
            struct.pack_into("i", memory, at["signal"], number or UNKNOWN)
            struct.pack_into("d", memory, at["when"], time.time())
            struct.pack_into("i", memory, at["state"], KILLED)
        if str(place) in connections:
            with contextlib.suppress(OSError):
                os.close(connections[str(place)])          # now mpiexec may end the others
    ends = [(struct.unpack_from("i", memory, at + layout["state"])[0],
             struct.unpack_from("q", memory, at + layout["told"])[0])
            for at in range(0, len(pids) * row, row)]
    if any(state in (FAILED, KILLED) for state, _ in ends) and (FAILED, 1) not in ends:
        with contextlib.suppress(OSError):                 # nobody reads it any more
            print(f"minitorch.distributed: {message_of(memory)}", file=sys.stderr, flush=True)
    for path in left:
        with contextlib.suppress(OSError):
            os.unlink(path)
    shutil.rmtree(folder, ignore_errors=True)


def message_of(memory):
    """The cause of the job's end: the first fault, and the calls that the others were in."""
    import numpy as np

    from minitorch.distributed.record import ROW, Rows
    rows = np.frombuffer(memory, ROW).copy()
    first = Rows(rows).first_failed()
    others = (rows["state"] == KILLED) & (np.arange(len(rows)) != first)
    rows["state"][others] = RUNNING                        # until MPI ended them, too
    return Rows(rows).of_failure(first)


if __name__ == "__main__":
    sys.path.pop(0)                                        # the folder of this file, which is none of modules
    main(**json.loads(sys.argv[1]))
