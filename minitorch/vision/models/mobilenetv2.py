"""MobileNetV2: M. Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018)."""

from ... import nn
from ..ops.misc import Conv2dNormActivation
from ._api import register_model
from ._utils import divisible, initialise_convolutions, small_normal

__all__ = ["MobileNetV2", "mobilenet_v2"]

# Factor of the width inside, width, number of blocks, stride of the first.
STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


class InvertedResidual(nn.Module):
    """A 1x1 convolution to more channels, one for each of these, and a 1x1 convolution to fewer, without activation."""

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer, hidden = norm_layer or nn.BatchNorm2d, round(inp * expand_ratio)
        self.stride, self.use_res_connect = stride, stride == 1 and inp == oup
        options = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers = [] if expand_ratio == 1 else [Conv2dNormActivation(inp, hidden, kernel_size=1, **options)]
        layers += [Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **options),
                   nn.Conv2d(hidden, oup, 1, bias=False), norm_layer(oup)]
        self.conv = nn.Sequential(*layers)
        self.out_channels, self._is_cn = oup, stride > 1

    def forward(self, x):
        """(N, inp, H, W) to (N, oup, H / stride, W / stride)."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Images (N, 3, H, W) to scores (N, num_classes).

    `width_mult` scales all widths, which are multiples of `round_nearest`; `inverted_residual_setting`: [factor of the
    width inside, width, number of blocks, stride] for each stage; `block` and `norm_layer` make the parts.
    """

    def __init__(self, num_classes=1000, width_mult=1.0, inverted_residual_setting=None, round_nearest=8, block=None,
                 norm_layer=None, dropout=0.2):
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        stages = inverted_residual_setting or STAGES
        if not stages or len(stages[0]) != 4:
            raise ValueError(f"inverted_residual_setting should be non-empty or a 4-element list, got {stages}")
        width = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        layers = [Conv2dNormActivation(3, width, stride=2, norm_layer=norm_layer, activation_layer=nn.ReLU6)]
        for factor, channels, count, stride in stages:
            channels = divisible(channels * width_mult, round_nearest)
            for i in range(count):
                layers.append(block(width, channels, stride if i == 0 else 1, expand_ratio=factor,
                                    norm_layer=norm_layer))
                width = channels
        layers.append(Conv2dNormActivation(width, self.last_channel, kernel_size=1, norm_layer=norm_layer,
                                           activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes))
        initialise_convolutions(self, small_normal)

    def forward(self, x):
        """The scores."""
        return self.classifier(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


@register_model("MobileNet_V2_Weights")
def mobilenet_v2(**options):
    """MobileNetV2."""
    return MobileNetV2(**options)
