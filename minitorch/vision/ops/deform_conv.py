"""Convolution whose kernels reach where offsets say: J. Dai et al., "Deformable Convolutional Networks" (2017)."""

import math

from ... import arange, einsum, empty, nn, stack
from ...nn import Parameter
from ...nn.functional import grid_sample
from ...nn.modules.utils import _pair

__all__ = ["DeformConv2d", "deform_conv2d"]


def deform_conv2d(input, offset, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), mask=None):
    """Convolve images (N, C, H, W), read between pixels, with `weight` (O, C / groups, kh, kw).

    `offset` (N, 2 * offset groups * kh * kw, OH, OW) has a shift (y, x) for each point of the kernel and each place of
    the result; `mask` (N, offset groups * kh * kw, OH, OW) factors, or None. RuntimeError for sizes that do not go
    together.
    """
    (sh, sw), (ph, pw), (dh, dw) = _pair(stride), _pair(padding), _pair(dilation)
    (n, c, h, w), (o, inside, kh, kw) = input.shape, weight.shape
    oh, ow = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    points, parts = kh * kw, offset.shape[1] // (2 * kh * kw)
    if parts == 0 or offset.shape != (n, 2 * parts * points, oh, ow):
        raise RuntimeError(f"offset.shape[1] is not valid: got shape {tuple(offset.shape)}, expected ({n}, 2 * groups "
                           f"* {points}, {oh}, {ow})")
    if mask is not None and mask.shape != (n, parts * points, oh, ow):
        raise RuntimeError(f"mask.shape[1] is not valid: got: {mask.shape[1]} expected: {parts * points}")
    shifts = offset.reshape(n, parts, kh, kw, 2, oh, ow)
    options = {"device": input.device, "dtype": input.dtype}
    rows = (arange(oh, **options) * sh - ph)[:, None] + (arange(kh, **options) * dh)[:, None, None, None]
    columns = arange(ow, **options) * sw - pw + (arange(kw, **options) * dw)[:, None, None]
    y, x = shifts[:, :, :, :, 0] + rows, shifts[:, :, :, :, 1] + columns
    grid = stack(((2 * x + 1) / w, (2 * y + 1) / h), -1) - 1                # the centres of pixels
    sampled = grid_sample(input.reshape(n * parts, c // parts, h, w), grid.reshape(n * parts, points * oh, ow, 2),
                          align_corners=False).reshape(n, parts, c // parts, points, oh, ow)
    if mask is not None:
        sampled = sampled * mask.reshape(n, parts, 1, points, oh, ow)
    groups = c // inside
    sampled = sampled.reshape(n, groups, inside, points, oh, ow)
    out = einsum("ngipyx,goip->ngoyx", sampled, weight.reshape(groups, o // groups, inside, points))
    out = out.reshape(n, o, oh, ow)
    return out if bias is None else out + bias.reshape(1, -1, 1, 1)


class DeformConv2d(nn.Module):
    """`deform_conv2d` with its weight and bias."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.weight = Parameter(empty(out_channels, in_channels // groups, *self.kernel_size))
        self.register_parameter("bias", Parameter(empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weights as a convolution does."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input, offset, mask=None):
        """The convolved images."""
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)
