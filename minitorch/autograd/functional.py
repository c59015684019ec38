"""Jacobians, Hessians and products with them, of functions of tensors: ``torch.autograd.functional``.

Everything is built from `autograd.grad`: a Jacobian is one backward pass for each element of the output, a product
from the left one pass, a product from the right two (the derivative of the first pass with respect to its weights).
Inputs and outputs are tensors or tuples of them, and results have the same structure.
"""

from ..core.tensor import Tensor
from ..ops.creation.create import eye
from ..ops.shapes.join import cat, stack
from .api import grad
from .grad_mode import enable_grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]


def _tuple(x, name):
    many = isinstance(x, (tuple, list))
    found = tuple(x) if many else (x,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            raise TypeError(f"The {name} given must be either a Tensor or a tuple of Tensors but the value at index "
                            f"{i} has type {type(t)}.")
    return found, many


def _prepare(inputs, create_graph):
    """The inputs as tensors to differentiate: themselves in a larger graph, detached ones otherwise."""
    found, many = _tuple(inputs, "inputs")
    if create_graph:
        return tuple([t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in found]), many
    return tuple([t.detach().requires_grad_() for t in found]), many


def _finish(results, many, create_graph):
    results = tuple([r if create_graph else r.detach() for r in results])
    return results if many else results[0]


def _weights(v, like, name):
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {name} contains a single element.")
        return (like[0].detach().new_ones(like[0].shape),)
    found, _ = _tuple(v, "v")
    for a, b in zip(found, like):
        if a.shape != b.shape:
            raise RuntimeError(f"v has invalid size: should be {b.shape} but got {a.shape}.")
    return found


def _grads(outputs, inputs, weights, create_graph, strict=False):
    live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
    if not live:
        if strict:
            raise RuntimeError("The output of the user-provided function is independent of the input. This is not "
                               "allowed in strict mode.")
        return tuple([t.detach().new_zeros(t.shape) for t in inputs])
    return grad([o for o, _ in live], inputs, [w for _, w in live], retain_graph=True, create_graph=create_graph,
                materialize_grads=not strict)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), v @ Jacobian)``: one backward pass, weighted by `v` (None: a single output of one element)."""
    with enable_grad():
        xs, many = _prepare(inputs, create_graph)
        outputs, several = _tuple(func(*xs), "outputs of the user-provided function")
        found = _grads(outputs, xs, _weights(v, outputs, "output"), create_graph, strict)
    return _finish(outputs, several, create_graph), _finish(found, many, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), Jacobian @ v)``: the backward pass is linear in its weights; its derivative is the product."""
    with enable_grad():
        xs, _ = _prepare(inputs, create_graph)
        outputs, several = _tuple(func(*xs), "outputs of the user-provided function")
        weights = tuple([o.detach().new_zeros(o.shape).requires_grad_() for o in outputs])
        pulled = _grads(outputs, xs, weights, True, strict)
        found = _grads(pulled, weights, _weights(v, xs, "input"), create_graph)
    return _finish(outputs, several, create_graph), _finish(found, several, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of `func`: a tensor of shape (output..., input...), nested in tuples as outputs and inputs are.

    One backward pass is run for each output element, or, with `vectorize`, one over a batch of all elements.
    """
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")
    with enable_grad():
        xs, many = _prepare(inputs, create_graph)
        outputs, several = _tuple(func(*xs), "outputs of the user-provided function")
        found = [rows(out, xs, create_graph) if vectorize else _one_by_one(out, xs, create_graph, strict)
                 for out in outputs]
    found = [_finish(row, many, create_graph) if not create_graph else (row if many else row[0]) for row in found]
    return tuple(found) if several else found[0]


def _one_by_one(out, xs, create_graph, strict):
    """The Jacobian of one output with respect to each input, by a backward pass for each element."""
    flat, pulled = out.reshape(-1), []
    for i in range(out.numel()):
        weight = flat.detach().new_zeros(flat.shape)
        weight[i] = 1
        pulled.append(_grads((flat,), xs, (weight,), create_graph, strict))
    return tuple([_stacked([p[j] for p in pulled], out, x) for j, x in enumerate(xs)])


def rows(out, xs, create_graph, chunk_size=None):
    """The Jacobian of one output with respect to each input, by a backward pass over a batch of all elements."""
    n = out.numel()
    if not out.requires_grad or not n:
        return tuple([x.detach().new_zeros((*out.shape, *x.shape)) for x in xs])
    unit, flat = eye(n, dtype=out.dtype, device=out.device), out.reshape(-1)
    parts = [grad((flat,), xs, (unit if chunk_size is None or chunk_size >= n else unit[i:i + chunk_size],),
                  retain_graph=True, create_graph=create_graph, is_grads_batched=True, materialize_grads=True)
             for i in range(0, n, chunk_size or n)]
    return tuple([(column[0] if len(column) == 1 else cat(column)).reshape((*out.shape, *x.shape))
                  for column, x in zip(zip(*parts), xs)])


def _stacked(grads, out, x):
    if not grads:
        return x.detach().new_zeros((*out.shape, *x.shape))
    return stack(grads).reshape((*out.shape, *x.shape))


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a `func` with one element of output: the Jacobian of its gradient."""
    _, many = _tuple(inputs, "inputs")

    def gradient(*xs):
        out = func(*xs)
        if out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        found = _grads((out.reshape(()),), xs, (out.detach().new_ones(()),), True, strict)
        return found if many else found[0]
    return jacobian(gradient, inputs, create_graph, strict, vectorize)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), v @ Hessian)`` for a function with one element of output."""
    with enable_grad():
        xs, many = _prepare(inputs, create_graph)
        out = func(*xs)
        first = _grads((out.reshape(()),), xs, (out.detach().new_ones(()),), True, strict)
        found = _grads(first, xs, _weights(v, xs, "input"), create_graph)
    return _finish((out,), False, create_graph), _finish(found, many, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), Hessian @ v)``; the Hessian is symmetric, so this is `vhp`."""
    return vhp(func, inputs, v, create_graph, strict)
