"""Workloads: convolutions in the shapes of common nets, forward and backward."""

import numpy as np

from .rows import row

# name: (input (N, C, H, W), weight (O, C / groups, K, K), padding, stride, groups), (gate, target)
SHAPES = {
    "5x5 1-16 28x28": (((64, 1, 28, 28), (16, 1, 5, 5), 0, 1, 1), ()),
    "5x5 16-32 12x12": (((64, 16, 12, 12), (32, 16, 5, 5), 0, 1, 1), ()),
    "3x3 3-16 32x32": (((32, 3, 32, 32), (16, 3, 3, 3), 1, 1, 1), ()),
    "3x3 16-16 32x32": (((32, 16, 32, 32), (16, 16, 3, 3), 1, 1, 1), ()),
    "3x3 64-64 32x32": (((32, 64, 32, 32), (64, 64, 3, 3), 1, 1, 1), ()),
    "3x3 128-128 16x16": (((32, 128, 16, 16), (128, 128, 3, 3), 1, 1, 1), ()),
    "3x3 stride 2 64-128 32x32": (((16, 64, 32, 32), (128, 64, 3, 3), 1, 2, 1), ()),
    "1x1 256-64 16x16": (((32, 256, 16, 16), (64, 256, 1, 1), 0, 1, 1), ()),
    "7x7 stride 2 3-64 112x112": (((4, 3, 112, 112), (64, 3, 7, 7), 3, 2, 1), ()),
    "3x3 depthwise 64 32x32": (((16, 64, 32, 32), (64, 1, 3, 3), 1, 1, 64), ()),
    "31x31 8-8 64x64": (((4, 8, 64, 64), (8, 8, 31, 31), 15, 1, 1), (0.4, 0.2)),
}


def make(torch, shape, kernel, padding, stride, groups):
    rng = np.random.default_rng(0)

    def tensor(*shape):
        return torch.from_numpy(rng.standard_normal(shape, dtype=np.float32))

    def convolve():
        return torch.nn.functional.conv2d(x, weight, bias, stride, padding, groups=groups)

    def step():
        x.grad = weight.grad = bias.grad = None
        convolve().backward(g)
    x, weight, bias = tensor(*shape), tensor(*kernel), tensor(kernel[0])
    g = tensor(*convolve().shape)
    for leaf in (x, weight, bias):
        leaf.requires_grad_()
    return step


for name, (how, gates) in SHAPES.items():
    row("conv/" + name.replace(" ", "/"), "convolution", f"{name}, batch {how[0][0]}, forward and backward", *gates)(
        lambda torch, how=how: make(torch, *how))
