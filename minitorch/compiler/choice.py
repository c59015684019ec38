"""The rule of ``backend="auto"``: which programs are compiled to C.

A program starts as NumPy calls. Building C takes 0.1 to 3 s, too long for a program that runs a few
times; one that has run `RUNS` times is probably in a training loop that runs thousands of times. It
is then lowered, and replaced by C if that is faster: if a loop does the work of two or more array
calls, each a pass over memory, or if an optimiser's step is in C. A program of ops that have a
native kernel (convolution, pooling, recurrent layers) is traced again first, because those kernels
keep other values for the backward pass than NumPy's. The rule counts runs, not seconds, so that
training is repeatable: results of C differ in the last bits, and do so from the same run on.
"""

from ..backends.native import Building, Unavailable, reason
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
    """Replace a plan's programs by C, if one of them is `wanted`; the outcome is added to `notes`.

    Unless the user has `asked` for C, a failure of any kind is only a note, and the plan keeps its
    code.
    """
    try:
        code = in_c(plan.programs, plan.code, wanted, plan.sized)
        plan.use(code)
        notes += code.notes
    except Building as why:
        notes.append(f"NumPy, not C: {why}")
        plan.function = Waiting(plan, notes, why.job, wanted, asked)
    except Unavailable as why:
        notes.append(f"NumPy, not C: {why}")
    except Exception as why:
        if asked:
            raise
        notes.append(f"NumPy, not C, which failed with {type(why).__name__}: {why}")


class Waiting:
    """The function of a plan's program until it has run `RUNS` times, or the thread `job` has built
    its C; the outcome is added to `notes`."""

    def __init__(self, plan, notes, job=None, wanted=gains, asked=False):
        self.plan, self.notes, self.function = plan, notes, plan.function
        self.left, self.job, self.wanted, self.asked = RUNS if job is None else 1, job, wanted, asked

    def __call__(self, *arrays):
        if self.job is not None and self.job.is_alive():
            return self.function(*arrays)
        self.left -= 1
        if self.left == 0:
            plan = self.plan
            plan.function = self.function
            if self.job is None and reason() is None and has_native_kernels(plan):
                # a call looks for its plan, and traces again
                plan.outdated, plan.circumstances = True, None
            else:
                become_c(plan, self.notes, self.wanted, self.asked)
            return plan.function(*arrays)
        return self.function(*arrays)
