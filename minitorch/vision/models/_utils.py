"""Pieces that models of images share."""

import math

from ... import nn

__all__ = ["divisible", "initialise_convolutions"]


def divisible(v, divisor, min_value=None):
    """`v` rounded to a multiple of `divisor`, at least `min_value` (`divisor`) and not less than 90 % of `v`."""
    found = max(divisor if min_value is None else min_value, int(v + divisor / 2) // divisor * divisor)
    return found + divisor if found < 0.9 * v else found


def initialise_convolutions(model, linear=None, mode="fan_out"):
    """He's normal numbers, by the outputs unless `mode` says otherwise, for convolutions; ones and zeros for norms;
    ``linear(layer)`` for linear layers, if given; zeros for biases."""
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode=mode)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Linear) and linear is not None:
            linear(m)
            nn.init.zeros_(m.bias)


def small_normal(layer):
    nn.init.normal_(layer.weight, 0, 0.01)


def uniform_by_outputs(layer):
    bound = 1 / math.sqrt(layer.out_features)
    nn.init.uniform_(layer.weight, -bound, bound)
