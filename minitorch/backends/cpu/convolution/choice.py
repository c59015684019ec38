"""The convolution method that the user asks for; a leaf, so that the public name can be imported before any kernel."""

from contextlib import contextmanager
from contextvars import ContextVar

NAMES = ("channels", "pixels", "images", "rows", "winograd", "fft", "depthwise")
forced: ContextVar = ContextVar("forced", default=None)    # the method that `convolution_method` asks for


@contextmanager
def convolution_method(name):
    """A context in which the CPU computes convolutions by the method of that name, where it applies.

    Without it, or with None, the cheapest one is estimated from the shapes: the methods are listed in
    `minitorch/backends/cpu/convolution/methods.py`.

    >>> import minitorch
    >>> with minitorch.backends.convolution_method("fft"):
    ...     y = minitorch.nn.functional.conv1d(minitorch.ones(1, 1, 4), minitorch.ones(1, 1, 2))
    >>> y.round()
    tensor([[[2., 2., 2.]]])
    """
    if name is not None and name not in NAMES:
        raise ValueError(f"unknown convolution method {name!r}: expected one of {', '.join(NAMES)}")
    before = forced.set(name)
    try:
        yield
    finally:
        forced.reset(before)
