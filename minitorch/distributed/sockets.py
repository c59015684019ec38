"""The transport of ranks that several launchers have started, each on its node: TCP connections between all pairs.

For jobs without MPI: `run` with ``--nnodes``. Each rank listens on a port, which it tells the store; each pair of ranks
of a group has one connection for collectives and one for messages. Peers show the job's secret
(`peers`), but nothing is encrypted: for networks that are trusted. Connections are polled, so that
a wait notices what goes wrong.
"""

import os
import select
import socket
import struct
import threading
import time

import numpy as np

from . import peers
from .errors import DistNetworkError
from .processes import FOLDER, Shared, mapped
from .record import ROW
from .remote import RemoteNode, RemoteTransport
from .transport import Mailbox, flat_bytes

__all__ = ["SocketNode", "SocketTransport"]

HELLO = struct.Struct("<qqq")                              # group, kind and rank of who connects
COLLECTIVES, MESSAGES = 0, 1                               # kinds of connections
HEAD = struct.Struct("<qq")                                # size and tag of a message
LARGE = 1 << 16                                            # bytes from which a broadcast goes in parts


class SocketNode(Shared, RemoteNode):
    """One rank's side of a job whose ranks reach each other by TCP; `launched`: by a launcher that
    reports the ends of ranks.

    Groups of ranks of one launcher share memory in its folder.
    """

    def __init__(self, rank, size, store, told, address, launched):
        rows, here = rows_with_launcher(rank, size) if launched else (None, ())
        super().__init__(rank, size, told, launched, rows, here)
        self.peers_store, self.folder = store, os.environ.get(FOLDER, "")
        self.lost, self.arrived, self.condition = set(), {}, threading.Condition()
        self.listening = peers.listen(address, 0, 4 * size)
        store.set(f"address {rank}", f"{address} {self.listening.getsockname()[1]}")
        peers.serve(self.listening, self.keep, "ranks")

    def keep(self, found):
        """Keep a connection of a rank for the group that it names."""
        try:
            found.settimeout(peers.PATIENCE)
            key = HELLO.unpack(peers.reader(found)(HELLO.size))
        except (OSError, EOFError):                        # it has ended
            found.close()
            return
        with self.condition:
            self.arrived[key] = found
            self.condition.notify_all()

    def connection(self, group, kind, rank, timeout):
        """The connection to a rank: the one with the higher number connects."""
        if rank < self.rank:
            host, port = self.peers_store.get(f"address {rank}").decode().split()
            try:
                found = peers.connect(host, int(port), timeout)
                peers.write(found, HELLO.pack(group, kind, self.rank))
            except OSError as error:
                raise DistNetworkError(f"rank {self.rank} cannot connect to rank {rank} at "
                                       f"({host}, {port}): {error}") from None
        else:
            with self.condition:
                if not self.condition.wait_for(lambda: (group, kind, rank) in self.arrived, timeout):
                    raise DistNetworkError(f"rank {rank} has not connected to rank {self.rank} for {timeout:g} s")
                found = self.arrived.pop((group, kind, rank))
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setblocking(False)
        return found

    def transport(self, ranks, number, record, timeout):
        return SocketTransport(self, ranks, ranks.index(self.rank), record, number, timeout)

    def are_near(self, ranks):
        return len(ranks) > 1 and set(ranks) <= set(self.here)

    def alive(self, rank):
        return rank not in self.lost

    def close(self, rank):
        super().close(rank)
        peers.close(self.listening)


def rows_with_launcher(rank, size):
    """The rows of the record that this node's ranks share with their launcher, and which ranks these are."""
    folder, env = os.environ.get(FOLDER), os.environ
    if folder is None or not os.path.isdir(folder):
        return None, ()
    first = rank - int(env["LOCAL_RANK"])
    return (mapped(os.path.join(folder, "record"), ROW.itemsize * size).view(ROW),
            range(first, first + int(env["LOCAL_WORLD_SIZE"])))


class Transfer:
    """Bytes on their way to or from a peer: `step()` moves what goes without waiting; whether all is done."""

    def __init__(self, peer, connection, data, out):
        self.peer, self.connection, self.out, self.left = peer, connection, out, memoryview(data)

    def step(self):
        while self.left:
            try:
                n = self.connection.send(self.left) if self.out else self.connection.recv_into(self.left)
            except OSError as error:
                if error.errno not in peers.PASSING:
                    raise
                return False
            if not n:
                raise ConnectionResetError
            self.left = self.left[n:]
        return True


class SocketTransport(Mailbox, RemoteTransport):
    """Collectives and messages over TCP."""

    def __init__(self, node, ranks, rank, record, group, timeout):
        super().__init__(ranks, rank, record, group, timeout)
        self.node, self.under_way = node, threading.local()
        others = [r for r in range(self.size) if r != rank]
        self.peers, self.messages = ({r: node.connection(group, kind, ranks[r], timeout) for r in others}
                                     for kind in (COLLECTIVES, MESSAGES))
        self.sending = [threading.Lock() for _ in range(self.size)]

    # -- bytes ---------------------------------------------------------------------------------------------
    def move(self, transfers, missing, seq=None):
        """Carry transfers out, all at once."""
        left = self.under_way.left = [t for t in transfers if t.left]

        def done():
            for transfer in list(left):
                try:
                    if transfer.step():
                        left.remove(transfer)
                except OSError:
                    self.node.lost.add(self.ranks[transfer.peer])
            return not left
        self.until(done, lambda: sorted({t.peer for t in left} | set(missing())), seq)

    def pause(self, seconds):
        """Wait until a connection can go on, but not for long."""
        left = getattr(self.under_way, "left", None)
        if not left or any(self.ranks[t.peer] in self.node.lost for t in left):
            time.sleep(seconds)
            return
        poll = select.poll()
        for transfer in left:
            poll.register(transfer.connection, select.POLLOUT if transfer.out else select.POLLIN)
        poll.poll(20)

    def exchange(self, sent, taken):
        """Send ``sent[rank]`` to each rank, receive ``taken[rank]``: bytes, by rank; what is not there is not moved."""
        transfers = [Transfer(r, self.peers[r], data, True) for r, data in sent.items() if r != self.rank]
        transfers += [Transfer(r, self.peers[r], data, False) for r, data in taken.items() if r != self.rank]
        self.move(transfers, lambda: (), self.seq)
        if self.rank in sent and self.rank in taken:
            taken[self.rank][...] = sent[self.rank]

    def barrier(self):
        everybody = range(self.size)
        self.exchange({r: np.zeros(1, np.uint8) for r in everybody}, {r: np.empty(1, np.uint8) for r in everybody})

    def swap(self, arrays, outs):
        self.exchange(dict(enumerate(map(flat_bytes, arrays))), dict(enumerate(map(flat_bytes, outs))))

    def spread(self, part, outs):
        data, places = flat_bytes(part), dict(enumerate(map(flat_bytes, outs)))
        if np.may_share_memory(data, places[self.rank]):  # both are contiguous: it says what is so
            del places[self.rank]
        self.exchange(dict.fromkeys(range(self.size), data), places)

    def collect(self, part, outs, root):
        self.exchange({root: flat_bytes(part)}, {} if outs is None else dict(enumerate(map(flat_bytes, outs))))

    def scatter(self, out, arrays, root):
        self.exchange({} if arrays is None else dict(enumerate(map(flat_bytes, arrays))), {root: flat_bytes(out)})

    def broadcast(self, array, root):
        data, n, here = flat_bytes(array), self.size, self.rank == root
        if data.size < LARGE:
            self.exchange(dict.fromkeys(range(n), data) if here else {}, {} if here else {root: data})
            return
        bounds = [data.size * r // n for r in range(n + 1)]
        parts = dict(enumerate(data[a:b] for a, b in zip(bounds, bounds[1:])))
        mine = parts[self.rank]
        self.exchange(parts if here else {}, {} if here else {root: mine})
        self.exchange({r: mine for r in range(n) if r != root}, {} if here else {r: parts[r] for r in range(n)})

    # -- messages ------------------------------------------------------------------------------------------
    def send(self, array, to, tag):
        data, link = flat_bytes(array), self.messages[to]
        with self.sending[to]:
            self.move([Transfer(to, link, HEAD.pack(data.size, tag), True)], lambda: [to])
            self.move([Transfer(to, link, data, True)], lambda: [to])

    def waiting(self, source):
        poll = select.poll()
        poll.register(self.messages[source], select.POLLIN)
        return bool(poll.poll(0))

    def head(self, source):
        found = bytearray(HEAD.size)
        self.move([Transfer(source, self.messages[source], found, False)], lambda: [source])
        return HEAD.unpack(found)

    def body(self, source, message):
        self.move([Transfer(source, self.messages[source], message, False)], lambda: [source])

    def close(self):
        super().close()
        for connection in (*self.peers.values(), *self.messages.values()):
            connection.close()
