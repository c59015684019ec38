"""ConvNeXt: Z. Liu et al., "A ConvNet for the 2020s" (2022)."""

from dataclasses import dataclass
from functools import partial

from ... import nn, ones
from ...nn import Parameter
from ..ops.drop_layers import StochasticDepth
from ..ops.misc import Conv2dNormActivation, Permute
from ._api import register_model

__all__ = ["ConvNeXt", "convnext_base", "convnext_large", "convnext_small", "convnext_tiny"]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation of the channels of images (N, C, H, W)."""

    def forward(self, x):
        """The normalised images."""
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A 7x7 convolution of each channel, layer normalisation, two linear layers, `layer_scale`; the input is added."""

    def __init__(self, dim, layer_scale, stochastic_depth_prob, norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, 7, padding=3, groups=dim), Permute([0, 2, 3, 1]), norm_layer(dim),
            nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), Permute([0, 3, 1, 2]))
        self.layer_scale = Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input):
        """(N, dim, H, W) to the same shape."""
        return self.stochastic_depth(self.layer_scale * self.block(input)) + input


@dataclass
class CNBlockConfig:
    """A stage: its width, the next one's or None at the end, its number of blocks."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """Images (N, 3, H, W), at least 32x32, to scores (N, num_classes): a stage for each configuration."""

    def __init__(self, block_setting, stochastic_depth_prob=0.0, layer_scale=1e-6, num_classes=1000, block=None,
                 norm_layer=None):
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not all(isinstance(s, CNBlockConfig) for s in block_setting):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        block, norm_layer = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        layers = [Conv2dNormActivation(3, block_setting[0].input_channels, 4, 4, 0, norm_layer=norm_layer,
                                       activation_layer=None, bias=True)]
        total, done = sum(s.num_layers for s in block_setting), 0
        for setting in block_setting:
            stage = []
            for _ in range(setting.num_layers):
                stage.append(block(setting.input_channels, layer_scale, stochastic_depth_prob * done / (total - 1.0)))
                done += 1
            layers.append(nn.Sequential(*stage))
            if setting.out_channels is not None:
                layers.append(nn.Sequential(norm_layer(setting.input_channels),
                                            nn.Conv2d(setting.input_channels, setting.out_channels, 2, 2)))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm_layer(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        """The scores."""
        return self.classifier(self.avgpool(self.features(x)))


def made(widths, depths, stochastic_depth_prob, **options):
    stages = [CNBlockConfig(*row) for row in zip(widths, (*widths[1:], None), depths)]
    return ConvNeXt(stages, **{"stochastic_depth_prob": stochastic_depth_prob, **options})


@register_model("ConvNeXt_Tiny_Weights")
def convnext_tiny(**options):
    """ConvNeXt, tiny."""
    return made((96, 192, 384, 768), (3, 3, 9, 3), 0.1, **options)


@register_model("ConvNeXt_Small_Weights")
def convnext_small(**options):
    """ConvNeXt, small."""
    return made((96, 192, 384, 768), (3, 3, 27, 3), 0.4, **options)


@register_model("ConvNeXt_Base_Weights")
def convnext_base(**options):
    """ConvNeXt, base."""
    return made((128, 256, 512, 1024), (3, 3, 27, 3), 0.5, **options)


@register_model("ConvNeXt_Large_Weights")
def convnext_large(**options):
    """ConvNeXt, large."""
    return made((192, 384, 768, 1536), (3, 3, 27, 3), 0.5, **options)
