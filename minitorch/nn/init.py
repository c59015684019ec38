"""Initial values for parameters. Same names, formulas and random numbers as ``torch.nn.init``.

Every function works in place under ``no_grad``, returns its tensor, and where it draws takes a ``generator``.
``fan_in`` and ``fan_out`` are the number of inputs and outputs that one output or input of the layer is connected to.
"""

import functools
import math

from ..autograd.grad_mode import no_grad
from ..explain.callers import warn
from ..ops.creation import create
from ..ops.creation.create import empty_like
from ..ops.creation.random import randperm
from ..ops.elementwise import compare
from ..ops.linalg.decompositions import qr

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
           "sigmoid")


def _writes(fn):
    """Run under ``no_grad``; PyTorch's functions of this module all do."""
    @functools.wraps(fn)
    def without_recording(*args, **kwargs):
        with no_grad():
            return fn(*args, **kwargs)
    return without_recording


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity asks for larger weights: 1 for linear layers and sigmoid, 5/3 for tanh,
    sqrt(2) for relu, sqrt(2 / (1 + param^2)) for leaky_relu (slope ``param``, 0.01 by default), 3/4 for selu.

    >>> from minitorch import nn
    >>> nn.init.calculate_gain("leaky_relu", 0.2) == (2 / 1.04) ** 0.5
    True
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4          # empirical
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@_writes
def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with draws from U(a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@_writes
def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with draws from N(mean, std^2)."""
    return tensor.normal_(mean, std, generator=generator)


@_writes
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill with draws from N(mean, std^2) conditioned on [a, b]; ``a`` and ``b`` bound the values themselves.

    By rejection, as PyTorch does since 2.13 (before, it inverted the distribution function, with other numbers): draws
    that are not accepted are drawn again until all are. Proposals are normal where most of them lie in [a, b], else
    uniform ones, accepted with probability density(x) / greatest density in [a, b].
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
             "The distribution of values may be incorrect.")

    if tensor.is_meta:                                     # no values, so none outside of the bounds
        return tensor

    def cdf(x):
        return (1.0 + math.erf((x - mean) / (std * math.sqrt(2.0)))) / 2.0

    if cdf(b) - cdf(a) > 0.3:
        low, high = (create.tensor(bound, dtype=tensor.dtype, device="cpu").item() for bound in (a, b))

        def propose(into):
            into.normal_(mean, std, generator=generator)
            return (into < low) | (into > high)
    else:
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

        def propose(into):
            into.uniform_(a, b, generator=generator)
            log_chance = ((into - mean) / std) ** 2 * -0.5 - peak
            return empty_like(into).uniform_(generator=generator).log_() > log_chance

    rejected = propose(tensor)
    # Every round draws for all elements, whether needed or not: that keeps to PyTorch's stream of random numbers.
    while rejected.any():
        new = empty_like(tensor)
        still = propose(new)
        tensor.copy_(compare.choose(rejected, new, tensor))
        rejected = rejected & still
    return tensor


@_writes
def constant_(tensor, val):
    """Fill with ``val``."""
    return tensor.fill_(val)


@_writes
def ones_(tensor):
    """Fill with ones."""
    return tensor.fill_(1.0)


@_writes
def zeros_(tensor):
    """Fill with zeros."""
    return tensor.zero_()


@_writes
def eye_(tensor):
    """Make a 2-D tensor the identity matrix: ones on the diagonal, zeros elsewhere."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(create.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@_writes
def dirac_(tensor, groups=1):
    """Make a 3-, 4- or 5-D convolution weight pass its input through: channel i of each group to output i.

    ValueError for another number of dimensions, or if ``groups`` does not divide dimension 0.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.zero_()
    per_group = tensor.size(0) // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for i in range(min(per_group, tensor.size(1))):
            place = (group * per_group + i, i, *centre)
            tensor[place] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    """``(fan_in, fan_out)`` of a weight (out, in, *kernel)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    kernel = math.prod(tensor.shape[2:])
    return tensor.size(1) * kernel, tensor.size(0) * kernel


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


@_writes
def xavier_uniform_(tensor, gain=1.0, generator=None):
    """U(-a, a) with a = gain * sqrt(6 / (fan_in + fan_out)): Glorot & Bengio 2010."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return tensor.uniform_(-bound, bound, generator=generator)


@_writes
def xavier_normal_(tensor, gain=1.0, generator=None):
    """N(0, std^2) with std = gain * sqrt(2 / (fan_in + fan_out)): Glorot & Bengio 2010."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    """gain / sqrt(fan), or None, with a warning, for a tensor without elements."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@_writes
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """U(-b, b) with b = gain * sqrt(3 / fan): He et al. 2015. ``a`` is the slope of a leaky_relu.

    ``mode="fan_in"`` keeps the scale of activations, ``"fan_out"`` that of gradients.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@_writes
def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """N(0, std^2) with std = gain / sqrt(fan): He et al. 2015. Arguments as in ``kaiming_uniform_``."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


@_writes
def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix times ``gain``: Saxe et al. 2013. All dimensions but the first count as one.

    The Q of a random normal matrix, its columns' signs fixed by the diagonal of R so that the result is uniform.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, cols = tensor.size(0), tensor.numel() // tensor.size(0)
    flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    q, r = qr(flat.t() if rows < cols else flat)
    q *= r.diagonal().sign()
    q = q.t() if rows < cols else q
    return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


@_writes
def sparse_(tensor, sparsity, std=0.01, generator=None):
    """N(0, std^2) in a 2-D tensor, with a share ``sparsity`` of each column set to zero: Martens 2010."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for col in range(cols):
        # The order of rows comes from the default generator, as in PyTorch.
        tensor[randperm(rows)[:zeros], col] = 0
    return tensor


def _deprecated(fn):
    old = fn.__name__[:-1]

    @functools.wraps(fn)
    def renamed(*args, **kwargs):
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{fn.__name__}`.", FutureWarning)
        return fn(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"The old name of ``{fn.__name__}``."
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)


# Names of PyTorch's helpers, which libraries call.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
