"""The op table, dropout: values set to zero at random in training, the rest scaled so that the mean stays.

The masks are PyTorch's on the CPU for the same seed: Bernoulli numbers of the default generator.
"""

from ..generator import default_generator
from ..inplace import overwrite
from ..op import composite
from ..sampling import bernoulli
from ..tensor import wrap
from .random import draw


def check_p(p):
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def noise_like(input, p, shape=None):
    """1 with probability `p`, else 0, in the dtype of `input`: as a raw array of its shape, or of `shape`."""
    xp = input.backend.xp
    array = xp.empty_like(input.array) if shape is None else xp.empty(shape, input.array.dtype)
    return draw(bernoulli, input.backend, array, default_generator, p)


def scaled_noise(input, p, shape=None):
    """0 with probability `p`, else ``1 / (1 - p)``."""
    if p == 1:
        return wrap(input.backend.xp.zeros(shape or input.array.shape, input.array.dtype), input.backend)
    noise = noise_like(input, 1 - p, shape)
    noise /= 1 - p
    return wrap(noise, input.backend)


@composite(namespace="nn.functional")
def dropout(input, p=0.5, training=True, inplace=False):
    """In training, each element is 0 with probability `p` and the others are divided by ``1 - p``.

    Source: G. Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012.
    """
    check_p(p)
    if not training or not p or not input.array.size:
        return input
    out = input * scaled_noise(input, p)
    return overwrite(input, out, "dropout_") if inplace else out
