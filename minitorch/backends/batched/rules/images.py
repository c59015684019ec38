"""Rules of convolutions with weights of their own for each element of the batch.

All other ops on images follow from their dims. Here no dimension is free: both inputs are mapped
over, or there are groups already. The batch becomes more groups, as an attribute says how many
there are: many small convolutions would take several times as long.
"""

from ..array import batched, over
from ..backend import rule


def by_groups(name, below, back):
    """Enter a rule; `below` brings the second input into the shape of one with more groups, `back`
    a result into that of all elements of the batch."""
    def call(F, x, y, bias=None, **attrs):
        geometry = attrs["geometry"]
        attrs["geometry"] = geometry._replace(groups=geometry.groups * F.size)
        found = getattr(F.inner, name)(channels(over(F, x)), below(over(F, y)), **attrs)
        out = batched(F, back(found, F.size))
        return out if bias is None else out + bias.reshape((-1, *(1,) * (out.ndim - 2)))
    rule(name)(call)


def channels(v):
    """(h, N, C, ...) as (N, h C, ...)."""
    v = v.swapaxes(0, 1)
    return v.reshape((v.shape[0], v.shape[1] * v.shape[2], *v.shape[3:]))


def from_channels(y, size):
    """(N, h C, ...) as (h, N, C, ...)."""
    return y.reshape((y.shape[0], size, y.shape[1] // size, *y.shape[2:])).swapaxes(0, 1)


def outputs(v):
    """(h, O, ...) as (h O, ...)."""
    return v.reshape((v.shape[0] * v.shape[1], *v.shape[2:]))


def from_outputs(y, size):
    return y.reshape((size, y.shape[0] // size, *y.shape[1:]))


# Speed: one convolution of many groups; the reference sums over the positions of the kernel.
by_groups("convolution", outputs, from_channels)
# Speed: as for `convolution`.
by_groups("convolution_backward_input", outputs, from_channels)
# Speed: as for `convolution`; the batch is in the channels of both inputs.
by_groups("convolution_backward_weight", channels, from_outputs)
