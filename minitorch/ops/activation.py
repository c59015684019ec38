"""The op table, activations: the elementwise functions between the layers of a network.

Shapes stay. Those that PyTorch gives an argument `inplace` are published by `activation`, which adds it.
"""

import inspect
import math

from ..inplace import inplace as inplace_twin
from ..op import Other, deferred, op, publish
from .blocks import in_blocks
from .erf import erf


def activation(call, name=None, doc=None, twin=False):
    """Publish `call` in nn.functional with PyTorch's further argument `inplace`; with `twin` also ``name_``."""
    name = name or call.__name__
    write = inplace_twin(name, call, getattr(call, "op", None))
    given = [p for p in inspect.signature(call).parameters.values() if p.name != "out"]
    arguments = ", ".join(p.name for p in given)
    given.append(inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False))
    signature = inspect.Signature(given)
    source = f"def {name}{signature}:\n    return (write if inplace else call)({arguments})"
    function = deferred(name, f"<minitorch activation {name}>", lambda: source, {"call": call, "write": write})
    function.__signature__ = signature
    function.__doc__ = (doc or call.__doc__) + "\n\n    With `inplace` the result is written into `input`."
    if twin:
        publish(write, name + "_", namespace="nn.functional")
    return publish(function, name, namespace="nn.functional")


# ---- zero where a mask does not hold -----------------------------------------------------------------------
@op(namespace=None, input=lambda F, g, mask: F.keep(g, mask),
    sample=lambda d: ([x := d.array(d.shape(1)), x > 0.5], {}))
def keep(F, input, mask: Other):
    """`input` where `mask` holds, 0 elsewhere, also where `input` is infinite or NaN."""
    # Integers times a mask: as fast as floats times a mask, and five times as fast as `where`.
    if input.dtype.kind != "f":
        return input * mask
    bits = input.view(f"i{input.itemsize}") * mask
    return bits.view(input.dtype)


# ---- relu and its kin --------------------------------------------------------------------------------------
@op(promotion="any", kinks="zero", inplace=True, input=lambda F, g, out: F.keep(g, out > 0))
def relu(F, input):
    """``max(input, 0)``; the gradient at 0 is 0."""
    if input.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    return F.xp.maximum(input, F.xp.zeros_like(input) if input.size > 256 else 0)


activation(relu, twin=True)


# ---- gelu --------------------------------------------------------------------------------------------------
SQRT_HALF, PHI0 = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)      # PHI0: the height of the normal density
K, C = math.sqrt(2 / math.pi), 0.044715                           # tanh(K (x + C x^3)) is close to erf(x / sqrt(2))


@op(promotion="floating", namespace="nn.functional",
    input=lambda F, g, input, approximate: F.gelu_backward(g, input, approximate=approximate),
    sample=lambda d: ([d.array()], dict(approximate=d.choice(["none", "tanh"]))))
def gelu(F, input, *, approximate="none"):
    """``input * Phi(input)``, Phi the distribution function of the normal distribution.

    With `approximate` "tanh": ``input / 2 * (1 + tanh(sqrt(2 / pi) (input + 0.044715 input^3)))``. Source: D.
    Hendrycks and K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
    return in_blocks(F, gelu_kernels(approximate)[0], input)


def gelu_exact(xp, out, x):
    xp.multiply(x, 0.5, out=out)
    out *= 1 + erf(xp, x * SQRT_HALF)


def gelu_tanh(xp, out, x):
    inner(xp, out, x)
    out += 1
    out *= x
    out *= 0.5


def inner(xp, out, x):
    """``tanh(K (x + C x^3))``."""
    xp.multiply(x, x, out=out)
    out *= K * C
    out += K
    out *= x
    xp.tanh(out, out=out)


def gelu_exact_backward(xp, out, g, x):
    """``g (Phi(x) + x phi(x))``."""
    xp.multiply(x, x, out=out)
    out *= -0.5
    xp.exp(out, out=out)
    out *= PHI0
    out *= x
    out += 0.5 * (1 + erf(xp, x * SQRT_HALF))
    out *= g


def gelu_tanh_backward(xp, out, g, x):
    """``g / 2 (1 + t + x (1 - t^2) K (1 + 3 C x^2))``, t the tanh of the forward pass."""
    t = xp.empty_like(out)
    inner(xp, t, x)
    xp.multiply(x, x, out=out)
    out *= 3 * K * C
    out += K
    out *= x
    out *= 1 - t
    out += 1
    t += 1
    out *= t                                               # (1 + t) (1 + x (1 - t) u')
    out *= g
    out *= 0.5


def gelu_kernels(approximate):
    kernels = {"none": (gelu_exact, gelu_exact_backward), "tanh": (gelu_tanh, gelu_tanh_backward)}
    if approximate not in kernels:
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return kernels[approximate]


@op(promotion="floating", namespace=None,
    grad=lambda F, g, input, approximate: F.gelu_backward(g, input, approximate=approximate),
    input=lambda F, g, grad, input, approximate: g * grad * gelu_curvature(F, input, approximate),
    sample=lambda d: ([d.array(s := d.shape()), d.array(s)], dict(approximate=d.choice(["none", "tanh"]))))
def gelu_backward(F, grad, input, *, approximate):
    """``grad * gelu'(input)``."""
    return in_blocks(F, gelu_kernels(approximate)[1], grad, input)


def gelu_curvature(F, x, approximate):
    """The second derivative of gelu."""
    if approximate == "none":
        return (2 - x * x) * F.exp(x * x * -0.5) * PHI0
    t = F.tanh(K * (x + C * x * x * x))
    du, rise = K * (1 + 3 * C * x * x), 1 - t * t
    return rise * (du + x * (3 * K * C * x - t * du * du))
