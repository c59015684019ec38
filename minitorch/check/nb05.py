"""Checks of lesson 5, "From line to network": layers, parameters, a stable loss, the training loop, evaluation."""

import numpy as np

import minitorch as torch
from minitorch import nn

from .exercise import Exercise, show
from .naming import variants

linear = Exercise(
    "nb05.linear", "A module Linear(inputs, outputs): x @ weight.T + bias, weight of shape (outputs, inputs).",
    ("What makes a tensor a *parameter* of a module? And which line lets the module notice?",
     "First the constructor of nn.Module itself has to run; then nn.Parameter for weight (outputs, inputs) and bias "
     "(outputs,).",
     "self.weight = nn.____(torch.randn(____, ____)), the same for the bias; forward: x @ ____ + self.bias"),
    parts=("parameters", "output"))
linear.cases(lambda: [(1, 1, (1,)), (2, 1, (1,)), (1, 2, (3,)), (2, 3, (1,)), (3, 2, (4,)), (2, 2, (2,)),
                      (2, 3, (2, 2))])


@linear.run
def _(solution, inputs, outputs, batch):
    """The names and shapes of the parameters, and the output for parameters set by the check."""
    rng = np.random.default_rng(inputs * 10 + outputs)
    layer = solution(inputs, outputs)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    with torch.no_grad():
        for name in ("weight", "bias"):
            p = getattr(layer, name, None)
            if p is not None:
                p.copy_(torch.tensor(rng.integers(-3, 4, tuple(p.shape))))
    return [shapes, layer(torch.tensor(rng.integers(-3, 4, (*batch, inputs))).float())]


@linear.describe
def _(inputs, outputs, batch):
    return (f"Linear({inputs}, {outputs}) on an x of shape {[*batch, inputs]}, small integers everywhere. First the "
            "names and shapes of its parameters, then the output")


@linear.truth
class _Linear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight.T + self.bias


@linear.mistake("`bias` is a plain tensor: the module does not see it, no optimiser will; wrap it in nn.Parameter")
class plain_bias(_Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        del self.bias
        self.bias = torch.zeros(outputs)


@linear.mistake("`weight` is a plain tensor: the module does not see it, no optimiser will; wrap it in nn.Parameter")
class plain_weight(_Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        del self.weight
        self.weight = torch.zeros(outputs, inputs)


@linear.mistake("`weight` and `bias` are plain tensors: the module does not see them, no optimiser will; wrap both in "
                "nn.Parameter")
class plain_both(plain_bias):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        del self.weight
        self.weight = torch.zeros(outputs, inputs)


@linear.mistake("there is no bias: without it every line goes through the origin")
class no_bias(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))

    def forward(self, x):
        return x @ self.weight.T


@linear.mistake("the weight lies the other way: (inputs, outputs) computes the same, but every PyTorch checkpoint and "
                "initialiser expects (outputs, inputs)")
class lying_weight(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


@linear.mistake("the transpose is missing: rows of x are samples, so it is x @ weight.T")
class no_transpose(_Linear):
    def forward(self, x):
        return x @ self.weight + self.bias


@linear.mistake("the sample is on the wrong side: weight @ x needs columns as samples, a batch has them as rows")
class columns(_Linear):
    def forward(self, x):
        return self.weight @ x + self.bias


@linear.mistake("super().__init__() is missing or comes too late: a module must exist before it can take parameters")
class no_super(nn.Module):
    def __init__(self, inputs, outputs):
        self.weight = nn.Parameter(torch.randn(outputs, inputs))


@linear.mistake("the bias is subtracted")
class subtracted(_Linear):
    def forward(self, x):
        return x @ self.weight.T - self.bias


@linear.mistake("one bias for all outputs: each output unit has its own")
class one_bias(_Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.bias = nn.Parameter(torch.zeros(1))


parameters = Exercise(
    "nb05.parameters", "The names of all parameters of a module tree, like \"0.weight\", each parameter once.",
    ("A module has parameters of its own and children, which are modules: what kind of function handles that?",
     "Own ones first: module._parameters; then those of each child in module._modules, behind its name.",
     "for name, p in module._parameters.items(): if p is not ____ and id(p) not in ____: names.append(____); then "
     "for name, child in module._modules.items(): visit(child, ____)"))


def tree(kind):
    """Small module trees."""
    line = nn.Linear(1, 1)
    if kind == "a layer":
        return line
    if kind == "two layers":
        return nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
    if kind == "a layer without bias":
        return nn.Linear(1, 1, bias=False)
    if kind == "nested":
        return nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.ReLU()), nn.Linear(1, 1))
    if kind == "the same layer twice":
        return nn.Sequential(line, nn.ReLU(), line)
    if kind == "batch norm":
        return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    if kind == "frozen":
        line.weight.requires_grad_(False)
        return nn.Sequential(line, nn.Linear(1, 1))
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(1, 1)
            self.scale = nn.Parameter(torch.ones(1))
    return Own()


parameters.cases(lambda: [(kind,) for kind in (
    "a layer", "two layers", "a layer without bias", "own parameter and a child", "the same layer twice", "nested",
    "batch norm", "frozen")])
parameters.run(lambda solution, kind: list(solution(tree(kind))))
parameters.describe(lambda kind: f"the names for this tree ({kind}): {' '.join(repr(tree(kind)).split())}")
parameters.truth(lambda module: [name for name, _ in module.named_parameters()])


def walk(module, prefix="", children_first=False, depth=9):
    own = [prefix + name for name, p in module._parameters.items() if p is not None]
    below = [name for child, m in module._modules.items() if depth
             for name in walk(m, f"{prefix}{child}.", children_first, depth - 1)]
    return below + own if children_first else own + below


@parameters.mistake("children are not visited: a Sequential has no parameters of its own, its layers have")
def own_only(module):
    return walk(module, depth=0)


@parameters.mistake("only one level of children is visited: children have children, call the function on them")
def one_level(module):
    return walk(module, depth=1)


@parameters.mistake("a layer that is used in two places is listed twice: an optimiser would move it twice")
def listed_twice(module):
    return walk(module)


@parameters.mistake("the prefix is missing: two layers would both be called \"weight\"")
def no_prefix(module):
    return [name.split(".")[-1] for name, _ in module.named_parameters()]


@parameters.mistake("children come before the module's own parameters: PyTorch lists its own first")
def children_first(module):
    seen = {name for name, _ in module.named_parameters()}
    return [name for name in walk(module, children_first=True) if name in seen]


@parameters.mistake("buffers are in the list: the running statistics of batch norm are state, not parameters")
def with_buffers(module):
    seen = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
    return [name for name in module.state_dict() if name in seen]


@parameters.mistake("frozen parameters are left out: they are parameters still, they only need no gradient")
def without_frozen(module):
    return [name for name, p in module.named_parameters() if p.requires_grad]


@parameters.mistake("that is the list without weights' biases: every parameter counts")
def weights_only(module):
    return [name for name, _ in module.named_parameters() if "bias" not in name]


@parameters.mistake("the prefix keeps only the last name: for a nested tree the whole path is needed, \"0.0.weight\"")
def last_two(module):
    return [".".join(name.split(".")[-2:]) for name, _ in module.named_parameters()]


cross_entropy = Exercise(
    "nb05.cross_entropy", "Mean cross-entropy of logits (N, C) with targets (N,), without overflow at logits of 1000.",
    ("-log(softmax(z)[t]) can be written without ever computing a softmax.",
     "It is logsumexp(z) - z[t]. What may be subtracted from all of z without changing that?",
     "m = the maximum of each row; log_sum = (logits - m).exp().sum(1).log() + ____; picked = "
     "logits[torch.arange(____), ____]; the mean of ____"), rtol=1e-5, parts=("loss", "gradient of the logits"))


@cross_entropy.cases
def _():
    yield np.array([[1000.0, 0.0]]), np.array([1])
    yield np.array([[-1000.0, -1000.0]]), np.array([0])


@cross_entropy.draw
def _(d):
    n, c = d.int(1, 3), d.int(2, 4)
    return d.integers((n, c), -3, 3).astype(float), d.integers((n,), 0, c - 1)


@cross_entropy.run
def _(solution, logits, target):
    logits.requires_grad_()
    loss = solution(logits, target)
    if not loss.requires_grad:
        return [loss, "no graph"]
    if loss.numel() != 1:
        return [loss, "not one number"]
    loss.backward()
    return [loss, logits.grad]


@cross_entropy.describe
def _(logits, target):
    return f"cross_entropy({show(logits)}, {show(target)}). First the loss, then the gradient of the logits"


def picked(z, t):
    return z[torch.arange(len(t)), t]


def sample_losses(z, t):
    return torch.logsumexp(z, 1) - picked(z, t)


def entropy(z, t, log_p=lambda z: torch.log_softmax(z, 1), pick=picked, end=lambda losses: losses.mean(), sign=-1):
    """Cross-entropy, with every decision as an option."""
    return end(sign * pick(log_p(z), t))


entropy_but = variants(entropy)
cross_entropy.truth(entropy)
cross_entropy.slips(
    overflow=("log(softmax) as it stands in the book: exp(1000) is inf, and inf/inf is nan. Subtract the row's maximum "
              "first", entropy_but(log_p=lambda z: (z.exp() / z.exp().sum(1, keepdim=True)).log())),
    log_of_softmax=("softmax is safe, its log is not: a probability of e^-1000 is rounded to 0, and log(0) is -inf. "
                    "Never compute the probability", entropy_but(log_p=lambda z: torch.softmax(z, 1).log())),
    every_target=("`[:, target]` takes the columns of *all* targets for each row, (N, N): pair rows with targets, "
                  "`[torch.arange(N), target]`", entropy_but(pick=lambda z, t: z[:, t])),
    overflow_lse=("exp without the maximum subtracted: exp(1000) is inf, exp(-1000) is 0 and its log -inf",
                  lambda z, t: (z.exp().sum(1).log() - picked(z, t)).mean()),
    summed=("missing 1/N: the sum over the samples, where the mean is asked for",
            entropy_but(end=lambda losses: losses.sum())),
    over_classes=("divided by the number of classes too: only samples are averaged",
                  lambda z, t: sample_losses(z, t).mean() / z.shape[1]),
    sign=("the sign is wrong: a loss falls when the right class becomes likelier", entropy_but(sign=1)),
    maximum_lost=("the maximum was subtracted inside and not added back outside the logarithm",
                  entropy_but(log_p=lambda z: torch.log_softmax(z, 1) + z.max(1, keepdim=True).values)),
    wrong_axis=("softmax over the samples (dim 0): each *row* is a distribution over classes, dim=1",
                entropy_but(log_p=lambda z: torch.log_softmax(z, 0))),
    all_classes=("all log-probabilities are averaged: only the one of the right class counts",
                 entropy_but(pick=lambda z, t: z.sum(1))),
    detached=("the graph is lost on the way (`item`, `numpy`, `detach`): the loss must be a tensor with a history",
              lambda z, t: sample_losses(z, t).mean().detach()),
    not_averaged=("one loss per sample: average them, backward starts from one number",
                  entropy_but(end=lambda losses: losses)))

train = Exercise(
    "nb05.train", "Mean squared error of model(x) (N, 1) against y (N,), `steps` times: forward, backward, update.",
    ("What is the shape of model(x) - y? And what does `backward` do to gradients that are there already?",
     "Three calls have an order: zero_grad, backward, step. Shapes must be equal before you subtract.",
     "loss = ((model(x).____ - y) ** 2).mean(), and after it three calls in this order: ____, ____, ____"),
    tries=20, parts=("weight", "bias"))


@train.draw
def _(d):
    n = d.int(1, 4)
    return d.integers((n, 1), -2, 2).astype(float), d.integers((n,), -3, 3).astype(float), d.int(1, 3)


@train.run
def _(solution, x, y, steps):
    """Weight and bias after the steps, from weight 1 and bias 0 with a learning rate of 0.1."""
    model = nn.Linear(1, 1).double()
    with torch.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.0)
    solution(model, torch.optim.SGD(model.parameters(), lr=0.1), x, y, steps)
    return [model.weight.item(), model.bias.item()]


@train.describe
def _(x, y, steps):
    return (f"x = {show(x.ravel())} as a column, y = {show(y)}, {steps} steps of SGD(lr=0.1) from weight 1, bias 0. "
            "The weight and the bias afterwards")


def loop(model, optimizer, x, y, steps, *, loss=None, order="zero backward step", scale=1.0):
    for _ in range(steps):
        value = (loss or right_loss)(model(x), y) * scale
        for what in order.split():
            {"zero": optimizer.zero_grad, "backward": value.backward, "step": optimizer.step}[what]()


def right_loss(out, y):
    return ((out.squeeze(1) - y) ** 2).mean()


def once_before(model, optimizer, x, y, steps):
    value = right_loss(model(x), y)
    for _ in range(steps):
        optimizer.zero_grad()
        value.backward()
        optimizer.step()


loop_but = variants(loop)
train.truth(loop)
train.slips(
    broadcast=("(N, 1) minus (N,) is (N, N): every prediction is compared with every target. Make the shapes equal",
               loop_but(loss=lambda out, y: ((out - y) ** 2).mean())),
    no_zero_grad=("zero_grad is missing: each backward *adds* to the gradients of all earlier steps",
                  loop_but(order="backward step")),
    nothing_moves=("no parameter has moved: is `step` missing, or does zero_grad stand between backward and step, so "
                   "that the update finds no gradients?", loop_but(order="backward zero step")),
    stale_step=("step comes before backward: it uses the gradients of the step before",
                loop_but(order="step zero backward")),
    summed=("the sum of the squares, where the mean is asked for: the learning rate then depends on N",
            loop_but(loss=lambda out, y: ((out.squeeze(1) - y) ** 2).sum())),
    outside=("the loss is computed once, before the loop: each step needs a forward pass with the new weights, and "
             "backward goes through a graph once", once_before),
    halved=("half of the mean squared error: a common convention in books, not in PyTorch",
            loop_but(scale=0.5)),
    absolute=("absolute differences, not squares",
              loop_but(loss=lambda out, y: (out.squeeze(1) - y).abs().mean())),
    uphill=("the loss rises: a sign is wrong somewhere", loop_but(scale=-1.0)),
    one_step=("one step too many: count them",
              lambda model, optimizer, x, y, steps: loop(model, optimizer, x, y, steps + 1)))

evaluate = Exercise(
    "nb05.evaluate", "The fraction of samples whose largest output is the right class, as a float; model as before.",
    ("Some layers behave differently when a model is used, not trained. Which call tells them?",
     "Evaluation mode before, and after it the mode that the model had; no gradients are needed in between.",
     "before = model.training; model.____; with torch.____: right = (model(x).argmax(____) == "
     "y).float().mean().item(); model.train(____)"), tries=20,
    parts=("accuracy", "in training mode afterwards?", "running mean", "a graph recorded?"))


@evaluate.draw
def _(d):
    n = d.int(2, 5)
    return d.integers((n, 3), -3, 3).astype(float), d.integers((n,), 0, 2), d.bool()


@evaluate.run
def _(solution, x, y, training):
    """The result, the mode afterwards, and the running mean, which evaluation must not move."""
    model = nn.BatchNorm1d(3).double()
    model.running_mean.copy_(torch.tensor([0.0, 1.0, -1.0]))
    model.train(training)
    grad_modes = []
    model.register_forward_hook(lambda *_: grad_modes.append(torch.is_grad_enabled()))
    result = solution(model, x, y)
    return [result, model.training, model.running_mean, any(grad_modes)]


@evaluate.describe
def _(x, y, training):
    return (f"a model of one BatchNorm1d(3), {'in training' if training else 'in evaluation'} mode, x = {show(x)}, y = "
            f"{show(y)}. The accuracy; the mode afterwards (training?); the running mean; was a graph recorded?")


def accuracy(model, x, y, *, eval=True, back=True, grad=False, of=None):
    was = model.training
    if eval:
        model.eval()
    with torch.set_grad_enabled(grad):
        out = model(x)
    result = of(out, y) if of else (out.argmax(1) == y).double().mean().item()
    if back:
        model.train(was)
    return result


accuracy_but = variants(accuracy)
evaluate.truth(accuracy)
evaluate.slips(
    no_eval=("model.eval() is missing: batch norm uses (and moves!) the statistics of your test set, dropout drops",
             accuracy_but(eval=False)),
    stays_eval=("the model stays in evaluation mode: the rest of the training would go on without dropout",
                accuracy_but(back=False)),
    always_train=("a model that was being used is in training mode afterwards: put back what you found, model.training",
                  lambda *a: (accuracy(*a), a[0].train())[0]),
    records=("a graph is recorded: evaluation needs no gradients, torch.no_grad() saves the memory of all layers",
             accuracy_but(grad=True)),
    no_eval_records=("both model.eval() and torch.no_grad() are missing",
                     accuracy_but(eval=False, grad=True)),
    count=("the number of right answers, not their fraction",
           accuracy_but(of=lambda out, y: (out.argmax(1) == y).sum().item())),
    errors=("the fraction of *wrong* answers", accuracy_but(of=lambda out, y: (out.argmax(1) != y).double()
                                                                   .mean().item())),
    wrong_axis=("argmax over the samples (dim 0): each row holds the outputs of one sample, dim=1",
                accuracy_but(of=lambda out, y: (out.argmax(0) == y).double().mean().item())),
    smallest=("argmin: the *largest* output wins",
              accuracy_but(of=lambda out, y: (out.argmin(1) == y).double().mean().item())))
