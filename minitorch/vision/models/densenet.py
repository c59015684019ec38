"""DenseNet: G. Huang et al., "Densely Connected Convolutional Networks" (2016)."""

import re
from collections import OrderedDict

from ... import cat, nn
from ...utils.checkpoint import checkpoint
from ._api import register_model
from ._utils import initialise_convolutions

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


class _DenseLayer(nn.Module):
    """A 1x1 and a 3x3 convolution, each behind a norm and a ReLU, of all features before; `growth_rate` new ones.

    `memory_efficient` computes the 1x1 convolution again in the backward pass.
    """

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        inside = bn_size * growth_rate
        self.norm1, self.relu1 = nn.BatchNorm2d(num_input_features), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, inside, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(inside), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(inside, growth_rate, 3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def bn_function(self, *inputs):
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input):
        """The new features, of a tensor or a list of them."""
        inputs = [input] if not isinstance(input, (list, tuple)) else input
        again = self.memory_efficient and any([x.requires_grad for x in inputs])
        out = checkpoint(self.bn_function, *inputs, use_reentrant=False) if again else self.bn_function(*inputs)
        out = self.conv2(self.relu2(self.norm2(out)))
        return nn.functional.dropout(out, self.drop_rate, self.training) if self.drop_rate > 0 else out


class _DenseBlock(nn.ModuleDict):
    """Layers that each see the features of all before; all features come out."""

    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__({f"denselayer{i + 1}": _DenseLayer(num_input_features + i * growth_rate, growth_rate, bn_size,
                                                            drop_rate, memory_efficient) for i in range(num_layers)})

    def forward(self, init_features):
        """(N, C, H, W) to (N, C + layers * growth_rate, H, W)."""
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    """A 1x1 convolution to fewer features, and pooling to half the size."""

    def __init__(self, num_input_features, num_output_features):
        super().__init__(OrderedDict(
            norm=nn.BatchNorm2d(num_input_features), relu=nn.ReLU(inplace=True),
            conv=nn.Conv2d(num_input_features, num_output_features, 1, bias=False), pool=nn.AvgPool2d(2, 2)))


class DenseNet(nn.Module):
    """Images (N, 3, H, W), at least 29x29, to scores (N, num_classes).

    `growth_rate` features are added by each of the `block_config` layers of a block; `bn_size` times as many are in the
    bottlenecks; `drop_rate` is the dropout after each layer.
    """

    def __init__(self, growth_rate=32, block_config=(6, 12, 24, 16), num_init_features=64, bn_size=4, drop_rate=0,
                 num_classes=1000, memory_efficient=False):
        super().__init__()
        self.features = nn.Sequential(OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, 7, 2, 3, bias=False), norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True), pool0=nn.MaxPool2d(3, 2, 1)))
        width = num_init_features
        for i, count in enumerate(block_config, 1):
            self.features.add_module(f"denseblock{i}", _DenseBlock(count, width, bn_size, growth_rate, drop_rate,
                                                                   memory_efficient))
            width += count * growth_rate
            if i != len(block_config):
                self.features.add_module(f"transition{i}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        initialise_convolutions(self, lambda layer: None, mode="fan_in")

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        # Published files have names like norm.1, from before PyTorch 0.4.
        for key in list(state_dict):
            found = re.fullmatch(r"(.*denselayer\d+\.(?:norm|relu|conv))\.((?:[12])\.(?:weight|bias|running_mean"
                                 r"|running_var))", key)
            if found:
                state_dict[found[1] + found[2]] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x):
        """The scores."""
        features = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(nn.functional.adaptive_avg_pool2d(features, (1, 1)).flatten(1))


@register_model("DenseNet121_Weights")
def densenet121(**options):
    """DenseNet with 121 layers."""
    return DenseNet(32, (6, 12, 24, 16), 64, **options)


@register_model("DenseNet161_Weights")
def densenet161(**options):
    """DenseNet with 161 layers."""
    return DenseNet(48, (6, 12, 36, 24), 96, **options)


@register_model("DenseNet169_Weights")
def densenet169(**options):
    """DenseNet with 169 layers."""
    return DenseNet(32, (6, 12, 32, 32), 64, **options)


@register_model("DenseNet201_Weights")
def densenet201(**options):
    """DenseNet with 201 layers."""
    return DenseNet(32, (6, 12, 48, 32), 64, **options)
