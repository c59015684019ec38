"""Items of work in processes with limits: one that faults or hangs costs its own result, not those of the others.

A program that is run this way takes the names of its items on the command line and calls `work_through` in the child:

    lines = Lines(folder / "results.jsonl")                # each result is a line there as soon as it is known
    supervise(lines, "rates", names, lambda names: [sys.executable, "-m", "my.program", *names], limit=60)

In the parent, `supervise` starts the child with all items that have no result yet. Before each item the child says so;
if the item takes longer than its limit, or the child dies in it, the parent writes that down as the item's result, and
starts a child for the items behind it. A child may also end itself behind an item that leaves it unfit (`Unfit`).
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

__all__ = ["Lines", "Unfit", "supervise", "work_through"]

BEGUN = "\x1ebegun "                                        # begins a line of the child's output that is for the parent
AGAIN = 75                                                 # exit status of a child that is unfit for further items


class Unfit(Exception):
    """Raised by an item that leaves its process unfit: after a fault, a GPU's context answers nothing else."""


class Lines:
    """A file with one JSON object a line, which is on the disk when `add` returns."""

    def __init__(self, path):
        self.path = path

    def add(self, **fields):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(fields, default=str) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self):
        """All objects; a line that was cut off is left out."""
        found = []
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    found.append(json.loads(line))
                except ValueError:
                    continue
        return found

    def done(self, group):
        """The names of the items of a group that have a result."""
        return {line["item"] for line in self.read() if line.get("group") == group}


# ---- in the child ------------------------------------------------------------------------------------------
def work_through(lines, group, items, names):
    """Do the items of these names in turn: ``items[name]()`` returns a dict, which becomes a line, as does an error."""
    for name in names:
        print(f"{BEGUN}{name}", flush=True)
        start, unfit = time.perf_counter(), False
        try:
            found = items[name]() or {}
        except Exception as error:
            unfit = isinstance(error, Unfit)
            found = {"error": ("" if unfit else f"{type(error).__name__}: ") + str(error)[:600]}
        lines.add(group=group, item=name, took=round(time.perf_counter() - start, 3), **found)
        if unfit:
            sys.stdout.flush()
            os._exit(AGAIN)                                # without the destructors, which would wait for the device


# ---- in the parent -----------------------------------------------------------------------------------------
def supervise(lines, group, names, command, limit, start_limit=60.0, until=None, log=sys.stdout, env=None):
    """Give all items a result, each within `limit` seconds, and `start_limit` to start a child.

    `command(names)` is the child's command line. `until`: the time (`time.monotonic`) after which no item is begun
    or goes on. Returns the names of the items that were not come to.
    """
    failed = 0                                             # children in a row that came to no item
    while True:
        done = lines.done(group)
        left = [name for name in names if name not in done]
        if not left or until is not None and time.monotonic() > until:
            return left
        child = Child(command(left), log, env)
        ended = child.watch(limit, start_limit, until)
        if ended == "out of time":
            return [name for name in names if name not in lines.done(group)]
        failed = failed + 1 if child.item is None else 0
        if failed:
            for name in left if failed > 1 else ():
                lines.add(group=group, item=name, error=f"the process did not start: {ended}; {child.tail()}")
        elif child.item is not None and child.item not in lines.done(group):
            lines.add(group=group, item=child.item, error=f"{ended}; {child.tail()}")


class Child:
    """A process, the item that it is at, and the end of its output."""

    def __init__(self, command, log, env):
        self.item, self.since, self.log, self.last = None, time.monotonic(), log, []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", start_new_session=True, env=env)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith(BEGUN):
                self.item, self.since = line[len(BEGUN):].rstrip("\n"), time.monotonic()
            else:
                self.last = [*self.last[-5:], line.strip()]
                print(line, end="", file=self.log, flush=True)

    def tail(self):
        """The last lines of the output."""
        return " / ".join(line for line in self.last if line)[-400:]

    def watch(self, limit, start_limit, until):
        """Wait for the end: 0, or words for why."""
        while True:
            try:
                status = self.process.wait(0.1)
                self.reader.join(5)
                if status < 0:
                    return f"ended by signal {signal.Signals(-status).name}"
                return 0 if status in (0, AGAIN) else f"ended with status {status}"
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if until is not None and now > until:
                    self.kill()
                    return "out of time"
                if now - self.since > (start_limit if self.item is None else limit):
                    self.kill()
                    return f"stopped after {now - self.since:.0f} s"

    def kill(self):
        """End the process and those that it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:                         # it has just ended
            pass
        self.process.wait()
        self.reader.join(5)
