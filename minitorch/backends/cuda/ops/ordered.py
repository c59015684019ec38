"""`sort`, `argsort` and `topk` along a dimension: `src/sort_rows.cu` and `src/sort.cu`."""

from .... import return_types
from ....ops.indexing.sort import check_k
from ..arrays.sorting import first_along, is_sortable, sorted_like
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
    return return_types.topk(*first_along(F, input, dim, k, bool(largest)))
