# %% [markdown]
# # 2. Backward in 60 lines
#
# Every deep learning framework rests on one trick: it writes down what you compute, and then walks that record
# backwards. In this notebook you build the trick yourself, on plain numbers, and train a small network with it.
#
# **You will be able to**
# * say what a graph of a computation is, and read one;
# * explain why gradients are *added* where a value is used twice;
# * explain why the nodes must run in one particular order, and what the two popular wrong orders do.
#
# You need: the chain rule, and a little Python. Time: an hour.

# %%
import math
import random

import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
from minitorch import check, viz
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The record
#
# Compute something with tensors that ask for gradients. minitorch keeps, for every result, *what it was made from*.

# %%
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(-3.0, requires_grad=True)
loss = (a * b + a) ** 2
loss.graph()

# %% [markdown]
# Read it from the bottom: `loss` was made by a power, which was made from a sum, and so on. Note that `a` is used
# **twice**, and that there are no gradients yet: `backward()` has not run. Printing `a.grad` now gives `None`, not 0.

# %%
print("before:", a.grad)
loss.backward()
print("after: ", a.grad, b.grad)
assert a.grad == 16 and b.grad == -16
loss.graph()

# %% [markdown]
# Compare the two pictures: the leaves have gradients now, and the graph has let go of what its rules had kept (the
# exponent is not known any more). It can be walked once; `backward(retain_graph=True)` would keep it for another walk.
#
# Let us build that. A `Value` is a number that remembers two things: its `parents` (what it was made from), and for
# each parent a `pull`: a function that takes the gradient of the result and gives back that parent's share.
#
# For a product $y = a\,b$ the slope for $a$ is $b$. So the pull for $a$ is: *take $g$, give $g\,b$*.


# %%
class Value:
    """A number that remembers how it was made."""

    def __init__(self, data, parents=(), pulls=()):
        self.data, self.grad = float(data), 0.0
        self.parents, self.pulls = parents, pulls

    def __repr__(self):
        return f"Value({self.data:.4g}, grad={self.grad:.4g})"

    def __add__(self, other):
        other = as_value(other)
        return Value(self.data + other.data, (self, other), (lambda g: g, lambda g: g))

    def __mul__(self, other):
        other = as_value(other)
        return Value(self.data * other.data, (self, other), (lambda g: g * other.data, lambda g: g * self.data))

    def exp(self):
        y = math.exp(self.data)
        return Value(y, (self,), (lambda g: g * y,))            # the slope of exp is its own value


def as_value(x):
    return x if isinstance(x, Value) else Value(x)


x = Value(3.0)
y = x * x + x
print(y, "was made from", y.parents)

# %% [markdown]
# ## Exercises: three local slopes
#
# That is all of calculus a framework needs: one small rule an operation, each looking at nothing but its own inputs
# and output. Write three. `g` is the gradient of the result; a rule multiplies it by its slope.
#
# Each check below tries many numbers, shows the smallest example that fails, and tells you what the mistake *looks
# like*. Stuck? `check.nb02.tanh.hint(1)`, then 2, then 3.


# %%
def tanh_pull(g, x, y):
    """The gradient for x where y = tanh(x)."""
    # <solution>
    return g * (1 - y * y)
    # </solution>


check.nb02.tanh(tanh_pull)


# %%
def div_pull(g, a, b):
    """The gradients (for a, for b) where y = a / b."""
    # <solution>
    return g / b, -g * a / b ** 2
    # </solution>


check.nb02.div(div_pull)


# %%
def power_pull(g, x, n):
    """The gradient for x where y = x ** n and n is a plain number."""
    # <solution>
    return g * n * x ** (n - 1)
    # </solution>


check.nb02.power(power_pull)

# %% [markdown]
# ## Exercise: sending gradients
#
# A node that knows its own gradient sends each parent its share. Two lines, and one of them holds the most common bug
# in all home-made autograd engines. Think of $y = x \cdot x$ at $x = 3$: both factors are the *same* `Value`. What must
# `x.grad` be, and what do you get if the second share replaces the first?


# %%
def send(node):
    """Give each of node.parents its share of node.grad; node.pulls has one function for each parent."""
    # <solution>
    for parent, pull in zip(node.parents, node.pulls):
        parent.grad += pull(node.grad)
    # </solution>


check.nb02.send(send)

# %% [markdown]
# You have just seen why PyTorch's `.grad` *accumulates*, and why every training loop has to say
# `optimizer.zero_grad()`: the `+=` that makes `x * x` right also adds today's gradient to yesterday's.
#
# ## Which node first?
#
# A node may send only when **everything has arrived**. The obvious program is recursive: send, then let each parent do
# the same. It is even right, if nodes pass on only what just came in, one message for every *path* through the graph.
# But look at the price when values are used twice, again and again: `y = y + y`, twenty times.


# %%
def messages(depth):
    """How many messages the naive recursion sends through y = y + y, repeated `depth` times."""
    return 0 if depth == 0 else 2 + 2 * messages(depth - 1)


for depth in (1, 5, 10, 15, 20):
    print(f"{depth:3} additions: naive recursion {messages(depth):9,} messages, one visit each {2 * depth:3}")

# %% [markdown]
# Two million messages for twenty additions. A network with fifty residual blocks has $2^{50}$ paths: 35 years, at a
# million messages a second.
#
# "Then let each node run only once: remember whom you have visited." That is the second popular idea, and it is worse,
# because it is *fast and wrong*: a node that runs at the first knock has not yet heard from its other users. (You will
# meet a library that shipped exactly this in notebook 15: there, the derivative of `x + x` is 1.)
#
# Step through the real thing with the buttons or the slider. The same view has both popular programs: "naive
# recursion", where each message makes a node send *all* it has so far, and "visited once". The last table says what
# they would have answered.

# %%
x = torch.tensor(3.0, requires_grad=True)
square = x * x
out = square + square * x
viz.replay(out)

# %% [markdown]
# ## Exercise: the order
#
# List all nodes so that each comes **after everything that uses it**. The check tries your order on every graph that
# four nodes can form (and two with five: can you see why four are not enough to catch breadth first?).


# %%
def order(root):
    """All nodes that `root` is made from, `root` first, each after all of its users. Use node.parents."""
    # <solution>
    seen, finished = set(), []

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            finished.append(node)

    visit(root)
    return finished[::-1]
    # </solution>


check.nb02.order(order)

# %% [markdown]
# Your `visit` probably calls itself. Python stops that at about a thousand levels, and a recurrent network has more.
# minitorch therefore counts instead: how many messages will each node get? A node runs when its count is full. Same
# order, no recursion: a chain of a hundred thousand operations is not a problem.

# %%
y = start = torch.tensor(1.0, requires_grad=True)
for _ in range(100_000):
    y = y + 0.00001
y.backward()
print(start.grad)
assert start.grad == 1

# %% [markdown]
# ## The whole engine
#
# Put the pieces together. With the class above, this is backward in 60 lines.


# %%
def backward(root):
    root.grad = 1.0                     # how much does the root change if the root changes?
    for node in order(root):
        send(node)


def tanh(x):
    y = math.tanh(x.data)
    return Value(y, (x,), (lambda g: tanh_pull(g, x.data, y),))


def power(x, n):
    return Value(x.data ** n, (x,), (lambda g: power_pull(g, x.data, n),))


if check.passed("nb02.send", "nb02.order", "nb02.power"):
    x = Value(3.0)
    y = power(x, 2) + x * x * x
    backward(y)
    print("d(x**2 + x**3)/dx at 3 =", x.grad, "and should be", 2 * 3 + 3 * 9)
    assert x.grad == 33

# %% [markdown]
# ## It learns
#
# Two half moons, 40 points, a network of 2-8-1 units: 33 parameters, each a `Value`. Every step builds a graph of
# several thousand nodes and throws it away: this is what "define by run" means.

# %%
rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 40)
label = np.arange(40) % 2
points = np.stack([np.cos(angle) + label - 0.5, np.sin(angle) * (1 - 2 * label) + 0.4 * label], 1)
points += rng.normal(0, 0.08, points.shape)

random.seed(0)
W1 = [[Value(random.gauss(0, 1)) for _ in range(3)] for _ in range(8)]
W2 = [Value(random.gauss(0, 0.5)) for _ in range(9)]
parameters = [w for row in W1 for w in row] + W2


def network(p):
    hidden = [tanh(w[0] * p[0] + w[1] * p[1] + w[2]) for w in W1]
    return sum((w * h for w, h in zip(W2, hidden)), W2[8])


if check.passed("nb02.send", "nb02.order", "nb02.tanh", "nb02.power"):
    losses = []
    for _ in range(60):
        total = sum((power(network(p) + (1.0 - 2.0 * t), 2) for p, t in zip(points, label)), Value(0.0))
        for w in parameters:
            w.grad = 0.0                # remember the += in `send`
        backward(total)
        for w in parameters:
            w.data -= 0.005 * w.grad
        losses.append(total.data / len(points))

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    left.plot(losses)
    left.set(xlabel="step", ylabel="mean squared error", title="60 steps of your own engine")
    grid = np.linspace(-2, 2, 30)
    surface = [[network((u, v)).data for u in grid] for v in grid]
    right.contourf(grid, grid, surface, levels=[-9, 0, 9], colors=["#bbd7ea", "#f7d9bd"])
    right.scatter(*points.T, c=np.where(label, "#b34700", "#0072b2"), edgecolor="white")
    right.set(title="what it learned")
    correct = sum((network(p).data > 0) == bool(t) for p, t in zip(points, label))
    show_figure(figure, f"""Left: the mean squared error falls from {losses[0]:.2f} to {losses[-1]:.2f} in 60 steps.
                Right: 40 points in two half moons, and the bent border that the network draws between them; {correct}
                points are on their side.""")
    print(f"error {losses[0]:.2f} before, {losses[-1]:.2f} after; {correct} of {len(points)} points on their side")
    assert losses[-1] < 0.5 * losses[0] and losses[-1] < 0.5 and correct >= 36

# %% [markdown]
# ## In real PyTorch
#
# Nothing that you built is a simplification: PyTorch records parents and local rules, accumulates with `+=`, counts
# messages. The next cell runs one function twice, once with minitorch and once with PyTorch (if it is installed).


# %%
def shared_values(torch):
    x = torch.tensor(3.0, requires_grad=True)
    square = x * x
    out = square + square * x
    out.backward()
    once = x.grad.item()
    (x * x).backward()                  # no zero_grad in between: it adds
    return once, x.grad.item(), out.grad_fn.name()


check.in_pytorch(shared_values)

# %%
check.report()

# %% [markdown]
# **Remember**
# * An operation knows only its own slope; the chain rule is the walk.
# * Used twice means added: `+=`.
# * A node runs when all of its users have run.
#
# **Go further.** Make `order` without recursion. Add `Value.__truediv__` with your `div_pull`. What would it take to
# let `grad` itself be a `Value`? (That is how second derivatives work; notebook 4 uses them.)
#
# Next: [3. A tensor is a buffer and a story about it](03_tensors.ipynb)
