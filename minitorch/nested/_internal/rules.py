"""How a call on jagged tensors is answered: by the rule of its name, or by what its definition says.

A function whose definition says that it works element by element (the column `dims`) runs on the
values; an op along a dimension runs on them along a dense one; a function that is made of others
runs as it is written, and these are answered. All others need a rule, which is entered as kernels
are: ``@rule("cat")``. A rule is given the function and the arguments of the call. A parameter
called `dim` says nothing.
"""

import inspect
from functools import lru_cache

from ... import Tensor
from ...answering import (
    differentiate,
    implementation_of,
    is_along,
    is_question,
    name_of,
    ruling,
    written_by,
)
from ...extend import NoArray, WrappingTensor, inner_of
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_leaves, tree_map

__all__ = ["RULES", "answer", "arguments", "first", "not_there", "parameters", "pointwise", "rule", "same_raggedness",
           "spread"]

RULES: dict = {}                                           # name of a function or method: its rule
rule = ruling(RULES)


def answer(func, args, kwargs):
    """The answer of jagged tensors to a call."""
    name = name_of(func)
    if kwargs.get("out") is not None:
        raise not_there(name, " with out=")
    if is_question(name, args, kwargs):
        return func(args[0]._inner)
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    if (written := written_by(name)) is not None and is_elementwise(written):
        return in_place(func, written, *args, **kwargs)
    if is_elementwise(func):
        return pointwise(func, *args, **kwargs)
    if is_along(func):
        return along_dense(func, *args, **kwargs)
    if (body := implementation_of(func)) is not None:
        try:
            return body(*args, **kwargs)
        except NoArray:
            raise not_there(name) from None
    raise not_there(name)


def not_there(name, why=""):
    """The error of a call that no rule answers."""
    return NotImplementedError(f"{name}() is not supported for nested tensors of the layout "
                               f"torch.jagged{why}. "
                               f"unbind() gives the elements, values() all of them, to_padded_tensor() a dense tensor")


@lru_cache(maxsize=512)
def signature(func):
    return inspect.signature(func)


def parameters(func):
    """The names of a function's parameters."""
    try:
        return signature(func).parameters
    except (TypeError, ValueError):
        return ()


def arguments(func, args, kwargs):
    """The arguments of a call by name, with the defaults of those that are not given."""
    try:
        bound = signature(func).bind_partial(*args, **kwargs)
    except (TypeError, ValueError):
        return {}
    bound.apply_defaults()
    return bound.arguments


def spread(func, given):
    """The inverse of `arguments`: what to call the function with."""
    bound = inspect.BoundArguments(signature(func), {k: given[k] for k in parameters(func) if k in given})
    return bound.args, bound.kwargs


def first(args):
    """The first jagged tensor among the arguments."""
    return next(x for x in tree_leaves(args) if isinstance(x, WrappingTensor))


# ------------------------------------------------------------------ element by element
@rule("where masked_fill dropout alpha_dropout zeros_like ones_like empty_like full_like rand_like randn_like "
      "randint_like bernoulli clone positive type_as isin one_hot rrelu allclose view_as_real "
      "view_as_complex")
def pointwise(func, *args, **kwargs):
    """Run a function that works element by element on the values."""
    nt = leading(args, kwargs)
    args, kwargs = tree_map(lambda x: beside(func, nt, x), [args, kwargs])
    return tree_map(lambda y: nt.like(y) if isinstance(y, Tensor) else y, func(*args, **kwargs))


def leading(args, kwargs):
    """The jagged argument with most dimensions."""
    return max([x for x in tree_leaves([args, kwargs]) if isinstance(x, WrappingTensor)], key=lambda x: x.dim())


def beside(func, nt, x):
    """An argument as it stands beside the values of `nt`."""
    if isinstance(x, WrappingTensor):
        same_raggedness(func, nt, x)
        return x._inner
    return dense_beside(func, nt, x) if isinstance(x, Tensor) and x.dim() else x


def same_raggedness(func, a, b):
    """RuntimeError unless two jagged tensors have the same offsets, in the same dimension."""
    r = a._ragged_idx
    if a.dim() != b.dim() or r != b._ragged_idx or a.shape[r] != b.shape[r]:
        raise mismatch(func, a, b)


def mismatch(func, a, b):
    return RuntimeError(f"cannot call binary pointwise function {name_of(func)} with inputs of shapes "
                        f"{tuple(a.shape)} and {tuple(b.shape)}: the same offsets tensor is needed, or a size of 1")


def dense_beside(func, nt, x):
    """A dense tensor, which is broadcast over a batch of ragged elements, or has one row for each element."""
    if x.dim() > nt.dim():
        raise NotImplementedError(f"a nested tensor of {nt.dim()} dimensions cannot be brought to the {x.dim()} of a "
                                  f"dense one beside it")
    r, missing = nt._ragged_idx, nt.dim() - x.dim()
    x = x.reshape((1,) * missing + tuple(x.shape))
    if x.shape[0] not in (1, len(nt)) or x.shape[r] != 1 and x.shape[r] < nt._get_max_seqlen():
        raise mismatch(func, nt, x)
    if x.shape[r] != 1:                                    # padded: each element takes its first rows
        return nt.unpadded(x.expand(len(nt), *x.shape[1:]))
    if x.shape[0] == 1:
        return x.squeeze(0)
    if nt.lengths() is not None:
        raise not_there(name_of(func), " with holes beside a dense one that has a row for each element")
    return x.squeeze(r).index_select(0, nt.places()[0]).movedim(0, r - 1)


def in_place(func, written, *args, **kwargs):
    """A method that writes in place, element by element."""
    target, *others = args
    if not isinstance(target, WrappingTensor):
        raise RuntimeError(f"{name_of(func)}(): a nested tensor cannot be written into a dense one")
    others, kwargs = tree_map(lambda x: beside(written, target, x), [others, kwargs])
    func(target._inner, *others, **kwargs)
    return target


@rule("zero_ fill_ uniform_ normal_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ requires_grad_ "
      "apply_ masked_fill_ copy_ clamp_ relu_ leaky_relu_ elu_ celu_ selu_ hardtanh_ rrelu_ threshold_ "
      "square_ share_memory_")
def in_place_by_name(func, target, *args, **kwargs):
    return in_place(func, func, target, *args, **kwargs)


# ------------------------------------------------------------------ along a dimension
@rule("aminmax cosine_similarity cross cumprod_ cumsum_ cumulative_trapezoid diff fft fft2 fftn "
      "fftshift frobenius_norm gather glu gradient gumbel_softmax hfft hfft2 hfftn ifft ifft2 "
      "ifftn ifftshift ihfft ihfft2 ihfftn index_add index_add_ index_copy index_copy_ index_fill "
      "index_fill_ index_reduce index_reduce_ index_select irfft irfft2 irfftn matrix_norm median "
      "nanmean nanmedian nanquantile narrow_copy norm normalize nuclear_norm quantile renorm "
      "renorm_ repeat_interleave "
      "rfft rfft2 rfftn scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ "
      "select_scatter slice_scatter softmin std_mean take_along_dim tensor_split trapezoid unique "
      "unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes var_mean vecdot")
def along_dense(func, *args, **kwargs):
    """A function of one tensor along dense dimensions, which are one less in the values."""
    given = arguments(func, args, kwargs)
    nt = first([args, kwargs])
    dims = given.pop("dim")
    if dims is None:
        raise not_there(name_of(func), " over all elements")
    several = isinstance(dims, (tuple, list))
    found = [dense_dim(func, nt, d) for d in (dims if several else (dims,))]
    given["dim"] = tuple([d - 1 for d in found]) if several else found[0] - 1
    args, kwargs = spread(func, given)
    for x in tree_leaves(given):
        if isinstance(x, WrappingTensor):
            same_raggedness(func, nt, x)
    result = func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    gone = sum(d < nt._ragged_idx for d in found)
    return tree_map(lambda y: nt.like(y, nt._ragged_idx - (gone if y.dim() + 1 < nt.dim() else 0)), result)


def dense_dim(func, nt, dim):
    """`dim` counted from the front; RuntimeError for the batch and the ragged dimension."""
    dim = nt.dim_of(dim)
    if dim in (0, nt._ragged_idx):
        where = "dim=0" if dim == 0 else "ragged dim"
        raise RuntimeError(f"{name_of(func)}(): not supported for NestedTensor on {where}")
    return dim


@rule("backward grad")
def differentiated(func, *args, **kwargs):
    return differentiate(func, args, kwargs)
