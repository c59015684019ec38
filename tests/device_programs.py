"""Random programs on the processor and on a simulated GPU: everything that can be seen must be the same.

The programs are those of `compiled_programs.py`, with modules, arguments and factories on the device. Left out are
statements that draw random numbers, since devices have generators of their own; programs under autocast, whose lists of
ops differ between devices, as PyTorch's do; and strides, which follow NumPy's rules on the processor.

    python tests/device_programs.py --programs 1000 --seed 1
    python tests/device_programs.py --programs 200 --compiled     # compiled on the device, eager on the processor
"""

import argparse
import random
import sys
import traceback
import warnings

from compiled_programs import DTYPES, World, differences, history, random_case

import minitorch as torch

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
    halves = case.dtype == "bfloat16" or "autocast" in case.modes or any(s[0] == "in_16_bits" for s in case.steps)
    cast = any(s[0] == "cast" for s in case.steps)
    tolerance = tuple(5 * t for t in DTYPES["bfloat16" if halves else "float32" if cast else case.dtype])
    for (what, a), (same, b) in zip(here, there):
        assert what == same, f"{what}: {a}\non {device}: {same}: {b}\n{case}"
        if "random" not in what:
            found = differences(a, b, tolerance, {"strides"})
            assert not found, f"{what}: {'; '.join(found).replace('compiled', 'on ' + device)}\n{case}"


def smaller(case, failure, **how):
    """A case with fewer steps that fails as well."""
    simplest = dict(dtype="float32", layouts=("plain", "plain"), aliased="", needs_grad=(False, False),
                    modes=("grad",), results="last", write_after=False, own_backward=False, twice=False)
    again = True
    while again:
        again = False
        fewer = [case._replace(steps=case.steps[:n] + case.steps[n + 1:]) for n in range(len(case.steps))]
        for attempt in [*fewer, *[case._replace(**{k: v}) for k, v in simplest.items() if getattr(case, k) != v]]:
            try:
                check(attempt, **how)
            except Exception as error:
                case, failure, again = attempt, error, True
                break
    return case, failure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", type=int, default=5, help="after so many failures")
    parser.add_argument("--device", default="sim")
    parser.add_argument("--compiled", action="store_true", help="the program on the device is compiled")
    arguments = parser.parse_args()
    failures, how = 0, dict(compiled=arguments.compiled, device=arguments.device)
    for n in range(arguments.programs):
        case = random_case(random.Random(f"{arguments.seed} {n}"))
        try:
            check(case, **how)
        except Exception as error:
            failures += 1
            case, error = smaller(case, error, **how)
            print(f"---- program {n}", flush=True)
            error.__cause__ = error.__context__ = None
            traceback.print_exception(error, limit=-3)
            if failures >= arguments.stop:
                break
    print(f"{n + 1} programs, {failures} differ")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
