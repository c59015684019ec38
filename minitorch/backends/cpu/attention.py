"""Attention weights: the softmax of masked scores in blocks of rows."""

from .backend import kernel
from .softmax import exponentials


def masked_sample(d):
    """A query without any key, or no queries at all."""
    query, mask = d.array((d.choice([0, 2]), 3)), d.mask((4,))
    mask = mask & d.choice([True, False])
    return [query, d.array((4, 3)), None, mask], dict(scale=1.0, causal=False)


@kernel("scaled_dot_product_attention_weights", sample=masked_sample)
def scaled_dot_product_attention_weights(F, query, key, bias=None, mask=None, *, scale=1.0, causal=False):
    xp = F.xp
    scores = xp.matmul(query * scale, key.swapaxes(-1, -2))
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = xp.where(mask, scores, scores.dtype.type(-xp.inf))
    if causal:
        scores += xp.triu(xp.full(scores.shape[-2:], -xp.inf, scores.dtype), 1)
    if not scores.size:
        return scores
    weights, _, top = exponentials(F, scores, -1, divide=True)
    lost = top == -xp.inf                                  # rows without keys: exp(-inf - -inf)
    if not lost.any():
        return weights
    return xp.where(lost, scores.dtype.type(0), weights)
