"""The process in which a hand-in runs: it answers with what the student's functions give, not with grades.

It is started by `grading`, with limits. The truths of all exercises are taken away before the student's code runs; the
functions that it passes to checks are then called on the examples, and what they give is written as JSON, without
pickles, for a process that has not seen the code to judge.
"""

import base64
import contextlib
import json
import math
import os
import sys
from pathlib import Path

import numpy as np

from . import exercise, exercises, notebook

__all__ = ["decoded", "encoded", "main", "outcome_of"]

MOST = 1 << 20                                             # numbers in one value
KINDS = "biufc"                                            # of arrays that are sent
ANSWER: dict = {}                                          # what is written at the end


def encoded(value, depth=0):
    """A plain value as JSON has it: arrays and tuples are marked, everything unknown is told by its class and text."""
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, str) else value[:10_000]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float, complex)):
        return encoded_number(value)
    if isinstance(value, np.ndarray):
        return encoded_array(value)
    if isinstance(value, (list, tuple)) and depth < 20 and len(value) <= MOST:
        items = [encoded(x, depth + 1) for x in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict) and depth < 20:
        return {"dict": [[encoded(k, depth + 1), encoded(v, depth + 1)] for k, v in value.items()]}
    if isinstance(value, Other):                           # what was decoded before: it stays what it is
        return {"other": [value.kind, value.text]}
    return described(value)


def encoded_number(value):
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else {"other": ["int", str(value)[:1000]]}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    return {"complex": [encoded(value.real), encoded(value.imag)]}


def encoded_array(array):
    if array.dtype.kind == "V":
        array = array.astype(np.float32)                   # JSON's readers need not know bfloat16
    if array.dtype.kind not in KINDS or array.size > MOST:
        return described(array)
    packed = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": [array.dtype.str, list(array.shape), packed]}


def described(value):
    return {"other": [type(value).__name__, repr(value)[:1000]]}


class Other:
    """A value of a class that is not compared: equal to one of the same class and text."""

    def __init__(self, kind, text):
        self.kind, self.text = kind, text

    def __eq__(self, other):
        return isinstance(other, Other) and (self.kind, self.text) == (other.kind, other.text)

    __hash__ = None                                        # type: ignore[assignment]

    def __repr__(self):
        return self.text


def decoded(value):
    """The value that was encoded; ValueError for anything that `encoded` does not write."""
    if isinstance(value, list):
        return [decoded(x) for x in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "array":
        dtype, shape, packed = inner
        if np.dtype(dtype).kind not in KINDS or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"not an array of numbers: {dtype}, {shape}")
        return np.frombuffer(base64.b64decode(packed), dtype).reshape(shape)
    made = {"tuple": lambda: tuple(map(decoded, inner)), "float": lambda: float(inner),
            "dict": lambda: {decoded(k): decoded(v) for k, v in inner},
            "complex": lambda: complex(*map(decoded, inner)), "other": lambda: Other(*map(str, inner))}
    if kind not in made:
        raise ValueError(f"an unknown kind of value: {kind}")
    return made[kind]()


def outcome_of(found):
    """The outcome of a function on an example, encoded."""
    told = {"changed": found.changed_inputs is not None}
    if found.error is None:
        return {**told, "value": encoded(found.value)}
    return {**told, "error": [c.__name__ for c in type(found.error).__mro__[:-2]], "text": str(found)[:2000]}


def take_truths_away(lesson):
    """Remove what a hand-in could pass for its own work; returns the exercises, and each one's solution given last."""
    known, given = exercises(lesson), {}

    def keep(self, solution):
        given[self.name] = solution
        result = exercise.Result(self, "missing" if solution is None or solution is ... else "ok")
        exercise.RESULTS[self.name] = result
        return result
    for one in known.values():
        one._truth, one.mistakes = None, {}
    exercise.Exercise.__call__ = keep
    return known, given


def answers_of(one, solution, seed):
    """The outcomes of a solution on all examples; "missing" for a stub, the text of a kernel as it is."""
    if solution is None or solution is ...:
        return {"state": "missing"}
    if isinstance(solution, str):
        return {"state": "text", "text": solution[:100_000]}
    tried = []
    for args in one._examples(seed):
        found = one._outcome(solution, args)
        if isinstance(found.error, NotImplementedError):
            return {"state": "missing"}
        tried.append(outcome_of(found))
    return {"state": "tried", "tried": tried}


def run_cells(source, errors):
    """Run a hand-in's cells, whatever they raise: SystemExit and KeyboardInterrupt, too."""
    space = {"__name__": "__main__"}
    for number, (kind, text) in enumerate(notebook.cells(source)):
        if kind == "code":
            try:
                notebook._run_cell(text, space, f"<cell {number}>")
            except BaseException as error:
                errors.append([number, f"{type(error).__name__}: {str(error)[:500]}"])


def limit(seconds, megabytes):
    """Bounds on processor time, memory and files of this process."""
    try:
        import resource
    except ImportError:                                    # Windows: only the parent's clock
        return
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, megabytes << 20),
                       (resource.RLIMIT_FSIZE, 256 << 20)):
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (min(most, hard) if hard >= 0 else most, hard))


def main(told):
    """Run the hand-in `told["path"]` and write its answers to the file `told["answers"]`."""
    source = Path(told["path"]).read_text(encoding="utf-8")
    known, given = take_truths_away(told["lesson"])
    keep, examples = dict(known), exercise.Exercise._examples
    outcome = {name: type(one)._outcome for name, one in known.items()}
    errors: list = []
    limit(told["seconds"], told["megabytes"])
    run_cells(source, errors)
    exercise.Exercise._examples = examples                 # what a hand-in may have replaced
    answers = {}
    for name, solution in given.items():
        if name in keep:
            type(keep[name])._outcome = outcome[name]
            answers[name] = answers_of(keep[name], solution, told["seed"])
    with open(told["answers"], "w", encoding="utf-8") as file:
        json.dump({"errors": errors, "answers": answers}, file)
    os._exit(0)                                            # threads and handlers of the hand-in do not matter any more


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
