"""Checks of lesson 21, "A GPT of your own": byte pairs, residual connections, the choice of a token."""

from collections import Counter

import numpy as np

from .exercise import Exercise, show

best_pair = Exercise(
    "nb21.best_pair", "The most frequent pair of neighbours in words with counts; of several, the smallest pair.",
    ("A word that occurs 7 times has each of its pairs 7 times.",
     "A Counter of pairs, zip(tokens, tokens[1:]); each word adds its count, not 1.",
     "counts[pair] += ____ for each pair; then min(counts, key=lambda pair: (____, ____))"), tensors=False)
best_pair.cases(lambda: [([([1, 2], 1)],), ([([1, 2, 3], 2), ([3, 2], 3)],), ([([4, 5], 2), ([1, 2], 2)],),
                         ([([1, 2], 5), ([3, 1, 3, 1, 3, 1], 2)],), ([([2, 1], 3), ([1, 2], 2)],),
                         ([([1, 2, 1, 2], 1), ([2, 3], 2), ([9, 9, 1, 2], 1)],)])
best_pair.draw(lambda d: ([([d.int(1, 3) for _ in range(d.int(2, 5))], d.int(1, 4)) for _ in range(d.int(1, 4))],))
best_pair.describe(lambda words: f"words: {', '.join(f'{tokens} {count} times' for tokens, count in words)}")


def most(words, *, weigh=True, pairs=lambda tokens: zip(tokens, tokens[1:]), order=lambda n, pair: (-n, pair)):
    counts: Counter = Counter()
    for tokens, count in words:
        for pair in pairs(tokens):
            counts[tuple(pair)] += count if weigh else 1
    return min(counts, key=lambda pair: order(counts[pair], pair), default=None)


def with_ends(words):
    return most([([token for tokens, count in words for token in tokens * count], 1)])


best_pair.truth(lambda words: most(words))
best_pair.slips(
    each_once=("a word counts once, whether it occurs once or a thousand times: add its count",
               lambda words: most(words, weigh=False)),
    largest=("of several that are equally frequent the *smallest* pair is asked for",
             lambda words: most(words, order=lambda n, pair: (-n, tuple(-x for x in pair)))),
    rarest=("the rarest pair", lambda words: most(words, order=lambda n, pair: (n, pair))),
    across=("pairs across the end of a word are counted", with_ends),
    no_overlap=("every second pair is left out: 1 2 3 has the pairs (1, 2) and (2, 3)", lambda words: most(
        words, pairs=lambda tokens: zip(tokens[::2], tokens[1::2]))),
    unordered=("(1, 2) and (2, 1) are different pairs", lambda words: most(
        words, pairs=lambda tokens: (sorted(pair) for pair in zip(tokens, tokens[1:])))),
    once_a_word=("a pair that stands twice in a word counts twice for it",
                 lambda words: most(words, pairs=lambda tokens: set(zip(tokens, tokens[1:])))),
    smallest=("the smallest pair, whatever its count", lambda words: most(words, order=lambda n, pair: pair)))

merge = Exercise(
    "nb21.merge", "Tokens with each occurrence of the pair replaced by `new`, from left to right, as a list.",
    ("After a merge, how many tokens have been used up?",
     "An index that moves on by two after a merge, by one otherwise. Look at the last token, too.",
     "while i < len(tokens): if tokens[i:____] is the pair: out.append(____); i += ____; else: ____; i += 1"),
    tensors=False)
merge.cases(lambda: [([1, 2, 3], (1, 2), 9), ([1, 1, 1], (1, 1), 9), ([3, 1, 2], (1, 2), 9), ([1], (1, 2), 9),
                     ([1, 2, 1, 2], (1, 2), 9), ([2, 1], (1, 2), 9), ([1, 1, 1, 1, 1], (1, 1), 9),
                     ([1, 3, 2], (1, 2), 9)])
merge.draw(lambda d: ([d.int(1, 3) for _ in range(d.int(1, 7))], (d.int(1, 2), d.int(1, 2)), 9))
merge.describe(lambda tokens, pair, new: f"merge({tokens}, {pair}, {new})")


def joined(tokens, pair, new, *, most=99, fits=lambda a, b, pair: (a, b) == pair, last=True, step=2, result=list):
    out, i, done = [], 0, 0
    while i < len(tokens):
        if i + 1 < len(tokens) and done < most and fits(tokens[i], tokens[i + 1], pair):
            out.append(new)
            i, done = i + step, done + 1
        else:
            if last or i + 1 < len(tokens):
                out.append(tokens[i])
            i += 1
    return result(out)


def from_the_right(tokens, pair, new):
    return joined(tokens[::-1], pair[::-1], new)[::-1]


merge.truth(joined)
merge.slips(
    once=("only the first occurrence is merged", lambda *a: joined(*a, most=1)),
    last_lost=("the last token is lost if it is not part of a pair", lambda *a: joined(*a, last=False)),
    overlapping=("a token is used for two merges: after a merge move on by two", lambda *a: joined(*a, step=1)),
    either_order=("the pair is taken in both orders: (1, 2) is not (2, 1)",
                  lambda *a: joined(*a, fits=lambda x, y, pair: (x, y) in (pair, pair[::-1]))),
    from_right=("from right to left: of 1 1 1 the *first* two become one", from_the_right),
    either=("one of the two is enough in your rule: both must be there",
            lambda *a: joined(*a, fits=lambda x, y, pair: x == pair[0])),
    unchanged=("nothing is merged", lambda tokens, pair, new: list(tokens)),
    kept=("the pair stays behind the new token", lambda tokens, pair, new: [
        x for token in joined(tokens, pair, new) for x in ([new, *pair] if token == new else [token])]))

encode_word = Exercise(
    "nb21.encode_word", "Tokens of a word with the merges {pair: new} applied until none fits, the earliest learned "
    "first.",
    ("A merge makes a new token, which may be half of another pair. When are you done?",
     "While any pair of neighbours is in merges: take the one with the smallest new number, merge it everywhere.",
     "while there are pairs that fit: pair = min(____, key=____); tokens = merge(tokens, ____, ____)"), tensors=False)
MERGES = {(2, 3): 10, (3, 1): 11, (1, 2): 12, (10, 10): 13, (1, 10): 14, (12, 3): 15}
encode_word.cases(lambda: [([1, 2, 3], MERGES), ([2, 3, 2, 3], MERGES), ([1, 2, 1, 2, 3], MERGES), ([4], MERGES),
                           ([1, 2, 4], MERGES), ([2, 3, 1, 2], MERGES), ([2, 3, 2, 3, 2, 3], MERGES)])
encode_word.draw(lambda d: ([d.int(1, 3) for _ in range(d.int(1, 8))], MERGES))
encode_word.describe(lambda tokens, merges: f"tokens {tokens}, merges {merges}")


def coded(tokens, merges, *, pick=lambda found, merges: min(found, key=merges.get), rounds=99, most=99):
    tokens = list(tokens)
    for _ in range(rounds):
        found = [pair for pair in zip(tokens, tokens[1:]) if pair in merges]
        if not found:
            break
        pair = pick(found, merges)
        tokens = joined(tokens, pair, merges[pair], most=most)
    return tokens


def one_pass(tokens, merges):
    out: list = []
    for token in tokens:
        out.append(token)
        if tuple(out[-2:]) in merges:
            out[-2:] = [merges[tuple(out[-2:])]]
    return out


encode_word.truth(coded)
encode_word.slips(
    leftmost=("the pair that stands first in the *word* goes first in your rule: it is the one learned first",
              lambda *a: coded(*a, pick=lambda found, merges: found[0])),
    latest=("the pair learned *last* goes first in your rule",
            lambda *a: coded(*a, pick=lambda found, merges: max(found, key=merges.get))),
    one_round=("only one merge: go on until none fits", lambda *a: coded(*a, rounds=1)),
    two_rounds=("two merges only: go on until none fits", lambda *a: coded(*a, rounds=2)),
    reading=("merged while reading from the left: the order of the merges is lost", one_pass),
    smallest=("the pair with the smallest numbers goes first in your rule: what counts is when it was learned",
              lambda *a: coded(*a, pick=lambda found, merges: min(found))),
    untouched=("nothing is merged", lambda tokens, merges: list(tokens)),
    numbers=("only the new tokens are left: those that fit no pair stay as they are",
             lambda *a: [x for x in coded(*a) if x > 9]))

residual = Exercise(
    "nb21.residual", "x plus what f makes of norm(x).",
    ("Which of the two, the way through f or the way around it, should be normalised?",
     "Normalise, apply f, add the untouched x.", "____ + f(____)"))
residual.draw(lambda d: (d.array((2, 3)), d.choice([0.5, -1.0, 2.0])))
residual.describe(lambda x, a: f"x = {show(x)}, f(h) = {a} h + |h| + 1, and norm(h) = h minus the mean of its row")


@residual.run
def _(solution, x, a):
    """With an f that is not linear, so that the order of f and the norm matters."""
    return solution(x, lambda h: a * h + h.abs() + 1, lambda h: h - h.mean(-1, keepdim=True))


residual.truth(lambda x, f, norm: x + f(norm(x)))
residual.slips(
    no_way=("x itself is missing: without it there is no way around", lambda x, f, norm: f(norm(x))),
    no_norm=("f gets x as it is: the norm is missing", lambda x, f, norm: x + f(x)),
    after=("the norm is on the way around, too: then no gradient has a free way (as in the first transformers, which "
           "were hard to train)", lambda x, f, norm: norm(x + f(x))),
    norm_both=("what is added to is the normalised x: add to x itself", lambda x, f, norm: norm(x) + f(norm(x))),
    norm_outside=("the norm comes after f: it belongs before", lambda x, f, norm: x + norm(f(x))),
    product=("multiplied, where it should be added", lambda x, f, norm: x * f(norm(x))),
    halved=("the mean of both ways: the way around should have the factor 1", lambda x, f, norm: (x + f(norm(x))) / 2),
    subtracted=("subtracted", lambda x, f, norm: x - f(norm(x))))

choose = Exercise(
    "nb21.choose", "A token, one of the k most likely, with probabilities softmax(logits / temperature): the first in "
    "the order of the tokens at which the sum of probabilities is larger than u.",
    ("First cut, then softmax. What do the probabilities of those that are left add up to?",
     "Minus infinity for what is not among the k largest, divide by the temperature, softmax, cumsum; then count.",
     "p = (logits / ____).masked_fill(____, float('-inf')).softmax(0); count where p.cumsum(0) <= ____"))


@choose.draw
def _(d):
    n = d.int(3, 5)
    logits = d.distinct((n,), -3.0, 3.0)
    return logits, d.choice([0.3, 1.0, 2.5]), d.int(1, n), d.choice([0.05, 0.35, 0.5, 0.65, 0.95])


def pick(logits, temperature, k, u, *, cut=True, scale=lambda x, t: x / t, largest=True, late=False, by_rank=False):
    values = logits.numpy() * (1.0 if largest else -1.0)
    out = values < np.sort(values)[-k] if cut else np.zeros(len(values), bool)
    z = scale(logits.numpy(), temperature)
    if not late:
        z = np.where(out, -np.inf, z)
    p = np.exp(z - z.max())
    p = p / p.sum()
    if late:
        p = np.where(out, 0, p)
    order = np.argsort(-p, kind="stable") if by_rank else np.arange(len(p))
    return int(order[min(int((p[order].cumsum() <= u).sum()), len(p) - 1)])


choose.truth(pick)
choose.slips(
    greedy=("always the most likely one: u is not used", lambda x, t, k, u: int(x.argmax())),
    no_cut=("all tokens take part: only the k most likely may", lambda *a: pick(*a, cut=False)),
    no_temperature=("the temperature is not used", lambda *a: pick(*a, scale=lambda x, t: x)),
    multiplied=("multiplied by the temperature: a high one should make the choice more even, so divide",
                lambda *a: pick(*a, scale=lambda x, t: x * t)),
    smallest=("the k *least* likely", lambda *a: pick(*a, largest=False)),
    late=("cut after the softmax: what is left does not add up to 1, and the last token catches the rest",
          lambda *a: pick(*a, late=True)),
    by_rank=("summed in the order of likelihood: here it is the order of the tokens",
             lambda *a: pick(*a, by_rank=True)),
    rank=("the place among the k most likely, not the number of the token: look it up in topk's indices",
          lambda x, t, k, u: int(((x.topk(k).values / t).softmax(0).cumsum(0) <= u).sum())),
    backwards=("1 - u was used, or the sum runs from the end",
               lambda x, t, k, u: len(x) - 1 - pick(x.flip(0), t, k, u)),
    one_less=("one token too few: the first sum *larger* than u decides",
              lambda *a: max(pick(*a) - 1, 0)))
