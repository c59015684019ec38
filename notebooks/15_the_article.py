# %% [markdown]
# # 15. The article that started it
#
# In May 2024 Lucas de Lima Nogueira published *Recreating PyTorch from Scratch (with GPU Support and Automatic
# Differentiation)*: a library called Norch, built in one long article from C arrays through CUDA kernels to a small
# network that learns. minitorch began as a study of it. This notebook retells the article with minitorch, reproduces
# its
# training run to the last printed digit, and then looks at what its design got wrong, because nothing teaches design
# like a good design's mistakes.
#
# **You will be able to**
# * follow a whole framework in one sitting: buffer, operations, graph, module, optimiser;
# * reproduce somebody's training run, and say what that takes;
# * recognise six design mistakes that many small frameworks share, and fix two of them.
#
# You need: notebooks 2 and 3, or the article. Time: 45 minutes.

# %%
import math
import random

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn, optim
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## The article in four cells
#
# **A tensor** is a flat piece of memory with a shape and strides. The article writes it in C; its example is this one.

# %%
x = torch.arange(24.0).reshape(2, 3, 4)
print("shape", tuple(x.shape), "strides", x.stride())
y = x.transpose(0, 1)
print("shape", tuple(y.shape), "strides", y.stride(), "contiguous:", y.is_contiguous())

# %% [markdown]
# **Operations** are loops over that memory, in C for the CPU and in CUDA for the GPU. minitorch leaves the loops to
# NumPy and CuPy, or to CUDA sources of its own (notebook 12); what an op *is* fits into a row of a table, derivative
# included:

# %%
print(torch.mul.formula)

# %% [markdown]
# **Automatic differentiation**: every result knows the function that made it, and `backward` walks back.

# %%
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
loss = (a @ a).sigmoid().sum()
loss.graph()

# %% [markdown]
# **A network** that learns $\sin^2 x$ from 51 points: 1-10-1, sigmoid, mean squared error, SGD with a learning rate of
# 0.001, one point at a time. In PyTorch's words, which are minitorch's words:


# %%
class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 10)
        self.sigmoid = nn.Sigmoid()
        self.fc2 = nn.Linear(10, 1)

    def forward(self, x):
        return self.fc2(self.sigmoid(self.fc1(x)))


# %% [markdown]
# ## Ten losses, digit by digit
#
# To reproduce a run, everything random must be the same. The article draws its parameters with *Python's* generator,
# uniformly from -1 to 1, in the order of the layers. So do we:

# %%
random.seed(1)
model = MyModel()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.tensor([random.uniform(-1, 1) for _ in range(p.numel())]).reshape(p.shape))

criterion, optimizer = nn.MSELoss(), optim.SGD(model.parameters(), lr=0.001)
points = [round(0.4 * i, 1) for i in range(51)]
printed = ["1.7035", "0.7193", "0.3068", "0.1742", "0.1342", "0.1232", "0.1220", "0.1241", "0.1270", "0.1297"]
for epoch in range(10):
    for x in points:
        loss = criterion(model(torch.tensor([[x]])), torch.tensor([[math.sin(x) ** 2]]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ours = f"{loss.item():.4f}"
    print(f"Epoch [{epoch + 1:2}/10], Loss: {ours}   the article: {printed[epoch]}   "
          f"{'equal' if ours == printed[epoch] else 'DIFFERENT'}")
    assert ours == printed[epoch]

# %% [markdown]
# All ten. But look at what the loss *is*: the loss of the last point of each epoch. It even rises at the end. Is the
# network any good? Draw what it learned, and what the same network learns in the same number of updates with a better
# recipe (batches, Adam, inputs scaled to -1 ... 1).

# %%
xs = torch.tensor(points).unsqueeze(1)
target = torch.sin(xs) ** 2
torch.manual_seed(0)
better = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
adam = optim.Adam(better.parameters(), lr=0.05)
for _ in range(510):
    adam.zero_grad()
    criterion(better((xs[:16] - 3) / 3), target[:16]).backward()
    adam.step()
dense = torch.linspace(0, 6, 200).unsqueeze(1)
with torch.no_grad():
    figure, axis = plt.subplots(figsize=(9, 3.2))
    axis.plot(dense.squeeze(1).numpy(), (torch.sin(dense) ** 2).squeeze(1).numpy(), color="#999999", label="sin²")
    axis.plot(xs[:16].squeeze(1).numpy(), target[:16].squeeze(1).numpy(), "o", color="#999999", markersize=4)
    axis.plot(dense.squeeze(1).numpy(), model(dense).squeeze(1).numpy(), "--", color="#0072b2",
              label="the article's run")
    axis.plot(dense.squeeze(1).numpy(), better((dense - 3) / 3).squeeze(1).numpy(), color="#b34700",
              label="510 updates of Adam on the points up to 6")
    axis.legend()
    show_figure(figure, """The curve of sin squared from 0 to 6 with 16 points on it: the article's run is a slow rise
                from below 0 to the middle that knows nothing of the waves; the better recipe follows them closely.""")
    truth = torch.sin(dense) ** 2
    errors = [criterion(f, truth).item() for f in (model(dense), better((dense - 3) / 3))]
    print(f"mean squared error of the article's run {errors[0]:.3f}, of the better recipe {errors[1]:.4f}")
    assert errors[0] > 0.08 and errors[1] < 0.01

# %% [markdown]
# A falling loss is not yet a fit: the article's network has learned little more than the mean, and near 0 not even
# that. Its library is not to blame for that. It is for these:
#
# ## Six mistakes, and what they give
#
# The right column was measured with the article's library itself (its later version, PyNorch), the left one is computed
# here, now.

# %%
def slope(f, at):
    x = torch.tensor(at, requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


def summed(axis):
    x = torch.zeros(2, 2, requires_grad=True)
    (x.sum(axis) * torch.tensor([10.0, 100.0])).sum().backward()
    return x.grad.tolist()


def tripled():
    grads = []
    for factor in (1.0, 3.0):
        z = torch.tensor([[1.0, 2.0]], requires_grad=True)
        (factor * nn.functional.cross_entropy(z, torch.tensor([0]))).backward()
        grads.append(z.grad)
    return bool((grads[1] == 3 * grads[0]).all())


def after_one_step():
    model = nn.Linear(1, 1)
    step = optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 1)).sum().backward()
    step.step()
    return len(list(model.parameters()))


rows = [("d(x + x)/dx", slope(lambda x: x + x, 3.0), "1"),
        ("d(2x + 5x)/dx", slope(lambda x: 2 * x + 5 * x, 3.0), "5"),
        ("gradient of x.sum(1), weighted 10, 100", summed(1), "[[10, 100], [10, 100]]"),
        ("cross-entropy of the logits (1000, 0)",
         nn.functional.cross_entropy(torch.tensor([[1000.0, 0.0]]), torch.tensor([0])).item(), "nan"),
        ("3 * loss has three times the gradient", tripled(), "False"),
        ("parameters of a Linear after one step", after_one_step(), "0")]
for what, here, there in rows:
    print(f"{what:40} {here!s:30} Norch: {there}")
assert [here for _, here, _ in rows[:3]] == [2.0, 7.0, [[10.0, 10.0], [100.0, 100.0]]]
assert rows[3][1] == 0 and rows[4][1] and rows[5][1] == 2

# %% [markdown]
# * *The visited set* (lines 1 and 2). `backward` marks a node when it is first reached and never returns: every second
#   path is lost (notebook 2). The article's own first version recursed along all paths: right, and exponentially slow.
# * *The summed axis* (line 3). Not re-inserted: an error for most shapes and, worse, a silent transpose for square
# ones.
# * *log(softmax)* (line 4) overflows, and its backward *ignores what comes from above* (line 5), so that a weighted
#   loss trains as if it had no weight.
# * *Replaced parameters* (line 6). Its SGD makes new tensors and hangs them into the modules; whoever held the old ones
#   (another optimiser, a tied layer) is left behind.
#
# There is one more that no table shows: a wrong shape ends in `exit(1)` inside C. Not an exception: the notebook kernel
# is gone, with everything in it. An error should say what was expected and let you go on:

# %%
try:
    torch.ones(2, 3) @ torch.ones(2, 3)
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## Exercise: fix line 3


# %%
def sum_pull(g, shape, axis):
    """The gradient for x of the given shape, where y = x.sum(axis) and g is the gradient of y."""
    # <solution>
    return g.unsqueeze(axis).expand(shape)
    # </solution>


check.nb15.sum_pull(sum_pull)

# %% [markdown]
# ## Exercise: fix line 6
#
# `parameters` is a list of `nn.Parameter`; some have no gradient. After your step the module must hold the very same
# objects, with new values in them.


# %%
def sgd_step(parameters, lr):
    """One step of SGD, in place."""
    # <solution>
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad
    # </solution>


check.nb15.sgd_step(sgd_step)

# %% [markdown]
# ## In real PyTorch
#
# The article's run, in both libraries. The losses agree to the last digit printed.


# %%
def the_run(torch):
    random.seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 10), torch.nn.Sigmoid(), torch.nn.Linear(10, 1))
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor([random.uniform(-1, 1) for _ in range(p.numel())]).reshape(p.shape))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.001), []
    for _ in range(3):
        for x in points:
            loss = torch.nn.functional.mse_loss(model(torch.tensor([[x]])), torch.tensor([[math.sin(x) ** 2]]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(f"{loss.item():.4f}")
    return losses


check.in_pytorch(the_run)

# %%
check.report()

# %% [markdown]
# **Remember**
# * To repeat a run you need the generator, the order of the draws, the order of the data, and the same arithmetic.
# * The worst bugs are silent for the case that the author tried: square matrices, loss factors of one, single paths.
#
# **Go further.** Read the article with this list beside it: where in its code does each of the six happen? Then read
# `minitorch/core/engine.py`, which is not longer, and find where each of them is avoided. `examples/article.py` runs
# its programs.
#
# Next: [16. Moving between minitorch and PyTorch](16_moving.ipynb)
