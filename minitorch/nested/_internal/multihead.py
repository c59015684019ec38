"""Attention in several heads over nested tensors of both layouts: what `nn.MultiheadAttention` asks for.

Each element attends on its own, so no position is padding, and the result has the sizes of the queries.
"""

from ... import ones
from .calls import rule
from .crossing import of_elements

__all__: list = []


def refuse(query, key, value, key_padding_mask, attn_mask):
    """Raise ValueError for masks, and if only some of the batches are nested."""
    if not all(isinstance(x, type(query)) for x in (query, key, value)):
        raise ValueError("MultiheadAttention of nested tensors: query, key and value have to be nested tensors of one "
                         f"layout, got {type(query).__name__}, {type(key).__name__}, {type(value).__name__}")
    if not len(query) == len(key) == len(value):
        raise ValueError(f"MultiheadAttention of nested tensors: query, key and value have {len(query)}, {len(key)} "
                         f"and {len(value)} elements")
    if query.dim() != 3:
        raise ValueError("MultiheadAttention of nested tensors takes elements of 2 dimensions, (length, size), got "
                         f"{query.dim() - 1}")
    if key_padding_mask is not None or attn_mask is not None:
        raise ValueError("MultiheadAttention of nested tensors takes no masks: there is no padding to leave out; "
                         "is_causal=True forbids the positions that come later")


@rule("multi_head_attention_forward")
def multi_head_attention_forward(func, query, key, value, *args, key_padding_mask=None, attn_mask=None, is_causal=False,
                                 need_weights=True, **options):
    """Attention of each element (length, size); the weights of all in a padded tensor, with zeros."""
    refuse(query, key, value, key_padding_mask, attn_mask)
    outputs, weights = [], []
    for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True):
        later = ones(len(q), len(k), dtype=bool, device=q.device).triu(1) if is_causal else None
        output, weight = func(q, k, v, *args, attn_mask=later, need_weights=need_weights, **options)
        outputs.append(output)
        weights.append(weight)
    padded = of_elements(weights).to_padded_tensor(0.0) if need_weights else None
    return query.of_elements(outputs), padded
