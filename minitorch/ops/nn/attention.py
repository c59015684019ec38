"""Op definitions: attention (softmax of scaled, masked products of queries and keys) and functions built on it.

A. Vaswani et al., "Attention Is All You Need", 2017. Letters: N batch, H heads, L queries, S keys, E features.
"""

import math

from ...core import dtypes
from ...core.grad_mode import grad_mode
from ...core.op import Other
from ...core.recording import recorded as R
from ...core.tensor import wrap
from ...explain.callers import warn
from ...random.generator import default_of
from ...random.philox import PhiloxGenerator, Place
from ..creation.create import zeros
from ..define import composite, op
from ..linalg.linear import linear
from ..shapes.join import cat
from .dropout import noise_for
from .pad import pad

BOOLS = (bool, dtypes.bool)                                # of arrays and of tensors
FUSED = (dtypes.float16, dtypes.bfloat16, dtypes.float32)  # for which a device's kernel may exist


# ---- attention weights -------------------------------------------------------------------------------------
def weights_grads(F, g, needs, query, key, out, scale):
    """``d scores = softmax_backward(g)``; the products with keys and queries; that of a bias is d scores itself."""
    scores = F.softmax_backward(g, out, dim=-1)
    by_query = by_key = None
    if needs[0]:
        by_query = F.matmul(scores, key * scale)
    if needs[1]:
        by_key = F.matmul(F.transpose(scores, dim0=-1, dim1=-2), query * scale)
    return by_query, by_key, scores, None


def some_keys(d):
    """A mask (2, 3) with a key for each query."""
    return d.mask((2, 3)) | [True, False, False]


def weights_flops(out, query, *rest):
    """The products of queries with keys."""
    return 2 * int(out.size) * query.shape[-1]


def weights_dims(causal):
    """A causal mask goes by the position of the query."""
    rows = "[l]" if causal else "l"
    return f"* {rows} [e], * [s e], + * {rows} [s], + * {rows} [s] -> * {rows} [s]"


@op(dims=weights_dims,
    layout="contiguous", promotion="floating", namespace=None,
    node_name="ScaledDotProductAttentionBackward0",
    autocast="lower", flops=weights_flops, joint=weights_grads,
    sample=lambda d: ([d.array((2, 2, 3)), d.array((2, 3, 3)), d.choice([None, d.array((2, 3))]),
                       d.choice([None, some_keys(d)])],
                      dict(scale=0.6, causal=d.bool())))
def scaled_dot_product_attention_weights(F, query, key, bias=None, mask: Other = None, *,
                                         scale: float = 1.0, causal=False):
    """``softmax(scale * query @ key.T + bias)``: (..., L, E) and (..., S, E) give (..., L, S).

    Keys where `mask` is False, or, if `causal`, that come after the query, have weight 0; so has everything in a row
    without any key.
    """
    xp, scores = F.xp, masked_scores(F, query, key, bias, mask, scale, causal)
    lost = (scores == -xp.inf).all(-1, keepdims=True)      # rows without keys, whose softmax would be NaN
    return xp.where(lost, scores.dtype.type(0), F.softmax(scores, dim=-1))


def masked_scores(F, query, key, bias, mask, scale, causal):
    """``scale * query @ key.T + bias``, minus infinity for keys that a query does not see."""
    xp = F.xp
    scores = xp.matmul(query * scale, key.swapaxes(-1, -2))
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = xp.where(mask, scores, scores.dtype.type(-xp.inf))
    if causal:
        scores += xp.triu(xp.full(scores.shape[-2:], -xp.inf, scores.dtype), 1)
    return scores


# ---- dropout -----------------------------------------------------------------------------------------------
def sample_place(d):
    return Place(d.int(0, 1 << 40), 4 * d.int(0, 99))


@op(promotion="any", refuses="c", namespace=None,
    input=lambda F, g, place, p: F.attention_dropout(g, place=place, p=p),
    sample=lambda d: ([d.array((2, 3, 5))], dict(place=sample_place(d), p=0.3)))
def attention_dropout(F, input, *, place, p):
    """Weights, or anything of their shape (..., L, S), with elements 0 with probability `p` by the draw at `place`, the
    others over ``1 - p``.

    The words that decide are those of `dropout`, four at a time: of queries q and q + 8 and keys k and k + 8, for which
    a thread of a kernel computes them (`backends/cuda/src/attention_softmax.cuh`).
    """
    xp, (*batch, rows, columns) = F.xp, input.shape
    down, across = -(-rows // 16), -(-columns // 16)
    drawn = F.dropout(xp.ones((math.prod(batch), down, 8, across, 8, 2, 2), input.dtype), place=place, p=p)
    kept = (drawn != 0).transpose(0, 1, 5, 2, 3, 6, 4).reshape(*batch, 16 * down, 16 * across)[..., :rows, :columns]
    return xp.where(kept, input * (1 / (1 - p)), input.dtype.type(0))


def dropped(F, x, p, place):
    return F.attention_dropout(x, place=place, p=p) if p else x


# ---- without keeping the weights ---------------------------------------------------------------------------
def attention_grads(F, g, needs, query, key, value, mask, out, logs, scale, causal, p, place):
    return (*F.scaled_dot_product_attention_backward(g, query, key, value, mask, out, logs, scale=scale, causal=causal,
                                                     p=p, place=place), None)


def sample_attention(d):
    mask = d.choice([None, d.array((2, 3)), some_keys(d)])
    arrays = [d.array((2, 2, 3)), d.array((2, 3, 3)), d.array((2, 3, 3)), mask]
    dropout = d.choice([{}, dict(p=0.3, place=sample_place(d))])
    return arrays, dict(scale=0.6, causal=d.bool(), **dropout)


def attention_flops(out, query, key, value, *rest):
    """The products of queries with keys, and of weights with values."""
    return 2 * key.shape[-2] * (int(query.size) + int(query.size) // query.shape[-1] * value.shape[-1])


def attention_dims(causal, p):
    """None with dropout: which weights are dropped goes by their position in the whole."""
    rows = "[l]" if causal else "l"
    return None if p else f"* {rows} [e], * [s e], * [s] v, + * {rows} [s] -> * {rows} v"


def attention_backward_dims(causal, p):
    if p:
        return None
    rows = "[l]" if causal else "l"
    return (f"* {rows} [v], * {rows} [e], * [s e], * [s v], + * {rows} [s], * {rows} [v], * {rows}"
            f" -> * {rows} [e], * [s e], * [s v]")


@op(dims=attention_dims,
    name="scaled_dot_product_attention", promotion="floating", namespace=None,
    node_name="ScaledDotProductFlashAttentionBackward0", flops=attention_flops,
    keeps=("logs",), joint=attention_grads, sample=sample_attention)
def _scaled_dot_product_attention(F, query, key, value, mask: Other = None, *, scale: float = 1.0, causal=False,
                                  p: float = 0.0, place=None):
    """``scaled_dot_product_attention_weights(query, key) @ value``, with a `mask` of bools or numbers to add, as one
    op. Weights are dropped with probability `p`, by the draw at `place`; the others are divided by ``1 - p``.

    For devices with a kernel that never writes the weights down. The kept intermediate, "logs", belongs to that kernel.
    """
    return F.xp.matmul(dropped(F, weights_of(F, query, key, mask, scale, causal), p, place), value), None


def weights_of(F, query, key, mask, scale, causal):
    """`scaled_dot_product_attention_weights` for one mask of either kind."""
    bias, mask = (None, mask) if mask is None or mask.dtype in BOOLS else (mask, None)
    return F.scaled_dot_product_attention_weights(query, key, bias, mask, scale=scale, causal=causal)


def attention_backward_grads(F, g, needs, grad, query, key, value, mask, scale, causal, p, place):
    """With W the weights, N what dropout multiplies them by, J the (symmetric) Jacobian of softmax, D = N * (grad @
    value.T) and M = d(scores) of the cotangents of the first two results, the sum of results times cotangents is
    ``<J D, M> + <N * W, grad @ c.T>``."""
    a, b, c = g
    weights = weights_of(F, query, key, mask, scale, causal)
    slopes = dropped(F, F.matmul(grad, turned(F, value)), p, place)
    back = F.softmax_backward(slopes, weights, dim=-1) * scale
    by_grad = by_value = by_query = by_key = None
    by_weights = None if c is None else dropped(F, F.matmul(grad, turned(F, c)), p, place)
    if c is not None:
        by_grad = F.matmul(dropped(F, weights, p, place), c)
    if a is not None or b is not None:
        m = added(None if a is None else F.matmul(a, turned(F, key)),
                  None if b is None else F.matmul(query, turned(F, b))) * scale
        u = F.softmax_backward(m, weights, dim=-1)
        of_values = dropped(F, u, p, place)
        by_grad = added(by_grad, F.matmul(of_values, value))
        by_value = F.matmul(turned(F, of_values), grad)
        by_query = None if b is None else F.matmul(back, b)
        by_key = None if a is None else F.matmul(turned(F, back), a)
        of_slopes = F.sum(weights * slopes, dim=-1, keepdim=True)
        of_m = F.sum(weights * m, dim=-1, keepdim=True)
        by_weights = added(by_weights, m * slopes - m * of_slopes - slopes * of_m)
    scores = F.softmax_backward(by_weights, weights, dim=-1) * scale
    by_query, by_key = added(by_query, F.matmul(scores, key)), added(by_key, F.matmul(turned(F, scores), query))
    return by_grad, by_query, by_key, by_value, None, None, None


def turned(F, x):
    return F.transpose(x, dim0=-1, dim1=-2)


def added(a, b):
    return b if a is None else a if b is None else a + b


def sample_attention_backward(d):
    arrays, attrs = sample_attention(d)
    return [d.array((2, 2, 3)), *arrays, None, None], attrs


@op(dims=attention_backward_dims,
    promotion="floating", namespace=None, outputs=(True, True, True),
    joint=attention_backward_grads,
    sample=sample_attention_backward)
def scaled_dot_product_attention_backward(F, grad, query, key, value, mask: Other = None, result: Other = None,
                                          logs: Other = None, *, scale: float = 1.0, causal=False, p: float = 0.0,
                                          place=None):
    """The gradients of `scaled_dot_product_attention` in `query`, `key` and `value`, given its `result` and the logs
    that it kept."""
    weights = weights_of(F, query, key, mask, scale, causal)
    slopes = dropped(F, F.matmul(grad, turned(F, value)), p, place)
    scores = F.softmax_backward(slopes, weights, dim=-1) * scale
    return (F.matmul(scores, key), F.matmul(turned(F, scores), query),
            F.matmul(turned(F, dropped(F, weights, p, place)), grad))


@composite(namespace="nn.functional", autocast="lower")
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """``softmax(query @ key.T * scale + mask) @ value``: (..., L, E), (..., S, E), (..., S, Ev) give (..., L, Ev).

    `attn_mask` broadcasts to (..., L, S): bools, True for what takes part, or floats to add. `is_causal` lets query l
    see keys 0 to l. `scale` is by default ``1 / sqrt(E)``. With `enable_gqa` there may be fewer heads (dimension -3)
    of keys and values, and each head serves several of the query. A query that may see no key gives zeros. Weights are
    0 with probability `dropout_p`, and the others divided by ``1 - dropout_p``, in evaluation, too.
    """
    check_attention(query, key, value, attn_mask, is_causal)
    if dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    scale = 1 / math.sqrt(max(query.array.shape[-1], 1)) if scale is None else scale
    heads = query.array.shape
    if enable_gqa:
        query, key, value, attn_mask = group_heads(query, key, value, attn_mask)
    mask = bias = None
    dropout_p = dropout_p if dropout_p > 0 else 0.0        # as in PyTorch
    generator = default_of(query.backend.device) if dropout_p else None
    if query.backend.has_kernel("scaled_dot_product_attention") and is_fusible(query, attn_mask, dropout_p, generator):
        place = generator.take() if dropout_p else None
        out = _scaled_dot_product_attention(query, key, value, attn_mask, scale, is_causal, float(dropout_p), place)
    else:
        if attn_mask is not None:
            mask, bias = (attn_mask, None) if attn_mask.array.dtype == bool else (None, attn_mask)
        weights = scaled_dot_product_attention_weights(query, key, bias, mask, scale, is_causal)
        if dropout_p:
            weights = with_noise(weights, dropout_p)
        out = R.matmul(weights, value)
    return out.reshape(*heads[:-1], value.array.shape[-1]) if enable_gqa else out


def is_fusible(query, attn_mask, dropout_p, generator):
    """True if a device's kernel takes the call: masks get no gradient, it drops in its own way."""
    if attn_mask is not None and (attn_mask.needs_grad or attn_mask.backend.level):
        return False
    if query.dtype not in FUSED:
        return False
    return not dropout_p or dropout_p < 1 and isinstance(generator, PhiloxGenerator)


def with_noise(weights, p):
    """Weights that are 0 with probability `p`, the others divided by ``1 - p``."""
    if grad_mode.batches:
        weights = grad_mode.batches[-1].roomy(weights)
    noise = wrap(noise_for(weights, 1 - p, weights.array.shape), weights.backend)
    return weights * (noise / (1 - float(p)) if p < 1 else noise)


def check_attention(query, key, value, attn_mask, is_causal):
    """RuntimeError for arguments that do not fit together."""
    q, k, v = query.array, key.array, value.array
    if q.ndim < 2 or k.ndim < 2 or v.ndim < 2:
        raise RuntimeError(f"Expected query, key, and value to all be at least 2 dimensional, but got query: "
                           f"{query.ndim}D, key: {key.ndim}D, value: {value.ndim}D")
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True: combine them in the mask")
    if attn_mask.array.dtype != bool and attn_mask.dtype is not query.dtype:
        raise RuntimeError(f"Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                           f"attn_mask.dtype: {attn_mask.dtype} and query.dtype: {query.dtype} instead.")


def group_heads(query, key, value, attn_mask):
    """Heads (..., Hq, L, E) as (..., H, Hq / H, L, E), so that they broadcast against keys and values of H heads."""
    hq, hk, hv = (x.array.shape[-3] for x in (query, key, value))
    if hq % hk or hq % hv:
        raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query: got {hk} and "
                           f"{hv} for {hq}")
    if hk != hv:
        key, value = (x.repeat_interleave(hq // x.array.shape[-3], -3) for x in (key, value))
        hk = hq
    shape = query.array.shape
    if attn_mask is not None and attn_mask.ndim > 2:
        m = attn_mask.array.shape
        attn_mask = attn_mask.reshape(*m[:-3], *((hk, -1) if m[-3] != 1 else (1, 1)), *m[-2:])
    return query.reshape(*shape[:-3], hk, hq // hk, *shape[-2:]), key.unsqueeze(-3), value.unsqueeze(-3), attn_mask


# ---- several heads -----------------------------------------------------------------------------------------
@composite(namespace="nn.functional")
def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias,
                                 bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias,
                                 training=True, key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None,
                                 v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
                                 is_causal=False):
    """Attention of `num_heads` heads with projections of inputs and output, for `nn.MultiheadAttention`.

    `query` (L, N, E), `key` and `value` (S, N, E), or all without N, give (L, N, E) and, if `need_weights`, the
    weights (N, L, S), or (N, H, L, S) if not `average_attn_weights`, else None. Masks are True for keys that do **not**
    take part, or are added: `attn_mask` (L, S) or (N H, L, S), `key_padding_mask` (N, S). `bias_k` and `bias_v` are one
    more key and value, `add_zero_attn` adds zeros as such, `static_k` and `static_v` (N H, S, E / H) replace the
    projected ones.
    """
    batched = check_heads(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = key_padding_mask if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, n, width = query.array.shape
    check_widths(key, value, width, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    check_mask_types(key_padding_mask, attn_mask)
    causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if causal else shaped_mask(attn_mask, query, length, key.array.shape[0], n, num_heads)
    padding = None if key_padding_mask is None else additive(key_padding_mask, query)

    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = project(query, key, value, weights, in_proj_bias)
    extra = 0
    if bias_k is not None or bias_v is not None:
        k, v = with_biases(k, v, bias_k, bias_v, n, static_k is not None or static_v is not None)
        extra += 1
    head = width // num_heads
    q = split_heads(q, n, num_heads, head)
    k = split_or_static(k, static_k, n, num_heads, head)
    v = split_or_static(v, static_v, n, num_heads, head)
    if add_zero_attn:
        nothing = zeros(n, num_heads, 1, head, dtype=k.dtype, device=k.device)
        k, v, extra = cat([k, nothing], 2), cat([v, nothing], 2), extra + 1
    mask = merge_masks(attn_mask, padding, extra, k.array.shape[2], n)
    dropout_p = dropout_p if training else 0.0
    shown = None
    if need_weights:
        out, shown = attend(q, k, v, mask, dropout_p)
        shown = shown.mean(1) if average_attn_weights else shown
    else:
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    out = linear(out.permute(2, 0, 1, 3).reshape(length, n, width), out_proj_weight, out_proj_bias)
    if batched:
        return out, shown
    return out.squeeze(1), shown.squeeze(0) if need_weights else None


def with_biases(k, v, bias_k, bias_v, n, static):
    """Keys and values with one more each, for `n` sequences; AssertionError if one is missing."""
    if bias_k is None or bias_v is None or static:
        raise AssertionError("bias_k and bias_v go together, and cannot be added to static keys or values")
    return cat([k, bias_k.repeat(1, n, 1)]), cat([v, bias_v.repeat(1, n, 1)])


def attend(q, k, v, mask, dropout_p):
    """`scaled_dot_product_attention` with a mask to add, and its weights."""
    scale = 1 / math.sqrt(q.array.shape[-1])
    weights = scaled_dot_product_attention_weights(q, k, mask, None, scale)
    if dropout_p:
        weights = with_noise(weights, dropout_p)
    return R.matmul(weights, v), weights


def check_heads(query, key, value, key_padding_mask, attn_mask, num_heads):
    """True if the inputs have a batch dimension; AssertionError unless all of them agree on that."""
    n = query.ndim
    if n not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if not key.ndim == value.ndim == n:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.ndim}-D and "
                             f"{value.ndim}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.ndim != n - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
                             f"{key_padding_mask.ndim}-D tensor instead")
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                             f"{attn_mask.ndim}-D tensor instead")
    if attn_mask is not None and n == 2 and attn_mask.ndim == 3:
        wanted = (num_heads, query.array.shape[0], key.array.shape[0])
        if attn_mask.array.shape != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return n == 3


def check_widths(key, value, width, wanted, num_heads, separate):
    if width != wanted:
        raise AssertionError(f"was expecting embedding dimension of {wanted}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate and key.array.shape[:2] != value.array.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.array.shape != value.array.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


# ---- masks -------------------------------------------------------------------------------------------------
def check_mask_types(key_padding_mask, attn_mask):
    for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if mask is not None and mask.array.dtype != bool and not mask.is_floating_point():
            raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both "
             "instead.")


def additive(mask, like):
    """A mask to add: -inf where a bool mask holds, 0 elsewhere."""
    if mask.array.dtype != bool:
        return mask
    xp = like.backend.xp
    return wrap(xp.where(mask.array, like.array.dtype.type(-xp.inf), like.array.dtype.type(0)), like.backend)


def shaped_mask(mask, like, length, source, n, heads):
    """`attn_mask` as (1, 1, L, S) or (N, H, L, S), to add."""
    if mask is None:
        return None
    wanted = (length, source) if mask.ndim == 2 else (n * heads, length, source)
    if mask.array.shape != wanted:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}.")
    mask = additive(mask, like)
    return mask.reshape(1, 1, length, source) if mask.ndim == 2 else mask.reshape(n, heads, length, source)


def merge_masks(mask, padding, extra, source, n):
    """The sum of both masks, with `extra` keys at the end that are not masked."""
    if extra and mask is not None:
        mask = pad(mask, (0, extra))
    if padding is None:
        return mask
    padding = pad(padding, (0, extra)) if extra else padding
    if padding.array.shape != (n, source):
        raise AssertionError(f"Expected key_padding_mask shape to be {(n, source)}, but got {padding.shape}")
    padding = padding.reshape(n, 1, 1, source)
    return padding if mask is None else mask + padding


# ---- projections -------------------------------------------------------------------------------------------
def project(query, key, value, weights, bias):
    """Queries, keys and values: by three weights, or by one that holds them all; equal inputs in one product."""
    if weights.__class__ is tuple:
        if None in weights:
            raise AssertionError("use_separate_proj_weight is True but q_proj_weight, k_proj_weight or v_proj_weight "
                                 "is None")
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]
    if weights is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    if query is key and key is value:
        return linear(query, weights, bias).chunk(3, -1)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights.chunk(3), biases)]


def split_heads(x, n, heads, width):
    """(S, N, H W) as (N, H, S, W)."""
    return x.reshape(x.array.shape[0], n, heads, width).permute(1, 2, 0, 3)


def split_or_static(x, static, n, heads, width):
    """Projected keys or values by heads, or the ones that replace them."""
    if static is None:
        return split_heads(x, n, heads, width)
    return static_heads(static, n, heads, width)


def static_heads(x, n, heads, width):
    """(N H, S, W) as (N, H, S, W), checked."""
    if x.array.shape[0] != n * heads or x.array.shape[2] != width:
        raise AssertionError(f"expecting static keys and values of shape ({n * heads}, S, {width}), but got {x.shape}")
    return x.reshape(n, heads, -1, width)
