"""Rules of `MaskedTensor` for reductions and softmax, by the functions of `masked`."""

from ...answering import name_of
from .. import _ops
from .core import masked, rule

__all__: list = []


def any_of(mask, dim, keepdim):
    """True where something counts, along `dim`."""
    return mask.any() if dim is None else mask.any(dim, keepdim=bool(keepdim))


@rule("sum mean prod amax amin argmax argmin var std logsumexp")
def reduced(func, input, dim=None, *args, keepdim=False, **kwargs):
    """The elements that count; the result is masked where none does."""
    if args and isinstance(args[0], bool):                 # keepdim by position
        keepdim, args = args[0], args[1:]
    kwargs = {k: x for k, x in kwargs.items() if x is not None}
    found = getattr(_ops, name_of(func))(input, dim, *args, keepdim=keepdim, **kwargs)
    return masked(found, any_of(input.get_mask(), dim, keepdim))


@rule("norm")
def norm(func, input, p=2.0, dim=None, keepdim=False, dtype=None):
    """The norm of the elements that count."""
    found = _ops.norm(input, 2.0 if p in (None, "fro") else p, dim, keepdim=keepdim, dtype=dtype)
    return masked(found, any_of(input.get_mask(), dim, keepdim))


@rule("all")
def every(func, input, dim=None, keepdim=False):
    """True if all elements that count are true."""
    return masked(_ops.every(input, dim, keepdim=keepdim), any_of(input.get_mask(), dim, keepdim))


@rule("softmax log_softmax softmin cumsum cumprod")
def kept(func, input, dim, *args, **kwargs):
    """Over the elements that count; the mask stays."""
    dtype = kwargs.get("dtype")
    return masked(getattr(_ops, name_of(func))(input, dim, dtype=dtype), input.get_mask())
