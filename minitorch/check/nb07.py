"""Checks of lesson 7, "Signals": the scale of weights, dead units, batch norm forward and backward, RMS norm."""

import numpy as np

from .exercise import Exercise, show
from .naming import variants

scale = Exercise(
    "nb07.scale", "The standard deviation of weights that keeps the mean square of a signal through linear + leaky "
    "relu.",
    ("A sum of fan_in products: how does its variance depend on that of the weights? And what does the relu leave "
     "of it?",
     "Var = fan_in * std**2 * mean(h**2); a relu keeps half of the mean square, a leaky one (1 + slope**2) / 2.",
     "1 = fan_in * std**2 * (1 + ____) / 2; solve it for std"), tensors=False)
scale.cases(lambda: [(4, 0.0), (100, 0.0), (100, 1.0), (50, 0.5), (8, 0.2)])
scale.truth(lambda fan_in, slope: (2 / ((1 + slope ** 2) * fan_in)) ** 0.5)
scale.describe(lambda fan_in, slope: f"fan_in = {fan_in}, slope {slope:g} for negative inputs (0: relu, 1: no relu "
                                      "at all)")
scale.slips(
    variance=("that is the variance: the standard deviation is its root",
              lambda n, a: 2 / ((1 + a ** 2) * n)),
    no_half=("the factor 2 is missing: a relu lets half of the mean square through", lambda n, a: (1 / n) ** 0.5),
    no_slope=("the slope is forgotten: a leaky relu lets more through than a relu", lambda n, a: (2 / n) ** 0.5),
    slope_not_squared=("the slope enters squared: it scales the signal, and variance is quadratic",
                       lambda n, a: (2 / ((1 + a) * n)) ** 0.5),
    two_outside=("the 2 belongs under the root", lambda n, a: 2 / ((1 + a ** 2) * n) ** 0.5),
    bound=("that is the bound of a *uniform* distribution, sqrt(3) times its standard deviation",
           lambda n, a: (6 / ((1 + a ** 2) * n)) ** 0.5),
    over_fan_in=("1/fan_in is far too small: signs are random, sums grow with the root of the number of terms",
                 lambda n, a: 1 / n),
    not_inverse=("more inputs need *smaller* weights", lambda n, a: ((1 + a ** 2) * n / 2) ** 0.5))

dead = Exercise(
    "nb07.dead", "The fraction of units that are zero for every sample; h is the output of a relu, (N, units).",
    ("A unit that is zero for some samples is doing its work. What is a dead one?",
     "For each unit (column): is it zero in all rows?",
     "(h == ____).all(____).float().____"))
dead.draw(lambda d: ((d.integers((d.int(1, 4), d.int(1, 4)), -3, 2).clip(0)).astype(float),))
dead.run(lambda solution, h: float(solution(h)))


def silent(h, zero=lambda h: h == 0, all=lambda z: z.all(0), end=lambda d: d.double().mean()):
    """The share of dead units, with every decision as an option."""
    return end(all(zero(h)))


silent_but = variants(silent)
dead.truth(silent)
dead.slips(
    zeros=("the fraction of *zeros*: half of them is normal for a relu, a dead unit is zero for all samples",
           silent_but(all=lambda z: z)),
    some=("zero for *some* sample is normal; dead is zero for all", silent_but(all=lambda z: z.any(0))),
    samples=("you looked along the wrong axis: that is the fraction of samples for which all units are silent",
             silent_but(all=lambda z: z.all(1))),
    count=("the number of dead units, not their fraction", silent_but(end=lambda d: d.double().sum())),
    alive=("the fraction of units that are *not* dead", silent_but(end=lambda d: 1 - d.double().mean())),
    negative=("after a relu nothing is negative: dead units are at zero", silent_but(zero=lambda h: h < 0)),
    first=("the first sample alone says nothing: look at all of them", silent_but(all=lambda z: z[0])))

batch_norm = Exercise(
    "nb07.batch_norm", "Batch norm while training: the normalised x, and the new running mean and running variance.",
    ("Two variances occur: one divides by N, one by N - 1. Which is used where?",
     "Normalise with the biased one (N); keep the unbiased one (N - 1) in the running variance.",
     "y = (x - m) / (____ + eps).sqrt(); new mean: (1 - momentum) * ____ + momentum * ____; new variance: the same "
     "with ____"), parts=("normalised x", "new running mean", "new running variance"))


@batch_norm.draw
def _(d):
    n, c = d.int(2, 4), d.int(1, 2)
    x = d.integers((n, c), -3, 3).astype(float)
    return x, d.integers((c,), -1, 1).astype(float), d.integers((c,), 1, 3).astype(float), d.choice([0.1, 0.3]), 0.01


def normalise(x, mean, var, momentum, eps, *, dim=0, used=None, kept=None, weight=None, divide=None):
    """Batch norm with every decision as an option."""
    m, biased, unbiased = x.mean(dim), x.var(dim, correction=0), x.var(dim)
    used = (used or (lambda b, u, v: b))(biased, unbiased, var)
    kept = (kept or (lambda b, u: u))(biased, unbiased)
    new = momentum if weight is None else weight(momentum)
    divide = divide or (lambda x, v, eps: x / (v + eps).sqrt())
    return divide(x - m, used, eps), (1 - new) * mean + new * m, (1 - new) * var + new * kept


norm_but = variants(normalise)


batch_norm.describe(lambda x, mean, var, momentum, eps: (
    f"x = {show(x)}, running mean {show(mean)}, running variance {show(var)}, momentum = {momentum:g}, eps = {eps:g}. "
    "The normalised x, the new running mean, the new running variance"))
batch_norm.truth(norm_but())
batch_norm.slips(
    unbiased_used=("x is normalised with the *unbiased* variance: the batch itself is divided by the one over N",
                   norm_but(used=lambda b, u, v: u)),
    biased_kept=("the *biased* variance is kept: the running one estimates the whole population, N - 1",
                 norm_but(kept=lambda b, u: b)),
    both_exchanged=("the two variances are exchanged: biased to normalise, unbiased to keep",
                    norm_but(used=lambda b, u, v: u, kept=lambda b, u: b)),
    momentum_reversed=("momentum is the weight of the *new* value in PyTorch (0.1), not of the old one",
                       norm_but(weight=lambda m: 1 - m)),
    eps_outside=("eps is added to the variance, under the root",
                 norm_but(divide=lambda x, v, eps: x / (v.sqrt() + eps))),
    no_root=("divided by the variance: its root is the scale of x", norm_but(divide=lambda x, v, eps: x / (v + eps))),
    running_used=("the running variance is for evaluation: in training the batch's own is used",
                  norm_but(used=lambda b, u, v: v)),
    not_kept=("the running statistics do not move", norm_but(weight=lambda m: 0.0)),
    deviation_kept=("the standard deviation is kept, it should be the variance", norm_but(kept=lambda b, u: u.sqrt())))

batch_norm_pull = Exercise(
    "nb07.batch_norm_pull", "The gradient for x of batch norm, from g, the normalised xhat and std, all per column.",
    ("Three paths lead from x to the output: directly, through the mean, through the variance.",
     "Adding a constant to x changes nothing, and neither does scaling it. So the gradient is orthogonal to 1 and "
     "to xhat.",
     "return (g - ____ - xhat * ____) / std, both gaps are means over the batch"))


@batch_norm_pull.draw
def _(d):
    n, c = d.int(2, 4), d.int(1, 2)
    x = np.cumsum(d.integers((n, c), 1, 3), 0).astype(float)
    return d.integers((n, c), -2, 2).astype(float), x


@batch_norm_pull.run
def _(solution, g, x):
    std = x.std(0, correction=0)
    return solution(g, (x - x.mean(0)) / std, std)


@batch_norm_pull.describe
def _(g, x):
    std = x.std(0)
    return f"g = {show(g)}, x = {show(x)}, so xhat = {show((x - x.mean(0)) / std)}, std = {show(std)}"


batch_norm_pull.truth(lambda g, xhat, std: (g - g.mean(0) - xhat * (g * xhat).mean(0)) / std)
batch_norm_pull.slips(
    constants=("mean and variance are treated as constants: they depend on x, two paths are missing",
               lambda g, xhat, std: g / std),
    no_mean=("the path through the mean is missing: the gradient of each column must sum to zero",
             lambda g, xhat, std: (g - xhat * (g * xhat).mean(0)) / std),
    no_variance=("the path through the variance is missing: the gradient must be orthogonal to xhat",
                 lambda g, xhat, std: (g - g.mean(0)) / std),
    sums=("missing 1/N: the two corrections are means over the batch, not sums",
          lambda g, xhat, std: (g - g.sum(0) - xhat * (g * xhat).sum(0)) / std),
    not_divided=("the division by std is missing", lambda g, xhat, std: g - g.mean(0) - xhat * (g * xhat).mean(0)),
    multiplied=("multiplied by std: a wide column has a *small* gradient",
                lambda g, xhat, std: (g - g.mean(0) - xhat * (g * xhat).mean(0)) * std),
    no_projection=("(g * xhat).mean(0) says *how much* lies along xhat; it has to be multiplied by xhat",
                   lambda g, xhat, std: (g - g.mean(0) - (g * xhat).mean(0)) / std),
    wrong_axis=("means over the features (dim 1), that would be layer norm; batch norm averages over the samples",
                lambda g, xhat, std: (g - g.mean(1, keepdim=True) - xhat * (g * xhat).mean(1, keepdim=True)) / std),
    sign=("the corrections are *subtracted*", lambda g, xhat, std: (g + g.mean(0) + xhat * (g * xhat).mean(0)) / std))

rms_norm = Exercise(
    "nb07.rms_norm", "RMS norm: each row divided by the root of its mean square (plus eps), times `weight`.",
    ("Compare with layer norm: what is left out?",
     "No mean is subtracted, nothing is remembered; every row stands for itself.",
     "return x / ((____).mean(-1, ____) + eps).sqrt() * weight"))


@rms_norm.draw
def _(d):
    n, c = d.int(1, 3), d.int(2, 3)
    return d.integers((n, c), 1, 4) * d.choice([1.0, -1.0]), d.integers((c,), 1, 3).astype(float), 0.1


def scaled(x, weight, eps, mean=lambda s: s.mean(-1, keepdim=True), square=lambda x: x * x, eps_in=1, eps_out=0,
           root=lambda s: s.sqrt(), times=lambda y, weight: y * weight):
    """RMS norm, with every decision as an option."""
    return times(x / (root(mean(square(x)) + eps_in * eps) + eps_out * eps), weight)


scaled_but = variants(scaled)
rms_norm.truth(scaled)
rms_norm.slips(
    layer_norm=("the mean is subtracted: that is layer norm, RMS norm leaves it",
                lambda x, weight, eps: scaled(x - x.mean(-1, keepdim=True), weight, eps)),
    norm=("divided by the *length* of the row: it is the mean of the squares, not their sum",
          scaled_but(mean=lambda s: s.sum(-1, keepdim=True))),
    no_root=("the root is missing", scaled_but(root=lambda s: s)),
    eps_outside=("eps belongs under the root", scaled_but(eps_in=0, eps_out=1)),
    no_eps=("eps is missing: a row of zeros would be divided by 0", scaled_but(eps_in=0)),
    over_batch=("averaged over the samples (dim 0), as batch norm does: each row stands for itself",
                scaled_but(mean=lambda s: s.mean(0))),
    no_weight=("`weight` is missing", scaled_but(times=lambda y, weight: y)),
    mean_of_x=("divided by the mean of |x|: squares first, then the mean, then the root",
               scaled_but(square=lambda x: x.abs(), root=lambda s: s)),
    row_lost=("the mean square of a row has to keep its axis (keepdim=True), or it lines up with the columns",
              scaled_but(mean=lambda s: s.mean(-1))),
    weight_divided=("multiply by the weight, do not divide", scaled_but(times=lambda y, weight: y / weight)))
