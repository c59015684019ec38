"""`Measurement`: the times of a statement, their median and spread, in words."""

import math
import statistics
from dataclasses import dataclass, fields
from typing import Any

__all__ = ["Measurement", "TaskSpec", "select_unit"]

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
Z = 1.645                                                  # 90 % of a normal distribution lie within


def select_unit(t):
    """The unit in which a time in seconds reads best, and its size in seconds: ("us", 1e-6)."""
    power = math.floor(math.log10(t) / 3) if t > 0 else -3
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(max(power, -3), "s")
    return unit, UNITS[unit]


@dataclass(frozen=True)
class TaskSpec:
    """The statement that is measured, and the words that describe it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    def setup_str(self):
        """The setup in words; nothing where there is none."""
        return "" if self.setup in ("pass", "") else f"setup: {self.setup}"

    @property
    def title(self):
        """The label, or the statement where there is none, with the sub-label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else "stmt:\n  " + self.stmt.replace("\n", "\n  ")

    def summarize(self):
        """Title, description and setup, in lines."""
        return "\n".join([text for text in (self.title, self.description, self.setup_str()) if text])


@dataclass(repr=False)
class Measurement:
    """The times of several runs: `raw_times` in seconds, each of `number_per_run` calls."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name):
        if name in {f.name for f in fields(TaskSpec)}:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self):
        """Seconds of one call, for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    def quantile(self, q):
        """The time below which a share `q` of the runs lie, between two of them in proportion."""
        times = sorted(self.times)
        place = q * (len(times) - 1)
        low = math.floor(place)
        return times[low] + (times[min(low + 1, len(times) - 1)] - times[low]) * (place - low)

    median = property(lambda self: self.quantile(0.5), doc="Half of the runs took longer.")
    mean = property(lambda self: statistics.fmean(self.times), doc="The mean of the runs.")
    iqr = property(lambda self: self.quantile(0.75) - self.quantile(0.25), doc="How far apart the middle half lies.")
    title = property(lambda self: self.task_spec.title, doc="The title of what was measured.")
    as_row_name = property(lambda self: self.sub_label or self.stmt or "[Unknown]", doc="Its name in a table.")

    @property
    def significant_figures(self):
        """How many digits of the median say something, judged by the spread of the middle half: 1 to 5."""
        times = sorted(self.times)
        inner = times[len(times) // 4:math.ceil(3 * len(times) / 4)]
        interval = max(Z * statistics.pstdev(inner) / math.sqrt(len(inner)), 25e-9)
        return min(max(math.floor(math.log10(self.median / interval)), 1), 5)

    def meets_confidence(self, threshold=0.1):
        """True if the middle half lies within this share of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self):
        """True if the runs differ by more than a tenth."""
        return bool(self.warnings())

    def warnings(self):
        """Lines to print if the runs differ much."""
        if self.meets_confidence():
            return []
        why = "significant environmental influence" if not self.meets_confidence(0.25) else "system fluctuation"
        return [f"  WARNING: Interquartile range is {self.iqr / self.median:.1%} of the median measurement.",
                f"           This suggests {why}."]

    def __repr__(self):
        unit, scale = select_unit(self.median)
        n, threads = len(self.times), self.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize(),
                 f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}"]
        if n >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self.quantile(0.25) / scale:.2f} to "
                         f"{self.quantile(0.75) / scale:.2f})")
        lines.append(f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs {'per measurement' * (n > 1)}, "
                     f"{threads} thread{'s' * (threads > 1)}")
        return "\n".join([*lines, *self.warnings()])

    @staticmethod
    def merge(measurements):
        """Measurements of the same task as one each."""
        grouped = {}
        for m in measurements:
            grouped.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, task) for task, times in grouped.items()]
