# %% [markdown]
# # 6. Optimisers as machines
#
# An optimiser is a machine with a few numbers of memory per weight: the gradient goes in, a step comes out. In this
# notebook you build the four that train nearly everything, and compare each with the library step by step, bit for bit
# where it matters.
#
# **You will be able to**
# * say what momentum, RMSprop, Adam and AdamW add, and which disease each one cures;
# * derive Adam's bias correction;
# * clip gradients without turning them, and plan a learning rate;
# * read the one number that says whether a learning rate is right.
#
# You need: notebook 5. Time: an hour and a half.

# %%
import math

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn, viz
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The valley
#
# $f(x, y) = \frac12 (x^2 + 40\,y^2)$: a valley, forty times steeper across than along. Gradient descent must take steps
# small enough for the steep direction (here below $2/40$, or it explodes), and then crawls along the flat one. Every
# real network has directions like that, by the thousand.

# %%
def valley(p):
    return 0.5 * (p[0] ** 2 + 40 * p[1] ** 2)


def descend(f, start, step, state, steps, **settings):
    """The path of an optimiser: step(p, g, *state, **settings) -> (p, *state)."""
    p = torch.tensor(start)
    kept, path = [torch.zeros(2) for _ in range(state)], [start]
    for t in range(1, steps + 1):
        p = p.detach().requires_grad_()
        g, = torch.autograd.grad(f(p), p)
        with torch.no_grad():
            p, *kept = step(p, g, *kept, **({"t": t} if state == 2 else {}), **settings)
        path.append(p.tolist())
    return path


def sgd(p, g, lr):
    return (p - lr * g,)


def draw_paths(f, paths, words, x=(-3, 3), y=(-1.5, 1.5), levels=20, log=False):
    X, Y = torch.meshgrid(torch.linspace(*x, 120), torch.linspace(*y, 120), indexing="xy")
    Z = f([X, Y])
    figure, axis = plt.subplots(figsize=(9, 4))
    axis.contour(X.numpy(), Y.numpy(), (Z.log1p() if log else Z).numpy(), levels=levels, cmap="Greys", alpha=0.6)
    colours = ["#0072b2", "#b34700", "#00734d", "#8a3f73", "#000000"]
    for (name, path), colour, marker in zip(paths.items(), colours, "osv^D"):
        axis.plot(*zip(*path), marker=marker, markersize=3, linewidth=1, color=colour, label=name)
    axis.set(xlim=x, ylim=y)
    axis.legend()
    show_figure(figure, words)


two = {f"lr {lr}": descend(valley, [-2.8, 1.2], sgd, 0, 40, lr=lr) for lr in (0.048, 0.01)}
draw_paths(valley, two, """Two paths of gradient descent in a long valley: with lr 0.048 it jumps from side to side on
           its way to the middle, with lr 0.01 it slides down the side at once and then creeps along the bottom.""")
assert abs(two["lr 0.048"][-1][0]) < 0.5 < abs(two["lr 0.01"][-1][0]) and abs(two["lr 0.01"][-1][1]) < 1e-3

# %% [markdown]
# ## Exercise: momentum
#
# Give the parameter a *velocity*. Across the valley the gradients alternate and cancel in it; along the valley they
# agree and add up. With `mu = 0.9` it can reach ten times the speed. (PyTorch takes the gradient whole: `mu * v + g`.)


# %%
def momentum(p, g, v, lr, mu):
    """One step: returns the new p and the new v."""
    # <solution>
    v = mu * v + g
    return p - lr * v, v
    # </solution>


check.nb06.momentum(momentum)

# %%
if check.passed("nb06.momentum"):
    two = {"plain, 40 steps": descend(valley, [-2.8, 1.2], sgd, 0, 40, lr=0.02),
           "momentum, 40 steps": descend(valley, [-2.8, 1.2], momentum, 1, 40, lr=0.02, mu=0.8)}
    draw_paths(valley, two, """In 40 steps plain gradient descent gets half of the way along the valley; with momentum
               the path swings and comes close to the middle.""")
    assert valley(two["momentum, 40 steps"][-1]) < 0.1 * valley(two["plain, 40 steps"][-1])

# %% [markdown]
# ## Exercise: RMSprop
#
# Another cure: if one direction is forty times steeper, divide its step by forty. Keep a running mean of each weight's
# *squared* gradient, and divide by its root. Now the learning rate is a length: "move each weight by about `lr`".


# %%
def rmsprop(p, g, v, lr, alpha, eps):
    """One step: returns the new p and the new v, the running mean of g squared."""
    # <solution>
    v = alpha * v + (1 - alpha) * g * g
    return p - lr * g / (v.sqrt() + eps), v
    # </solution>


check.nb06.rmsprop(rmsprop)

# %% [markdown]
# ## Exercise: the debt of zero
#
# A running mean has to begin somewhere, and zero is the usual place. So at first it is too small. By how much? Follow
# $m \leftarrow \beta m + (1-\beta) g$ for $t$ steps from $m = 0$: what do the weights of all the gradients add up to?


# %%
def total_weight(beta, t):
    """The sum of the weights of g_1 ... g_t in m."""
    # <solution>
    return 1 - beta ** t
    # </solution>


check.nb06.bias(total_weight)

# %%
mean, raw, corrected = 0.0, [], []
for t in range(1, 41):
    mean = 0.9 * mean + 0.1 * 1.0           # every gradient is 1: the mean should be 1 as well
    raw.append(mean)
    corrected.append(mean / total_weight(0.9, t) if check.nb06.bias(total_weight).ok else math.nan)
figure, axis = plt.subplots(figsize=(6, 2.8))
axis.plot(raw, label="m")
axis.plot(corrected, "--", label="m divided by its total weight")
axis.set(xlabel="step", ylim=(0, 1.2))
axis.legend()
show_figure(figure, """The running mean of ones rises slowly from 0.1 to nearly 1 in 40 steps; divided by its total
            weight it is 1 from the first step on.""")
assert raw[0] < 0.11 and (math.isnan(corrected[0]) or max(abs(m - 1) for m in corrected) < 1e-9)

# %% [markdown]
# Dividing by it is called *bias correction*. With $\beta_2 = 0.999$ the debt lasts for thousands of steps, and the
# first
# step of an uncorrected Adam would be three times too long: $m$ is a tenth of what it should be, $\sqrt v$ a thirtieth.
#
# ## Exercise: Adam
#
# Momentum in the numerator, RMSprop in the denominator, both corrected.


# %%
def adam(p, g, m, v, t, lr, b1, b2, eps):
    """One step, t = 1, 2, ...: returns the new p, m and v."""
    # <solution>
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    return p - lr * (m / (1 - b1 ** t)) / ((v / (1 - b2 ** t)).sqrt() + eps), m, v
    # </solution>


check.nb06.adam(adam)

# %% [markdown]
# A race in Rosenbrock's banana: it is easy to find the bend, and hard to follow it to the star at (1, 1). LBFGS, from
# the library, models the curvature and takes a handful of long steps; it needs exact gradients, which is why nobody
# trains networks on random batches with it.

# %%
def banana(p):
    return (1 - p[0]) ** 2 + 30 * (p[1] - p[0] ** 2) ** 2


def lbfgs_path(start):
    p = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.LBFGS([p], max_iter=4, line_search_fn="strong_wolfe")
    path = [start]

    def closure():
        optimizer.zero_grad()
        loss = banana(p)
        loss.backward()
        return loss
    for _ in range(8):
        optimizer.step(closure)
        path.append(p.tolist())
    return path


start = [-1.5, 0.5]
paths = {"SGD, 300 steps": descend(banana, start, sgd, 0, 300, lr=0.002), "LBFGS, 8 x 4 steps": lbfgs_path(start)}
if check.passed("nb06.momentum", "nb06.rmsprop", "nb06.adam"):
    paths["momentum, 300"] = descend(banana, start, momentum, 1, 300, lr=0.002, mu=0.9)
    paths["RMSprop, 300"] = descend(banana, start, rmsprop, 1, 300, lr=0.02, alpha=0.9, eps=1e-8)
    paths["Adam, 300"] = descend(banana, start, adam, 2, 300, lr=0.1, b1=0.9, b2=0.999, eps=1e-8)
draw_paths(banana, paths, """A bent valley with its lowest point at (1, 1), and the paths of the optimisers from the
           left: all find the bend; LBFGS arrives in a few long steps, momentum and RMSprop come close, SGD and Adam
           are on their way.""", x=(-2, 2), y=(-1, 3), log=True)
assert banana(paths["LBFGS, 8 x 4 steps"][-1]) < 1e-6 < banana(paths["SGD, 300 steps"][-1])
for name, path in paths.items():
    print(f"{name:18} ends at ({path[-1][0]:6.3f}, {path[-1][1]:6.3f}), f = {banana(path[-1]):.2g}")

# %% [markdown]
# ## Is yours the library's?
#
# A network on digits, 30 steps, your Adam against `torch.optim.Adam`. All parameters are compared after every step.

# %%
from minitorch.datasets import Digits

images, labels = Digits(train=True).tensors()
images = images.flatten(1)


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


if check.passed("nb06.adam"):
    mine, theirs = network(), network()
    optimizer = torch.optim.Adam(theirs.parameters(), lr=3e-3)
    state = [(torch.zeros_like(p), torch.zeros_like(p)) for p in mine.parameters()]
    furthest = 0.0
    for t, batch in enumerate(torch.randperm(1442)[:960].split(32), 1):
        for model in (mine, theirs):
            model.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
        with torch.no_grad():
            for i, p in enumerate(mine.parameters()):
                new, *state[i] = adam(p, p.grad, *state[i], t=t, lr=3e-3, b1=0.9, b2=0.999, eps=1e-8)
                p.copy_(new)
            furthest = max([furthest, *((p - q).abs().max().item() for p, q in zip(mine.parameters(),
                                                                                  theirs.parameters()))])
    print(f"{t} steps, largest difference of any weight: {furthest:.1e}")
    assert furthest < 1e-5

# %% [markdown]
# The last digits differ, because $m / c_1 / \sqrt{v / c_2}$ and $(m/\sqrt v) \cdot (\sqrt{c_2} / c_1)$ round
# differently;
# which of them a library computes is why "the same Adam" gives slightly different networks in different libraries.
#
# **Where does eps matter?** Only where gradients are as small as eps itself. The first Adam step is
# $\text{lr} \cdot g / (|g| + \text{eps})$, that is `lr` whatever the gradient, until:

# %%
for g in (1.0, 1e-3, 1e-6, 1e-8, 1e-10):
    p = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    p.grad = torch.tensor([g], dtype=torch.float64)
    torch.optim.Adam([p], lr=0.1).step()
    print(f"gradient {g:7.0e}: first step {-p.item():.4f}")

# %% [markdown]
# A weight that gets a gradient of 1e-6 moves as far as one that gets 1. That is Adam's strength, and why it also
# amplifies pure noise in weights that do not matter.
#
# ## Exercise: AdamW
#
# Weight decay pulls all weights gently to zero. In plain SGD one may add `wd * p` to the gradient. In Adam that term
# would be divided by $\sqrt v$ too, so that the *busiest* weights decay least. AdamW decays the weight itself.


# %%
def adamw(p, g, m, v, t, lr, b1, b2, eps, wd):
    """Decay, then Adam; you may call your adam."""
    # <solution>
    return adam(p * (1 - lr * wd), g, m, v, t, lr, b1, b2, eps)
    # </solution>


check.nb06.adamw(adamw)

# %% [markdown]
# ## Exercise: clipping
#
# One bad batch can give a gradient a thousand times longer than usual. Shorten it, but do not *turn* it: all tensors
# are scaled by one number, so that their joint length is at most `limit`.


# %%
def clip(grads, limit):
    """The list of gradients, scaled together."""
    # <solution>
    norm = sum((g * g).sum() for g in grads) ** 0.5
    return [g * min(1.0, limit / norm.item()) for g in grads]
    # </solution>


check.nb06.clip(clip)

# %% [markdown]
# ## Exercise: a learning rate with a plan
#
# Large models start slowly (their running means know nothing yet), then fast, then ever more finely.


# %%
def rate(step, warmup, total, lr):
    """The learning rate of step 0 ... total: a linear rise to lr over `warmup` steps, then half a cosine down to 0."""
    # <solution>
    if step < warmup:
        return lr * (step + 1) / warmup
    done = (step - warmup) / (total - warmup)
    return lr * 0.5 * (1 + math.cos(math.pi * done))
    # </solution>


check.nb06.cosine(rate)

# %%
if check.passed("nb06.cosine"):
    figure, axis = plt.subplots(figsize=(6, 2.5))
    axis.plot([rate(step, 10, 100, 1.0) for step in range(101)], ".-", markersize=3)
    axis.set(xlabel="step", ylabel="learning rate")
    show_figure(figure, "The learning rate rises in a straight line for ten steps and falls as half a cosine for 90.")

# %% [markdown]
# ## One number to watch
#
# How far does a step move a weight, compared with the weight itself? In long trainings of large networks about 1 : 1000
# is usual (the dotted line). Our small one, with 31 steps in all, likes it ten times faster. At 1 : 10,000 it is
# asleep; where steps are as large as the weights it forgets faster than it learns. Three learning rates, same network:

# %%
figure, axis = plt.subplots(figsize=(7, 3))
ends = {}
for lr in (1e-5, 1e-2, 1.0):
    model, ratios = network(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for batch in torch.randperm(1442).split(48):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), labels[batch]).backward()
        before = model[0].weight.detach().clone()
        optimizer.step()
        ratios.append(((model[0].weight - before).std() / before.std()).item())
    with torch.no_grad():
        loss = ends[lr] = F.cross_entropy(model(images), labels).item()
    axis.semilogy(ratios, label=f"lr {lr:g}: loss {loss:.2f} after one epoch")
axis.axhline(1e-3, color="#999999", linestyle=":")
axis.set(xlabel="step", ylabel="update : weight", title="first layer")
axis.legend()
show_figure(figure, f"""How far each step moves the first layer's weights, on a logarithmic axis, for three learning
            rates: about 1 : 10,000 for lr 0.00001 (loss {ends[1e-5]:.2f}), 1 : 100 for lr 0.01 (loss
            {ends[1e-2]:.2f}), and for lr 1 more than the weights themselves at first (loss {ends[1.0]:.2f}).""")
assert ends[1e-2] < 1.0 < min(ends[1e-5], ends[1.0])

# %% [markdown]
# `viz.flow` measures this for every parameter, together with the activations and the gradients.

# %%
model = network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
with viz.flow(model) as flow:
    for batch in torch.randperm(1442).split(48):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
flow

# %% [markdown]
# ## In real PyTorch
#
# Five optimisers, five steps, the same numbers.


# %%
def five_machines(torch):
    ends = {}
    for name, settings in (("SGD", {"momentum": 0.9}), ("RMSprop", {}), ("Adam", {}), ("AdamW", {}), ("Adagrad", {})):
        p = torch.tensor([-1.5, 0.5], requires_grad=True)
        optimizer = getattr(torch.optim, name)([p], lr=0.01, **settings)
        for _ in range(5):
            optimizer.zero_grad()
            ((1 - p[0]) ** 2 + 30 * (p[1] - p[0] ** 2) ** 2).backward()
            torch.nn.utils.clip_grad_norm_([p], 10.0)
            optimizer.step()
        ends[name] = p.tolist()
    return ends


check.in_pytorch(five_machines)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Momentum cancels what alternates; the root of the mean square evens out what is steep.
# * A mean that starts at 0 has to be divided by $1 - \beta^t$.
# * Decay the weight, not the gradient. Shorten the gradient, do not turn it.
#
# **Go further.** Write Lion (the sign of a momentum) in three lines and put it into the race. What is the largest
# learning rate at which SGD survives in the valley, and how does momentum change it?
#
# Next: [7. Signals: initialisation and normalisation](07_signals.ipynb)
