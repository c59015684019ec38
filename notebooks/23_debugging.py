# %% [markdown]
# # 23. A run that learns nothing
#
# The program runs to its end, nothing is red, and the loss stands still. No error message will help, because nothing
# there is an error: gradients that nobody cleared, a softmax too many, inputs up to 255. In this notebook you measure
# a sick run as a doctor would, learn in which order to ask, and cure a patient with four illnesses at once.
#
# **You will be able to**
# * say before the first step what the loss should be, and why a single batch is the best test there is;
# * measure updates, dead units and the first number that is not one;
# * ask in the right order, causes before consequences;
# * let `torch.testing.doctor()` watch a run, read what it says, and mend what stands first.
#
# You need: notebooks 5, 6 and 7. Time: an hour and a half.

# %%
import math
import warnings

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn
from minitorch.datasets import Digits
from minitorch.nn import functional as F
from minitorch.testing import doctor
from minitorch.viz.pictures import show_figure

warnings.simplefilter("ignore")                  # the doctor warns at once, too; here we read its reports

# %% [markdown]
# ## Before the first step
#
# A network that knows nothing yet should guess, and a guess has a price. If class $c$ has the share $p_c$ of the
# samples, the best answer that does not look at the input says $p$ each time, and costs
#
# $$-\sum_c p_c \log p_c$$
#
# a sample, on average. A first loss far above it means: the last layer is much too sure of itself, or something is not
# scaled. A loss that *stays* there means: the network has found nothing in the inputs.
#
# ## Exercise: the price of a guess


# %%
def first_loss(counts):
    """The cross-entropy of guessing by the shares of the classes; `counts`: samples of each class."""
    # <solution>
    shares = [n / sum(counts) for n in counts]
    return -sum(p * math.log(p) for p in shares if p > 0)
    # </solution>


check.nb23.first_loss(first_loss)

# %%
images, labels = Digits(train=True).tensors()
x, y = images[:1000].reshape(1000, -1), labels[:1000]
print(f"inputs {list(x.shape)} from {x.min():.2f} to {x.max():.2f}, {len(y.unique())} classes")


def network(width=32, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


loss = F.cross_entropy(network()(x), y).item()
guess = math.log(10)                              # all ten digits are about equally frequent
print(f"a new network: {loss:.3f}; a guess: {guess:.3f}")
assert abs(loss - guess) < 0.2

# %% [markdown]
# ## One batch
#
# Before you train on everything, train on sixteen samples, again and again. A network with more parameters than that
# must learn them by heart: the loss goes to zero. If it does not, the fault is in the program, not in the data, and you
# have found out in a second.


# %%
def losses_of(net, x, y, steps=150, lr=0.1):
    """A plain loop: the loss at each step."""
    optimizer, seen = torch.optim.SGD(net.parameters(), lr=lr), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


with_fault = losses_of(nn.Sequential(network(), nn.Softmax(1)), x[:16], y[:16], 300, 0.5)
without = losses_of(network(), x[:16], y[:16], 300, 0.5)
figure, axis = plt.subplots(figsize=(7, 3))
axis.semilogy(without, label="right")
axis.semilogy(with_fault, "--", label="a softmax too many")
axis.set(xlabel="step", ylabel="loss", title="sixteen samples, learnt by heart")
axis.legend()
show_figure(figure, """The loss of sixteen samples over 300 steps, on a logarithmic axis: the right network falls to
            less than a hundredth; the one with a softmax too many stays above 1.4.""")
assert without[-1] < 0.02 and with_fault[-1] > 1.4

# %% [markdown]
# The second network looks as if it learnt, slowly. It cannot: `cross_entropy` applies a softmax itself, and a softmax
# of numbers between 0 and 1 never says more than $e/(e+9)$, 23 %, so its loss cannot fall below 1.46.
#
# ## Three measurements
#
# **How far does a step go?** The length of the change of a weight, divided by the length of the weight. About a
# thousandth is usual; a tenth and more is wild, a millionth leads nowhere. This one number says more about a learning
# rate than the rate itself.


# %%
def update_ratio(before, after):
    """The norm of the change, divided by the norm before, as a float."""
    # <solution>
    return ((after - before).norm() / before.norm()).item()
    # </solution>


check.nb23.update_ratio(update_ratio)

# %% [markdown]
# **Which units are dead?** A relu that is 0 for one sample rests; one that is 0 for all samples is dead: no gradient
# passes it, so nothing will ever change that.


# %%
def dead(h):
    """The share of units (columns) of relu outputs h (N, units) that are 0 for all samples, as a float."""
    # <solution>
    return 1 - (h > 0).any(0).double().mean().item()
    # </solution>


check.nb23.dead(dead)

# %% [markdown]
# **Where did the numbers end?** NaN spreads: after one bad value everything is NaN, and what you print last is the
# consequence. The first one is the cause.


# %%
def first_bad(values):
    """The name of the first array that holds a NaN or an infinity, of (name, array) pairs; None if there is none."""
    # <solution>
    for name, array in values:
        if not torch.isfinite(array).all():
            return name
    return None
    # </solution>


check.nb23.first_bad(first_bad)

# %% [markdown]
# Here are your three measurements at work, on runs with three learning rates.

# %%
if check.passed("nb23.update_ratio", "nb23.dead"):
    found = {}
    for lr in (1e-6, 0.5, 20.0):
        net = network()
        before = net[0].weight.detach().clone()
        losses_of(net, x[:256], y[:256], steps=1, lr=lr)
        moved = update_ratio(before, net[0].weight.detach())
        last = losses_of(net, x[:256], y[:256], steps=150, lr=lr)[-1]
        found[lr] = last, moved, dead(net[:4](x))
        print(f"lr {lr:<6}: first step moved weights by {100 * moved:8.4f} %, loss at last {last:.3f}, "
              f"{100 * found[lr][2]:.0f} % dead")
    assert found[1e-6][1] < 1e-5 < found[0.5][1] < 0.1 < found[20.0][1]
    assert found[0.5][0] < 1 < found[1e-6][0] and found[20.0][0] > 1

# %% [markdown]
# ## In which order?
#
# A learning rate that is too high kills units; dead units stop gradients; without gradients weights
# stand still. Whoever sees only the last of these turns the learning rate *up*. Ask for causes
# first:
#
# 1. Is the last loss a number at all? If not: `"not finite"`.
# 2. Has the loss grown (`last > first`) while a step moved weights by more than a tenth (`ratio > 0.1`)?
#    `"rate too high"`.
# 3. Are more than half of the units dead? `"dead"`.
# 4. Is the ratio below `1e-5`? `"rate too low"`.
# 5. Otherwise `"healthy"`, as far as these numbers tell.


# %%
def triage(first, last, ratio, dead):
    # <solution>
    if not math.isfinite(last):
        return "not finite"
    if last > first and ratio > 0.1:
        return "rate too high"
    if dead > 0.5:
        return "dead"
    return "rate too low" if ratio < 1e-5 else "healthy"
    # </solution>


check.nb23.triage(triage)

# %% [markdown]
# ## The doctor
#
# `torch.testing.doctor()` does what you have just done, and asks about thirty questions: it listens to modules, to
# backward passes and to the steps of optimisers through hooks, watches some steps closely and most of them hardly at
# all, and says what is wrong in a sentence, with your line. It changes nothing in the run.

# %%
net = network()
with doctor() as watched:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(40):
        at = slice(i * 25 % 1000, i * 25 % 1000 + 25)
        loss = F.cross_entropy(net(x[at]), y[at])
        loss.backward()
        optimizer.step()
watched

# %%
print(watched)
assert [f.kind for f in watched.findings] == ["missing zero_grad"]

# %% [markdown]
# The first number that is not one, with the call that made it. Before you run it: which line will it be?

# %%
def too_sure(net, at):
    chosen = torch.sigmoid(1000 * net(x[at]))[torch.arange(25), y[at]]
    return -chosen.log().mean()


with doctor() as watched:
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(5):
        optimizer.zero_grad()
        too_sure(net, slice(25 * i, 25 * i + 25)).backward()
        optimizer.step()
print(watched)
assert watched.findings[0].kind == "value not finite" and "log() gave -inf" in watched.findings[0].text

# %% [markdown]
# A healthy run gets no alarm. Look at its curves: this is what you want to see.

# %%
with doctor() as watched:
    net = network()
    seen = losses_of(net, x, y, steps=150, lr=0.5)
assert not watched.findings and seen[-1] < 0.5
watched

# %% [markdown]
# ## Exercise: the patient
#
# This training was found like this, and it finds the right class of one sample in four. Nothing in it raises an error.
# Let the doctor look, mend what stands first, and look again, until it is silent:
#
# ```
# x, y = check.nb23.patient(0)
# torch.testing.doctor().examine(fit, x, y)
# ```


# %%
def fit(x, y):
    """Train on x (N, 8), numbers from 0 to 255, and y (N,), 4 classes; the classes that the network finds for x."""
    # <solution>
    # | net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(1))
    # | optimizer = torch.optim.SGD(net.parameters(), lr=10.0)
    # | for i in range(60):
    # |     at = slice(i * 64 % 256, i * 64 % 256 + 64)
    # |     loss = F.cross_entropy(net(x[at]), y[at])
    # |     loss.backward()
    # |     optimizer.step()
    # | # when you have begun to mend it, delete this line:
    # | raise NotImplementedError
    x = (x - x.mean()) / x.std()
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(60):
        at = slice(i * 64 % 256, i * 64 % 256 + 64)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[at]), y[at])
        loss.backward()
        optimizer.step()
    # </solution>
    return net(x).argmax(1)


check.nb23.fit(fit)

# %%
if check.passed("nb23.fit"):
    patient, classes = check.nb23.patient(2)
    report = doctor().examine(fit, patient, classes)
    print(report)
    right = (report.result == classes).double().mean().item()
    print(f"right for {100 * right:.1f} % of the samples")
    assert right > 0.9 and not report.findings

# %% [markdown]
# ## What no doctor sees
#
# It sees a run, not what you meant. A test set that is part of the training set, labels that mean something else, a
# metric that rewards the wrong thing: all of that trains beautifully. Look at the data, sample by sample; look at the
# answers that are wrong; and keep a model that is too simple to be wrong beside the one you believe in.
#
# ## In real PyTorch
#
# The doctor is minitorch's, its measurements are not: hooks, gradients and norms are the same there.


# %%
def measured(torch):
    from_torch = torch.nn.functional
    w = torch.tensor([[1.0, -2.0], [0.5, 1.5]], dtype=torch.float64, requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(g.norm()))
    optimizer = torch.optim.SGD([w], lr=0.1)
    before = w.detach().clone()
    from_torch.cross_entropy(torch.eye(2, dtype=torch.float64) @ w, torch.tensor([0, 1])).backward()
    optimizer.step()
    return [seen[0], (w.detach() - before).norm() / before.norm()]


check.in_pytorch(measured)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Know the first loss before you see it, and learn one batch by heart before you train on all.
# * A step of a thousandth of the weight is usual. Dead units, wild steps and NaN have an order: the cause comes first.
# * A program that runs is not a program that is right. Measure it.
#
# **Go further.** Plant a fault that the doctor does not find, and write the rule that would:
# `minitorch/testing/runs/rules.py` has one function for each. Hand your broken loop to a neighbour, and let her find
# the fault from the curves alone.
#
# Next: [24. Data: what a network really learns from](24_data.ipynb)
