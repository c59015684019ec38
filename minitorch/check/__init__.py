"""Checks for exercises: what was tried, the smallest counter-example, and the misconception by its name.

>>> from minitorch import check
>>> def unbroadcast(grad, shape):
...     return grad
>>> print(check.nb03.unbroadcast(unbroadcast))          # doctest: +ELLIPSIS
nb03.unbroadcast: not yet right
...

Each lesson has a file of checks here, `nb01` and on; `exercise.py` is the framework, `notebook.py` makes student and
solved notebooks from one source, `grading.py` grades a folder of hand-ins, each in a process of
its own (`judge.py`). Not imported by ``import minitorch``.
"""

import importlib
import importlib.util
from pathlib import Path

from .exercise import Exercise, Result, allow_hints, passed, report
from .notebook import grade, solved, student
from .pytorch import in_pytorch

__all__ = ["Exercise", "Result", "allow_hints", "exercises", "grade", "in_pytorch", "passed", "report",
           "solved", "student"]


def exercises(lesson=None):
    """All exercises by their names, of all lessons or of the one with this number."""
    pattern = "nb[0-9][0-9].py" if lesson is None else f"nb{int(lesson):02}.py"
    lessons = sorted(path.stem for path in Path(__file__).parent.glob(pattern))
    return {found.name: found for lesson in lessons
            for found in vars(importlib.import_module(f"{__name__}.{lesson}")).values() if isinstance(found, Exercise)}


def __getattr__(name):
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module 'minitorch.check' has no attribute {name!r}: there is no such lesson")
    return importlib.import_module(f"{__name__}.{name}")
