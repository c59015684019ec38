"""Which programs become C when nobody says: the rule of ``backend="auto"``.

A program is NumPy's at first. Building C takes 0.1 to 3 s, which a program that runs a few times never earns back, and
one that has run `RUNS` times probably does: training loops run thousands of times. It is then lowered, and is C from
there on if it gains by that: if a loop does the work of two or more array calls, each a pass over memory,
or if an optimiser's step is one. Counting runs instead of seconds keeps a training run repeatable: results of C differ
in the last bits, and do so from the same run on.
"""

from ..backends.native.toolchain import Unavailable
from .loops import Kernel

__all__ = ["Waiting", "gains"]

RUNS = 20
MOVES = ("load", "const", "cast")


def gains(made):
    """Whether a native program does more in a loop than NumPy does in one call."""
    kernels = [i for segment in made.unit.segments if isinstance(segment, list) for i in segment
               if isinstance(i, Kernel)]
    return bool(made.stepping) or any(sum(n.op not in MOVES for n in k.nodes) > 1 for k in kernels)


class Waiting:
    """The function of a plan's program until it has run `RUNS` times; `notes` are told what came of it."""

    def __init__(self, plan, notes):
        self.plan, self.notes, self.function, self.left = plan, notes, plan.function, RUNS

    def __call__(self, *arrays):
        self.left -= 1
        if self.left == 0:
            self.plan.function = self.function
            try:
                self.notes += self.plan.make_native(gains)
            except Unavailable as why:
                self.notes.append(f"NumPy, not C: {why}")
            except Exception as why:                       # nobody has asked for C: what has run so far runs on
                self.notes.append(f"NumPy, not C, which failed with {type(why).__name__}: {why}")
            return self.plan.function(*arrays)
        return self.function(*arrays)
