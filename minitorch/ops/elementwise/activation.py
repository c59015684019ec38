"""Op definitions: activations, the elementwise functions between the layers of a network.

Shapes stay. Functions to which PyTorch gives an argument `inplace` are published by `activation`, which adds it.
Activations that sum over a dimension are in `nn/softmax.py`.
"""

import inspect
import math

from ...core.errors import worded
from ...core.generate import deferred
from ...core.grad_mode import grad_mode, open_batches
from ...core.inplace import inplace as inplace_twin
from ...core.op import Other
from ...core.promotion import require_floating
from ...core.recording import recorded as R
from ...core.registry import FUNCTIONS
from ...core.tensor import wrap
from ...random.generator import default_of
from ...random.sampling import uniform
from ..creation.random import draw
from ..define import composite, op, publish


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
    function.__doc__ = (doc or call.__doc__ or "") + "\n\n    With `inplace` the result is written into `input`."
    if twin:
        publish(write, name + "_", namespace="nn.functional", dims="*")
    return publish(function, name, namespace="nn.functional")


# ---- zero where a mask does not hold -----------------------------------------------------------------------
@op(dims="*", node_name="KeepBackward0", namespace=None, fusible=True, functor="keep",
    input=lambda F, g, mask: F.masked(g, mask),
    sample=lambda d: ([x := d.array(d.shape(1)), x > 0.5], {}))
def masked(F, input, mask: Other):
    """`input` where `mask` holds, 0 elsewhere, also where `input` is infinite or NaN."""
    return F.xp.where(mask, input, input.dtype.type(0))


# ---- bent lines --------------------------------------------------------------------------------------------
def require_signed(name, input):
    if input.dtype.kind == "b":
        raise RuntimeError(f"Boolean inputs not supported for {name}")


@op(dims="*", zeros="kept", promotion="any", refuses="c", kinks="zero", inplace=True, fusible=True,
    functor="relu", flat=("input",), input=lambda F, g, out: F.relu_backward(g, out))
def relu(F, input):
    """``max(input, 0)``; the gradient at 0 is 0, at NaN 1."""
    require_signed("relu", input)
    return F.xp.maximum(input, 0)


@op(dims="*", namespace=None, fusible=True, functor="keep",
    input=lambda F, g, gate: F.relu_backward(g, gate),
    sample=lambda d: ([d.array(s := d.shape()), d.integers(s, 0, 2).astype(float)], {}))
def relu_backward(F, input, gate: Other):
    """`input` where `gate`, a result of `relu`, is not 0, elsewhere 0: one comparison, which lets NaN pass."""
    return F.xp.where(gate != 0, input, input.dtype.type(0))


@op(dims="*", namespace=None, fusible=True, functor="keep_above(level)",
    input=lambda F, g, gate, level: F.threshold_backward(g, gate, level=level),
    sample=lambda d: ([d.array(s := d.shape()), d.distinct(s)], dict(level=d.choice([0, 0.01]))))
def threshold_backward(F, input, gate: Other, *, level):
    """`input` where `gate` is greater than `level` or NaN, 0 elsewhere, also where `input` is infinite or NaN."""
    return F.xp.where(gate <= level, input.dtype.type(0), input)


@op(dims="*", promotion="any", namespace=None, kinks="zero", node_name="HardtanhBackward0",
    fusible=True, flat=("input",),
    input=lambda F, g, input, min_val, max_val: F.masked(g, (input > min_val) & (input < max_val)),
    sample=lambda d: ([d.choice([d.array(lo=-0.7, hi=0.9), d.array(lo=1.1), d.array(hi=-0.9, lo=-2)])],
                      dict(min_val=-0.8, max_val=1.0)))
def hardtanh(F, input, *, min_val: float = -1.0, max_val: float = 1.0):
    """`input` clamped to [min_val, max_val]; the gradient at the ends is 0."""
    require_signed("hardtanh", input)
    if min_val > max_val:
        raise worded(ValueError(f"min_val cannot be greater than max_val: got {min_val} and {max_val}"))
    if input.dtype.kind in "iu":
        min_val, max_val = int(min_val), int(max_val)
    return F.xp.clip(input, min_val, max_val)


def relu6(input):
    """``min(max(input, 0), 6)``."""
    return hardtanh(input, 0, 6)


@op(dims="*", promotion="floating", namespace=None, kinks="zero", node_name="LeakyReluBackward0",
    fusible=True, functor="leaky_relu(negative_slope)", flat=("input",),
    input=lambda F, g, input, negative_slope: g * F.leaky_relu_derivative(input, slope=negative_slope),
    sample=lambda d: ([d.distinct()], dict(negative_slope=d.choice([0.01, 2.0, -0.5]))))
def leaky_relu(F, input, *, negative_slope: float = 0.01):
    """`input` where positive, elsewhere ``negative_slope * input``."""
    return F.xp.where(input > 0, input, input * negative_slope)


@op(dims="*", promotion="floating", namespace=None, fusible=True,
    sample=lambda d: ([d.distinct()], dict(slope=d.choice([0.1, 2.0, -0.5]))))
def leaky_relu_derivative(F, input, *, slope):
    """1 where `input` is positive, elsewhere `slope`."""
    return F.xp.where(input > 0, input.dtype.type(1), input.dtype.type(slope))


@op(dims="*", promotion="any", refuses="c", namespace="", method=False,
    node_name="ThresholdBackward0", flat=("input",),
    input=lambda F, g, input, threshold: F.threshold_backward(g, input, level=threshold),
    sample=lambda d: ([d.distinct()], dict(threshold=0.0, value=3.0)))
def threshold(F, input, *, threshold: float, value: float):
    """`input` where it is greater than `threshold`, elsewhere `value`."""
    require_signed("threshold", input)
    return F.xp.where(input <= threshold - 0, input.dtype.type(value - 0), input)     # of numbers only


@op(dims="*", name="prelu", node_name="PreluKernelBackward0", promotion="floating", namespace=None,
    autocast="lower", sample=lambda d: ([d.distinct(s := d.shape()), d.array(s)], {}),
    input=lambda F, g, input, weight: F.where(input > 0, g, g * weight),
    weight=lambda F, g, input: F.masked(g * input, F.logical_not(input > 0)))
def _prelu(F, input, weight):
    """`input` where positive, elsewhere ``weight * input``."""
    return F.xp.where(input > 0, input, weight * input)


@composite
def prelu(input, weight):
    """`input` where positive, elsewhere ``weight * input``, with one learnt weight or one per channel (dimension 1).

    Source: K. He et al., "Delving Deep into Rectifiers", 2015.
    """
    n, ndim = weight.array.size, input.array.ndim
    if weight.array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if n != 1:
        channels = input.array.shape[1] if ndim > 1 else 1
        if not ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if n != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} "
                               f"and channel size = {channels}.")
    return _prelu(input, weight.reshape((-1,) + (1,) * (ndim - 2)) if ndim > 1 else weight.reshape(()) if not ndim
                    else weight)


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False):
    """`input` where positive, elsewhere ``a * input``: in training `a` is drawn from [lower, upper), else their mean.

    The numbers are PyTorch's on the CPU for the same seed. Source: B. Xu et al., "Empirical Evaluation of Rectified
    Activations in Convolution Network", 2015.
    """
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound: got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    if open_batches and grad_mode.batches:
        return _rrelu_of_batch(input, lower, upper)
    backend, x = input.backend, input.array
    require_floating("rrelu_with_noise", x)
    noise = backend.xp.ones(x.shape, x.dtype)
    below = x <= 0
    drawn = backend.xp.empty(int(below.sum()))
    noise[below] = draw(uniform, backend, drawn, default_of(backend.device), lower, upper).astype(x.dtype)
    return input.contiguous() * wrap(noise, backend)


def _rrelu_of_batch(input, lower, upper):
    """`rrelu` within `vmap`: as many numbers are drawn as there are elements, since some are negative in some elements
    of the batch only."""
    input = grad_mode.batches[-1].roomy(input)
    backend, x = input.backend, input.array
    require_floating("rrelu_with_noise", x)
    slopes = draw(uniform, backend, backend.xp.empty(x.shape, x.dtype), default_of(backend.device), lower, upper)
    return R.where(input > 0, input, input * wrap(slopes, backend))


# ---- shrinking ---------------------------------------------------------------------------------------------
@op(dims="*", promotion="floating", namespace="nn.functional", method=True, flat=("input",),
    input=lambda F, g, input, lambd: F.masked(g, F.abs(input) > lambd),
    sample=lambda d: ([d.distinct()], dict(lambd=0.0)))
def hardshrink(F, input, *, lambd: float = 0.5):
    """`input` where ``|input| > lambd``, elsewhere 0."""
    return F.masked(input, ~(F.xp.abs(input) <= lambd))


@op(dims="*", promotion="floating", namespace="nn.functional", flat=("input",),
    input=lambda F, g, input, lambd: F.masked(g, F.abs(input) > lambd),
    sample=lambda d: ([d.choice([d.array(lo=0.6), d.array(lo=-0.4, hi=0.4), d.array(hi=-0.6)])], dict(lambd=0.5)))
def softshrink(F, input, *, lambd: float = 0.5):
    """`input` moved towards 0 by `lambd`, and 0 where that would change its sign."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - F.xp.clip(input, -lambd, lambd)


# ---- exponential tails -------------------------------------------------------------------------------------
def elu_slope(F, x, alpha, scale, input_scale):
    """``scale`` where x is positive, elsewhere ``alpha scale input_scale exp(input_scale x)``."""
    below = x <= 0
    tail = F.exp(F.masked(x, below) * input_scale) * (alpha * scale * input_scale)
    return F.where(below, tail, scale)


@op(dims="*", name="elu", promotion="floating", namespace=None, kinks="zero",
    input=lambda F, g, input, alpha, scale, input_scale: g * elu_slope(F, input, alpha, scale, input_scale),
    sample=lambda d: ([d.distinct()], dict(alpha=d.choice([1.0, 1.6]), scale=1.1, input_scale=d.choice([1.0, 0.7]))))
def _elu(F, input, *, alpha: float, scale: float, input_scale: float):
    """``scale * input`` where positive, elsewhere ``scale * alpha * (exp(input_scale * input) - 1)``."""
    xp = F.xp
    out = xp.expm1(xp.minimum(input, 0) * input_scale)
    out = out * (alpha * scale)
    out += xp.maximum(input, 0) * scale
    return out


def elu(input, alpha=1.0):
    """`input` where positive, elsewhere ``alpha * (exp(input) - 1)``. Source: D. Clevert et al., 2015."""
    return _elu(input, alpha, 1.0, 1.0)


def celu(input, alpha=1.0):
    """`input` where positive, elsewhere ``alpha * (exp(input / alpha) - 1)``. Source: J. Barron, 2017."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1 / alpha)


def selu(input):
    """`elu` with the scale and the alpha that keep mean 0 and variance 1. Source: G. Klambauer et al., 2017."""
    return _elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


@op(dims="*", promotion="floating", namespace="nn.functional",
    autocast="float32 on cuda", fusible=True, functor="softplus(beta, threshold)",
    input=lambda F, g, input, beta, threshold: F.where(
        input * beta > threshold, g, g * F.sigmoid(input * beta)),
    sample=lambda d: ([d.array(lo=-3, hi=3)], dict(beta=d.choice([1.0, 2.0]), threshold=20.0)))
def softplus(F, input, *, beta: float = 1.0, threshold: float = 20.0):
    """``log(1 + exp(beta * input)) / beta``, and just `input` where ``beta * input > threshold``."""
    xp = F.xp
    scaled = input * beta
    out = (xp.log1p(xp.exp(-xp.abs(scaled))) + xp.maximum(scaled, 0)) / beta
    return xp.where(scaled > threshold, input, out)


@op(dims="*", layout="contiguous",
    promotion="floating", namespace="nn.functional", node_name="LogSigmoidBackward0", functor="logsigmoid",
    input=lambda F, g, input: g * F.sigmoid(-input))
def logsigmoid(F, input):
    """``log(sigmoid(input))``, without overflow."""
    return F.xp.minimum(input, 0) - F.xp.log1p(F.xp.exp(-F.xp.abs(input)))


def mish_slope(F, x):
    """``w + x sigmoid(x) (1 - w^2)``, w the tanh of softplus(x)."""
    w = F.tanh(F.softplus(x, beta=1.0, threshold=20.0))
    return w + x * F.sigmoid(x) * (1 - w * w)


@op(dims="*", promotion="floating", namespace=None, functor="mish",
    input=lambda F, g, input: g * mish_slope(F, input))
def mish(F, input):
    """``input * tanh(softplus(input))``. Source: D. Misra, "Mish", 2019."""
    return input * F.xp.tanh(F.softplus(input, beta=1.0, threshold=20.0))


# ---- smooth steps ------------------------------------------------------------------------------------------
@composite(dims="*", public_name="sigmoid", namespace="nn.functional")
def functional_sigmoid(input):
    """``1 / (1 + exp(-input))``."""
    return R.sigmoid(input)


@composite(dims="*", public_name="tanh", namespace="nn.functional")
def functional_tanh(input):
    """The hyperbolic tangent."""
    return R.tanh(input)


@composite(dims="*", namespace="nn.functional")
def tanhshrink(input):
    """``input - tanh(input)``."""
    return input - R.tanh(input)


@composite(dims="*", namespace="nn.functional")
def softsign(input):
    """``input / (1 + |input|)``."""
    return input / (R.abs(input) + 1)


@op(dims="*", promotion="floating", namespace=None, node_name="HardsigmoidBackward0",
    functor="hardsigmoid", flat=("input",),
    input=lambda F, g, input: F.masked(g * (1 / 6), (input > -3) & (input < 3)),
    sample=lambda d: ([d.choice([d.array(), d.array(lo=3.1, hi=4), d.array(lo=-4, hi=-3.1)])], {}))
def hardsigmoid(F, input):
    """``min(max(input + 3, 0), 6) / 6``."""
    return F.xp.clip(input + 3, 0, 6) * (1 / 6)


@op(dims="*", promotion="floating", namespace=None, node_name="HardswishBackward0",
    functor="hardswish",
    input=lambda F, g, input: F.masked(F.where(input >= 3, g, g * (input * (1 / 3) + 0.5)), F.logical_not(input <= -3)),
    sample=lambda d: ([d.choice([d.array(), d.array(lo=3.1, hi=4), d.array(lo=-4, hi=-3.1)])], {}))
def hardswish(F, input):
    """``input * min(max(input + 3, 0), 6) / 6``. Source: A. Howard et al., "Searching for MobileNetV3", 2019."""
    out = F.xp.clip(input + 3, 0, 6)
    out *= input
    out *= 1 / 6
    return out


@composite(namespace="nn.functional")
def glu(input, dim=-1):
    """``a * sigmoid(b)``, a and b the two halves of `input` along `dim`. Source: Y. Dauphin et al., 2016."""
    if not input.array.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = input.checked_dim(dim)
    n = input.array.shape[dim]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {n}")
    lead = (slice(None),) * dim
    return input[lead + (slice(n // 2),)] * R.sigmoid(input[lead + (slice(n // 2, n),)])


# ---- silu --------------------------------------------------------------------------------------------------
@op(dims="*", promotion="any", refuses="iub", namespace=None, fusible=True, functor="silu",
    complex="holomorphic", input=lambda F, g, input: F.silu_backward(g, input))
def silu(F, input):
    """``input * sigmoid(input)``, also called swish."""
    return input / (1 + F.xp.exp(-input))


@op(dims="*", promotion="same", refuses="iub", namespace=None, fusible=True,
    functor="silu_backward", complex="holomorphic",
    sample=lambda d: ([d.array(s := d.shape()), d.array(s)], {}), grad=lambda F, g, input: F.silu_backward(g, input),
    input=lambda F, g, grad, input: g * grad * silu_curvature(F, input))
def silu_backward(F, grad, input):
    """``grad * silu'(input)``."""
    s = 1 / (1 + F.xp.exp(-input))
    return grad * s * (1 + input * (1 - s))


def silu_curvature(F, x):
    """``s' (2 + x (1 - 2 s))``, s the sigmoid and ``s' = s (1 - s)``."""
    s = F.sigmoid(x)
    return s * (1 - s) * (2 + x * (1 - 2 * s))


# ---- gelu --------------------------------------------------------------------------------------------------
SQRT_HALF, PHI0 = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)      # PHI0: the height of the normal density
K, C = math.sqrt(2 / math.pi), 0.044715                           # tanh(K (x + C x^3)) is close to erf(x / sqrt(2))

@op(dims="*", layout="inputs", promotion="floating", namespace="nn.functional", keeps=("gate",),
    input=lambda F, g, input, gate, approximate: F.gelu_backward(g, input, gate, approximate=approximate),
    sample=lambda d: ([d.array()], dict(approximate=d.choice(["none", "tanh"]))))
def gelu(F, input, *, approximate="none"):
    """``input * Phi(input)``, Phi the distribution function of the normal distribution.

    With `approximate` "tanh": ``input / 2 * (1 + tanh(sqrt(2 / pi) (input + 0.044715 input^3)))``. Source: D.
    Hendrycks and K. Gimpel, "Gaussian Error Linear Units", 2016.
    """
    gate = gate_of(F, input, approximate)
    return (1 + gate) / 2 * input, gate


def gate_of(F, x, approximate):
    """``2 Phi(x) - 1``, exactly or by tanh."""
    check_approximate(approximate)
    return F.erf(x * SQRT_HALF) if approximate == "none" else F.xp.tanh(K * (x + C * x * x * x))


def check_approximate(approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")


@op(dims="*", promotion="floating", namespace=None, fusible=True,
    grad=lambda F, g, input, gate, approximate: F.gelu_backward(g, input, gate, approximate=approximate),
    input=lambda F, g, grad, input, approximate: g * grad * gelu_curvature(F, input, approximate),
    sample=lambda d: ([d.array(s := d.shape()), d.array(s)], dict(approximate=d.choice(["none", "tanh"]))))
def gelu_backward(F, grad, input, gate: Other = None, *, approximate="none"):
    """``grad * gelu'(input)``; a kernel takes the `gate` of the forward pass where it is given."""
    x, gate = input, gate_of(F, input, approximate)
    if approximate == "none":
        return grad * ((1 + gate) / 2 + x * F.xp.exp(-x * x / 2) * PHI0)
    return grad / 2 * (1 + gate) * (1 + x * (1 - gate) * K * (1 + 3 * C * x * x))


def gelu_curvature(F, x, approximate):
    """The second derivative of gelu."""
    if approximate == "none":
        return (2 - x * x) * F.exp(x * x * -0.5) * PHI0
    t = F.tanh(K * (x + C * x * x * x))
    du, rise = K * (1 + 3 * C * x * x), 1 - t * t
    return rise * (du + x * (3 * K * C * x - t * du * du))


# ---- public, with `inplace` --------------------------------------------------------------------------------
for call in (relu, leaky_relu, elu, celu, selu, hardtanh, threshold, rrelu):
    activation(call, twin=True)
for call in (relu6, silu, mish, hardswish, hardsigmoid):
    activation(call)
publish(prelu, "prelu", namespace="nn.functional")
for call in (celu, selu, rrelu, threshold, hardshrink):    # these are in the package itself, too, without `inplace`
    publish(call, call.__name__, method=False, dims="*")
for name in ("celu_", "selu_", "rrelu_", "threshold_"):
    publish(FUNCTIONS["nn.functional", name].call, name, method=False)
