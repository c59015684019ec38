"""SqueezeNet: F. Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters" (2016)."""

from ... import cat, nn
from ._api import register_model

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """A 1x1 convolution, then a 1x1 and a 3x3 one beside each other."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze, self.squeeze_activation = nn.Conv2d(inplanes, squeeze_planes, 1), nn.ReLU(True)
        self.expand1x1, self.expand1x1_activation = nn.Conv2d(squeeze_planes, expand1x1_planes, 1), nn.ReLU(True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(True)

    def forward(self, x):
        """(N, inplanes, H, W) to (N, the sum of both widths, H, W)."""
        x = self.squeeze_activation(self.squeeze(x))
        return cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


def fires(inplanes, *widths):
    """Fire modules: (squeeze, expand) widths in turn."""
    made = []
    for squeeze, expand in widths:
        made.append(Fire(inplanes, squeeze, expand, expand))
        inplanes = 2 * expand
    return made


class SqueezeNet(nn.Module):
    """Images (N, 3, H, W) to scores (N, num_classes); `version` "1_0" or "1_1". ValueError for others."""

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        if version == "1_0":
            layers = [nn.Conv2d(3, 96, 7, 2), nn.ReLU(True), self.pool(), *fires(96, (16, 64), (16, 64), (32, 128)),
                      self.pool(), *fires(256, (32, 128), (48, 192), (48, 192), (64, 256)), self.pool(),
                      *fires(512, (64, 256))]
        elif version == "1_1":
            layers = [nn.Conv2d(3, 64, 3, 2), nn.ReLU(True), self.pool(), *fires(64, (16, 64), (16, 64)), self.pool(),
                      *fires(128, (32, 128), (32, 128)), self.pool(),
                      *fires(256, (48, 192), (48, 192), (64, 256), (64, 256))]
        else:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.features, self.num_classes = nn.Sequential(*layers), num_classes
        last = nn.Conv2d(512, num_classes, 1)
        self.classifier = nn.Sequential(nn.Dropout(dropout), last, nn.ReLU(True), nn.AdaptiveAvgPool2d((1, 1)))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                if m is last:
                    nn.init.normal_(m.weight, 0.0, 0.01)
                else:
                    nn.init.kaiming_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    @staticmethod
    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    def forward(self, x):
        """The scores."""
        return self.classifier(self.features(x)).flatten(1)


@register_model("SqueezeNet1_0_Weights")
def squeezenet1_0(**options):
    """SqueezeNet 1.0."""
    return SqueezeNet("1_0", **options)


@register_model("SqueezeNet1_1_Weights")
def squeezenet1_1(**options):
    """SqueezeNet 1.1, which needs 2.4 times less computation."""
    return SqueezeNet("1_1", **options)
