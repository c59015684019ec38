"""Reductions and normalisations of tensors some of whose elements do not count.

A boolean `mask`, broadcast to the input, says which count; the others are replaced by what changes nothing: 0 in a sum,
minus infinity in a maximum. A `MaskedTensor` may be given in the place of the input: its elements count as its own mask
says. Where no element counts the result is that replacement, or NaN.
"""

import math

import minitorch as torch

from .maskedtensor.core import MaskedTensor

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
           "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


# ------------------------------------------------------------------ what counts
def combined(name, input, mask, fill):
    """The input with the number `fill` in the place of what does not count."""
    if isinstance(input, MaskedTensor):
        input, mask = input.get_data(), input.get_mask()
    if mask is None:
        return input
    mask = canonical(input, mask)
    if math.isinf(fill) and not input.is_floating_point():
        if input.dtype.np.kind == "c" and name == "logsumexp":
            fill = complex(fill, 0)
        elif input.dtype.np.kind in "iu":
            fill = torch.iinfo(input.dtype).max if fill > 0 else torch.iinfo(input.dtype).min
        else:
            raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    return torch.where(mask, input, input.new_tensor(fill))


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
    values = combined("sum", input, mask, 0)
    return torch.sum(values, dims, bool(keepdim), dtype=total_type(input, dtype))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that count, along `dim` (None: all)."""
    result = combined("prod", input, mask, 1).to(total_type(input, dtype))
    for d in reversed(dims_of(dim, input.ndim)):
        result = torch.prod(result, d, keepdim=bool(keepdim))
    return result


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements that count, along `dim` (None: all)."""
    return extreme("amax", input, dims_of(dim, input.ndim), keepdim, dtype, mask, -math.inf)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements that count, along `dim` (None: all)."""
    return extreme("amin", input, dims_of(dim, input.ndim), keepdim, dtype, mask, math.inf)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the largest element that counts, along `dim` (None: in all, flattened).

    As in PyTorch its type is that of the input, unless `dtype` says otherwise.
    """
    return extreme("argmax", input, dim, keepdim, dtype, mask, -math.inf)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The place of the smallest element that counts, as `argmax`."""
    return extreme("argmin", input, dim, keepdim, dtype, mask, math.inf)


def extreme(name, input, dim, keepdim, dtype, mask, fill):
    values = combined(name, input, mask, fill)
    return getattr(torch, name)(values, dim, bool(keepdim)).to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """``log(sum(exp(x)))`` over the elements that count, along `dim` (None: all)."""
    dims = dims_of(dim, input.ndim)
    found = torch.logsumexp(combined("logsumexp", input, mask, -math.inf), dims, keepdim=keepdim)
    return found.to(dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm `ord` of the elements that count, along `dim` (None: all)."""
    fill = math.inf if ord == -math.inf else 0
    values = combined("norm", input, mask, fill)
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
    if (dtype or input.dtype).np.kind in "biu":
        raise ValueError(f"mean(): Could not infer output dtype. {'Optional' if dtype else 'Input'} dtype must be "
                         f"either a floating point or complex dtype. Got: {dtype or input.dtype}")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / counted(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median of the elements that count, along `dim`; NaN where none does (ValueError for whole numbers)."""
    d, = dims_of(dim, input.ndim)
    is_float = input.is_floating_point()
    values = combined("median", input if is_float else input.to(torch.float32), mask, math.nan)
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
    return torch.softmax(combined("amax", input, mask, -math.inf), d, dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """``log(softmax(x))`` over the elements that count, along `dim`."""
    d, = dims_of(dim, input.ndim)
    values = combined("amax", input, mask, -math.inf)
    return torch.log_softmax(values, d, dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """``softmax(-x)`` over the elements that count, along `dim`."""
    d, = dims_of(dim, input.ndim)
    values = combined("amin", input, mask, math.inf)
    return torch.nn.functional.softmin(values, d, dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """``x / max(norm(x), eps)``, the norm `ord` of the elements that count, along `dim`; the others become 0."""
    norms = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return combined("sum", input, mask, 0) / torch.maximum(norms, norms.new_full((), eps))


def cumsum(input, dim, *, dtype=None, mask=None):
    """Sums of the elements up to each one along `dim`, of those that count."""
    return cumulated("cumsum", input, dim, dtype, mask, 0)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Products of the elements up to each one along `dim`, of those that count."""
    return cumulated("cumprod", input, dim, dtype, mask, 1)


def cumulated(name, input, dim, dtype, mask, fill):
    d, = dims_of(dim, input.ndim)
    values = combined(name, input, mask, fill)
    if (dtype or input.dtype).name == "bool":
        raise NotImplementedError(f'"{name}" not implemented for \'Bool\': give a dtype, as in dtype=minitorch.int64')
    return getattr(torch, name)(values, d, dtype=dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))``, elementwise, of the elements that count."""
    values = [combined("logaddexp", x, mask, -math.inf) for x, mask in ((input, input_mask), (other, other_mask))]
    return torch.logaddexp(*values).to(dtype or input.dtype)


def every(input, dim=None, *, keepdim=False, mask=None):
    """True if all elements that count are true, along `dim`."""
    values = input.get_data() if isinstance(input, MaskedTensor) else input
    filled = values.bool() | ~canonical(values, input.get_mask() if mask is None else mask)
    return filled.all() if dim is None else filled.all(dim, keepdim=bool(keepdim))


