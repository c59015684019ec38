"""Training loops for the run doctor: planted faults, each with the kind that it must name, and healthy ones.

``python -m tests.testing.doctor_cases`` prints the table: faults, the programs of examples/ (all
healthy), and what watching
costs. The suite runs the faults and the small healthy loops.
"""

import contextlib
import io
import os
import runpy
import sys
import tempfile
import time
import warnings

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn
from minitorch.testing import doctor
from tests import ROOT

FAULTS, HEALTHY = {}, {}


def fault(kind):
    def enter(function):
        FAULTS[function.__name__] = function, kind
        return function
    return enter


def healthy(function):
    HEALTHY[function.__name__] = function
    return function


# ------------------------------------------------------------------ what the loops share
def blobs(n=256, features=8, classes=4, seed=0):
    """Points around `classes` centres, and which centre."""
    g = torch.Generator().manual_seed(seed)
    t = torch.randint(0, classes, (n,), generator=g)
    centres = torch.randn(classes, features, generator=g) * 1.5
    return centres[t] + torch.randn(n, features, generator=g), t


def mlp(features=8, hidden=24, classes=4, act=nn.ReLU):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(features, hidden), act(), nn.Linear(hidden, hidden), act(),
                         nn.Linear(hidden, classes))


def loop(net, data=None, loss=F.cross_entropy, optimizer=None, steps=36, batch=32, each=None, params=None):
    """A plain training loop; `each` is called after each step."""
    x, t = data or blobs()
    optimizer = optimizer or torch.optim.Adam(params or net.parameters(), lr=0.01)
    for i in range(steps):
        at = slice(i * batch % len(x), i * batch % len(x) + batch)
        optimizer.zero_grad()
        loss(net(x[at]), t[at]).backward()
        optimizer.step()
        if each is not None:
            each(i)


# ------------------------------------------------------------------ faults: gradients and optimisers
@fault("missing zero_grad")
def no_zero_grad():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(10):
        F.cross_entropy(net(x), t).backward()
        optimizer.step()


@fault("no gradients")
def no_backward():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(net(x), t)
        optimizer.step()


@fault("gradients cleared too early")
def zero_grad_before_step():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        F.cross_entropy(net(x), t).backward()
        optimizer.zero_grad()
        optimizer.step()


@fault("gradients cleared too early")
def zeros_before_step():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        F.cross_entropy(net(x), t).backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()


@fault("no step")
def never_steps():
    net, (x, t) = mlp(), blobs()
    for _ in range(6):
        F.cross_entropy(net(x), t).backward()


@fault("parameters not in the optimiser")
def new_head():
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    net[4] = nn.Linear(24, 4)                              # after the optimiser was made
    loop(net, optimizer=optimizer)


@fault("parameters not in the optimiser")
def only_first_layer():
    net = mlp()
    loop(net, params=[net[0].weight])


class Cut(nn.Module):
    """A network whose first part is cut out of the graph."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.features(x).relu().detach())


@fault("parameters without gradient")
def detached():
    loop(Cut())


@fault("parameters without gradient")
def never_called():
    net = mlp()
    extra = nn.Linear(3, 3)
    loop(net, params=[*net.parameters(), *extra.parameters()])


@fault("optimiser recreated")
def optimizer_in_the_loop():
    net, (x, t) = mlp(), blobs()
    for _ in range(12):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        optimizer.zero_grad()
        F.cross_entropy(net(x), t).backward()
        optimizer.step()


@fault("gradients clipped to nothing")
def clipped_to_nothing():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        F.cross_entropy(net(x), t).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-4)
        optimizer.step()


@fault("learning rate too high")
def rate_too_high():
    net = mlp()
    loop(net, optimizer=torch.optim.SGD(net.parameters(), lr=30.0))


@fault("learning rate too high")
def adam_too_high():
    net = mlp()
    loop(net, optimizer=torch.optim.Adam(net.parameters(), lr=3.0))


@fault("learning rate too low")
def rate_too_low():
    net = mlp()
    loop(net, optimizer=torch.optim.SGD(net.parameters(), lr=1e-6))


@fault("learning rate gone")
def schedule_ends_early():
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.1)        # meant for epochs
    loop(net, optimizer=optimizer, steps=60, each=lambda i: schedule.step())


# ------------------------------------------------------------------ faults: losses
@fault("probabilities as logits")
def softmax_in_the_model():
    loop(nn.Sequential(mlp(), nn.Softmax(-1)))


@fault("squashed logits")
def sigmoid_twice():
    loop(nn.Sequential(mlp(classes=1), nn.Sigmoid(), nn.Flatten(0)), loss=lambda y, t: (
        F.binary_cross_entropy_with_logits(y, (t > 1).float())))


@fault("ReLU on the logits")
def relu_at_the_end():
    loop(nn.Sequential(mlp(), nn.ReLU()))


@fault("nll_loss without log")
def nll_of_probabilities():
    loop(nn.Sequential(mlp(), nn.Softmax(-1)), loss=F.nll_loss)


@fault("targets outside [0, 1]")
def minus_one_and_one():
    loop(nn.Sequential(mlp(classes=1), nn.Flatten(0)), loss=lambda y, t: (
        F.binary_cross_entropy_with_logits(y, (t > 1).float() * 2 - 1)))


def line(n=256):
    x = blobs(n)[0]
    return x, x[:, 0] - 0.5 * x[:, 1]


@fault("broadcast in the loss")
def column_against_row():
    loop(mlp(classes=1), line(), lambda y, t: ((y - t) ** 2).mean())


@fault("softmax over the batch")
def softmax_of_dimension_0():
    loop(mlp(), loss=lambda y, t: F.nll_loss(y.log_softmax(0), t))


# ------------------------------------------------------------------ faults: data
@fault("inputs out of range")
def raw_pixels():
    x, t = blobs()
    loop(mlp(), (((x - x.min()) / (x.max() - x.min()) * 255).round(), t))


@fault("features on different scales")
def mixed_units():
    x, t = blobs()
    loop(mlp(), (x * torch.tensor([1e-4, 1, 1, 1, 1, 1, 5, 1]), t))


@fault("targets out of range")
def prices():
    x, y = line()
    loop(mlp(classes=1), (x, 1e5 + 3e4 * y.unsqueeze(1)), F.mse_loss)


@fault("labels do not fit the inputs")
def labels_shuffled_each_epoch():
    x, t = blobs()
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for _ in range(8):
        order = torch.randperm(len(x))
        for i in range(0, 256, 64):
            optimizer.zero_grad()
            F.cross_entropy(net(x[i:i + 64]), t[order][i:i + 64]).backward()
            optimizer.step()


@fault("labels do not fit the inputs")
def labels_shuffled_once():
    x, t = blobs(512)
    net = mlp()
    loop(net, (x, t[torch.randperm(len(t))]), optimizer=torch.optim.SGD(net.parameters(), lr=0.05))


@fault("batches of one class")
def sorted_by_class():
    x, t = blobs()
    order = t.argsort()
    x, t = x[order], t[order]
    parts = [(x[t == k][i:i + 8], t[t == k][i:i + 8]) for k in range(4) for i in (0, 8, 16)]
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for x, t in parts * 3:
        optimizer.zero_grad()
        F.cross_entropy(net(x), t).backward()
        optimizer.step()


@fault("input not finite")
def a_hole_in_the_data():
    x, t = blobs()
    x[77, 3] = float("nan")
    loop(mlp(), (x, t))


# ------------------------------------------------------------------ faults: modes
def dropped():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.3), nn.Linear(24, 4))


@fault("train mode in validation")
def eval_forgotten():
    net, (x, t) = dropped(), blobs()

    def validate(i):
        if i % 10 == 9:
            with torch.no_grad():
                F.cross_entropy(net(x), t)
    loop(net, each=validate)


@fault("eval mode in training")
def train_forgotten():
    net, (x, t) = dropped(), blobs()

    def validate(i):
        if i == 9:
            net.eval()
            with torch.no_grad():
                F.cross_entropy(net(x), t)
    loop(net, each=validate)


# ------------------------------------------------------------------ faults: signals and numbers
@fault("dead units")
def dead():
    net = mlp()
    with torch.no_grad():
        net[0].bias.fill_(-20.0)
    loop(net)


@fault("vanishing gradients")
def deep_sigmoids():
    torch.manual_seed(0)
    layers = [m for _ in range(10) for m in (nn.Linear(16, 16), nn.Sigmoid())]
    loop(nn.Sequential(nn.Linear(8, 16), *layers, nn.Linear(16, 4)))


@fault("exploding gradients")
def large_weights():
    torch.manual_seed(0)
    layers = [m for _ in range(8) for m in (nn.Linear(24, 24), nn.ReLU())]
    net = nn.Sequential(nn.Linear(8, 24), *layers, nn.Linear(24, 4))
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=1.5)
    loop(net)


@fault("units that stay equal")
def constant_weights():
    net = mlp(act=nn.Tanh)
    for p in net.parameters():
        nn.init.constant_(p, 0.1)
    loop(net)


@fault("value not finite")
def log_of_zero():
    net = mlp(classes=1)
    loop(net, line(), lambda y, t: (y.relu().log().squeeze(1) - t).pow(2).mean())


@fault("value not finite")
def exp_overflows():
    net = mlp()

    def by_hand(y, t):
        powers = (y * 500).exp()
        return -(powers / powers.sum(1, keepdim=True))[torch.arange(len(t)), t].mean()
    loop(net, loss=by_hand)


@fault("gradient not finite")
def root_at_zero():
    net = mlp()
    loop(net, loss=lambda y, t: F.cross_entropy(y, t) + 0.01 * ((y * 0) ** 2).sum().sqrt())


# ------------------------------------------------------------------ healthy loops
@healthy
def plain():
    loop(mlp())


@healthy
def accumulation():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(20):
        for i in (0, 64):
            (F.cross_entropy(net(x[i:i + 64]), t[i:i + 64]) / 2).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


@healthy
def validated():
    net, (x, t) = dropped(), blobs()

    def validate(i):
        if i % 10 == 9:
            net.eval()
            with torch.no_grad():
                F.cross_entropy(net(x), t)
            net.train()
    loop(net, each=validate)


@healthy
def frozen_features():
    net = mlp()
    for p in net[0].parameters():
        p.requires_grad_(False)
    loop(net, params=net[2:].parameters())


@healthy
def frozen_batch_norm():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 4))
    net[1].eval()
    loop(net)


@healthy
def regression():
    loop(mlp(classes=1), line(), lambda y, t: F.mse_loss(y.squeeze(1), t))


@healthy
def by_hand():
    net, (x, t) = mlp(), blobs()
    for _ in range(30):
        net.zero_grad()
        F.cross_entropy(net(x), t).backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad


@healthy
def without_modules():
    w = torch.zeros(8, 4, requires_grad=True)
    x, t = blobs()
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(30):
        optimizer.zero_grad()
        F.cross_entropy(x @ w, t).backward()
        optimizer.step()


@healthy
def lbfgs():
    net, (x, t) = mlp(), blobs()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        return loss
    for _ in range(4):
        optimizer.step(closure)


@healthy
def cosine_to_zero():
    net = mlp()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 36)
    loop(net, optimizer=optimizer, each=lambda i: schedule.step())


@healthy
def text():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(27, 16), nn.Flatten(), nn.Linear(48, 64), nn.Tanh(), nn.Linear(64, 27))
    x = torch.randint(0, 27, (256, 3))
    loop(net, (x, (x[:, 2] + 1) % 27))


@healthy
def convolutions():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(72, 4))
    x, t = blobs(features=64)
    loop(net, (x.reshape(-1, 1, 8, 8), t), steps=16)


# ------------------------------------------------------------------ running them
def examine(function, **how):
    """The doctor after it has watched `function`, its warnings left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return doctor(**how).examine(function)


EXAMPLES = {"digits_cnn": "--epochs 6", "vae": "--epochs 4", "gan": "--epochs 6", "char_rnn": "--steps 120",
            "gpt": "--steps 40", "diffusion": "--steps 100", "seq2seq_attention": "--steps 60",
            "reinforce": "--steps 15", "maml": "--steps 20", "resnet": "--epochs 2 --blocks 1",
            "unet": "--steps 20", "time_sequence": "--steps 3"}


def example(name, options):
    """Run a program of examples/ in this process."""
    from minitorch.cli.alias import install
    install()
    path = ROOT / "examples" / f"{name}.py"
    before, sys.argv = sys.argv, [str(path), *options.split()]
    sys.path.insert(0, str(path.parent))
    here = os.getcwd()
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            sys.argv += ["--out", folder]
            os.chdir(folder)
            runpy.run_path(str(path), run_name="__main__")
    finally:
        os.chdir(here)
        sys.argv = before
        sys.path.pop(0)


def cost(features=64, hidden=256, steps=400, rounds=5):
    """The time of a watched run over that of the same run alone: the least of runs in turns."""
    data = blobs(2048, features)

    def run():
        loop(mlp(features, hidden), data, steps=steps, batch=64)
    took = {False: [], True: []}
    for _ in range(rounds):
        for watched in (False, True):
            start = time.process_time()
            examine(run) if watched else run()
            took[watched].append(time.process_time() - start)
    return min(took[True]) / min(took[False])


def main():
    named = 0
    for name, (function, kind) in FAULTS.items():
        found = [f.kind for f in examine(function).findings]
        named += found[:1] == [kind]
        print(f"{'ok   ' if found[:1] == [kind] else 'WRONG'} {name.ljust(28)} {kind.ljust(32)} {', '.join(found)}")
    print(f"{named} of {len(FAULTS)} faults named first\n")
    quiet = {name: examine(function).findings for name, function in HEALTHY.items()}
    if "--small" not in sys.argv:
        quiet.update((f"examples/{name}.py", examine(lambda name=name, o=o: example(name, o)).findings)
                     for name, o in EXAMPLES.items())
    for name, found in quiet.items():
        print(f"{'ok   ' if not found else 'WRONG'} {name.ljust(32)} {', '.join(map(str, found))}")
    print(f"{sum(not found for found in quiet.values())} of {len(quiet)} healthy runs without an alarm\n")
    for hidden in (32, 128, 512):
        print(f"a step of 64 -> {hidden} -> {hidden} -> 4 takes {cost(hidden=hidden):.3f} of its time alone")


if __name__ == "__main__":
    main()
