"""The transport of ranks that share memory: threads of a process, and processes of a node.

Each rank has a slot in memory that all see, of `SLOT` bytes, twice. A collective goes in steps: write to one's own
slot, come to the barrier, read from the others'. A step uses the slots that the step before it did not, so that one
barrier for each step is enough: who writes to a slot again has passed the barrier of the step between. Longer arrays
than a slot go in several steps, through the caches.

All-reduce: with two ranks, each reduces all; a long array goes through both slots in `PIECES`, places of a ring, so
that a rank may be ahead of the other by as many: they need not run at the same time. With more ranks, each owns a part
of each chunk, reduces the parts of all ranks there, and the others copy it. It goes in the order of ranks, so that all
transports give the same bits.

At the first barrier of a call the ranks also compare a digest of it (name, dtype, shape, operation, root): a rank that
calls something else is named at once.
"""

import threading

import numpy as np

from .reducing import reduce_arrays
from .transport import Mailbox, flat_bytes

__all__ = ["SharedTransport"]

SLOT = 1 << 21
PIECES = 4                                                 # of a slot: each, and its sum, stay in a core's cache
RING, PACKET = 4, 1 << 16                                  # a channel from rank to rank: packets under way, their size
HEAD = 16                                                  # bytes of a message's head: its size and its tag
CACHED = 1 << 16                                           # elements that stay in a core's cache
LINE = 16                                                  # int64 in a row of counters: rows share no line of a cache


def window_bytes(size, slot):
    """The bytes that a group of `size` ranks shares."""
    return 8 * LINE * size * (1 + size) + 2 * size * slot + size * size * RING * PACKET


def packets(message):
    """The parts of a message that go as one packet each, and where they begin in it: the first one after the head."""
    yield HEAD, message[:PACKET - HEAD]
    for place in range(PACKET - HEAD, message.size, PACKET):
        yield 0, message[place:place + PACKET]


class SharedTransport(Mailbox):
    """See the module. memory: an array of `window_bytes` zeros that all ranks of the group see; record: the job's."""

    shares = True

    def __init__(self, memory, ranks, rank, record, group, timeout, slot=SLOT):
        super().__init__(ranks, rank, record, group, timeout)
        self.slot = slot
        n = self.size
        counters = memory[:8 * LINE * n * (1 + n)].view(np.int64).reshape(1 + n, n, LINE)
        self.arrived, self.digests = counters[0, :, 0], counters[0, :, 1:3]
        self.shown, self.read = counters[0, :, 3], counters[0, :, 4]             # pieces of the ring
        self.written, self.taken = counters[1:, :, 0], counters[1:, :, 1]        # of the channel [from, to]
        start = counters.nbytes
        self.slots = memory[start:start + 2 * n * slot].reshape(2, n, slot)
        self.channels = memory[start + 2 * n * slot:].reshape(n, n, RING, PACKET)
        self.steps, self.seq, self.digest, self.unchecked = 0, 0, 0, False
        self.lent = False                                  # whether the other rank may still read pieces of the ring
        self.sending = [threading.Lock() for _ in range(n)]
        self.fence = threading.Lock()

    def sync(self):
        """Memory written before is seen by who sees what is written after: a lock orders both."""
        with self.fence:
            pass

    def call(self, seq, digest):
        self.seq, self.digest, self.unchecked = seq, digest, True

    def step(self):
        """The barrier of a step."""
        self.steps += 1
        goal, arrived = self.steps, self.arrived
        if self.unchecked:
            self.digests[self.rank, self.seq & 1] = self.digest
        self.sync()
        arrived[self.rank] = goal
        self.until(lambda: arrived.min() >= goal, lambda: np.flatnonzero(arrived < goal).tolist(),
                   self.seq)
        self.sync()
        if self.unchecked:
            self.unchecked = False
            if (self.digests[:, self.seq & 1] != self.digest).any():
                self.record.stop(self.record.of_mismatch(self.ranks, self.group, self.seq))

    def turn(self):
        """The slots of the next step."""
        if self.lent:
            me, you, self.lent = self.rank, 1 - self.rank, False
            self.until(lambda: self.read[you] == self.shown[me], lambda: [you], self.seq)
        return self.slots[(self.steps + 1) & 1]

    # -- moving bytes --------------------------------------------------------------------------------------
    def exchange(self, send, wanted, longest):
        """Show the bytes `send` to all; write to `out` for each (rank, start, out) of `wanted` that rank's bytes.

        longest: the largest number of bytes that any rank shows.
        """
        for begin in range(0, max(longest, 1), self.slot):
            slots = self.turn()
            part = send[begin:begin + self.slot]
            slots[self.rank, :part.size] = part
            self.step()
            for source, start, out in wanted:
                low, high = max(start, begin), min(start + out.size, begin + self.slot)
                if low < high:
                    out[low - start:high - start] = slots[source, low - begin:high - begin]

    def barrier(self):
        self.step()

    def broadcast(self, array, root):
        data = flat_bytes(array)
        here = self.rank == root
        self.exchange(data if here else data[:0], () if here else [(root, 0, data)], data.size)

    def all_gather(self, outs, array):
        data = flat_bytes(array)
        self.exchange(data, [(r, 0, flat_bytes(out)) for r, out in enumerate(outs)], data.size)

    def gather(self, outs, array, root):
        data = flat_bytes(array)
        self.exchange(data, [] if outs is None else [(r, 0, flat_bytes(out)) for r, out in enumerate(outs)], data.size)

    def scatter(self, out, arrays, root):
        data = flat_bytes(out)
        send = data[:0] if arrays is None else np.concatenate([flat_bytes(a) for a in arrays])
        self.exchange(send, [(root, self.rank * data.size, data)], self.size * data.size)

    def all_to_all(self, outs, arrays):
        n, sizes = self.size, np.array([a.nbytes for a in arrays], np.int64)
        table = np.empty((n, n), np.int64)
        self.exchange(flat_bytes(sizes), [(r, 0, flat_bytes(table[r])) for r in range(n)], sizes.nbytes)
        self.check_parts(table[:, self.rank], [out.nbytes for out in outs], self.seq)
        starts = np.cumsum(table, axis=1) - table
        send = np.concatenate([flat_bytes(a) for a in arrays])
        self.exchange(send, [(r, int(starts[r, self.rank]), flat_bytes(out)) for r, out in enumerate(outs)],
                      int(table.sum(1).max()))

    # -- reducing ------------------------------------------------------------------------------------------
    def all_reduce(self, array, op):
        if self.size == 2:
            self.of_two(array, op)
        else:
            self.in_parts(array, op, range(self.size))

    def of_two(self, array, op):
        """All-reduce of two ranks: each shows all and reduces all."""
        if array.nbytes > self.slot:
            self.by_ring(array, op)
            return
        slots = self.turn()[:, :array.nbytes].view(array.dtype)
        slots[self.rank] = array
        self.step()
        reduce_arrays(op, [array, slots[1]] if self.rank == 0 else [slots[0], array], array)

    def by_ring(self, array, op):
        """The same for a long array: who has shown a piece takes the other's as soon as it is there."""
        me, you, size = self.rank, 1 - self.rank, self.slot // PIECES
        shown, read, most = self.shown, self.read, size // array.itemsize
        rings = [[self.slots[i // PIECES, r, i % PIECES * size:][:most * array.itemsize].view(array.dtype)
                  for i in range(2 * PIECES)] for r in range(2)]
        chunks = [array[begin:begin + most] for begin in range(0, array.size, most)]
        first, put, taken = int(shown[me]), 0, 0

        def there():
            return put > taken and shown[you] > first + taken

        def room():
            return put < len(chunks) and first + put - read[you] < 2 * PIECES
        self.step()                                        # nobody reads the slots any more
        while taken < len(chunks):
            if there():
                chunk = chunks[taken]
                self.sync()
                other = rings[you][taken % (2 * PIECES)][:chunk.size]
                reduce_arrays(op, [chunk, other] if me == 0 else [other, chunk], chunk)
                self.sync()
                taken += 1
                read[me] = first + taken
            elif room():
                chunk = chunks[put]
                rings[me][put % (2 * PIECES)][:chunk.size] = chunk
                self.sync()
                put += 1
                shown[me] = first + put
            else:
                self.until(lambda: there() or room(), lambda: [you], self.seq)
        self.lent = True

    def reduce(self, array, root, op):
        self.in_parts(array, op, (root,))

    def in_parts(self, array, op, receivers):
        """Reduce `array` chunk by chunk, each rank a part of each; the result is written in the `receivers`."""
        n, rank, item = self.size, self.rank, array.itemsize
        most = self.slot // item
        for begin in range(0, max(array.size, 1), most):
            chunk = array[begin:begin + most]
            bounds = [chunk.size * r // n for r in range(n + 1)]
            mine = slice(bounds[rank], bounds[rank + 1])
            slots = self.turn()[:, :chunk.size * item].view(array.dtype)
            slots[rank] = chunk
            self.step()
            found = np.empty_like(chunk[mine])
            reduce_arrays(op, [slots[r, mine] for r in range(n)], found)
            slots[rank, mine] = found
            self.half_step()
            if rank in receivers:
                for r in range(n):
                    part = slice(bounds[r], bounds[r + 1])
                    chunk[part] = slots[r, part]

    def half_step(self):
        """A barrier after which the same slots are read again: two, so that `turn` takes the others next."""
        self.step()
        self.steps += 1
        self.arrived[self.rank] = self.steps

    def all_reduce_shared(self, arrays, op):
        """All-reduce of arrays that lie in memory that all ranks share: ``arrays[rank]`` is that rank's."""
        own, n, rank = arrays[self.rank], self.size, self.rank
        self.step()
        for begin in range(own.size * rank // n, own.size * (rank + 1) // n, CACHED):
            part = slice(begin, min(begin + CACHED, own.size * (rank + 1) // n))
            parts = [array[part] for array in arrays]
            found = own[part] if n == 2 else np.empty_like(own[part])
            reduce_arrays(op, parts, found)
            for one in parts:
                if one is not found:
                    one[...] = found
        self.step()

    def reduce_scatter(self, out, arrays, op):
        n, most = self.size, self.slot // self.size // out.itemsize
        for begin in range(0, max(out.size, 1), most):
            length = min(most, out.size - begin) if out.size else 0
            slots = self.turn()[:, :n * length * out.itemsize].view(out.dtype).reshape(n, n, length)
            for r, array in enumerate(arrays):
                slots[self.rank, r] = array[begin:begin + length]
            self.step()
            reduce_arrays(op, [slots[r, self.rank] for r in range(n)], out[begin:begin + length])

    # -- messages ------------------------------------------------------------------------------------------
    def send(self, array, to, tag):
        data = flat_bytes(array)
        head = np.array([data.size, tag], np.int64).view(np.uint8)
        written, taken, me = self.written, self.taken, self.rank
        with self.sending[to]:
            for begin, part in packets(data):
                self.until(lambda: written[me, to] - taken[me, to] < RING, lambda: [to])
                packet = self.channels[me, to, written[me, to] % RING]
                packet[:begin] = head[:begin]
                packet[begin:begin + part.size] = part
                self.sync()
                written[me, to] += 1

    def waiting(self, source):
        return self.written[source, self.rank] > self.taken[source, self.rank]

    def head(self, source):
        return self.packet(source)[:HEAD].copy().view(np.int64)

    def packet(self, source):
        """The next packet from `source`, when it is there."""
        taken, me = self.taken, self.rank
        self.until(lambda: self.waiting(source), lambda: [source])
        self.sync()
        return self.channels[source, me, taken[source, me] % RING]

    def body(self, source, message):
        """Copy a message, and its head, out of its packets."""
        for begin, part in packets(message):
            part[...] = self.packet(source)[begin:begin + part.size]
            self.sync()
            self.taken[source, self.rank] += 1
