"""Stores: small dictionaries that all ranks share, by which they find each other.

A store keeps bytes under names. `HashStore` is one of a process, `FileStore` a file that all ranks see, `TCPStore` a
server in one rank; `PrefixStore` is a part of another store. Values are bytes and are never unpickled.
"""

import contextlib
import math
import os
import socket
import struct
import threading
import time
from datetime import timedelta

from . import peers
from .errors import DistNetworkError, DistStoreError, QueueEmptyError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

DEFAULT = timedelta(seconds=300)
LARGEST = 1 << 23                                          # bytes of a request to a server
MALFORMED = (AttributeError, TypeError, ValueError)        # errors of a request that no rank makes
GONE = 5.0                                                 # seconds after which a server has ended


def as_bytes(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, int)):
        return str(value).encode()
    raise TypeError(f"a store keeps str or bytes, not {type(value).__name__}")


def seconds_of(timeout):
    if not isinstance(timeout, timedelta):
        raise TypeError(f"expected timeout to be a datetime.timedelta, got {type(timeout).__name__}")
    return timeout.total_seconds()


class Store:
    """The interface. A store implements `request(name, *arguments)`, one step that nobody interrupts."""

    def __init__(self, timeout=DEFAULT):
        self._timeout = timeout

    timeout = property(lambda self: self._timeout, doc="How long `get` and `wait` wait: a timedelta.")

    def set_timeout(self, timeout):
        """Set how long `get` and `wait` wait, a timedelta."""
        seconds_of(timeout)
        self._timeout = timeout

    def request(self, name, *arguments):
        raise NotImplementedError

    def set(self, key, value):
        """Keep `value` (str or bytes) under `key`."""
        self.request("set", key, as_bytes(value))

    def get(self, key):
        """The bytes under `key`; waits for them up to `timeout`."""
        self.wait([key])
        return self.request("get", key)

    def add(self, key, amount):
        """Add to the number under `key`, 0 at first; returns the sum."""
        return int(self.request("add", key, as_bytes(int(amount))))

    def append(self, key, value):
        """Add bytes at the end of what is under `key`."""
        self.request("append", key, as_bytes(value))

    def compare_set(self, key, expected, desired):
        """Set to `desired` if `expected` is there (or if nothing is, and `expected` is empty); returns it."""
        return self.request("compare_set", key, as_bytes(expected), as_bytes(desired))

    def check(self, keys):
        """True if all of `keys` are present."""
        return self.request("check", *keys) == b"1"

    def wait(self, keys, timeout=None):
        """Wait until all of `keys` are there, up to `timeout` (a timedelta); DistStoreError after it."""
        limit = seconds_of(timeout if timeout is not None else self._timeout)
        end, pause = time.monotonic() + limit, 1e-4
        while not self.check(keys):
            if time.monotonic() > end:
                missing = [key for key in keys if not self.check([key])]
                raise DistStoreError(f"wait timeout after {limit:g} s, keys: {', '.join(missing)}: nobody has set them")
            self.pause(pause)
            pause = min(pause * 1.5, 0.02)

    def pause(self, seconds):
        time.sleep(seconds)

    def delete_key(self, key):
        """Forget `key`; whether it was there."""
        return self.request("delete_key", key) == b"1"

    def num_keys(self):
        """The number of keys."""
        return int(self.request("num_keys"))

    def list_keys(self):
        """The names of all keys."""
        found = self.request("list_keys")
        return [key.decode() for key in found.split(b"\0")] if found else []

    def multi_get(self, keys):
        """The values of several keys; waits for all."""
        self.wait(keys)
        return [self.request("get", key) for key in keys]

    def multi_set(self, keys, values):
        """Set several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self):
        """True if the store has `append`, `multi_get` and `multi_set`."""
        return True

    def queue_push(self, key, value):
        """Put bytes at the end of the queue `key`."""
        self.request("push", key, as_bytes(value))

    def queue_pop(self, key, block=True):
        """Take the first entry of the queue `key`; waits for one, or raises QueueEmptyError with ``block=False``."""
        end = time.monotonic() + seconds_of(self._timeout)
        while True:
            found = self.request("pop", key)
            if found[:1] == b"1":
                return found[1:]
            if not block or time.monotonic() > end:
                raise QueueEmptyError(f"the queue {key!r} is empty")
            self.pause(0.001)

    def queue_len(self, key):
        """The number of entries that wait in the queue `key`."""
        return int(self.request("length", key))


class Table:
    """The dictionary behind a store, and what may be asked of it."""

    def __init__(self):
        self.values, self.queues = {}, {}

    def answer(self, name, *arguments):
        return getattr(self, "do_" + name)(*arguments)

    def do_set(self, key, value):
        self.values[key] = value
        return b""

    def do_get(self, key):
        return self.values.get(key, b"")

    def do_add(self, key, amount):
        self.values[key] = str(int(self.values.get(key, b"0")) + int(amount)).encode()
        return self.values[key]

    def do_append(self, key, value):
        self.values[key] = self.values.get(key, b"") + value
        return b""

    def do_compare_set(self, key, expected, desired):
        if key not in self.values:
            if expected:
                return expected
            self.values[key] = desired
        elif self.values[key] == expected:
            self.values[key] = desired
        return self.values[key]

    def do_check(self, *keys):
        return b"1" if all(key in self.values for key in keys) else b"0"

    def do_delete_key(self, key):
        return b"1" if self.values.pop(key, None) is not None else b"0"

    def do_num_keys(self):
        return str(len(self.values)).encode()

    def do_list_keys(self):
        return b"\0".join(key.encode() for key in self.values)

    def do_push(self, key, value):
        self.queues.setdefault(key, []).append(value)
        return b""

    def do_pop(self, key):
        waiting = self.queues.get(key)
        return b"1" + waiting.pop(0) if waiting else b"0"

    def do_length(self, key):
        return str(len(self.queues.get(key, ()))).encode()


CHANGES = frozenset(("set", "add", "append", "compare_set", "delete_key", "push", "pop"))
READS = frozenset(("get", "check", "num_keys", "list_keys", "length"))


class HashStore(Store):
    """A store within one process, for ranks that are threads."""

    def __init__(self, timeout=DEFAULT):
        super().__init__(timeout)
        self.table, self.lock = Table(), threading.Lock()

    def request(self, name, *arguments):
        with self.lock:
            return self.table.answer(name, *arguments)


class PrefixStore(Store):
    """The part of `store` whose keys begin with ``prefix/``."""

    def __init__(self, prefix, store):
        super().__init__(store.timeout)
        self.prefix, self.underlying_store = prefix, store

    def request(self, name, *arguments):
        if name in ("num_keys", "list_keys"):
            return self.underlying_store.request(name)
        if name == "check":
            return self.underlying_store.request(name, *[f"{self.prefix}/{key}" for key in arguments])
        return self.underlying_store.request(name, f"{self.prefix}/{arguments[0]}", *arguments[1:])


# ------------------------------------------------------------------ frames: what goes through files and sockets
def packed(parts):
    """Strings and bytes as one frame: their number, and each with its length."""
    parts = [part.encode() if isinstance(part, str) else part for part in parts]
    return struct.pack("<I", len(parts)) + b"".join(struct.pack("<I", len(part)) + part for part in parts)


def unpacked(read, most=None):
    """The parts of the next frame; `read(n)` gives n bytes. ValueError for more than `most`."""
    count, = struct.unpack("<I", read(4))
    left, parts = (math.inf if most is None else most) - 4 * count, []
    while left >= 0 and len(parts) < count:
        size, = struct.unpack("<I", read(4))
        left -= size
        parts.append(read(size) if left >= 0 else b"")
    if left < 0:
        raise ValueError(f"a frame of more than {most} bytes")
    return parts


def call_of(parts):
    """The request in a frame: name, key and other arguments."""
    name, *rest = parts
    keys = len(rest) if name == b"check" else 1
    return [name.decode(), *[part.decode() for part in rest[:keys]], *rest[keys:]]


class FileStore(Store):
    """A store in a file on a file system that all ranks see: a log of changes, each written under a lock.

    world_size: how many ranks there are; the last to release the store removes the file (not if it
    is below 1).
    """

    def __init__(self, file_name, world_size=-1, timeout=DEFAULT):
        super().__init__(timeout)
        self.path, self.world_size = file_name, world_size
        self.table, self.position, self.lock = Table(), 0, threading.Lock()
        if world_size > 0:
            self.add("\1ranks", 1)

    def request(self, name, *arguments):
        import fcntl
        with self.lock, open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            file.seek(self.position)
            while file.tell() < end:
                self.table.answer(*call_of(unpacked(file.read)))
            self.position = file.tell()
            if name in CHANGES:
                file.write(packed([name, *arguments]))
                file.flush()
                self.position = file.tell()
            return self.table.answer(name, *arguments)

    def close(self):
        """Let go of the file; the last rank removes it."""
        if self.world_size > 0 and os.path.exists(self.path) and self.add("\1left", 1) >= self.world_size:
            os.unlink(self.path)
        self.world_size = 0


class Server:
    """The table of a `TCPStore`, served by one thread for each connection."""

    def __init__(self, host, port, listening=None):
        self.table, self.lock = Table(), threading.Lock()
        if listening is None:
            try:
                listening = peers.listen(host, port)
            except OSError as error:
                raise DistNetworkError(f"The server socket has failed to listen on port {port}: {error}. Another "
                                       f"program uses it: choose another MASTER_PORT") from None
        self.socket, self.port = listening, listening.getsockname()[1]
        peers.serve(listening, self.answer, "store")

    def answer(self, connection):
        """Answer what a peer asks, until it closes the connection or asks what no rank asks."""
        read = peers.reader(connection)
        with connection, contextlib.suppress(OSError, EOFError, *MALFORMED):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                call = call_of(unpacked(read, LARGEST))
                with self.lock:
                    found = self.table.answer(*call)
                peers.write(connection, packed([found]))

    def close(self):
        peers.close(self.socket)


class TCPStore(Store):
    """A store that the rank with ``is_master`` serves at `host_name` and `port` (0: any free one, see `port`).

    It serves this machine alone where `host_name` is localhost or a loopback address. All ranks
    show the secret in the environment variable MINITORCH_SECRET, which launchers set; without one,
    others than this machine are not served (DistNetworkError). A request may have 8 MB.
    wait_for_workers: wait until `world_size` ranks are connected. The others try to connect for `timeout`, since the
    master may start after them; DistNetworkError then.
    """

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=DEFAULT, wait_for_workers=True,
                 multi_tenant=False, master_listen_fd=None, use_libuv=True):
        super().__init__(timeout)
        self.host, self.libuvBackend = host_name, False
        self.local, self.reached, self.server = threading.local(), False, None
        if is_master:
            listening = None if master_listen_fd is None else socket.socket(fileno=master_listen_fd)
            self.server = Server(host_name, port, listening)
        self.port = self.server.port if is_master else port
        self.connected()
        if world_size is not None and world_size > 0 and wait_for_workers:
            self.add("\1workers", 1)
            end = time.monotonic() + seconds_of(timeout)
            while int(self.request("get", "\1workers") or 0) < world_size:
                if time.monotonic() > end:
                    raise DistStoreError(f"Timed out after {seconds_of(timeout):g} s waiting for clients: "
                                         f"{int(self.request('get', chr(1) + 'workers'))}/{world_size} have joined")
                time.sleep(0.005)

    def connected(self):
        """This thread's connection: a request by one thread never waits for another's."""
        found = getattr(self.local, "connection", None)
        if found is not None and self.local.pid == os.getpid():
            return found
        seconds = seconds_of(self._timeout)
        try:
            seconds = min(seconds, GONE) if self.reached else seconds
            found = peers.connect(self.host, self.port, seconds)
        except ConnectionError as error:
            raise DistNetworkError(f"The client socket has failed to connect to ({self.host}, "
                                   f"{self.port}): {error}. Does rank 0 run there?") from None
        self.local.connection, self.local.pid, self.reached = found, os.getpid(), True
        return found

    def request(self, name, *arguments):
        frame = packed([name, *arguments])
        if len(frame) > LARGEST:
            raise DistStoreError(f"a TCPStore takes {LARGEST} bytes at once, got {len(frame)} for "
                                 f"{name}({arguments[0]!r}): send large data by collectives")
        try:
            return self.asked(frame)
        except (OSError, EOFError) as error:
            if name in READS:                              # which change nothing: ask again
                with contextlib.suppress(OSError, EOFError):
                    return self.asked(frame)
            raise DistNetworkError(f"failed to talk to the store at ({self.host}, {self.port}): "
                                   f"{str(error) or 'it is closed'}. Rank 0, which serves it, has ended") from None

    def asked(self, frame):
        """The answer to a request."""
        connection = self.connected()
        try:
            peers.write(connection, frame)
            return unpacked(peers.reader(connection))[0]
        except (OSError, EOFError):
            self.local.connection = None
            raise

    def close(self):
        """Stop serving."""
        if self.server is not None:
            self.server.close()
            self.server = None
