"""``torch.cuda.nvtx``: marks and ranges that NVIDIA's profilers show. Without a GPU RuntimeError, as in PyTorch."""

from contextlib import contextmanager
from importlib import import_module

from . import device_count

__all__ = ["mark", "range", "range_pop", "range_push"]


def _nvtx():
    """CuPy's module of these functions."""
    if not device_count():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build? (There is no GPU, or no "
                           "CuPy.)")
    return import_module("cupy.cuda.nvtx")


def range_push(msg):
    """Begin a range with a name, inside those that are open."""
    return _nvtx().RangePush(msg)


def range_pop():
    """End the innermost range."""
    return _nvtx().RangePop()


def mark(msg):
    """Mark a moment with a name."""
    return _nvtx().Mark(msg)


@contextmanager
def range(msg, *args, **kwargs):                           # noqa: A001  (PyTorch's name)
    """A range as a context or a decorator; `msg` is a format for the other arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
