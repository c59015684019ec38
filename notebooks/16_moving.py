# %% [markdown]
# # 16. Moving between minitorch and PyTorch
#
# minitorch speaks PyTorch's language on purpose: what you learn here you know there, and what you trained there runs
# here. This notebook carries models over the border in both directions, and shows what to check at customs.
#
# **You will be able to**
# * run one script on both libraries;
# * get the same random numbers from the same seed;
# * move checkpoints both ways, weights and optimiser, in the middle of a training;
# * compare two models, and know which differences are harmless.
#
# You need: notebook 5. PyTorch is *not* needed; where it is installed, more happens. Time: 45 minutes.

# %%
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import minitorch
from minitorch import check

try:
    import torch as pytorch
except ImportError:
    pytorch = None
    print("PyTorch is not installed: cells that need it say so and do nothing.")

# %% [markdown]
# ## One script, two libraries
#
# Here is a PyTorch script. It says `import torch`, and knows nothing of minitorch.

# %%
SCRIPT = '''
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
x = torch.randn(64, 2)
y = (x[:, :1] * x[:, 1:] > 0).float()
for step in range(101):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:3}: loss {loss.item():.4f}")
'''
folder = Path(tempfile.mkdtemp())
(folder / "train.py").write_text(SCRIPT, encoding="utf-8")


def run(*command):
    """The output of `python ... train.py`, in a separate process that finds this minitorch."""
    env = {**os.environ, "PYTHONPATH": str(Path(minitorch.__file__).resolve().parents[1])}
    done = subprocess.run([sys.executable, *command, "train.py"], cwd=folder, env=env, text=True,
                          stdout=subprocess.PIPE)
    done.check_returncode()
    return done.stdout


print("python -m minitorch train.py")
ours = run("-m", "minitorch")
print(ours)
losses = [float(line.split()[-1]) for line in ours.splitlines()]
assert losses[-1] < 0.7 * losses[0]

# %% [markdown]
# `python -m minitorch train.py` lets `import torch` mean minitorch, for this run only. In your own code write
# `import minitorch as torch`. Now the same file on PyTorch:

# %%
theirs = run() if pytorch else None
print(theirs or "PyTorch is not installed.")
assert theirs in (None, ours)

# %% [markdown]
# The same losses, not merely similar ones: **the same seed gives the same random numbers.** minitorch reproduces
# PyTorch's
# CPU generator (a Mersenne twister, and its particular way of making normal numbers in blocks), so initialisations,
# shuffles and dropout masks agree. That turns "it looks about right" into a test.


# %%
def random_numbers(torch):
    torch.manual_seed(7)
    mask = torch.nn.functional.dropout(torch.ones(8), 0.5)
    return torch.rand(3), torch.randn(20)[:3], torch.randperm(6), mask, torch.nn.Linear(3, 1).weight


check.in_pytorch(random_numbers)

# %% [markdown]
# ## Checkpoints
#
# `minitorch.save` writes PyTorch's own file format, and `minitorch.load` reads it. It reads it *safely*: a checkpoint
# is a pickle, a pickle can contain any program, and only tensors and plain values are let in.

# %%
model = minitorch.nn.Sequential(minitorch.nn.Linear(2, 3), minitorch.nn.ReLU(), minitorch.nn.Linear(3, 1))
minitorch.save(model.state_dict(), folder / "model.pt")
print((folder / "model.pt").stat().st_size, "bytes:", list(minitorch.load(folder / "model.pt")))

# %%
if pytorch:
    theirs = pytorch.nn.Sequential(pytorch.nn.Linear(2, 3), pytorch.nn.ReLU(), pytorch.nn.Linear(3, 1))
    print(theirs.load_state_dict(pytorch.load(folder / "model.pt")))
    print(theirs(pytorch.ones(1, 2)).item(), "in PyTorch,", model(minitorch.ones(1, 2)).item(), "in minitorch")
else:
    print("PyTorch is not installed.")

# %% [markdown]
# ## Exercise: the names
#
# Checkpoints from the wild rarely have the names you expect. A model that was trained in parallel has `module.` before
# every name, a compiled one `_orig_mod.`. Take it off, where it stands at the beginning. (There is a Python method that
# everybody reaches for here, and it is the wrong one.)


# %%
def without_prefix(state, prefix):
    """The state dict with `prefix` taken off the keys that begin with it."""
    # <solution>
    return {key.removeprefix(prefix): value for key, value in state.items()}
    # </solution>


check.nb16.without_prefix(without_prefix)

# %%
if check.passed("nb16.without_prefix"):
    wild = {f"module.{name}": value for name, value in model.state_dict().items()}
    print(list(wild))
    print(model.load_state_dict(without_prefix(wild, "module.")))

# %% [markdown]
# ## Across the border in mid-training
#
# An optimiser has a state as well: Adam's two means and its count. Carry both, and a training can begin in one library
# and end in the other, as if nothing had happened. Ten steps in all; five of them here, five there:


# %%
def some_steps(torch, steps, checkpoint=None):
    """Train a small network for so many steps, from a checkpoint or from the beginning; the losses, a checkpoint."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    if checkpoint is not None:
        loaded = torch.load(io.BytesIO(checkpoint))
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
    x = torch.linspace(-1, 1, 32).reshape(8, 4)
    losses = []
    for _ in range(steps):
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 5))
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    return losses, file.getvalue()


other = pytorch or minitorch
straight, _ = some_steps(other, 10)
first, checkpoint = some_steps(minitorch, 5)
then, _ = some_steps(other, 5, checkpoint)
print(f"ten steps in {other.__name__}: ", straight)
print(f"five in minitorch, five in {other.__name__}:", first + then)
print("equal" if straight == first + then else "different")
assert straight == first + then and straight[-1] < straight[0]

# %% [markdown]
# ## Exercise: are these two the same model?
#
# After any move, compare. Two models differ where a name is missing, where shapes differ, or where values are not
# close.
# *Close*, because two libraries add up the same numbers in another order, and floats remember the order (notebook 11).


# %%
def differing(a, b):
    """The sorted names in which two state dicts differ; values may differ by 1e-4 relative plus 1e-6 absolute."""
    # <solution>
    def same(name):
        return (name in a and name in b and a[name].shape == b[name].shape
                and minitorch.allclose(a[name], b[name], rtol=1e-4, atol=1e-6, equal_nan=True))
    return sorted(name for name in a.keys() | b.keys() if not same(name))
    # </solution>


check.nb16.differing(differing)

# %%
if check.passed("nb16.differing"):
    import copy
    twin = copy.deepcopy(model)
    print("a copy differs in     ", differing(model.state_dict(), twin.state_dict()))
    with minitorch.no_grad():
        twin[2].bias += 1
    print("after a small accident", differing(model.state_dict(), twin.state_dict()))

# %% [markdown]
# ## What is different, on purpose
#
# * Errors say more: the shapes aligned, both lines of an in-place conflict. Same classes, same first words.
# * A write through `.data` to something the backward pass needs is *not* different: it is not counted, and both are
#   silently wrong (here `torch.autograd.detect_anomaly()` counts it). `.detach()` shares the memory *and* the count of
#   writes: through it, both raise. So write `.detach()`.
# * Programs saved by `torch.jit` do not move: carry the source and the weights.
# * It is some tens of thousands of lines of Python and a table of ops, so you can read it: `print(torch.mul.source)`.

# %%
for library in (minitorch, pytorch):
    if library is None:
        continue
    for way in ("data", "detach"):
        w = library.ones(2, requires_grad=True)
        y = w.exp()
        (y.data if way == "data" else y.detach()).mul_(100)
        try:
            y.sum().backward()
            print(f"{library.__name__}, {way}: the gradient is {w.grad.tolist()}, and should be [2.718, 2.718]")
            assert way == "data"
        except RuntimeError as error:
            print(f"{library.__name__}, {way}: {str(error).splitlines()[0]}")

# %% [markdown]
# ## In real PyTorch
#
# The whole lesson in one function: seed, train, save, load, go on.


# %%
def there_and_back(torch):
    losses, checkpoint = some_steps(torch, 3)
    more, _ = some_steps(torch, 3, checkpoint)
    return losses + more


check.in_pytorch(there_and_back)

# %%
check.report()

# %% [markdown]
# **Remember**
# * One source, one seed, one file format: differences you see are worth looking at.
# * `removeprefix`, not `lstrip`.
# * Compare names, then shapes, then values; with both tolerances.
#
# **Go further.** Take a script of your own and run it by `python -m minitorch`. What is missing? `docs/` has a list of
# differences; if yours is not on it, that is a bug report.
#
# Next: [17. Derivatives forwards and in batches](17_forwards.ipynb)
