"""Random programs on the processor and on a simulated GPU: everything that can be seen must be the same.

The programs are those of `compiled_programs.py`, with modules, arguments and factories on the device. Left out are
statements that draw random numbers, since devices have generators of their own; programs under autocast, whose lists of
ops differ between devices, as PyTorch's do; and strides, which follow NumPy's rules on the processor.

    python -m tests.compiler.device_programs --programs 1000 --seed 1
    python -m tests.compiler.device_programs --programs 200 --compiled     # eager on the processor
"""

import sys
import warnings
from functools import partial

import minitorch as torch
from tests.compiler.compiled_programs import World, any_case, differences, history, tolerance_of
from tests.compiler.program_search import command_line, search

DRAWS = {"dropout", "dropout_", "noise", "noise_like", "uniform_"}


class Beside(World):
    """A world whose modules, buffers and arguments are on a device."""

    def __init__(self, case, compiled, device):
        super().__init__(case, compiled)
        self.device = device
        for tensors in (m.parameters() for m in self.modules), (m.buffers() for m in self.modules):
            for t in [t for several in tensors for t in several]:
                t.data = t.detach().clone().to(device)     # new memory on both sides: writes are counted from 0
        self.weight = torch.nn.Parameter(self.weight.detach().to(device))
        self.index, self.buffer = self.index.to(device), self.buffer.to(device)

    def arguments(self, call):
        with torch.device(self.device):
            return super().arguments(call)

    def run(self, x, y):
        with torch.device(self.device):
            return super().run(x, y)


def check(case, compiled=False, device="sim"):
    """AssertionError with the first difference between the run on the processor and the one on `device`."""
    case = case._replace(steps=tuple(s for s in case.steps if s[0] not in DRAWS),
                         modes=tuple("grad" if m == "autocast" else m for m in case.modes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here, there = history(Beside(case, False, "cpu")), history(Beside(case, compiled, device))
    tolerance = tuple(5 * t for t in tolerance_of(case))
    keeps_result = any(name == "attention" for name, *_ in case.steps)
    for (what, a), (same, b) in zip(here, there):
        if keeps_result and what == same and what.endswith("backward") and (a, b) == ("none", "RuntimeError"):
            return                                         # a device keeps attention's result, as PyTorch does
        assert what == same, f"{what}: {a}\non {device}: {same}: {b}\n{case}"
        if "random" not in what:
            found = differences(a, b, tolerance, {"strides"})
            assert not found, f"{what}: {'; '.join(found).replace('compiled', 'on ' + device)}\n{case}"


def main():
    arguments = command_line(__doc__, device=dict(default="sim"), compiled=dict(
        action="store_true", help="the program on the device is compiled"))
    sys.exit(bool(search(arguments, any_case, partial(check, compiled=arguments.compiled, device=arguments.device))))


if __name__ == "__main__":
    main()
