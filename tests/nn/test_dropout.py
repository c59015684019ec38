"""Dropout in training and in evaluation."""

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


def test_feature_alpha_dropout_rests_in_evaluation():
    layer, x = nn.FeatureAlphaDropout(0.5), torch.ones(4, 3, 2)
    torch.manual_seed(0)
    dropped = layer(x)
    assert (dropped != 1).any() and (dropped == dropped[..., :1]).all()
    state = torch.get_rng_state()
    assert layer.eval()(x).equal(x) and torch.get_rng_state().equal(state)


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    q = torch.randn(2, 5, 4)
    plain = F.scaled_dot_product_attention(q, q, q)
    assert not F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).allclose(plain)
    layer = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
    assert not layer(q, q, q)[0].allclose(layer(q, q, q)[0])
    layer.eval()
    assert layer(q, q, q)[0].equal(layer(q, q, q)[0])
