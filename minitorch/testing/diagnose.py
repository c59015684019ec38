"""Which mistake a wrong gradient looks like.

A wrong gradient is compared with what well-known mistakes would have given: each `Suspect` computes that from the
true Jacobian, the upstream gradient and the input, and is named if it agrees with what was found.
"""

import itertools

import numpy as np

__all__ = ["diagnose"]


def diagnose(found, jacobian, upstream, x, out_shape):
    """Words for the likely mistakes, the likeliest first; an empty list if nothing fits.

    `found`: the wrong gradient; `jacobian`: (outputs, inputs), the true one; `upstream`: the gradient of the output;
    `x`: the input. All float64 NumPy arrays.
    """
    if found is None:
        return ["no gradient came back, although the output depends on this input"]
    true = (upstream.ravel() @ jacobian).reshape(x.shape)
    case = Case(np.asarray(found, dtype=float), true, jacobian, upstream, x, out_shape)
    return [words for words in (suspect(case) for suspect in SUSPECTS) if words]


class Case:
    """The facts about one wrong gradient."""

    def __init__(self, found, true, jacobian, upstream, x, out_shape):
        self.found, self.true, self.jacobian, self.upstream = found, true, jacobian, upstream
        self.x, self.out_shape = x, out_shape
        self.same_shape = found.shape == true.shape

    def is_like(self, candidate):
        return candidate is not None and candidate.shape == self.found.shape and close(candidate, self.found)


def close(a, b):
    scale = max(1.0, np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return np.allclose(a, b, rtol=1e-4, atol=1e-4 * scale)


def not_summed(case):
    """Its shape is the output's, not the input's, or one slice of the sum was kept."""
    if not case.same_shape and case.found.shape == case.out_shape:
        return (f"not summed over a broadcast axis: the gradient has the output's shape {list(case.out_shape)}, the "
                f"input's is {list(case.x.shape)}; sum over the axes along which the input was repeated")
    if not case.same_shape:
        return f"a gradient of shape {list(case.found.shape)} for an input of shape {list(case.x.shape)}"
    return None


def upstream_ignored(case):
    if case.same_shape and case.is_like(case.jacobian.sum(0).reshape(case.x.shape)):
        return "the upstream gradient is ignored: multiply by the gradient that `backward` is given"
    return None


def wrong_sign(case):
    return "the sign is wrong" if case.same_shape and case.is_like(-case.true) else None


def transposed(case):
    if not case.same_shape or case.true.ndim < 2:
        return None
    for i, j in itertools.combinations(range(case.true.ndim), 2):
        if case.true.shape[i] == case.true.shape[j] and case.is_like(case.true.swapaxes(i, j)):
            if len(case.out_shape) < case.x.ndim:
                return ("the reduced axis was not put back: re-insert it as size 1 (keepdim) before the gradient is "
                        "broadcast, or it lines up with the wrong axis")
            return f"transposed operand: dimensions {i} and {j} of the gradient are swapped"
    return None


def ties_counted_twice(case):
    """Right where the input is unique, a whole multiple where several elements are equal."""
    if not case.same_shape:
        return None
    flat = case.x.ravel()
    count = (np.abs(flat[:, None] - flat[None, :]) < 1e-9).sum(1).reshape(case.x.shape) if flat.size else flat
    wrong = ~np.isclose(case.found, case.true, rtol=1e-4, atol=1e-6)
    if wrong.any() and (count[wrong] > 1).all() and close(case.found[wrong], (case.true * count)[wrong]):
        return "ties counted twice: equal elements must share the gradient, each took all of it"
    return None


def assigned(case):
    """An element that is used several times kept one contribution instead of their sum."""
    if not case.same_shape:
        return None
    parts = (case.jacobian * case.upstream.reshape(-1, 1)).T     # (inputs, outputs)
    found, true = case.found.ravel(), case.true.ravel()
    wrong = np.flatnonzero(~np.isclose(found, true, rtol=1e-4, atol=1e-6))
    several = [i for i in wrong if np.count_nonzero(np.abs(parts[i]) > 1e-9) > 1]
    if len(wrong) and len(several) == len(wrong) and all(
            np.isclose(parts[i][np.abs(parts[i]) > 1e-9], found[i], rtol=1e-4, atol=1e-6).any() for i in wrong):
        return ("assigned instead of accumulated: an element that is used several times must get the sum of its "
                "gradients (`+=`, or np.add.at for repeated indices)")
    return None


def constant_factor(case):
    """Every element is the same multiple of the truth."""
    if not case.same_shape:
        return None
    used = np.abs(case.true) > 1e-6
    if not used.any():
        return None
    ratio = np.median(case.found[used] / case.true[used])
    if not case.is_like(case.true * ratio) or abs(ratio) < 1e-9 or ratio < 0:
        return None
    sizes = {int(np.prod(case.x.shape)), *case.x.shape} - {1}
    for n in sorted(sizes, reverse=True):
        if np.isclose(ratio, n, rtol=1e-3):
            return f"missing 1/N: every element is {n} times too large, and {n} is the number of elements averaged"
        if np.isclose(ratio, 1 / n, rtol=1e-3):
            return f"one division by N too many: every element is {n} times too small"
    return f"every element is {ratio:.4g} times the right one: a constant factor is missing or too much"


def all_zero(case):
    if case.same_shape and not case.found.any() and case.true.any():
        return "the gradient is zero although the output depends on this input: was the graph cut (detach, data, item)?"
    return None


SUSPECTS = (not_summed, all_zero, wrong_sign, ties_counted_twice, upstream_ignored, transposed, assigned,
            constant_factor)
