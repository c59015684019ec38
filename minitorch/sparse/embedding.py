"""Rows of a table whose gradient is sparse: `embedding` with ``sparse=True``."""

from ..extend import OPS, wrap
from .functions import SparseFunction, build
from .patterns import Pattern

__all__ = ["embedding"]


class SparseEmbedding(SparseFunction):
    """``weight[input]`` with a gradient that has the rows looked up alone: one entry for each look-up, uncoalesced."""

    @staticmethod
    def forward(ctx, input, weight, padding_idx, scale_grad_by_freq):
        ctx.args = padding_idx, scale_grad_by_freq
        ctx.index, ctx.rows = input.array.reshape(-1), weight.array.shape[0]
        return OPS["embedding"].call(input, weight, padding_idx, scale_grad_by_freq)

    @staticmethod
    def backward(ctx, g):
        (padding_idx, by_frequency), index, F = ctx.args, ctx.index, g.backend
        xp = F.xp
        g = g.reshape(index.size, g.shape[-1])
        if by_frequency:
            counts = xp.bincount(index, minlength=ctx.rows)[index]
            g = g / wrap(counts[:, None].astype(g.array.dtype), F)
        if padding_idx >= 0:
            kept = xp.flatnonzero(index != padding_idx)
            index, g = index[kept], g[wrap(kept, F)]
        return None, build(g, Pattern(F, (ctx.rows,), indices=index[None].astype("int64"))), None, None


def embedding(input, weight, padding_idx, scale_grad_by_freq):
    """The rows of `weight`, whose gradient is sparse."""
    return SparseEmbedding.apply(input, weight, padding_idx, scale_grad_by_freq)
