"""Stores: each kind keeps, waits and counts alike; ranks meet by them."""

import socket
import threading
from datetime import timedelta

import pytest

import minitorch as torch
import minitorch.distributed as dist


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def stores(request, tmp_path):
    """Two ends of one store."""
    if request.param == "hash":
        store = dist.HashStore()
        yield store, store
    elif request.param == "prefix":
        store = dist.HashStore()
        yield dist.PrefixStore("a", store), dist.PrefixStore("a", store)
    elif request.param == "file":
        yield dist.FileStore(str(tmp_path / "f"), 2), dist.FileStore(str(tmp_path / "f"), 2)
    else:
        server = dist.TCPStore("127.0.0.1", 0, is_master=True)
        yield server, dist.TCPStore("127.0.0.1", server.port)
        server.close()


def test_stores(stores):
    one, two = stores
    one.set("key", "value")
    assert two.get("key") == b"value" and two.check(["key"]) and not two.check(["key", "other"])
    assert one.add("n", 3) == 3 and two.add("n", -1) == 2 and one.get("n") == b"2"
    two.append("key", b"\x00!")
    assert one.get("key") == b"value\x00!"
    assert one.compare_set("c", "", "first") == b"first" and two.compare_set("c", "no", "second") == b"first"
    assert two.compare_set("c", "first", "second") == b"second"
    two.multi_set(["p", "q"], [b"1", "2"])
    assert one.multi_get(["q", "p"]) == [b"2", b"1"]
    assert one.delete_key("p") and not two.delete_key("p") and not two.check(["p"])
    with pytest.raises(dist.DistStoreError, match="keys: nowhere"):
        two.wait(["nowhere"], timedelta(seconds=0.05))
    threading.Timer(0.05, lambda: one.set("late", b"x")).start()
    assert two.get("late") == b"x"
    one.queue_push("jobs", b"a")
    one.queue_push("jobs", b"")
    assert two.queue_len("jobs") == 2 and two.queue_pop("jobs") == b"a" and one.queue_pop("jobs") == b""
    with pytest.raises(dist.QueueEmptyError):
        two.queue_pop("jobs", block=False)
    with pytest.raises(TypeError, match="str or bytes"):
        one.set("key", 1.5)


def test_a_store_survives_what_is_no_rank(capsys):
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for junk in (b"GET / HTTP/1.1\r\n\r\n", b"\x01\0\0\0\3\0\0\0\xff\xfe\xfd", b"\2\0\0\0\1\0\0\0x\0\0\0\0"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(junk)
    server.set("a", "b")
    assert server.get("a") == b"b" and capsys.readouterr().err == ""
    server.close()


def test_a_store_that_nobody_serves():
    with pytest.raises(dist.DistNetworkError, match="Does rank 0 run there"):
        dist.TCPStore("127.0.0.1", 1, timeout=timedelta(seconds=0.05))


def test_threads_meet_by_a_store(tmp_path):
    found = [None] * 3

    def rank_of(rank):
        dist.init_process_group("threaded", init_method=f"file://{tmp_path}/store", rank=rank, world_size=3)
        x = torch.tensor([rank])
        dist.all_reduce(x)
        found[rank] = x.item(), dist.get_rank()
        dist.destroy_process_group()
    started = [threading.Thread(target=rank_of, args=(r,)) for r in range(3)]
    [t.start() for t in started]
    [t.join(20) for t in started]
    assert found == [(3, 0), (3, 1), (3, 2)] and not (tmp_path / "store").exists()
