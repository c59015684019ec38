"""Op definitions: dropout. Random elements are set to zero in training, the others scaled so that the mean stays.

The masks are PyTorch's on the CPU for the same seed: Bernoulli numbers of the default generator. On CUDA devices they
are Philox's, and not stored.
"""

import math

from ...core.grad_mode import grad_mode, open_batches
from ...core.inplace import overwrite
from ...core.promotion import require_tensors
from ...core.recording import recorded as R
from ...core.tensor import wrap
from ...explain.callers import warn
from ...random.generator import default_of
from ...random.philox import PhiloxGenerator, Place, words
from ...random.sampling import bernoulli
from ..creation.random import draw
from ..define import composite, op
from ..layouts import empty_like

SATURATION = 1.7580993408473766                            # minus the lowest value of selu: its alpha times its scale


def drop(input, p, training, inplace, whole_channels=False, alpha=False):
    """All kinds of dropout. PyTorch's order of steps, so that results agree to the last bit."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or not p or not input.array.size:
        return input
    if open_batches and grad_mode.batches and p < 1:
        input = grad_mode.batches[-1].roomy(input)
    p = float(p)                                           # a NumPy float64 would make the mask float64
    shape, generator = input.array.shape, default_of(input.backend.device)
    if whole_channels:
        if len(shape) < 2:
            raise RuntimeError(f"Feature dropout requires at least 2 dimensions in the input, got {len(shape)}")
        shape = shape[:2] + (1,) * (len(shape) - 2)
    if p == 1:
        out = input * 0.0
    elif not alpha and shape == input.array.shape and isinstance(generator, PhiloxGenerator):
        out = _dropout(input, generator.take(), p)
    elif alpha:
        noise = wrap(noise_for(input, 1 - p, shape), input.backend)
        a = 1 / math.sqrt((SATURATION * SATURATION * p + 1) * (1 - p))
        shift = (noise - 1) * (SATURATION * a) + SATURATION * a * p
        out = input * (noise * a) + shift
    else:
        noise = noise_for(input, 1 - p, shape)
        noise /= 1 - p
        out = R.mul(input, wrap(noise, input.backend))
    return overwrite(input, out, "dropout_") if inplace else out


@op(name="dropout", promotion="any", refuses="c", namespace=None, node_name="NativeDropoutBackward0",
    input=lambda F, g, place, p: F.dropout(g, place=place, p=p),
    sample=lambda d: ([d.array((2, 9))], dict(place=Place(d.int(0, 1 << 40), 4 * d.int(0, 99)), p=0.3)))
def _dropout(F, input, *, place, p):
    """`input` with the elements 0 whose word of the draw at `place` is below ``2**32 p``, the others over ``1 - p``.

    For generators that compute any of their numbers at once (`random.philox`): the backward pass draws the same mask
    again, so that none is stored.
    """
    kept = words(place.seed, place.offset, input.size) >= round(p * 2**32)
    noise = F.from_host((kept * (1 / (1 - p))).reshape(input.shape))
    return input * noise.astype(input.dtype)


def noise_for(input, p, shape):
    """A raw array of `shape` for `input`: 1 with probability `p`, else 0."""
    xp, array = input.backend.xp, input.array
    noise = empty_like(xp, array) if shape == array.shape else xp.empty(shape, array.dtype)
    return draw(bernoulli, input.backend, noise, default_of(input.backend.device), p)


@composite(namespace="nn.functional")
def dropout(input, p=0.5, training=True, inplace=False):
    """In training, each element is 0 with probability `p` and the others are divided by ``1 - p``.

    Source: G. Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012.
    """
    return drop(input, p, training, inplace)


@composite(namespace="nn.functional")
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout for `selu`: dropped elements take its lowest value, then all are scaled and shifted to keep mean and
    variance. Source: G. Klambauer et al., "Self-Normalizing Neural Networks", 2017."""
    require_tensors(input)
    return drop(input, p, training, inplace, alpha=True)


@composite(namespace="nn.functional")
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels of (N, C, *)."""
    require_tensors(input)
    return drop(input, p, training, inplace, whole_channels=True, alpha=True)


@composite(namespace="nn.functional")
def dropout1d(input, p=0.5, training=True, inplace=False):
    """In training, whole channels of (N, C, L) or (C, L) are 0 with probability `p`, the others scaled."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input")
    return drop_channels(input, p, training, inplace, 3)


@composite(namespace="nn.functional")
def dropout2d(input, p=0.5, training=True, inplace=False):
    """In training, whole channels of (N, C, H, W) are 0 with probability `p`, the others divided by ``1 - p``.

    A 3-D input is taken as (N, C, L), with a warning; PyTorch announces that it will be (C, H, W).
    """
    if input.ndim not in (3, 4):
        warn(f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result "
             f"in an error in a future release. To retain the behavior and silence this warning, please use "
             f"dropout instead.")
    if input.ndim == 3:
        warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
             "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. Please use "
             "dropout1d instead.")
    return drop(input, p, training, inplace, whole_channels=True)


@composite(namespace="nn.functional")
def dropout3d(input, p=0.5, training=True, inplace=False):
    """In training, whole channels of (N, C, D, H, W) or (C, D, H, W) are 0 with probability `p`, the others scaled."""
    if input.ndim not in (4, 5):
        warn(f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result "
             f"in an error in a future release. To retain the behavior and silence this warning, please use "
             f"dropout instead.")
    return drop_channels(input, p, training, inplace, 5)


def drop_channels(input, p, training, inplace, batched_dims):
    """Channel-wise dropout of a batch, or of one sample without the batch dimension."""
    if input.ndim == batched_dims:
        return drop(input, p, training, inplace, whole_channels=True)
    out = drop(input.unsqueeze(0), p, training, False, whole_channels=True).squeeze(0)
    return overwrite(input, out, "dropout_") if inplace else out
