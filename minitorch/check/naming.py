"""The name of a wrong answer: which mistake, or which mistakes together, give what a student's function gave.

A mistake is known by what it does. It is named if it gives what was found on every example; so are two or more, if each
example that fails is explained by one of them (or is one where several of them act), or if the two are options of one
function (`variants`). Parts of an answer that are labelled are named one by one. What no
declared mistake explains may still be right but for a sign, a factor, a shape or an order.
"""

import itertools

import numpy as np

__all__ = ["Tried", "Variant", "name_of", "variants"]

MOST = 4                                                   # mistakes in one answer


class Variant:
    """A function with some options changed, as a mistake: two of one function are made together by both options."""

    def __init__(self, of, options):
        self.of, self.options = of, options

    def __call__(self, *args, **settings):
        return self.of(*args, **settings, **self.options)


def variants(of):
    """``variants(f)(option=value)``: the mistakes that the options of the right ``f`` can make."""
    return lambda **options: Variant(of, options)


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
    ways = [by_joining, right_but, by_parts, by_factor, by_examples] if exercise.composes else [right_but]
    return next(filter(None, (way(exercise, tried) for way in ways)), None)


def explains(exercise, function, tried):
    """True if a mistake gives what was found on all examples."""
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

    def gives(function, k):
        return all(same_part(exercise, x.found, exercise._outcome(function, x.args), k) for x in tried)
    named = {k: next((name for name, (_, function) in exercise.mistakes.items() if gives(function, k)), None)
             for k in wrong}
    found = [name for name in named.values() if name]
    if not found:
        return None
    name, words = together(exercise, found)
    others = [exercise.parts[k] for k in wrong if named[k] is None]
    return name, words + (f" (Another thing is wrong with {' and '.join(others)}.)" if others else "")


def same_part(exercise, one, other, k):
    """True if two outcomes agree in part k."""
    values = [outcome.value for outcome in (one, other)]
    if not all(isinstance(value, (list, tuple)) and k < len(value) for value in values):
        return False
    return exercise.same(type(one)(values[0][k]), type(other)(values[1][k]))


def by_joining(exercise, tried):
    """Two or three variants of one function, with the options of all."""
    made = [(name, function) for name, (_, function) in exercise.mistakes.items() if isinstance(function, Variant)]
    for chosen in itertools.chain(itertools.combinations(made, 2), itertools.combinations(made, 3)):
        options = [variant.options for _, variant in chosen]
        joined = {key: value for some in options for key, value in some.items()}
        if len({variant.of for _, variant in chosen}) == 1 and len(joined) == sum(map(len, options)):
            if explains(exercise, Variant(chosen[0][1].of, joined), tried):
                return together(exercise, [name for name, _ in chosen])
    upstream = exercise.mistakes.get("no_upstream", ("", None))[1]
    if upstream is not None and not isinstance(upstream, Variant):     # any other mistake, with a g of ones
        for name, (_, function) in exercise.mistakes.items():
            if explains(exercise, lambda g, *rest, f=function: f(g * 0 + 1, *rest), tried):
                return together(exercise, ["no_upstream", name])
    return None


def by_factor(exercise, tried):
    """A mistake whose answers have been multiplied by one number, or have the opposite sign."""
    found = [numbers(example.found.value) for example in tried]
    if any(array is None for array in found):
        return None
    for name, (words, function) in exercise.mistakes.items():
        given = [numbers(exercise._outcome(function, example.args).value) for example in tried]
        factor = None if any(array is None for array in given) else constant_factor(list(zip(found, given)))
        if factor:
            return f"{name} + {factor[0]}", f"2 mistakes at once. (1) {words}. (2) Compared with that, {factor[1]}."
    return None


def by_examples(exercise, tried):
    """Mistakes that err only where the answer errs, and that together explain all failing examples.

    The entries of a dictionary count as examples of their own.
    """
    cells = entries(exercise, tried, [example.found for example in tried])
    right = entries(exercise, tried, [example.expected for example in tried])
    failing = [i for i, (found, expected) in enumerate(zip(cells, right)) if not agree(exercise, found, expected)]
    candidates = mistakes_among(exercise, tried, cells, right, failing)
    by_chance = all(numbers(cells[i].value) is not None for i in failing)      # numbers agree by chance, now and then
    chosen, left = covering(candidates, failing, 2 if by_chance else 1)
    left -= {i for i in left if sum(i in candidates[name][1] for name in chosen) > 1}
    if not chosen or left and 2 * len(left) > len(failing):
        return None
    name, words = together(exercise, chosen)
    return name, words + (f" (On {len(left)} of {len(failing)} failing examples something else is wrong, too.)"
                          if left else "")


def mistakes_among(exercise, tried, cells, right, failing):
    """For each mistake that errs only where the answer errs: where both agree, where it errs."""
    found = {}
    for name, (_, function) in exercise.mistakes.items():
        given = entries(exercise, tried, [exercise._outcome(function, example.args) for example in tried])
        if len(given) == len(cells):
            errs = {i for i, (one, other) in enumerate(zip(given, right)) if not agree(exercise, one, other)}
            hits = {i for i in failing if agree(exercise, given[i], cells[i])}
            if hits and errs <= set(failing):
                found[name] = hits, errs
    return found


def covering(candidates, failing, least):
    """A few candidates, each with `least` failing examples that others lack; what is left."""
    chosen, left = [], set(failing)
    while left and candidates and len(chosen) < MOST:
        name = max(candidates, key=lambda n: len(candidates[n][0] & left))
        hits, _ = candidates[name]
        if len(hits & left) < min(least, len(failing)):
            break
        chosen.append(name)
        left -= hits
    return chosen, left


def entries(exercise, tried, outcomes):
    """The outcomes, those that are dictionaries like the expected ones one by one."""
    found = []
    for example, outcome in zip(tried, outcomes):
        value, like = outcome.value, example.expected.value
        if isinstance(like, dict) and isinstance(value, dict) and like.keys() == value.keys():
            found += [type(outcome)(value[key]) for key in like]
        else:
            found.append(outcome)
    return found


def agree(exercise, one, other):
    """True if two outcomes are the same, arguments left as they were included."""
    return one.changed_inputs is None and exercise.same(one, other)


# ---- answers that are right but for one thing --------------------------------------------------------------
def numbers(value):
    """A plain value as one array of float64, or None."""
    if isinstance(value, (bool, str, dict)) or value is None:
        return None
    try:
        array = np.asarray(value)
    except ValueError:                                     # ragged
        return None
    return array.astype(np.float64) if array.dtype.kind in "iufV" and array.size else None


def right_but(exercise, tried):
    """The one difference between the answer and the right one: a factor, a shape, an order, a type; or None."""
    pairs = [(x.found.value, x.expected.value) for x in tried if x.expected.error is None]
    if any(x.found.error is not None for x in tried) or not pairs:
        return None
    if all(is_bool(e) for _, e in pairs) and all(
            numbers(f) is not None and np.array_equal(np.asarray(f) != 0, np.asarray(e)) for f, e in pairs):
        return "not_bools", "the right places, but numbers where True and False are asked for"
    arrays = [(numbers(f), numbers(e)) for f, e in pairs]
    if any(f is None or e is None for f, e in arrays):
        return None
    for name, words, test in RELATIONS:
        if all(test(f, e) for f, e in arrays):
            return name, words
    return constant_factor(arrays)


def is_bool(value):
    return isinstance(value, bool) or getattr(value, "dtype", None) == np.dtype(bool)


def close(a, b):
    """True if two arrays of one shape agree."""
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
    if not np.isfinite(ratio) or ratio == 0 or abs(ratio - 1) < 1e-3 or not all(close(f, ratio * e) for f, e in arrays):
        return None
    if ratio == -1:
        return "other_sign", "all numbers have the opposite sign"
    return "constant_factor", f"every number is {ratio:.4g} times what it should be: one factor is missing or too many"
