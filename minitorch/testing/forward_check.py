"""Checks of `gradcheck` besides those of backward passes: forward mode against differences, batches against loops.

Formula: ``(f(x + eps v) - f(x - eps v)) / (2 eps)`` for each unit vector `v` of each input, ``i v`` of complex ones.
"""

import numpy as np

from ..autograd import api
from ..autograd.forward_ad import dual_level, make_dual, unpack_dual
from ..autograd.grad_mode import enable_grad, no_grad
from ..core.arrays import is_inexact
from ..core.tensor import Tensor, wrap

__all__ = ["batched_forward_error", "batched_grad_error", "forward_error"]


def outputs_of(found):
    """The outputs that can have derivatives."""
    return [o for o in (found if isinstance(found, (tuple, list)) else [found])
            if isinstance(o, Tensor) and is_inexact(o.array.dtype)]


def directions(x):
    """The unit vectors of the space of an input, as NumPy arrays; of a complex one also those times i."""
    for place in np.ndindex(x.array.shape):
        for unit in (1.0, 1j) if x.array.dtype.kind == "c" else (1.0,):
            v = np.zeros(x.array.shape, x.array.dtype)
            v[place] = unit
            yield v


def moved(func, inputs, i, step):
    """The outputs of `func` with input `i` moved by an array, as NumPy arrays."""
    x = inputs[i]
    trial = list(inputs)
    trial[i] = wrap(x.backend.from_host(x.backend.to_host(x.array) + step), x.backend)
    with no_grad():
        return [o.backend.to_host(o.array).ravel() for o in outputs_of(func(*trial))]


def tangents(func, inputs, i, v):
    """The tangents of the outputs of `func` where that of input `i` is `v`, an array of its backend or a tensor."""
    x = inputs[i]
    duals = list(inputs)
    with dual_level():
        duals[i] = make_dual(x.detach(), v if isinstance(v, Tensor) else wrap(x.backend.from_host(v), x.backend))
        found = [unpack_dual(o) for o in outputs_of(func(*duals))]
        return [o.primal.new_zeros(o.primal.shape) if o.tangent is None else o.tangent for o in found]


def flat(t):
    return t.backend.to_host(t.array).ravel()


def forward_error(func, inputs, live, eps, atol, rtol):
    """The text of the first tangent that differs from finite differences; None if none does."""
    for i in live:
        numerical, analytical = [], []
        for v in directions(inputs[i]):
            ends = zip(moved(func, inputs, i, eps * v), moved(func, inputs, i, -eps * v))
            numerical.append([(a - b) / (2 * eps) for a, b in ends])
            analytical.append([flat(t) for t in tangents(func, inputs, i, v)])
        for k, (true, found) in enumerate(zip(zip(*numerical), zip(*analytical))):
            true, found = np.stack(true), np.stack(found)
            if not np.allclose(found, true, rtol=rtol, atol=atol, equal_nan=True):
                return (f"Jacobian computed with forward mode mismatch for output {k} with respect to input {i},\n"
                        f"numerical:{true}\nanalytical:{found}\n")
    return None


def batched_grad_error(func, inputs, live):
    """The text of the first gradient that a batch of passes computes otherwise than one pass after another."""
    wanted = [inputs[i] for i in live]
    with enable_grad():
        outputs = [o for o in outputs_of(func(*inputs)) if o.needs_grad]
    for k, out in enumerate(outputs):
        seeds = random_like(out, 2)
        batch = api.grad(out, wanted, seeds, retain_graph=True, allow_unused=True, is_grads_batched=True)
        rows = [api.grad(out, wanted, seed, retain_graph=True, allow_unused=True) for seed in seeds]
        for i, found, *single in zip(live, batch, *rows):
            true = [g for g in single if g is not None]
            if (found is None) != (not true) or true and not np.allclose(
                    flat(found), np.concatenate([flat(g) for g in true]), equal_nan=True):
                return (f"While computing batched gradients, got different values from those of single passes for "
                        f"output {k} with respect to input {i}: {found} instead of {single}. "
                        f"gradcheck(..., check_batched_grad=False) skips this check.")
    return None


def batched_forward_error(func, inputs, live):
    """The text of the first tangent that `vmap` over directions computes otherwise than one after another."""
    for i in live:
        vs = random_like(inputs[i], 2)
        batch = api.vmap(lambda v, i=i: tuple(tangents(func, inputs, i, v)))(vs)
        single = [tangents(func, inputs, i, v) for v in vs]
        for k, (found, *true) in enumerate(zip(batch, *single)):
            if not np.allclose(flat(found), np.concatenate([flat(t) for t in true]), equal_nan=True):
                return (f"While computing batched forward gradients, got different values from those of single passes "
                        f"for output {k} with respect to input {i}: {found} instead of {true}.")
    return None


def random_like(x, n):
    """`n` random tensors of the shape and dtype of `x`, stacked."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n, *x.array.shape))
    if x.array.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(values.shape)
    return wrap(x.backend.from_host(np.asarray(values, x.array.dtype)), x.backend)
