"""How launchers of several nodes find each other: they meet at a store that one of them serves.

The store stays while the job runs, whatever happens to ranks: these use it too, and learn from it how others ended. In
each round, one for each start of all ranks, every launcher gets a number and learns of all others' ranks.
"""

import contextlib
import json
import os
import socket
import time
from datetime import timedelta

from . import peers
from .errors import DistNetworkError, DistStoreError
from .remote import BEAT, RemoteNode, packed_row
from .store import PrefixStore, TCPStore

__all__ = ["Meeting"]

PORTS = {"static": 29500, "c10d": 29400}                   # torchrun's
POLL = 0.05
LOST = 5.0
LINGER = 15.0                                              # seconds in which the others see how a job has ended


def parsed(text):
    """The settings in ``--rdzv-conf``: key=value, ..."""
    try:
        return dict(part.split("=", 1) for part in (text or "").split(",") if part)
    except ValueError:
        raise SystemExit(f"--rdzv-conf {text}: expected key=value,key=value") from None


def secret_in(path):
    """The secret of the job, the text of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read().strip()
    except OSError as error:
        raise SystemExit(f"--rdzv-conf secret_file={path}: {error.strerror}") from None
    if not found:
        raise SystemExit(f"--rdzv-conf secret_file={path}: expected a random text, it is empty")
    return found


def numbers_of_nodes(text):
    """The lowest and the highest number of nodes that ``--nnodes`` allows."""
    low, _, high = text.partition(":")
    if not (low.isdigit() and (high or low).isdigit() and 1 <= int(low) <= int(high or low)):
        raise SystemExit(f"--nnodes {text}: expected a number of at least 1, or lowest:highest")
    return int(low), int(high or low)


def is_here(host):
    """True if a host's name or address is this machine's."""
    if host in ("localhost", "127.0.0.1", "::1", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        address = socket.gethostbyname(host)
        with socket.socket() as found:
            found.bind((address, 0))
        return True
    except OSError:
        return False


class Meeting:
    """This launcher's side: `options` are those of `run`, `ranks` how many it starts."""

    def __init__(self, options, ranks):
        self.backend, conf = options.rdzv_backend or "static", parsed(options.rdzv_conf)
        if self.backend not in PORTS:
            raise SystemExit(f"--rdzv-backend {self.backend}: expected static or c10d, which "
                             f"need no server of their own")
        self.least, self.most = numbers_of_nodes(options.nnodes)
        if self.backend == "static" and self.least != self.most:
            raise SystemExit(f"--nnodes {options.nnodes}: a range of nodes needs --rdzv-backend c10d")
        self.number = int(conf.get("rank", options.node_rank))
        if self.backend == "static" and not 0 <= self.number < self.most:
            raise SystemExit(f"--node-rank {self.number}: expected a number from 0 to {self.most - 1}")
        host, _, port = (options.rdzv_endpoint or f"{options.master_addr}:{options.master_port or ''}").rpartition(":")
        self.host, self.port = host or port, int(port or 0) if host else 0
        self.port = self.port or PORTS[self.backend]
        if "secret_file" in conf:
            os.environ[peers.SECRET] = secret_in(conf["secret_file"])
        self.timeout = float(conf.get("join_timeout", conf.get("timeout", 600)))
        self.last_call = float(conf.get("last_call_timeout", 30))
        here = self.number == 0 if self.backend == "static" else conf.get("is_host", str(is_here(self.host)))
        self.serves = str(here).lower() in ("true", "1", "yes")
        self.id, self.ranks, self.address = options.rdzv_id or "none", ranks, options.local_addr
        self.store, self.round = self.reached(), None

    def reached(self):
        """The store: served here, or reached."""
        seconds = timedelta(seconds=self.timeout)
        if self.serves:
            try:
                return TCPStore(self.host, self.port, is_master=True, timeout=seconds, wait_for_workers=False)
            except peers.SecretMissing as error:
                raise SystemExit(str(error)) from None
            except DistNetworkError:
                if self.backend == "static":
                    raise SystemExit(f"port {self.port} is in use: give another --master-port to all nodes") from None
                self.serves = False                        # another launcher on this machine serves it
        try:
            return TCPStore(self.host, self.port, timeout=seconds)
        except DistNetworkError as error:
            raise SystemExit(f"no launcher serves {self.host}:{self.port}: {error}") from None

    def join(self, restarts):
        """Meet the others for a start of all ranks; returns a `Round`."""
        store = PrefixStore(f"rdzv/{self.id}/{restarts}", self.store)
        address = self.address or self.store.connected().getsockname()[0]
        number = self.number if self.backend == "static" else store.add("joined", 1) - 1
        store.set(f"node {number}", json.dumps([socket.gethostname(), self.ranks, address]))
        nodes = self.gather(store, number)
        if number >= len(nodes):
            raise SystemExit(f"the job {self.id!r} has begun with {len(nodes)} nodes: this one comes too late")
        hosts = {host for host, _, _ in nodes}
        if len(hosts) > 1 and address.startswith("127."):
            address = socket.gethostname()                 # the others cannot reach that
        if len(hosts) > 1 and number == 0:
            peers.warn_of_network(len(hosts))
        self.store.set_timeout(timedelta(seconds=LOST))    # from now on a store that does not answer is gone
        self.round = Round(self, store, number, nodes, address, restarts)
        return self.round

    def leave(self):
        """This launcher ends."""
        if self.round is not None:
            self.round.leave()

    def gather(self, store, number):
        """Host, number of ranks and address of all nodes, when enough have come."""
        end, called = time.monotonic() + self.timeout, None
        while not store.check(["closed"]):
            come = self.most if self.backend == "static" else int(store.add("joined", 0))
            there = store.check([f"node {i}" for i in range(min(come, self.most))])
            if there and come >= self.least and number == 0:
                called = called or time.monotonic() + (self.last_call if come < self.most else 0)
                if come >= self.most or time.monotonic() > called:
                    store.set("closed", str(min(come, self.most)))
            elif time.monotonic() > end:
                missing = [i for i in range(self.least) if not store.check([f"node {i}"])]
                raise SystemExit(f"nodes {missing} of {self.least} have not come to {self.host}:{self.port} for "
                                 f"{self.timeout:g} s: start a launcher there, with the same --rdzv-id and --nnodes")
            time.sleep(POLL)
        count = int(store.get("closed"))
        return [json.loads(value) for value in store.multi_get([f"node {i}" for i in range(count)])]


class Round:
    """The nodes of one start of all ranks."""

    def __init__(self, meeting, store, number, nodes, address, restarts):
        self.meeting, self.store, self.number, self.nodes, self.address = meeting, store, number, nodes, address
        self.first = sum(ranks for _, ranks, _ in nodes[:number])              # of this node's ranks
        self.size = sum(ranks for _, ranks, _ in nodes)
        self.told = PrefixStore(f"/worker/attempt_{restarts}/rows", meeting.store)

    def environment(self):
        """The variables of ranks that are other than on one node."""
        return dict(WORLD_SIZE=str(self.size), GROUP_RANK=str(self.number), GROUP_WORLD_SIZE=str(len(self.nodes)),
                    ROLE_WORLD_SIZE=str(self.size), MASTER_ADDR=self.meeting.host, MASTER_PORT=str(self.meeting.port),
                    TORCHELASTIC_USE_AGENT_STORE="True", MINITORCH_ADDRESS=self.address)

    def tell_end(self, rank, code, rows):
        """Tell ranks and launchers how a rank of this node has ended; `rows` are those of the record."""
        with contextlib.suppress(DistNetworkError):
            self.told.set(str(rank), packed_row(rows[rank:rank + 1]))
            self.told.set(f"end {rank}", str(code))

    def read(self, rows):
        """Bring the rows of the other nodes' ranks up to date, after a failure."""
        time.sleep(BEAT + 0.1)                             # they show them now and then
        with contextlib.suppress(DistNetworkError):
            here = range(self.first, self.first + self.meeting.ranks)
            RemoteNode(-1, self.size, self.told, True, rows, here).read_all()

    def fail(self, message):
        """Tell the other launchers that this node's ranks have failed."""
        with contextlib.suppress(DistNetworkError):
            self.store.compare_set("failed", "", message or "a rank failed")

    def failed(self):
        """The words of another node about its failure; None while all is well."""
        try:
            return self.store.get("failed").decode() if self.store.check(["failed"]) else None
        except (DistNetworkError, DistStoreError):
            return f"the launcher that serves {self.meeting.host}:{self.meeting.port} has ended"

    def all_done(self):
        """This node's ranks have ended well: wait for the others'; what has failed there, or None."""
        try:
            self.store.add("done", 1)
            while int(self.store.add("done", 0)) < len(self.nodes):
                if (failed := self.failed()) is not None:
                    return failed
                time.sleep(POLL)
        except DistNetworkError:
            pass                                           # who serves the store has seen all
        return None

    def leave(self):
        """This launcher ends; the one that serves the store stays until the others have seen all."""
        with contextlib.suppress(DistNetworkError):
            self.store.add("left", 1)
            end = time.monotonic() + LINGER
            while self.meeting.serves and int(self.store.add("left", 0)) < len(self.nodes) and time.monotonic() < end:
                time.sleep(POLL)
