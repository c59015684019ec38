"""`RenderedDigits`: 28x28 images of digits, drawn by a program that imitates many people's hands.

The digits are not handwritten. Each is a path of strokes (`strokes.py` has 31 of them), bent as a
person of the program's invention bends it, then drawn with a soft pen: `render`. Everything is a
few array operations for a whole batch, so 10,000 images take about two seconds.
"""

import os
from collections.abc import Callable

import numpy as np

from .. import from_numpy
from .digits import DigitImages
from .strokes import POINTS, paths

SIDE, BOX = 28, 20.0            # pixels of an image, and of the box that a digit fills, as in MNIST
WRITERS = {True: range(400), False: range(400, 600)}
SIZES = {True: 20_000, False: 10_000}


class RenderedDigits(DigitImages):
    """Rendered digits in MNIST's format: 28x28, 0 to 255, white on black, 20 pixels high, centred by their mass.

    root, download: taken as by the other data sets, and not used: the images are made when the object is.
    train: True for images of the writers 0 to 399, False for those of the writers 400 to 599, who
    have no
        images in the training part.
    size: the number of images, default 20,000 for training and 10,000 for testing; the digits are equally frequent.
    seed: another seed makes other people and other images. The same seed gives the same images everywhere, up to the
        rounding of a grey value.
    tilt: the largest rotation of an image in degrees beyond the writer's own slant.

    A *writer* chooses between the forms of each digit (a seven with or without a bar), bends each in a way of his own,
    has a slant, a proportion and a pen. Each image adds what changes from one time to the next: rotation, scale,
    a smooth deformation, strokes that begin late or end early, pressure.

    What differs from handwriting: all forms come from 31 paths, so there are no corrections, no blots, no strange
    forms, no wrong labels. A network that has 99 % here has less on images of real pens.

    ``data`` is uint8 (N, 28, 28), ``targets`` int64 (N,), ``writers`` int64 (N,).

    >>> digits = RenderedDigits(train=False, size=20)
    >>> digits.data.shape, sorted(digits.targets.tolist()) == sorted(2 * list(range(10)))
    (torch.Size([20, 28, 28]), True)
    """

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        *,
        size: int | None = None,
        seed: int = 0,
        tilt: float = 8.0,
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        size = SIZES[bool(train)] if size is None else size
        if size < 0:
            raise ValueError(f"size must be a number of images, 0 or more, got {size}")
        self.train, self.seed = bool(train), seed
        rng = np.random.default_rng([seed, int(self.train)])
        labels = rng.permutation(np.arange(size) % 10)
        writers = rng.choice(np.array(WRITERS[self.train]), size)
        images = np.empty((size, SIDE, SIDE), np.uint8)
        hands = hands_of(seed)
        for start in range(0, size, 2000):                 # as much at a time as stays in the caches
            chosen = slice(start, start + 2000)
            images[chosen] = drawn(labels[chosen], writers[chosen], hands, rng, tilt)
        self.data, self.targets = from_numpy(images), from_numpy(labels.astype(np.int64))
        self.writers = from_numpy(writers.astype(np.int64))

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def hands_of(seed):
    """Traits of all writers: arrays whose first axis is the writer."""
    n, rng = WRITERS[False].stop, np.random.default_rng([seed, 2])
    return {"form": rng.random((n, 10)), "bend": waves(rng, (n, 10), 0.045), "slant": rng.normal(0.12, 0.16, n),
            "width": rng.uniform(0.78, 1.22, n), "pen": rng.uniform(0.75, 1.35, n), "tilt": rng.normal(0, 3.0, n)}


def waves(rng, shape, size):
    """Smooth displacements of the plane: three waves for each of `shape` and each of two directions."""
    return {"k": rng.uniform(-4.5, 4.5, (*shape, 3, 2)), "phase": rng.uniform(0, 2 * np.pi, (*shape, 3, 2)),
            "size": rng.normal(0, size, (*shape, 3, 2))}


def moved(points, waves):
    """Points (N, P, 2) after the displacement of `waves`."""
    angle = points @ waves["k"].transpose(0, 2, 1)                         # (N, P, 3)
    step = np.sin(angle[..., None] + waves["phase"][:, None]) * waves["size"][:, None]
    return points + step.sum(2)


def drawn(labels, writers, hands, rng, tilt):
    """Images (N, 28, 28) of uint8 of these digits by these writers."""
    n, (table, first, count) = len(labels), paths()
    form = first[labels] + (hands["form"][writers, labels] * count[labels]).astype(int)
    points, ink = table[form, :, :2], table[form, :, 2].copy()
    own = {name: array[writers, labels] for name, array in hands["bend"].items()}
    points = moved(moved(points, own), waves(rng, (n,), 0.022))
    ends = rng.exponential(0.012, (2, n, 1)).clip(0, 0.05)                 # strokes that begin late or end early
    along = np.linspace(0, 1, POINTS)
    ink *= (along >= ends[0]) & (along <= 1 - ends[1])
    ink *= 1 + 0.25 * np.sin(along * rng.uniform(2, 9, (n, 1)) + rng.uniform(0, 2 * np.pi, (n, 1)))
    angle = np.radians(hands["tilt"][writers] + rng.uniform(-tilt, tilt, n))
    slant = hands["slant"][writers] + rng.normal(0, 0.06, n)
    width = hands["width"][writers] * rng.normal(1, 0.06, n).clip(0.8, 1.2)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.stack([np.stack([c * width, c * -slant - s], 1), np.stack([s * width, s * -slant + c], 1)], 1)
    points = placed(points @ turn.transpose(0, 2, 1), ink)
    pen = hands["pen"][writers] * rng.normal(1, 0.08, n).clip(0.8, 1.2)
    return np.rint(render(points, ink, pen) * 255).astype(np.uint8)


def placed(points, ink):
    """Points (N, P, 2) scaled to the box of 20 pixels and moved so that the mass of the ink is in the middle."""
    there = ink > 0
    low = np.where(there[..., None], points, np.inf).min(1, keepdims=True)
    high = np.where(there[..., None], points, -np.inf).max(1, keepdims=True)
    points = (points - low) * (BOX / np.maximum((high - low).max(2, keepdims=True), 1e-6))
    mass = lengths(points, ink)
    middle = (points * mass[..., None]).sum(1) / np.maximum(mass.sum(1), 1e-6)[:, None]
    return points - middle[:, None] + (SIDE - 1) / 2


def lengths(points, ink):
    """The ink of each point: as much as its step to the next one is long; none where the pen is up."""
    step = np.zeros(ink.shape)
    step[:, :-1] = np.sqrt(((points[:, 1:] - points[:, :-1]) ** 2).sum(2))
    return step * ink


def render(points, ink, pen):
    """Images (N, 28, 28), 0 to 1, of paths drawn with a round, soft pen.

    points: (N, P, 2), x and y in pixels, the middle of the first pixel being 0; the pen goes from each to the next.
    ink: (N, P), how much flows on the way from a point to the next, about 1; 0 where the pen is up.
    pen: (N,), the standard deviation of the pen's spot in pixels.

    The spots of a path add up; paper takes no more than black: ``1 - exp(-2.5 d)`` for a density of `d`, which is 1 in
    the middle of a straight line.
    """
    pen = np.asarray(pen, float)[:, None, None]
    amount = lengths(points, ink)[..., None] / (np.sqrt(2 * np.pi) * pen)
    x, y = (np.exp(-0.5 * ((points[..., i:i + 1] - np.arange(SIDE)) / pen) ** 2).astype(np.float32) for i in (0, 1))
    return 1 - np.exp(-2.5 * ((y * amount.astype(np.float32)).transpose(0, 2, 1) @ x))
