"""`sort`, `argsort` and `topk` along a dimension: `src/sort_rows.cu` and `src/sort.cu`."""

from .... import return_types
from ....ops.indexing.sort import along, check_k
from ..arrays.sorting import is_sortable, sorted_along, sorted_like
from ..backend import kernel


def sortable(F, input, **attrs):
    """Predicate: what the kernels sort."""
    return is_sortable(input)


@kernel("sort", when=sortable, halves=True)
def sort(F, input, *, dim=-1, descending=False, stable=False):
    return return_types.sort(*sorted_like(F, input, dim, bool(descending)))


@kernel("argsort", when=sortable, halves=True)
def argsort(F, input, *, dim=-1, descending=False, stable=False):
    return sorted_like(F, input, dim, bool(descending))[1]


@kernel("topk", when=sortable, halves=True)
def topk(F, input, *, k, dim=-1, largest=True, sorted=True):
    check_k(input, k, dim)
    part = along(input.ndim, dim, slice(0, k))
    return return_types.topk(*[x[part].copy() for x in sorted_along(F, input, dim, bool(largest))])
