"""Vision transformer: A. Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020)."""

import math
from collections import OrderedDict
from functools import partial
from typing import Any, NamedTuple

from ... import cat, empty, nn, zeros
from ...nn import Parameter
from ...nn.functional import interpolate
from ..ops.misc import MLP, Conv2dNormActivation
from ._api import register_model

__all__ = ["VisionTransformer", "interpolate_embeddings", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

NORM = partial(nn.LayerNorm, eps=1e-6)


class ConvStemConfig(NamedTuple):
    """A convolution in front of a transformer."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Any = nn.BatchNorm2d
    activation_layer: Any = nn.ReLU


class MLPBlock(MLP):
    """The two linear layers of a block."""

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                nn.init.normal_(m.bias, std=1e-6)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for place, name in ((0, "linear_1"), (3, "linear_2")):             # names of earlier versions
            for kind in ("weight", "bias"):
                if f"{prefix}{name}.{kind}" in state_dict:
                    state_dict[f"{prefix}{place}.{kind}"] = state_dict.pop(f"{prefix}{name}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class EncoderBlock(nn.Module):
    """Attention and two linear layers, each behind a norm, with the input added: (N, S, hidden_dim) to the same."""

    def __init__(self, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer=NORM):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input):
        """The result of the block."""
        if input.dim() != 3:
            raise AssertionError(f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x = self.dropout(self.self_attention(x, x, x, need_weights=False)[0]) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Embeddings of positions, `num_layers` blocks, a norm: (N, seq_length, hidden_dim) to the same."""

    def __init__(self, seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                 norm_layer=NORM):
        super().__init__()
        self.pos_embedding = Parameter(empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict(
            (f"encoder_layer_{i}", EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer))
            for i in range(num_layers)))
        self.ln = norm_layer(hidden_dim)

    def forward(self, input):
        """The encoded sequence."""
        if input.dim() != 3:
            raise AssertionError(f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Images (N, 3, image_size, image_size) in patches to scores (N, num_classes).

    `representation_size` adds a linear layer and tanh before the scores; `conv_stem_configs` put convolutions in the
    place of the patches' one.
    """

    def __init__(self, image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, dropout=0.0,
                 attention_dropout=0.0, num_classes=1000, representation_size=None, norm_layer=NORM,
                 conv_stem_configs=None):
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = image_size, patch_size, hidden_dim, mlp_dim
        self.attention_dropout, self.dropout, self.num_classes = attention_dropout, dropout, num_classes
        self.representation_size, self.norm_layer = representation_size, norm_layer
        self.conv_proj = self.stem(conv_stem_configs)
        self.class_token = Parameter(zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                               norm_layer)
        heads = OrderedDict()
        if representation_size is None:
            heads["head"] = nn.Linear(hidden_dim, num_classes)
        else:
            heads["pre_logits"], heads["act"] = nn.Linear(hidden_dim, representation_size), nn.Tanh()
            heads["head"] = nn.Linear(representation_size, num_classes)
        self.heads = nn.Sequential(heads)
        self.initialise()

    def stem(self, configs):
        if configs is None:
            return nn.Conv2d(3, self.hidden_dim, self.patch_size, self.patch_size)
        stem, width = nn.Sequential(), 3
        for i, c in enumerate(configs):
            stem.add_module(f"conv_bn_relu_{i}", Conv2dNormActivation(
                width, c.out_channels, c.kernel_size, c.stride, norm_layer=c.norm_layer,
                activation_layer=c.activation_layer))
            width = c.out_channels
        stem.add_module("conv_last", nn.Conv2d(width, self.hidden_dim, 1))
        return stem

    def initialise(self):
        stem = self.conv_proj
        if isinstance(stem, nn.Conv2d):
            inputs = stem.in_channels * stem.kernel_size[0] * stem.kernel_size[1]
            nn.init.trunc_normal_(stem.weight, std=math.sqrt(1 / inputs))
            nn.init.zeros_(stem.bias)
        else:
            last = stem.conv_last
            nn.init.normal_(last.weight, mean=0.0, std=math.sqrt(2.0 / last.out_channels))
            nn.init.zeros_(last.bias)
        if hasattr(self.heads, "pre_logits"):
            inner = self.heads.pre_logits
            nn.init.trunc_normal_(inner.weight, std=math.sqrt(1 / inner.in_features))
            nn.init.zeros_(inner.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x):
        """Images as sequences of embedded patches (N, patches, hidden_dim)."""
        height, width = x.shape[2:]
        for size, name in ((height, "height"), (width, "width")):
            if size != self.image_size:
                raise AssertionError(f"Wrong image {name}! Expected {self.image_size} but got {size}!")
        return self.conv_proj(x).flatten(2).permute(0, 2, 1)

    def forward(self, x):
        """The scores."""
        x = self._process_input(x)
        x = self.encoder(cat([self.class_token.expand(x.shape[0], -1, -1), x], 1))
        return self.heads(x[:, 0])


def interpolate_embeddings(image_size, patch_size, model_state, interpolation_mode="bicubic", reset_heads=False):
    """A state_dict whose embeddings of positions are resampled for images of another size; without the last layer's
    weights if `reset_heads`. ValueError for embeddings that are not those of a square."""
    embedding = model_state["encoder.pos_embedding"]
    count, length, width = embedding.shape
    if count != 1:
        raise ValueError(f"Unexpected position embedding shape: {embedding.shape}")
    new, old = image_size // patch_size, math.isqrt(length - 1)
    if new * new + 1 == length:
        return model_state
    if old * old != length - 1:
        raise ValueError(f"seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = {old * old} "
                         f"and seq_length = {length - 1}")
    grid = embedding[:, 1:].permute(0, 2, 1).reshape(1, width, old, old)
    grid = interpolate(grid, size=new, mode=interpolation_mode, align_corners=True)
    grid = grid.reshape(1, width, new * new).permute(0, 2, 1)
    state = OrderedDict((k, v) for k, v in model_state.items() if not (reset_heads and k.startswith("heads")))
    state["encoder.pos_embedding"] = cat([embedding[:, :1], grid], 1)
    return state


def made(patch_size, num_layers, num_heads, hidden_dim, mlp_dim, **options):
    return VisionTransformer(**{"image_size": 224, "patch_size": patch_size, "num_layers": num_layers,
                                "num_heads": num_heads, "hidden_dim": hidden_dim, "mlp_dim": mlp_dim, **options})


@register_model("ViT_B_16_Weights")
def vit_b_16(**options):
    """Vision transformer, base, patches of 16x16."""
    return made(16, 12, 12, 768, 3072, **options)


@register_model("ViT_B_32_Weights")
def vit_b_32(**options):
    """Vision transformer, base, patches of 32x32."""
    return made(32, 12, 12, 768, 3072, **options)


@register_model("ViT_L_16_Weights")
def vit_l_16(**options):
    """Vision transformer, large, patches of 16x16."""
    return made(16, 24, 16, 1024, 4096, **options)


@register_model("ViT_L_32_Weights")
def vit_l_32(**options):
    """Vision transformer, large, patches of 32x32."""
    return made(32, 24, 16, 1024, 4096, **options)


@register_model("ViT_H_14_Weights")
def vit_h_14(**options):
    """Vision transformer, huge, patches of 14x14."""
    return made(14, 32, 16, 1280, 5120, **options)
