"""`vmap`: a function for each element of a batch."""

import functools

from ..core.tensor import Tensor
from ..ops.shapes.join import stack
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["vmap"]


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
