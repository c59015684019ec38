"""`Timer`: how long a statement takes, on as many threads as are asked for."""

import textwrap
import timeit
from contextlib import contextmanager

from ...cuda import is_available, is_initialized, synchronize
from ...settings import get_num_threads, set_num_threads
from .measurement import Measurement, TaskSpec

__all__ = ["Timer"]


def timer():
    """The time in seconds, when GPUs in use are done with what they were asked for."""
    if is_available() and is_initialized():
        synchronize()
    return timeit.default_timer()


class Timer:
    """Measures a statement of Python.

    stmt: its source, run in `globals` after `setup` (run once). label, sub_label, description, env: words for tables.
    num_threads: for products of matrices and elementwise work, meanwhile. A statement in C++ is refused:
    NotImplementedError.

    >>> from minitorch.utils.benchmark import Timer
    >>> Timer("x + x", setup="x = 1").timeit(100).number_per_run
    100
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None,
                 sub_label=None, description=None, env=None, num_threads=1, language="python"):
        if str(getattr(language, "name", language)).lower() not in ("python", "py"):
            raise NotImplementedError(f"statements of Python are measured, not of {language}")
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if global_setup:
            raise ValueError("global_setup is C++ only, e.g. `#include <vector>`")
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip() or "pass"
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    @contextmanager
    def _threads(self):
        before = get_num_threads()
        if before == self._task_spec.num_threads:
            yield
            return
        set_num_threads(self._task_spec.num_threads)
        try:
            yield
        finally:
            set_num_threads(before)

    def timeit(self, number=1_000_000):
        """One run of `number` calls, after a shorter one to warm up."""
        with self._threads():
            self._timer.timeit(max(number // 100, 2))
            return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat=-1, number=-1):
        """NotImplementedError, as in PyTorch: `blocked_autorange` chooses both."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        """NotImplementedError, as in PyTorch: `blocked_autorange` chooses the number of calls."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time):
        """The number of calls that take a thousandth of the whole time, and the clock a thousandth
        of that."""
        overhead = timeit.Timer("pass").timeit(5) / 5
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if overhead < taken * 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Runs of one number of calls each until `min_run_time` seconds are over; callback(number, seconds)."""
        with self._threads():
            number, times = self._block_size(min_run_time), []
            while sum(times) < min_run_time or len(times) < 2:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Runs until the middle half lies within `threshold` of the median, or `max_run_time` seconds are over."""
        with self._threads():
            number, times = self._block_size(min_run_time), []
            while True:
                times.append(self._timer.timeit(number))
                if callback is not None:
                    callback(number, times[-1])
                found, total = Measurement(number, times, self._task_spec), sum(times)
                if total > max_run_time or (total > min_run_time and len(times) > 3 and
                                            found.meets_confidence(threshold)):
                    return found

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        """NotImplementedError: instructions are not counted."""
        raise NotImplementedError("Timer measures time; valgrind --tool=callgrind counts instructions")
