"""``python -m minitorch.distributed.run``: start the ranks of a job on this machine, with torchrun's options.

    python -m minitorch.distributed.run --nproc-per-node 2 train.py --epochs 3

A script that imports ``torch``: ``python -m minitorch -m torch.distributed.run --nproc-per-node 2 train.py``. Each rank
finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and torchrun's other variables. If one
fails, the others are told, all are ended, and one line says what happened; with ``--max-restarts`` all are started
again, and the script goes on from its checkpoint. Several machines: mpiexec or srun start the script itself.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

from .supervise import Watch, cores, end_with_parent, exit_text, free_port, is_aliased

__all__ = ["main"]


def parser():
    found = argparse.ArgumentParser("minitorch.distributed.run", description=__doc__.split("\n")[0])

    def add(name, *more, **options):
        names = [name, *more] + ([name.replace("-", "_").replace("__", "--", 1)] if "-" in name[2:] else [])
        found.add_argument(*names, **options)
    add("--nproc-per-node", default="1", help="how many ranks: a number, auto, cpu or gpu")
    add("--nnodes", default="1", help="how many machines: 1 (use mpiexec or srun for more)")
    add("--node-rank", type=int, default=0, help="taken as torchrun takes it; there is one machine")
    add("--max-restarts", type=int, default=0, help="how often all ranks are started again after a failure")
    add("--monitor-interval", type=float, default=0.05, help="seconds between two looks at the ranks")
    add("--shutdown-timeout", type=float, default=5.0, help="seconds between SIGTERM and SIGKILL")
    add("--master-addr", default="127.0.0.1", help="where rank 0 serves the store")
    add("--master-port", type=int, default=0, help="its port; any free one by default")
    add("--log-dir", default=None, help="folder for what the ranks print")
    add("--redirects", "-r", default="0", help="1: stdout to a file, 2: stderr, 3: both; or 0:1,1:3 by local rank")
    add("--tee", "-t", default="0", help="the same, to a file and to the console")
    add("--local-ranks-filter", default="", help="show what these ranks print only, such as 0,1")
    add("--role", default="default", help="the value of ROLE_NAME")
    add("--rdzv-id", default=None, help="the name of the job")
    for name in ("--rdzv-backend", "--rdzv-endpoint", "--rdzv-conf", "--local-addr", "--start-method",
                 "--event-log-handler", "--logs-specs", "--numa-binding", "--signals-to-handle"):
        add(name, default=None, help="taken as torchrun takes it; of no use on one machine")
    found.add_argument("--standalone", action="store_true", help="one machine, a free port: what is done anyway")
    found.add_argument("-m", "--module", action="store_true", help="the script is the name of a module")
    add("--no-python", action="store_true", help="the script is a program of its own")
    add("--run-path", action="store_true", help="taken as torchrun takes it")
    found.add_argument("training_script", help="the script (or module), and its arguments")
    found.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return found


def number_of_ranks(text):
    if text in ("auto", "cpu"):
        return cores()
    if text == "gpu":
        raise SystemExit("--nproc-per-node gpu: ranks compute on the host here; give a number")
    if not text.isdigit() or int(text) < 1:
        raise SystemExit(f"--nproc-per-node {text}: expected a number of at least 1, auto or cpu")
    return int(text)


def streams_of(text, rank):
    """The streams of a rank that an option names: 0 none, 1 stdout, 2 stderr, 3 both."""
    if ":" not in text:
        return int(text)
    return {int(k): int(v) for k, v in (part.split(":") for part in text.split(","))}.get(rank, 0)


class Attempt:
    """All ranks, started once."""

    def __init__(self, options, size, restarts):
        self.options, self.size = options, size
        self.watch = Watch(size, lambda rank: self.processes[rank].poll(), self.kill)
        self.processes, self.files, self.threads = [], [], []
        port = options.master_port if options.master_port and not restarts else free_port()
        shared = dict(os.environ, WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), GROUP_RANK="0",
                      GROUP_WORLD_SIZE="1", ROLE_NAME=options.role, ROLE_WORLD_SIZE=str(size),
                      MASTER_ADDR=options.master_addr, MASTER_PORT=str(port), TORCHELASTIC_RESTART_COUNT=str(restarts),
                      TORCHELASTIC_MAX_RESTARTS=str(options.max_restarts), TORCHELASTIC_RUN_ID=options.rdzv_id,
                      **self.watch.environment)
        if size > 1:                                       # else each rank starts a thread for each processor
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
                shared.setdefault(name, "1")
        for rank in range(size):
            self.start(rank, dict(shared, RANK=str(rank), LOCAL_RANK=str(rank), ROLE_RANK=str(rank)))

    def start(self, rank, environment):
        options = self.options
        command = [] if options.no_python else [sys.executable, "-u", *(["-m", "minitorch"] if is_aliased() else []),
                                                *(["-m"] if options.module else [])]
        outputs, copied = {}, {}                           # copied: the files of streams that the console shows, too
        redirected, teed = streams_of(options.redirects, rank), streams_of(options.tee, rank)
        shown = not options.local_ranks_filter or str(rank) in options.local_ranks_filter.split(",")
        for bit, name in (1, "stdout"), (2, "stderr"):
            if (redirected | teed) & bit:
                folder = os.path.join(options.log_dir or "logs", options.rdzv_id, str(rank))
                os.makedirs(folder, exist_ok=True)
                file = open(os.path.join(folder, f"{name}.log"), "ab")     # noqa: SIM115  closed at the end
                self.files.append(file)
                outputs[name] = subprocess.PIPE if teed & bit else file
                if teed & bit:
                    copied[name] = file
            elif not shown:
                outputs[name] = subprocess.DEVNULL
        process = subprocess.Popen([*command, options.training_script, *options.training_script_args], env=environment,
                                   start_new_session=True, preexec_fn=end_with_parent, **outputs)
        self.processes.append(process)
        for name, file in copied.items():
            self.threads.append(threading.Thread(target=tee, args=(getattr(process, name), file, getattr(sys, name),
                                                                   f"[{options.role}{rank}]:"), daemon=True))
            self.threads[-1].start()

    def kill(self, rank, number):
        """Send a signal to a rank and to what it has started."""
        try:
            os.killpg(self.processes[rank].pid, number)
        except ProcessLookupError:
            pass

    def run(self):
        """Wait for all; the rank that failed first, or None."""
        try:
            while not self.watch.look() and self.watch.first is None:
                time.sleep(self.options.monitor_interval)
            if self.watch.first is None:
                return None
            self.watch.stop(self.options.shutdown_timeout)
            return self.watch.cause()
        except BaseException:
            self.watch.stop(self.options.shutdown_timeout)
            raise
        finally:
            for rank in range(self.size):                  # what a rank has started and left
                self.kill(rank, signal.SIGKILL)
            for thread in self.threads:
                thread.join(2)
            for file in self.files:
                file.close()
            self.message = self.watch.message()
            self.watch.close()


def tee(stream, file, console, prefix):
    """Copy lines to a file, and with the rank before each to the console."""
    for line in stream:
        file.write(line)
        file.flush()
        console.write(prefix + line.decode(errors="replace"))
        console.flush()


def stopped(number, frame):
    raise KeyboardInterrupt(f"signal {number}")


def main(argv=None):
    """Start the ranks; returns 0 if all ended well, else 1."""
    options = parser().parse_args(argv)
    if options.nnodes not in ("1", "1:1"):
        raise SystemExit(f"--nnodes {options.nnodes}: this launcher starts ranks on one machine. For several, let "
                         f"mpiexec or srun start the script: mpiexec -n RANKS -hosts a,b python "
                         f"{options.training_script}")
    size, options.rdzv_id = number_of_ranks(options.nproc_per_node), options.rdzv_id or uuid.uuid4().hex[:8]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stopped)
    for restarts in range(options.max_restarts + 1):
        attempt = Attempt(options, size, restarts)
        try:
            failed = attempt.run()
        except KeyboardInterrupt as error:
            print(f"stopped {error}".strip(), file=sys.stderr)
            return 130
        if failed is None:
            return 0
        codes = ", ".join(f"rank {rank} {exit_text(process.returncode)}"
                          for rank, process in enumerate(attempt.processes) if process.returncode)
        again = restarts < options.max_restarts
        print(f"{options.training_script} FAILED: {attempt.message or f'rank {failed} failed'}\n  {codes}"
              + (f"\n  starting all ranks again ({restarts + 1} of {options.max_restarts})" if again else ""),
              file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
