"""``MultiheadAttention``: Vaswani et al. 2017."""

from ...ops.creation.create import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """``softmax(Q K^T / sqrt(d)) V`` in ``num_heads`` heads over learnt projections of query, key and value.

    Shapes: query (T, B, embed_dim), key (S, B, kdim), value (S, B, vdim), batch first with ``batch_first``, or
    without batch; ``kdim`` and ``vdim`` are ``embed_dim`` by default. Returns the output, shaped as the query, and
    the weights (B, T, S) averaged over heads, or None with ``need_weights=False``. With ``batch_first``, the three may
    be nested tensors; the output then is one of the query's lengths, and the weights are padded with zeros.

    ``dropout`` acts on the weights. ``add_bias_kv`` and ``add_zero_attn`` append a learnt or zero key and value.
    Parameters: ``in_proj_weight`` (3 embed_dim, embed_dim), or three apart where kdim or vdim differ, and
    ``in_proj_bias``, ``out_proj``.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False,
                 kdim=None, vdim=None, batch_first=False, device=None, dtype=None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, "
                             f"got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def add(name, wanted, *shape):
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype))
                                    if wanted else None)

        together = self._qkv_same_embed_dim
        add("in_proj_weight", together, 3 * embed_dim, embed_dim)
        add("q_proj_weight", not together, embed_dim, embed_dim)
        add("k_proj_weight", not together, embed_dim, self.kdim)
        add("v_proj_weight", not together, embed_dim, self.vdim)
        add("in_proj_bias", bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        add("bias_k", add_bias_kv, 1, 1, embed_dim)
        add("bias_v", add_bias_kv, 1, 1, embed_dim)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)       # files of PyTorch 1.1
        super().__setstate__(state)

    def forward(self, query, key, value, key_padding_mask=None, need_weights: bool = True, attn_mask=None,
                average_attn_weights: bool = True, is_causal: bool = False):
        """Attend. True in ``key_padding_mask`` (B, S) and in a bool ``attn_mask`` (T, S) or (B heads, T, S) forbids;
        a float mask is added to the scores. ``is_causal`` says that ``attn_mask`` is the causal one."""
        if query.is_nested and not self.batch_first:
            raise ValueError("MultiheadAttention of nested tensors needs batch_first=True")
        swapped = self.batch_first and query.dim() == 3 and not query.is_nested
        if swapped:
            # Equal inputs stay the same object, so that they are projected in one product.
            turned = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = turned[id(query)], turned[id(key)], turned[id(value)]
        separate = {}
        if not self._qkv_same_embed_dim:
            separate = dict(use_separate_proj_weight=True, q_proj_weight=self.q_proj_weight,
                            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight)
        output, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights,
            attn_mask=attn_mask, average_attn_weights=average_attn_weights, is_causal=is_causal, **separate)
        return (output.transpose(0, 1) if swapped else output), weights
