"""Reductions and normalisations of tensors some of whose elements do not count.

A boolean `mask`, broadcast to the input, says which count; the others are replaced by what changes nothing: 0 in a sum,
minus infinity in a maximum. A `MaskedTensor` may be given in the place of the input: its elements count as its own mask
says. Where no element counts the result is that replacement, or NaN.
"""

import math

import minitorch as torch

from .maskedtensor.core import MaskedTensor
from .neutral import neutral, require_average

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
           "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


# ------------------------------------------------------------------ what counts
def combined(name, input, mask, by):
    """The input with what changes nothing, as elements are combined `by`, for what does not count.
    """
    if isinstance(input, MaskedTensor):
        input, mask = input.get_data(), input.get_mask()
    if mask is None:
        return input
    mask = canonical(input, mask)
    return torch.where(mask, input, input.new_tensor(neutral(by, input.array.dtype, name)))


def canonical(input, mask):
    """The mask as bools in the shape of the input."""
    if mask.ndim > input.ndim:
        raise IndexError(f"the mask has to be broadcastable to the input: it has {mask.ndim} dimensions, the input "
                         f"{input.ndim} (got mask dimensionality higher than of the input)")
    return torch.broadcast_to(mask, input.shape).bool()


def dims_of(dim, ndim):
    """`dim`, None for all, as a sorted tuple counted from the front."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    n, found = max(ndim, 1), []
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        if d % n in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % n)
    return tuple(sorted(found))


def total_type(input, dtype):
    """The type of a sum or product: int64 of bools and whole numbers, as PyTorch adds them."""
    return dtype or (torch.int64 if input.dtype.np.kind in "biu" else input.dtype)


# ------------------------------------------------------------------ reductions
def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that count, along `dim` (None: all)."""
    dims = dims_of(dim, input.ndim)
    values = combined("sum", input, mask, "sum")
    return torch.sum(values, dims, bool(keepdim), dtype=total_type(input, dtype))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that count, along `dim` (None: all)."""
    result = combined("prod", input, mask, "product").to(total_type(input, dtype))
    for d in reversed(dims_of(dim, input.ndim)):
        result = torch.prod(result, d, keepdim=bool(keepdim))
    return result


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements that count, along `dim` (None: all)."""
    return extreme("amax", input, dims_of(dim, input.ndim), keepdim, dtype, mask, "max")


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements that count, along `dim` (None: all)."""
    return extreme("amin", input, dims_of(dim, input.ndim), keepdim, dtype, mask, "min")


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the largest element that counts, along `dim` (None: in all, flattened).

    As in PyTorch its type is that of the input, unless `dtype` says otherwise.
    """
    return extreme("argmax", input, dim, keepdim, dtype, mask, "max")


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the smallest element that counts, as `argmax`."""
    return extreme("argmin", input, dim, keepdim, dtype, mask, "min")


def extreme(name, input, dim, keepdim, dtype, mask, by):
    values = combined(name, input, mask, by)
    return getattr(torch, name)(values, dim, bool(keepdim)).to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """``log(sum(exp(x)))`` over the elements that count, along `dim` (None: all)."""
    dims = dims_of(dim, input.ndim)
    found = torch.logsumexp(combined("logsumexp", input, mask, "max"), dims, keepdim=keepdim)
    return found.to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm `ord` of the elements that count, along `dim` (None: all)."""
    values = combined("norm", input, mask, "min" if ord == -math.inf else "sum")
    return torch.linalg.vector_norm(values, ord, dims_of(dim, input.ndim), bool(keepdim),
                                    dtype=dtype or input.dtype)


def counted(input, dim, keepdim, mask):
    """How many elements count, along `dim`."""
    if isinstance(input, MaskedTensor):
        mask = input.get_mask()
    if mask is None:
        counts = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    else:
        counts = canonical(input, mask)
    return torch.sum(counts, dims_of(dim, input.ndim), bool(keepdim))


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements that count, along `dim` (None: all); NaN where none does.

    ValueError unless the type, `dtype` or the input's, is a floating-point or complex one.
    """
    require_average(dtype or input.dtype, "Optional" if dtype else "Input")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / counted(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median of the elements that count, along `dim`; NaN where none does (ValueError for whole numbers)."""
    d, = dims_of(dim, input.ndim)
    is_float = input.is_floating_point()
    values = combined("median", input if is_float else input.to(torch.float32), mask, "nanmedian")
    found = torch.nanmedian(values, d, keepdim).values
    if is_float:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that count, along `dim` (None: all): squared deviations over their number less
    `correction` (1 by default; `unbiased`: 1 or 0)."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    correction = (1.0 if unbiased in (None, True) else 0.0) if correction is None else float(correction)
    dtype = dtype or (torch.float32 if input.dtype.np.kind in "biu" else input.dtype)
    if isinstance(input, MaskedTensor):
        input, mask = input.get_data(), input.get_mask()
    counts = counted(input, dim, True, mask)
    mean = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / counts.clamp(min=1)   # no NaN gets into gradients
    deviations = input - mean
    total = sum(deviations * deviations.conj(), dim, keepdim=keepdim, dtype=dtype, mask=mask)
    counts = counts.reshape(total.shape)
    if correction:
        counts = (counts.to(total.real.dtype) - correction).clamp(min=0)
    return (total / counts).to(dtype)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


# ------------------------------------------------------------------ what keeps the shape
def softmax(input, dim, *, dtype=None, mask=None):
    """``exp(x) / sum(exp(x))`` over the elements that count, along `dim`; the others become 0."""
    d, = dims_of(dim, input.ndim)
    return torch.softmax(combined("amax", input, mask, "max"), d, dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """``log(softmax(x))`` over the elements that count, along `dim`."""
    d, = dims_of(dim, input.ndim)
    values = combined("amax", input, mask, "max")
    return torch.log_softmax(values, d, dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """``softmax(-x)`` over the elements that count, along `dim`."""
    d, = dims_of(dim, input.ndim)
    values = combined("amin", input, mask, "min")
    return torch.nn.functional.softmin(values, d, dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """``x / max(norm(x), eps)``, the norm `ord` of the elements that count, along `dim`; the others become 0."""
    norms = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return combined("sum", input, mask, "sum") / torch.maximum(norms, norms.new_full((), eps))


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums of the elements up to each one along `dim`, of those that count."""
    return cumulated("cumsum", input, dim, dtype, mask, "sum")


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products of the elements up to each one along `dim`, of those that count."""
    return cumulated("cumprod", input, dim, dtype, mask, "product")


def cumulated(name, input, dim, dtype, mask, by):
    d, = dims_of(dim, input.ndim)
    values = combined(name, input, mask, by)
    if (dtype or input.dtype).name == "bool":
        raise NotImplementedError(f'"{name}" not implemented for \'Bool\': give a dtype, as in dtype=minitorch.int64')
    return getattr(torch, name)(values, d, dtype=dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))``, elementwise, of the elements that count."""
    values = [combined("logaddexp", x, mask, "max") for x, mask in ((input, input_mask), (other, other_mask))]
    return torch.logaddexp(*values).to(dtype or input.dtype)
