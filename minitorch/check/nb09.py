"""Checks of lesson 9, "Sequences: from counts to attention": counts, perplexity, masks, attention, heads, sampling."""

import numpy as np

from .. import arange, cat, exp, ones, ones_like, where, zeros_like
from .exercise import Exercise
from .naming import variants

bigram = Exercise(
    "nb09.bigram", "Probabilities of the next symbol from a table of counts, each count raised by one; rows are the "
    "symbols before.",
    ("What must each row add up to?", "Add one everywhere, then divide each row by its own sum.",
     "raised = counts + 1; return raised / raised.sum(____, keepdim=____)"))
bigram.cases(lambda: [(np.array([[1.0, 0.0], [2.0, 3.0]]),), (np.array([[0.0, 0.0], [5.0, 1.0]]),)])
bigram.draw(lambda d: (d.integers((n := d.int(2, 3), n), 0, 5).astype(float),))


def shares(counts, above=1, below=1, total=lambda n: n.sum(1, keepdim=True)):
    """Counts over their sums, with every decision as an option."""
    return (counts + above) / total(counts + below)


shares_but = variants(shares)
bigram.truth(shares)
bigram.slips(
    columns=("normalised over the columns: the *next* symbol varies along a row",
             shares_but(total=lambda n: n.sum(0, keepdim=True))),
    not_raised=("a pair that was never seen gets probability 0, and its first occurrence a loss of infinity: add one",
                shares_but(above=0, below=0)),
    all_together=("divided by the sum of the whole table: each *row* has to add up to 1",
                  shares_but(total=lambda n: n.sum())),
    row_lost=("the sums of the rows line up with the columns: keepdim=True", shares_but(total=lambda n: n.sum(1))),
    late=("raised after dividing: the rows do not add up to 1", lambda n: n / n.sum(1, keepdim=True) + 1),
    denominator=("the denominator has to be raised, too: by one for each symbol",
                 lambda n: (n + 1) / (n.sum(1, keepdim=True) + 1)),
    softmax=("softmax is for logits; counts only need to be divided", lambda n: (n + 1).softmax(1)))

perplexity = Exercise(
    "nb09.perplexity", "The perplexity of a model from its losses (natural logarithms), one for each symbol.",
    ("A model that hesitates between 5 equally likely symbols loses log 5 each time; its perplexity is 5.",
     "First the mean of the losses, then undo the logarithm.",
     "return (losses.____).exp()"))
perplexity.cases(lambda: [(np.log([5.0, 5.0]),), (np.array([0.0, 2.0]),)])
perplexity.draw(lambda d: (d.array((d.int(2, 4),), 0.1, 3),))
perplexity.truth(lambda losses: exp(losses.mean()))
perplexity.slips(
    mean_of_exp=("the mean of the exponentials: one bad symbol then decides everything", lambda x: exp(x).mean()),
    no_exp=("that is the loss itself", lambda x: x.mean()),
    base_two=("losses are in natural logarithms: exp, not a power of 2", lambda x: 2 ** x.mean()),
    summed=("the *mean* loss: otherwise long texts are punished", lambda x: exp(x.sum())),
    inverted=("exp(-loss) is a probability; its inverse is the perplexity", lambda x: exp(-x.mean())),
    largest=("that is the worst symbol's", lambda x: exp(x.max())))

causal = Exercise(
    "nb09.causal", "A bool tensor (n, n), True where position i (row) may look at position j (column): at itself and "
    "before.",
    ("The first row: what may the first symbol look at?", "j <= i: a lower triangle, with its diagonal.",
     "torch.ones(n, n).____.bool()"))
causal.cases(lambda: [(1,), (2,), (3,), (5,)])


def triangle(n, part=lambda x: x.tril(), end=lambda x: x.bool()):
    """Some part of a matrix of ones, as some type."""
    return end(part(ones(n, n)))


triangle_but = variants(triangle)
causal.truth(triangle)
causal.slips(
    future=("an upper triangle: each position looks into the future", triangle_but(part=lambda x: x.triu())),
    no_self=("the diagonal is missing: a position may look at itself, and the first one at nothing else",
             triangle_but(part=lambda x: x.tril(-1))),
    peeks=("one too far: each position sees the symbol that it has to predict", triangle_but(part=lambda x: x.tril(1))),
    inverted=("True where it may *not* look: here True means allowed", triangle_but(end=lambda x: ~x.bool())),
    everything=("everybody looks at everything", triangle_but(part=lambda x: x)),
    numbers=("zeros and ones are not bools", triangle_but(end=lambda x: x)),
    only_self=("only at itself: then nothing is passed on", lambda n: arange(n)[:, None] == arange(n)),
    infinite=("zeros and minus infinities are to be added to scores; a bool is asked for here",
              lambda n: where(ones(n, n).tril().bool(), 0.0, float("-inf"))))

attention = Exercise(
    "nb09.attention", "softmax(q k' / sqrt(d)) v, with weight 0 where mask is False; q (T, d), k (S, d), v (S, e), "
    "also with batches in front.",
    ("Scores first: one for each pair of a query and a key. Over which axis do the weights add up to 1?",
     "Scores are the products of queries with keys, over sqrt(d); minus infinity where the mask is False; softmax "
     "over the keys; times v. `.T` turns *all* axes: with a batch in front, exchange the last two only.",
     "scores = q @ k.transpose(____, ____) / ____; return scores.masked_fill(____, float('-inf')).softmax(____) @ v"))


@attention.draw
def _(d):
    t, s, e, n = d.int(1, 3), d.int(2, 3), d.int(1, 2), d.choice([2, 4])
    mask, batch = np.tril(np.ones((t, s), bool)), d.choice([(), (), (2,), (2, 1)])
    return (d.integers((*batch, t, n), -2, 2).astype(float), d.integers((*batch, s, n), -2, 2).astype(float),
            d.integers((*batch, s, e), -3, 3).astype(float), mask)


def masked(scores, mask, axis):
    return scores.masked_fill(~mask, float("-inf")).softmax(axis)


def attend(q, k, v, mask, *, scale=0.5, axis=-1, use=lambda mask: mask, weigh=masked,
           turned=lambda k: k.transpose(-2, -1)):
    """Attention, with every decision as an option."""
    return weigh(q @ turned(k) / q.shape[-1] ** scale, use(mask), axis) @ v


attend_but = variants(attend)
attention.truth(attend)
attention.slips(
    no_scale=("not divided by sqrt(d): with many dimensions the largest score takes everything", attend_but(scale=0)),
    all_axes=("`k.T` turns all axes: with a batch in front, exchange the last two only, `k.transpose(-2, -1)`",
              attend_but(turned=lambda k: k.permute(*reversed(range(k.ndim))))),
    by_d=("divided by d: it is the root that keeps the variance at 1", attend_but(scale=1)),
    queries=("the weights add up to 1 over the *queries*: softmax runs over the keys, the last axis",
             attend_but(axis=-2)),
    first_axis=("softmax over axis 0: that is the queries, or the batch; it runs over the keys, the last axis",
                attend_but(axis=0)),
    late=("masked after the softmax: the weights that are left do not add up to 1",
          attend_but(weigh=lambda scores, mask, axis: scores.softmax(axis) * mask)),
    inverted=("the mask is used the wrong way round: True means allowed", attend_but(use=lambda mask: ~mask)),
    no_mask=("the mask is not used", attend_but(use=ones_like)),
    no_softmax=("raw scores are not weights: softmax is missing",
                attend_but(weigh=lambda scores, mask, axis: scores * mask)),
    zeroed=("scores of 0 still get weight, exp(0) = 1: use minus infinity",
            attend_but(weigh=lambda scores, mask, axis: (scores * mask).softmax(axis))))

heads = Exercise(
    "nb09.heads", "Cut (T, C) into heads: (n, T, C / n), head h having channels h C/n to (h + 1) C/n of each position.",
    ("What has to stay together: the channels of one head at one position.",
     "First cut the last axis into (heads, channels), then bring the heads to the front.",
     "x.reshape(____, n, -1).transpose(____, ____)"))
heads.draw(lambda d: (np.arange(float((t := d.int(2, 3)) * (c := d.choice([4, 6])))).reshape(t, c), 2))
heads.truth(lambda x, n: x.reshape(x.shape[0], n, -1).transpose(0, 1))
heads.slips(
    only_reshaped=("a reshape alone mixes positions: the shape is right, the numbers are not",
                   lambda x, n: x.reshape(n, x.shape[0], -1)),
    not_moved=("the heads have to come first: transpose", lambda x, n: x.reshape(x.shape[0], n, -1)),
    interleaved=("head h got every n-th channel: they should be neighbours",
                 lambda x, n: x.reshape(x.shape[0], -1, n).permute(2, 0, 1)),
    positions_last=("channels and positions are exchanged", lambda x, n: x.reshape(x.shape[0], n, -1).permute(1, 2, 0)),
    from_the_front=("the *positions* were cut into heads", lambda x, n: x.reshape(n, -1, x.shape[1])),
    repeated=("each head gets its own channels, not all of them", lambda x, n: x.expand(n, *x.shape)),
    reversed=("the heads are in the wrong order", lambda x, n: x.reshape(x.shape[0], n, -1).transpose(0, 1).flip(0)))

top_k = Exercise(
    "nb09.top_k", "Probabilities for sampling: softmax of logits / temperature over the k largest, 0 for the others.",
    ("What becomes of the probability of those that are cut off?",
     "Cut first, then softmax: what is left adds up to 1.",
     "edge = logits.topk(k).values[____]; return (logits / ____).masked_fill(____, float('-inf')).softmax(-1)"))


@top_k.draw
def _(d):
    n = d.int(3, 5)
    logits = np.array(sorted(range(n), key=lambda i: (i * 7 + n) % 5)) * d.choice([0.5, 1.0, -1.0])
    return logits, d.int(1, n - 1), d.choice([0.5, 2.0])


def chosen(logits, k, temperature, *, largest=True, scale=lambda x, t: x / t):
    edge = logits.topk(k, largest=largest).values[-1]
    out = logits < edge if largest else logits > edge
    return scale(logits, temperature).masked_fill(out, float("-inf")).softmax(-1)


chosen_but = variants(chosen)
top_k.truth(chosen)
top_k.slips(
    multiplied=("multiplied by the temperature: a *high* temperature makes the choice more even, so divide",
                chosen_but(scale=lambda logits, t: logits * t)),
    no_temperature=("the temperature is not used", chosen_but(scale=lambda logits, t: logits)),
    not_renormalised=("cut after the softmax: what is left does not add up to 1",
                      lambda x, k, t: (x / t).softmax(-1) * (x >= x.topk(k).values[-1])),
    everything=("nothing is cut off", lambda x, k, t: (x / t).softmax(-1)),
    smallest=("the k *smallest* are kept", chosen_but(largest=False)),
    one_more=("one too many: k are kept, not k + 1", lambda x, k, t: chosen(x, k + 1, t)),
    after_probabilities=("the temperature belongs to the logits, not to the probabilities",
                         lambda x, k, t: chosen(x, k, 1.0) / t),
    only_the_best=("always the most likely one", lambda x, k, t: (x == x.max()).double() / (x == x.max()).sum()))

cached = Exercise(
    "nb09.cached", "Attention of one new position: its k and v join the cache (keys, values), its q looks at all of "
    "it. Returns the output, the new keys and the new values.",
    ("The new position may look at itself, too: in which order do you do things?",
     "Append first, then attend; no mask is needed, nothing lies in the future.",
     "keys = torch.cat([keys, ____]), values likewise; weights = (____ @ q / q.shape[-1] ** 0.5).softmax(____); "
     "return weights @ ____, keys, values"), parts=("output", "new keys", "new values"))


@cached.draw
def _(d):
    s, n, e = d.int(1, 3), 4, d.int(1, 2)
    return tuple(d.integers(shape, -2, 2).astype(float) for shape in ((n,), (n,), (e,), (s, n), (s, e)))


def step(q, k, v, keys, values, *, scale=0.5, look=None):
    new_keys, new_values = cat([keys, k[None]]), cat([values, v[None]])
    a, b = look(keys, values, new_keys, new_values) if look else (new_keys, new_values)
    return (a @ q / q.shape[-1] ** scale).softmax(0) @ b, new_keys, new_values


step_but = variants(step)
cached.truth(step)
cached.slips(
    before=("attends before its own key has joined: a position may look at itself",
            step_but(look=lambda a, b, c, d: (a, b))),
    not_kept=("the cache does not grow: the next position will not see this one",
              lambda q, k, v, keys, values: (step(q, k, v, keys, values)[0], keys, values)),
    in_front=("the new key goes to the front: the cache is in the order of the positions",
              lambda q, k, v, keys, values: (step(q, k, v, keys, values)[0], cat([k[None], keys]),
                                             cat([v[None], values]))),
    no_scale=("not divided by sqrt(d)", step_but(scale=0)),
    only_itself=("looks at itself alone", lambda q, k, v, keys, values: (v, *step(q, k, v, keys, values)[1:])),
    exchanged=("keys and values are exchanged in what is returned",
               lambda *x: (lambda out, a, b: (out, b, a))(*step(*x))),
    no_softmax=("raw scores: softmax is missing",
                lambda q, k, v, keys, values: (cat([keys, k[None]]) @ q / q.shape[-1] ** 0.5 @ cat([values, v[None]]),
                                               *step(q, k, v, keys, values)[1:])),
    old_values=("the new value did not join: its place holds zeros",
                lambda q, k, v, keys, values: step(q, k, zeros_like(v), keys, values)))
