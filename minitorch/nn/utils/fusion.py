"""A batch norm in eval mode folded into the layer before it."""

import copy

from ...ops.creation.create import zeros_like
from ..parameter import Parameter


def _fold(weight, bias, mean, var, eps, bn_weight, bn_bias, out_dim):
    """Weight and bias of the layer that computes both; ``out_dim`` is the weight's dimension of outputs."""
    bias = zeros_like(mean) if bias is None else bias
    scale = (var + eps).rsqrt()
    scale = scale if bn_weight is None else bn_weight * scale
    shape = [1] * weight.dim()
    shape[out_dim] = -1
    shift = zeros_like(mean) if bn_bias is None else bn_bias
    return weight * scale.reshape(shape), (bias - mean) * scale + shift


def _as_parameters(weight, bias, new_weight, new_bias):
    return (Parameter(new_weight.detach().to(weight.dtype), weight.requires_grad),
            Parameter(new_bias.detach().to(weight.dtype), bias is not None and bias.requires_grad))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution with the batch norm behind it folded in."""
    return _as_parameters(conv_w, conv_b, *_fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b,
                                                 1 if transpose else 0))


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of ``conv`` that does what ``conv`` and then ``bn`` do. Both must be in eval mode."""
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps,
                                                    bn.weight, bn.bias, transpose)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer with the batch norm behind it folded in."""
    return _as_parameters(linear_w, linear_b, *_fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0))


def fuse_linear_bn_eval(linear, bn):
    """A copy of ``linear`` that does what ``linear`` and then ``bn`` do. Both must be in eval mode."""
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(linear.weight, linear.bias, bn.running_mean, bn.running_var,
                                                      bn.eps, bn.weight, bn.bias)
    return fused


def _check_eval(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError("bn.running_mean and bn.running_var must not be None: fusion needs tracked statistics")
