"""The record of calls: what each rank does, where all ranks can read it, and the messages that are made of it.

Each rank has a row in memory that all share (a file mapped by the processes of a node, an array for threads): its last
64 calls, whether it waits in one, and what went wrong. A rank that waits for others looks at their rows, so that a
fault is named on every rank, by rank, call and line, and nobody waits for somebody who will not come.
"""

import atexit
import functools
import linecache
import os
import signal
import sys
import threading
import time

import numpy as np

from .errors import DistBackendError

__all__ = ["Record", "calls"]

ENTRIES = 64
ENTRY = np.dtype([("seq", "i8"), ("group", "i4"), ("waits", "i4"), ("since", "f8"), ("text", "S160"), ("line", "S240")])
ROW = np.dtype([("pid", "i8"), ("thread", "i8"), ("state", "i4"), ("signal", "i4"), ("code", "i4"), ("whole", "i4"),
                ("count", "i8"), ("when", "f8"), ("told", "i8"), ("fault", "S4096"),
                ("calls", ENTRY, (ENTRIES,))])
ABSENT, RUNNING, FAILED, FINISHED, KILLED = range(5)       # states of a rank
LIBRARY = os.path.dirname(os.__file__)


def text_of(value):
    return bytes(value).decode(errors="replace")


def place_of(line):
    """A line as it is shown: file and number."""
    if not isinstance(line, tuple):
        return str(line)
    return f"{os.path.basename(line[0])}:{line[1]}"


@functools.lru_cache(maxsize=1024)
def entered(line):
    """A line as an entry of the record holds it."""
    return place_of(line).encode(errors="replace")[:240]


def several(ranks):
    """Some ranks in words: "rank 1", "ranks 0, 2 and 3"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


class Rows:
    """The rows of all ranks of a job, as they are read."""

    def __init__(self, rows):
        self.rows, self.states = rows, rows["state"]
        self.names = {0: ""}                               # of groups that are not the world

    def entry_of(self, rank, group, seq):
        """The entry of call `seq` of a group in a rank's row; None if it is not there."""
        calls = self.rows[rank]["calls"]
        found = np.flatnonzero((calls["seq"] == seq) & (calls["group"] == group) & (calls["text"] != b""))
        return calls[found[-1]] if found.size else None

    def last(self, rank):
        """The last entry of a rank; None if it has called nothing."""
        row = self.rows[rank]
        return row["calls"][(int(row["count"]) - 1) % ENTRIES] if row["count"] else None

    def described(self, entry, line=True):
        """An entry in words: ``all_reduce #17 float32 [1000] (train.py:41)``."""
        name, _, rest = text_of(entry["text"]).partition(" ")
        group = self.names.get(int(entry["group"]), f" in group {int(entry['group'])}")
        number = f" #{int(entry['seq'])}" if entry["seq"] > 0 else ""              # messages have none
        words = f"{name}{number}{' ' + rest if rest else ''}{group}"
        return f"{words} ({text_of(entry['line'])})" if line else words

    def of_failure(self, rank):
        row = self.rows[rank]
        fault = text_of(row["fault"])
        if row["whole"]:
            return fault
        if row["state"] == KILLED:
            fault = self.of_end(rank)
        waiting = [r for r in range(len(self.rows)) if r != rank and self.states[r] in (RUNNING, FAILED)]
        return f"{fault}; {self.of_waiting(waiting)}" if waiting else fault

    def of_end(self, rank):
        """The message about a rank that has ended."""
        row, entry = self.rows[rank], self.last(rank)
        number = int(row["signal"])
        how = ("was killed, or has left without a word," if number < 0 else        # its parent alone knows
               f"was killed (signal {number}, {signal.Signals(number).name})" if number else
               f"has ended with exit code {int(row['code'])}" if row["code"] else "has ended")
        if entry is None:
            return f"rank {rank} {how} before its first call"
        return f"rank {rank} {how} {'in' if entry['waits'] else 'after'} {self.described(entry)}"

    def of_waiting(self, ranks):
        """The calls that ranks wait in or are past, in words: ranks of one call together."""
        groups: dict = {}
        for rank in ranks:
            entry = self.last(rank)
            if entry is None:
                words = ("has", "have"), "called nothing yet"
            elif entry["waits"]:
                words = ("waits", "wait"), f"in {self.described(entry)}"
            else:
                words = ("is", "are"), f"past {self.described(entry)}"
            groups.setdefault(words, []).append(rank)
        return "; ".join(f"{several(who)} {verb[len(who) > 1]} {what}" for (verb, what), who in groups.items())

    def of_mismatch(self, ranks, group, seq):
        """The message about ranks that are in different calls: those in the minority first."""
        groups: dict = {}
        for rank in ranks:
            entry = self.entry_of(rank, group, seq)
            groups.setdefault("another call" if entry is None else self.described(entry), []).append(rank)
        *few, (most, those) = sorted(groups.items(), key=lambda item: (len(item[1]), -item[1][0]))
        parts = [f"{several(who)} {'is' if len(who) == 1 else 'are'} in {what}" for what, who in few]
        return "; ".join([*parts, f"{several(those)} {'waits' if len(those) == 1 else 'wait'} in {most}"])

    def first_failed(self):
        """The rank that failed first; None if none has."""
        failed = np.flatnonzero((self.states == FAILED) | (self.states == KILLED))
        return int(failed[np.argmin(self.rows["when"][failed])]) if failed.size else None


class Record(Rows):
    """The record as one rank keeps it. `where(rank)` finds the line at which a rank is, `alive(rank)` whether it is."""

    refresh = None                                         # brings the rows up to date where they are copies

    def __init__(self, rows, rank, where=None, alive=None, supervised=False):
        super().__init__(rows)
        self.rank, self.row = rank, rows[rank]
        self.where, self.alive, self.supervised = where, alive, supervised
        self.row["pid"], self.row["thread"] = os.getpid(), threading.get_ident()
        self.row["count"], self.row["state"], self.lock = 0, RUNNING, threading.Lock()
        self.row["told"] = False
        self.fault = None

    # -- calls ---------------------------------------------------------------------------------------------
    def begin(self, group, seq, text, line):
        """Enter a call; returns its entry, for `end`."""
        row = self.row
        with self.lock:
            count = int(row["count"])
            entry = row["calls"][count % ENTRIES]
            entry["seq"], entry["group"], entry["waits"], entry["since"] = seq, group, 1, time.time()
            entry["text"], entry["line"] = text.encode()[:160], entered(line)
            row["count"] = count + 1
        return entry

    def end(self, entry, seq):
        """Note that the call is done."""
        if entry["seq"] == seq:
            entry["waits"] = 0

    # -- faults --------------------------------------------------------------------------------------------
    def fail(self, text, whole=False, state=FAILED):
        """Say that this rank has failed; `whole`: the text says all, else who waited is added to it."""
        row = self.row
        if row["state"] == RUNNING:
            row["fault"], row["whole"], row["when"] = text.encode(errors="replace")[:4096], whole, time.time()
            row["state"] = state

    def finish(self):
        """Say that this rank has come to its end."""
        if self.row["state"] == RUNNING:
            self.row["state"], self.row["when"] = FINISHED, time.time()
        self.tell()

    def tell(self):
        """Say that this rank has shown its fault, if it has one: nobody needs to show it for it."""
        self.row["told"] = True

    def raise_fault(self):
        """Raise what went wrong in some rank, the first that did; nothing happens if nothing did."""
        rank = self.first_failed()
        if rank is not None:
            self.stop(self.of_failure(rank))

    def stop(self, message):
        """Note `message` for all ranks and raise it; if another rank was first, what that one says."""
        first = self.first_failed()
        if first is not None and self.rows["whole"][first]:
            message = text_of(self.rows["fault"][first])
        self.fault = message
        self.fail(message, whole=True)
        raise DistBackendError(message)

    def gone(self, ranks):
        """Those of `ranks` that have ended."""
        if self.refresh is not None:
            self.refresh()
        return [rank for rank in ranks if self.states[rank] in (FINISHED, KILLED) or not self.alive(rank)]

    def check(self, missing, gone, seq, seconds, timeout):
        """Called now and then by a rank that waits for `missing` since `seconds`: raise what is wrong.

        gone: those of them that have ended; seq: the number of the collective, None for a message.
        """
        self.raise_fault()
        for rank in gone:
            self.wait_for_cause(rank)
            self.raise_fault()
            self.stop(f"{self.of_end(rank)}; {self.of_others(missing)}")
        if seconds > timeout:
            self.stop(self.of_delay(missing, seq, seconds))

    def wait_for_cause(self, rank):
        """Give the launcher, which alone learns by which signal a rank ended, time to say so."""
        end = time.monotonic() + 5
        while self.supervised and self.states[rank] == RUNNING and time.monotonic() < end:
            time.sleep(0.02)
            if self.refresh is not None:
                self.refresh()

    def of_delay(self, missing, seq, seconds):
        """The message after a timeout: which call the others did not make, and where they are instead."""
        parts = []
        for rank in missing:
            entry = self.last(rank)
            place = self.where(rank) if self.where is not None else None
            if entry is not None and entry["waits"]:
                parts.append(f"rank {rank} waits in {self.described(entry)}")
                continue
            parts.append(f"rank {rank} has not {'answered' if seq is None else f'called #{seq}'} for {seconds:.3g} s"
                         + (f"; it is at {shown(place)}" if place else "")
                         + ("" if entry is None else f"; its last call was {self.described(entry)}"))
        return "Timed out: " + "; ".join([*parts, self.of_others(missing)])

    def of_others(self, missing):
        """The text about the ranks that run and are not missing."""
        return self.of_waiting([r for r in range(len(self.rows)) if r not in missing and self.states[r] == RUNNING])


def note_end(row, code):
    """Note the exit code of a rank, negative for a signal, in its row, unless the rank itself has said why it ended."""
    if code and row["state"] in (ABSENT, RUNNING):
        row["signal"], row["code"], row["when"] = max(-code, 0), max(code, 0), time.time()
        row["state"] = KILLED


def shown(place):
    """(file, line) with the line's text: ``data.py:88 (next(loader))``."""
    text = linecache.getline(*place).strip()
    return place_of(place) + (f" ({text})" if text else "")


def on_uncaught(act, shown=lambda: None):
    """Call ``act(error)`` for an exception that ends the process, before it is shown.

    After that, call `shown()`. The fault of a collective that ends another thread than the main one
    gives the process exit code 1, when it ends.
    """
    before, before_in_thread = sys.excepthook, threading.excepthook

    def hook(kind, error, trace):
        act(error.with_traceback(trace))
        before(kind, error, trace)
        if sys.stderr is not None:
            sys.stderr.flush()
        shown()

    def hook_in_thread(found):
        if not isinstance(found.exc_value, DistBackendError):
            before_in_thread(found)
            return
        act(found.exc_value)
        before_in_thread(found)
        ended_threads.append(found.thread)
        shown()
    sys.excepthook, threading.excepthook = hook, hook_in_thread


ended_threads: list = []                                   # which the fault of a call has ended


@atexit.register
def fail_at_exit():
    """The exit code of a process is 1 if the fault of a call has ended one of its threads."""
    if ended_threads:
        if "logging" in sys.modules:
            sys.modules["logging"].shutdown()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(1)


def failure_text(rank, error):
    """The message to other ranks about an exception: type, text, the user's innermost line."""
    line, trace = None, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        name, file = frame.f_globals.get("__name__") or "", frame.f_code.co_filename
        if name.partition(".")[0] not in ("minitorch", "numpy") and not is_of_python(file):
            line = file, trace.tb_lineno
        trace = trace.tb_next
    text = f"rank {rank} failed: {type(error).__name__}" + (f": {error}" if str(error) else "")
    return text + (f" ({place_of(line)})" if line else "")


def is_of_python(file):
    """True for a file of Python's own library, or none."""
    return file.startswith("<") or file.startswith(LIBRARY) and "site-packages" not in file


def calls(record):
    """The calls that this rank's record still holds, the oldest first: (seq, text, line)."""
    count = int(record.row["count"])
    entries = [record.row["calls"][i % ENTRIES] for i in range(max(0, count - ENTRIES), count)]
    return [(int(e["seq"]), text_of(e["text"]), text_of(e["line"])) for e in entries]
