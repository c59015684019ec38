"""The name of a wrong answer: which mistake, or which mistakes together, give what a student's function gave.

A mistake is known by what it does. It is named if it gives what was found on every example; so are two or more, if each
example that fails is explained by one of them (or is one where several of them act), or if the two were declared so
that they can be made together (`Exercise.faults`). Parts of an answer that are labelled are named one by one. What no
declared mistake explains may still be right but for a sign, a factor, a shape or an order.
"""

import itertools

import numpy as np

__all__ = ["name_of"]

MOST = 4                                                   # mistakes in one answer


class Tried:
    """One example: its arguments, what was found, what was expected, and whether that is right."""

    def __init__(self, args, found, expected, right):
        self.args, self.found, self.expected, self.right = args, found, expected, right


def name_of(exercise, tried):
    """(name, words) of what is wrong, or None; `tried` holds examples as `Tried`, at least one of them wrong.

    Several mistakes are named "one + other". Nothing is run but the exercise's own mistakes.
    """
    tried = sorted(tried, key=lambda example: example.right)                 # failures first: they tell most
    if any(example.found.changed_inputs is not None for example in tried):
        if not any("in place" in words for words, _ in exercise.mistakes.values()):
            return "changed_inputs", "your function writes into its arguments: its caller still needs them"
    for name, (words, function) in exercise.mistakes.items():
        if explains(exercise, function, tried):
            return name, words
    if all(example.found.error is None and example.found.value is None for example in tried):
        return "returned_none", "your function returns nothing: is there a `return`?"
    ways = [by_parts, by_joining, right_but, by_examples] if exercise.composes else [right_but]
    return next(filter(None, (way(exercise, tried) for way in ways)), None)


def explains(exercise, function, tried):
    """Whether a mistake gives what was found on all examples."""
    return all(exercise.same(example.found, exercise._outcome(function, example.args)) for example in tried)


def together(exercise, names):
    """The name and the words of several mistakes at once."""
    names = list(dict.fromkeys(names))
    words = [exercise.mistakes[name][0] for name in names]
    if len(names) == 1:
        return names[0], words[0]
    return " + ".join(names), f"{len(names)} mistakes at once. " + " ".join(
        f"({number}) {text}." for number, text in enumerate(words, 1))


def by_parts(exercise, tried):
    """A mistake for each labelled part that is wrong; parts without one are said to be wrong in another way."""
    count = len(exercise.parts)
    outcomes = [outcome.value for example in tried for outcome in (example.found, example.expected)]
    if not count or not all(isinstance(value, (list, tuple)) and len(value) == count for value in outcomes):
        return None
    wrong = [k for k in range(count) if not all(same_part(exercise, x.found, x.expected, k) for x in tried)]
    named = {k: next((name for name, (_, function) in exercise.mistakes.items()
                      if all(same_part(exercise, x.found, exercise._outcome(function, x.args), k) for x in tried)), None)
             for k in wrong}
    found = [name for name in named.values() if name]
    if not found:
        return None
    name, words = together(exercise, found)
    others = [exercise.parts[k] for k in wrong if named[k] is None]
    return name, words + (f" (Another thing is wrong with {' and '.join(others)}.)" if others else "")


def same_part(exercise, one, other, k):
    """Whether two outcomes agree in part k."""
    values = [outcome.value for outcome in (one, other)]
    if not all(isinstance(value, (list, tuple)) and k < len(value) for value in values):
        return False
    return exercise.same(type(one)(values[0][k]), type(other)(values[1][k]))


def by_joining(exercise, tried):
    """Two mistakes of one family, made together."""
    for (first, (make, one)), (second, (make_too, other)) in itertools.combinations(exercise.families.items(), 2):
        if make is make_too and not one.keys() & other.keys() and explains(exercise, make(**one, **other), tried):
            return together(exercise, [first, second])
    return None


def by_examples(exercise, tried):
    """Mistakes each of which errs only where the answer errs, and which explain all failing examples together."""
    failing = [example for example in tried if not example.right]
    candidates = {}
    for name, (_, function) in exercise.mistakes.items():
        outcomes = [exercise._outcome(function, example.args) for example in tried]
        errs = [not exercise.same(outcome, x.expected) for outcome, x in zip(outcomes, tried)]
        if any(bad and x.right for bad, x in zip(errs, tried)):
            continue
        hits = {i for i, (outcome, x) in enumerate(zip(outcomes, failing)) if exercise.same(outcome, x.found)}
        if hits:
            candidates[name] = hits, {i for i, bad in enumerate(errs) if bad}
    chosen, left = [], set(range(len(failing)))
    while left and candidates and len(chosen) < MOST:
        name = max(candidates, key=lambda n: len(candidates[n][0] & left))
        hits, _ = candidates[name]
        if not hits & left:
            break
        chosen.append(name)
        left -= hits
    left -= {i for i in left if sum(i in candidates[name][1] for name in chosen) > 1}
    if not chosen or left and 2 * len(left) > len(failing):
        return None
    name, words = together(exercise, chosen)
    return name, words + (f" (On {len(left)} of {len(failing)} failing examples something else is wrong, too.)"
                          if left else "")


# ---- answers that are right but for one thing --------------------------------------------------------------
def numbers(value):
    """A plain value as one array of float64, or None."""
    if isinstance(value, (bool, str, dict)) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:                                     # ragged
        return None
    return array.astype(np.float64) if array.dtype.kind in "iuf" and array.size else None


def right_but(exercise, tried):
    """What sets the answer apart from the right one, if it is one thing: a factor, a shape, an order, a type."""
    pairs = [(x.found.value, x.expected.value) for x in tried if x.expected.error is None]
    if any(x.found.error is not None for x in tried) or not pairs:
        return None
    if all(isinstance(e, (bool, np.bool_)) or getattr(e, "dtype", None) == bool for _, e in pairs) and all(
            numbers(f) is not None and np.array_equal(np.asarray(f) != 0, np.asarray(e)) for f, e in pairs):
        return "not_bools", "the right places, but numbers where True and False are asked for"
    arrays = [(numbers(f), numbers(e)) for f, e in pairs]
    if any(f is None or e is None for f, e in arrays):
        return None
    for name, words, test in RELATIONS:
        if all(test(f, e) for f, e in arrays):
            return name, words
    return constant_factor(arrays)


def close(a, b):
    """Whether two arrays of one shape agree."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-4, atol=1e-7, equal_nan=True))


RELATIONS = [
    ("other_shape", "the numbers are right, their shape is not: compare the two shapes above",
     lambda f, e: f.size == e.size and close(f.ravel(), e.ravel()) and (f.shape != e.shape or f.size < 2)),
    ("transposed", "rows and columns are exchanged: that is the transpose",
     lambda f, e: f.ndim == e.ndim == 2 and close(f.T, e)),
    ("backwards", "the right numbers in reverse order", lambda f, e: f.ndim == 1 and close(f[::-1], e)),
    ("other_order", "the right numbers in another order",
     lambda f, e: f.shape == e.shape and close(np.sort(f, None), np.sort(e, None))),
    ("rounded", "right to three digits and not further: precision is lost on the way",
     lambda f, e: f.shape == e.shape and bool(np.allclose(f, e, rtol=1e-3, atol=1e-3 * np.abs(e).max()))),
]


def constant_factor(arrays):
    """One factor between all numbers and the right ones."""
    ratios = [f[e != 0] / e[e != 0] for f, e in arrays if f.shape == e.shape]
    if len(ratios) < len(arrays) or not sum(map(len, ratios)) > 1:
        return None
    ratio = float(np.concatenate(ratios)[0])
    if not np.isfinite(ratio) or ratio == 0 or not all(close(f, ratio * e) for f, e in arrays):
        return None
    if ratio == -1:
        return "other_sign", "right but for the sign: all numbers have the opposite one"
    return "constant_factor", f"every number is {ratio:.4g} times what it should be: one factor is missing or too many"
