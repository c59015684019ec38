"""Steps of SGD, Adam and AdamW in one pass over memory, on all parameters of a group at once."""

import numpy as np

from ....core.memory import overlaps
from ..eager import limits, plain, shared
from ..library import address

RULES = {"sgd": (0, 1), "adam": (2, 3)}                    # how many states a rule of that name may have


def step_at_once(backend, rule, params, states):
    """A `Step` for parameters and their states, or None where the rule goes by chunks: see `Backend.step_at_once`."""
    arrays = [*params, *[a for column in states for a in column]]
    few = sum([p.size for p in params]) < limits.least
    if rule not in RULES or len(states) not in RULES[rule] or few or not all([suits(a, params[0]) for a in arrays]):
        return None
    return Step(rule, params, states)


def suits(a, first):
    return (plain(a) or a.size < limits.least and a.flags.c_contiguous and a.dtype.char in "fd" and a.dtype.isnative
            ) and a.dtype == first.dtype and a.flags.writeable and not overlaps(a)


class Step:
    """The rule, with the addresses of what it updates. The arrays are held, so that addresses stay theirs."""

    def __init__(self, rule, params, states):
        self.rule, self.params, self.states = rule, params, states
        self.held = [address(p) for p in params], [address(a) for column in states for a in column]
        self.sizes = np.array([p.size for p in params])

    def __call__(self, grads, c, shrink, decay, maximize, of_rule=None):
        """Update from the gradients with the rule's numbers `c`: p <- shrink p, g <- decay p + g (or - g) before."""
        dtype = self.params[0].dtype
        grads = [np.ascontiguousarray(g, dtype) for g in grads]
        lists = np.array([*self.held[0], *[address(g) for g in grads], *self.held[1]], np.uintp)
        numbers = np.zeros(5)
        numbers[:len(c)] = c
        shared("stepping", self.rule, self.params[0], "ppllpddd", lists, self.sizes, len(grads), len(self.states),
               numbers, float(shrink), float(decay), -1.0 if maximize else 1.0, size=int(self.sizes.sum()))
