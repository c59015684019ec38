"""Dropout of squares: G. Ghiasi et al., "DropBlock: A regularization method for convolutional networks" (2018)."""

from ...nn import Module
from ...nn.functional import max_pool2d, max_pool3d, pad

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def drop_block(input, p, block_size, inplace, eps, training, pool):
    """Squares or cubes of zeros; the rest scaled so that the mean stays."""
    if not 0 <= p <= 1:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    n = 2 if pool is max_pool2d else 3
    if input.ndim != n + 2:
        raise ValueError(f"input should be {n + 2} dimensional. Got {input.ndim} dimensions.")
    if block_size % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block_size} which is even.")
    if not training or p == 0:
        return input
    sizes = input.shape[2:]
    block = min(block_size, *sizes)
    area, places = 1, 1
    for size in sizes:
        area, places = area * size, places * (size - block + 1)
    noise = input.new_empty((*input.shape[:2], *[s - block + 1 for s in sizes])).bernoulli_(
        p * area / (block**n * places))
    noise = pad(noise, [block // 2] * (2 * n))
    keep = 1 - pool(noise, block, stride=1, padding=block // 2)
    scale = keep.numel() / (eps + keep.sum())
    return input.mul_(keep).mul_(scale) if inplace else input * keep * scale


def drop_block2d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """Squares of `block_size` set to zero, so that a place is with probability `p`: (N, C, H, W) to the same."""
    return drop_block(input, p, block_size, inplace, eps, training, max_pool2d)


def drop_block3d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """Cubes of `block_size` set to zero, so that a place is with probability `p`: (N, C, D, H, W) to the same."""
    return drop_block(input, p, block_size, inplace, eps, training, max_pool3d)


class DropBlock2d(Module):
    """`drop_block2d` as a layer, which does nothing in evaluation."""

    drop = staticmethod(drop_block2d)

    def __init__(self, p, block_size, inplace=False, eps=1e-6):
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input):
        """The input, some of it set to zero."""
        return self.drop(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a layer."""

    drop = staticmethod(drop_block3d)
