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


def of_one(name, x):
    out = np.empty(x.shape, x.dtype)
    shared("pointwise", name, x, "ppl", x, out, x.size)
    return out


def of_two(name, g, x):
    out = np.empty(x.shape, x.dtype)
    shared("pointwise", name, x, "pppl", g, x, out, x.size)
    return out


def gelu_lean(F, input, *, approximate="none"):
    check_approximate(approximate)
    return of_one(GELU[approximate], input)


@kernel("gelu", when=lambda F, input, approximate="none": plain(input), lean=gelu_lean, sample=many)
def gelu(F, input, *, approximate="none"):
    return gelu_lean(F, input, approximate=approximate), None


@kernel("gelu_backward", sample=many_gradients,
        when=lambda F, grad, input, gate=None, approximate="none": plain(grad, input) and grad.shape == input.shape)
def gelu_backward(F, grad, input, gate=None, *, approximate="none"):
    return of_two(GELU[approximate] + "_backward", grad, input)


@kernel("silu", when=lambda F, input: plain(input), sample=lambda d: ([d.array((90, 100))], {}))
def silu(F, input):
    return of_one("silu", input)


@kernel("silu_backward", when=lambda F, grad, input: plain(grad, input) and grad.shape == input.shape,
        sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], {}))
def silu_backward(F, grad, input):
    return of_two("silu_backward", grad, input)


@kernel("relu", when=lambda F, input: plain(input), sample=lambda d: ([d.array((90, 100))], {}))
def relu(F, input):
    return of_one("relu", input)


@kernel("relu_backward", when=lambda F, input, gate: plain(input, gate) and input.shape == gate.shape,
        sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], {}))
def relu_backward(F, input, gate):
    return of_two("relu_backward", input, gate)


@kernel("threshold_backward", sample=lambda d: ([d.array((90, 100)), d.array((90, 100))], dict(level=0)),
        when=lambda F, input, gate, level: plain(input, gate) and input.shape == gate.shape)
def threshold_backward(F, input, gate, *, level):
    out = np.empty(input.shape, input.dtype)
    shared("pointwise", "threshold_backward", input, "pppld", input, gate, out, input.size, level)
    return out
