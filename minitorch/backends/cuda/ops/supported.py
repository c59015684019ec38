"""Predicates of the arguments that kernels support, for ``@kernel(name, when=...)``.

Calls that a predicate refuses fall back to the op's reference. A predicate takes the arguments of the kernel: the
backend, arrays, attributes. Those that take ``*rest`` look at the first array or two only. Predicates that one kernel
needs stand beside it.
"""

from math import prod

import numpy as np

from ....core.arrays import is_half
from ..arrays.dtypes import is_float, kind_of
from ..arrays.layout import MAX_SIZE

__all__ = ["attention_heads", "class_targets", "convolvable", "elements", "float_dims", "float_elements", "float_input",
           "floats", "indexable", "multipliable", "real_dims", "real_input", "same_floats", "slices"]

INDICES = ("int64", "int32")
TARGETS = ("int64", "int32", "uint8")
MOST_KEYS = 2**32 - 2                                      # positions that `sort.py` can sort by
LARGEST_HEAD = 128


# ---- the first array ---------------------------------------------------------------------------------------
def real_input(F, input, *rest, **attrs):
    """Bools, integers or floats, not complex numbers."""
    return kind_of(input.dtype) is not None


def real_dims(F, input, *rest, **attrs):
    """The same, with a dimension and elements."""
    return input.ndim > 0 and input.size > 0 and kind_of(input.dtype) is not None


def float_input(F, input, *rest, **attrs):
    """Floats."""
    return is_float(input.dtype)


def float_elements(F, input, *rest, **attrs):
    """Floats, one at least."""
    return input.size > 0 and is_float(input.dtype)


def float_dims(F, input, *rest, **attrs):
    """Floats, with a dimension and elements."""
    return input.ndim > 0 and input.size > 0 and is_float(input.dtype)


# ---- several arrays ----------------------------------------------------------------------------------------
def floats(F, first, *rest, **attrs):
    """Floats of one dtype; numbers among the inputs do not count."""
    dtype = first.dtype
    return is_float(dtype) and all([x.dtype == dtype for x in rest if isinstance(x, F.ndarray)])


def same_floats(F, first, second, **attrs):
    """Two arrays of floats of one shape, with a dimension and elements."""
    return float_dims(F, first) and first.shape == second.shape


def multipliable(*arrays):
    """True if our kernels multiply matrices of these: real numbers of one dtype."""
    dtype = arrays[0].dtype
    return all(x.dtype == dtype for x in arrays) and dtype.kind in "fVi"


def convolvable(F, a, b, bias=None, **attrs):
    """Floats of one dtype, one to three dimensions, fewer than 2^31 pixels."""
    fits = a.dtype == b.dtype and is_float(a.dtype) and (bias is None or bias.dtype == a.dtype)
    return fits and a.ndim in (3, 4, 5) and max(a.size, b.size) < 2**31


def class_targets(F, input, target, *rest, **attrs):
    """Logits with elements, and integers."""
    return float_dims(F, input) and target.dtype.name in TARGETS


def attention_heads(query, key, value, mask, scale):
    """Float32 or 16-bit floats of one dtype, heads of up to 128 features, a mask of bools or of that dtype, a positive
    scale."""
    same = query.dtype == key.dtype == value.dtype and (is_half(query.dtype) or query.dtype == np.float32)
    mask_fits = mask is None or mask.dtype in (query.dtype, np.bool_)
    sizes = query.shape[-1] == key.shape[-1] and 0 < query.shape[-1] <= LARGEST_HEAD >= value.shape[-1] > 0
    return same and mask_fits and sizes and scale > 0 and key.shape[-2] > 0 and query.size > 0


# ---- arrays and indices ------------------------------------------------------------------------------------
def indexable(values, index):
    """Real numbers and int32 or int64 indices, with elements."""
    return kind_of(values.dtype) is not None and index.dtype.name in INDICES and index.size > 0 and values.size > 0


def slices(values, index, sizes, n):
    """The same, where `n` slices of an array of `sizes` (outer, size, inner) can be counted in 32 bits."""
    outer, size, inner = sizes
    return indexable(values, index) and max(size, n) < MOST_KEYS and outer * inner < 2**31


def elements(values, shape, index):
    """The same for an index of elements, with as many dimensions as `shape`."""
    return indexable(values, index) and 0 < index.ndim == len(shape) <= 8 and index.size <= MAX_SIZE \
        and prod(shape) <= MOST_KEYS
