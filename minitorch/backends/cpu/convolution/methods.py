"""The choice of an algorithm for a convolution: the methods and their estimated costs.

The choice depends on shapes alone, so the same call takes the same path every time and on every machine; except that
methods which mix numbers (`MIXING`) leave those that are not level to the others (see `level.py`). Costs are
nanoseconds of one core, from the table `COSTS`, fitted to measurements with NumPy's OpenBLAS on a core of 2.5 GHz with
AVX-512; only their order matters. `minitorch.backends.convolution_method` (in `choice.py`) makes another choice: to
compare methods, or where a program knows better.

| method    | how                                                        | where it does well                        |
|-----------|------------------------------------------------------------|-------------------------------------------|
| channels  | unfolded whole, (channels, kernel) by positions            | 1x1 kernels; many channels, few positions |
| pixels    | unfolded whole, positions by (kernel, channels)            | small images with many channels; strides  |
| images    | unfolded whole, images side by side (`side_by_side.py`)    | few positions, large weights              |
| rows      | unfolded in all dimensions but one (`rows.py`)             | wide images with up to 32 channels        |
| winograd  | F(4x4, 3x3) (`winograd.py`)                                | 3x3 kernels, from 32 channels on          |
| fft       | Fourier transforms (`fft.py`)                              | large kernels                             |
| depthwise | banded matrices, one input channel a group                 | depthwise convolutions                    |
"""

from functools import lru_cache
from math import log2, prod
from typing import NamedTuple

from . import depthwise, fft, rows, side_by_side, winograd
from .choice import forced
from .im2col import not_cut
from .level import is_finite, levels

COSTS = {
    "multiply": 0.03,          # a multiplication and addition in a matrix product
    "call": 110.0,             # a matrix product of a batch
    "pack": 0.25,              # an element that a matrix product reads, which is copied into its order
    "copy": 0.5,               # an element copied
    "turn": 2.0,               # an element of a weight whose dimensions are put into another order
    "run": 8.0,                # a contiguous run of a copy, in addition
    "scatter": 6.5,            # an element added where it was unfolded from, by channels
    "scatter pixels": 1.0,     # the same by pixels,
    "scatter stride": 0.6,     # times the stride
    "images": 0.5,             # an element of columns that lie far apart; gradients move it more often
    "partial": 1.5,            # an element of the gradient of the weight for one image
    "winograd": 4.0,           # an element of input or output through its transforms
    "winograd weight": 77.0,   # an element of the weight through its transforms
    "transform": 1e5,          # Winograd's or Fourier's, of whatever size, and small results
    "settle": 1.0,             # an element of input or output, looked at for that
    "fft": 1.5,                # an element of a transform, times log2 of its size
    "plane": 2000.0,           # a transform, of whatever size
    "frequency": 0.3,          # a complex multiplication and addition
    "band": 0.08,              # an element of a banded product
}

CACHED = 1 << 17               # elements of a weight that stay in the cache from product to product


class Problem(NamedTuple):
    """A convolution of `images` inputs of `size`.

    `task` is "forward", or the gradient that is asked for, "input" or "weight".
    """

    task: str
    images: int
    channels: int
    outputs: int
    size: tuple
    kernel: tuple
    out: tuple
    geometry: tuple
    dtype: object

    @property
    def inputs(self):
        return self.images * self.channels * prod(self.size)

    @property
    def results(self):
        return self.images * self.outputs * prod(self.out)

    @property
    def products(self):
        """Multiplications of the plain sum."""
        return self.results * self.channels // self.geometry.groups * prod(self.kernel)

    @property
    def unfolded(self):
        """Elements of the input unfolded whole."""
        return self.images * self.channels * prod(self.kernel) * prod(self.out)

    @property
    def weights(self):
        return self.outputs * self.channels // self.geometry.groups * prod(self.kernel)

    @property
    def is_depthwise(self):
        return self.geometry.groups == self.channels > 1

    @property
    def turned(self):
        """The forward convolution of `grad` that gives the gradient of the input, where the stride is 1."""
        padding = [d * (k - 1) - p for k, p, d in zip(self.kernel, self.geometry.padding, self.geometry.dilation)]
        return Problem("forward", self.images, self.outputs, self.channels, self.out, self.kernel, self.size,
                       self.geometry._replace(padding=tuple(padding)), self.dtype)

    @property
    def can_turn(self):
        return max(self.geometry.stride) == 1 and not_cut(self.kernel, self.geometry)


# ---- what each method costs; None where it does not apply ---------------------------------------------------
def copying(elements, run):
    return elements * (COSTS["copy"] + COSTS["run"] / max(run, 1))


def plain(p):
    """The matrix products of the methods that unfold."""
    return COSTS["multiply"] * p.products + COSTS["pack"] * p.unfolded


def read_again(p):
    """The weight, for each product in which it takes part: free while it stays in the cache."""
    return COSTS["pack"] * max(0, p.weights - CACHED)


def turned(cost, p):
    """That of the gradient of the input as a convolution with the mirrored weight, which has to be made."""
    found = cost(p.turned)
    return None if found is None else found + COSTS["turn"] * p.weights


def run_of_places(p):
    """How many positions are copied at a time; with a stride, one by one."""
    return p.out[-1] / p.geometry.stride[-1] ** 2


def channels_cost(p):
    if p.task == "input" and turning_pays(p, "channels"):
        return turned(channels_cost, p)
    calls = p.images * (COSTS["call"] * p.geometry.groups + read_again(p))
    if p.task == "input":
        return calls + plain(p) + COSTS["scatter"] * p.unfolded
    if p.task == "weight":
        calls += COSTS["partial"] * p.images * p.weights
    simple = prod(p.kernel) == 1 and max(p.geometry.stride) == 1 and not any(p.geometry.padding)
    return calls + plain(p) + (0 if simple else copying(p.unfolded, run_of_places(p)))


def pixels_cost(p):
    if p.geometry.groups > 1:
        return None
    if p.task == "input" and turning_pays(p, "pixels"):
        return turned(pixels_cost, p)
    around = plain(p) + 3 * COSTS["copy"] * (p.inputs + p.results) + COSTS["turn"] * p.weights
    if p.task == "input":
        each = COSTS["scatter pixels"] + COSTS["scatter stride"] * prod(p.geometry.stride) + COSTS["run"] / p.channels
        return around + each * p.unfolded
    return around + copying(p.unfolded, p.channels * p.kernel[-1])


def images_cost(p):
    if not side_by_side.applies(p.geometry):
        return None
    around = plain(p) + 3 * COSTS["copy"] * (p.inputs + p.results) + COSTS["pack"] * p.weights
    run = p.images * (p.out[-1] if p.geometry.stride[-1] == 1 else 1)
    far = COSTS["images"] * {"forward": 1, "weight": 2, "input": 6}[p.task]
    return around + copying(p.unfolded, run) * (2 if p.task == "input" else 1) + far * p.unfolded


def rows_cost(p):
    if p.task == "input":
        return turned(rows_cost, p) if p.can_turn else None
    if not rows.applies(p.task, p.kernel, p.geometry):
        return None
    high, down, across = (p.size[0], p.kernel[0], p.out[1:]) if len(p.out) > 1 else (1, 1, p.out)
    row = prod(across)
    unfolded = p.images * p.channels * high * prod(p.kernel) // down * row
    cost = plain(p) + copying(unfolded, run_of_places(p)) + COSTS["turn"] * p.weights
    if p.task == "weight":
        partial = p.images * p.outputs * p.channels // p.geometry.groups * prod(p.kernel)
        return cost + COSTS["call"] * p.images * p.geometry.groups * down + COSTS["partial"] * partial
    several = max(1, rows.NARROW // row)
    calls = p.images // several * p.geometry.groups * prod(p.out) // row
    return cost + calls * (COSTS["call"] + read_again(p)) + (copying(p.results, p.out[-1]) if several > 1 else 0)


def settling(p):
    """The cost of any transform, with the search for results that are too small."""
    return COSTS["transform"] + COSTS["settle"] * (p.inputs + p.results)


def winograd_cost(p):
    if p.task == "input":
        return turned(winograd_cost, p) if p.can_turn else None
    if not winograd.applies(p.kernel, p.geometry, p.dtype):
        return None
    tiles = p.images * prod([-(-n // winograd.TILE) for n in p.out])
    return (settling(p) + COSTS["multiply"] * 36 * tiles * p.channels * p.outputs
            + COSTS["winograd"] * tiles * winograd.TILE ** 2 * (p.channels + p.outputs)
            + COSTS["winograd weight"] * p.channels * p.outputs * (1.5 if p.task == "weight" else 1))


def fft_cost(p):
    size = prod(fft.circle(p.size, p.kernel, p.geometry, p.out))
    weights = p.outputs * p.channels // p.geometry.groups
    if not fft.applies(p.geometry, p.dtype, weights, size):
        return None
    planes = p.images * (p.channels + p.outputs) + weights
    products = size // 2 * p.images * p.outputs * p.channels // p.geometry.groups
    transforms = planes * (COSTS["plane"] + COSTS["fft"] * size * log2(size + 1))
    return settling(p) + transforms + COSTS["frequency"] * products


def depthwise_cost(p):
    if not p.is_depthwise:
        return None
    k = p.kernel[-1]
    return COSTS["band"] * p.results * prod(p.kernel[:-1]) * (depthwise.TILE + k)


METHODS = {"channels": channels_cost, "pixels": pixels_cost, "images": images_cost, "rows": rows_cost,
           "winograd": winograd_cost, "fft": fft_cost, "depthwise": depthwise_cost}
TRANSFORMS = ("winograd", "fft")       # of numbers that are level (`level.py`), then `small.py`
MIXING = (*TRANSFORMS, "depthwise")    # which takes numbers that are finite


# ---- the choice ---------------------------------------------------------------------------------------------
def choose(problem):
    """The name of the method for a problem: the one asked for, if it applies, or the cheapest."""
    wanted = forced.get()
    if wanted is not None and METHODS[wanted](problem) is not None:
        return wanted
    return cheapest(problem)


def choose_for(F, problem, *arrays):
    """The method by `choose`, or one that mixes no numbers if that one would lose precision.

    And for those in `TRANSFORMS` the `Levels` of both arrays; else None.
    """
    method, found = choose(problem), None
    if method in TRANSFORMS:
        found = levels(F, arrays[0], problem.geometry.groups), levels(F, arrays[1])
        may_mix = all([x.level for x in found])
    else:
        may_mix = method != "depthwise" or all([is_finite(F, x) for x in arrays])
    if may_mix or method == forced.get():
        return method, found
    return cheapest(problem, mixing=False), None


@lru_cache(maxsize=4096)
def cheapest(problem, mixing=True):
    """The name of the method that is estimated to cost least; not `mixing`, of those that mix no numbers."""
    costs = {name: cost(problem) for name, cost in METHODS.items() if mixing or name not in MIXING}
    return min([(cost, name) for name, cost in costs.items() if cost is not None])[1]


def turning_pays(p, method):
    """True if convolving with the flipped weight is cheaper than scattering the gradient."""
    if not p.can_turn or 2 * prod(p.size) > 3 * prod(p.out):
        return False
    return method != "images" and (method != "depthwise" or p.outputs == p.channels)
