"""Op definitions: reductions over dimensions (sums, means, products, counts).

`dim` is an int, a tuple of ints, or None for all dimensions; with `keepdim` the reduced dimensions stay, as size 1.
Extremes are in `extreme.py`, norms in `norms.py`, medians in `indexing/sort.py`, running sums in `cumulative.py`.
"""

from ...core.errors import checked_dim, worded
from ..define import composite, op


# ---- dimensions --------------------------------------------------------------------------------------------
def is_all(dim):
    """True if `dim` stands for all dimensions: None, or an empty list. NumPy's integers cannot be
    compared with ()."""
    return dim is None or isinstance(dim, (tuple, list)) and not dim


def axes(x, dim):
    """`dim` as NumPy takes it: a list as a tuple, an empty one as all, dimension 0 of a number as none."""
    if dim is None or (dim.__class__ is int and x.ndim):
        return dim
    dims = dim if dim.__class__ is tuple else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not dims:
        return None
    for d in dims:
        if d.__class__ is not int or not 0 <= d < x.ndim:
            break
    else:
        if len(set(dims)) == len(dims):
            return dims
    found = tuple([checked_dim(d, x.ndim) for d in dims])
    if len(set(found)) < len(found):
        n = x.ndim or 1
        raise RuntimeError(f"dim {max(dims, key=[d % n for d in dims].count)} appears multiple times in the list of "
                           f"dims {list(dims)}")
    return found if x.ndim else None


def size_along(x, dim):
    """The size along one dimension, 1 for a number; IndexError if there is no such dimension."""
    dim = checked_dim(dim, x.ndim)
    return x.shape[dim] if x.ndim else 1


def restore(F, g, dim, keepdim, shape):
    """`g` with the reduced dimensions back in place, as size 1."""
    if keepdim or not shape or is_all(dim):
        return g
    dims = {d % len(shape) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    return F.reshape(g, shape=tuple([1 if i in dims else n for i, n in enumerate(shape)]))


def expanded(F, g, dim, keepdim, shape):
    """The gradient of a sum: `g` expanded along the reduced dimensions."""
    return F.expand(restore(F, g, dim, keepdim, shape), size=shape)


def count(shape, dim):
    """The number of elements that are reduced to one."""
    if dim.__class__ is int and shape:
        return shape[checked_dim(dim, len(shape))]
    n = 1
    if is_all(dim):
        dim = range(len(shape))
    for d in dim if isinstance(dim, (tuple, list, range)) else (dim,):
        n *= shape[d] if shape else 1
    return n


def sum_dtype(x):
    """The dtype that sums and products of `x` are computed in: int64 for integers and bools, else its own (None)."""
    return None if x.dtype.kind in "fcV" else "int64"


# ---- sums and means ----------------------------------------------------------------------------------------
@op(casts=True, dims="* dim -> *", layout="contiguous", promotion="any", autocast="float32 on cuda",
    inline=True,
    input=lambda F, g, dim, keepdim, input_shape: expanded(F, g, dim, keepdim, input_shape))
def sum(F, input, *, dim=None, keepdim=False, dtype=None):
    """The sum over `dim`. Integers and bools are summed in int64."""
    return F.xp.add.reduce(input, axes(input, dim), sum_dtype(input), None, keepdim)


@op(casts=True, dims="* dim -> * by avg", layout="contiguous", promotion="any", inline=True,
    input=lambda F, g, dim, keepdim, input_shape: expanded(
    F, g / (count(input_shape, dim) or 1), dim, keepdim, input_shape))
def mean(F, input, *, dim=None, keepdim=False, dtype=None):
    """The mean over `dim`; of floating-point tensors only, unless `dtype` says what to compute in."""
    check_floating(input)
    total = F.xp.add.reduce(input, axes(input, dim), None, None, keepdim)
    return total / (count(input.shape, dim) or float("nan"))


def check_floating(x):
    if x.dtype.kind not in "fcV":
        raise RuntimeError(f"mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           f"complex dtype. Got: {x.dtype}; use x.float().mean() or mean(dtype=...)")


# ---- without NaN -------------------------------------------------------------------------------------------
@op(casts=True, dims="* dim -> *", layout="contiguous", promotion="any", refuses="c",
    input=lambda F, g, input, dim, keepdim, input_shape: (
    expanded(F, g, dim, keepdim, input_shape) * (input == input)))
def nansum(F, input, *, dim=None, keepdim=False, dtype=None):
    """The sum over `dim`, NaN counting as 0. Integers and bools are summed in int64."""
    return F.sum(F.xp.where(input == input, input, input.dtype.type(0)), dim=dim, keepdim=keepdim)


@composite(out=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over `dim` of what is not NaN; NaN if nothing else is there."""
    if not input.is_floating_point():
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got "
                           f"{input.dtype.name}: convert it first, as in x.float().nanmean()")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)


@op(dims="* dim -> *", layout="contiguous")
def count_nonzero(F, input, *, dim=None):
    """How many elements are not zero, over `dim`; NaN is not zero."""
    return F.xp.count_nonzero(input, axes(input, dim))


# ---- products ----------------------------------------------------------------------------------------------
def products_of_others(F, x, dim):
    """For each element the product of all others along `dim`, without dividing: those before it times those after."""
    before = F.shift(F.cumprod(x, dim=dim), by=1, dim=dim, fill=1)
    x = F.flip(x, dims=(dim,))
    return before * F.flip(F.shift(F.cumprod(x, dim=dim), by=1, dim=dim, fill=1), dims=(dim,))


def product_slope(F, g, input, dim, keepdim, shape):
    if not shape:
        return g
    if is_all(dim):
        flat = products_of_others(F, F.reshape(input, shape=(-1,)), 0)
        return F.reshape(g * flat, shape=shape)
    return restore(F, g, dim, keepdim, shape) * products_of_others(F, input, dim)


@op(casts=True, dims="* dim -> * by product", complex="holomorphic", layout="contiguous",
    promotion="any", autocast="float32", input=lambda F, g, input, dim, keepdim, input_shape: product_slope(
    F, g, input, dim, keepdim, input_shape))
def prod(F, input, *, dim=(), keepdim=False, dtype=None):
    """The product over `dim`, one dimension or, by default, all. Integers and bools are multiplied in int64."""
    if dim is None:
        raise worded(TypeError("prod(): argument 'dim' must be int, not NoneType"))
    return F.xp.multiply.reduce(input, axes(input, dim), sum_dtype(input), None, keepdim)


# ---- in logarithms -----------------------------------------------------------------------------------------
@op(dims="* [dim] -> * by max", complex="holomorphic", layout="contiguous", promotion="float",
    autocast="float32 on cuda", input=lambda F, g, input, out, dim, keepdim, input_shape: (
    restore(F, g, dim, keepdim, input_shape) * F.exp(input - restore(F, out, dim, keepdim, input_shape))))
def logsumexp(F, input, *, dim, keepdim=False):
    """``log(exp(input).sum(dim))``, shifted by the maximum so that it cannot overflow. An empty sum gives -inf."""
    if dim is None:
        raise worded(TypeError("logsumexp(): argument 'dim' must be int or tuple of ints, not NoneType"))
    xp, dim = F.xp, axes(input, dim)
    top = xp.maximum.reduce(input.real, dim, None, None, True, initial=-float("inf"))
    top = xp.where(xp.isfinite(top), top, top.dtype.type(0))
    out = xp.asarray(input - top)
    out = xp.log(F.sum(xp.exp(out, out=out), dim=dim, keepdim=keepdim))
    return out + (top if keepdim else top.reshape(out.shape))
