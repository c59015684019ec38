# %% [markdown]
# # 9. Sequences: from counts to attention
#
# Given the beginning of a word, what comes next? Everything called a *language model* answers this one question. We
# begin with a table of counts, which takes three lines and is not bad, and end with a small transformer that invents
# words. On the way every model is measured with the same ruler.
#
# **You will be able to**
# * build a bigram model, and say what perplexity measures;
# * write attention with a mask, and explain the root of d;
# * turn one attention into several heads by reshaping alone;
# * sample with a temperature, and generate with a key-value cache that gives the same as the full pass.
#
# You need: notebook 5. Time: two hours.

# %%
import re
from pydoc_data.topics import topics

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The data
#
# Python carries half a megabyte of English: its own language reference, for `help()`. We take its words.

# %%
text = " ".join(topics.values()).lower()
names = sorted({word for word in re.findall("[a-z]+", text) if 4 <= len(word) <= 12})
symbols = ["."] + sorted(set("".join(names)))              # a dot: the beginning and the end of a word
number = {symbol: i for i, symbol in enumerate(symbols)}
print(len(names), "words such as", ", ".join(names[10::400]), "in", len(symbols), "symbols")

torch.manual_seed(0)
order = torch.randperm(len(names)).tolist()
train, test = [names[i] for i in order[:-300]], [names[i] for i in order[-300:]]

# %% [markdown]
# ## Counting pairs
#
# How often does each symbol follow each other? Rows: the symbol before; columns: the one after.


# %%
def pairs(words):
    """The symbols before and after each step, as two index tensors."""
    steps = [(number[a], number[b]) for word in words for a, b in zip("." + word, word + ".")]
    before, after = zip(*steps)
    return torch.tensor(before), torch.tensor(after)


before, after = pairs(train)
counts = torch.zeros(len(symbols), len(symbols))
counts.index_put_((before, after), torch.ones(len(before)), accumulate=True)
figure, axis = plt.subplots(figsize=(6, 6))
axis.imshow((counts + 1).log().numpy(), cmap="cividis")
axis.set(xticks=range(len(symbols)), yticks=range(len(symbols)), xlabel="after", ylabel="before", title="log counts")
axis.set_xticklabels(symbols)
axis.set_yticklabels(symbols)
show_figure(figure, """A table of 27 by 27 symbols, bright where a pair is frequent: after q only u, after the dot
            often c, s and a consonant, before the dot often e, d, s.""")

# %% [markdown]
# ## Exercise: a model from counts
#
# Divide each row by its sum. But a pair that never occurred would get probability 0, and if the test data contain it
# once, the loss is infinite. So every count is raised by one: nothing is impossible.


# %%
def bigram(counts):
    """counts (n, n): probabilities of the next symbol, rows add up to 1."""
    # <solution>
    raised = counts + 1
    return raised / raised.sum(1, keepdim=True)
    # </solution>


check.nb09.bigram(bigram)

# %% [markdown]
# ## Exercise: one ruler for all
#
# The loss of a symbol is $-\log p$. The *perplexity* is $\exp$ of the mean loss: a model with perplexity 5 hesitates as
# if between five equally likely symbols. Guessing blindly has a perplexity of the number of symbols.


# %%
def perplexity(losses):
    """losses: one for each symbol, in natural logarithms."""
    # <solution>
    return losses.mean().exp()
    # </solution>


check.nb09.perplexity(perplexity)

# %%
ladder = {}
if check.passed("nb09.bigram", "nb09.perplexity"):
    table = bigram(counts)
    x, y = pairs(test)
    ladder["blind guess"] = float(len(symbols))
    ladder["pairs"] = float(perplexity(-table[x, y].log()))
    print({name: round(value, 1) for name, value in ladder.items()})
    assert ladder["pairs"] < 0.6 * ladder["blind guess"]

# %% [markdown]
# A neural network with an embedding of one symbol can do no better than this table; to improve we need *more context*.
# Attention lets each position look back at all the others, and decide for itself where.
#
# ## Exercise: who may look where
#
# While a word is read, the future is not there yet. In training it *is* there, all positions at once; so it has to be
# hidden.


# %%
def causal(n):
    """A bool tensor (n, n): may position i (row) look at position j (column)?"""
    # <solution>
    return torch.ones(n, n).tril().bool()
    # </solution>


check.nb09.causal(causal)

# %% [markdown]
# ## Exercise: attention
#
# Each position asks with a *query*, offers a *key*, and hands out a *value*. The score of a query and a key is their
# dot product; a softmax over the keys turns scores into weights; the result is the weighted mean of the values.
#
# Why divide by $\sqrt d$? A dot product of $d$ random numbers has variance $d$. Without the root, scores of size 10
# turn the softmax into a hard choice, with no gradient for anyone else. The largest weight among 10 random keys:

# %%
torch.manual_seed(0)
for d in (4, 64, 1024):
    scores = torch.randn(500, 1, d) @ torch.randn(500, d, 10)
    plain, scaled = (scores.softmax(-1).amax(-1).mean().item(), (scores / d ** 0.5).softmax(-1).amax(-1).mean().item())
    print(f"d = {d:4d}: largest weight {plain:.2f}, with the root {scaled:.2f}")
    assert scaled < 0.5 and (d < 1000 or plain > 0.9)


# %%
def attention(q, k, v, mask):
    """q (T, d), k (S, d), v (S, e), mask (T, S) bool: (T, e). Leading batch dimensions may come before."""
    # <solution>
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
    # </solution>


check.nb09.attention(attention)

# %% [markdown]
# ## Exercise: several heads
#
# One softmax can look at one place at a time. So the channels are cut into heads, each with its own attention. No loop,
# no new parameters: one reshape and one transpose. The shape alone does not tell whether you got it right.


# %%
def heads(x, n):
    """x (T, C): (n, T, C / n), where head h has the neighbouring channels h * C / n and on."""
    # <solution>
    return x.reshape(x.shape[0], n, -1).transpose(0, 1)
    # </solution>


check.nb09.heads(heads)

# %% [markdown]
# ## A transformer, piece by piece
#
# The next step is the largest of this course, so take it slowly. A transformer is a stack of equal *blocks*. In each,
# attention *exchanges* information between positions, and an MLP *digests* it at each position; both are added to what
# was there, so that a block that has learned nothing changes nothing much. Here with the library's attention, which
# computes what you wrote. Read `forward` line by line:
#
# 1. `qkv` makes query, key and value of each position by one product; `view` and `permute` cut them into heads (your
#    `heads`, for a batch and for three at once);
# 2. your `attention`, with your `causal` mask;
# 3. the heads are laid side by side again, mixed by `out`, and *added* to x;
# 4. the MLP sees each position alone, and is added, too.

# %%
LENGTH, WIDTH, HEADS = max(map(len, names)) + 1, 48, 4


class Block(nn.Module):
    """Attention and an MLP, each behind a norm and around a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.seen = (q, k)                                 # for the picture below
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.mlp(self.norm2(x))


torch.manual_seed(0)
block, x = Block(), torch.randn(1, 5, WIDTH)
print("in", tuple(x.shape), "out", tuple(block(x).shape), "query and key", *(tuple(part.shape) for part in block.seen))
changed = x.clone()
changed[0, 3] = torch.randn(WIDTH)                         # position 3 changes: who notices?
noticed = (block(x) - block(changed)).abs().amax((0, 2)) > 1e-6
print("positions that notice:", noticed.nonzero().flatten().tolist())
assert noticed.tolist() == [False, False, False, True, True]

# %% [markdown]
# The shape stays the same, so blocks can be stacked; and nobody notices what comes later. The rest is short: numbers
# become vectors (one for the symbol plus one for its place), two blocks, and a linear layer that gives a logit for each
# symbol.


# %%
class Transformer(nn.Module):
    """Logits of the next symbol at each position."""

    def __init__(self):
        super().__init__()
        self.symbols, self.places = nn.Embedding(len(symbols), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(symbols))

    def forward(self, x):
        h = self.symbols(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(h)))


class Recurrent(nn.Module):
    """The same with a GRU, which reads one symbol after the other and remembers."""

    def __init__(self):
        super().__init__()
        self.symbols, self.gru = nn.Embedding(len(symbols), WIDTH), nn.GRU(WIDTH, 2 * WIDTH, batch_first=True)
        self.head = nn.Linear(2 * WIDTH, len(symbols))

    def forward(self, x):
        return self.head(self.gru(self.symbols(x))[0])


# %% [markdown]
# ## The race
#
# Both are trained in the same way: 48 words a step, each position predicts the next symbol, and what is padded does not
# count.


# %%
def batch(words):
    """Inputs and targets, padded; what is padded has target -100, which the loss ignores."""
    x, y = torch.zeros(len(words), LENGTH, dtype=torch.long), torch.full((len(words), LENGTH), -100)
    for i, word in enumerate(words):
        row = torch.tensor([number[c] for c in "." + word + "."])
        x[i, :len(row) - 1], y[i, :len(row) - 1] = row[:-1], row[1:]
    return x, y


def fit(model, steps=250):
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1), []
    x, y = batch(train)
    for _ in range(steps):
        chosen = torch.randint(0, len(train), (48,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[chosen]).flatten(0, 1), y[chosen].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        x, y = batch(test)
        each = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="none")
    return losses, each[y.flatten() >= 0]


torch.manual_seed(0)
model = Transformer()
figure, axis = plt.subplots(figsize=(8, 3))
for label, net, style in (("GRU", Recurrent(), "--"), ("transformer", model, "-")):
    losses, each = fit(net)
    axis.plot(losses, style, label=label, linewidth=1)
    ladder[label] = each.mean().exp().item()
axis.set(xlabel="step", ylabel="loss")
axis.legend()
show_figure(figure, """The training losses of GRU and transformer over 250 steps fall from 3.3 to about 2, close to
            each other, the GRU's a little lower.""")
for name, value in ladder.items():
    print(f"{name:12s} perplexity {value:5.1f}  {'#' * round(value)}")
assert ladder["GRU"] < ladder["transformer"] < ladder.get("pairs", 12)

# %% [markdown]
# Both beat the table of pairs; between them the GRU wins. It is built to read in order; a transformer has to find out
# from examples what "just before" means, and two thousand words are little food for it. Train on, and it begins to
# learn them by heart: the training loss goes on falling, the test perplexity rises. (Try it: `fit(model, 250)` again,
# and print `each.mean().exp()`.) A transformer pays when there is much more text: `examples/gpt.py` trains one on whole
# sentences and lets it write some.
#
# What do the heads look at? Rows are positions, columns what they look at.

# %%
word = "constructing"
with torch.no_grad():
    model(batch([word])[0])
    q, k = model.blocks[0].seen
    t = len(word) + 1
    scores = (q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5)[0, :, :t, :t]
    weights = scores.masked_fill(~torch.ones(t, t).tril().bool(), float("-inf")).softmax(-1)
figure, axes = plt.subplots(1, HEADS, figsize=(13, 3.4))
for head, axis in enumerate(axes):
    axis.imshow(weights[head].numpy(), cmap="cividis", vmin=0, vmax=1)
    axis.set(title=f"head {head}", xticks=range(t), yticks=range(t))
    axis.set_xticklabels("." + word)
    axis.set_yticklabels("." + word)
show_figure(figure, """The attention weights of the four heads for the word "constructing": lower triangles, since
            nobody looks ahead; each row is bright at one or a few places, in most heads near the diagonal.""")
assert float((weights.sum(-1) - 1).abs().max()) < 1e-5 and float(weights.triu(1).abs().max()) == 0

# %% [markdown]
# ## Exercise: sampling
#
# Always taking the most likely symbol gives the same dull word each time. Sampling from all of them lets a rubbish
# symbol through now and then. So: keep the $k$ best, divide the logits by a *temperature* (below 1 bold choices become
# rarer, above 1 more frequent), and then take the softmax.


# %%
def top_k(logits, k, temperature):
    """logits (n,): probabilities of the k largest, 0 for the others."""
    # <solution>
    edge = logits.topk(k).values[-1]
    return (logits / temperature).masked_fill(logits < edge, float("-inf")).softmax(-1)
    # </solution>


check.nb09.top_k(top_k)


# %%
def invent(k, temperature):
    """A new word, symbol by symbol."""
    text = [0]
    with torch.no_grad():
        while len(text) < LENGTH:
            logits = model(torch.tensor([text]))[0, -1]
            text.append(torch.multinomial(top_k(logits, k, temperature), 1).item())
            if text[-1] == 0:
                break
    return "".join(symbols[i] for i in text).strip(".")


if check.passed("nb09.top_k"):
    torch.manual_seed(3)
    for temperature in (0.4, 0.8, 1.5):
        print(f"temperature {temperature}:", ", ".join(invent(12, temperature) for _ in range(6)))
    print("A sentence of words that do not exist:", " ".join(invent(5, 0.7) for _ in range(8)).capitalize() + ".")

# %% [markdown]
# ## Exercise: nothing twice
#
# `invent` runs the whole model again for every symbol, though nothing of the past has changed: the keys and values of
# old positions stay what they were. So keep them. One new position then costs one query, and no mask is needed: nothing
# lies in the future.


# %%
def cached(q, k, v, keys, values):
    """q, k (d,), v (e,) of the new position; keys (S, d), values (S, e): the output (e,), new keys, new values."""
    # <solution>
    keys, values = torch.cat([keys, k[None]]), torch.cat([values, v[None]])
    weights = (keys @ q / q.shape[-1] ** 0.5).softmax(0)
    return weights @ values, keys, values
    # </solution>


check.nb09.cached(cached)

# %% [markdown]
# The proof: position by position with the cache, and all at once with the mask, must give the same.

# %%
if check.passed("nb09.cached", "nb09.attention", "nb09.causal"):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 10, 8)
    keys, values, rows = torch.zeros(0, 8), torch.zeros(0, 8), []
    for t in range(10):
        row, keys, values = cached(q[t], k[t], v[t], keys, values)
        rows.append(row)
    difference = (torch.stack(rows) - attention(q, k, v, causal(10))).abs().max().item()
    print("largest difference:", difference)
    assert difference < 1e-5

# %% [markdown]
# ## In real PyTorch
#
# The library's attention, its mask and its heads.


# %%
def library(torch):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 5, 4)
    scaled = torch.nn.functional.scaled_dot_product_attention
    mask = torch.ones(5, 5).tril().bool()
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    return scaled(q, k, v, is_causal=True), scaled(q, k, v, attn_mask=mask), layer(q, k, v)[0]


check.in_pytorch(library)

# %%
check.report()

# %% [markdown]
# **Remember**
# * A language model is a table of conditional probabilities; a network is a table that can generalise.
# * Perplexity: between how many equally likely symbols does it hesitate?
# * Attention is a softmax-weighted mean; the root of $d$ keeps the softmax soft; minus infinity hides the future.
# * The past does not change: cache it.
#
# **Go further.** Leave out the position embedding. The perplexity hardly suffers, though nothing tells the model the
# order any more. How does it know? (A hint: what does the causal mask give away?)
#
# Next: [10. Generating: VAE and diffusion on digits](10_generating.ipynb)
