# %% [markdown]
# # 19. A model that writes: from counts to embeddings
#
# Three notebooks, one story. A model reads half a megabyte of text and learns to write more of it. It begins here as a
# table of counts, becomes a network with a memory of eight characters, gets a backward pass of your own in notebook 20,
# and ends in notebook 21 as a small GPT. One number measures all of them.
#
# **You will be able to**
# * compare language models by bits per character, whatever their alphabet;
# * show that a table of counts and a trained table are the same model;
# * write the network of Bengio and others (2003), with an embedding of each character;
# * read in an embedding what the network found out about letters.
#
# You need: notebooks 5 and 9. Time: an hour and a half.

# %%
import math
from pydoc_data.topics import topics

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The text
#
# Every Python carries its own language reference, for `help()`: what `while` does, how slices work, what a class is.
# You will recognise it when a model imitates it. (The text differs a little from one Python to the next; so will your
# numbers.) Every tenth piece of 4,000 characters is set aside to measure with.

# %%
text = "\n\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()
symbols = sorted(set(text))
number = {symbol: i for i, symbol in enumerate(symbols)}
codes = torch.tensor([number[symbol] for symbol in text])
pieces = codes.split(4000)
train = torch.cat([piece for i, piece in enumerate(pieces) if i % 10 != 9])
held_out = torch.cat([piece for i, piece in enumerate(pieces) if i % 10 == 9])
print(f"{len(text):,} characters, {len(symbols)} different ones; {len(held_out):,} are held out")
print(text[5000:5300])

# %% [markdown]
# ## Exercise: one number for all models
#
# The loss of a model is $-\log p$ of what really came, in natural logarithms. A file that the model compresses needs
# $-\log_2 p$ bits instead; divided by the number of *characters* that is a number which you can compare between models
# that read letters, pairs of letters or words. The losses below may be those of longer pieces than characters: there
# are then fewer of them.


# %%
def bits(losses, characters):
    """losses (N,), natural logarithms, of a text with this many characters: bits per character."""
    # <solution>
    return losses.sum() / math.log(2) / characters
    # </solution>


check.nb19.bits(bits)

# %% [markdown]
# ## A table, counted and learned
#
# The bigram table of notebook 9: how often each character follows each other. Its logarithm is a table of logits. But a
# table of logits can be *learned* as well, by gradient descent from zeros, without any division. Where does it end?

# %%
n = len(symbols)
counts = torch.zeros(n, n).index_put_((train[:-1], train[1:]), torch.ones(len(train) - 1), accumulate=True)
probability = (counts + 0.1) / (counts + 0.1).sum(1, keepdim=True)
table = torch.zeros(n, n, requires_grad=True)
share = counts / counts.sum()                              # of each pair: all steps of the text at once
mean_loss = lambda logits: -(share * logits.log_softmax(1)).sum()
optimizer, losses = torch.optim.Adam([table], lr=0.5), []
for _ in range(60):
    optimizer.zero_grad()
    loss = mean_loss(table)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
counted = -(share * probability.log()).sum().item()
figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(losses, label="learned")
axis.axhline(counted, color="#D55E00", linestyle="--", label="counted")
axis.axhline(math.log(n), color="#999999", linewidth=1, label=f"log {n}")
axis.set(xlabel="step", ylabel="loss", title="a table of logits, learned")
axis.legend()
show_figure(figure, """The loss of the learned table over 60 steps falls from log n, 4.5, to that of the counted table,
            2.5, within about thirty steps, and stays there.""")
print(f"counted: {counted:.3f}; learned: {losses[0]:.3f} at first, {losses[-1]:.3f} in the end")
assert abs(losses[0] - math.log(n)) < 1e-4 and abs(losses[-1] - counted) < 0.05

# %% [markdown]
# Two things to remember. A model that knows nothing begins at $\log n$; a first loss far above means that the weights
# at the beginning are too large. And what a network learns with this loss are *relative frequencies*: counting is the
# special case in which the answer can be written down.
#
# What the table writes:

# %%
def write(next_probability, context, count, seed=0):
    """`count` characters, each drawn from ``next_probability(context)``; the context slides along."""
    torch.manual_seed(seed)
    context, written = list(context), []
    for _ in range(count):
        written.append(torch.multinomial(next_probability(context), 1).item())
        context = context[1:] + written[-1:]
    return "".join(symbols[i] for i in written)


ladder = {}
print(write(lambda context: probability[context[-1]], [number["\n"]], 200))
if check.passed("nb19.bits"):
    frequency = (counts.sum(0) + 0.1) / (counts.sum() + 0.1 * n)
    ladder["nothing known"] = math.log2(n)
    ladder["frequencies"] = bits(-frequency[held_out].log(), len(held_out)).item()
    ladder["pairs"] = bits(-probability[held_out[:-1], held_out[1:]].log(), len(held_out) - 1).item()
    print({name: round(value, 2) for name, value in ladder.items()})

# %% [markdown]
# It knows that a `u` follows a `q`, and forgets everything else. A table of three characters would have nearly a
# million rows, one of eight six million billion, and nearly all of them would stay empty. So the
# next step is not a larger table, but a function with few parameters that can guess at rows which
# it never saw.
#
# ## Exercise: windows
#
# From a text, all contexts of a fixed length, and the character after each.


# %%
def windows(codes, context):
    """codes (L,): inputs (L - context, context) and targets (L - context,)."""
    # <solution>
    return codes.unfold(0, context, 1)[:-1], codes[context:]
    # </solution>


check.nb19.windows(windows)

# %% [markdown]
# ## Exercise: the network
#
# Each character is looked up in a table of *embeddings*, a short vector for each, and these are parameters like all
# others: learned. The vectors of the context stand side by side in one long row; a layer with `tanh` and a linear layer
# follow. `embedding[x]`, with integers in `x`, is a lookup for all of them at once.


# %%
def forward(x, embedding, w1, b1, w2, b2):
    """x (N, context) integers, embedding (n, d), w1 (context * d, hidden), w2 (hidden, n): logits (N, n)."""
    # <solution>
    h = torch.tanh(embedding[x].flatten(1) @ w1 + b1)
    return h @ w2 + b2
    # </solution>


check.nb19.forward(forward)

# %%
CONTEXT, WIDTH, HIDDEN = 8, 12, 128


def fresh(seed=0):
    """The parameters: small last weights, so that the first loss is log n, and first ones by notebook 7."""
    torch.manual_seed(seed)
    fan_in = CONTEXT * WIDTH
    made = [torch.randn(n, WIDTH), torch.randn(fan_in, HIDDEN) * (5 / 3) / fan_in ** 0.5, torch.zeros(HIDDEN),
            torch.randn(HIDDEN, n) * 0.01, torch.zeros(n)]
    return [p.requires_grad_() for p in made]


parameters = fresh()
print(f"{sum(p.numel() for p in parameters):,} parameters")
if check.passed("nb19.bits", "nb19.windows", "nb19.forward"):
    x, y = windows(train, CONTEXT)
    optimizer = torch.optim.Adam(parameters, lr=8e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, 1800)
    losses = []
    for _ in range(1800):
        chosen = torch.randint(0, len(x), (256,))
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x[chosen], *parameters), y[chosen])
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    with torch.no_grad():
        x_test, y_test = windows(held_out, CONTEXT)
        each = F.cross_entropy(forward(x_test, *parameters), y_test, reduction="none")
        ladder[f"network, {CONTEXT} characters"] = bits(each, len(each)).item()
    figure, axis = plt.subplots(figsize=(8, 3))
    axis.plot([loss / math.log(2) for loss in losses], linewidth=0.8, label="training")
    axis.axhline(ladder["pairs"], color="#D55E00", linestyle="--", label="pairs")
    axis.set(xlabel="step", ylabel="bits per character", title="a network with a context of eight characters")
    axis.legend()
    show_figure(figure, """The training loss of the network in bits per character falls quickly below that of pairs,
                3.5, and ends near 2.2.""")
    for name, value in ladder.items():
        print(f"{name:24s} {value:5.2f} bits per character  {'#' * round(8 * value)}")
    assert abs(losses[0] - math.log(n)) < 0.1, "it begins at log n"
    steps = list(ladder.values())
    assert all(a > b + 0.3 for a, b in zip(steps, steps[1:])), "each model is clearly better than the one before"

# %% [markdown]
# It writes, too. Set beside what the table wrote: spaces and capitals fall into place, and there are words.

# %%
if check.passed("nb19.forward"):
    with torch.no_grad():
        context = [number[symbol] for symbol in "\n\nThe ob"[:CONTEXT]]
        print(write(lambda context: forward(torch.tensor([context]), *parameters)[0].softmax(0), context, 300))

# %% [markdown]
# ## Exercise: whom does it take for similar?
#
# Nobody told the network about vowels, capitals or digits. Characters that are used alike have got similar vectors,
# since what the network learned about one then holds for the other. The similarity of two vectors is the cosine of the
# angle between them: length does not count.


# %%
def nearest(embedding, i):
    """embedding (n, d): the row, other than i, with the largest cosine similarity to row i, as an int."""
    # <solution>
    unit = embedding / embedding.norm(dim=1, keepdim=True)
    similarity = unit @ unit[i]
    similarity[i] = -2
    return similarity.argmax().item()
    # </solution>


check.nb19.nearest(nearest)

# %%
if check.passed("nb19.nearest"):
    with torch.no_grad():
        embedding = parameters[0].detach()
        print(", ".join(f"{a} ~ {symbols[nearest(embedding, number[a])]}" for a in "aeiou0137TS([.,"))
        centred = embedding - embedding.mean(0)
        place = centred @ torch.linalg.svd(centred, full_matrices=False)[2][:2].T
    figure, axis = plt.subplots(figsize=(8, 5))
    kinds = (("vowels", "aeiou", "#D55E00"), ("other letters", "bcdfghjklmnpqrstvwxyz", "#0072B2"),
             ("capitals", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "#009E73"), ("digits", "0123456789", "#E69F00"))
    for kind, members, colour in kinds:
        axis.scatter([], [], color=colour, label=kind)
        for symbol in members:
            px, py = place[number[symbol]].tolist()
            axis.text(px, py, symbol, color=colour, ha="center", va="center", fontsize=12)
    axis.set(xlim=(place[:, 0].min().item() - 0.3, place[:, 0].max().item() + 0.3),
             ylim=(place[:, 1].min().item() - 0.3, place[:, 1].max().item() + 0.3),
             title="embeddings, the two directions in which they differ most")
    axis.legend()
    show_figure(figure, """A map of letters, digits and capitals by their embeddings: vowels lie close together, and so
                do digits; many capitals lie near the small letter of the same name.""")
    vowels = [number[symbol] for symbol in "aeiou"]
    to_vowels = F.cosine_similarity(embedding[vowels][:, None], embedding[vowels], dim=2)
    others = [number[symbol] for symbol in "bcdfghjklmnpqrstvwxz"]
    to_others = F.cosine_similarity(embedding[vowels][:, None], embedding[others], dim=2)
    among = (to_vowels.sum() - len(vowels)) / (len(vowels) * (len(vowels) - 1))
    print(f"mean cosine of two vowels {among.item():.2f}, of a vowel and a consonant {to_others.mean().item():.2f}")
    assert among > to_others.mean(), "vowels lie closer to each other than to consonants"

# %% [markdown]
# ## In real PyTorch
#
# The same network, its loss and the gradient of its embedding.


# %%
def network(torch):
    torch.manual_seed(0)
    x, y = torch.randint(0, 7, (4, 3)), torch.randint(0, 7, (4,))
    embedding, w1, w2 = torch.randn(7, 2, requires_grad=True), torch.randn(6, 5), torch.randn(5, 7)
    h = torch.tanh(embedding[x].flatten(1) @ w1)
    loss = torch.nn.functional.cross_entropy(h @ w2, y)
    loss.backward()
    return loss, embedding.grad


check.in_pytorch(network)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Bits per character measure a language model, whatever the pieces are that it reads.
# * The first loss is $\log n$, or the weights are wrong; counting is the closed form of learning.
# * An embedding is a table that is looked up and learned; what is used alike ends up close together.
#
# **Go further.** Double the context, then the width. Which of them helps more for each parameter added? `examples/
# char_rnn.py` reads the same text with an LSTM, whose context has no fixed end.
#
# Next: [20. Every gradient by hand](20_by_hand.ipynb)
