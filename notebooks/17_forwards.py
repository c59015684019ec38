# %% [markdown]
# # 17. Derivatives forwards and in batches
#
# `backward()` goes one way: from one loss back to all weights. It is not the only way. Lesson 1 carried a slope along
# with each number, *forwards*; this notebook does that with tensors, runs both ways in batches, and combines them. It
# ends with the second derivatives of a model, where no Hessian is ever built.
#
# **You will be able to**
# * push tangents through a network with dual tensors, in a dozen lines;
# * say, before you compute a Jacobian, which way is cheaper, and count that it is;
# * get the gradient of *each* sample of a batch, without a loop;
# * multiply a Hessian by a vector without the Hessian, and find the largest safe learning rate with it.
#
# You need: notebooks 1, 2 and 5. Time: an hour and a half.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check
from minitorch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## Two questions about one matrix
#
# A function with $n$ inputs and $m$ outputs has a Jacobian of $m$ rows and $n$ columns. Two questions can be asked
# about it without building it:
#
# * **push** (Jacobian times vector, JVP): the inputs move by $v$; how do the outputs move? $Jv$, forwards.
# * **pull** (vector times Jacobian, VJP): the loss has slope $u$ for the outputs; which for the inputs?
#   $J^\mathsf{T} u$, backwards.
#
# A pull must remember every value on the way, because it starts at the end (notebook 2). A push needs no memory: the
# tangent travels beside the value, and both are forgotten together.
#
# ## Exercise: a dual tensor
#
# As in notebook 1, $\varepsilon^2 = 0$; but now value and tangent are tensors of one shape. Mind `@`: matrices do not
# commute.


# %%
class Dual:
    """A tensor, and how it moves."""

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent)

    def __mul__(self, other):
        # <solution>
        return Dual(self.value * other.value, self.value * other.tangent + self.tangent * other.value)
        # </solution>

    def __matmul__(self, other):
        # <solution>
        return Dual(self.value @ other.value, self.value @ other.tangent + self.tangent @ other.value)
        # </solution>

    def tanh(self):
        # <solution>
        y = self.value.tanh()
        return Dual(y, (1 - y * y) * self.tangent)
        # </solution>

    def sum(self):
        # <solution>
        return Dual(self.value.sum(), self.tangent.sum())
        # </solution>


check.nb17.dual(Dual)

# %% [markdown]
# `network` below was written for tensors. It takes your duals as well, because it only asks for `@`, `tanh`, `*` and
# `sum`. The library's `jvp` does the same with its own tensors; and a pull must agree with both, since
# $\langle Jv, u\rangle = \langle v, J^\mathsf{T}u\rangle$ (the dot-product test of notebook 4).


# %%
def network(w1, w2):
    hidden = (inputs @ w1).tanh()
    return (hidden @ w2 * (hidden @ w2)).sum()


torch.manual_seed(0)
data, w1, w2 = (torch.randn(*shape, dtype=torch.float64) for shape in ((5, 3), (3, 4), (4, 2)))
v1, v2 = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)
inputs = data
_, pushed = jvp(network, (w1, w2), (v1, v2))
g1, g2 = grad(network, argnums=(0, 1))(w1, w2)
print("jvp:                   ", pushed.item())
print("gradient, times v:     ", ((g1 * v1).sum() + (g2 * v2).sum()).item())
assert torch.allclose(pushed, (g1 * v1).sum() + (g2 * v2).sum())
if check.passed("nb17.dual"):
    inputs = Dual(data, torch.zeros_like(data))             # the data do not move
    mine = network(Dual(w1, v1), Dual(w2, v2))
    print("your dozen lines:      ", mine.tangent.item())
    assert torch.allclose(mine.tangent, pushed)
    inputs = data

# %% [markdown]
# ## The cost, counted
#
# One push gives one number for *one* direction: of a loss with a million weights it takes a million pushes to get
# the gradient. One pull gives all of it. That is why training goes backwards. But turn the function round, few inputs
# and many outputs, and it is the other way. Never mind seconds: count passes.


# %%
def wide(x):
    """3 inputs, 40 outputs: the heights of a wave, by its amplitude, frequency and phase."""
    return x[0] * torch.sin(x[1] * times + x[2])


def narrow(x):
    """40 inputs, 3 outputs."""
    return torch.stack([x.mean(), x.var(), x.exp().sum().log()])


times = torch.linspace(0, 6, 40, dtype=torch.float64)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
wave = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)
for axis, function, x in ((axes[0], wide, wave), (axes[1], narrow, times)):
    value, pull = vjp(function, x)
    n, m = len(x), len(value)
    pushes = [jvp(function, (x,), (e,))[1] for e in torch.eye(n, dtype=torch.float64)]
    pulls = [pull(e)[0] for e in torch.eye(m, dtype=torch.float64)]
    assert torch.allclose(torch.stack(pushes, 1), torch.stack(pulls)), "one matrix, by columns and by rows"
    print(f"{function.__name__:>6}: {n:2} inputs, {m:2} outputs: {len(pushes):2} pushes or {len(pulls):2} pulls")
    axis.bar(["pushes", "pulls"], [len(pushes), len(pulls)], color=["#0072b2", "#b34700"])
    axis.set(title=f"{function.__name__}: {n} inputs, {m} outputs", ylabel="passes for the Jacobian")
show_figure(figure, """Bars of the passes for a Jacobian. 3 inputs, 40 outputs: 3 pushes or 40 pulls. 40 inputs, 3
            outputs: 40 pushes or 3 pulls.""")

# %% [markdown]
# ## Exercise: the cheaper way
#
# You are given `push` and `pull` of an unknown function. Build its Jacobian from the fewest passes. The check counts
# them.


# %%
def jacobian(push, pull, n, m):
    """The Jacobian (m, n), float64. push(v), v (n,), gives J v, (m,); pull(u), u (m,), gives J' u, (n,)."""
    # <solution>
    if n <= m:
        return torch.stack([push(e) for e in torch.eye(n, dtype=torch.float64)], 1)
    return torch.stack([pull(e) for e in torch.eye(m, dtype=torch.float64)])
    # </solution>


check.nb17.jacobian(jacobian)

# %% [markdown]
# ## A batch of passes is one pass
#
# Your loop runs the same pass with other unit vectors. All of them can go at once, as a batch: `vmap` turns a function
# of one thing into a function of many, and the function *is called once*. `jacfwd` is `vmap` of pushes, `jacrev` is
# `vmap` of pulls. The arithmetic is the same, column by column; what is saved is the way through Python. Count it.

# %%
calls = 0


def counted(function):
    """The function, which adds one to `calls` whenever it is called."""
    def call(*args):
        global calls
        calls += 1
        return function(*args)
    return call


for name, way in (("jacfwd, 3 columns at once", jacfwd), ("jacrev, 40 rows at once  ", jacrev)):
    calls = 0
    found = way(counted(wide))(wave)
    print(name, tuple(found.shape), "calls of the function:", calls)
    assert calls == 1 and torch.allclose(found, jacfwd(wide)(wave))

# %% [markdown]
# Inside, your function sees *one* element: the batch is hidden. That is why it must not ask for a value: `if x > 0`
# would have as many answers as there are elements.

# %%
try:
    vmap(lambda x: x if x > 0 else -x)(torch.tensor([1.0, -2.0]))
except RuntimeError as error:
    print(error)
print(vmap(lambda x: torch.where(x > 0, x, -x))(torch.tensor([1.0, -2.0])), "by torch.where")

# %% [markdown]
# ## Exercise: a gradient for each sample
#
# `backward()` adds up over the batch; it is lost which sample contributed what. Yet one wants to
# know: to find odd samples, to clip each contribution (differential privacy), to estimate the noise
# of the gradient. The loop over samples is right, and slow. Do it with one call of `loss`.


# %%
def per_sample(loss, w, x, y):
    """The gradients (N, D) for w (D,) of loss(w, x[i], y[i]), a number; x (N, D), y (N,)."""
    # <solution>
    return vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
    # </solution>


check.nb17.per_sample(per_sample)

# %% [markdown]
# Put it to work. Two clouds of points; five of the 200 labels are wrong, and nobody tells the classifier. Train, then
# ask each sample how hard it pulls at the weights.


# %%
def logistic(w, x, y):
    """The loss of one sample x (3,) with label y, 0 or 1."""
    return torch.nn.functional.softplus(-(2 * y - 1) * (x * w).sum())


torch.manual_seed(1)
truth = (torch.arange(200) % 2).double()
points = torch.randn(200, 2, dtype=torch.float64) + 4 * truth.unsqueeze(1) - 2
points = torch.cat([points, torch.ones(200, 1, dtype=torch.float64)], 1)
wrong = torch.randperm(200)[:5]
labels = truth.clone()
labels[wrong] = 1 - labels[wrong]


def mean_loss(w):
    return vmap(logistic, in_dims=(None, 0, 0))(w, points, labels).mean()


w = torch.zeros(3, dtype=torch.float64)
for _ in range(100):
    w = w - 0.5 * grad(mean_loss)(w)
print(f"loss {mean_loss(torch.zeros_like(w)).item():.3f} before, {mean_loss(w).item():.3f} after")
assert mean_loss(w) < 0.3

if check.passed("nb17.per_sample"):
    gradients = per_sample(logistic, w, points, labels)
    assert torch.allclose(gradients.mean(0), grad(mean_loss)(w)), "their mean is what backward() gives"
    norms = gradients.norm(dim=1)
    suspects = norms.argsort(descending=True)[:5]
    print("the five largest gradients:", sorted(suspects.tolist()))
    print("the five wrong labels:     ", sorted(wrong.tolist()))
    assert sorted(suspects.tolist()) == sorted(wrong.tolist())
    figure, axis = plt.subplots(figsize=(5.5, 4.2))
    for label, marker in ((0, "o"), (1, "s")):
        chosen = labels == label
        axis.scatter(*points[chosen][:, :2].T.numpy(), s=8 + 40 * norms[chosen].numpy(), marker=marker,
                     alpha=0.6, label=f"labelled {label}")
    axis.set(title="size: the norm of the sample's gradient")
    axis.legend()
    show_figure(figure, """Two clouds of points. Nearly all are small; five large ones lie deep in the cloud of the
                other label: the wrong labels.""")

# %% [markdown]
# ## Exercise: a Hessian times a vector
#
# The Hessian has $n^2$ entries; for a million weights, a million million. It is never built. It is the Jacobian of the
# *gradient*, and a Jacobian times a vector is a push: forwards over backwards. One call of `f`, room for a few vectors
# (the check looks).


# %%
def hvp(f, x, v):
    """The Hessian of f at x (n,) times v (n,), by one call of f."""
    # <solution>
    return jvp(grad(f), (x,), (v,))[1]
    # </solution>


check.nb17.hvp(hvp)

# %%
full = hessian(mean_loss)(w)
print(full)
if check.passed("nb17.hvp"):
    calls = 0
    columns = [hvp(counted(mean_loss), w, e) for e in torch.eye(3, dtype=torch.float64)]
    print("from", calls, "products: the same")
    assert calls == 3 and torch.allclose(torch.stack(columns, 1), full)

# %% [markdown]
# ## How large may the learning rate be?
#
# Notebook 6 found it by trying. Along a direction of curvature $\lambda$ a step of gradient descent multiplies the
# error by $1 - \eta\lambda$, which explodes as soon as $\eta > 2/\lambda$. So the *largest* eigenvalue of the Hessian
# decides. Multiply some vector by the Hessian again and again: it turns into the direction of that eigenvalue (*power
# iteration*). All it needs is your product.

# %%
torch.manual_seed(2)
design = torch.randn(100, 20, dtype=torch.float64) * torch.linspace(0.1, 2, 20, dtype=torch.float64)
target = torch.randn(100, dtype=torch.float64)


def squares(w):
    return ((design @ w - target) ** 2).mean()


def descent(lr, steps=150):
    """The losses on the way."""
    w, losses = torch.zeros(20, dtype=torch.float64), []
    for _ in range(steps):
        losses.append(squares(w).item())
        w = w - lr * grad(squares)(w)
    return losses


if check.passed("nb17.hvp"):
    calls, v = 0, torch.ones(20, dtype=torch.float64)
    for _ in range(60):
        v = hvp(counted(squares), torch.zeros(20, dtype=torch.float64), v)
        largest = v.norm()
        v = v / largest
    limit = 2 / largest.item()
    print(f"largest curvature {largest.item():.4f}, after {calls} products; steps must stay below {limit:.4f}")
    full = hessian(squares)(torch.zeros(20, dtype=torch.float64))
    assert abs(largest / torch.linalg.eigvalsh(full)[-1] - 1) < 0.01
    figure, axis = plt.subplots(figsize=(6.5, 3.6))
    for share in (0.5, 0.95, 1.05):
        losses = descent(share * limit)
        assert (losses[-1] < losses[0]) == (share < 1), "it converges below the limit, and explodes above"
        axis.semilogy(losses, label=f"{share} of the limit")
    axis.set(xlabel="step", ylabel="loss", title="gradient descent on both sides of 2/λ")
    axis.legend()
    show_figure(figure, """The loss over 150 steps on a logarithmic axis: with half of the limit and 0.95 of it the
                curves fall, with 1.05 of it the curve rises by many powers of ten.""")

# %% [markdown]
# ## In real PyTorch
#
# All of it is `torch.func` there: the same names, the same arguments.


# %%
def forwards_and_in_batches(torch):
    from importlib import import_module
    func = import_module(f"{torch.__name__}.func")
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    v = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)

    def f(x):
        return (x ** 3).sum() + x[0] * x[1] ** 2

    batch = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    return [func.jvp(torch.sin, (x,), (v,)), func.jacfwd(torch.tanh)(x), func.jacrev(torch.tanh)(x),
            func.vmap(func.grad(f))(batch), func.jvp(func.grad(f), (x,), (v,))[1], func.hessian(f)(x)]


check.in_pytorch(forwards_and_in_batches)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Forwards: a column for each pass, no memory. Backwards: a row for each pass, all values kept.
# * Few inputs: push. Few outputs, such as one loss: pull.
# * `vmap(grad(loss), in_dims=(None, 0, 0))`: a gradient for each sample, from one call.
# * `jvp(grad(f), (x,), (v,))[1]`: the Hessian times `v`. Never build it.
#
# **Go further.** Clip each sample's gradient to norm 1 before you take the mean, and train with the five wrong labels:
# do they still move the boundary? Solve $H d = g$ by conjugate gradients, with `hvp` for the product: that is Newton's
# step, and it takes at most $n$ products. What does `jvp` of `jvp` give? `examples/maml.py` differentiates a whole
# training.
