"""Results too small for a method that mixes numbers: they are summed plainly, one by one.

Fourier transforms and Winograd's filtering are off by up to ``4 u max|x| sum|w|`` (`level.py`). So
where the plain sum is exactly zero they leave 1e-9, and a program that takes the sign of a gradient
reads noise. Results within that error are computed again by the plain sum: zeros are zeros then,
and a small number is as exact as a large one. Of random numbers one result in 10,000 is that small.
Where more than one in `MOST` is, in images with dead regions, the functions here return False, and
a method that mixes nothing computes the whole.
"""

from math import prod

import numpy as np

from ..blocks import evenly
from .im2col import not_cut

BLOCK = 1 << 15                # results looked at together
MOST = 256                     # one result in so many may be summed by itself
GATHERED = 1 << 20             # numbers gathered for some results at once


def bounds(problem, levels, weight):
    """The errors of a convolution's results, (N,): for each image the largest of all outputs.

    None where no result can be zero, so that dense images need not be looked through: each window
    holds a pixel that is not zero, and `weight` holds neither zeros nor integers, whose products
    can add up to zero exactly.
    """
    turned = problem.task == "input"
    p, (images, weights) = problem.turned if turned else problem, levels
    if (images.alive and max(p.geometry.dilation) == 1 and not_cut(p.kernel, p.geometry)
            and p.geometry.out_size(p.size, p.kernel) == tuple(p.out) and is_dense(weight)):
        return None
    sums = weights.sums
    of_output = sums.reshape(p.geometry.groups, -1, sums.shape[1]).sum(1) if turned else sums.sum(1)
    return images.largest * (of_output.max() * room(sums.dtype))


def is_dense(weight):
    """True if no weight is zero, and the first ones are not all integers."""
    return bool(weight.all()) and bool((weight.reshape(-1)[:1024] % 1).any())


def room(dtype):
    """The factor of the bound, 4 u."""
    return dtype.type(2 * np.finfo(dtype).eps)


def places_of(F, out, bound):
    """Indices of the elements of each out[i] of at most bound[i]; None if they are too many."""
    xp, rows, found, total = F.xp, out.reshape(len(out), -1), [], 0
    width = rows.shape[1]
    images, cuts = evenly(len(rows), max(1, BLOCK // width)), evenly(width, BLOCK)
    shape = images[0].stop, cuts[0].stop
    buffer, small = xp.empty(shape, out.dtype), xp.empty(shape, bool)
    for part in images:
        limit = bound[part, None] if shape[0] > 1 else bound[part.start]
        for cut in cuts:
            block = rows[part, cut]
            where = small[:len(block), :block.shape[1]]
            size = xp.abs(block, out=buffer[:len(block), :block.shape[1]])
            if xp.count_nonzero(xp.less_equal(size, limit, out=where)):
                at = xp.flatnonzero(where)
                at = at[size.reshape(-1)[at] > 0]          # zeros come of zeros alone
                i, j = xp.divmod(at, block.shape[1])
                total += len(i)
                if total > out.size // MOST:
                    return None
                found.append((i + part.start) * width + (j + cut.start))
    return xp.unravel_index(xp.concatenate(found), out.shape) if found else ()


def settle_forward(F, bound, x, weight, geometry, out):
    """Mend the small results of a convolution without a bias; False if they are too many."""
    if bound is None:
        return True
    places = places_of(F, out, bound)
    if places is None:
        return False
    if places:
        for part in evenly(len(places[0]), max(1, GATHERED // weight[0].size)):
            some = tuple([p[part] for p in places])
            out[some] = windows_of(F, x, weight, geometry, some)
    return True


def windows_of(F, x, weight, geometry, places):
    """The plain sums at some places (image, output, *position)."""
    xp, (outputs, channels, *kernel) = F.xp, weight.shape
    image, output, *position = places
    first = image * x.shape[1] + output // (outputs // geometry.groups) * channels
    planes = first[:, None] + xp.arange(channels)          # (places, channels), of x flattened
    taps, size = xp.zeros((len(image), 1), int), x.shape[2:]                # (places, kernel)
    inside = xp.ones(taps.shape, bool)
    for i, k in enumerate(kernel):
        begin = position[i] * geometry.stride[i] - geometry.padding[i]
        at = begin[:, None] + xp.arange(k) * geometry.dilation[i]
        taps = (taps[:, :, None] * size[i] + at[:, None]).reshape(len(image), -1)
        fits = (at >= 0) & (at < size[i])
        inside = (inside[:, :, None] & fits[:, None]).reshape(len(image), -1)
    index = planes[:, :, None] * prod(size) + xp.where(inside, taps, 0)[:, None]
    seen = xp.where(inside[:, None], xp.take(x.reshape(-1), index), 0).astype("float64")
    return xp.einsum("pck,pck->p", seen, weight[output].reshape(len(output), channels, -1))


def settle_weight(F, levels, x, grad, geometry, out):
    """Mend the small results of a gradient of the weight; False if they are too many."""
    images, grads = levels
    places = places_of(F, out, grads.sums.sum(0) * (images.largest.max() * room(out.dtype)))
    if places is None:
        return False
    sum_weights(places, x, grad, geometry, out)
    return True


def sum_weights(places, x, grad, geometry, out):
    """The plain sums of some elements of a gradient of the weight, into `out`."""
    for output, channel, *tap in zip(*places):
        first = output // (len(out) // geometry.groups) * out.shape[1]
        place = output, channel, *tap
        out[place] = dot_of(x[:, first + channel], grad[:, output], geometry, tap)


def dot_of(x, g, geometry, tap):
    """The sum of g (N, *out) times x (N, *size) where windows put one place of the kernel."""
    mine, theirs = [slice(None)], [slice(None)]
    for size, out, t, stride, pad, dilation in zip(x.shape[1:], g.shape[1:], tap, *geometry[:3]):
        shift = int(t) * dilation - pad
        first, last = max(0, -(shift // stride)), min(out, (size - 1 - shift) // stride + 1)
        if last <= first:
            return 0
        mine.append(slice(first * stride + shift, (last - 1) * stride + shift + 1, stride))
        theirs.append(slice(first, last))
    return (x[tuple(mine)] * g[tuple(theirs)]).sum()
