"""``torch.nn.grad``: the gradients of convolutions as functions, which can be differentiated themselves."""

from ..autograd.api import grad
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def gradient(conv, wanted, size, other, grad_output, stride, padding, dilation, groups):
    """The gradient of ``conv(input, weight)`` for the one that has the shape `size`, given the other."""
    recorded = is_grad_enabled()
    with enable_grad():
        x = grad_output.new_zeros(size, requires_grad=True)
        operands = (x, other) if wanted == "input" else (other, x)
        y = conv(*operands, None, stride, padding, dilation, groups)
        return grad(y, x, grad_output, create_graph=recorded and (other.requires_grad or grad_output.requires_grad))[0]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` for its input, of shape `input_size`."""
    return gradient(F.conv1d, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` for its weight, of shape `weight_size`."""
    return gradient(F.conv1d, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` for its input, of shape `input_size`."""
    return gradient(F.conv2d, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` for its weight, of shape `weight_size`."""
    return gradient(F.conv2d, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` for its input, of shape `input_size`."""
    return gradient(F.conv3d, "input", input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` for its weight, of shape `weight_size`."""
    return gradient(F.conv3d, "weight", weight_size, input, grad_output, stride, padding, dilation, groups)
