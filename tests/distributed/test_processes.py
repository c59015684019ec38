"""Ranks that are processes: the launcher, mpiexec; faults are named, nobody hangs, nothing is left behind."""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from minitorch.distributed.run import main
from tests import ROOT

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
needs_mpi = pytest.mark.skipif(not (find_spec("mpi4py") and MPIEXEC), reason="needs mpi4py and mpiexec (the extra "
                                                                             "`distributed`)")
unix = pytest.mark.skipif(sys.platform == "win32", reason="ranks share files in memory, as Unix has them")
pytestmark = unix

FAULTY = """
import os, sys, time, signal
from datetime import timedelta
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, fault, group, store = dist.get_rank(), sys.argv[1], dist.group.WORLD, dist.group.WORLD.get_group_store()
dist.all_reduce(torch.ones(4)); group.set_timeout(timedelta(seconds=1 if fault == "sleeps" else 60))
if rank == 1:
    if fault == "exception":
        raise KeyError("no such column")
    if fault == "killed":                                  # once rank 0 waits in the second call
        here = lambda: group.world.record.entry_of(0, 0, 2) is None; [time.sleep(0.01) for _ in iter(here, False)]
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "sleeps" and not store.set("asleep", ""):  # rank 0 waits for no more than the sleep
        time.sleep(1000)
    if fault == "another":
        dist.broadcast(torch.zeros(500), 0)
    if fault == "shape":
        dist.all_reduce(torch.zeros(500))
rank or fault != "sleeps" or store.wait(["asleep"]); dist.all_reduce(torch.zeros(1000))
"""
WAITS = r"rank 0 waits in all_reduce #2 float32 \[1000\] sum \(faulty.py:21\)"
NAMED = {
    "exception": rf"rank 1 failed: KeyError: 'no such column' \(faulty.py:11\); {WAITS}",
    "killed": r"rank 1 was killed \(signal 9, SIGKILL\) after all_reduce #1 float32 \[4\] sum \(faulty.py:8\); "
              + WAITS,
    "sleeps": r"rank 1 has not called #2 for [\d.]+ s; it is at faulty.py:16 \(time.sleep\(1000\)\); its last call was "
              rf"all_reduce #1 float32 \[4\] sum \(faulty.py:8\); {WAITS}",
    "another": rf"rank 1 is in broadcast #2 float32 \[500\] from 0 \(faulty.py:18\); {WAITS}",
    "shape": rf"rank 1 is in all_reduce #2 float32 \[500\] sum \(faulty.py:20\); {WAITS}",
}


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """No process that a test has started, and no memory; tests of other workers may have ranks of their own."""
    before, mpi_before, mark = in_memory("minitorch-*"), in_memory("mpich_shm_*"), f"{os.getpid()}-{time.time_ns()}"
    monkeypatch.setenv("MINITORCH_TEST", mark)             # which the processes that this test starts inherit
    yield
    assert came_to_be(lambda: not having(f"MINITORCH_TEST={mark}"), 20)
    assert came_to_be(lambda: not left("minitorch-*", before), 20)
    for path in left("mpich_shm_*", mpi_before):           # which MPICH leaves where a job between nodes is aborted
        path.unlink(missing_ok=True)


def came_to_be(condition, seconds):
    """True if a condition holds, `seconds` from now at the latest."""
    end = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return holds


def in_memory(name):
    return set(Path("/dev/shm").glob(name)) if os.path.isdir("/dev/shm") else set()


def left(name, before):
    """The files and folders of this name in memory that were not there `before`, and that no process uses."""
    new = in_memory(name) - before
    if not new:
        return new
    used = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            used.update(os.readlink(file) for file in (process / "fd").iterdir())
            used.update(line.split(maxsplit=5)[-1] for line in (process / "maps").read_text().splitlines())
        except OSError:                                    # it has ended, or is another user's
            pass
    return {path for path in new & in_memory(name) if not any(file.startswith(str(path)) for file in used)}


def having(text):
    """The processes, but this one and those that have ended, that were started with this text in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if text.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
        except OSError:
            pass
    return found


def write(folder, name, text):
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return str(path)


def run(*command, seconds=60, **environment):
    """Run a command in a session of its own, which is killed as a whole at the end."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI", "RANK", "WORLD_SIZE"))}
    env.update({"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": ""}, **environment)
    process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.returncode, out, err


def launched(script, *arguments, options=("--nproc-per-node", "2"), **environment):
    return run(sys.executable, "-m", "minitorch", "-m", "torch.distributed.run", *options, script, *arguments,
               **environment)


def processes_of(script):
    """The processes that run a script, in a while: who was killed may still be on its way."""
    came_to_be(lambda: not running(script), 20)
    return running(script)


def running(script):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if script.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("fault", ["exception", "killed", "sleeps"])
def test_the_launcher_names_faults(tmp_path, fault):
    script = write(tmp_path, "faulty.py", FAULTY)
    code, out, err = launched(script, fault)
    assert code == 1
    words = re.compile(rf"DistBackendError: (?:Timed out: )?{NAMED[fault]}$", re.M)
    assert words.search(err), err                          # by the rank that lives
    assert re.search(rf"^{re.escape(script)} FAILED: (?:Timed out: )?{NAMED[fault]}\n", err, re.M), err
    assert processes_of(script) == []


@needs_mpi
@pytest.mark.parametrize("fault", ["exception", "killed", "sleeps", "shape"])
def test_faults_under_mpiexec(tmp_path, fault):
    """Where a rank is killed mpiexec ends all others at once: one of our processes beside them
    names it."""
    script, before = write(tmp_path, "faulty.py", FAULTY), in_memory("mpich_shm_*")
    code, out, err = run(MPIEXEC, "-n", "2", sys.executable, "-m", "minitorch", script, fault)
    words = NAMED[fault].replace(r"was killed \(signal 9, SIGKILL\)",
                                 r"was killed(?: \(signal 9, SIGKILL\)|, or has left without a word,)")
    assert code and re.search(rf"(?:DistBackendError|minitorch.distributed): (?:Timed out: )?{words}$", err, re.M), err
    assert processes_of(script) == []
    assert came_to_be(lambda: not left("mpich_shm_*", before), 20)     # a process beside the ranks tidies

CUT = """
import os, signal, subprocess, sys, time
import torch, torch.distributed as dist

def slowly(kind, error, trace):                            # does not come to the last line
    print("Traceback (most recent call last):", file=sys.stderr, flush=True)
    open(sys.argv[1], "w").close()
    time.sleep(1000)
sys.excepthook = slowly
dist.init_process_group("gloo")
if dist.get_rank() == 1:                                   # mpiexec is to learn of its end later
    wait = '''import os, sys, time
for _ in range(2000):
    os.path.exists(sys.argv[1]) and sys.exit()
    time.sleep(0.01)'''
    subprocess.Popen([sys.executable, "-S", "-c", wait, sys.argv[1]],
                     pass_fds=[int(os.environ["PMI_FD"])])
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(torch.zeros(1000))
"""


@needs_mpi
def test_a_rank_that_mpiexec_ends_while_it_tells(tmp_path):
    """A message that its rank has not written to the end is written by the watcher."""
    script = write(tmp_path, "cut.py", CUT)
    code, out, err = run(MPIEXEC, "-n", "2", sys.executable, "-m", "minitorch", script,
                         str(tmp_path / "telling"))
    how = r"killed \(signal 9, SIGKILL\)|killed, or has left without a word,"
    said = re.sub(how, "killed", err).replace("\n", "")    # mpiexec forwards ends of lines apart
    assert code and said == (
        "Traceback (most recent call last):minitorch.distributed: rank 1 was killed before its "
        "first call; rank 0 waits in all_reduce #1 float32 [1000] sum (cut.py:19)"), err
    assert processes_of(script) == []


@needs_mpi
def test_faults_between_nodes(tmp_path):
    script = write(tmp_path, "faulty.py", FAULTY)
    _, _, err = run(MPIEXEC, "-n", "2", sys.executable, "-m", "minitorch", script, "another", MINITORCH_TRANSPORT="mpi")
    assert len(re.findall(rf"DistBackendError: {NAMED['another']}$", err, re.M)) == 2, err


THREADS = """
import threading
import minitorch as torch, minitorch.distributed as dist

dist.init_process_group("gloo")

def reduce(n):
    for _ in range(50):
        dist.all_reduce(torch.ones(n))
threads = [threading.Thread(target=reduce, args=(n,), name=f"worker {n}") for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print("the main thread ends well", flush=True)
"""


def test_threads_of_a_rank_in_one_group(tmp_path):
    """They are named as threads, and the job has failed though no main thread has."""
    script = write(tmp_path, "workers.py", THREADS)
    code, out, err = run(sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node=2",
                         script)
    assert code == 1 and out.count("ends well") == 2
    assert re.search(
        r"FAILED: threads 'worker \d' and 'worker \d' of rank \d are in calls of one group at "
        r"once, all_reduce float32 \[\d\] sum and all_reduce float32 \[\d\] sum \(workers.py:9\), "
        r"so that ranks take them in different orders: call from one thread, or give each thread "
        r"a group of its own by new_group\n  rank 0 exit code 1, rank 1 exit code 1\n", err), err


EVERYTHING = """
import numpy as np
import minitorch as torch, minitorch.distributed as dist

dist.init_process_group(BACKEND)
rank, n = dist.get_rank(), dist.get_world_size()
for dtype in (torch.bool, torch.int16, torch.bfloat16, torch.float32, torch.complex64):
    for size in (0, 1, 7, 300_001):
        x = (torch.arange(size) % 5 + rank).to(dtype)
        values = [(np.arange(size) % 5 + r).astype(dtype.np) for r in range(n)]
        total = sum(v.astype(np.complex128) for v in values).astype(dtype.np) if dtype is not torch.bool else \
            np.logical_or.reduce(values)
        same = lambda t, v: np.testing.assert_array_equal(t.numpy() if dtype is not torch.bfloat16 else
                                                          t.float().numpy().astype(dtype.np), v)
        y = x.clone(); dist.all_reduce(y); same(y, total)
        y = x.clone(); dist.reduce(y, n - 1); same(y, total if rank == n - 1 else values[rank])
        y = x.clone(); dist.broadcast(y, n - 1); same(y, values[n - 1])
        ys = [torch.empty_like(x) for _ in range(n)]; dist.all_gather(ys, x); [same(a, b) for a, b in zip(ys, values)]
        zs = [torch.empty_like(x) for _ in range(n)] if rank == 0 else None; dist.gather(x, zs, dst=0)
        if rank == 0: [same(a, b) for a, b in zip(zs, values)]
        y = torch.empty_like(x); dist.scatter(y, ys if rank == 0 else None, src=0); same(y, values[rank])
        y = torch.empty_like(x); dist.reduce_scatter(y, ys); same(y, (n * values[rank].astype(np.complex128)).astype(
            dtype.np) if dtype is not torch.bool else values[rank])
        out = [torch.empty_like(x) for _ in range(n)]; dist.all_to_all(out, [x] * n)
        [same(a, b) for a, b in zip(out, values)]
        works = [dist.isend(x, (rank + 1) % n, tag=3), dist.irecv(y, (rank - 1) % n, tag=3)]
        [w.wait() for w in works]; same(y, values[(rank - 1) % n])
        dist.all_reduce(x, dist.ReduceOp.SUM if dtype.is_complex else dist.ReduceOp.MAX, async_op=True).wait()
group = dist.new_group([n - 1])
if rank == n - 1:
    dist.barrier(group)
objects = [None] * n
dist.all_gather_object(objects, "x" * rank)
assert objects == ["x" * r for r in range(n)]
x = torch.zeros(1, dtype=torch.long)
if rank:
    dist.send(torch.tensor([rank]), 0)
else:
    assert sorted(dist.recv(x) for _ in range(n - 1)) == list(range(1, n))
dist.barrier()
print(f"fine {type(dist.group.WORLD.transport).__name__}\\n", end="", flush=True)     # one write, which no rank divides
dist.destroy_process_group()
"""


@pytest.mark.parametrize("how", ["run", pytest.param("mpi", marks=needs_mpi)])
def test_collectives(tmp_path, how):
    backend = '"mpi"' if how == "mpi" else '"gloo"'
    script = write(tmp_path, "everything.py", EVERYTHING.replace("BACKEND", backend))
    if how == "run":
        code, out, err = run(sys.executable, "-m", "minitorch.distributed.run", "--nproc_per_node=3", script)
    else:
        code, out, err = run(MPIEXEC, "-n", "2", sys.executable, script, MINITORCH_TRANSPORT=how)
    assert code == 0, err
    kind = "MPITransport" if how == "mpi" else "SharedTransport"
    assert out.split() == ["fine", kind] * (2 if how == "mpi" else 3)


RESUMED = """
import os, signal, sys
import minitorch as torch, minitorch.distributed as dist

folder, attempt = sys.argv[1], int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group()
rank = dist.get_rank()
path = f"{folder}/checkpoint"
state = torch.load(path) if os.path.exists(path) else {"step": 0, "x": torch.zeros(3)}
for step in range(state["step"], 6):
    g = torch.full((3,), float(step + rank))
    dist.all_reduce(g)
    if attempt == 0 and step == 3 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    state = {"step": step + 1, "x": state["x"] * 0.5 + g}
    if rank == 0:
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
if rank == 0:
    print(f"{attempt} {state['x'].tolist()}\\n", end="", flush=True)
"""


def test_all_ranks_start_again_from_the_checkpoint(tmp_path):
    script, x = write(tmp_path, "resumed.py", RESUMED), 0.0
    for step in range(6):
        x = x * 0.5 + 2 * step + 1
    code, out, err = run(sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node=2", "--max-restarts=2",
                         script, str(tmp_path))
    assert code == 0 and out.split("\n")[0] == f"1 {[x] * 3}", (out, err)
    assert "starting all ranks again (1 of 2)" in err and "rank 1 was killed" in err


PRINTS = "import os, sys; print('out', os.environ['LOCAL_RANK']); print('err', file=sys.stderr)"


def test_what_ranks_print(tmp_path):
    script = write(tmp_path, "prints.py", PRINTS)
    code, out, err = launched(script, options=("--nproc-per-node=2", "-r", "1:3", "-t", "0:1", "--log-dir",
                                               str(tmp_path / "logs"), "--rdzv-id", "job"))
    folder = tmp_path / "logs" / "job"
    assert code == 0 and out == "[default0]:out 0\n" and err == "err\n"
    assert {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.log")} == {
        "0/stdout.log": "out 0\n", "1/stdout.log": "out 1\n", "1/stderr.log": "err\n"}


def test_errors_alone_go_to_file_and_console(tmp_path):
    script = write(tmp_path, "prints.py", PRINTS)
    assert launched(script, options=("--tee=2", "--log-dir", str(tmp_path), "--rdzv-id=job")) == (
        0, "out 0\n", "[default0]:err\n")
    assert {p.name: p.read_text() for p in (tmp_path / "job").rglob("*.log")} == {"stderr.log": "err\n"}


@pytest.mark.parametrize("options, text", [
    (["--nproc-per-node=x"], "expected a number"), (["--nproc-per-node=gpu"], "give a number"),
    (["--nnodes=0"], "expected a number of at least 1"), (["--nnodes=2:1"], "lowest:highest"),
    (["--nnodes=1:2"], "needs --rdzv-backend c10d"), (["--nnodes=2", "--node-rank=2"], "expected a number from 0 to 1"),
    (["--nnodes=2", "--rdzv-backend=etcd"], "static or c10d"),
    (["--nnodes=2", "--rdzv-conf=x"], "key=value")])
def test_wrong_options(options, text):
    with pytest.raises(SystemExit, match=text):
        main([*options, "script.py"])


def test_a_program_that_is_not_there():
    with pytest.raises(FileNotFoundError):                 # and nothing is left in memory
        main(["--no-python", "/no/such/program"])


def test_no_rank_outlives_the_launcher(tmp_path):
    script = write(tmp_path, "sleeps.py", "import time; print('here\\n', end='', flush=True); time.sleep(1000)")
    process = subprocess.Popen([sys.executable, "-m", "minitorch.distributed.run", "--nproc-per-node", "2", script],
                               env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True)
    assert [process.stdout.readline() for _ in range(2)] == ["here\n"] * 2
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    process.stdout.close()
    assert processes_of(script) == []
