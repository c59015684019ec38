"""Checks of lesson 20, "Every gradient by hand": loss, linear layer, lookup, and a whole network backwards."""

import numpy as np

from .. import arange, ones_like, tanh, zeros
from ..autograd import grad as gradients_of
from ..nn.functional import cross_entropy, one_hot
from .exercise import Exercise, show

loss_pull = Exercise(
    "nb20.loss_pull", "The gradient of the mean cross-entropy by the logits (N, n), for targets y (N,).",
    ("What would the gradient be if the right class already had probability 1?",
     "Probabilities, minus 1 at the right class of each row; and the loss is a mean.",
     "g = ____; g[torch.arange(____), ____] -= ____; g / ____"))
loss_pull.draw(lambda d: (d.array(((rows := d.int(1, 3)), (n := d.int(2, 3)))), d.integers((rows,), 0, n - 1)))


def rise(z, y, *, axis=1, share=None, sign=1, right=1.0):
    n = z.shape[1]
    found = (z.softmax(axis) - right * one_hot(y, n).double()) * sign
    return found / (len(y) if share is None else share(z))


loss_pull.truth(rise)
loss_pull.slips(
    summed=("missing 1/N: the loss is the *mean* over the rows", lambda z, y: rise(z, y, share=lambda z: 1)),
    elements=("divided by all elements: the mean is over the rows", lambda z, y: rise(z, y, share=lambda z: z.numel())),
    sign=("the sign is turned: the right class must go *up* when you step against the gradient",
          lambda z, y: rise(z, y, sign=-1)),
    only_right=("only the right class gets a gradient: the others share the sum in the logarithm, and are pushed down",
                lambda z, y: rise(z, y) * one_hot(y, z.shape[1]).double()),
    no_target=("that is the first part alone: minus 1 at the right class is missing", lambda z, y: rise(z, y, right=0)),
    no_softmax=("logits are not probabilities: softmax is missing",
                lambda z, y: (z - one_hot(y, z.shape[1]).double()) / len(y)),
    logarithm=("log-probabilities instead of probabilities",
               lambda z, y: (z.log_softmax(1) - one_hot(y, z.shape[1]).double()) / len(y)),
    columns=("softmax over the rows of the batch: each *row* is a distribution", lambda z, y: rise(z, y, axis=0)),
    all_rows=("`g[:, y] -= 1` takes 1 from the columns of all targets in every row: index rows and columns together",
              lambda z, y: (z.softmax(1) - one_hot(y, z.shape[1]).double().sum(0).clamp(max=1)) / len(y)),
    by_probability=("the derivative of -p, not of -log p: each row has the factor p too many", lambda z, y: (
        rise(z, y) * z.softmax(1)[arange(len(y)), y][:, None])))

linear_pull = Exercise(
    "nb20.linear_pull", "Of y = x @ w + b with the gradient g of y: the gradients of x, w and b.",
    ("Each gradient has the shape of its tensor. Which products of g with x or w have these shapes?",
     "x got its gradient through w, so it is made of g and w; w through x. All rows used the same b.",
     "g @ ____, ____ @ g, g.sum(____)"), parts=("gradient of x", "of w", "of b"))
linear_pull.draw(lambda d: (d.array(((n := d.int(1, 3)), (m := d.int(2, 3)))), d.array((n, 2)), d.array((2, m))))


def pulls(g, x, w):
    return g @ w.T, x.T @ g, g.sum(0)


def changed(x=None, w=None, b=None):
    """The rule with another formula for one of its three gradients."""
    def rule(g, a, c):
        right = pulls(g, a, c)
        return tuple(f(g, a, c) if f else r for f, r in zip((x, w, b), right))
    return rule


linear_pull.truth(pulls)
linear_pull.slips(
    mean_bias=("the gradients of b are averaged: every row used b, they add up", changed(b=lambda g, x, w: g.mean(0))),
    bias_not_summed=("the gradient of b has a row for each sample: b has one for all, so add them up",
                     changed(b=lambda g, x, w: g)),
    bias_across=("summed over the outputs: b has an entry for each output", changed(b=lambda g, x, w: g.sum(1))),
    bias_ones=("the derivative of y by b is 1, but the gradient that arrives is g", changed(
        b=lambda g, x, w: ones_like(g).sum(0))),
    averaged=("divided by the batch: if the loss is a mean, g has that factor already",
              changed(w=lambda g, x, w: x.T @ g / len(x))),
    weight_turned=("the gradient of w is turned: it has the shape of w, (k, m)", changed(w=lambda g, x, w: g.T @ x)),
    elementwise=("the gradient of x is w summed over outputs: g must be in it",
                 changed(x=lambda g, x, w: ones_like(g) @ w.T)),
    no_upstream=("x alone: g is missing in the gradient of w", changed(w=lambda g, x, w: x.T @ ones_like(g))),
    order=("in another order: x, then w, then b", lambda g, x, w: (pulls(g, x, w)[1], pulls(g, x, w)[0], g.sum(0))))

lookup_pull = Exercise(
    "nb20.lookup_pull", "Of embedding[x] with the gradient g (N, context, d): the gradient of the embedding (n, d).",
    ("A row that was looked up twice influenced the loss twice.",
     "Begin with zeros (n, d); add each vector of g to the row that its character names, repeated ones included.",
     "torch.zeros(n, ____).index_add_(0, ____, g.____)"))
lookup_pull.cases(lambda: [(np.arange(4.0).reshape(1, 2, 2), np.array([[1, 1]]), 2)])
lookup_pull.draw(lambda d: (d.array(((rows := d.int(1, 2)), 2, 2)), d.integers((rows, 2), 0, 2), 3))


def scatter(g, x, n):
    return zeros(n, g.shape[-1]).double().index_add_(0, x.flatten(), g.flatten(0, 1).double())


def assigned(g, x, n):
    found = zeros(n, g.shape[-1]).double()
    for row, vector in zip(x.flatten().tolist(), g.flatten(0, 1)):
        found[row] = vector
    return found


def uses(x, n):
    return one_hot(x.flatten(), n).sum(0)[:, None].double()


lookup_pull.truth(scatter)
lookup_pull.slips(
    assigned=("a row that was looked up twice keeps only its last gradient: `grad[x] = g` overwrites, and `grad[x] += "
              "g` does too, as it reads all rows before it writes", assigned),
    mean=("divided by how often a row was used: gradients add up", lambda g, x, n: scatter(g, x, n) / uses(x, n).clamp(
        min=1)),
    gathered=("that looks gradients *up*: backwards, rows are added *to*", lambda g, x, n: g.flatten(0, 1)[
        arange(n) % (g.shape[0] * g.shape[1])]),
    first_place=("only the first character of each context", lambda g, x, n: scatter(g[:, :1], x[:, :1], n)),
    last_place=("only the last character of each context", lambda g, x, n: scatter(g[:, -1:], x[:, -1:], n)),
    counted=("that is how often each row was used: g is missing", lambda g, x, n: uses(x, n).expand(n, g.shape[-1])),
    summed=("all of g is in every row", lambda g, x, n: g.sum((0, 1)).expand(n, -1)),
    not_summed=("one gradient for each place: add those of the same character", lambda g, x, n: g.flatten(0, 1)),
    mixed=("places and numbers are mixed up: flatten x and the first two axes of g in the same order",
           lambda g, x, n: scatter(g.transpose(0, 1), x, n) if g.shape[0] == g.shape[1] else scatter(
               g.flip(0).flip(1), x, n)))

NAMES = ("logits", "h", "w2", "b2", "before", "row", "w1", "b1", "looked_up", "embedding")
backward = Exercise(
    "nb20.backward", "The gradients of all ten tensors of the network by their names, from logits to embedding.",
    ("Backwards is the forward pass read from below: the last line first.",
     "Each line of the forward pass gives a line here; what flows on is the gradient of the line's input.",
     "grad['before'] = grad['h'] * ____; grad['looked_up'] = grad['row'].reshape(____); the others by ____"),
    tries=12)


def network(x, y, p):
    t = dict(p)
    t["looked_up"] = t["embedding"][x]
    t["row"] = t["looked_up"].flatten(1)
    t["before"] = t["row"] @ t["w1"] + t["b1"]
    t["h"] = tanh(t["before"])
    t["logits"] = t["h"] @ t["w2"] + t["b2"]
    return t


@backward.draw
def _(d):
    rows, n, width, hidden = d.int(2, 3), 3, 2, 2
    return (d.integers((rows, 2), 0, n - 1), d.integers((rows,), 0, n - 1),
            [d.array(s) for s in ((n, width), (2 * width, hidden), (hidden,), (hidden, n), (n,))])


@backward.run
def _(solution, x, y, parameters):
    found = solution(x, y, network(x, y, dict(zip(("embedding", "w1", "b1", "w2", "b2"), parameters))))
    return found if not isinstance(found, dict) else {name: found.get(name, "missing") for name in NAMES}


backward.describe(lambda x, y, parameters: (
    f"x = {show(x)}, y = {show(y)}, and small random parameters. The gradients, next to the loss first"))


def by_autograd(x, y, t):
    leaves = {name: t[name].detach().requires_grad_() for name in ("embedding", "w1", "b1", "w2", "b2")}
    full = network(x, y, leaves)
    return dict(zip(NAMES, gradients_of(cross_entropy(full["logits"], y), [full[name] for name in NAMES])))


def back(x, y, t, *, loss=rise, bend=lambda t: 1 - t["h"] ** 2, linear=pulls, lookup=scatter,
         shape=lambda g, t: g.reshape(t["looked_up"].shape)):
    grad = {"logits": loss(t["logits"], y)}
    grad["h"], grad["w2"], grad["b2"] = linear(grad["logits"], t["h"], t["w2"])
    grad["before"] = grad["h"] * bend(t)
    grad["row"], grad["w1"], grad["b1"] = linear(grad["before"], t["row"], t["w1"])
    grad["looked_up"] = shape(grad["row"], t)
    grad["embedding"] = lookup(grad["looked_up"], x, len(t["embedding"]))
    return grad


backward.truth(by_autograd)
backward.slips(
    no_bend=("tanh is passed over: from `before` on, all gradients lack the factor 1 - h^2",
             lambda *a: back(*a, bend=lambda t: 1)),
    bend_of_input=("1 - before^2: tanh^2 is h^2, and h has it already", lambda *a: back(
        *a, bend=lambda t: 1 - t["before"] ** 2)),
    bend_unsquared=("1 - h: the derivative of tanh is 1 - h^2", lambda *a: back(*a, bend=lambda t: 1 - t["h"])),
    twice_bent=("1 - tanh(h)^2: h is the tanh already", lambda *a: back(*a, bend=lambda t: 1 - tanh(t["h"]) ** 2)),
    sigmoid=("h (1 - h) belongs to the sigmoid; tanh has 1 - h^2",
             lambda *a: back(*a, bend=lambda t: t["h"] * (1 - t["h"]))),
    summed=("missing 1/N, already at the logits: the loss is a mean",
            lambda *a: back(*a, loss=lambda z, y: rise(z, y) * len(y))),
    sign=("all gradients have the wrong sign: look at the logits, where it begins",
          lambda *a: back(*a, loss=lambda z, y: -rise(z, y))),
    overwritten=("only `embedding` is wrong: characters that stand in several places keep one gradient, add them up",
                 lambda *a: back(*a, lookup=assigned)),
    reordered=("from `looked_up` on: the row has one character's vector after the other, so reshape, no transpose",
               lambda *a: back(*a, shape=lambda g, t: g.reshape(len(g), -1, 2).transpose(1, 2).reshape(
                   t["looked_up"].shape))),
    mean_bias=("b1 and b2 are averaged over the rows: they add up",
               lambda *a: back(*a, linear=lambda g, x, w: (g @ w.T, x.T @ g, g.mean(0)))),
    parameters_only=("only the parameters are there: the gradients on the way are asked for, too", lambda *a: {
        name: value for name, value in back(*a).items() if name in ("embedding", "w1", "b1", "w2", "b2")}),
    halfway=("it stops at `row`: the lookup is missing", lambda *a: {
        name: value for name, value in back(*a).items() if name not in ("looked_up", "embedding")}),
    stacked=("biases are missing: b1 and b2 get gradients, too",
             lambda *a: {name: value for name, value in back(*a).items() if name not in ("b1", "b2")}))
