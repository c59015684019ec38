"""Stacks of one to three of grad, jvp and vmap over every write in place, beside the same stack over
the call that it stands for.

    python -m tests.programs.inplace_stacks [--programs N] [--seed N] [name ...]

A case is a write (a method that ends in ``_``, a function with `inplace`, an index assignment), the
place that is written to (a whole tensor, or a view of one), a stack, and for each transformation
the arguments that it takes; those that it leaves alone are constants to it. Without `--programs`
all writes run under all 39 stacks. A stack gives what it gives of the plain call; only `vmap`
refuses, where elements that differ would be written to a tensor that they share.
"""

import itertools
import random
import sys
import warnings
from collections import Counter
from functools import reduce
from typing import NamedTuple

import numpy as np

import minitorch as torch
from minitorch.core.registry import OPS
from minitorch.func import jacfwd, jacrev
from minitorch.nn import functional as F
from minitorch.testing.strategies import Draw
from tests.compiler.program_search import command_line, search
from tests.programs.stacked_transforms import batch, by_grad, by_jvp, by_vjp, by_vmap, same, weights

LENGTHS = (1, 2, 3)


# ---- the transformations -------------------------------------------------------------------------
def by_jacobian(jacobian):
    """The Jacobian, weighted to the size of the arguments."""
    def transformed(f):
        def g(*xs):
            rows = jacobian(lambda *zs: tuple(f(*zs)), tuple(range(len(xs))))(*xs)
            return [sum([(block * weights(block.sum())).flatten(0, block.dim() - x.dim() - 1).sum(0)
                         if block.dim() > x.dim() else block for block in column])
                    for x, column in zip(xs, zip(*rows))]
        return g
    return transformed


WAYS = {"grad": (by_grad, by_vjp, by_jacobian(jacrev)), "jvp": (by_jvp, by_jacobian(jacfwd)),
        "vmap": (by_vmap,)}
STACKS = [stack for n in LENGTHS for stack in itertools.product(WAYS, repeat=n)]


class Step(NamedTuple):
    """A transformation of a function with respect to its arguments at some places."""

    name: str
    way: object
    places: tuple

    def apply(self, f):
        def g(*xs):
            def of_chosen(*chosen):
                full = list(xs)
                for i, x in zip(self.places, chosen, strict=True):
                    full[i] = x
                return f(*full)
            return self.way(of_chosen)(*[xs[i] for i in self.places])
        return g

    def arguments(self, xs):
        more = batch if self.name == "vmap" else same
        return [more([x])[0] if i in self.places else x for i, x in enumerate(xs)]


# ---- the places ----------------------------------------------------------------------------------
# name -> (a base made of x, its view with the values of x, the base after the view was written)
PLACES = {
    "whole": (lambda x: x * 1, lambda b: b, lambda x, y: y),
    "row": (lambda x: torch.stack([x, x * 0.5]), lambda b: b[0],
            lambda x, y: torch.stack([y, x * 0.5])),
    "slice": (lambda x: torch.cat([x * 0.5, x]), lambda b: b[len(b) // 2:],
              lambda x, y: torch.cat([x * 0.5, y])),
    "transposed": (lambda x: x.transpose(0, -1) * 1, lambda b: b.transpose(0, -1),
                   lambda x, y: y.transpose(0, -1)),
    "diagonal": (lambda x: torch.diag_embed(x) * 1, lambda b: b.diagonal(0, -2, -1),
                 lambda x, y: torch.diag_embed(y)),
    "flat": (lambda x: x.reshape(-1) * 1, None, lambda x, y: y.reshape(-1)),
}


def at_place(place, shape):
    """The functions of `PLACES` for a tensor of this shape."""
    make, view, after = PLACES[place]
    return make, view or (lambda b: b.view(shape)), after


# ---- the writes ----------------------------------------------------------------------------------
NOT_WRITES = {"as_strided_", "detach_", "requires_grad_", "resize_", "resize_as_", "set_", "t_",
              "resize_as_sparse_", "share_memory_", "squeeze_", "swapaxes_", "swapdims_", "apply_",
              "transpose_", "unsqueeze_", "map_"}          # they write no elements
DRAWS = {"bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_",
         "uniform_"}
INTEGERS = {"gcd_", "lcm_"} | {f"bitwise_{x}_" for x in (
    "and", "left_shift", "not", "or", "right_shift", "xor")}


def matrix(*shape):
    n = int(np.prod(shape))
    return torch.arange(1, n + 1).reshape(shape).double().sin() * 0.4 + 0.5


# the arguments of methods without a definition of their own, behind the tensor itself
GIVEN = {
    "addbmm_": (matrix(2, 3, 2), matrix(2, 2, 3)), "addmv_": (matrix(3, 2), matrix(2)),
    "addr_": (matrix(3), matrix(2)), "baddbmm_": (matrix(2, 3, 2), matrix(2, 2, 3)),
    "fill_": (matrix(1).sum(),), "fill_diagonal_": (0.5,), "mvlgamma_": (1,),
    "index_reduce_": (0, torch.tensor([1, 0]), matrix(2, 3), "prod"), "renorm_": (2, 0, 0.7),
    "scatter_reduce_": (0, torch.tensor([[1, 0, 1]]), matrix(1, 3), "prod"),
    "clamp_max_": (0.6,), "clamp_min_": (matrix(3) * 0.9,), "clip_": (0.3, 0.7),
    "float_power_": (matrix(3),), "zero_": (), "hardtanh": (0.2, 0.6), "threshold": (0.5, 0.3),
}
# the order in which methods take what their definitions take as inputs and attributes
IN_ORDER = {
    "index_add_": lambda index, x, dim, **more: ((dim, index, x), more),
    "index_copy_": lambda index, x, dim: ((dim, index, x), {}),
    "index_fill_": lambda index, x, dim: ((dim, index, x), {}),
    "scatter_": lambda index, x, dim, **more: ((dim, index, x), more),
    "scatter_add_": lambda index, x, dim: ((dim, index, x), {}),
    "index_put_": lambda x, index: ((tuple(map(as_index, index)), x), {}),
    "ldexp_": lambda x, **_: ((x,), {}),
}


def as_index(part):
    """A part of an index as `index_put` takes it."""
    return torch.arange(9)[part] if isinstance(part, slice) else torch.as_tensor(part)


TARGETS = {"addmv_": (3,), "addr_": (3, 2), "baddbmm_": (2, 3, 3), "addbmm_": (3, 3)}
BINARY = {"arctan2", "div", "divide", "multiply", "subtract", "true_divide", "greater", "less",
          "greater_equal", "less_equal", "not_equal"}
INDICES = {"[0]": 0, "[1:]": slice(1, None), "[..., :2]": (..., slice(0, 2)), "[()]": (),
           "[::2]": slice(None, None, 2), "[[0, 1]]": torch.tensor([1, 0]),
           "[mask]": torch.tensor([True, False, True]), "[:, 1]": (slice(None), 1),
           "[[0, 1], [2, 0]]": (torch.tensor([0, 1]), torch.tensor([2, 0])), "[None]": None}


class Write(NamedTuple):
    """A write `apply(target, *others)`, and the call `plain` that returns what it leaves there.
    `others`: the arguments, whose floating tensors are differentiated and mapped over."""

    name: str
    apply: object
    plain: object
    target: object
    others: tuple


def method(name, rng):
    """The method `name` of tensors as a write, on arguments that are drawn; None if there are no
    such ones."""
    op, write = OPS.get(name[:-1]), getattr(torch.Tensor, name)
    attrs: dict = {}
    if name in GIVEN or op is None or op.inputs[0].kind == "variadic":
        others = GIVEN.get(name, (matrix(3) * 0.5,) if name[:-1] in BINARY else ())
        target = matrix(*TARGETS.get(name, (3, 3)))
    else:
        for _ in range(20):
            arrays, attrs = Draw(rng).op_sample(op)
            given = [torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in arrays]
            target, others = given[0], tuple(given[1:])
            result = op.call(*given, **attrs)
            if (target.is_floating_point() and target.dim() and isinstance(result, torch.Tensor)
                and result.shape == target.shape):
                break
        else:
            return None
    twin = getattr(torch.Tensor, name[:-1], None) or torch.Tensor.new_full
    if name == "zero_":
        twin = torch.zeros_like
    elif name == "fill_":
        twin = lambda x, value: value.expand(x.shape)      # noqa: E731
    elif name == "fill_diagonal_":
        twin = lambda x, value: torch.where(torch.eye(3) == 1, value, x)  # noqa: E731
    elif name == "copy_":
        twin = lambda x, y, **_: y.expand(x.shape)         # noqa: E731
    order = IN_ORDER.get(name, lambda *given, **attrs: (given, attrs))

    def called(function):
        def call(t, *more):
            given, named = order(*more, **attrs)
            return function(t, *given, **named)
        return call
    return Write(name, called(write), called(twin), target, others)


def function(name):
    """The function `name` of `nn.functional` with ``inplace=True``."""
    call, given = getattr(F, name), GIVEN.get(name, ())
    return Write(f"F.{name}", lambda t: call(t, *given, inplace=True), lambda t: call(t, *given),
                 matrix(3, 3) - 0.5, ())


def assignment(name):
    """``target[index] = value``."""
    index = INDICES[name]
    x = matrix(3, 3)

    def assign(t, value):
        t[index] = value

    def plain(t, value):
        places = torch.arange(9).reshape(3, 3)[index]
        values = value.expand(places.shape).reshape(-1)
        return t.reshape(-1).scatter(0, places.reshape(-1), values).reshape(3, 3)
    return Write(name, assign, plain, x, (x[index].cos() if name != "[::2]" else matrix(3),))


def names():
    """All writes by name."""
    methods = [n for n in dir(torch.Tensor) if n.endswith("_") and not n.startswith("_")
               and not n.endswith("__") and n not in NOT_WRITES | DRAWS | INTEGERS]
    functions = ["celu", "elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mish",
                 "relu", "relu6", "selu", "silu", "threshold"]
    return methods + ["F." + f for f in functions] + list(INDICES)


def write_of(name, rng):
    if name in INDICES:
        return assignment(name)
    return function(name[2:]) if name.startswith("F.") else method(name, rng)


# ---- cases ---------------------------------------------------------------------------------------
class Case(NamedTuple):
    """A write within transformations, the outermost first; `seed` draws all that is left open."""

    name: str
    stack: tuple
    seed: int

    @property
    def steps(self):
        return self.stack


def any_case(rng, name=None):
    return Case(name or rng.choice(names()), rng.choice(STACKS), rng.randrange(10 ** 6))


def is_float(x):
    return isinstance(x, torch.Tensor) and x.is_floating_point()


def check(case):
    """AssertionError if the stack differs from that of the plain call; returns "vmap" if that
    refused, rightly, or None."""
    rng = random.Random(case.seed)
    write = write_of(case.name, rng)
    if write is None:
        return "nothing to write"
    make, view, after = at_place(rng.choice(list(PLACES)), write.target.shape)
    where = [i for i, x in enumerate(write.others) if is_float(x)]
    few = len(where) + 1
    stack = [Step(name, rng.choice(WAYS[name]), some_places(rng, few)) for name in case.stack]

    def with_write(x, *more):
        base = make(x)
        piece = view(base)
        write.apply(piece, *filled(write.others, where, more))
        return [base * 1, piece * 1]

    def without(x, *more):
        y = write.plain(x, *filled(write.others, where, more)).to(x.dtype)
        return [after(x, y) * 1, y * 1]
    xs = [write.target, *[write.others[i] for i in where]]
    xs = reduce(lambda xs, step: step.arguments(xs), stack[::-1], xs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = reduce(lambda g, step: step.apply(g), stack[::-1], without)(*xs)
        except NotImplementedError:                        # there is no such derivative
            return "the op"
        try:
            found = reduce(lambda g, step: step.apply(g), stack[::-1], with_write)(*xs)
        except RuntimeError as error:
            shared = any([s.name == "vmap" and 0 not in s.places for s in stack])
            if shared and "vmap" in str(error):
                return "vmap"
            raise
    for a, b in zip(found, wanted, strict=True):
        a, b = a.detach().numpy(), b.detach().numpy()
        assert a.shape == b.shape, f"{case}: {a.shape}, of the plain call {b.shape}"
        scale = max(1, np.abs(b[np.isfinite(b)]).max(initial=0))
        np.testing.assert_allclose(a, b, 1e-6, 1e-7 * scale, err_msg=str(case))
    return None


def some_places(rng, n):
    """Some of `n` arguments: half of the time all of them."""
    chosen = tuple([i for i in range(n) if rng.random() < 0.5])
    return tuple(range(n)) if rng.random() < 0.5 or not chosen else chosen


def filled(others, where, more):
    full = list(others)
    for i, x in zip(where, more, strict=True):
        full[i] = x
    return full


def main():
    arguments = command_line(__doc__, every={"action": "store_true", "help": "writes and stacks"})
    refused: Counter = Counter()
    if not arguments.every:
        failures = search(arguments, any_case, check, lambda who: refused.update([who]))
        print("refused by", dict(refused))
        return failures
    failed: dict = {}
    for name, stack in itertools.product(names(), STACKS):
        case = Case(name, stack, random.Random(f"{arguments.seed} {name} {stack}").randrange(10**6))
        try:
            refused[check(case)] += 1
        except Exception as error:
            text = f"{type(error).__name__}: {error}".split("\n")
            failed.setdefault(name, []).append(("/".join(stack), case.seed, text[0][:200]))
    for name, lines in failed.items():
        print(name, len(lines), *lines[:3], sep="\n    ", flush=True)
    print("refused by", dict(refused), "failed", sum(map(len, failed.values())))
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
