"""Training whose ranks are killed at random: ``python -m tests.distributed.killed_ranks --rounds 20 --seed 0``.

Each round trains a model with `DistributedDataParallel`, dropout and momentum under the launcher, with a checkpoint
after every step. A random rank gets SIGKILL at a random step, `--kills` times; the launcher starts all again, and they
go on from the last checkpoint. The parameters and all losses must be those of an undisturbed run, bit for bit; no
process and no memory may be left behind, and the launcher must have named the rank that was killed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import ROOT

PROGRAM = """
import os, sys
import minitorch as torch, minitorch.distributed as dist
import minitorch.distributed.checkpoint as checkpoint
from minitorch.nn.parallel import DistributedDataParallel as DDP

folder, steps = sys.argv[1], int(sys.argv[2])
dist.init_process_group()
rank, n, attempt = dist.get_rank(), dist.get_world_size(), os.environ["TORCHELASTIC_RESTART_COUNT"]
with open(f"{folder}/pid.{attempt}.{rank}.new", "w") as file:
    file.write(str(os.getpid()))
os.replace(file.name, file.name[:-4])
torch.manual_seed(0)
nn = torch.nn
model = DDP(nn.Sequential(nn.Linear(20, 40), nn.Dropout(0.3), nn.ReLU(), nn.Linear(40, 3)))
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
x = torch.randn(64, 20)
y = torch.randint(0, 3, (64,))
state = {"model": model.module, "optimizer": optimizer, "step": 0, "losses": ()}
if os.path.exists(f"{folder}/last") or os.path.exists(f"{folder}/last.old"):
    checkpoint.load(state, checkpoint_id=f"{folder}/last")
for step in range(state["step"], steps):
    torch.manual_seed(1000 * step + rank)
    if rank == 0:
        with open(f"{folder}/step.{attempt}", "w") as file:
            file.write(str(step))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[rank::n]), y[rank::n])
    loss.backward()
    optimizer.step()
    whole = loss.detach().clone()
    dist.all_reduce(whole)
    state["step"], state["losses"] = step + 1, (*state["losses"], whole.item())
    checkpoint.save(state, checkpoint_id=f"{folder}/last")
if rank == 0:
    print(state["losses"], [p.tolist() for p in model.parameters()])
dist.destroy_process_group()
"""


def memory():
    return set(Path("/dev/shm").glob("minitorch-*")) if os.path.isdir("/dev/shm") else set()


def read(path):
    try:
        return int(path.read_text() or -1)
    except (OSError, ValueError):
        return -1


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def train(folder, ranks, steps, kills):
    """One run; `kills` are (step, rank, seconds into the step). Returns output, errors and the ranks' processes."""
    script = Path(folder) / "train.py"
    script.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-m", "minitorch.distributed.run", f"--nproc-per-node={ranks}", f"--max-restarts={len(kills)}",
         str(script), folder, str(steps)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"})
    for attempt, (step, rank, later) in enumerate(kills):
        while process.poll() is None and read(Path(folder) / f"step.{attempt}") < step:
            time.sleep(0.0005)
        pid = read(Path(folder) / f"pid.{attempt}.{rank}")
        time.sleep(later)
        if process.poll() is None and pid > 0:
            os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err, [read(path) for path in Path(folder).glob("pid.*")]


def one_round(rng, ranks, steps, count, expected):
    """The fault in a round with kills, in words; None if there was none."""
    at = sorted(rng.sample(range(steps), count))
    kills = [(step, rng.randrange(ranks), rng.random() * 0.02) for step in at]
    before = memory()
    with tempfile.TemporaryDirectory(prefix="killed-ranks-") as folder:
        code, out, err, pids = train(folder, ranks, steps, kills)
    problems = []
    if code or out != expected:
        problems.append(f"exit code {code}, other results: {err[-2000:]}")
    named = err.count("was killed (signal 9, SIGKILL)")
    if err and not named:
        problems.append(f"nobody named the rank that was killed: {err[-2000:]}")
    problems += [f"process {pid} is left" for pid in pids if alive(pid)]
    problems += [f"{path} is left" for path in memory() - before]
    print(f"kills at steps {at}, ranks {[k[1] for k in kills]}: {'; '.join(problems) or 'as without'}", flush=True)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="killed-ranks-") as folder:
        code, expected, err, _ = train(folder, options.ranks, options.steps, [])
    if code:
        sys.exit(err)
    failed = sum(bool(one_round(rng, options.ranks, options.steps, options.kills, expected))
                 for _ in range(options.rounds))
    print(f"{options.rounds - failed} of {options.rounds} rounds as without kills")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
