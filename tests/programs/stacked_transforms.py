"""Stacks of transformations over the op definitions, each beside the same stack spelled out.

    python -m tests.programs.stacked_transforms --programs 2000 --seed 1

A case is a definition, a call drawn for it, and two or three transformations, such as the `vmap` of
the `jvp` of the compiled function. What each transformation means is written a second time in plain
calls: `vmap` as a loop, `jvp` as a gradient of a gradient, a compiled function as the function. A
stack gives the same numbers as its plain form, or raises an error that names the transformation
which refuses.
"""

import random
import sys
import warnings
from collections import Counter
from functools import reduce
from typing import NamedTuple

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.core.registry import OPS
from minitorch.distributed import init_device_mesh, threads
from minitorch.distributed.tensor import DTensor, Replicate, Shard
from minitorch.func import functional_call, grad, jvp, vjp, vmap
from minitorch.masked import MaskedTensor, as_masked_tensor
from minitorch.ops.dims import is_elementwise
from minitorch.testing.strategies import Draw
from minitorch.utils.checkpoint import checkpoint
from tests.compiler.program_search import command_line, search
from tests.func.batched_cases import REFUSED as BY_VALUES
from tests.helpers.op_calls import definitions_with_inputs, outputs_of

SIZE = 2                                                   # of a batch


def weights(x):
    """Numbers in the shape of `x`, without a derivative: a direction, or weights of a result."""
    return ((x * 8).floor() * 0.37 + 0.5).cos()


def weighted(results):
    return sum([(y * weights(y)).sum() for y in results])


def leaves(xs):
    """The tensors as places to differentiate at, still attached to what they come from."""
    return [x.clone() if x.requires_grad else x.detach().requires_grad_() for x in xs]


def zeros_for_none(grads, xs):
    return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, xs, strict=True)]


# ---- the transformations -------------------------------------------------------------------------
def batch(xs):
    """A batch of arguments from those of one call."""
    return [torch.stack([x * (1 - 0.125 * k) for k in range(SIZE)]) for x in xs]


def same(xs):
    return list(xs)


def by_vmap(f):
    return lambda *xs: vmap(f)(*xs)


def by_loop(f):
    def g(*xs):
        rows = [f(*[x[k].clone() for x in xs]) for k in range(SIZE)]  # memory of its own
        return [torch.stack(list(column)) for column in zip(*rows, strict=True)]
    return g


def by_jvp(f):
    return lambda *xs: jvp(f, tuple(xs), tuple([weights(x) for x in xs]))[1]


def by_two_gradients(f):
    """The directional derivative, as the gradient of a gradient with respect to its weights."""
    def g(*xs):
        xs = leaves(xs)
        ys = f(*xs)
        seeds = [torch.zeros_like(y).requires_grad_() for y in ys]
        live = [i for i, y in enumerate(ys) if y.requires_grad]
        if not live:
            return [torch.zeros_like(y) for y in ys]
        back = torch.autograd.grad([ys[i] for i in live], xs, [seeds[i] for i in live],
                                   create_graph=True, allow_unused=True)
        ends = [(b, weights(x)) for b, x in zip(back, xs) if b is not None and b.requires_grad]
        if not ends:
            return [torch.zeros_like(y) for y in ys]
        found = torch.autograd.grad([b for b, _ in ends], seeds, [w for _, w in ends],
                                    create_graph=True, allow_unused=True)
        return zeros_for_none(found, ys)
    return g


def by_grad(f):
    return lambda *xs: list(grad(lambda *zs: weighted(f(*zs)), tuple(range(len(xs))))(*xs))


def by_vjp(f):
    def g(*xs):
        ys, back = vjp(f, *xs)
        return list(back([weights(y) for y in ys]))
    return g


def by_backward(f):
    def g(*xs):
        xs = leaves(xs)
        loss = weighted(f(*xs))
        if not loss.requires_grad:
            return [torch.zeros_like(x) for x in xs]
        return zeros_for_none(torch.autograd.grad(loss, xs, create_graph=True, allow_unused=True),
                              xs)
    return g


class Calling(nn.Module):
    """A module whose parameters are arguments of a function."""

    def __init__(self, f, xs):
        super().__init__()
        self.f = f
        for i, x in enumerate(xs):
            self.register_buffer(f"x{i}", torch.zeros_like(x))

    def forward(self):
        return self.f(*self.buffers())


def by_module(f):
    def g(*xs):
        return functional_call(Calling(f, xs), {f"x{i}": x for i, x in enumerate(xs)}, ())
    return g


def by_checkpoint(f):
    return lambda *xs: checkpoint(f, *xs, use_reentrant=False)


def by_masked(f):
    def g(*xs):
        ys = f(*[as_masked_tensor(x, torch.ones_like(x, dtype=torch.bool)) for x in xs])
        return [y.get_data() if isinstance(y, MaskedTensor) else y for y in ys]
    return g


def by_nested(f):
    """One batch of elements that differ in length, which `f` takes at once."""
    def g(*xs):
        n, shape = xs[0].numel(), xs[0].shape
        if n < 2 or any([x.shape != shape for x in xs]):
            return f(*xs)
        offsets = torch.tensor([0, n, n + 1])
        rows = [torch.nested.nested_tensor_from_jagged(
            torch.cat([x.reshape(-1), x.reshape(-1)[:1]]), offsets) for x in xs]
        return [y.unbind()[0].reshape(shape) if y.is_nested else y for y in f(*rows)]
    return g


def by_dtensors(f):
    """Each argument is replicated, or cut along a dimension that its shape chooses."""
    def lies(x):
        return [Shard(x.numel() % x.ndim) if x.ndim and x.numel() % 3 else Replicate()]

    def g(*xs):
        ys = f(*[DTensor.from_local(x).redistribute(placements=lies(x)) for x in xs])
        return [y.full_tensor() if isinstance(y, DTensor) else y for y in ys]
    return g


class Transformation(NamedTuple):
    """`apply` and `plain` make a function of tensors that returns a list of tensors of such a one;
    `arguments` makes the arguments of the new function of those of the old one. `words` name it in
    a refusal: "" if it refuses nothing. `takes(op)`: the definitions that it can be applied to."""

    name: str
    apply: object
    plain: object
    words: str = ""
    arguments: object = same
    takes: object = lambda op, within: True


TRANSFORMATIONS = [
    Transformation("vmap", by_vmap, by_loop, "vmap", batch),
    Transformation("jvp", by_jvp, by_two_gradients, "forward AD"),
    Transformation("grad", by_grad, by_backward),
    Transformation("vjp", by_vjp, by_backward),
    Transformation("compile", torch.compile, lambda f: f),
    Transformation("module", by_module, lambda f: f),
    Transformation("checkpoint", by_checkpoint, lambda f: f),
    Transformation("masked", by_masked, lambda f: f, "mask"),
    Transformation("nested", by_nested, lambda f: f, "nested",
                   takes=lambda op, within: is_elementwise(op) and "vmap" not in within),
    Transformation("dtensors", by_dtensors, lambda f: f, " dtensor",
                   takes=lambda op, within: "dtensors" not in within),
]


# ---- cases ---------------------------------------------------------------------------------------
class Case(NamedTuple):
    """A call of a definition within transformations, the outermost first."""

    op: str
    seed: int
    stack: tuple

    @property
    def steps(self):
        return self.stack

    def __str__(self):
        return f"{' of '.join([t.name for t in self.stack])} of {self.op}, seed {self.seed}"


def definitions():
    return [op for op in definitions_with_inputs() if op.differentiable and op.name not in BY_VALUES]


def any_case(rng, op=None):
    op, stack = op or rng.choice(definitions()), ()
    for _ in range(rng.choice((2, 3))):
        within = {t.name for t in stack}
        stack = (rng.choice([t for t in TRANSFORMATIONS if t.takes(op, within)]), *stack)
    return Case(op.name, rng.randrange(10 ** 6), stack)


def call_of(case):
    """(function of the floating inputs that returns the floating results, those inputs)."""
    op = OPS[case.op]
    arrays, attrs = Draw(random.Random(case.seed)).op_sample(op)
    given = [torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in arrays]
    kinds = op.inputs * len(given) if op.inputs[0].kind == "variadic" else op.inputs
    places = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor)
              and x.is_floating_point() and kinds[i].kind != "other"]

    def f(*xs):
        inputs = list(given)
        for i, x in zip(places, xs, strict=True):
            inputs[i] = x
        return [y for y in outputs_of(op, inputs, attrs) if y.is_floating_point()]
    return f, [given[i] for i in places]


def check(case):
    """AssertionError if the stack differs from its plain form, or refuses without a word; returns
    the name of the transformation that refused, or None. Those with DTensors run on ranks."""
    if "dtensors" not in [t.name for t in case.stack]:
        return compare(case)
    ranks = 1 + case.seed % 2

    def program(rank):
        with init_device_mesh("cpu", (ranks,)):
            return compare(case)
    return threads.run(program, ranks)[0]


def compare(case):
    """`check`, on each rank."""
    f, xs = call_of(case)
    if not xs or not f(*xs):
        return "the op"                                    # which has nothing to differentiate
    xs = reduce(lambda xs, t: t.arguments(xs), case.stack[::-1], xs)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = reduce(lambda g, t: t.plain(g), case.stack[::-1], f)(*xs)
        except NotImplementedError:                        # there is no such derivative
            return "the op"
        try:
            found = reduce(lambda g, t: t.apply(g), case.stack[::-1], f)(*xs)
        except Exception as error:
            for t in case.stack:
                if t.words and t.words.lower() in str(error).lower():
                    return t.name
            raise AssertionError(f"{case}\n{type(error).__name__}: {error}") from error
    assert len(found) == len(wanted), case
    for a, b in zip(found, wanted):
        a, b = a.detach().numpy(), b.detach().numpy()
        assert a.shape == b.shape, f"{case}: {a.shape}, spelled out {b.shape}"
        scale = max(1, np.abs(b[np.isfinite(b)]).max(initial=0))
        np.testing.assert_allclose(a, b, 1e-6, 1e-7 * scale, err_msg=str(case))
    return None


def main():
    arguments, refused = command_line(__doc__), Counter()
    failures = search(arguments, any_case, check, lambda who: refused.update([who]))
    print("refused by", dict(refused))
    return failures


if __name__ == "__main__":
    sys.exit(bool(main()))
