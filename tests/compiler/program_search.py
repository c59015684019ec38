"""The search for random programs that fail: by command line, each failure made smaller before it is printed."""

import argparse
import random
import traceback


def smaller(case, failure, check):
    """A case with fewer steps that fails as well."""
    simplest = dict(dtype="float32", layouts=("plain", "plain"), aliased="", needs_grad=(False, False),
                    modes=("grad", "grad"), results="last", write_after=False, own_backward=False, twice=False)
    again = True
    while again:
        again = False
        fewer = [case._replace(steps=case.steps[:n] + case.steps[n + 1:]) for n in range(len(case.steps))]
        for attempt in [*fewer, *[case._replace(**{k: v}) for k, v in simplest.items() if getattr(case, k, v) != v]]:
            try:
                check(attempt)
            except Exception as error:
                case, failure, again = attempt, error, True
                break
    return case, failure


def command_line(description, **options):
    """The arguments of a program that looks for cases that fail; `options`: more flags, `add_argument`'s for each."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", type=int, default=5, help="after so many failures")
    for name, more in options.items():
        parser.add_argument("--" + name, **more)
    return parser.parse_args()


def search(arguments, draw, check, tell=lambda result: None):
    """Check cases that `draw` makes of a `random.Random`, and `tell` each result; returns how many failed.

    Those are printed, made smaller.
    """
    failures = 0
    for n in range(arguments.programs):
        case = draw(random.Random(f"{arguments.seed} {n}"))
        try:
            tell(check(case))
        except Exception as error:
            failures += 1
            case, error = smaller(case, error, check)
            print(f"---- program {n}", flush=True)
            error.__cause__ = error.__context__ = None
            traceback.print_exception(error, limit=-3)
            if failures >= arguments.stop:
                break
    print(f"{n + 1} programs, {failures} differ")
    return failures
