"""Gradients, products with Jacobians, Jacobians and Hessians of functions of pytrees."""

import functools

from ..autograd import api
from ..autograd import functional as _functional
from ..autograd.grad_mode import enable_grad
from ..autograd.recording import behind
from ..backends.batched.crossing import entered
from ..core.tensor import Tensor
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from .arguments import Flat, detached, is_nested, leaves_of, positions, without_aux

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def fresh(t):
    """A tensor to differentiate with respect to, in place of an argument."""
    t = entered(t)
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


def is_outside(outputs, inputs):
    """Whether tensors depend on leaves other than `inputs`: on a larger graph, in which a derivative has its place."""
    roots = [t.node or t for t in outputs if t.requires_grad]
    own = {id(t) for t in inputs}
    return any([not place.parents and id(place) not in own for place in behind(roots)])


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient of `func` with respect to its arguments `argnums`, value of `func`)."""
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def call(*args, **kwargs):
        chosen = positions(argnums, len(args))
        with enable_grad():
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
            outside = is_outside([value], xs)
            if value.requires_grad:
                found = api.grad(value, xs, create_graph=outside, materialize_grads=True)
            else:                                          # a constant
                found = [t.detach().new_zeros(t.shape) for t in xs]
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
    with enable_grad():
        xs = tree_map(fresh, primals)
        out, aux = without_aux(func(*xs), has_aux, name)
    leaves, spec = tree_flatten(out)
    leaves_of(out, f"{name}: expected f(*primals) to return only tensors")
    outside = is_outside(leaves, tree_leaves(xs))

    def pull(cotangents, retain_graph=True, create_graph=None):
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                               f"to the function. cotangents: {given_spec}, primal output: {spec}")
        create = outside or is_nested(cotangents) if create_graph is None else create_graph
        found = iter(gradients(leaves, tree_leaves(xs), given, create))
        return tuple([tree_map(lambda _: next(found), x) for x in xs])
    shown = out if outside else detached(out)
    return (shown, pull, aux if outside else detached(aux)) if has_aux else (shown, pull)


def gradients(outputs, inputs, weights, create_graph):
    """The products of `weights` and the Jacobian of `outputs`, zeros where there is no dependence."""
    live = [(o, w) for o, w in zip(outputs, weights) if o.requires_grad]
    if not live:
        return [t.detach().new_zeros(t.shape) for t in inputs]
    return api.grad([o for o, _ in live], inputs, [w for _, w in live], retain_graph=True, create_graph=create_graph,
                    materialize_grads=True)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), product of the Jacobian and the tangents)``."""
    name = "jvp(f, primals, tangents)"
    for x, what in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(x, tuple):
            raise RuntimeError(f"{name}: Expected {what} to be a tuple. E.g. it should be valid to call f(*{what}).")
    leaves_of(primals, f"{name}: Expected primals to only contain Tensors")
    flat = Flat(func, primals, has_aux, name)
    given, spec = tree_flatten(tangents)
    if spec != flat.args_spec:
        raise RuntimeError(f"{name}: Expected primals and tangents to have the same python structure. For example, if "
                           f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{flat.args_spec} and tangents with structure {spec}")
    nested = is_nested((primals, tangents))
    out, product = _functional.jvp(flat, tuple(flat.leaves), tuple(given), create_graph=nested, strict=strict)
    found = flat.unflatten(out), flat.unflatten(product)
    return (*found, flat.aux if nested else detached(flat.aux)) if has_aux else found


def linearize(func, *primals):
    """``(func(*primals), f)``, where ``f(*tangents)`` is the product of the Jacobian and the tangents."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`.

    All rows are computed in one backward pass over a batch, or `chunk_size` of them at a time.
    """
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def call(*args):
        chosen = positions(argnums, len(args))

        def of_chosen(*xs):
            full = list(args)
            for i, x in zip(chosen, xs):
                full[i] = x
            return func(*full)
        xs = tuple([args[i] for i in chosen])
        leaves_of(xs, "vjp(f, *primals): Expected primals to only contain Tensors")
        flat = Flat(of_chosen, xs, has_aux, "vjp(f, *primals)")
        with enable_grad():
            leaves = [fresh(t) for t in flat.leaves]
            outputs = flat(*leaves)
            nested = is_outside(outputs, leaves)
            rows = [_functional.rows(out, leaves, nested, chunk_size=chunk_size) for out in outputs]
        by_argument = [tree_unflatten(list(row), flat.args_spec) for row in rows]
        found = flat.unflatten([row if isinstance(argnums, tuple) else row[0] for row in by_argument])
        return (found, flat.aux if nested else detached(flat.aux)) if has_aux else found
    return call


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """The same Jacobian as `jacrev`: there is no forward mode here."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`: the Jacobian of its Jacobian."""
    @functools.wraps(func)
    def call(*args):
        nested = is_nested(args)
        if not nested:
            args = tree_map(lambda a: a.detach().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point()
                            else a, args)
        found = jacrev(jacrev(func, argnums), argnums)(*args)
        return found if nested else detached(found)
    return call
