"""Random programs under the transforms of `minitorch.func`, each beside the same program without the transform.

The programs are those of `compiled_programs.py`, on a batch of arguments. Every one is run by `vmap` and as a loop;
differentiated by `grad` and by `backward`, batched by `vmap(grad)` too; and forwards by `jvp`, beside what the
gradients say of the same direction.

    python -m tests.compiler.transformed_programs --programs 2000 --seed 1
"""

import sys
import warnings
from collections import Counter
from functools import partial

import numpy as np

import minitorch as torch
from minitorch.core.tensor import Tensor
from minitorch.func import grad, jvp, vmap
from tests.compiler.compiled_programs import ROUGH, STATEMENTS, Case, World, any_case, floating
from tests.compiler.program_search import command_line, search

DRAWS = {"dropout", "dropout_", "noise", "noise_like", "uniform_", "dead_draw", "dropout_of_dead"}
# Statements that leave the transform's function: they write to what is not an argument, or have a
# backward pass inside.
OUTSIDE = {"buffer_written", "buffer_decays", "weight_stepped", "gradient_inside", "checkpointed", "batch_norm",
           "retain", "buffer_itself", "doubled_gradient", "required"}
# Their derivatives forwards and backwards differ, in PyTorch too: `no_grad` and `.data` mean nothing forwards.
# So do they where a tangent that is 0 meets the NaN of the mean of nothing.
ONE_WAY = {"under_no_grad", "without_recording", "root", "data", "nonzero"}
COARSE = {"as_half", "half_and_bfloat16"}                 # too few digits to compare
LAYOUTS = {"strided", "strided_"}                          # which a batch may have another of
BATCH = 3


class Batch(World):
    """A world whose program takes one of a batch of arguments, in float64, and leaves those as they are."""

    def __init__(self, case):
        super().__init__(case, False)
        rng = np.random.default_rng(case.seed)
        self.batch = [torch.tensor(rng.standard_normal((BATCH, 3, 4))) for _ in range(2)]

    def values(self, x, y):
        """All values that the program makes of copies of `x` and `y`, those included."""
        values = [x * 1, y * 1]
        for name, i, j, k in self.case.steps:
            made = STATEMENTS[name](self, values[i % len(values)], values[j % len(values)], k)
            if isinstance(made, Tensor) and made.numel() <= 4096:
                values.append(made)
        return values

    def loss(self, x, y):
        """A number that depends on all of them."""
        return sum((floating(v) * (n + 1)).sin().sum() for n, v in enumerate(self.values(x, y)))


def agree(a, b, what, case):
    kind = f"{a.dtype} {a.shape}", f"{b.dtype} {b.shape}"
    assert kind[0] == kind[1], f"{what}: {kind[0]}, one by one {kind[1]}\n{case}"
    tolerance = (1e-4, 1e-4) if any(name in ROUGH for name, *_ in case.steps) else (1e-7, 1e-8)
    assert torch.allclose(a.double(), b.double(), *tolerance, equal_nan=True), f"{what}:\n{a}\none by one\n{b}\n{case}"


def attempt(function, *args):
    """The result, or the first words of a refusal; other errors are raised."""
    try:
        return function(*args), None
    except (RuntimeError, ValueError, LookupError, TypeError, ZeroDivisionError) as error:
        return None, f"{type(error).__name__}: {str(error)[:70]}"


def check(case):
    """AssertionError with the first difference; returns the transforms that refused the program, with their words."""
    steps = tuple(s for s in case.steps if s[0] not in DRAWS | OUTSIDE | ONE_WAY | LAYOUTS | COARSE)
    case = Case(steps, dtype="float64", seed=case.seed)
    world, refused = Batch(case), {}
    x, y = world.batch
    singles = [attempt(world.values, a, b) for a, b in zip(x, y)]
    if singles[0][1]:
        return {"alone": singles[0][1]}
    batched, words = attempt(vmap(lambda x, y: tuple(world.values(x, y))), x, y)
    if words:
        refused["vmap"] = words
    elif not any(w for _, w in singles) and len({tuple(v.shape for v in s) for s, _ in singles}) == 1:
        for n, v in enumerate(batched):
            agree(v, torch.stack([s[n] for s, _ in singles]), f"vmap, value {n}", case)
    gradients = []
    for a, b in zip(x, y):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        loss, words = attempt(world.loss, a, b)
        if not words:
            found, words = attempt(partial(torch.autograd.grad, materialize_grads=True), loss, (a, b))
        if words:
            return refused | {"backward": words}
        gradients.append(found)
    by_grad, words = attempt(grad(world.loss, (0, 1)), x[0], y[0])
    if words:
        refused["grad"] = words
    else:
        for n in range(2):
            agree(by_grad[n], gradients[0][n], f"grad by argument {n}", case)
    batched, words = attempt(vmap(grad(world.loss, (0, 1))), x, y)
    if words:
        refused["vmap(grad)"] = words
    else:
        for n in range(2):
            agree(batched[n], torch.stack([g[n] for g in gradients]), f"vmap(grad) by argument {n}", case)
    found, words = attempt(jvp, world.loss, (x[0], y[0]), (y[0], x[0]))
    if words:
        refused["jvp"] = words
    else:
        agree(found[1], (gradients[0][0] * y[0]).sum() + (gradients[0][1] * x[0]).sum(), "jvp", case)
    found, words = attempt(vmap(lambda x, y: jvp(world.loss, (x, y), (y, x))[1]), x, y)
    if words:
        refused["vmap(jvp)"] = words
    else:
        agree(found, torch.stack([(g * b).sum() + (h * a).sum() for (g, h), a, b in zip(gradients, x, y)]), "vmap(jvp)",
              case)
    return refused


def main():
    refusals = Counter()

    def tell(refused):
        refusals.update(f"{k}: {v}" for k, v in refused.items())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures = search(command_line(__doc__), any_case, check, tell)
    print("Refused:")
    for words, count in refusals.most_common(60):
        print(f"{count:5} {words}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
