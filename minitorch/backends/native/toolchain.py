"""The C compiler of this machine and the flags that it takes.

``CC`` names one (flags may follow: ``CC="gcc -m64"``), else cc, gcc or clang is taken. It is run without a shell, on
files in a folder of our own, and only when something is built.
"""

import atexit
import functools
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

__all__ = ["NO_ANSWER", "Unavailable", "compiler", "processor", "reason", "run", "say"]

PROBES, VERSION = 10.0, 5.0    # seconds for all questions together, and for the first to a compiler
WORDLESS = 3.0                 # seconds after which stderr says what is waited for
NO_ANSWER = 124                                            # exit status, as `timeout` has it

# The flags keep NumPy's results: no -ffast-math, and products and sums are rounded one by one. Comparisons and roots
# vectorise, as they set no errno and raise no traps; integers wrap around; any pointer may point anywhere.
FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off",
         "-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector", "-w")
# Flags that not every compiler takes; from each group the first one that it takes is used: instructions of this
# processor, loops marked by hand, long vectors.
WISHES = ("-march=native", "-mcpu=native"), ("-fopenmp-simd",), ("-mprefer-vector-width=512",)
PROBE = """
#include <math.h>
float probe(const float *x, long n) {
  float s = 0;
#pragma omp simd reduction(+:s)
  for (long i = 0; i < n; i++) s += fmaf(x[i], x[i], 1.0f);
  return s;
}
"""


class Unavailable(RuntimeError):
    """Native code is not available; the message says why."""


def switched_off():
    """True if the user has switched native code off: ``MINITORCH_NATIVE=0``."""
    return os.environ.get("MINITORCH_NATIVE", "").strip().lower() in ("0", "no", "off", "false")


def reason():
    """Why nothing can be built here, in words; None if it can."""
    try:
        compiler()
    except Unavailable as why:
        return str(why)
    return None


def compiler():
    """The command with its flags, as a tuple, and its version with the processor's, as text. Unavailable if none."""
    if switched_off():
        raise Unavailable("the environment variable MINITORCH_NATIVE switches native code off")
    return found(os.environ.get("CC", ""), os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=8)
def found(named, path):
    """`compiler` for these values of CC and PATH. A failure is kept as well: it is not tried again and again."""
    answer = search(named)
    return raising(answer) if isinstance(answer, str) else answer


def raising(text):
    raise Unavailable(text)


def search(named):
    """The compiler and its version, or a text that says why there is none."""
    if os.name != "posix":
        return f"native code is built by gcc or clang on Linux and macOS, not on {sys.platform}"
    try:
        commands = [shlex.split(named)] if named.strip() else [["cc"], ["gcc"], ["clang"]]
    except ValueError as error:
        return f"the environment variable CC is not a command: {error}"
    tried, end = [], time.monotonic() + PROBES
    with announced(f"minitorch: waiting for the C compiler, {PROBES:g} s at most"):
        for command in commands:
            answer = try_out(command, end)
            if not isinstance(answer, str):
                return answer
            tried.append(answer)
    return ("no C compiler: " + "; ".join(tried) + ". Install gcc or clang (Debian: apt install gcc libc6-dev), or let "
            "the environment variable CC name one")


def try_out(command, end):
    """One command, with its flags and its version; a text if it cannot be used. It answers before
    the time `end`."""
    place = shutil.which(command[0])
    if place is None:
        return f"{command[0]} is not installed"
    command = (place, *command[1:])

    def ask(*arguments, limit=PROBES):
        done = run([*command, *arguments], min(limit, end - time.monotonic()))
        if done.returncode == NO_ANSWER:
            raise TimeoutError
        return done
    start = time.monotonic()
    try:
        version = ask("--version", limit=VERSION)
        flags = flags_of(ask) if version.returncode == 0 else None
    except TimeoutError:
        return f"{place} did not answer within {time.monotonic() - start:.0f} s"
    if flags is None:
        return f"{place} does not compile a function of six lines"
    first = version.stdout.strip().split("\n")[0]
    return (*command, *flags), f"{first}, {platform.machine()}, {processor()}"


def flags_of(ask):
    """The flags that a compiler takes; None if it takes not even those that are needed."""
    with tempfile.TemporaryDirectory(prefix="minitorch-cc-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text(PROBE)

        def works(flags):
            return ask(*flags, "-o", str(source.with_suffix(".so")), str(source), "-lm").returncode == 0
        usual = (*FLAGS, *(choices[0] for choices in WISHES))
        if works(usual):
            return usual
        if not works(FLAGS):
            return None
        flags = FLAGS
        for choices in WISHES:
            flags = next(((*flags, c) for c in choices if works((*flags, c))), flags)
        return flags


# ---- processes -----------------------------------------------------------------------------------
running: set = set()                                       # the processes that have not ended


def run(command, timeout=300.0):
    """A finished process, with its output as text; one that failed if it could not be started.

    One that takes longer than `timeout` seconds is ended, with all that it started: status
    `NO_ANSWER`.
    """
    environment = {**os.environ, "LC_ALL": "C"}            # whose messages are read by people who ask for help
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", env=environment, start_new_session=True)
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
    running.add(process)
    try:
        out, err = process.communicate(timeout=max(timeout, 0.01))
        return subprocess.CompletedProcess(command, process.returncode, out, err)
    except subprocess.TimeoutExpired:
        why = f"{command[0]} did not answer within {timeout:.0f} s"
        return subprocess.CompletedProcess(command, NO_ANSWER, "", why)
    finally:
        end(process)


def end(process):
    """End a process, and those that it started."""
    running.discard(process)
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:                                    # it has ended meanwhile
            process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        pipe.close()


@atexit.register
def end_all():
    """Leave no compiler behind: one in the background may still run."""
    for process in list(running):
        if process.poll() is None:
            end(process)


def say(text):
    """A line on stderr, for those who wait."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def announced(text):
    """A block that says `text` if it takes long."""
    timer = threading.Timer(WORDLESS, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@functools.lru_cache(maxsize=1)
def processor():
    """A text that tells processors apart that need different code: a folder in a home may serve several machines."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read().split("\n\n")[0].splitlines()
        kinds = ("model name", "flags", "features", "cpu implementer", "cpu part")
        return " ".join(line for line in lines if line.lower().startswith(kinds)) or platform.processor()
    except OSError:
        text = run(["sysctl", "-n", "machdep.cpu.brand_string"]).stdout if sys.platform == "darwin" else ""
        return text.strip() or platform.processor()
