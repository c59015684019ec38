"""Checks of lesson 8, "Convolution three ways": loops, sizes, im2col, FFT, adjoints, receptive fields."""

import math
from typing import Any

import numpy as np

from .. import fft as fourier
from .. import from_numpy, tensor
from .. import zeros as zeros_of
from ..nn import functional as F
from .exercise import Exercise
from .naming import variants

fft: Any = fourier                                         # its functions come from the op table

conv_loops = Exercise(
    "nb08.conv_loops", "Slide the kernel w (k, l) over the image x (H, W); at each place, the sum of the products.",
    ("At how many places does a kernel of width 3 fit into a row of 5?",
     "At H - k + 1 places down and W - l + 1 across. At (i, j) the window is x[i:i + k, j:j + l].",
     "for i in range(____): for j in range(____): out[i, j] = (x[i:____, j:____] * w).sum()"))


@conv_loops.draw
def _(d):
    k, m = d.int(1, 3), d.int(1, 3)
    return (d.integers((k + d.int(0, 2), m + d.int(0, 2)), -2, 3).astype(float),
            d.integers((k, m), -2, 3).astype(float))


def slide(x, w, put=None, rows=None, cols=None):
    """Loops, with every decision as an option."""
    (k, m), (h, n) = w.shape, x.shape
    out = zeros_of(h - k + 1 if rows is None else rows(h, k), n - m + 1 if cols is None else cols(n, m),
                   dtype=x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            window = x[i:i + k, j:j + m]
            out[i, j] = (window * w[:window.shape[0], :window.shape[1]]).sum() if put is None else put(window, w)
    return out


slide_but = variants(slide)
conv_loops.truth(slide)
conv_loops.slips(
    flipped=("the kernel is turned round: that is the convolution of mathematics. Networks do not flip",
             lambda x, w: slide(x, w.flip(0, 1))),
    one_less=("the last place is missing: a kernel of 3 fits into a row of 5 at 5 - 3 + 1 places",
              slide_but(rows=lambda h, k: h - k, cols=lambda n, m: n - m)),
    over_the_edge=("the result is as large as the image: near the edge the kernel hangs over, where there is nothing",
                   slide_but(rows=lambda h, k: h, cols=lambda n, m: n)),
    mean=("the mean of the products: their *sum*", slide_but(put=lambda v, w: (v * w).mean())),
    assigned=("= for +=: only the last product of each window is left",
              slide_but(put=lambda v, w: v[-1, -1] * w[-1, -1])),
    matmul=("@ is the product of matrices: here elements meet one by one",
            slide_but(put=lambda v, w: (v @ w).sum())),
    transposed=("rows and columns of the kernel are exchanged", lambda x, w: slide(x, w.T)),
    jumps=("the kernel jumps by its own width: it should move by one place", lambda x, w: F.conv2d(
        x[None, None], w[None, None], stride=tuple(w.shape))[0, 0]),
    same_place=("always the same window: it has to move with i and j",
                lambda x, w: slide(x, w) * 0 + (x[:w.shape[0], :w.shape[1]] * w).sum()))

out_size = Exercise(
    "nb08.out_size", "The number of places for a kernel of k taps on n pixels; padding is added on both sides.",
    ("How long is the row after padding, and how long is the kernel after dilation? What is left to move in?",
     "A dilated kernel spans dilation * (k - 1) + 1 pixels. Move by stride as often as it fits: round down.",
     "return (n + ____ - ____ - 1) // stride + ____, the gaps are the padding and the kernel's span"),
    tensors=False, rtol=0, atol=0)
out_size.cases(lambda: [(5, 3, 1, 0, 1), (5, 3, 1, 1, 1), (5, 3, 2, 0, 1), (6, 3, 2, 0, 1), (7, 3, 1, 0, 2),
                        (8, 3, 2, 1, 1), (9, 4, 3, 2, 2), (224, 7, 2, 3, 1), (6, 1, 2, 0, 3), (8, 2, 2, 0, 1)])
out_size.describe(lambda n, k, stride, padding, dilation: f"n = {n}, k = {k}, stride {stride}, padding {padding}, "
                                                          f"dilation {dilation}")
out_size.truth(lambda n, k, s, p, d: (n + 2 * p - d * (k - 1) - 1) // s + 1)
out_size.slips(
    no_one=("+ 1 is missing: a kernel that can move by 0 pixels fits at one place",
            lambda n, k, s, p, d: (n + 2 * p - d * (k - 1) - 1) // s),
    one_side=("padding is added on *both* sides", lambda n, k, s, p, d: (n + p - d * (k - 1) - 1) // s + 1),
    no_dilation=("dilation is ignored: it stretches the kernel", lambda n, k, s, p, d: (n + 2 * p - k) // s + 1),
    dilated_k=("a dilated kernel spans d * (k - 1) + 1 pixels, not d * k: there are only k - 1 gaps",
               lambda n, k, s, p, d: (n + 2 * p - d * k) // s + 1),
    rounded_up=("rounded up: a kernel that does not quite fit any more is left out",
                lambda n, k, s, p, d: math.ceil((n + 2 * p - d * (k - 1) - 1) / s) + 1),
    no_stride=("the stride is ignored", lambda n, k, s, p, d: n + 2 * p - d * (k - 1)),
    divided_after=("the + 1 goes outside the division: count the moves, then add the first place",
                   lambda n, k, s, p, d: (n + 2 * p - d * (k - 1)) // s),
    not_whole=("a number of places is whole: round down",
               lambda n, k, s, p, d: (n + 2 * p - d * (k - 1) - 1) / s + 1),
    no_padding=("padding is ignored", lambda n, k, s, p, d: (n - d * (k - 1) - 1) // s + 1))

im2col = Exercise(
    "nb08.im2col", "All windows of x (C, H, W) as the columns of one matrix (C * k * k, places), places row by row.",
    ("One column is one window, flattened. How many numbers are in it, and how many windows are there?",
     "The window at (i, j) is x[:, i:i + k, j:j + k]: flatten it, and put it at column i * (W - k + 1) + j.",
     "torch.stack([x[:, ____, ____].flatten() for i in range(____) for j in range(____)], ____)"))


@im2col.draw
def _(d):
    c, k = d.int(1, 2), d.int(1, 2)
    shape = (c, k + d.int(0, 2), k + d.int(0, 2))
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape), k


def columns(x, k):
    return F.unfold(x.unsqueeze(0), k)[0]


def places(x, k):
    return x.shape[1] - k + 1, x.shape[2] - k + 1


im2col.truth(columns)
im2col.slips(
    rows=("the windows are rows: here they are the columns, so that w.reshape(out, -1) @ matrix fits",
          lambda x, k: columns(x, k).T),
    channels_last=("the channels come last in each window: flatten (C, k, k), the channel is slowest",
                   lambda x, k: columns(x, k).reshape(len(x), k * k, -1).transpose(0, 1).flatten(0, 1)),
    windows_turned=("inside the windows rows and columns are exchanged",
                    lambda x, k: columns(x, k).reshape(len(x), k, k, -1).transpose(1, 2).flatten(0, 2)),
    column_by_column=("the places go column by column: the last index, j, runs fastest",
                      lambda x, k: columns(x, k).reshape(-1, *places(x, k)).transpose(1, 2).flatten(1)),
    one_less=("the last windows are missing: there are H - k + 1 places",
              lambda x, k: columns(x[:, :-1, :-1], k)),
    tiles=("the windows do not overlap: move by one pixel, not by k", lambda x, k: F.unfold(x[None], k, stride=k)[0]),
    first_channel=("only the first channel", lambda x, k: columns(x[:1], k)),
    reshaped=("reshape only tells the same numbers in other lines: windows overlap, so most numbers occur k * k times",
              lambda x, k: x.reshape(len(x) * k * k, -1)),
    summed=("the channels are added up: that is for the matrix product to do",
            lambda x, k: columns(x.sum(0, keepdim=True), k)))

conv_fft = Exercise(
    "nb08.conv_fft", "The same result as with loops, by two transforms, one product, and one transform back.",
    ("The product of two transforms belongs to the convolution of mathematics, which flips. Flip first to undo it.",
     "rfft2 of x, and of the flipped w filled up with zeros to the shape of x (`s=`); multiply; irfft2. Where did the "
     "first complete window end?",
     "spectrum = rfft2(x) * rfft2(____, s=x.shape); return irfft2(spectrum, s=x.shape)[____:, ____:]"),
    rtol=1e-6, atol=1e-8)


@conv_fft.draw
def _(d):
    k, m = d.int(1, 3), d.int(1, 3)
    return (d.integers((k + d.int(0, 2), m + d.int(0, 2)), -2, 3).astype(float),
            d.integers((k, m), -2, 3).astype(float))


def by_fft(x, w, crop=lambda y, k, m: y[k - 1:, m - 1:], flip=(0, 1)):
    size = tuple(x.shape)
    spectrum = fft.rfft2(x) * fft.rfft2(w.flip(*flip) if flip else w, s=size)
    return crop(fft.irfft2(spectrum, s=size), *w.shape)


def of_real_parts(x, w):
    z = np.fft.fft2(x.numpy()).real * np.fft.fft2(w.flip(0, 1).numpy(), s=x.shape).real
    return from_numpy(np.fft.ifft2(z).real)[w.shape[0] - 1:, w.shape[1] - 1:]


by_fft_but = variants(by_fft)
conv_fft.truth(by_fft)
conv_fft.slips(
    not_flipped=("not flipped: this is the convolution of mathematics. Flip the kernel first, and it is undone",
                 by_fft_but(flip=())),
    not_cropped=("not cropped: in the first rows and columns the window wraps round from the other side of the image",
                 by_fft_but(crop=lambda y, k, m: y)),
    wrong_end=("cropped at the wrong end: the first k - 1 rows wrap round, so they have to go",
               by_fft_but(crop=lambda y, k, m: y[:len(y) - k + 1, :y.shape[1] - m + 1])),
    one_too_many=("one row and column too many are cut off: the first good one has the number k - 1",
                  by_fft_but(crop=lambda y, k, m: y[k:, m:])),
    half_flipped=("flipped up and down only: a kernel is flipped in both directions",
                  by_fft_but(flip=(0,))),
    image_flipped=("the image is flipped, too", lambda x, w: by_fft(x.flip(0, 1), w)),
    not_filled_up=("the kernel's transform has the kernel's shape: fill it up with zeros, `s=x.shape`",
                   lambda x, w: fft.irfft2(fft.rfft2(x) * fft.rfft2(w.flip(0, 1)), s=tuple(x.shape))
                   [w.shape[0] - 1:, w.shape[1] - 1:]),
    absolute=("the absolute value loses the signs", lambda x, w: by_fft(x, w).abs()),
    scaled=("divided by the number of pixels once more: the inverse transform has done it",
            lambda x, w: by_fft(x, w) / x.numel()),
    real_parts=("only real parts were multiplied: transforms are complex", of_real_parts))

is_adjoint = Exercise(
    "nb08.is_adjoint",
    "True if B (R^m to R^n) is the adjoint of the linear A (R^n to R^m), by random vectors.",
    ("Which equation connects the two, for *all* x and y? How would you test 'for all'?",
     "<A x, y> = <x, B y>: draw x (n) and y (m) with both signs, compare the two numbers; do it a few times.",
     "x, y = torch.randn(____), torch.randn(____), both float64; compare A(x) @ ____ with x @ ____, a few times"),
    tensors=False)
M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [3.0, 0.0, 1.0]])
SWAP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
ROTATED = np.array([[0.6, -0.8], [0.8, 0.6]])


def times(matrix):
    return lambda x: tensor(matrix, dtype=x.dtype) @ x


def summed_to(n):
    return lambda y: y.expand(n)


PAIRS = {
    "a matrix and its transpose": (times(M), times(M.T), 3, 3),
    "a matrix and itself": (times(M), times(M), 3, 3),
    "a matrix and its inverse": (times(M), times(np.linalg.inv(M)), 3, 3),
    "x -> 2x and y -> y / 2": (lambda x: 2 * x, lambda y: y / 2, 2, 2),
    "x -> 2x and itself": (lambda x: 2 * x, lambda y: 2 * y, 2, 2),
    "a rotation, and the rotation back": (times(ROTATED), times(ROTATED.T), 2, 2),
    "a rotation and itself": (times(ROTATED), times(ROTATED), 2, 2),
    "the sum, and expand": (lambda x: x.sum().reshape(1), summed_to(3), 3, 1),
    "the mean, and expand": (lambda x: x.mean().reshape(1), summed_to(3), 3, 1),
    "x[:2], and zeros appended": (lambda x: x[:2], lambda y: F.pad(y, (0, 2)), 4, 2),
    "x[:2], and zeros in front": (lambda x: x[:2], lambda y: F.pad(y, (2, 0)), 4, 2),
    "a circular shift, and the shift back": (lambda x: x.roll(1), lambda y: y.roll(-1), 4, 4),
    "a circular shift and itself": (lambda x: x.roll(1), lambda y: y.roll(1), 4, 4),
    "cumsum, and cumsum from the end": (lambda x: x.cumsum(0), lambda y: y.flip(0).cumsum(0).flip(0), 3, 3),
    "cumsum, and differences": (lambda x: x.cumsum(0), lambda y: y - F.pad(y[:-1], (1, 0)), 3, 3),
    "a matrix, and minus its transpose": (times(M), times(-M.T), 3, 3),
    "a matrix, and its transpose with one entry of 3 made 3.5": (times(M), times(M.T + np.array(
        [[0, 0, 0.5], [0, 0, 0], [0, 0, 0]])), 3, 3),
    "a swap and itself": (times(SWAP), times(SWAP), 3, 3)}
is_adjoint.cases(lambda: [(name,) for name in PAIRS])
is_adjoint.describe(lambda name: f"A and B: {name}. Is B the adjoint of A")


@is_adjoint.run
def _(solution, name):
    return bool(solution(*PAIRS[name]))


def adjoint_by(draw, compare=None, tries=5):
    compare = compare or (lambda a, b: abs(a - b) < 1e-4)
    return lambda A, B, n, m: all(compare(float(A(x) @ y), float(x @ B(y)))
                                  for x, y in (draw(np.random.default_rng(i), n, m) for i in range(tries)))


def normal(rng, n, m):
    return tensor(rng.standard_normal(n)), tensor(rng.standard_normal(m))


def ones(rng, n, m):
    return tensor(np.ones(n)), tensor(np.ones(m))


def first(rng, n, m):
    return tensor(np.eye(n)[0]), tensor(np.eye(m)[0])


def goes_back(A, B, n, m):
    x, _ = normal(np.random.default_rng(0), n, m)
    return float((B(A(x)) - x).abs().max()) < 1e-4


def shapes_fit(A, B, n, m):
    return B(tensor(np.ones(m))).shape == (n,)


is_adjoint.truth(adjoint_by(normal))
is_adjoint.slips(
    inverse=("B(A(x)) = x is asked for: that is the *inverse*. The adjoint need not bring x back", goes_back),
    ones=("vectors of ones see only the sum of all entries: draw random ones", adjoint_by(ones)),
    one_entry=("one entry alone is compared: draw x and y at random", adjoint_by(first)),
    absolute=("absolute values are compared: an adjoint of the wrong sign passes",
              adjoint_by(normal, lambda a, b: abs(abs(a) - abs(b)) < 1e-4)),
    too_loose=("the tolerance is so large that a wrong B passes", adjoint_by(normal, lambda a, b: abs(a - b) < 3.0)),
    shapes=("that the shapes fit says nothing about the numbers", shapes_fit),
    negated=("the other way round: equal means that B *is* the adjoint",
             lambda *pair: not adjoint_by(normal)(*pair)),
    twice_a=("B is used on both sides, or A on both: <A x, y> against <x, B y>",
             lambda A, B, n, m: n == m and adjoint_by(normal)(A, A, n, m)))

conv_transpose = Exercise(
    "nb08.conv_transpose", "The adjoint of a convolution: each y[i, j] puts y[i, j] * w into the output, stride apart.",
    ("Where in the image did y[i, j] read from? That is where it has to write to now.",
     "The output has (oh - 1) * stride + k rows. y[i, j] writes to the rows from i * stride on: windows overlap, so "
     "add.",
     "out[i * ____:____, j * ____:____] += ____ * w"))


@conv_transpose.draw
def _(d):
    return (d.integers((d.int(1, 3), d.int(1, 3)), -2, 3).astype(float),
            d.integers((d.int(1, 3), d.int(1, 3)), -2, 3).astype(float), d.int(1, 3))


def scatter(y, w, stride, put=lambda old, new: old + new, size=lambda o, k, s: (o - 1) * s + k, step=None):
    """Scatter with every decision as an option."""
    (k, m), (rows, cols) = w.shape, y.shape
    step = stride if step is None else step
    out = zeros_of(max(size(rows, k, stride), (rows - 1) * step + k), max(size(cols, m, stride), (cols - 1) * step + m),
                   dtype=y.dtype)
    for i in range(rows):
        for j in range(cols):
            at = slice(i * step, i * step + k), slice(j * step, j * step + m)
            out[at] = put(out[at], y[i, j] * w)
    return out[:size(rows, k, stride), :size(cols, m, stride)]


scatter_but = variants(scatter)
conv_transpose.truth(scatter)
conv_transpose.slips(
    assigned=("= for +=: where windows overlap, only the last one is left",
              scatter_but(put=lambda old, new: new)),
    flipped=("the kernel is flipped: each y[i, j] paints w as it is (a *convolution* over y with the flipped w does "
             "the same)", lambda y, w, s: scatter(y, w.flip(0, 1), s)),
    stride_ignored=("the stride is ignored: neighbours in y write `stride` pixels apart",
                    lambda y, w, s: scatter(y, w, 1)),
    stride_in_size_only=("the size counts the stride, the positions do not",
                         scatter_but(step=1)),
    size_times_stride=("o * stride rows: the last window begins at (o - 1) * stride and needs k rows",
                       scatter_but(size=lambda o, k, s: o * s)),
    kernel_turned=("rows and columns of the kernel are exchanged", lambda y, w, s: scatter(y, w.T, s)),
    forward_again=("that is a convolution, and makes y smaller: its adjoint goes back to the larger size",
                   lambda y, w, s: F.conv2d(y[None, None], w[None, None], stride=s)[0, 0]),
    averaged=("divided by the number of windows that overlap: the adjoint only adds",
              lambda y, w, s: scatter(y, w, s) / scatter(y * 0 + 1, w * 0 + 1, s).clamp(min=1)))

receptive = Exercise(
    "nb08.receptive", "How many input pixels (in one direction) an output pixel sees, through layers of (k, stride).",
    ("Two 3-wide layers see 5 pixels. What does a stride of 2 in the first do to what the second sees?",
     "Each layer adds (k - 1) steps; a step is as wide as all strides *before* it multiplied.",
     "seen, jump = 1, 1; for k, stride in layers: seen += ____ * jump; jump ____ stride"),
    tensors=False, rtol=0, atol=0)
receptive.cases(lambda: [([],), ([(3, 1)],), ([(3, 1), (3, 1)],), ([(3, 2)],), ([(3, 2), (3, 1)],), ([(2, 2), (3, 1)],),
                         ([(3, 1), (2, 2), (3, 1), (2, 2)],), ([(5, 1), (1, 1), (3, 3), (3, 1)],),
                         ([(7, 2), (3, 2), (3, 1), (3, 1)],)])
receptive.describe(lambda layers: "layers: " + (", ".join(f"kernel {k} stride {s}" for k, s in layers) or "none"))


def field(layers, r=1, add=lambda k, jump, s: (k - 1) * jump, grow=lambda jump, s: jump * s):
    jump = 1
    for k, s in layers:
        r += add(k, jump, s)
        jump = grow(jump, s)
    return r


field_but = variants(field)
receptive.truth(field)
receptive.slips(
    strides_ignored=("strides are ignored: after a stride of 2, one step is two pixels wide",
                     field_but(grow=lambda jump, s: 1)),
    own_stride=("a layer's own stride widens the steps of the layers *after* it, not its own",
                field_but(add=lambda k, jump, s: (k - 1) * jump * s)),
    kernels_added=("k - 1, not k: neighbouring windows overlap, the first pixel is counted once",
                   field_but(add=lambda k, jump, s: k * jump)),
    kernels_multiplied=("kernels are multiplied: two 3-wide layers see 5 pixels, not 9",
                        lambda layers: math.prod(k for k, _ in layers)),
    from_zero=("begin with 1: without a layer a pixel sees itself", field_but(r=0)),
    strides_added=("strides multiply: two of 2 make steps of 4 pixels, and two of 3 steps of 9",
                   field_but(grow=lambda jump, s: jump + s - 1)),
    last_stride=("only the stride of the layer just before counts: all earlier ones do, multiplied",
                 field_but(grow=lambda jump, s: s)),
    from_the_end=("begin at the input: the strides before a layer widen its steps, not those after it",
                  lambda layers: field(layers[::-1])))
