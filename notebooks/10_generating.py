# %% [markdown]
# # 10. Generating: VAE and diffusion on digits
#
# To tell digits apart, ten numbers are enough. To *draw* one, a network has to decide on every pixel, and since there
# are many good fours, it needs a source of chance. This notebook builds the two most useful ways to turn noise into
# pictures: an autoencoder whose code is a cloud (VAE), and a network that removes noise step by step (diffusion).
#
# **You will be able to**
# * send a gradient through a random choice, and say why the other way of doing it is so noisy;
# * derive the two terms of a VAE's loss, and recognise the bug that makes it draw always the same;
# * design a noise schedule and test it, without a test that cannot fail;
# * sample in a hundred random steps (DDPM), or in ten without chance (DDIM).
#
# You need: notebook 5. Time: two hours.

# %%
import math

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn
from minitorch.datasets import Digits
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

images, labels = Digits(train=True).tensors()
images = images.flatten(1)                                   # (1442, 64), values 0 to 1
test_images, test_labels = Digits(train=False).tensors()
test_images = test_images.flatten(1)


def sheet(axis, pictures, columns, title=""):
    """Pictures (N, 64) with values 0 to 1, side by side."""
    rows = len(pictures) // columns
    wall = F.pad(pictures.reshape(rows, columns, 8, 8).clamp(0, 1), (1, 1, 1, 1), value=0.3)
    axis.imshow(wall.transpose(1, 2).reshape(rows * 10, columns * 10).numpy(), cmap="gray_r", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[])
    axis.set_title(title, fontsize=9)


# %% [markdown]
# ## Exercise: chance from outside
#
# A sample of $N(\mu, \sigma^2)$ has no derivative by $\mu$: it was drawn, not computed. But it can be computed, from
# noise that was drawn before and has nothing to do with $\mu$ and $\sigma$. Networks put out $\log \sigma^2$, which may
# be any number, so that is what you get.


# %%
def reparameterise(mean, logvar, noise):
    """noise is from N(0, 1). A sample of N(mean, exp(logvar)) that sends gradients to both."""
    # <solution>
    return mean + (logvar / 2).exp() * noise
    # </solution>


check.nb10.reparameterise(reparameterise)

# %% [markdown]
# There is another way, which needs no derivative of the sample: $\nabla_\mu E[f(z)] = E[f(z)\, \nabla_\mu \log p(z)]$,
# known from reinforcement learning. Both are right *on average*. Here are 2,000 single estimates of the derivative of
# $E[z^2]$ at $\mu = 2, \sigma = 1$; the truth is 4.

# %%
if check.passed("nb10.reparameterise"):
    torch.manual_seed(0)
    noise = torch.randn(2000)
    mean = torch.full((2000,), 2.0, requires_grad=True)
    z = reparameterise(mean, torch.zeros(2000), noise)
    (z ** 2).sum().backward()
    score = z.detach() ** 2 * noise
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    for name, values, style in (("through the sample", mean.grad, "step"), ("by the score", score, "stepfilled")):
        axis.hist(values.numpy(), bins=80, range=(-20, 40), histtype=style, alpha=0.7,
                  label=f"{name}: {values.mean().item():.2f}, give or take {values.std().item():.1f}")
    axis.set(xlabel="estimate of the derivative", yticks=[])
    axis.legend()
    show_figure(figure, """Two histograms of estimates around 4: those through the sample form a narrow hill, those by
                the score a wide one with a long tail to the right.""")
    assert abs(mean.grad.mean() - 4) < 0.2 and score.std() > 2 * mean.grad.std()

# %% [markdown]
# The score method knows only *how good* each sample was; the other one also knows in which direction it would get
# better.
#
# ## Exercise: how far from standard
#
# A VAE encodes each image as a small cloud $N(\mu, \sigma^2)$, and pays for each cloud that differs from $N(0, 1)$. The
# price is the Kullback-Leibler divergence $E_q[\log q(z) - \log p(z)]$. For two normal distributions it can be
# found by hand: write the two logarithms down, use $E[(z - \mu)^2] = \sigma^2$ and $E[z^2] = \mu^2 + \sigma^2$.


# %%
def kl(mean, logvar):
    """mean, logvar (N, D): for each row the divergence of N(mean, exp(logvar)) from N(0, 1), (N,)."""
    # <solution>
    return (mean ** 2 + logvar.exp() - 1 - logvar).sum(1) / 2
    # </solution>


check.nb10.kl(kl)

# %% [markdown]
# Do not trust a formula that you have not compared with the thing itself. Draw from $q$ and average: the error falls as
# $1/\sqrt n$, so a hundred times the samples buy one more digit.

# %%
if check.passed("nb10.kl"):
    torch.manual_seed(1)
    mean, logvar = torch.tensor([[1.0, -0.5]]), torch.tensor([[-1.0, 0.5]])
    exact = kl(mean, logvar).item()
    z = mean + (logvar / 2).exp() * torch.randn(100_000, 2)
    log_q = -((z - mean) ** 2 / logvar.exp() + logvar).sum(1) / 2          # the same constant is left out of both
    log_p = -(z ** 2).sum(1) / 2
    count = torch.arange(1, 100_001)
    running = (log_q - log_p).cumsum(0) / count
    figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
    axis.semilogx(count[9:].numpy(), running[9:].numpy(), label="average of the first n samples")
    axis.axhline(exact, color="#999999", linestyle="--", label=f"in closed form: {exact:.4f}")
    axis.set(xlabel="n")
    axis.legend()
    show_figure(figure, f"""The average over the first n samples swings at first and closes in on the dashed line at
                {exact:.4f}, the closed form.""")
    assert abs(running[-1].item() - exact) < 0.05

# %% [markdown]
# ## A VAE
#
# The loss has two terms: how badly the image is drawn again (cross-entropy of the pixels, *summed*), and what the cloud
# costs. Together they bound $-\log p(\text{image})$ from above: minus the loss is the ELBO. `price` multiplies the
# second term; 1 is what the mathematics says.


# %%
class VAE(nn.Module):
    def __init__(self, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
                                     nn.Linear(64, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(),
                                     nn.Linear(128, 64))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        return self.decoder(reparameterise(mean, logvar, torch.randn_like(mean))), mean, logvar


def train_vae(steps, price=1.0):
    torch.manual_seed(0)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        x = images[torch.randint(len(images), (128,))]
        logits, mean, logvar = model(x)
        drawing = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        cost = kl(mean, logvar).mean()
        optimizer.zero_grad()
        (drawing + price * cost).backward()
        optimizer.step()
    print(f"price {price:g}: drawing {drawing.item():.1f}, divergence {cost.item():.3f}")
    assert cost.item() > 1 if price == 1 else cost.item() < 0.1
    return model


def plane(axis, model, side=12):
    """The decoder's image of each place of the plane, in steps of equal probability."""
    steps = torch.special.ndtri(torch.linspace(0.03, 0.97, side))
    codes = torch.stack(torch.meshgrid(steps, steps.flip(0), indexing="xy"), -1).reshape(-1, 2)
    with torch.no_grad():
        sheet(axis, torch.sigmoid(model.decoder(codes)), side, "the decoder's plane")


if check.passed("nb10.reparameterise", "nb10.kl"):
    vae = train_vae(900)
    with torch.no_grad():
        codes = vae.encoder(test_images)[:, :2]
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for digit in range(10):
        group = codes[test_labels == digit].numpy()
        axes[0].scatter(*group.T, s=14, alpha=0.5, color=plt.cm.cividis(digit / 9))
        for x, y in group[:6]:
            axes[0].text(x, y, digit, fontsize=9, ha="center", va="center")
    axes[0].set(title="where test images lie", xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), aspect="equal")
    plane(axes[1], vae)
    show_figure(figure, """Left: the test images as points of the plane of codes, equal digits close together. Right:
                what the decoder draws at each place of that plane: digits that change into each other from place to
                place.""")

# %% [markdown]
# Nobody told it about labels, and still equal digits lie together. Walk from one to another: on the way there is always
# something that could be a digit. The divergence does that: without it, every image would get a far-off point of its
# own, with nothing in between.
#
# Now the most frequent bug: the pixels *averaged*, not summed (which is what `reduction="mean"` does). That is the same
# as a price of 64. Its loss falls nicely.

# %%
if check.passed("nb10.reparameterise", "nb10.kl"):
    collapsed = train_vae(300, price=64.0)
    figure, axis = plt.subplots(figsize=(3, 3), layout="constrained")
    plane(axis, collapsed, side=6)
    show_figure(figure, "Thirty-six times the same grey blur: the average of all digits, wherever one looks.")

# %% [markdown]
# The divergence is almost 0: the code says nothing (*posterior collapse*), and the decoder draws the average of all
# digits, everywhere. When a generator draws only one thing, look at the divergence first.
#
# ## Noise, step by step
#
# Diffusion starts from the other end. Step $t$ of the *forward process* shrinks an image a little and adds a little
# noise: $x \leftarrow \sqrt{1 - \beta_t}\, x + \sqrt{\beta_t}\, \varepsilon$. Variances: $(1 - \beta_t) v +
# \beta_t$, so 1 stays 1. What remains of the *image's* variance after steps $0 \dots t$ is called
# $\bar\alpha_t$, here `kept[t]`.
#
# ## Exercise: a test of a schedule
#
# Schedules are copied from paper to paper, with mistakes. Write the test that finds them. (One popular test checks that
# signal and noise add up: $\sqrt{\bar\alpha}^2 + \sqrt{1 - \bar\alpha}^2 = 1$. Would it ever fail?)


# %%
def adds_up(beta, kept):
    """beta, kept (steps,): True if kept is what these betas leave of the signal's variance."""
    # <solution>
    left = 1.0
    for b, k in zip(beta.tolist(), kept.tolist()):
        left = left * (1 - b)
        if abs(left - k) > 1e-5:
            return False
    return True
    # </solution>


check.nb10.adds_up(adds_up)

# %% [markdown]
# ## Exercise: all steps in one
#
# Sums of normal noise are normal noise. So nobody has to walk: whatever $t$, one image and one noise are enough. That
# makes training cheap.


# %%
def noisy(x0, t, kept, noise):
    """x0, noise (N, D), t (N,), kept (steps,): each image after the steps 0 to t."""
    # <solution>
    k = kept[t].unsqueeze(1)
    return k.sqrt() * x0 + (1 - k).sqrt() * noise
    # </solution>


check.nb10.noisy(noisy)

# %% [markdown]
# A schedule editor: change the numbers in `schedules` and look. A good schedule ends with (almost) pure noise, and does
# not waste its steps: the film strip should not turn grey at once and then stay so.

# %%
STEPS = 100
rest = torch.cos(torch.linspace(0, 1, STEPS + 1) * math.pi / 2) ** 2
schedules = {"linear, 0.001 to 0.1": torch.linspace(0.001, 0.1, STEPS),
             "linear, 0.001 to 0.4": torch.linspace(0.001, 0.4, STEPS),
             "cosine": (1 - rest[1:] / rest[:-1]).clamp(max=0.999)}

if check.passed("nb10.adds_up", "nb10.noisy"):
    figure, axes = plt.subplots(2, 3, figsize=(12, 3.8), height_ratios=(3, 1), layout="constrained")
    torch.manual_seed(0)
    noise = torch.randn(1, 64)
    for (above, below), (name, beta) in zip(axes.T, schedules.items()):
        kept = torch.cumprod(1 - beta, 0)
        assert adds_up(beta, kept)
        above.plot(kept.sqrt().numpy(), label="signal")
        above.plot((1 - kept).sqrt().numpy(), "--", label="noise")
        above.set(title=f"{name}: {kept[-1].item():.1g} kept", xlabel="t")
        above.legend()
        at = torch.linspace(0, STEPS - 1, 9).long()
        strip = noisy((2 * images[4:5] - 1).expand(9, -1), at, kept, noise.expand(9, -1))
        sheet(below, strip / 2 + 0.5, 9)
    show_figure(figure, """Three schedules: the curve of the signal falls from 1, that of the noise rises to 1. Below
                each, a digit at nine times: with the first and the cosine it dissolves slowly, with the second it is
                gone at once.""")

# %% [markdown]
# ## Learning to see the noise
#
# The training task: here is a noisy image and its $t$; which noise is in it? No adversary, no bound, a mean squared
# error. The images go from -1 to 1, so that their scale is that of the noise.
#
# One line helps a lot. At a large $t$ the input *is* nearly the noise, at a small $t$ it is nearly the image. So let
# the network start from `sqrt(1 - kept) * x` and learn the difference: small mistakes then stay small.

# %%
beta = schedules["linear, 0.001 to 0.1"]
kept = torch.cumprod(1 - beta, 0)
data = 2 * images - 1


class Denoiser(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.time = nn.Embedding(STEPS, width)
        self.inside = nn.Linear(64, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.out = nn.Linear(width, 64)

    def forward(self, x, t):
        k, when = kept[t].unsqueeze(1), self.time(t)
        h = F.silu(self.inside(x) + when)
        for layer in self.layers:
            h = h + F.silu(layer(h) + when)
        return (1 - k).sqrt() * x + k.sqrt() * self.out(h)


def train_denoiser(steps=1000):
    torch.manual_seed(0)
    model, losses = Denoiser(), []
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(steps):
        x, t = data[torch.randint(len(data), (128,))], torch.randint(STEPS, (128,))
        noise = torch.randn(128, 64)
        loss = F.mse_loss(model(noisy(x, t, kept, noise), t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(f"loss: {sum(losses[:20]) / 20:.2f} at first, {sum(losses[-100:]) / 100:.2f} at last")
    assert sum(losses[-100:]) / 100 < 0.6 * sum(losses[:20]) / 20
    return model


if check.passed("nb10.noisy"):
    denoiser = train_denoiser()

# %% [markdown]
# The loss will not go to zero: at a small $t$, the little noise that there is looks like grey pixels of an image, and
# nobody can tell which is which.
#
# ## Exercise: one step back
#
# Ho, Jain and Abbeel's step: remove a *part* of the guessed noise, undo the shrinking, and add some fresh noise, since
# the step back is a random one, too. All but the last: after $t = 0$ comes the finished image.
#
# $$x \leftarrow \frac{1}{\sqrt{1 - \beta_t}} \Big(x - \frac{\beta_t}{\sqrt{1 - \bar\alpha_t}}\, \varepsilon\Big)
# + \sqrt{\beta_t}\; \text{noise}$$


# %%
def ddpm_step(x, eps, t, beta, kept, noise):
    """From x, noised up to step t (an int), one step back; eps is the guess of the noise in x, noise is fresh."""
    # <solution>
    mean = (x - beta[t] / (1 - kept[t]).sqrt() * eps) / (1 - beta[t]).sqrt()
    return mean + beta[t].sqrt() * noise if t > 0 else mean
    # </solution>


check.nb10.ddpm_step(ddpm_step)

# %% [markdown]
# Seven noises, and what becomes of them. (Much of a digit is decided early, when a human eye sees nothing yet.)


# %%
@torch.no_grad()
def guess(x, t):
    """The noise in x at step t."""
    return denoiser(x, torch.full((len(x),), t))


def walk(x):
    """All steps from noise to images; returns what was passed on the way."""
    film = []
    for t in reversed(range(STEPS)):
        if t % 11 == 0:
            film.append(x)
        x = ddpm_step(x, guess(x, t), t, beta, kept, torch.randn_like(x))
    return [*film, x]


if check.passed("nb10.noisy", "nb10.ddpm_step"):
    torch.manual_seed(3)
    film = walk(torch.randn(60, 64))
    figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    strip = torch.stack([x[:7] for x in film], 1)
    sheet(axis, strip.reshape(-1, 64) / 2 + 0.5, len(film), "from t = 99 (left) to the image (right)")
    show_figure(figure, "Seven rows of pictures: noise on the left turns step by step into a digit on the right.")

# %% [markdown]
# New digits, or old ones by heart? With 1,442 images that is a fair question. Below each made digit: the training image
# that is nearest to it. And the distances, compared with those of *real* digits that were not trained on:

# %%
if check.passed("nb10.noisy", "nb10.ddpm_step"):
    made = film[-1]
    distance, nearest = torch.cdist(made.clamp(-1, 1), data).min(1)
    figure, axis = plt.subplots(figsize=(11, 1.6), layout="constrained")
    sheet(axis, torch.cat([made[:20], data[nearest[:20]]]) / 2 + 0.5, 20, "made, and the nearest real one")
    show_figure(figure, "Twenty digits that were made, grainy, and below each the real one that is most like it.")
    real, _ = torch.cdist(2 * test_images - 1, data).min(1)
    print(f"distance to the nearest training image: made {distance.median().item():.2f}, "
          f"unseen real ones {real.median().item():.2f} (median)")
    assert distance.median() > real.median()

# %% [markdown]
# So nothing was learned by heart: the made ones are *further* from the training images than real ones are. That is the
# grain in them, what a thousand steps of training leave. Train five times longer, and watch the number fall. If it fell
# below that of the real ones, you would have a copying machine.

# %% [markdown]
# ## Exercise: without chance
#
# A hundred steps for one image are many. DDIM's idea: if the guess of the noise is good, then the clean image follows,
# and with it the *same* image with less of the *same* noise. So one can jump, from any $\bar\alpha$ to any other.


# %%
def ddim_step(x, eps, now, then):
    """now, then: the signal's share of the variance in x and in the result (numbers); eps: the noise in x."""
    # <solution>
    x0 = (x - (1 - now) ** 0.5 * eps) / now ** 0.5
    return then ** 0.5 * x0 + (1 - then) ** 0.5 * eps
    # </solution>


check.nb10.ddim_step(ddim_step)


# %%
def jumps(x, count):
    """From noise to images in `count` steps without chance."""
    at = torch.linspace(STEPS - 1, 0, count + 1).round().long().tolist()[:-1]
    shares = [*(kept[t].item() for t in at), 1.0]
    for t, now, then in zip(at, shares, shares[1:]):
        x = ddim_step(x, guess(x, t), now, then)
    return x


if check.passed("nb10.noisy", "nb10.ddim_step"):
    torch.manual_seed(5)
    start = torch.randn(20, 64)
    figure, axis = plt.subplots(figsize=(11, 3.4), layout="constrained")
    rows = [jumps(start, count) for count in (1, 3, 5, 10, 50)]
    sheet(axis, torch.cat(rows) / 2 + 0.5, 20, "the same noise in 1, 3, 5, 10 and 50 steps (top to bottom)")
    show_figure(figure, """Five rows of twenty pictures from the same noises: after one step grey blurs, from five
                steps on digits that hardly change any more.""")
    assert (rows[3] - rows[4]).abs().mean() < 0.5 * (rows[0] - rows[4]).abs().mean()

# %% [markdown]
# One step gives a blur, the average of all digits that might have been meant, and what is left of the noise. From five
# or ten steps on hardly anything changes, and each noise leads to *its* digit. So noise has become a code, like the
# plane of the VAE. Walk through it (on a circle, because noise of 64 numbers has a length of about 8, and the middle
# between two noises would be too short):

# %%
if check.passed("nb10.noisy", "nb10.ddim_step"):
    angle = torch.linspace(0, math.pi / 2, 16).unsqueeze(1)
    figure, axes = plt.subplots(3, 1, figsize=(11, 2.6), layout="constrained")
    for axis, (a, b) in zip(axes, ((0, 1), (2, 3), (4, 5))):
        sheet(axis, jumps(angle.cos() * start[a] + angle.sin() * start[b], 10) / 2 + 0.5, 16)
    show_figure(figure, "Three rows; in each, one digit changes into another in sixteen pictures.")

# %% [markdown]
# ## In real PyTorch
#
# The gradients of the divergence and of a sample, a schedule, and nine steps without chance.


# %%
def generating(torch):
    mean = torch.tensor([[1.0, -0.5], [0.0, 2.0]], requires_grad=True)
    logvar = torch.tensor([[-1.0, 0.5], [0.0, 0.3]], requires_grad=True)
    divergence = (mean ** 2 + logvar.exp() - 1 - logvar).sum(1) / 2
    z = mean + (logvar / 2).exp() * torch.tensor([[0.5, -1.0], [2.0, 0.1]])
    (divergence.sum() + z.pow(2).sum()).backward()
    kept = torch.cumprod(1 - torch.linspace(0.001, 0.1, 100), 0)
    x = torch.linspace(-2, 2, 5)
    for t in range(99, 9, -10):
        eps = torch.tanh(x)                                          # in place of a network
        x0 = (x - (1 - kept[t]).sqrt() * eps) / kept[t].sqrt()
        x = kept[t - 10].sqrt() * x0 + (1 - kept[t - 10]).sqrt() * eps
    return divergence, mean.grad, logvar.grad, kept[::33], x


check.in_pytorch(generating)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Draw the noise outside, compute the sample from it, and gradients get through.
# * Sum the pixels, sum the divergence, average over the batch only.
# * Variances add and multiply, deviations do not: roots at the last moment.
# * A test that cannot fail is not a test.
# * DDPM adds fresh noise in each step but the last; DDIM adds none, and can jump.
#
# **Go further.** Give the denoiser the label, too, as a second embedding, and leave it out for one image in ten. Then
# sample with `eps + 2 * (eps_with_label - eps)`: *guidance*. What happens with 10 in place of 2? `examples/vae.py`,
# `examples/diffusion.py` and `examples/gan.py` are whole programs.
#
# Next: [11. Numbers are not real](11_numbers.ipynb)
