"""Records of a watched run, in plain numbers: losses, layers, updates, inputs. `rules` reads them, viz draws them."""

import math
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Batch", "Finding", "Layer", "Seen", "Update", "Watched", "host", "rms", "sample", "squares"]

MOST = 4096                                                # elements of an array that are looked at


@dataclass
class Finding:
    """A fault: its `kind`, the sentence `text`, and `where`, the line it is about, "" where no line is."""

    kind: str
    text: str
    where: str = ""

    def __str__(self):
        return f"{self.kind}: {self.text}" + (f" [{self.where}]" if self.where else "")


@dataclass
class Layer:
    """One call of a layer: `path`, `kind`, and of its output the root mean square; `grad` is that of its gradient."""

    path: str
    kind: str
    rms: float
    grad: float | None = None


@dataclass
class Update:
    """One parameter at one step: root mean squares of the weight and gradient, and `ratio`, change : weight."""

    name: str
    ndim: int
    weight: float
    grad: float | None
    ratio: float


@dataclass
class Batch:
    """Samples of a step, features flat, and their targets; either is None if it was not seen."""

    inputs: np.ndarray | None = None
    targets: np.ndarray | None = None


@dataclass
class Watched:
    """A step that was watched in full; `clipped` is the share of the gradients' norm that the step was left with."""

    step: int
    layers: list = field(default_factory=list)
    updates: list = field(default_factory=list)
    batch: Batch = field(default_factory=Batch)
    norm: float | None = None
    clipped: float | None = None
    same_outputs: bool = False


@dataclass
class Seen:
    """Observations of a doctor: the data of all rules and of the picture.

    `losses`: place of the loss -> its values, one for each backward pass; `rates`: the largest learning rate at each
    step; `units`: place of a ReLU -> [which of its units were ever above 0, calls, line]; `watched`: steps in full.
    """

    steps: int = 0
    passes: int = 0
    losses: dict = field(default_factory=dict)
    rates: list = field(default_factory=list)
    units: dict = field(default_factory=dict)
    watched: list = field(default_factory=list)
    classes: int = 0                                       # of a cross entropy; 0: none was seen

    def series(self):
        """The losses of the place that has most of them."""
        return np.array(max(self.losses.values(), key=len, default=[]), float)


def host(array, backend):
    """A raw array of a backend as NumPy's, in a type that NumPy computes with."""
    found = np.asarray(backend.to_host(array))
    return found.astype(np.float32) if found.dtype.kind == "V" or found.dtype == np.float16 else found


def sample(array, backend, most=MOST):
    """At most about `most` elements, evenly spread, as one flat array of the host."""
    flat = array.reshape(-1)
    return host(flat[::max(flat.shape[0] // most, 1)] if flat.shape[0] > most else flat, backend)


def squares(x):
    """The sum of the squares of the magnitudes, in float64."""
    with np.errstate(all="ignore"):
        return float(np.sum(np.square(abs(x), dtype=np.float64)))


def rms(x):
    """The root mean square of the magnitudes."""
    return math.sqrt(squares(x) / x.size) if x.size else 0.0
