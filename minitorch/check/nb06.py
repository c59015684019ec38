"""Checks of lesson 6, "Optimisers as machines": momentum, RMSprop, Adam, AdamW, clipping, a schedule.

The optimisers are functions that take the old parameter and state and return the new ones; three steps are compared.
"""

import math

import minitorch as torch

from .exercise import Exercise, show
from .naming import variants


def steps_of(exercise, state, settings):
    """Three steps of ``solution(p, g, *state, t, *settings)``; the parameter after each, and the last state."""
    @exercise.draw
    def _(d):
        n = d.int(1, 2)
        gradients = [d.integers((n,), 1, 4) * d.choice([1.0, -0.5, 0.1]) for _ in range(3)]
        return d.integers((n,), -2, 2).astype(float), gradients, settings(d)

    @exercise.run
    def _(solution, p, gradients, settings):
        kept, path = [torch.zeros_like(p) for _ in range(state)], []
        for t, g in enumerate(gradients, 1):
            p, *kept = solution(p, g, *kept, **({"t": t} if state == 2 else {}), **dict(settings))
            path.append(p)
        return [*path, *kept]

    @exercise.describe
    def _(p, gradients, settings):
        values = ", ".join(f"{name} = {value:g}" for name, value in settings)
        return f"p = {show(p)}, gradients of three steps {show(gradients)}, {values}"


momentum = Exercise(
    "nb06.momentum", "One step of SGD with momentum, as PyTorch does it: returns the new p and the new velocity.",
    ("The velocity keeps a part of itself and takes up the new gradient whole.",
     "v = mu * v + g, then the parameter goes against the *new* velocity.",
     "v = mu * ____ + ____; return p - lr * ____, v"),
    parts=("p after step 1", "p after step 2", "p after step 3", "v"))
steps_of(momentum, 1, lambda d: (("lr", d.choice([0.1, 0.5])), ("mu", d.choice([0.9, 0.5]))))


def heavy(p, g, v, lr, mu, damped=lambda mu, v: mu * v, taken=lambda mu, g: g, way=-1, rate=lambda lr: lr,
          used=lambda old, new, g, mu: new, kept=lambda old, new: new):
    """Momentum, with every decision as an option."""
    new = damped(mu, v) + taken(mu, g)
    return p + way * rate(lr) * used(v, new, g, mu), kept(v, new)


heavy_but = variants(heavy)
momentum.truth(heavy)
momentum.slips(
    averaged=("the gradient enters with 1 - mu: that is a running mean (as in Adam); PyTorch's momentum takes g whole",
              heavy_but(taken=lambda mu, g: (1 - mu) * g)),
    old_velocity=("the step uses the velocity from before this gradient: update v first",
                  heavy_but(used=lambda old, new, g, mu: old)),
    nesterov=("that is Nesterov's variant, which looks one velocity ahead",
              heavy_but(used=lambda old, new, g, mu: g + mu * new)),
    no_momentum=("plain SGD: each step begins without velocity. Is the *new* velocity used, and returned?",
                 heavy_but(kept=lambda old, new: old)),
    uphill=("the sign: step *against* the velocity", heavy_but(way=1)),
    no_lr=("the learning rate is missing", heavy_but(rate=lambda lr: 1)),
    lr_inside=("the learning rate is inside the velocity: the path is the same as long as lr stays the same; PyTorch's "
               "velocity is made of gradients alone",
               lambda p, g, v, lr, mu: (p - (mu * v + lr * g), mu * v + lr * g)),
    undamped=("mu is missing: a velocity that loses nothing never comes to rest", heavy_but(damped=lambda mu, v: v)),
    mu_on_g=("mu damps the gradient, not the velocity: it belongs to v",
             heavy_but(damped=lambda mu, v: v, taken=lambda mu, g: mu * g)))

rmsprop = Exercise(
    "nb06.rmsprop", "One step of RMSprop: returns the new p and the new running mean of the squared gradient.",
    ("Each parameter is divided by the typical size of its own gradient.",
     "v = alpha * v + (1 - alpha) * g**2; the typical size is its square root.",
     "v = alpha * v + (1 - alpha) * ____; return p - lr * g / (____ + eps), v"),
    parts=("p after step 1", "p after step 2", "p after step 3", "v"))
steps_of(rmsprop, 1, lambda d: (("lr", 0.1), ("alpha", d.choice([0.9, 0.75])), ("eps", d.choice([0.01, 0.1]))))


def rms(p, g, v, lr, alpha, eps, step=lambda g, v, eps: g / (v.sqrt() + eps), mean=None):
    v = (mean or (lambda v, g, alpha: alpha * v + (1 - alpha) * g * g))(v, g, alpha)
    return p - lr * step(g, v, eps), v


rms_but = variants(rms)


rmsprop.truth(rms_but())
rmsprop.slips(
    eps_inside=("eps is under the root: PyTorch adds it outside, sqrt(v) + eps",
                rms_but(step=lambda g, v, eps: g / (v + eps).sqrt())),
    no_root=("the root is missing: v is the mean *square*, its unit is that of g squared",
             rms_but(step=lambda g, v, eps: g / (v + eps))),
    adagrad=("squares are summed and never forgotten: that is Adagrad, whose steps only shrink",
             rms_but(mean=lambda v, g, alpha: v + g * g)),
    no_one_minus=("1 - alpha is missing: the mean would grow to 1/(1-alpha) times what it should be",
                  rms_but(mean=lambda v, g, alpha: alpha * v + g * g)),
    swapped=("alpha and 1 - alpha are exchanged: most of the *old* mean is kept",
             rms_but(mean=lambda v, g, alpha: (1 - alpha) * v + alpha * g * g)),
    not_squared=("the gradient is not squared in the mean: opposite gradients would cancel",
                 rms_but(mean=lambda v, g, alpha: alpha * v + (1 - alpha) * g)),
    signed=("only the sign of the gradient is left: divide by the running size, not by its own",
            rms_but(step=lambda g, v, eps: g.sign())),
    old_mean=("the step uses the mean from before this gradient; at the first step that is 0",
              lambda p, g, v, lr, alpha, eps: (p - lr * g / (v.sqrt() + eps), alpha * v + (1 - alpha) * g * g)))

bias = Exercise(
    "nb06.bias", "m starts at 0, then m = beta*m + (1-beta)*g, t times: the sum of the weights that all g's have in m.",
    ("Write m out for t = 1, 2, 3. Which factors stand before the g's?",
     "(1-beta) * (1 + beta + beta**2 + ...): a geometric series.",
     "(1 - beta) * (1 + beta + ... + beta**(t - 1)) = 1 - ____"), tensors=False)
bias.draw(lambda d: (d.choice([0.5, 0.9, 0.99]), d.int(1, 20)))
bias.truth(lambda beta, t: 1 - beta ** t)
bias.slips(
    last_only=("1 - beta is the weight of the last g alone", lambda beta, t: 1 - beta),
    rest=("beta**t is what is *missing* to 1", lambda beta, t: beta ** t),
    linear=("t * (1 - beta): older gradients have less weight than new ones", lambda beta, t: t * (1 - beta)),
    one=("the weights of a mean add up to 1 only if it does not start from 0", lambda beta, t: 1.0),
    off_by_one=("one step too few: after t = 1 the weight is 1 - beta", lambda beta, t: 1 - beta ** (t - 1)),
    off_by_one_more=("one step too many: after t = 1 the weight is 1 - beta", lambda beta, t: 1 - beta ** (t + 1)),
    power_of_rest=("(1 - beta)**t: each step multiplies the *old* weights by beta", lambda beta, t: (1 - beta) ** t))

adam = Exercise(
    "nb06.adam", "One step of Adam: returns the new p, m and v. t counts from 1.",
    ("m is a mean of g, v one of g squared; both start at 0 and are too small at first.",
     "Divide each by 1 - beta**t before use; keep the uncorrected ones for the next step.",
     "m = b1 * m + ____; v = b2 * v + ____; return p - lr * (m / (1 - ____)) / ((v / (1 - ____)).sqrt() + eps), m, v"),
    parts=("p after step 1", "p after step 2", "p after step 3", "m", "v"))


def adam_settings(d):
    return (("lr", 0.1), ("b1", d.choice([0.9, 0.5])), ("b2", d.choice([0.99, 0.75])), ("eps", d.choice([0.01, 0.1])))


def adam_step(p, g, m, v, t, lr, b1, b2, eps, *, step=None, square=True, kept=False):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * (g * g if square else g.abs())
    c1, c2 = 1 - b1 ** t, 1 - b2 ** t
    step = step or (lambda m, v, c1, c2, eps, g: m / c1 / ((v / c2).sqrt() + eps))
    return (p - lr * step(m, v, c1, c2, eps, g), *((m / c1, v / c2) if kept else (m, v)))


adam_but = variants(adam_step)


steps_of(adam, 2, adam_settings)
adam.truth(adam_but())
adam.slips(
    no_correction=("the bias corrections are missing: at first m and v are far too small, and not equally so",
                   adam_but(step=lambda m, v, c1, c2, eps, g: m / (v.sqrt() + eps))),
    first_only=("only m is corrected: v starts at 0 as well", adam_but(
        step=lambda m, v, c1, c2, eps, g: m / c1 / (v.sqrt() + eps))),
    second_only=("only v is corrected: m starts at 0 as well", adam_but(
        step=lambda m, v, c1, c2, eps, g: m / ((v / c2).sqrt() + eps))),
    eps_inside=("eps is under the root: it is added outside", adam_but(
        step=lambda m, v, c1, c2, eps, g: m / c1 / (v / c2 + eps).sqrt())),
    eps_scaled=("eps is added before v is corrected (the book's other form): PyTorch corrects first", adam_but(
        step=lambda m, v, c1, c2, eps, g: m / c1 * c2 ** 0.5 / (v.sqrt() + eps))),
    no_root=("the root of v is missing", adam_but(step=lambda m, v, c1, c2, eps, g: m / c1 / (v / c2 + eps))),
    gradient_for_m=("g, where m was meant: the momentum is computed and not used", adam_but(
        step=lambda m, v, c1, c2, eps, g: g / ((v / c2).sqrt() + eps))),
    kept_corrected=("the *corrected* m and v are kept for the next step: they would be corrected again and again",
                    adam_but(kept=True)),
    not_squared=("v is a mean of |g|, it should be one of g squared", adam_but(square=False)),
    from_zero=("t counts from 0 in your formula: at t = 1 the correction is 1 - beta",
               lambda p, g, m, v, t, **s: adam_step(p, g, m, v, t - 1, **s)),
    swapped=("b1 and b2 are exchanged",
             lambda p, g, m, v, t, lr, b1, b2, eps: adam_step(p, g, m, v, t, lr, b2, b1, eps)))

adamw = Exercise(
    "nb06.adamw", "One step of AdamW: Adam with weight decay `wd` that does not pass through m and v.",
    ("Decay should pull every weight alike. What would dividing it by sqrt(v) do?",
     "First shrink the parameter by the factor 1 - lr * wd, then take Adam's step with the bare gradient.",
     "return adam(p * (1 - ____), ____, m, v, t, lr, b1, b2, eps)"),
    parts=("p after step 1", "p after step 2", "p after step 3", "m", "v"))
steps_of(adamw, 2, lambda d: (*adam_settings(d), ("wd", d.choice([0.1, 0.5]))))


def adamw_as(make):
    def step(p, g, m, v, t, lr, b1, b2, eps, wd):
        return make(p, g, wd, lr, lambda p, g: adam_step(p, g, m, v, t, lr, b1, b2, eps))
    return step


def after(step, change):
    p, m, v = step
    return change(p), m, v


adamw.truth(adamw_as(lambda p, g, wd, lr, adam: adam(p * (1 - lr * wd), g)))
adamw.slips(
    coupled=("decay is added to the gradient: that is Adam with L2, where it is divided by sqrt(v) like everything "
             "else",
             adamw_as(lambda p, g, wd, lr, adam: adam(p, g + wd * p))),
    no_lr=("the decay is not multiplied by lr: it would stay when a schedule turns the learning rate down",
           adamw_as(lambda p, g, wd, lr, adam: adam(p * (1 - wd), g))),
    no_decay=("plain Adam: the weights do not decay", adamw_as(lambda p, g, wd, lr, adam: adam(p, g))),
    grows=("the sign: p * (1 + lr * wd) makes weights grow", adamw_as(
        lambda p, g, wd, lr, adam: adam(p * (1 + lr * wd), g))),
    after_step=("the decay comes after the step and shrinks the step too: PyTorch decays first", adamw_as(
        lambda p, g, wd, lr, adam: after(adam(p, g), lambda new: new * (1 - lr * wd)))),
    shrinks_gradient=("the gradient is shrunk, not the parameter", adamw_as(
        lambda p, g, wd, lr, adam: adam(p, g * (1 - lr * wd)))),
    only_wd=("multiplied by wd itself: the factor is 1 - lr * wd", adamw_as(
        lambda p, g, wd, lr, adam: adam(p * wd, g))),
    absolute=("a constant is subtracted: decay is proportional to the weight", adamw_as(
        lambda p, g, wd, lr, adam: adam(p - lr * wd, g))))

clip = Exercise(
    "nb06.clip", "A list of gradients, scaled together so that their joint norm is at most `limit`.",
    ("All gradients together are one long vector. What is its length?",
     "The root of the sum of *all* squares; scale by limit / norm only if the norm is larger.",
     "norm = sum(____ for g in grads) ** 0.5; return [g * min(1.0, ____) for g in grads]"), rtol=1e-3)
clip.draw(lambda d: ([d.integers((d.int(1, 2),), 1, 4) * d.choice([1.0, -2.0]) for _ in range(d.int(1, 3))],
                     d.choice([1.0, 3.0, 20.0])))


def norm(grads):
    return sum((g * g).sum() for g in grads) ** 0.5


clip.truth(lambda grads, limit: [g * min(1.0, limit / norm(grads).item()) for g in grads])
clip.slips(
    one_by_one=("each tensor is clipped by its own norm: that turns the direction of the whole step",
                lambda grads, limit: [g * min(1.0, limit / norm([g]).item()) for g in grads]),
    elements=("elements are clamped: that is clip_grad_value_, which turns the direction of the step",
              lambda grads, limit: [g.clamp(-limit, limit) for g in grads]),
    always=("small gradients are blown up to the limit: only scale *down*",
            lambda grads, limit: [g * (limit / norm(grads)) for g in grads]),
    sum_of_norms=("norms were added: the joint norm is the root of the sum of squares",
                  lambda grads, limit: [g * min(1.0, limit / sum(norm([h]) for h in grads).item()) for g in grads]),
    no_root=("the root is missing: that is the squared norm",
             lambda grads, limit: [g * min(1.0, limit / (norm(grads) ** 2).item()) for g in grads]),
    absolute=("absolute values were added: the norm meant here is the Euclidean one",
              lambda grads, limit: [g * min(1.0, limit / sum(h.abs().sum() for h in grads).item()) for g in grads]),
    largest=("the largest element decides: the norm meant here is the Euclidean one",
             lambda grads, limit: [g * min(1.0, limit / max(h.abs().max() for h in grads).item()) for g in grads]),
    thrown_away=("large gradients are thrown away: keep their direction, shorten them",
                 lambda grads, limit: [g * float(norm(grads) <= limit) for g in grads]))

cosine = Exercise(
    "nb06.cosine", "The learning rate of a step (from 0): a linear rise over `warmup` steps, then half a cosine to 0.",
    ("Which value should the very first step have? (Not 0.) And the step right after the warm-up? (All of lr.)",
     "Rise: step 0 takes the first of `warmup` equal stairs. Fall: how much of the *rest* is done, from 0 to 1?",
     "done = (step - ____) / (total - ____); return lr * 0.5 * (____ + math.cos(____ * done))"), tensors=False)
cosine.draw(lambda d: (lambda warmup, total: (d.int(0, total), warmup, total, d.choice([1.0, 0.1])))(
    d.int(1, 4), d.int(6, 12)))


def fall(step, warmup, total, lr):
    return lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def rise(step, warmup, total, lr):
    return lr * (step + 1) / warmup


def schedule(step, warmup, total, lr, up=rise, down=fall):
    return (up if step < warmup else down)(step, warmup, total, lr)


schedule_but = variants(schedule)


cosine.truth(schedule_but())
cosine.slips(
    from_zero=("the first step has a rate of 0 and does nothing: (step + 1) / warmup",
               schedule_but(up=lambda s, w, n, lr: lr * s / w)),
    whole_length=("the cosine counts from step 0: there is a jump where the warm-up ends",
                  schedule_but(down=lambda s, w, n, lr: lr * 0.5 * (1 + math.cos(math.pi * s / n)))),
    quarter=("a quarter of a cosine: it falls steeply at the end, half a period lands softly",
             schedule_but(down=lambda s, w, n, lr: lr * math.cos(math.pi / 2 * (s - w) / (n - w)))),
    full_period=("a whole period: the rate rises again at the end",
                 schedule_but(down=lambda s, w, n, lr: lr * 0.5 * (1 + math.cos(2 * math.pi * (s - w) / (n - w))))),
    negative=("the cosine goes from 1 to -1: add 1 and halve it",
              schedule_but(down=lambda s, w, n, lr: lr * math.cos(math.pi * (s - w) / (n - w)))),
    not_halved=("1 + cos goes from 2 to 0: the factor 0.5 is missing",
                schedule_but(down=lambda s, w, n, lr: 2 * fall(s, w, n, lr))),
    straight=("a straight line down, not a cosine",
              schedule_but(down=lambda s, w, n, lr: lr * (1 - (s - w) / (n - w)))),
    no_warmup=("the warm-up is missing", schedule_but(up=lambda s, w, n, lr: lr)),
    no_fall=("the rate stays constant after the warm-up", schedule_but(down=lambda s, w, n, lr: lr)))
