# %% [markdown]
# # 20. Every gradient by hand
#
# The network of notebook 19 once more, and this time nobody calls `backward()` but to check. You write down what it
# would have done: ten tensors, ten gradients, from the loss back to the embeddings. Whoever has done this once reads an
# error in a gradient as others read a typing error.
#
# **You will be able to**
# * derive the gradient of a softmax with cross-entropy, and say in a sentence what it pushes where;
# * find the gradient of a matrix product by shapes alone;
# * send gradients back through a lookup;
# * go backwards through a whole network, and train it without autograd.
#
# You need: notebooks 2, 4 and 19. Time: an hour and a half.

# %%
from pydoc_data.topics import topics

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

text = "\n\n".join(topics[name] for name in sorted(topics)).encode("ascii", "ignore").decode()
symbols = sorted(set(text))
number = {symbol: i for i, symbol in enumerate(symbols)}
codes = torch.tensor([number[symbol] for symbol in text])
n, CONTEXT, WIDTH, HIDDEN = len(symbols), 8, 12, 64
x_all, y_all = codes.unfold(0, CONTEXT, 1)[:-1], codes[CONTEXT:]

# %% [markdown]
# ## The forward pass, cut into steps
#
# Every intermediate result has a name and is kept: a backward pass needs most of them.


# %%
def fresh(seed=0):
    torch.manual_seed(seed)
    fan_in = CONTEXT * WIDTH
    return {"embedding": torch.randn(n, WIDTH), "w1": torch.randn(fan_in, HIDDEN) * (5 / 3) / fan_in ** 0.5,
            "b1": torch.randn(HIDDEN) * 0.1, "w2": torch.randn(HIDDEN, n) * 0.1, "b2": torch.randn(n) * 0.1}


def forward(x, y, p):
    """The loss, and all tensors on the way to it by their names, parameters included."""
    t = dict(p)
    t["looked_up"] = t["embedding"][x]                     # (N, CONTEXT, WIDTH)
    t["row"] = t["looked_up"].flatten(1)                   # (N, CONTEXT * WIDTH)
    t["before"] = t["row"] @ t["w1"] + t["b1"]             # (N, HIDDEN)
    t["h"] = torch.tanh(t["before"])
    t["logits"] = t["h"] @ t["w2"] + t["b2"]               # (N, n)
    return F.cross_entropy(t["logits"], y), t


# %% [markdown]
# ## Exercise: the loss
#
# The first step back is the most elegant of all. The loss of one row is $\log \sum_j e^{z_j} - z_t$. Its derivative by
# $z_i$: the first part gives $e^{z_i} / \sum_j e^{z_j}$, which is the probability of $i$; the second gives $-1$ where
# $i = t$. The loss is the mean over $N$ rows.


# %%
def loss_pull(logits, y):
    """The gradient of the mean cross-entropy by logits (N, n); targets y (N,)."""
    # <solution>
    g = logits.softmax(1)
    g[torch.arange(len(y)), y] -= 1
    return g / len(y)
    # </solution>


check.nb20.loss_pull(loss_pull)

# %% [markdown]
# Each row adds up to zero: what the right character is pulled up, all others together are pushed down, the likeliest of
# them most. A row that is right and sure is left in peace. Rows of the picture are steps of a text, columns characters.

# %%
if check.passed("nb20.loss_pull"):
    chosen = torch.arange(3000, 3012)
    _, t = forward(x_all[chosen], y_all[chosen], fresh())
    g = loss_pull(t["logits"], y_all[chosen])
    figure, axis = plt.subplots(figsize=(12, 2.6), layout="constrained")
    axis.imshow(g.numpy(), cmap="RdBu_r", vmin=-0.09, vmax=0.09, aspect="auto")
    axis.set(xticks=range(n), yticks=[], ylabel="rows of the batch", title="blue is pulled up, red is pushed down")
    axis.set_xticklabels([repr(s)[1:-1] for s in symbols], fontsize=6)
    show_figure(figure, """The gradient of the logits for twelve rows: in each one cell is strongly blue, the right
                character; all others are faintly red, the likeliest most.""")
    assert g.sum(1).abs().max() < 1e-6 and (g < 0).sum() == len(chosen)

# %% [markdown]
# ## Exercise: a linear layer
#
# $y = xW + b$ with a batch of rows in $x$. Nobody remembers these formulas; everybody finds them again by shapes. The
# gradient of `w` has the shape of `w`, and can only be made of `x` and `g`: there is one product that fits. Since every
# row used the same `b`, its gradients add up.


# %%
def linear_pull(g, x, w):
    """g (N, m) of x @ w + b, x (N, k), w (k, m): the gradients of x, w and b."""
    # <solution>
    return g @ w.T, x.T @ g, g.sum(0)
    # </solution>


check.nb20.linear_pull(linear_pull)

# %% [markdown]
# ## Exercise: a lookup
#
# `embedding[x]` copies rows. A row that was copied five times gets five gradients, and they add up; one that was never
# looked up gets none. That is a scatter: `index_add_` adds rows to a tensor, repeated indices included.


# %%
def lookup_pull(g, x, n):
    """g (N, context, d) of embedding[x], with x (N, context): the gradient of the embedding (n, d)."""
    # <solution>
    return torch.zeros(n, g.shape[-1], dtype=g.dtype).index_add_(0, x.flatten(), g.flatten(0, 1))
    # </solution>


check.nb20.lookup_pull(lookup_pull)

# %% [markdown]
# ## Exercise: the whole way back
#
# Now in one go, with what you have written. `t` has all tensors by the names of the forward pass above. Give the
# gradient of *each* of them but the loss: `logits`, `h`, `w2`, `b2`, `before`, `row`, `w1`, `b1`, `looked_up`,
# `embedding`. The derivative of tanh is $1 - \tanh^2$, and `h` is the tanh already.


# %%
def backward(x, y, t):
    """The gradients of all tensors in `t`, by their names."""
    # <solution>
    # | grad = {}
    # | grad["logits"] = ...
    # | raise NotImplementedError("your code here")
    grad = {}
    grad["logits"] = loss_pull(t["logits"], y)
    grad["h"], grad["w2"], grad["b2"] = linear_pull(grad["logits"], t["h"], t["w2"])
    grad["before"] = grad["h"] * (1 - t["h"] ** 2)
    grad["row"], grad["w1"], grad["b1"] = linear_pull(grad["before"], t["row"], t["w1"])
    grad["looked_up"] = grad["row"].reshape(t["looked_up"].shape)
    grad["embedding"] = lookup_pull(grad["looked_up"], x, len(t["embedding"]))
    return grad
    # </solution>


check.nb20.backward(backward)

# %% [markdown]
# Tensor by tensor beside autograd, on a real batch. Errors travel backwards: if several are wrong, mend the *first* of
# them, the others may only have inherited it.

# %%
def compare(mine, theirs):
    """A line for each tensor, in the order of the backward pass."""
    for name, right in theirs.items():
        found = mine.get(name)
        if found is None or found.shape != right.shape:
            words = "missing" if found is None else f"shape {list(found.shape)}, should be {list(right.shape)}"
        else:
            difference = (found - right).abs().max().item()
            words = f"{'same' if difference < 1e-7 else 'WRONG'}, largest difference {difference:.1e}"
        print(f"{name:10s} {str(list(right.shape)):14s} {words}")


def by_autograd(x, y, p):
    loss, t = forward(x, y, {name: value.clone().requires_grad_() for name, value in p.items()})
    names = ["logits", "h", "w2", "b2", "before", "row", "w1", "b1", "looked_up", "embedding"]
    return dict(zip(names, torch.autograd.grad(loss, [t[name] for name in names])))


if check.passed("nb20.backward"):
    torch.manual_seed(1)
    chosen = torch.randint(0, len(x_all), (64,))
    x, y, p = x_all[chosen], y_all[chosen], fresh()
    theirs, mine = by_autograd(x, y, p), backward(x, y, forward(x, y, p)[1])
    compare(mine, theirs)
    assert all((mine[name] - theirs[name]).abs().max() < 1e-6 for name in theirs)

# %% [markdown]
# ## Training without autograd
#
# Two runs from the same beginning, one with `loss.backward()`, one with what you wrote. Nothing is recorded in yours:
# tensors here are no more than arrays.

# %%
def train(gradients, steps=300, lr=0.3):
    """The losses of a run in which ``gradients(x, y, p)`` gives the loss and the gradients of the parameters."""
    p, losses = fresh(), []
    torch.manual_seed(2)
    for _ in range(steps):
        chosen = torch.randint(0, len(x_all), (64,))
        loss, g = gradients(x_all[chosen], y_all[chosen], p)
        for name in p:
            p[name] -= lr * g[name]
        losses.append(loss.item())
    return losses


def recorded(x, y, p):
    leaves = {name: value.detach().clone().requires_grad_() for name, value in p.items()}
    loss, _ = forward(x, y, leaves)
    return loss, dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()))))


def by_hand(x, y, p):
    loss, t = forward(x, y, p)
    assert not loss.requires_grad, "no graph"
    return loss, backward(x, y, t)


if check.passed("nb20.backward"):
    one, two = train(recorded), train(by_hand)
    figure, axis = plt.subplots(figsize=(8, 3))
    axis.plot(one, linewidth=3, color="#E69F00", label="autograd")
    axis.plot(two, "k:", linewidth=1, label="by hand")
    axis.set(xlabel="step", ylabel="loss")
    axis.legend()
    show_figure(figure, """The losses of two runs over 300 steps, by autograd and by hand: the dotted line lies on the
                other everywhere, from 4.7 to about 2.7.""")
    largest = max(abs(a - b) for a, b in zip(one, two))
    last = sum(two[-20:]) / 20
    print(f"loss {two[0]:.2f} at first, {last:.2f} in the end; largest difference of the runs {largest:.1e}")
    assert largest < 1e-2 and last < 3.2 < two[0]

# %% [markdown]
# ## In real PyTorch
#
# The three rules, beside PyTorch's autograd; `check.in_pytorch` compares what the two libraries give.


# %%
def gradients(torch):
    torch.manual_seed(0)
    x, y = torch.randint(0, 5, (4, 2)), torch.randint(0, 5, (4,))
    embedding, w, b = (torch.randn(size, requires_grad=True) for size in ((5, 3), (6, 5), (5,)))
    logits = embedding[x].flatten(1) @ w + b
    torch.nn.functional.cross_entropy(logits, y).backward()
    return embedding.grad, w.grad, b.grad


check.in_pytorch(gradients)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Softmax with cross-entropy: probability minus one for the right class, divided by N.
# * A product: each gradient is made of `g` and the *other* factor; shapes say how.
# * Copying forwards is adding backwards: a bias, an embedding, a broadcast axis.
# * Errors travel backwards: mend the one next to the loss first.
#
# **Go further.** Put a layer norm between `before` and the tanh, and write its gradient (notebook 7 has batch norm's).
# Then count: which of the tensors in `t` does no gradient need? PyTorch does not keep those.
#
# Next: [21. A GPT of your own](21_gpt.ipynb)
