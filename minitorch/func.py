"""Functions of functions, ``torch.func``: gradients, Jacobians, products with them, mapping over a batch.

Derivatives are built from `autograd.grad`. `vmap` calls the function for each element of the batch and stacks the
results: the meaning is PyTorch's, the speed is that of a loop.
"""

import functools

from .autograd import api
from .autograd import functional as _functional
from .autograd.grad_mode import enable_grad
from .core.tensor import Tensor
from .ops.shapes.join import stack
from .utils._pytree import tree_leaves, tree_map

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


# ---- derivatives -------------------------------------------------------------------------------------------
def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient of `func` with respect to its arguments `argnums`, value of `func`)."""
    @functools.wraps(func)
    def call(*args, **kwargs):
        chosen = argnums if isinstance(argnums, tuple) else (argnums,)
        with enable_grad():
            args = list(args)
            for i in chosen:
                args[i] = tree_map(lambda t: t.view_as(t) if t.requires_grad else t.detach().requires_grad_(), args[i])
            value = func(*args, **kwargs)
            value, aux = value if has_aux else (value, None)
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise RuntimeError("Expected the function given to grad_and_value to return a tensor with one element")
            xs = tree_leaves([args[i] for i in chosen])
            found = iter(api.grad(value, xs, create_graph=True, materialize_grads=True))
        grads = tuple([tree_map(lambda _: next(found), args[i]) for i in chosen])
        outside = any(isinstance(t, Tensor) and t.requires_grad and t.node is not None for t in tree_leaves(args))
        if not outside:
            grads, value = tree_map(lambda t: t.detach(), grads), value.detach()
        grads = grads if isinstance(argnums, tuple) else grads[0]
        return grads, ((value, aux) if has_aux else value)
    return call


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of `func`, which has one element of output; it can be applied again."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found
    return call


def vjp(func, *primals, has_aux=False):
    """``(func(*primals), f)``, where ``f(cotangents)`` is the tuple of products of cotangents and Jacobians."""
    with enable_grad():
        xs = [tree_map(lambda t: t.detach().requires_grad_(), p) for p in primals]
        out = func(*xs)
        out, aux = out if has_aux else (out, None)

    def pull(cotangents, retain_graph=True, create_graph=None):
        flat = tree_leaves(xs)
        found = iter(api.grad(tree_leaves(out), flat, tree_leaves(cotangents), retain_graph=retain_graph,
                                 create_graph=bool(create_graph), materialize_grads=True))
        return tuple([tree_map(lambda _: next(found), x) for x in xs])
    shown = tree_map(lambda t: t.detach(), out)
    return (shown, pull, aux) if has_aux else (shown, pull)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``(func(*primals), product of the Jacobian and the tangents)``."""
    aux = []

    def plain(*xs):
        out = func(*xs)
        if has_aux:
            aux.append(out[1])
            out = out[0]
        return out
    out, product = _functional.jvp(plain, tuple(primals), tuple(tangents), strict=strict)
    return (out, product, aux[0]) if has_aux else (out, product)


def linearize(func, *primals):
    """``(func(*primals), f)``, where ``f(*tangents)`` is the product of the Jacobian and the tangents."""
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`."""
    def call(*args):
        chosen, aux = argnums if isinstance(argnums, tuple) else (argnums,), []

        def plain(*xs):
            full = list(args)
            for i, x in zip(chosen, xs):
                full[i] = x
            out = func(*full)
            if has_aux:
                aux.append(out[1])
                out = out[0]
            return out
        xs = tuple([args[i] for i in chosen])
        nested = any(t.requires_grad for t in xs)
        found = _functional.jacobian(plain, xs if isinstance(argnums, tuple) else xs[0], create_graph=nested)
        return (found, aux[0]) if has_aux else found
    return call


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """The same Jacobian as `jacrev`: there is no forward mode here."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    """A function that returns the second derivatives of `func`: the Jacobian of its Jacobian."""
    def call(*args):
        args = tuple([a.detach().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a
                      for a in args])
        found = jacrev(jacrev(func, argnums), argnums)(*args)
        return tree_map(lambda t: t.detach(), found)
    return call


# ---- a batch -----------------------------------------------------------------------------------------------
def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` for each element of a batch: dimension `in_dims` of each argument (None: the same for all), stacked."""
    @functools.wraps(func)
    def call(*args, **kwargs):
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise ValueError(f"vmap: in_dims has {len(dims)} entries for {len(args)} arguments")
        sizes = {t.shape[d] for a, d in zip(args, dims) if d is not None for t in tree_leaves(a)}
        if len(sizes) != 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{sorted(sizes)}" if sizes else "vmap: at least one argument must be mapped over")
        parts = [func(*[a if d is None else tree_map(lambda t, d=d, i=i: t.select(d, i), a)
                        for a, d in zip(args, dims)], **kwargs) for i in range(sizes.pop())]
        places = out_dims if isinstance(out_dims, (tuple, list)) else out_dims
        if isinstance(places, (tuple, list)):
            return tuple([tree_map(lambda *ts, d=d: stack(ts, d), *[p[k] for p in parts])
                          for k, d in enumerate(places)])
        return tree_map(lambda *ts: stack(ts, places), *parts)
    return call


# ---- modules -----------------------------------------------------------------------------------------------
def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with other parameters and buffers, given by name; gradients flow to them."""
    given = parameter_and_buffer_dicts
    given = {k: v for d in given for k, v in d.items()} if isinstance(given, (tuple, list)) else dict(given)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if strict:
        known = {*dict(module.named_parameters()), *dict(module.named_buffers())}
        if known != set(given):
            raise RuntimeError(f"Missing key(s): {sorted(known - set(given))}, unexpected key(s): "
                               f"{sorted(set(given) - known)}.")
    outer = []
    try:
        for name, value in given.items():
            owner, _, leaf = name.rpartition(".")
            place = module.get_submodule(owner)
            store = place._parameters if leaf in place._parameters else place._buffers
            if leaf not in store:
                raise AttributeError(f"{type(module).__name__} has no parameter or buffer {name!r}")
            outer.append((store, leaf, store[leaf]))
            store[leaf] = value
        return module(*args, **(kwargs or {}))
    finally:
        for store, leaf, value in reversed(outer):
            store[leaf] = value


def stack_module_state(models):
    """Parameters and buffers of several models of one architecture, stacked, as two dicts."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    params = {k: stack([dict(m.named_parameters())[k].detach() for m in models]).requires_grad_()
              for k, _ in models[0].named_parameters()}
    buffers = {k: stack([dict(m.named_buffers())[k] for m in models]) for k, _ in models[0].named_buffers()}
    return params, buffers


def replace_all_batch_norm_modules_(root):
    """Let every batch norm in `root` use the statistics of its batch only, without running ones."""
    for module in root.modules():
        if hasattr(module, "running_mean") and hasattr(module, "track_running_stats"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
