"""Functions element by element: those that leave zeros alone, sums, products, and writes in place."""

import numbers

from .. import Tensor, pow, result_type
from ..extend import FUNCTIONS, OPS, bump_version, grad_mode, take_over, wrap
from .arrays import SparseArray, add_into, emptied
from .functions import added, build, coalesce, dense, pick, reordered, values_of
from .tensor import ANSWERS, SparseTensor, answers, refused

__all__ = ["add", "mul", "overwrite", "resize_as_sparse_"]

def of_values(function, is_linear=False):
    """The function of the values; those at one place are added up first, unless it is linear."""
    def apply(input, *args, **kwargs):
        if not isinstance(input, SparseTensor):
            raise TypeError(f"{function.__name__}(): only the first argument can be sparse")
        input = input if is_linear or input.array.pattern.once else coalesce(input)
        return build(function(values_of(input), *args, **kwargs), input.array.pattern)
    return apply


def keeping_zeros():
    """(name, function, whether it is linear) of the public functions that give 0 for 0: the column `zeros` says."""
    for (namespace, name), public in FUNCTIONS.items():
        op = getattr(public.call, "op", None) or OPS.get(name)
        if op is not None and op.zeros and namespace in ("", "nn.functional"):
            yield name, public.call, op.zeros == "linear"


for _name, _function, _is_linear in keeping_zeros():
    answers(_name)(of_values(_function, _is_linear))


# ---- sums --------------------------------------------------------------------------------------------------
def promoted(a, b):
    """Two tensors in the dtype that their sum has."""
    dtype = result_type(a, b)
    return [x if x.dtype == dtype else cast(x, dtype) for x in (a, b)]


def cast(x, dtype):
    return ANSWERS["to"](x, dtype) if isinstance(x, SparseTensor) else x.to(dtype)


@answers("add")
def add(input, other, *, alpha=1):
    """``input + alpha * other``: of two sparse tensors a sparse one, of a sparse and a dense one a dense one."""
    numbers_or_0d = [x for x in (input, other) if not isinstance(x, Tensor) or not x.ndim and not isinstance(
        x, SparseTensor)]
    if numbers_or_0d:
        sparse = other if numbers_or_0d[0] is input else input
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size [] while other has "
                           f"size {list(sparse.shape)}: a sum with a number has no zeros; write x.to_dense() + number")
    if input.shape != other.shape:
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(input.shape)} "
                           f"while other has size {list(other.shape)} (FYI: sparse addition does not currently support "
                           "broadcasting)")
    input, other = promoted(input, other)
    if not isinstance(input, SparseTensor):
        return added(input, other, alpha)
    if not isinstance(other, SparseTensor):
        return added(scaled(other, alpha), input, 1)
    mine, theirs = input.array.pattern.layout, other.array.pattern.layout
    if mine != theirs:
        other = coalesce(other) if mine == "sparse_coo" else reordered(other, mine)
    return added(input, other, alpha)


def scaled(x, alpha):
    """``alpha * x``; itself where that is 1."""
    return x if alpha == 1 else x * alpha


@answers("sub")
def sub(input, other, *, alpha=1):
    return add(input, other, alpha=-alpha)


# ---- products ----------------------------------------------------------------------------------------------
def is_scalar(x):
    return isinstance(x, numbers.Number) or isinstance(x, Tensor) and x.ndim == 0


@answers("mul")
def mul(input, other):
    """The product, at the places where both factors have entries."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if is_scalar(other):
        other = dense(other) if isinstance(other, SparseTensor) else other
        return build(values_of(input) * other, input.array.pattern)
    if not isinstance(other, SparseTensor):
        return by_dense(input, other)
    if input.shape != other.shape or input.sparse_dim() != other.sparse_dim():
        raise RuntimeError(f"mul: expected sparse factors of one size and as many sparse dimensions, got "
                           f"{list(input.shape)} ({input.sparse_dim()} sparse) and {list(other.shape)} "
                           f"({other.sparse_dim()} sparse)")
    a, b = [x if x.array.pattern.once else coalesce(x) for x in (input, other)]
    if a.array.pattern is b.array.pattern:
        return build(values_of(a) * values_of(b), a.array.pattern)
    at, found = b.array.pattern.find(a.array.pattern.keys)
    which = a.backend.xp.flatnonzero(found)
    values = values_of(a)[wrap(which, a.backend)] * values_of(b)[wrap(at[which], a.backend)]
    result = build(values, a.array.pattern.chosen(which))
    return result if input.is_sparse else reordered(result, input.array.pattern.layout)


def by_dense(input, other):
    """The entries of a sparse tensor times the elements of a dense one; of COO, the latter's gradient is sparse."""
    input = input if input.array.pattern.once else coalesce(input)
    pattern = input.array.pattern
    if other.shape != input.shape:
        try:
            other = other.expand(input.shape)
        except RuntimeError as error:
            raise RuntimeError(f"mul: sizes {list(input.shape)} and {list(other.shape)} do not fit: the dense factor "
                               "must broadcast to the sparse one") from error
    return build(values_of(input) * pick(other, pattern, pattern.layout == "sparse_coo"), pattern)


@answers("div", "true_divide")
def div(input, other, *, rounding_mode=None):
    if not isinstance(input, SparseTensor) or not is_scalar(other):
        shape = list(getattr(other, "shape", ()))
        raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for "
                           "divisor)")
    if rounding_mode is not None and not input.array.pattern.once:
        input = coalesce(input)
    return build(values_of(input).div(other, rounding_mode=rounding_mode), input.array.pattern)


@answers("floor_divide", "__floordiv__")
def floor_divide(input, other):
    return div(input, other, rounding_mode="floor")


@answers("pow")
def power(input, exponent):
    if isinstance(exponent, Tensor) or not isinstance(input, SparseTensor):
        raise refused("pow with a tensor as exponent", exponent if isinstance(exponent, SparseTensor) else input)
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    return of_values(pow)(input, exponent)


# ---- writes in place ---------------------------------------------------------------------------------------
def overwrite(target, result, writer):
    """Give `target` the entries and the node of `result`."""
    if result.layout is not target.layout:
        raise RuntimeError(f"{writer}: the result has the layout {result.layout}, not "
                           f"{target.layout}: use the function that does not write in place")
    if target.array.dtype != result.array.dtype:
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type "
                           f"{target.dtype}")
    take_over(target, result, writer)
    return target


def written(function, name):
    """The method `name` that writes what `function` of sparse tensors returns."""
    def write(input, *args, **kwargs):
        if isinstance(input, SparseTensor):
            return overwrite(input, function(input, *args, **kwargs), name)
        return write_dense(function.__name__, input, *args, **kwargs)
    return write


def write_dense(name, input, other, *args, alpha=1, **kwargs):
    """``dense.add_(sparse)`` and the like: only the elements at the entries are touched, where nothing is recorded."""
    if name not in ("add", "sub") or args or kwargs:
        raise refused(name + "_ of a dense tensor", other if isinstance(other, SparseTensor) else args[0])
    alpha = alpha if name == "add" else -alpha
    if grad_mode.enabled and (input.needs_grad or other.needs_grad):
        return input.add_(dense(other), alpha=alpha)
    found = other.array.astype(input.array.dtype)
    values = found.values if alpha == 1 else (found.values * alpha).astype(found.dtype)
    add_into(input.array, SparseArray(found.pattern, values))
    bump_version(input, name + "_")
    return input


@answers("zero_")
def zero_(input):
    return overwrite(input, build(values_of(input)[:0], emptied(input.array.pattern)), "zero_")


@answers("fill_")
def fill_(input, value):
    if value == 0:
        return zero_(input)
    raise refused("fill_", input)


@answers("copy_")
def copy_(input, src, non_blocking=False):
    if not isinstance(input, SparseTensor) or not isinstance(src, SparseTensor):
        raise RuntimeError("copy() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{input.layout} and src type = {src.layout}")
    if input.shape != src.shape or input.layout is not src.layout:
        raise RuntimeError(f"copy_: sizes {list(input.shape)} and {list(src.shape)}, or layouts {input.layout} and "
                           f"{src.layout}, differ")
    return overwrite(input, ANSWERS["clone"](ANSWERS["to"](src, input.device, input.dtype)), "copy_")


def resize_as_sparse_(input, the_template):
    """Give the sparse tensor `input` the size and the sparse dimensions of another, and no entries."""
    if not isinstance(input, SparseTensor) or not isinstance(the_template, SparseTensor):
        raise RuntimeError("resize_as_sparse_: self and other must be sparse tensors")
    if input.shape != the_template.shape or input.sparse_dim() != the_template.sparse_dim():
        input.array = ANSWERS["zeros_like"](the_template, dtype=input.dtype).array
    return input


def complete():
    """Answer for aliases of what is answered, and for all methods that write in place."""
    for (namespace, name), public in FUNCTIONS.items():
        if not namespace and public.call.__name__ in ANSWERS:
            ANSWERS.setdefault(name, ANSWERS[public.call.__name__])
        if not namespace and public.method and hasattr(Tensor, name + "_"):
            ANSWERS.setdefault(name + "_", written(public.call, name + "_"))
    ANSWERS["__ifloordiv__"] = ANSWERS["floor_divide_"]
