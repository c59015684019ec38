"""Views of memory by sizes and strides: whether they stay inside it."""

__all__ = ["check_of_memory"]


def check_of_memory(nbytes, step, size, stride, offset):
    """RuntimeError if a view of memory of `nbytes` would reach outside it; the rest in elements of `step` bytes."""
    if any(n < 0 for n in (*size, *stride, offset)):
        raise RuntimeError(f"as_strided: sizes, strides and storage_offset must not be negative, got "
                           f"{tuple(size)}, {tuple(stride)} and {offset}")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride))
    if 0 not in size and (last + 1) * step > nbytes:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
                           f"itemsize {step} requiring a storage size of {(last + 1) * step} are out of bounds for "
                           f"storage of size {nbytes}")
