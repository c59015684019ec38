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
from .utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


# ---- derivatives -------------------------------------------------------------------------------------------
def positions(argnums, n):
    """`argnums` as a tuple; an error for what is no position among `n` arguments."""
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)
    if not chosen or not all([isinstance(i, int) for i in chosen]):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for i in chosen:
        if not -n <= i < n:
            raise RuntimeError(f"Got argnum={i}, but only {n} positional inputs")
    return chosen


def without_aux(result, has_aux, name):
    """(output, auxiliary output) of a function's result."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def leaves_of(tree, text):
    """The tensors of a pytree; RuntimeError, beginning with `text`, if anything else is among its leaves."""
    leaves = tree_leaves(tree)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{text}, got unsupported type {type(x)}")
    return leaves


def detached(tree):
    """A pytree with its tensors without their graphs."""
    return tree_map(lambda t: t.detach() if isinstance(t, Tensor) else t, tree)


def is_nested(trees):
    """Whether a tensor in `trees` requires grad: a derivative of the derivative may be asked for."""
    return any([isinstance(t, Tensor) and t.requires_grad for t in tree_leaves(trees)])


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient of `func` with respect to its arguments `argnums`, value of `func`)."""
    name = "grad_and_value(f)(*args)"

    @functools.wraps(func)
    def call(*args, **kwargs):
        chosen, outside = positions(argnums, len(args)), is_nested(args)
        with enable_grad():
            args = list(args)
            for i in chosen:
                args[i] = tree_map(lambda t: t.view_as(t) if t.requires_grad else t.detach().requires_grad_(), args[i])
            value, aux = without_aux(func(*args, **kwargs), has_aux, name)
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
            if value.dim():
                raise RuntimeError(f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with "
                                   f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            xs = tree_leaves([args[i] for i in chosen])
            if value.requires_grad:
                found = api.grad(value, xs, create_graph=True, materialize_grads=True)
            else:                                          # a constant
                found = [t.detach().new_zeros(t.shape) for t in xs]
        remaining = iter(found)
        grads = tuple([tree_map(lambda _: next(remaining), args[i]) for i in chosen])
        if not outside:
            grads, value, aux = detached((grads, value, aux))
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
    outside = is_nested(primals)
    with enable_grad():
        xs = tree_map(lambda t: t.view_as(t) if t.requires_grad else t.detach().requires_grad_(), primals)
        out, aux = without_aux(func(*xs), has_aux, name)
    leaves, spec = tree_flatten(out)
    leaves_of(out, f"{name}: expected f(*primals) to return only tensors")

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


class Flat:
    """A function of pytrees as one of tensors that returns a tuple of tensors; it keeps what else was returned."""

    def __init__(self, func, args, has_aux, name):
        self.func, self.has_aux, self.name = func, has_aux, name
        self.leaves, self.args_spec = tree_flatten(args)

    def __call__(self, *leaves):
        out, self.aux = without_aux(self.func(*tree_unflatten(leaves, self.args_spec)), self.has_aux, self.name)
        flat, self.spec = tree_flatten(out)
        leaves_of(out, f"{self.name}: expected f(*primals) to return only tensors")
        return tuple(flat)

    def unflatten(self, leaves):
        """The tuple of tensors that it returned, or one like it, in the structure of the function's result."""
        return tree_unflatten(list(leaves), self.spec)


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
    """A function that returns the Jacobian of `func` with respect to its arguments `argnums`."""
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
        flat, nested = Flat(of_chosen, xs, has_aux, "vjp(f, *primals)"), is_nested(xs)
        rows = _functional.jacobian(flat, tuple(flat.leaves), create_graph=nested)
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


# ---- a batch -----------------------------------------------------------------------------------------------
def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` for each element of a batch: dimension `in_dims` of each argument (None: the same for all), stacked."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @functools.wraps(func)
    def call(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = batch_dims(func, in_dims, args, leaves)
        sizes = {t.shape[d] for t, d in zip(leaves, dims) if d is not None}
        if len(sizes) > 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{[t.shape[d] for t, d in zip(leaves, dims) if d is not None]} for the mapped dimension")
        n = sizes.pop()

        def example(i):
            chosen = [t if d is None else t.select(d, i) if n else t.new_zeros((*t.shape[:d], *t.shape[d:][1:]))
                      for t, d in zip(leaves, dims)]
            return func(*tree_unflatten(chosen, spec), **kwargs)
        parts = [tree_flatten(example(i)) for i in range(n or 1)]
        out_spec = parts[0][1]
        found = [side_by_side(func, [part[0][k] for part in parts], d, n)
                 for k, d in enumerate(result_dims(func, out_dims, parts[0][0], out_spec))]
        return tree_unflatten(found, out_spec)
    return call


def side_by_side(func, values, dim, n):
    """One output for all examples, stacked along `dim`."""
    for value in values:
        if not isinstance(value, Tensor):
            raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type "
                             f"{type(value)}. Did you mean to set out_dims= to None for output?")
    return values[0] if dim is None else stack(values, dim).narrow(dim, 0, n)


def name_of(func):
    return getattr(func, "__name__", repr(func))


def spread(dims, tree):
    """One entry of `dims` for each leaf of `tree`, whose structure it may have in part; None where it does not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_leaves(tree))
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        pairs = [(dims[k], tree[k]) for k in tree]
    elif isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)) and len(dims) == len(tree):
        pairs = list(zip(dims, tree))
    else:
        return None
    found = [spread(d, x) for d, x in pairs]
    return None if None in found else [d for some in found for d in some]


def batch_dims(func, in_dims, args, leaves):
    """The mapped dimension of each leaf, from the front; ValueError for what cannot be mapped."""
    where = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
                         f"structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                         f"trying to vmap over a function with no inputs. The latter is unsupported.")
    dims = spread(in_dims, args)
    if dims is None:
        raise ValueError(f"{where}: in_dims is not compatible with the structure of `inputs`.")
    found: list = []
    for x, d in zip(leaves, dims):
        if d is not None and not isinstance(x, Tensor):
            raise ValueError(f"{where}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap "
                             f"over non-Tensor arguments, please use None as the respective in_dim")
        if d is not None and not -x.dim() <= d < x.dim():
            raise ValueError(f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality "
                             f"{x.dim()} so expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}.")
        found.append(None if d is None else d % x.dim())
    if all([d is None for d in found]):
        raise ValueError(f"{where}: at least one argument must be mapped over")
    return found


def result_dims(func, out_dims, leaves, spec):
    """Along which dimension each output is stacked; ValueError for what is none."""
    dims = spread(out_dims, tree_unflatten(leaves, spec))
    if dims is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == len(leaves) == 1:
        dims = list(out_dims)
    if dims is None:
        what = ("(<inputs>): out_dims is not compatible with the structure of `outputs`" if isinstance(
            out_dims, (tuple, list, dict)) else ": `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear")
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}){what}.")
    return dims


# ---- modules -----------------------------------------------------------------------------------------------
def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Call a module with other parameters and buffers, given by name; gradients flow to them.

    Other names than those of parameters and buffers are attributes for the time of the call, unless `strict`.
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, (tuple, list)):
        names = [k for d in given for k in d]
        repeated = [k for k in dict.fromkeys(names) if names.count(k) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    given = {k: v for d in given for k, v in d.items()} if isinstance(given, (tuple, list)) else dict(given)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    if strict:
        check_names(module, given)
    outer: list = []
    try:
        for name, value in given.items():
            owner, _, leaf = name.rpartition(".")
            if not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            place = module.get_submodule(owner)
            store = next((d for d in (place._parameters, place._buffers) if leaf in d), place.__dict__)
            outer.append((store, leaf, store.get(leaf, outer)))
            store[leaf] = value
        return module(*args, **(kwargs or {}))
    finally:
        for store, leaf, value in reversed(outer):
            if value is outer:                             # it was not there before
                del store[leaf]
            else:
                store[leaf] = value


def check_names(module, given):
    """RuntimeError unless the names are those of all parameters and buffers."""
    known = {*dict(module.named_parameters()), *dict(module.named_buffers())}
    lines = [f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}."
             for what, names in (("Unexpected", set(given) - known), ("Missing", known - set(given))) if names]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}")


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
