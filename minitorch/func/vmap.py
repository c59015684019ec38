"""`vmap`: a function for all elements of a batch at once.

Tensors inside hide a dimension: their arrays are those of `minitorch/backends/batched`, whose ops treat it by rules.
"""

import functools

from .. import Tensor, cat
from ..backends.batched import draws as _draws  # noqa: F401  methods of `BatchedBackend`
from ..backends.batched import kernels as _rules  # noqa: F401  which need the definitions
from ..backends.batched.backend import BatchedBackend
from ..backends.batched.crossing import hide, running, show
from ..backends.batched.loop import vmap_fallbacks
from ..core.errors import out_of_range
from ..core.grad_mode import grad_mode, open_batches
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["vmap", "vmap_fallbacks"]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func`, a function of tensors, for a batch at once: a function of tensors that have one dimension more.

    `func` is called once, with tensors that hide this dimension; each op in it computes all elements of the batch. It
    may not branch on their values: ``.item()`` and ``bool(...)`` raise RuntimeError.

    `in_dims` says which dimension of each argument is mapped over (None: the argument is the same for all), an int for
    all arguments or a pytree as the arguments, `out_dims` where it stands in each output. `randomness` says what random
    functions in `func` do: raise RuntimeError ("error"), draw the "same" numbers for all elements or "different" ones.
    With `chunk_size`, so many elements are computed at a time, which takes less memory. Keyword arguments are passed
    on as they are. ValueError for dimensions that do not fit arguments or outputs.

    >>> import minitorch
    >>> dot = minitorch.vmap(minitorch.dot)
    >>> dot(minitorch.ones(2, 3), minitorch.arange(6.0).reshape(2, 3))
    tensor([ 3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def call(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = batch_dims(func, in_dims, args, leaves)
        size = batch_size(leaves, dims)

        def run(leaves, size):
            return mapped(func, leaves, dims, spec, kwargs, size, out_dims, randomness)
        if chunk_size is None or chunk_size >= size:
            return tree_unflatten(*run(leaves, size)[:2])
        parts = [run([x if d is None else x.narrow(d, i, min(chunk_size, size - i)) for x, d in zip(leaves, dims)],
                     min(chunk_size, size - i)) for i in range(0, size, chunk_size)]
        found = [column[0] if d is None else cat(column, d)
                 for column, d in zip(zip(*[part[0] for part in parts]), parts[0][2])]
        return tree_unflatten(found, parts[0][1])
    return call


def batch_size(leaves, dims):
    """The size of the mapped dimension, which all mapped leaves must share."""
    sizes = [x.array.shape[d] for x, d in zip(leaves, dims) if d is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return sizes[0]


def mapped(func, leaves, dims, spec, kwargs, size, out_dims, randomness):
    """The outputs of `func`, flat, with the mapped dimension shown; their structure; and where it is in each."""
    F: dict = {}                                           # device -> the batched backend of this vmap there
    for x, d in zip(leaves, dims):
        if d is not None and x.device not in F:
            F[x.device] = BatchedBackend(running(x.backend.below), size, randomness)
    hidden = [x if d is None else hide(F[x.device], x, d) for x, d in zip(leaves, dims)]
    with Entered(next(iter(F.values()))):
        out = func(*tree_unflatten(hidden, spec), **kwargs)
    found, out_spec = tree_flatten(out)
    places = result_dims(func, out_dims, found, out_spec)
    return [shown(func, x, d, F) for x, d in zip(found, places)], out_spec, places


class Entered:
    """A block that runs in the batch of a backend."""

    def __init__(self, backend):
        self.backend = backend

    def __enter__(self):
        self.outer = grad_mode.batches
        grad_mode.batches = (*self.outer, self.backend)
        open_batches.append(self.backend)

    def __exit__(self, *exc):
        grad_mode.batches = self.outer
        open_batches.remove(self.backend)


def shown(func, x, dim, F):
    """One output with the mapped dimension at `dim`."""
    if dim is None:
        if isinstance(x, Tensor) and x.backend in F.values():
            raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when "
                             f"out_dim is None")
        return x
    if not isinstance(x, Tensor):
        raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type "
                         f"{type(x)}. Did you mean to set out_dims= to None for output?")
    n = x.dim() + 1
    if not -n <= dim < n:
        raise out_of_range(dim, n)
    some = next(iter(F.values()))
    backend = F.get(x.device) or BatchedBackend(running(x.backend.below), some.size, some.randomness)
    return show(backend, x, dim % n)


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
    """The dimension of each output along which it is stacked; ValueError for `out_dims` that do not fit the outputs."""
    dims = spread(out_dims, tree_unflatten(leaves, spec))
    if dims is None and isinstance(out_dims, (tuple, list)) and len(out_dims) == len(leaves) == 1:
        dims = list(out_dims)
    if dims is None:
        what = ("(<inputs>): out_dims is not compatible with the structure of `outputs`" if isinstance(
            out_dims, (tuple, list, dict)) else ": `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear")
        raise ValueError(f"vmap({name_of(func)}, ..., out_dims={out_dims}){what}.")
    return dims
