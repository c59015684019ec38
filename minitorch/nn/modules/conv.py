"""Convolutions and transposed convolutions over 1, 2 and 3 spatial dimensions, and their lazy variants.

Inputs are (N, C_in, *spatial) or (C_in, *spatial). Sizes (``kernel_size``, ``stride``, ...) are one int for all
spatial dimensions, or a tuple.
"""

import math

from ...ops.creation.create import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyVariant
from .module import Module
from .utils import reverse_repeat, same_for

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base of all convolutions: arguments, checks, initial values, repr."""

    spatial_dims: int

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding,
                 groups, bias, padding_mode, device=None, dtype=None) -> None:
        super().__init__()
        self._check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    @staticmethod
    def _check(in_channels, out_channels, stride, padding, groups, padding_mode):
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode={padding_mode!r}")

    def _padding_for_pad(self):
        """The padding in ``F.pad``'s order, for the modes that pad before they convolve."""
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            # An odd total puts the extra element at the end.
            return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
        return reverse_repeat(self.padding, 2)

    def reset_parameters(self) -> None:
        """Draw the parameters again: uniform in ``+-1/sqrt(C_in / groups * kernel elements)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, default in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (default,) * n:
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """The forward convolutions."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        spread = same_for[self.spatial_dims]
        super().__init__(in_channels, out_channels, spread(kernel_size), spread(stride),
                         padding if isinstance(padding, str) else spread(padding), spread(dilation), False, spread(0),
                         groups, bias, padding_mode, device, dtype)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self._conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Cross-correlation over (N, C_in, L).

    ``L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1)``; ``padding`` may be "same"
    (stride 1) or "valid". ``weight`` is (C_out, C_in / groups, kernel_size), ``bias`` (C_out,) or None.
    """

    spatial_dims = 1

    def _conv(self, *args):
        return F.conv1d(*args)


class Conv2d(_Conv):
    """Cross-correlation over (N, C_in, H, W); sizes as in ``Conv1d``, for each spatial dimension.

    >>> import minitorch
    >>> from minitorch import nn
    >>> nn.Conv2d(1, 8, 3, padding=1)
    Conv2d(1, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    >>> nn.Conv2d(1, 8, 5, stride=2)(minitorch.zeros(4, 1, 28, 28)).shape
    torch.Size([4, 8, 12, 12])
    """

    spatial_dims = 2

    def _conv(self, *args):
        return F.conv2d(*args)


class Conv3d(_Conv):
    """Cross-correlation over (N, C_in, D, H, W); sizes as in ``Conv1d``, for each spatial dimension."""

    spatial_dims = 3

    def _conv(self, *args):
        return F.conv3d(*args)


class _ConvTransposeNd(_ConvNd):
    """The transposed convolutions: the gradient of a convolution with respect to its input, as a layer.

    Each size is ``(in - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``; ``forward`` takes
    an ``output_size`` to choose among those that a stride leaves open. ``weight`` is
    (C_in, C_out / groups, *kernel_size).
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0,
                 groups: int = 1, bias: bool = True, dilation=1, padding_mode: str = "zeros", device=None,
                 dtype=None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        spread = same_for[self.spatial_dims]
        super().__init__(in_channels, out_channels, spread(kernel_size), spread(stride), spread(padding),
                         spread(dilation), True, spread(output_padding), groups, bias, padding_mode, device, dtype)

    def forward(self, input, output_size=None):
        return self._conv(input, self.weight, self.bias, self.stride, self.padding,
                          self._output_padding(input, output_size), self.groups, self.dilation)

    def _output_padding(self, input, output_size):
        """The ``output_padding`` that gives ``output_size``; ValueError if no value smaller than the stride does."""
        if output_size is None:
            return self.output_padding
        n = self.spatial_dims
        leading = input.dim() - n
        if len(output_size) == input.dim():
            output_size = output_size[leading:]
        if len(output_size) != n:
            raise ValueError(f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                             f"{input.dim()} elements (got {len(output_size)})")
        smallest = [(input.size(d + leading) - 1) * self.stride[d] - 2 * self.padding[d]
                    + self.dilation[d] * (self.kernel_size[d] - 1) + 1 for d in range(n)]
        largest = [size + stride - 1 for size, stride in zip(smallest, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(smallest, output_size, largest)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {smallest} to "
                             f"{largest} (for an input of {list(input.size()[leading:])})")
        return [size - low for size, low in zip(output_size, smallest)]


class ConvTranspose1d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    spatial_dims = 1

    def _conv(self, *args):
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    spatial_dims = 2

    def _conv(self, *args):
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    spatial_dims = 3

    def _conv(self, *args):
        return F.conv_transpose3d(*args)


class _LazyConvXdMixin(LazyVariant):
    """Takes ``in_channels`` from the first input."""

    spatial_dims: int
    groups: int
    transposed: bool
    kernel_size: tuple[int, ...]

    def _make_lazy(self, out_channels, bias, device, dtype):
        """After a constructor call with no channels: forget the weights until the number is known."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters again, if they are known already."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs) -> None:
        """Set the shapes from ``input``."""
        n = self.spatial_dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if not self.has_uninitialized_params():
            return                              # loaded from a file
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        self.weight.materialize((first, second, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(self, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1,
                 bias: bool = True, dilation=1, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._make_lazy(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """``Conv1d`` that takes ``in_channels`` from its first input."""


class LazyConv2d(_LazyConv, Conv2d):
    """``Conv2d`` that takes ``in_channels`` from its first input."""


class LazyConv3d(_LazyConv, Conv3d):
    """``Conv3d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """``ConvTranspose1d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """``ConvTranspose2d`` that takes ``in_channels`` from its first input."""


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """``ConvTranspose3d`` that takes ``in_channels`` from its first input."""
