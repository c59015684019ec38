"""Processes that `spawn` starts: what they raise is raised here."""

import sys

import pytest

import minitorch.multiprocessing as mp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


def test_spawn_raises_what_a_process_raised():
    with pytest.raises(mp.ProcessRaisedException, match="(?s)Process 0 terminated with the follow.*KeyError: 5"):
        mp.spawn(fails, args=(5,), nprocs=1, start_method="fork")


def fails(rank, key):
    raise KeyError(key)


def test_a_process_that_raised_ends_with_1(monkeypatch, tmp_path):
    spawn = sys.modules[mp.ProcessContext.__module__]
    for name in ("end_with_parent", "note_failure"):
        monkeypatch.setattr(spawn, name, lambda *args: None)
    with pytest.raises(SystemExit) as ended:
        spawn.body(lambda rank: [][rank], 0, (), str(tmp_path / "error"))
    assert ended.value.code == 1 and b"IndexError" in (tmp_path / "error").read_bytes()
