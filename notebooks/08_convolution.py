# %% [markdown]
# # 8. Convolution three ways
#
# A fully connected layer from a photograph to a photograph of 200 x 300 pixels needs 3.6 billion weights. A convolution
# needs nine. It gets by with so few because of one assumption: what is worth looking for *here* is worth looking for
# *everywhere*. This notebook computes the same convolution in three ways, which differ in speed by a factor of
# hundreds, and then backwards.
#
# **You will be able to**
# * write a convolution with loops, as a matrix product (im2col) and with the Fourier transform, and say when each wins;
# * see all windows of an image without copying one of them;
# * test that one linear map is the adjoint of another, and say what a transposed convolution is;
# * count sizes and receptive fields, and train a network that reads digits.
#
# You need: notebooks 3 and 5. Time: two hours.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
from minitorch import check, nn, viz
from minitorch.datasets import Digits
from minitorch.nn import functional as F
from minitorch.viz.pictures import show_figure
from minitorch.viz.slides import slides

try:
    from sklearn.datasets import load_sample_image
    photo = torch.tensor(load_sample_image("china.jpg")[20:220, 150:450].mean(2) / 255, dtype=torch.float32)
except ImportError:
    print("scikit-learn or Pillow is not installed: a wall of handwritten digits takes the place of the photograph")
    photo = Digits(train=None).data[:925].reshape(25, 37, 8, 8).transpose(1, 2).reshape(200, 296).float() / 16

# %% [markdown]
# ## Exercise: loops
#
# Lay the kernel on the image, multiply what lies on top of each other, add up, move on by one pixel. That is all.
# (Mathematicians flip the kernel first, and call what networks do a *cross-correlation*. Since the weights are learned,
# nobody misses the flip.)


# %%
def conv_loops(x, w):
    """x (H, W), w (k, l): one number for each place where the kernel fits into the image."""
    # <solution>
    (k, m), (height, width) = w.shape, x.shape
    out = torch.zeros(height - k + 1, width - m + 1, dtype=x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (x[i:i + k, j:j + m] * w).sum()
    return out
    # </solution>


check.nb08.conv_loops(conv_loops)

# %% [markdown]
# ## What nine numbers can do
#
# The library has a fast one; here it is on the photograph. A kernel whose weights add up to 1 keeps the brightness; if
# they add up to 0, even areas turn to nothing and edges remain.

# %%
blur = torch.ones(9, 9) / 81
sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
sharpen = torch.tensor([[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]])


def conv(x, w, **how):
    """F.conv2d for a single image and a single kernel."""
    return F.conv2d(x[None, None], w[None, None], **how)[0, 0]


left_right, up_down = conv(photo, sobel), conv(photo, sobel.T)
pictures = {"photo": photo, "blur: 9 x 9, all 1/81": conv(photo, blur), "sharpen": conv(photo, sharpen).clamp(0, 1),
            "Sobel: left against right": left_right, "its transpose: up against down": up_down,
            "length of both: edges": (left_right ** 2 + up_down ** 2).sqrt()}
figure, axes = plt.subplots(2, 3, figsize=(12, 5.6), layout="constrained")
for axis, (name, picture) in zip(axes.flat, pictures.items()):
    limit = picture.abs().max().item() if "against" in name else None
    axis.imshow(picture.numpy(), cmap="gray", vmin=-limit if limit else None, vmax=limit)
    axis.set(title=name, xticks=[], yticks=[])
show_figure(figure, """Six pictures: the photograph, blurred, sharpened; its upright edges, its level edges in grey
            relief; and all edges, bright on black.""")
assert conv(photo, blur).std() < photo.std() < conv(photo, sharpen).std()

# %% [markdown]
# That blur spends 81 products on each pixel. But it is a row of nine after a column of nine: 18 products, the same
# picture. A kernel that is an outer product is called *separable*; `matrix_rank` finds out. (Sobel is one, too. Sharpen
# is not.)

# %%
row, column = torch.ones(1, 9) / 9, torch.ones(9, 1) / 9
difference = (conv(conv(photo, row), column) - conv(photo, blur)).abs().max().item()
print("largest difference:", difference)
assert difference < 1e-5
print("ranks:", {name: int(torch.linalg.matrix_rank(w))
                 for name, w in (("blur", blur), ("sobel", sobel), ("sharpen", sharpen))})

# %% [markdown]
# ## Exercise: how large?
#
# Three settings change the number of places. *Padding* adds zeros on both sides. *Stride* moves by more than one pixel.
# *Dilation* pulls the kernel apart: with dilation 2 it looks at every second pixel.


# %%
def out_size(n, k, stride, padding, dilation):
    """The number of places for k taps on n pixels."""
    # <solution>
    return (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
    # </solution>


check.nb08.out_size(out_size)

# %% [markdown]
# ## Where a window lies in memory
#
# Memory is one long strip. A 3 x 3 window of a 5 x 5 image is three pieces of it, five steps apart. Move the slider:
# the pattern keeps its shape and only its beginning moves. A pattern with a beginning, that is what *strides* describe.


# %%
def window_in_memory(i, j, n=5, k=3):
    """The window on the image, in memory, and as a column of the im2col matrix."""
    chosen = np.zeros((n, n))
    chosen[i:i + k, j:j + k] = 1
    matrix = np.zeros((k * k, (n - k + 1) ** 2))
    matrix[:, i * (n - k + 1) + j] = 1
    numbers = np.arange(n * n)
    figure = plt.figure(figsize=(10, 4))
    grid = figure.add_gridspec(2, 2, height_ratios=(5, 0.5))
    for place, values, labels, title in (
            (grid[0, 0], chosen, numbers.reshape(n, n), "the image: numbers are addresses"),
            (grid[0, 1], matrix, np.lib.stride_tricks.sliding_window_view(numbers.reshape(n, n), (k, k))
             .reshape(-1, k * k).T, "im2col: every window is a column"),
            (grid[1, :], chosen.reshape(1, -1), numbers.reshape(1, -1), "memory")):
        axis = figure.add_subplot(place)
        axis.imshow(values, cmap="Blues", vmin=0, vmax=1.3, aspect="auto" if len(values) == 1 else "equal")
        for (r, c), label in np.ndenumerate(labels):
            axis.text(c, r, label, ha="center", va="center", fontsize=7, color="white" if values[r, c] else "black")
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize=9)
    return figure


slides(((f"window at ({i}, {j})", window_in_memory(i, j)) for i, j in
        ((0, 0), (0, 1), (0, 2), (1, 0), (2, 2))),
       "A 3 x 3 window of a 5 x 5 image, the column of the im2col matrix that it becomes, its three pieces in memory;")

# %% [markdown]
# ## Exercise: im2col
#
# Write every window into a column, and the convolution becomes *one* matrix product: (kernels x window) times (window x
# places). Processors have been trimmed for matrix products for fifty years, so this beats the loops by far, in spite of
# all the copying. (The Fourier way below beats both, for large kernels: you will measure it.)


# %%
def im2col(x, k):
    """x (C, H, W): its windows as columns, (C * k * k, places); channels slowest, places row by row."""
    # <solution>
    rows, columns = x.shape[1] - k + 1, x.shape[2] - k + 1
    return torch.stack([x[:, i:i + k, j:j + k].flatten() for i in range(rows) for j in range(columns)], 1)
    # </solution>


check.nb08.im2col(im2col)

# %% [markdown]
# Copying? `as_strided` tells the whole story of the windows without any: two strides move the window, the same two move
# inside it. Nine times as many numbers, and no byte more.


# %%
def windows(x, k):
    """A view (rows, columns, k, k) of x (H, W): all windows."""
    down, right = x.stride()
    return x.as_strided((x.shape[0] - k + 1, x.shape[1] - k + 1, k, k), (down, right, down, right))


seen = windows(photo, 3)
print("numbers to look at:", seen.numel(), " numbers in memory:", photo.numel())
print("one buffer:", seen.untyped_storage().data_ptr() == photo.untyped_storage().data_ptr())
print("same result:", torch.allclose(torch.einsum("ijkl,kl->ij", seen, sobel), left_right, atol=1e-5))
assert seen.untyped_storage().data_ptr() == photo.untyped_storage().data_ptr()
assert torch.allclose(torch.einsum("ijkl,kl->ij", seen, sobel), left_right, atol=1e-5)

# %% [markdown]
# Pooling is the same view with another ending: the largest of each window instead of a weighted sum. With
# `[::2, ::2]` windows do not overlap.

# %%
pooled = windows(photo, 2)[::2, ::2].amax((2, 3))
print("like max_pool2d:", torch.equal(pooled, F.max_pool2d(photo[None, None], 2)[0, 0]))
assert torch.equal(pooled, F.max_pool2d(photo[None, None], 2)[0, 0])

# %% [markdown]
# ## Exercise: Fourier
#
# The third way never slides at all. The Fourier transform turns convolution into a product, number by number. Two
# things to mind: it computes the *mathematical* convolution, with the flip; and it believes that the image is a torus,
# so the first rows and columns have looked round to the other side.


# %%
def conv_fft(x, w):
    """The same as conv_loops, with torch.fft.rfft2 and torch.fft.irfft2, both given s=x.shape."""
    # <solution>
    spectrum = torch.fft.rfft2(x) * torch.fft.rfft2(w.flip(0, 1), s=x.shape)
    return torch.fft.irfft2(spectrum, s=x.shape)[w.shape[0] - 1:, w.shape[1] - 1:]
    # </solution>


check.nb08.conv_fft(conv_fft)

# %% [markdown]
# ## Time against work
#
# All three do the same. Here is the time against the number of products and sums that the definition asks for, for
# kernels from 3 x 3 to 25 x 25. (The loops get an image 64 times smaller: nobody wants to wait.)


# %%
def conv_matrix(x, w):
    """im2col from the view, then one product."""
    seen = windows(x, len(w))
    return (seen.reshape(-1, w.numel()) @ w.flatten()).reshape(seen.shape[:2])


def seconds(f, *args, tries=4, at_least=0.05):
    """The shortest of some tries: a busy machine makes single ones longer, and a short call needs more of them."""
    best, began = float("inf"), time.perf_counter()
    while tries > 0 or time.perf_counter() - began < at_least:
        start = time.perf_counter()
        f(*args)
        best, tries = min(best, time.perf_counter() - start), tries - 1
    return best


if check.passed("nb08.conv_loops", "nb08.conv_fft"):
    rates = {}
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    for name, f, places, sizes, style in (("loops, 12 x 12 places", conv_loops, 12, (3, 9, 17, 25), "o:"),
                                          ("im2col, 96 x 96 places", conv_matrix, 96, (3, 5, 9, 13, 17, 25), "s--"),
                                          ("FFT, 96 x 96 places", conv_fft, 96, (3, 5, 9, 13, 17, 25), "^-")):
        work, times = [], []
        for k in sizes:
            x = photo[:places + k - 1, :places + k - 1].contiguous()
            work.append(2 * k * k * places ** 2)
            times.append(1000 * seconds(f, x, torch.randn(k, k)))
            if k == 17:
                print(f"{name:22s} {work[-1] / times[-1] / 1e6:8.3f} GFLOP/s of the definition at 17 x 17")
        axis.loglog(work, times, style, label=name)
        rates[name[:3]] = work[-1] / times[-1]
    axis.set(xlabel="floating-point operations of the definition", ylabel="milliseconds")
    axis.legend()
    show_figure(figure, """Milliseconds against the operations of the definition, both axes logarithmic. The loops are
                highest though they have far fewer operations to do; the line of im2col rises with the work; that of
                the FFT is nearly flat and lies lowest for large kernels.""")
    assert rates["im2"] > 10 * rates["loo"] and rates["FFT"] > rates["loo"]

# %% [markdown]
# * The loops pay for Python at each window, however little work is in it.
# * With im2col, time grows with the work, and faster once the matrix is too large for the cache: at 25 x 25 it holds
#   each pixel 625 times.
# * The FFT is flat: it does not care how large the kernel is. Somewhere it begins to win; for 3 x 3 kernels, which is
#   what networks use, it usually does not.
#
# The library knows a few more ways (Winograd's among them) and chooses by the shapes alone, so that the same call
# always gives the same bits.
#
# ## Backwards
#
# A convolution is linear: somewhere there is a (huge, mostly empty) matrix $A$ with $y = Ax$. Its gradient is
# $A^\top$ times what comes from above, as for any matrix. We will never write $A$ down; but how does one *test* an
# $A^\top$ that exists only as a function? With the sentence that defines it:
#
# $$\langle A x, y\rangle = \langle x, A^\top y\rangle \quad\text{for all } x \text{ and } y.$$
#
# Random vectors are as good as all of them: if $B \ne A^\top$, the two sides agree with probability zero.
#
# ## Exercise: the adjoint test


# %%
def is_adjoint(A, B, n, m):
    """A takes a vector of n numbers to one of m, B one of m to one of n. True if B is A's adjoint.

    Draw your vectors as float64: torch.randn(n, dtype=torch.float64).
    """
    # <solution>
    for _ in range(3):
        x, y = torch.randn(n, dtype=torch.float64), torch.randn(m, dtype=torch.float64)
        if abs((A(x) @ y - x @ B(y)).item()) > 1e-6:
            return False
    return True
    # </solution>


check.nb08.is_adjoint(is_adjoint)

# %% [markdown]
# ## Exercise: the transposed convolution
#
# Forward, the output at $(i, j)$ *reads* a window. So, backward, $y_{ij}$ *writes* into the same window: gather becomes
# scatter. Windows overlap, and you know from notebook 2 what to do then.


# %%
def conv_transpose(y, w, stride):
    """The adjoint of a convolution with kernel w (k, l) and this stride; y (rows, columns)."""
    # <solution>
    (k, m), (rows, columns) = w.shape, y.shape
    out = torch.zeros((rows - 1) * stride + k, (columns - 1) * stride + m, dtype=y.dtype)
    for i in range(rows):
        for j in range(columns):
            out[i * stride:i * stride + k, j * stride:j * stride + m] += y[i, j] * w
    return out
    # </solution>


check.nb08.conv_transpose(conv_transpose)

# %%
if check.passed("nb08.is_adjoint", "nb08.conv_transpose"):
    w = torch.randn(3, 3, dtype=torch.float64)
    adjoint = is_adjoint(lambda x: conv(x.reshape(7, 7), w, stride=2).flatten(),
                         lambda y: conv_transpose(y.reshape(3, 3), w, 2).flatten(), 49, 9)
    print("is it the adjoint of F.conv2d?  ", adjoint)
    print("is it the inverse?              ", torch.allclose(
        conv_transpose(conv(torch.ones(7, 7).double(), w, stride=2), w, 2), torch.ones(7, 7).double()))
    x = torch.randn(7, 7, dtype=torch.float64, requires_grad=True)
    g = torch.randn(3, 3, dtype=torch.float64)
    conv(x, w, stride=2).backward(g)
    print("is it what backward computes?   ", torch.allclose(x.grad, conv_transpose(g, w, 2)))
    assert adjoint and torch.allclose(x.grad, conv_transpose(g, w, 2))

# %% [markdown]
# "Deconvolution" is a bad name for it: nothing is undone. But it makes small pictures into large ones, and so
# generators use it. With a catch: if the stride does not divide the kernel, some pixels are written more often than
# others. Feed in a perfectly even picture, and out comes a chessboard:

# %%
if check.passed("nb08.conv_transpose"):
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
    for axis, (k, stride) in zip(axes, ((3, 2), (4, 2), (5, 3))):
        axis.imshow(conv_transpose(torch.ones(8, 8), torch.ones(k, k), stride).numpy(), cmap="cividis", vmin=0)
        axis.set(title=f"kernel {k}, stride {stride}", xticks=[], yticks=[])
    show_figure(figure, """An even picture after three transposed convolutions: with kernel 3 and stride 2 a
                chessboard, with kernel 4 and stride 2 even but for its border, with kernel 5 and stride 3 bright
                lines.""")

# %% [markdown]
# ## Exercise: the receptive field
#
# Which pixels can one unit deep in a network see? Two layers of 3 see 5 pixels, three see 7. Strides (and pooling, a
# stride of its own) make it grow much faster.


# %%
def receptive(layers):
    """layers: pairs (kernel, stride) from the input on. How many pixels, in one direction, an output pixel sees."""
    # <solution>
    seen, jump = 1, 1
    for k, stride in layers:
        seen += (k - 1) * jump
        jump *= stride
    return seen
    # </solution>


check.nb08.receptive(receptive)

# %% [markdown]
# Autograd can paint it: the gradient of one output pixel is nonzero exactly where that pixel looks. Change the layers
# and paint again.


# %%
def paint(layers, size=35):
    """How strongly the middle output pixel depends on each input pixel; all weights are 1."""
    x = torch.zeros(1, 1, size, size, requires_grad=True)
    h = x
    for k, stride in layers:
        h = F.conv2d(h, torch.ones(1, 1, k, k) / k ** 2, stride=stride, padding=k // 2)
    h[0, 0, h.shape[2] // 2, h.shape[3] // 2].backward()
    return x.grad[0, 0]


stacks = {"1 layer of 3": [(3, 1)], "4 layers of 3": [(3, 1)] * 4, "10 layers of 3": [(3, 1)] * 10,
          "4 layers of 3, stride 2 in two": [(3, 2), (3, 1), (3, 2), (3, 1)]}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
for axis, (name, layers) in zip(axes, stacks.items()):
    seen = paint(layers)
    axis.imshow((seen / seen.max()).numpy(), cmap="cividis", vmin=0, vmax=1)
    axis.set(title=name, xlabel=f"sees {int((seen > 0).any(0).sum())} x {int((seen > 0).any(1).sum())}, half of it "
             f"from {int((seen.sum(0).sort(descending=True).values.cumsum(0) < seen.sum() / 2).sum()) + 1} columns",
             xticks=[], yticks=[])
show_figure(figure, """The pixels that the middle output pixel sees, bright on dark: a square of 3
            after one layer, a soft spot of 9 after four, a bell of 21 after ten layers, and a
            wider spot after four layers, two of them with stride 2.""")
assert [int((paint(layers) > 0).any(0).sum()) for layers in stacks.values()][:3] == [3, 9, 21]

# %% [markdown]
# The field of ten layers is 21 pixels wide, but look where the weight is: the sum of many small windows becomes a bell.
# Its width grows only with the *root* of the depth. That is one reason for strides, dilation, and in the end attention.
#
# ## Digits
#
# Now learn the kernels. Six thousand weights, a few seconds:

# %%
images, labels = Digits(train=True).tensors()
test_images, test_labels = Digits(train=False).tensors()


def cnn():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128, 10))


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 80), nn.ReLU(), nn.Linear(80, 10))


def fit(model, epochs=15):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=22 * epochs)
    torch.manual_seed(1)
    for _ in range(epochs):
        for batch in torch.randperm(1442)[:1408].split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
            schedule.step()
    return model


@torch.no_grad()
def accuracy(model, dy=0, dx=0):
    """On test images that are shifted by dy and dx (at most 1)."""
    x = F.pad(test_images, (1, 1, 1, 1))[:, :, 1 - dy:9 - dy, 1 - dx:9 - dx]
    return (model(x).argmax(1) == test_labels).float().mean().item()


start = time.perf_counter()
network = fit(cnn())
print(f"convolutional: {accuracy(network):.1%} right after {time.perf_counter() - start:.0f} s, "
      f"{sum(p.numel() for p in network.parameters())} weights")
dense = fit(mlp())
print(f"dense:         {accuracy(dense):.1%} right, {sum(p.numel() for p in dense.parameters())} weights")
assert accuracy(network) > 0.97 and accuracy(dense) > 0.94

# %% [markdown]
# Was it worth it? These digits are all centred, and there the dense network is almost as good. Now shift the *test*
# images by a single pixel:

# %%
moves = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
for name, model in (("convolutional", network), ("dense", dense)):
    print(f"{name:13s}", "  ".join(f"{way} {accuracy(model, *move):.0%}" for way, move in moves.items()))
mean = [sum(accuracy(model, *move) for move in moves.values()) / 4 for model in (network, dense)]
assert mean[1] < mean[0] < accuracy(network)

# %% [markdown]
# The convolutional one suffers less, and yet it suffers: a common belief is wrong. A convolution is *equivariant*:
# shift the picture, and the feature map shifts with it. It is not *invariant*: the last layer looks at places. Pooling
# gives a little invariance; most of what practice has comes from training with shifted pictures.
#
# What it has learned: the sixteen kernels of the first layer, and what they make of a digit.

# %%
show_figure(viz.feature_maps(network[0].weight[:, 0], columns=16),
            "Sixteen kernels of 3 x 3 weights, some of them light on one side and dark on the other: edges.")
with torch.no_grad():
    show_figure(viz.feature_maps(network[:2](test_images[3:4]), columns=16),
                "Sixteen pictures of one digit; in each, other strokes or borders are bright.")

# %% [markdown]
# ## In real PyTorch


# %%
def convolutions(torch):
    F = torch.nn.functional
    x = torch.arange(98.0).reshape(1, 2, 7, 7).sin().requires_grad_()
    w = torch.arange(54.0).reshape(3, 2, 3, 3).cos()
    y = F.conv2d(x, w, stride=2)
    columns = F.unfold(x, 3, stride=2)
    product = (w.reshape(3, -1) @ columns).reshape(y.shape)
    g = torch.ones(y.shape)
    y.backward(g)
    return y, product, x.grad, F.conv_transpose2d(g, w, stride=2), F.max_pool2d(x, 2)


check.in_pytorch(convolutions)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Loops, a matrix product, a Fourier product: one definition. Time is not work.
# * All windows are one view: two strides outside, the same two inside.
# * $\langle Ax, y\rangle = \langle x, A^\top y\rangle$ tests the backward rule of any linear map.
# * Gather forward is scatter backward. The adjoint is not the inverse.
#
# **Go further.** Winograd's algorithm computes a 3 x 3 convolution with 16 instead of 36 products for each four
# outputs. Which three small matrices does it need? `examples/unet.py` goes down by convolutions and up again by their
# adjoints.
#
# Next: [9. Sequences: from counts to attention](09_sequences.ipynb)
