"""MobileNetV3: A. Howard et al., "Searching for MobileNetV3" (2019)."""

from functools import partial

from ... import nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._api import register_model
from ._utils import divisible, initialise_convolutions, small_normal

__all__ = ["MobileNetV3", "mobilenet_v3_large", "mobilenet_v3_small"]

# Input, kernel, width inside, output, squeeze-and-excitation, activation, stride.
LARGE = [(16, 3, 16, 16, False, "RE", 1), (16, 3, 64, 24, False, "RE", 2), (24, 3, 72, 24, False, "RE", 1),
         (24, 5, 72, 40, True, "RE", 2), (40, 5, 120, 40, True, "RE", 1), (40, 5, 120, 40, True, "RE", 1),
         (40, 3, 240, 80, False, "HS", 2), (80, 3, 200, 80, False, "HS", 1), (80, 3, 184, 80, False, "HS", 1),
         (80, 3, 184, 80, False, "HS", 1), (80, 3, 480, 112, True, "HS", 1), (112, 3, 672, 112, True, "HS", 1),
         (112, 5, 672, 160, True, "HS", 2), (160, 5, 960, 160, True, "HS", 1), (160, 5, 960, 160, True, "HS", 1)]
SMALL = [(16, 3, 16, 16, True, "RE", 2), (16, 3, 72, 24, False, "RE", 2), (24, 3, 88, 24, False, "RE", 1),
         (24, 5, 96, 40, True, "HS", 2), (40, 5, 240, 40, True, "HS", 1), (40, 5, 240, 40, True, "HS", 1),
         (40, 5, 120, 48, True, "HS", 1), (48, 5, 144, 48, True, "HS", 1), (48, 5, 288, 96, True, "HS", 2),
         (96, 5, 576, 96, True, "HS", 1), (96, 5, 576, 96, True, "HS", 1)]


class InvertedResidualConfig:
    """The numbers of one block; widths are scaled by `width_mult`, `activation` is "RE" (ReLU) or "HS" (hardswish)."""

    def __init__(self, input_channels, kernel, expanded_channels, out_channels, use_se, activation, stride, dilation,
                 width_mult):
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.kernel, self.use_se, self.use_hs = kernel, use_se, activation == "HS"
        self.stride, self.dilation = stride, dilation

    @staticmethod
    def adjust_channels(channels, width_mult):
        """A width, scaled, as a multiple of 8."""
        return divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """The block of a configuration: expand, one convolution for each channel, squeeze and excite, project."""

    def __init__(self, cnf, norm_layer, se_layer=partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)):
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        options = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU}
        layers, width = [], cnf.expanded_channels
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, kernel_size=1, **options))
        layers.append(Conv2dNormActivation(width, width, kernel_size=cnf.kernel, groups=width, dilation=cnf.dilation,
                                           stride=1 if cnf.dilation > 1 else cnf.stride, **options))
        if cnf.use_se:
            layers.append(se_layer(width, divisible(width // 4, 8)))
        layers.append(Conv2dNormActivation(width, cnf.out_channels, kernel_size=1, norm_layer=norm_layer,
                                           activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels, self._is_cn = cnf.out_channels, cnf.stride > 1

    def forward(self, input):
        """(N, input channels, H, W) to (N, output channels, H / stride, W / stride)."""
        return self.block(input) + input if self.use_res_connect else self.block(input)


class MobileNetV3(nn.Module):
    """Images (N, 3, H, W) to scores (N, num_classes): a block for each configuration, and two linear layers, with
    `last_channel` between them."""

    def __init__(self, inverted_residual_setting, last_channel, num_classes=1000, block=None, norm_layer=None,
                 dropout=0.2):
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not all(isinstance(s, InvertedResidualConfig) for s in inverted_residual_setting):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        options = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        first, last = inverted_residual_setting[0].input_channels, inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            Conv2dNormActivation(3, first, kernel_size=3, stride=2, **options),
            *[block(cnf, norm_layer) for cnf in inverted_residual_setting],
            Conv2dNormActivation(last, 6 * last, kernel_size=1, **options))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Linear(6 * last, last_channel), nn.Hardswish(inplace=True),
                                        nn.Dropout(dropout, inplace=True), nn.Linear(last_channel, num_classes))
        initialise_convolutions(self, small_normal)

    def forward(self, x):
        """The scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def made(rows, last_channel, tail, width_mult=1.0, reduced_tail=False, dilated=False, **options):
    """The model of a table, whose last `tail` blocks are narrower if `reduced_tail`, and dilated if `dilated`."""
    by, wide = 2 if reduced_tail else 1, 2 if dilated else 1
    settings = []
    for i, (inputs, kernel, inside, outputs, se, activation, stride) in enumerate(rows):
        n = i - (len(rows) - tail)                         # the place among the blocks of the tail
        settings.append(InvertedResidualConfig(
            inputs // by if n > 0 else inputs, kernel, inside // by if n > 0 else inside,
            outputs // by if n >= 0 else outputs, se, activation, stride, wide if n >= 0 else 1, width_mult))
    last = InvertedResidualConfig.adjust_channels(last_channel // by, width_mult)
    return MobileNetV3(settings, last, **options)


@register_model("MobileNet_V3_Large_Weights")
def mobilenet_v3_large(**options):
    """MobileNetV3, the large one."""
    return made(LARGE, 1280, 3, **options)


@register_model("MobileNet_V3_Small_Weights")
def mobilenet_v3_small(**options):
    """MobileNetV3, the small one."""
    return made(SMALL, 1024, 3, **options)
