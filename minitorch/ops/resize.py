"""The op table, resizing: linear maps along the last dimensions."""

from ..op import op


@op(promotion="any", namespace=None,
    input=lambda F, g, matrices: F.resample(g, matrices=tuple([None if m is None else m.T for m in matrices])))
def resample(F, input, *, matrices):
    """Multiply along each of the last dimensions by a matrix (out, in); None leaves a dimension as it is."""
    first = input.ndim - len(matrices)
    for axis, matrix in enumerate(matrices, first):
        if matrix is not None:
            input = along(F, input, matrix, axis)
    return input


def along(F, x, matrix, axis):
    """``matrix @ x`` along `axis`."""
    matrix = F.from_host(matrix).astype(x.dtype)
    if axis == x.ndim - 1:
        return F.xp.matmul(x, matrix.T)
    return F.xp.matmul(matrix, x.swapaxes(axis, -2)).swapaxes(axis, -2)
