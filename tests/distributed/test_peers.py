"""Loops in the background live whatever the system answers; those that listen read nothing of
peers that do not know the secret."""

import contextlib
import errno
import io
import os
import socket
import struct
import threading
import time
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch as torch
import minitorch.distributed as dist
from minitorch.distributed import meeting, peers, remote, sockets, supervise, threads, watcher
from minitorch.distributed import run as launcher
from minitorch.distributed.record import KILLED, ROW, RUNNING

ERRNOS = ("EMFILE ENFILE ECONNABORTED EINTR ENOMEM ENOBUFS EPIPE ECONNRESET EAGAIN").split()
PASSING = [name for name in ERRNOS if getattr(errno, name) in peers.PASSING]
CALLS = [name for name in dir(socket.socket)
         if not name.startswith("_") and callable(getattr(socket.socket, name))
         and name not in ("close", "detach", "fileno")]     # which do not fail


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(peers, "PAUSE", 0.001)
    monkeypatch.setattr(peers, "told", {"..."})            # a warning is a test of its own
    monkeypatch.setenv(peers.SECRET, "of this test")


class Faults:
    """The calls that threads with some names make of sockets; each fails once on demand."""

    def __init__(self, monkeypatch, names):
        self.names, self.seen, self.armed = names, set(), None
        for name in CALLS:
            call = getattr(socket.socket, name)
            monkeypatch.setattr(socket.socket, name, self.wrapped(name, call))

    def wrapped(self, name, call):
        def called(this, *arguments, **options):
            if threading.current_thread().name in self.names:
                self.seen.add(name)
                if self.armed is not None and self.armed[0] == name:
                    number, self.armed = self.armed[1], None
                    raise OSError(number, os.strerror(number))
            return call(this, *arguments, **options)
        return called

    def each(self):
        """Arm every fault of every call that was seen, one after the other."""
        assert {"accept", "recv", "send"} <= self.seen or {"recv", "send"} <= self.seen
        for name in sorted(self.seen):
            for error in ERRNOS:
                self.armed = name, getattr(errno, error)
                yield name, error


def patiently(ask):
    """The result of `ask()`: of the second attempt, where a fault has cut the first connection."""
    try:
        return ask()
    except dist.DistNetworkError:
        return ask()


def test_the_store_lives(monkeypatch):
    faults = Faults(monkeypatch, ("store", "store peer"))
    server = dist.TCPStore("localhost", 0, is_master=True)

    def newcomer(value):
        store = dist.TCPStore("localhost", server.port, timeout=timedelta(seconds=20))
        store.set("key", value)
        return store.get("key").decode()
    assert newcomer("first") == "first"
    for name, error in faults.each():
        assert patiently(lambda text=f"{name} {error}": newcomer(text)) == f"{name} {error}"
        if faults.armed is not None and name == "accept":  # it waits there: the next one meets it
            assert newcomer("again") == "again"
        assert patiently(lambda: server.check(["key"]))
        assert faults.armed is None, (name, error)
    server.close()


def test_a_rank_asks_the_store_again(monkeypatch):
    """A fault that passes is not noticed; a lost connection is, but questions are asked again."""
    faults = Faults(monkeypatch, (threading.current_thread().name,))
    server = dist.TCPStore("localhost", 0, is_master=True)
    server.set("key", "value")
    faults.seen &= {"recv", "send"}                        # others are those of a first connection
    for name, error in faults.each():
        assert server.get("key") == b"value" and faults.armed is None, (name, error)
        if error in PASSING:
            faults.armed = name, getattr(errno, error)
            assert server.add(f"{name} {error}", 1) == 1 and faults.armed is None
    server.close()


def test_the_record_is_shown_on(monkeypatch):
    faults, server = Faults(monkeypatch, ("record",)), dist.TCPStore("localhost", 0, is_master=True)
    monkeypatch.setattr(remote, "BEAT", 0.002)
    node = remote.RemoteNode(0, 1, dist.TCPStore("localhost", server.port))
    record = node.record(0)

    def shown():
        """True if what this rank calls can be seen by others before long."""
        record.begin(0, int(record.row["count"]) + 1, "barrier", ("x.py", 1))
        end, count = time.monotonic() + 20, int(record.row["count"])
        there = remote.RemoteNode(-1, 1, server)
        while there.rows["count"][0] != count and time.monotonic() < end:
            there.read_all()
        return there.rows["count"][0] == count
    assert shown()
    for name, error in faults.each():
        assert shown(), (name, error)
        end = time.monotonic() + 20
        while faults.armed is not None and name in ("recv", "send") and time.monotonic() < end:
            time.sleep(0.001)
        assert faults.armed is None or name not in ("recv", "send"), (name, error)
        assert shown(), (name, error)
    node.close(0)
    server.close()


def test_ranks_that_connect_are_heard(monkeypatch):
    faults, store = Faults(monkeypatch, ("ranks", "ranks peer")), dist.HashStore()
    one = sockets.SocketNode(0, 2, store, store, "127.0.0.1", False)
    two = sockets.SocketNode(1, 2, store, store, "127.0.0.1", False)

    def met(group):
        out = two.connection(group, 0, 0, 20)
        try:
            back = one.connection(group, 0, 1, 1)
        except dist.DistNetworkError:                      # its greeting was lost
            return False
        out.send(b"x")
        back.setblocking(True)
        back.settimeout(20)
        found = back.recv(1) == b"x"
        out.close()
        back.close()
        return found
    assert met(0)
    for group, (name, error) in enumerate(faults.each(), 1):
        assert met(group) or met(-group), (name, error)
        assert name == "accept" or faults.armed is None, (name, error)
    one.close(0)
    two.close(1)


def test_no_thread_for_a_peer(monkeypatch):
    server = dist.TCPStore("localhost", 0, is_master=True)
    start, refused = threading.Thread.start, []

    def started(thread):
        if thread.name == "store peer" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        start(thread)
    monkeypatch.setattr(threading.Thread, "start", started)
    other = dist.TCPStore("localhost", server.port)
    other.set("a", "b")
    assert refused and server.get("a") == b"b"
    server.close()


def once(call, number):
    """`call`, which fails the first time."""
    faults = [number]

    def called(*arguments, **options):
        if faults:
            raise OSError(faults.pop(), "once")
        return call(*arguments, **options)
    return called


@pytest.mark.parametrize("failing", ["poll", "close", "write", "flush", "unlink"])
def test_the_watcher_lives(monkeypatch, tmp_path, failing):
    """It comes to its end: it notes the end of a rank, and removes the folder and MPI's files."""
    monkeypatch.setattr(watcher.signal, "signal", lambda *_: None)
    monkeypatch.setattr(watcher, "PAUSE", 0.001)
    layout = {name: ROW.fields[name][1] for name in ("state", "signal", "when", "told")}
    for error in ERRNOS:
        folder, left, said = tmp_path / "job", [tmp_path / "first", tmp_path / "second"], []
        folder.mkdir()
        [file.touch() for file in left]
        rows = np.zeros(1, ROW)
        rows["state"] = RUNNING
        (folder / "record").write_bytes(rows.tobytes())
        calls = {"poll": lambda: [(7, 1)], "write": said.append, "flush": lambda: None,
                 "close": os.close, "unlink": os.unlink}
        calls[failing] = once(calls[failing], getattr(errno, error))
        events = SimpleNamespace(poll=calls["poll"])
        with open(folder / "record", "r+b") as record, monkeypatch.context() as patch:
            patch.setattr(watcher.select, "epoll",
                          SimpleNamespace(fromfd=lambda _, events=events: events))
            patch.setattr(watcher.sys, "stderr", SimpleNamespace(**calls))
            patch.setattr(watcher.os, "close", calls["close"])
            patch.setattr(watcher.os, "unlink", calls["unlink"])
            watcher.main(record.fileno(), str(folder), [1 << 30], ROW.itemsize, layout,
                         [str(file) for file in left], 0, {"7": 0}, {"0": os.dup(record.fileno())})
            assert np.frombuffer(record.read(), ROW)["state"] == KILLED, error
        assert failing in ("write", "flush") or "rank 0 was killed" in said[0], error
        assert not folder.exists() and left[0].exists() == (failing == "unlink"), error
        assert not left[1].exists(), error
        left[0].unlink(missing_ok=True)


def test_what_ranks_print_is_read_on():
    """A full disk does not end the thread that reads: the rank would wait for it for ever."""
    for call in ("readline", "write", "flush"):
        for error in PASSING if call == "readline" else (*ERRNOS, "ENOSPC", "EIO"):
            lines, file, console = io.BytesIO(b"a\nb\nc\n"), io.BytesIO(), io.StringIO()
            calls = {name: getattr(lines if name == "readline" else file, name)
                     for name in ("readline", "write", "flush")}
            calls[call] = once(calls[call], getattr(errno, error))
            launcher.tee(SimpleNamespace(**calls), SimpleNamespace(**calls), console, "0:")
            assert console.getvalue() == "0:a\n0:b\n0:c\n"
            assert file.getvalue() == (b"b\nc\n" if call == "write" else b"a\nb\nc\n")


def test_a_callback_that_fails_ends_no_thread(capsys):
    def program(rank):
        for _ in range(3):
            work = dist.all_reduce(torch.ones(1), async_op=True)
            work.get_future().add_done_callback(lambda _: 1 / 0)
            assert work.wait(timedelta(seconds=20))
        return rank
    assert threads.run(program, 2) == [0, 1]
    assert capsys.readouterr().err.count("ZeroDivisionError") == 6


# ---- the secret --------------------------------------------------------------------------------
def reply(port, data, seconds=20):
    """All that a server says to `data` until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        found = []
        with contextlib.suppress(OSError):                 # it closes when it has seen enough
            connection.sendall(data)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            found += iter(lambda: connection.recv(1 << 16), b"")
        return b"".join(found)


@pytest.mark.parametrize("theirs", ["", "another", "of this test "])
def test_another_secret_is_refused(monkeypatch, theirs):
    server, asked = dist.TCPStore("localhost", 0, is_master=True), []
    monkeypatch.setattr(server.server, "answer", asked.append)
    monkeypatch.setenv(peers.SECRET, theirs)
    with pytest.raises(dist.DistNetworkError, match="another secret: give all .* the same MINITOR"):
        dist.TCPStore("localhost", server.port)
    server.close()
    assert not asked


def test_who_listens_shows_the_secret_too():
    """A program that has taken the port and lets everybody in is not believed."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        def let_in():
            connection, _ = listening.accept()
            with connection:
                connection.sendall(peers.SIGN + bytes(peers.NONCE))
                connection.recv(64)
                connection.sendall(bytes(peers.PROOF))
        thread = threading.Thread(target=let_in)
        thread.start()
        with pytest.raises(dist.DistNetworkError, match="another secret"):
            dist.TCPStore("127.0.0.1", listening.getsockname()[1])
        thread.join()


def test_the_secret_is_not_sent_and_an_answer_serves_once(monkeypatch):
    sent, send = [], socket.socket.send

    def noted(this, data):
        sent.append(bytes(data))
        return send(this, data)
    monkeypatch.setattr(socket.socket, "send", noted)
    server = dist.TCPStore("localhost", 0, is_master=True)
    assert b"of this test" not in b"".join(sent)
    answer = next(data for data in sent if len(data) == peers.NONCE + peers.PROOF)
    assert reply(server.port, answer)[-peers.PROOF:] == bytes(peers.PROOF)
    server.close()


def test_little_is_read_of_who_shows_no_secret(monkeypatch):
    read, recv = [], socket.socket.recv

    def noted(this, n):
        found = recv(this, n)
        if threading.current_thread().name == "store peer":
            read.append(len(found))
        return found
    monkeypatch.setattr(socket.socket, "recv", noted)
    server = dist.TCPStore("localhost", 0, is_master=True)
    read.clear()
    reply(server.port, struct.pack("<II", 2, 600_000_000) + b"x" * 3_000_000)
    assert sum(read) <= peers.NONCE + peers.PROOF
    server.close()


@pytest.mark.parametrize("frame", [
    struct.pack("<II", 2, 600_000_000), struct.pack("<I", 1 << 31) + bytes(40),
    struct.pack("<II", 3, 3) + b"set" + struct.pack("<I", 1 << 30)])
def test_a_request_is_bounded(frame):
    """Also that of a rank: what it announces is not waited for."""
    server = dist.TCPStore("localhost", 0, is_master=True)
    with peers.connect("localhost", server.port, 20) as connection:
        peers.write(connection, frame)
        try:
            assert connection.recv(1) == b""               # closed before the rest has come
        except ConnectionResetError:
            pass
    with pytest.raises(dist.DistStoreError, match=r"takes 8388608 .* got 9\d+ for set\('big'\)"):
        server.set("big", bytes(9_000_000))
    server.set("big", bytes(8_000_000))
    assert len(server.get("big")) == 8_000_000
    server.close()


def listens(host):
    server = dist.TCPStore(host, 0, is_master=True)
    found = server.server.socket.getsockname()[0]
    server.close()
    return found


def test_a_job_listens_where_its_ranks_are(monkeypatch):
    assert listens("localhost") == listens("127.0.0.1") == "127.0.0.1"
    monkeypatch.setattr(dist.TCPStore, "connected", lambda self: None)
    monkeypatch.setattr(socket, "gethostbyname", {"mine": "127.0.0.1", "elsewhere": "10.0.0.1"}.get)
    assert listens("elsewhere") == listens("mine") == "0.0.0.0"
    monkeypatch.delenv(peers.SECRET)
    monkeypatch.setattr(peers, "told", set())
    with pytest.raises(dist.DistNetworkError, match="this machine only, not at elsewhere: start "):
        listens("elsewhere")
    with pytest.warns(UserWarning, match="no secret: any process of this machine may take part"):
        assert listens("mine") == "127.0.0.1"              # a name that others do not have
    assert listens("localhost") == "127.0.0.1"             # once: a warning is an error here
    monkeypatch.setenv(peers.TRUST, "1")
    with pytest.warns(UserWarning, match="no secret: whoever can connect may take part"):
        assert listens("elsewhere") == "0.0.0.0"


def test_launchers_draw_a_secret(monkeypatch, tmp_path):
    def given():
        watch = supervise.Watch(1, lambda rank: 0, lambda rank, number: None)
        watch.close()
        return watch.environment[peers.SECRET]
    assert given() == "of this test"
    monkeypatch.delenv(peers.SECRET)
    monkeypatch.setattr(peers, "told", set())
    assert len(given()) == 64 and given() != given()
    monkeypatch.setattr(peers, "told", {"this process serves a job without a secret"})
    assert given() == ""                                   # to which its children belong
    monkeypatch.setattr(peers, "told", set())
    monkeypatch.setenv(peers.TRUST, "1")
    assert given() == ""
    file = tmp_path / "secret"
    file.write_text("from a file\n")
    options = launcher.parser().parse_args([
        "--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{supervise.free_port()}",
        f"--rdzv-conf=secret_file={file}", "x.py"])
    monkeypatch.delenv(peers.TRUST)
    monkeypatch.setenv(peers.SECRET, "")
    met = meeting.Meeting(options, 1)
    assert os.environ[peers.SECRET] == "from a file"
    met.store.close()
    options.rdzv_conf = f"secret_file={tmp_path}/none"
    with pytest.raises(SystemExit, match="secret_file=.*No such file"):
        meeting.Meeting(options, 1)
