# %% [markdown]
# # 5. From line to network
#
# From one straight line to a network that reads handwriting, with every part written by you: the layer, the loss, the
# loop. On the way you meet the three bugs that keep most first training loops from working. None of them raises an
# error.
#
# **You will be able to**
# * write a `Module`, and say how it finds its parameters;
# * compute cross-entropy from logits without overflow, and say why nobody takes `log(softmax(...))`;
# * write a training loop and an evaluation, and recognise broken ones by their symptoms;
# * tell learning from memorising.
#
# You need: notebooks 2 and 3. Time: an hour and a half.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn, viz
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure
from minitorch.viz.slides import slides

# %% [markdown]
# ## A line
#
# 442 people, ten measurements each, and how far their diabetes had progressed a year later. We begin with one
# measurement, the body mass index, and a line: $\hat y = w x + b$.

# %%
try:
    from sklearn.datasets import load_diabetes
    table = load_diabetes()
    x, y = torch.tensor(table.data[:, 2:3]).float(), torch.tensor(table.target).float()
    names = "body mass index", "progression"
except ImportError:
    print("scikit-learn is not installed: instead of the 442 people, 442 digits and their ink above and below the "
          "middle")
    from minitorch.datasets import Digits
    pixels = Digits(train=None).data[:442].float()
    x, y = pixels[:, :4].sum((1, 2)).unsqueeze(1), pixels[:, 4:].sum((1, 2))
    names = "ink above", "ink below"
x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
print(tuple(x.shape), tuple(y.shape))   # mind these two shapes

# %% [markdown]
# The loss is a function of two numbers, $w$ and $b$, so we can draw all of it, and the path that gradient descent
# takes down from the top right. Two words in the cell may be new: inside `torch.no_grad()` nothing is recorded, because
# the update of a weight is not part of the function; and `torch.meshgrid` makes two tables, W and
# B, that together hold every pair of a `w` and a `b`, so that the whole surface is computed by one
# expression.

# %%
w = torch.tensor([2.0], requires_grad=True)
b = torch.tensor([1.5], requires_grad=True)
path = []
for _ in range(25):
    loss = ((x.squeeze(1) * w + b - y) ** 2).mean()
    path.append((w.item(), b.item(), loss.item()))
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p -= 0.15 * p.grad
            p.grad = None

W, B = torch.meshgrid(torch.linspace(-1.5, 2.5, 60), torch.linspace(-2, 2, 60), indexing="xy")
surface = ((x.squeeze(1) * W.unsqueeze(2) + B.unsqueeze(2) - y) ** 2).mean(2)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
left.contour(W.numpy(), B.numpy(), surface.numpy(), levels=20, cmap="viridis")
left.plot([p[0] for p in path], [p[1] for p in path], "o-", color="#b34700", markersize=3)
left.set(xlabel="w", ylabel="b", title="the loss surface and the way down")
right.scatter(x.squeeze(1).numpy(), y.numpy(), s=8, color="#0072b2", alpha=0.5)
right.plot([-2.5, 3.5], [(w * v + b).item() for v in (-2.5, 3.5)], color="#b34700")
right.set(xlabel=names[0], ylabel=names[1], title=f"w = {w.item():.2f}, loss {path[0][2]:.2f} to {path[-1][2]:.2f}")
show_figure(figure, f"""Left: the loss over w and b as the contour lines of a bowl, and the path of gradient descent
            from the top right to its middle. Right: the points and the line that is found; the loss falls from
            {path[0][2]:.2f} to {path[-1][2]:.2f}.""")
assert path[-1][2] < 0.5 * path[0][2] and path[-1][2] < 0.85

# %% [markdown]
# Why did I standardise both columns before? Because a bowl that is a hundred times steeper in one direction than in
# the other has no learning rate that suits both. (Take the standardisation out and watch; notebook 6 is about that.)
#
# ## Exercise: a layer
#
# $w$ and $b$ belong together with the formula that uses them: that is a `Module`. Write the layer from `inputs` to
# `outputs` features. A module finds its parameters because it *watches assignments*: `self.weight = nn.Parameter(...)`
# registers it, while `self.weight = torch.randn(...)` is an ordinary attribute that no optimiser will ever hear of.


# %%
class Linear(nn.Module):
    def __init__(self, inputs, outputs):
        # <solution>
        super().__init__()
        bound = inputs ** -0.5
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs))
        # </solution>

    def forward(self, x):
        # <solution>
        return x @ self.weight.T + self.bias
        # </solution>


check.nb05.linear(Linear)

# %% [markdown]
# ## Exercise: finding the parameters
#
# `module._parameters` is a dictionary of a module's own parameters (a value may be `None`: a layer without bias);
# `module._modules` one of its children. Modules hold modules. List all names, as `named_parameters` does: `"weight"`,
# `"0.weight"`, `"1.0.bias"`. One layer may sit in two places of the tree.


# %%
def parameter_names(module):
    """Names of all parameters, own ones first, each parameter once."""
    # <solution>
    names, seen = [], set()

    def visit(module, prefix):
        for name, p in module._parameters.items():
            if p is not None and id(p) not in seen:
                seen.add(id(p))
                names.append(prefix + name)
        for name, child in module._modules.items():
            visit(child, f"{prefix}{name}.")

    visit(module, "")
    return names
    # </solution>


check.nb05.parameters(parameter_names)

# %% [markdown]
# ## From numbers to classes
#
# For classes the network gives one number each, the *logits* $z$. Softmax makes probabilities of them, and the loss is
# the surprise at the right answer, $-\log \mathrm{softmax}(z)_t$. Try the definition, literally:

# %%
z = torch.tensor([[2.0, 0.0], [200.0, 0.0]])
print(-(z.exp() / z.exp().sum(1, keepdim=True)).log())

# %% [markdown]
# `exp(200)` is more than a float32 can hold. And it is not an exotic case: one exploding batch, and *every* weight is
# `nan` after the next step. The cure is algebra:
#
# $$-\log \frac{e^{z_t}}{\sum_j e^{z_j}} = \log \sum_j e^{z_j} - z_t,
# \qquad \log \sum_j e^{z_j} = m + \log \sum_j e^{z_j - m} \text{ for any } m.$$
#
# ## Exercise: cross-entropy


# %%
def cross_entropy(logits, target):
    """The mean over the samples; logits (N, C), target (N,) int64. No overflow, please."""
    # <solution>
    m = logits.max(1, keepdim=True).values.detach()
    log_sum = (logits - m).exp().sum(1).log() + m.squeeze(1)
    return (log_sum - logits[torch.arange(logits.shape[0]), target]).mean()
    # </solution>


check.nb05.cross_entropy(cross_entropy)

# %% [markdown]
# A number to remember: an untrained classifier of ten classes should begin near $\log 10 \approx 2.3$. If yours begins
# at 8, it is not untrained but *confidently wrong*: its weights are too large (notebook 7).
#
# ## Exercise: the loop
#
# This loop looks fine, runs without a complaint, and is broken twice:
#
# ```python
# for _ in range(steps):
#     loss = ((model(x) - y) ** 2).mean()     # model(x) is (N, 1), y is (N,)
#     loss.backward()
#     optimizer.step()
# ```
#
# Write it right.


# %%
def train(model, optimizer, x, y, steps):
    """Minimise the mean squared error of model(x), (N, 1), to y, (N,), in so many steps."""
    # <solution>
    for _ in range(steps):
        loss = ((model(x).squeeze(1) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    # </solution>


check.nb05.train(train)

# %% [markdown]
# What do the two bugs look like from outside? Learn their faces. With `(N, 1) - (N,)` every prediction is pulled to
# every target, so the best answer is the mean: the model becomes a *flat line*. Without `zero_grad` the gradients pile
# up, the steps grow, and the loss *swings*.


# %%
def broken(squeeze, zero):
    torch.manual_seed(0)
    model, losses = nn.Linear(1, 1), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(40):
        out = model(x).squeeze(1) if squeeze else model(x)
        loss = ((out - y) ** 2).mean()
        if zero:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(((model(x).squeeze(1) - y) ** 2).mean().item())
    return losses, model


ends = {}
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4))
right.scatter(x.squeeze(1).numpy(), y.numpy(), s=6, color="#999999", alpha=0.4)
for label, squeeze, zero, style in (("right", True, True, "-"), ("(N, 1) - (N,)", False, True, "--"),
                                    ("no zero_grad", True, False, ":")):
    losses, model = broken(squeeze, zero)
    ends[label] = losses
    left.plot(losses, style, label=label)
    right.plot([-2.5, 3.5], [model(torch.tensor([[v]])).item() for v in (-2.5, 3.5)], style, label=label)
left.set(xlabel="step", ylabel="true loss", ylim=(0, 2.5), title="the loss")
left.legend()
right.set(title="the line they arrive at")
right.legend()
show_figure(figure, """Left, the loss in 40 steps: right, it falls and stays; with (N, 1) - (N,) it stays near 1;
            without zero_grad it swings up and down. Right, their lines: the right one leans as the points do, (N, 1)
            - (N,) gives a flat one.""")
assert ends["right"][-1] < 0.85 and ends["(N, 1) - (N,)"][-1] > 0.95
swings = ends["no zero_grad"]
assert sum(a < b for a, b in zip(swings, swings[1:])) > 10, "it rises as often as it falls"

# %% [markdown]
# ## Exercise: evaluation
#
# The third silent bug. Two kinds of layers behave differently while a model is being *used*: dropout, which sets random
# activations to 0 in training, and batch norm, which in training normalises each column by the batch's own mean and
# remembers a running one for later (notebook 7 builds it). `model.eval()` tells them. Forget to say so, and your
# accuracy is wrong and, with batch norm, your model has secretly learned from the test set.


# %%
def evaluate(model, x, y):
    """The fraction of right answers; the model is in the same mode afterwards as before."""
    # <solution>
    was_training = model.training
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train(was_training)
    return right
    # </solution>


check.nb05.evaluate(evaluate)

# %% [markdown]
# ## A boundary that bends
#
# Three kinds of iris, two measurements each. A linear classifier can only cut with straight lines; one hidden layer
# bends them. Move the slider to watch the boundary as it learns. (`Adam` is a gradient descent that chooses a step for
# each weight by itself; you will build it in notebook 6. Until then: it needs less care with the learning rate.)

# %%
try:
    from sklearn.datasets import load_iris
    iris = load_iris()
    points, kinds = torch.tensor(iris.data[:, [0, 1]]).float(), torch.tensor(iris.target)
except ImportError:
    print("scikit-learn is not installed: instead of irises, the digits 0, 1 and 2 by two of their pixel sums")
    from minitorch.datasets import Digits
    ones = Digits(train=None)
    kept = [i for i, t in enumerate(ones.targets.tolist()) if t < 3][:150]
    points = torch.stack([ones.data[kept][:, :, 3:5].sum((1, 2)), ones.data[kept][:, 3:5].sum((1, 2))], 1).float()
    kinds = ones.targets[kept]
points = (points - points.mean(0)) / points.std(0)

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
grid = torch.linspace(-3, 3, 80)
U, V = torch.meshgrid(grid, grid, indexing="xy")
everywhere = torch.stack([U.flatten(), V.flatten()], 1)

pictures, step = [], 0
for until in (0, 3, 10, 30, 60, 150, 400, 1000, 2000):
    while step < until:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(points), kinds)
        loss.backward()
        optimizer.step()
        step += 1
    with torch.no_grad():
        region = model(everywhere).argmax(1).reshape(80, 80)
        accuracy = (model(points).argmax(1) == kinds).float().mean().item()
    figure, axis = plt.subplots(figsize=(5, 4.4))
    axis.contourf(grid.numpy(), grid.numpy(), region.numpy(), levels=[-0.5, 0.5, 1.5, 2.5],
                  colors=["#cfe3f1", "#fbe3cd", "#d5ebe0"])
    for kind, (colour, marker) in enumerate((("#0072b2", "o"), ("#b34700", "s"), ("#00734d", "^"))):
        chosen = points[kinds == kind]
        axis.scatter(chosen[:, 0].numpy(), chosen[:, 1].numpy(), c=colour, marker=marker, s=12)
    axis.set(title=f"step {until}: {accuracy:.0%}", xticks=[], yticks=[])
    pictures.append((f"step {until}: {accuracy:.0%} right", figure))
slides(pictures, "Three kinds of irises and the regions where the network expects each of them;")

# %% [markdown]
# After ten steps nearly all is learned. What happens later is different: the boundary bends around *single flowers*.
# The network has stopped learning about irises and begins to remember these irises. Is that good? To know, one needs
# data that it has not seen.
#
# ## Handwriting, and memorising
#
# 8 x 8 digits. One network sees 1,442 of them, the other only 60; both are tested on 355 that neither has seen.

# %%
from minitorch.datasets import Digits

images, labels = Digits(train=True).tensors()
test_images, test_labels = Digits(train=False).tensors()
images, test_images = images.flatten(1), test_images.flatten(1)


def fit(count, epochs):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    seen, unseen = [], []
    for _ in range(epochs):
        for batch in torch.randperm(count).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            seen.append(F.cross_entropy(model(images[:count]), labels[:count]).item())
            unseen.append(F.cross_entropy(model(test_images), test_labels).item())
    right = (model(test_images).argmax(1) == test_labels).float().mean().item()
    return model, seen, unseen, right


figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), sharey=True)
for axis, (count, epochs) in zip(axes, ((1442, 15), (60, 345))):       # the same number of steps
    model, seen, unseen, right = fit(count, epochs)
    gap = unseen[-1] / seen[-1]
    assert (right > 0.95 and gap < 20) if count > 60 else (seen[-1] < 0.01 and gap > 50 and right < 0.9)
    axis.plot(seen, label="images it learned from")
    axis.plot(unseen, "--", label="images it has not seen")
    axis.set(title=f"{count} images: {right:.1%} of the unseen right", xlabel="epoch", yscale="log")
    axis.legend()
axes[0].set_ylabel("cross-entropy")
show_figure(figure, f"""Cross-entropy over the epochs, on a logarithmic axis. Left, 1,442 images: the curves of images
            that were learned from and of others fall together. Right, 60 images: the curve of its own falls to
            nothing, that of the others stops early; {right:.0%} of the unseen ones are right.""")

# %% [markdown]
# On the right the loss of its own 60 images goes to nothing, while the loss of the others stops falling early and
# stays where it is: all that comes after is memory. That gap is overfitting. More data closed it on the left.
#
# ## Where do the gradients go?
#
# `nn.summary` says what a model is: shapes, parameters, arithmetic. `viz.flow` watches a model while it trains: what
# each layer puts out, which gradients come back, and how large its
# updates are in comparison with its weights (notebook 6 says what is healthy).

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
nn.summary(model, images[:64])

# %%
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with viz.flow(model) as flow:
    for batch in torch.randperm(1442).split(64):
        optimizer.zero_grad()
        F.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
flow

# %% [markdown]
# ## In real PyTorch
#
# The same seed gives the same weights, so whole trainings can be compared, number by number.


# %%
def ten_steps(torch):
    x = torch.linspace(-1, 1, 20).reshape(20, 1)
    y = torch.sin(3 * x).squeeze(1)
    model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(10):
        loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 5))
    return losses


check.in_pytorch(ten_steps)

# %%
check.report()

# %% [markdown]
# **Remember**
# * A module finds parameters by watching assignments.
# * Losses take logits; the maximum is subtracted before `exp`.
# * Three silent bugs: shapes that broadcast, gradients that pile up, a model left in training mode.
#
# **Go further.** Train on labels that you have shuffled: how far does the training loss go? What does that say about
# "the network has learned it"? Then use a `Dropout` layer in the 60-image network.
#
# Next: [6. Optimisers as machines](06_optimisers.ipynb)
