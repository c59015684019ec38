"""Every op definition on a batch, compared with a loop: its results, and its gradients.

    python -m tests.func.batched_cases [--draws N] [--grad] [--nested] [--alone] [op ...]

Each sample of a definition is drawn several times with the same shapes and attributes; then every choice of inputs is
mapped over, along the first or the last dimension, and the others are the same for all elements of the batch; with
`--alone`, one input after the other, along both.
"""

import argparse
import itertools
import random
import sys
import warnings

import numpy as np

import minitorch as torch
from minitorch.autograd import api
from minitorch.backends.batched import loop
from minitorch.core.tensor import Tensor
from minitorch.func import vmap
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import definitions_with_inputs, outputs_of

SIZE = 3


def key(sample):
    arrays, attrs = sample
    return [(x.shape, x.dtype) if isinstance(x, np.ndarray) else repr(x) for x in arrays], repr(attrs)


def batch_of(op, seed):
    """(inputs, each a list of SIZE arrays or numbers; attributes): draws with the same shapes and attributes."""
    first = Draw(random.Random(seed)).op_sample(op)
    found = [first]
    for other in range(seed + 1000, seed + 1030):
        if len(found) == SIZE:
            break
        sample = Draw(random.Random(other)).op_sample(op)
        if key(sample) == key(first) and len(sample[0]) == len(first[0]):
            found.append(sample)
    while len(found) < SIZE:                               # none of this shape: scaled
        scale = 1 - 0.2 * len(found)
        found.append(([np.asarray(x * scale) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
                       for x in first[0]], None))
    return [list(column) for column in zip(*[arrays for arrays, _ in found])], first[1]


def choices(inputs, most):
    """Which inputs are mapped over, as tuples of in_dims; at most `most` of them."""
    places = [i for i, column in enumerate(inputs) if isinstance(column[0], np.ndarray)]
    found = []
    for n in range(len(places), 0, -1):
        for some in itertools.combinations(places, n):
            found.append(tuple([(0 if (i + n) % 2 else -1) if i in some else None for i in range(len(inputs))]))
    return found[:most]


BY_MEMORY = ("as_strided", "view_as_complex")              # the elements of a row lie apart along -1


def alone(op, inputs):
    """The choices of one input, along its first and its last dimension."""
    places = [i for i, column in enumerate(inputs) if isinstance(column[0], np.ndarray)]
    return [tuple([d if i == place else None for i in range(len(inputs))])
            for place in places for d in ((0,) if op.name in BY_MEMORY else (0, -1))]


def results(op, attrs, with_grad):
    """A function of the inputs of `op` that returns its results as a list, and their gradients."""
    def f(*inputs):
        if with_grad:
            inputs = [x.detach().requires_grad_() if isinstance(x, Tensor) and x.is_floating_point() else x
                      for x in inputs]
        out = outputs_of(op, inputs, attrs)
        if not with_grad:
            return out
        live = [t for t in out if t.requires_grad]
        wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
        if not live or not wanted:
            return out
        seeds = [(t.detach() * 0.5).nan_to_num(1, 1, 1) + 1 for t in live]
        grads = api.grad(live, wanted, seeds, allow_unused=True)
        return [t.detach() for t in out] + [torch.zeros(()) if g is None else g for g in grads]
    return f


def check(op, seed, most=8, with_grad=False, singly=False):
    """Compare one batch; returns the number of comparisons. AssertionError where they differ."""
    inputs, attrs = batch_of(op, seed)
    f = results(op, attrs, with_grad)
    count = 0
    for in_dims in alone(op, inputs) if singly else choices(inputs, most):
        rows = [[column[i if d is not None else 0] for column, d in zip(inputs, in_dims)] for i in range(SIZE)]
        try:
            wanted = [f(*map(tensor, row)) for row in rows]
        except NotImplementedError:
            return count
        given = [column[0] if not isinstance(column[0], np.ndarray) else column[0].copy() if d is None else
                 np.stack(column, d % (column[0].ndim + 1)) for column, d in zip(inputs, in_dims)]
        compare(op, in_dims, vmap(f, in_dims)(*map(tensor, given)), wanted)
        count += 1
    return count


def check_nested(op, seed, most=4):
    """Compare a batch of batches, for choices of inputs that are mapped over outside and inside."""
    inputs, attrs = batch_of(op, seed)
    f, all_dims = results(op, attrs, False), choices(inputs, most)
    for outer, inner in zip(all_dims, all_dims[1:] + all_dims[:1]):
        inner = tuple([None if d is None else 0 for d in inner])
        outer = tuple([None if d is None else 0 for d in outer])

        def at(k, i, j, outer=outer, inner=inner):
            return inputs[k][((i if outer[k] == 0 else 0) + (j if inner[k] == 0 else 0)) % SIZE]
        given = []
        for k, (a, b) in enumerate(zip(outer, inner)):
            rows = [[at(k, i, j) for j in range(SIZE)] if b == 0 else at(k, i, 0) for i in range(SIZE)]
            given.append(at(k, 0, 0) if not isinstance(inputs[k][0], np.ndarray) else
                         np.array(rows if a == 0 else rows[0]))
        wanted = [f(*[tensor(at(k, i, j)) for k in range(len(inputs))])
                  for i, j in itertools.product(range(SIZE), repeat=2)]
        found = vmap(vmap(f, inner), outer)(*map(tensor, given))
        compare(op, (outer, inner), [y.reshape(SIZE * SIZE, *y.shape[2:]) for y in found], wanted)
    return len(all_dims)


def tensor(x):
    return torch.from_numpy(x) if isinstance(x, np.ndarray) else x


def compare(op, in_dims, found, wanted):
    assert len(found) == len(wanted[0]), (in_dims, "results", len(found), len(wanted[0]))
    for k, batch in enumerate(found):
        one = np.stack([row[k].numpy() for row in wanted])
        if object in (one.dtype, batch.array.dtype):       # an output that is None
            continue
        assert batch.shape == one.shape, (in_dims, k, tuple(batch.shape), one.shape)
        assert batch.numpy().dtype == one.dtype, (in_dims, k, batch.dtype, one.dtype)
        np.testing.assert_allclose(batch.numpy(), one, 1e-9, 1e-11, err_msg=f"{op.name} {in_dims} result {k}")


# PyTorch refuses these too: the shape of a result depends on the values of a batch.
REFUSED = ("bincount", "index_fill", "masked_scatter", "masked_select", "masked_select_backward", "unique",
           "unique_indices")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--grad", action="store_true")
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--trace", action="store_true")
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    count, wrong = 0, []
    for op in definitions_with_inputs():
        if given.ops and op.name not in given.ops:
            continue
        for seed in range(given.draws):
            try:
                count += check_nested(op, seed) if given.nested else check(op, seed, 16, given.grad, given.alone)
            except Exception as error:
                if op.name in REFUSED and "dynamic shape" in str(error):
                    continue
                if given.trace:
                    raise
                wrong.append(op.name)
                print(f"{op.name} (draw {seed}): {type(error).__name__}: {' '.join(str(error).split())[:230]}")
                break
    print(f"{count} comparisons; wrong: {len(wrong)}; element by element: {sorted(loop.fell_back)}")
    for name, why in loop.fell_back.items():
        print(f"  {name}: {why[:150]}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
