"""Random stories: loops of 20 to 50 steps of training, told by PyTorch and by minitorch, compared step by step.

    python -m tests.parity.stories --stories 2000 --seed 1

A story is a dictionary of features (model, optimizer, schedule, loader, events in mid-training, ...), drawn from its
seed. Both libraries start from the same seed, and so from the same weights and random numbers; nearly all is float64.
A story that differs is told again with fewer features and steps for as long as it still differs.
"""

import argparse
import collections
import contextlib
import copy
import importlib
import io
import math
import random
import threading
import time
import warnings

import numpy as np
import pytest

import minitorch

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

TOLERANCE = {"float64": 1e-7, "float32": 2e-3, "bfloat16": 0.1}


# ---- drawing -----------------------------------------------------------------------------------------------
def settings(rng, **choices):
    """Some of the settings, each with one of its values."""
    return {k: rng.choice(v) for k, v in choices.items() if rng.random() < 0.4}


TRUTH = (True, False)
ADAM = dict(betas=[(0.8, 0.95), (0.5, 0.9)], eps=[1e-6], weight_decay=[0.1, 0.01], amsgrad=TRUTH, maximize=TRUTH,
            foreach=TRUTH, capturable=[False])
PLAIN = dict(weight_decay=[0.1, 0.01], maximize=TRUTH, foreach=TRUTH)
OPTIMIZERS: dict = {
    "SGD": dict(momentum=[0.9, 0.5], dampening=[0.1], weight_decay=[0.1], maximize=TRUTH, foreach=TRUTH,
                nesterov=[True]),
    "Adam": {**ADAM, "decoupled_weight_decay": TRUTH}, "AdamW": ADAM,
    "Adamax": {**PLAIN, "betas": [(0.8, 0.95)]},
    "NAdam": {**PLAIN, "momentum_decay": [0.01], "decoupled_weight_decay": TRUTH},
    "RAdam": {**PLAIN, "decoupled_weight_decay": TRUTH}, "Adadelta": {**PLAIN, "rho": [0.8]},
    "Adagrad": {**PLAIN, "lr_decay": [0.1], "initial_accumulator_value": [0.1], "eps": [1e-6]},
    "ASGD": {**PLAIN, "t0": [5.0, 1e6], "lambd": [1e-3]},
    "RMSprop": {**PLAIN, "momentum": [0.9], "centered": TRUTH, "alpha": [0.9]},
    "Rprop": dict(etas=[(0.4, 1.3)], step_sizes=[(1e-5, 1.0)], maximize=TRUTH, foreach=TRUTH),
    "Adafactor": dict(beta2_decay=[-0.5], d=[2.0], weight_decay=[0.1], maximize=TRUTH, foreach=TRUTH),
    "LBFGS": dict(max_iter=[3, 5], history_size=[4], line_search_fn=[None, "strong_wolfe"]),
    "Muon": dict(weight_decay=[0.01], momentum=[0.9], nesterov=TRUTH, ns_steps=[3]),
    "SparseAdam": dict(betas=[(0.8, 0.95)], maximize=TRUTH)}
WITH_FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
WITH_TENSOR_LR = ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "Adadelta", "ASGD", "Adagrad")
SCHEDULES = ("StepLR(o, 4, 0.5)", "MultiStepLR(o, [3, 9, 9], 0.5)", "ExponentialLR(o, 0.95)", "ConstantLR(o, 0.3, 4)",
             "LinearLR(o, 0.2, 0.8, 7)", "CosineAnnealingLR(o, 9, 1e-4)", "CosineAnnealingWarmRestarts(o, 4, 2)",
             "PolynomialLR(o, 30, 1.5)", "LambdaLR(o, lambda n: 0.9 ** n)", "MultiplicativeLR(o, lambda n: 0.97)",
             "OneCycleLR(o, 0.05, 120)", "OneCycleLR(o, 0.05, 120, three_phase=True, anneal_strategy='linear')",
             "CyclicLR(o, 1e-3, 0.02, 5, mode='triangular2', cycle_momentum=False)", "ReduceLROnPlateau(o, patience=1)",
             "CyclicLR(o, 1e-3, 0.02, 3, mode='exp_range', gamma=.95, cycle_momentum=False)",
             "ReduceLROnPlateau(o, 'max', 0.5, 2, threshold_mode='abs', cooldown=2, min_lr=1e-4)",
             "ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)])",
             "ChainedScheduler([s.StepLR(o, 3), s.CosineAnnealingLR(o, 9)], optimizer=o)",
             "SequentialLR(o, [s.LinearLR(o, 0.1, 1, 4), s.CosineAnnealingLR(o, 12)], [4])",
             "SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.StepLR(o, 2), s.ExponentialLR(o, .9)], [3, 9])",
             "swa.SWALR(o, 0.003, 5, 'linear')", "swa.SWALR(o, 0.003)")
MODELS = ("mlp", "mlp", "cnn", "lstm", "gru", "rnn", "transformer", "bag")
WRAPS = ("parametrizations.weight_norm", "parametrizations.spectral_norm", "parametrizations.orthogonal", "weight_norm",
         "spectral_norm", "own")
EVENTS = ("freeze", "unfreeze", "freeze", "unfreeze", "save", "save", "copy", "copy", "scale", "data", "evaluate", "lr",
          "group", "clear", "renew", "assign", "there_and_back", "optimizer", "prune", "set_to_none", "reset", "embed",
          "rebuild", "momentum", "eval_mode", "train_mode", "hook", "view", "swap")
HOOKS = ("forward", "forward_pre", "backward", "backward_pre", "tensor", "accumulate", "step_pre", "step_post", "state",
         "saved")
LOADERS = ("none", "plain", "shuffle", "generator", "weighted", "batches", "workers", "random", "iterable", "subset")


def draw(seed):
    """The features of a story."""
    rng = random.Random(seed)
    some = lambda value, chance=0.25: value if rng.random() < chance else None  # noqa: E731
    name = rng.choice(list(OPTIMIZERS)) if rng.random() < 0.7 else rng.choice(["SGD", "Adam", "AdamW"])
    options = settings(rng, **OPTIMIZERS[name])
    if options.get("nesterov") and name == "SGD":
        options.update(momentum=0.9)
        options.pop("dampening", None)
    if name in WITH_FUSED and rng.random() < 0.2:
        options = {k: v for k, v in options.items() if k != "foreach"} | {"fused": True}
    steps = rng.randint(20, 50)
    story: dict = dict(seed=seed, steps=steps, model=rng.choice(MODELS), optimizer=name, options=options,
                       lr=rng.choice([0.01, 0.003, 0.03]))
    if name == "SparseAdam":
        story["model"] = "sparse"
    story["tensor_lr"] = some(True, 0.3) if name in WITH_TENSOR_LR and not options.get("foreach") else None
    story["groups"] = some(True, 0.3) if name not in ("LBFGS", "SparseAdam") else None
    story["schedule"] = some(rng.choice(SCHEDULES), 0.6)
    story["second_schedule"] = some(rng.choice(SCHEDULES[:10]), 0.1)
    story["accumulate"] = some(rng.choice([2, 3]))
    story["clip"] = some(rng.choice(["norm", "value", "inf", "l1"]), 0.3)
    story["checkpoint"] = some(rng.choice(["plain", "reentrant", "sequential"]))
    story["dropout"] = some(rng.choice([0.1, 0.5]), 0.4)
    story["wrap"] = some(rng.choice(WRAPS), 0.3)
    story["tied"] = some(True)
    story["average"] = some(rng.choice(["swa", "ema", "swa_buffers", "multi"]))
    story["hooks"] = some(rng.sample(HOOKS, rng.randint(1, 2)), 0.3)
    story["autocast"] = some(True, 0.08)
    story["scaler"] = some(True, 0.08)
    story["compile"] = some(rng.choice(["step", "model", "loss"]), 0.3)
    story["loader"] = rng.choices(LOADERS, [3, 2, 2, 2, 2, 2, 0.15, 2, 1, 1])[0]
    story["style"] = rng.choices(["backward", "closure", "grad", "functional", "in_backward", "penalty"],
                                 [6, 1, 1, 1, 1, 1])[0]
    if name == "LBFGS":
        story["style"] = "closure"
    story["zero"] = rng.choice([None, True, False])
    story["threads"] = some(True, 0.06)
    story["events"] = sorted((rng.randrange(1, steps), rng.choice(EVENTS)) for _ in range(rng.choice([0, 1, 2, 3, 4])))
    return simplified(story)


def simplified(story):
    """The story without features that do not go together."""
    if story["threads"]:                     # threads share the default generator: no chance in what they do
        story.update(dropout=None, loader="none" if story["loader"] in ("shuffle", "workers") else story["loader"])
    if story["model"] == "sparse":
        story.update(clip=None, wrap=None, tied=None, groups=None, checkpoint=None, hooks=None, scaler=None)
        story["events"] = [e for e in story["events"] if e[1] not in ("prune", "renew", "group", "view")]
    if story["style"] in ("functional", "penalty"):
        story.update(checkpoint=None)
    # ---- where PyTorch refuses, or is wrong
    if story["style"] == "functional" and story["hooks"]:  # hooks of backward passes under `grad`
        story["hooks"] = [h for h in story["hooks"] if not h.startswith("backward")] or None
    if story["style"] == "penalty":
        # no second derivatives of embedding_bag and attention; a wrong one of its fused weight_norm, which finite
        # differences show
        story["wrap"] = None if story["wrap"] and "weight_norm" in story["wrap"] else story["wrap"]
        story["model"] = "mlp" if story["model"] in ("bag", "transformer") else story["model"]
    if story["optimizer"] == "LBFGS":                      # its copies have no `_params`
        story["events"] = [e for e in story["events"] if e[1] != "copy"]
    if story["style"] == "functional" and story["model"] == "cnn":
        story.update(model="mlp")                          # batch norm counts its batches
    if story["style"] in ("closure", "in_backward", "functional", "grad"):
        story.update(scaler=None, accumulate=None)
    if story["wrap"] in ("weight_norm", "spectral_norm"):
        story["events"] = [e for e in story["events"] if e[1] not in ("copy", "prune", "optimizer")]
        if story["average"]:
            story["average"] = None
    return story


# ---- models ------------------------------------------------------------------------------------------------
def make_model(T, story):
    nn, kind, p = T.nn, story["model"], story["dropout"] or 0.0

    class Half(nn.Module):
        def forward(self, x):
            return x * 0.5

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = None, nn.Linear(8, 5)
            if kind == "mlp":
                self.body = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Dropout(p), nn.Linear(10, 8), nn.GELU(),
                                          nn.LayerNorm(8))
            elif kind == "cnn":
                self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.SiLU(),
                                          nn.AvgPool2d(2), nn.Dropout2d(p), nn.Conv2d(4, 8, 2), nn.GroupNorm(2, 8),
                                          nn.ELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
            else:
                self.embed = (nn.EmbeddingBag if kind == "bag" else nn.Embedding)(5, 8, sparse=kind == "sparse")
                self.body = {
                    "lstm": lambda: nn.LSTM(8, 8, 2, dropout=p, batch_first=True),
                    "gru": lambda: nn.GRU(8, 4, bidirectional=True, batch_first=True),
                    "rnn": lambda: nn.RNN(8, 8, nonlinearity="tanh", batch_first=True),
                    "transformer": lambda: nn.TransformerEncoderLayer(8, 2, 16, p, "gelu", batch_first=True,
                                                                      norm_first=story["seed"] % 2 == 0),
                }.get(kind, lambda: nn.Dropout(p))()
            if story["tied"] and hasattr(self, "embed"):
                self.head.weight = self.embed.weight
            self.register_buffer("count", T.zeros((), dtype=T.int64))

        def rest(self, x):
            if story["checkpoint"] == "sequential" and isinstance(self.body, nn.Sequential):
                return checkpoint(T).checkpoint_sequential(self.body, 2, x, use_reentrant=False)
            x = self.body(x)
            x = x[0] if isinstance(x, tuple) else x
            return x.mean(1) if x.ndim == 3 else x

        def forward(self, x):
            if story["style"] != "functional":             # PyTorch refuses writes to what is captured
                self.count += 1
            x = self.embed(x) if hasattr(self, "embed") else x
            if story["checkpoint"] in ("plain", "reentrant"):
                x = checkpoint(T).checkpoint(self.rest, x, use_reentrant=story["checkpoint"] == "reentrant")
            else:
                x = self.rest(x)
            return self.head(x)

    model = Model().to(getattr(T, dtype_of(story)))
    utils, wrap = nn.utils, story["wrap"]
    if wrap == "own":
        utils.parametrize.register_parametrization(model.head, "bias", Half())
    elif wrap:
        place = utils
        for part in wrap.split("."):
            place = getattr(place, part)
        place(model.head)
    return model


def checkpoint(T):
    return importlib.import_module(f"{T.__name__}.utils.checkpoint")


def dtype_of(story):
    return "float32" if story["autocast"] else "float64"


def make_batches(T, story):
    """An endless iterator of batches."""
    kind, n, data, loader = story["model"], 24, T.utils.data, story["loader"]
    dtype = getattr(T, dtype_of(story))
    if kind == "mlp":
        x = T.randn(n, 6, dtype=dtype)
    elif kind == "cnn":
        x = T.randn(n, 1, 6, 6, dtype=dtype)
    else:
        x = T.randint(0, 5, (n, 4))
    y = T.randint(0, 5, (n,))
    dataset = data.TensorDataset(x, y)
    if loader == "none":
        return repeated(lambda: [(x[i:i + 6], y[i:i + 6]) for i in range(0, n, 6)])
    generator = T.Generator().manual_seed(story["seed"] % 1000)
    given: dict = dict(batch_size=6)
    if loader == "shuffle":
        given["shuffle"] = True
    elif loader == "generator":
        given.update(shuffle=True, generator=generator, drop_last=True, batch_size=7)
    elif loader == "weighted":
        given["sampler"] = data.WeightedRandomSampler([1.0 + i % 3 for i in range(n)], 12, generator=generator)
    elif loader == "batches":
        given = dict(batch_sampler=data.BatchSampler(data.RandomSampler(dataset, generator=generator), 5, False))
    elif loader == "workers":
        given.update(shuffle=True, num_workers=1, generator=generator, persistent_workers=True)
    elif loader == "random":
        given.update(sampler=data.RandomSampler(dataset, True, 18, generator), collate_fn=lambda rows: [
            T.stack(part) for part in zip(*rows)])
    elif loader == "subset":
        dataset = data.ConcatDataset(data.random_split(dataset, [10, 0.5 > 0 and n - 10], generator=generator))
    elif loader == "iterable":
        class Stream(data.IterableDataset):
            def __iter__(self):
                return iter([(x[i], y[i]) for i in range(n - 1, -1, -1)])
        dataset = Stream()
    return repeated(data.DataLoader(dataset, **given).__iter__)


def repeated(epoch):
    while True:
        yield from epoch()


# ---- running -----------------------------------------------------------------------------------------------
class Told:
    """A story as one library runs it: its training, and the log of it."""

    def __init__(self, T, story, nudge=0.0):
        self.T, self.story, self.log = T, story, []
        self.nn = T.nn
        T.manual_seed(story["seed"] % 10_000)
        self.model = make_model(T, story)
        self.note("start", self.model.state_dict())
        if nudge:
            for p in self.model.parameters():
                p.data.mul_(1 + nudge * T.linspace(-1, 1, p.numel(), dtype=p.dtype).view_as(p))
        self.batches = make_batches(T, story)
        self.average, self.scaler, self.stop = self.averaged(), None, False
        if story["scaler"]:
            self.scaler = T.amp.GradScaler("cpu", init_scale=16.0, growth_interval=3)
        self.train_with(self.parameters())
        self.hook()

    def note(self, name, value):
        self.log += [(f"{name}{key}", v) for key, v in flat(value)]

    # ---- what it is made of
    def parameters(self):
        named = [(k, p) for k, p in self.model.named_parameters() if p.requires_grad]
        if self.story["optimizer"] == "Muon":
            return [p for _, p in named if p.ndim == 2]
        if self.story["optimizer"] == "SparseAdam":
            return [self.model.embed.weight]
        if not self.story["groups"]:
            return [p for _, p in named]
        first = [p for k, p in named if "head" in k]
        rest = [(k, p) for k, p in named if "head" not in k]
        if self.story["seed"] % 3 == 0:
            return [{"params": rest}, {"params": [(k, p) for k, p in named if "head" in k], "lr": 0.02}]
        return [{"params": first, "lr": 0.02}, {"params": [p for _, p in rest]}]

    def train_with(self, parameters):
        story, lr = self.story, self.story["lr"]
        lr = self.T.tensor(lr, dtype=self.T.float64) if story["tensor_lr"] else lr
        self.optimizer = getattr(self.T.optim, story["optimizer"])(parameters, lr=lr, **story["options"])
        self.schedules = []
        for text in (story["schedule"], story["second_schedule"]):
            if text:
                self.schedules.append(self.scheduled(text))
        self.compiled = None

    def scheduled(self, text):
        names = {"s": self.T.optim.lr_scheduler, "swa": self.T.optim.swa_utils, "o": self.optimizer}
        return eval(text if text.startswith("swa") else f"s.{text}", names)

    def averaged(self):
        kind, swa = self.story["average"], self.T.optim.swa_utils
        if kind == "ema":
            return swa.AveragedModel(self.model, avg_fn=swa.get_ema_avg_fn(0.9))
        if kind == "multi":
            return swa.AveragedModel(self.model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9), use_buffers=True)
        return swa.AveragedModel(self.model, use_buffers=kind == "swa_buffers") if kind else None

    def hook(self):
        """Hooks on the model and the optimizer that there are now."""
        head, hooks = self.model.head, self.story["hooks"] or ()
        calls = self.calls = collections.Counter()

        def counted(name, value=None):
            calls[name] += 1
            return value
        if "forward" in hooks:
            head.register_forward_hook(lambda m, args, out: counted("forward", out * 1.1))
        if "forward_pre" in hooks:
            head.register_forward_pre_hook(lambda m, args: counted("pre", (args[0] * 0.9,)))
        if "backward" in hooks:
            head.register_full_backward_hook(lambda m, i, o: counted("backward", (i[0] * 0.5,)))
        if "backward_pre" in hooks:
            head.register_full_backward_pre_hook(lambda m, o: counted("backward_pre", (o[0] * 0.5,)))
        leaves = [p for p in head.parameters() if p.requires_grad]
        if "tensor" in hooks and leaves:
            leaves[-1].register_hook(lambda g: counted("tensor", g.clamp(-0.1, 0.1)))
        if "accumulate" in hooks and leaves:
            leaves[0].register_post_accumulate_grad_hook(lambda p: counted("accumulate", p.grad.mul_(0.5)) and None)
        if "step_pre" in hooks:
            self.optimizer.register_step_pre_hook(lambda o, args, kwargs: counted("step_pre"))
        if "step_post" in hooks:
            self.optimizer.register_step_post_hook(lambda o, args, kwargs: self.shrunk(o))
        if "state" in hooks:
            self.model.register_state_dict_post_hook(lambda m, state, prefix, local: counted("state"))
            self.optimizer.register_load_state_dict_pre_hook(lambda o, state: counted("load"))

    def shrunk(self, optimizer):
        with self.T.no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.mul_(0.999)

    # ---- a step
    def loss(self, x, y):
        cast = contextlib.nullcontext()
        if self.story["autocast"]:
            cast = self.T.autocast("cpu", self.T.bfloat16)
        saved = contextlib.nullcontext()
        if "saved" in (self.story["hooks"] or ()):
            saved = self.T.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t)
        with cast, saved:
            out = self.run(x)
            loss = self.nn.functional.cross_entropy(out, y)
        if self.story["style"] == "penalty":
            inner = [p for p in self.model.head.parameters() if p.requires_grad]
            if inner and loss.requires_grad:
                slopes = self.T.autograd.grad(loss, inner, create_graph=True, allow_unused=True)
                loss = loss + 0.1 * sum(g.square().sum() for g in slopes if g is not None)
        return loss

    def run(self, x):
        return self.model(x)

    def clipped(self):
        kind, utils = self.story["clip"], self.nn.utils
        if kind == "value":
            utils.clip_grad_value_(self.model.parameters(), 0.05)
        elif kind:
            order = {"norm": 2.0, "inf": math.inf, "l1": 1.0}[kind]
            utils.clip_grad_norm_(self.model.parameters(), 0.3, order, foreach=self.story["seed"] % 2 == 0 or None)

    def zero(self):
        given = {} if self.story["zero"] is None else {"set_to_none": self.story["zero"]}
        (self.model if self.story["seed"] % 5 == 0 else self.optimizer).zero_grad(**given)

    def step(self, batches):
        style = self.story["style"]
        if style == "functional":
            return self.functional_step(*batches[0])
        if style == "closure":
            def closure():
                self.zero()
                loss = self.loss(*batches[0])
                loss.backward()
                self.clipped()
                return loss
            return self.optimizer.step(closure)
        self.zero()
        if style == "grad":
            loss = self.loss(*batches[0])
            leaves = [p for p in self.model.parameters() if p.requires_grad]
            for p, g in zip(leaves, self.T.autograd.grad(loss, leaves, allow_unused=True)):
                p.grad = g
        else:
            for x, y in batches:
                loss = self.loss(x, y) / len(batches)
                (self.scaler.scale(loss) if self.scaler else loss).backward()
        if self.scaler:
            self.scaler.unscale_(self.optimizer)
        self.clipped()
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        elif style == "in_backward":
            for group in self.optimizer.param_groups:
                self.T.nn.utils.get_total_norm([p.grad for p in group["params"] if p.grad is not None])
            self.optimizer.step()
        else:
            self.optimizer.step()
        return loss.detach()

    def functional_step(self, x, y):
        func = self.T.func
        leaves = {k: p for k, p in self.model.named_parameters() if p.requires_grad}

        def loss_of(values):
            return self.nn.functional.cross_entropy(func.functional_call(self.model, values, (x,)), y)
        grads, loss = func.grad_and_value(loss_of)({k: p.detach() for k, p in leaves.items()})
        for k, p in leaves.items():
            p.grad = grads[k]
        self.clipped()
        self.optimizer.step()
        return loss

    def stepped(self):
        """A step, compiled in minitorch if the story says so."""
        if self.story["compile"] is None or self.T is torch:
            return self.step
        if self.compiled is None:
            kind = self.story["compile"]
            self.compiled = self.step
            if kind == "step":
                self.compiled = self.T.compile(self.step)
            elif kind == "model":
                compiled = self.T.compile(self.model)
                self.run = lambda x: compiled(x)
            else:
                self.loss = self.T.compile(type(self).loss.__get__(self))
        return self.compiled

    # ---- the whole
    def tell(self):
        events = collections.defaultdict(list)
        for i, name in self.story["events"]:
            events[i].append(name)
        for i in range(self.story["steps"]):
            for name in events[i]:
                self.note(f"event {i} {name}", getattr(self, f"on_{name}")())
            batches = [next(self.batches) for _ in range(self.story["accumulate"] or 1)]
            loss = self.stepped()(batches).item()
            self.note(f"loss {i}", loss)
            if self.average is not None:
                self.average.update_parameters(self.model)
            for schedule in self.schedules:
                plateau = isinstance(schedule, self.T.optim.lr_scheduler.ReduceLROnPlateau)
                schedule.step(*([loss] if plateau else []))
            self.note(f"lr {i}", [float(g["lr"]) for g in self.optimizer.param_groups])
        self.end()
        return self.log

    def end(self):
        self.note("gradients", [p.grad for p in self.model.parameters()])
        self.note("model", self.model.state_dict())
        self.note("optimizer", self.optimizer.state_dict())
        self.note("schedules", [dict(sorted(s.state_dict().items())) for s in self.schedules])
        self.note("scaler", self.scaler.state_dict() if self.scaler else None)
        self.note("calls", dict(self.calls))
        if self.average is not None:
            batches = [next(self.batches) for _ in range(3)]
            self.T.optim.swa_utils.update_bn([x for x, _ in batches], self.average)
            self.note("average", self.average.state_dict())
        self.on_eval_mode()
        self.note("outputs", self.model(next(self.batches)[0]))
        if not self.story["threads"]:
            self.note("random", self.T.rand(2))

    # ---- events
    def renewed(self):
        self.compiled = None
        self.__dict__.pop("run", None)
        self.__dict__.pop("loss", None)

    def on_freeze(self):
        self.model.body.requires_grad_(False)

    def on_unfreeze(self):
        self.model.requires_grad_(True)

    def on_save(self):
        """Everything saved, made from the start, loaded: as a program that was interrupted does."""
        T, buffer = self.T, io.BytesIO()
        T.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "schedules": [s.state_dict() for s in self.schedules], "random": T.get_rng_state(),
                "average": self.average and self.average.state_dict()}, buffer)
        grads = [p.requires_grad for p in self.model.parameters()]
        groups = len(self.optimizer.param_groups)
        old = self.optimizer
        buffer.seek(0)
        state = T.load(buffer, weights_only=self.story["seed"] % 2 == 0)
        self.model = make_model(T, self.story)
        self.average = self.averaged()
        parameters = self.parameters()
        if len(parameters) != len(old.param_groups[0]["params"]) and not isinstance(parameters[0], dict):
            parameters = list(self.model.parameters())[:sum(len(g["params"]) for g in old.param_groups)]
        self.train_with(parameters)
        self.model.load_state_dict(state["model"])
        if groups == len(self.optimizer.param_groups):
            self.optimizer.load_state_dict(state["optimizer"])
            for schedule, old_state in zip(self.schedules, state["schedules"]):
                schedule.load_state_dict(old_state)
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        for p, wanted in zip(self.model.parameters(), grads):
            p.requires_grad_(wanted)
        self.hook()
        T.set_rng_state(state["random"])
        self.renewed()

    def on_copy(self):
        kept = self.model, self.optimizer, self.schedules, self.average
        self.model, self.optimizer, self.schedules, self.average = copy.deepcopy(kept)
        with self.T.no_grad():
            for p in kept[0].parameters():
                p.fill_(7.0)                               # a copy shares nothing
        self.renewed()

    def on_scale(self):
        with self.T.no_grad():
            for p in self.model.parameters():
                p.mul_(0.9).add_(0.001)

    def on_data(self):
        for p in self.model.head.parameters():
            p.data = p.data * 0.9

    def on_view(self):
        with self.T.no_grad():
            p = next(self.model.parameters())
            p[0] = 0.01
            p.view(-1)[-2:].neg_()

    def on_swap(self):
        vector = self.nn.utils.parameters_to_vector(self.model.parameters())
        self.nn.utils.vector_to_parameters(vector.detach() * 0.95, self.model.parameters())

    def on_evaluate(self):
        self.model.eval()
        with self.T.no_grad() if self.story["seed"] % 2 else self.T.inference_mode():
            out = self.model(next(self.batches)[0])
        self.model.train()
        return out

    def on_lr(self):
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], self.T.Tensor) and self.story["seed"] % 2:
                group["lr"].mul_(0.5)
            else:
                group["lr"] = group["lr"] * 0.5

    def on_momentum(self):
        for group in self.optimizer.param_groups:
            if "momentum" in group and group["momentum"]:
                group["momentum"] *= 0.5
            if "betas" in group:
                group["betas"] = (0.6, 0.9)
            if "weight_decay" in group:
                group["weight_decay"] = 0.02

    def on_group(self):
        """A group for a parameter that is new: PyTorch's schedules know only those they started with."""
        if self.story["optimizer"] in ("LBFGS", "Muon") or self.schedules:
            return
        count = sum(k.startswith("extra") for k, _ in self.model.named_parameters())
        extra = self.nn.Parameter(self.T.full((5,), 0.1, dtype=getattr(self.T, dtype_of(self.story))))
        self.model.register_parameter(f"extra{count}", extra)
        self.model.head.register_forward_hook(lambda m, args, out: out + extra)
        self.optimizer.add_param_group({"params": [extra], "lr": 0.05})

    def on_clear(self):
        if self.story["optimizer"] != "Adagrad" or self.T is None:
            self.optimizer.state.clear()

    def on_renew(self):
        """The head's bias replaced by another parameter, which the optimizer does not know."""
        if self.story["wrap"] is None:
            self.model.head.bias = self.nn.Parameter(self.model.head.bias.detach().clone() + 0.1)

    def on_assign(self):
        state = {k: v.clone() * 0.9 if v.is_floating_point() else v for k, v in self.model.state_dict().items()}
        self.model.load_state_dict(state, assign=True)

    def on_there_and_back(self):
        kept = dtype_of(self.story)
        self.model.to(self.T.float32).to(getattr(self.T, kept))

    def on_optimizer(self):
        """Another optimizer from here on."""
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        if self.story["model"] != "sparse" and parameters and self.story["optimizer"] not in ("LBFGS", "Muon"):
            self.optimizer = self.T.optim.Adam(parameters, lr=0.01)
            self.schedules = [self.T.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)]

    def on_prune(self):
        prune = importlib.import_module(f"{self.T.__name__}.nn.utils.prune")
        if self.story["wrap"] is None and self.story["model"] != "sparse" and not self.story["tied"]:
            prune.l1_unstructured(self.model.head, "weight", 0.3)
            prune.remove(self.model.head, "weight")

    def on_set_to_none(self):
        for p in self.model.head.parameters():
            p.grad = None

    def on_reset(self):
        if self.story["wrap"] is None:
            self.model.head.reset_parameters()

    def on_embed(self):
        if hasattr(self.model, "embed"):
            with self.T.no_grad():
                self.model.embed.weight[self.T.tensor([0, 2])] *= 0.5

    def on_rebuild(self):
        """The optimizer's state in another optimizer on the same parameters."""
        state = copy.deepcopy(self.optimizer.state_dict())
        groups = [{"params": g["params"]} for g in self.optimizer.param_groups]
        self.train_with(groups)
        self.optimizer.load_state_dict(state)

    def on_eval_mode(self):
        self.model.eval()

    def on_train_mode(self):
        self.model.train()

    def on_hook(self):
        handle = self.model.head.register_forward_hook(lambda m, args, out: out * 2)
        x = next(self.batches)[0]
        out = self.model(x)
        handle.remove()
        return out


def flat(value, path=""):
    """(path, array) of every number in a structure."""
    if hasattr(value, "detach"):
        value = value.detach()
        kept = value.to_dense() if value.is_sparse else value
        whole = kept.double() if kept.is_floating_point() else kept
        yield path, (str(value.dtype).partition(".")[2], np.asarray(whole.tolist()))
    elif isinstance(value, dict):
        ordered = ".state" in path                         # of optimizers: in any order
        for k, v in sorted(value.items(), key=lambda kv: str(kv[0])) if ordered else value.items():
            yield from flat(v, f"{path}.{k}")
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from flat(v, f"{path}[{i}]")
    elif isinstance(value, (bool, int, float, np.number)):
        yield path, (type(value).__name__, np.asarray(float(value)))
    elif isinstance(value, (str, type(None))):
        yield path, (str(value), np.zeros(0))


def tell(T, story, nudge=0.0):
    """The log of a story, and the error that ended it, if one did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told: list = []
        try:
            told.append(Told(T, story, nudge))
            if not story["threads"]:
                return told[0].tell(), None
            told.append(Told(T, {**story, "seed": story["seed"] + 1}, nudge))
            errors = tell_in_threads(told)
            return told[0].log + told[1].log, errors[0] if errors else None
        except Exception as error:
            return [pair for each in told for pair in each.log], error


def tell_in_threads(told):
    errors = []

    def run(each):
        try:
            each.tell()
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(each,)) for each in told]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


# ---- comparing ---------------------------------------------------------------------------------------------
def tolerance_of(story):
    if story["optimizer"] in ("ASGD", "NAdam"):            # whose numbers are float32 here, once loaded, too
        return TOLERANCE["bfloat16"] if story["autocast"] else 1e-5
    return TOLERANCE["bfloat16" if story["autocast"] else dtype_of(story)]


def compare(story):
    """How minitorch tells a story in another way than PyTorch; None if it does not."""
    a, theirs = tell(torch, story)
    b, ours = tell(minitorch, story)
    found = difference(a, b, tolerance_of(story))
    if found is not None and not (theirs or ours):
        return found
    if (theirs is None) != (ours is None):
        shown = theirs or ours
        words = str(shown).partition("\n")[0][:200]
        return f"{'PyTorch' if theirs else 'minitorch'} raises {type(shown).__name__}: {words}"
    return found


def difference(a, b, tolerance):
    for (name, (kind, x)), (other, (kind2, y)) in zip(a, b):
        if name != other:
            return f"names: {name}, got {other}"
        if kind != kind2 and not name.endswith((".eta", ".mu", ".mu_product")):  # keep their precision here
            return f"{name}: kind is {kind}, got {kind2}"
        if x.shape != y.shape:
            return f"{name}: shape is {x.shape}, got {y.shape}"
        if not close(x, y, tolerance):
            return f"{name}: values are {x.ravel()[:4]}, got {y.ravel()[:4]}"
    return None if len(a) == len(b) else f"names: {len(a)} entries, got {len(b)}"


def close(x, y, tolerance):
    finite = np.abs(x[np.isfinite(x)])
    return np.allclose(x, y, 0, tolerance * max(1e-2, finite.max(initial=0.0)), equal_nan=True)


def is_rounding(story):
    """True if PyTorch itself tells the story in another way from weights that differ in their last digits."""
    nudge = 1e-2 if story["autocast"] else 1e-14
    (a, e), (b, f) = tell(torch, story), tell(torch, story, nudge)
    tolerance = tolerance_of(story) / 10
    return (e is None) != (f is None) or difference(a, b, tolerance) is not None


def kind(found):
    """The sort of a difference, to tell whether a shorter story shows the same."""
    if " raises " in found:
        return found[:60]
    return found.partition(":")[0].partition(" ")[0].partition(".")[0]


def shortened(story):
    """The story without the features that its difference does not need, and the difference."""
    found = compare(story)
    for change in changes(story):
        shorter = {**story, **change(story)}
        if shorter == story:
            continue
        again = compare(shorter)
        if again and kind(again)[:7] == kind(found)[:7]:
            story, found = shorter, again
    return story, found


def changes(story):
    def without(key):
        return lambda s: {key: None}

    def without_event(event):
        return lambda s: {"events": [e for e in s["events"] if e != event]}

    def without_option(key):
        return lambda s: {"options": {k: v for k, v in s["options"].items() if k != key}}

    yield lambda s: {"threads": None}
    for steps in (2, 4, 8, 16):
        yield lambda s, steps=steps: {"steps": min(steps, s["steps"]),
                                      "events": [(min(i, steps - 1), e) for i, e in s["events"]]}
    for key in ("average", "hooks", "schedule", "second_schedule", "clip", "accumulate", "checkpoint", "dropout",
                "wrap", "tied", "groups", "scaler", "tensor_lr", "compile", "zero", "autocast"):
        yield without(key)
    for event in story["events"]:
        yield without_event((min(event[0], story["steps"]), event[1]))
        yield lambda s, name=event[1]: {"events": [e for e in s["events"] if e[1] != name]}
    for key in list(story["options"]):
        yield without_option(key)
    yield lambda s: {"loader": "none"}
    yield lambda s: {"style": "backward"} if s["optimizer"] != "LBFGS" else {}
    yield lambda s: {"model": "mlp"} if s["model"] != "sparse" else {}
    yield lambda s: {"optimizer": "SGD", "options": {}, "model": "mlp" if s["model"] == "sparse" else s["model"]}


def shown(story):
    return ", ".join(f"{k}={v!r}" for k, v in story.items() if v or k == "seed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stories", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first story's number")
    parser.add_argument("--show", type=int, default=3, help="how many of a sort are shortened and shown")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin none after them")
    options, began = parser.parse_args(), time.monotonic()
    torch.set_num_threads(1)
    counts: collections.Counter = collections.Counter()
    rounding = left_out = told = 0
    for i in range(options.start, options.start + options.stories):
        if time.monotonic() - began > options.seconds:
            break
        told += 1
        story = draw(options.seed * 1_000_000 + i)
        if story["threads"] and story["compile"]:
            # Not mended: a trace puts stand-ins in the place of the arrays of all threads, and a
            # thread that computes meanwhile fails now and then; nothing in this process is to be
            # trusted after that.
            left_out += 1
            continue
        found = compare(story)
        if found is None:
            continue
        if "values are" in found and is_rounding(story):
            rounding += 1
            continue
        counts[kind(found)] += 1
        if counts[kind(found)] <= options.show:
            story, found = shortened(story)
            print(f"--- story {i}: {found}\n    {shown(story)}", flush=True)
    print(f"{told} stories, {sum(counts.values())} differ, {rounding} by rounding, "
          f"{left_out} left out (compiled in threads): {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
