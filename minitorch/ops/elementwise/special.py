"""Op definitions: special functions (error, gamma and Bessel functions), and the names of `minitorch.special`.

Functions that NumPy lacks are computed by the series in `erf.py`, `gamma.py` and `bessel.py`, in float64 (erf: in the
input's own dtype), and rounded once. Integers become the default float first.
"""

import math

from ...core.inplace import inplace
from ...core.op import Number
from ...core.registry import FUNCTIONS
from ..define import Public, composite, method, op
from . import bessel, gamma, levels
from . import erf as error_function
from .pointwise import INNER, POSITIVE, UNIT
from .series import in_double

ROOT_PI, ROOT_2, LN_PI = math.sqrt(math.pi), math.sqrt(2), math.log(math.pi)


def no_derivative(what):
    """The derivative formula of a derivative that is not implemented, nor is it in PyTorch."""
    def rule(F, g):
        raise NotImplementedError(f"the derivative for '{what}' is not implemented.")
    rule.missing = True
    return rule


def square(x):
    return x * x


# ---- the error function ------------------------------------------------------------------------------------
@op(dims="*", zeros="kept", layout="inputs", promotion="float", inplace=True, functor="erf_of",
    input=lambda F, g, input: g * F.exp(-input * input) * (2 / ROOT_PI))
def erf(F, input):
    """The error function, ``2 / sqrt(pi) * integral of exp(-t^2) from 0 to input``."""
    return error_function.erf(F.xp, input)


@op(dims="*", layout="inputs", promotion="float", inplace=True, functor="erfc_of",
    input=lambda F, g, input: g * F.exp(-input * input) * (-2 / ROOT_PI))
def erfc(F, input):
    """``1 - erf(input)``, without cancellation."""
    return in_double(F, error_function.erfc, input)


@op(dims="*", layout="inputs",
    promotion="float", refuses="c", namespace="special", node_name="SpecialErfcxBackward0",
    input=lambda F, g, input, out: g * (2 * input * out - 2 / ROOT_PI))
def erfcx(F, input):
    """``exp(input^2) * erfc(input)``, which does not underflow."""
    return in_double(F, error_function.erfcx, input)


@op(dims="*", zeros="kept", layout="inputs", promotion="float", refuses="c", inplace=True,
    autocast="float32 on cuda",
    domain={"input": UNIT}, input=lambda F, g, input: g * F.exp(square(F.erfinv(input))) * (ROOT_PI / 2))
def erfinv(F, input):
    """The number whose error function is `input`; infinite at -1 and 1, NaN outside."""
    return in_double(F, error_function.erfinv, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    input=lambda F, g, input: g * F.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi)))
def ndtr(F, input):
    """The normal distribution's function: the area under its density up to `input`."""
    return in_double(F, error_function.ndtr, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    node_name="SpecialNdtriBackward0",
    domain={"input": INNER}, input=lambda F, g, out: g * F.exp(out * out * 0.5) * math.sqrt(2 * math.pi))
def ndtri(F, input):
    """The normal distribution's quantile: the number whose `ndtr` is `input`; NaN outside [0, 1]."""
    return in_double(F, error_function.ndtri, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    node_name="SpecialLogNdtrBackward0",
    input=lambda F, g, input: g / F.erfcx(input * (-1 / ROOT_2)) * math.sqrt(2 / math.pi))
def log_ndtr(F, input):
    """The logarithm of `ndtr`, which does not underflow."""
    return in_double(F, error_function.log_ndtr, input)


@op(dims="*", promotion="float", refuses="c", namespace="special", node_name="SpecialEntrBackward0",
    domain={"input": POSITIVE}, input=lambda F, g, input: g * (-1 - F.log(input)))
def entr(F, input):
    """``-input * log(input)``, the entropy's summand: 0 at 0, minus infinity below."""
    xp = F.xp
    return xp.where(input > 0, -input * xp.log(input), xp.where(input == 0, 0, xp.where(input < 0, -xp.inf, input)))


# ---- the gamma function ------------------------------------------------------------------------------------
@op(dims="*", layout="inputs",
    promotion="float", inplace=True, domain={"input": POSITIVE}, input=lambda F, g, input: g * F.digamma(input))
def lgamma(F, input):
    """The logarithm of the absolute value of the gamma function."""
    return in_double(F, gamma.lgamma, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", inplace=True,
    domain={"input": POSITIVE}, input=lambda F, g, input: g * F.polygamma(input, n=1))
def digamma(F, input):
    """The derivative of `lgamma`."""
    return in_double(F, gamma.digamma, input)


@op(dims="*", layout="inputs", name="polygamma", promotion="float", namespace=None,
    sample=lambda d: ([d.array(None, *POSITIVE)], dict(n=d.int(0, 4))),
    input=lambda F, g, input, n: g * F.polygamma(input, n=n + 1))
def _polygamma(F, input, *, n):
    """The n-th derivative of `digamma`."""
    return in_double(F, lambda xp, x: gamma.polygamma(xp, x, n), input)


@composite(dims="*", method=False, out=True)
def polygamma(n, input):
    """The `n`-th derivative of `digamma` at `input`: ``(-1)^(n+1) n! zeta(n + 1, input)``."""
    if n.__index__() < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got n = {n}.")
    return _polygamma(input, n)


@method(name="polygamma")
def polygamma_method(self, n):
    """The `n`-th derivative of `digamma` at this tensor."""
    return polygamma(n, self)


method(inplace("polygamma", polygamma_method), name="polygamma_")


@composite(dims="*", inplace=True, out=True)
def mvlgamma(input, p):
    """The logarithm of the multivariate gamma function of dimension `p`.

    ``p (p - 1) / 4 log(pi) + sum over j < p of lgamma(input - j / 2)``.
    """
    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, got {p}")
    total = sum((lgamma(input - j / 2) for j in range(1, p)), lgamma(input))
    return total + p * (p - 1) / 4 * LN_PI


def order_and_place(d):
    shape = d.shape()
    return [d.array(shape, 1.5, 4.0), d.array(shape, 0.3, 5.0)], {}


@op(dims="*", layout="inputs", promotion="common", refuses="iubc", inplace=True,
    sample=order_and_place, input=no_derivative("igamma: input"),
    other=lambda F, g, input, other: g * gamma_density(F, input, other))
def igamma(F, input, other):
    """The regularized lower incomplete gamma function P(input, other).

    ``1 / Gamma(a) * integral of t^(a-1) exp(-t) from 0 to x`` for a = `input`, x = `other`; differentiable in `other`.
    """
    return in_double(F, gamma.igamma, input, other)


@op(dims="*", layout="inputs", promotion="common", refuses="iubc", inplace=True,
    sample=order_and_place, input=no_derivative("igammac: input"),
    other=lambda F, g, input, other: -g * gamma_density(F, input, other))
def igammac(F, input, other):
    """The regularized upper incomplete gamma function: ``1 - igamma(input, other)``, without cancellation."""
    return in_double(F, gamma.igammac, input, other)


def gamma_density(F, a, x):
    """``x^(a-1) exp(-x) / Gamma(a)``."""
    return F.exp((a - 1) * F.log(x) - x - F.lgamma(a))


@op(dims="*", layout="inputs", promotion="common", refuses="iubc", method=False,
    sample=lambda d: ([d.array((3, 2), 0.2, 9.0), d.array((3, 2), 0.1, 9.0)], {}),
    input=no_derivative("_standard_gamma_grad: self"), output=no_derivative("_standard_gamma_grad: output"))
def _standard_gamma_grad(F, input, output):
    """The derivative by its shape `input` of a gamma number `output`, which stays at its level of probability.

    Exact to rounding. Source: M. Figurnov et al., "Implicit reparameterization gradients", 2018.
    """
    return in_double(F, levels.gamma_slope, input, output)


@op(dims="*", layout="inputs", promotion="common", refuses="iubc", method=False,
    sample=lambda d: ([d.array((3, 2), 0.1, 0.9), d.array((3, 2), 0.2, 4.0), d.array((3, 2), 4.1, 9.0)], {}),
    x=no_derivative("_dirichlet_grad: x"), alpha=no_derivative("_dirichlet_grad: alpha"),
    total=no_derivative("_dirichlet_grad: total"))
def _dirichlet_grad(F, x, alpha, total):
    """The derivative by its concentration `alpha` of a Dirichlet number's coordinate `x`, over ``1 - x``.

    `total` is the sum of all concentrations. The other coordinates y move by ``-y`` times this.
    Source: M. Jankowiak and F. Obermeyer, "Pathwise derivatives beyond the reparameterization trick", 2018.
    """
    return in_double(F, levels.beta_slope, x, alpha, total)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    node_name="SpecialZetaBackward0", sample=order_and_place,
    input=no_derivative("zeta"),
    other=lambda F, g, input, other: -g * input * F.zeta(input + 1, other))
def zeta(F, input: Number, other: Number):
    """Hurwitz's zeta function, ``sum over k >= 0 of (other + k)^-input``; differentiable in `other`."""
    return in_double(F, gamma.zeta, input, other)


# ---- Bessel functions --------------------------------------------------------------------------------------
@op(dims="*", layout="inputs", promotion="float", refuses="c", inplace=True,
    input=lambda F, g, input: g * F.i1(input))
def i0(F, input):
    """The modified Bessel function of the first kind of order 0."""
    return in_double(F, bessel.i0, input)


@op(dims="*", layout="inputs",
    promotion="float", refuses="c", namespace="special", node_name="SpecialI0EBackward0",
    input=lambda F, g, input, out: g * (F.i1e(input) - F.sign(input) * out))
def i0e(F, input):
    """``exp(-|input|) * i0(input)``, which does not overflow."""
    return in_double(F, bessel.i0e, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    node_name="SpecialI1Backward0",
    input=lambda F, g, input, out: g * (F.i0(input) - by_input(F, out, input)))
def i1(F, input):
    """The modified Bessel function of the first kind of order 1."""
    return in_double(F, bessel.i1, input)


@op(dims="*", layout="inputs", promotion="float", refuses="c", namespace="special",
    node_name="SpecialI1EBackward0",
    input=lambda F, g, input, out: g * (F.i0e(input) - F.sign(input) * out - by_input(F, out, input)))
def i1e(F, input):
    """``exp(-|input|) * i1(input)``, which does not overflow."""
    return in_double(F, bessel.i1e, input)


def by_input(F, out, input):
    """``i1(x) / x`` or ``i1e(x) / x``, which is 1/2 at 0."""
    return F.where(input == 0, 0.5, out / F.where(input == 0, 1.0, input))


# ---- the names of torch.special ----------------------------------------------------------------------------
# Functions that the package has under another name, and under the same name.
RENAMED = {"expit": "sigmoid", "psi": "digamma", "gammaln": "lgamma", "gammainc": "igamma", "gammaincc": "igammac",
           "multigammaln": "mvlgamma"}
SHARED = ("digamma erf erfc erfinv exp2 expm1 i0 log1p log_softmax logit logsumexp polygamma round sinc softmax "
          "xlogy").split()


def publish_special():
    """Enter in the registry what `minitorch.special` shares with the package; called once all definitions are there."""
    for name, original in [*RENAMED.items(), *((name, name) for name in SHARED)]:
        FUNCTIONS["special", name] = Public(FUNCTIONS["", original].call, name, "special", False, False)
