"""Op definitions: extremes (the largest and smallest elements and their indices), `all` and `any`.

Equal elements share the gradient of `amax`, `amin` and of the extreme of a whole tensor; the extreme along one
dimension passes it to the element whose index it returns. NaN counts as both the largest and the smallest. All NaN
share the gradient of the extreme of a whole tensor then, while that of `amax` and `amin` is NaN, as in PyTorch.
"""

from ... import return_types
from ...core.errors import worded
from ...core.op import Other
from ...core.tensor import Tensor
from ..define import composite, op
from ..elementwise.compare import maximum, minimum
from .reduce import axes, count, expanded, is_all, restore


def check_not_empty(name, x, dim):
    """An extreme of nothing is not defined."""
    if x.size or not count(x.shape, dim) == 0:
        return
    if is_all(dim):
        raise worded((IndexError if name.startswith("arg") else RuntimeError)(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            f"the 'dim' argument."))
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if x.shape and x.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


# ---- values: ties share the gradient -----------------------------------------------------------------------
def shared(F, g, out, input, dim, keepdim, shape):
    """Distribute the gradient of an extreme evenly over the elements that attain it."""
    at = F.to(input == expanded(F, out, dim, keepdim, shape), dtype=g.dtype)
    n = F.sum(at, dim=all_dims(dim, shape), keepdim=True)
    return restore(F, g, dim, keepdim, shape) / n * at


def all_dims(dim, shape):
    return tuple(range(len(shape))) if is_all(dim) else dim


@op(dims="* dim -> * by max", layout="contiguous",
    promotion="any", refuses="c", kinks="ties", input=lambda F, g, out, input, dim, keepdim, input_shape: shared(
    F, g, out, input, dim, keepdim, input_shape))
def amax(F, input, *, dim=(), keepdim=False):
    """The largest element over `dim` (all dimensions by default)."""
    check_not_empty("amax", input, dim)
    return F.xp.maximum.reduce(input, axes(input, dim), None, None, keepdim)


@op(dims="* dim -> * by min", layout="contiguous",
    promotion="any", refuses="c", kinks="ties", input=lambda F, g, out, input, dim, keepdim, input_shape: shared(
    F, g, out, input, dim, keepdim, input_shape))
def amin(F, input, *, dim=(), keepdim=False):
    """The smallest element over `dim` (all dimensions by default)."""
    check_not_empty("amin", input, dim)
    return F.xp.minimum.reduce(input, axes(input, dim), None, None, keepdim)


@op(dims="*",
    namespace=None, promotion="any",
    sample=lambda d: ([d.integers((2, 3), 0, 2), d.integers((2, 1), 0, 2)], {}))
def attains(F, input: Other, value: Other):
    """True where `input` equals `value`, one of its elements; NaN equals NaN."""
    return (input == value) | (F.xp.isnan(input) & F.xp.isnan(value))


def shared_of_all(F, g, input, out):
    """Distribute the gradient of an extreme or the median of all elements evenly over those that are equal to it."""
    at = F.attains(input, out)
    return F.where(at, g / F.sum(F.to(at, dtype=g.dtype)), 0.0)


@op(dims="x.. -> by max",
    namespace=None, node_name="MaxBackward0", promotion="any", refuses="c", kinks="ties",
    sample=lambda d: ([d.distinct((2, 3))], {}), input=lambda F, g, input, out: shared_of_all(F, g, input, out))
def largest(F, input):
    """The largest of all elements."""
    return F.amax(input)


@op(dims="x.. -> by min",
    namespace=None, node_name="MinBackward0", promotion="any", refuses="c", kinks="ties",
    sample=lambda d: ([d.distinct((2, 3))], {}), input=lambda F, g, input, out: shared_of_all(F, g, input, out))
def smallest(F, input):
    """The smallest of all elements."""
    return F.amin(input)


# ---- positions ---------------------------------------------------------------------------------------------
@op(dims="* [dim] -> * by max", refuses="c")
def argmax(F, input, *, dim=None, keepdim=False):
    """The index of the largest element along `dim`, or in the flattened tensor; the first one of several."""
    return place_of(F, "argmax", input, dim, keepdim)


@op(dims="* [dim] -> * by min", refuses="c")
def argmin(F, input, *, dim=None, keepdim=False):
    """The index of the smallest element along `dim`, or in the flattened tensor; the first one of several."""
    return place_of(F, "argmin", input, dim, keepdim)


def place_of(F, name, input, dim, keepdim):
    if input.dtype.kind == "b":
        raise RuntimeError(f'"{name}_cpu" not implemented for \'Bool\': convert it first, as in x.int()')
    if not input.size:
        check_not_empty(name, input, dim)
    if not input.ndim:
        axes(input, dim)
        return F.xp.zeros((), "int64")
    axes(input, dim)
    return getattr(F.xp, name)(input, dim, keepdims=keepdim)


@op(dims="* [dim] -> *, *", layout="contiguous", node_name="ExtremeAlongBackward0", namespace=None,
    promotion="any", refuses="c", outputs=(True, False), kinks="ties",
    joint=lambda F, g, needs, out1, input_shape, dim, keepdim: (put_back(F, g[0], out1, input_shape, dim, keepdim),),
    sample=lambda d: ([d.distinct((2, 3))], dict(dim=d.int(-2, 1), keepdim=d.bool(),
                                                 name=d.choice(["argmax", "argmin"]))))
def extremum(F, input, *, dim, keepdim, name):
    """The extreme along one dimension, by the index that `name` ("argmax" or "argmin") gives, and that index."""
    if not input.ndim:
        return input.copy(), F.xp.zeros((), "int64")
    x = input.view("uint8") if input.dtype.kind == "b" else input
    index = getattr(F.xp, name)(x, dim, keepdims=True)
    values = F.xp.take_along_axis(input, index, dim) if input.ndim > 1 else input[index]
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def put_back(F, g, index, shape, dim, keepdim):
    """Put the gradient at the chosen positions, zero elsewhere."""
    if not shape:
        return g
    if not keepdim:
        g, index = F.unsqueeze(g, dim=dim), F.unsqueeze(index, dim=dim)
    return F.put_along_dim(g, index, shape=shape, dim=dim)


@op(dims="* j@dim, * j@dim -> * dim of shape",
    node_name="PutAlongBackward0", namespace=None,
    input=lambda F, g, index, dim: F.take_along_dim(g, index, dim=dim),
    sample=lambda d: ([d.array((2, 2)), d.distinct((2, 3)).argsort(1)[:, :2]],
                      dict(shape=(2, 3), dim=1)))
def put_along_dim(F, input, index: Other, *, shape, dim):
    """Zeros of `shape` with `input` put where `index` says along `dim`; no position twice (else: `gather_backward`)."""
    out = F.xp.zeros(shape, input.dtype)
    F.xp.put_along_axis(out, index, input, dim)
    return out


@op(dims="* [dim], * j@dim -> * j@dim by moving",
    layout="contiguous", node_name="TakeAlongBackward0", namespace=None,
    input=lambda F, g, index, input_shape, dim: F.put_along_dim(g, index, shape=input_shape, dim=dim),
    sample=lambda d: ([d.array((2, 3)), d.distinct((2, 3)).argsort(1)[:, :2]], dict(dim=1)))
def take_along_dim(F, input, index: Other, *, dim):
    """The elements where `index` says along `dim`; no position twice (else: `gather`)."""
    return F.xp.take_along_axis(input, index, dim)


def extreme(name, pairwise, whole):
    """`max` or `min` in PyTorch's three forms."""
    returned = getattr(return_types, name)

    def call(input, dim=None, keepdim=False, *, other=None):
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        if isinstance(dim, Tensor) or other is not None:
            return pairwise(input, dim if other is None else other)
        if dim is None:
            check_not_empty(name, input.array, None)
            return whole(input)
        check_not_empty(name, input.array, axes(input.array, dim))
        return returned(*extremum(input, dim, keepdim, "arg" + name))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = (f"The {name}imum of all elements; with `dim` the {name}ima along it and their indices, as a named "
                    f"tuple; with a second tensor the elementwise `{name}imum`.")
    return composite(call, out=True)


max, min = extreme("max", maximum, largest), extreme("min", minimum, smallest)


@composite(out="exact")
def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest elements, of all or along `dim`, as a named tuple."""
    if dim is None:
        check_not_empty("aminmax", input.array, None)
        dims = ()
    else:
        check_not_empty("aminmax", input.array, axes(input.array, dim))
        dims = (dim,)
    low, high = amin(input, dims, keepdim), amax(input, dims, keepdim)
    return return_types.aminmax(low, high)


# ---- all and any -------------------------------------------------------------------------------------------
def truth(name, ufunc, doc, dims):
    def forward(F, input, *, dim=None, keepdim=False):
        dims = () if dim is not None and is_all(dim) else axes(input, dim)      # of an empty list: none
        out = getattr(F.xp, ufunc).reduce(input, dims, None, None, keepdim)
        return out.astype("uint8") if input.dtype == "uint8" else out.astype(bool)
    forward.__name__, forward.__doc__ = name, doc
    return op(dims=dims, layout="contiguous")(forward)


all = truth("all", "logical_and", "True if all elements (along `dim`) are nonzero.",
            "* dim -> * by min")
any = truth("any", "logical_or", "True if an element (along `dim`) is nonzero.",
            "* dim -> * by max")
