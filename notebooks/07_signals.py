# %% [markdown]
# # 7. Signals: initialisation and normalisation
#
# Send a signal through fifty layers. If each multiplies it by 0.7, one part in fifty million arrives; if by 1.4, the
# output is twenty million times too large. Only factors very close to 1 survive, and for years that was a main reason
# why deep networks "could not be trained". The cure is one square root. This notebook derives it.
#
# **You will be able to**
# * choose the scale of weights so that signals survive any depth, and say where the 2 in Kaiming's formula comes from;
# * see dead units, and read activation histograms;
# * write batch norm, forward and backward, with the trap that catches everyone once;
# * say what layer norm and RMS norm do differently.
#
# You need: notebook 5. Time: an hour and a half.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn, viz
from minitorch.datasets import Digits
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## Fifty layers, three scales

# %%
DEPTH, WIDTH = 50, 100


def signal(std, seed=0):
    """The activations after each of 50 relu layers whose weights have this standard deviation."""
    torch.manual_seed(seed)
    h, seen = torch.randn(200, WIDTH), []
    for _ in range(DEPTH):
        h = torch.relu(h @ (torch.randn(WIDTH, WIDTH) * std))
        seen.append(h)
    return seen


figure, axis = plt.subplots(figsize=(8, 3.4))
for std, style in ((0.05, ":"), (0.1, "--"), (0.2, "-.")):
    axis.semilogy([h.pow(2).mean().sqrt().item() for h in signal(std)], style, label=f"std {std}")
axis.axhline(1.0, color="#999999", linewidth=1)
axis.set(xlabel="layer", ylabel="size of the signal (rms)", title="100 units a layer, relu")
axis.legend()
show_figure(figure, """The size of the signal over 50 layers on a logarithmic axis: three nearly straight lines. With
            std 0.05 and 0.1 it falls, to almost nothing with 0.05; with std 0.2 it rises by many powers of ten.""")
assert signal(0.1)[-1].pow(2).mean() < 1e-6 and signal(0.2)[-1].pow(2).mean() > 1e6

# %% [markdown]
# Straight lines on a logarithmic axis: each layer multiplies by the same factor. Somewhere between 0.1 and 0.2 lies the
# right one. Find it by thinking:
#
# * One unit adds up `fan_in` products $w_i h_i$ with random signs. Variances add: $\text{fan\_in} \cdot \sigma^2 \cdot
#   \overline{h^2}$.
# * A relu then deletes the negative half, and with it half of the mean square. A leaky one, with slope $a$ for negative
#   inputs, leaves $(1 + a^2)/2$.
#
# ## Exercise: the scale


# %%
def scale(fan_in, slope):
    """The standard deviation of the weights for which the mean square stays the same; slope 0 is a relu."""
    # <solution>
    return (2 / ((1 + slope ** 2) * fan_in)) ** 0.5
    # </solution>


check.nb07.scale(scale)

# %%
if check.passed("nb07.scale"):
    sizes = [h.pow(2).mean().sqrt().item() for h in signal(scale(WIDTH, 0.0))]
    print(f"std {scale(WIDTH, 0.0):.4f}: rms {sizes[0]:.2f} after layer 1, {sizes[-1]:.2f} after layer {DEPTH}")
    assert 0.05 < sizes[-1] < 20

# %% [markdown]
# It still wanders: a *random* factor near 1 per layer, fifty times. That is one of the two reasons for normalisation
# layers; the other is that training moves the weights away from where you put them.
#
# ## What a histogram shows
#
# One column per layer, dark where many activations lie. Above: tanh with weights five times too large: most of it is
# pressed to -1 and 1, where the slope is zero and no gradient comes through. Below: the right scale ($1/\sqrt{n}$ for
# the linear middle of tanh).

# %%
figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True)
saturated = []
for axis, std in zip(axes, (0.5, 0.1)):
    torch.manual_seed(0)
    h, columns = torch.randn(200, WIDTH), []
    for _ in range(20):
        h = torch.tanh(h @ (torch.randn(WIDTH, WIDTH) * std))
        columns.append(torch.histc(h, bins=41, min=-1.0, max=1.0))
    axis.imshow((torch.stack(columns, 1) + 1).log().numpy(), aspect="auto", cmap="cividis_r", extent=(0.5, 20.5, -1, 1),
                origin="lower")
    flat = ((1 - h ** 2) < 0.1).float().mean().item()
    saturated.append(flat)
    axis.set(ylabel=f"std {std}", title=f"{flat:.0%} of the last layer is saturated (slope below 0.1)")
axes[1].set_xlabel("layer")
plt.tight_layout()
show_figure(figure, f"""Histograms of 20 tanh layers, a column each. Above, std 0.5: dark at -1 and 1,
            {saturated[0]:.0%} of the last layer is saturated. Below, std 0.1: dark around 0, {saturated[1]:.0%}.""")
assert saturated[0] > 0.5 > 0.05 > saturated[1]

# %% [markdown]
# ## Exercise: the dead
#
# A relu that is never positive has a slope of zero for every sample: no gradient will ever wake it. A unit that is zero
# for *some* samples is doing its job.


# %%
def dead(h):
    """The fraction of dead units; h (N, units) is the output of a relu."""
    # <solution>
    return (h == 0).all(0).float().mean()
    # </solution>


check.nb07.dead(dead)

# %% [markdown]
# How units die: one step with too large a learning rate pushes a bias far below zero, and that is it. Same network,
# same data, three learning rates:

# %%
images, labels = Digits(train=True).tensors()
images = images.flatten(1)
test_images, test_labels = Digits(train=False).tensors()
test_images = test_images.flatten(1)

if check.passed("nb07.dead"):
    shares = []
    for lr in (0.1, 1.0, 3.0):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        for batch in torch.randperm(1442)[:640].split(32):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            shares.append(float(dead(model[:2](images))))
            print(f"lr {lr}: {shares[-1]:5.1%} dead after 20 steps, "
                  f"loss {F.cross_entropy(model(images), labels).item():.2f}")
    assert shares[0] < 0.1 and shares[-1] > 0.3, "large steps kill units"

# %% [markdown]
# ## Exercise: batch norm
#
# Instead of hoping that signals keep their scale, measure it and divide. For each feature (column): subtract the mean
# of the batch, divide by its standard deviation, and keep *running* statistics for later, when there is no batch.
#
# The trap: there are two variances. Dividing by $N$ (biased) describes *this* batch, and normalises it. Dividing by
# $N - 1$ (unbiased) estimates the population, and goes into the running variance. And `momentum` is the weight of the
# **new** value.


# %%
def batch_norm(x, mean, var, momentum, eps):
    """x (N, C); running mean and var (C,): returns the normalised x, the new running mean, the new running var."""
    # <solution>
    m, biased, unbiased = x.mean(0), x.var(0, correction=0), x.var(0)
    y = (x - m) / (biased + eps).sqrt()
    return y, (1 - momentum) * mean + momentum * m, (1 - momentum) * var + momentum * unbiased
    # </solution>


check.nb07.batch_norm(batch_norm)

# %% [markdown]
# ## Exercise: backward in one line
#
# Three paths lead from $x$ to the output: directly, through the mean, through the variance. One can grind through the
# chain rule for a page. Or think: adding a constant to a column changes nothing, so the gradient has **no part along
# $\mathbf 1$**; stretching a column changes nothing, so it has **no part along $\hat x$**. Take $g$, remove both parts,
# divide by the scale. (Both $\mathbf 1$ and $\hat x$ have mean square 1.)


# %%
def batch_norm_pull(g, xhat, std):
    """The gradient for x; g and xhat (N, C), std (C,), where xhat = (x - mean) / std."""
    # <solution>
    return (g - g.mean(0) - xhat * (g * xhat).mean(0)) / std
    # </solution>


check.nb07.batch_norm_pull(batch_norm_pull)

# %% [markdown]
# ## Does it help?
#
# A plain stack of twelve layers: badly initialised on purpose, the same with batch norm, and initialised well. Plain
# SGD, three epochs. (The images are standardised first: the formula counts on inputs of mean square 1.)

# %%
inputs, test_inputs = (images - images.mean()) / images.std(), (test_images - images.mean()) / images.std()


def deep(norm, std, seed=0):
    torch.manual_seed(seed)
    layers, width = [], 64
    for _ in range(12):
        linear = nn.Linear(width, 50, bias=False)
        nn.init.normal_(linear.weight, std=std)
        layers += [linear, *([nn.BatchNorm1d(50)] if norm else []), nn.ReLU()]
        width = 50
    return nn.Sequential(*layers, nn.Linear(width, 10))


def fit(model, epochs=3, lr=0.03):
    torch.manual_seed(1)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=lr), []
    for _ in range(epochs):
        for batch in torch.randperm(1442)[:1440].split(48):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        return losses, (model(test_inputs).argmax(1) == test_labels).float().mean().item()


figure, axis = plt.subplots(figsize=(8, 3.2))
found = {}
for label, norm, std, style in (("std 0.05", False, 0.05, ":"), ("std 0.05 and batch norm", True, 0.05, "-"),
                                ("std 0.2, Kaiming's", False, 0.2, "--")):
    losses, right = fit(deep(norm, std))
    found[label] = right
    axis.plot(losses, style, label=f"{label}: {right:.0%} right")
axis.axhline(2.303, color="#999999", linewidth=1)
axis.set(xlabel="step", ylabel="loss", ylim=(0, 3))
axis.legend()
show_figure(figure, "The loss in three epochs: " + "; ".join(f"{label}: {right:.0%} right" for label, right in
                                                             found.items()) + """. The first stays on the grey line at
            log 10, the loss of a network that says nothing; with batch norm it falls fastest.""")
plain, normed, good = found.values()
assert plain < 0.2 < good < normed and normed > 0.9

# %% [markdown]
# The grey line is $\log 10$: the loss of a network that says nothing. Without normalisation, the badly initialised one
# stays there: its signal never arrives. The good one learns, and batch norm learns much faster, *whatever* the scale
# was.
#
# A trap, if you like traps: why `[:1440]` and not all 1,442 images? Take it out. The last batch then has two samples,
# batch norm believes what it says about the world, and the accuracy falls apart, while the training loss looks fine.
#
# Where did the signal of the first network get lost? Look at its gradient norms, from the last layer up to the first.

# %%
model = deep(norm=False, std=0.05)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
with viz.flow(model) as flow:
    for batch in torch.randperm(1442)[:480].split(48):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs[batch]), labels[batch]).backward()
        optimizer.step()
flow

# %% [markdown]
# ## Exercise: the norm of language models
#
# Batch norm makes every sample depend on its neighbours in the batch. Sequence models prefer to normalise each row by
# itself: layer norm subtracts the row's mean and divides by its deviation; RMS norm, in most recent language models,
# leaves out the mean.


# %%
def rms_norm(x, weight, eps):
    """x (N, C), weight (C,): each row divided by the root of its mean square (plus eps), times weight."""
    # <solution>
    return x / ((x * x).mean(-1, keepdim=True) + eps).sqrt() * weight
    # </solution>


check.nb07.rms_norm(rms_norm)

# %% [markdown]
# Which numbers does each of them average over? Rows are samples, columns features.

# %%
torch.manual_seed(0)
x = torch.randn(8, 6) * torch.tensor([1.0, 3.0, 0.3, 1.0, 1.0, 5.0]) + torch.tensor([0.0, 2.0, 0.0, -3.0, 0.0, 0.0])
views = {"x": x, "batch norm: columns": F.batch_norm(x, None, None, training=True),
         "layer norm: rows": F.layer_norm(x, (6,)), "rms norm: rows, mean kept": F.rms_norm(x, (6,))}
figure, axes = plt.subplots(1, 4, figsize=(12, 3))
for axis, (name, values) in zip(axes, views.items()):
    axis.imshow(values.numpy(), cmap="PuOr", vmin=-3, vmax=3)
    axis.set(title=name, xticks=[], yticks=[])
show_figure(figure, """Four coloured tables of 8 samples and 6 features. In x some columns are much stronger. After
            batch norm all columns look alike, after layer norm and RMS norm all rows do; in the last the strong
            columns stay.""")

# %% [markdown]
# ## In real PyTorch
#
# Including the trap: the running variance after one batch.


# %%
def norms(torch):
    x = torch.arange(12.0).reshape(4, 3).pow(1.5)
    norm = torch.nn.BatchNorm1d(3)
    y = norm(x)
    layer = torch.nn.functional.layer_norm(x, (3,))
    weight = torch.empty(30, 40)
    torch.nn.init.kaiming_normal_(weight, nonlinearity="relu")
    return norm.running_mean, norm.running_var, y, layer, weight[0, :3]


check.in_pytorch(norms)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Variance is multiplied by `fan_in * std**2`, and halved by a relu: $\sigma = \sqrt{2 / \text{fan\_in}}$.
# * The gradient of a normalised thing has no part along what normalisation ignores.
# * Biased to normalise, unbiased to keep, momentum is the weight of the new.
#
# **Go further.** Residual connections are the third cure: what is the factor per layer of $h + f(h)$ when $f$ starts at
# zero? Initialise the last layer of each block with zeros and train fifty of them. (Lesson
# 21 builds them; `examples/resnet.py` is a whole one.)
#
# Next: [8. Convolution three ways](08_convolution.ipynb)
