"""A small GPT learns to write Python's documentation, and writes some.

What it shows: causal self-attention, residual blocks with layer norm, weight decay for matrices only, sampling from the
most likely characters. After Radford et al., Language Models are Unsupervised Multitask Learners (2019).

    python -m minitorch examples/gpt.py      (or with PyTorch: python examples/gpt.py)
"""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from common import documentation, options, progress, pyplot, save
from torch.nn import functional as F


@dataclass
class GPTConfig:
    vocab_size: int
    block_size: int = 64
    n_layer: int = 3
    n_head: int = 4
    n_embd: int = 96
    dropout: float = 0.0


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head, self.dropout = config.n_head, config.dropout
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).view(B, T, 3, self.n_head, C // self.n_head).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.Sequential(nn.Linear(config.n_embd, 4 * config.n_embd), nn.GELU(approximate="tanh"),
                                 nn.Linear(4 * config.n_embd, config.n_embd), nn.Dropout(config.dropout))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block_size = config.block_size
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(config.vocab_size, config.n_embd), wpe=nn.Embedding(config.block_size, config.n_embd),
            h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]), ln_f=nn.LayerNorm(config.n_embd)))
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.transformer.wte.weight       # one matrix for both ends
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                last = name.endswith(("c_proj.weight", "mlp.2.weight"))     # residual branches begin smaller
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * config.n_layer) if last else 0.02)

    def forward(self, idx, targets=None):
        x = self.transformer.wte(idx) + self.transformer.wpe(torch.arange(idx.size(1)))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens, temperature=0.8, top_k=20):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -self.block_size:])
            logits = logits[:, -1] / temperature
            smallest = torch.topk(logits, min(top_k, logits.size(-1))).values[:, [-1]]
            logits[logits < smallest] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), 1)), dim=1)
        return idx


def main():
    args = options(__doc__, steps=500, batch=16)
    text = documentation()
    characters = sorted(set(text))
    code = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([code[c] for c in text])
    model = GPT(GPTConfig(vocab_size=len(characters)))
    print(f"{len(text):,} characters; a model of {sum(p.numel() for p in model.parameters()):,} parameters")
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=2e-3, betas=(0.9, 0.95))
    warm_up = max(1, args.steps // 20)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(
        (step + 1) / warm_up, 0.55 + 0.45 * math.cos(math.pi * step / args.steps)))
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        starts = torch.randint(len(data) - model.block_size - 1, (args.batch,))
        windows = torch.stack([data[i:i + model.block_size + 1] for i in starts])
        _, loss = model(windows[:, :-1], windows[:, 1:].contiguous())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        bar.show(loss.item())
    losses = bar.summary()

    model.eval()
    start = torch.tensor([[code[c] for c in "The "]])
    written = model.generate(start, 300)[0].tolist()
    print("-" * 70, "".join(characters[i] for i in written), "-" * 70, sep="\n")
    if plt := pyplot(args):
        figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
        axis.plot(losses, linewidth=0.8)
        axis.set(xlabel="step", ylabel="cross-entropy of a character", title="a small GPT on Python's documentation")
        save(figure, args, "gpt.png")


if __name__ == "__main__":
    main()
