"""Memory layouts beside PyTorch's: each definition and expression of `layout_cases.py`, and random programs.

A program makes tensors in some layout, calls functions, takes views and writes in place. Each step succeeds in both
libraries or in neither, values agree, and whatever PyTorch can view flat can be viewed flat here.
"""

import random
import warnings

import numpy as np
import pytest

import minitorch
from tests.core.layout_cases import (
    EXPRESSIONS,
    LAYOUTS,
    definition_layouts,
    definitions,
    differences,
    expression_layouts,
    grad_layouts,
    twin,
)

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick here and is not installed")


@pytest.mark.parametrize("namespace, name, op", definitions(), ids=lambda x: getattr(x, "name", x))
def test_definitions(namespace, name, op):
    if twin(torch, namespace, name):
        ours, theirs = [definition_layouts(library, namespace, name, op) for library in (minitorch, torch)]
        assert not differences(op.name, ours, theirs)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    ours, theirs = [expression_layouts(library, expression) for library in (minitorch, torch)]
    assert not differences(expression, ours, theirs)


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if e not in (
    "torch.normal(x, y)", "torch.asarray(x, copy=True)")])     # which have no gradient here
def test_gradients(expression):
    ours, theirs = [grad_layouts(library, expression) for library in (minitorch, torch)]
    assert not differences(expression, ours, theirs)


# ---- random programs ---------------------------------------------------------------------------------------------
FUNCTIONS = [
    lambda T, x, y: x.clone(), lambda T, x, y: x.double().float(), lambda T, x, y: T.zeros_like(x) + 1,
    lambda T, x, y: x.exp().clamp(max=9), lambda T, x, y: x.sigmoid(), lambda T, x, y: x * 0.5, lambda T, x, y: x.abs(),
    lambda T, x, y: x.contiguous(), lambda T, x, y: T.cat([x, x], -1), lambda T, x, y: T.stack([x, x]),
    lambda T, x, y: x.flip(0), lambda T, x, y: x.sum(0), lambda T, x, y: x.amax(-1), lambda T, x, y: x.cumsum(0) / 9,
    lambda T, x, y: x.softmax(-1), lambda T, x, y: T.where(x > 0.5, x, 1 - x), lambda T, x, y: x.sort(0).values,
    lambda T, x, y: x.tril() if x.ndim > 1 else x.neg(), lambda T, x, y: T.nn.functional.gelu(x),
    lambda T, x, y: x.masked_fill(x > 1, 1.0), lambda T, x, y: x.roll(1, 0), lambda T, x, y: x.detach().erf(),
    lambda T, x, y: T.nn.functional.pad(x, (1, 0)), lambda T, x, y: x + 1, lambda T, x, y: T.maximum(x, y),
    lambda T, x, y: x.mean(-1, keepdim=True), lambda T, x, y: x.repeat(*[1] * (x.ndim - 1), 2)]
VIEWS = [
    lambda x: x.transpose(0, -1), lambda x: x.permute(*range(x.ndim)[1:], 0), lambda x: x[1:], lambda x: x[..., ::2],
    lambda x: x[0], lambda x: x.unsqueeze(0).expand(2, *x.shape), lambda x: x[..., :1].expand(x.shape),
    lambda x: x.view(-1), lambda x: x.reshape(-1), lambda x: x.unfold(-1, 2, 1), lambda x: x.diagonal(),
    lambda x: x.unsqueeze(1), lambda x: x.movedim(0, -1), lambda x: x.mT, lambda x: x.flatten(0), lambda x: x.squeeze()]
WRITES = [
    lambda x, y: x.mul_(0.5), lambda x, y: x.fill_(0.3), lambda x, y: x.zero_(), lambda x, y: x.copy_(y),
    lambda x, y: x.add_(y), lambda x, y: x.relu_(), lambda x, y: x.masked_fill_(x > 0.5, 0.2),
    lambda x, y: x.clamp_(0, 1), lambda x, y: x.__setitem__(0, 0.7),
    lambda x, y: x.__setitem__(slice(1, None), y[1:]), lambda x, y: x.abs_()]
MOST = 400                                                 # elements, beyond which a tensor is dropped


def program(rng):
    kinds = ["function"] * 5 + ["view"] * 5 + ["write"] * 3
    table = {"function": FUNCTIONS, "view": VIEWS, "write": WRITES}
    steps = [(kind, rng.choice(table[kind]), rng.random(), rng.random()) for kind in rng.choices(kinds, k=8)]
    return [rng.choice([None, *LAYOUTS.values()]) for _ in range(3)], steps


def run(library, layouts, steps):
    """The outcome of each step, None or an error, and the tensors."""
    rng = np.random.default_rng(0)
    tensors, outcomes = [], []
    for layout, shape in zip(layouts, [(3, 4), (2, 3, 4), (2, 3, 2, 2)]):
        a = rng.uniform(0, 1, shape).astype(np.float32)
        b = a if layout is None or layout(a) is None else layout(a)
        tensors.append(library.from_numpy(a)[:1].expand(shape) if 0 in b.strides else library.from_numpy(b))
    for kind, what, i, j in steps:
        x, y = [tensors[int(u * len(tensors))] for u in (i, j)]
        try:
            if kind == "function":
                tensors.append(what(library, x, y))
            elif kind == "view":
                tensors.append(what(x))
            else:
                what(x, y)
            outcomes.append(None)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            outcomes.append(error)
        if tensors[-1].numel() > MOST:
            del tensors[-1]
    return outcomes, tensors


def shares_elements(x):
    """True if elements share memory otherwise than by a stride of 0: PyTorch writes to them in any
    order."""
    reach = 0
    for step, n in sorted((s, n) for s, n in zip(x.stride(), x.shape) if n > 1 and s):
        if step <= reach:
            return True
        reach += step * (n - 1)
    return False


@pytest.mark.parametrize("block", range(6))
def test_programs(block):
    compared = 0
    for seed in range(100):
        layouts, steps = program(random.Random(f"{block} {seed}"))
        for n in range(1, len(steps) + 1):                 # up to the first write that PyTorch does not define
            if steps[n - 1][0] == "write":
                _, before = run(torch, layouts, steps[:n - 1])
                x, y = [before[int(u * len(before))] for u in steps[n - 1][2:]]
                if shares_elements(x) or x is not y and (
                        x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()):
                    steps = steps[:n - 1]
                    break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (ours, xs), (theirs, ys) = run(minitorch, layouts, steps), run(torch, layouts, steps)
        for a, b in zip(ours, theirs):
            assert (a is None) == (b is None) or "view size" in str(b), f"{block} {seed}: {a!r} instead of {b!r}"
            if a is None and b is not None:                # possible here: what follows has other tensors
                break
        else:
            for a, b in zip(xs, ys):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6, err_msg=f"{block} {seed}")
                assert a.shape == b.shape and (a.is_contiguous() or not b.is_contiguous()), f"{block} {seed}"
            compared += 1
    assert compared > 80
