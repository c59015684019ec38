# %% [markdown]
# # 24. Data: what a network really learns from
#
# Most faults of a model are faults of its data, and most of these happen on the way from a folder to a batch: a label
# that slipped by one, statistics that saw the test set, an augmentation that turns a six into a nine. This notebook
# builds that way, piece by piece, and makes 200 images do the work of many more.
#
# **You will be able to**
# * write a dataset, and cut it into batches;
# * put sequences of different lengths into one tensor;
# * keep the test data out of the preprocessing;
# * augment images without lying about their labels;
# * draw rare classes more often, and say what that changes.
#
# You need: notebooks 5 and 8. Time: an hour and a half.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, nn
from minitorch.datasets import RenderedDigits
from minitorch.nn import functional as F
from minitorch.utils.data import DataLoader, Dataset, WeightedRandomSampler
from minitorch.viz.pictures import show_figure

x_all, y_all = RenderedDigits(size=2000).tensors()         # how they are made: notebook 22
x_test, y_test = RenderedDigits(train=False, size=2000).tensors()


def wall(axis, images, columns, title=""):
    """Images (N, 1, 28, 28) side by side."""
    rows = len(images) // columns
    axis.imshow(images.reshape(rows, columns, 28, 28).transpose(1, 2).reshape(rows * 28, columns * 28).numpy(),
                cmap="gray_r", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[], title=title)


# %% [markdown]
# ## Exercise: a dataset
#
# A dataset is an object with a length and items, no more. What is expensive (reading a file, augmenting) happens when
# an item is asked for, not before: that is how it can be different each time.


# %%
class Pictures(Dataset):
    """Pairs (image, label). `transform`, if there is one, is applied to an image whenever it is asked for."""

    def __init__(self, images, labels, transform=None):
        # <solution>
        # | raise NotImplementedError("your code here")
        self.images, self.labels, self.transform = images, labels, transform
        # </solution>

    def __len__(self):
        # <solution>
        return len(self.images)
        # </solution>

    def __getitem__(self, i):
        # <solution>
        image = self.images[i]
        return image if self.transform is None else self.transform(image), self.labels[i]
        # </solution>


check.nb24.pictures(Pictures)

# %% [markdown]
# ## Exercise: batches
#
# A loader does three things: it shuffles the indices, cuts them into batches, and puts the items of a batch together.
# The first is one line, `torch.randperm`. Here is the second. The last batch may be smaller; with `drop_last` it is
# left out then (batch norm, for one, does not like a batch of one).


# %%
def batches(order, size, drop_last=False):
    """order, a list of indices: a list of lists of `size` of them, in this order."""
    # <solution>
    found = [order[i:i + size] for i in range(0, len(order), size)]
    return found[:-1] if drop_last and found and len(found[-1]) < size else found
    # </solution>


check.nb24.batches(batches)

# %% [markdown]
# ## Exercise: put together what is not equal
#
# Images of one size are stacked. Sentences are not of one size: they are padded with zeros to the longest *of the
# batch*, and their lengths go along, so that nobody takes the padding for words. Loaders call this `collate_fn`.


# %%
def collate(samples):
    """samples, pairs (a list of integers, a label): padded (N, longest), lengths (N,), labels (N,), all int64."""
    # <solution>
    lengths = torch.tensor([len(sequence) for sequence, _ in samples])
    padded = torch.zeros(len(samples), int(lengths.max()), dtype=torch.int64)
    for row, (sequence, _) in zip(padded, samples):
        row[:len(sequence)] = torch.tensor(sequence)
    return padded, lengths, torch.tensor([label for _, label in samples])
    # </solution>


check.nb24.collate(collate)

# %% [markdown]
# The library's loader does all three, with what you have written. Two passes over it are shuffled differently, and
# equal in the next run if the generator is seeded.

# %%
if check.passed("nb24.collate"):
    sentences = [([len(word) for word in line.split()], len(line) % 2) for line in (
        "data is the new oil", "garbage in garbage out", "all models are wrong but some are useful", "look at it")]
    loader = DataLoader(sentences, batch_size=2, shuffle=True, collate_fn=collate, generator=torch.Generator())
    for epoch in range(2):
        for padded, lengths, _ in loader:
            print(f"epoch {epoch}: {padded.tolist()}, lengths {lengths.tolist()}")

# %% [markdown]
# ## Exercise: the test set has no say
#
# Features are standardised: minus the mean, divided by the standard deviation. *Whose* mean? The test data stand for
# what will come later, so nothing may be computed from them, not even a mean. The model will meet them with the numbers
# of its training.


# %%
def standardise(train, test):
    """train (N, d), test (M, d): both by mean and standard deviation (`unbiased=False`) of the training data."""
    # <solution>
    mean, std = train.mean(0), train.std(0, unbiased=False)
    return (train - mean) / std, (test - mean) / std
    # </solution>


check.nb24.standardise(standardise)

# %% [markdown]
# How much can such a leak do? Here is a stronger one, from real papers: of 2,000 features that are *pure noise*, take
# the twenty that correlate best with the labels, and only then split into training and test.
# Choosing was learning, and it saw the test labels.

# %%
torch.manual_seed(0)
noise, coin = torch.randn(100, 2000), torch.randint(0, 2, (100,)).float()


def best_twenty(x, y):
    """The twenty features with the largest correlation."""
    x, y = x - x.mean(0), y - y.mean()
    return (x * y[:, None]).sum(0).abs().div(x.norm(dim=0)).topk(20).indices


def accuracy(features):
    """A least-squares fit on 60 rows, tested on the 40 others."""
    x = torch.cat([noise[:, features], torch.ones(100, 1)], 1)
    w = torch.linalg.lstsq(x[:60], coin[:60, None] * 2 - 1).solution
    return ((x[60:] @ w)[:, 0] > 0).eq(coin[60:] > 0).float().mean().item()


leaked, clean = accuracy(best_twenty(noise, coin)), accuracy(best_twenty(noise[:60], coin[:60]))
print(f"test accuracy on noise: {leaked:.0%} if features were chosen by all rows, {clean:.0%} if by the training rows")
assert leaked > clean + 0.2

# %% [markdown]
# ## Exercise: more from less
#
# A digit that is moved by two pixels is the same digit, with other numbers in all places. That is a fact about the
# world which the network does not know, and there are two ways to tell it: build it in (convolution, notebook 8), or
# show it. What is moved out of the image is gone; what comes in is background, zero.


# %%
def shift(images, down, right):
    """images (N, 1, H, W): moved down and to the right by these numbers of pixels, which may be negative."""
    # <solution>
    h, w = images.shape[-2:]
    large = F.pad(images, (abs(right),) * 2 + (abs(down),) * 2)
    return large[..., abs(down) - down:abs(down) - down + h, abs(right) - right:abs(right) - right + w]
    # </solution>


check.nb24.shift(shift)

# %% [markdown]
# Which changes keep the label? For a photograph of a cat, a mirror image does; for a digit it does not: a mirrored 2 is
# not a 2, and a 6 that is turned by half a circle is a 9. Nobody warns you: the loss falls a little
# less, that is all.

# %%
one_of_each = torch.stack([x_all[y_all == digit][0] for digit in range(10)])
figure, axes = plt.subplots(4, 1, figsize=(10, 4.4), layout="constrained")
views = [("as they are", one_of_each), ("mirrored: whose label is still right?", one_of_each.flip(-1)),
         ("turned by half a circle: 6 and 9", one_of_each.flip(-1, -2))]
if check.passed("nb24.shift"):
    views.append(("moved by (3, -4): all are", shift(one_of_each, 3, -4)))
for axis, (title, images) in zip(axes, views):
    wall(axis, images, 10, title)
show_figure(figure, """The ten digits as they are; mirrored, where 2, 3, 4, 5, 6, 7 and 9 are no
            longer digits; turned by half a circle, where 6 and 9 have changed places; and moved
            to one side.""")

# %% [markdown]
# Now an experiment: 200 images, a network without convolutions, which knows nothing of moving, and test images that are
# moved by up to three pixels. Once it sees its 200 images as they are, once moved by chance in every batch.

# %%
def moved(images):
    """All images of a batch, moved by the same random step of up to three pixels."""
    down, right = torch.randint(-3, 4, (2,)).tolist()
    return shift(images, down, right)


def fit(augment, epochs=60):
    """The accuracy on moved test images after training on the first 200 images."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    loader = DataLoader(Pictures(x_all[:200], y_all[:200]), batch_size=20, shuffle=True)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(augment(x)), y).backward()
            optimizer.step()
    torch.manual_seed(1)
    with torch.no_grad():
        right = [(net(moved(part)).argmax(1) == labels).float().mean()
                 for part, labels in zip(x_test.split(100), y_test.split(100))]
    return torch.stack(right).mean().item()


if check.passed("nb24.shift", "nb24.pictures"):
    plain, augmented = fit(lambda x: x), fit(moved)
    print(f"of moved test images are right: {plain:.1%}; if those of the training were moved, too: {augmented:.1%}")
    assert augmented > plain + 0.1

# %% [markdown]
# ## Exercise: the rare class
#
# One of a hundred images is a nine, and a network that never says nine is right in 99 % of cases. One remedy is to
# *draw* rare classes more often: each image gets a weight, so that each class is drawn equally often.


# %%
def weights(labels, classes):
    """labels (N,): the probability (N,) of each image, with which all classes that occur are equally likely."""
    # <solution>
    counts = torch.bincount(labels, minlength=classes)
    per_image = 1 / counts[labels].double()
    return per_image / per_image.sum()
    # </solution>


check.nb24.weights(weights)

# %%
if check.passed("nb24.weights"):
    rare = torch.cat([torch.arange(len(y_all))[y_all != 9], torch.arange(len(y_all))[y_all == 9][:18]])
    torch.manual_seed(0)
    drawn = {}
    weighted = WeightedRandomSampler(weights(y_all[rare], 10), 2000)
    for name, sampler in (("as they are", None), ("weighted", weighted)):
        loader = DataLoader(y_all[rare], batch_size=100, sampler=sampler)
        drawn[name] = torch.bincount(torch.cat(list(loader)), minlength=10)
        print(f"{name:12s}", (drawn[name] / drawn[name].sum()).mul(100).round().int().tolist(), "per cent of 0 to 9")
    assert drawn["as they are"][9] < 20 and (drawn["weighted"] > 150).all()

# %% [markdown]
# The 18 nines are not worth more for being shown a hundred times each: they are learned by heart. And the network now
# believes that every tenth image is a nine. If that is not so where it is used, its probabilities are wrong, though its
# ranking may be right.
#
# ## In real PyTorch
#
# The same loader, sampler and order of batches, from the same seed.


# %%
def loading(torch):
    from importlib import import_module
    data = import_module(f"{torch.__name__}.utils.data")
    torch.manual_seed(0)
    pairs = data.TensorDataset(torch.arange(10), torch.arange(10) ** 2)
    sampler = data.WeightedRandomSampler(torch.arange(10.0), 6)
    return ([a.tolist() for a, _ in data.DataLoader(pairs, batch_size=4, shuffle=True)],
            [b.tolist() for _, b in data.DataLoader(pairs, batch_size=3, sampler=sampler, drop_last=True)])


check.in_pytorch(loading)

# %%
check.report()

# %% [markdown]
# **Remember**
# * A dataset is a length and items; do what is random when an item is asked for.
# * Nothing may be computed from test data: no mean, no choice of features, no choice of anything.
# * An augmentation claims that the label stays: look at the pictures.
# * Drawing a class more often changes what the network believes about the world.
#
# **Go further.** Put `moved` into the dataset as its `transform`, so that each image moves by itself. What does it
# cost? `minitorch.transforms.v2` has many augmentations, and `examples/resnet.py` uses some.
#
# Next: [25. Transfer, save, deploy](25_deploy.ipynb)
