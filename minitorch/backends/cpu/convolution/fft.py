"""Convolution by Fourier transforms, for large kernels: the cost does not depend on the kernel's size.

A convolution on a circle is a product of spectra. The circle is so long that windows which reach around its end meet
zeros: in each dimension ``size + padding`` positions for the windows' beginnings, ``out + kernel - 1 - padding`` for
their ends. With the input x laid down from position `padding` on, and ``~`` for the complex conjugate,

    y = [X ~W] from 0        dx = [Y W] from `padding`        dw = [X ~Y] from 0

Each frequency is a small matrix product over channels. NumPy transforms float32 in float32. A NaN or an infinity in an
image spreads over all of that image's results, which the plain sum of products would not let it.

Letters: N images, G groups, C and O channels of a group, F frequencies.
"""

from math import prod

from ....core.arrays import is_floating
from ....ops.nn.windows import reach
from ..blocks import evenly

BLOCK = 1 << 23                # bytes of spectra of a block of images
MOST = 1 << 28                 # largest spectrum of a weight, in bytes


def applies(geometry, dtype, weights, size):
    """True if the method applies: windows that move by one position, floats, `weights` planes of `size` that fit."""
    return max(geometry.stride) == 1 and is_floating(dtype) and weights * size * dtype.itemsize <= MOST


def circle(size, kernel, geometry, out):
    """How many places the circle has in each dimension."""
    return [fast(max(n + p, o + reach(k, d) - 1 - p, o, reach(k, d))) for n, k, o, p, d in
            zip(size, kernel, out, geometry.padding, geometry.dilation)]


def fast(n):
    """The smallest number from n on without prime factors above 5, which transform fastest."""
    while True:
        rest = n
        for p in (2, 3, 5):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n
        n += 1


def places(shape, first, step):
    """The index of positions in the last dimensions, from `first` on, `step` apart."""
    return (Ellipsis,) + tuple([slice(a, a + (n - 1) * s + 1, s) for n, a, s in zip(shape, first, step)])


class Spectra:
    """Spectra as stacks of matrices: (A, B, *size) of G groups to (F, G, A / G, B) or (F, G, A, B / G), and back."""

    def __init__(self, F, sizes, groups):
        self.F, self.sizes, self.groups = F, tuple(sizes), groups
        self.axes = tuple(range(2, 2 + len(sizes)))

    def of(self, x, first=None, step=None):
        """The spectrum (A, B, F) of x laid down from `first` on, `step` apart."""
        n = len(self.sizes)
        laid = self.F.xp.zeros((*x.shape[:2], *self.sizes), x.dtype)
        laid[places(x.shape[2:], first or (0,) * n, step or (1,) * n)] = x
        return self.F.xp.fft.rfftn(laid, axes=self.axes).reshape(*x.shape[:2], -1)

    def images(self, x, first=None):
        """(N, G C, *size) as (F, G, N, C)."""
        spectrum = self.of(x, first).reshape(len(x), self.groups, x.shape[1] // self.groups, -1)
        return self.F.xp.ascontiguousarray(spectrum.transpose(3, 1, 0, 2))

    def weights(self, w, step):
        """(G O, C, *kernel) as (F, G, O, C)."""
        spectrum = self.of(w, None, step).reshape(self.groups, len(w) // self.groups, w.shape[1], -1)
        return self.F.xp.ascontiguousarray(spectrum.transpose(3, 0, 1, 2))

    def back(self, stack, shape, first, step, out):
        """The matrices (F, G, A, B) as arrays of `shape`, read from `first` on, `step` apart, into `out`."""
        xp = self.F.xp
        spectrum = xp.ascontiguousarray(stack).reshape(*shape[:2], *self.sizes[:-1], self.sizes[-1] // 2 + 1)
        found = xp.fft.irfftn(spectrum, s=self.sizes, axes=self.axes)
        out[...] = found[places(out.shape[2:], first, step)]


def blocks(count, channels, sizes):
    return evenly(count, max(1, BLOCK // (channels * prod(sizes) * 4)))


def forward(F, x, weight, geometry, out):
    xp, n = F.xp, len(geometry.stride)
    s = Spectra(F, circle(x.shape[2:], weight.shape[2:], geometry, out.shape[2:]), geometry.groups)
    w = xp.conj(s.weights(weight, geometry.dilation)).swapaxes(2, 3)
    for part in blocks(len(x), max(x.shape[1], len(weight)), s.sizes):
        products = xp.matmul(s.images(x[part], geometry.padding), w).transpose(2, 1, 3, 0)
        s.back(products, out[part].shape, (0,) * n, (1,) * n, out[part])


def input(F, grad, weight, geometry, out):
    xp, n = F.xp, len(geometry.stride)
    s = Spectra(F, circle(out.shape[2:], weight.shape[2:], geometry, grad.shape[2:]), geometry.groups)
    w = s.weights(weight, geometry.dilation)
    for part in blocks(len(grad), max(out.shape[1], len(weight)), s.sizes):
        products = xp.matmul(s.images(grad[part]), w).transpose(2, 1, 3, 0)
        s.back(products, out[part].shape, geometry.padding, (1,) * n, out[part])


def weight(F, x, grad, geometry, out):
    xp, n = F.xp, len(geometry.stride)
    s = Spectra(F, circle(x.shape[2:], out.shape[2:], geometry, grad.shape[2:]), geometry.groups)
    total = 0
    for part in blocks(len(x), max(x.shape[1], grad.shape[1]), s.sizes):
        conjugate = xp.conj(s.images(grad[part])).swapaxes(2, 3)                # (F, G, O, N)
        total = total + xp.matmul(conjugate, s.images(x[part], geometry.padding))
    s.back(total.transpose(1, 2, 3, 0), out.shape, (0,) * n, geometry.dilation, out)
