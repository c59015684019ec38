"""Elementwise ops as one kernel each: activations and their backward passes, masks, combinations.

The op's reference, which would take a kernel for each step, serves the types that these do not take. All take 16-bit
floats as they are.
"""

from ....core.registry import OPS
from ..arrays.dtypes import is_float, kind_of
from ..arrays.functors import functor_call
from ..arrays.launch import launch
from ..backend import kernel
from .supported import float_input, floats

__all__ = ["bias_activation", "bias_activation_backward"]


def activation(op):
    """Enter the kernel of an op of one float array, made from its definition's functor."""
    functor, defaults = functor_call(op)

    @kernel(op.name, when=float_input, halves=True)
    def call(F, input, **attrs):
        numbers = [attrs.get(k, default) for k, default in defaults.items()]
        return launch(F, functor, (input,), input.dtype, input.dtype, numbers=(*numbers, 0, 0)[:2])


for op in OPS.values():
    if op.functor and len(op.inputs) == 1:
        activation(op)


@kernel("gelu", when=lambda F, input, *, approximate="none": is_float(input.dtype) and approximate in ("none", "tanh"),
        halves=True)
def gelu(F, input, *, approximate="none"):
    """With no gate kept: the backward kernel computes all from the input."""
    return launch(F, "gelu_tanh" if approximate == "tanh" else "gelu", (input,), input.dtype, input.dtype), None


@kernel("silu_backward", when=floats, halves=True)
def silu_backward(F, grad, input):
    return launch(F, "silu_backward", (grad, input), grad.dtype, grad.dtype)


@kernel("gelu_backward", when=lambda F, grad, input, *rest, **attrs: floats(F, grad, input), halves=True)
def gelu_backward(F, grad, input, gate=None, *, approximate="none"):
    functor = "gelu_tanh_backward" if approximate == "tanh" else "gelu_backward"
    return launch(F, functor, (grad, input), grad.dtype, grad.dtype)


@kernel("hardtanh", when=lambda F, input, *, min_val=-1.0, max_val=1.0: is_float(input.dtype) and min_val <= max_val,
        halves=True)
def hardtanh(F, input, *, min_val=-1.0, max_val=1.0):
    """`input` clamped to [min_val, max_val]."""
    return launch(F, "clamp_to_numbers", (input,), input.dtype, input.dtype, numbers=(min_val, max_val))


@kernel("threshold", when=float_input, halves=True)
def threshold(F, input, *, threshold, value):
    """`input` where it is greater than `threshold`, elsewhere `value`."""
    return launch(F, "threshold", (input,), input.dtype, input.dtype, numbers=(threshold, value))


@kernel("elu", when=float_input, halves=True)
def elu(F, input, *, alpha, scale, input_scale):
    """``scale * input`` where positive, elsewhere ``scale * alpha * (exp(input_scale * input) - 1)``."""
    return launch(F, "elu", (input, input_scale), input.dtype, input.dtype, numbers=(alpha * scale, scale))


@kernel("prelu", when=floats, halves=True)
def prelu(F, input, weight):
    """`input` where positive, elsewhere ``weight * input``."""
    return launch(F, "prelu", (input, weight), input.dtype, input.dtype)


@kernel("masked", when=lambda F, input, mask: kind_of(input.dtype) is not None and isinstance(mask, F.ndarray)
        and kind_of(mask.dtype) is not None, halves=True)
def masked(F, input, mask):
    """`input` where `mask` holds, 0 elsewhere."""
    return launch(F, "keep", (input, mask), input.dtype, input.dtype, mask.dtype)


@kernel("threshold_backward", when=floats, halves=True)
def threshold_backward(F, input, gate, *, level):
    """`input` where `gate` is greater than `level` or NaN, 0 elsewhere."""
    return launch(F, "keep_above", (input, gate), input.dtype, input.dtype, gate.dtype, (level, 0))


@kernel("relu_backward", when=floats, halves=True)
def relu_backward(F, input, gate):
    """`input` where `gate` is not 0, 0 elsewhere."""
    return launch(F, "keep", (input, gate), input.dtype, input.dtype, gate.dtype)


def combination(name):
    """Enter `addcmul` or `addcdiv`."""
    @kernel(name, when=floats, halves=True)
    def call(F, input, tensor1, tensor2, *, value=1):
        return launch(F, name, (input, tensor1, tensor2), input.dtype, input.dtype, numbers=(value, 0))


combination("addcmul")
combination("addcdiv")


@kernel("lerp", when=floats, halves=True)
def lerp(F, input, end, weight):
    """``input + weight * (end - input)``, from the nearer end."""
    return launch(F, "lerp", (input, end, weight), input.dtype, input.dtype)


# ---- chains --------------------------------------------------------------------------------------------------
def bias_activation(F, input, bias, name):
    """``activation(input + bias)`` in one pass: `name` is "relu", "gelu", "gelu_tanh" or "silu"."""
    return launch(F, "bias_" + name, (input, bias), input.dtype, input.dtype)


def bias_activation_backward(F, grad, input, bias, name):
    """The gradient of ``input + bias``, given that of ``activation(input + bias)``, in one pass."""
    return launch(F, f"bias_{name}_backward", (grad, input, bias), grad.dtype, grad.dtype)
