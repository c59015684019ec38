"""``python -m minitorch.distributed.run``: start the ranks of a job on this node, with torchrun's options.

    python -m minitorch.distributed.run --nproc-per-node 2 train.py --epochs 3

A script that imports ``torch``: ``python -m minitorch -m torch.distributed.run --nproc-per-node 2 train.py``. Each rank
finds RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and torchrun's other variables. If one
fails, the others are told, all are ended, and one line says what happened; with ``--max-restarts`` all are started
again, and the script goes on from its checkpoint. Several nodes: one launcher on each, which meet at the store that one
of them serves (`meeting`), or mpiexec or srun, which start the script itself.

    python -m minitorch.distributed.run --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-id job \\
        --rdzv-endpoint first-node:29400 train.py
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

from .meeting import Meeting, numbers_of_nodes
from .peers import lasting
from .supervise import Watch, cores, end_with_parent, exit_text, free_port, is_aliased

__all__ = ["main"]


def parser():
    found = argparse.ArgumentParser("minitorch.distributed.run", description=__doc__.split("\n")[0])

    def add(name, *more, **options):
        names = [name, *more] + ([name.replace("-", "_").replace("__", "--", 1)] if "-" in name[2:] else [])
        found.add_argument(*names, **options)
    add("--nproc-per-node", default="1", help="how many ranks: a number, auto, cpu or gpu")
    add("--nnodes", default="1", help="how many nodes, or lowest:highest: a launcher runs on each")
    add("--node-rank", type=int, default=0, help="the number of this node, for the static rendezvous")
    add("--max-restarts", type=int, default=0, help="how often all ranks are started again after a failure")
    add("--monitor-interval", type=float, default=0.05, help="seconds between two looks at the ranks")
    add("--shutdown-timeout", type=float, default=5.0, help="seconds between SIGTERM and SIGKILL")
    add("--master-addr", default="127.0.0.1", help="where the store is served: the host of node 0")
    add("--master-port", type=int, default=0, help="its port; any free one by default on one node, else 29500")
    add("--log-dir", default=None, help="folder for what the ranks print")
    add("--redirects", "-r", default="0", help="1: stdout to a file, 2: stderr, 3: both; or 0:1,1:3 by local rank")
    add("--tee", "-t", default="0", help="the same, to a file and to the console")
    add("--local-ranks-filter", default="", help="show what these ranks print only, such as 0,1")
    add("--role", default="default", help="the value of ROLE_NAME")
    add("--rdzv-id", default=None, help="the name of the job, the same on all nodes")
    add("--rdzv-backend", default=None, help="static (nodes have numbers and a fixed count) or c10d")
    add("--rdzv-endpoint", default=None, help="host:port where launchers meet (29400 for c10d)")
    add("--rdzv-conf", default=None,
        help="key=value,...: join_timeout (600 s), last_call_timeout (30), is_host, rank, "
             "secret_file (with the secret that all nodes show; else MINITORCH_SECRET)")
    add("--local-addr", default=None, help="the address by which other nodes reach this one")
    for name in ("--start-method", "--event-log-handler", "--logs-specs", "--numa-binding", "--signals-to-handle",
                 "--duplicate-stdout-filters", "--duplicate-stderr-filters"):
        add(name, default=None, help="taken as torchrun takes it; of no use here")
    found.add_argument("--standalone", action="store_true", help="one node, a free port; other settings do not count")
    found.add_argument("--virtual-local-rank", action="store_true", help="taken as torchrun takes it")
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
    """All ranks of this node, started once; `nodes` is the `Round` of several nodes."""

    def __init__(self, options, size, restarts, nodes=None):
        self.options, self.size, self.nodes, self.elsewhere = options, size, nodes, None
        self.watch = Watch(size, lambda rank: self.processes[rank].poll(), self.kill, nodes)
        self.processes, self.files, self.threads = [], [], []
        port = options.master_port if options.master_port and not restarts else 0 if nodes is not None else free_port()
        shared = dict(os.environ, WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size), GROUP_RANK="0",
                      GROUP_WORLD_SIZE="1", ROLE_NAME=options.role, ROLE_WORLD_SIZE=str(size),
                      MASTER_ADDR=options.master_addr, MASTER_PORT=str(port), TORCHELASTIC_RESTART_COUNT=str(restarts),
                      TORCHELASTIC_MAX_RESTARTS=str(options.max_restarts), TORCHELASTIC_RUN_ID=options.rdzv_id,
                      **self.watch.environment)
        if nodes is not None:
            shared.update(nodes.environment())
        if size > 1:                                       # else each rank starts a thread for each processor
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
                shared.setdefault(name, "1")
        first = 0 if nodes is None else nodes.first
        try:
            for rank in range(size):
                number = str(first + rank)
                self.start(rank, dict(shared, RANK=number, LOCAL_RANK=str(rank), ROLE_RANK=number))
        except BaseException:                              # such as a program that is not there
            self.end()
            raise

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
        """Wait for all; the rank that failed first, or None. `elsewhere`: what has failed on another node."""
        try:
            while not self.watch.look() and self.watch.first is None and self.elsewhere is None:
                time.sleep(self.options.monitor_interval)
                if self.nodes is not None:
                    self.elsewhere = self.nodes.failed()
            if self.watch.first is None and self.elsewhere is None:
                self.elsewhere = None if self.nodes is None else self.nodes.all_done()
                return None
            self.watch.stop(self.options.shutdown_timeout)
            return self.watch.cause()
        except BaseException:
            self.watch.stop(self.options.shutdown_timeout)
            raise
        finally:
            self.message = self.elsewhere or self.watch.message()
            self.end()

    def end(self):
        """Leave nothing behind."""
        for rank in range(len(self.processes)):            # what a rank has started and left
            self.kill(rank, signal.SIGKILL)
        for thread in self.threads:
            thread.join(2)
        for file in self.files:
            file.close()
        self.watch.close()


def tee(stream, file, console, prefix):
    """Copy lines to a file, and with the rank before each to the console.

    Where one of them takes no more (a full disk), the lines are still read: the rank would wait.
    """
    while line := lasting(stream.readline):
        for to, text in (file, line), (console, prefix + line.decode(errors="replace")):
            with contextlib.suppress(OSError):
                to.write(text)
                to.flush()


def stopped(number, frame):
    raise KeyboardInterrupt(f"signal {number}")


def main(argv=None):
    """Start the ranks; returns 0 if all ended well, else 1."""
    options = parser().parse_args(argv)
    size = number_of_ranks(options.nproc_per_node)
    alone = options.standalone or numbers_of_nodes(options.nnodes) == (1, 1)
    meeting = None if alone else Meeting(options, size)
    options.rdzv_id = options.rdzv_id or (uuid.uuid4().hex[:8] if alone else "none")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stopped)
    try:
        return start_and_restart(options, size, meeting)
    finally:
        if meeting is not None:
            meeting.leave()


def start_and_restart(options, size, meeting):
    """Start the ranks, again after a failure as often as is allowed; the exit code."""
    for restarts in range(options.max_restarts + 1):
        attempt = Attempt(options, size, restarts, None if meeting is None else meeting.join(restarts))
        try:
            failed = attempt.run()
        except KeyboardInterrupt as error:
            print(f"stopped {error}".strip(), file=sys.stderr)
            return 130
        if failed is None and attempt.elsewhere is None:
            return 0
        if attempt.nodes is not None and attempt.elsewhere is None:
            attempt.nodes.fail(attempt.message)
        codes = "elsewhere" if failed is None else ", ".join(f"rank {rank} {exit_text(process.returncode)}"
                          for rank, process in enumerate(attempt.processes) if process.returncode)
        again = restarts < options.max_restarts
        print(f"{options.training_script} FAILED: {attempt.message or f'rank {failed} failed'}\n  {codes}"
              + (f"\n  starting all ranks again ({restarts + 1} of {options.max_restarts})" if again else ""),
              file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
