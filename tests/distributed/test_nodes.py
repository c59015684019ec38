"""Jobs of several launchers; each stands for a node: they meet, number their ranks, report
faults."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from minitorch.distributed import run as launcher
from minitorch.distributed.meeting import Meeting
from minitorch.distributed.supervise import free_port
from tests import ROOT
from tests.distributed.test_processes import EVERYTHING, RESUMED, processes_of, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="launchers need process groups, as Unix has them")


def nodes(script, *arguments, each=({}, {}), options=()):
    """Run launchers side by side; (exit code, output, errors) of each. `each`: the options of one, by name."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    processes = [subprocess.Popen([sys.executable, "-m", "minitorch.distributed.run",
                                   *(f"--{name}={value}" for name, value in own.items()), *options, script, *arguments],
                                  env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  start_new_session=True) for own in each]
    try:
        found = [(*process.communicate(timeout=90), process.returncode) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return [(code, out, err) for out, err, code in found]


PLACES = """
import os
names = "RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"
print(" ".join([os.environ[n] for n in names]) + "\\n", end="", flush=True)      # one write, which no rank divides
"""


NEAR = """
near = dist.new_group([1, 2])
if rank:
    x = torch.full((700_000,), float(rank)); dist.all_reduce(x, group=near); assert (x == 3).all()
    assert near.shared(3, x.dtype.np) is not None
    print(f"near {type(near.transport).__name__}\\n", end="", flush=True)
dist.barrier()
"""


def test_collectives_between_launchers(tmp_path):
    """Nodes with numbers, one and two ranks on them; a group of the two shares memory."""
    port = free_port()
    script = write(tmp_path, "everything.py", PLACES + EVERYTHING.replace("BACKEND", '"gloo"').replace(
        "dist.destroy", NEAR + "dist.destroy"))
    found = nodes(script, options=["--nnodes=2", f"--master-port={port}"],
                  each=[{"node-rank": 1, "nproc-per-node": 2}, {"node-rank": 0, "nproc-per-node": 1}])
    assert [code for code, _, _ in found] == [0, 0], found
    lines = sorted(line for _, out, _ in found for line in out.splitlines())
    assert lines == ["0 0 0 3 1 2", "1 0 1 3 2 2", "2 1 1 3 2 2", *["fine SocketTransport"] * 3,
                     *["near SharedTransport"] * 2]


def test_a_killed_rank_is_named_on_all_nodes_and_all_start_again(tmp_path):
    port = free_port()
    script, x = write(tmp_path, "resumed.py", RESUMED), 0.0
    for step in range(6):
        x = x * 0.5 + 2 * step + 1
    found = nodes(script, str(tmp_path), options=[
        "--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--rdzv-id=job",
        "--rdzv-conf=last_call_timeout=20", "--max-restarts=1"])
    assert [code for code, _, _ in found] == [0, 0], found
    assert "".join(out for _, out, _ in found) == f"1 {[x] * 3}\n"
    for _, _, err in found:
        assert re.search(r"FAILED: rank 1 was killed \(signal 9, SIGKILL\) after all_reduce #4 float32 \[3\] sum "
                         r"\(resumed.py:12\)", err), err
        assert "starting all ranks again (1 of 1)" in err
    assert "DistBackendError: rank 1 was killed (signal 9" in "".join(err for _, _, err in found)     # by rank 0
    assert processes_of(script) == []


# ---- meetings ----------------------------------------------------------------------------------------------
def options(*given):
    return launcher.parser().parse_args([*given, "script.py"])


def together(*calls):
    """The results of functions called side by side, or the text with which they exit."""
    found = [None] * len(calls)

    def call(i):
        try:
            found[i] = calls[i]()
        except SystemExit as error:
            found[i] = str(error)
    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    return found


def test_nodes_with_numbers():
    port = free_port()
    at = "--nnodes=3", f"--master-port={port}"
    rounds = together(*[lambda i=i: Meeting(options(*at, f"--node-rank={i}"), i + 1).join(0) for i in (2, 0, 1)])
    assert [(r.number, r.first, r.size, len(r.nodes)) for r in rounds] == [(2, 3, 6, 3), (0, 0, 6, 3), (1, 1, 6, 3)]
    assert [r.meeting.serves for r in rounds] == [False, True, False]


def test_a_node_that_does_not_come_is_named():
    given = options("--nnodes=2", f"--master-port={free_port()}", "--rdzv-conf=join_timeout=0.3")
    begin = time.monotonic()
    with pytest.raises(SystemExit, match=r"nodes \[1\] of 2 have not come to 127.0.0.1:\d+ for 0.3 s"):
        Meeting(given, 1).join(0)
    assert time.monotonic() - begin < 30


def test_nodes_that_come_late():
    """A range of nodes: who comes before the last call takes part, who comes later does not."""
    at = ("--nnodes=1:3", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{free_port()}")
    first = Meeting(options(*at, "--rdzv-conf=last_call_timeout=2"), 2)
    found = together(lambda: first.join(0), lambda: Meeting(options(*at), 3).join(0))
    assert {(r.size, len(r.nodes)) for r in found} == {(5, 2)} and sorted(r.number for r in found) == [0, 1]
    with pytest.raises(SystemExit, match="has begun with 2 nodes: this one comes too late"):
        Meeting(options(*at), 1).join(0)
