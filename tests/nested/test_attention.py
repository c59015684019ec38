"""`nn.MultiheadAttention` and `nn.TransformerEncoder` over nested tensors, beside the same without padding."""

import pytest

import minitorch as torch
from minitorch import nn

LENGTHS = 3, 1, 5
LAYOUTS = torch.strided, torch.jagged


def elements(dtype=torch.float64):
    torch.manual_seed(3)
    return [torch.randn(n, 8, dtype=dtype, requires_grad=True) for n in LENGTHS]


def attention(**options):
    return nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"bias": False}])
def test_each_element_attends_on_its_own(layout, options):
    mha, parts = attention(**options), elements()
    nt = torch.nested.as_nested_tensor(parts, layout=layout)
    output, weights = mha(nt, nt, nt)
    for x, y, w in zip(parts, output.unbind(), weights):
        expected, expected_weights = mha(x[None], x[None], x[None])
        torch.testing.assert_close(y, expected[0])
        torch.testing.assert_close(w[:len(x), :expected_weights.shape[2]], expected_weights[0])
        assert not w[len(x):].any() and not w[:, expected_weights.shape[2]:].any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_the_elements(layout):
    mha, parts = attention(), elements()
    nt = torch.nested.as_nested_tensor(parts, layout=layout)
    parameters = list(mha.parameters())
    got = torch.autograd.grad(mha(nt, nt, nt, need_weights=False)[0].values().square().sum(), [*parts, *parameters])
    loss = sum(mha(x, x, x)[0].square().sum() for x in parts)
    for a, b in zip(got, torch.autograd.grad(loss, [*parts, *parameters])):
        torch.testing.assert_close(a, b)


def test_causal_and_queries_of_other_lengths():
    mha, parts = attention().eval(), elements()
    nt = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    causal = mha(nt, nt, nt, is_causal=True, need_weights=False)[0]
    for x, y in zip(parts, causal.unbind()):
        mask = nn.Transformer.generate_square_subsequent_mask(len(x), dtype=torch.float64)
        torch.testing.assert_close(y, mha(x, x, x, attn_mask=mask, is_causal=True)[0])
    queries = torch.nested.as_nested_tensor([x[:1] for x in parts], layout=torch.jagged)
    output, weights = mha(queries, nt, nt)
    assert [len(y) for y in output.unbind()] == [1, 1, 1] and weights.shape == (3, 1, 5)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_of_nested_tensors_is_that_of_a_masked_batch(layout, norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first,
                                       dtype=torch.float64)
    encoder, parts = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), elements()
    nt = torch.nested.as_nested_tensor(parts, layout=layout)
    padded = nt.to_padded_tensor(0.0)
    masked = encoder(padded, src_key_padding_mask=torch.arange(5) >= torch.tensor(LENGTHS)[:, None])
    result = encoder(nt)
    assert result.layout is layout
    for n, x, y in zip(LENGTHS, masked, result.unbind()):
        torch.testing.assert_close(y, x[:n])


def test_refusals():
    nt = torch.nested.as_nested_tensor(elements(), layout=torch.jagged)
    mask = torch.zeros(3, 5, dtype=bool)
    with pytest.raises(ValueError, match="takes no masks"):
        attention()(nt, nt, nt, key_padding_mask=mask)
    with pytest.raises(ValueError, match="batch_first=True"):
        nn.MultiheadAttention(8, 2, dtype=torch.float64)(nt, nt, nt)
    with pytest.raises(ValueError, match="of one layout"):
        attention()(nt, torch.zeros(3, 5, 8, dtype=torch.float64), nt)
