"""Distributions whose numbers take an unforeseeable count of draws: Poisson, binomial, gamma, Dirichlet.

PyTorch draws them one after another from float64 numbers, by the methods named below; which draw goes to which
element depends on all elements before, so that here, too, there is a loop. Arithmetic is that of PyTorch's C++: in
float64, but for a few steps in the array's own type.
"""

import math

import numpy as np

__all__ = ["poisson", "binomial", "standard_gamma", "dirichlet"]

f32, f64 = np.dtype("float32"), np.dtype("float64")


def draw_each(gen, sample, *columns):
    """``sample(u, *elements)`` for each row of `columns`, as a list; ``u()`` is the next number in [0, 1).

    Each row takes one number or more. So many can be drawn at once without drawing any too many.
    """
    left, found = len(columns[0]), []

    def numbers():
        while True:
            yield from gen.doubles(left).tolist()

    u = numbers().__next__
    for row in zip(*columns, strict=True):
        found.append(sample(u, *row))
        left -= 1
    return found


# ------------------------------------------------------------------ Poisson
def poisson(gen, rate):
    """Poisson numbers for an array of rates, in its shape and dtype."""
    if not (rate >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    out = np.zeros(rate.shape, rate.dtype)
    positive = rate > 0                                  # a rate of zero takes no draw
    out[positive] = draw_each(gen, one_poisson, rate[positive].astype(f64).tolist())
    return out


def one_poisson(u, rate):
    if rate >= 10:
        return poisson_by_rejection(u, rate)
    limit, product, count = math.exp(-rate), u(), 0      # arrivals until the waiting times add up to 1
    while product > limit:
        product *= u()
        count += 1
    return count


def poisson_by_rejection(u, rate):
    """W. Hörmann's transformed rejection with squeeze, PTRS (1993), for rates of 10 and more."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        x, v = u() - 0.5, u()
        s = 0.5 - abs(x)
        if s == 0:
            continue
        k = math.floor((2 * a / s + b) * x + rate + 0.43)
        if s >= 0.07 and v <= squeeze:
            return k
        if k < 0 or (s < 0.013 and v > s):
            continue
        if log(v) + math.log(inverse_alpha) - math.log(a / (s * s) + b) <= k * log_rate - rate - math.lgamma(k + 1):
            return k


def log(x):
    return math.log(x) if x > 0 else -math.inf


# ------------------------------------------------------------------ binomial
def binomial(gen, count, prob):
    """Binomial numbers for arrays of trials and of probabilities that broadcast, in the dtype of `count`."""
    count, prob = np.broadcast_arrays(count, prob)
    out = np.where(prob >= 1, count, 0).astype(count.dtype)
    out[count <= 0] = 0
    out[np.isnan(prob) & ~(count <= 0)] = np.nan
    drawn = (count > 0) & (prob > 0) & (prob < 1)
    n, p = count[drawn], prob[drawn]
    swap = p > 0.5                                       # then failures are counted
    q = np.where(swap, 1 - p, p)
    drawn_of = {"n": n.astype(f64), "q": q.astype(f64), "mean": (n * q).astype(f64),
                "deviation": np.sqrt(n * q * (1 - q)).astype(f64), "odds": (q / (1 - q)).astype(f64),
                "mode": np.floor((n + 1) * q).astype(f64)}
    k = np.array(draw_each(gen, one_binomial, *(x.tolist() for x in drawn_of.values())), f64)
    out[drawn] = np.where(swap, n - k, k)
    return out


def one_binomial(u, n, q, mean, deviation, odds, mode):
    if mean >= 10:
        return binomial_by_rejection(u, n, q, mean, deviation, odds, mode)
    log_failure, trials, successes = math.log1p(-q), 0, 0  # trials up to each success, while there are any left
    while True:
        x = u()
        trials += math.ceil(math.log(x) / log_failure) if x > 0 else math.inf
        if trials > n:
            return successes
        successes += 1


def binomial_by_rejection(u, n, q, mean, deviation, odds, mode):
    """W. Hörmann's transformed rejection, BTRS (1993), for means of 10 and more."""
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    squeeze = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    while True:
        x, v = u() - 0.5, u()
        s = 0.5 - abs(x)
        if s == 0:
            continue
        k = math.floor((2 * a / s + b) * x + mean + 0.5)
        if k < 0 or k > n:
            continue
        if s >= 0.07 and v <= squeeze:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + stirling_tail(mode) + stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k)
        )
        if log(v * alpha / (a / (s * s) + b)) <= bound:
            return k


def stirling_tail(k):
    """``log(k!)`` less Stirling's approximation of it."""
    if k < 10:
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


# ------------------------------------------------------------------ gamma
def standard_gamma(gen, alpha):
    """Gamma numbers of scale 1 for an array of shapes, in its dtype; at least the smallest normal number."""
    tiny = np.finfo(f32 if alpha.itemsize == 2 else alpha.dtype).tiny
    return np.maximum(gamma_each(gen, alpha), tiny).astype(alpha.dtype)


def dirichlet(gen, alpha):
    """Points of the simplex, along the last axis, for an array of concentrations, in its dtype."""
    g = np.maximum(gamma_each(gen, alpha.astype(f64)), np.finfo(f64).tiny)
    limits = np.finfo(alpha.dtype)
    below_one = alpha.dtype.type(1) - alpha.dtype.type(limits.epsneg)
    return np.clip((g / g.sum(-1, keepdims=True)).astype(alpha.dtype), limits.tiny, below_one)


def gamma_each(gen, alpha):
    """By G. Marsaglia and W. Tsang (2000), in float64; shapes below 1 by way of a shape one larger."""
    own = f32 if alpha.itemsize == 2 else alpha.dtype
    alpha = alpha.astype(own)
    out = np.zeros(alpha.shape, f64)
    drawn = alpha != 0                                   # a shape of zero takes no draw
    shape = alpha[drawn]
    small = shape < 1
    with np.errstate(divide="ignore"):
        power = np.where(small, own.type(1) / shape, own.type(0)).astype(f64)
    d = (np.where(small, shape + own.type(1), shape) - own.type(f32.type(1) / f32.type(3))).astype(f64)

    c = 1 / np.sqrt(9 * d)

    def sample(u, d, c, power, sqrt=math.sqrt, log=math.log, log1p=math.log1p, sin=math.sin, cos=math.cos):
        scale = (1 - u()) ** power if power else 1.0
        while True:
            y = 0
            while y <= 0:
                x, gen.spare = gen.spare, None             # a normal number; the generator keeps the second of a pair
                if x is None:
                    theta, radius = TURN * u(), sqrt(-2.0 * log1p(-u()))
                    x, gen.spare = radius * cos(theta), radius * sin(theta)
                y = 1 + c * x
            v, w, xx = y * y * y, 1 - u(), x * x
            if w < 1 - SQUEEZE * xx * xx or log(w) < 0.5 * xx + d * (1 - v + log(v)):
                return scale * d * v

    out[drawn] = draw_each(gen, sample, d.tolist(), c.tolist(), power.tolist())
    return out


TURN = 2 * math.pi
SQUEEZE = float(f32.type(0.0331))
