"""PyTorch's place of `save` and `async_save`."""

from enum import Enum

from . import async_save, save

__all__ = ["AsyncCheckpointerType", "async_save", "save"]


class AsyncCheckpointerType(Enum):
    """The kind of worker that writes an `async_save`: a thread; a process is not supported."""

    THREAD = "thread"
    PROCESS = "process"
