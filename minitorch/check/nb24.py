"""Checks of lesson 24, "Data": a dataset, batches, collating, standardising, shifting, weights of rare classes."""

import numpy as np

from .. import bincount, cat, int64, ones, roll, tensor
from ..nn.functional import pad
from .exercise import Exercise, show

pictures = Exercise(
    "nb24.pictures", "A dataset: len() is the number of images, item i is (image, label), the image transformed if "
    "there is a transform, again at each access.",
    ("When should `transform` run: in `__init__` or in `__getitem__`?",
     "Keep the three arguments. An item is a pair; the transform sees the image only.",
     "image = self.images[i]; if self.transform is not ____: image = ____; return image, ____"), tries=10)


@pictures.draw
def _(d):
    n = d.int(1, 4)
    return d.integers((n, 2), 0, 9).astype(float), d.integers((n,), 0, 3), d.bool()


@pictures.run
def _(solution, images, labels, transformed):
    """Its length, its items, item 0 once more, and how often the transform had run before and after."""
    calls = []

    def count_and_add(image):
        calls.append(image.tolist())
        return image + 100 * len(calls)
    dataset = solution(images, labels, count_and_add if transformed else None)
    before = len(calls)
    items = [dataset[i] for i in [*range(len(images)), 0]]
    return [len(dataset), [tuple(item) if isinstance(item, list) else item for item in items], before, len(calls)]


pictures.describe(lambda images, labels, transformed: (
    f"images {show(images)}, labels {show(labels)}, {'a transform that adds 100, then 200 ...' if transformed else ''} "
    "The length, all items and the first once more; calls of the transform before and after"))


class Right:
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.images)

    def changed(self, image):
        return image if self.transform is None else self.transform(image)

    def __getitem__(self, i):
        return self.changed(self.images[i]), self.labels[i]


pictures.truth(Right)


@pictures.mistake("the transform runs in `__init__`: then an image is the same each time, and the start takes long")
class at_once(Right):
    def __init__(self, images, labels, transform=None):
        super().__init__([image if transform is None else transform(image) for image in images], labels)


@pictures.mistake("the transform is not used")
class no_transform(Right):
    def changed(self, image):
        return image


@pictures.mistake("an item is a pair: the label is missing")
class no_label(Right):
    def __getitem__(self, i):
        return self.changed(self.images[i])


@pictures.mistake("the image comes first, then the label")
class label_first(Right):
    def __getitem__(self, i):
        return super().__getitem__(i)[::-1]


@pictures.mistake("what the transform gave is kept: the second time it should run again")
class kept(Right):
    def __init__(self, *args):
        super().__init__(*args)
        self.found = {}

    def __getitem__(self, i):
        if i not in self.found:
            self.found[i] = super().__getitem__(i)
        return self.found[i]


@pictures.mistake("the transform is applied twice")
class twice(Right):
    def changed(self, image):
        return super().changed(super().changed(image))


@pictures.mistake("the length is one too small")
class short(Right):
    def __len__(self):
        return len(self.images) - 1


@pictures.mistake("images and labels are shifted against each other")
class slipped(Right):
    def __getitem__(self, i):
        return self.changed(self.images[i]), self.labels[i - 1]


batches = Exercise(
    "nb24.batches", "Indices cut into lists of `size`, in order; the last may be smaller, or left out: drop_last.",
    ("Where do the batches begin? At 0, size, 2 size ...",
     "order[i:i + size] for these i. Then look at the last one, if there is one.",
     "found = [order[____:____] for i in range(0, len(order), ____)]; with drop_last: found[:____] if ____"),
    tensors=False)
batches.cases(lambda: [([3, 1, 2], 2, False), ([3, 1, 2], 2, True), ([3, 1, 2, 0], 2, True), ([], 2, True),
                       ([5], 3, True), ([5], 3, False), ([4, 2, 1, 3, 0], 2, False)])
batches.draw(lambda d: ([d.int(0, 9) for _ in range(d.int(0, 8))], d.int(1, 4), d.bool()))


def cut(order, size, drop_last=False, *, last=lambda batch, size: len(batch) < size):
    found = [order[i:i + size] for i in range(0, len(order), size)]
    return found[:-1] if drop_last and found and last(found[-1], size) else found


batches.truth(cut)
batches.slips(
    always_dropped=("the last batch is left out even if nobody said drop_last", lambda o, n, d=False: cut(o, n, True)),
    never_dropped=("drop_last is not used", lambda o, n, d=False: cut(o, n)),
    full_dropped=("with drop_last the last batch is left out though it is full",
                  lambda *a: cut(*a, last=lambda batch, size: True)),
    sorted=("the order is lost: somebody has shuffled it", lambda o, *a: cut(sorted(o), *a)),
    number=("`size` batches, where batches *of* `size` are asked for", lambda o, n, d=False: cut(
        o, max(1, -(-len(o) // n)), d)),
    overlapping=("an index is in several batches: move on by `size`",
                 lambda o, n, d=False: [o[i:i + n] for i in range(len(o))]),
    every_nth=("batch k has every n-th index: neighbours in the order belong together",
               lambda o, n, d=False: [o[k::-(-len(o) // n)] for k in range(-(-len(o) // n))]),
    wrapped=("the last batch is filled up from the beginning: some are seen twice", lambda o, n, d=False: [
        (o + o * n)[i:i + n] for i in range(0, len(o), n)]),
    exchanged=("drop_last is used the wrong way round", lambda o, n, d=False: cut(o, n, not d)))

collate = Exercise(
    "nb24.collate", "Sequences padded with zeros to the longest (N, L), their lengths (N,) and labels (N,), int64.",
    ("How long is the longest of *this* batch?",
     "Begin with zeros (N, longest); write each sequence into the beginning of its row.",
     "padded = torch.zeros(____, ____, dtype=____); padded[i, :____] = torch.tensor(____)"), tensors=False)
collate.cases(lambda: [([([1, 2], 0), ([3], 1)],), ([([5], 2)],), ([([1], 0), ([2, 3, 4], 1), ([5, 6], 0)],)])
collate.draw(lambda d: ([([d.int(1, 9) for _ in range(d.int(1, 4))], d.int(0, 2)) for _ in range(d.int(1, 4))],))
collate.describe(lambda samples: f"collate({samples})")


@collate.run
def _(solution, samples):
    found = solution(samples)
    if not isinstance(found, (tuple, list)):
        return found
    return [[part, str(part.dtype).split(".")[-1]] if hasattr(part, "dtype") else part for part in found]


def padded(samples, *, length=None, fill=0, front=False):
    sizes = [len(sequence) for sequence, _ in samples]
    n = length or max(sizes)
    rows = [[fill] * (n - len(s)) + list(s) if front else (list(s) + [fill] * n)[:n] for s, _ in samples]
    return (tensor(rows), tensor(sizes), tensor([label for _, label in samples]))


collate.truth(padded)
collate.slips(
    front=("padded in front: here the sequences begin at the left", lambda s: padded(s, front=True)),
    cut=("cut to the shortest: the longest decides", lambda s: padded(s, length=min(len(x) for x, _ in s))),
    minus_one=("padded with -1: zeros are asked for", lambda s: padded(s, fill=-1)),
    floats=("a tensor of floats: indices are integers, dtype=torch.int64", lambda s: (
        padded(s)[0].float(), *padded(s)[1:])),
    padded_lengths=("all lengths are those of the padded rows: nobody can tell the padding from words then",
                    lambda s: (padded(s)[0], ones(len(s), dtype=int64) * padded(s)[0].shape[1], padded(s)[2])),
    no_lengths=("the lengths are missing", lambda s: padded(s)[::2]),
    columns=("sequences are columns: each is a row", lambda s: (padded(s)[0].T, *padded(s)[1:])),
    sorted=("sorted by length: then each item stands elsewhere", lambda s: padded(sorted(s, key=lambda x: -len(x[0])))),
    ten=("padded to a fixed length, not to the longest of the batch", lambda s: padded(s, length=10)),
    order=("in another order: padded, lengths, labels", lambda s: (padded(s)[0], *padded(s)[:0:-1])))

standardise = Exercise(
    "nb24.standardise", "Training and test data (rows are samples), both by mean and standard deviation "
    "(unbiased=False) of the training data.",
    ("Which numbers would you use for one sample that comes tomorrow?",
     "Mean and deviation of each column of `train`; both tensors are changed by the same two rows of numbers.",
     "mean, std = ____.mean(____), ____; (train - mean) / std, (____ - ____) / ____"), parts=("training", "test"))
standardise.draw(lambda d: (d.apart([(d.int(2, 3), 2)])[0], d.array((d.int(2, 3), 2), -3, 3)))


def by(train, test, *, other=None, axis=0, unbiased=False, shift=True, power=1.0):
    def numbers(x):
        return ((x.mean(axis, keepdim=True) if shift else 0 * x.mean(axis, keepdim=True)),
                x.std(axis, keepdim=True, unbiased=unbiased) ** power)
    a, b = numbers(train), numbers(train if other is None else other)
    return (train - a[0]) / a[1], (test - b[0]) / b[1]


def by_both(train, test):
    both = cat([train, test])
    mean, std = both.mean(0), both.std(0, unbiased=False)
    return (train - mean) / std, (test - mean) / std


standardise.truth(by)
standardise.slips(
    leak=("mean and deviation of training *and* test data: the test set has a say", by_both),
    own=("the test data are standardised by their own mean: a single sample could not be, and would always be 0",
         lambda a, b: by(a, b, other=b)),
    unbiased=("divided by n - 1: here unbiased=False", lambda a, b: by(a, b, unbiased=True)),
    variance=("divided by the variance: the standard deviation is its root", lambda a, b: by(a, b, power=2.0)),
    whole=("one mean for all features: each column has its own",
           lambda a, b: tuple((x - a.mean()) / a.std(unbiased=False) for x in (a, b))),
    not_shifted=("the mean is not subtracted", lambda a, b: by(a, b, shift=False)),
    not_scaled=("not divided by the deviation", lambda a, b: (a - a.mean(0), b - a.mean(0))),
    test_left=("the test data are left as they are: the model would meet other numbers than in training",
               lambda a, b: (by(a, b)[0], b)),
    minmax=("scaled to 0 and 1: mean 0 and deviation 1 are asked for", lambda a, b: tuple(
        (x - a.min(0).values) / (a.max(0).values - a.min(0).values) for x in (a, b))))

shift = Exercise(
    "nb24.shift", "Images (N, 1, H, W) moved down and to the right, with zeros where nothing comes in.",
    ("`torch.roll` moves, too. What does it bring in at the edge?",
     "Pad with zeros on all sides, then cut an H by W window out of it, or copy the part that stays into zeros.",
     "large = F.pad(images, ____); large[..., abs(down) - ____:____, abs(right) - ____:____]"))
shift.cases(lambda: [(np.arange(1.0, 5).reshape(1, 1, 2, 2), 0, 0)])
shift.draw(lambda d: (d.integers((d.int(1, 2), 1, 3, 4), 1, 9).astype(float), d.int(-2, 2), d.int(-2, 2)))


def slid(images, down, right):
    h, w = images.shape[-2:]
    large = pad(images, (3, 3, 3, 3))
    return large[..., 3 - down:3 - down + h, 3 - right:3 - right + w]


shift.truth(slid)
shift.slips(
    rolled=("what goes out on one side comes in on the other: zeros should come in",
            lambda x, down, right: roll(x, (down, right), (-2, -1))),
    backwards=("moved in the opposite direction: a positive `down` moves down",
               lambda x, down, right: slid(x, -down, -right)),
    up=("down and up are exchanged: rows are counted from the top", lambda x, down, right: slid(x, -down, right)),
    left=("right and left are exchanged", lambda x, down, right: slid(x, down, -right)),
    exchanged=("rows and columns are exchanged", lambda x, down, right: slid(x, right, down)),
    grown=("the image has grown: cut H by W out again",
           lambda x, down, right: pad(x, (abs(right),) * 2 + (abs(down),) * 2)),
    only_down=("only moved down", lambda x, down, right: slid(x, down, 0)),
    only_right=("only moved to the right", lambda x, down, right: slid(x, 0, right)),
    not_negative=("negative steps are not made", lambda x, down, right: slid(x, max(down, 0), max(right, 0))),
    absolute=("the sign of a step is lost", lambda x, down, right: slid(x, abs(down), abs(right))))

weights = Exercise(
    "nb24.weights", "The probability of each image to be drawn, so that all classes that occur are equally likely.",
    ("Of a class with 10 images, each is drawn a tenth as often as the only one of another class.",
     "1 / (how often the image's class occurs), then divided by the sum of these.",
     "counts = torch.bincount(____); per_image = 1 / counts[____]; per_image / ____"))
weights.cases(lambda: [(np.array([0, 0, 1]), 2), (np.array([2, 2, 2]), 3), (np.array([0, 1, 1, 1, 2]), 4)])
weights.draw(lambda d: (d.integers((d.int(2, 6),), 0, 2), 3))


def chances(labels, classes, *, power=1.0, scaled=True):
    each = bincount(labels, minlength=classes)[labels].double() ** -power
    return each / each.sum() if scaled else each


weights.truth(chances)
weights.slips(
    not_scaled=("probabilities add up to 1", lambda *a: chances(*a, scaled=False)),
    by_class=("one number for each *class*: each image gets one", lambda labels, classes: (
        lambda each: each / each.sum())(1 / bincount(labels, minlength=classes).double().clamp(min=1))),
    frequent=("the frequent classes are drawn even more often", lambda *a: chances(*a, power=-1.0)),
    uniform=("all images are equally likely: that is what there was before", lambda *a: chances(*a, power=0.0)),
    root=("the root of the counts: a compromise that people use, but classes are not equally likely",
          lambda *a: chances(*a, power=0.5)),
    squared=("the inverse square: now the rare classes are the frequent ones", lambda *a: chances(*a, power=2.0)),
    missing_count=("a class that does not occur takes its share, so the probabilities add up to less than 1",
                   lambda labels, classes: chances(labels, classes, scaled=False) / classes),
    complement=("1 minus the class's share: rare classes are still drawn too rarely", lambda labels, classes: (
        lambda each: each / each.sum())(
            1 - bincount(labels, minlength=classes)[labels].double() / (len(labels) + 1))))
