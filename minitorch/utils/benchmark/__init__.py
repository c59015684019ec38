"""``torch.utils.benchmark``: how long statements take: `Timer` measures, `Compare` prints a table of measurements."""

from .compare import Compare
from .measurement import Measurement, TaskSpec, select_unit
from .timer import Timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit"]
