"""Shuffling: channels traded for pixels, and channels interleaved, by reshaping and transposing; no op definitions."""

from ..define import composite
from ..layouts import suggested_format
from ..shapes.shape import copy_contiguous, in_format


def both(function):
    """Publish in the package and in `nn.functional`."""
    composite(function, method=False)
    return composite(function, namespace="nn.functional")


@both
def pixel_shuffle(input, upscale_factor):
    """(*, C r^2, H, W) as (*, C, H r, W r), r the `upscale_factor`: the sub-pixel convolution of Shi et al. (2016)."""
    r = upscale_factor
    check_image("pixel_shuffle", input, "upscale_factor", r)
    *lead, channels, h, w = input.shape
    if channels % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    split = input.reshape(*lead, channels // (r * r), r, r, h, w)
    n = len(lead)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return laid_out(split.permute(order), (*lead, channels // (r * r), h * r, w * r), input)


@both
def pixel_unshuffle(input, downscale_factor):
    """(*, C, H r, W r) as (*, C r^2, H, W), r the `downscale_factor`: the inverse of `pixel_shuffle`."""
    r = downscale_factor
    check_image("pixel_unshuffle", input, "downscale_factor", r)
    *lead, channels, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but {h} x "
                           f"{w} is not divisible by {r}")
    split = input.reshape(*lead, channels, h // r, r, w // r, r)
    n = len(lead)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return laid_out(split.permute(order), (*lead, channels * r * r, h // r, w // r), input)


@both
def channel_shuffle(input, groups):
    """(N, C, *) with the channels of `groups` groups interleaved: (g, C / g) is read as (C / g, g)."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    n, channels, *rest = input.shape
    if groups.__index__() < 1 or channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
                           "groups.")
    split = input.reshape(n, groups, channels // groups, *rest)
    return laid_out(split.transpose(1, 2), input.shape, input)


def laid_out(elements, shape, input):
    """A copy of the elements in another shape; with the channels last if those of the input are."""
    out, memory_format = copy_contiguous(elements).reshape(shape), suggested_format(input.array)
    return in_format(out, memory_format) if out.ndim in (4, 5) else out


def check_image(name, input, what, factor):
    if input.ndim < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} "
                           f"dimension(s)")
    if factor.__index__() < 1:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")
