"""Distributions: a generator's words turned into numbers, by PyTorch's formulas for the CPU.

Each function fills a NumPy array in place and returns it. The formulas were read from PyTorch's headers
(``ATen/core/DistributionsHelper.h``, ``ATen/native/cpu/DistributionTemplates.h``) and checked against its results;
docs/randomness.md says how far they agree. Two things matter beyond the formulas:

- the order in which elements are filled, which for a non-contiguous array is the order of its memory;
- the precision: most distributions are computed in float64 from 53 random bits whatever the array's dtype, but
  uniform numbers below float64 take 24 bits, and 16 or more contiguous normal numbers a path of their own.
"""

import math
from functools import wraps

import numpy as np

from .boxmuller import box_muller, multiply_add
from .generator import unit_double, unit_float

__all__ = ["uniform", "normal", "bernoulli", "bernoulli_each", "exponential", "geometric", "cauchy", "log_normal",
           "integers", "random_bits", "permutation", "multinomial", "memory_order"]

f32, f64 = np.dtype("float32"), np.dtype("float64")


# ------------------------------------------------------------------ order and precision
def as_represented(dtype, x):
    """The integer that `x` becomes in a floating-point dtype; 16-bit ones round twice, as in PyTorch."""
    return int(float(np.array(x, np.int64).astype(f32 if dtype.itemsize < 8 else dtype).astype(dtype)))


def memory_order(array):
    """A view of `array` whose row-major order is the order of its memory, in which PyTorch fills it."""
    if array.flags.c_contiguous:
        return array
    return array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))


def filler(draw):
    """Make ``draw(gen, n, dtype, ...)``, which yields slices of `n` numbers and their values, fill an array."""

    @wraps(draw)
    def fill(gen, array, *args):
        if array.size:
            ordered = memory_order(array if array.dtype.kind != "c" else real_view(array))
            direct = ordered.flags.c_contiguous
            flat = ordered.reshape(-1) if direct else np.empty(ordered.size, ordered.dtype)
            for part, values in draw(gen, flat.size, flat.dtype, *args):
                store(flat, part, values)
            if not direct:
                ordered[...] = flat.reshape(ordered.shape)
        return array

    return fill


def store(flat, part, values):
    """``flat[part] = values``, converted as PyTorch does: to half precision by way of float32, and silently."""
    if values.dtype is flat.dtype or values.dtype.kind not in "fV" and flat.itemsize != 2:
        flat[part] = values
    else:
        with np.errstate(all="ignore"):
            flat[part] = values.astype(f32) if flat.itemsize == 2 and flat.dtype.kind not in "iu" else values


def libm(name, x, dtype):
    """A function of the C library on each element of a float64 vector, for a result of `dtype`.

    PyTorch calls the C library here. NumPy's vectorised functions differ from it in the last places
    of float64: negligible below float64, so only float64 results take the slow way.
    """
    if dtype == f64:
        try:
            return np.fromiter(map(getattr(math, name), x.tolist()), f64, x.size)
        except (ValueError, OverflowError):              # at a pole or beyond the range, where C gives an infinity
            pass
    with np.errstate(all="ignore"):
        return getattr(np, name)(x)


def multiply_add64(a, b, c):
    """``a * b + c`` for a float64 vector and two floats, rounded once, as compilers fuse it.

    The rounding errors of the product (T. Dekker 1971) and of the sum (D. Knuth) are computed and added last. Where
    that is a tie, their sum was rounded too, and what it lacks decides.
    """
    product = a * b
    if c == 0:
        return product + 0.0                             # -0.0 becomes 0.0
    total = product + c
    with np.errstate(all="ignore"):
        a1 = a * 134217729.0
        a1 -= a1 - a
        b1 = b * 134217729.0
        b1 -= b1 - b
        a2, b2 = a - a1, b - b1
        error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
        part = total - product
        other = (product - (total - part)) + (c - part)
        both = error + other
        found = total + both
        gap = (total - found) + both
        gap += gap
        ties = np.flatnonzero((found + gap - found == gap) & (gap != 0))
        if len(ties):                                    # what `both` lacks decides
            error, other, last = error[ties], other[ties], both[ties]
            part = last - error
            lacks = (error - (last - part)) + (other - part)
            found[ties] = total[ties] + np.where(lacks, np.nextafter(last, np.copysign(np.inf, lacks)), last)
        return np.where(np.isfinite(both), found, total)


# ------------------------------------------------------------------ uniform and normal
@filler
def uniform(gen, n, dtype, low=0.0, high=1.0):
    """Numbers in [low, high): ``u * (high - low) + low``, u of 24 bits, or of 53 in float64."""
    wide = f64 if dtype == f64 else f32
    to_unit, scale = (unit_double, multiply_add64) if wide is f64 else (unit_float, multiply_add)
    unit = low == 0 and high == 1
    if not unit:
        low, high = wide.type(low), wide.type(high)
        span = f64.type(high - low)
    for part, words in gen.blocks(n, wide.itemsize // 4):
        u = to_unit(words)
        if not unit:
            u = scale(u, span, low)
        if not unit or dtype != wide:                    # rounding can reach the end that is to be left out
            u = u.astype(dtype)
            u[u == dtype.type(high)] = dtype.type(low)
        yield part, u


def normal(gen, array, mean=0.0, std=1.0):
    """Normal numbers: 16 or more contiguous ones by blocks; fewer, or strided ones, by pairs in float64."""
    if array.dtype.kind == "c":                          # std**2 is shared by the real and the imaginary part
        normal(gen, real_view(array), mean, std / math.sqrt(2))
        return array
    by_blocks = array.size >= 16 and array.flags.c_contiguous
    return (normal_blocks if by_blocks else normal_pairs)(gen, array, mean, std)


@filler
def normal_pairs(gen, n, dtype, mean, std):
    for part, x in standard_normal(gen, n, dtype):
        yield part, multiply_add64(x, std, mean)


def standard_normal(gen, n, dtype):
    """Yield slices and float64 values of `n` standard normal numbers. They come by pairs; an odd one is kept."""
    first, gen.spare = gen.spare, None
    start = 0 if first is None else 1
    if first is not None:
        yield slice(0, 1), np.array([first])
    pairs_of = few_pairs if n < 16 or dtype == f64 else many_pairs
    for part, words in gen.blocks(n - start + (n - start) % 2, 2):
        u = unit_double(words)
        x = pairs_of(u)
        begin, stop = part.start + start, part.stop + start
        if stop > n:
            gen.spare = float(few_pairs(u[-2:])[1])      # whoever takes it may want all its places
        yield slice(begin, min(stop, n)), x[: n - begin]


def few_pairs(u):
    """Box-Muller with the C library's functions; for each pair first the number for the angle."""
    found, u = [], u.tolist()
    for u1, u2 in zip(u[0::2], u[1::2], strict=True):
        radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2 * math.pi * u1
        found += radius * math.cos(theta), radius * math.sin(theta)
    return np.array(found)


def many_pairs(u):
    """The same with NumPy's functions, which are faster for many, and may differ in the last place of float64."""
    radius, theta = np.sqrt(-2.0 * np.log1p(-u[1::2])), 2 * np.pi * u[0::2]
    found = np.empty_like(u)
    np.multiply(radius, np.cos(theta), out=found[0::2])
    np.multiply(radius, np.sin(theta), out=found[1::2])
    return found


@filler
def normal_blocks(gen, n, dtype, mean, std):
    """16 or more by blocks of 16. If these do not come out even, the last 16 are drawn again."""
    per = 2 if dtype == f64 else 1
    transform = scaled_box_muller64 if dtype == f64 else scaled_box_muller
    rest = n % 16
    for part, words in gen.blocks(n - rest, per):
        if rest and part.stop == n - rest:
            if dtype.itemsize > 2:                       # numbers for the short block are drawn and thrown away
                gen.words(rest * per)
            x = transform(np.concatenate((words, gen.words(16 * per))), mean, std)
            yield part, x[:-16]
            yield slice(n - 16, n), x[-16:]
        else:
            yield part, transform(words, mean, std)


def scaled_box_muller(words, mean, std):
    x = box_muller(unit_float(words))
    if mean == 0:
        x *= f32.type(std)
        x += f32.type(0)                                 # -0.0 becomes 0.0
        return x
    return multiply_add(x, float(f32.type(std)), f32.type(mean))


def scaled_box_muller64(words, mean, std):
    u = unit_double(words).reshape(-1, 2, 8)
    half = u[:, 0].shape
    radius = np.sqrt(-2 * libm("log", 1 - u[:, 0].reshape(-1), f64)).reshape(half)
    theta = 2 * np.pi * u[:, 1].reshape(-1)
    x = np.empty_like(u)
    np.multiply(radius, libm("cos", theta, f64).reshape(half), out=x[:, 0])
    np.multiply(radius, libm("sin", theta, f64).reshape(half), out=x[:, 1])
    return multiply_add64(x.reshape(-1), std, mean)


def real_view(array):
    """A complex array as a real one with a last dimension of two."""
    return np.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), (*array.strides, array.itemsize // 2))


# ------------------------------------------------------------------ by inversion, from float64 numbers
@filler
def bernoulli(gen, n, dtype, p):
    """1 with probability `p`, else 0."""
    for part, words in gen.blocks(n, 2):
        yield part, unit_double(words) < p


def bernoulli_each(gen, array, p):
    """1 with the probability that `p`, an array that broadcasts against `array`, has there."""
    p = np.broadcast_to(p, array.shape)
    if not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: a probability lies outside "
                           f"[0, 1]; the probabilities range from {p.min()} to {p.max()}")
    u = uniform(gen, np.empty_like(array, f64 if p.dtype == f64 else f32))
    np.copyto(array, u < p, casting="unsafe")
    return array


@filler
def exponential(gen, n, dtype, lambd=1.0):
    """``-log(1 - u) / lambd``."""
    for part, words in gen.blocks(n, 2):
        u = unit_double(words)                           # below 1: no pole
        yield part, -1.0 / lambd * (libm("log1p", -u, dtype) if dtype == f64 else np.log1p(-u))


@filler
def geometric(gen, n, dtype, p):
    """The number of trials up to the first success: ``ceil(log(u) / log(1 - p))``."""
    for part, words in gen.blocks(n, 2):
        yield part, np.ceil(libm("log", unit_double(words), dtype) / math.log1p(-p))


@filler
def cauchy(gen, n, dtype, median=0.0, sigma=1.0):
    """``median + sigma * tan(pi * (u - 1/2))``."""
    for part, words in gen.blocks(n, 2):
        tangent = libm("tan", np.pi * (unit_double(words) - 0.5), dtype)
        yield part, multiply_add64(tangent, sigma, median)


@filler
def log_normal(gen, n, dtype, mean=1.0, std=2.0):
    """``exp`` of normal numbers, which come by pairs."""
    for part, x in standard_normal(gen, n, dtype):
        yield part, libm("exp", multiply_add64(x, std, mean), dtype)


# ------------------------------------------------------------------ integers
@filler
def integers(gen, n, dtype, low, high):
    """Integers in [low, high): ``low + draw % (high - low)``, with 64-bit draws where the range is 2**28 or more."""
    span = high - low
    for part, words in gen.blocks(n, 1 if span < 1 << 28 else 2):
        draw = words if span < 1 << 28 else pairs(words)
        if span < 1 << 64:
            draw %= np.uint64(span)
        draw += np.uint64(low % (1 << 64))
        yield part, draw.view(np.int64)


@filler
def random_bits(gen, n, dtype):
    """Integers from 0 to the largest of an integer dtype, or to 2**digits of a floating-point one."""
    digits = digits_of(dtype)
    modulus = (1 << digits) + (dtype.kind not in "iub")
    for part, words in gen.blocks(n, 1 if digits <= 32 else 2):
        draw = words if digits <= 32 else pairs(words)
        if modulus == 1 << digits:
            draw &= np.uint64(modulus - 1)
        else:
            draw %= np.uint64(modulus)
        yield part, draw.view(np.int64)


def digits_of(dtype):
    """How many random bits `random_bits` fills a dtype with."""
    found = {"bool": 1, "float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype.name)
    return dtype.itemsize * 8 - (dtype.kind == "i") if found is None else found


def pairs(words):
    """64-bit draws of two words each, the high half first."""
    draw = words[0::2] << 32
    draw |= words[1::2]
    return draw


def permutation(gen, n):
    """The numbers below `n` in random order, as an int64 array, by the method of Fisher and Yates.

    From 2**32 / 20 numbers on, a 32-bit draw is no longer near enough to uniform, and PyTorch takes another way.
    """
    if n >= (1 << 32) // 20:
        return long_permutation(gen, n)
    place = np.arange(n)
    target = place.copy()                                # at step i the places i and target[i] are exchanged
    for part, words in gen.blocks(max(n - 1, 0), 1):
        words %= (n - place[part]).astype(np.uint64)
        target[part] += words.view(np.int64)
    if n > 100:
        return exchange_at_once(place, target)
    order = list(range(n))
    for i, j in enumerate(target.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def exchange_at_once(place, target):
    """The result of the exchanges, found without the loop.

    Step i takes the number that the last earlier step with the same target has put there (else the target's own),
    and a step puts at its target the number found at its own place: its own one, or the one put there by the last step
    that aimed there. These references are followed all at once, each round doubling their reach.
    """
    found = place.copy()                                 # the step whose own number a step finds at its place
    mover = target != place
    found[target[mover]] = place[mover]                  # of several that aimed there the last, as in the loop
    while not np.array_equal(further := found[found], found):
        found = further

    steps = np.sort(target << 32 | place)                # by target and, within one target, by time
    aimed, step = steps >> 32, steps & 0xFFFFFFFF
    again = aimed[1:] == aimed[:-1]
    target[step[1:][again]] = found[step[:-1][again]]
    return target


def long_permutation(gen, n):
    order = np.empty(n, np.int64)
    for part, words in gen.blocks(n, 2):
        places = pairs(words) % np.arange(part.start + 1, part.stop + 1, dtype=np.uint64)
        for i, j in enumerate(places.tolist(), part.start):
            order[i] = order[j]
            order[j] = i
    return order


# ------------------------------------------------------------------ a choice by weight
def multinomial(gen, weights, n, replacement):
    """Indices along the last axis, drawn with probabilities proportional to `weights`: int64, the last axis `n`.

    One of each row, and several different ones, are those with the largest ``weight / e``, `e` exponential numbers.
    With replacement, each is where a uniform number falls among the cumulated weights.
    """
    if not weights.size:
        return np.empty((*weights.shape[:-1], n), np.int64)
    if n > 1 and replacement:
        return multinomial_with_replacement(gen, weights, n)
    wide = f32 if weights.itemsize == 2 else weights.dtype
    e = exponential(gen, np.empty_like(weights))
    with np.errstate(all="ignore"):
        score = weights.astype(wide, copy=False) / e.astype(wide, copy=False)
        score = score.astype(weights.dtype, copy=False).astype(wide, copy=False)
    if n == 1:
        return score.argmax(-1, keepdims=True)
    return np.argsort(-score, axis=-1, kind="stable")[..., :n].copy()


def extremes(weights):
    """The least of all weights, if it is below zero, and the largest of each row; NaN where there is one."""
    return np.minimum.reduce(weights, None, initial=0), np.maximum.reduce(weights, -1, initial=0)


def multinomial_with_replacement(gen, weights, n):
    wide = f32 if weights.itemsize == 2 else weights.dtype
    rows = weights.reshape(-1, weights.shape[-1])
    total = np.add.accumulate(rows, axis=-1, dtype=wide)
    total /= total[:, -1:]
    total[:, -1] = 1
    found = np.empty((len(rows), n), np.int64)
    u = gen.doubles(found.size).reshape(found.shape)
    for row, cumulated, numbers in zip(found, total.astype(f64), u, strict=True):
        row[:] = np.searchsorted(cumulated, numbers)
    return found.reshape(*weights.shape[:-1], n)
