"""Layers that several models of images are made of, under torchvision's names."""

from ... import Tensor, nn, ones, zeros

__all__ = ["MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation"]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose statistics and factors are buffers: (N, C, H, W) to the same shape.

    ``(x - running_mean) / sqrt(running_var + eps) * weight + bias``, computed as one factor and one summand.
    """

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        for name, make in (("weight", ones), ("bias", zeros), ("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, make(num_features))

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x):
        """The normalised images."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def __repr__(self):
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalisation and an activation; the dimension says which convolution."""

    convolution: type

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1, norm_layer=None,
                 activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):
        if padding is None:
            padding = same_padding(kernel_size, dilation)
        bias = norm_layer is None if bias is None else bias
        layers = [self.convolution(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation,
                                   groups=groups, bias=bias)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


def same_padding(kernel_size, dilation):
    """The zeros on each side that leave sizes as they are at stride 1."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    n = len(kernel_size) if not isinstance(kernel_size, int) else len(dilation)
    kernels = (kernel_size,) * n if isinstance(kernel_size, int) else kernel_size
    dilations = (dilation,) * n if isinstance(dilation, int) else dilation
    return tuple([(k - 1) // 2 * d for k, d in zip(kernels, dilations)])


class Conv2dNormActivation(ConvNormActivation):
    """A convolution of images with `norm_layer` and `activation_layer` behind it, each None for none.

    `padding` None keeps sizes at stride 1; `bias` None has one if there is no norm; `inplace` is the activation's.
    """

    convolution = nn.Conv2d

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, activation_layer,
                         dilation, inplace, bias)


class Conv3dNormActivation(ConvNormActivation):
    """`Conv2dNormActivation` for volumes."""

    convolution = nn.Conv3d

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm3d, activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, activation_layer,
                         dilation, inplace, bias)


class SqueezeExcitation(nn.Module):
    """Channels scaled by factors that depend on the means of all: J. Hu, L. Shen and G. Sun, "Squeeze-and-Excitation
    Networks" (2018). (N, C, H, W) to the same shape; `squeeze_channels` in between."""

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation, self.scale_activation = activation(), scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        """The scaled images."""
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input))))) * input


class MLP(nn.Sequential):
    """Linear layers of the widths `hidden_channels`, with `norm_layer` (or None), activation and dropout after each but
    the last, which has dropout alone."""

    def __init__(self, in_channels, hidden_channels, norm_layer=None, activation_layer=nn.ReLU, inplace=None, bias=True,
                 dropout=0.0):
        params = {} if inplace is None else {"inplace": inplace}
        layers = []
        for width in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(width))
            layers += [activation_layer(**params), nn.Dropout(dropout, **params)]
            in_channels = width
        layers += [nn.Linear(in_channels, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **params)]
        super().__init__(*layers)


class Permute(nn.Module):
    """``x.permute(dims)`` as a layer."""

    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        """The view with its dimensions in the order `dims`."""
        return x.permute(self.dims)
