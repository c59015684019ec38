"""The whole battery of gradient checks, in one line: ``minitorch.testing.check(MyFunction)``.

Small inputs come first, so that the first failure is a small one. Everything runs in float64.
"""

import inspect
import random

import numpy as np

from ..autograd import api
from ..autograd.function import Function
from ..backends.cpu.backend import cpu
from ..core.tensor import wrap
from .diagnose import diagnose
from .gradcheck import GradcheckError, as_outputs, gradgradcheck, numerical_jacobian
from .strategies import Draw

__all__ = ["check"]


def check(function, shapes=None, *, domain=None, order=2, examples=20, seed=0, tol=1e-5, arguments=None):
    """Check a function's gradients on many inputs; GradcheckError names the first mistake and what it looks like.

    `function`: a callable on tensors or a `Function` class. `shapes`: None for an elementwise function (its inputs
    broadcast; 0-d and empty ones are tried), or a description such as ``"* n k, * k m -> * n m"``. `domain`: input
    name to (lo, hi). `order`: 2 also checks second derivatives. `arguments`: how many tensors the function takes,
    where its signature does not say.

    Checked are: finite differences; raw against recorded rules; the second order; inputs in other memory layouts,
    broadcast, empty and 0-d; that inputs and upstream gradients are not written to; that gradients share no memory
    with anything else.

    >>> import minitorch
    >>> minitorch.testing.check(lambda x, y: x * y.sin())
    True
    """
    names = input_names(function, arguments)
    call = function.apply if inspect.isclass(function) and issubclass(function, Function) else function
    draw = Draw(random.Random(seed))
    domain = domain or {}
    for arrays in examples_of(draw, names, shapes, domain, examples):
        check_example(call, arrays, order, tol)
    return True


def input_names(function, arguments):
    if arguments is not None:
        return [f"input{i}" for i in range(arguments)]
    if inspect.isclass(function) and issubclass(function, Function):
        parameters = list(inspect.signature(function.forward).parameters)
        return parameters[1:] if function.setup_context is Function.setup_context else parameters
    return [p.name for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind is not p.VAR_KEYWORD]


def examples_of(draw, names, shapes, domain, n):
    """Lists of input arrays, small ones first, then every memory layout and broadcast."""
    lists = []
    for i in range(n):
        if shapes is not None:
            sizes = draw.shapes_of(shapes)
        elif i == 0:
            sizes = [()] * len(names)
        elif i == 1:
            sizes = [(0, 2)] * len(names)
        else:
            sizes = draw.broadcastable(len(names))
        lists.append([draw.array(s, *domain.get(name, ())) for s, name in zip(sizes, names)])
    return sorted(lists, key=lambda arrays: sum(a.size for a in arrays))


def layouts(array):
    """The same array laid out otherwise in memory: Fortran order, and with gaps."""
    yield np.asarray(array, order="F")
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1])) if array.ndim else np.zeros(2)
    gaps = wide[..., ::2] if array.ndim else wide[0:1].reshape(())
    gaps[...] = array
    yield gaps


def leaves(arrays):
    return [wrap(a, cpu).requires_grad_() for a in arrays]


def check_example(call, arrays, order, tol):
    xs = leaves(arrays)
    before = [a.copy() for a in arrays]
    for k, out in enumerate(as_outputs(call(*xs))):
        if not out.needs_grad:
            continue
        weights = np.linspace(1.0, 2.0, out.array.size).reshape(out.array.shape)
        grads = pulled(call, arrays, k, weights, False)
        for i, g in enumerate(grads):
            check_gradient(call, arrays, i, k, g, weights, tol)
        check_unaliased(grads, arrays, weights)
        same(pulled(call, arrays, k, weights, True), grads, "a recorded backward pass (create_graph=True)", tol)
        for other in zip(*map(layouts, arrays)):
            same(pulled(call, list(other), k, weights, False), grads, "another memory layout of the inputs", tol)
    for i, (a, b) in enumerate(zip(arrays, before)):
        if not np.array_equal(a, b):
            raise GradcheckError(f"input {i} was written to: {b} became {a}; work on a copy")
    if order >= 2 and sum(a.size for a in arrays) <= 12:
        gradgradcheck(call, leaves(arrays), atol=1e-4)


def pulled(call, arrays, k, weights, create_graph):
    """The gradients of output `k`, weighted, as arrays."""
    xs = leaves(arrays)
    out = as_outputs(call(*xs))[k]
    seed = weights.copy()
    grads = api.grad(out, xs, wrap(seed, cpu), create_graph=create_graph, allow_unused=True)
    if not np.array_equal(seed, weights):
        raise GradcheckError("the upstream gradient was written to: work on a copy of what `backward` is given")
    return [None if g is None else g.array for g in grads]


def check_gradient(call, arrays, i, k, found, weights, tol):
    jacobian = numerical_jacobian(call, leaves(arrays), i, k)
    true = (weights.ravel() @ jacobian).reshape(arrays[i].shape)
    got = np.zeros_like(true) if found is None else found
    if got.shape == true.shape and np.allclose(got, true, rtol=max(tol, 1e-5) * 10, atol=tol * 10, equal_nan=True):
        return
    likely = diagnose(found, jacobian, weights, arrays[i], weights.shape)
    raise GradcheckError(
        f"wrong gradient of output {k} with respect to input {i}, for inputs of shapes "
        f"{', '.join(str(list(a.shape)) for a in arrays)}:\n  finite differences: {true.tolist()}\n"
        f"  found:              {None if found is None else found.tolist()}\n"
        + "".join(f"This looks like: {words}.\n" for words in likely))


def check_unaliased(grads, arrays, weights):
    for i, g in enumerate(grads):
        if g is None or not g.size:
            continue
        others = [*arrays, weights, *(h for j, h in enumerate(grads) if j != i and h is not None)]
        if any(np.shares_memory(g, other) for other in others if other.size):
            raise GradcheckError(f"the gradient of input {i} shares memory with an input or another gradient")


def same(found, wanted, what, tol):
    for i, (a, b) in enumerate(zip(found, wanted)):
        zero = 0.0
        if not np.allclose(zero if a is None else a, zero if b is None else b, rtol=tol, atol=tol, equal_nan=True):
            raise GradcheckError(f"with {what} the gradient of input {i} is another one:\n  {a}\ninstead of\n  {b}")
