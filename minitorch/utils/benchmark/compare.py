"""`Compare`: measurements as tables.

A table for each label, a block for each number of threads, a row for each sub-label, a column for each description.
"""

import math

from .measurement import Measurement, select_unit

__all__ = ["Compare"]


class Compare:
    """A table of measurements: ``print(Compare(measurements))``."""

    def __init__(self, results):
        self._results, self._trim, self._warn = [], False, False
        self.extend_results(results)

    def extend_results(self, results):
        """Add measurements. ValueError for what is none."""
        for x in results:
            if not isinstance(x, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(x)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only digits that say something."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Nothing: tables are plain text."""

    def highlight_warnings(self):
        """Mark measurements whose runs differ much by ``(!)``."""
        self._warn = True

    def print(self):
        """Print the tables."""
        print(str(self))

    def __str__(self):
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(m.label for m in merged)
        return "\n".join([self.table([m for m in merged if m.label == label], label) for label in labels])

    def table(self, found, label):
        """One table, in the unit that suits its smallest median."""
        unit, scale = select_unit(min(m.median for m in found))
        columns = list(dict.fromkeys(m.description for m in found))
        rows = list(dict.fromkeys((m.num_threads, m.as_row_name) for m in found))
        cells = {(m.num_threads, m.as_row_name, m.description): self.cell(m, scale) for m in found}
        lines = [["", *[str(c or "") for c in columns]]]
        threads = None
        for n, name in rows:
            if n != threads:
                lines.append([f"{n} threads:"])
                threads = n
            lines.append([f"      {name}", *[cells.get((n, name, c), "") for c in columns]])
        widths = [max([len(line[i]) for line in lines if len(line) > i]) for i in range(len(columns) + 1)]
        text = ["  |  ".join([line[0].ljust(widths[0]), *[x.rjust(w) for x, w in zip(line[1:], widths[1:])]])
                if len(line) > 1 else line[0] + " " + "-" * (sum(widths) + 5 * len(columns) - len(line[0]) - 1)
                for line in lines]
        title = f" {label} " if label else "  "
        width = max(map(len, text))
        words = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
        return "\n".join([f"[{title.center(width - 2, '-')}]", *text, "", f"Times are in {words[unit]} ({unit})."])

    def cell(self, m, scale):
        """The median in a unit."""
        value = m.median / scale
        if self._trim and value:
            digits = m.significant_figures - math.ceil(math.log10(value))
            text = f"{round(value, digits):.{max(digits, 0)}f}"
        else:
            text = f"{value:.1f}"
        return text + (" (!)" if self._warn and m.has_warnings else "")
