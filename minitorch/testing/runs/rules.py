"""Rules about a whole run: each is given the doctor when the block ends, and yields findings."""

import math

import numpy as np

from ...core.arrays import is_floating
from .seen import Finding, rms, sample

__all__ = ["RULES", "in_order"]

# Kinds from cause to consequence: a report begins with the first.
ORDER = ("input not finite", "inputs out of range", "targets out of range", "no gradients",
         "gradients cleared too early", "missing zero_grad", "no step", "optimiser recreated",
         "parameters not in the optimiser", "parameters without gradient", "probabilities as logits", "squashed logits",
         "ReLU on the logits", "nll_loss without log", "targets outside [0, 1]", "broadcast in the loss",
         "softmax over the batch", "batches of one class", "eval mode in training", "train mode in validation",
         "units that stay equal", "vanishing gradients", "exploding gradients", "learning rate too high",
         "labels do not fit the inputs", "features on different scales", "value not finite", "gradient not finite",
         "learning rate gone", "gradients clipped to nothing", "dead units", "learning rate too low",
         "parameter not finite", "output independent of the input")
# Kinds that follow from another one, and are not told beside it.
FOLLOWS = {
    "learning rate too high": {"dead units", "exploding gradients", "parameter not finite", "gradient not finite",
                               "output independent of the input", "value not finite", "vanishing gradients",
                               "labels do not fit the inputs"},
    "inputs out of range": {"dead units", "exploding gradients", "learning rate too high", "vanishing gradients",
                            "features on different scales", "output independent of the input", "value not finite",
                            "parameter not finite"},
    "targets out of range": {"learning rate too high", "exploding gradients", "learning rate too low"},
    "dead units": {"output independent of the input", "vanishing gradients", "learning rate too low"},
    "units that stay equal": {"output independent of the input", "learning rate too low", "vanishing gradients",
                              "dead units"},
    "vanishing gradients": {"learning rate too low", "output independent of the input",
                            "labels do not fit the inputs"},
    "exploding gradients": {"learning rate too high", "value not finite", "parameter not finite", "dead units",
                            "gradient not finite"},
    "gradients clipped to nothing": {"learning rate too low"}, "learning rate gone": {"learning rate too low"},
    "missing zero_grad": {"learning rate too high", "dead units"},
    "optimiser recreated": {"learning rate too high"},
    "input not finite": {"parameter not finite", "value not finite", "gradient not finite"},
    "gradient not finite": {"parameter not finite", "value not finite"},
    "value not finite": {"parameter not finite", "gradient not finite"},
    "no gradients": {"parameters without gradient", "no step"}, "no step": {"learning rate too low"},
    "gradients cleared too early": {"no gradients", "no step", "parameters without gradient",
                                    "learning rate too low"},
    "parameters not in the optimiser": {"parameters without gradient", "learning rate too low"},
    "parameters without gradient": {"output independent of the input"},
    "softmax over the batch": {"learning rate too low", "probabilities as logits", "labels do not fit the inputs"},
    "broadcast in the loss": {"learning rate too low"},
    "batches of one class": {"learning rate too high", "output independent of the input", "dead units"},
}


def in_order(findings):
    """The findings, causes first, without those that follow from one before them."""
    kept = []
    for f in sorted(findings, key=lambda f: ORDER.index(f.kind)):
        if not any(f.kind in FOLLOWS.get(cause.kind, ()) for cause in kept):
            kept.append(f)
    return kept


def finite(values):
    return np.array([v for v in values if v is not None and math.isfinite(v)])


def fell(seen):
    """The loss at the end as a share of that at the start; NaN if it is not known or not above 0."""
    loss = seen.series()
    if len(loss) < 8 or not math.isfinite(loss[0]) or loss[0] <= 0:
        return math.nan
    last = loss[-max(len(loss) // 5, 3):]
    return float(np.median(last) / loss[0]) if np.isfinite(last).all() else math.inf


def plural(names, most=4):
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


# ------------------------------------------------------------------ parameters and optimisers
def no_step(doctor):
    """Backward passes, and the parameters are as they were."""
    if doctor.seen.passes < 3 or doctor.optimizers or not doctor.roots:
        return
    pairs = doctor.first.values()
    if pairs and all(np.array_equal(sample(p.array, p.backend), old) for p, old in pairs) and any(
            p._grad is not None for p, _ in pairs):
        yield Finding("no step", f"{doctor.seen.passes} backward passes, and no parameter has moved: call "
                      f"optimizer.step() after loss.backward()")


def not_owned(doctor):
    if not doctor.owned:
        return
    for root in doctor.roots:
        if not doctor.trains(root):
            continue
        lost = [name for name, p in root.named_parameters() if p.requires_grad and id(p) not in doctor.owned
                and (p._grad is not None or id(p) in doctor.got)]
        if lost:
            yield Finding("parameters not in the optimiser", f"{plural(lost)}: gradients arrive there but no optimiser "
                          f"has them; give it model.parameters() after the model is complete, or freeze them by "
                          f"requires_grad_(False)")


def never_reached(doctor):
    """Parameters of an optimiser that never got a gradient, although others did."""
    if doctor.seen.steps < 3 or not doctor.got:
        return
    lost = {key: doctor.owned[key] for key, n in doctor.cut.items()
            if n >= 2 and key not in doctor.got and doctor.owned[key]._grad is None}
    if lost:
        called = {layer.path for w in doctor.seen.watched for layer in w.layers}
        names = [doctor.names.get(key, f"shape {list(p.shape)}") for key, p in lost.items()]
        why = ("their layer is called, but what it gives is cut out of the graph: look for detach(), .data, item(), "
               "numpy() or no_grad() behind it" if any(n.rpartition(".")[0] in called for n in names) else
               "their layer is not called, or what it gives is cut out of the graph or not used")
        yield Finding("parameters without gradient", f"{plural(names)}: no gradient has arrived there in "
                      f"{doctor.seen.steps} steps; {why}")


# ------------------------------------------------------------------ data
def batches(doctor):
    return [w.batch for w in doctor.seen.watched if w.batch.inputs is not None]


def data_range(doctor):
    found = [b.inputs for b in batches(doctor) if is_floating(b.inputs.dtype) and np.isfinite(b.inputs).all()]
    if not found or doctor.seen.passes < 5:
        return
    x = np.concatenate([f for f in found[:20] if f.shape[1] == found[0].shape[1]]).astype(float)
    spread, size = x.std(), abs(x).max()
    if size > 30 and (spread > 20 or rms(x) > 30):
        pixels = " (pixels from 0 to 255? divide by 255)" if 200 < size <= 255 and x.min() >= 0 else ""
        yield Finding("inputs out of range", f"inputs go from {x.min():.4g} to {x.max():.4g}, with a spread of "
                      f"{spread:.3g}: networks want about 1; subtract the mean and divide by the standard deviation"
                      + pixels)
        return
    own = x.std(0)
    own = own[own > 0]
    if 2 <= len(own) <= 200 and len(x) >= 32 and own.max() / own.min() > 1000:
        yield Finding("features on different scales", f"the spread of the features goes from {own.min():.3g} to "
                      f"{own.max():.3g}: divide each by its own standard deviation")


def target_range(doctor):
    found = [b.targets for b in batches(doctor) if b.targets is not None and is_floating(b.targets.dtype)]
    if found and doctor.seen.passes >= 5:
        t = np.concatenate([f.ravel() for f in found]).astype(float)
        if np.isfinite(t).all() and rms(t) > 50:
            yield Finding("targets out of range", f"targets go from {t.min():.4g} to {t.max():.4g}: scale them to "
                          f"about 1 and scale the predictions back, or the first steps are enormous")


def labelled(doctor):
    """Batches of float inputs with a class for each."""
    return [b for b in batches(doctor) if b.targets is not None and b.targets.ndim == 1 and b.targets.dtype.kind == "i"
            and len(b.targets) == len(b.inputs) and is_floating(b.inputs.dtype)]


def one_class(doctor):
    found = [b.targets for b in labelled(doctor) if len(b.targets) >= 4]
    if len(found) >= 4 and all((t == t[0]).all() for t in found) and len({t[0] for t in found}) > 1:
        yield Finding("batches of one class", "each batch has samples of one class only, so each step unlearns the one "
                      "before: shuffle the samples, as DataLoader(..., shuffle=True) does")


def shuffled_labels(doctor):
    """The same input with other labels; or neighbours whose labels agree no more than by chance, and nothing learnt."""
    found = labelled(doctor)
    if not found or len({b.inputs.shape[1] for b in found}) != 1 or found[0].inputs.shape[1] < 2:
        return
    x, t = np.concatenate([b.inputs for b in found]), np.concatenate([b.targets for b in found])
    first, again, other = {}, 0, 0
    for row, label in zip(x, t):
        key = row.tobytes()
        if key in first:
            again, other = again + 1, other + (first[key] != label)
        first.setdefault(key, label)
    words = "labels and inputs do not belong together: they must be shuffled by the same permutation"
    if again >= 20 and other > 0.5 * again:
        yield Finding("labels do not fit the inputs", f"{other} of {again} samples that came again had another label: "
                      + words)
        return
    share = np.bincount(t - t.min()) / len(t)
    chance, entropy = float((share ** 2).sum()), float(-(share[share > 0] * np.log(share[share > 0])).sum())
    loss = doctor.seen.series()
    if len(first) < 100 or chance > 0.8 or len(loss) < 8 or not np.median(loss[-5:]) > 0.85 * entropy:
        return
    agree, n = neighbours_agree(np.unique(np.column_stack([x, t]), axis=0)[:600])
    if agree < chance + 2.5 * math.sqrt(chance * (1 - chance) / n):
        yield Finding("labels do not fit the inputs", f"the loss stays at {np.median(loss[-5:]):.3g}, where guessing "
                      f"is, and the nearest neighbours of the inputs have the same label in {100 * agree:.0f} % of the "
                      f"cases (chance: {100 * chance:.0f} %): " + words)


def neighbours_agree(rows):
    """How often the nearest neighbour of a sample has its label; and of how many samples."""
    x, t = rows[:, :-1].astype(float), rows[:, -1]
    x = (x - x.mean(0)) / (x.std(0) + 1e-9)
    square = (x * x).sum(1)
    distance = square[:, None] + square[None, :] - 2 * x @ x.T
    np.fill_diagonal(distance, np.inf)
    return float((t[distance.argmin(1)] == t).mean()), len(t)


# ------------------------------------------------------------------ learning rates
def weights(doctor, skip=0):
    """Updates of weights, biases left out."""
    return [u for w in doctor.seen.watched[skip:] for u in w.updates if u.ndim > 1 and math.isfinite(u.ratio)]


def rate_too_high(doctor):
    moved, left = finite([u.ratio for u in weights(doctor)]), fell(doctor.seen)
    if not moved.size or math.isnan(left):
        return
    late = finite([u.ratio for u in weights(doctor, len(doctor.seen.watched) // 2)])
    wild = moved.max() > 0.5 or (late.size and np.median(late) > 0.1)
    if wild and left > 0.9:
        yield Finding("learning rate too high", f"steps have moved weights by up to {100 * moved.max():.3g} % of their "
                      f"size (usual is 0.1 %), and the loss has {'grown' if left > 1 else 'not fallen'}: make the "
                      f"learning rate ten times smaller")


def rate_too_low(doctor):
    moved, left = finite([u.ratio for u in weights(doctor, 1)]), fell(doctor.seen)
    rates = np.array([float(r) for r in doctor.seen.rates])
    if doctor.seen.steps >= 20 and moved.size and np.median(moved) < 3e-5 and 0.97 < left < 1.03 and rates.any():
        yield Finding("learning rate too low", f"a step moves weights by {100 * np.median(moved):.2g} % of their size "
                      f"(usual is 0.1 %), and the loss has hardly changed: make the learning rate larger")


def rate_gone(doctor):
    rates = np.array([float(r) for r in doctor.seen.rates])
    if len(rates) >= 20 and rates.max() > 0:
        gone = rates < 1e-3 * rates.max()
        if gone[-1] and gone.mean() > 0.3:
            yield Finding("learning rate gone", f"the learning rate is {rates[-1]:.2g} since step "
                          f"{int(np.argmax(gone)) + 1} of {len(rates)}, {rates.max():.2g} at its largest: the schedule "
                          f"ends too early; is scheduler.step() called for each batch instead of each epoch?")


def clipped(doctor):
    left = finite([w.clipped for w in doctor.seen.watched])
    if len(left) >= 3 and 0 < np.median(left) < 0.01:
        power = np.log2(np.median(left))
        if abs(power - round(power)) > 1e-3 or np.ptp(left) > 1e-3 * left.max():     # not the factor of a GradScaler
            yield Finding("gradients clipped to nothing", f"clipping leaves {100 * np.median(left):.2g} % of the "
                          f"gradients: choose max_norm near their usual norm, "
                          f"{np.median(finite([w.norm for w in doctor.seen.watched])):.2g}")


# ------------------------------------------------------------------ signals
def dead_units(doctor):
    found = [(key, *seen) for key, seen in doctor.seen.units.items() if seen[1] >= 4 and seen[0].size >= 4]
    for (path, _, _), alive, calls, where in sorted(found, key=lambda f: f[1].mean()):
        if alive.mean() <= 0.4:
            yield Finding("dead units", f"{int((~alive).sum())} of {alive.size} units of {path or 'a ReLU'} were 0 for "
                          f"all samples of {calls} batches: no gradient reaches their weights; lower the learning "
                          f"rate, look at initialisation and biases, or use a leaky ReLU", where)
            return


def signals(doctor):
    """How gradients of weights and sizes of activations change over the layers, before the first update."""
    for w in (w for w in doctor.seen.watched[:1] if w.step == 0):
        grads = [u.grad for u in w.updates if u.ndim > 1 and u.grad is not None]
        sizes = [layer.rms for layer in w.layers]
        slope = grads[0] / grads[-1] if len(grads) >= 4 and grads[-1] else 1.0
        growth = sizes[-1] / sizes[0] if len(sizes) >= 4 and sizes[0] else 1.0
        if 0 < min(slope, growth) < 1e-4:                  # at 0 units are dead
            what = ("the gradient of the first weights is" if slope < growth else "activations of the last layer are")
            yield Finding("vanishing gradients", f"{what} {min(slope, growth):.2g} times that of the "
                          f"{'last' if slope < growth else 'first'}: deep sigmoids or small weights; use ReLU or GELU "
                          f"with its initialisation, normalisation, or residual connections")
            return
        if max(slope, growth) > 1e3:
            what = (f"activations grow {growth:.2g} times from the first layer to the last" if growth > slope else
                    f"the gradient of the first weights is {slope:.2g} times that of the last")
            yield Finding("exploding gradients", f"{what}: smaller initial weights, normalisation, or "
                          f"clip_grad_norm_()")
            return


def equal_units(doctor):
    if doctor.seen.steps < 5:
        return
    for key, (p, _) in doctor.first.items():
        if p.array.ndim < 2 or key not in doctor.owned or p.shape[0] < 3:
            continue
        rows = np.asarray(p.detach().cpu().float().numpy()).reshape(p.shape[0], -1)
        if rows.shape[1] > 1 and (rows == rows[:1]).all() and key in doctor.got:
            yield Finding("units that stay equal", f"all {p.shape[0]} units of {doctor.name(p)} have the same weights "
                          f"after {doctor.seen.steps} steps: they began equal and get equal gradients; initialise "
                          f"weights with random numbers")
            return


def same_outputs(doctor):
    found = [w.same_outputs for w in doctor.seen.watched[-5:]]
    if len(found) >= 3 and all(found):
        yield Finding("output independent of the input", "the model gives the same output for all samples of a batch: "
                      "dead units, zero weights, or inputs that never reach the output")


RULES = (no_step, not_owned, never_reached, data_range, target_range, one_class, shuffled_labels, rate_too_high,
         rate_too_low, rate_gone, clipped, dead_units, signals, equal_units, same_outputs)
