"""Op definitions: `max_unpool`, the inverse of max pooling, and pooling over windows placed at random."""

from math import prod

from ...core.op import Other
from ..creation.random import rand
from ..define import op
from .pool import adaptive_size, max_with_indices, rows
from .windows import as_tuple, for_ranks


@for_ranks("max_unpool{}d", 1, 2, 3, autocast=dict.fromkeys((1, 2, 3), "float32 on cpu"))
def max_unpool_nd(n):
    def max_unpool_of_rank(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        """The maxima `input` back at their `indices` (as `max_pool` returns them) in zeros of shape {shape}.

        The size is that of the smallest input which such a pooling could have come from, unless `output_size` names
        another; if two maxima share a position, one of them is kept.
        """
        name = f"max_unpool{n}d"
        kernel = as_tuple(kernel_size, n, "kernel_size", name)
        stride = kernel if stride is None else as_tuple(stride, n, "stride", name)
        padding = as_tuple(padding, n, "padding", name)
        if indices.shape != input.shape:
            raise RuntimeError(f"{name}: Expected shape of indices to be same as that of the input tensor "
                               f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}")
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(f"{name}: Input to {name} should be a {n + 1}d or {n + 2}d Tensor, but got {input.ndim} "
                               f"dimensions")
        size = unpooled_size(name, n, input, kernel, stride, padding, output_size)
        return max_unpool(input, indices, size)
    return max_unpool_of_rank


def unpooled_size(name, n, input, kernel, stride, padding, output_size):
    least = [(m - 1) * s + k - 2 * p for m, k, s, p in zip(input.shape[-n:], kernel, stride, padding)]
    if output_size is None:
        return tuple(least)
    wanted = tuple(output_size)[2:] if len(output_size) == n + 2 else tuple(output_size)
    if len(wanted) != n:
        raise ValueError(f"{name}: output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
                         f"length of '{len(output_size)}'")
    if any(not m - s < w < m + s for m, s, w in zip(least, stride, wanted)):
        raise ValueError(f"{name}: invalid output_size {list(wanted)}: each size must be less than a stride "
                         f"{list(stride)} away from {least}")
    return wanted


@op(dims="* i.., * i.. -> * x..=size",
    node_name="PutLastBackward0", promotion=None, namespace=None,
    sample=lambda d: ([d.array((2, 3)), d.distinct((2, 5)).argsort(1)[:, :3]], dict(size=(5,))),
    input=lambda F, g, indices, size: F.gather_last(g, indices, dims=len(size)))
def max_unpool(F, input, indices: Other, *, size):
    """Zeros with `input` written at `indices`, positions in the last dimensions of `size` laid out in one row."""
    check_max_indices(indices, size)
    lead = indices.shape[:indices.ndim - len(size)]
    out = F.xp.zeros((*lead, prod(size)), input.dtype)
    F.xp.put_along_axis(out, rows(indices, len(size)), rows(input, len(size)), -1)
    return out.reshape(*lead, *size)


def check_max_indices(indices, size):
    """Raise RuntimeError unless all indices are int64 and lie within `size`."""
    if indices.dtype != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices.size and not (0 <= indices.min() and indices.max() < prod(size)):
        raise RuntimeError(f"Found an invalid max index: {indices.max()} (output volumes are of size {size})")


# ---- fractional max pooling --------------------------------------------------------------------------------
def fractional(n, input, kernel_size, output_size, output_ratio, samples):
    """The maxima, and their indices, of overlapping windows placed at random (Graham 2014, "Fractional Max-Pooling").

    With u in [0, 1) and ``a = (size - kernel) / (out - 1)``, window i begins at ``floor((i + u) a) - floor(u a)``, the
    last one at ``size - kernel``.
    """
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    kernel, sizes = as_tuple(kernel_size, n, "kernel_size", name), input.shape[-n:]
    if output_size is None:
        ratio = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * n
        if len(ratio) != n:
            raise ValueError(f"{name} requires output_ratio to either be a single number or {n} of them, got {ratio}")
        output_size = tuple([int(m * r) for m, r in zip(sizes, ratio)])
    out = adaptive_size(name, n, input, output_size)
    if any(o < 1 or o + k - 1 > m for m, k, o in zip(sizes, kernel, out)):
        raise RuntimeError(f"{name}: kernel {list(kernel)} and output size {list(out)} are too large for an input of "
                           f"size {list(sizes)}")
    lead = input.shape[:-n]
    if samples is None:
        samples = rand(lead[0] if len(lead) == 2 else 1, lead[-1], n, dtype=input.dtype, device=input.device)
    xp, u = samples.backend.xp, samples.array.reshape(*lead, n)
    u = u[..., ::-1] if n == 2 else u                      # PyTorch draws (W, H) but (D, H, W)
    tables = [starts(xp, u[..., i], m, k, o)[..., None] + xp.arange(k)
              for i, (m, k, o) in enumerate(zip(sizes, kernel, out))]
    return max_with_indices(input, tuple([samples.backend.to_host(table) for table in tables]))


def starts(xp, u, size, kernel, out):
    """The first positions of the windows of each plane: `u` (*planes) to (*planes, out)."""
    last = xp.full((*u.shape, 1), size - kernel, "int64")
    if out == 1:
        return last
    alpha = u.dtype.type(size - kernel) / u.dtype.type(out - 1)
    i, u = xp.arange(out - 1, dtype=u.dtype), u[..., None]
    return xp.concatenate([((i + u) * alpha).astype("int64") - (u * alpha).astype("int64"), last], -1)


@for_ranks("fractional_max_pool{}d", 2, 3, autocast=dict.fromkeys((1, 2, 3), "float32 on cpu"))
def fractional_max_pool_nd(n):
    def fractional_max_pool_of_rank(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                    _random_samples=None):
        """The maxima of windows of {shape} placed at random: `output_size` of them, or `output_ratio` times the size.

        `_random_samples` (N, C, spatial dimensions) in [0, 1) decides the positions; it is drawn if not given.
        """
        found = fractional(n, input, kernel_size, output_size, output_ratio, _random_samples)
        return found if return_indices else found[0]
    return fractional_max_pool_of_rank


@for_ranks("fractional_max_pool{}d_with_indices", 2, 3, autocast=dict.fromkeys((1, 2, 3), "float32 on cpu"))
def fractional_max_pool_nd_with_indices(n):
    def fractional_max_pool_of_rank(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                    _random_samples=None):
        """The maxima of windows of {shape} placed at random, and where they stand: see `fractional_max_pool2d`."""
        return fractional(n, input, kernel_size, output_size, output_ratio, _random_samples)
    return fractional_max_pool_of_rank
