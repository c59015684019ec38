# %% [markdown]
# # 11. Numbers are not real
#
# A computer has no real numbers. It has about four billion float32 values, and after every operation it picks the
# nearest. Most of the time nobody notices. This notebook is about the other times: a loss that becomes `nan`, a
# variance below zero, a sum that stops growing, a gradient that is exactly 0 in half precision.
#
# **You will be able to**
# * read the bits of a float, and say how far apart its neighbours are;
# * recognise cancellation and overflow in a formula, and rewrite it;
# * sum a million numbers without losing them;
# * explain bfloat16, float16 and loss scaling with one picture;
# * say what a condition number promises, and what it does not.
#
# You need: notebook 1 for the error curve. Time: an hour and a half.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
from minitorch import check, nn
from minitorch.datasets import Digits
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## Thirty-two bits
#
# One bit of sign, eight of exponent, 23 of fraction. The value is $\pm\, 1.\text{fraction} \times
# 2^{\text{exponent} - 127}$. Change the numbers and run the cell again; try `0.1`, `16777217`, `1e-40`, `float("inf")`.


# %%
def bits(x):
    """The bits of a float32: sign, exponent, fraction; its neighbour, and the distance to it."""
    raw = np.float32(x).view(np.uint32)
    text = f"{raw:032b}"
    gap = np.nextafter(np.float32(abs(x)), np.float32(np.inf)) - np.float32(abs(x))
    return f"{text[0]} {text[1:9]} {text[9:]}   {np.float32(x):<14.9g} next one after {gap:.3g}"


for number in (1.0, 0.1, 3.0, 100.0, 16777216.0, -2.5):
    print(bits(number))

# %% [markdown]
# From 16,777,216 on, float32 cannot count any more: the next value is two further. Add 1 and nothing happens. Watch a
# counter stop:

# %%
counter = np.float32(2 ** 24 - 3)
for _ in range(6):
    counter += np.float32(1)
    print(int(counter), end=" ")
assert counter == 2 ** 24

# %% [markdown]
# ## Two ways to lose
#
# **Overflow**: an intermediate result is too large, though the answer would be harmless. **Cancellation**: two nearly
# equal numbers are subtracted; what they share disappears, what remains is their rounding error.
#
# ## Exercise: softplus
#
# $\text{softplus}(x) = \log(1 + e^x)$ is a smooth relu. As it stands it fails twice: $e^{800}$ is infinite, and
# $1 + e^{-40}$ is exactly 1, whose logarithm is 0. Write it so that both ends work.


# %%
def softplus(x):
    """log(1 + exp(x)) for a float64 tensor of any values."""
    # <solution>
    return x.clamp(min=0) + (-x.abs()).exp().log1p()
    # </solution>


check.nb11.softplus(softplus)

# %% [markdown]
# ## Exercise: log(1 - exp(-x))
#
# This one turns up in survival models and in mixtures. For tiny $x$ use `expm1`, which computes $e^y - 1$ without the
# subtraction; for large $x$ `log1p`. The picture shows the relative error of three attempts in float32: neither is
# right everywhere, and the curves cross near $\log 2$.

# %%
x = np.logspace(-7, 1.2, 400)
exact = np.log(-np.expm1(-x))
half = x.astype(np.float32)
with np.errstate(all="ignore"):
    attempts = {"log(1 - exp(-x))": np.log(np.float32(1) - np.exp(-half)),
                "log1p(-exp(-x))": np.log1p(-np.exp(-half)), "log(-expm1(-x))": np.log(-np.expm1(-half))}
    figure, axis = plt.subplots(figsize=(8, 3.4))
    for (name, values), style in zip(attempts.items(), (":", "--", "-")):
        axis.loglog(x, np.abs(values / exact - 1) + 1e-9, style, label=name)
axis.axvline(math.log(2), color="#999999", linewidth=1)
axis.set(xlabel="x", ylabel="relative error, float32", ylim=(1e-9, 10))
axis.legend()
show_figure(figure, """The relative errors of three attempts against x, both axes logarithmic. log1p(-exp(-x)) is good
            on the right of a line at log 2 and bad for tiny x, log(-expm1(-x)) is good on the left of it and gets
            worse on the right, log(1 - exp(-x)) is bad on both sides.""")
errors = {name: np.abs(values / exact - 1) for name, values in attempts.items()}
assert errors["log(-expm1(-x))"][x < 0.5].max() < 1e-5 < errors["log(1 - exp(-x))"][x < 1e-3].max()
assert errors["log1p(-exp(-x))"][x > 1].max() < 1e-5 < errors["log1p(-exp(-x))"][x < 1e-3].max()


# %%
def log1mexp(x):
    """log(1 - exp(-x)) for a float64 tensor of positive values, tiny and large."""
    # <solution>
    return torch.where(x < math.log(2), (-(-x).expm1()).log(), (-(-x).exp()).log1p())
    # </solution>


check.nb11.log1mexp(log1mexp)

# %% [markdown]
# ## Exercise: a variance below zero
#
# Textbooks offer $\overline{x^2} - \bar x^2$, which needs one pass over the data. For numbers around $10^9$ both terms
# are around $10^{18}$, and float64 has 16 digits. Try it:

# %%
data = torch.tensor([1e9, 1e9 + 1, 1e9 + 2, 1e9 + 5], dtype=torch.float64)
print("mean of squares minus square of mean:", ((data ** 2).mean() - data.mean() ** 2).item(), " true: 3.5")


# %%
def variance(x):
    """The variance of a float64 vector, divided by N."""
    # <solution>
    return ((x - x.mean()) ** 2).mean()
    # </solution>


check.nb11.variance(variance)

# %% [markdown]
# ## A million small numbers
#
# Adding up one after the other, the sum grows and its gap grows with it; the small numbers are rounded to multiples of
# that gap, and soon to nothing. Two cures: add *pairs*, then pairs of pairs (NumPy and PyTorch do that), so that
# numbers of similar size meet; or remember what each addition lost.
#
# Here is the harmonic series $1 + \frac12 + \frac13 + \dots$ in float32. It grows without bound, and in float32 it
# stops.


# %%
def running(values):
    """The plain sum after each number, in float32."""
    return np.add.accumulate(values.astype(np.float32))


def carried(values):
    """The compensated sum after each number."""
    s, c, out = np.float32(0), np.float32(0), []
    for value in values.astype(np.float32):
        y = value + c
        t = s + y
        c, s = y - (t - s), t
        out.append(s)
    return np.array(out)


terms = 1 / np.arange(1, 200_001)
true = np.cumsum(terms)
places = np.unique(np.logspace(1, np.log10(len(terms)), 60).astype(int)) - 1
pairwise = np.array([terms[:n + 1].astype(np.float32).sum() for n in places])
figure, axis = plt.subplots(figsize=(8, 3.4))
for name, values, style in (("one after the other", running(terms)[places], ":"), ("in pairs", pairwise, "--"),
                            ("with compensation", carried(terms)[places], "-")):
    axis.loglog(places + 1, np.abs(values / true[places] - 1) + 1e-9, style, label=name)
axis.set(xlabel="numbers added", ylabel="relative error")
axis.legend()
show_figure(figure, """The relative error of three sums against the number of terms: added one after the other it
            rises from 1e-7 to more than 1e-6; in pairs and with compensation it stays near 1e-8 and 1e-7.""")
assert abs(running(terms)[-1] / true[-1] - 1) > 10 * abs(carried(terms)[-1] / true[-1] - 1)

# %% [markdown]
# ## Exercise: Kahan's sum
#
# After $t = s + y$, the part of $y$ that made it into the sum is $t - s$ (exactly!). So $y - (t - s)$ is what was lost.
# Carry it to the next number. A compiler that knows algebra would simplify this to zero; Python does not.


# %%
def kahan(xs):
    """The sum of a list of Python floats."""
    # <solution>
    s = c = 0.0
    for x in xs:
        y = x + c
        t = s + y
        c = y - (t - s)
        s = t
    return s
    # </solution>


check.nb11.kahan(kahan)

# %% [markdown]
# The same happens inside an optimiser. A weight of 1.0 and an update of $10^{-8}$: in float32 the update is lost, each
# time. That is why mixed precision keeps a float32 *master copy* of bfloat16 weights:

# %%
weight = torch.tensor(1.0, dtype=torch.bfloat16)
for _ in range(1000):
    weight += torch.tensor(0.001, dtype=torch.bfloat16)
print("after adding 0.001 a thousand times:", weight.item())
assert weight.item() == 1.0

# %% [markdown]
# ## Half the bits
#
# | | exponent | fraction | largest | smallest normal | 1 + ? |
# |---|---|---|---|---|---|
# | float32 | 8 | 23 | 3e38 | 1e-38 | 1.2e-7 |
# | bfloat16 | 8 | 7 | 3e38 | 1e-38 | 0.0078 |
# | float16 | 5 | 10 | 65504 | 6e-5 | 0.00098 |
#
# bfloat16 is the upper half of a float32: same range, three digits fewer. To convert, drop the lower 16 bits, rounding
# to the nearest; a tie goes to the even neighbour, or long sums would drift upward.
#
# ## Exercise: round to bfloat16


# %%
def bfloat16(bits):
    """bits: those of a float32 as a Python int. Returns the 16 bits of the nearest bfloat16."""
    # <solution>
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # </solution>


check.nb11.bfloat16(bfloat16)

# %% [markdown]
# ## Where gradients live
#
# Train a small network until it is good and look at the *sizes* of its gradients, on a logarithmic axis. The grey band
# is what float16 can hold. What lies left of it would be flushed to zero, and near its left end few digits are left.
# Multiply the loss by 1,024 and every gradient moves ten powers of two to the right: that is loss scaling. (bfloat16
# covers the whole picture, which is why it needs none.)

# %%
images, labels = Digits(train=True).tensors()
torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 100), nn.Tanh(), nn.Linear(100, 100), nn.Tanh(), nn.Linear(100, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for _ in range(20):
    for batch in torch.randperm(1442)[:1280].split(64):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
optimizer.zero_grad()
(F.cross_entropy(model(images[:64]), labels[:64]) / 64).backward()    # one of 64 parts of a large batch
sizes = torch.cat([p.grad.flatten() for p in model.parameters()]).abs()
sizes = sizes[sizes > 0].numpy()
largest = float(sizes.max())

figure, axis = plt.subplots(figsize=(8, 3.4))
axis.axvspan(math.log2(6e-8), math.log2(65504), color="#dddddd", label="float16")
for scale, style in ((1, "-"), (1024, "--")):
    counts, edges = np.histogram(np.log2(sizes * scale), bins=60)
    axis.step(edges[:-1], counts, style, where="post", label=f"gradients x {scale}")
axis.set(xlabel="log2 of the size", ylabel="how many")
axis.legend()
with np.errstate(under="ignore"):
    zero, scaled = ((sizes * scale).astype(np.float16) == 0 for scale in (1, 1024))
show_figure(figure, f"""Two histograms of the same shape over the logarithm of the gradients' sizes: the one of the
            gradients hangs over the left end of the grey band of float16 ({zero.mean():.1%} become zero), that of the
            gradients times 1,024 lies ten powers further right, inside of it.""")
print(f"zero in float16: {zero.mean():.1%}; scaled by 1024: {scaled.mean():.1%}")
assert zero.mean() > 10 * scaled.mean()

# %% [markdown]
# ## Exercise: how far?
#
# As far as possible, but the largest gradient must not exceed 65504. And by a power of two: that changes exponents
# only, so nothing is rounded, and dividing afterwards gives the same gradient back, bit for bit.


# %%
def loss_scale(largest):
    """The largest power of two s for which largest * s is at most 65504."""
    # <solution>
    return 2.0 ** math.floor(math.log2(65504 / largest))
    # </solution>


check.nb11.loss_scale(loss_scale)

# %%
if check.passed("nb11.loss_scale"):
    s = loss_scale(largest)
    with np.errstate(under="ignore"):
        lost = ((sizes * s).astype(np.float16) == 0).mean()
    print(f"the largest gradient is {largest:.3g}: scale by {s:g}, then {lost:.2%} are lost")
    assert lost <= zero.mean() and largest * s <= 65504

# %% [markdown]
# `GradScaler` finds this number by trying: it doubles the scale now and then, and halves it when something overflows.
#
# ## Order matters
#
# Floating-point addition is not associative, so the *order* of a sum changes its last digits. A GPU that adds in
# whatever order its threads finish gives another result each time; minitorch's kernels add in a fixed order on purpose.

# %%
rng = np.random.default_rng(0)
values = rng.standard_normal(10_000).astype(np.float32)
sums = {float(running(rng.permutation(values))[-1]) for _ in range(200)}
print(f"200 orders, {len(sums)} different sums, from {min(sums):.5f} to {max(sums):.5f}")
assert len(sums) > 10

# %% [markdown]
# ## A bound you can trust
#
# The error of a dot product of $n$ numbers is at most about $n\,u \sum |a_i b_i|$, with $u = 2^{-24}$ for float32. Not
# $n\,u\,|\sum a_i b_i|$: where the terms cancel, the relative error can be anything. Measure both:

# %%
for size in (10, 1000, 100_000):
    worst, relative = 0.0, 0.0
    for _ in range(20):
        a, b = rng.standard_normal((2, size)).astype(np.float32)
        s = np.add.accumulate(a * b)[-1]
        exact = np.dot(a.astype(np.float64), b.astype(np.float64))
        error = abs(float(s) - exact)
        worst = max(worst, error / (size * 2.0 ** -24 * np.abs(a.astype(np.float64) * b).sum()))
        relative = max(relative, error / abs(exact))
    print(f"n = {size:6d}: {worst:.4f} of the bound at most; relative to the result up to {relative:.1e}")
    assert worst < 1

# %% [markdown]
# ## Condition: what the data do to you
#
# Even with perfect arithmetic, an input error of one part in $10^7$ may become an output error of one part in 10. How
# much, is the *condition number* of the problem: for a linear system, the largest stretching of a matrix over its
# smallest. Features on very different scales make it enormous, and standardising them is the cure. The breast cancer
# data have thirty features, from areas in the thousands to fractal dimensions of 0.06:

# %%
try:
    from sklearn.datasets import load_breast_cancer
    features = load_breast_cancer().data
except ImportError:                                        # made up, but as badly scaled
    features = rng.standard_normal((569, 30)) * 10.0 ** rng.uniform(-3, 3, 30) + 10.0 ** rng.uniform(-3, 3, 30)
standard = (features - features.mean(0)) / features.std(0)
conditions = []
for name, matrix in (("as they come", features), ("standardised", standard)):
    a = torch.tensor(matrix)
    conditions.append(torch.linalg.cond(a.T @ a).item())
    print(f"{name:13s} condition of X'X: {conditions[-1]:.2g}")
assert conditions[1] < 1e-3 * conditions[0]

# %% [markdown]
# Above $1/u \approx 10^7$, float32 cannot be trusted to have a single right digit of the least-squares solution. No
# cleverness in the solver helps as much as dividing by a standard deviation.
#
# ## In real PyTorch
#
# The library functions are the stable ones; the naive formulas fail there, too.


# %%
def stable(torch):
    x = torch.tensor([-800.0, -40.0, 0.0, 800.0], dtype=torch.float64)
    naive = torch.log(1 + torch.exp(x))
    good = torch.nn.functional.softplus(x)
    half = torch.tensor([1.0, 1.00390625, 1.01171875, 3.14159265]).to(torch.bfloat16).float()
    sixteen = torch.tensor([65504.0, 65520.0, 1e-8]).to(torch.float16).float()
    total = torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    return naive, good, half, sixteen, total


check.in_pytorch(stable)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Floats have constant *relative* gaps: $2^{-23}$ in float32, $2^{-7}$ in bfloat16.
# * Subtract before you square, take the maximum out before you exponentiate, use `log1p` and `expm1` near zero.
# * Small numbers are lost against large ones: pair them, or carry the loss along.
# * A power of two costs no rounding: scale losses by it.
#
# **Go further.** Stochastic rounding rounds up with a probability that makes the mean exact. Write it for bfloat16, and
# repeat the experiment of adding 0.001 a thousand times.
#
# Next: [12. A kernel, thread by thread](12_kernels.ipynb)
