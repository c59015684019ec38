"""Checks of lesson 22, "Digits that you draw": a split by people, an interval, the preparation of a drawing."""

import math

import numpy as np

from .. import arange, isin, tensor
from .exercise import Exercise

split = Exercise(
    "nb22.split", "The indices of the images by other writers, and of those by the writers held out.",
    ("Ask for each image: is its writer among those held out?",
     "A bool tensor with that answer; the indices where it is False are for training, the others for the test.",
     "testing = (writers[:, None] == ____).any(____); torch.arange(____)[~testing], ____"),
    parts=("training", "test"))
split.cases(lambda: [(np.array([0, 1, 0, 2, 1]), [1]), (np.array([3, 3, 4]), [4, 5]), (np.array([0, 1]), [7])])
split.draw(lambda d: (d.integers((d.int(3, 7),), 0, 4), d.choice([[0], [1, 3], [4, 2]])))


def parts(writers, held_out):
    testing = isin(writers, tensor(held_out))
    return arange(len(writers))[~testing], arange(len(writers))[testing]


def by_index(writers, held_out):
    """Images are held out, as many as there are writers."""
    n = len(writers)
    k = min(len(held_out), n)
    return arange(n - k), arange(n - k, n)


@split.run
def _(solution, writers, held_out):
    """Lists of indices will do."""
    found = solution(writers, held_out)
    return [tensor(part) if isinstance(part, list) else part for part in found] if isinstance(found, tuple) else found


split.truth(parts)
split.slips(
    exchanged=("the two parts are exchanged: training first", lambda w, h: parts(w, h)[::-1]),
    images=("*images* are split, not people: a writer is in both parts", by_index),
    first_only=("only the first of the writers is held out", lambda w, h: parts(w, h[:1])),
    last_only=("only the last of the writers is held out", lambda w, h: parts(w, h[-1:])),
    masks=("bools: the indices are asked for", lambda w, h: (~isin(w, tensor(h)), isin(w, tensor(h)))),
    writers=("the writers of the images: the *indices* of the images are asked for",
             lambda w, h: tuple(w[i] for i in parts(w, h))),
    everything=("the test images are in the training part, too", lambda w, h: (arange(len(w)), parts(w, h)[1])),
    numbers=("the writers' numbers are used as indices of images",
             lambda w, h: (tensor([i for i in range(len(w)) if i not in h]),
                           tensor([i for i in range(len(w)) if i in h]))))

interval = Exercise(
    "nb22.interval", "The lower and upper end of Wilson's interval for `right` of `n`, with z deviations.",
    ("Write the formula in three lines: p, the middle, half the width.",
     "p = right / n; both ends are divided by 1 + z^2 / n; under the root stands p (1 - p) / n + z^2 / (4 n^2).",
     "middle = p + ____; half = z * math.sqrt(____ + ____); (middle - half) / ____, ____"))
interval.cases(lambda: [(10, 10, 1.96), (0, 5, 1.96), (3, 4, 1.0)])
interval.draw(lambda d: ((n := d.int(5, 200)) - d.int(0, 4), n, d.choice([1.0, 1.96, 2.58])))


def wilson(right, n, z=1.96, *, shift=True, root=True, under=True, scaled=True, by=1.0):
    p = right / n
    middle = p + (z ** 2 / (2 * n) if shift else 0)
    half = p * (1 - p) / n + (z ** 2 / (4 * n ** 2) if under else 0)
    half = by * z * (math.sqrt(half) if root else half)
    scale = 1 + z ** 2 / n if scaled else 1
    return (middle - half) / scale, (middle + half) / scale


interval.truth(wilson)
interval.slips(
    simple=("the simple interval: at 10 of 10 it has no width, and it can go beyond 1",
            lambda *a: wilson(*a, shift=False, under=False, scaled=False)),
    not_scaled=("1 + z^2/n divides both ends", lambda *a: wilson(*a, scaled=False)),
    not_shifted=("the middle is moved: z^2 / (2 n) is missing", lambda *a: wilson(*a, shift=False)),
    short_root=("under the root z^2 / (4 n^2) is missing", lambda *a: wilson(*a, under=False)),
    no_root=("the root is missing: that is a variance", lambda *a: wilson(*a, root=False)),
    no_z=("half the width has the factor z", lambda right, n, z=1.96: wilson(right, n, z, by=1 / z)),
    half=("half as wide: z goes to *each* side", lambda *a: wilson(*a, by=0.5)),
    ends_exchanged=("the lower end comes first", lambda *a: wilson(*a)[::-1]),
    always_same=("z is not used: 1.96 stands in its place", lambda right, n, z=1.96: wilson(right, n)),
    per_cent=("in per cent: fractions are asked for", lambda *a: tuple(100 * e for e in wilson(*a))))

prepare = Exercise(
    "nb22.prepare", "Points (P, 2) scaled so that the larger side of their bounding box is 20, and moved so that their "
    "mean is (13.5, 13.5).",
    ("A tall 1 must not become as wide as a 0: how many scales are there?",
     "One factor for both directions, from the *larger* side. Then subtract the mean and add the middle.",
     "points = points * 20 / ____.max(); points - ____ + ____"))
prepare.cases(lambda: [(np.array([[0.0, 0.0], [1.0, 2.0]]),), (np.array([[5.0, 5.0], [9.0, 6.0], [9.0, 5.0]]),)])
prepare.draw(lambda d: (d.apart([(d.int(2, 4), 2)])[0] * d.choice([1.0, 30.0]) + d.choice([0.0, 100.0]),))


def fitted(points, *, side=lambda s: s.max(), size=20.0, middle=lambda p: p.mean(0), to=13.5):
    low, high = points.min(0).values, points.max(0).values
    points = points * size / side(high - low)
    return points - middle(points) + to


prepare.truth(fitted)
prepare.slips(
    stretched=("each direction has a scale of its own: a 1 becomes as wide as a 0",
               lambda p: fitted(p, side=lambda s: s)),
    smaller_side=("the *larger* side becomes 20: otherwise a 1 does not fit into the image",
                  lambda p: fitted(p, side=lambda s: s.min())),
    box_centred=("the middle of the box, not the mean of the points, is in the middle: the data are centred by mass",
                 lambda p: fitted(p, middle=lambda q: (q.min(0).values + q.max(0).values) / 2)),
    whole_image=("28 pixels: the digits of the data are 20 high, with a rim", lambda p: fitted(p, size=28.0)),
    corner=("the mean comes to 0: the image's middle is 13.5", lambda p: fitted(p, to=0.0)),
    fourteen=("the middle of pixels 0 to 27 is 13.5, not 14", lambda p: fitted(p, to=14.0)),
    not_scaled=("moved, but not scaled", lambda p: p - p.mean(0) + 13.5),
    not_moved=("scaled, but not moved: where the drawing stood does not matter for a digit",
               lambda p: p * 20 / (p.max(0).values - p.min(0).values).max()),
    shrunk=("divided by 20 times the side: it is multiplied by 20 and divided by the side",
            lambda p: fitted(p, size=1 / 20)))
