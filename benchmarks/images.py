"""Workloads: pooling and norms of images, forward and backward."""

import numpy as np

from .rows import row

# name: (title, shape of the images, function of the library and the images)
CALLS = {
    "max_pool": ("max_pool2d(2), 64x16x24x24", (64, 16, 24, 24), lambda F, x: F.max_pool2d(x, 2)),
    "max_pool_3x3": ("max_pool2d(3, 2, 1), 16x64x32x32", (16, 64, 32, 32), lambda F, x: F.max_pool2d(x, 3, 2, 1)),
    "avg_pool_3x3": ("avg_pool2d(3, 2, 1), 16x64x32x32", (16, 64, 32, 32), lambda F, x: F.avg_pool2d(x, 3, 2, 1)),
    "batch_norm": ("batch_norm, 32x16x32x32", (32, 16, 32, 32),
                   lambda F, x: F.batch_norm(x, None, None, training=True)),
    "group_norm": ("group_norm(8), 32x64x16x16", (32, 64, 16, 16), lambda F, x: F.group_norm(x, 8)),
}


def make(torch, shape, function):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal(shape, dtype=np.float32)).requires_grad_()
    F = torch.nn.functional
    g = torch.from_numpy(rng.standard_normal(tuple(function(F, x).shape), dtype=np.float32))

    def step():
        x.grad = None
        function(F, x).backward(g)
    return step


for name, (title, shape, function) in CALLS.items():
    row(f"images/{name}", "convolution", f"{title}, forward and backward")(
        lambda torch, shape=shape, function=function: make(torch, shape, function))
