"""Sums over all but the channels, and by index. Of leading dimensions alone, products with ones are as fast."""

from math import prod

import numpy as np

from ..eager import kernel, plain, shared
from ..parts import ENOUGH

SIDE = 256                     # as in src/channels.h


# ---- which calls --------------------------------------------------------------------------------------------
def folded(shape, dim):
    """The sizes (A, B, D) in which A and D are summed and B stays; None if the dimensions do not lie so."""
    n = len(shape)
    gone = {d % n for d in dim}
    kept = [d for d in range(n) if d not in gone]
    if 0 not in gone or not kept or kept[-1] - kept[0] != len(kept) - 1:
        return None
    return prod(shape[:kept[0]]), prod([shape[d] for d in kept]), prod(shape[kept[-1] + 1:])


def takes(F, input, *, dim=None, keepdim=False, dtype=None):
    """Floats, and dimensions that all exist: of others, NumPy's kernel says what is wrong."""
    if dtype is not None or not plain(input):
        return False
    if dim.__class__ is not tuple or len({d % input.ndim for d in dim}) < len(dim):
        return False
    sizes = all([-input.ndim <= d < input.ndim for d in dim]) and folded(input.shape, dim)
    return bool(sizes) and sizes[0] > 1 and sizes[2] > 1


def sample(d):
    shape, dim = d.choice([((30, 20, 7), (0, 2)), ((9, 16, 5, 7), (-1, 0, 2)), ((9, 5, 20), (0, -1))])
    return [d.array(shape)], dict(dim=dim, keepdim=d.bool())


def work_on(x, channels, each):
    """The size by which work on channels is divided: where they lie side by side, parts are whole stretches of them."""
    return x.size if each > 1 else min(x.size, channels // SIDE * ENOUGH)


# ---- the calls ----------------------------------------------------------------------------------------------
def add_up(x, other, sizes, by=1.0):
    out = np.empty(sizes[1], x.dtype)
    shared("channels", "channel_sums", x, "ppp lll d", x, other, out, *sizes, by, size=work_on(x, *sizes[1:]))
    return out


def reduced(input, dim, keepdim, by_count):
    (a, b, d), n = folded(input.shape, dim), input.ndim
    gone = {d % n for d in dim}
    shape = [1 if i in gone else size for i, size in enumerate(input.shape) if keepdim or i not in gone]
    return add_up(input, None, (a, b, d), a * d if by_count else 1.0).reshape(shape)


@kernel("sum", when=takes, sample=sample)
def sum(F, input, *, dim=None, keepdim=False, dtype=None):
    return reduced(input, dim, keepdim, False)


@kernel("mean", when=takes, sample=sample)
def mean(F, input, *, dim=None, keepdim=False, dtype=None):
    return reduced(input, dim, keepdim, True)


@kernel("dot_channels", when=lambda F, a, b: plain(a, b) and a.shape == b.shape and a.ndim > 1,
        sample=lambda d: [[[d.array(shape), d.array(shape)], {}] for shape in (d.choice([(90, 70), (9, 3, 40)]),)][0])
def dot_channels(F, a, b):
    n, c = a.shape[:2]
    return add_up(a, b, (n, c, a.size // (n * c)))


# ---- rows by index ------------------------------------------------------------------------------------------
def indexed(F, input, bags, *, n):
    return (plain(input) and input.ndim == 2 and bags.__class__ is np.ndarray and bags.dtype.char == "l"
            and bags.shape == input.shape[:1] and bags.flags.c_contiguous and 0 <= bags.min() and bags.max() < n)


@kernel("segment_sum", when=indexed, sample=lambda d: ([d.array((90, 50)), d.integers((90,), 0, 6)], dict(n=7)))
def segment_sum(F, input, bags, *, n):
    out = np.zeros((n, input.shape[1]), input.dtype)
    shared("channels", "add_rows", input, "pppll", input, bags, out, *input.shape, size=work_on(input, len(out[0]), 1))
    return out
