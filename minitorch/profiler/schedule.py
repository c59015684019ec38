"""When a profile records: `schedule`, and what to do with the traces."""

import enum
import itertools
from pathlib import Path

__all__ = ["ProfilerAction", "schedule", "tensorboard_trace_handler"]


class ProfilerAction(enum.Enum):
    """The action of a profile in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the number of a step to a `ProfilerAction`.

    After `skip_first` steps come rounds of `wait` steps without recording, `warmup` steps whose record is dropped and
    `active` recorded ones, `repeat` times (0: for ever). With `skip_first_wait` the first round has no wait.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(i).name for i in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(f"Invalid profiler schedule arguments: wait={wait}, warmup={warmup}, repeat={repeat} and "
                             f"skip_first={skip_first} must not be negative, active={active} must be positive")

    def plan(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """A function for `on_trace_ready` that writes a Chrome trace into the folder `dir_name`, one file a round.

    `use_python_export` is accepted: Python writes it anyway.
    """
    numbers = itertools.count(1)

    def handler(prof):
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        end = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        prof.export_chrome_trace(folder / f"{worker_name or 'minitorch'}.{next(numbers)}{end}")

    return handler
