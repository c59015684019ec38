"""Attention weights: the softmax of masked scores in blocks of rows."""

from ...ops.nn.attention import masked_scores
from .backend import kernel
from .softmax import exponentials


def masked_sample(d):
    """A query without any key, or no queries at all."""
    query, mask = d.array((d.choice([0, 2]), 3)), d.mask((4,))
    mask = mask & d.choice([True, False])
    return [query, d.array((4, 3)), None, mask], dict(scale=1.0, causal=False)


@kernel("scaled_dot_product_attention_weights", sample=masked_sample)
def scaled_dot_product_attention_weights(F, query, key, bias=None, mask=None, *, scale=1.0, causal=False):
    xp, scores = F.xp, masked_scores(F, query, key, bias, mask, scale, causal)
    if not scores.size:
        return scores
    weights, _, top = exponentials(F, scores, -1, divide=True)
    lost = top == -xp.inf                                  # rows without keys: exp(-inf - -inf)
    if not lost.any():
        return weights
    return xp.where(lost, scores.dtype.type(0), weights)
