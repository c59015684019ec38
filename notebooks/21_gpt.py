# %% [markdown]
# # 21. A GPT of your own
#
# The last step of the story. The network of notebook 19 looked at eight characters through one layer. Now the pieces
# become larger than characters, the layers many, attention looks back over a hundred pieces, and what the model writes
# can be recognised: it is the documentation of a Python that does not exist.
#
# **You will be able to**
# * learn a byte-pair tokenizer from a text, and say what its tokens buy;
# * build a residual connection, and show that without it depth is a wall;
# * train a small GPT in a few minutes on a laptop;
# * choose the next token by temperature and top-k.
#
# You need: notebooks 9 and 19. Time: two hours, of these four minutes of training.

# %%
import functools
import math
import os
import re
from collections import Counter, defaultdict
from pydoc_data.topics import topics

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

try:
    from tqdm import tqdm
except ImportError:
    tqdm = iter                                            # no progress bar without it

text = "\n\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()
symbols = sorted(set(text))

# %% [markdown]
# ## Pieces larger than characters
#
# A model that reads characters spends most of its effort on spelling, and a context of a hundred characters is one
# sentence. A model that reads words needs a row for each word, and has none for a new one. Between them: begin with
# characters, find the most frequent pair of neighbours, make it one token, and repeat. Frequent words end up as one
# token, rare ones as several, and none is impossible. That is *byte-pair encoding*, and every GPT reads so. (They begin
# with the 256 bytes; here the characters of the text do.)
#
# ## Exercise: the most frequent pair
#
# Pairs do not cross the ends of words, so a text is a list of different words with how often each occurs.


# %%
def best_pair(words):
    """words: a list of (tokens, count). The pair of neighbours that occurs most often; of several, the smallest."""
    # <solution>
    counts = Counter()
    for tokens, count in words:
        for pair in zip(tokens, tokens[1:]):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
    # </solution>


check.nb21.best_pair(best_pair)

# %% [markdown]
# ## Exercise: merge
#
# From left to right; what has been merged is not looked at again, so of `a a a` the first two become one.


# %%
def merge(tokens, pair, new):
    """tokens, with each occurrence of the two neighbours in `pair` replaced by `new`, as a list."""
    # <solution>
    out, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i:i + 2]) == tuple(pair):
            out.append(new)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out
    # </solution>


check.nb21.merge(merge)

# %% [markdown]
# ## Learn a vocabulary
#
# Your two functions in a loop are the whole algorithm. To count everything again after each merge takes a while,
# though, so this loop keeps the counts and corrects them for the words that changed. Words are cut as GPT-2 cuts them:
# a space belongs to the word after it.

# %%
VOCABULARY = 512
WORD = re.compile(r" ?[A-Za-z_]+| ?\d+| ?[^\sA-Za-z_\d]+|\s+(?!\S)|\s+")


def learn(text, size):
    """Merges {pair: new token} in the order in which they were learned, until there are `size` tokens."""
    words = [([symbols.index(c) for c in word], count) for word, count in Counter(WORD.findall(text)).items()]
    counts, where = Counter(), defaultdict(set)

    def note(i, sign):
        tokens, count = words[i]
        for pair in zip(tokens, tokens[1:]):
            counts[pair] += sign * count
            where[pair].add(i)

    for i in range(len(words)):
        note(i, +1)
    merges = {}
    for new in range(len(symbols), size):
        pair = min(counts, key=lambda pair: (-counts[pair], pair))
        merges[pair] = new
        for i in where[pair]:
            note(i, -1)
            words[i] = merge(words[i][0], pair, new), words[i][1]
            note(i, +1)
    return merges


if check.passed("nb21.merge", "nb21.best_pair"):
    merges = learn(text, VOCABULARY)
    spelled = list(symbols)
    for a, b in merges:
        spelled.append(spelled[a] + spelled[b])
    print("the first tokens:", spelled[len(symbols):][:24])
    print("the last ones:   ", spelled[-12:])
    sample = [([symbols.index(c) for c in word], 1) for word in WORD.findall(text[:20_000])]
    first, = learn(text[:20_000], len(symbols) + 1)
    assert best_pair(sample) == first

# %% [markdown]
# ## Exercise: encode
#
# New text is cut by the same merges, in the order in which they were learned: of all pairs that stand in the word, the
# one that was learned first goes first.


# %%
def encode_word(tokens, merges):
    """tokens, a list of numbers, with the merges {pair: new} applied until none fits, the earliest learned first."""
    # <solution>
    tokens = list(tokens)
    while fitting := [pair for pair in zip(tokens, tokens[1:]) if pair in merges]:
        pair = min(fitting, key=merges.get)
        tokens = merge(tokens, pair, merges[pair])
    return tokens
    # </solution>


check.nb21.encode_word(encode_word)


# %%
def encode(text):
    return [token for word in WORD.findall(text) for token in cut(word)]


@functools.cache
def cut(word):
    return encode_word([symbols.index(c) for c in word], merges)


def decode(tokens):
    return "".join(spelled[token] for token in tokens)


if check.passed("nb21.encode_word", "nb21.merge", "nb21.best_pair"):
    tokens = encode(text)
    assert decode(tokens) == text, "there and back again"
    print("|".join(spelled[t] for t in encode("The iterator raises a StopIteration exception, unfortunately.")))
    print(f"{len(text):,} characters are {len(tokens):,} tokens: {len(text) / len(tokens):.2f} characters each")
    assert len(text) / len(tokens) > 2

# %% [markdown]
# ## Exercise: a way around
#
# Twenty layers, one behind the other, each with a gradient a little too small: notebook 7. Normalising helps. Better
# still is not to *replace* what arrives but to add to it: $x + f(\text{norm}(x))$. The gradient then has a way around
# each layer on which it meets a factor of exactly 1, and a layer that has learned nothing yet does no harm.


# %%
def residual(x, f, norm):
    """x plus what f makes of the normalised x."""
    # <solution>
    return x + f(norm(x))
    # </solution>


check.nb21.residual(residual)


# %%
def first_gradient(depth, connect):
    """The size of the gradient in the first of `depth` layers."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(depth)]
    x = torch.randn(64, 32)
    for layer in layers:
        x = connect(x, layer, lambda x: F.layer_norm(x, (32,)))
    x.square().mean().backward()
    return layers[0][0].weight.grad.norm().item()


if check.passed("nb21.residual"):
    depths = [1, 2, 5, 10, 20, 40]
    plain = [first_gradient(depth, lambda x, f, norm: f(x)) for depth in depths]
    around = [first_gradient(depth, residual) for depth in depths]
    figure, axis = plt.subplots(figsize=(8, 3))
    axis.semilogy(depths, plain, "o--", label="one behind the other")
    axis.semilogy(depths, around, "s-", label="with a way around")
    axis.set(xlabel="layers", ylabel="gradient of the first layer")
    axis.legend()
    show_figure(figure, """The gradient of the first layer over the number of layers, on a logarithmic axis: one behind
                the other it falls by many orders of magnitude until 40 layers, with a way around it stays as large as
                it was.""")
    assert plain[-1] < 1e-4 * plain[0] and around[-1] > 0.1 * around[0]

# %% [markdown]
# ## The model
#
# All of it has been built before: embeddings (19), attention with heads (9), layer norm (7), your way around. Two
# details of GPT-2: the matrix that reads tokens also writes them, and branches that are added begin smaller, by the
# root of how many there are.

# %%
WIDTH, LAYERS, HEADS, LENGTH, BATCH = 128, 4, 4, 96, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, WIDTH))


class Block(nn.Module):
    """Positions exchange, then each digests."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        return residual(residual(x, self.attention, self.norm1), self.mlp, self.norm2)


class GPT(nn.Module):
    """Logits of the next token at each position: (N, T) integers to (N, T, VOCABULARY)."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                branch = name.endswith(("out.weight", "mlp.2.weight"))
                nn.init.normal_(p, std=0.02 / (2 * LAYERS) ** 0.5 if branch else 0.02)

    def forward(self, x):
        h = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        return self.norm(self.blocks(h)) @ self.tokens.weight.T


torch.manual_seed(0)
model = GPT()
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% [markdown]
# ## Training
#
# `compile` writes the whole step down, backward pass and optimiser included, and runs it as C where there is a
# compiler. On two cores the training takes about four minutes; if you have less time, set `STEPS` to 300 and read on:
# there will be words, but hardly sentences.

# %%
STEPS = int(os.environ.get("MINITORCH_LESSON_STEPS", 2000))
warm_up = min(50, STEPS // 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(
    (step + 1) / warm_up, 0.55 + 0.45 * math.cos(math.pi * step / STEPS)))


@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss


losses = []
ready = check.passed("nb21.encode_word", "nb21.merge", "nb21.best_pair", "nb21.residual")
if ready:
    pieces = torch.tensor(tokens).split(1600)              # about 4,000 characters, every tenth is held out
    train = torch.cat([piece for i, piece in enumerate(pieces) if i % 10 != 9])
    held_out = [piece for i, piece in enumerate(pieces) if i % 10 == 9]
    torch.manual_seed(0)
    bar = tqdm(range(STEPS))
    for i in bar:
        start = torch.randint(0, len(train) - LENGTH, (BATCH, 1)) + torch.arange(LENGTH)
        losses.append(step(train[start], train[start + 1]).item())
        schedule.step()
        if i % 20 == 0 and hasattr(bar, "set_postfix"):
            bar.set_postfix(loss=f"{losses[-1]:.3f}")

# %%
def held_out_bits():
    """Bits per character on the pieces that were set aside, each read in windows of LENGTH tokens."""
    loss, characters = 0.0, 0
    with torch.no_grad():
        for piece in held_out:
            windows = piece[:len(piece) // LENGTH * LENGTH].view(-1, LENGTH)
            x, y = windows[:, :-1], windows[:, 1:]
            loss += F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum").item()
            characters += len(decode(y.flatten().tolist()))
    return loss / math.log(2) / characters


if ready:
    measured = held_out_bits()
    figure, axis = plt.subplots(figsize=(8, 3))
    axis.plot(losses, linewidth=0.6)
    axis.axhline(math.log(VOCABULARY), color="#999999", linewidth=1, label="log of the vocabulary")
    axis.set(xlabel="step", ylabel="loss of a token", title=f"{measured:.2f} bits per character on what is held out")
    axis.legend()
    show_figure(figure, """The loss of a token over the steps begins at the log of the vocabulary, 6.2, falls steeply in
                the first hundred steps and slowly after.""")
    ladder = {"pairs (19)": 3.51, "network, 8 characters (19)": 2.27, f"GPT after {STEPS} steps": measured}
    for name, value in ladder.items():
        print(f"{name:28s} {value:5.2f} bits per character  {'#' * round(12 * value)}")
    assert abs(losses[0] - math.log(VOCABULARY)) < 0.2, "it begins at log n"
    assert min(losses[-5:]) < losses[0] - 0.2 and (STEPS < 2000 or measured < 1.9), "it learns"

# %% [markdown]
# ## Exercise: the next token
#
# The most likely token every time: the model gets into a loop and repeats itself. Any token by its probability: sooner
# or later a wrong one, and all that follows is led astray by it. Between them there are two knobs: take only the `k`
# most likely, and divide the logits by a *temperature*.
#
# So that it can be checked, chance comes from outside: `u` is uniform between 0 and 1. Add up the probabilities in the
# order of the tokens; the answer is the first token at which the sum is larger than `u`.


# %%
def choose(logits, temperature, k, u):
    """logits (n,): a token, one of the k most likely, drawn by softmax(logits / temperature), with chance u."""
    # <solution>
    edge = logits.topk(k).values[-1]
    p = (logits / temperature).masked_fill(logits < edge, float("-inf")).softmax(0)
    return min(int((p.cumsum(0) <= u).sum()), len(p) - 1)
    # </solution>


check.nb21.choose(choose)

# %%
def write(prompt, count, temperature=0.8, k=40, seed=0):
    """The prompt and `count` more tokens."""
    torch.manual_seed(seed)
    written = encode(prompt)
    with torch.no_grad():
        for _ in range(count):
            logits = model(torch.tensor([written[-LENGTH:]]))[0, -1]
            written.append(choose(logits, temperature, k, torch.rand(()).item()))
    return decode(written)


COUNT = 250 if STEPS >= 300 else 20
if ready and check.passed("nb21.choose"):
    for temperature, k in ((0.01, 1), (0.8, 40), (1.5, VOCABULARY)):
        print(f"----- temperature {temperature}, the {k} most likely " + "-" * 40)
        print(write("The", COUNT, temperature, k))
    assert write("The", 5, k=1) == write("The", 5, k=1, seed=1), "k = 1 leaves nothing to chance"

# %% [markdown]
# Show it at home: give it the beginning of a sentence, or a function to document.

# %%
if ready and check.passed("nb21.choose"):
    print(write("The value of a class is", COUNT, seed=1))

# %% [markdown]
# ## In real PyTorch
#
# The same block, and a step of the same optimiser. (The whole training in both libraries, from the same seed: `python
# -m benchmarks.lesson_gpt` in a clone; `docs/lesson_gpt.md` has its losses and more of what the model writes.)


# %%
def block(torch):
    torch.manual_seed(0)
    x, norm, mlp = torch.randn(2, 5, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW([*norm.parameters(), *mlp.parameters()], lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (x + torch.nn.functional.gelu(mlp(norm(x)))).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


check.in_pytorch(block)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Tokens are frequent neighbours, merged; the order of the merges is the tokenizer.
# * $x + f(\text{norm}(x))$: a layer adds, and the gradient has a way around it.
# * Temperature says how bold, top-k how much nonsense is possible at all.
# * The same loss, the same loop, the same data as in notebook 19: what changed is the function in between.
#
# **Go further.** `examples/gpt.py` is this model with characters, `examples/gpt2.py` reads the weights that OpenAI
# published, and `examples/llama.py` those of a newer family: compare their blocks with yours. A project on it is in
# `docs/projects.md`: your own text, your own model.
#
# Next: [22. Digits that you draw](22_canvas.ipynb)
