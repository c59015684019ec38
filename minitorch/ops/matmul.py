"""The op table, matrix products."""

from ..op import op


@op(promotion="same", aliases=(), shapes="* n k, * k m -> * n m",
    input=lambda F, g, input, other: matmul_left(F, g, input, other),
    other=lambda F, g, input, other: matmul_right(F, g, input, other))
def matmul(F, input, other):
    """The matrix product of ``(..., n, k)`` and ``(..., k, m)``, batched by broadcasting; 1-D operands as vectors."""
    return F.xp.matmul(input, other)


def matmul_left(F, g, input, other):
    if other.ndim == 1:
        return F.unsqueeze(g, dim=-1) * other if g.ndim else g * other
    if input.ndim == 1:
        return F.matmul(other, F.unsqueeze(g, dim=-1))
    return F.matmul(g, F.transpose(other, dim0=-1, dim1=-2))


def matmul_right(F, g, input, other):
    if input.ndim == 1:
        return g * input
    return F.matmul(F.transpose(input, dim0=-1, dim1=-2), g)
