# %% [markdown]
# # 4. Write an op, prove an op
#
# One day the operation you need does not exist, or is too slow, or eats too much memory. Then you write it, forward and
# backward, and nobody but you knows whether the backward is right. Training will not tell you: networks learn
# surprisingly well with wrong gradients, only worse. This notebook is about *knowing*.
#
# **You will be able to**
# * add an operation with `autograd.Function`, and choose what to save;
# * derive the backward of a sum, a lookup and a product;
# * recognise the usual mistakes from their Jacobians;
# * design random inputs that find bugs, and use the dot-product test.
#
# You need: notebooks 2 and 3. Time: an hour and a half.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check
from minitorch.testing import GradcheckError, gradcheck
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The two halves of an op
#
# The matrix of all slopes $J_{kj} = \partial y_k / \partial x_j$ is called the Jacobian. Nobody ever builds it. An op
# only answers one question about it: given $g$, the gradient of the loss for the *output*, what is $J^\mathsf{T} g$,
# the gradient for the *input*? That is a **pull** (in books: a vector-Jacobian product, VJP).

# %%
class Softplus(torch.autograd.Function):
    """log(1 + exp(x)), a smooth relu."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)            # what the backward pass will need
        return x.clamp(min=0) + (-x.abs()).exp().log1p()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * torch.sigmoid(x)         # the slope of softplus is the sigmoid


x = torch.linspace(-3, 3, 7, dtype=torch.float64, requires_grad=True)
print(gradcheck(Softplus.apply, x))

# %% [markdown]
# `gradcheck` builds both Jacobians, one by finite differences (notebook 1) and one by your `backward`, and compares.
#
# What to save is a real decision. The input? The output? A mask of one bit per element? For `exp` the output is enough
# (its slope is itself); for a sum *nothing* is; in a large network what you save is most of the memory you need.
#
# ## Exercises: three rules on tensors
#
# `g` has the shape of the output, the answer that of the input. Derive for one row on paper first; then mind the axes.
#
# **A sum in disguise.** $y = \log \sum_j e^{x_j}$ for each row.


# %%
def logsumexp_pull(g, x, y):
    """x (N, D), y = logsumexp(x, 1) and g (N,): the gradient for x."""
    # <solution>
    return g.unsqueeze(1) * (x - y.unsqueeze(1)).exp()
    # </solution>


check.nb04.logsumexp(logsumexp_pull)

# %% [markdown]
# **Variance.** The mean depends on $x$ too. Does that path matter? Write it down and be pleasantly surprised.


# %%
def variance_pull(g, x, y):
    """x (N, D), y = x.var(1) (divided by D - 1) and g (N,): the gradient for x."""
    # <solution>
    return g.unsqueeze(1) * 2 / (x.shape[1] - 1) * (x - x.mean(1, keepdim=True))
    # </solution>


check.nb04.variance(variance_pull)

# %% [markdown]
# **A lookup.** `y = x[index]`. An embedding layer is nothing else. Its backward is one of those that small
# frameworks break most often, since nothing looks wrong until an index comes twice.


# %%
def gather_pull(g, index, n):
    """x (n,), y = x[index] and g (K,), index (K,) int64: the gradient for x."""
    # <solution>
    return torch.zeros(n, dtype=g.dtype).index_add(0, index, g)
    # </solution>


check.nb04.gather(gather_pull)

# %% [markdown]
# ## Exercise: a product, with zeros
#
# $y_k = x_0 x_1 \cdots x_k$. The formula in everybody's head is $\partial y_k / \partial x_i = y_k / x_i$. It works on
# all random numbers, and fails on the one number that real data are full of.


# %%
def cumprod_pull(g, x, y):
    """x (D,), y = cumprod(x) and g (D,): the gradient for x. There may be zeros in x."""
    # <solution>
    found = torch.zeros_like(x)
    for i in range(len(x)):
        others = x.clone()
        others[i] = 1.0
        found[i] = (g * others.cumprod(0))[i:].sum()
    return found
    # </solution>


check.nb04.cumprod(cumprod_pull)

# %% [markdown]
# (This one is quadratic. It can be done in linear time, zeros and all, by going from the back: see the end.)
#
# ## A gallery of suspects
#
# Six people wrote the backward of $f(x, w) = \frac1N \sum_n x_n w$ (each row of $x$ times $w$, averaged over the rows).
# Here are the Jacobians for $w$ that theirs imply, beside the true one. Before you run anything else: which of them
# would you hang?

# %%
from minitorch.check.nb04 import SUSPECTS

torch.manual_seed(0)
x = torch.randn(3, 3, dtype=torch.float64)
w = torch.randn(3, dtype=torch.float64, requires_grad=True)
figure, axes = plt.subplots(1, 7, figsize=(14, 2.4))
for axis, name in zip(axes, ["truth", *SUSPECTS]):
    function = SUSPECTS[name].apply if name != "truth" else lambda x, w: (x * w).mean(0)
    rows = []
    for k in range(3):                      # row k of the Jacobian: pull the unit vector k
        g = torch.zeros(3, dtype=torch.float64)
        g[k] = 1.0
        rows.append(torch.autograd.grad(function(x, w), w, g)[0])
    axis.imshow(torch.stack(rows).numpy(), cmap="PuOr", vmin=-1, vmax=1)
    axis.set(title=name, xticks=[], yticks=[])
show_figure(figure, """Seven 3 x 3 grids, the Jacobians for w. Truth, C: three colours on the diagonal. A: the
            opposite colours. B: whole columns of one colour. D: stronger colours. E: colours everywhere. F: other,
            paler ones on the diagonal.""")

# %% [markdown]
# ## Exercise: name the bug
#
# Question them with `gradcheck`; its message prints both Jacobians. The possible words are `"right"`,
# `"missing 1/N"`, `"wrong sign"`, `"upstream ignored"`, `"wrong axis"` and `"= for +="`.

# %%
x.requires_grad_()
try:
    print(gradcheck(SUSPECTS["A"].apply, (x, w)))
except (GradcheckError, RuntimeError) as error:
    print(error)

# %%
# <solution>
# | bugs = {"A": ..., "B": ..., "C": ..., "D": ..., "E": ..., "F": ...}
bugs = {"A": "wrong sign", "B": "upstream ignored", "C": "right", "D": "missing 1/N", "E": "wrong axis",
        "F": "= for +="}
# </solution>
check.nb04.suspects(bugs)

# %% [markdown]
# B is the meanest: it is right whenever the incoming gradient happens to be 1. Test an op as the *last* one before
# `backward()` and you will never notice. (The cross-entropy of the library in notebook 15 is like that: the gradient of
# `3 * loss` equals that of `loss`.)
#
# ## The dot-product test
#
# For a large op one cannot afford whole Jacobians. One number is enough. Push a direction $v$ through the op to get
# $Jv$, pull a $u$ back to get $J^\mathsf{T}u$; then, for *every* $u$ and $v$,
#
# $$\langle Jv, u\rangle = \langle v, J^\mathsf{T}u\rangle.$$
#
# Each dot below is one random pair. A right op lies on the diagonal.

# %%
def pair(function, seed):
    """<J v, u> by a finite difference, and <v, J'u> by the op's backward, for w of the suspects."""
    torch.manual_seed(seed)
    v, u = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    with torch.no_grad():
        pushed = (function(x, w + 1e-6 * v) - function(x, w - 1e-6 * v)) / 2e-6
    pulled, = torch.autograd.grad(function(x, w), w, u)
    return (pushed * u).sum().item(), (v * pulled).sum().item()


figure, axis = plt.subplots(figsize=(4.5, 4.5))
furthest = {}
for name, marker in (("C", "o"), ("A", "v"), ("D", "s"), ("F", "x")):
    pairs = [pair(SUSPECTS[name].apply, seed) for seed in range(25)]
    axis.plot([p for p, _ in pairs], [q for _, q in pairs], marker, markersize=5, label=name, alpha=0.8)
    furthest[name] = max(abs(p - q) for p, q in pairs)
axis.axline((0, 0), slope=1, color="#999999", linewidth=1)
axis.set(xlabel="push: ⟨Jv, u⟩", ylabel="pull: ⟨v, Jᵀu⟩", ylim=(-3, 3), title="the dot-product test")
axis.legend()
show_figure(figure, """A scatter of 25 random pairs for four of the suspects: C lies on the diagonal; A on a line that
            falls, D on a steeper one, F all over the place.""")
assert furthest["C"] < 1e-6 and min(furthest[name] for name in "ADF") > 0.1

# %% [markdown]
# ## Exercise: inputs that find bugs
#
# Every check is only as good as its inputs. Test a lookup with `index = torch.randperm(n)`, a random order of all
# places, and no index ever comes twice: the most common bug passes every time. Write the generator that finds it, and
# the bugs at both ends, and the crash on the empty list. It must not produce invalid indices.


# %%
def index_lists(rng, n):
    """A random list of indices into a tensor of length n >= 1; rng is a random.Random."""
    # <solution>
    return [rng.randrange(n) for _ in range(rng.randrange(2 * n + 2))]
    # </solution>


check.nb04.strategy(index_lists)

# %% [markdown]
# Now your generator goes to work against two implementations. One is wrong.

# %%
import random


def first_bad(pull):
    """The first index list of your generator for which `pull` disagrees with autograd."""
    rng = random.Random(1)
    for tries in range(1, 500):
        n = rng.randint(1, 4)
        index = torch.tensor(index_lists(rng, n), dtype=torch.int64)
        x = torch.zeros(n, requires_grad=True)
        g = torch.arange(1.0, len(index) + 1)
        x[index].backward(g)
        if not torch.equal(pull(g, index, n), x.grad):
            return f"wrong for {index.tolist()} (n = {n}), found after {tries} tries"
    return "not found in 500 tries"


def suspicious(g, index, n):
    found = torch.zeros(n)
    found[index] += g                       # looks like +=, is it?
    return found


if check.passed("nb04.strategy", "nb04.gather"):
    print("found[index] += g:", first_bad(suspicious))
    print("yours:            ", first_bad(gather_pull))
    assert "wrong" in first_bad(suspicious) and "not found" in first_bad(gather_pull)

# %% [markdown]
# minitorch comes with the whole battery in one line: every memory layout, broadcasting, empty and 0-d inputs, second
# derivatives, writes to what should not be written to.

# %%
print(torch.testing.check(Softplus))

# %% [markdown]
# ## In real PyTorch
#
# `autograd.Function` and `gradcheck` are PyTorch's interface: your op moves over without a change.


# %%
def custom_op(torch):
    class LogSumExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.logsumexp(x, 1)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g.unsqueeze(1) * (x - y.unsqueeze(1)).exp()

    x = torch.linspace(-1, 2, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    passes = torch.autograd.gradcheck(LogSumExp.apply, (x,))
    LogSumExp.apply(x).pow(2).sum().backward()
    return passes, x.grad


check.in_pytorch(custom_op)

# %%
check.report()

# %% [markdown]
# **Remember**
# * An op answers $J^\mathsf{T} g$. It never builds $J$.
# * Reading several times is adding in reverse; dividing by $x$ is a trap.
# * Test with an upstream gradient that is not 1, with repeats, zeros, empties, both ends.
#
# **Go further.** Write the second derivative of `Softplus` (does `gradgradcheck` pass? why?). Make `cumprod_pull`
# linear: $x_i$ times what follows it is a sum that can be kept up from the back, without any division.
#
# Next: [5. From line to network](05_networks.ipynb)
