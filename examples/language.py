"""The common part of gpt2.py and llama.py: folders of published weights, 8-bit weights, generating, the command line.

A folder is what a model's page offers: ``config.json``, safetensors files, one or several with an index, and a
tokenizer's files. Nothing is downloaded. Like all of this folder it runs on PyTorch as on minitorch.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch
import torch.nn as nn
from bytepairs import tokenizer_of
from torch.nn import functional as F


# ---- files -------------------------------------------------------------------------------------------------
def mapped(path):
    """The tensors of a safetensors file, by name, over the file's memory: pages are read when they are used."""
    try:
        from torch.serialization import load_file  # minitorch's
    except ImportError:
        from safetensors.torch import load_file
        return load_file(path)
    return load_file(path, mmap=True)


def files_of(folder):
    """The safetensors files of a folder: those of the index where there is one, else all."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        if any(Path(name).name != name for name in names):
            raise ValueError(f"{index} names files outside of its folder")
    else:
        names = sorted(path.name for path in folder.glob("*.safetensors"))
    missing = [name for name in names if not (folder / name).exists()]
    if missing or not names:
        raise FileNotFoundError(f"{folder} lacks {', '.join(missing) or 'files *.safetensors'}")
    return [folder / name for name in names]


def load(kind, folder, dtype=None):
    """The model of class `kind` with a folder's weights, as `dtype`, or as they are stored.

    The model is made without memory, and each tensor is put into its place as it comes from the file, so that no
    weight is in memory twice; what keeps its dtype stays in the file until it is used.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    with torch.device("meta"):
        model = kind(kind.config_of(config))
    wanted, state = model.state_dict(), {}
    for path in files_of(folder):
        for name, tensor in mapped(path).items():
            name, tensor = model.place(name, tensor if dtype is None else tensor.to(dtype))
            if name not in wanted:
                continue
            if tensor.shape != wanted[name].shape:
                raise ValueError(f"{name} of {path.name} has shape {tuple(tensor.shape)}, config.json says "
                                 f"{tuple(wanted[name].shape)}")
            state[name] = tensor
    missing = sorted(set(wanted) - set(state) - set(model.tied))
    if missing:
        raise ValueError(f"{folder} lacks {len(missing)} weights, among them {', '.join(missing[:3])}")
    model.load_state_dict(state, strict=False, assign=True)
    model.tie()
    return model.requires_grad_(False).eval()


# ---- 8 bits ------------------------------------------------------------------------------------------------
class Linear8(nn.Module):
    """A linear layer whose weight has 8 bits, and a scale for each output: ``weight * scales[:, None]``."""

    def __init__(self, linear):
        super().__init__()
        weight = linear.weight.detach().float()
        scales = weight.abs().amax(1).clamp(min=1e-12) / 127
        self.register_buffer("weight", (weight / scales[:, None]).round().to(torch.int8))
        self.register_buffer("scales", scales)
        self.bias = None if linear.bias is None else nn.Parameter(linear.bias.detach().float(), requires_grad=False)
        self.error = float((weight - self.weight * scales[:, None]).norm() / weight.norm())

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        out = torch._weight_int8pack_mm(rows.float(), self.weight, self.scales)
        out = out if self.bias is None else out + self.bias
        return out.to(x.dtype).reshape(*x.shape[:-1], len(self.scales))


def quantise(model):
    """Put `Linear8` in the place of all linear layers; returns the relative errors of their weights, by name."""
    errors = {}
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Linear):
            small = Linear8(module)
            errors[name] = small.error
            model.set_submodule(name, small)
    native = getattr(torch.backends, "native", None)       # minitorch's kernels in C, where there is a compiler
    if native is not None and native.reason() is None:
        native.enable()
    return errors


# ---- attention with a cache ----------------------------------------------------------------------------------
class Cache:
    """Keys and values of what has been read: `length` places for each layer, filled up to `at`."""

    def __init__(self, layers, batch, heads, length, size, dtype):
        self.kept = [torch.zeros(2, batch, heads, length, size, dtype=dtype) for _ in range(layers)]
        self.at, self.length = 0, length

    def put(self, layer, k, v):
        """Keep keys and values (batch, heads, new, size) of a layer; returns all of them up to here."""
        kept, end = self.kept[layer], self.at + k.shape[2]
        if end > self.length:
            raise ValueError(f"the cache has {self.length} places, {end} are needed")
        kept[0, :, :, self.at:end] = k
        kept[1, :, :, self.at:end] = v
        return kept[0, :, :, :end], kept[1, :, :, :end]


def attend(q, k, v):
    """Attention of the last places (batch, heads, new, size) on all places up to each; k and v may have fewer heads."""
    new, seen = q.shape[2], k.shape[2]
    mask = None
    if 1 < new < seen:
        mask = torch.ones(new, seen, dtype=torch.bool).tril(seen - new)
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=1 < new == seen, enable_gqa=k.shape[1] < q.shape[1])


# ---- generating ----------------------------------------------------------------------------------------------
def choose(logits, temperature=1.0, top_k=0, top_p=1.0, generator=None):
    """A number (batch, 1) drawn by logits (batch, V), or the likeliest with ``temperature=0``.

    Only the `top_k` likeliest take part (0: all), and of these the fewest that have a share of `top_p` together.
    """
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    logits = logits.float() / temperature
    if 0 < top_k < logits.shape[-1]:
        logits = logits.masked_fill(logits < logits.topk(top_k).values[:, -1:], -torch.inf)
    if top_p < 1:
        ordered, places = logits.sort(descending=True)
        shares = ordered.softmax(-1)
        outside = shares.cumsum(-1) - shares >= top_p      # what comes before has the share already
        logits = logits.masked_fill(outside.gather(1, places.argsort()), -torch.inf)
    return torch.multinomial(logits.softmax(-1), 1, generator=generator)


@torch.no_grad()
def generate(model, numbers, count, stop=(), **options):
    """Up to `count` numbers that continue a list of numbers, one after the other; none of `stop` is given."""
    count = min(count, model.context - len(numbers))
    cache = model.cache(1, len(numbers) + max(count, 0))
    new = torch.tensor([numbers])
    for _ in range(count):
        new = choose(model(new, cache)[:, -1], **options)
        if new.item() in stop:
            return
        yield new.item()


def stream(numbers, tokenizer, before=(), out=None):
    """Write numbers as text while they come, whole letters only; returns how many came and how long they took.

    All that came is decoded each time, with the numbers `before`: some tokenizers write a space by what was before it.
    """
    out, seen, start, count, parts = out or sys.stdout, list(before), 0.0, 0, 0
    done = len(text_of(tokenizer, seen))
    for number in numbers:
        start = start or time.perf_counter()               # when the prompt has been read
        seen.append(number)
        text, count = text_of(tokenizer, seen), count + 1
        parts = parts + 1 if text.endswith("\ufffd") else 4
        if parts >= 4:                                     # a letter has at most four parts
            out.write(text[done:])
            out.flush()
            done, parts = len(text), 0
    out.write(text_of(tokenizer, seen)[done:] + "\n")
    return count, time.perf_counter() - start if count else 0.0


def text_of(tokenizer, numbers):
    return tokenizer.decode(numbers).decode(errors="replace")


class Bytes:
    """Each byte is a number: the tokenizer of a model with random weights."""

    special: dict = {}

    def encode(self, text):
        return list(text.encode())

    def decode(self, numbers):
        return bytes(n % 256 for n in numbers)


# ---- the command line ----------------------------------------------------------------------------------------
def options(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="with config.json, safetensors and tokenizer files")
    parser.add_argument("--random", action="store_true", help="a small model with random weights, without any file")
    parser.add_argument("--prompt", default="The meaning of life is")
    parser.add_argument("--count", type=int, default=50, help="of tokens to generate, default: 50")
    parser.add_argument("--temperature", type=float, default=0.8, help="0 takes the likeliest, default: 0.8")
    parser.add_argument("--top-k", type=int, default=0, help="only the k likeliest, default: all")
    parser.add_argument("--top-p", type=float, default=0.95, help="only the likeliest of this share, default: 0.95")
    parser.add_argument("--dtype", choices=["float32", "stored"], default="float32",
                        help="stored: as in the file, which takes half the memory for 16 bits, and more time")
    parser.add_argument("--int8", action="store_true", help="linear layers with weights of 8 bits")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.random == (args.folder is not None):
        parser.error("say a folder, or --random")
    return args


def stops_of(folder):
    """The numbers that end a text, by generation_config.json, or config.json."""
    for name in ("generation_config.json", "config.json"):
        if (folder / name).exists():
            found = json.loads((folder / name).read_text(encoding="utf-8")).get("eos_token_id")
            if found is not None:
                return found if isinstance(found, list) else [found]
    return []


def main(description, kind, begin=()):
    """Run a model of class `kind` as the command line says; `begin`: special tokens; a text starts
    with one of them."""
    args = options(description)
    torch.manual_seed(args.seed)
    if args.random:
        model, tokenizer, stop = kind(kind.config_of({**kind.SMALL})).requires_grad_(False).eval(), Bytes(), []
    else:
        model = load(kind, args.folder, torch.float32 if args.dtype == "float32" else None)
        tokenizer, stop = tokenizer_of(args.folder), stops_of(args.folder)
    numbers = [tokenizer.special[text] for text in begin if text in tokenizer.special][:1]
    numbers += tokenizer.encode(args.prompt)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million weights of "
          f"{next(model.parameters()).dtype}, {len(numbers)} tokens of prompt")
    if args.int8:
        show_error(model, numbers)
    print(args.prompt, end="", flush=True)
    count, seconds = stream(generate(model, numbers, args.count, stop, temperature=args.temperature, top_k=args.top_k,
                                     top_p=args.top_p), tokenizer, numbers[-8:])
    if count > 1:
        print(f"{(count - 1) / seconds:.1f} tokens per second")


@torch.no_grad()
def show_error(model, numbers):
    """Quantise, and print how far weights and the logits of the prompt are from what they were."""
    prompt = torch.tensor([numbers])
    before = model(prompt).float()
    errors = quantise(model)
    after = model(prompt).float()
    worst = max(errors, key=errors.get)
    print(f"int8: weights of {len(errors)} layers within {errors[worst]:.2%} ({worst}), logits within "
          f"{float((after - before).norm() / before.norm()):.2%}, the likeliest token the same in "
          f"{float((after.argmax(-1) == before.argmax(-1)).float().mean()):.0%} of places")
