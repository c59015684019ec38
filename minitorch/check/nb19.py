"""Checks of lesson 19, "A model that writes": bits per character, windows, a network with embeddings, neighbours."""

import math

import numpy as np

from .. import tanh
from .exercise import Exercise, show

bits = Exercise(
    "nb19.bits", "Bits per character from losses (natural logarithms) and the number of characters they are about.",
    ("One bit is a loss of log 2. How many bits does the whole text need?",
     "The sum of the losses in bits, divided by the characters. There may be fewer losses than characters.",
     "losses.____ / math.log(____) / ____"))
bits.cases(lambda: [(np.log([2.0, 2.0]), 2), (np.log([4.0]), 2)])
bits.draw(lambda d: (d.array((d.int(1, 4),), 0.1, 3), d.int(2, 9)))
bits.truth(lambda losses, characters: losses.sum() / math.log(2) / characters)
bits.slips(
    natural=("still in natural logarithms: one bit is a loss of log 2", lambda x, n: x.sum() / n),
    multiplied=("multiplied by log 2: a loss of log 2 should be one bit", lambda x, n: x.sum() * math.log(2) / n),
    mean=("the mean of the losses is per *loss*: pieces of several characters would look bad",
          lambda x, n: x.mean() / math.log(2)),
    mean_too=("divided twice: by the number of losses and by the characters", lambda x, n: x.mean() / math.log(2) / n),
    total=("that is the whole text: divide by its characters", lambda x, n: x.sum() / math.log(2)),
    perplexity=("that is a perplexity: bits are logarithms", lambda x, n: 2 ** (x.sum() / math.log(2) / n)),
    logarithm=("the logarithm was taken twice: losses are logarithms already", lambda x, n: x.log2().sum() / n),
    base_ten=("divided by log 10: those are decimal digits, not bits", lambda x, n: x.sum() / math.log(10) / n))

windows = Exercise(
    "nb19.windows", "All windows of `context` codes as rows, and the code that follows each: (L - context, context) "
    "and (L - context,).",
    ("With context 2, the text a b c d has two windows that something follows. Which?",
     "Row i is codes[i:i + context], its target codes[i + context]; the last window has nothing after it.",
     "codes.unfold(0, ____, ____)[:____], codes[____:]"))
windows.cases(lambda: [(np.array([5, 6, 7, 8]), 2), (np.array([1, 2]), 1)])
windows.draw(lambda d: (d.integers((d.int(5, 8),), 0, 9), d.int(1, 3)))


def cut(codes, k, *, last=-1, target=0, step=1):
    rows = codes.unfold(0, k, step)
    return rows[:last] if last else rows, codes[k + target:]


windows.truth(cut)
windows.slips(
    one_more=("the last window has no character after it: leave it out", lambda x, k: cut(x, k, last=0)),
    looks=("the target is the last character of the window itself: the network would only have to copy",
           lambda x, k: (cut(x, k)[0], x[k - 1:-1])),
    too_far=("the targets are one character too far", lambda x, k: (cut(x, k)[0][:-1], x[k + 1:])),
    blocks=("windows overlap: the next one begins one character later, not after the end of this one",
            lambda x, k: (x.unfold(0, k, k)[:(len(x) - 1) // k], x[k::k][:(len(x) - 1) // k])),
    columns=("the windows are columns: each *row* is one", lambda x, k: (cut(x, k)[0].T, x[k:])),
    backwards=("each window is reversed: the oldest character comes first", lambda x, k: (cut(x, k)[0].flip(1), x[k:])),
    pairs=("a target for each position of the window: here only the character after its end is asked for",
           lambda x, k: (cut(x, k)[0], x.unfold(0, k, 1)[1:])),
    inputs_only=("the targets are missing: return both", lambda x, k: cut(x, k)[0]))

forward = Exercise(
    "nb19.forward", "Logits (N, n): embeddings of the context side by side, a layer with tanh, a linear layer.",
    ("embedding[x] has the shape (N, context, d). Which shape does w1 expect?",
     "Put the vectors of one context side by side, `flatten(1)`; then a layer with tanh, then one without.",
     "h = torch.tanh(embedding[____].____ @ w1 + ____); h @ ____ + ____"))


@forward.draw
def _(d):
    rows, context, width, hidden, n = d.int(1, 2), d.int(2, 3), 2, d.int(2, 3), 4
    return (d.integers((rows, context), 0, n - 1), d.array((n, width)), d.array((context * width, hidden)),
            d.array((hidden,)), d.array((hidden, n)), d.array((n,)))


forward.describe(lambda x, embedding, w1, b1, w2, b2: (
    f"x = {show(x)}, an embedding of {len(embedding)} characters with {embedding.shape[1]} numbers each, "
    f"{len(b1)} hidden units. The logits"))


def run(x, embedding, w1, b1, w2, b2, *, join=lambda e: e.flatten(1), bend=tanh, end=lambda z: z):
    return end(bend(join(embedding[x]) @ w1 + b1) @ w2 + b2)


forward.truth(run)
forward.slips(
    no_bend=("without tanh two linear layers are one", lambda *a: run(*a, bend=lambda z: z)),
    relu=("relu, where tanh is asked for", lambda *a: run(*a, bend=lambda z: z.relu())),
    interleaved=("the vectors are mixed: first all first numbers, then all second ones. Flatten as it stands",
                 lambda *a: run(*a, join=lambda e: e.transpose(1, 2).flatten(1))),
    reversed=("the context is read backwards", lambda *a: run(*a, join=lambda e: e.flip(1).flatten(1))),
    softmax=("logits are asked for: cross_entropy takes them, and does the softmax itself",
             lambda *a: run(*a, end=lambda z: z.softmax(1))),
    bent_logits=("tanh at the end: logits lie between -1 and 1 then, and nothing can be nearly certain",
                 lambda *a: run(*a, end=tanh)),
    no_first_bias=("the bias of the first layer is missing",
                   lambda x, e, w1, b1, w2, b2: run(x, e, w1, 0 * b1, w2, b2)),
    no_last_bias=("the bias of the last layer is missing",
                  lambda x, e, w1, b1, w2, b2: run(x, e, w1, b1, w2, 0 * b2)),
    same_everywhere=("each place of the context sees the mean of all: their order is lost",
                     lambda *a: run(*a, join=lambda e: e.mean(1, keepdim=True).expand(*e.shape).flatten(1))))

nearest = Exercise(
    "nb19.nearest", "The row, other than i, whose vector has the largest cosine with that of row i, as an int.",
    ("Of two vectors, the cosine is the dot product after both were made one long.",
     "Divide all rows by their norms, multiply by row i, and take care that i itself is not the answer.",
     "unit = embedding / ____; similarity = unit @ ____; similarity[i] = ____; the place of the largest"))


@nearest.draw
def _(d):
    n = d.int(3, 5)
    directions = np.array([[1.0, 0.2], [2.0, 1.0], [-1.0, 0.5], [0.3, -1.2], [-2.0, -1.0]])[:n]
    lengths = np.array([d.choice([0.5, 1.0, 4.0]) for _ in range(n)])
    return directions * lengths[:, None], d.int(0, n - 1)


nearest.cases(lambda: [(np.array([[1.0, 0.0], [0.5, 0.1], [2.0, 2.0], [1.0, -0.9]]), 0)])


def closest(embedding, i, *, unit=True, without=True, largest=True, size=False, score=None):
    rows = embedding / embedding.norm(dim=1, keepdim=True) if unit else embedding
    values = score(rows, i) if score else rows @ rows[i]
    values = values.abs() if size else values
    if without:
        values = values.clone()
        values[i] = -1e9 if largest else 1e9
    return int(values.argmax() if largest else values.argmin())


nearest.truth(closest)
nearest.slips(
    itself=("that is row i itself: everybody is most similar to themselves", lambda *a: closest(*a, without=False)),
    dot=("a dot product without norms: long vectors win whatever their direction", lambda *a: closest(*a, unit=False)),
    farthest=("the *least* similar one", lambda *a: closest(*a, largest=False)),
    opposite=("the opposite direction counts as similar: no absolute value", lambda *a: closest(*a, size=True)),
    distance=("the smallest distance: a vector of the same direction but another length should be found",
              lambda *a: closest(*a, unit=False, largest=False,
                                 score=lambda rows, i: (rows - rows[i]).norm(dim=1))),
    by_columns=("the norms are those of the columns: dim=1, each *row* is a vector",
                lambda e, i: closest(e / e.norm(dim=0), i, unit=False)),
    similarity=("that is how similar it is: the row's number is asked for",
                lambda e, i: float(max((e[j] @ e[i]) / e[j].norm() / e[i].norm() for j in range(len(e)) if j != i))),
    second=("the second best: is row i taken out twice?", lambda e, i: int(
        (e / e.norm(dim=1, keepdim=True) @ e[i]).argsort(descending=True)[2])))
