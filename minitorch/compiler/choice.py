"""Which programs become C when nobody says: the rule of ``backend="auto"``.

A program is NumPy's at first. Building C takes 0.1 to 3 s, which a program that runs a few times
never earns back, and one that has run `RUNS` times probably does: training loops run thousands of
times. It is then lowered, and is C from there on if it gains by that: if a loop does the work of
two or more array calls, each a pass over memory, or if an optimiser's step is one. A program of ops
that have a native kernel (convolution, pooling, recurrent layers) is traced again first: those
kernels keep other values for the backward pass than NumPy's. Counting runs instead of seconds keeps
a training run repeatable: results of C differ in the last bits, and do so from the same run on.
"""

from ..backends.native import Unavailable, reason
from .items import OP
from .loops import Kernel
from .lower import is_called
from .printed import in_c

__all__ = ["Waiting", "become_c", "gains"]

RUNS = 20
MOVES = ("load", "const", "cast")


def gains(made):
    """True if a native program does more in a loop than NumPy does in one call."""
    kernels = [i for segment in made.unit.segments if isinstance(segment, list) for i in segment
               if isinstance(i, Kernel)]
    return bool(made.stepping) or any(sum(n.op not in MOVES for n in k.nodes) > 1 for k in kernels)


def has_native_kernels(plan):
    """True if a plan's programs call ops that have a native kernel for their arguments."""
    return any(i.kind in OP and is_called(i)
               for part in plan.programs.parts for i in part.program.instructions)


def become_c(plan, notes, wanted=lambda made: True, asked=False):
    """Make a plan's programs C, if one of them is `wanted`; `notes` are told what came of it.

    Where nobody has `asked` for C, a failure of any kind is a note, too: what runs goes on.
    """
    try:
        code = in_c(plan.programs, plan.code, wanted, plan.sized)
        plan.use(code)
        notes += code.notes
    except Unavailable as why:
        notes.append(f"NumPy, not C: {why}")
    except Exception as why:
        if asked:
            raise
        notes.append(f"NumPy, not C, which failed with {type(why).__name__}: {why}")


class Waiting:
    """The function of a plan's program until it has run `RUNS` times; `notes` are told what came of
    it."""

    def __init__(self, plan, notes):
        self.plan, self.notes, self.function, self.left = plan, notes, plan.function, RUNS

    def __call__(self, *arrays):
        self.left -= 1
        if self.left == 0:
            plan = self.plan
            plan.function = self.function
            if reason() is None and has_native_kernels(plan):
                # a call looks for its plan, and traces again
                plan.outdated, plan.circumstances = True, None
            else:
                become_c(plan, self.notes, gains)
            return plan.function(*arrays)
        return self.function(*arrays)
