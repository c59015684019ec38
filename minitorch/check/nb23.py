"""Checks of lesson 23, "A run that learns nothing": measurements, the order of questions, a patient to be cured."""

import math
import warnings

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F
from minitorch.testing import doctor

from .exercise import Exercise, show

first_loss = Exercise(
    "nb23.first_loss", "The cross-entropy (natural logarithm) of guessing by the shares of classes; counts: a list.",
    ("Without looking at the input, which probability would you give to each class?",
     "p = count / total for each class. A sample of class c costs -log p[c]; how often does class c come?",
     "-sum(____ * log(____)) over the classes; a class without samples adds nothing"), tensors=False)


@first_loss.cases
def _():
    yield [1, 1],
    yield [5, 5, 5, 5],
    yield [9, 1],
    yield [3, 0, 1],


first_loss.draw(lambda d: ([d.int(0, 9) for _ in range(d.int(1, 4))] + [d.int(1, 9)],))


def entropy(counts, log=math.log, shares=None):
    p = [n / sum(counts) for n in counts] if shares is None else shares(counts)
    return -sum(x * log(x) for x in p if x > 0)


first_loss.truth(entropy)
first_loss.slips(
    uniform=("log of the number of classes is right only where all are equally frequent",
             lambda counts: math.log(len(counts))),
    uniform_seen=("log of the number of classes that occur is right only where these are equally frequent",
                  lambda counts: math.log(sum(n > 0 for n in counts))),
    bits=("log2 counts in bits: cross_entropy uses the natural logarithm",
          lambda counts: entropy(counts, log=math.log2)),
    sign=("the sign is wrong: a loss is not negative", lambda counts: -entropy(counts)),
    not_shares=("counts are not probabilities: divide by their sum",
                lambda counts: entropy(counts, shares=lambda c: c)),
    not_weighted=("each class counts once here; weigh -log p by how often the class comes, p",
                  lambda counts: -sum(math.log(n / sum(counts)) for n in counts if n) / len(counts)),
    most_frequent=("the cost of the most frequent class only: the others cost more, but come more rarely",
                   lambda counts: -math.log(max(counts) / sum(counts))),
    zero_crashes=("a class without samples: 0 log 0 counts as 0, but log(0) raises",
                  lambda counts: -sum(n / sum(counts) * math.log(n / sum(counts)) for n in counts)))

update_ratio = Exercise(
    "nb23.update_ratio", "The norm of the change of a weight in a step, divided by the norm before, as a float.",
    ("By how many percent did the weight move?", "The norm is the root of the sum of the squares of all elements.",
     "(____ - before).norm() / ____, and .item() at the end"))


@update_ratio.draw
def _(d):
    shape = d.int(1, 3), d.int(1, 3)
    return d.integers(shape, 1, 4).astype(float), d.integers(shape, -4, 4).astype(float)


TURNED = "the difference of the norms, not the norm of the difference: a weight may turn without growing"
update_ratio.truth(lambda a, b: ((b - a).norm() / a.norm()).item())
update_ratio.slips(
    by_after=("divided by the norm *after* the step: compare with what the weight was",
              lambda a, b: ((b - a).norm() / b.norm()).item()),
    difference_of_norms=(TURNED, lambda a, b: ((b.norm() - a.norm()) / a.norm()).item()),
    size_of_difference=(TURNED, lambda a, b: ((b.norm() - a.norm()).abs() / a.norm()).item()),
    absolute=("not divided by the size of the weight: 0.1 is much for a weight of 0.2 and little for one of 20",
              lambda a, b: (b - a).norm().item()),
    squares=("the squares are divided, without a root", lambda a, b: (((b - a) ** 2).sum() / (a ** 2).sum()).item()),
    upside_down=("upside down: the change belongs above", lambda a, b: (a.norm() / (b - a).norm()).item()),
    elementwise=("the mean of the elements' ratios: one element near 0 decides everything",
                 lambda a, b: ((b - a).abs() / a.abs()).mean().item()),
    sums=("absolute values instead of squares: that is another norm",
          lambda a, b: ((b - a).abs().sum() / a.abs().sum()).item()))

dead = Exercise(
    "nb23.dead", "The share of units (columns) of relu outputs h (N, units) that are 0 for all samples, as a float.",
    ("A unit that is 0 for one sample is at rest. When is it dead?",
     "First over the samples: is any above 0? Then count the units for which none is.",
     "(h > 0).any(____) says which units live; the share of the others is 1 - ____"))
dead.draw(lambda d: ((lambda h: h * (h > 0))(d.integers((d.int(1, 4), d.int(1, 4)), -3, 2).astype(float)),))
dead.truth(lambda h: (h == 0).all(0).double().mean().item())
dead.slips(
    zeros=("the share of zeros: half of them are normal, a unit is dead only if *no* sample wakes it",
           lambda h: (h == 0).double().mean().item()),
    any_zero=("units that are 0 for *some* sample: most are", lambda h: (h == 0).any(0).double().mean().item()),
    rows=("samples and units are exchanged: reduce over the samples, dim 0",
          lambda h: (h == 0).all(1).double().mean().item()),
    alive=("the share of living units: dead ones are asked for", lambda h: (h > 0).any(0).double().mean().item()),
    count=("the number, not the share", lambda h: float((h == 0).all(0).sum().item())),
    whole=("true or false for the whole layer: reduce over the samples only", lambda h: float((h == 0).all().item())),
    first_sample=("only the first sample is looked at", lambda h: (h[0] == 0).double().mean().item()))

first_bad = Exercise(
    "nb23.first_bad", "The name of the first array with a NaN or an infinity, of (name, array) pairs; None if none.",
    ("Which calls ask whether a number is a number?", "isfinite is false for nan, inf and -inf. Begin at the front.",
     "for name, x in values: if not ____(x).all(): return ____ ; after the loop, None"))


def listed(d):
    pairs = []
    for i in range(d.int(1, 4)):
        x = d.integers((d.int(1, 3),), -3, 3).astype(float)
        if d.int(0, 2) == 0:
            x[d.int(0, len(x) - 1)] = d.choice([float("nan"), float("inf"), float("-inf")])
        pairs.append((f"v{i}", x))
    return pairs,


first_bad.draw(listed)
first_bad.describe(lambda values: "first_bad([" + ", ".join(f"({name!r}, {show(x)})" for name, x in values) + "])")


def search(values, bad=lambda x: not bool(torch.isfinite(x).all()), which=0):
    found = [name for name, x in values if bad(x)]
    return found[which] if found else None


first_bad.truth(search)
first_bad.slips(
    only_nan=("infinities pass: an inf is often the beginning, and inf - inf is the NaN that follows",
              lambda values: search(values, lambda x: bool(torch.isnan(x).any()))),
    only_inf=("NaN passes: isinf is false for it", lambda values: search(values, lambda x: bool(torch.isinf(x).any()))),
    only_plus=("-inf passes: log(0) is one", lambda values: search(
        values, lambda x: bool((torch.isnan(x) | (x == float("inf"))).any()))),
    last=("the last one: what follows a NaN is NaN as well, the first is the cause",
          lambda values: search(values, which=-1)),
    all_bad=("an array is reported only if all of its elements are bad: one is enough",
             lambda values: search(values, lambda x: not bool(torch.isfinite(x).any()))),
    first_element=("only the first element of each array is looked at",
                   lambda values: search(values, lambda x: not math.isfinite(x[0]))),
    never=("nothing is found: is the loop left too early?", lambda values: None))

triage = Exercise(
    "nb23.triage", '"not finite", "rate too high", "dead", "rate too low" or "healthy", by (first, last, ratio, dead).',
    ("In which order do the questions stand in the text? The first that fits is the answer.",
     "not isfinite(last); then last > first and ratio > 0.1; then dead > 0.5; then ratio < 1e-5; else healthy",
     "if ____: return 'not finite'; if last > first and ____: return ____; and so on"), tensors=False,
    tries=60)


@triage.cases
def _():
    yield 2.3, float("nan"), 5.0, 0.9
    yield 2.3, 40.0, 0.8, 0.9
    yield 2.3, 2.2, 0.001, 0.9
    yield 2.3, 2.3, 1e-7, 0.1
    yield 2.3, 0.1, 0.001, 0.1
    yield 2.3, 0.1, 0.3, 0.1
    yield 2.3, 2.4, 1e-7, 0.1
    yield 2.3, 2.3, 1e-7, 0.9


triage.draw(lambda d: (d.choice([1.0, 2.3]), d.choice([0.1, 2.0, 2.4, 9.0, float("inf"), float("nan")]),
                       d.choice([1e-7, 1e-3, 0.05, 0.2, 3.0]), d.choice([0.0, 0.3, 0.6, 1.0])))
QUESTIONS = {"not finite": lambda f, n, r, d: not math.isfinite(n),
             "rate too high": lambda f, n, r, d: n > f and r > 0.1, "dead": lambda f, n, r, d: d > 0.5,
             "rate too low": lambda f, n, r, d: r < 1e-5}


def asked(order=tuple(QUESTIONS), **others):
    """The answers, the questions asked in this order, some of them put otherwise."""
    questions = {**QUESTIONS, **others}
    return lambda *seen: next((name for name in order if questions[name](*seen)), "healthy")


triage.truth(asked())
triage.slips(
    dead_first=("dead units before the learning rate: a rate too high kills units, so ask for the cause first",
                asked(("not finite", "dead", "rate too high", "rate too low"))),
    nan_forgotten=("NaN compares as false with everything, so it passes all questions: ask for it first",
                   asked(**{"not finite": lambda f, n, r, d: False})),
    only_nan=("an infinite loss is not finite either", asked(**{"not finite": lambda f, n, r, d: math.isnan(n)})),
    finite_last=("ask for NaN before anything else: it hides what the other numbers mean",
                 asked(("rate too high", "dead", "rate too low", "not finite"))),
    any_growth=("a loss that has grown a little is noise, unless the steps are large, too",
                asked(**{"rate too high": lambda f, n, r, d: n > f})),
    any_stride=("large steps alone are not a fault, if the loss falls", asked(
        **{"rate too high": lambda f, n, r, d: r > 0.1})),
    low_before_dead=("dead units have no gradient, so their weights do not move: ask for dead units before you blame "
                     "the learning rate", asked(("not finite", "rate too high", "rate too low", "dead"))),
    never_low=("steps of less than a hundred-thousandth lead nowhere: rate too low",
               asked(("not finite", "rate too high", "dead"))),
    half_dead=("some dead units are normal: only more than half of them are a fault",
               asked(dead=lambda f, n, r, d: d > 0.2)))

fit = Exercise(
    "nb23.fit", "Train on x (N, 8), numbers from 0 to 255, and y (N,), 4 classes; return the classes found for x.",
    ("Print the doctor: `torch.testing.doctor().examine(fit, x, y)`. Mend what stands first, then look again.",
     "Scale the inputs, give cross_entropy the logits, clear the gradients in each step; then the learning rate.",
     "x = (x - ____) / ____; no Softmax in the network; ____ first in the loop; lr=____, much smaller"),
    tensors=False)


@fit.cases
def _():
    yield 0,


fit.describe(lambda seed: f"fit(x, y) on patient data {seed}, watched by the doctor. Is it right for 9 of 10 samples? "
             f"What does the doctor say first?")


def patient(seed):
    """Inputs from 0 to 255 around four centres, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 256)
    x = rng.normal(size=(4, 8))[y] * 1.5 + rng.normal(size=(256, 8)) * 0.6
    x = (x - x.min()) / (x.max() - x.min()) * 255
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@fit.run
def _(solution, seed):
    """True if most answers are right, and the first finding of the doctor."""
    known = getattr(solution, "known", {})
    if seed not in known:
        known[seed] = examined(solution, seed)
    return known[seed]


def examined(solution, seed):
    x, y = patient(seed)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watched = doctor().examine(solution, x.clone(), y.clone())
    if watched.result is None:
        return None
    share = (torch.as_tensor(watched.result) == y).double().mean().item()
    return {"right for 9 of 10": share > 0.9, "the doctor": watched.findings[0].kind if watched.findings else "nothing"}


def treated(scale=True, softmax=False, zero="before", lr=0.1, mode=True, step=True):
    """The training, with what a patient may still suffer from; ``known`` keeps what its examination gave."""
    def train(x, y):
        x = (x - x.mean()) / x.std() if scale else x
        net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4),
                            *[nn.Softmax(1)] * softmax).train(mode)
        optimizer = torch.optim.SGD(net.parameters(), lr=lr)
        for i in range(60):
            at = slice(i * 64 % 256, i * 64 % 256 + 64)
            if zero == "before":
                optimizer.zero_grad()
            F.cross_entropy(net(x[at]), y[at]).backward()
            if zero == "between":
                optimizer.zero_grad()
            if step:
                optimizer.step()
        with torch.no_grad():
            return net.eval()(x).argmax(1)
    train.known = {}
    return train


fit.truth(treated())
fit.slips(
    as_found=("nothing is mended yet; the doctor names the first cause: the inputs go up to 255",
              treated(scale=False, softmax=True, zero="never", lr=10.0)),
    softmax_left=("the network ends with a softmax, and cross_entropy applies one itself", treated(softmax=True)),
    never_cleared=("each backward adds to the gradients of all steps before: zero_grad() is missing",
                   treated(zero="never")),
    cleared_too_early=("zero_grad() stands between backward() and step(): the step finds nothing",
                       treated(zero="between")),
    too_fast=("the learning rate is too high: the steps are larger than the weights", treated(lr=30.0)),
    too_slow=("the learning rate is too low: nothing moves in so few steps", treated(lr=1e-5)),
    eval_mode=("the network is trained in eval mode: dropout does nothing", treated(mode=False)),
    no_step=("no parameter has moved: optimizer.step() is missing", treated(step=False)))
