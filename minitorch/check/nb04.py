"""Checks of lesson 4, "Write an op, prove an op": four pulls, six suspects, and inputs that find bugs."""

import random

import numpy as np

import minitorch as torch

from ..autograd import Function
from .exercise import Exercise, show

UPSTREAM = "the upstream gradient `g` is ignored: a pull is linear in g, twice the g gives twice the result"


def pull(name, task, hints, forward):
    """An exercise about the pull of ``forward(x)``, called with (g, x, y); whole numbers in the examples."""
    exercise = Exercise(name, task, hints)

    @exercise.draw
    def _(d):
        x = d.integers((d.int(1, 2), d.int(2, 3)), -2, 2).astype(float)
        return d.integers(tuple(forward(torch.tensor(x)).shape), -2, 2).astype(float), x

    exercise.run(lambda solution, g, x: solution(g, x, forward(x)))
    exercise.describe(lambda g, x: f"g = {show(g)}, x = {show(x)}, y = {show(forward(torch.tensor(x)).numpy())}")
    return exercise


logsumexp = pull(
    "nb04.logsumexp", "The pull of y = logsumexp of each row of x: the gradient for x, shaped like x.",
    ("For one row: which number times dx_j is the change of log(sum exp(x))?",
     "exp(x_j) / sum(exp(x)): a softmax. And the sum is exp(y).",
     "return g.unsqueeze(1) * (x - ____).exp()"),
    lambda x: torch.logsumexp(x, 1))
logsumexp.truth(lambda g, x, y: g.unsqueeze(1) * (x - y.unsqueeze(1)).exp())
logsumexp.slips(
    no_upstream=(UPSTREAM, lambda g, x, y: (x - y.unsqueeze(1)).exp()),
    not_normalised=("exp(x) alone: divide by the sum, which is exp(y)", lambda g, x, y: g.unsqueeze(1) * x.exp()),
    wrong_axis=("softmax over the columns (dim 0): each row has a sum of its own",
                lambda g, x, y: g.unsqueeze(1) * torch.softmax(x, 0)),
    divided_by_y=("divided by y: the sum of exp(x) is exp(y), y is its logarithm",
                  lambda g, x, y: g.unsqueeze(1) * x.exp() / y.unsqueeze(1)),
    logarithm=("the logarithm of the softmax: the last step, exp, is missing",
               lambda g, x, y: g.unsqueeze(1) * (x - y.unsqueeze(1))),
    row_lost=("g has one number per row and must be spread along it: unsqueeze(1), or it lines up with columns",
              lambda g, x, y: g * torch.softmax(x, 1)),
    winner=("the whole gradient goes to the largest element: that is the rule of `max`; here all get a share",
            lambda g, x, y: g.unsqueeze(1) * (x == x.max(1, keepdim=True).values).double()),
    softmax_rule=("that is the rule of softmax, which has one output per element",
                  lambda g, x, y: g.unsqueeze(1) * torch.softmax(x, 1) * (1 - torch.softmax(x, 1))))

variance = pull(
    "nb04.variance", "The pull of y = x.var(1), divided by n - 1: the gradient for x, shaped like x.",
    ("y is a sum of squares. The mean inside depends on x too: does that matter?",
     "The deviations of a row sum to zero, so the path through the mean cancels.",
     "return g.unsqueeze(1) * ____ / (x.shape[1] - 1) * (x - ____)"),
    lambda x: x.var(1))


def centred(x):
    return x - x.mean(1, keepdim=True)


variance.truth(lambda g, x, y: g.unsqueeze(1) * 2 / (x.shape[1] - 1) * centred(x))
variance.slips(
    no_upstream=(UPSTREAM, lambda g, x, y: 2 / (x.shape[1] - 1) * centred(x)),
    over_n=("divided by n: the forward pass divides by n - 1 (Bessel's correction), so must its derivative",
            lambda g, x, y: g.unsqueeze(1) * 2 / x.shape[1] * centred(x)),
    over_rows=("divided by the number of rows: each row is divided by its own length, less one",
               lambda g, x, y: g.unsqueeze(1) * 2 / len(x) * centred(x)),
    no_division=("missing 1/(n-1): the forward pass averages", lambda g, x, y: g.unsqueeze(1) * 2 * centred(x)),
    no_two=("the 2 of the power rule is missing", lambda g, x, y: g.unsqueeze(1) / (x.shape[1] - 1) * centred(x)),
    not_centred=("x itself, where the deviation from the mean was meant",
                 lambda g, x, y: g.unsqueeze(1) * 2 / (x.shape[1] - 1) * x),
    wrong_mean=("the mean of everything was subtracted: each row has its own",
                lambda g, x, y: g.unsqueeze(1) * 2 / (x.shape[1] - 1) * (x - x.mean())),
    sign=("the sign is wrong: moving an element away from the mean makes the variance grow",
          lambda g, x, y: g.unsqueeze(1) * -2 / (x.shape[1] - 1) * centred(x)),
    deviation=("that is the rule of the standard deviation",
               lambda g, x, y: g.unsqueeze(1) / (x.shape[1] - 1) * centred(x) / y.unsqueeze(1).sqrt()))

gather = Exercise(
    "nb04.gather", "The pull of y = x[index]: the gradient for x, of length n, given g and the index (int64).",
    ("Reading copies x[index[k]] into y[k]. Which way does the gradient travel?",
     "Start from zeros(n) and put each g[k] back where it was read. What if one place was read twice?",
     "torch.zeros(n, dtype=g.dtype).index____(0, ____, ____)"))


@gather.draw
def _(d):
    n, k = d.int(1, 4), d.int(1, 5)
    return d.integers((k,), 1, 9).astype(float), d.integers((k,), 0, n - 1), n


gather.truth(lambda g, index, n: torch.zeros(n, dtype=g.dtype).index_add(0, index, g))


def assign(g, index, n):
    found = torch.zeros(n, dtype=g.dtype)
    found[index] = g
    return found


def add_once(g, index, n):
    found = torch.zeros(n, dtype=g.dtype)
    found[index] += g
    return found


def counts(index, n):
    return torch.zeros(n, dtype=torch.float64).index_add(0, index, torch.ones(len(index), dtype=torch.float64))


gather.slips(
    assigned=("assigned instead of added: an element that was read twice gets two gradients. And `found[index] += "
              "g` is "
              "no better: it reads all, adds, and then writes all, so of equal indices only one survives", add_once),
    no_upstream=(UPSTREAM, lambda g, index, n: counts(index, n)),
    averaged=("the mean of what came back: every reading counts in full, add them",
              lambda g, index, n: torch.zeros(n, dtype=g.dtype).index_add(0, index, g) / counts(index, n).clamp(min=1)),
    read_again=("g[index] reads once more: the transpose of reading is *writing* to those places",
                lambda g, index, n: g[index.clamp(max=len(g) - 1)]),
    length_of_g=("as long as g: the gradient must have the shape of x, n elements",
                 lambda g, index, n: g),
    spread=("every element of x gets everything: only the places that were read do",
            lambda g, index, n: g.sum().expand(n)),
    in_order=("the indices are ignored: g[k] belongs to x[index[k]], not to x[k]",
              lambda g, index, n: torch.cat([g, torch.zeros(n, dtype=g.dtype)])[:n]))

cumprod = Exercise(
    "nb04.cumprod", "The pull of y = cumprod(x), 1-D: y[k] = x[0] * ... * x[k]. x may contain zeros.",
    ("x[i] is a factor of y[i], y[i+1], and of all after them. What is the slope of y[k] for x[i]?",
     "The product of all *other* factors up to k. y[k] / x[i] is that, unless x[i] is 0.",
     "for i: others = x.clone(); others[i] = ____; found[i] = (g * others.cumprod(0))[____].sum()"))


@cumprod.cases
def _():
    yield np.array([1.0, 1.0]), np.array([2.0, 0.0])
    yield np.array([1.0, 2.0, 1.0]), np.array([3.0, 0.0, 2.0])


@cumprod.draw
def _(d):
    n = d.int(1, 4)
    return d.integers((n,), -2, 3).astype(float), d.integers((n,), -1, 3).astype(float)


cumprod.run(lambda solution, g, x: solution(g, x, x.cumprod(0)))
cumprod.describe(lambda g, x: f"g = {show(g)}, x = {show(x)}, y = {show(np.cumprod(x))}")


def without(x, i):
    return torch.cat([x[:i], torch.ones(1, dtype=x.dtype), x[i + 1:]]).cumprod(0)


def each(g, x, term):
    return torch.stack([term(i) for i in range(len(x))])


cumprod.truth(lambda g, x, y: each(g, x, lambda i: (g[i:] * without(x, i)[i:]).sum()))
cumprod.slips(
    division=("y / x is not a number where x is 0: multiply the other factors instead of dividing this one out",
              lambda g, x, y: (g * y).flip(0).cumsum(0).flip(0) / x),
    division_eps=("dividing by x + 1e-8 hides the zero and gives 0 for it: the gradient there is *not* zero, it is the "
                  "product of the others", lambda g, x, y: (g * y).flip(0).cumsum(0).flip(0) / (x + 1e-8)),
    division_everything=("the sum over *all* k, divided by x: y[k] with k < i does not contain x[i], and x may be 0",
                         lambda g, x, y: (g * y).sum() / x),
    own_only=("x[i] only reaches y[i] in your rule: it is a factor of every later y too",
              lambda g, x, y: each(g, x, lambda i: g[i] * without(x, i)[i])),
    forward_sum=("summed over k <= i, the wrong side: x[i] is a factor of y[i] and what comes *after*",
                 lambda g, x, y: each(g, x, lambda i: (g[:i + 1] * without(x, i)[:i + 1]).sum())),
    everything=("summed over all k: y[k] with k < i does not contain x[i]",
                lambda g, x, y: each(g, x, lambda i: (g * without(x, i)).sum())),
    no_upstream=(UPSTREAM, lambda g, x, y: each(g, x, lambda i: without(x, i)[i:].sum())),
    itself_too=("x[i] is still among the factors: the slope is the product of the others",
                lambda g, x, y: (g * y).flip(0).cumsum(0).flip(0)),
    cumsum_rule=("that is the rule of cumsum: here every step is multiplied by the other factors",
                 lambda g, x, y: g.flip(0).cumsum(0).flip(0)))


# Six versions of one op: the mean over the rows of x * w.
def suspect(letter, gradients):
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).mean(0)

    def backward(ctx, g):
        return gradients(g, *ctx.saved_tensors)
    return type(letter, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward),
                                      "__doc__": "(x * w).mean(0) for x (N, D) and w (D,), with some backward."})


SUSPECTS = {
    "A": suspect("A", lambda g, x, w: (-(g * w / len(x)).expand(x.shape), -(g * x).mean(0))),
    "B": suspect("B", lambda g, x, w: ((w / len(x)).expand(x.shape), x.mean(0))),
    "C": suspect("C", lambda g, x, w: ((g * w / len(x)).expand(x.shape), (g * x).mean(0))),
    "D": suspect("D", lambda g, x, w: ((g * w).expand(x.shape), (g * x).sum(0))),
    "E": suspect("E", lambda g, x, w: ((g * w / len(x)).expand(x.shape), (g * x / len(x)).sum(1))),
    "F": suspect("F", lambda g, x, w: ((g * w / len(x)).expand(x.shape), (g * x)[-1] / len(x)))}
BUGS = {"A": "wrong sign", "B": "upstream ignored", "C": "right", "D": "missing 1/N", "E": "wrong axis", "F": "= "
        "for +="}

suspects = Exercise(
    "nb04.suspects", "What is wrong with each of the six? One of them is right.",
    ("Run gradcheck on each and compare the two Jacobians it prints: is one a multiple of the other?",
     "A constant factor, a sign, other places, or one summand of several: each leaves its own mark.",
     "The words by their marks: -J is ____; N * J is ____; numbers off the diagonal are ____, or ____ if even x's "
     "Jacobian is wrong, though right while g = 1; one row of several is ____."))
suspects.cases(lambda: [(letter,) for letter in BUGS])
suspects.run(lambda solution, letter: _answer(solution[letter]) if isinstance(solution, dict) else solution(letter))
suspects.describe(lambda letter: f"your word for suspect {letter}; the words are {', '.join(sorted(BUGS.values()))}")
suspects.truth(lambda letter: BUGS[letter])


def _answer(value):
    if value is ... or value is None:
        raise NotImplementedError
    return value


def _but(**changed):
    return lambda letter: {**BUGS, **changed}[letter]


suspects.slips(
    trusting=("you found them all right: gradcheck does not", lambda letter: "right"),
    innocent=("C is accused, but gradcheck has nothing against it", _but(C="missing 1/N")),
    a_and_d=("A and D are exchanged: a factor of -1 is a sign, a factor of N a forgotten division",
             _but(A="missing 1/N", D="wrong sign")),
    b_for_right=("B and C are exchanged. B passes while g happens to be 1: try another upstream gradient",
                 _but(B="right", C="upstream ignored")),
    b_innocent=("B is acquitted: it is right as long as g happens to be 1, try another upstream gradient",
                _but(B="right")),
    e_and_f=("E and F are exchanged: E mixes columns, F has the right places and one summand only",
             _but(E="= for +=", F="wrong axis")),
    f_and_d=("D and F are exchanged: in D everything is N times too large, in F one row of several has been kept",
             _but(D="= for +=", F="missing 1/N")),
    d_and_e=("D and E are exchanged: look at the places first, then at the numbers",
             _but(D="wrong axis", E="missing 1/N")))

strategy = Exercise(
    "nb04.strategy", "Random index lists for x[index], x of length n, that reveal every planted bug of a gather.",
    ("Which index lists are special? Write down five by hand before you write the generator.",
     "Repeats; the first and the last place; the empty list; a list longer than x. Never anything outside 0 ... n-1.",
     "return [rng.randrange(____) for _ in range(rng.randrange(____))], where the length may be 0 and more than n"))
PLANTED = ("repeated indices", "an empty list", "the last element", "the first element", "more indices than elements")


@strategy.run
def _(solution):
    """The check that all lists are valid, and the bugs, among five, that 200 of them reveal."""
    rng, lists = random.Random(0), []
    for _ in range(200):
        n = rng.randint(1, 5)
        lists.append((n, [int(i) for i in solution(rng, n)]))
    reveals = (lambda n, index: len(set(index)) < len(index), lambda n, index: not index,
               lambda n, index: n > 1 and n - 1 in index, lambda n, index: n > 1 and 0 in index,
               lambda n, index: len(index) > n)
    found = {bug: any(f(n, index) for n, index in lists) for bug, f in zip(PLANTED, reveals)}
    return {"all lists are valid": all(0 <= i < n for n, index in lists for i in index), **found}


strategy.cases(lambda: [()])
strategy.describe(lambda: "200 lists from your generator, for n from 1 to 5; which bugs do they find?")
strategy.truth(lambda rng, n: [rng.randrange(n) for _ in range(rng.randrange(2 * n + 2))])
strategy.slips(
    permutation=("only permutations: no index ever repeats, so the most common bug of all stays hidden",
                 lambda rng, n: rng.sample(range(n), n)),
    distinct=("indices never repeat: the most common bug of all stays hidden",
              lambda rng, n: rng.sample(range(n), rng.randint(0, n))),
    never_empty=("the empty list is never tried: it is where reductions and shapes break first",
                 lambda rng, n: [rng.randrange(n) for _ in range(rng.randint(1, 2 * n + 1))]),
    outside=("n itself is drawn: valid places are 0 to n - 1 (`randint` includes both ends, `randrange` does not)",
             lambda rng, n: [rng.randint(0, n) for _ in range(rng.randrange(2 * n + 2))]),
    not_last=("the last element is never read: a bug at the end stays hidden",
              lambda rng, n: [rng.randrange(max(n - 1, 1)) for _ in range(rng.randrange(2 * n + 2))]),
    not_first=("the first element is never read: a bug at the beginning stays hidden",
               lambda rng, n: [rng.randint(1, n - 1) for _ in range(rng.randrange(2 * n + 2))] if n > 1 else [0, 0, 0][
                   :rng.randrange(4)]),
    short=("lists are never longer than x: nobody promised that you read less than there is",
           lambda rng, n: [rng.randrange(n) for _ in range(rng.randint(0, n))]),
    one_example=("always the same list: one example, however clever, is not a strategy", lambda rng, n: [0, 0]))
