"""gelu, silu and relu in one pass over memory. Nothing is kept of gelu but its input: the gate is computed again."""

import numpy as np

from ....ops.elementwise.activation import check_approximate
from ..eager import kernel, plain, shared

GELU = {"none": "gelu_erf", "tanh": "gelu_tanh"}


def many(d):
    return [d.array((90, 100))], dict(approximate=d.choice(["none", "tanh"]))


def many_gradients(d):
    [x], attrs = many(d)
    return [d.array((90, 100)), x], attrs


def mapped(name, x, *others, numbers=()):
    """A new array like `x`, which the function `name` fills element by element; `numbers` are its last arguments."""
    out = np.empty(x.shape, x.dtype)
    shared("pointwise", name, x, "p" * (2 + len(others)) + "l" + "d" * len(numbers), x, *others, out, x.size, *numbers)
    return out


def gelu_lean(F, input, *, approximate="none"):
    check_approximate(approximate)
    return mapped(GELU[approximate], input)


@kernel("gelu", when=lambda F, input, approximate="none": plain(input), lean=gelu_lean, sample=many)
def gelu(F, input, *, approximate="none"):
    return gelu_lean(F, input, approximate=approximate), None


@kernel("gelu_backward", sample=many_gradients,
        when=lambda F, grad, input, gate=None, approximate="none": plain(grad, input) and grad.shape == input.shape)
def gelu_backward(F, grad, input, gate=None, *, approximate="none"):
    return mapped(GELU[approximate] + "_backward", grad, input)


@kernel("silu", when=lambda F, input: plain(input), sample=lambda d: ([d.array((90, 100))], {}))
def silu(F, input):
    return mapped("silu", input)


@kernel("silu_backward", when=lambda F, grad, input: plain(grad, input) and grad.shape == input.shape,
        sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], {}))
def silu_backward(F, grad, input):
    return mapped("silu_backward", grad, input)


@kernel("relu", when=lambda F, input: plain(input), sample=lambda d: ([d.array((90, 100))], {}))
def relu(F, input):
    return mapped("relu", input)


@kernel("relu_backward", when=lambda F, input, gate: plain(input, gate) and input.shape == gate.shape,
        sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], {}))
def relu_backward(F, input, gate):
    return mapped("relu_backward", input, gate)


@kernel("threshold_backward", sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], dict(level=0)),
        when=lambda F, input, gate, level: plain(input, gate) and input.shape == gate.shape)
def threshold_backward(F, input, gate, *, level):
    return mapped("threshold_backward", input, gate, numbers=(level,))
