"""VGG: K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition" (2014)."""

from ... import nn
from ._api import register_model
from ._utils import initialise_convolutions, small_normal

__all__ = ["VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn"]

# Convolutions in each of the five stages between pools, by the number of layers with weights.
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
WIDTHS = (64, 128, 256, 512, 512)


class VGG(nn.Module):
    """`features`, pooling to 7x7 and three linear layers: images (N, 3, H, W), at least 32x32, to (N, num_classes)."""

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(dropout),
            nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(dropout), nn.Linear(4096, num_classes))
        if init_weights:
            initialise_convolutions(self, small_normal)

    def forward(self, x):
        """The scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def vgg(depth, norm, **options):
    layers, channels = [], 3
    for width, count in zip(WIDTHS, DEPTHS[depth]):
        for _ in range(count):
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            layers += [nn.BatchNorm2d(width)] if norm else []
            layers.append(nn.ReLU(True))
            channels = width
        layers.append(nn.MaxPool2d(2, 2))
    return VGG(nn.Sequential(*layers), **options)


@register_model("VGG11_Weights")
def vgg11(**options):
    """VGG with 11 layers."""
    return vgg(11, False, **options)


@register_model("VGG11_BN_Weights")
def vgg11_bn(**options):
    """VGG with 11 layers and batch normalisation."""
    return vgg(11, True, **options)


@register_model("VGG13_Weights")
def vgg13(**options):
    """VGG with 13 layers."""
    return vgg(13, False, **options)


@register_model("VGG13_BN_Weights")
def vgg13_bn(**options):
    """VGG with 13 layers and batch normalisation."""
    return vgg(13, True, **options)


@register_model("VGG16_Weights")
def vgg16(**options):
    """VGG with 16 layers."""
    return vgg(16, False, **options)


@register_model("VGG16_BN_Weights")
def vgg16_bn(**options):
    """VGG with 16 layers and batch normalisation."""
    return vgg(16, True, **options)


@register_model("VGG19_Weights")
def vgg19(**options):
    """VGG with 19 layers."""
    return vgg(19, False, **options)


@register_model("VGG19_BN_Weights")
def vgg19_bn(**options):
    """VGG with 19 layers and batch normalisation."""
    return vgg(19, True, **options)
