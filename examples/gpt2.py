"""GPT-2 with its published weights writes a text.

What it shows: reading safetensors by their published names, attention with a cache of keys and values, weights of 8
bits. After Radford et al., Language Models are Unsupervised Multitask Learners (2019).

    python -m minitorch examples/gpt2.py FOLDER --prompt "Once upon a time"
    python examples/gpt2.py FOLDER                         (with PyTorch)
    python -m minitorch examples/gpt2.py --random

FOLDER has config.json, model.safetensors, and tokenizer.json or vocab.json and merges.txt, as the models gpt2,
gpt2-medium, gpt2-large, gpt2-xl and distilgpt2 are published.
"""

from dataclasses import dataclass

import torch
import torch.nn as nn
from language import Cache, attend, main
from torch.nn import functional as F


@dataclass
class Config:
    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    layer_norm_epsilon: float = 1e-5


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.layer, self.heads = layer, config.n_head
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x, cache):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if cache is not None:
            k, v = cache.put(self.layer, k, v)
        return self.c_proj(attend(q, k, v).transpose(1, 2).reshape(B, T, C))


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd)
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.attn = Attention(config, layer)
        self.ln_2 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(self, x, cache):
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Numbers (B, T) to logits (B, T, V); with a `Cache`, T new ones after those that it has."""

    SMALL = dict(vocab_size=256, n_positions=128, n_embd=64, n_layer=2, n_head=4)
    tied = ("lm_head.weight",)

    def __init__(self, config):
        super().__init__()
        self.config, self.context = config, config.n_positions
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList(Block(config, i) for i in range(config.n_layer))
        self.ln_f = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(start)
        self.tie()

    @staticmethod
    def config_of(given):
        """The `Config` of a config.json; ValueError for variants of the model that this is not."""
        given = {"n_positions": given.get("n_ctx", 1024), **given}
        for name, usual in dict(activation_function="gelu_new", n_inner=None, scale_attn_weights=True,
                                scale_attn_by_inverse_layer_idx=False, tie_word_embeddings=True).items():
            if given.get(name, usual) != usual:
                raise ValueError(f"config.json has {name}={given[name]!r}, this model has {usual!r}")
        return Config(**{name: given[name] for name in Config.__dataclass_fields__ if name in given})

    def place(self, name, tensor):
        """The name here of a published weight, and the weight turned: files have linear layers as (in, out)."""
        name = name.removeprefix("transformer.")
        if name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            tensor = tensor.t() if tensor.dtype == torch.float32 else tensor.t().contiguous()
        return name, tensor

    def tie(self):
        self.lm_head.weight = self.wte.weight

    def cache(self, batch, length):
        c = self.config
        return Cache(c.n_layer, batch, c.n_head, length, c.n_embd // c.n_head, self.wte.weight.dtype)

    def forward(self, numbers, cache=None):
        at = 0 if cache is None else cache.at
        x = self.wte(numbers) + self.wpe(torch.arange(at, at + numbers.shape[1]))
        for block in self.h:
            x = block(x, cache)
        if cache is not None:
            cache.at += numbers.shape[1]
        return self.lm_head(self.ln_f(x))


def start(module):
    """The paper's initial values."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


if __name__ == "__main__":
    main(__doc__, GPT2)
