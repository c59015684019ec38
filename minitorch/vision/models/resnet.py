"""ResNet: K. He et al., "Deep Residual Learning for Image Recognition" (2015); ResNeXt: S. Xie et al. (2016); wide
ResNet: S. Zagoruyko and N. Komodakis (2016). Strides are in the 3x3 convolutions of bottlenecks ("ResNet v1.5")."""

from ... import nn
from ._api import register_model
from ._utils import initialise_convolutions

__all__ = ["BasicBlock", "Bottleneck", "ResNet", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152",
           "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"]


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    """A 3x3 convolution without bias that keeps sizes at stride 1."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(in_planes, out_planes, stride=1):
    """A 1x1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around which the input is led, through `downsample` if one is given."""

    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1,
                 norm_layer=None):
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1, self.bn1 = conv3x3(inplanes, planes, stride), norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv3x3(planes, planes), norm_layer(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        """(N, inplanes, H, W) to (N, planes, H / stride, W / stride)."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)        # last, as in a graph of torchvision's
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 1x1, a 3x3 and a 1x1 convolution around which the input is led; four times `planes` come out."""

    expansion = 4

    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1,
                 norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1, self.bn1 = conv1x1(inplanes, width), norm_layer(width)
        self.conv2, self.bn2 = conv3x3(width, width, stride, groups, dilation), norm_layer(width)
        self.conv3, self.bn3 = conv1x1(width, planes * self.expansion), norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample, self.stride = downsample, stride

    def forward(self, x):
        """(N, inplanes, H, W) to (N, 4 planes, H / stride, W / stride)."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)        # last, as in a graph of torchvision's
        return self.relu(out)


class ResNet(nn.Module):
    """Four stages of `layers` blocks each: images (N, 3, H, W) to scores (N, num_classes).

    `zero_init_residual` lets each block begin as the identity; `groups` and `width_per_group` are those of bottlenecks;
    `replace_stride_with_dilation`, three flags, widens kernels of the last three stages instead of making images
    smaller; `norm_layer` makes the normalisations (BatchNorm2d).
    """

    def __init__(self, block, layers, num_classes=1000, zero_init_residual=False, groups=1, width_per_group=64,
                 replace_stride_with_dilation=None, norm_layer=None):
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        dilate = replace_stride_with_dilation or [False, False, False]
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, 2, 3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        initialise_convolutions(self)
        if zero_init_residual:
            for m in self.modules():
                last = m.bn3 if isinstance(m, Bottleneck) else m.bn2 if isinstance(m, BasicBlock) else None
                if last is not None and last.weight is not None:
                    nn.init.zeros_(last.weight)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        norm, before, downsample = self._norm_layer, self.dilation, None
        if dilate:
            self.dilation, stride = self.dilation * stride, 1
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(conv1x1(self.inplanes, planes * block.expansion, stride),
                                       norm(planes * block.expansion))
        layers = [block(self.inplanes, planes, stride, downsample, self.groups, self.base_width, before, norm)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes, groups=self.groups, base_width=self.base_width, dilation=self.dilation,
                         norm_layer=norm) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        """The scores."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


@register_model("ResNet18_Weights")
def resnet18(**options):
    """ResNet with 18 layers."""
    return ResNet(BasicBlock, [2, 2, 2, 2], **options)


@register_model("ResNet34_Weights")
def resnet34(**options):
    """ResNet with 34 layers."""
    return ResNet(BasicBlock, [3, 4, 6, 3], **options)


@register_model("ResNet50_Weights")
def resnet50(**options):
    """ResNet with 50 layers."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **options)


@register_model("ResNet101_Weights")
def resnet101(**options):
    """ResNet with 101 layers."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **options)


@register_model("ResNet152_Weights")
def resnet152(**options):
    """ResNet with 152 layers."""
    return ResNet(Bottleneck, [3, 8, 36, 3], **options)


@register_model("ResNeXt50_32X4D_Weights")
def resnext50_32x4d(**options):
    """ResNeXt with 50 layers, 32 groups of 4 channels."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"groups": 32, "width_per_group": 4, **options})


@register_model("ResNeXt101_32X8D_Weights")
def resnext101_32x8d(**options):
    """ResNeXt with 101 layers, 32 groups of 8 channels."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 32, "width_per_group": 8, **options})


@register_model("ResNeXt101_64X4D_Weights")
def resnext101_64x4d(**options):
    """ResNeXt with 101 layers, 64 groups of 4 channels."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"groups": 64, "width_per_group": 4, **options})


@register_model("Wide_ResNet50_2_Weights")
def wide_resnet50_2(**options):
    """ResNet with 50 layers and 3x3 convolutions of twice the width."""
    return ResNet(Bottleneck, [3, 4, 6, 3], **{"width_per_group": 128, **options})


@register_model("Wide_ResNet101_2_Weights")
def wide_resnet101_2(**options):
    """ResNet with 101 layers and 3x3 convolutions of twice the width."""
    return ResNet(Bottleneck, [3, 4, 23, 3], **{"width_per_group": 128, **options})
