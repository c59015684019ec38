"""`Exercise`: a task, how to draw examples of it, the truth, and the mistakes that people make.

A check is declared, not programmed:

    twice = Exercise("nb99.twice", "Return twice the tensor.", hints=("What is 2 + 2?", "Multiply.", "`2 * x`."))

    @twice.draw
    def _(d):                                   # d: minitorch.testing.strategies.Draw; arrays, numbers, tuples
        return (d.array((d.int(0, 3),)),)

    @twice.truth
    def _(x):
        return x + x

    @twice.mistake("squared instead of doubled: `**` is the power")
    def squared(x):
        return x ** 2

``twice(student_function)`` gives a `Result`. Examples are tried from the smallest to the largest, so that the first
that fails is a small one; its numbers are then made rounder while it still fails. A mistake is named when it gives
what the student's function gives on every example that was tried; several at once are named, too (`naming`).
"""

import copy
import json
import os
import random
import traceback

import numpy as np

from .. import Tensor, from_numpy
from ..testing.strategies import Draw
from . import card
from .naming import Tried, name_of

__all__ = ["Exercise", "Result", "allow_hints", "passed", "report"]

GAP = "____"                        # what students fill in, in the last hint of an exercise
# Where frames of this library lie: a learner's folder may be called minitorch, too.
OURS = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep, "<minitorch ")
RESULTS: dict = {}                  # of this session: name of the exercise -> its latest Result
HINTS = os.environ.get("MINITORCH_HINTS", "1") != "0"


def allow_hints(allowed=True):
    """Switch hints on or off; the environment variable MINITORCH_HINTS=0 switches them off, too."""
    global HINTS
    HINTS = bool(allowed)


class Exercise:
    """One task with its check.

    name: "nb03.unbroadcast"; task: one sentence; hints: three strings, from a nudge to a line with gaps (``____``).
    tensors: arrays of the examples are handed over as tensors (float64, or int64), otherwise as they are.
    rtol, atol: how exactly results must agree. tries: how many examples are drawn.
    parts: what the items of an answer are, where there are several: labels for the card, and named one by one.
    """

    composes = True                     # whether mistakes are cheap enough to be tried together

    def __init__(self, name, task, hints=(), *, tensors=True, rtol=1e-4, atol=1e-7, tries=40, parts=()):
        self.name, self.task, self.hints = name, task, tuple(hints)
        self.tensors, self.rtol, self.atol, self.tries = tensors, rtol, atol, tries
        self.parts = tuple(parts)
        self.mistakes = {}
        self._cases = self._draw = self._truth = self._describe = None
        self._run = lambda solution, *args: solution(*args)

    # Decorators by which a check declares its parts.
    def cases(self, function):
        """``function()`` gives examples (tuples of arguments) that are always tried, before those drawn."""
        self._cases = function
        return function

    def draw(self, function):
        """``function(d)`` draws one example."""
        self._draw = function
        return function

    def truth(self, function):
        """The right answer to an example. What it raises, students must raise."""
        self._truth = function
        return function

    def run(self, function):
        """``function(solution, *args)``: how to use what the student wrote, where it is not called with the example."""
        self._run = function
        return function

    def describe(self, function):
        """``function(*args)``: an example in words, where its arguments are not readable."""
        self._describe = function
        return function

    def mistake(self, words):
        """A mistake, written as a student would; the name of the function is the name of the misconception."""
        def keep(function):
            self.mistakes[function.__name__] = (words, function)
            return function
        return keep

    def slips(self, **mistakes):
        """Mistakes of one line: ``name=(words, function)``."""
        self.mistakes.update(mistakes)

    # The interface for students and graders.
    def __call__(self, solution):
        """Check `solution`; never raises because of what is wrong with it."""
        result = self._check(solution)
        RESULTS[self.name] = result
        return result

    def hint(self, level=1):
        """The hint of `level` 1, 2 or 3."""
        if not HINTS:
            return Words("Hints are switched off here: ask your teacher.")
        if not self.hints:
            return Words("There are no hints for this exercise.")
        level = min(max(int(level), 1), len(self.hints))
        words = self.hints[level - 1]
        if GAP in words:
            return Words(f"Hint {level} of {len(self.hints)}, with gaps to fill in: `{words}`")
        return Words(f"Hint {level} of {len(self.hints)}: {words}")

    def needs(self):
        """Requirements of the check that are not installed here, in words; "" if none."""
        return ""

    def __repr__(self):
        return f"{self.name}: {self.task}"

    def _check(self, solution):
        needs = self.needs()
        if solution is None or solution is ... or needs:
            return Result(self, "missing", needs=needs)
        tried = []
        for args in self._examples():
            found = self._outcome(solution, args)
            if isinstance(found.error, NotImplementedError):
                return Result(self, "missing")
            expected = self._outcome(self._truth, args)
            right = found.changed_inputs is None and self.same(found, expected)
            tried.append(Tried(args, found, expected, right))
        if all(example.right for example in tried):
            return Result(self, "ok", tried=len(tried))
        args = self._rounder(solution, next(example.args for example in tried if not example.right))
        return Result(self, "wrong", tried=len(tried), example=self.words(args), found=self._outcome(solution, args),
                      expected=self._outcome(self._truth, args), mistake=self._name_mistake(tried))

    def _examples(self, seed=None):
        """Examples from the smallest to the largest; a `seed` draws others than those that students see."""
        yield from (self._cases() if self._cases else ())
        if self._draw:
            rng = random.Random(self.name if seed is None else f"{self.name} {seed}")
            yield from sorted((self._draw(Draw(rng)) for _ in range(self.tries)), key=size)

    def _outcome(self, solution, args):
        given = tuple(self._hand_over(a) for a in args)
        try:
            outcome = Outcome(plain(self._run(solution, *given)))
        except Exception as error:              # anything may happen in a student's function
            outcome = Outcome(error=error)
        if not all(equal(plain(a), plain(b), 0, 0) for a, b in zip(given, args)):
            outcome.changed_inputs = given
        return outcome

    def _hand_over(self, value):
        """A copy for the student's function to do with as it likes."""
        if isinstance(value, np.ndarray):
            return from_numpy(value.copy()) if self.tensors else value.copy()
        if type(value) in (list, tuple):
            return type(value)(self._hand_over(v) for v in value)
        return copy.deepcopy(value) if isinstance(value, dict) else value

    def same(self, one, other):
        """True if two outcomes agree: equal values, or errors of one class."""
        if one.error is not None or other.error is not None:
            return type(one.error) is type(other.error)
        return equal(one.value, other.value, self.rtol, self.atol)

    def _rounder(self, solution, args):
        """The failing example with rounder numbers, if it still fails the same way."""
        for digits in (0, 1):
            candidate = rounded(args, digits)
            if self._valid(candidate):
                found = self._outcome(solution, candidate)
                if found.changed_inputs is not None or not self.same(found, self._outcome(self._truth, candidate)):
                    return candidate
        return args

    def _valid(self, args):
        expected = self._outcome(self._truth, args)
        return expected.error is None and finite(expected.value)

    def _name_mistake(self, tried):
        """The mistake, or the mistakes, that the student's function makes."""
        return name_of(self, tried)

    def shown(self, outcome, other):
        """An outcome in words; parts with their labels, and a word for those that are as in `other`."""
        if not self.parts or any(not isinstance(x.value, (list, tuple)) or len(x.value) != len(self.parts)
                                 for x in (outcome, other)):
            return str(outcome)
        kinds = type(outcome), type(other)
        return "\n".join(f"{label}: {show(one)}{'' if self.same(kinds[0](one), kinds[1](two)) else '  <- differs'}"
                         for label, one, two in zip(self.parts, outcome.value, other.value))

    def words(self, args):
        """An example as the student would write it."""
        if self._describe:
            return self._describe(*args)
        return f"{self.name.split('.')[-1]}({', '.join(show(a) for a in args)})"


class Outcome:
    """Outcome of a call: a plain value or an error, and the arguments if they were changed."""

    def __init__(self, value=None, error=None):
        self.value, self.error, self.changed_inputs = value, error, None

    def __str__(self):
        if self.error is None:
            return show(self.value)
        line = next((f" (line {frame.lineno} of your cell: `{frame.line}`)"
                     for frame in reversed(traceback.extract_tb(self.error.__traceback__))
                     if not frame.filename.startswith(OURS) and frame.line), "")
        if "NoneType" in str(self.error) and ".grad" in line:
            line += "; a .grad is None until backward() has run"
        return f"{type(self.error).__name__}: {str(self.error).splitlines()[0] if str(self.error) else ''}{line}"


class Result:
    """Result of a check. `state` is "ok", "wrong" or "missing"; true if ok; shown as a card in notebooks."""

    def __init__(self, exercise, state, tried=0, example=None, found=None, expected=None, mistake=None, needs=""):
        self.exercise, self.state, self.tried = exercise, state, tried
        self.example, self.found, self.expected = example, found, expected
        self.misconception, self.words = mistake or (None, None)
        self.needs = needs

    @property
    def ok(self):
        return self.state == "ok"

    def __bool__(self):
        return self.ok

    def hint(self, level=1):
        """A hint: 1 is a nudge, 2 says more, 3 is a line with gaps."""
        return self.exercise.hint(level)

    def lines(self):
        """The message: pairs of a label and its text."""
        name, task = self.exercise.name, self.exercise.task
        if self.state == "ok":
            return [(f"{name}: right", f"{self.tried} examples agree.")]
        way = f"check.{name}" if name.startswith("nb") else "the result"
        hint = [("A hint", f"{way}.hint(1)")] if HINTS and self.exercise.hints else []
        if self.state == "missing":
            needs = [("The check needs", self.needs)] if self.needs else []
            return [(f"{name}: still missing", task), *needs, *hint]
        shown = self.exercise.shown
        found = [("You gave", shown(self.found, self.expected)), ("Expected", shown(self.expected, self.expected))]
        if self.found.changed_inputs is not None:
            found = [("Afterwards the arguments were", show(plain(self.found.changed_inputs)))]
        looks = [("This looks like", self.words)] if self.words else []
        return [(f"{name}: not yet right", task), ("Smallest example that fails", self.example), *found, *looks, *hint]

    def __str__(self):
        return card.text(self.lines())

    __repr__ = __str__

    def _repr_html_(self):
        return card.html(self.state, self.lines())

    def as_dict(self):
        """Plain values for graders."""
        wrong = self.state == "wrong"
        return {"check": self.exercise.name, "state": self.state, "ok": self.ok, "tried": self.tried,
                "example": self.example, "found": str(self.found) if wrong else None,
                "expected": str(self.expected) if wrong else None, "misconception": self.misconception}

    def to_json(self):
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict())


class Report:
    """The latest result of every check of this session."""

    def __init__(self, results):
        self.results = dict(results)
        self.errors = []                    # of `grade`: (number of the cell, what it raised)

    def __str__(self):
        solved = sum(r.ok for r in self.results.values())
        return "\n".join([f"{solved} of {len(self.results)} exercises solved",
                          *(f"  {'+' if r.ok else '-'} {name}: {r.state}" for name, r in self.results.items())])

    __repr__ = __str__

    def _repr_html_(self):
        return card.table(self.results)

    def to_json(self):
        """All results as one JSON list."""
        return json.dumps([r.as_dict() for r in self.results.values()])


def report():
    """Results of this session, for a last cell or a grader."""
    return Report(RESULTS)


def passed(*names):
    """True if these exercises are solved in this session; prints which are not."""
    todo = [name for name in names if not (name in RESULTS and RESULTS[name].ok)]
    if todo:
        print(f"This cell uses your solution of {', '.join(todo)}: solve and check it first, then come back.")
    return not todo


class Words(str):
    """Text that a notebook shows without quotes."""

    def _repr_html_(self):
        return f"<span>{card.code_spans(self)}</span>"

    __repr__ = str.__str__


# Plain values: what can be compared, copied, printed and made rounder.
def plain(value):
    """Tensors as arrays, inside lists, tuples and dictionaries too."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, (list, tuple)):
        return type(value)(*map(plain, value)) if hasattr(value, "_fields") else type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return value


def equal(a, b, rtol, atol):
    """True if two plain values agree; shapes must be equal, lists and tuples are the same, so are
    0-d and numbers."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(equal(x, y, rtol, atol) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k], rtol, atol) for k in a)
    if type(a) in (int, float) and type(b) in (int, float):             # the common cases come first: they are many
        return a == b or abs(a - b) <= atol + rtol * abs(b) or (a != a and b != b)
    numbers = (int, float, complex, np.ndarray, np.generic)
    if isinstance(a, numbers) and isinstance(b, numbers):
        return equal_arrays(np.asarray(a), np.asarray(b), rtol, atol)
    return type(a) is type(b) and a == b


def equal_arrays(a, b, rtol, atol):
    if a.shape != b.shape or (a.dtype == bool) != (b.dtype == bool):
        return False
    if (a == b).all():
        return True
    if a.dtype == bool or a.dtype.kind in "OU" or b.dtype.kind in "OU":
        return False
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


FLOATS = "fV"                                              # kinds of dtypes; bfloat16's is "V"


def finite(value):
    if isinstance(value, (list, tuple)):
        return all(map(finite, value))
    if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind in FLOATS:
        return bool(np.isfinite(value).all())
    return True


def size(value):
    """How large an example is: elements count most, then the numbers in it."""
    if isinstance(value, (list, tuple)):
        return 1 + sum(map(size, value))
    if isinstance(value, dict):
        return 1 + sum(map(size, value.values()))
    if isinstance(value, np.ndarray):
        return 2 * value.size + value.ndim
    if isinstance(value, (int, float)):
        return abs(value)
    return 1


def rounded(value, digits):
    """The same with floats rounded, except those that would become zero."""
    if isinstance(value, (list, tuple)):
        return type(value)(rounded(v, digits) for v in value)
    if isinstance(value, float) or isinstance(value, np.ndarray) and value.dtype.kind in FLOATS:
        short = np.round(value, digits)
        short = np.where(short == 0, value, short)
        return float(short) if isinstance(value, float) else short
    return value


def show(value):
    """A plain value in a line or a few, elided when long."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.size == 0:
            return f"an empty tensor of shape {list(value.shape)}"
        text = np.array2string(value, separator=", ", precision=4, threshold=40, edgeitems=3)
        return text if value.ndim < 3 and value.size <= 20 else f"{text} (shape {list(value.shape)})"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(show, value[:12])) + (", ..." if len(value) > 12 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)
