"""Checks of lesson 16, moving between minitorch and PyTorch: the names in a checkpoint, and comparing two of them."""

import numpy as np

import minitorch as torch

from .exercise import Exercise, show
from .naming import variants

without_prefix = Exercise(
    "nb16.without_prefix", "A state dict whose keys have lost `prefix` where they begin with it; order and values "
    "kept.",
    ("What does \"module.model.weight\".lstrip(\"module.\") give? Try it.",
     "lstrip takes a *set of letters*. removeprefix takes a word. And not every key need begin with it.",
     "return {key.____(prefix): value for key, value in ____}"), tensors=False,
    parts=("items", "the given dict unchanged?"))
NAMES = ("0.weight", "model.weight", "odule.bias", "delta", "head.module.scale", "lm.bias", "module.weight")


@without_prefix.cases
def _():
    yield ("module.model.weight", "module.model.bias"), "module."
    yield ("module.0.weight", "step"), "module."
    yield ("module.head.module.scale",), "module."
    yield ("head.module.scale",), "module."


@without_prefix.draw
def _(d):
    prefix = d.choice(["module.", "_orig_mod.", "model."])
    names = {d.choice(["", prefix, prefix]) + d.choice(NAMES) for _ in range(d.int(1, 3))}
    return tuple(sorted(names)), prefix


@without_prefix.run
def _(solution, keys, prefix):
    state = {key: float(i) for i, key in enumerate(keys)}
    return [list(dict(solution(state, prefix)).items()), list(state) == list(keys)]


without_prefix.describe(lambda keys, prefix: f"keys {list(keys)}, prefix {prefix!r}, values 0.0, 1.0 ...; the items "
                                              "of your "
                        "result, and whether the state dict that you were given is unchanged")
without_prefix.truth(lambda state, prefix: {key.removeprefix(prefix): value for key, value in state.items()})


def renamed(state, rename):
    return {rename(key): value for key, value in state.items()}


def pops(state, prefix):
    for key in list(state):
        state[key.removeprefix(prefix)] = state.pop(key)
    return state


without_prefix.slips(
    lstrip=("`lstrip` takes a set of letters, not a word: \"module.model\" loses the m, o, d, e and l of \"model\" too",
            lambda state, prefix: renamed(state, lambda key: key.lstrip(prefix))),
    everywhere=("`replace` takes the prefix out of the middle of names as well",
                lambda state, prefix: renamed(state, lambda key: key.replace(prefix, ""))),
    first_anywhere=("`replace(..., 1)` takes out the first one wherever it stands, not only at the beginning",
                    lambda state, prefix: renamed(state, lambda key: key.replace(prefix, "", 1))),
    always_cut=("letters are cut off keys that do not begin with the prefix",
                lambda state, prefix: renamed(state, lambda key: key[len(prefix):])),
    dropped=("keys without the prefix are lost: they are part of the model too",
             lambda state, prefix: {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}),
    first_dot=("everything up to the first dot is cut, whatever it is",
               lambda state, prefix: renamed(state, lambda key: key.split(".", 1)[-1])),
    in_place=("the given state dict is changed (and a dictionary renamed while it is walked is a trap): build a new "
              "one",
              pops),
    added=("the prefix is added, it should go", lambda state, prefix: renamed(state, lambda key: prefix + key)))

differing = Exercise(
    "nb16.differing", "The sorted names of what differs between two state dicts: missing, of another shape, or not "
    "close.",
    ("There are three ways to differ, and one of them raises if you compare first.",
     "Names in only one of the two; then shapes; then values, with a tolerance relative and absolute. NaN equals "
     "NaN here.",
     "for name in a.keys() | ____: it differs if name not in ____ or ____, if the ____ differ, or if not "
     "torch.allclose(a[name], b[name], ____, ____, equal_nan=____)"))


@differing.cases
def _():
    one = np.array([1.0, 2.0])
    for other in ((("w", one + 1e-7),), (("w", one), ("b", one)), (), (("w", one[:, None]),), (("w", one[:1]),),
                  (("w", one + 0.1),), (("w", -one),)):
        yield (("w", one),), other
    yield (("w", one), ("b", one)), (("w", one),)
    yield (("w", np.array([1000.0])),), (("w", np.array([1000.01])),)
    yield (("w", np.array([1e-9])),), (("w", np.array([0.0])),)
    yield (("w", np.array([np.nan])),), (("w", np.array([np.nan])),)
    yield (("w", np.ones(2)),), (("w", np.ones(1)),)
    yield (("w", np.array([1.0, 5.0])),), (("w", np.array([5.0, 1.0])),)
    yield (("b", one), ("a", one)), (("a", -one), ("b", -one))


differing.run(lambda solution, a, b: list(solution(dict(a), dict(b))))
differing.describe(lambda a, b: " and ".join("{" + ", ".join(f"{name}: {show(value)}" for name, value in state) + "}"
                                             for state in (a, b)))


def names(a, b, *, missing=True, shapes=True, one_way=False, close=None, order=True):
    close = close or (lambda x, y: torch.allclose(x, y, rtol=1e-4, atol=1e-6, equal_nan=True))
    found = []
    for name in ([*a] if one_way else dict.fromkeys([*a, *b])):
        if name not in a or name not in b:
            found += [name] if missing else []
        elif shapes and a[name].shape != b[name].shape:
            found.append(name)
        elif not close(a[name], b[name]):
            found.append(name)
    return sorted(found) if order else found


differing.truth(names)


but = variants(names)


differing.slips(
    exact=("compared exactly: the last digits of two libraries differ, sums are added in another order",
           but(close=lambda x, y: bool(((x == y) | (x.isnan() & y.isnan())).all()))),
    no_shapes=("shapes are not compared: (2,) and (1,) broadcast, and equal numbers in another shape are another model",
               but(shapes=False)),
    one_way=("names that only the second has are overlooked", but(one_way=True)),
    no_missing=("names that only one of them has are overlooked", but(missing=False)),
    nan_differs=("NaN is not equal to NaN unless you say so (equal_nan=True)",
                 but(close=lambda x, y: torch.allclose(x, y, rtol=1e-4, atol=1e-6))),
    sums=("sums are compared: numbers in another order have the same sum",
          but(close=lambda x, y: torch.allclose(x.sum(), y.sum(), rtol=1e-4, atol=1e-6, equal_nan=True))),
    no_rtol=("the tolerance is absolute only: 1000.01 is 1000 in float32 after a few operations",
             but(close=lambda x, y: torch.allclose(x, y, rtol=0, atol=1e-6, equal_nan=True))),
    no_atol=("the tolerance is relative only: 1e-9 and 0 are the same number after a cancellation",
             but(close=lambda x, y: torch.allclose(x, y, rtol=1e-4, atol=0, equal_nan=True))),
    magnitudes=("only magnitudes are compared: a turned sign is a difference",
                but(close=lambda x, y: torch.allclose(x.abs(), y.abs(), rtol=1e-4, atol=1e-6, equal_nan=True))),
    unsorted=("the names are not sorted", but(order=False)),
    the_same=("that is what agrees: the names of what *differs* are asked for",
              lambda a, b: sorted(set(a) | set(b) - set(names(a, b)))))
