"""Every op with index notation on a batch of ragged elements: what it computes of each element.

    python -m tests.nested.test_all_ops [op ...]

prints how many work. A sample of an op becomes a batch: the first dimension of its first input, or
one before all others, counts the elements, and any other one is ragged. The result is that of the
op on each element alone, in values and in gradients; or an error that names the op.
"""

import functools
import random
import sys

import numpy as np
import pytest

import minitorch as torch
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor
from minitorch.nested._internal.calls import as_written
from minitorch.ops.dims import column_of, parse
from minitorch.ops.labels import attributes_for, bind
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import definitions_with_inputs, outputs_of, tensors_in

LAYOUTS = torch.jagged, torch.strided
NAMES = [op.name for op in definitions_with_inputs() if op.dims is not None]


def leading(op, arrays, attrs):
    """A sample with one more dimension in front, of two elements, in all inputs that have ``*``;
    None if there are none, or the attributes do not say the same then."""
    text = column_of(op.dims, {**dict(op.attrs), **attrs})
    if text is None or "(" in text or "of " in text or "=" in text or "{" in text:
        return None
    terms = parse(text).ins
    terms = terms * len(arrays) if len(terms) == 1 else terms
    starred = [any([word.name == "*" for word in term.words]) for term in terms]
    if not starred[0]:
        return None
    deepest = max([np.ndim(x) for x, star in zip(arrays, starred) if star])
    named = {word.at or word.name for term in parse(text).ins for word in term.words}
    attrs = {k: backwards(v, arrays[0].ndim) if k in named else v for k, v in attrs.items()}
    arrays = [np.stack([x, x[..., ::-1] if x.ndim and x.dtype.kind == "f" else x])
              if star and isinstance(x, np.ndarray) and x.ndim == deepest else x
              for x, star in zip(arrays, starred)]
    return arrays, attrs


def backwards(dims, n):
    """Dimensions counted from the end."""
    if isinstance(dims, (tuple, list)):
        return tuple([d - n if d >= 0 else d for d in dims])
    return dims - n if isinstance(dims, int) and not isinstance(dims, bool) and dims >= 0 else dims


class Case:
    """A sample with the labels of its dimensions: `batch` counts elements, and `ragged` is shorter
    in some of them."""

    def __init__(self, op, arrays, attrs, ragged, bound):
        self.op, self.arrays, self.attrs, self.bound = op, arrays, attrs, bound
        self.batch, self.ragged = self.bound.ins[0][0], self.bound.ins[0][ragged]
        self.count, self.longest = np.shape(arrays[0])[0], np.shape(arrays[0])[ragged]
        self.lengths = [max(self.longest - i, 1) for i in range(self.count)]

    def is_nested(self, i):
        labels = self.bound.ins[i]
        return (isinstance(self.arrays[i], np.ndarray) and labels and labels[0] == self.batch
                and self.ragged in labels and self.arrays[i].shape[0] == self.count
                and self.arrays[i].shape[labels.index(self.ragged)] == self.longest)

    def part(self, i, k):
        """Input `i` of element `k`, with a batch of one."""
        x, labels = self.arrays[i], self.bound.ins[i]
        if not isinstance(x, np.ndarray):
            return x
        taken = {self.batch: slice(k, k + 1), self.ragged: slice(0, self.lengths[k])}
        index = [taken.get(label, slice(None)) if n > 1 else slice(None)
                 for label, n in zip(labels, x.shape)]
        return np.ascontiguousarray(x[tuple(index)])

    def sizes(self, ragged, count):
        """The attributes for other sizes of the ragged dimension and the batch."""
        known = {self.batch: count, self.ragged: ragged}
        shapes = [[known.get(label, n) for label, n in zip(*found)]
                  for found in zip(self.bound.outs, self.bound.out_shapes)]
        found = attributes_for(self.bound, shapes)
        return {k: found[k] for k in self.attrs}

    def leaves(self):
        """Each input as a list of tensors: one for each element, or one for all."""
        return [[leaf(self.part(i, k)) for k in range(self.count)] if self.is_nested(i) else
                [leaf(x)] for i, x in enumerate(self.arrays)]

    def alone(self, leaves):
        """The results, each a list of what the op makes of each element."""
        own = []
        for k in range(self.count):
            row = [column[k] if self.is_nested(i) else cut(column[0], self, i, k)
                   for i, column in enumerate(leaves)]
            own.append(outputs_of(self.op, row, self.sizes(self.lengths[k], 1)))
        return [[y[0] for y in column] for column in zip(*own)]

    def together(self, leaves, layout):
        """The same of the batch."""
        inputs, first = [column[0] for column in leaves], None
        for i, column in enumerate(leaves):
            if self.is_nested(i):
                inputs[i] = torch.nested.as_nested_tensor([x[0] for x in column], layout=layout)
                if first is not None and layout is torch.jagged:      # of the same offsets
                    r = self.bound.ins[i].index(self.ragged)
                    inputs[i] = first.like(torch.cat([x[0] for x in column], r - 1), r)
                first = inputs[i] if first is None else first
        size = inputs[0].element_sizes()[self.bound.ins[0].index(self.ragged) - 1]
        given = [inputs] if self.op.inputs[0].kind == "variadic" else inputs
        found = as_written(self.op.call, *given, **self.sizes(size, self.count))
        return [list(y.unbind()) for y in tensors_in(found)]


def cut(x, case, i, k):
    """A dense input for element `k`: what belongs to it of the batch and the ragged dimension."""
    if not isinstance(x, Tensor):
        return x
    for d, label in enumerate(case.bound.ins[i]):
        if label == case.batch and x.shape[d] > 1:
            x = x.narrow(d, k, 1)
        elif label == case.ragged and x.shape[d] > 1:
            x = x.narrow(d, 0, case.lengths[k])
    return x


def leaf(x):
    if not isinstance(x, np.ndarray):
        return x
    x = torch.from_numpy(x.copy())
    return x.requires_grad_() if x.is_floating_point() or x.is_complex() else x


def gradients(columns, wanted):
    found = [y for column in columns for y in column if y.requires_grad]
    if not found or not wanted:
        return []
    seeds = [(y.detach() * 0.5).nan_to_num(1, 1, 1) + 1 for y in found]
    return [torch.zeros(()) if g is None else g for g in torch.autograd.grad(
        found, wanted, seeds, allow_unused=True)]


def cases(name, most=4):
    """Cases of an op: samples, with each choice of a ragged dimension."""
    op, found = OPS[name], []
    for seed in range(8):
        arrays, attrs = Draw(random.Random(seed)).op_sample(op)
        for sample in ((arrays, attrs), leading(op, arrays, attrs)):
            if sample is not None and isinstance(sample[0][0], np.ndarray):
                found += [x for ragged in range(1, sample[0][0].ndim)
                          if (x := case_of(op, *sample, ragged)) is not None]
        if len(found) >= most:
            break
    return found[:most]


def case_of(op, arrays, attrs, ragged):
    """A `Case`, if the dimensions are large enough and the first of all results counts elements."""
    shapes = [None if x is None else np.shape(x) for x in arrays]
    try:
        bound = bind(op, shapes, attrs)
    except (ValueError, AttributeError, IndexError):       # an attribute that arrays decide
        return None
    if bound is None or not bound.ins[0] or len(set(bound.ins[0])) < len(bound.ins[0]):
        return None
    if bound.ins[0][0] in bound.whole or min(shapes[0][0], shapes[0][ragged]) < 2 or not all(
            [labels[:1] == bound.ins[0][:1] for labels in bound.outs]):
        return None
    return Case(op, arrays, attrs, ragged, bound)


def wanted(leaves):
    return [x for column in leaves for x in column if isinstance(x, Tensor) and x.requires_grad]


def outcome(case, layout):
    """"works"; "refused" with the reason; None where the op does not apply to an element alone.
    AssertionError if the batch and its elements differ."""
    leaves, own = case.leaves(), case.leaves()
    with np.errstate(all="ignore"):
        try:
            theirs = case.alone(own)
            theirs_grads = gradients(theirs, wanted(own))
        except NotImplementedError:                        # no gradients
            theirs_grads = None
        except (RuntimeError, ValueError, IndexError, TypeError):
            return None, ""
        try:
            ours = case.together(leaves, layout)
        except (RuntimeError, ValueError, IndexError) as error:
            return "refused", f"{type(error).__name__}: {error}"
        pairs = [*zip(ours, theirs, strict=True)]
        if theirs_grads is not None:
            pairs.append((gradients(ours, wanted(leaves)), theirs_grads))
    for x, y in [both for pair in pairs for both in zip(*pair, strict=True)]:
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)
    return "works", ""


@functools.cache
def outcomes(name, layout):
    """The outcomes of the cases of an op to which it applies."""
    return [x for x in [outcome(case, layout) for case in cases(name)] if x[0] is not None]


# ---- the tests -----------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_computes_what_its_elements_do_or_says_why_not(name, layout):
    for word, why in outcomes(name, layout):
        assert word == "works" or f"{name}()" in why, (word, why)


# Reasons to refuse a call: a dense input has one size along the ragged dimension, or results of
# elements would not be ragged as the batch is.
REASONS = ("ragged dimensions need the same offsets", "places along the ragged dim",
           "other sizes along the ragged dim", "two dimensions like the ragged dim",
           "a result for each place", "along the ragged dim and a dense one")


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_most_ops_work(layout):
    found = {name: outcomes(name, layout) for name in NAMES}
    refused = [why for some in found.values() for word, why in some if word == "refused"]
    assert [why for why in refused if not any([reason in why for reason in REASONS])] == []
    tried = [some for some in found.values() if some]
    assert len(tried) >= 260
    assert len([some for some in tried if "works" in dict(some)]) >= len(tried) - 13
    assert len(refused) < 0.08 * sum(map(len, tried))


if __name__ == "__main__":
    for layout in LAYOUTS:
        found = {name: outcomes(name, layout) for name in sys.argv[1:] or NAMES}
        tried = [some for some in found.values() if some]
        words = [word for some in tried for word, _ in some]
        print(f"{layout}: of {len(found)} ops {len(tried)} have a case; of these "
              f"{len([some for some in tried if 'works' in dict(some)])} work in some, "
              f"{len([some for some in tried if 'refused' not in dict(some)])} in all; of "
              f"{len(words)} cases {words.count('works')} work, {words.count('refused')} do not")
        for name, some in found.items():
            for why in {why for word, why in some if word == "refused"}:
                print(f"    {name}: {why}")
