"""EfficientNet: M. Tan and Q. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks" (2019),
and "EfficientNetV2: Smaller Models and Faster Training" (2021)."""

import copy
import math
from dataclasses import dataclass
from functools import partial

from ... import nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.drop_layers import StochasticDepth
from ._api import register_model
from ._utils import divisible, initialise_convolutions, uniform_by_outputs

__all__ = ["EfficientNet", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3",
           "efficientnet_b4", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l",
           "efficientnet_v2_m", "efficientnet_v2_s"]


@dataclass
class _MBConvConfig:
    """The numbers of one stage: `num_layers` blocks, the first with `stride`."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: type

    @staticmethod
    def adjust_channels(channels, width_mult, min_value=None):
        """A width, scaled, as a multiple of 8."""
        return divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of `MBConv`, its widths and number of blocks scaled."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, width_mult=1.0,
                 depth_mult=1.0, block=None):
        super().__init__(expand_ratio, kernel, stride, self.adjust_channels(input_channels, width_mult),
                         self.adjust_channels(out_channels, width_mult), self.adjust_depth(num_layers, depth_mult),
                         block or MBConv)

    @staticmethod
    def adjust_depth(num_layers, depth_mult):
        """A number of blocks, scaled, rounded up."""
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of `FusedMBConv`."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block=None):
        super().__init__(expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block or FusedMBConv)


class Block(nn.Module):
    """The frame of both blocks: `layers` around which the input is led where it fits, dropped in training now and
    then."""

    def __init__(self, cnf, stochastic_depth_prob, layers):
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input):
        """(N, input channels, H, W) to (N, output channels, H / stride, W / stride)."""
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class MBConv(Block):
    """Expand, one convolution for each channel, squeeze and excite, project."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer, se_layer=SqueezeExcitation):
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers, width = [], cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        if width != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, width, kernel_size=1, **options))
        layers += [Conv2dNormActivation(width, width, cnf.kernel, cnf.stride, groups=width, **options),
                   se_layer(width, max(1, cnf.input_channels // 4), activation=partial(nn.SiLU, inplace=True)),
                   Conv2dNormActivation(width, cnf.out_channels, 1, norm_layer=norm_layer, activation_layer=None)]
        super().__init__(cnf, stochastic_depth_prob, layers)


class FusedMBConv(Block):
    """One convolution that expands, and one that projects; without the second where nothing is expanded."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer):
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        width = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        if width != cnf.input_channels:
            layers = [Conv2dNormActivation(cnf.input_channels, width, cnf.kernel, cnf.stride, **options),
                      Conv2dNormActivation(width, cnf.out_channels, 1, norm_layer=norm_layer, activation_layer=None)]
        else:
            layers = [Conv2dNormActivation(cnf.input_channels, cnf.out_channels, cnf.kernel, cnf.stride, **options)]
        super().__init__(cnf, stochastic_depth_prob, layers)


class EfficientNet(nn.Module):
    """Images (N, 3, H, W) to scores (N, num_classes): a stage for each configuration.

    `stochastic_depth_prob` is that of the last block, and grows from 0; `last_channel` is four times the last width if
    None. ValueError without configurations, TypeError for something else.
    """

    def __init__(self, inverted_residual_setting, dropout, stochastic_depth_prob=0.2, num_classes=1000, norm_layer=None,
                 last_channel=None):
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not all(isinstance(s, _MBConvConfig) for s in inverted_residual_setting):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm_layer = norm_layer or nn.BatchNorm2d
        options = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers = [Conv2dNormActivation(3, inverted_residual_setting[0].input_channels, 3, 2, **options)]
        total, done = sum(s.num_layers for s in inverted_residual_setting), 0
        for setting in inverted_residual_setting:
            stage = []
            for i in range(setting.num_layers):
                cnf = copy.copy(setting)
                if i:
                    cnf.input_channels, cnf.stride = cnf.out_channels, 1
                stage.append(cnf.block(cnf, stochastic_depth_prob * done / total, norm_layer))
                done += 1
            layers.append(nn.Sequential(*stage))
        width = inverted_residual_setting[-1].out_channels
        last = 4 * width if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(width, last, 1, **options))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(last, num_classes))
        initialise_convolutions(self, uniform_by_outputs)

    def forward(self, x):
        """The scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# Factor of the width inside, kernel, stride, input, output, number of blocks.
B0 = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
      (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]
# The same; the first stages, up to the number at the end, are fused.
V2 = {"s": ([(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4), (4, 3, 2, 64, 128, 6),
             (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)], 3),
      "m": ([(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5), (4, 3, 2, 80, 160, 7),
             (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)], 3),
      "l": ([(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7), (4, 3, 2, 96, 192, 10),
             (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)], 3)}


def scaled(width_mult, depth_mult, dropout, norm=None, **options):
    """B0 with other widths and numbers of blocks."""
    stages = [MBConvConfig(*row, width_mult=width_mult, depth_mult=depth_mult) for row in B0]
    return EfficientNet(stages, **{"dropout": dropout, "norm_layer": norm, **options})


def second(size, dropout, **options):
    """EfficientNetV2 of a size."""
    rows, fused = V2[size]
    stages = [FusedMBConvConfig(*row) for row in rows[:fused]] + [MBConvConfig(*row) for row in rows[fused:]]
    return EfficientNet(stages, **{"dropout": dropout, "norm_layer": partial(nn.BatchNorm2d, eps=1e-3),
                                   "last_channel": 1280, **options})


@register_model("EfficientNet_B0_Weights")
def efficientnet_b0(**options):
    """EfficientNet B0."""
    return scaled(1.0, 1.0, 0.2, **options)


@register_model("EfficientNet_B1_Weights")
def efficientnet_b1(**options):
    """EfficientNet B1."""
    return scaled(1.0, 1.1, 0.2, **options)


@register_model("EfficientNet_B2_Weights")
def efficientnet_b2(**options):
    """EfficientNet B2."""
    return scaled(1.1, 1.2, 0.3, **options)


@register_model("EfficientNet_B3_Weights")
def efficientnet_b3(**options):
    """EfficientNet B3."""
    return scaled(1.2, 1.4, 0.3, **options)


@register_model("EfficientNet_B4_Weights")
def efficientnet_b4(**options):
    """EfficientNet B4."""
    return scaled(1.4, 1.8, 0.4, **options)


SLOW_NORM = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


@register_model("EfficientNet_B5_Weights")
def efficientnet_b5(**options):
    """EfficientNet B5."""
    return scaled(1.6, 2.2, 0.4, SLOW_NORM, **options)


@register_model("EfficientNet_B6_Weights")
def efficientnet_b6(**options):
    """EfficientNet B6."""
    return scaled(1.8, 2.6, 0.5, SLOW_NORM, **options)


@register_model("EfficientNet_B7_Weights")
def efficientnet_b7(**options):
    """EfficientNet B7."""
    return scaled(2.0, 3.1, 0.5, SLOW_NORM, **options)


@register_model("EfficientNet_V2_S_Weights")
def efficientnet_v2_s(**options):
    """EfficientNetV2, small."""
    return second("s", 0.2, **options)


@register_model("EfficientNet_V2_M_Weights")
def efficientnet_v2_m(**options):
    """EfficientNetV2, medium."""
    return second("m", 0.3, **options)


@register_model("EfficientNet_V2_L_Weights")
def efficientnet_v2_l(**options):
    """EfficientNetV2, large."""
    return second("l", 0.4, **options)
