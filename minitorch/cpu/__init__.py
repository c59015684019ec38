"""``torch.cpu``: the processor, by the functions that every kind of device has."""

import platform
from contextlib import AbstractContextManager

from ..amp import cpu as amp  # noqa: F401

__all__ = ["Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities",
           "is_available", "is_initialized", "set_device", "stream", "synchronize"]


def is_available():
    """True."""
    return True


is_initialized = is_available


def device_count():
    """1: the processor is one device."""
    return 1


def current_device():
    """The name of the processor as a device: "cpu"."""
    return "cpu"


def set_device(device):
    """Nothing: there is one processor."""


def synchronize(device=None):
    """Nothing: what the processor was asked for is done when the call returns."""


class Stream:
    """The order of calls on the processor, which come one after the other."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing: earlier calls are done."""

    record_event = wait_event = wait_stream


class StreamContext(AbstractContextManager):
    """A context that changes nothing: there is one stream."""

    def __init__(self, stream):
        self.stream = stream

    def __exit__(self, *exc):
        return None


_stream = Stream()


def current_stream(device=None):
    """The one stream there is."""
    return _stream


def stream(stream):
    """A context that changes nothing."""
    return StreamContext(stream)


def get_capabilities():
    """The kind of processor, ``{"architecture": ...}``, without the extensions that PyTorch's kernels ask for."""
    return {"architecture": platform.machine()}
