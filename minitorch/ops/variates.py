"""Gamma and Dirichlet numbers, which have gradients for their shapes.

The numbers are those of `minitorch.random.rejection`. How a number moves with its shape is an op of its own, in
`ops/elementwise/special.py`. PyTorch has these functions under the same private names.
"""

from ..autograd.function import Function
from ..core.grad_mode import grad_mode, open_batches
from ..core.tensor import wrap
from ..random import rejection
from .creation.random import FLOATS, check_kind, choose
from .define import composite
from .elementwise.special import _dirichlet_grad, _standard_gamma_grad


def drawn(sampler, name, input, generator):
    """A tensor of the numbers that a sampler draws on the host for the values of `input`; 16-bit ones in float32."""
    check_kind(input.array, FLOATS, name)
    gen, backend = choose(generator, input.backend, name), input.backend

    def draw(values):
        wide = values.astype("float32") if values.itemsize == 2 else values
        return sampler(gen, wide).astype(values.dtype)
    if open_batches and grad_mode.batches:
        return grad_mode.batches[-1].of_values(draw, input)
    return wrap(backend.from_host(draw(backend.to_host(input.array))), backend)


def kept(ctx, input, out):
    """The numbers drawn, kept with their parameters for derivatives."""
    ctx.save_for_backward(input, out)
    ctx.save_for_forward(input, out)
    return out


class StandardGamma(Function):
    """Gamma numbers, which move with their shapes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, input, generator):
        return kept(ctx, input, drawn(rejection.standard_gamma, "_standard_gamma()", input, generator))

    @staticmethod
    def backward(ctx, g):
        return g * _standard_gamma_grad(*ctx.saved_tensors), None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent * _standard_gamma_grad(*ctx.saved_tensors)


class SampleDirichlet(Function):
    """Dirichlet numbers: as one concentration grows its coordinate moves, and the others are scaled by the rest."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, input, generator):
        return kept(ctx, input, drawn(rejection.dirichlet, "_sample_dirichlet()", input, generator))

    @staticmethod
    def slope(ctx):
        """The numbers and their derivatives, each by its own concentration, over what is left."""
        input, out = ctx.saved_tensors
        return out, _dirichlet_grad(out, input, input.sum(-1, True).expand_as(input))

    @staticmethod
    def backward(ctx, g):
        out, slope = SampleDirichlet.slope(ctx)
        return slope * (g - (out * g).sum(-1, True)), None

    @staticmethod
    def jvp(ctx, tangent, _):
        out, slope = SampleDirichlet.slope(ctx)
        moved = slope * tangent
        return moved - out * moved.sum(-1, True)


@composite(method=False)
def _standard_gamma(input, generator=None):
    """Gamma numbers of the shapes in `input` and of scale 1, in its dtype; differentiable.

    The gradient is that of the number at its level of probability (`_standard_gamma_grad`). It has no second
    derivative.
    """
    return StandardGamma.apply(input, generator)


@composite(method=False)
def _sample_dirichlet(input, generator=None):
    """Points of the simplex along the last dimension, for the concentrations in `input`; differentiable.

    The gradient is that of `_dirichlet_grad`. It has no second derivative.
    """
    return SampleDirichlet.apply(input, generator)
