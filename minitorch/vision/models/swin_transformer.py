"""Swin transformers: Z. Liu et al., "Swin Transformer: Hierarchical Vision Transformer using Shifted Windows" (2021),
and "Swin Transformer V2: Scaling Up Capacity and Resolution" (2022). Images lie as (N, H, W, C) between the layers."""

import math
from functools import partial

from ... import arange, cat, meshgrid, nn, ones, stack, zeros
from ...nn import Parameter
from ...nn.functional import dropout as drop
from ...nn.functional import linear, normalize, pad
from ..ops.drop_layers import StochasticDepth
from ..ops.misc import MLP, Permute
from ._api import register_model

__all__ = ["SwinTransformer", "swin_b", "swin_s", "swin_t", "swin_v2_b", "swin_v2_s", "swin_v2_t"]


# ------------------------------------------------------------------ windows
def windows(x, size):
    """(N, H, W, C), H and W multiples of the size, to (N * windows, size[0] * size[1], C)."""
    n, h, w, c = x.shape
    x = x.view(n, h // size[0], size[0], w // size[1], size[1], c).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, size[0] * size[1], c)


def unwindowed(x, size, shape):
    """The inverse of `windows`, for the shape (N, H, W, C)."""
    n, h, w, c = shape
    x = x.view(n, h // size[0], w // size[1], size[0], size[1], c).permute(0, 1, 3, 2, 4, 5)
    return x.reshape(n, h, w, c)


def mask_of_shifted(x, size, shift, h, w):
    """(windows, area, area): -100 between places of a window that were not neighbours before the shift."""
    regions = x.new_zeros((h, w))
    number = 0
    for rows in ((0, -size[0]), (-size[0], -shift[0]), (-shift[0], None)):
        for columns in ((0, -size[1]), (-size[1], -shift[1]), (-shift[1], None)):
            regions[rows[0]:rows[1], columns[0]:columns[1]] = number
            number += 1
    regions = windows(regions[None, :, :, None], size).squeeze(-1)
    apart = regions.unsqueeze(1) - regions.unsqueeze(2)
    return apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)


def shifted_window_attention(input, qkv_weight, proj_weight, relative_position_bias, window_size, num_heads,
                             shift_size, attention_dropout=0.0, dropout=0.0, qkv_bias=None, proj_bias=None,
                             logit_scale=None, training=True):
    """Attention within windows of an image (N, H, W, C), which is shifted by `shift_size` first; of version 2, by the
    cosine between queries and keys, where `logit_scale` is given."""
    n, height, width, c = input.shape
    x = pad(input, (0, 0, 0, -width % window_size[1], 0, -height % window_size[0]))
    h, w = x.shape[1:3]
    shift = [0 if size >= whole else s for s, size, whole in zip(shift_size, window_size, (h, w))]
    if any(shift):
        x = x.roll((-shift[0], -shift[1]), (1, 2))
    shape, x = x.shape, windows(x, window_size)
    if logit_scale is not None and qkv_bias is not None:
        qkv_bias = qkv_bias.clone()
        qkv_bias[c:2 * c].zero_()                          # keys have no bias in version 2
    qkv = linear(x, qkv_weight, qkv_bias).reshape(x.shape[0], x.shape[1], 3, num_heads, c // num_heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    if logit_scale is not None:
        scores = normalize(q, dim=-1) @ normalize(k, dim=-1).transpose(-2, -1)
        scores = scores * logit_scale.clamp(max=math.log(100.0)).exp()
    else:
        scores = (q * (c // num_heads) ** -0.5) @ k.transpose(-2, -1)
    scores = scores + relative_position_bias
    if any(shift):
        mask = mask_of_shifted(x, window_size, shift, h, w)
        count, area = mask.shape[:2]
        scores = (scores.view(-1, count, num_heads, area, area) + mask[None, :, None]).view(-1, num_heads, area, area)
    weights = drop(scores.softmax(-1), attention_dropout, training)
    x = (weights @ v).transpose(1, 2).reshape(x.shape)
    x = unwindowed(drop(linear(x, proj_weight, proj_bias), dropout, training), window_size, shape)
    if any(shift):
        x = x.roll((shift[0], shift[1]), (1, 2))
    return x[:, :height, :width].contiguous()


class ShiftedWindowAttention(nn.Module):
    """`shifted_window_attention` with its weights and a bias for each relative position."""

    def __init__(self, dim, window_size, shift_size, num_heads, qkv_bias=True, proj_bias=True, attention_dropout=0.0,
                 dropout=0.0):
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv, self.proj = nn.Linear(dim, dim * 3, bias=qkv_bias), nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self):
        """The biases, one for each relative position and head."""
        h, w = self.window_size
        self.relative_position_bias_table = Parameter(zeros((2 * h - 1) * (2 * w - 1), self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self):
        """The place in the table of each pair of positions in a window."""
        h, w = self.window_size
        places = stack(meshgrid(arange(h), arange(w), indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0).contiguous()
        index = (apart[:, :, 0] + h - 1) * (2 * w - 1) + apart[:, :, 1] + w - 1
        self.register_buffer("relative_position_index", index.flatten())

    def bias_of(self, table):
        area = self.window_size[0] * self.window_size[1]
        return table[self.relative_position_index].view(area, area, -1).permute(2, 0, 1).contiguous().unsqueeze(0)

    def get_relative_position_bias(self):
        """(1, heads, area, area)."""
        return self.bias_of(self.relative_position_bias_table)

    def forward(self, x, **options):
        """(N, H, W, dim) to the same shape."""
        return shifted_window_attention(
            x, self.qkv.weight, self.proj.weight, self.get_relative_position_bias(), self.window_size, self.num_heads,
            self.shift_size, self.attention_dropout, self.dropout, self.qkv.bias, self.proj.bias,
            training=self.training, **options)


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by cosines, scaled for each head, with biases computed from relative positions by a small network."""

    def __init__(self, dim, window_size, shift_size, num_heads, qkv_bias=True, proj_bias=True, attention_dropout=0.0,
                 dropout=0.0):
        super().__init__(dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout)
        self.logit_scale = Parameter((10 * ones(num_heads, 1, 1)).log())
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, num_heads, bias=False))
        if qkv_bias:
            nn.init.zeros_(self.qkv.bias[dim:2 * dim].detach())

    def define_relative_position_bias_table(self):
        """The relative positions, on a logarithmic scale."""
        h, w = self.window_size
        table = stack(meshgrid(arange(-(h - 1), h).float(), arange(-(w - 1), w).float(), indexing="ij"))
        table = table.permute(1, 2, 0).contiguous().unsqueeze(0)
        table[..., 0] /= h - 1
        table[..., 1] /= w - 1
        table = table * 8
        self.register_buffer("relative_coords_table", table.sign() * (table.abs() + 1.0).log2() / 3.0)

    def get_relative_position_bias(self):
        """(1, heads, area, area)."""
        return 16 * self.bias_of(self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)).sigmoid()

    def forward(self, x):
        """(N, H, W, dim) to the same shape."""
        return super().forward(x, logit_scale=self.logit_scale)


# ------------------------------------------------------------------ blocks
def quarters(x):
    """(N, H, W, C) to (N, H / 2, W / 2, 4 C): the four pixels of each square beside each other."""
    h, w = x.shape[-3:-1]
    x = pad(x, (0, 0, 0, w % 2, 0, h % 2))
    return cat([x[..., 0::2, 0::2, :], x[..., 1::2, 0::2, :], x[..., 0::2, 1::2, :], x[..., 1::2, 1::2, :]], -1)


class PatchMerging(nn.Module):
    """Half the size, twice the channels: (N, H, W, dim) to (N, H / 2, W / 2, 2 dim)."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias=False), norm_layer(4 * dim)

    def forward(self, x):
        """The merged patches, normalised before the linear layer."""
        return self.reduction(self.norm(quarters(x)))


class PatchMergingV2(nn.Module):
    """`PatchMerging` of version 2, with the norm behind the linear layer."""

    def __init__(self, dim, norm_layer=nn.LayerNorm):
        super().__init__()
        self.dim = dim
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias=False), norm_layer(2 * dim)

    def forward(self, x):
        """The merged patches."""
        return self.norm(self.reduction(quarters(x)))


class SwinTransformerBlock(nn.Module):
    """Attention and two linear layers, each behind a norm, with the input added: (N, H, W, dim) to the same."""

    def __init__(self, dim, num_heads, window_size, shift_size, mlp_ratio=4.0, dropout=0.0, attention_dropout=0.0,
                 stochastic_depth_prob=0.0, norm_layer=nn.LayerNorm, attn_layer=ShiftedWindowAttention):
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout,
                               dropout=dropout)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for m in self.mlp.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.normal_(m.bias, std=1e-6)

    def forward(self, x):
        """The result of the block."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The block of version 2: norms behind attention and linear layers."""

    def __init__(self, dim, num_heads, window_size, shift_size, mlp_ratio=4.0, dropout=0.0, attention_dropout=0.0,
                 stochastic_depth_prob=0.0, norm_layer=nn.LayerNorm, attn_layer=ShiftedWindowAttentionV2):
        super().__init__(dim, num_heads, window_size, shift_size, mlp_ratio, dropout, attention_dropout,
                         stochastic_depth_prob, norm_layer, attn_layer)

    def forward(self, x):
        """The result of the block."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Images (N, 3, H, W) to scores (N, num_classes): stages of `depths` blocks, each of twice the width of the one
    before and half its size; every other block shifts its windows by half their size."""

    def __init__(self, patch_size, embed_dim, depths, num_heads, window_size, mlp_ratio=4.0, dropout=0.0,
                 attention_dropout=0.0, stochastic_depth_prob=0.1, num_classes=1000, norm_layer=None, block=None,
                 downsample_layer=PatchMerging):
        super().__init__()
        self.num_classes = num_classes
        block, norm_layer = block or SwinTransformerBlock, norm_layer or partial(nn.LayerNorm, eps=1e-5)
        layers = [nn.Sequential(nn.Conv2d(3, embed_dim, tuple(patch_size), tuple(patch_size)), Permute([0, 2, 3, 1]),
                                norm_layer(embed_dim))]
        total, done = sum(depths), 0
        for i, depth in enumerate(depths):
            dim, stage = embed_dim * 2**i, []
            for j in range(depth):
                stage.append(block(
                    dim, num_heads[i], window_size, [0 if j % 2 == 0 else w // 2 for w in window_size], mlp_ratio,
                    dropout, attention_dropout, stochastic_depth_prob * done / (total - 1), norm_layer))
                done += 1
            layers.append(nn.Sequential(*stage))
            if i < len(depths) - 1:
                layers.append(downsample_layer(dim, norm_layer))
        self.features = nn.Sequential(*layers)
        last = embed_dim * 2 ** (len(depths) - 1)
        self.norm, self.permute = norm_layer(last), Permute([0, 3, 1, 2])
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten(1)
        self.head = nn.Linear(last, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        """The scores."""
        return self.head(self.flatten(self.avgpool(self.permute(self.norm(self.features(x))))))


def made(embed_dim, depths, num_heads, stochastic_depth_prob, **options):
    return SwinTransformer(**{"patch_size": [4, 4], "embed_dim": embed_dim, "depths": depths, "num_heads": num_heads,
                              "window_size": [7, 7], "stochastic_depth_prob": stochastic_depth_prob, **options})


SECOND = {"window_size": [8, 8], "block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}


@register_model("Swin_T_Weights")
def swin_t(**options):
    """Swin transformer, tiny."""
    return made(96, [2, 2, 6, 2], [3, 6, 12, 24], 0.2, **options)


@register_model("Swin_S_Weights")
def swin_s(**options):
    """Swin transformer, small."""
    return made(96, [2, 2, 18, 2], [3, 6, 12, 24], 0.3, **options)


@register_model("Swin_B_Weights")
def swin_b(**options):
    """Swin transformer, base."""
    return made(128, [2, 2, 18, 2], [4, 8, 16, 32], 0.5, **options)


@register_model("Swin_V2_T_Weights")
def swin_v2_t(**options):
    """Swin transformer V2, tiny."""
    return made(96, [2, 2, 6, 2], [3, 6, 12, 24], 0.2, **{**SECOND, **options})


@register_model("Swin_V2_S_Weights")
def swin_v2_s(**options):
    """Swin transformer V2, small."""
    return made(96, [2, 2, 18, 2], [3, 6, 12, 24], 0.3, **{**SECOND, **options})


@register_model("Swin_V2_B_Weights")
def swin_v2_b(**options):
    """Swin transformer V2, base."""
    return made(128, [2, 2, 18, 2], [4, 8, 16, 32], 0.5, **{**SECOND, **options})
