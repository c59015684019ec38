"""Feature pyramids: T.-Y. Lin et al., "Feature Pyramid Networks for Object Detection" (2016)."""

from collections import OrderedDict

from ... import nn
from ...nn.functional import interpolate, max_pool2d
from .misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]


class ExtraFPNBlock(nn.Module):
    """The base of blocks that add levels: ``forward(results, x, names)`` returns more results and names."""

    def forward(self, results, x, names):
        """To be defined by derived classes."""
        raise NotImplementedError


class LastLevelMaxPool(ExtraFPNBlock):
    """A level more, every other pixel of the last."""

    def forward(self, x, y, names):
        """The results and names, with the level "pool"."""
        return [*x, max_pool2d(x[-1], 1, 2)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two levels more, by convolutions: "p6" and "p7"."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.p6, self.p7 = nn.Conv2d(in_channels, out_channels, 3, 2, 1), nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for layer in (self.p6, self.p7):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.zeros_(layer.bias)
        self.use_P5 = in_channels == out_channels

    def forward(self, p, c, names):
        """The results and names, with both levels."""
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, p6, self.p7(p6.relu())], [*names, "p6", "p7"]


class FeaturePyramidNetwork(nn.Module):
    """Feature maps of falling sizes to maps of `out_channels` each, to which coarser ones are added, enlarged.

    Takes and returns an ordered dict. `extra_blocks` adds levels; `norm_layer` None for none.
    """

    _version = 2

    def __init__(self, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError("in_channels=0 is currently not supported")
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        options = {"norm_layer": norm_layer, "activation_layer": None}
        for channels in in_channels_list:
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **options))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **options))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_uniform_(m.weight, a=1)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
        self.extra_blocks = extra_blocks

    def forward(self, x):
        """The pyramid, the finest level first."""
        names, maps = list(x), list(x.values())
        above, results = None, []
        for inner, layer, features in reversed([*zip(self.inner_blocks, self.layer_blocks, maps)]):
            below = inner(features)
            above = below if above is None else below + interpolate(above, size=below.shape[-2:], mode="nearest")
            results.insert(0, layer(above))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))
