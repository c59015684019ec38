"""Gradients, products with Jacobians, Jacobians and Hessians of functions of pytrees."""

import functools

from .. import Tensor, autograd, enable_grad
from ..autograd import functional as _functional
from ..autograd.dual.crossing import dual, tangent_of, without_level, zeros_like
from ..autograd.dual.levels import opened
from ..autograd.functional import differentiating
from ..backends.batched.crossing import entered
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .arguments import Chosen, Flat, detached, is_nested, leaves_of, positions, reaches_others, without_aux

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def fresh(t):
    """A tensor to differentiate with respect to, in place of an argument."""
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    t = entered(t)
    return t.view_as(t) if t.requires_grad else detached(t).requires_grad_()


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient of `func` with respect to its arguments `argnums`, value of `func`)."""
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def call(*args, **kwargs):
        chosen, outside = positions(argnums, len(args)), is_nested(args)
        with differentiating():
            args = list(args)
            for i in chosen:
                args[i] = tree_map(fresh, args[i])
            value, aux = without_aux(func(*args, **kwargs), has_aux, name)
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
            if value.dim():
                raise RuntimeError(f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                                   f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            xs = tree_leaves([args[i] for i in chosen])
            if value.requires_grad:
                outside = outside or reaches_others([value, *tree_leaves(aux)], xs)
                found = autograd.grad(value, xs, create_graph=outside, materialize_grads=True)
            else:                                          # a constant
                found = [zeros_like(t) for t in xs]
        remaining = iter(found)
        grads = tuple([tree_map(lambda _: next(remaining), args[i]) for i in chosen])
        if not outside:
            value, aux = detached((value, aux))
        grads = grads if isinstance(argnums, tuple) else grads[0]
        return grads, ((value, aux) if has_aux else value)
    return call


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`, which returns a number; it can be applied again."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return call


def vjp(func, *primals, has_aux=False):
    """``(func(*primals), f)``, where ``f(cotangents)`` is the tuple of products of cotangents and Jacobians."""
    name = "vjp(f, *primals)"
    leaves_of(primals, f"{name}: Expected primals to only contain Tensors")
    flat = Flat(func, primals, has_aux, name)
    outputs, xs, outside = run_recorded(flat)

    def pull(cotangents, retain_graph=True, create_graph=None):
        given, spec = tree_flatten(cotangents)
        if spec != flat.spec:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                               f"to the function. cotangents: {spec}, primal output: {flat.spec}")
        create = outside or is_nested(cotangents) if create_graph is None else create_graph
        return tree_unflatten(gradients(outputs, xs, given, create), flat.args_spec)
    shown, aux = flat.unflatten(outputs), flat.aux
    if not outside:
        shown, aux = detached((shown, aux))
    return (shown, pull, aux) if has_aux else (shown, pull)


def run_recorded(flat):
    """The outputs of `flat` at its arguments, recorded; the tensors that stood for these; and whether a derivative of
    the derivative may be asked for."""
    with differentiating():
        xs = [fresh(x) for x in flat.leaves]
        outputs = flat(*xs)
    return outputs, xs, is_nested(flat.leaves) or reaches_others([*outputs, *tree_leaves(flat.aux)], xs)


def gradients(outputs, inputs, weights, create_graph):
    """The products of `weights` and the Jacobian of `outputs`, zeros where there is no dependence."""
    live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
    if not live:
        return [zeros_like(t) for t in inputs]
    return autograd.grad([o for o, _ in live], inputs, [w for _, w in live], retain_graph=True,
                         create_graph=create_graph, materialize_grads=True)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), product of the Jacobian and the tangents)``, computed forwards, in one pass.

    `primals` and `tangents` are tuples of pytrees of one structure. With `has_aux` `func` returns (output, aux), and
    aux is returned as a third value. An output that depends on no primal has the product zero, or is a RuntimeError if
    `strict`. `jvp` nests, with itself, `grad` and `vmap`.

    >>> import minitorch
    >>> minitorch.func.jvp(minitorch.sin, (minitorch.zeros(1),), (minitorch.ones(1),))
    (tensor([0.]), tensor([1.]))
    """
    name = "jvp(f, primals, tangents)"
    for x, what in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(x, tuple):
            raise RuntimeError(f"{name}: Expected {what} to be a tuple. E.g. it should be valid to call f(*{what}).")
    flat, (given, spec) = Flat(func, primals, has_aux, name), tree_flatten(tangents)
    if spec != flat.args_spec:
        raise RuntimeError(f"{name}: Expected primals and tangents to have the same python structure. For example, if "
                           f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{flat.args_spec} and tangents with structure {spec}")
    for leaves, what in ((flat.leaves, "primals"), (given, "tangents")):
        leaves_of(leaves, f"{name}: Expected {what} to only contain Tensors")
        if not leaves:
            raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor")
    out, product = pushed(flat, given, strict)
    found = flat.unflatten(out), flat.unflatten(product)
    return (*found, flat.aux) if has_aux else found


def pushed(flat, tangents, strict=False):
    """The outputs and the tangents of `flat` at its arguments."""
    with opened() as level:
        for x in flat.leaves:
            if not x.is_floating_point() and not x.is_complex():
                raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
        outputs = flat(*[dual(x, t, level) for x, t in zip(flat.leaves, tangents)])
        values, product = [without_level(out, level) for out in outputs], []
        for out, value in zip(outputs, values):
            tangent = tangent_of(out, level)
            if tangent is None and strict:
                raise RuntimeError(f"{flat.name.replace(')', ', strict=True)')}: The output of f is independent of the "
                                   f"inputs. This is not allowed with strict=True.")
            product.append(zeros_like(value) if tangent is None else tangent)
        flat.aux = tree_map(lambda x: without_level(x, level) if isinstance(x, Tensor) else x, flat.aux)
        return values, product


def linearize(func, *primals):
    """``(func(*primals), f)``, where ``f(*tangents)`` is the product of the Jacobian and the tangents.

    `func` is called once: what `f` needs is kept. Tangents have the structure, shapes and dtypes of the primals, which
    are pytrees; RuntimeError otherwise.
    """
    name = "linearize(f, *primals)"
    leaves_of(primals, f"{name}: Expected primals to only contain Tensors")
    flat = Flat(func, primals, False, name)
    outputs, xs, outside = run_recorded(flat)
    with enable_grad():
        weights = [zeros_like(out).requires_grad_() for out in outputs]
        pulled = gradients(outputs, xs, weights, True)

    def push(*tangents):
        given, spec = tree_flatten(tangents)
        if spec != flat.args_spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals "
                               f"{flat.args_spec}")
        for i, (t, x) in enumerate(zip(given, xs)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(x, what):
                    raise RuntimeError(f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match "
                                       f"the {what} {getattr(x, what)} of the corresponding primal.")
        found = gradients(pulled, weights, given, outside or is_nested(tangents))
        return flat.unflatten(found)
    shown = outputs if outside else detached(outputs)
    return flat.unflatten(shown), push


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`, computed backwards.

    All rows are computed in one backward pass over a batch, or `chunk_size` of them at a time. The result is a pytree
    like the results of `func`, with one like the arguments in place of each tensor, of the shape (output, input). With
    `has_aux` `func` returns (output, aux) and the Jacobian comes with aux.
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def call(*args):
        flat = Chosen(func, argnums, args, has_aux, "vjp(f, *primals)")
        outputs, xs, outside = run_recorded(flat)
        with enable_grad():
            found = flat.jacobian([_functional.rows(out, xs, outside, chunk_size) for out in outputs])
        if not outside:
            found, flat.aux = detached((found, flat.aux))
        return (found, flat.aux) if has_aux else found
    return call


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`, computed forwards.

    The result is that of `jacrev`. All columns are computed at once, by `vmap` of `jvp`, `chunk_size` of them at a time
    (None: all); `randomness` is that of `vmap`. It pays where there are fewer inputs than outputs.

    >>> import minitorch
    >>> minitorch.func.jacfwd(lambda x: x * x)(minitorch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    @functools.wraps(func)
    def call(*args):
        flat = Chosen(func, argnums, args, has_aux, "jvp(f, primals, tangents)")

        def push(*tangents):
            return tuple(pushed(flat, tangents)[1])
        found = flat.jacobian(_functional.columns(push, flat.leaves, randomness=randomness, chunk_size=chunk_size))
        return (found, flat.aux) if has_aux else found
    return call


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`, forward over reverse: ``jacfwd(jacrev(func))``.

    >>> import minitorch
    >>> minitorch.func.hessian(lambda x: (x ** 3).sum())(minitorch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
