"""The op table, reductions: sums, means and extremes over dimensions."""

from ..op import op


@op(input=lambda F, g, dim, keepdim, input_shape: F.expand(restore(F, g, dim, keepdim, input_shape), size=input_shape))
def sum(F, input, *, dim=None, keepdim=False, dtype=None):
    """The sum over `dim` (an int, a tuple of ints, or None for all dimensions)."""
    return F.xp.add.reduce(input, dim, keepdims=keepdim)


def restore(F, g, dim, keepdim, shape):
    """`g` with the reduced dimensions back in place, as size 1."""
    if keepdim or dim is None or not shape:
        return g
    dims = {d % len(shape) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    return F.reshape(g, shape=tuple([1 if i in dims else n for i, n in enumerate(shape)]))
