"""A program that spawns ranks: faults are named, and no process is left behind."""

import re
import sys

import pytest

from tests.distributed.test_processes import processes_of, run, unix, write

pytestmark = unix

SPAWNED = """
import os, signal, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp


def main(rank, folder, fault):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    x = torch.ones(4)
    dist.all_reduce(x)
    if rank == 1 and fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(x)
    open(f"{folder}/{rank}", "w").write(str(x.tolist()))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(sys.argv[1], sys.argv[2]), nprocs=2)
"""


@pytest.mark.parametrize("fault, text", [
    ("none", None),
    ("killed", r"ProcessExitedException: process 1 terminated with signal SIGKILL: rank 1 was killed \(signal 9, "
               r"SIGKILL\) after all_reduce #1 float32 \[4\] sum \(spawned.py:9\)"),
])
def test_spawn(tmp_path, fault, text):
    script = write(tmp_path, "spawned.py", SPAWNED)
    code, out, err = run(sys.executable, "-m", "minitorch", script, str(tmp_path), fault)
    if text is None:
        assert code == 0, err
        assert [(tmp_path / r).read_text() for r in "01"] == ["[4.0, 4.0, 4.0, 4.0]"] * 2
        assert not (tmp_path / "store").exists()
    else:
        assert code == 1 and re.search(text, err, re.S), err
    assert processes_of(script) == []
