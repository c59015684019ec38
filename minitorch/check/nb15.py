"""Checks of lesson 15, the article retold: the two bugs of its library that are most worth fixing oneself."""

import minitorch as torch
from minitorch import nn

from .exercise import Exercise, show
from .naming import variants

sum_pull = Exercise(
    "nb15.sum_pull", "The pull of y = x.sum(axis), for x of the given shape: the gradient for x.",
    ("Every element of x enters y once. So which number does each of them get?",
     "g lacks the axis that was summed. Where must it come back, before g can be spread over `shape`?",
     "return g.unsqueeze(____).expand(____)"))


@sum_pull.cases
def _():
    import numpy as np
    yield np.array([1.0, 2.0]), (2, 2), 1               # square: the wrong axis raises nothing
    yield np.array([1.0, 2.0]), (2, 2), 0


@sum_pull.draw
def _(d):
    shape = d.choice([(2, 2), (3, 3), (2, 3), (3, 2), (2, 2, 2), (3,), (2, 3, 2)])
    axis = d.int(0, len(shape) - 1)
    return d.integers(shape[:axis] + shape[axis + 1:], 1, 9).astype(float), shape, axis


sum_pull.truth(lambda g, shape, axis: g.unsqueeze(axis).expand(shape))
sum_pull.slips(
    no_axis=("the summed axis was not put back: shapes line up at the right, so for a square matrix the gradient comes "
             "out transposed, silently", lambda g, shape, axis: g.expand(shape)),
    ones=("the upstream gradient is ignored: ones are right only if nothing comes after the sum",
          lambda g, shape, axis: torch.ones(shape, dtype=g.dtype)),
    averaged=("divided by the length of the axis: that is the rule of the mean",
              lambda g, shape, axis: g.unsqueeze(axis).expand(shape) / shape[axis]),
    multiplied=("multiplied by the length of the axis: every element enters the sum once",
                lambda g, shape, axis: g.unsqueeze(axis).expand(shape) * shape[axis]),
    always_last=("the axis is put back at the end, wherever it was",
                 lambda g, shape, axis: g.unsqueeze(-1).expand(shape)),
    not_spread=("the axis is back, with length 1: spread it to the shape of x (expand)",
                lambda g, shape, axis: g.unsqueeze(axis)),
    total=("g was summed too: every element gets its own entry of g", lambda g, shape, axis: g.sum().expand(shape)))

sgd_step = Exercise(
    "nb15.sgd_step", "One step of SGD on the parameters of a module, so that they stay the module's parameters.",
    ("After `p = p - lr * p.grad`, what does the module hold? And what is `p`?",
     "Write *into* the parameter, where no graph is recorded. Some parameters may have no gradient.",
     "with torch.____: for p in parameters: if ____: p ____ lr * p.grad"),
    parts=("weights", "weights without gradient", "the same parameters?", "leaves that need gradients?"))
sgd_step.draw(lambda d: (d.integers((d.int(1, 2),), -2, 2).astype(float), d.int(1, 3), d.choice([0.1, 0.5])))


class Pair(nn.Module):
    """Two parameters; the loss does not use the second one."""

    def __init__(self, values):
        super().__init__()
        self.weight = nn.Parameter(values.clone())
        self.idle = nn.Parameter(values.clone())


@sgd_step.run
def _(solution, values, steps, lr):
    """The weights after the steps, whether they are the parameters they were, leaves, and still need gradients."""
    model = Pair(values)
    before = list(model.parameters())
    for _ in range(steps):
        model.zero_grad()
        (model.weight ** 2).sum().backward()
        solution(list(model.parameters()), lr)
    after = list(model.parameters())
    return [model.weight, model.idle, len(after) == 2 and all(p is q for p, q in zip(before, after)),
            model.weight.is_leaf and model.weight.requires_grad]


@sgd_step.describe
def _(values, steps, lr):
    return (f"weights {show(values)}, loss sum(w**2), {steps} steps with lr = {lr:g}. The weights; those of a "
             "parameter "
            "without gradient; are they the same parameters as before? leaves that need gradients?")


def moved(parameters, lr, rate=lambda lr: lr, way=-1, skip=True, of=lambda grad: grad):
    """A step of SGD, with every decision as an option."""
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None or not skip:
                p += way * rate(lr) * of(p.grad)


moved_but = variants(moved)
sgd_step.truth(moved)
sgd_step.slips(
    trusts_grad=("a parameter without gradient has None there: skip it", moved_but(skip=False)),
    uphill=("the sign: add the gradient and the loss grows", moved_but(way=1)),
    no_rate=("the learning rate is missing", moved_but(rate=lambda lr: 1)),
    signs=("only the sign of the gradient is used", moved_but(of=lambda grad: grad.sign())))


@sgd_step.mistake("nothing moves: `p = p - ...` gives a new tensor the name p; the module still holds the old one")
def rebinds(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p = p - lr * p.grad


@sgd_step.mistake("the write is recorded: a leaf that needs gradients cannot be written in place outside no_grad()")
def recorded(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p -= lr * p.grad


@sgd_step.mistake("the parameter was replaced by its step: p -= lr * grad, not p = lr * grad")
def overwritten(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p.copy_(-lr * p.grad)


@sgd_step.mistake("gradients were switched off for good (requires_grad_(False)): the next backward will not reach them")
def frozen(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p.requires_grad_(False)
            p -= lr * p.grad
