"""Single calls that are worth a look in a step that is watched: losses, ReLUs, subtractions, softmax."""

import numpy as np

from ...core.op import Op
from .seen import Finding, host, sample

__all__ = ["LOOKS"]


def warn(doctor, node, kind, text):
    doctor.add(Finding(kind, text, doctor.lines.where(node)))


LOOKS: dict = {}                                           # name of a call: the function that looks at it


def looks_at(name):
    """Enter a function that looks at each call of that name: ``look(doctor, node, out)``."""
    def enter(function):
        LOOKS[name] = function
        return function
    return enter


def saved(node, name):
    """The value that a node keeps under `name`, or None."""
    return dict(zip(node.op.saved_fields, node.saved or ())).get(name)


def op_before(node):
    """The name of the call that made the first input, "" if none did; views are passed."""
    place = node.parents[0]
    while place is not None and place.parents and isinstance(place.op, Op):
        if not place.op.view:
            return place.op.name
        place = place.parents[0]
    return ""


def scores_of(doctor, node):
    """The first input of a loss as an array of the host, classes last, None if it is not known."""
    array = doctor.value_of(node.parents[0])
    if array is None or not array.size or not array.ndim:
        return None
    x = host(array, node.backend.backend)
    return np.moveaxis(x, 1, -1) if x.ndim > 2 else x


@looks_at("cross_entropy")
def look_at_cross_entropy(doctor, node, out):
    x = scores_of(doctor, node)
    if x is None:
        return
    doctor.seen.classes = x.shape[-1]
    before, squashed = op_before(node), bool((x >= 0).all() and (x <= 1).all())
    if squashed and (before == "softmax" or (abs(x.sum(-1) - 1) < 1e-3).all()):
        warn(doctor, node, "probabilities as logits",
             "cross_entropy() was given probabilities (numbers in [0, 1] that sum to 1 over the classes): give it the "
             "logits, it applies log_softmax itself")
    elif squashed and before in ("sigmoid", "clamp"):
        warn(doctor, node, "squashed logits", "cross_entropy() was given numbers squashed into [0, 1] by sigmoid(): "
             "give it the logits, which may be any numbers")
    elif before == "relu" and x.shape[-1] > 1:
        warn(doctor, node, "ReLU on the logits", "the logits of cross_entropy() went through a ReLU: classes whose "
             "score is below 0 get no gradient; leave the last ReLU out")
    note_targets(doctor, node, saved(node, "target"))


@looks_at("nll_loss")
def look_at_nll(doctor, node, out):
    x = scores_of(doctor, node)
    if x is not None and bool((x >= 0).all()) and x.any():
        warn(doctor, node, "nll_loss without log", "nll_loss() was given numbers that are not below 0: it takes "
             "log-probabilities, of log_softmax(); or give the logits to cross_entropy()")
    note_targets(doctor, node, saved(node, "target"))


@looks_at("binary_cross_entropy")
@looks_at("binary_cross_entropy_with_logits")
def look_at_binary(doctor, node, out):
    x, target = scores_of(doctor, node), saved(node, "target")
    if x is not None and op_before(node) in ("sigmoid", "softmax") and node.op.name.endswith("with_logits"):
        warn(doctor, node, "squashed logits", "binary_cross_entropy_with_logits() was given numbers squashed into [0, "
             f"1] by {op_before(node)}(): give it the logits, it applies sigmoid itself")
    if target is not None:
        t = host(target, node.backend.backend)
        if t.size and (t.min() < 0 or t.max() > 1):
            warn(doctor, node, "targets outside [0, 1]", f"{node.op.name}() takes targets between 0 and 1, these go "
                 f"from {t.min():.4g} to {t.max():.4g}: its loss has no minimum then")
    note_targets(doctor, node, target)


@looks_at("mse_loss")
@looks_at("smooth_l1_loss")
@looks_at("l1_loss")
def look_at_distance(doctor, node, out):
    note_targets(doctor, node, saved(node, "target"))


@looks_at("sub")
def look_at_difference(doctor, node, out):
    """A column minus a row, both as long as the batch."""
    shapes = [None if p is None else tuple(p.shape) for p in node.parents]
    column = next((s for s in shapes if s is not None and len(s) == 2 and s[1] == 1 and s[0] > 1), None)
    batch = doctor.now.batch.inputs
    if column and batch is not None and out.shape == (column[0], column[0]) and column[0] == len(batch):
        other = shapes[1 - shapes.index(column)]
        if other is None or other == column[:1]:
            warn(doctor, node, "broadcast in the loss", f"a column {list(column)} minus a row {list(column[:1])} gives "
                 f"{list(out.shape)}: each prediction is compared with all targets, and the best answer is their mean; "
                 f"squeeze(1) the one or unsqueeze(1) the other")


def note_targets(doctor, node, target):
    """Keep the targets of a step beside its inputs, if there is one for each sample."""
    batch = doctor.now.batch
    if target is not None and batch.targets is None and getattr(target, "ndim", 0):
        backend = node.backend.backend
        batch.targets = (host(target[:256], backend).copy() if target.ndim == 1 else sample(target, backend).copy())


@looks_at("relu")
def look_at_relu(doctor, node, out):
    """Which units of a ReLU are above 0 for some sample; channels are units, too."""
    if out.ndim < 2 or not out.size:
        return
    axes = (0, *range(2, out.ndim)) if out.ndim > 3 else tuple(range(out.ndim - 1))
    above = host((out > 0).any(axes), node.backend.backend)
    key = doctor.path(), doctor.lines.of.get(id(node)), above.shape
    found = doctor.seen.units.setdefault(key, [np.zeros_like(above), 0, doctor.lines.where(node)])
    found[0] |= above
    found[1] += 1


@looks_at("softmax")
@looks_at("log_softmax")
def look_at_softmax(doctor, node, out):
    batch, dim = doctor.now.batch.inputs, saved(node, "dim")
    rows = len(batch) if batch is not None else 0
    if not rows and doctor.stack:
        return                                             # within the model the batch is not known yet
    if out.ndim == 2 and dim in (0, -2) and rows == out.shape[0] > 1:
        warn(doctor, node, "softmax over the batch", f"softmax(dim={dim}) of {list(out.shape)} sums to 1 over the "
             f"batch: the classes are the last dimension, write dim=-1")
