"""Statistics of channels, and scaling by channel: the kernels of batch_norm.

Arrays are (A, B, D) with the channels in the middle (see `standardize`). Mean and deviation (B,) are kept
instead of the normalised input; the elementwise steps of the backward pass begin at the input. A factor for
each channel is laid out for each place of a sample, so that NumPy multiplies long rows, a sample or some at a time.
Going through a few channels of all samples at a time would read them from memory once, but their planes then lie powers
of two apart, which is slower.
"""

from .standardise import blocks, dots, sums
from .sums import column_sums


def placed(xp, values, x):
    """A number for each channel (B,) as one for each place of a sample, (B, D)."""
    return xp.repeat(values, x.shape[2]).reshape(x.shape[1:])


def centred_dots(F, x, mean, other=None):
    """Sums over A and D of ``(x - mean) * other``, or of ``(x - mean)^2``."""
    xp = F.xp
    mean, centre, parts = placed(xp, mean, x), None, blocks(F, len(x), x[0].size)
    totals = xp.empty((len(parts), x.shape[1]), x.dtype)
    for total, part in zip(totals, parts):
        block = x[part]
        centre = xp.subtract(block, mean, out=None if centre is None else centre[:len(block)])
        total[...] = dots(F, centre, centre if other is None else other[part])
    return totals[0] if len(totals) == 1 else column_sums(xp, totals)


def normalise(F, out, x, weight, bias, eps):
    """Fill ``out = (x - mean) r weight + bias``; mean, (biased) variance and r of each channel."""
    xp, n = F.xp, x.shape[0] * x.shape[2]
    mean = sums(xp, x) / n
    var = centred_dots(F, x, mean) / n
    r = 1 / xp.sqrt(var + eps)
    factor = r if weight is None else r * weight
    shift = -mean * factor if bias is None else bias - mean * factor
    factor, shift = placed(xp, factor, x), placed(xp, shift, x)
    for part in blocks(F, len(x), x[0].size):
        block = xp.multiply(x[part], factor, out=out[part])
        block += shift
    return mean, var, r


def normalise_backward(F, out, g, x, weight, mean, r):
    """The gradients of `normalise`: of x into `out`, and those of weight and bias.

    With sums over n elements, ``dw = r sum(g (x - mean))`` and ``db = sum(g)``, that of x is
    ``weight r (g - db / n - (x - mean) r dw / n)``, here as ``a g + b x + c``.
    """
    xp, n = F.xp, x.shape[0] * x.shape[2]
    dw, db = centred_dots(F, x, mean, g) * r, sums(xp, g)
    a = r if weight is None else r * weight
    b = -a * r * dw / n
    c = -a * db / n - b * mean
    a, b, c = [placed(xp, values, x) for values in (a, b, c)]
    product = None
    for part in blocks(F, len(x), x[0].size):
        block = xp.multiply(x[part], b, out=out[part])
        block += c
        product = xp.multiply(g[part], a, out=None if product is None else product[:len(block)])
        block += product
    return dw, db
