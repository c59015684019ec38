"""`kl_divergence`: the mean of ``log p(x) - log q(x)`` where x is of p, by formulas registered for pairs of classes.

A formula is found for subclasses too. Most pairs of different families need no formula of their own: the divergence is
the cross entropy, the mean of ``-log q(x)``, less the entropy of p; and `log q` is a sum of few terms, as x, its
square, its logarithm and an exponential, whose means each p has (`kl_pairs`).
"""

from ..extend import warn

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict = {}                                    # (class of p, class of q) -> formula
_KL_MEMOIZE: dict = {}                                     # the same for classes that were asked for


def register_kl(type_p, type_q):
    """A decorator that enters ``formula(p, q)`` for two classes of distributions, and their subclasses.

    Where two formulas fit and neither is nearer in both arguments, there is a RuntimeWarning, and that which is nearer
    in the first is taken.
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):                      # another base, as Pyro's, will do: PyTorch takes it too
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def enter(formula):
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()
        return formula
    return enter


def nearest(pairs):
    """The nearest of pairs of classes that are bases of the same two: in the first, then in the second."""
    best = pairs[0]
    for pair in pairs[1:]:
        for cls, other in zip(pair, best):
            if cls is not other:
                best = pair if issubclass(cls, other) else best
                break
    return best


def _dispatch_kl(type_p, type_q):
    """The formula for two classes; NotImplemented if there is none."""
    found = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not found:
        return NotImplemented
    by_p = nearest(found)
    by_q = nearest([(q, p) for p, q in found])[::-1]
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
             f"register_kl({by_p[0].__name__}, {by_q[1].__name__})", RuntimeWarning)
    return _KL_REGISTRY[by_p]


def kl_divergence(p, q):
    """The Kullback-Leibler divergence ``KL(p || q)``, of the shape of the batch; infinite where q lacks support.

    NotImplementedError if no formula is registered for the classes of p and q.
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    if _KL_MEMOIZE[key] is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {key[0].__name__} and q type "
                                  f"{key[1].__name__}")
    return _KL_MEMOIZE[key](p, q)
