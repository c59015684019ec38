"""Memory formats, and new arrays in the order of another: what the ops need beyond the rules of
`core/layouts.py`."""

from ..core.layouts import channels_order, dense_order, empty, inverse, own_order, suggests_channels_last
from ..core.storage import channels_last, channels_last_3d, contiguous_format, preserve_format

__all__ = ["empty_like", "format_order", "laid", "laid_in_format", "shaped_like",
           "suggested_format"]


def suggested_format(array):
    """The memory format that an array's strides look like: of two, contiguous is the usual one."""
    last = channels_last if array.ndim == 4 else channels_last_3d
    return last if suggests_channels_last(array) else contiguous_format


def format_order(memory_format, array):
    """The order that a memory format asks of something like `array`; RuntimeError if it has another
    rank."""
    if memory_format is None or memory_format is preserve_format:
        return own_order(array)
    if memory_format is contiguous_format:
        return None
    rank = 4 if memory_format is channels_last else 5
    if array.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format: this "
                           f"one has {array.ndim} dimensions")
    return channels_order(rank)


def laid_in_format(array, memory_format):
    """The memory of a contiguous array as one of the same shape, whose elements lie in the order of
    a memory format."""
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: there is no tensor whose order "
                           "could be kept")
    return laid(array, array.shape, format_order(memory_format, array))


def empty_like(xp, array, dtype=None, maker="empty"):
    """A new array that lies as `array` does."""
    return empty(xp, array.shape, own_order(array), array.dtype if dtype is None else dtype, maker)


def laid(flat, shape, order):
    """Contiguous elements, without copying, as an array of `shape` whose dimensions lie in
    `order`."""
    return flat.reshape(shape) if order is None else flat.reshape([shape[d] for d in order]).transpose(inverse(order))


def shaped_like(flat, array):
    """Contiguous elements, without copying, in the shape of `array` and the order of its memory."""
    return laid(flat, array.shape, dense_order(array))
