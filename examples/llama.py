"""A Llama with its published weights writes a text.

What it shows: rotary positions, also stretched as in Llama 3.1, RMS norm, grouped queries, a gated MLP, over the same
cache and the same files as gpt2.py. After Touvron et al., Llama 2 (2023), and Grattafiori et al., The Llama 3 Herd of
Models (2024).

    python -m minitorch examples/llama.py FOLDER --prompt "Once upon a time"
    python examples/llama.py FOLDER                        (with PyTorch)
    python -m minitorch examples/llama.py --random

FOLDER has config.json with ``"model_type": "llama"``, safetensors files and tokenizer.json: Llama 2 and 3, TinyLlama,
SmolLM and others of the same form. A tokenizer.json that is not a byte-level BPE, as Llama 2's,
needs the package tokenizers.
"""

import math
from dataclasses import dataclass, field

import torch
import torch.nn as nn
from language import Cache, attend, main
from torch.nn import functional as F


@dataclass
class Config:
    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int = 0                           # 0: as many as there are of queries
    head_dim: int = 0                                      # 0: the size divided by the heads
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: dict = field(default_factory=dict)
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False

    def __post_init__(self):
        self.num_key_value_heads = self.num_key_value_heads or self.num_attention_heads
        self.head_dim = self.head_dim or self.hidden_size // self.num_attention_heads


def frequencies(config):
    """By how much each pair of numbers turns from one place to the next, slower where `rope_scaling` says so."""
    size, scaling = config.head_dim, config.rope_scaling
    turns = config.rope_theta ** -(torch.arange(0, size, 2).float() / size)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "linear":
        return turns / scaling["factor"]
    if kind == "llama3":                                   # long waves all, short ones not, those between in part
        low, high, length = (scaling[name] for name in ("low_freq_factor", "high_freq_factor",
                                                        "original_max_position_embeddings"))
        share = ((length * turns / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        return turns * (share + (1 - share) / scaling["factor"])
    if kind != "default":
        raise ValueError(f"config.json has positions of type {kind!r}, known are default, linear and llama3")
    return turns


def turned(x, cos, sin):
    """Pairs (x[i], x[i + size / 2]) turned by the angles of their places (Su et al., RoFormer, 2021)."""
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype)


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.layer, self.size = layer, config.head_dim
        queries, others = config.num_attention_heads * self.size, config.num_key_value_heads * self.size
        self.q_proj = nn.Linear(config.hidden_size, queries, bias=config.attention_bias)
        self.k_proj = nn.Linear(config.hidden_size, others, bias=config.attention_bias)
        self.v_proj = nn.Linear(config.hidden_size, others, bias=config.attention_bias)
        self.o_proj = nn.Linear(queries, config.hidden_size, bias=config.attention_bias)

    def forward(self, x, cos, sin, cache):
        B, T, _ = x.shape
        q, k, v = (project(x).view(B, T, -1, self.size).transpose(1, 2)
                   for project in (self.q_proj, self.k_proj, self.v_proj))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        if cache is not None:
            k, v = cache.put(self.layer, k, v)
        return self.o_proj(attend(q, k, v).transpose(1, 2).reshape(B, T, -1))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=config.mlp_bias)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(self, x, cos, sin, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Numbers (B, T) to logits (B, T, V); with a `Cache`, T new ones after those that it has."""

    SMALL = dict(vocab_size=256, hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=128)

    def __init__(self, config):
        super().__init__()
        self.config, self.context = config, config.max_position_embeddings
        self.tied = ("lm_head.weight",) if config.tie_word_embeddings else ()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config, i) for i in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie()

    @staticmethod
    def config_of(given):
        """The `Config` of a config.json; ValueError for variants of the model that this is not."""
        for name, usual in dict(model_type="llama", hidden_act="silu").items():
            if given.get(name, usual) != usual:
                raise ValueError(f"config.json has {name}={given[name]!r}, this model has {usual!r}")
        given = {name: value for name, value in given.items() if value is not None}
        rope = given.get("rope_parameters", given.get("rope_scaling", {}))     # the newer spelling has the base too
        given |= {"rope_scaling": rope, **({"rope_theta": rope["rope_theta"]} if "rope_theta" in rope else {})}
        return Config(**{name: given[name] for name in Config.__dataclass_fields__ if name in given})

    def place(self, name, tensor):
        """The name here of a published weight, and the weight."""
        return name.removeprefix("model."), tensor

    def tie(self):
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight

    def cache(self, batch, length):
        c = self.config
        return Cache(c.num_hidden_layers, batch, c.num_key_value_heads, length, c.head_dim,
                     self.embed_tokens.weight.dtype)

    def forward(self, numbers, cache=None):
        at = 0 if cache is None else cache.at
        x = self.embed_tokens(numbers)
        angles = torch.outer(torch.arange(at, at + numbers.shape[1]).float(), frequencies(self.config)).repeat(1, 2)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin, cache)
        if cache is not None:
            cache.at += numbers.shape[1]
        return self.lm_head(self.norm(x))


if __name__ == "__main__":
    main(__doc__, Llama, begin=("<|begin_of_text|>", "<s>"))
