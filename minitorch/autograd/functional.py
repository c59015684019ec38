"""Jacobians, Hessians and products with them, of functions of tensors: ``torch.autograd.functional``.

Most functions call `autograd.grad`: a Jacobian takes a backward pass for each element of the
output, a product with it from the left takes one pass, and from the right two (the derivative of
the first pass with respect to its weights). Forward mode is an option, as in PyTorch. Inputs and
outputs are tensors or tuples of them, and results have the same structure.
"""

import threading

from ..core.tensor import Tensor
from ..ops.creation.create import eye
from ..ops.shapes.join import cat, stack
from .api import grad, vmap
from .dual.crossing import detached, dual, tangent_of, without_level, zeros_like
from .dual.levels import opened
from .grad_mode import enable_grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]


class Running(threading.local):
    """The number (`depth`) of blocks of `differentiating` that this thread is in. Inside, compiled
    functions run eagerly, because the node of a program can be differentiated only once."""

    depth = 0


running = Running()


class differentiating(enable_grad):
    """The block in which a transform calls the function that it differentiates."""

    def __enter__(self):
        running.depth += 1
        return super().__enter__()

    def __exit__(self, *exc):
        running.depth -= 1
        super().__exit__(*exc)


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
        return tuple([t.view_as(t) if t.requires_grad else detached(t).requires_grad_() for t in found]), many
    return tuple([detached(t).requires_grad_() for t in found]), many


def _finish(results, many, create_graph):
    results = tuple([r if create_graph else detached(r) for r in results])
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
    with differentiating():
        xs, many = _prepare(inputs, create_graph)
        outputs, several = _tuple(func(*xs), "outputs of the user-provided function")
        found = _grads(outputs, xs, _weights(v, outputs, "output"), create_graph, strict)
    return _finish(outputs, several, create_graph), _finish(found, many, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), Jacobian @ v)``: the backward pass is linear in its weights; its derivative is the product."""
    with differentiating():
        xs, _ = _prepare(inputs, create_graph)
        outputs, several = _tuple(func(*xs), "outputs of the user-provided function")
        weights = tuple([o.detach().new_zeros(o.shape).requires_grad_() for o in outputs])
        pulled = _grads(outputs, xs, weights, True, strict)
        found = _grads(pulled, weights, _weights(v, xs, "input"), create_graph)
    return _finish(outputs, several, create_graph), _finish(found, several, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of `func`: a tensor of shape (output..., input...), in tuples nested like
    outputs and inputs.

    It takes a backward pass for each output element, or, with `vectorize`, one over a batch of all
    elements. With the `strategy` "forward-mode" one forward pass computes all columns; this needs
    `vectorize`, and raises NotImplementedError without it and with `create_graph`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function '
                             'has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
                             'prefer to use "reverse-mode".')
    if vectorize and strict:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-"
                                      "mode\"` are not supported together (yet). Please either set "
                                      "`create_graph=False` or `strategy=\"reverse-mode\"`.")
        if not vectorize:
            raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian is only "
                                      "implemented for `vectorize=True`.")
        return _by_columns(func, inputs)
    with differentiating():
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


def _by_columns(func, inputs):
    """The Jacobian by one forward pass for all columns."""
    found, many = _tuple(inputs, "inputs")
    outer: list = []

    def push(*tangents):
        with opened() as level:
            outputs, several = _tuple(func(*[dual(x, t, level) for x, t in zip(found, tangents)]),
                                      "outputs of the user-provided function")
            outer[:] = [several]
            return tuple([zeros_like(without_level(o, level)) if (t := tangent_of(o, level)) is None
                          else t for o in outputs])
    blocks = [_finish(row, many, False) for row in columns(push, found, randomness="different")]
    return tuple(blocks) if outer[0] else blocks[0]


def columns(push, xs, **options):
    """The Jacobian of each output of `push` with respect to each of the tensors `xs`, by one pass
    over all columns.

    `push` maps tangents of `xs` to tangents of the outputs; `options` are passed to `vmap`.
    """
    is_empty = not any([x.numel() for x in xs])
    found = push(*xs) if is_empty else vmap(push, **options)(*basis(xs))
    return [column_blocks(c, xs) for c in found]


def basis(xs):
    """All unit vectors of the space of the tensors `xs`: a tensor (vectors, *shape) for each."""
    sizes = [x.numel() for x in xs]
    made = []
    for i, x in enumerate(xs):
        block = x.detach().new_zeros((sum(sizes), sizes[i]))
        start = sum(sizes[:i])
        block[start:start + sizes[i]].fill_diagonal_(1)
        made.append(block.reshape((sum(sizes), *x.shape)))
    return made


def column_blocks(columns, xs):
    """The Jacobian with respect to each of the tensors `xs`, from columns stacked in the first
    dimension."""
    sizes = [x.numel() for x in xs]
    if not sum(sizes):
        return [columns.new_zeros((*columns.shape, *x.shape)) for x in xs]
    shape = columns.shape[1:]
    return [part.reshape((*shape, *x.shape)) for part, x in zip(columns.movedim(0, -1).split(sizes, -1), xs)]


def _stacked(grads, out, x):
    if not grads:
        return x.detach().new_zeros((*out.shape, *x.shape))
    return stack(grads).reshape((*out.shape, *x.shape))


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a `func` with a single output element: the Jacobian of its
    gradient."""
    _, many = _tuple(inputs, "inputs")

    def gradient(*xs):
        out = func(*xs)
        if out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        found = _grads((out.reshape(()),), xs, (out.detach().new_ones(()),), True, strict)
        return found if many else found[0]

    def gradient_at(*xs):                                  # in forward mode only this needs a graph
        with differentiating():
            return gradient(*_prepare(xs, False)[0])
    if outer_jacobian_strategy == "forward-mode":
        return jacobian(gradient_at, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), v @ Hessian)`` for a function with one element of output."""
    with differentiating():
        xs, many = _prepare(inputs, create_graph)
        out = func(*xs)
        first = _grads((out.reshape(()),), xs, (out.detach().new_ones(()),), True, strict)
        found = _grads(first, xs, _weights(v, xs, "input"), create_graph)
    return _finish((out,), False, create_graph), _finish(found, many, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), Hessian @ v)``; the Hessian is symmetric, so this is `vhp`."""
    return vhp(func, inputs, v, create_graph, strict)
