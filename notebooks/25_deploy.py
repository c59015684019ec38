# %% [markdown]
# # 25. Transfer, save, deploy
#
# A network is done when somebody else can use it, on their data and on their machine. This notebook takes the network
# that learned rendered digits in notebook 22 to real, scanned ones with a hundred examples, makes it a quarter of its
# size, and hands it over in three forms: as a file, as a page, and as a C program of 70 kilobytes.
#
# **You will be able to**
# * take over a network: its body as it is, with a new head;
# * choose between a frozen body and small steps for all of it;
# * load what fits from a checkpoint, and say what did not;
# * quantise weights to 8 bits, and measure what that costs;
# * export a network that needs no Python.
#
# You need: notebooks 5 and 22. Time: an hour and a half.

# %%
import copy
import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn, viz
from minitorch.backends import native
from minitorch.datasets import Digits, RenderedDigits
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure


def fit(model, x, y, parameters, epochs, lr, size=50):
    """Train `parameters` (tensors or groups) of a model."""
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(size):
            optimizer.zero_grad()
            F.cross_entropy(model(x[chosen]), y[chosen]).backward()
            optimizer.step()
    return model


def accuracy(model, x, y):
    with torch.no_grad():
        return torch.cat([model(part).argmax(1) for part in x.split(500)]).eq(y).float().mean().item()


# %% [markdown]
# ## Two kinds of digits
#
# Many are cheap: a program renders them. Few are expensive: thirteen people wrote them, somebody
# scanned and labelled each. We have 100 of the expensive ones, ten of each digit, and 1,697 to test
# with.

# %%
x, y = RenderedDigits(size=6000).tensors()
real, labels = Digits(train=None).tensors()
real = F.pad(F.interpolate(real, size=(20, 20), mode="bilinear"), (4, 4, 4, 4))
few = torch.cat([torch.arange(len(labels))[labels == digit][:10] for digit in range(10)])
rest = torch.ones(len(labels)).index_fill_(0, few, 0).bool()
x_few, y_few, x_rest, y_rest = real[few], labels[few], real[rest], labels[rest]

torch.manual_seed(0)
body = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                     nn.Conv2d(12, 20, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
pretrained = nn.Sequential(body, nn.Linear(20 * 7 * 7, 10))
untrained = copy.deepcopy(pretrained)
fit(pretrained, x, y, pretrained.parameters(), epochs=2, lr=5e-3)
before = accuracy(pretrained, x_rest, y_rest)
print(f"rendered digits: {accuracy(pretrained, x, y):.1%}, scanned ones: {before:.1%}")

# %% [markdown]
# ## Exercise: a frozen body
#
# The body has learned edges and bends, which scanned digits have, too. If only the last layer may learn, there are few
# parameters, few examples are enough, and nothing that was learned gets lost.


# %%
def freeze(model):
    """Switch off the gradients of all parameters but those of the last module in it that has any of its own."""
    # <solution>
    owners = [module for module in model.modules() if list(module.parameters(recurse=False))]
    for p in model.parameters():
        p.requires_grad_(False)
    for p in owners[-1].parameters(recurse=False):
        p.requires_grad_(True)
    # </solution>


check.nb25.freeze(freeze)

# %% [markdown]
# ## Exercise: small steps for the body
#
# The other way: everything may move, but the body, which is nearly right, ten times more slowly than the head.
# Optimisers take *groups* of parameters, each with options of its own.


# %%
def groups(body, head, lr):
    """Two groups for an optimiser: the parameters of `head` with the learning rate lr, of `body` with a tenth of it."""
    # <solution>
    return [{"params": list(body.parameters()), "lr": lr / 10}, {"params": list(head.parameters()), "lr": lr}]
    # </solution>


check.nb25.groups(groups)

# %% [markdown]
# Four ways with the same hundred images.

# %%
if check.passed("nb25.freeze", "nb25.groups"):
    found = {"as it came": before}
    scratch = fit(copy.deepcopy(untrained), x_few, y_few, untrained.parameters(), 0, 1e-3)
    found["from scratch"] = accuracy(fit(scratch, x_few, y_few, scratch.parameters(), 40, 2e-3, 20), x_rest, y_rest)
    frozen = copy.deepcopy(pretrained)
    freeze(frozen)
    learns = [p for p in frozen.parameters() if p.requires_grad]
    found["frozen body"] = accuracy(fit(frozen, x_few, y_few, learns, 40, 2e-3, 20), x_rest, y_rest)
    tuned = copy.deepcopy(pretrained)
    fit(tuned, x_few, y_few, groups(tuned[0], tuned[1], 2e-3), 40, 2e-3, 20)
    found["small steps"] = accuracy(tuned, x_rest, y_rest)
    for name, share in found.items():
        print(f"{name:14s} {share:6.1%} of {len(y_rest):,} scanned digits  {'#' * round(50 * share)}")
    assert min(found["frozen body"], found["small steps"]) > max(before, found["from scratch"])
    still = accuracy(tuned, x, y)
    print(f"and of the rendered digits {still:.1%}: what is not shown any more is slowly forgotten")

# %% [markdown]
# ## Exercise: load what fits
#
# Next week somebody wants letters: 26 classes. The checkpoint has a head for ten. `load_state_dict` refuses a wrong
# shape, and with `strict=False` it passes over names that are missing, silently, which hides typing errors. So: take
# what fits by name *and* shape, and say what did not.


# %%
def load_fitting(model, state):
    """Load the tensors of `state` that the model has under the same name with the same shape; names of the others."""
    # <solution>
    own = model.state_dict()
    fits = {name: value for name, value in state.items() if name in own and own[name].shape == value.shape}
    model.load_state_dict(fits, strict=False)
    return sorted(set(state) - set(fits))
    # </solution>


check.nb25.load_fitting(load_fitting)

# %%
if check.passed("nb25.load_fitting"):
    torch.save(pretrained.state_dict(), "digits.pt")
    letters = nn.Sequential(copy.deepcopy(untrained[0]), nn.Linear(20 * 7 * 7, 26))
    print("not taken:", load_fitting(letters, torch.load("digits.pt")))
    assert torch.equal(letters[0][0].weight, pretrained[0][0].weight) and letters[1].out_features == 26

# %% [markdown]
# `torch.load` reads tensors and plain values, and runs no code of the file: a checkpoint from the internet cannot do
# harm here. (Continuing a training exactly, with the optimiser's state and the random numbers: notebook 16.)
#
# ## Exercise: eight bits
#
# A weight of 32 bits has more digits than anybody needs to tell a three from an eight. Each row of a weight matrix gets
# a *scale*, so that its largest number becomes 127; what is stored are rounded numbers from -127 to 127, and the
# scales.


# %%
def quantise(weight):
    """weight (n, m): int8 values (n, m) and scales (n, 1), so that values * scales is nearly the weight."""
    # <solution>
    scales = weight.abs().amax(1, keepdim=True) / 127
    return (weight / scales).round().to(torch.int8), scales
    # </solution>


check.nb25.quantise(quantise)

# %%
if check.passed("nb25.quantise"):
    small, bytes_before, bytes_after = copy.deepcopy(pretrained), 0, 0
    with torch.no_grad():
        for p in small.parameters():
            bytes_before += 4 * p.numel()
            if p.dim() > 1:
                values, scales = quantise(p.flatten(1))
                p.copy_((values * scales).view_as(p))
                bytes_after += values.numel() + 4 * len(scales)
            else:
                bytes_after += 4 * p.numel()
    shares = accuracy(pretrained, x, y), accuracy(small, x, y)
    print(f"{bytes_before:,} bytes, then {bytes_after:,}; rendered digits {shares[0]:.2%}, then {shares[1]:.2%}")
    assert bytes_after < 0.3 * bytes_before and abs(shares[0] - shares[1]) < 0.005

# %% [markdown]
# ## Hand it over
#
# **As a page.** The canvas of notebook 22, in one file; the reader needs a browser.

# %%
page = viz.canvas(pretrained).save("digits.html")
print(page, f"{page.stat().st_size / 1000:.0f} kB")

# %% [markdown]
# **As C.** One file with weights and loops: no Python, no library, no memory allocated. The second file is a program
# that calls it with an example and compares. On a microcontroller, in a game, in a database: whatever has a C compiler.

# %%
source = torch.export_c(pretrained.eval(), x[:1], "digits.c")
print(*sorted(f"{path.name}: {path.stat().st_size / 1000:.0f} kB" for path in Path().glob("digits*.[ch]")), sep="\n")
print(Path("digits.h").read_text())
compiler = shutil.which("cc") or shutil.which("gcc")
if compiler and native.reason() is None:
    subprocess.run([compiler, "-O2", "digits.c", "digits_example.c", "-lm", "-o", "try"], check=True)
    done = subprocess.run(["./try"], capture_output=True, text=True)
    print(done.stdout, f"a program of {Path('try').stat().st_size / 1000:.0f} kB, exit status {done.returncode}")
    assert done.returncode == 0, "the C program gives the model's scores"

# %% [markdown]
# Before anything is handed over, ask three questions. *Is it in evaluation mode?* Dropout and batch norm behave
# differently. *Is the input prepared in the same way?* Most failures of deployed networks are a forgotten scaling. *Who
# notices if the data change?* Nobody told this network that scanned digits are not rendered ones,
# and it went on answering with confidence:

# %%
kinds = (x[:1000], x_rest, torch.rand(500, 1, 28, 28))
with torch.no_grad():
    sure = [pretrained(images).softmax(1).amax(1).mean().item() for images in kinds]
figure, axis = plt.subplots(figsize=(8, 1.8), layout="constrained")
axis.barh(["rendered digits", "scanned digits", "pure noise"], sure, color=["#0072B2", "#E69F00", "#D55E00"])
axis.set(xlim=(0, 1), title="mean probability of the class that it names")
axis.invert_yaxis()
show_figure(figure, """Three bars, the mean probability of the class named: nearly 1 for rendered digits, about three
            quarters for scanned ones, about a half for pure noise.""")
print([f"{p:.0%}" for p in sure])
assert sure[0] > 0.95 and sure[1] > before, "it is surer than it is right"

# %% [markdown]
# ## In real PyTorch
#
# Freezing and groups of parameters: three steps in both libraries.


# %%
def tuning(torch):
    torch.manual_seed(0)
    body, head = torch.nn.Linear(4, 6), torch.nn.Linear(6, 3)
    body.bias.requires_grad_(False)
    optimizer = torch.optim.Adam([{"params": [body.weight], "lr": 0.001}, {"params": head.parameters()}], lr=0.01)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(head(torch.relu(body(x))), y).backward()
        optimizer.step()
    return body.weight, body.bias.grad is None, head.weight, [g["lr"] for g in optimizer.param_groups]


check.in_pytorch(tuning)

# %%
check.report()

# %% [markdown]
# **Remember**
# * With few examples, take over a body that has seen many of a similar kind; the head is new.
# * A frozen body cannot forget; small steps can go further.
# * Load by name and shape, and say what was left.
# * Eight bits are enough for weights; measure, do not believe.
# * A network is sure of itself on things that it has never seen. It does not know what it does not know.
#
# **Go further.** How many scanned digits does "from scratch" need until it is as good as transfer with a hundred?
# Projects with goal, data, milestones and rubric: `docs/projects.md`.
