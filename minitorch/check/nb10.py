"""Checks of lesson 10, "Generating": reparameterisation, KL divergence, schedules, noising, DDPM and DDIM steps."""

import math

import numpy as np

from .. import tensor
from .exercise import Exercise, show
from .naming import variants

reparameterise = Exercise(
    "nb10.reparameterise", "A sample of the normal distribution with this mean and log variance, made from `noise`.",
    ("`noise` has mean 0 and standard deviation 1. How do you give it another mean and another deviation?",
     "Scale and shift. The deviation is the root of the variance; what is the root of exp(a)?",
     "return mean + (____).exp() * ____"), parts=("sample", "gradients of mean and logvar"))


@reparameterise.draw
def _(d):
    shape = d.int(1, 2), d.int(1, 2)
    return (d.integers(shape, -2, 2).astype(float), d.integers(shape, -2, 2).astype(float),
            d.choice([-1.0, 1.0]) * d.integers(shape, 1, 3))


@reparameterise.run
def _(solution, mean, logvar, noise):
    mean, logvar = mean.clone().requires_grad_(), logvar.clone().requires_grad_()
    z = solution(mean, logvar, noise)
    if z is None:
        return None
    if not z.requires_grad:
        return z, "no gradient"
    z.sum().backward()
    return z, [None if x.grad is None else x.grad for x in (mean, logvar)]


reparameterise.describe(lambda mean, logvar, noise: (
    f"mean = {show(mean)}, logvar = {show(logvar)}, noise = {show(noise)}. The sample, and the gradients that its sum "
    "sends to mean and logvar"))
reparameterise.truth(lambda mean, logvar, noise: mean + (logvar / 2).exp() * noise)
reparameterise.slips(
    variance=("noise is multiplied by the *variance*: the deviation is its root, exp(logvar / 2)",
              lambda mean, logvar, noise: mean + logvar.exp() * noise),
    logarithm=("noise is multiplied by the logarithm: exp is missing",
               lambda mean, logvar, noise: mean + logvar * noise),
    halved=("exp(logvar) / 2 halves the variance: its root is exp(logvar / 2)",
            lambda mean, logvar, noise: mean + logvar.exp() / 2 * noise),
    no_mean=("the mean is missing", lambda mean, logvar, noise: (logvar / 2).exp() * noise + 0 * mean),
    no_noise=("the noise is missing: that is an autoencoder without the V",
              lambda mean, logvar, noise: mean + 0 * logvar),
    divided=("divided by the deviation: that takes a sample back to standard noise",
             lambda mean, logvar, noise: mean + (-logvar / 2).exp() * noise),
    mean_scaled=("the mean is scaled, too: scale first, then shift",
                 lambda mean, logvar, noise: (mean + noise) * (logvar / 2).exp()),
    detached=("the value is right, and no gradient gets through, which is the point of it: no `detach`, no `no_grad`",
              lambda mean, logvar, noise: (mean + (logvar / 2).exp() * noise).detach()),
    deviation_detached=("the deviation is cut out of the graph: logvar would never learn",
                        lambda mean, logvar, noise: mean + (logvar / 2).exp().detach() * noise + 0 * logvar))

kl = Exercise(
    "nb10.kl", "KL(N(mean, exp(logvar)) || N(0, 1)) of each row: mean and logvar (N, D), the result (N,).",
    ("The coordinates are independent: what happens to their divergences?",
     "One coordinate: (mean**2 + variance - 1 - log variance) / 2. Sum over the coordinates, not over the batch.",
     "return (mean ** 2 + ____ - 1 - ____).sum(____) / 2"))
kl.cases(lambda: [(np.zeros((1, 1)), np.zeros((1, 1))), (np.array([[1.0]]), np.zeros((1, 1)))])


@kl.draw
def _(d):
    shape = d.int(1, 3), d.int(1, 3)
    return d.integers(shape, -2, 2).astype(float), d.integers(shape, -2, 2).astype(float)


def terms(mean, logvar, m=lambda mean: mean ** 2, v=lambda logvar: logvar.exp(), one=1, log=lambda logvar: logvar,
          half=2, end=lambda t: t.sum(1)):
    """The divergence, with every decision as an option."""
    return end((m(mean) + v(logvar) - one - log(logvar)) / half)


terms_but = variants(terms)
kl.truth(terms)
kl.slips(
    sign=("the sign is wrong: a divergence is never negative", terms_but(half=-2)),
    no_half=("the 1/2 is missing", terms_but(half=1)),
    over_batch=("summed over the batch: each row has its own", terms_but(end=lambda t: t.sum(0))),
    averaged=("the mean over the coordinates: independent ones add up", terms_but(end=lambda t: t.mean(1))),
    total=("one number for the whole batch: each row has its own", terms_but(end=lambda t: t.sum())),
    not_summed=("not summed over the coordinates", terms_but(end=lambda t: t)),
    deviation=("the deviation, where the variance belongs: exp(logvar), not exp(logvar / 2)",
               terms_but(v=lambda logvar: (logvar / 2).exp())),
    log_deviation=("logvar is the logarithm of the *variance*: it is not halved again",
                   terms_but(log=lambda logvar: logvar / 2)),
    no_one=("- 1 is missing: for N(0, 1) itself the divergence is 0", terms_but(one=0)),
    no_mean=("the mean is missing: a shifted normal is not N(0, 1)", terms_but(m=lambda mean: 0 * mean)),
    reversed=("the other divergence, from N(0, 1) to yours: KL is not symmetric",
              lambda mean, logvar: (((1 + mean ** 2) * (-logvar).exp() - 1 + logvar) / 2).sum(1)))

adds_up = Exercise(
    "nb10.adds_up", "A test of a schedule: whether kept[t] is what the steps 0 to t leave of the signal's variance.",
    ("One step keeps 1 - beta of the variance that was there. What do two steps keep?",
     "kept[t] has to be the product of all 1 - beta[s], s <= t. Compare *every* t, with a small tolerance.",
     "left = 1.0; for b, k in zip(beta, kept): left = left * ____; if abs(left - ____) > ____: return False"))
BETA = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
KEPT = np.cumprod(1 - BETA)
COSINE = np.cos(np.arange(7) / 7 * math.pi / 2) ** 2
SCHEDULES = {
    "one step": (BETA[:1], KEPT[:1]), "five steps": (BETA, KEPT),
    "the same amount in each step": (np.full(4, 0.2), 0.8 ** np.arange(1, 5)),
    "cosine": (1 - COSINE[1:] / COSINE[:-1], COSINE[1:]),
    "no product": (BETA, 1 - BETA), "amplitudes instead of variances": (BETA, np.sqrt(KEPT)),
    "betas added up": (BETA[:3], 1 - np.cumsum(BETA[:3])), "one step late": (BETA, np.append(1.0, KEPT[:-1])),
    "the last one wrong": (BETA, np.append(KEPT[:-1], 0.1)), "the first one wrong": (BETA, np.append(0.95, KEPT[1:])),
    "one in the middle wrong": (BETA, KEPT + [0, 0, 0.1, 0, 0]), "the noise, not the signal": (BETA, 1 - KEPT),
    "slightly wrong": (BETA, KEPT + [0, 0.006, 0, 0, 0]), "nothing is ever lost": (BETA, np.ones(5)),
    "the right end by another way": (BETA, np.linspace(0.9, KEPT[-1], 5))}
adds_up.cases(lambda: [(name,) for name in SCHEDULES])
adds_up.describe(lambda name: f"beta = {show(SCHEDULES[name][0])}, kept = {show(SCHEDULES[name][1])} ({name}): does it "
                              "add up")


@adds_up.run
def _(solution, name):
    beta, kept = SCHEDULES[name]
    return bool(solution(tensor(beta), tensor(kept)))


def close(a, b, tolerance=1e-6):
    return bool(((a - b).abs() <= tolerance).all())


adds_up.truth(lambda beta, kept: close(kept, (1 - beta).cumprod(0)))
adds_up.slips(
    tautology=("kept + (1 - kept) is 1 for *any* numbers: this test cannot fail. Compare with beta",
               lambda beta, kept: close(kept.sqrt() ** 2 + (1 - kept).sqrt() ** 2, kept * 0 + 1)),
    first_only=("only the first step is looked at", lambda beta, kept: close(kept[0], 1 - beta[0])),
    last_only=("only the last step is looked at: on the way there it may be wrong",
               lambda beta, kept: close(kept[-1], (1 - beta).prod())),
    both_ends=("the first and the last are right, and between them?",
               lambda beta, kept: close(kept[0], 1 - beta[0]) and close(kept[-1], (1 - beta).prod())),
    falls=("that it falls from step to step is not enough: by how much?",
           lambda beta, kept: bool((kept[1:] < kept[:-1]).all())),
    one_step=("1 - beta is what *one* step keeps: steps multiply", lambda beta, kept: close(kept, 1 - beta)),
    amplitudes=("roots multiply to the root of kept: kept is a variance",
                lambda beta, kept: close(kept, (1 - beta).sqrt().cumprod(0))),
    added=("betas do not add up: each step also shrinks the noise that is there",
           lambda beta, kept: close(kept, 1 - beta.cumsum(0))),
    too_loose=("the tolerance is so large that a wrong schedule passes",
               lambda beta, kept: close(kept, (1 - beta).cumprod(0), 0.01)),
    negated=("the other way round: True if it *does* add up",
             lambda beta, kept: not close(kept, (1 - beta).cumprod(0))))

noisy = Exercise(
    "nb10.noisy", "The images x0 (N, D) after t (N,) steps of noising, in one go; kept (steps,) are variances.",
    ("kept[t] is the share of the *variance* that is left. By what do you multiply the image?",
     "sqrt(kept) times the image, sqrt(1 - kept) times the noise. Each row has its own t: mind the shapes.",
     "k = kept[t].____; return ____ * x0 + ____ * noise"))


@noisy.draw
def _(d):
    n, size = d.int(1, 3), d.int(1, 3)
    return (d.integers((n, size), -2, 2).astype(float), d.integers((n,), 0, 3),
            np.array(d.choice([[0.9, 0.64, 0.36, 0.04], [0.81, 0.5, 0.25, 0.1]])),
            d.choice([-1.0, 1.0]) * d.integers((n, size), 1, 2))


def mix(x0, t, kept, noise, signal=lambda k: k.sqrt(), amount=lambda k: (1 - k).sqrt()):
    k = kept[t].unsqueeze(1)
    return signal(k) * x0 + amount(k) * noise


mix_but = variants(mix)


noisy.truth(mix)
noisy.slips(
    no_roots=("both roots are missing: kept is a variance, images are multiplied by deviations",
              mix_but(signal=lambda k: k, amount=lambda k: 1 - k)),
    no_root_of_noise=("the root over 1 - kept is missing", mix_but(amount=lambda k: 1 - k)),
    no_root_of_signal=("the root over kept is missing", mix_but(signal=lambda k: k)),
    one_minus_root=("1 - sqrt(kept): variances add up to 1, deviations do not: sqrt(1 - kept)",
                    mix_but(amount=lambda k: 1 - k.sqrt())),
    exchanged=("signal and noise are exchanged", mix_but(signal=lambda k: (1 - k).sqrt(), amount=lambda k: k.sqrt())),
    not_shrunk=("the image is not shrunk: the variance would grow with each step", mix_but(signal=lambda k: 1)),
    wrong_axis=("kept[t] (N,) lines up with the pixels, not with the images: it needs shape (N, 1)",
                lambda x0, t, kept, noise: kept[t].sqrt() * x0 + (1 - kept[t]).sqrt() * noise),
    one_t_for_all=("the first t is used for all images", lambda x0, t, kept, noise: mix(x0, t * 0 + t[0], kept, noise)),
    one_early=("one step too early: kept[t], not kept[t - 1]", lambda x0, t, kept, noise: mix(x0, t - 1, kept, noise)),
    subtracted=("the noise is subtracted: as a sample just as good, but then the network learns minus the noise",
                mix_but(amount=lambda k: -(1 - k).sqrt())))

ddpm_step = Exercise(
    "nb10.ddpm_step", "One step back from t to t - 1, with the guessed noise eps and fresh noise of variance beta[t].",
    ("What has the step forward done? Shrunk by sqrt(1 - beta), then added noise. Undo it in the reverse order.",
     "Mean: (x - beta / sqrt(1 - kept) * eps) / sqrt(1 - beta), all at t. Then fresh noise times sqrt(beta), but none "
     "at t = 0.",
     "mean = (x - ____ * eps) / ____; return mean + ____ * noise if ____ else mean"))


@ddpm_step.draw
def _(d):
    shape, beta = (d.int(1, 2), d.int(1, 2)), np.array(d.choice([[0.1, 0.2, 0.3, 0.4], [0.19, 0.36, 0.51, 0.2]]))
    return (d.integers(shape, -2, 2).astype(float), d.choice([-1.0, 1.0]) * d.integers(shape, 1, 2), d.int(0, 3), beta,
            np.cumprod(1 - beta), d.choice([-1.0, 1.0]) * d.integers(shape, 1, 2))


def step(x, eps, t, beta, kept, noise, remove=lambda b, k: b / (1 - k).sqrt(), scale=lambda b, k: (1 - b).sqrt(),
         sigma=lambda b, before, k: b.sqrt(), last=0.0, sign=1):
    b, k, before = beta[t], kept[t], kept[t - 1]
    mean = (x - sign * remove(b, k) * eps) / scale(b, k)
    return mean + sigma(b, before, k) * noise * (1.0 if t > 0 else last)


step_but = variants(step)


ddpm_step.truth(step)
ddpm_step.slips(
    noise_at_the_end=("noise at t = 0, too: the last step makes the image, nothing is added after it",
                      step_but(last=1.0)),
    no_noise=("no fresh noise: the step is a random one", step_but(sigma=lambda b, before, k: 0.0)),
    variance=("noise times the *variance* beta: its root is the deviation", step_but(sigma=lambda b, before, k: b)),
    posterior=("a good choice, and the paper's other one, beta (1 - kept[t - 1]) / (1 - kept[t]): here it is beta[t]",
               step_but(sigma=lambda b, before, k: (
                   b * (1 - before) / (1 - k)).abs().sqrt())),
    not_scaled=("the division by sqrt(1 - beta) is missing: forward, the image was shrunk",
                step_but(scale=lambda b, k: 1.0)),
    scaled_by_kept=("divided by sqrt(kept): one step is undone, not all of them",
                    step_but(scale=lambda b, k: k.sqrt())),
    no_root=("beta / (1 - kept): the root is missing", step_but(remove=lambda b, k: b / (1 - k))),
    all_noise=("all noise is removed at once, sqrt(1 - kept) of it: one step takes beta / sqrt(1 - kept)",
               step_but(remove=lambda b, k: (1 - k).sqrt())),
    only_beta=("sqrt(beta) of the guess is removed: eps is the noise of *all* steps so far, beta / sqrt(1 - kept)",
               step_but(remove=lambda b, k: b.sqrt())),
    added=("the guessed noise is added: it has to go", step_but(sign=-1)),
    one_early=("beta and kept of t - 1: the step from t to t - 1 undoes number t",
               lambda x, eps, t, beta, kept, noise: step(x, eps, t, beta.roll(1), kept.roll(1), noise)))

ddim_step = Exercise(
    "nb10.ddim_step", "A step without chance, from the share `now` of the signal's variance to a larger one, `then`.",
    ("If eps is the noise, what is the clean image? And what would that image look like with less of the same noise?",
     "x = sqrt(now) x0 + sqrt(1 - now) eps: solve for x0. Then mix again, with `then`.",
     "x0 = (x - ____ * eps) / ____; return ____ * x0 + ____ * eps, all four gaps are roots"))


@ddim_step.draw
def _(d):
    shape = d.int(1, 2), d.int(1, 2)
    now, then = d.choice([(0.36, 0.64), (0.04, 0.25), (0.5, 0.9), (0.1, 1.0), (0.25, 0.36)])
    return d.integers(shape, -2, 2).astype(float), d.choice([-1.0, 1.0]) * d.integers(shape, 1, 2), now, then


def jump(x, eps, now, then, clean=lambda x, eps, now: (x - (1 - now) ** 0.5 * eps) / now ** 0.5,
         again=lambda x0, eps, now, then: then ** 0.5 * x0 + (1 - then) ** 0.5 * eps):
    return again(clean(x, eps, now), eps, now, then)


jump_but = variants(jump)


ddim_step.truth(jump)
ddim_step.slips(
    all_the_way=("the guess of the clean image, all the way: put back as much noise as `then` has",
                 jump_but(again=lambda x0, eps, now, then: x0)),
    no_noise_back=("shrunk for `then`, but without its noise", jump_but(
        again=lambda x0, eps, now, then: then ** 0.5 * x0)),
    exchanged=("now and then are exchanged: that is a step towards more noise",
               lambda x, eps, now, then: jump(x, eps, then, now)),
    no_roots=("the roots are missing: now and then are variances", lambda x, eps, now, then: (
        then * (x - (1 - now) * eps) / now + (1 - then) * eps)),
    not_divided=("x0 is not divided by sqrt(now): it was shrunk by it",
                 jump_but(clean=lambda x, eps, now: x - (1 - now) ** 0.5 * eps)),
    same_noise=("as much noise as before is put back: `then` has less", jump_but(
        again=lambda x0, eps, now, then: then ** 0.5 * x0 + (1 - now) ** 0.5 * eps)),
    not_shrunk=("x0 has to be shrunk by sqrt(then) again", jump_but(
        again=lambda x0, eps, now, then: x0 + (1 - then) ** 0.5 * eps)),
    added=("the noise is added to find x0: subtract it", jump_but(
        clean=lambda x, eps, now: (x + (1 - now) ** 0.5 * eps) / now ** 0.5)),
    stays=("nothing happens", lambda x, eps, now, then: x))
