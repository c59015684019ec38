# %% [markdown]
# # 3. A tensor is a buffer and a story about it
#
# Transpose a photograph of a quarter of a million numbers. How many numbers are moved? None. This notebook is about
# the reason, about the three lines of arithmetic behind it, and about the two bugs that come from not knowing it.
#
# **You will be able to**
# * compute strides, and make views that copy nothing: diagonals, sliding windows;
# * say beforehand which operations copy;
# * undo broadcasting in a backward pass (the exercise that costs most students most time, everywhere);
# * read an in-place error.
#
# You need: notebook 2 for the gradients at the end. Time: an hour.

# %%
import matplotlib.pyplot as plt

import minitorch as torch
from minitorch import check, viz
from minitorch.viz.pictures import show_figure

# %% [markdown]
# ## One strip of memory
#
# Memory has one dimension. A (3, 4) tensor is twelve numbers in a row, and a *story*: "four to a row".

# %%
x = torch.arange(12.0).reshape(3, 4)
x.layout()

# %% [markdown]
# The story is three things: the `shape`, the `stride` (how many places to move for one step along each axis) and the
# `storage_offset` (where to begin). Element `[i, j]` lies at
#
# $$\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1.$$
#
# Now look at the transpose. The strip is the same, place by place; only the story was rewritten.

# %%
print("x  ", tuple(x.shape), x.stride(), x.storage_offset())
print("x.T", tuple(x.T.shape), x.T.stride(), x.T.storage_offset())
viz.layout(x.T)

# %% [markdown]
# Several stories about one buffer can be drawn together. Every one of these writes to the same twelve numbers:

# %%
viz.alias(x, x[:, 1], x[1:, ::2], x.T)

# %%
column = x[:, 1]
column.zero_()
print(x)                                # was x changed? By whom?
assert x[:, 1].abs().sum() == 0

# %% [markdown]
# ## Exercise: strides


# %%
def strides(shape):
    """The strides, in elements, of a fresh tensor of this shape (a tuple of ints)."""
    # <solution>
    found, step = [], 1
    for length in reversed(shape):
        found.append(step)
        step *= length
    return tuple(reversed(found))
    # </solution>


check.nb03.strides(strides)

# %% [markdown]
# ## A photograph, retold
#
# Everything in the next picture is the same memory: the transpose, a crop, every eighth pixel.

# %%
try:
    from sklearn.datasets import load_sample_image
    photo = torch.tensor(load_sample_image("china.jpg")[:420, :640].mean(2), dtype=torch.float32)
except ImportError:
    print("scikit-learn or Pillow is not installed: a wall of handwritten digits takes the place of the photograph")
    from minitorch.datasets import Digits
    photo = Digits(train=None).data[:1750].reshape(35, 50, 8, 8).transpose(1, 2).reshape(280, 400).float()

stories = {"photo": photo, "photo.T": photo.T, "photo[60:260, 200:400]": photo[60:260, 200:400],
           "photo[::8, ::8]": photo[::8, ::8]}
figure, axes = plt.subplots(1, 4, figsize=(12, 3))
for axis, (name, story) in zip(axes, stories.items()):
    axis.imshow(story.numpy(), cmap="gray")
    axis.set(title=f"{name}\nstrides {story.stride()}", xticks=[], yticks=[])
plt.tight_layout()
show_figure(figure, """Four pictures of one buffer: the photograph, its transpose (turned and mirrored), a crop, and
            every eighth pixel, which is coarse. Their titles give their strides.""")
buffers = {story.untyped_storage().data_ptr() for story in stories.values()}
print("different buffers:", len(buffers))
assert len(buffers) == 1

# %% [markdown]
# ## Exercise: a diagonal that copies nothing
#
# `x.as_strided(size, stride, offset)` lets you tell any story you like, within the buffer: a step beyond its end is an
# error, but a wrong step *inside* it shows you wrong numbers and says nothing. So check your steps. Your `x` may itself
# be a transpose or a slice.


# %%
def diagonal(x):
    """The diagonal of a matrix, as a view."""
    # <solution>
    return x.as_strided((min(x.shape),), (x.stride(0) + x.stride(1),), x.storage_offset())
    # </solution>


check.nb03.diagonal(diagonal)

# %% [markdown]
# ## Exercise: sliding windows
#
# The windows of `[1, 2, 3, 4]` with `k = 2` are `[1, 2]`, `[2, 3]`, `[3, 4]`. Six numbers, but only
# four exist.


# %%
def windows(x, k):
    """All windows of k neighbours of a 1-D tensor: a view of shape (windows, k)."""
    # <solution>
    return x.as_strided((x.shape[0] - k + 1, k), (x.stride(0), x.stride(0)), x.storage_offset())
    # </solution>


check.nb03.windows(windows)

# %% [markdown]
# In two dimensions the same trick gives every 9 x 9 neighbourhood of the photograph. That tensor *says* it has twenty
# million elements; it owns none of them. Averaging its last two axes blurs the picture. (Convolution is this, with
# weights: notebook 8.)

# %%
rows, columns = photo.shape
k = 9
patches = photo.as_strided((rows - k + 1, columns - k + 1, k, k), (*photo.stride(), *photo.stride()))
print(f"{patches.numel():,} elements, {photo.untyped_storage().nbytes():,} bytes")
blurred = patches.mean((2, 3))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
left.imshow(photo.numpy(), cmap="gray")
right.imshow(blurred.numpy(), cmap="gray")
left.set_title("photograph")
right.set_title("mean of every 9 x 9 window")
show_figure(figure, "Left the photograph, right the same picture blurred: each pixel is the mean of its neighbourhood.")
assert patches.numel() > 50 * photo.numel() and blurred.std() < photo.std()

# %% [markdown]
# ## Exercise: predict, then look
#
# `x` is a fresh tensor of shape (3, 4). Which of these share its memory? Decide *before* you run anything: replace
# each `...` by `True` or `False`.

# %%
# <solution>
# | shares = {"x.T": ..., "x[1:]": ..., "x[::2]": ..., "x[[0, 2]]": ..., "x[x > 5]": ..., "x.reshape(4, 3)": ...,
# |           "x.T.reshape(12)": ..., "x.flip(0)": ..., "x[0].expand(5, 4)": ..., "x.contiguous()": ...,
# |           "x.T.contiguous()": ..., "x + 0": ...}
shares = {"x.T": True, "x[1:]": True, "x[::2]": True, "x[[0, 2]]": False, "x[x > 5]": False, "x.reshape(4, 3)": True,
          "x.T.reshape(12)": False, "x.flip(0)": False, "x[0].expand(5, 4)": True, "x.contiguous()": True,
          "x.T.contiguous()": False, "x + 0": False}
# </solution>
check.nb03.views(shares)

# %% [markdown]
# Then ask the tensors themselves. `data_ptr` of the storage is the address of the buffer.

# %%
x = torch.arange(12.0).reshape(3, 4)
if check.passed("nb03.views"):
    for story in shares:
        same = eval(story).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        print(f"{story:20} {'shares' if same else 'copies'}")
        assert same == shares[story]

# %% [markdown]
# ## Broadcasting is a stride of zero
#
# How does a (3, 1) column fit a (3, 4) table? It is *expanded*: told again with a stride of 0 along the new axis, so
# that four steps to the right stay on the same number.

# %%
column = torch.tensor([[10.0], [20.0], [30.0]])
viz.layout(column.expand(3, 4))

# %% [markdown]
# Repeated for free in the forward pass; but "used four times" means, as you know from notebook 2, *four gradients
# added up*. The gradient of a broadcast input has to be summed back to the input's own shape.

# %%
column = torch.ones(3, 1, requires_grad=True)
(column + torch.zeros(3, 4)).sum().backward()
print(column.grad)                      # not 1: each entry was used four times
assert column.grad.flatten().tolist() == [4, 4, 4]

# %% [markdown]
# ## Exercise: undo broadcasting
#
# Shapes are lined up at the right. Two kinds of axes were repeated: the ones `shape` does not have, and those where it
# has a 1. The usual guess fails on square shapes *silently*, so let the check convince you, not one example.


# %%
def unbroadcast(grad, shape):
    """Sum `grad`, which has the shape of the result, back to `shape`, that of one input."""
    # <solution>
    while grad.ndim > len(shape):
        grad = grad.sum(0)
    for axis, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(axis, keepdim=True)
    return grad
    # </solution>


check.nb03.unbroadcast(unbroadcast)

# %% [markdown]
# Broadcasting also hides the most expensive silent bug in regression. The model gives (N, 1), the targets are (N,).
# What is the shape of their difference, and what is the "loss" of a *perfect* model?

# %%
target = torch.tensor([1.0, 2.0, 3.0, 4.0])
prediction = target.reshape(4, 1)       # perfect
difference = prediction - target
print(tuple(difference.shape), "loss:", (difference ** 2).mean().item())
assert difference.shape == (4, 4) and (difference ** 2).mean() > 1

# %% [markdown]
# ## Writing where somebody still reads
#
# Views make writes dangerous: the backward pass may need a number that has been overwritten. Every buffer therefore
# counts its writes, and a saved value remembers the count.

# %%
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = x.exp()
print("version", y._version)
y += 1
print("version", y._version)

try:
    y.sum().backward()
    raise AssertionError("the overwritten value was not noticed")
except RuntimeError as error:
    print(f"\n{error}")

# %% [markdown]
# Why does `exp` mind? Its slope is its own result, so it kept `y`, not `x`. The `+ 1` came after and destroyed what it
# kept. (Addition keeps nothing and would not have minded: `y = x + 1; y += 1` is fine. Try it.)
#
# ## Exercise: repair
#
# Return $\sum (e^x + 1)\, e^x$, so that `backward` works. Compute `x.exp()` once.


# %%
def repaired(x):
    """sum((exp(x) + 1) * exp(x))"""
    # <solution>
    y = x.exp()
    return ((y + 1) * y).sum()
    # </solution>


check.nb03.repair(repaired)

# %% [markdown]
# ## In real PyTorch
#
# Same strides, same views, same error.


# %%
def stories_in_both(torch):
    x = torch.arange(12.0).reshape(3, 4)
    window = x.as_strided((2, 3), (4, 1), 5)
    column = torch.ones(3, 1, requires_grad=True)
    (column * x).sum().backward()
    y = torch.zeros(2, requires_grad=True).exp()
    y += 1
    try:
        y.sum().backward()
        complaint = "none"
    except RuntimeError as error:
        complaint = "inplace operation" if "inplace operation" in str(error) else str(error)
    return list(x.T.stride()), list(x[1:, ::2].stride()), window, column.grad, y._version, complaint


check.in_pytorch(stories_in_both)

# %%
check.report()

# %% [markdown]
# **Remember**
# * A tensor is a buffer, a shape, strides and an offset. Views rewrite the story, never the buffer.
# * Broadcasting repeats with stride 0; its backward sums.
# * `+=` on something the backward pass keeps is an error that names both places.
#
# **Go further.** Why can a 2-D `x.T` not be flattened by a view, although `x` can? Which shapes and strides *can* be
# merged into one axis? Build `windows` for pictures with a step of 2.
#
# Next: [4. Write an op, prove an op](04_ops.ipynb)
