"""Attention whose scores and mask are functions, beside `scaled_dot_product_attention`."""

import pytest

import minitorch as torch
from minitorch import nn


def causal(batch, head, q, kv):
    return q >= kv


def test_flex_attention_is_attention():
    from minitorch.nn.attention.flex_attention import (
        AuxRequest,
        and_masks,
        create_block_mask,
        flex_attention,
        or_masks,
    )
    torch.manual_seed(0)
    q, k, v = [torch.randn(2, heads, 10, 4, requires_grad=True) for heads in (4, 2, 2)]
    mask = create_block_mask(causal, None, None, 10, 10, BLOCK_SIZE=4)
    found, lse = flex_attention(q, k, v, block_mask=mask, enable_gqa=True, return_lse=True)
    wide = [x.repeat_interleave(2, 1) for x in (k, v)]
    expected = nn.functional.scaled_dot_product_attention(q, *wide, is_causal=True)
    torch.testing.assert_close(found, expected)
    for x, y in zip(torch.autograd.grad(found.square().sum(), (q, k, v)),
                    torch.autograd.grad(expected.square().sum(), (q, k, v))):
        torch.testing.assert_close(x, y)
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]] and mask.shape == (1, 1, 10, 10)
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]] and mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    bias = torch.randn(4, requires_grad=True)
    never = and_masks(causal, lambda b, h, q, kv: q > 2)
    out, aux = flex_attention(q, *wide, score_mod=lambda s, b, h, i, j: s + bias[h] * (i - j),
                              return_aux=AuxRequest(lse=True),
                              block_mask=create_block_mask(or_masks(never, never), None, None, 10, 10))
    assert not out[:, :, :3].any() and (aux.lse[:, :, :3] == -float("inf")).all() and aux.max_scores is None
    out.sum().backward()
    assert bias.grad.abs().min() > 0
    with pytest.raises(ValueError, match="same number of heads"):
        flex_attention(q, k, v)
