"""The op table's elementwise ops as one kernel each: activations and their backward passes, masks, combinations.

The op's own forward pass, which would take a kernel for each step, serves the types that these do not take. All take
16-bit floats as they are.
"""

from ...core.backend import takes_halves
from ...core.registry import OPS
from .elementwise import kind_of, launch

__all__ = ["KERNELS", "bias_activation", "bias_activation_backward"]

KERNELS: dict = {}


def reference(name):
    return OPS[name].forward


def floating(*arrays):
    """Whether kernels of floats take these arrays, which are of one dtype."""
    dtype = arrays[0].dtype
    return kind_of(dtype) == "f" and all([x.dtype == dtype for x in arrays])


def activation(op):
    """A kernel for an op of one float array, made from the definition's functor."""
    functor, defaults = op.functor_call()

    @takes_halves
    def kernel(F, input, **attrs):
        if not floating(input):
            return op.forward(F, input, **attrs)
        numbers = [attrs.get(k, default) for k, default in defaults.items()]
        return launch(F, functor, (input,), input.dtype, input.dtype, numbers=(*numbers, 0, 0)[:2])
    kernel.__name__ = op.name
    KERNELS[op.name] = kernel


for op in OPS.values():
    if op.functor and len(op.inputs) == 1:
        activation(op)


def kernel(function):
    """Enter a hand-written kernel for the op of its name; it takes 16-bit floats itself."""
    KERNELS[function.__name__] = takes_halves(function)
    return function


@kernel
def gelu(F, input, *, approximate="none"):
    """With no gate kept: the backward kernel computes all from the input."""
    if not floating(input) or approximate not in ("none", "tanh"):
        return reference("gelu")(F, input, approximate=approximate)
    return launch(F, "gelu_tanh" if approximate == "tanh" else "gelu", (input,), input.dtype, input.dtype), None


def backward(name, functor):
    def call(F, grad, input, *rest, **attrs):
        if not floating(grad, input):
            return reference(name)(F, grad, input, *rest, **attrs)
        return launch(F, functor(**attrs) if callable(functor) else functor, (grad, input), grad.dtype, grad.dtype)
    call.__name__ = name
    kernel(call)


backward("silu_backward", "silu_backward")
backward("gelu_backward", lambda approximate="none": "gelu_tanh_backward" if approximate == "tanh" else "gelu_backward")


@kernel
def hardtanh(F, input, *, min_val=-1.0, max_val=1.0):
    """`input` clamped to [min_val, max_val]."""
    if not floating(input) or min_val > max_val:
        return reference("hardtanh")(F, input, min_val=min_val, max_val=max_val)
    return launch(F, "clamp_to_numbers", (input,), input.dtype, input.dtype, numbers=(min_val, max_val))


@kernel
def threshold(F, input, *, threshold, value):
    """`input` where it is greater than `threshold`, elsewhere `value`."""
    if not floating(input):
        return reference("threshold")(F, input, threshold=threshold, value=value)
    return launch(F, "threshold", (input,), input.dtype, input.dtype, numbers=(threshold, value))


@kernel
def elu_of(F, input, *, alpha, scale, input_scale):
    """``scale * input`` where positive, elsewhere ``scale * alpha * (exp(input_scale * input) - 1)``."""
    if not floating(input):
        return reference("elu_of")(F, input, alpha=alpha, scale=scale, input_scale=input_scale)
    return launch(F, "elu", (input, input_scale), input.dtype, input.dtype, numbers=(alpha * scale, scale))


@kernel
def prelu_of(F, input, weight):
    """`input` where positive, elsewhere ``weight * input``."""
    if not floating(input, weight):
        return reference("prelu_of")(F, input, weight)
    return launch(F, "prelu", (input, weight), input.dtype, input.dtype)


@kernel
def keep(F, input, mask):
    """`input` where `mask` holds, 0 elsewhere."""
    if kind_of(input.dtype) is None or not isinstance(mask, F.ndarray) or kind_of(mask.dtype) is None:
        return reference("keep")(F, input, mask)
    return launch(F, "keep", (input, mask), input.dtype, input.dtype, mask.dtype)


@kernel
def keep_above(F, input, gate, *, level):
    """`input` where `gate` is greater than `level`, 0 elsewhere."""
    if not floating(input, gate):
        return reference("keep_above")(F, input, gate, level=level)
    return launch(F, "keep_above", (input, gate), input.dtype, input.dtype, gate.dtype, (level, 0))


def combination(name):
    @takes_halves
    def call(F, input, first, second, *, value=1):
        if not floating(input, first, second):
            return reference(name)(F, input, first, second, value=value)
        return launch(F, name, (input, first, second), input.dtype, input.dtype, numbers=(value, 0))
    KERNELS[name] = call


combination("addcmul")
combination("addcdiv")


@kernel
def lerp(F, input, end, weight):
    """``input + weight * (end - input)``, from the nearer end."""
    arrays = [x for x in (input, end, weight) if isinstance(x, F.ndarray)]
    if not floating(*arrays):
        return reference("lerp")(F, input, end, weight)
    return launch(F, "lerp", (input, end, weight), input.dtype, input.dtype)


# ---- chains --------------------------------------------------------------------------------------------------
def bias_activation(F, input, bias, name):
    """``activation(input + bias)`` in one pass: `name` is "relu", "gelu", "gelu_tanh" or "silu"."""
    return launch(F, "bias_" + name, (input, bias), input.dtype, input.dtype)


def bias_activation_backward(F, grad, input, bias, name):
    """The gradient of ``input + bias``, given that of ``activation(input + bias)``, in one pass."""
    return launch(F, f"bias_{name}_backward", (grad, input, bias), grad.dtype, grad.dtype)
