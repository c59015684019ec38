"""Rules of jagged tensors: sums, extrema, softmax and the like, along any dimension.

Along the ragged dimension they work on a padded tensor, filled with what does not count. The batch is reduced together
with the ragged dimension, or not at all.
"""

import math

from ... import Tensor, iinfo
from ...answering import name_of
from .rules import along_dense, arguments, first, not_there, pointwise, rule

__all__: list = []

FILL: dict = {}                                            # name of a function: what changes nothing in it


def fill(value, names):
    """Enter rules for reductions or, of what keeps the shape, the same behind ``->``, with their `value` to fill."""
    less, _, same = names.partition("->")
    FILL.update(dict.fromkeys([*less.split(), *same.split()], value))
    rule(less)(reduced)
    rule(same)(kept)


def filling(name, nt):
    """The value that does not count: of whole numbers the least or largest, where for floats it is infinite."""
    fill = FILL[name]
    if nt.is_floating_point() or not math.isinf(fill):
        return fill
    if nt.dtype.np.kind == "b":
        return fill > 0
    return iinfo(nt.dtype).min if fill < 0 else iinfo(nt.dtype).max


def dims_of(func, nt, dim):
    """The dimensions to reduce, counted from the front, and which kinds are among them."""
    dims = tuple([nt.dim_of(d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))])
    batch, ragged = 0 in dims, nt._ragged_idx in dims
    if batch and not ragged:
        raise RuntimeError(f"{name_of(func)}(): reducing along the batch dimension but not the ragged dimension is not "
                           f"supported for nested tensors")
    return dims, batch, ragged


def reduced(func, *args, **kwargs):
    """A reduction over all elements, over dense dimensions, the ragged one, or the batch and the ragged one."""
    given = {**arguments(func, args, kwargs)}
    nt, name = first([args, kwargs]), name_of(func)
    if name in ("max", "min") and (len(args) > 1 and isinstance(args[1], Tensor) or "other" in kwargs):
        return pointwise(func, *args, **kwargs)
    dim = given.pop("dim", None)
    if dim is not None and (not isinstance(dim, (tuple, list)) or dim):
        return reduced_along(func, nt, dim, args, kwargs)
    options = {k: kwargs[k] for k in ("dtype",) if k in kwargs}
    if given.get("keepdim"):
        raise RuntimeError(f"{name}(): a reduction over all elements of a nested tensor keeps no dimensions")
    return func(nt.packed()._inner, **options)


def reduced_along(func, nt, dim, args, kwargs):
    dims, batch, ragged = dims_of(func, nt, dim)
    if not ragged:
        return along_dense(func, *args, **kwargs)
    given, name = {**arguments(func, args, kwargs)}, name_of(func)
    options = {k: given[k] for k in ("keepdim", "dtype") if given.get(k)}
    if batch:
        inner = func(nt.packed()._inner, dim=tuple([d - 1 for d in dims if d]), **options)
        return inner.unsqueeze(0) if given.get("keepdim") else inner
    if len(dims) > 1:
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested "
                           f"tensors")
    if name == "mean":
        return mean_of_elements(nt, dims[0], **options)
    if math.isinf(FILL[name]) and name != "logsumexp" and not nt._get_min_seqlen():
        raise IndexError(f"{name}(): Expected reduction dim {dims[0]} to have non-zero size for every element")
    return func(nt.padded(filling(name, nt)), dim=dims[0], **options)


def mean_of_elements(nt, dim, keepdim=False, dtype=None):
    """The sum of each element along the ragged dimension, over its length."""
    sums = nt.sum(dim, keepdim=keepdim, dtype=dtype)
    lengths = sums.new_tensor(nt.sizes())
    return sums / lengths.view(-1, *[1] * (sums.dim() - 1))


def kept(func, *args, **kwargs):
    """Ops that keep the shape: along a dense dimension, or along the ragged one, in a padded tensor."""
    given = {**arguments(func, args, kwargs)}
    nt, name = first([args, kwargs]), name_of(func)
    if given.get("dim") is None:
        raise not_there(name, " without dim")
    if nt.dim_of(given["dim"]) == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    dims, _, ragged = dims_of(func, nt, given["dim"])
    if not ragged:
        return along_dense(func, *args, **kwargs)
    options = {k: kwargs[k] for k in ("dtype",) if k in kwargs}
    return nt.packed().like(nt.unpadded(func(nt.padded(filling(name, nt)), dim=dims[0], **options)))


fill(0, "sum nansum count_nonzero mean -> cumsum")
fill(1, "prod -> cumprod")
fill(False, "any")
fill(True, "all")
fill(-math.inf, "amax max argmax logsumexp -> softmax log_softmax")
fill(math.inf, "amin min argmin")
