"""Indices of batched arrays: ``x[index]`` and ``x[index] = value`` on raw arrays, as NumPy takes them."""

from ...core.tensor import wrap
from .array import Batched, Unbatched, batched, hold, is_shared, lifted, physical, shared, spread
from .crossing import chain, join

__all__ = ["explicit", "of_all", "read", "write"]

MASK = ("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
        "with a boolean mask.")


def parts_of(index):
    return index if isinstance(index, tuple) else (index,)


def every(parts):
    """The index of a value that takes `parts` of every element of the batch."""
    return (slice(None), *parts)


def is_basic(parts):
    """True if an index consists of integers, slices, None and Ellipsis."""
    for p in parts:
        if not (p is None or p is Ellipsis or p.__class__ is int or isinstance(p, slice)):
            return False
    return True


def read(F, x, index):
    """``x[index]``."""
    parts = parts_of(index)
    if is_basic(parts):
        return batched(F, checked(x, parts)[every(parts)])
    if not x.ndim and all([isinstance(p, bool) or p is None for p in parts]):
        return batched(F, x.value[every(parts)])
    parts = without_masks(F, x, parts)
    if any([p.__class__ is Batched for p in parts]):
        return batched(F, x.value[of_all(F, x, explicit(F, x, parts))])
    return batched(F, one_index(x, parts))


def checked(x, parts):
    """The value, once the index is known to have no more parts than one element of the batch has dimensions."""
    if len(parts) > x.ndim and sum([p is not None and p is not Ellipsis for p in parts]) > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional")
    return x.value


def one_index(x, parts):
    """``value[:, parts]``; NumPy puts the dimensions of index arrays that stand apart before all others."""
    found = checked(x, parts)[every(parts)]
    arrays = [i for i, p in enumerate(parts) if p.__class__ is int or hasattr(p, "ndim") or isinstance(p, (list, bool))]
    if arrays[-1] - arrays[0] + 1 == len(arrays):
        return found
    n = max([getattr(parts[i], "ndim", 0) for i in arrays])
    return x.backend.inner.xp.moveaxis(found, n, 0)


def without_masks(F, x, parts):
    """The parts with arrays of bools as arrays of places, and arrays that are the same for all as ones of below."""
    found = []
    for p in parts:
        if isinstance(p, (list, range)):
            p = F.inner.xp.asarray(p)
        p = own(F, p)
        if p.__class__ is Batched and p.dtype == bool:
            raise Unbatched(MASK)
        if hasattr(p, "ndim") and not isinstance(p, Batched) and p.dtype == bool and p.ndim:
            found += [q.reshape(-1) for q in p.nonzero()]
        else:
            found.append(int(p) if hasattr(p, "ndim") and p.__class__ is not Batched and not p.ndim and
                         p.dtype != bool else p)
    return tuple(found)


def own(F, p):
    """A part of an index as an array of `F` or one below: without the batches in which it is the
    same for all elements, and of this pass, where it was saved in the batch of another."""
    while p.__class__ is Batched and is_shared(p):
        p = shared(p)
    if p.__class__ is not Batched or p.backend is F or p.backend in chain(F.inner):
        return p
    return own(F, join(F, wrap(p, p.backend)).array)


def without_ellipsis(parts, ndim):
    """The parts of an index of `ndim` dimensions, with slices for Ellipsis or at the end."""
    left = ndim - sum([p is not None and p is not Ellipsis for p in parts])
    if left < 0:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional")
    if not any([p is Ellipsis for p in parts]):
        parts = (*parts, Ellipsis)
    whole: list = []
    for p in parts:
        whole += [slice(None)] * left if p is Ellipsis else [p]
    return whole


def explicit(F, x, index):
    """The same index made of arrays only, one for each dimension of `x`, which broadcast to the shape of ``x[index]``.

    They are batched arrays, or arrays of the backend below.
    """
    whole, xp = without_ellipsis(without_masks(F, x, parts_of(index)), x.ndim), F.inner.xp
    arrays = [i for i, p in enumerate(whole) if hasattr(p, "ndim") or p.__class__ is int]
    wide = max([getattr(whole[i], "ndim", 0) for i in arrays], default=0)
    together = bool(arrays) and arrays[-1] - arrays[0] + 1 == len(arrays)
    before = arrays[0] if together else 0                  # dimensions of the result in front of those of the arrays
    slices = [i for i, p in enumerate(whole) if i not in arrays]
    n = len(slices) + wide
    found, dim = [], 0
    for i, p in enumerate(whole):
        if p is None:
            continue
        if i in arrays:
            a, behind = xp.asarray(checked_range(p, x.shape[dim])) if p.__class__ is int else p, n - before - wide
        else:
            place = slices.index(i)
            a, behind = xp.arange(*p.indices(x.shape[dim])), n - 1 - (place + wide if place >= before else place)
        found.append(broad(a.reshape(a.shape + (1,) * behind) if behind else a, n))
        dim += 1
    return found


def of_all(F, x, places):
    """The index of the value of `x` that takes `places`, as `explicit` gives them, of every element of the batch."""
    n = max([p.ndim for p in places], default=0)
    own = F.inner.xp.arange(x.value.shape[0]).reshape((-1,) + (1,) * n)
    return (own, *[spread(F, p, n) for p in places])


def broad(p, n):
    """An index array with `n` dimensions."""
    return p if p.ndim == n else p.reshape((1,) * (n - p.ndim) + tuple(p.shape))


def checked_range(p, size):
    if not -size <= p < size:
        raise IndexError(f"index {p} is out of bounds for axis 0 with size {size}")
    return p


def write(F, x, index, value):
    """``x[index] = value``."""
    parts = tuple([own(F, p) for p in parts_of(index)])
    value = value if value.__class__ is Batched and value.backend is F else lifted(F, value)
    masks = [p for p in parts if p.__class__ is Batched and p.dtype == bool and p.backend is F
             and physical(p).size != p.size]               # it differs, in this batch or one around
    if masks:
        if len(parts) > 1 or value.ndim:
            raise Unbatched(MASK)
        mask = masks[0].reshape(masks[0].shape + (1,) * (x.ndim - masks[0].ndim))
        return F.xp.copyto(x, F.xp.where(mask, value, x), casting="unsafe")
    hold(x, (*parts, value))
    if is_basic(parts):
        n = checked(x, parts)[every(parts)].ndim - 1
        x.value[every(parts)] = spread(F, trimmed(value, n), n)
        return None
    places = of_all(F, x, explicit(F, x, parts))
    n = places[0].ndim - 1
    x.value[places] = spread(F, trimmed(value, n), n)
    return None


def trimmed(value, n):
    """`value` without the leading dimensions of size 1 that it has beyond `n`, which NumPy ignores in a write."""
    extra = value.ndim - n
    if extra > 0 and all([k == 1 for k in value.shape[:extra]]):
        return value.reshape(value.shape[extra:])
    if extra > 0:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into {n} dimensions")
    return value
